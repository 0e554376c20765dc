// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/loop_nest_emitter.hpp"

#include <algorithm>
#include <bit>

#include "codegen/llvm/body/emitters.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// Units of work in one run of an inner loop.
constexpr uint64_t kUnitsPerRun = uint64_t{1} << 12;
constexpr uint64_t kMostIterationsPerRun = uint64_t{1} << 10;

// A power of two, which LLVM can divide into iterations that it does at once.
uint64_t iterations_per_run(uint64_t weight) {
  return std::clamp<uint64_t>(std::bit_floor(kUnitsPerRun / weight), 1, kMostIterationsPerRun);
}

// Whether what was emitted since then synchronises with other lanes: then a counter costs nothing
// next to it, and LLVM knows the trip count of short loops as long as they are not cut into runs.
bool synchronises(const llvm::BasicBlock& since) {
  for (auto block = since.getIterator(); block != since.getParent()->end(); ++block)
    for (const llvm::Instruction& i : *block)
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
          call != nullptr && call->isConvergent())
        return true;
  return false;
}

}  // namespace

LoopNestEmitter::Nest LoopNestEmitter::start() {
  Nest nest;
  nest.before = x_.new_block("loop");
  nest.loop.unreported = x_.new_variable(b_.getInt32Ty());
  nest.loop.weight = x_.new_variable(b_.getInt32Ty());
  b_.CreateStore(b_.getInt32(0), nest.loop.unreported);
  b_.CreateBr(nest.before);
  b_.SetInsertPoint(nest.before);
  return nest;
}

void LoopNestEmitter::flush_count(const Loop& loop) {
  if (loop.unreported == nullptr) return;
  llvm::Type* const word = b_.getInt32Ty();
  x_.threads().count_work(
      b_.CreateMul(b_.CreateLoad(word, loop.unreported), b_.CreateLoad(word, loop.weight)));
}

// At the end of a run.
void LoopNestEmitter::poll(const Nest& nest, StmtId id) {
  flush_count(nest.loop);
  b_.CreateStore(b_.getInt32(0), nest.loop.unreported);
  x_.threads().poll_if_due({{}, id});
}

// Known only when the iteration is emitted, and stored before it.
void LoopNestEmitter::set_weight(const Nest& nest, uint64_t weight) {
  b_.SetInsertPoint(nest.before, nest.before->begin());
  b_.CreateStore(b_.getInt32(static_cast<uint32_t>(weight)), nest.loop.weight);
}

void LoopNestEmitter::emit_for(const ForLoop& loop) {
  llvm::Type* const number = loop.first.v->getType();
  llvm::Type* const word = b_.getInt32Ty();
  llvm::Value* const outer_mask = x_.mask;
  llvm::Value* const at = x_.new_variable(number);
  llvm::Value* const rest = x_.new_variable(number);  // iterations
  b_.CreateStore(loop.first.v, at);
  Nest nest = start();
  llvm::BasicBlock* const count = x_.new_block("for_count");
  llvm::BasicBlock* const run = x_.new_block("for_run");
  llvm::BasicBlock* const body = x_.new_block("for");
  llvm::BasicBlock* const ran = x_.new_block("for_ran");
  llvm::BasicBlock* const exit = nest.loop.exit = x_.new_block("for_end");
  b_.CreateCondBr(math_.binary(BinaryOp::Lt, loop.type, loop.first, loop.last, loop.type).v, count,
                  exit);
  b_.SetInsertPoint(count);
  llvm::Value* const one = llvm::ConstantInt::get(number, 1);
  llvm::Value* const distance = b_.CreateSub(b_.CreateSub(loop.last.v, loop.first.v), one);
  b_.CreateStore(b_.CreateAdd(b_.CreateUDiv(distance, loop.step.v), one), rest);
  b_.CreateBr(run);

  b_.SetInsertPoint(body);
  Slot& slot = x_.frame().slots[loop.s.variable.index()];
  slot.variable = nullptr;
  slot.value = {b_.CreateLoad(number, at), false};
  const LoopEmitter::Emitted before_iteration = e_.loops.emitted();
  const uint32_t polling = e_.loops.polling();
  e_.loops.emit_iteration(loop.s.body, nest.loop, false);
  const uint64_t weight = e_.loops.iteration_weight(before_iteration);
  // Loops inside may not have polled.
  const uint64_t most = e_.loops.polling() != polling ? 1 : iterations_per_run(weight);
  e_.loops.note_polling();
  llvm::Value* const done = b_.CreateAdd(b_.CreateLoad(word, nest.loop.unreported), b_.getInt32(1));
  b_.CreateStore(done, nest.loop.unreported);
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(number, at), loop.step.v), at);
  llvm::BasicBlock* const latch = b_.GetInsertBlock();

  set_weight(nest, weight);
  b_.SetInsertPoint(run);
  llvm::Value* const left = b_.CreateLoad(number, rest);
  llvm::Value* these = llvm::ConstantInt::get(number, most);
  if (most != 1) these = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, these);
  b_.CreateStore(b_.CreateSub(left, these), rest);
  b_.CreateBr(body);
  b_.SetInsertPoint(latch);
  if (most == 1)
    b_.CreateBr(ran);
  else
    b_.CreateCondBr(b_.CreateICmpULT(done, b_.CreateZExtOrTrunc(these, word)), body, ran);
  b_.SetInsertPoint(ran);
  poll(nest, loop.id);
  b_.CreateCondBr(b_.CreateICmpNE(b_.CreateLoad(number, rest), llvm::ConstantInt::get(number, 0)),
                  run, exit);
  b_.SetInsertPoint(exit);
  flush_count(nest.loop);
  x_.mask = outer_mask;
}

void LoopNestEmitter::emit_while(const While& s, StmtId id) {
  llvm::Type* const word = b_.getInt32Ty();
  llvm::Value* const outer_mask = x_.mask;
  Nest nest = start();
  llvm::BasicBlock* const head = x_.new_block("while");
  llvm::BasicBlock* const body = x_.new_block("while_body");
  llvm::BasicBlock* const exit = nest.loop.exit = x_.new_block("while_end");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  const LoopEmitter::Emitted before_iteration = e_.loops.emitted();
  const uint32_t polling = e_.loops.polling();
  const Val c = e_.values.value(s.condition);
  if (!x_.terminated()) b_.CreateCondBr(c.v, body, exit);
  b_.SetInsertPoint(body);
  e_.loops.emit_iteration(s.body, nest.loop, false);
  const uint64_t weight = e_.loops.iteration_weight(before_iteration);
  const uint64_t most = iterations_per_run(weight);
  if (e_.loops.polling() != polling || most == 1 || synchronises(*head)) {
    b_.CreateStore(b_.getInt32(1), nest.loop.unreported);
    poll(nest, id);
    b_.CreateBr(head);
  } else {
    llvm::BasicBlock* const ran = x_.new_block("while_ran");
    llvm::Value* const done =
        b_.CreateAdd(b_.CreateLoad(word, nest.loop.unreported), b_.getInt32(1));
    b_.CreateStore(done, nest.loop.unreported);
    b_.CreateCondBr(b_.CreateICmpULT(done, b_.getInt32(static_cast<uint32_t>(most))), head, ran);
    b_.SetInsertPoint(ran);
    poll(nest, id);
    b_.CreateBr(nest.before);
  }
  e_.loops.note_polling();
  set_weight(nest, weight);
  b_.SetInsertPoint(exit);
  flush_count(nest.loop);
  x_.mask = outer_mask;
}

}  // namespace vyre::codegen
