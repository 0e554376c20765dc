// SPDX-License-Identifier: Apache-2.0
// Every directed program on every route, against the oracle.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/compare.hpp"
#include "plan/programs.hpp"

namespace vyre::plan_test {
namespace {

class Routes : public ::testing::TestWithParam<std::string> {};

// D-GRID.1, D-GRID.3, D-GRID.4, D-GRID.11
TEST_P(Routes, GiveWhatTheOracleGives) {
  const Directed directed = load_directed(GetParam());
  const auto checked = check::check_valid(directed.program);
  ASSERT_TRUE(checked.has_value());
  for (const Way& way : all_ways()) {
    const std::string differs = compare(*checked, directed.inputs, directed.grid, way);
    EXPECT_EQ(differs, "") << to_string(way);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Routes, ::testing::ValuesIn(directed_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace vyre::plan_test
