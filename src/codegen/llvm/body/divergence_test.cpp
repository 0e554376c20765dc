// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/divergence.hpp"

#include <optional>

#include <gmock/gmock.h>

#include "codegen/llvm/code_test.hpp"

namespace vyre::codegen {
namespace {

using namespace ir;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr BlockShape kRow{.lanes = 32};
constexpr BlockShape kPacked{.lanes = 32, .packed = true};

// A program with its divergence, queried by names.
struct Subject {
  check::CheckedProgram program;
  Divergence divergence;

  explicit Subject(std::string_view statements, BlockShape shape = kRow,
                   Divergence::Options options = {}, std::string_view functions = "",
                   std::string_view workgroup = "64")
      : program(checked_program("program p {\n  workgroup " + std::string(workgroup) +
                                ";\n  uniform u : u32[4];\n  in a : u32[];\n  inout b : u32[];\n" +
                                std::string(functions) + std::string(statements) + "}\n")),
        divergence(program, shape, options) {}

  // Names of locals that differ between the lanes of a block, in the order of their declarations.
  [[nodiscard]] std::vector<std::string> varying() const {
    std::vector<std::string> names;
    for (uint32_t i = 0; i < program.program.locals.size(); ++i)
      if (divergence.varies(LocalId{i})) names.push_back(program.program.locals[i].name);
    return names;
  }
  // Of each loop, in the order of the statements' numbers.
  [[nodiscard]] std::vector<bool> loops() const {
    std::vector<bool> all;
    for (uint32_t i = 0; i < program.program.stmts.size(); ++i) {
      const Stmt& s = program.program[StmtId{i}];
      if (std::holds_alternative<For>(s) || std::holds_alternative<While>(s))
        all.push_back(divergence.diverges(StmtId{i}));
    }
    return all;
  }
};

TEST(Divergence, IdsAlongX) {
  constexpr std::string_view kIds =
      "  let x = gid.x;\n  let lx = lid.x;\n  let y = gid.y;\n  let g = wid.x;\n"
      "  let n = num_workgroups.x;\n  b[0] = x + lx + y + g + n;\n";
  EXPECT_THAT(Subject(kIds).varying(), ElementsAre("x", "lx"));
  // Packed blocks go over the ends of rows.
  EXPECT_THAT(Subject(kIds, kPacked, {}, "", "8, 8").varying(), ElementsAre("x", "lx", "y"));
  EXPECT_THAT(Subject(kIds, {.lanes = 1}).varying(), IsEmpty());
}

// Narrower than the checker: what all lanes load from one place is the same in all of them.
TEST(Divergence, LoadsVaryWithTheirIndex) {
  EXPECT_THAT(Subject("  let same = b[u[0]];\n  let own = a[gid.x];\n  let far = a[own];\n"
                      "  let row = a[wid.x + same];\n  b[gid.x] = far + row;\n")
                  .varying(),
              ElementsAre("own", "far"));
}

TEST(Divergence, AtomicsThatChangeMemoryVary) {
  EXPECT_THAT(Subject("  let first = atomic_add(b[0], 1);\n  let seen = atomic_load(b[1]);\n"
                      "  b[2] = first + seen;\n")
                  .varying(),
              ElementsAre("first"));
}

TEST(Divergence, AssignmentsUnderADivergentCondition) {
  EXPECT_THAT(Subject("  var here = 0;\n  var there = 0;\n  var loose = 0;\n"
                      "  if gid.x > 5 { here = 1; }\n  if u[0] > 5 { there = 1; }\n"
                      "  loose = here;\n  b[gid.x] = here + there + loose;\n")
                  .varying(),
              ElementsAre("here", "loose"));
  // Declared inside, it is the same for all lanes that are there.
  EXPECT_THAT(Subject("  if gid.x > 5 {\n    var inner = 0;\n    inner = u[1];\n"
                      "    b[gid.x] = inner;\n  }\n")
                  .varying(),
              IsEmpty());
}

// What a later iteration assigns reaches what an earlier statement reads.
TEST(Divergence, AroundALoop) {
  EXPECT_THAT(Subject("  var x = 0;\n  var y = 0;\n  for i in 0 .. u[0] {\n    y = x;\n"
                      "    x = gid.x;\n  }\n  b[gid.x] = y;\n")
                  .varying(),
              ElementsAre("x", "y"));
}

TEST(Divergence, LoopsOfEqualAndOfDifferentLength) {
  const Subject s(
      "  var x = 0;\n  for i in 0 .. u[0] { x += i; }\n  for i in 0 .. a[gid.x] { x += i; }\n"
      "  while u[1] > x { x += 1; }\n  b[gid.x] = x;\n");
  // The second loop makes x differ, and by it the third.
  EXPECT_THAT(s.loops(), ElementsAre(false, true, true));
  EXPECT_TRUE(s.divergence.loop_kinds().divergent);
  EXPECT_FALSE(s.divergence.loop_kinds().convergent);
  EXPECT_THAT(s.varying(), ElementsAre("x"));
}

// From a lane's number on to the same end: only the last iterations are not taken by all.
TEST(Divergence, ConvergentLoops) {
  const auto kinds = [](std::string_view loop) {
    return Subject("  var x = 0;\n  let i = gid.x + u[1];\n" + std::string(loop) +
                   "  b[gid.x] = x;\n")
        .divergence.loop_kinds();
  };
  for (const char* loop : {"  for k in gid.x .. u[0] step 64 { x += a[k]; }\n",
                           "  for k in i .. u[0] { x += a[k]; }\n",
                           "  for k in 3 + lid.x .. 99 step 7 { x += a[k]; }\n"}) {
    EXPECT_TRUE(kinds(loop).convergent) << loop;
    EXPECT_FALSE(kinds(loop).divergent) << loop;
  }
  for (const char* loop : {"  for k in 2 * gid.x .. u[0] { x += a[k]; }\n",
                           "  for k in gid.x .. a[gid.x] { x += a[k]; }\n",
                           "  for k in gid.x .. u[0] { if a[k] == 3 { break; } x += 1; }\n"}) {
    EXPECT_FALSE(kinds(loop).convergent) << loop;
    EXPECT_TRUE(kinds(loop).divergent) << loop;
  }
}

TEST(Divergence, JumpsOutOfALoop) {
  EXPECT_THAT(Subject("  for i in 0 .. 9 {\n    if gid.x == i { break; }\n    b[i] = 1;\n  }\n"
                      "  for i in 0 .. 9 {\n    if u[0] == i { break; }\n    b[i] = 1;\n  }\n"
                      "  for i in 0 .. 9 {\n    if gid.x == i { continue; }\n    b[i] = 1;\n  }\n")
                  .loops(),
              ElementsAre(true, false, true));
}

TEST(Divergence, LanesThatEnd) {
  EXPECT_FALSE(Subject("  if u[0] == 0 { return; }\n  b[gid.x] = 1;\n").divergence.ends_lanes());
  EXPECT_TRUE(Subject("  if gid.x > 9 { return; }\n  b[gid.x] = 1;\n").divergence.ends_lanes());
  EXPECT_TRUE(
      Subject("  if a[gid.x] > 9 { trap(1, 2); }\n  b[gid.x] = 1;\n").divergence.ends_lanes());
  // A loop in which some end has to notice when none is left.
  EXPECT_THAT(Subject("  for i in 0 .. 9 {\n    if a[gid.x] > i { return; }\n  }\n").loops(),
              ElementsAre(true));
}

TEST(Divergence, CheckedAccessesEndLanes) {
  const Subject s("  for i in 0 .. u[0] { b[i] = 1; }\n", kRow, {.accesses_end = true});
  EXPECT_TRUE(s.divergence.ends_lanes());
  EXPECT_THAT(s.loops(), ElementsAre(true));
}

TEST(Divergence, Functions) {
  constexpr std::string_view kFunctions =
      "  fn early(v : u32) -> u32 {\n    if v > 3 { return 1; }\n    return 2;\n  }\n"
      "  fn plain(w : u32) -> u32 {\n    return w + 1;\n  }\n";
  const Subject varying("  b[gid.x] = early(gid.x) + plain(u[0]);\n", kRow, {}, kFunctions);
  EXPECT_THAT(varying.varying(), ElementsAre("v"));
  EXPECT_TRUE(varying.divergence.diverges(FnId{0}));
  EXPECT_TRUE(varying.divergence.result_varies(FnId{0}));
  EXPECT_FALSE(varying.divergence.result_varies(FnId{1}));
  const Subject same("  b[gid.x] = early(u[0]) + plain(wid.x);\n", kRow, {}, kFunctions);
  EXPECT_THAT(same.varying(), IsEmpty());
  EXPECT_FALSE(same.divergence.diverges(FnId{0}));
  const Subject outside("  b[gid.x] = early(u[0]) + plain(wid.x);\n", kRow, {.params_vary = true},
                        kFunctions);
  EXPECT_THAT(outside.varying(), ElementsAre("v", "w"));
}

TEST(BlockShapes, ByWhatAPhaseDoes) {
  const auto shape_of = [](std::string_view statements, bool checked = false) {
    const Subject s(statements);
    return choose_shape(s.program, std::vector<bool>(s.program.program.buffers.size()),
                        buffer_uses(s.program), {.one_lane = checked})
        .block;
  };
  EXPECT_EQ(shape_of("  b[gid.x] = a[gid.x];\n").lanes, 32U);
  EXPECT_FALSE(shape_of("  b[gid.x] = a[gid.x];\n").packed);
  EXPECT_EQ(shape_of("  b[gid.x] = a[gid.x];\n", true).lanes, 1U);
  // A block of a subgroup operation is a subgroup, also in checked mode.
  for (const bool checked : {false, true}) {
    const BlockShape subgroup = shape_of("  b[gid.x] = subgroup_add(a[gid.x]);\n", checked);
    EXPECT_EQ(subgroup.lanes, kSubgroupLanes);
    EXPECT_TRUE(subgroup.packed);
  }
}

TEST(BlockShapes, LanesThatComeOneByOne) {
  const auto serialised = [](std::string_view statements) {
    const Subject s(statements);
    const PhaseShape shape = choose_shape(
        s.program, std::vector<bool>(s.program.program.buffers.size()), buffer_uses(s.program), {});
    std::string found = std::to_string(shape.block.lanes);
    for (size_t i = 0; i < shape.serialised.size(); ++i)
      if (shape.serialised[i])
        found += std::holds_alternative<If>(s.program.program.stmts[i]) ? " if" : " loop";
    return found;
  };
  // Of an if that depends on data, and of loops in which lanes diverge.
  EXPECT_EQ(serialised("  if a[gid.x] == 3 { atomic_min(b[a[gid.x + 1]], 2); }\n"), "32 if");
  EXPECT_EQ(serialised("  if a[gid.x] == 3 { atomic_min(b[a[gid.x + 1]], b[0]); }\n"), "32 if");
  EXPECT_EQ(serialised("  if gid.x < u[0] { atomic_min(b[a[gid.x + 1]], b[0]); }\n"), "1");
  EXPECT_EQ(serialised("  var s = 0;\n  for e in a[gid.x] .. a[gid.x + 1] { s += a[e]; }\n"
                       "  b[gid.x] = s;\n"),
            "32 loop");
  EXPECT_EQ(serialised("  var s = gid.x;\n  while s > 9 { s = s / 2; }\n  b[gid.x] = s;\n"),
            "32 loop");
  // The loop is part of the branch.
  EXPECT_EQ(serialised("  if a[gid.x] == 3 {\n    for e in 0 .. a[gid.x] { atomic_add(b[e], 1); }\n"
                       "  }\n"),
            "32 if");
  // Lanes that may end in it, and arrays, which lie between those of other lanes.
  EXPECT_EQ(serialised("  for e in 0 .. a[gid.x] {\n    if e == 7 { return; }\n  }\n"
                       "  b[gid.x] = 1;\n"),
            "1");
  EXPECT_EQ(serialised("  var t : u32[4];\n  for e in 0 .. a[gid.x] { t[e & 3] += 1; }\n"
                       "  b[gid.x] = t[1];\n"),
            "1");
  // One element for all: the lanes combine their values. All into copies: nothing is serialised.
  EXPECT_EQ(serialised("  if a[gid.x] == 3 { atomic_add(b[0], 1); }\n"), "32 if");
  EXPECT_EQ(serialised("  atomic_add(b[0], a[gid.x]);\n"), "32");
  EXPECT_EQ(serialised("  atomic_add(b[a[gid.x]], 1);\n"), "32");
  EXPECT_EQ(serialised("  let old = atomic_add(b[a[gid.x]], 1);\n  if old > 3 { b[0] = 1; }\n"),
            "1");
}

TEST(Repeatable, LanesThatReadNothingThatIsWritten) {
  const auto is = [](std::string_view statements, std::string_view functions = "") {
    return repeatable(Subject(statements, kRow, {}, functions).program);
  };
  EXPECT_TRUE(is("  b[gid.x] = a[gid.x] + u[0];\n"));
  EXPECT_FALSE(is("  b[gid.x] = b[gid.x] + 1;\n"));
  EXPECT_FALSE(is("  b[gid.x] += a[gid.x];\n"));
  EXPECT_FALSE(is("  atomic_add(b[0], 1);\n"));
  EXPECT_FALSE(is("  if a[gid.x] == 0 { trap(1, 0); }\n  b[gid.x] = 1;\n"));
  constexpr std::string_view kCopy =
      "  fn put(to : buffer u32[], i : u32, v : u32) { to[i] = v; }\n"
      "  fn move(from : buffer u32[], to : buffer u32[], i : u32) { put(to, i, from[i]); }\n";
  EXPECT_TRUE(is("  move(a, b, gid.x);\n", kCopy));
  EXPECT_FALSE(is("  move(a, b, gid.x);\n  put(b, 0, b[1]);\n", kCopy));
}

}  // namespace
}  // namespace vyre::codegen
