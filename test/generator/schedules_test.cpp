// SPDX-License-Identifier: Apache-2.0
// What holds for every generated program: it is valid, text and bytes hold it, and no schedule
// tells a different result or a race.
#include "generator/schedules.hpp"

#include <gtest/gtest.h>

#include "base/sanitizers.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

namespace vyre::generator {
namespace {

using namespace ir;

std::string how_to(uint64_t seed) {
  return "vyre_generate --seed " + std::to_string(seed) + " --reduce";
}

class Seeds : public testing::TestWithParam<uint64_t> {};

constexpr uint64_t kPerCase = base::kSanitized ? 50 : 1000;

TEST_P(Seeds, AgreeUnderAllSchedules) {
  uint64_t failed = 0;
  for (uint64_t seed = GetParam() * 1000; seed < GetParam() * 1000 + kPerCase; ++seed) {
    const Generated generated = generate(seed);
    const ScheduleReport report = check_schedules(generated, {.seed = seed});
    ASSERT_EQ(report.fault, Fault::None) << "seed " << seed << ": " << report.message << "\n"
                                         << how_to(seed) << "\n"
                                         << text::print(generated.program);
    failed += report.failed ? 1 : 0;
  }
  // Some end with an unmatched trap; most must not, or there would be nothing to compare.
  EXPECT_LT(failed, kPerCase / 10);
}

TEST_P(Seeds, TextAndBytesHoldThem) {
  for (uint64_t seed = GetParam() * 1000; seed < GetParam() * 1000 + kPerCase; ++seed) {
    const Generated generated = generate(seed);
    const std::string text = text::print(generated.program);
    const text::Parsed parsed = text::parse(text, "p");
    ASSERT_FALSE(parsed.diagnostics.has_errors())
        << "seed " << seed << "\n"
        << render_text(parsed.diagnostics, {{"p", text}}) << text;
    ASSERT_EQ(parsed.program, generated.program) << "seed " << seed << "\n" << text;
    const std::vector<std::byte> bytes = encode(generated.program);
    const Result<Program> decoded = decode(bytes);
    ASSERT_TRUE(decoded.has_value()) << "seed " << seed << ": " << to_string(decoded.error());
    ASSERT_EQ(encode(*decoded), bytes) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Thousand, Seeds, testing::Range<uint64_t>(0, 10));

// What the program itself says about the grid is what it is run on.
TEST(Generator, OverSaysTheGrid) {
  uint64_t said = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Generated generated = generate(seed);
    if (!generated.program.over[0].valid()) continue;
    ++said;
    const auto checked = check::check_valid(generated.program);
    ASSERT_TRUE(checked.has_value()) << "seed " << seed;
    const std::vector<std::span<const std::byte>> inputs(generated.inputs.begin(),
                                                         generated.inputs.end());
    const auto launch = check::resolve_launch(*checked, {.inputs = inputs});
    ASSERT_TRUE(launch.has_value()) << "seed " << seed << ": " << to_string(launch.error());
    EXPECT_EQ(launch->grid, generated.grid) << "seed " << seed;
  }
  EXPECT_GT(said, 100U);
}

TEST(Generator, WithoutSubgroupsTheirSizeDoesNotMatter) {
  for (uint64_t seed = 0; seed < (base::kSanitized ? 20 : 300); ++seed) {
    const Generated generated = generate(seed, {.subgroups = false});
    const auto checked = check::check_valid(generated.program);
    ASSERT_TRUE(checked.has_value()) << "seed " << seed;
    const auto four = run(*checked, generated, {.subgroup_size = 4});
    for (const uint32_t size : {1U, 8U, 32U})
      ASSERT_EQ(
          difference(generated.program, four, run(*checked, generated, {.subgroup_size = size})),
          "")
          << "seed " << seed << ", subgroups of " << size;
  }
}

// With subgroups they agree, too, for each size by itself.
TEST(Generator, EverySubgroupSize) {
  for (const uint32_t size : {1U, 8U, 16U, 32U})
    for (uint64_t seed = 20'000; seed < (base::kSanitized ? 20'010 : 20'150); ++seed) {
      const ScheduleReport report =
          check_schedules(generate(seed), {.random = 1, .subgroup_size = size});
      ASSERT_EQ(report.fault, Fault::None)
          << "seed " << seed << ", subgroups of " << size << ": " << report.message;
    }
}

TEST(Generator, LargePrograms) {
  for (uint64_t seed = 0; seed < (base::kSanitized ? 5 : 100); ++seed) {
    const ScheduleReport report = check_schedules(generate(seed, {.size = 300}), {.random = 1});
    ASSERT_EQ(report.fault, Fault::None) << "seed " << seed << ": " << report.message;
  }
}

TEST(Generator, NaNsAreAllEqual) {
  Generated generated;
  Buffer buffer;
  buffer.name = "x";
  buffer.element = Type::F16;
  generated.program.add(buffer);
  const auto with = [](uint16_t bits) {
    oracle::Outcome outcome;
    outcome.buffers = {{static_cast<std::byte>(bits & 0xff), static_cast<std::byte>(bits >> 8)}};
    return Result<oracle::Outcome>(std::move(outcome));
  };
  EXPECT_EQ(difference(generated.program, with(0x7e00), with(0xfe01)), "");
  EXPECT_NE(difference(generated.program, with(0x7e00), with(0x7c00)), "");
  EXPECT_NE(difference(generated.program, with(0x0000), with(0x8000)), "");
  generated.program.buffers[0].element = Type::U16;
  EXPECT_NE(difference(generated.program, with(0x7e00), with(0xfe01)), "");
}

}  // namespace
}  // namespace vyre::generator
