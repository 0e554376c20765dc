// SPDX-License-Identifier: Apache-2.0
// Outputs that are not cleared, because the program overwrites them, against the oracle. The driver
// of these tests gives it memory that holds something else.
#include "plan/stores.hpp"

#include <gtest/gtest.h>

#include "plan/compare.hpp"
#include "vyre/check/overwritten.hpp"
#include "vyre/text/text.hpp"

namespace vyre::plan_test {
namespace {

bool overwrites(const check::CheckedProgram& checked, const generator::Generated& g) {
  const std::vector<std::span<const std::byte>> inputs(g.inputs.begin(), g.inputs.end());
  const auto launch = check::resolve_launch(checked, {.inputs = inputs, .grid = g.grid});
  EXPECT_TRUE(launch.has_value());
  return check::overwritten(checked, *launch, {{inputs[0], inputs[1], inputs[2], {}}}).back();
}

TEST(RandomStores, EarlierContentsAreUnobservable) {
  std::vector<Way> ways = driver_ways();
  std::erase_if(ways, [](const Way& way) { return way.route == plan::Route::Host; });
  int overwritten = 0;
  constexpr int kPrograms = 1500;
  for (uint64_t seed = 1; seed <= kPrograms; ++seed) {
    const generator::Generated g = random_stores(seed);
    const auto checked = check::check_valid(g.program);
    ASSERT_TRUE(checked.has_value());
    if (overwrites(*checked, g)) ++overwritten;
    const auto fault = find_fault(*checked, g.inputs, g.grid, ways);
    ASSERT_FALSE(fault.has_value()) << "--stores --seed " << seed << ": " << to_string(fault->way)
                                    << ": " << fault->what << "\n"
                                    << text::print(g.program);
  }
  // Both happen often enough to be a test of anything.
  EXPECT_GE(overwritten, kPrograms / 8);
  EXPECT_LE(overwritten, kPrograms * 3 / 4);
}

}  // namespace
}  // namespace vyre::plan_test
