// SPDX-License-Identifier: Apache-2.0
// A program exactly as it is in memory, node by node with all numbers and positions. Code says by
// the numbers of nodes where lanes stopped, so who makes code of a program needs those, and the
// canonical bytes (ir::encode) do not have them.
#pragma once

#include "pipeline/archive.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::ir {

// Found by argument-dependent lookup in pipeline/archive.hpp.
template <class Archive>
void fields(Archive& a, FloatLiteral& x) {
  a(x.digits, x.exponent, x.negative, x.suffix);
}
template <class Archive>
void fields(Archive& a, Region& x) {
  a(x.name, x.body);
}
template <class Archive>
void fields(Archive& a, Print& x) {
  a(x.format, x.args);
}
template <class Archive>
void fields(Archive& a, Assert& x) {
  a(x.condition, x.format, x.args);
}
template <class Archive>
void fields(Archive& a, Local& x) {
  a(x.name, x.kind, x.type, x.count, x.values, x.axes, x.rank);
}
template <class Archive>
void fields(Archive& a, Const& x) {
  a(x.name, x.type, x.table, x.values);
}
template <class Archive>
void fields(Archive& a, Buffer& x) {
  a(x.name, x.kind, x.element, x.count, x.axes, x.scalar, x.binding, x.align, x.size, x.range_first,
    x.range_last, x.live_out, x.locality, x.coalesce_axis);
}
template <class Archive>
void fields(Archive& a, Require& x) {
  a(x.condition, x.message, x.buffers_before);
}
template <class Archive>
void fields(Archive& a, Fn& x) {
  a(x.name, x.params, x.result, x.body);
}
template <class Archive>
void fields(Archive& a, Positions& x) {
  a(x.files, x.locs, x.exprs, x.stmts, x.locals, x.consts, x.buffers, x.fns, x.requires_, x.program,
    x.workgroup, x.over);
}
template <class Archive>
void fields(Archive& a, Program& x) {
  a(x.name, x.workgroup, x.over, x.consts, x.buffers, x.require_list, x.fns, x.body, x.locals,
    x.exprs, x.stmts, x.block_items, x.expr_lists, x.param_lists, x.memory_lists, x.args,
    x.positions);
}

}  // namespace vyre::ir
