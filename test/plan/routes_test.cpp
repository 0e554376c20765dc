// SPDX-License-Identifier: Apache-2.0
// Every program on every route, against the oracle: the directed ones one by one, random ones by
// the thousand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/sanitizers.hpp"
#include "generator/generator.hpp"
#include "plan/compare.hpp"
#include "plan/programs.hpp"

namespace vyre::plan_test {
namespace {

class DirectedOnRoutes : public ::testing::TestWithParam<std::string> {};

// D-GRID.3, D-GRID.4, D-GRID.11
TEST_P(DirectedOnRoutes, GiveWhatTheOracleGives) {
  const Directed directed = load_directed(GetParam());
  const auto checked = check::check_valid(directed.program);
  ASSERT_TRUE(checked.has_value());
  const auto fault = find_fault(*checked, directed.inputs, directed.grid, all_ways());
  ASSERT_FALSE(fault.has_value()) << to_string(fault->way) << ": " << fault->what
                                  << "\n  reproduce: vyre_plan_check --program " << directed.name
                                  << "\n  reduce:    vyre_plan_check --reduce --program "
                                  << directed.name;
}

// The same programs through the driver: D-GRID.2, D-GRID.6, D-GRID.11
TEST_P(DirectedOnRoutes, GiveItThroughTheDriver) {
  const Directed directed = load_directed(GetParam());
  const auto checked = check::check_valid(directed.program);
  ASSERT_TRUE(checked.has_value());
  const auto fault = find_fault(*checked, directed.inputs, directed.grid, driver_ways());
  ASSERT_FALSE(fault.has_value()) << to_string(fault->way) << ": " << fault->what
                                  << "\n  reproduce: vyre_plan_check --driver --program "
                                  << directed.name
                                  << "\n  reduce:    vyre_plan_check --driver --reduce --program "
                                  << directed.name;
}

INSTANTIATE_TEST_SUITE_P(All, DirectedOnRoutes, ::testing::ValuesIn(directed_names()),
                         [](const auto& test) { return test.param; });

class RandomOnRoutes : public ::testing::TestWithParam<uint64_t> {
 protected:
  static void run(const std::vector<Way>& ways, std::string_view option) {
    constexpr uint64_t kPrograms = base::kSanitized ? 10 : 250;
    const uint64_t first = 500'000 + GetParam() * 250;
    for (uint64_t seed = first; seed < first + kPrograms; ++seed) {
      const generator::Generated g = generator::generate(seed);
      const auto checked = check::check_valid(g.program);
      ASSERT_TRUE(checked.has_value()) << "seed " << seed;
      const auto fault = find_fault(*checked, g.inputs, g.grid, ways);
      ASSERT_FALSE(fault.has_value())
          << to_string(fault->way) << ": " << fault->what << "\n  reproduce: vyre_plan_check"
          << option << " --seed " << seed << "\n  reduce:    vyre_plan_check" << option
          << " --reduce --seed " << seed;
    }
  }
};

TEST_P(RandomOnRoutes, GiveWhatTheOracleGives) {
  run(all_ways(), "");
}
TEST_P(RandomOnRoutes, GiveItThroughTheDriver) {
  run(driver_ways(), " --driver");
}

INSTANTIATE_TEST_SUITE_P(FiveThousand, RandomOnRoutes, ::testing::Range<uint64_t>(0, 20));

}  // namespace
}  // namespace vyre::plan_test
