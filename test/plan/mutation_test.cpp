// SPDX-License-Identifier: Apache-2.0
// Would the tests notice a mistake in the planner? It is built here a second time with mistakes
// that can be switched on (src/plan/mutation.hpp), and each of them has to be caught: by a directed
// program, or by one of a number of random ones.
#include "plan/mutation.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "generator/generator.hpp"
#include "plan/compare.hpp"
#include "plan/programs.hpp"

namespace vyre::plan {

thread_local Mutation current_mutation = Mutation::None;

}  // namespace vyre::plan

namespace vyre::plan_test {
namespace {

using plan::Mutation;

struct Named {
  Mutation mutation;
  std::string name;
};
void PrintTo(const Named& named, std::ostream* out) {
  *out << named.name;
}

std::vector<Named> all_mutations() {
  return {
#define VYRE_ROW(name) {Mutation::name, #name},
      VYRE_PLAN_MUTATIONS(VYRE_ROW)
#undef VYRE_ROW
  };
}

// The program that shows the mistake, and how.
std::string caught(Mutation mutation) {
  plan::current_mutation = mutation;
  const std::vector<Way> ways = all_ways();
  for (const Directed& directed : load_directed()) {
    const auto checked = check::check_valid(directed.program);
    const std::string what = apart(
        [&] {
          const auto fault = find_fault(*checked, directed.inputs, directed.grid, ways);
          return fault ? fault->what : std::string();
        },
        std::chrono::seconds(20));
    if (!what.empty()) return directed.name + ": " + what;
  }
  constexpr uint64_t kSeeds = 300;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const generator::Generated g = generator::generate(seed);
    const auto checked = check::check_valid(g.program);
    const std::string what = apart(
        [&] {
          const auto fault = find_fault(*checked, g.inputs, g.grid, ways);
          return fault ? fault->what : std::string();
        },
        std::chrono::seconds(20));
    if (!what.empty()) return fmt::format("seed {}: {}", seed, what);
  }
  return "";
}

class Mutations : public ::testing::TestWithParam<Named> {};

TEST_P(Mutations, AreCaught) {
  const std::string how = caught(GetParam().mutation);
  ASSERT_NE(how, "") << GetParam().name << " passes all tests";
  fmt::print("{} is caught by {}\n", GetParam().name, how.substr(0, 200));
}

INSTANTIATE_TEST_SUITE_P(All, Mutations, ::testing::ValuesIn(all_mutations()),
                         [](const auto& test) { return test.param.name; });

TEST(MutationList, IsLong) {
  EXPECT_GE(all_mutations().size(), 30U);
}

}  // namespace
}  // namespace vyre::plan_test
