// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/interleavings_test.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#if defined(__x86_64__)

// Saves the registers that a call keeps, and continues where `to` was saved.
extern "C" void vyre_model_switch(void** from, void* to);
asm(R"(
.text
.globl vyre_model_switch
.type vyre_model_switch,@function
vyre_model_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size vyre_model_switch,.-vyre_model_switch
)");

namespace vyre::model {

namespace {

constexpr size_t kStackBytes = size_t{64} << 10;

uint64_t mix(uint64_t h, uint64_t value) {
  h ^= value + 0x9e3779b97f4a7c15 + (h << 6) + (h >> 2);
  h ^= h >> 31;
  h *= 0xbf58476d1ce4e5b9;
  return h ^ h >> 29;
}

// A vector without memory of its own, so that a state is copied at once.
template <class T, size_t kMost>
class Few {
 public:
  void push_back(const T& value) {
    if (size_ == kMost) std::abort();
    values_[size_++] = value;
  }
  void erase_at(size_t index) {
    std::copy(values_.begin() + index + 1, values_.begin() + size_, values_.begin() + index);
    --size_;
  }
  void clear() { size_ = 0; }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return values_[i]; }
  const T& operator[](size_t i) const { return values_[i]; }
  [[nodiscard]] auto begin() const { return values_.begin(); }
  [[nodiscard]] auto end() const { return values_.begin() + size_; }

 private:
  std::array<T, kMost> values_ = {};
  size_t size_ = 0;
};

struct Cell {
  uint64_t value = 0;
  uint32_t version = 0;
};

struct Buffered {
  uint32_t cell = 0;
  uint64_t value = 0;
  bool release = false;
};

enum class Status : uint8_t { Ready, Spinning, Waiting, Done, Gone };

struct Read {
  uint32_t cell = 0;
  uint32_t version = 0;
};

struct Thread {
  void* stack_pointer = nullptr;
  Status status = Status::Ready;
  uint64_t history = 0;
  Few<Buffered, 12> buffer;
  Few<Read, 12> reads;     // since the last spin
  uint32_t options = 1;    // ways to execute the pending operation
  bool is_choice = false;  // the pending operation concerns this thread only
  bool wakes = false;      // the pending operation is a wake: as many ways as it has waiters
  uint32_t choice = 0;
  uint32_t cell = 0;  // that it waits for, or wakes
  int half = 0;
  int count = 0;
};

// What the search may do next.
struct Step {
  enum class Kind : uint8_t { Run, Flush, Spurious };
  Kind kind = Kind::Run;
  uint32_t thread = 0;
  uint32_t choice = 0;
};

// Everything that changes while threads run, but their stacks.
struct State {
  std::array<Thread, kMaxThreads> threads;
  Few<Cell, 32> cells;
  uint32_t spurious_left = 0;
  uint32_t fork_epoch = 0;
};

// A state with several ways to go on, and what it takes to come back to it.
struct Node {
  uint32_t depth = 0;
  uint32_t chosen = 0;
  uint32_t count = 0;
  State state;
  std::vector<char> stacks;
};

class World {
 public:
  World(const std::function<std::unique_ptr<Scenario>()>& make, const Options& options)
      : make_(make), options_(options), stacks_(kMaxThreads * kStackBytes) {}

  Findings search();

