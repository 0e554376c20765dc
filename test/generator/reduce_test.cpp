// SPDX-License-Identifier: Apache-2.0
#include "generator/reduce.hpp"

#include <gtest/gtest.h>

#include "generator/schedules.hpp"
#include "vyre/check/check.hpp"
#include "vyre/text/text.hpp"

namespace vyre::generator {
namespace {

using namespace ir;

bool valid(const Generated& g) {
  return check::check(g.program).program.has_value();
}

bool has_shared_max(const Generated& g) {
  for (const Expr& e : g.program.exprs) {
    const auto* atomic = std::get_if<Atomic>(&e);
    if (atomic == nullptr || atomic->op != AtomicOp::Max) continue;
    const BufferId buffer = atomic->memory.buffer();
    if (buffer.valid() && g.program[buffer].kind == BufferKind::Shared) return true;
  }
  return false;
}

// The first program from there for which the predicate holds.
template <class Predicate>
Generated first_with(uint64_t seed, const GeneratorOptions& options, const Predicate& holds) {
  for (;; ++seed) {
    Generated g = generate(seed, options);
    if (holds(g) && statement_count(g.program) >= 60) return g;
  }
}

TEST(Reduce, KeepsOneAtomic) {
  for (const uint64_t seed : {0, 300, 600, 900, 1200, 1500, 1800, 2100}) {
    const Generated from = first_with(seed, {.size = 60}, has_shared_max);
    const Generated small = reduce(from, has_shared_max);
    EXPECT_TRUE(valid(small));
    EXPECT_TRUE(has_shared_max(small));
    EXPECT_LE(statement_count(small.program), 4U) << text::print(small.program);
    EXPECT_LE(small.program.buffers.size(), 1U) << text::print(small.program);
    EXPECT_TRUE(small.program.fns.empty());
    EXPECT_TRUE(small.inputs.empty());
    EXPECT_EQ(small.grid, (check::Axes{1, 1, 1}));
  }
}

// What is looked for shows only when the program runs.
TEST(Reduce, KeepsWhatRuns) {
  const auto fails = [](const Generated& g) {
    const auto checked = check::check_valid(g.program);
    if (!checked) return false;
    const auto outcome = run(*checked, g, {.subgroup_size = 4});
    if (!outcome) return false;
    // Some fixpoint ran twice at least.
    for (const oracle::FixpointReport& f : outcome->fixpoints)
      if (f.passes >= 2) return true;
    return false;
  };
  const Generated from = first_with(0, {.size = 60}, fails);
  const Generated small = reduce(from, fails);
  EXPECT_TRUE(valid(small));
  EXPECT_TRUE(fails(small));
  EXPECT_LE(statement_count(small.program), 6U) << text::print(small.program);
}

TEST(Reduce, KeepsARace) {
  const auto fails = [](const Generated& g) {
    return check_schedules(g, {.random = 0}).fault == Fault::Race;
  };
  const Generated from = first_with(0, {.size = 60, .plant_race = true}, fails);
  const Generated small = reduce(from, fails);
  EXPECT_TRUE(valid(small));
  EXPECT_TRUE(fails(small));
  EXPECT_LE(statement_count(small.program), 5U) << text::print(small.program);
}

TEST(Reduce, StopsInTime) {
  const Generated from = first_with(0, {.size = 60}, has_shared_max);
  const Generated same = reduce(from, has_shared_max, {.most = std::chrono::milliseconds(0)});
  EXPECT_EQ(same.program, from.program);
}

}  // namespace
}  // namespace vyre::generator
