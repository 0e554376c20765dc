// SPDX-License-Identifier: Apache-2.0
// Stops of compiled code and what they mean: the numbers of sites, and the errors made of them.
#include "codegen/llvm/cpu/target.hpp"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>

#include "codegen/llvm/body/stops.hpp"
#include "codegen/llvm/code_test.hpp"

namespace vyre::codegen {
namespace {

using namespace ir;
using device::KernelStop;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kAccesses = R"(program p {
  workgroup 4;
  in  a : u32[];
  out o : u32[3];
  const table : u32[] = {5, 6};
  let i = gid.x;
  o[i] = a[i] + table[i];
  if i == 2 {
    trap(7, i * 10);
  }
  while i > 100 {
    o[0] = 1;
  }
}
)";

// The site of the first expression or statement that `matches` accepts, in the only phase.
template <class Matches>
uint32_t site_of(const check::CheckedProgram& program, const Phases& phases, Matches matches) {
  const Program& p = program.program;
  for (uint32_t i = 0; i < p.exprs.size(); ++i)
    if (matches(&p[ExprId{i}], static_cast<const Stmt*>(nullptr)))
      return phases.site(0, {ExprId{i}, {}});
  for (uint32_t i = 0; i < p.stmts.size(); ++i)
    if (matches(static_cast<const Expr*>(nullptr), &p[StmtId{i}]))
      return phases.site(0, {{}, StmtId{i}});
  ADD_FAILURE() << "the program has no such place";
  return 0;
}

class Stops : public testing::Test {
 protected:
  [[nodiscard]] const check::CheckedProgram& program() const { return plan_.segments[0].program; }
  [[nodiscard]] Error explain(KernelStop stop) const { return explain_stop(plan_, 0, true, stop); }

  template <class Node>
  uint32_t statement() const {
    return site_of(program(), phases_, [](const Expr*, const Stmt* s) {
      return s != nullptr && std::holds_alternative<Node>(*s);
    });
  }
  uint32_t load_of(Memory::Kind kind) const {
    return site_of(program(), phases_, [&](const Expr* e, const Stmt*) {
      const auto* load = e != nullptr ? std::get_if<Load>(e) : nullptr;
      return load != nullptr && load->memory.kind == kind;
    });
  }

  plan::Plan plan_ = plan_of(kAccesses, true);
  Phases phases_ = *Phases::make(program(), true);
};

TEST_F(Stops, SitesAreNumbersOfPlaces) {
  const Program& p = program().program;
  ASSERT_EQ(phases_.count(), 1U);
  std::map<uint32_t, int> seen;
  for (uint32_t i = 0; i < p.exprs.size(); ++i) {
    const uint32_t site = phases_.site(0, {ExprId{i}, {}});
    EXPECT_EQ(++seen[site], 1);
    ASSERT_TRUE(phases_.place(site).has_value());
    EXPECT_EQ(phases_.place(site)->at.expr.value, i);
  }
  for (uint32_t i = 0; i < p.stmts.size(); ++i) {
    const uint32_t site = phases_.site(0, {{}, StmtId{i}});
    EXPECT_EQ(++seen[site], 1);
    ASSERT_TRUE(phases_.place(site).has_value());
    EXPECT_FALSE(phases_.place(site)->at.expr.valid());
    EXPECT_EQ(phases_.place(site)->at.stmt.value, i);
  }
  EXPECT_FALSE(phases_.place(2 * static_cast<uint32_t>(std::max(p.exprs.size(), p.stmts.size())))
                   .has_value());
}

TEST_F(Stops, AStoreOutOfBounds) {
  const Error error = explain({.kind = KernelStop::Kind::OutOfBounds,
                               .site = statement<Store>(),
                               .lane = 3,
                               .value = 3,
                               .index = 3});
  EXPECT_EQ(error.code, ErrorCode::OutOfBounds);
  EXPECT_THAT(error.message, StartsWith("lane 3 accesses `o`[3], which has 3 elements. Fix: "));
  EXPECT_EQ(error.at.line, 7U);
}

TEST_F(Stops, LoadsOutOfBounds) {
  const Error buffer = explain({.kind = KernelStop::Kind::OutOfBounds,
                                .site = load_of(Memory::Kind::Buffer),
                                .lane = 9,
                                .value = 1,
                                .index = 9});
  EXPECT_THAT(buffer.message, StartsWith("lane 9 accesses `a`[9], which has 1 element. "));
  EXPECT_EQ(buffer.at.line, 7U);
  const Error table = explain({.kind = KernelStop::Kind::OutOfBounds,
                               .site = load_of(Memory::Kind::Table),
                               .lane = 2,
                               .value = 2,
                               .index = 2});
  EXPECT_THAT(table.message, StartsWith("lane 2 accesses `table`[2], which has 2 elements. "));
}