  // ---- what threads call
  Thread& self() { return state_.threads[current_]; }
  void yield(uint32_t ways = 1) {
    self().options = ways;
    vyre_model_switch(&self().stack_pointer, main_);
  }
  void remember(uint64_t value) { self().history = mix(self().history, value); }
  void note(std::string_view what, uint32_t cell, uint64_t value) {
    if (!tracing_) return;
    const std::string_view name = names_[cell];
    findings_.schedule.push_back(fmt::format("thread {}: {} {} = {:#x}", current_, what,
                                             name.empty() ? fmt::format("word {}", cell) : name,
                                             value));
  }
  [[nodiscard]] uint64_t value_for(const Thread& thread, uint32_t cell) const {
    for (size_t i = thread.buffer.size(); i-- > 0;)
      if (thread.buffer[i].cell == cell) return thread.buffer[i].value;
    return state_.cells[cell].value;
  }
  void write(uint32_t cell, uint64_t value) {
    if (state_.cells[cell].value != value) ++state_.cells[cell].version;
    state_.cells[cell].value = value;
  }
  void flush(Thread& thread, size_t index) {
    const Buffered entry = thread.buffer[index];
    thread.buffer.erase_at(index);
    write(entry.cell, entry.value);
  }
  void flush_all(Thread& thread) {
    while (!thread.buffer.empty()) flush(thread, 0);
  }
  [[nodiscard]] bool is(Mutation::Kind kind, uint32_t cell) const {
    return options_.mutation.kind == kind && names_[cell] == options_.mutation.cell;
  }
  [[noreturn]] void break_off(std::string_view rule) {
    findings_.fault = rule;
    vyre_model_switch(&self().stack_pointer, main_);
    std::abort();
  }

  [[nodiscard]] const Options& options() const { return options_; }

  State state_;
  std::array<std::string_view, 32> names_;  // of cells
  uint32_t current_ = 0;

 private:
  static void enter();
  void start();
  bool follow();
  void show();
  void keep(uint32_t steps);
  void go_back_to(const Node& node);
  [[nodiscard]] char* stack_end(uint32_t thread) {
    return stacks_.data() + (thread + 1) * kStackBytes;
  }
  void resume(uint32_t thread);
  void apply(const Step& step);
  void list_steps();
  [[nodiscard]] bool can_flush(const Thread& thread, size_t index) const;
  [[nodiscard]] bool has_changed(const Thread& thread) const;
  [[nodiscard]] uint32_t waiters(const Thread& waker) const;
  [[nodiscard]] uint64_t state_hash() const;
  void describe_hang();

