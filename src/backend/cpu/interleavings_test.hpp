// SPDX-License-Identifier: Apache-2.0
// Executes code that is written over a `System` (pool_protocol.hpp) under every interleaving of a
// few threads, and reports the first one that hangs or breaks a rule. Threads are fibers; each
// access to shared memory, futex call and spin is a place to switch at. Executions are repeated
// from the start with another choice each (depth-first); a state that was reached before is not
// followed again, so the search ends although its threads have loops.
//
// Memory is weaker than sequentially consistent: a store that is not sequentially consistent waits
// in the thread's store buffer until any later moment. Relaxed stores to different words may leave
// the buffer in any order; a release store leaves it after everything before it. A sequentially
// consistent store, or a read-modify-write that releases, empties the buffer first. Loads are not
// reordered. That is x86-TSO plus the reordering of relaxed stores.
//
// A thread that spins takes its next step when a word that it has read since its last spin has
// changed: an iteration that reads the same values again is no other state. A futex may wake up
// spuriously, a limited number of times.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace vyre::model {

inline constexpr size_t kMaxThreads = 4;

// A deliberate mistake in the primitives, to see whether the search finds it. Words have the names
// that name_cell() gives them.
struct Mutation {
  enum class Kind : uint8_t {
    None,
    WeakStore,  // stores to the word are relaxed
    LostStore,  // stores of this value do not happen
    LostAnd,    // fetch_and does not happen; the old value is returned
    LostWake,   // wakes of this half of the word do not happen
    BlindWait,  // a futex wait does not compare
    TornRmw,    // exchange is a load and a store
  };
  Kind kind = Kind::None;
  std::string_view cell = {};
  uint64_t value = 0;  // LostStore: the value; LostWake, BlindWait: 0 the lower half, 1 the upper
};

struct Options {
  Mutation mutation = {};
  uint32_t spurious_wakes = 1;
  uint64_t most_states = 20'000'000;
};

struct Findings {
  std::string fault;  // empty: none
  uint64_t executions = 0;
  uint64_t states = 0;
  uint64_t transitions = 0;
  bool complete = false;  // every state was followed
  uint32_t deepest = 0;
  std::vector<std::string> schedule;  // that shows the fault
};

// What the threads of one execution work on. Made anew for each execution.
class Scenario {
 public:
  virtual ~Scenario() = default;
  [[nodiscard]] virtual uint32_t threads() const = 0;
  virtual void run(uint32_t thread) = 0;
};

Findings explore(const std::function<std::unique_ptr<Scenario>()>& make,
                 const Options& options = {});

// ---- for scenarios: what the code under test calls

using Order = std::memory_order;

uint32_t new_cell(uint64_t value);
void name_cell(uint32_t cell, std::string_view name);
uint64_t load(uint32_t cell);
void store(uint32_t cell, uint64_t value, Order order);
enum class Rmw : uint8_t { Add, Sub, And, Or, Exchange };
uint64_t update(uint32_t cell, Rmw kind, uint64_t value, Order order);
// Memory of the checker itself: no place to switch at, no store buffer.
uint64_t& ghost(uint32_t cell);

void futex_wait(uint32_t cell, int half, uint32_t value);
void futex_wake(uint32_t cell, int half, int count);
// Until a word that this thread has read since its last spin changes.
void spin();
// One of several ways to go on, each followed.
uint32_t choose(uint32_t options);
// This thread only is in the child; the others are gone with what their buffers held.
void fork_here();
uint32_t fork_epoch();
// Breaks off the execution if the rule does not hold.
void require(bool holds, std::string_view rule);

// Merging of executions: from here on the thread depends only on where it entered the function
// (`entry`, from position()) and on the values given.
uint64_t position();
void merge(uint64_t entry, std::initializer_list<uint64_t> values);

