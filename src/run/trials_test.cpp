// SPDX-License-Identifier: Apache-2.0
// What durations prove about strategies (D-MODE.3), without a clock and without a device.
#include "run/trials.hpp"

#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vyre::run {
namespace {

using testing::ElementsAre;

constexpr plan::RouteVariant kDefault = {.route = plan::Route::Native};

std::vector<plan::RouteVariant> lanes(const std::vector<uint32_t>& all) {
  std::vector<plan::RouteVariant> variants;
  for (const uint32_t each : all) {
    plan::RouteVariant variant = kDefault;
    variant.lanes = each;
    variants.push_back(variant);
  }
  return variants;
}

// The rows in the order in which they ran.
std::vector<size_t> run_all(Trials& trials, const std::function<uint64_t(size_t row)>& ns_of) {
  std::vector<size_t> order;
  const uint32_t before = trials.runs();
  while (const auto run = trials.next()) {
    order.push_back(run->row);
    trials.add(ns_of(run->row));
    EXPECT_LE(trials.runs(), trials.most_runs());
    if (order.size() > 10'000) break;
  }
  EXPECT_TRUE(trials.is_over());
  EXPECT_EQ(trials.runs() - before, order.size());
  return order;
}

TEST(Trials, AreInterleavedAndRepeated) {
  Trials trials(kDefault, lanes({8, 16}), {.pairs = 3});
  const auto order = run_all(trials, [](size_t row) { return row == 2 ? 80 : 100; });
  EXPECT_THAT(order, ElementsAre(0,                    // the default once
                                 1, 0, 1, 0, 1, 0, 1,  // the first candidate
                                 2, 0, 2, 0, 2, 0, 2,  // the second
                                 0, 2, 0, 2, 0, 2));   // which is confirmed
  EXPECT_EQ(trials.most_runs(), order.size());
  ASSERT_EQ(trials.adopted(), 2u);
  const plan::TuningRecord record = trials.record();
  EXPECT_EQ(record.adopted, lanes({16}).front());
  EXPECT_EQ(record.default_ns, 100u);
  EXPECT_EQ(record.adopted_ns, 80u);
  EXPECT_EQ(record.runs, 21u);
  EXPECT_EQ(record.candidates, 2u);
}

TEST(Trials, TheFirstRunOfACandidateDoesNotCount) {
  Trials trials(kDefault, lanes({8}));
  bool first = true;
  run_all(trials, [&](size_t row) -> uint64_t {
    if (row == 0) return 100;
    return std::exchange(first, false) ? 1'000'000 : 90;
  });
  EXPECT_EQ(trials.adopted(), 1u);
}

TEST(Trials, FivePerCentAreEnoughAndFourAreNot) {
  const auto adopts = [](uint64_t ns) {
    Trials trials(kDefault, lanes({8}));
    run_all(trials, [&](size_t row) -> uint64_t { return row == 0 ? 1000 : ns; });
    return trials.adopted().has_value();
  };
  EXPECT_TRUE(adopts(900));
  EXPECT_TRUE(adopts(950));
  EXPECT_FALSE(adopts(951));
  EXPECT_FALSE(adopts(960));
  EXPECT_FALSE(adopts(1000));
  EXPECT_FALSE(adopts(1100));
}

TEST(Trials, TheFastestOfSeveralIsTaken) {
  Trials trials(kDefault, lanes({8, 16, 64}));
  const uint64_t ns[] = {1000, 900, 700, 800};
  run_all(trials, [&](size_t row) { return ns[row]; });
  EXPECT_EQ(trials.adopted(), 2u);
}

// Each is compared with the default of its own pairs: a machine that becomes slower favours no row.
TEST(Trials, ADriftFavoursNoRow) {
  for (const bool slower : {false, true}) {
    Trials trials(kDefault, lanes({8, 16, 64}));
    double now = 100'000;
    run_all(trials, [&](size_t) {
      now *= slower ? 1.01 : 0.99;
      return static_cast<uint64_t>(now);
    });
    EXPECT_FALSE(trials.adopted()) << slower;
  }
}

// Equal strategies with noise: of a twentieth either way, as on a quiet machine, and of a fifth.
TEST(Trials, NoiseDoesNotFlip) {
  const auto adopted = [](uint64_t noise) {
    std::mt19937_64 random(7);
    uint32_t count = 0;
    for (int i = 0; i < 2000; ++i) {
      Trials trials(kDefault, lanes({1, 8, 16, 64}));
      run_all(trials, [&](size_t) { return 100'000 - noise + random() % (2 * noise); });
      count += trials.adopted() ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(adopted(5'000), 0u);
  EXPECT_LE(adopted(20'000), 12u);
}

// And does not hide what is faster by a tenth.
TEST(Trials, NoiseDoesNotHideAGain) {
  std::mt19937_64 random(7);
  uint32_t adopted = 0;
  for (int i = 0; i < 1000; ++i) {
    Trials trials(kDefault, lanes({1, 8, 16, 64}));
    run_all(trials, [&](size_t row) { return (row == 3 ? 87'000 : 97'000) + random() % 6'000; });
    adopted += trials.adopted() == 3u ? 1 : 0;
  }
  EXPECT_GE(adopted, 950u);
}

TEST(Trials, OnePairMayBeDisturbedAndNotTwo) {
  const auto adopts = [](uint32_t disturbed) {
    Trials trials(kDefault, lanes({8}));
    uint32_t counted = 0;
    run_all(trials, [&](size_t row) -> uint64_t {
      const auto run = trials.next();
      if (row == 0 || !run->counted) return 1000;
      return counted++ % TrialRules().pairs < disturbed ? 1500 : 800;
    });
    return trials.adopted().has_value();
  };
  EXPECT_TRUE(adopts(0));
  EXPECT_TRUE(adopts(1));
  EXPECT_FALSE(adopts(2));
}

// Fast in the first comparison and not in the second: it was chance.
TEST(Trials, AreConfirmed) {
  Trials trials(kDefault, lanes({8}));
  uint32_t runs = 0;
  run_all(trials, [&](size_t row) -> uint64_t {
    ++runs;
    return row == 0 || runs > 2 + 2 * TrialRules().pairs ? 1000 : 500;
  });
  EXPECT_EQ(runs, trials.most_runs());
  EXPECT_FALSE(trials.adopted());
}

TEST(Trials, WhatIsMuchSlowerIsGivenUpAtOnce) {
  Trials trials(kDefault, lanes({8, 16}));
  const auto order = run_all(trials, [](size_t row) { return row == 1 ? 2100 : 1000; });
  EXPECT_EQ(std::ranges::count(order, 1u), 3);
  EXPECT_EQ(trials.rows()[1].dropped, "much slower in the first pairs");
  EXPECT_EQ(trials.rows()[2].dropped, "");
  // Once may be chance.
  Trials once(kDefault, lanes({8}));
  run_all(once, [&](size_t row) { return row == 1 && once.runs() == 3 ? 9000 : 1000; });
  EXPECT_EQ(once.rows()[1].dropped, "");
}

TEST(Trials, WhatIsDroppedIsMeasuredNoMore) {
  Trials trials(kDefault, lanes({8, 16}), {.pairs = 2});
  trials.add(100);
  trials.drop("no code");
  EXPECT_EQ(trials.rows()[1].dropped, "no code");
  const auto order = run_all(trials, [](size_t row) { return row == 0 ? 100 : 50; });
  EXPECT_EQ(std::ranges::count(order, 1u), 0);
  EXPECT_EQ(trials.adopted(), 2u);

  // Also in the middle of a pair, and while it is confirmed.
  for (const uint32_t after : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u}) {
    Trials one(kDefault, lanes({8}), {.pairs = 2});
    for (uint32_t i = 0; i < after && one.next(); ++i) one.add(one.next()->row == 0 ? 100 : 50);
    one.drop("lost");
    EXPECT_EQ(one.is_over(), true) << after;
    EXPECT_EQ(one.adopted().has_value(), after >= one.most_runs()) << after;
  }
}

TEST(Trials, WithoutCandidatesNothingIsRun) {
  Trials trials(kDefault, {});
  EXPECT_TRUE(trials.is_over());
  EXPECT_FALSE(trials.next());
  EXPECT_EQ(trials.most_runs(), 0u);
  EXPECT_EQ(trials.record(), plan::TuningRecord());
}

TEST(Trials, MedianIsTheLowerMiddle) {
  EXPECT_EQ(median_of({}), 0u);
  EXPECT_EQ(median_of({5}), 5u);
  EXPECT_EQ(median_of({9, 1}), 1u);
  EXPECT_EQ(median_of({3, 1, 2}), 2u);
  EXPECT_EQ(median_of({4, 3, 2, 1}), 2u);
}

}  // namespace
}  // namespace vyre::run
