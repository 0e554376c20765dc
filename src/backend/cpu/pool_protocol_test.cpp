// SPDX-License-Identifier: Apache-2.0
// Every interleaving of the pool's protocol, within the bounds of each scenario: publish, join,
// leave, sleep, wake, close, stop, fork. Then the same with deliberate mistakes, each of which the
// search has to find. The join of one job and the publication of the next are the grid barrier of
// the CPU device.
#include "backend/cpu/pool_protocol.hpp"

#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

#include "backend/cpu/interleavings_test.hpp"
#include "base/sanitizers.hpp"

// Sanitizers know nothing of the fibers' stacks.
#if defined(__x86_64__) && !VYRE_ADDRESS_SANITIZER && !VYRE_THREAD_SANITIZER

namespace vyre::backend::cpu {
namespace {

using model::Findings;
using model::Mutation;
using Kind = model::Mutation::Kind;

using Base = PoolProtocol<model::System, uint32_t>;

// The protocol as it is.
struct Named : Base {
  Named() {
    model::name_cell(state_.cell(), "state");
    model::name_cell(sleepers_.cell(), "sleepers");
    model::name_cell(owned_.cell(), "owned");
  }
};

struct Bounds {
  uint32_t owners = 1;
  uint32_t helpers = 1;
  uint32_t jobs = 2;        // of each owner
  bool rendezvous = false;  // jobs end only when every helper has joined: wakes must not be lost
  bool forks = false;       // an owner may fork in a job
};

template <class Protocol>
class PoolScenario final : public model::Scenario {
 public:
  explicit PoolScenario(const Bounds& bounds) : bounds_(bounds) {
    for (uint32_t h = 0; h < bounds.helpers; ++h) model::name_cell(places_[h].job.cell(), "place");
  }
  [[nodiscard]] uint32_t threads() const override { return bounds_.owners + bounds_.helpers; }
  void run(uint32_t thread) override {
    if (thread < bounds_.owners)
      own(thread);
    else
      help(thread - bounds_.owners);
  }

 private:
  static constexpr uint32_t kMost = 2;
  static constexpr uint32_t kNoOwner = 99;

  struct Client {
    PoolScenario& world;
    uint32_t helper;
    void execute(uint32_t job) { world.execute(helper, job); }
    void joined() {}
    bool idle() {
      if (model::choose(2) == 1) return true;
      model::spin();
      return false;
    }
    void sleeping() {}
    void awake() {}
  };

  void help(uint32_t helper) {
    Client client{*this, helper};
    protocol_.help(places_[helper], client);
    ended_[bounds_.owners + helper].store(true);
  }

  void execute(uint32_t helper, uint32_t job) {
    model::require(job == open_job_, "a helper executes a job that is over");
    model::require(helper_result_[helper] != job, "a helper joins a job twice");
    inside_ = inside_ + 1;
    joined_[helper] = job;
    helper_result_[helper] = job;
    if (bounds_.rendezvous) arrived_[helper].store(job);
    model::require(job == open_job_, "the owner has left a job that a helper is in");
    inside_ = inside_ - 1;
  }

  void own(uint32_t self) {
    const uint64_t entry = model::position();
    for (uint32_t i = 0; i < bounds_.jobs; ++i) {
      model::merge(entry, {i});
      if (!protocol_.try_own()) continue;
      model::require(owner_ == kNoOwner, "two owners at once");
      owner_ = self;
      publish();
      owner_ = kNoOwner;
      protocol_.disown();
    }
    model::merge(entry, {bounds_.jobs});
    ended_[self].store(true);
    if (self != 0 || model::fork_epoch() != 0) return;
    for (uint32_t o = 1; o < bounds_.owners; ++o) wait_for(ended_[o], true);
    protocol_.stop();
    for (uint32_t h = 0; h < bounds_.helpers; ++h) wait_for(ended_[bounds_.owners + h], true);
  }

  void publish() {
    const uint64_t entry = model::position();
    const uint32_t job = published_ + 1;
    published_ = job;
    open_job_ = job;
    if (protocol_.open(job)) protocol_.wake(static_cast<int32_t>(bounds_.helpers));
    model::merge(entry, {job});
    if (bounds_.rendezvous)
      for (uint32_t h = 0; h < bounds_.helpers; ++h) wait_for(arrived_[h], job);
    if (bounds_.forks && model::choose(2) == 1) model::fork_here();
    const bool closed = protocol_.close(places_.data(), bounds_.helpers, 0);
    const bool child = model::fork_epoch() != 0;
    model::require(closed || child, "a job is given up without a fork");
    model::require(child || inside_ == 0, "the owner has left a job that a helper is in");
    for (uint32_t h = 0; h < bounds_.helpers && !child; ++h)
      if (joined_[h] == job)
        model::require(helper_result_[h] == job, "the owner does not see what a helper has stored");
    open_job_ = 0;
  }

  template <class T>
  static void wait_for(model::Atomic<T>& word, T value) {
    const uint64_t entry = model::position();
    for (;;) {
      model::merge(entry, {});
      if (word.load() == value) return;
      model::spin();
    }
  }

