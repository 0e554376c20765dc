// SPDX-License-Identifier: Apache-2.0
// Programs that no text can hold: the parser refuses them first, but the builder, decode() and
// whoever changes a Program can make them, and the checker is then the only one to say so.
#include <algorithm>
#include <ranges>

#include "check/program_test.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::check {
namespace {

using namespace ir;

Program parsed(std::string_view statements) {
  return text::parse(in_program(statements), "by_hand.vyre").program;
}

template <class Node>
Node& only(auto& nodes) {
  for (auto& node : nodes)
    if (auto* found = std::get_if<Node>(&node)) return *found;
  throw std::runtime_error("the program has no such node");
}

// That code, and it alone.
void expect_code(Program program, Code code) {
  const Checked checked = check(std::move(program));
  EXPECT_FALSE(checked.program.has_value());
  std::string found;
  for (const Diagnostic& d : checked.diagnostics.list())
    if (d.severity == Severity::Error) found += std::string(text_of(d.code)) + " ";
  EXPECT_EQ(found, std::string(text_of(code)) + " ") << render_text(checked.diagnostics, {});
}

void expect_bad_name(const std::string& name, Code code) {
  Program p = parsed("let x = 1; work[0] = x;");
  for (Local& local : p.locals)
    if (local.name == "x") local.name = name;
  expect_code(std::move(p), code);
}

TEST(ByHand, Names) {
  expect_bad_name(std::string(kMaxNameBytes + 1, 'x'), Code::NameTooLong);
  expect_bad_name("two words", Code::InvalidName);
  expect_bad_name("while", Code::ReservedName);
  Program longest = parsed("let x = 1; work[0] = x;");
  for (Local& local : longest.locals)
    if (local.name == "x") local.name = std::string(kMaxNameBytes, 'x');
  EXPECT_TRUE(check(std::move(longest)).program.has_value());
}

TEST(ByHand, ALocalOfTwoStatements) {
  Program p = parsed("let x = 1; let y = 2; work[0] = x; work[1] = y;");
  for (Stmt& st : p.stmts)
    if (auto* let = std::get_if<Let>(&st)) let->local = LocalId{0};
  for (Expr& e : p.exprs)
    if (auto* use = std::get_if<LocalRef>(&e)) use->local = LocalId{0};
  expect_code(std::move(p), Code::DuplicateName);
}

// The text could not tell the two apart.
TEST(ByHand, AFunctionWithTheNameOfABuiltInOneThatIsCalled) {
  Program p = text::parse(
                  "program p { workgroup 1; inout a : f32[]; fn own(x : f32) -> f32 { return x; }"
                  " a[0] = own(a[1]) + erf(a[2]); }",
                  "t")
                  .program;
  EXPECT_TRUE(check(p).program.has_value());
  p.fns[0].name = "cbrt";
  EXPECT_TRUE(check(p).program.has_value());
  p.fns[0].name = "erf";
  expect_code(std::move(p), Code::DuplicateName);
}

TEST(ByHand, ABufferInAFunction) {
  Program p =
      text::parse(
          "program p { workgroup 1; inout b : u32[]; fn f(v : buffer u32[]) { v[0] = 1; } f(b); }",
          "by_hand.vyre")
          .program;
  only<Store>(p.stmts).memory = Memory::of(BufferId{0});
  expect_code(std::move(p), Code::BufferNotPassed);
}

TEST(ByHand, Depth) {
  Program deep = parsed("work[0] = 1;");
  auto& store = only<Store>(deep.stmts);
  ExprId value = store.value;
  for (uint32_t i = 0; i < kMaxExprDepth; ++i)
    value = deep.add(Expr(Unary{UnaryOp::BitNot, value}));
  only<Store>(deep.stmts).value = value;
  expect_code(std::move(deep), Code::ExpressionTooDeep);

  Program nested = parsed("work[0] = 1;");
  auto& region = only<Region>(nested.stmts);
  Block body = region.body;
  for (uint32_t i = 0; i <= kMaxNesting; ++i) {
    const StmtId inner = nested.add(Stmt(Nested{body}));
    body = nested.add_block(std::array{inner});
  }
  only<Region>(nested.stmts).body = body;
  expect_code(std::move(nested), Code::NestingTooDeep);
}

TEST(ByHand, NoWorkgroup) {
  Program p = parsed("work[0] = 1;");
  p.workgroup[0] = ExprId();
  expect_code(std::move(p), Code::WorkgroupHeader);
}

TEST(ByHand, StorageTypesAsValues) {
  Program local = parsed("let x : u32 = 1; work[0] = x;");
  for (Local& l : local.locals) l.type = Type::U8;
  EXPECT_FALSE(check(std::move(local)).program.has_value());

  Program cast = parsed("work[0] = iwork[0] as u32;");
  only<Cast>(cast.exprs).type = Type::U16;
  expect_code(std::move(cast), Code::StorageTypeAsValue);

  Program bits = parsed("fwork[0] = bitcast<f32>(work[0]);");
  only<Bitcast>(bits.exprs).type = Type::F16;
  expect_code(std::move(bits), Code::StorageTypeAsValue);

  Program constant =
      text::parse("program p { workgroup 1; inout b : u32[]; const c : u32 = 1; b[0] = c; }",
                  "by_hand.vyre")
          .program;
  constant.consts[0].type = Type::U8;
  const Checked checked = check(std::move(constant));
  ASSERT_FALSE(checked.diagnostics.list().empty());
  EXPECT_EQ(checked.diagnostics.list().front().code, Code::StorageTypeAsValue);
}

// `a` is a private array and the other local a value; a mention of the one becomes one of the
// other.
Program with_array(std::string_view statements) {
  return parsed("var a : u32[4]; a[0] = 1; var x = a[0]; " + std::string(statements));
}

TEST(ByHand, ArraysAsValues) {
  Program value = with_array("work[0] = x;");
  only<LocalRef>(value.exprs).local = local_named(value, "a");
  expect_code(std::move(value), Code::WrongKindOfName);

  Program assigned = with_array("x = 2; work[0] = x;");
  only<Assign>(assigned.stmts).local = local_named(assigned, "a");
  expect_code(std::move(assigned), Code::WrongKindOfName);

  Program length = with_array("work[0] = x + len(work);");
  // The last one; the first is that of `over`.
  std::ranges::reverse_view backwards(length.exprs);
  only<Len>(backwards).memory = Memory::of(local_named(length, "a"));
  expect_code(std::move(length), Code::WrongKindOfName);

  Program uncounted = with_array("work[0] = x;");
  uncounted.locals[local_named(uncounted, "a").index()].count = ExprId();
  expect_code(std::move(uncounted), Code::BadCount);
}

// One diagnostic for one mistake, however often the walk comes by.
TEST(ByHand, OneFaultIsReportedOnce) {
  Program p = parsed("work[0] = 1; work[1] = 2;");
  for (Stmt& st : p.stmts)
    if (auto* store = std::get_if<Store>(&st)) store->value = store->index;
  const Checked checked = check(std::move(p));
  EXPECT_EQ(checked.diagnostics.list().size(), 1U);
}

}  // namespace
}  // namespace vyre::check
