// SPDX-License-Identifier: Apache-2.0
// Dispatches that are given up, at any time, or that end by a trap. Afterwards the device works as
// if nothing had been.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "gpu/soak.hpp"

namespace vyre::soak {
namespace {

using std::chrono::microseconds;

// Also when other processes take the time, or a tool that looks at every access.
double soon_ms(const Soak& soak) {
  return soak.smoke ? 15'000 : 2'000;
}

// Programs that do not end by themselves.
class Endless {
 public:
  explicit Endless(Soak& soak)
      : soak_(soak),
        programs_{Rounds{soak.device, Form::Loop, Rounds::Extra::None},
                  Rounds{soak.device, Form::Passes, Rounds::Extra::None},
                  Rounds{soak.device, Form::Loop, Rounds::Extra::Traps},
                  Rounds{soak.device, Form::Passes, Rounds::Extra::Traps}} {
    for (size_t i = 0; i < programs_.size(); ++i) grids_[i] = programs_[i].grids(soak);
  }

  // The next run: of any of them, of any size, sometimes with a workgroup that the others wait for
  // in vain.
  const Rounds& choose(Rounds::Run& run) {
    const size_t i = soak_.random() % programs_.size();
    run.grid = grids_[i][soak_.random() % grids_[i].size()];
    run.rounds = Rounds::kEndless;
    run.slow_unless = 0xFFFF;
    run.stuck = soak_.random() % 2 == 0;
    last_ = {&programs_[i], run.grid};
    return programs_[i];
  }
  // The same program again, to its end.
  void again() const {
    must(last_.first->run({.grid = last_.second, .rounds = soak_.smoke ? 3U : 100U}),
         "the dispatch after a stop");
  }

 private:
  Soak& soak_;
  std::array<Rounds, 4> programs_;
  std::array<std::vector<uint32_t>, 4> grids_;
  std::pair<const Rounds*, uint32_t> last_ = {};
};

void expect_timeout(const Result<Report>& ran, std::string_view doing) {
  hold(!ran.has_value(), fmt::format("{}: it came to an end", doing));
  hold(ran.error().code == ErrorCode::Timeout,
       fmt::format("{}: {}", doing, to_string(ran.error())));
}

}  // namespace

void check_cancel(Soak& soak) {
  Endless endless(soak);
  const uint32_t trials = soak.times(300, 8);
  double worst = 0;
  for (uint32_t i = 0; i < trials; ++i) {
    Rounds::Run run;
    const Rounds& program = endless.choose(run);
    const microseconds delay(soak.up_to(20'000));
    Clock::time_point stopped;
    Result<Report> ran = Report{};
    if (i % 2 == 0) {
      std::atomic<bool> flag = false;
      std::jthread other([&] {
        std::this_thread::sleep_for(delay);
        stopped = Clock::now();
        flag = true;
      });
      ran = program.run(run, {.cancel = &flag});
      other.join();
    } else {
      Pending pending = must(program.start(run), "starting");
      std::this_thread::sleep_for(delay);
      stopped = Clock::now();
      pending.cancel();
      auto result = pending.wait();
      if (result)
        ran = std::move(result->report);
      else
        ran = std::unexpected(result.error());
    }
    const double took = ms_since(stopped);
    expect_timeout(ran, "a cancelled dispatch");
    worst = std::max(worst, took);
    endless.again();
  }
  hold(worst < soon_ms(soak), fmt::format("it took {:.0f} ms to stop", worst));
  soak.note = fmt::format("{} dispatches, longest {:.2f} ms", trials, worst);
}

// Whichever comes first, the end or the flag: both are reported as they are.
void check_cancel_near_the_end(Soak& soak) {
  const uint32_t trials = soak.times(600, 8);
  uint32_t ended = 0;
  for (const Form form : kForms) {
    const Rounds program(soak.device, form, Rounds::Extra::Slow);
    const auto grids = program.grids(soak);
    for (uint32_t i = 0; i < trials / 2; ++i) {
      const Rounds::Run run{
          .grid = grids[i % grids.size()], .rounds = soak.times(300, 4), .slow_unless = 15};
      std::atomic<bool> flag = false;
      std::jthread other([&, delay = microseconds(soak.random() % 2000)] {
        std::this_thread::sleep_for(delay);
        flag = true;
      });
      const auto ran = program.run(run, {.cancel = &flag});
      if (!ran) expect_timeout(ran, "a dispatch cancelled near its end");
      ended += ran ? 1 : 0;
      must(program.run(run), "the same without a flag");
    }
  }
  soak.note = fmt::format("{} of {} came to their end", ended, trials);
}

void check_deadlines(Soak& soak) {
  Endless endless(soak);
  const uint32_t trials = soak.times(150, 6);
  double worst = 0;
  for (uint32_t i = 0; i < trials; ++i) {
    Rounds::Run run;
    const Rounds& program = endless.choose(run);
    const microseconds limit(1 + soak.up_to(30'000));
    const Clock::time_point start = Clock::now();
    const auto ran = program.run(run, {.timeout = limit});
    const double late = ms_since(start) - static_cast<double>(limit.count()) / 1000;
    expect_timeout(ran, "a dispatch with a timeout");
    hold(late >= 0, fmt::format("a timeout of {} us came {:.3f} ms early", limit.count(), -late));
    worst = std::max(worst, late);
    endless.again();
  }
  hold(worst < soon_ms(soak), fmt::format("a timeout was {:.0f} ms late", worst));
  soak.note = fmt::format("{} dispatches, latest {:.2f} ms", trials, worst);
}

// Lanes of the whole grid trap in several phases; only the first phase counts, and in it the
// smallest lane, whoever comes first.
void check_traps(Soak& soak) {
  const uint32_t trials = soak.times(600, 8);
  for (const Form form : kForms) {
    const Rounds program(soak.device, form, Rounds::Extra::Traps);
    const auto grids = program.grids(soak);
    for (uint32_t i = 0; i < trials / 2; ++i) {
      Rounds::Run run{.grid = grids[i % grids.size()],
                      .rounds = soak.times(40, 5),
                      .slow_unless = i % 3 == 0 ? 0U : ~0U};
      const uint32_t lanes = run.grid * Rounds::kLanes;
      run.traps.assign(lanes, 0);
      const uint32_t first = 1 + soak.random() % run.rounds;
      const uint32_t count = 1 + soak.random() % (i % 5 == 0 ? lanes : 20);
      uint32_t lane = lanes;
      for (uint32_t k = 0; k < count; ++k) {
        const uint32_t who = soak.random() % lanes;
        const uint32_t when = first + soak.up_to(run.rounds - first);
        if (run.traps[who] == 0) run.traps[who] = when;
      }
      // Somebody traps in the first of these phases.
      run.traps[soak.random() % lanes] = first;
      for (uint32_t who = 0; who < lanes && lane == lanes; ++who)
        if (run.traps[who] == first) lane = who;

      const auto ran = program.run(run);
      hold(!ran.has_value(), "nobody told of a trap");
      const std::string expected =
          fmt::format("lane {} trapped with tag {} and value {}", lane, Rounds::kTag, first - 1);
      hold(ran.error().code == ErrorCode::Trapped && ran.error().message.starts_with(expected),
           fmt::format("{}, {} workgroups: not `{}` but: {}", name_of(form), run.grid, expected,
                       to_string(ran.error())));
      run.traps.clear();
      must(program.run(run), "the same without traps");
    }
  }
  soak.note = fmt::format("{} dispatches", trials);
}

}  // namespace vyre::soak