// The stop says which buffer a parameter stood for; the site alone would name the parameter.
TEST(ExplainStop, AccessesOfParametersNameTheArgument) {
  const plan::Plan plan = plan_of(
      "program p {\n  workgroup 4;\n  in a : u32[];\n  out o : u32[4];\n"
      "  fn get(b : buffer u32[], i : i32) -> u32 {\n    return b[i];\n  }\n"
      "  o[lid.x] = get(a, lid.x as i32 - 2);\n}\n",
      true);
  const check::CheckedProgram& program = plan.segments[0].program;
  const auto phases = Phases::make(program, true);
  const uint32_t site = site_of(program, *phases, [](const Expr* e, const Stmt*) {
    return e != nullptr && std::holds_alternative<Load>(*e);
  });
  const auto& buffers = program.program.buffers;
  const auto a =
      static_cast<uint32_t>(std::ranges::find(buffers, "a", &Buffer::name) - buffers.begin());
  const Error error = explain_stop(plan, 0, true,
                                   {.kind = KernelStop::Kind::OutOfBounds,
                                    .memory = argument_number(Memory::of(BufferId{a})),
                                    .site = site,
                                    .lane = 1,
                                    .value = 5,
                                    .index = ~uint64_t{0}});
  EXPECT_THAT(error.message, StartsWith("lane 1 accesses `a`[-1], which has 5 elements. "));
}

TEST_F(Stops, ATrap) {
  const Error error =
      explain({.kind = KernelStop::Kind::Trap, .site = statement<Trap>(), .lane = 2, .value = 20});
  EXPECT_EQ(error.code, ErrorCode::Trapped);
  EXPECT_THAT(error.message, StartsWith("lane 2 trapped with tag 7 and value 20"));
  EXPECT_EQ(error.at.line, 9U);
}

TEST_F(Stops, ALoopThatWasLeft) {
  const Error error = explain({.kind = KernelStop::Kind::Loop, .site = statement<While>()});
  EXPECT_EQ(error.code, ErrorCode::Timeout);
  EXPECT_THAT(error.message, HasSubstr("in the loop at line 11. Fix: "));
  const Error between = explain({.kind = KernelStop::Kind::Loop, .site = kNoSite});
  EXPECT_EQ(between.code, ErrorCode::Timeout);
  EXPECT_EQ(between.at.line, 0U);
}

// Code from a damaged cache may say anything.
TEST_F(Stops, PlacesThatTheProgramDoesNotHave) {
  for (const auto kind : {KernelStop::Kind::Trap, KernelStop::Kind::OutOfBounds,
                          KernelStop::Kind::Loop, KernelStop::Kind::None})
    for (const uint32_t site :
         {uint32_t{100'000}, kCopySites, kCopySites + 1, kLoopSites + 3, kLoopSites - 1}) {
      const Error error = explain({.kind = kind, .site = site, .lane = 0});
      EXPECT_EQ(error.code, ErrorCode::Internal) << static_cast<int>(kind) << " " << site;
    }
  // A place that cannot stop in this way.
  EXPECT_EQ(explain({.kind = KernelStop::Kind::Trap, .site = statement<Store>()}).code,
            ErrorCode::Internal);
  EXPECT_EQ(explain({.kind = KernelStop::Kind::OutOfBounds, .site = statement<Trap>()}).code,
            ErrorCode::Internal);
  EXPECT_EQ(explain_stop(plan_, 99, true, {.kind = KernelStop::Kind::Trap}).code,
            ErrorCode::Internal);
}

// Traps of a segment that is cut at workgroup barriers are rows of the cut's own table.
TEST(ExplainStop, TrapsBetweenWorkgroupBarriers) {
  const plan::Plan plan = plan_of(
      "program p {\n  workgroup 4;\n  inout a : u32[];\n  shared s : u32[4];\n"
      "  s[lid.x] = a[gid.x];\n  barrier workgroup;\n  if s[3 - lid.x] == 1 {\n"
      "    trap(3, lid.x);\n  }\n  barrier workgroup;\n  a[gid.x] = s[0];\n}\n");
  const auto phases = Phases::make(plan.segments[0].program, false);
  ASSERT_NE(phases->cut(), nullptr);
  ASSERT_EQ(phases->cut()->sites.size(), 1U);
  const Error error = explain_stop(
      plan, 0, false, {.kind = KernelStop::Kind::Trap, .site = 0, .lane = 6, .value = 2});
  EXPECT_EQ(error.code, ErrorCode::Trapped);
  EXPECT_THAT(error.message, StartsWith("lane 6 trapped with tag 3 and value 2"));
  EXPECT_EQ(error.at.line, 8U);
  EXPECT_EQ(explain_stop(plan, 0, false, {.kind = KernelStop::Kind::Trap, .site = 1}).code,
            ErrorCode::Internal);
}

// The object code has the symbols by which it is called.
TEST(HostCode, EntriesAndInfo) {
  const std::string listing = ir_of(
      "program p {\n  workgroup 64;\n  over len(a);\n  inout a : u32[];\n"
      "  region first { a[gid.x] = a[gid.x] + 1; }\n  barrier grid;\n"
      "  region second { a[gid.x] = a[gid.x] * a[0]; }\n}\n");
  EXPECT_THAT(listing, HasSubstr("define void @vyre_entry_0("));
  EXPECT_THAT(listing, HasSubstr("define void @vyre_entry_1("));
  EXPECT_THAT(listing, HasSubstr("@vyre_info = constant [2 x { i64, i32, i32 }]"));
}

TEST(HostCode, IsTheSameEveryTime) {
  const plan::Plan plan = plan_of(example("heat"));
  EXPECT_EQ(host_code(plan, false, HostListing::Object).value(),
            host_code(plan, false, HostListing::Object).value());
}

}  // namespace
}  // namespace vyre::codegen
