// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/mask_emitter.hpp"

#include "base/check.hpp"
#include "codegen/llvm/body/emitters.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;
namespace in = llvm::Intrinsic;

llvm::Value* MaskEmitter::under_mask(llvm::Value* mask, llvm::function_ref<void()> body) {
  llvm::BasicBlock* const inside = x_.new_block("lanes");
  llvm::BasicBlock* const after = x_.new_block("lanes_after");
  b_.CreateCondBr(x_.any(mask), inside, after);
  llvm::BasicBlock* const skip = b_.GetInsertBlock();
  b_.SetInsertPoint(inside);
  x_.mask = mask;
  body();
  llvm::Value* const result = x_.mask;
  llvm::BasicBlock* const end = b_.GetInsertBlock();
  VYRE_CHECK(!x_.terminated());
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  // Where no lane was meant, none is left.
  return result == mask ? mask : x_.merged_mask(result, end, x_.no_lanes(), skip);
}

void MaskEmitter::for_each_lane(llvm::Value* mask, llvm::function_ref<void(llvm::Value*)> body) {
  llvm::Type* const word = b_.getIntNTy(x_.lanes());
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::Value* const bits = x_.mask_bits(mask);
  llvm::BasicBlock* const each = x_.new_block("turn");
  llvm::BasicBlock* const after = x_.new_block("turns_done");
  b_.CreateCondBr(b_.CreateICmpNE(bits, llvm::ConstantInt::get(word, 0)), each, after);
  b_.SetInsertPoint(each);
  llvm::PHINode* const left = b_.CreatePHI(word, 2);
  left->addIncoming(bits, from);
  llvm::Value* const lane = b_.CreateZExtOrTrunc(
      b_.CreateIntrinsic(in::cttz, {word}, {left, b_.getTrue()}), b_.getInt32Ty());
  x_.serial_lane = lane;
  body(lane);
  x_.serial_lane = nullptr;
  llvm::Value* const rest = b_.CreateAnd(left, b_.CreateSub(left, llvm::ConstantInt::get(word, 1)));
  left->addIncoming(rest, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(rest, llvm::ConstantInt::get(word, 0)), each, after);
  b_.SetInsertPoint(after);
}

void MaskEmitter::end_lanes() {
  if (!x_.wide() || x_.divergence_depth == 0) {
    b_.CreateBr(x_.target.lane_end());
    return;
  }
  llvm::Value* const live = b_.CreateLoad(x_.vector(b_.getInt1Ty()), x_.live);
  b_.CreateStore(b_.CreateAnd(live, b_.CreateNot(x_.mask_or_all())), x_.live);
  x_.mask = x_.no_lanes();
}

void MaskEmitter::resume_live(llvm::Value* before) {
  llvm::Value* const live = b_.CreateLoad(x_.vector(b_.getInt1Ty()), x_.live);
  x_.mask = before != nullptr ? b_.CreateAnd(before, live) : live;
}

bool MaskEmitter::jumps_out(Block block) const {
  if (x_.options.checked) return true;
  for (const StmtId id : x_.p().items(block)) {
    const Stmt& s = x_.p()[id];
    if (properties_of(s).exit != Exit::None) return true;
    bool inner = false;
    for_each_block(s, [&](Block b) { inner = inner || jumps_out(b); });
    if (inner) return true;
  }
  return can_end(block);
}

bool MaskEmitter::can_end(Block block) const {
  if (x_.live == nullptr) return false;
  if (x_.options.checked) return true;
  for (const StmtId id : x_.p().items(block)) {
    const Stmt& s = x_.p()[id];
    const StmtProperties row = properties_of(s);
    if (row.may_end_lane && (row.exit != Exit::Return || !x_.frames.back().fn.valid())) return true;
    bool inner = false;
    for_each_block(s, [&](Block b) { inner = inner || can_end(b); });
    for_each_operand(x_.p(), s, [&](ExprId e) { inner = inner || calls_ending(e); });
    if (inner) return true;
  }
  return false;
}

bool MaskEmitter::calls_ending(ExprId id) const {
  if (const auto* e = std::get_if<Call>(&x_.p()[id]))
    if (x_.d().ends_lanes(e->fn)) return true;
  bool inner = false;
  for_each_operand(x_.p(), x_.p()[id], [&](ExprId e) { inner = inner || calls_ending(e); });
  return inner;
}

}  // namespace vyre::codegen