  const Bounds bounds_;
  Protocol protocol_;
  std::array<typename Base::Place, kMost> places_;
  // What helpers leave behind: nothing but the protocol orders it.
  std::array<model::Plain<uint32_t>, kMost> helper_result_ = {0u, 0u};
  std::array<model::Atomic<uint32_t>, kMost> arrived_ = {0u, 0u};
  std::array<model::Atomic<bool>, model::kMaxThreads> ended_ = {false, false, false, false};
  model::Ghost<uint32_t> published_ = 0u;
  model::Ghost<uint32_t> open_job_ = 0u;
  model::Ghost<uint32_t> inside_ = 0u;
  model::Ghost<uint32_t> owner_ = kNoOwner;
  std::array<model::Ghost<uint32_t>, kMost> joined_;
};

template <class Protocol>
Findings search(const Bounds& bounds, const model::Options& options = {}) {
  return model::explore([&] { return std::make_unique<PoolScenario<Protocol>>(bounds); }, options);
}

void expect_sound(const char* name, const Findings& found) {
  std::string schedule;
  for (const std::string& line : found.schedule) schedule += "\n  " + line;
  EXPECT_EQ(found.fault, "") << schedule;
  EXPECT_TRUE(found.complete);
  std::printf("%-40s %9llu states %10llu interleavings %11llu transitions, depth %u\n", name,
              static_cast<unsigned long long>(found.states),
              static_cast<unsigned long long>(found.executions),
              static_cast<unsigned long long>(found.transitions), found.deepest);
}

TEST(PoolProtocol, OneHelperThreeJobs) {
  expect_sound("one helper, three jobs", search<Named>({.helpers = 1, .jobs = 3}));
}
// With VYRE_MODEL=full also with spurious wakes, which takes a minute.
TEST(PoolProtocol, TwoHelpersTwoJobs) {
  const char* const mode = std::getenv("VYRE_MODEL");
  const bool full = mode != nullptr && std::string_view(mode) == "full";
  expect_sound("two helpers, two jobs",
               search<Named>({.helpers = 2, .jobs = 2}, {.spurious_wakes = full ? 1U : 0U}));
}
TEST(PoolProtocol, WakesAreNotLost) {
  expect_sound("one helper needed in each of three jobs",
               search<Named>({.helpers = 1, .jobs = 3, .rendezvous = true}));
}
TEST(PoolProtocol, WakesOfTwoAreNotLost) {
  expect_sound("two helpers needed in each of two jobs",
               search<Named>({.helpers = 2, .jobs = 2, .rendezvous = true}));
}
TEST(PoolProtocol, TwoOwners) {
  expect_sound("two owners, one helper", search<Named>({.owners = 2, .helpers = 1, .jobs = 2}));
}
TEST(PoolProtocol, Forks) {
  expect_sound("forks in a job, two helpers",
               search<Named>({.helpers = 2, .jobs = 1, .forks = true}));
  expect_sound("forks in a job, one helper",
               search<Named>({.helpers = 1, .jobs = 2, .forks = true}));
}

// ---- deliberate mistakes

// Stop as a word of its own, tested before the state is loaded once more: the form that this
// protocol had, in which a helper slept for ever if the stop came in between.
struct SeparateStop : Named {
  template <class Client>
  void help(Place& place, Client& client) {
    const auto entry = model::position();
    uint32_t seen = 0;
    bool woken = false;
    for (;;) {
      model::merge(entry, {seen, woken});
      if (epoch_of(state_.load(std::memory_order_acquire)) != seen) {
        if (stopping_.load(std::memory_order_relaxed)) return;
        const uint64_t state = state_.load(std::memory_order_acquire);
        seen = epoch_of(state);
        join(place, state, std::exchange(woken, false), client);
      } else if (client.idle()) {
        sleep(seen);
        woken = true;
      }
    }
  }
  void stop() {
    stopping_.store(true, std::memory_order_relaxed);
    state_.fetch_add(kGeneration);
    model::System::wake_upper(state_, INT_MAX);
  }
  model::Atomic<bool> stopping_ = false;
};

// A helper does not load `open` again after it has stored its place.
struct JoinsUnchecked : Named {
  template <class Client>
  void help(Place& place, Client& client) {
    const auto entry = model::position();
    uint32_t seen = 0;
    for (;;) {
      model::merge(entry, {seen});
      const uint64_t state = state_.load(std::memory_order_acquire);
      if (epoch_of(state) == seen) {
        if (client.idle()) sleep(seen);
        continue;
      }
      if ((state & kStop) != 0) return;
      seen = epoch_of(state);
      if ((state & kOpen) == 0) continue;
      place.job.store(in_job(seen));
      client.execute(job_);
      leave(place);
    }
  }
};

// The owner sleeps without a second look at the place of the helper that it waits for.
struct SleepsUnchecked : Named {
  bool close(Place* places, uint32_t count, uint32_t /*fork_epoch*/) {
    const auto entry = model::position();
    const uint64_t job = in_job(epoch_of(state_.fetch_and(~kOpen)));
    for (uint32_t i = 0; i < count;) {
      model::merge(entry, {job, i});
      if (places[i].job.load() != job)
        ++i;
      else
        model::System::wait_lower(
            state_, static_cast<uint32_t>(state_.fetch_or(kOwnerSleeps) | kOwnerSleeps));
    }
    return true;
  }
};

// The job is written after it is published.
struct PublishesEarly : Named {
  bool open(uint32_t job) {
    const uint64_t epoch = state_.load(std::memory_order_relaxed) & kEpoch;
    state_.store(((epoch + kGeneration) & ~kStop) | kOpen);
    job_ = job;
    return sleepers_.load() != 0;
  }
};

// The owner asks for sleepers before it publishes.
struct ReadsEarly : Named {
  bool open(uint32_t job) {
    const bool sleepers = sleepers_.load() != 0;
    Named::open(job);
    return sleepers;
  }
};

// A helper clears the sign of a sleeping owner before it leaves the job, and wakes no one.
struct ClearsEarly : Named {
  template <class Client>
  void help(Place& place, Client& client) {
    struct Cleared {
      ClearsEarly& protocol;
      Client& inner;
      void execute(uint32_t job) {
        inner.execute(job);
        protocol.state_.fetch_and(~kOwnerSleeps);
      }
      void joined() {}
      bool idle() { return inner.idle(); }
      void sleeping() {}
      void awake() {}
    } cleared{*this, client};
    Named::help(place, cleared);
  }
};

// A child of a fork waits for the helpers of its parent.
struct ForksUnchecked : Named {
  bool close(Place* places, uint32_t count, uint32_t /*fork_epoch*/) {
    return Named::close(places, count, model::fork_epoch());
  }
};

void expect_found(const char* name, const Findings& found, std::string_view fault) {
  EXPECT_TRUE(found.fault.starts_with(fault)) << name << ": found \"" << found.fault << '"';
  std::printf("%-40s found after %8llu states: %s\n", name,
              static_cast<unsigned long long>(found.states), found.fault.c_str());
}

constexpr Bounds kTwoJobs = {.helpers = 1, .jobs = 2};
constexpr Bounds kNeeded = {.helpers = 1, .jobs = 2, .rendezvous = true};

TEST(PoolProtocolMistakes, TheLostStopIsFound) {
  const Findings found = search<SeparateStop>({.helpers = 1, .jobs = 1});
  expect_found("stop in a word of its own", found, "hang:");
  EXPECT_FALSE(found.schedule.empty());
  for (const std::string& line : found.schedule) std::printf("    %s\n", line.c_str());
}
TEST(PoolProtocolMistakes, OfTheCode) {
  expect_found("join without a second look", search<JoinsUnchecked>(kTwoJobs), "a helper executes");
  expect_found("sleep without a second look", search<SleepsUnchecked>(kTwoJobs), "hang:");
  expect_found("job written after publication", search<PublishesEarly>(kTwoJobs), "a helper exec");
  expect_found("sleepers read before publication", search<ReadsEarly>(kNeeded), "hang:");
  expect_found("the owner's sign cleared early", search<ClearsEarly>(kTwoJobs), "hang:");
  expect_found("fork not looked for", search<ForksUnchecked>({.jobs = 1, .forks = true}), "hang:");
}
TEST(PoolProtocolMistakes, OfThePrimitives) {
  const auto with = [](Kind kind, std::string_view cell, uint64_t value = 0) {
    return model::Options{.mutation = {kind, cell, value}, .spurious_wakes = 0};
  };
  expect_found("no wake of the owner", search<Named>(kTwoJobs, with(Kind::LostWake, "state", 0)),
               "hang:");
  expect_found("no wake of helpers", search<Named>(kTwoJobs, with(Kind::LostWake, "state", 1)),
               "hang:");
  expect_found("the owner's futex does not compare",
               search<Named>(kTwoJobs, with(Kind::BlindWait, "state", 0)), "hang:");
  expect_found("the helpers' futex does not compare",
               search<Named>(kTwoJobs, with(Kind::BlindWait, "state", 1)), "hang:");
  expect_found("weak stores of places", search<Named>(kTwoJobs, with(Kind::WeakStore, "place")),
               "hang:");
  expect_found("weak publication", search<Named>(kNeeded, with(Kind::WeakStore, "state")), "hang:");
  expect_found("a helper never leaves", search<Named>(kTwoJobs, with(Kind::LostStore, "place", 0)),
               "hang:");
  expect_found("a job is never closed", search<Named>(kTwoJobs, with(Kind::LostAnd, "state")),
               "a helper executes");
  expect_found("ownership without exchange",
               search<Named>({.owners = 2, .jobs = 1}, with(Kind::TornRmw, "owned")), "two owners");
}
}  // namespace
}  // namespace vyre::backend::cpu

#endif
