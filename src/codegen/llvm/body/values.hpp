// SPDX-License-Identifier: Apache-2.0
// Values of a block of lanes. A block of N lanes keeps what differs between its lanes in vectors of
// N elements and what does not in scalars; a block of one lane has scalars only. Operations here
// are the rules of ir/semantics.hpp in LLVM IR, for scalars and vectors alike.
#pragma once

#include "codegen/llvm/llvm_ir.hpp"
#include "vyre/ir/ops.hpp"
#include "vyre/ir/types.hpp"

namespace vyre::codegen {

struct Val {
  llvm::Value* v = nullptr;
  bool varying = false;  // v is a vector with an element for each lane
  // Not null: lane k has the value start + offset + k modulo 2^32, where `start` is the first lane
  // of the block along x; the offset is the same in all lanes.
  llvm::Value* offset = nullptr;
};

using Builder = llvm::IRBuilder<>;

// The type of one value in registers; bool is i1.
llvm::Type* type_of(ir::Type type, llvm::LLVMContext& context);
// The type of one element in memory; bool is i32, f16 and bf16 are i16.
llvm::Type* element_type(ir::Type type, llvm::LLVMContext& context);

// `scalar`, or as many of them as the vector `like` has elements.
llvm::Type* with_shape_of(const llvm::Value* like, llvm::Type* scalar);

// A place some bytes after another, and a load from there of what is never written.
llvm::Value* byte_address(Builder& builder, llvm::Value* base, uint64_t offset);
llvm::LoadInst* invariant_load(Builder& builder, llvm::Type* type, llvm::Value* base,
                               uint64_t offset);

class Arithmetic {
 public:
  // `half_conversions`: the target converts between f16 and f32 by itself.
  Arithmetic(Builder& builder, uint32_t lanes, bool half_conversions)
      : b_(builder), lanes_(lanes), half_conversions_(half_conversions) {}

  void set_lanes(uint32_t lanes) { lanes_ = lanes; }
  [[nodiscard]] llvm::Value* splat(const Val& value) const;
  // Both as vectors if one of them is.
  bool align(Val& a, Val& b) const;

  Val unary(ir::UnaryOp op, ir::Type type, Val x);
  // Lazy operators get both operands: being lazy is the caller's part.
  Val binary(ir::BinaryOp op, ir::Type type, Val x, Val y, ir::Type right_type);
  // All but the maths library. `types` of the arguments; select: of the values.
  Val intrinsic(ir::Intrinsic op, ir::Type type, const std::array<Val, 3>& args,
                const std::array<ir::Type, 3>& types);
  Val cast(ir::Type from, ir::Type to, Val x);
  Val bitcast(ir::Type to, Val x);
  Val select(Val condition, Val yes, Val no);

  // Between an element of memory and the value it stands for; scalars or vectors.
  llvm::Value* widen(ir::Type element, llvm::Value* raw);
  llvm::Value* narrow(ir::Type element, llvm::Value* value);

  // For atomics and reductions: one step on plain values of one shape.
  llvm::Value* combine(ir::AtomicOp op, ir::Type type, llvm::Value* old, llvm::Value* operand);
  llvm::Value* minimum(ir::Type type, llvm::Value* x, llvm::Value* y);
  llvm::Value* maximum(ir::Type type, llvm::Value* x, llvm::Value* y);

 private:
  llvm::Value* compare(ir::BinaryOp op, ir::Type type, llvm::Value* x, llvm::Value* y);
  llvm::Value* divide(ir::Type type, llvm::Value* x, llvm::Value* y, bool remainder);
  llvm::Value* shift_amount(llvm::Type* type, llvm::Value* amount);
  llvm::Value* saturated_product(ir::Type type, llvm::Value* x, llvm::Value* y);
  llvm::Value* high_product(ir::Type type, llvm::Value* x, llvm::Value* y);
  llvm::Value* sign(ir::Type type, llvm::Value* x);
  llvm::Value* call(llvm::Intrinsic::ID id, std::initializer_list<llvm::Value*> args);
  llvm::Value* nan_of_half(llvm::Value* bits);
  llvm::Value* kept_nan(llvm::Value* kept, uint64_t payload, uint64_t quiet);
  llvm::Value* half_to_float(llvm::Value* bits);
  llvm::Value* float_to_half(llvm::Value* value);
  llvm::Value* float_to_bfloat(llvm::Value* value);
  llvm::Value* number(llvm::Type* type, uint64_t value) {
    return llvm::ConstantInt::get(type, value);
  }

  Builder& b_;
  uint32_t lanes_;
  bool half_conversions_;
};

}  // namespace vyre::codegen