  const std::function<std::unique_ptr<Scenario>()>& make_;
  const Options options_;
  std::vector<char> stacks_;
  std::unique_ptr<Scenario> scenario_;
  void* main_ = nullptr;
  uint32_t count_ = 0;
  uint32_t depth_ = 0;
  std::vector<Step> steps_;
  std::vector<Node> path_;
  std::unordered_set<uint64_t> visited_;
  Findings findings_;
  bool tracing_ = false;
};

World* g_world = nullptr;

void World::enter() {
  World& world = *g_world;
  world.scenario_->run(world.current_);
  world.flush_all(world.self());
  world.self().status = Status::Done;
  for (;;) vyre_model_switch(&world.self().stack_pointer, world.main_);
}

void World::start() {
  scenario_.reset();
  state_ = State{};
  state_.spurious_left = options_.spurious_wakes;
  names_.fill("");
  depth_ = 0;
  current_ = 0;
  scenario_ = make_();
  count_ = scenario_->threads();
  for (uint32_t t = 0; t < count_; ++t) {
    const auto top = reinterpret_cast<uintptr_t>(stack_end(t)) & ~uintptr_t{15};
    auto* frame = reinterpret_cast<void**>(top) - 1;  // aligned as after a call
    *--frame = reinterpret_cast<void*>(&World::enter);
    state_.threads[t].stack_pointer = frame - 6;
    state_.threads[t].history = t + 1;
  }
  for (uint32_t t = 0; t < count_; ++t) resume(t);  // to its first operation
}

void World::keep(uint32_t steps) {
  Node& node = path_.emplace_back();
  node.depth = depth_;
  node.count = steps;
  node.state = state_;
  for (uint32_t t = 0; t < count_; ++t)
    node.stacks.insert(node.stacks.end(), static_cast<char*>(state_.threads[t].stack_pointer),
                       stack_end(t));
}

void World::go_back_to(const Node& node) {
  state_ = node.state;
  depth_ = node.depth;
  const char* from = node.stacks.data();
  for (uint32_t t = 0; t < count_; ++t) {
    auto* const to = static_cast<char*>(state_.threads[t].stack_pointer);
    std::memcpy(to, from, static_cast<size_t>(stack_end(t) - to));
    from += stack_end(t) - to;
  }
}

void World::resume(uint32_t thread) {
  current_ = thread;
  vyre_model_switch(&main_, state_.threads[thread].stack_pointer);
}

bool World::can_flush(const Thread& thread, size_t index) const {
  const Buffered& entry = thread.buffer[index];
  if (entry.release && index != 0) return false;
  for (size_t i = 0; i < index; ++i)
    if (thread.buffer[i].cell == entry.cell) return false;
  return true;
}

bool World::has_changed(const Thread& thread) const {
  return std::ranges::any_of(thread.reads, [&](const Read& read) {
    return state_.cells[read.cell].version != read.version;
  });
}

uint32_t World::waiters(const Thread& waker) const {
  uint32_t n = 0;
  for (uint32_t t = 0; t < count_; ++t)
    n += state_.threads[t].status == Status::Waiting && state_.threads[t].cell == waker.cell &&
         state_.threads[t].half == waker.half;
  return n;
}

void World::list_steps() {
  steps_.clear();
  // A choice commutes with every step of the others, so no other order has to be followed.
  for (uint32_t t = 0; t < count_; ++t)
    if (state_.threads[t].is_choice && state_.threads[t].status == Status::Ready) {
      for (uint32_t c = 0; c < state_.threads[t].options; ++c)
        steps_.push_back({Step::Kind::Run, t, c});
      return;
    }
  for (uint32_t t = 0; t < count_; ++t) {
    const Thread& thread = state_.threads[t];
    if (thread.status == Status::Ready) {
      uint32_t ways = thread.options;
      if (thread.wakes) {
        const uint32_t waiting = waiters(thread);
        ways = waiting > static_cast<uint32_t>(thread.count) ? waiting : 1;
      }
      for (uint32_t c = 0; c < ways; ++c) steps_.push_back({Step::Kind::Run, t, c});
    } else if (thread.status == Status::Spinning && has_changed(thread)) {
      steps_.push_back({Step::Kind::Run, t, 0});
    } else if (thread.status == Status::Waiting && state_.spurious_left != 0) {
      steps_.push_back({Step::Kind::Spurious, t, 0});
    }
    for (uint32_t i = 0; i < thread.buffer.size(); ++i)
      if (can_flush(thread, i)) steps_.push_back({Step::Kind::Flush, t, i});
  }
}

void World::apply(const Step& step) {
  Thread& thread = state_.threads[step.thread];
  ++findings_.transitions;
  switch (step.kind) {
    case Step::Kind::Flush:
      if (tracing_) {
        current_ = step.thread;
        note("store becomes visible:", thread.buffer[step.choice].cell,
             thread.buffer[step.choice].value);
      }
      flush(thread, step.choice);
      return;
    case Step::Kind::Spurious:
      --state_.spurious_left;
      thread.status = Status::Ready;
      thread.options = 1;
      return;
    case Step::Kind::Run: break;
  }
  thread.choice = step.choice;
  thread.status = Status::Ready;
  resume(step.thread);
}

uint64_t World::state_hash() const {
  uint64_t h = mix(state_.spurious_left, state_.fork_epoch);
  for (const Cell& cell : state_.cells) h = mix(h, cell.value);
  for (uint32_t t = 0; t < count_; ++t) {
    const Thread& thread = state_.threads[t];
    h = mix(h, thread.history);
    h = mix(h, static_cast<uint64_t>(thread.status) << 1 |
                   (thread.status == Status::Spinning && has_changed(thread) ? 1 : 0));
    for (const Buffered& entry : thread.buffer)
      h = mix(mix(h, entry.value), uint64_t{entry.cell} << 1 | (entry.release ? 1 : 0));
    h = mix(h, thread.buffer.size());
  }
  return h;
}

void World::describe_hang() {
  findings_.fault = "hang:";
  for (uint32_t t = 0; t < count_; ++t) {
    const Thread& thread = state_.threads[t];
    if (thread.status == Status::Spinning) findings_.fault += fmt::format(" thread {} spins", t);
    if (thread.status == Status::Waiting)
      findings_.fault += fmt::format(" thread {} sleeps on {}", t, names_[thread.cell]);
  }
}

// On from here to an end, or to a state that is known. False: a fault.
bool World::follow() {
  ++findings_.executions;
  for (;;) {
    if (!findings_.fault.empty()) return false;
    list_steps();
    if (steps_.empty()) {
      const auto is_over = [](const Thread& thread) {
        return thread.status == Status::Done || thread.status == Status::Gone;
      };
      if (!std::all_of(state_.threads.begin(), state_.threads.begin() + count_, is_over))
        describe_hang();
      return findings_.fault.empty();
    }
    if (!visited_.insert(state_hash()).second) return true;
    if (steps_.size() > 1) keep(static_cast<uint32_t>(steps_.size()));
    findings_.deepest = std::max(findings_.deepest, ++depth_);
    apply(steps_[0]);
  }
}

// The execution with the fault once more, from its start, told step by step.
void World::show() {
  tracing_ = true;
  findings_.fault.clear();
  const std::vector<Node> path = std::move(path_);
  start();
  size_t next = 0;
  for (;;) {
    if (!findings_.fault.empty()) return;
    list_steps();
    if (steps_.empty()) return describe_hang();
    size_t chosen = 0;
    if (steps_.size() > 1 && next < path.size()) chosen = path[next++].chosen;
    apply(steps_[chosen]);
  }
}

Findings World::search() {
  g_world = this;
  start();
  bool sound = follow();
  while (sound && !path_.empty() && visited_.size() < options_.most_states) {
    Node& node = path_.back();
    if (++node.chosen == node.count) {
      path_.pop_back();
      continue;
    }
    go_back_to(node);
    list_steps();
    ++depth_;
    apply(steps_[node.chosen]);
    sound = follow();
  }
  findings_.complete = sound && path_.empty();
  findings_.states = visited_.size();
  if (!sound) show();
  scenario_.reset();
  g_world = nullptr;
  return std::move(findings_);
}

bool releases(Order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

}  // namespace

Findings explore(const std::function<std::unique_ptr<Scenario>()>& make, const Options& options) {
  return std::make_unique<World>(make, options)->search();
}

uint32_t new_cell(uint64_t value) {
  g_world->state_.cells.push_back({value, 0});
  return static_cast<uint32_t>(g_world->state_.cells.size() - 1);
}
void name_cell(uint32_t cell, std::string_view name) {
  g_world->names_[cell] = name;
}
uint64_t& ghost(uint32_t cell) {
  return g_world->state_.cells[cell].value;
}

uint64_t load(uint32_t cell) {
  World& w = *g_world;
  w.yield();
  const uint64_t value = w.value_for(w.self(), cell);
  w.self().reads.push_back({cell, w.state_.cells[cell].version});
  w.remember(value);
  w.note("load", cell, value);
  return value;
}

void store(uint32_t cell, uint64_t value, Order order) {
  World& w = *g_world;
  if (w.is(Mutation::Kind::WeakStore, cell)) order = std::memory_order_relaxed;
  // What enters the buffer is not visible before it leaves it, which is a step of its own.
  if (order == std::memory_order_seq_cst) w.yield();
  w.remember(cell);
  if (w.is(Mutation::Kind::LostStore, cell) && w.options().mutation.value == value) return;
  w.note("store", cell, value);
  if (order == std::memory_order_seq_cst) {
    w.flush_all(w.self());
    w.write(cell, value);
  } else {
    w.self().buffer.push_back({cell, value, order == std::memory_order_release});
  }
}

uint64_t update(uint32_t cell, Rmw kind, uint64_t value, Order order) {
  World& w = *g_world;
  w.yield();
  if (releases(order)) w.flush_all(w.self());
  // It reads memory, not the buffer, so what was stored to the same word before comes first, and
  // with it what a release store has to come after.
  for (size_t i = 0; i < w.self().buffer.size(); ++i)
    if (w.self().buffer[i].cell == cell) {
      w.flush_all(w.self());
      break;
    }
  const uint64_t old = w.state_.cells[cell].value;
  w.remember(old);
  if (w.is(Mutation::Kind::LostAnd, cell) && kind == Rmw::And) return old;
  if (w.is(Mutation::Kind::TornRmw, cell) && kind == Rmw::Exchange) w.yield();
  switch (kind) {
    case Rmw::Add: w.write(cell, old + value); break;
    case Rmw::Sub: w.write(cell, old - value); break;
    case Rmw::And: w.write(cell, old & value); break;
    case Rmw::Or: w.write(cell, old | value); break;
    case Rmw::Exchange: w.write(cell, value); break;
  }
  w.note("update", cell, w.state_.cells[cell].value);
  return old;
}

void futex_wait(uint32_t cell, int half, uint32_t value) {
  World& w = *g_world;
  w.yield();
  w.flush_all(w.self());  // a system call
  const auto now = static_cast<uint32_t>(w.state_.cells[cell].value >> (32 * half));
  const bool blind = w.is(Mutation::Kind::BlindWait, cell) &&
                     w.options().mutation.value == static_cast<uint64_t>(half);
  w.remember(1);
  if (now != value && !blind) return;
  w.note("sleep on", cell, value);
  Thread& self = w.self();
  self.status = Status::Waiting;
  self.cell = cell;
  self.half = half;
  w.yield();
  w.note("wake up from", cell, w.state_.cells[cell].value);
}

void futex_wake(uint32_t cell, int half, int count) {
  World& w = *g_world;
  Thread& self = w.self();
  self.wakes = true;
  self.cell = cell;
  self.half = half;
  self.count = count;
  w.yield();
  self.wakes = false;
  w.flush_all(self);
  w.remember(2);
  if (w.is(Mutation::Kind::LostWake, cell) &&
      w.options().mutation.value == static_cast<uint64_t>(half))
    return;
  w.note("wake those on", cell, w.state_.cells[cell].value);
  // From the chosen one on, in a ring.
  std::vector<Thread*> waiting;
  for (Thread& thread : w.state_.threads)
    if (thread.status == Status::Waiting && thread.cell == cell && thread.half == half)
      waiting.push_back(&thread);
  const size_t most = std::min<size_t>(waiting.size(), static_cast<size_t>(count));
  for (size_t i = 0; i < most; ++i) {
    Thread& woken = *waiting[(self.choice + i) % waiting.size()];
    woken.status = Status::Ready;
    woken.options = 1;
  }
}

void spin() {
  World& w = *g_world;
  w.self().status = Status::Spinning;
  w.yield();
  w.self().reads.clear();
}

uint32_t choose(uint32_t options) {
  World& w = *g_world;
  w.self().is_choice = true;
  w.yield(options);
  w.self().is_choice = false;
  w.remember(w.self().choice);
  return w.self().choice;
}

void fork_here() {
  World& w = *g_world;
  for (Thread& thread : w.state_.threads) {
    if (&thread == &w.self() || thread.status == Status::Done) continue;
    thread.status = Status::Gone;
    thread.buffer.clear();
  }
  ++w.state_.fork_epoch;
  w.note("fork", 0, w.state_.fork_epoch);
}

uint32_t fork_epoch() {
  return g_world->state_.fork_epoch;
}

void require(bool holds, std::string_view rule) {
  if (!holds) g_world->break_off(rule);
}

uint64_t position() {
  return g_world->self().history;
}

void merge(uint64_t entry, std::initializer_list<uint64_t> values) {
  uint64_t h = mix(entry, values.size());
  for (const uint64_t value : values) h = mix(h, value);
  g_world->self().history = h;
  g_world->self().reads.clear();
}

}  // namespace vyre::model

#endif
