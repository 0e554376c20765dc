// SPDX-License-Identifier: Apache-2.0
// Expressions.
#pragma once

#include "codegen/llvm/body/emitter.hpp"

namespace vyre::codegen {

class ValueEmitter : Emitter {
 public:
  ValueEmitter(BodyContext& context, Emitters& emitters) : Emitter(context, emitters) {}

  Val value(ir::ExprId id);
  // As a condition: in a block without mask a guard of the row may decide its outcome.
  Val condition(ir::ExprId id);

 private:
  std::optional<bool> guarded_outcome(const ir::Binary& e, const Val& x, const Val& y);
  Val binary(const ir::Binary& e);
  Val lazy(const ir::Binary& e, bool as_condition);
  Val lazy_uniform(const ir::Binary& e, const Val& left, bool as_condition);
  Val lazy_divergent(const ir::Binary& e, const Val& left);
  bool is_cheap(ir::ExprId id, uint32_t& nodes) const;
  Val uniform_load(ir::ExprId id, const ir::UniformLoad& e);
  Val intrinsic(const ir::IntrinsicCall& e);
  Val axis_index(ir::ExprId id, const ir::AxisIndex& e);
  Val on_axis(const Val& index, ir::Type type, const Val& length);
};

}  // namespace vyre::codegen
