// SPDX-License-Identifier: Apache-2.0
// Which votes of a plan are found, and what becomes of those that are not only votes.
#include "codegen/llvm/nvptx/votes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/llvm/nvptx/target.hpp"
#include "vyre/text/text.hpp"

namespace vyre::codegen {
namespace {

using namespace ir;
using ::testing::HasSubstr;
using ::testing::Not;

plan::Plan plan_of(std::string_view body, plan::Route route = plan::Route::Native) {
  const std::string source =
      "program p { workgroup 64; inout a : u32[]; inout f : f32[]; " + std::string(body) + " }";
  text::Parsed parsed = text::parse(source, "test");
  EXPECT_FALSE(parsed.diagnostics.has_errors()) << source;
  auto checked = check::check_valid(std::move(parsed.program));
  if (!checked) {
    ADD_FAILURE() << source << to_string(checked.error());
    return {};
  }
  auto plan = plan::make_plan(*checked, {.variant = {.route = route}});
  EXPECT_TRUE(plan.has_value()) << source;
  return std::move(*plan);
}

struct Found {
  uint32_t votes = 0;
  uint32_t at_once = 0;
  uint32_t casts = 0, clears = 0, barriers = 0, loads = 0;
  friend bool operator==(const Found&, const Found&) = default;
  friend void PrintTo(const Found& f, std::ostream* out) {
    *out << f.votes << " votes, " << f.at_once << " at once, " << f.casts << " cast, " << f.clears
         << " clear, " << f.barriers << " barriers, " << f.loads << " loads";
  }
};

Found found(std::string_view body, plan::Route route = plan::Route::Native) {
  const plan::Plan plan = plan_of(body, route);
  Found f;
  for (const plan::Segment& segment : plan.segments) {
    const Votes votes(plan, segment);
    f.votes += votes.count();
    f.at_once = std::max(f.at_once, votes.most_at_once());
    const Program& p = segment.program.program;
    for (uint32_t i = 0; i < p.stmts.size(); ++i) {
      if (const auto step = votes.step(StmtId{i})) ++(step->casts ? f.casts : f.clears);
      if (!votes.at(StmtId{i}).empty()) ++f.barriers;
    }
    for (uint32_t i = 0; i < p.exprs.size(); ++i) f.loads += votes.outcome(ExprId{i}) ? 1 : 0;
  }
  return f;
}

std::string ptx_of(std::string_view body, plan::Route route = plan::Route::Native) {
  const auto code = nvptx_code(plan_of(body, route), {});
  EXPECT_TRUE(code.has_value()) << body;
  return std::string(reinterpret_cast<const char*>(code->data()), code->size());
}

constexpr const char* kPasses = "fixpoint max 9 over (a) { atomic_min(a[gid.x], a[gid.x + 1]); }";

TEST(NvptxVotes, AFixpointIsOne) {
  EXPECT_EQ(found(kPasses), (Found{1, 1, 1, 1, 1, 1}));
  // Rounds, where lanes load before they store.
  EXPECT_EQ(found(kPasses, plan::Route::Persistent), (Found{1, 1, 1, 1, 1, 1}));
}

TEST(NvptxVotes, EachFixpointHasItsOwn) {
  EXPECT_EQ(found(std::string(kPasses) + " " + kPasses), (Found{2, 1, 2, 2, 2, 2}));
  // A change in the inner one is a change of both.
  EXPECT_EQ(found("fixpoint max 9 over (a) { fixpoint max 3 over (a) { atomic_max(a[gid.x], 3); } "
                  "atomic_max(a[gid.x + 1], 5); }"),
            (Found{2, 1, 3, 2, 2, 2}));
}

TEST(NvptxVotes, SnapshotsVoteAtTheirOwnBarrier) {
  EXPECT_EQ(found("fixpoint max 9 over (f) { f[gid.x] = f[gid.x + 1]; f[gid.x] = 0.5; }"),
            (Found{1, 1, 1, 1, 1, 1}));
}

// Those that are left, and those that changed something, at the end of a pass.
TEST(NvptxVotes, WhoIsLeftIsOneToo) {
  constexpr const char* kEnds = "if a[gid.x] == 7 { return; } ";
  EXPECT_EQ(found(std::string(kEnds) + "barrier grid; a[gid.x] = 1;"), (Found{1, 1, 1, 1, 1, 1}));
  const Found both = found(std::string(kEnds) + kPasses);
  EXPECT_EQ(both.votes, 2U);
  EXPECT_EQ(both.at_once, 2U);
  EXPECT_EQ(both.barriers, 2U);
}

TEST(NvptxVotes, OtherSegmentsHaveNone) {
  EXPECT_EQ(found(kPasses, plan::Route::Resident), Found{});
  EXPECT_EQ(found("barrier grid; a[gid.x] = 1;"), Found{});
}

TEST(NvptxVotes, BarriersCountThem) {
  const std::string code = ptx_of(kPasses);
  EXPECT_THAT(code, HasSubstr("bar.red.or.pred"));
  EXPECT_THAT(code, HasSubstr("vyre_wait_for_votes"));
  const std::string both = ptx_of(std::string("if a[gid.x] == 7 { return; } ") + kPasses);
  EXPECT_THAT(both, HasSubstr("atom.add.acq_rel.gpu.global.u64"));
  EXPECT_THAT(both, HasSubstr("vyre_wait_for_more_votes"));
  EXPECT_THAT(both, Not(HasSubstr("atom.add.acq_rel.gpu.global.u32")));
  const std::string none = ptx_of("barrier grid; a[gid.x] = 1;");
  EXPECT_THAT(none, Not(HasSubstr("bar.red")));
  EXPECT_THAT(none, Not(HasSubstr("votes")));
}

}  // namespace
}  // namespace vyre::codegen
