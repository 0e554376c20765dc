// SPDX-License-Identifier: Apache-2.0
// At its limits a program still has all its forms; one step further every form refuses it with the
// same code.
#include <functional>

#include <gtest/gtest.h>

#include "property/program_gen.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/ir/semantics.hpp"
#include "vyre/text/text.hpp"

namespace vyre::property {
namespace {

using namespace ir;

struct Wrapper {
  const char* name;
  std::function<Expr(Program&, ExprId)> wrap;
};

ExprId one(Program& p) {
  return p.add(Expr{IntLiteral{1, false, {}}});
}

std::vector<Wrapper> wrappers() {
  const Memory b = Memory::of(BufferId{0});
  std::vector<Wrapper> all = {
      {"minus", [](Program&, ExprId e) { return Unary{UnaryOp::Neg, e}; }},
      {"not", [](Program&, ExprId e) { return Unary{UnaryOp::Not, e}; }},
      {"left operand", [](Program& p, ExprId e) { return Binary{BinaryOp::Sub, e, one(p)}; }},
      {"right operand", [](Program& p, ExprId e) { return Binary{BinaryOp::Sub, one(p), e}; }},
      {"comparison", [](Program& p, ExprId e) { return Binary{BinaryOp::Lt, e, one(p)}; }},
      {"cast", [](Program&, ExprId e) { return Cast{Type::F32, e}; }},
      {"bitcast", [](Program&, ExprId e) { return Bitcast{Type::F32, e}; }},
      {"index", [=](Program&, ExprId e) { return Load{b, e}; }},
      {"last argument",
       [](Program& p, ExprId e) { return IntrinsicCall{Intrinsic::Min, {one(p), e, {}}}; }},
      {"index of an atomic",
       [=](Program& p, ExprId e) { return Atomic{AtomicOp::Add, b, e, {one(p), {}}, {}}; }},
      {"value of an atomic",
       [=](Program& p, ExprId e) { return Atomic{AtomicOp::Add, b, one(p), {e, {}}, {}}; }},
      {"subgroup", [](Program&, ExprId e) { return Subgroup{SubgroupOp::Add, e, {}}; }},
      {"grid_load", [=](Program&, ExprId e) { return UniformLoad{Scope::Grid, b, e}; }},
      {"call",
       [](Program& p, ExprId e) { return Call{FnId{0}, p.add_args(std::array<Arg, 1>{e})}; }},
  };
  return all;
}

Program with_value(const std::function<ExprId(Program&)>& make) {
  Program p;
  p.name = "p";
  p.workgroup[0] = one(p);
  Buffer buffer;
  buffer.name = "b";
  p.add(std::move(buffer));
  Fn fn;
  fn.name = "f";
  p.add(std::move(fn));
  const StmtId stmt = p.add(Stmt{Return{make(p)}});
  const StmtId region = p.add(Stmt{Region{"main", p.add_block(std::array{stmt})}});
  p.body = p.add_block(std::array{region});
  return p;
}

// `nodes` deep, with the two wrappers in turn.
Program chain(const Wrapper& even, const Wrapper& odd, uint32_t nodes) {
  return with_value([&](Program& p) {
    ExprId value = one(p);
    for (uint32_t i = 1; i < nodes; ++i) value = p.add((i % 2 == 0 ? even : odd).wrap(p, value));
    return value;
  });
}

std::optional<Code> first_error(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics.list())
    if (d.severity == Severity::Error) return d.code;
  return std::nullopt;
}

void expect_fits(const Program& program) {
  const std::string text = text::print(program);
  const text::Parsed parsed = text::parse(text, "p");
  ASSERT_EQ(first_error(parsed.diagnostics), std::nullopt) << render_text(parsed.diagnostics, {});
  EXPECT_EQ(parsed.program, program);
  const Result<Program> decoded = decode(encode(program));
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(*decoded, program);
}

void expect_refused(const Program& program, Code code) {
  EXPECT_EQ(first_error(text::parse(text::print(program), "p").diagnostics), code);
  const Result<Program> decoded = decode(encode(program));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().diagnostics.at(0).code, code);
}

TEST(Limits, ExpressionDepthIsTheSameInTextAndBytes) {
  for (const Wrapper& even : wrappers()) {
    for (const Wrapper& odd : wrappers()) {
      SCOPED_TRACE(std::string(even.name) + " and " + odd.name);
      expect_fits(chain(even, odd, kMaxExprDepth));
      expect_refused(chain(even, odd, kMaxExprDepth + 1), Code::ExpressionTooDeep);
    }
  }
}

Program nested(uint32_t blocks, const std::function<Stmt(Program&, Block)>& wrap) {
  Program p;
  p.name = "p";
  p.workgroup[0] = one(p);
  std::vector<StmtId> items;
  for (uint32_t i = 1; i < blocks; ++i) items = {p.add(wrap(p, p.add_block(items)))};
  const StmtId region = p.add(Stmt{Region{"main", p.add_block(items)}});
  p.body = p.add_block(std::array{region});
  return p;
}

TEST(Limits, NestingIsTheSameInTextAndBytes) {
  const std::vector<std::function<Stmt(Program&, Block)>> all = {
      [](Program&, Block block) { return Nested{block}; },
      [](Program& p, Block block) { return If{one(p), block, {}}; },
      [](Program& p, Block block) { return If{one(p), {}, block}; },
      [](Program& p, Block block) { return While{one(p), block}; },
      [](Program&, Block block) { return Region{"r", block}; },
  };
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    expect_fits(nested(kMaxNesting, all[i]));
    expect_refused(nested(kMaxNesting + 1, all[i]), Code::NestingTooDeep);
  }
}

}  // namespace
}  // namespace vyre::property