template <class T>
class Atomic {
 public:
  Atomic(T value) : cell_(new_cell(bits(value))) {}  // NOLINT(google-explicit-constructor)
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;
  [[nodiscard]] T load(Order = std::memory_order_seq_cst) const { return from(model::load(cell_)); }
  void store(T value, Order order = std::memory_order_seq_cst) {
    model::store(cell_, bits(value), order);
  }
  T exchange(T value, Order order = std::memory_order_seq_cst) {
    return from(update(cell_, Rmw::Exchange, bits(value), order));
  }
  T fetch_add(T value, Order order = std::memory_order_seq_cst) {
    return from(update(cell_, Rmw::Add, bits(value), order));
  }
  T fetch_sub(T value, Order order = std::memory_order_seq_cst) {
    return from(update(cell_, Rmw::Sub, bits(value), order));
  }
  T fetch_and(T value, Order order = std::memory_order_seq_cst) {
    return from(update(cell_, Rmw::And, bits(value), order));
  }
  T fetch_or(T value, Order order = std::memory_order_seq_cst) {
    return from(update(cell_, Rmw::Or, bits(value), order));
  }
  [[nodiscard]] uint32_t cell() const { return cell_; }

 private:
  static uint64_t bits(T value) { return static_cast<uint64_t>(value); }
  static T from(uint64_t value) { return static_cast<T>(value); }
  uint32_t cell_;
};

// Accesses that are ordered by others: as weak as relaxed ones.
template <class T>
class Plain {
 public:
  Plain(T value) : word_(value) {}  // NOLINT(google-explicit-constructor)
  Plain& operator=(const T& value) {
    word_.store(value, std::memory_order_relaxed);
    return *this;
  }
  operator T() const {  // NOLINT(google-explicit-constructor)
    return word_.load(std::memory_order_relaxed);
  }

 private:
  Atomic<T> word_;
};

// Counts that decide nothing.
template <class T>
class Counter {
 public:
  Counter(T) {}  // NOLINT(google-explicit-constructor)
  void fetch_add(T, Order) {}
  [[nodiscard]] T load(Order) const { return 0; }
};

// A word of the checker, for rules.
template <class T>
class Ghost {
 public:
  Ghost(T value = T{}) : cell_(new_cell(static_cast<uint64_t>(value))) {}  // NOLINT
  Ghost(const Ghost&) = delete;
  Ghost& operator=(const Ghost&) = delete;
  Ghost& operator=(T value) {
    ghost(cell_) = static_cast<uint64_t>(value);
    return *this;
  }
  operator T() const { return static_cast<T>(ghost(cell_)); }  // NOLINT

 private:
  uint32_t cell_;
};

// The System of pool_protocol.hpp.
struct System {
  template <class T>
  using Atomic = model::Atomic<T>;
  template <class T>
  using Plain = model::Plain<T>;
  template <class T>
  using Counter = model::Counter<T>;

  class Patience {
   public:
    // It may be over at any time. An iteration in which it is not leads back to the same state.
    [[nodiscard]] bool is_over() const { return over_; }
    void spin() { over_ = choose(2) == 1; }

   private:
    bool over_ = false;
  };
  static void wait_lower(Atomic<uint64_t>& word, uint32_t value) {
    futex_wait(word.cell(), 0, value);
  }
  static void wait_upper(Atomic<uint64_t>& word, uint32_t value) {
    futex_wait(word.cell(), 1, value);
  }
  static void wake_lower(Atomic<uint64_t>& word, int count) { futex_wake(word.cell(), 0, count); }
  static void wake_upper(Atomic<uint64_t>& word, int count) { futex_wake(word.cell(), 1, count); }
  static bool is_forked_since(uint32_t epoch) { return epoch != fork_epoch(); }
  static uint64_t position() { return model::position(); }
  template <class... Values>
  static void merge(uint64_t entry, Values... values) {
    model::merge(entry, {static_cast<uint64_t>(values)...});
  }
};

}  // namespace vyre::model
