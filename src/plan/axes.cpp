// SPDX-License-Identifier: Apache-2.0
// Axes become arithmetic: the length of an axis is the expression that was declared, an index by
// axes that are all proved the number of the element. Where some axis is not proved the node stays
// and gets the lengths: its parts are evaluated once, and code generation tests what is not proved.
#include "base/check.hpp"
#include "base/match.hpp"
#include "check/constants.hpp"
#include "plan/passes.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

class AxisLowering {
 public:
  explicit AxisLowering(Draft& d) : d_(d) {}

  void run() {
    for (uint32_t i = 0; i < d_.p.exprs.size(); ++i) {
      const ExprId id{i};
      if (!d_.c.expr_types[i]) continue;  // not part of the program
      if (const auto* len = std::get_if<AxisLen>(&d_.p[id]); len != nullptr && known(len->memory))
        replace(id, length(len->memory, len->axis));
      else if (const auto* at = std::get_if<AxisIndex>(&d_.p[id]);
               at != nullptr && known(at->memory) && at->lengths.empty())
        lower(id, AxisIndex(*at));
    }
  }

 private:
  // Functions with parameters that have axes are inlined; what is left of them is not called.
  [[nodiscard]] bool known(Memory m) const {
    return m.kind != Memory::Kind::Local || d_.p[m.local()].kind == Local::Kind::Array ||
           d_.p[m.local()].rank == 1;
  }

  // Nothing else refers to the new node, and `id` keeps its one parent.
  void replace(ExprId id, ExprId by) { d_.p.exprs[id.index()] = Expr(d_.p[by]); }

  void lower(ExprId id, AxisIndex at) {
    const auto span = d_.p.values(at.indices);
    const std::vector<ExprId> indices(span.begin(), span.end());
    const uint8_t proved = d_.c.axis_proofs[id.index()];
    if (proved + 1U == 1U << indices.size()) {
      ExprId element = as_u32(indices[0]);
      for (uint32_t axis = 1; axis < indices.size(); ++axis) {
        const ExprId row = d_.binary(BinaryOp::Mul, element, length(at.memory, axis));
        element = d_.binary(BinaryOp::Add, row, as_u32(indices[axis]));
      }
      return replace(id, element);
    }
    std::vector<ExprId> lengths;
    for (uint32_t axis = 0; axis < indices.size(); ++axis)
      lengths.push_back(length(at.memory, axis));
    at.lengths = d_.p.add_values(lengths);
    d_.p.exprs[id.index()] = at;
  }

  ExprId as_u32(ExprId id) {
    return d_.type_of(id) == Type::U32 ? id : d_.expr(Cast{Type::U32, id}, Type::U32);
  }

  // A u32, whatever the type of what is written: the host has refused lengths that do not fit.
  ExprId length(Memory m, uint32_t axis) {
    const BufferId buffer = m.buffer();
    if (rank_of(d_.p, m) == 1)
      return m.local().valid() && d_.p[m.local()].kind == Local::Kind::Array
                 ? d_.number(d_.c.array_counts[m.index])
                 : d_.length(m);
    const ExprId written =
        d_.p.values(buffer.valid() ? d_.p[buffer].axes : d_.p[m.local()].axes)[axis];
    if (const auto value = check::evaluate(d_.p, d_.c, written)) return d_.number(value->bits);
    return as_u32(copy(written));
  }

  // Of a host expression, with the lengths of axes in it.
  ExprId copy(ExprId id) {
    if (const auto* len = std::get_if<AxisLen>(&d_.p[id])) return length(len->memory, len->axis);
    std::vector<ExprId> operands;
    for (const ExprId operand : d_.operands(id)) operands.push_back(copy(operand));
    const auto* load = std::get_if<Load>(&d_.p[id]);
    if (load == nullptr || load->memory.kind != Memory::Kind::Buffer)
      return d_.with_operands(id, operands);
    // The host refuses to launch if the uniform has no such element.
    return d_.load(load->memory, operands[0], true);
  }

  Draft& d_;
};

}  // namespace

Draft lower_axes(Draft d) {
  AxisLowering(d).run();
  return d;
}

}  // namespace vyre::plan
