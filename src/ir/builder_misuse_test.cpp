// SPDX-License-Identifier: Apache-2.0
// Misuse of the builder: never a crash, always a diagnostic with the line.
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "vyre/ir/semantics.hpp"
#include "vyre/vyre.hpp"

namespace vyre {
namespace {

uint32_t line(std::source_location where = std::source_location::current()) {
  return where.line();
}

struct Found {
  Code code;
  uint32_t line;
  friend bool operator==(const Found&, const Found&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Found& found) {
    return out << text_of(found.code) << " at line " << found.line;
  }
};

std::vector<Found> errors_of(ProgramBuilder& p) {
  std::vector<Found> found;
  const Result<Program> result = p.finish();
  if (result) return found;
  EXPECT_EQ(result.error().code, ErrorCode::InvalidProgram);
  for (const Diagnostic& d : result.error().diagnostics) {
    EXPECT_FALSE(d.message.empty());
    EXPECT_FALSE(d.fix.empty());
    EXPECT_NE(d.at.file.find("builder_misuse_test.cpp"), std::string::npos);
    found.push_back({d.code, d.at.line});
  }
  return found;
}

using Errors = std::vector<Found>;

TEST(BuilderMisuse, AnEffectCannotBeUsedTwice) {
  ProgramBuilder p("p");
  p.workgroup(1);
  auto b = p.inout<u32>("b");
  auto t = atomic_add(b[0], 1);
  b[1] = t;
  const uint32_t at = line() + 1;
  b[2] = t;
  EXPECT_EQ(errors_of(p), (Errors{{Code::BuilderMisuse, at}}));
}

TEST(BuilderMisuse, AnEffectThatBecameAStatementIsGone) {
  ProgramBuilder p("p");
  p.workgroup(1);
  auto b = p.inout<u32>("b");
  auto t = atomic_add(b[0], 1);
  barrier_workgroup();
  const uint32_t at = line() + 1;
  b[1] = t;
  const auto result = p.finish();
  ASSERT_FALSE(result);
  ASSERT_EQ(result.error().diagnostics.size(), 1u);
  const Diagnostic& d = result.error().diagnostics[0];
  EXPECT_EQ(d.at.line, at);
  ASSERT_EQ(d.notes.size(), 1u);
  EXPECT_EQ(d.notes[0].at.line, at - 3);
}

TEST(BuilderMisuse, AnEffectCannotMoveBehindALaterOne) {
  ProgramBuilder p("p");
  p.workgroup(1);
  auto b = p.inout<u32>("b");
  const uint32_t at = line() + 1;
  auto t = atomic_add(b[0], 1);
  atomic_add(b[1], 1);
  b[2] = t;
  EXPECT_EQ(errors_of(p), (Errors{{Code::BuilderMisuse, at}}));
}

TEST(BuilderMisuse, AnUnusedExpressionWithAnEffectInsideIsReported) {
  ProgramBuilder p("p");
  p.workgroup(1);
  auto b = p.inout<u32>("b");
  const uint32_t at = line() + 1;
  atomic_add(b[0], 1) + 1;
  return_();
  EXPECT_EQ(errors_of(p), (Errors{{Code::BuilderMisuse, at}}));
}

TEST(BuilderMisuse, EffectsKeepTheOrderOfStatements) {
  ProgramBuilder p("p");
  p.workgroup(1);
  auto b = p.inout<u32>("b");
  atomic_add(b[0], 1);
  atomic_add(b[1], 1);
  auto t = atomic_add(b[2], 1);
  b[3] = t;
  if_(true, [&] { atomic_add(b[4], 1); });
  atomic_add(b[5], 1);
  const auto built = p.finish();
  ASSERT_TRUE(built) << to_string(built.error());
  const auto expected = parse(
      "program p { workgroup 1; inout b : u32[]; atomic_add(b[0], 1); atomic_add(b[1], 1);"
      "  b[3] = atomic_add(b[2], 1); if true { atomic_add(b[4], 1); } atomic_add(b[5], 1); }",
      "t");
  EXPECT_EQ(print(*built), print(expected.program));
}

TEST(BuilderMisuse, LocalsStayInTheirBlock) {
  ProgramBuilder p("p");
  p.workgroup(1);
  auto b = p.inout<u32>("b");
  Value inner, sum;
  if_(true, [&] {
    inner = let("x", 1);
    sum = inner + 1;
  });
  const uint32_t at = line() + 1;
  b[0] = inner;
  b[1] = sum;
  Value loop;
  for_("i", 0, 4, [&](Value i) { loop = i; });
  b[2] = loop;
  EXPECT_EQ(errors_of(p), (Errors{{Code::BuilderMisuse, at},
                                  {Code::BuilderMisuse, at + 1},
                                  {Code::BuilderMisuse, at + 4}}));
}

TEST(BuilderMisuse, FunctionsSeeOnlyTheirParameters) {
  ProgramBuilder p("p");
  p.workgroup(1);
  auto x = let("x", 1);
  auto v = var("v", 1);
  const uint32_t at = line() + 2;
  p.fn<u32>("f", [&] {
    v = 2;
    return_(x);
  });
  EXPECT_EQ(errors_of(p), (Errors{{Code::BufferNotPassed, at}, {Code::BufferNotPassed, at + 1}}));
}

TEST(BuilderMisuse, DeclarationsTakeNoLocals) {
  ProgramBuilder p("p");
  p.workgroup(1);
  auto x = let("x", 1);
  const uint32_t at = line() + 1;
  p.out<u32>("o", count(x + 1));
  p.over(x);
  EXPECT_EQ(errors_of(p),
            (Errors{{Code::NotAHostExpression, at}, {Code::NotAHostExpression, at + 1}}));
}

TEST(BuilderMisuse, ValuesOfAnotherBuilderAreRefused) {
  ProgramBuilder p("p");
  p.workgroup(1);
  auto b = p.inout<u32>("b");
  auto x = let("x", 1);
  auto v = var("v", 1);
  ProgramBuilder q("q");
  q.workgroup(1);
  const uint32_t at = line() + 1;
  let("y", x);
  b[0] = 1;
  v = 2;
  let("z", Value());
  EXPECT_EQ(errors_of(q), (Errors{{Code::BuilderMisuse, at},
                                  {Code::BuilderMisuse, at + 1},
                                  {Code::BuilderMisuse, at + 2},
                                  {Code::BuilderMisuse, at + 3}}));
  EXPECT_EQ(errors_of(p), Errors{});
}

TEST(BuilderMisuse, CallsWithoutABuilderAreReportedByTheNextFinish) {
  const uint32_t at = line() + 1;
  auto x = let("x", gid.x) + 1;
  auto v = var("v", x);
  v += 1;
  barrier_grid();
  if_(x == 1, [] { FAIL() << "a block without a builder runs"; }).else_([] { FAIL(); });
  wait(1);
  ProgramBuilder p("p");
  p.workgroup(1);
  const auto found = errors_of(p);
  ASSERT_EQ(found.size(), 9u);
  for (const Found& one : found) EXPECT_EQ(one.code, Code::BuilderMisuse);
  EXPECT_EQ(found[0].line, at);
  ProgramBuilder q("q");
  q.workgroup(1);
  EXPECT_EQ(errors_of(q), Errors{});
}

TEST(BuilderMisuse, OtherThreadsHaveTheirOwnBuilders) {
  ProgramBuilder p("p");
  p.workgroup(1);
  std::thread([] {
    ProgramBuilder q("q");
    q.workgroup(1);
    let("x", 1);
    EXPECT_EQ(errors_of(q), Errors{});
  }).join();
  let("y", 2);
  EXPECT_EQ(errors_of(p), Errors{});
}

TEST(BuilderMisuse, FinishOnceAndOutsideBlocks) {
  ProgramBuilder p("p");
  p.workgroup(1);
  let("x", 1);
  EXPECT_EQ(errors_of(p), Errors{});
  EXPECT_EQ(errors_of(p).size(), 1u);
  p.in<u32>("late");
  ProgramBuilder q("q");
  q.workgroup(1);
  region_("r", [&] { EXPECT_EQ(errors_of(q).size(), 2u); });  // and the late declaration
}

TEST(BuilderMisuse, AnExceptionLeavesTheBuilderUsable) {
  ProgramBuilder p("p");
  p.workgroup(1);
  EXPECT_THROW(region_("r", [] { for_("i", 0, 4, [](Value) { throw std::runtime_error("x"); }); }),
               std::runtime_error);
  EXPECT_THROW(p.fn("f", [] { throw std::runtime_error("x"); }), std::runtime_error);
  let("x", 1);
  EXPECT_EQ(errors_of(p).size(), 1u);
  {
    ProgramBuilder q("q");
    EXPECT_THROW(block_([] { throw std::runtime_error("x"); }), std::runtime_error);
  }
  ProgramBuilder r("r");
  r.workgroup(1);
  EXPECT_EQ(errors_of(r), Errors{});
}

TEST(BuilderMisuse, ElseFollowsItsIf) {
  ProgramBuilder p("p");
  p.workgroup(1);
  auto chain = if_(true, [] {});
  barrier_workgroup();
  const uint32_t at = line() + 1;
  chain.else_([] {});
  EXPECT_EQ(errors_of(p), (Errors{{Code::BuilderMisuse, at}}));
}

TEST(BuilderMisuse, NamesAreChecked) {
  ProgramBuilder p("p");
  p.workgroup(1);
  const uint32_t at = line() + 1;
  let("9", 1);
  p.in<u32>("while");
  let(std::string(256, 'n'), 1);
  region_("", [] {});
  EXPECT_EQ(errors_of(p), (Errors{{Code::InvalidName, at},
                                  {Code::ReservedName, at + 1},
                                  {Code::NameTooLong, at + 2},
                                  {Code::InvalidName, at + 3}}));
}

TEST(BuilderMisuse, HeadersAndAttributesAreChecked) {
  const uint32_t at = line() + 1;
  ProgramBuilder p("p");
  p.over(1);
  p.over(2);
  p.in<u32>("b", binding(1), binding(2), coalesce(3));
  wait(-1);
  trap(65536, 1);
  fixpoint_(1, {}, [] {});
  auto t = p.table<u32>("t", {});
  let("n", len(t));
  let("d", decimal("1.x"));
  let("s", lit<u8>(1));
  p.require(true, "bell \a");
  const auto found = errors_of(p);
  const Errors expected = {{Code::WorkgroupHeader, at},     {Code::OverHeader, at + 2},
                           {Code::BadAttribute, at + 3},    {Code::BadAttribute, at + 3},
                           {Code::BadTag, at + 4},          {Code::BadTag, at + 5},
                           {Code::BadFixpointList, at + 6}, {Code::BadCount, at + 7},
                           {Code::WrongKindOfName, at + 8}, {Code::BadNumber, at + 9},
                           {Code::BuilderMisuse, at + 10},  {Code::BadString, at + 11}};
  EXPECT_EQ(found, expected);
}

TEST(BuilderMisuse, NestingIsLimited) {
  // With the region around loose statements there is room for one block less.
  const std::function<void(uint32_t)> nest = [&](uint32_t n) {
    if (n > 0) region_("r", [&] { nest(n - 1); });
  };
  ProgramBuilder fits("p");
  fits.workgroup(1);
  nest(ir::kMaxNesting);
  EXPECT_EQ(errors_of(fits), Errors{});
  ProgramBuilder deep("p");
  deep.workgroup(1);
  nest(ir::kMaxNesting + 1);
  const auto found = errors_of(deep);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, Code::NestingTooDeep);
  ProgramBuilder wrapped("p");
  wrapped.workgroup(1);
  nest(ir::kMaxNesting);
  return_();
  ASSERT_EQ(errors_of(wrapped).size(), 1u);
  // A body that nests without end does not overflow the stack.
  ProgramBuilder endless("p");
  endless.workgroup(1);
  const std::function<void()> forever = [&] { block_(forever); };
  forever();
  EXPECT_EQ(errors_of(endless).size(), 2u);
}

TEST(BuilderMisuse, ExpressionDepthIsLimited) {
  const auto chain = [](uint32_t nodes) {
    ProgramBuilder p("p");
    p.workgroup(1);
    Value sum = gid.x;
    for (uint32_t i = 1; i < nodes; ++i) sum = sum + 1;
    let("x", sum);
    return errors_of(p);
  };
  EXPECT_EQ(chain(ir::kMaxExprDepth), Errors{});
  const auto found = chain(ir::kMaxExprDepth + 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, Code::ExpressionTooDeep);
}

TEST(BuilderMisuse, RepetitionIsLimited) {
  ProgramBuilder p("p");
  p.workgroup(1);
  Value v = gid.x;
  for (int i = 0; i < 100; ++i) v = v + v;
  let("x", v);
  const auto found = errors_of(p);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, Code::BuilderMisuse);
}

TEST(BuilderMisuse, StatementsAreLimited) {
  ProgramBuilder p("p");
  p.workgroup(1);
  for (uint32_t i = 0; i < ir::kMaxStatements + 5; ++i) break_();
  const auto found = errors_of(p);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, Code::TooManyStatements);
}

}  // namespace
}  // namespace vyre
