// SPDX-License-Identifier: Apache-2.0
// Axes, scalars and scratch: a program that is complete gets them without changing its meaning. An
// element i of a buffer with rows of n elements is the one in row i / n and column i % n, also
// where it is out of bounds.
#include <algorithm>
#include <cstring>

#include "generator/maker.hpp"
#include "ir/properties.hpp"

namespace vyre::generator {

using namespace ir;

namespace {

// Evaluated twice it is the same twice, and costs little.
bool is_repeatable(const Program& p, ExprId id, uint32_t& nodes) {
  const Expr& e = p[id];
  const bool plain = std::holds_alternative<IntLiteral>(e) || std::holds_alternative<LocalRef>(e) ||
                     std::holds_alternative<ConstRef>(e) || std::holds_alternative<Binary>(e) ||
                     std::holds_alternative<Cast>(e) || std::holds_alternative<Unary>(e) ||
                     std::holds_alternative<BuiltinRef>(e);
  bool all = plain && ++nodes <= 12;
  for_each_operand(p, e, [&](ExprId operand) { all = all && is_repeatable(p, operand, nodes); });
  return all;
}

ExprId copy_of(Program& p, ExprId id) {
  Expr e = p[id];
  replace_operands(p, e, [&](ExprId operand) { return copy_of(p, operand); });
  return p.add(std::move(e));
}

}  // namespace

void Maker::give_shapes(std::vector<std::vector<std::byte>>& inputs) {
  if (!options_.shapes || options_.plant_race || !rnd_.one_in(3)) return;
  const check::Checked checked = check::check(p_);
  if (!checked.program) return;
  std::vector<uint32_t> divisors;
  for (uint32_t n = 1; n <= std::min(lanes_, 12U); ++n)
    if (lanes_ % n == 0) divisors.push_back(n);
  row_ = rnd_.pick(divisors);
  Buffer scalar;
  scalar.name = fresh("scalar");
  scalar.kind = BufferKind::Uniform;
  scalar.scalar = true;
  scalar_ = p_.add(std::move(scalar));
  counts_.push_back(1);
  inputs.emplace_back(4);
  std::memcpy(inputs.back().data(), &row_, 4);
  for (uint32_t i = 0; i < scalar_.value; ++i) shape(BufferId{i});
  const size_t exprs = checked.program->expr_types.size();
  for (uint32_t i = 0; i < exprs; ++i) {
    if (!checked.program->expr_types[i]) continue;
    Expr e = p_.exprs[i];
    ExprId* index = nullptr;
    Memory memory;
    if (auto* load = std::get_if<Load>(&e)) index = &load->index, memory = load->memory;
    if (auto* load = std::get_if<UniformLoad>(&e)) index = &load->index, memory = load->memory;
    if (auto* atomic = std::get_if<Atomic>(&e)) index = &atomic->index, memory = atomic->memory;
    if (index == nullptr) continue;
    *index = by_axes(*checked.program, memory, *index);
    p_.exprs[i] = std::move(e);
  }
  for (uint32_t i = 0; i < p_.stmts.size(); ++i)
    if (auto* store = std::get_if<Store>(&p_.stmts[i])) {
      const ExprId index = by_axes(*checked.program, store->memory, store->index);
      std::get<Store>(p_.stmts[i]).index = index;
    }
}

ExprId Maker::row_length() {
  return p_.add(Load{Memory::of(scalar_), p_.add(IntLiteral{})});
}

// Rows of row_ elements, if that divides it, and now and then no slot of the caller.
void Maker::shape(BufferId id) {
  const uint32_t count = counts_[id.index()];
  Buffer& b = p_.buffers[id.index()];
  const bool output = b.kind == BufferKind::Out || b.kind == BufferKind::WriteOnly || b.live_out;
  if (b.kind == BufferKind::Out && rnd_.one_in(4)) {
    b.kind = BufferKind::Scratch;
    b.range_first = b.range_last = {};
  }
  if (b.kind == BufferKind::Uniform || count % row_ != 0 || rnd_.one_in(3)) return;
  // What counts as known early, or for all workgroups, stays a constant.
  const bool constant = b.kind == BufferKind::Shared || (output && b.count.valid());
  if (b.kind == BufferKind::Shared && count == 0) return;
  const ExprId rows = u32(count / row_);
  const ExprId row = constant ? u32(row_) : row_length();
  Buffer& again = p_.buffers[id.index()];
  again.axes = p_.add_values(std::array{rows, row});
  again.count = again.size = {};
}

ExprId Maker::by_axes(const check::CheckedProgram& checked, Memory memory, ExprId index) {
  uint32_t nodes = 0;
  if (!memory.buffer().valid() || p_[memory.buffer()].axes.empty() || rnd_.one_in(3) ||
      checked.expr_types[index.index()] != Type::U32 || !is_repeatable(p_, index, nodes))
    return index;
  const ExprId again = copy_of(p_, index);
  const ExprId length = rnd_.one_in(2) ? row_length() : p_.add(AxisLen{memory, 1});
  const ExprId y = p_.add(Binary{BinaryOp::Div, index, row_length()});
  const ExprId x = p_.add(Binary{BinaryOp::Rem, again, length});
  return p_.add(AxisIndex{memory, p_.add_values(std::array{y, x})});
}

}  // namespace vyre::generator
