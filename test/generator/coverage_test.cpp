// SPDX-License-Identifier: Apache-2.0
// What the programs contain: everything, unless it is switched off; and the same ones everywhere.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "base/sanitizers.hpp"
#include "generator/features.hpp"
#include "generator/schedules.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

namespace vyre::generator {
namespace {

TEST(Coverage, EverythingOccurs) {
  std::map<std::string, int> programs;
  for (uint64_t seed = 0; seed < 2000; ++seed)
    for (const std::string& feature : features_of(generate(seed))) ++programs[feature];
  for (const std::string& feature : all_features())
    EXPECT_GT(programs[feature], 0) << feature << " is in no program";
}

struct Off {
  std::string_view name;
  std::vector<std::string> features;  // what then must not occur, by how it starts
};

void PrintTo(const Off& off, std::ostream* os) {
  *os << off.name;
}

class Switches : public testing::TestWithParam<Off> {};

TEST_P(Switches, KeepItOut) {
  GeneratorOptions options;
  bool* const chosen = find_switch(options, GetParam().name);
  ASSERT_NE(chosen, nullptr);
  *chosen = false;
  for (uint64_t seed = 0; seed < (base::kSanitized ? 20 : 120); ++seed) {
    const Generated generated = generate(seed, options);
    for (const std::string& feature : features_of(generated))
      for (const std::string& unwanted : GetParam().features)
        ASSERT_FALSE(feature.starts_with(unwanted)) << "seed " << seed << ": " << feature << "\n"
                                                    << text::print(generated.program);
    const ScheduleReport report = check_schedules(generated, {.random = 1});
    ASSERT_EQ(report.fault, Fault::None) << "seed " << seed << ": " << report.message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Off, Switches,
    testing::Values(
        Off{"grid_barriers",
            {"barrier grid", "load for the grid", "statement Fixpoint", "statement Resume",
             "statement Collective", "statement Swap"}},
        Off{"workgroup_barriers",
            {"barrier workgroup", "load for the workgroup", "statement AsyncCopy"}},
        Off{"shared", {"buffer shared"}},
        Off{"subgroups",
            {"subgroup", "barrier subgroup", "builtin subgroup", "if of level subgroup"}},
        Off{"fixpoints", {"statement Fixpoint", "builtin fixpoint"}},
        Off{"traps", {"statement Resume"}}, Off{"unmatched_traps", {"shape unmatched trap"}},
        Off{"collectives", {"statement Collective"}}, Off{"functions", {"expression Call"}},
        Off{"atomics", {"expression Atomic"}},
        Off{"wide_atomics", {"atomic on u64", "atomic on i64"}},
        Off{"float_atomics", {"f32 atomic_add"}}, Off{"async", {"statement AsyncCopy"}},
        Off{"floats",
            {"value f", "element f", "element bf", "expression FloatLiteral", "intrinsic is_"}},
        Off{"transcendental", {"intrinsic sin", "intrinsic pow", "intrinsic exp"}},
        Off{"wide", {"value u64", "value i64", "element u64", "element i64"}},
        Off{"doubles", {"value f64", "element f64"}},
        Off{"storage_types", {"element u8", "element i16", "element f16", "element bf16"}},
        Off{"returns", {"shape endless loop"}}, Off{"many_axes", {"axes 2", "axes 3"}},
        Off{"persistent", {"buffer persistent"}}, Off{"swaps", {"statement Swap"}},
        Off{"shapes", {"buffer scratch", "expression Axis"}}),
    [](const testing::TestParamInfo<Off>& info) { return std::string(info.param.name); });

// The same seed gives the same program and the same inputs on every platform. A change of the
// generator changes these, on purpose.
TEST(Coverage, SeedsArePinned) {
  const auto digest = [](uint64_t seed, const GeneratorOptions& options = {}) {
    const Generated g = generate(seed, options);
    std::vector<std::byte> all = ir::encode(g.program);
    for (const auto& input : g.inputs) all.insert(all.end(), input.begin(), input.end());
    for (const uint32_t n : g.grid) all.push_back(static_cast<std::byte>(n));
    return digest_of(all).hex().substr(0, 16);
  };
  EXPECT_EQ(digest(1), "12ddc9d132f33868");
  EXPECT_EQ(digest(2), "f0a2877c9e11e5e7");
  EXPECT_EQ(digest(0xffff'ffff'ffff'ffff), "4a90dc4329359689");
  EXPECT_EQ(digest(2, {.size = 200}), "22564c829cdf89a0");
  EXPECT_EQ(digest(1, {.plant_race = true}), "d5b82715798fdecc");
}

// Every switch has a case above, but the one that asks for a fault.
TEST(Coverage, SwitchNames) {
  EXPECT_EQ(switch_names().size(), 24U);
  GeneratorOptions options;
  for (const std::string_view name : switch_names()) EXPECT_NE(find_switch(options, name), nullptr);
  EXPECT_EQ(find_switch(options, "nothing"), nullptr);
}

}  // namespace
}  // namespace vyre::generator
