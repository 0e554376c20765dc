// SPDX-License-Identifier: Apache-2.0
// Blocks and statements.
#include <utility>

#include <fmt/format.h>

#include "ir/binary_decoder.hpp"

namespace vyre::ir::binary {

namespace {

// What the text writes as a call, and so can be a statement. Whether it has an effect is not asked
// here.
bool is_written_as_call(const Expr& expr) {
  if (const auto* builtin = std::get_if<BuiltinRef>(&expr)) return is_call(builtin->builtin);
  return std::holds_alternative<Call>(expr) || std::holds_alternative<Atomic>(expr) ||
         std::holds_alternative<Subgroup>(expr) || std::holds_alternative<UniformLoad>(expr) ||
         std::holds_alternative<IntrinsicCall>(expr) || std::holds_alternative<Len>(expr) ||
         std::holds_alternative<Bitcast>(expr);
}

}  // namespace

Block Decoder::block(uint32_t depth) {
  const size_t start = in_.offset();
  const uint32_t count = in_.count("the number of statements");
  if (depth > kMaxNesting)
    in_.fail(Code::NestingTooDeep, start,
             fmt::format("blocks are nested more than {} deep", kMaxNesting),
             "move the inner blocks into a function");
  const size_t outer = locals_.size();
  std::vector<StmtId> items;
  for (uint32_t i = 0; i < count && in_.ok(); ++i) {
    take_node();
    if (++statements_ > kMaxStatements)
      in_.fail(Code::TooManyStatements, in_.offset(),
               fmt::format("the program has more than {} statements", kMaxStatements),
               "write loops and functions instead of repeating statements");
    Stmt node = stmt_node(depth);
    items.push_back(p_.add(std::move(node)));
  }
  // The parameters of a function stay, they belong to its body.
  for (size_t i = outer; i < locals_.size(); ++i) locals_[i].visible = false;
  return p_.add_block(items);
}

std::optional<BinaryOp> assign_op_in(Reader& in) {
  const size_t start = in.offset();
  const uint8_t value = in.u8("an assignment operator");
  if (value == 0) return std::nullopt;
  const auto op = static_cast<BinaryOp>(value - 1);
  if (op < BinaryOp::Or || op > BinaryOp::Rem)
    in.unknown_tag(start, value, "an assignment operator");
  return op;
}

Stmt Decoder::stmt_node(uint32_t depth) {
  // What can be printed is for the checker to say.
  const auto print = [&](auto stmt) {
    needs(2);
    stmt.format = in_.string(SIZE_MAX, Code::MalformedBytes, "a format");
    stmt.args = p_.add_values(exprs(in_.count("the number of arguments")));
    return stmt;
  };
  const size_t start = in_.offset();
  const uint8_t code = in_.u8("a statement");
  switch (static_cast<StmtCode>(code)) {
    case StmtCode::Let: return let(Local::Kind::Let);
    case StmtCode::Var: return let(Local::Kind::Var);
    case StmtCode::DeclareArray: return declare_array(code);
    case StmtCode::DeclareArrayWith: return declare_array(code);
    case StmtCode::Assign: {
      const LocalId target = local();
      if (in_.ok() && is_memory(p_[target].kind))
        in_.malformed(start, "an array or buffer parameter is assigned as a whole");
      const auto op = assign_op_in(in_);
      return Assign{target, op, expr()};
    }
    case StmtCode::Store: return store();
    case StmtCode::Eval: return eval();
    case StmtCode::If: {
      const ExprId condition = expr();
      const Block then_block = block(depth + 1);
      return If{condition, then_block, block(depth + 1)};
    }
    case StmtCode::For: return for_loop(depth);
    case StmtCode::While: {
      const ExprId condition = expr();
      return While{condition, block(depth + 1)};
    }
    case StmtCode::Break: return Break{};
    case StmtCode::Continue: return Continue{};
    case StmtCode::Return:
      return Return{in_.flag("whether a value is returned") ? expr() : ExprId{}};
    case StmtCode::Nested: return Nested{block(depth + 1)};
    case StmtCode::Region: {
      std::string region = name_in(in_, "the name of a region");
      return Region{std::move(region), block(depth + 1)};
    }
    case StmtCode::Barrier: return Barrier{in_.tag<Scope>(3, "a scope")};
    case StmtCode::Fixpoint: return fixpoint(depth);
    case StmtCode::AsyncCopy: return async_copy();
    case StmtCode::Wait: return Wait{trap_tag_in(in_)};
    case StmtCode::Trap: {
      const uint16_t tag = trap_tag_in(in_);
      return Trap{tag, expr()};
    }
    case StmtCode::Resume: return Resume{trap_tag_in(in_)};
    case StmtCode::Collective: return collective();
    case StmtCode::Swap: {
      needs(2);
      const Memory first = memory();
      return Swap{first, memory()};
    }
    case StmtCode::Print: return print(Print{});
    case StmtCode::Assert: return print(Assert{.condition = expr(), .format = {}, .args = {}});
    case StmtCode::DeclareShaped: return declare_array(code);
  }
  in_.unknown_tag(start, code, "a statement");
  return Break{};
}

Stmt Decoder::let(Local::Kind kind) {
  Local local;
  local.kind = kind;
  local.name = name_in(in_, "the name of a local");
  local.type = optional_type_in(in_);
  const ExprId value = expr();
  return Let{declare(std::move(local)), value};
}

Stmt Decoder::declare_array(uint8_t code) {
  const bool shaped = code == static_cast<uint8_t>(StmtCode::DeclareShaped);
  const bool with_values = code != static_cast<uint8_t>(StmtCode::DeclareArray);
  if (with_values) needs(2);
  Local local;
  local.kind = Local::Kind::Array;
  local.name = name_in(in_, "the name of an array");
  local.type = type_in(in_);
  if (shaped)
    local.axes = shape();
  else
    local.count = expr();
  if (with_values) {
    constexpr std::string_view what = "the number of values of an array";
    // Of an array with axes there may be none.
    const uint32_t count = shaped ? in_.count(what) : at_least_one(in_, what);
    std::vector<ExprId> values;
    for (uint32_t i = 0; i < count && in_.ok(); ++i) values.push_back(expr());
    if (!values.empty()) local.values = p_.add_values(values);
  }
  return DeclareArray{declare(std::move(local))};
}

Stmt Decoder::store() {
  const Memory m = memory();
  const auto op = assign_op_in(in_);
  const ExprId at = expr();
  return Store{m, at, op, expr()};
}

Stmt Decoder::eval() {
  const size_t start = in_.offset();
  const ExprId value = expr();
  if (in_.ok() && !is_written_as_call(p_[value]))
    in_.malformed(start, "expected a call as a statement");
  return Eval{value};
}

Stmt Decoder::for_loop(uint32_t depth) {
  Local variable;
  variable.kind = Local::Kind::For;
  variable.name = name_in(in_, "the name of a loop variable");
  const auto parts = in_.tag<uint8_t>(kForParts + 1, "the parts of a loop");
  For loop;
  loop.unroll = (parts & kIsUnrolled) != 0;
  loop.reversed = (parts & kIsReversed) != 0;
  if (loop.reversed) needs(2);
  loop.first = expr();
  loop.last = expr();
  if ((parts & kHasStep) != 0) loop.step = expr();
  loop.variable = declare(std::move(variable));
  const size_t number = locals_.size() - 1;
  loop.body = block(depth + 1);
  locals_[number].visible = false;
  return loop;
}

Stmt Decoder::fixpoint(uint32_t depth) {
  const uint32_t count = at_least_one(in_, "the number of buffers of a fixpoint");
  std::vector<Memory> buffers;
  for (uint32_t i = 0; i < count && in_.ok(); ++i) {
    take_node();
    buffers.push_back(memory());
  }
  Fixpoint loop;
  loop.buffers = p_.add_memories(buffers);
  loop.max_passes = expr();
  loop.body = block(depth + 1);
  return loop;
}

Stmt Decoder::async_copy() {
  AsyncCopy copy;
  copy.tag = trap_tag_in(in_);
  copy.dst = memory();
  copy.src = memory();
  copy.dst_index = expr();
  copy.src_index = expr();
  copy.count = expr();
  return copy;
}

Stmt Decoder::collective() {
  Collective c;
  c.op = in_.tag<CollectiveOp>(4, "a collective");
  c.src = memory();
  if (c.op == CollectiveOp::AllGather || c.op == CollectiveOp::ReduceScatter) c.dst = memory();
  if (c.op == CollectiveOp::AllReduce || c.op == CollectiveOp::ReduceScatter)
    c.reduce = in_.tag<ReduceOp>(6, "a reduction");
  const bool grouped = in_.flag("whether there is a group");
  if (c.op == CollectiveOp::Broadcast) c.root = expr();
  if (grouped) c.group = expr();
  return c;
}

}  // namespace vyre::ir::binary
