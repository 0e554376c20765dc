// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/loop_emitter.hpp"

#include <algorithm>

#include "codegen/llvm/body/emitters.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// With loops inside that may end without a poll.
constexpr uint64_t kMostSilentIterations = 64;

}  // namespace

std::optional<uint64_t> LoopEmitter::constant_trip_count(const For& s) const {
  const auto first = check::evaluate_constant(x_.c(), s.first);
  const auto last = check::evaluate_constant(x_.c(), s.last);
  if (!first || !last) return std::nullopt;
  const auto number = [&](const check::Constant& k) -> __int128 {
    if (k.type == Type::I32) return static_cast<int32_t>(static_cast<uint32_t>(k.bits));
    if (k.type == Type::I64) return static_cast<int64_t>(k.bits);
    return k.bits;
  };
  const __int128 distance = number(*last) - number(*first);
  if (distance <= 0) return 0;
  const __int128 step = s.step.valid() ? number(*check::evaluate_constant(x_.c(), s.step)) : 1;
  return static_cast<uint64_t>((distance + step - 1) / step);
}

void LoopEmitter::emit_iteration(Block body, Loop loop, bool divergent) {
  loop.next = x_.new_block("next");
  if (divergent) {
    loop.skipped = x_.new_variable(x_.vector(b_.getInt1Ty()));
    b_.CreateStore(x_.no_lanes(), loop.skipped);
  }
  x_.frame().loops.push_back(loop);
  e_.statements.emit_block(body);
  x_.frame().loops.pop_back();
  llvm::Value* left = x_.mask;
  if (divergent && !x_.terminated())
    left = b_.CreateOr(x_.mask_or_all(), b_.CreateLoad(x_.vector(b_.getInt1Ty()), loop.skipped));
  x_.branch_to(loop.next);
  b_.SetInsertPoint(loop.next);
  x_.mask = left;
}

LoopEmitter::LoopLanes LoopEmitter::enter_divergent(llvm::Value* first_lanes, Block body) {
  LoopLanes lanes{x_.mask, x_.new_variable(x_.vector(b_.getInt1Ty())), e_.masks.can_end(body)};
  b_.CreateStore(first_lanes, lanes.active);
  ++x_.divergence_depth;
  return lanes;
}

void LoopEmitter::leave_divergent(const LoopLanes& lanes) {
  --x_.divergence_depth;
  x_.mask = lanes.before;
  if (lanes.ends) e_.masks.resume_live(lanes.before);
  // Lanes that left the loop by returning from the function wait for its end.
  if (x_.frame().divergent) {
    llvm::Value* const here = b_.CreateLoad(x_.vector(b_.getInt1Ty()), x_.frame().returned);
    x_.mask = b_.CreateAnd(x_.mask_or_all(), b_.CreateNot(here));
  }
}

// Whether the variable of a loop with constant bounds has no number for what comes after its last
// iteration.
bool LoopEmitter::wraps_behind(const ForLoop& loop) const {
  const For& s = loop.s;
  const check::Constant last = *check::evaluate_constant(x_.c(), s.last);
  const uint64_t step = s.step.valid() ? check::evaluate_constant(x_.c(), s.step)->bits : 1;
  const bool wide = loop.type == Type::U64 || loop.type == Type::I64;
  const uint64_t highest = ~uint64_t{0} >> ((wide ? 0 : 32) + (is_signed(loop.type) ? 1 : 0));
  const bool negative = is_signed(loop.type) && last.bits > highest;
  return !negative && last.bits > highest - step;
}

Val LoopEmitter::less(const ForLoop& loop, const Val& a, const Val& b) {
  return math_.binary(BinaryOp::Lt, loop.type, a, b, loop.type);
}

// What is left, as an unsigned number, is more than a step: then the next iteration is below the
// end and the sum does not overflow.
llvm::Value* LoopEmitter::has_more(const ForLoop& loop, const Val& i) {
  Val left = math_.binary(BinaryOp::Sub, loop.type, loop.last, i, loop.type);
  left.offset = nullptr;
  Val by = loop.step;
  math_.align(left, by);
  return b_.CreateICmpUGT(left.v, by.v);
}

void LoopEmitter::emit_for(const For& s, StmtId id) {
  ForLoop loop{.s = s, .id = id, .type = *x_.c().local_types[s.variable.index()]};
  loop.first = e_.values.value(s.first);
  loop.last = e_.values.value(s.last);
  if (x_.terminated()) return;
  loop.step =
      x_.constant(loop.type, s.step.valid() ? check::evaluate_constant(x_.c(), s.step)->bits : 1);
  const uint64_t outer = x_.trip_count;
  loop.trip_count = constant_trip_count(s);
  loop.polls = !loop.trip_count || *loop.trip_count > kIterationsWithoutPoll / x_.trip_count;
  if (!loop.polls) x_.trip_count *= std::max<uint64_t>(1, *loop.trip_count);
  if (x_.wide() && x_.d().diverges(id))
    emit_divergent_for(loop);
  else if (e_.splitter.can_split(s, loop.type))
    e_.splitter.emit_for(loop);
  else if (loop.polls && x_.options.nests_loops)
    e_.nests.emit_for(loop);
  else
    emit_uniform_for(loop);
  x_.trip_count = outer;
}

void LoopEmitter::emit_uniform_for(const ForLoop& loop) {
  llvm::Type* const stored = x_.shaped(loop.type, false);
  llvm::Value* const variable = x_.new_variable(stored);
  b_.CreateStore(loop.first.v, variable);
  const auto current = [&] { return Val{b_.CreateLoad(stored, variable), false}; };
  llvm::BasicBlock* const body = x_.new_block("for");
  llvm::BasicBlock* const exit = x_.new_block("for_end");
  x_.frame().slots[loop.s.variable.index()].variable = nullptr;
  llvm::Value* const before = x_.mask;
  // Threads test what the variable is next and not what it was, because ptxas takes such a test
  // for the other (wrapping_tests.hpp); where there is nothing next, they count.
  const bool after = x_.options.nests_loops && !loop.polls;
  llvm::Value* counter = nullptr;
  if (after && wraps_behind(loop)) {
    counter = x_.new_variable(b_.getInt32Ty());
    b_.CreateStore(b_.getInt32(0), counter);
  }
  b_.CreateCondBr(less(loop, loop.first, loop.last).v, body, exit);
  b_.SetInsertPoint(body);
  x_.frame().slots[loop.s.variable.index()].value = current();
  const Emitted before_iteration = emitted();
  const uint32_t polling = polling_;
  emit_iteration(loop.s.body, exit, false);
  // Loops inside may leave polling to those around them.
  const bool many =
      x_.options.nests_loops && polling_ != polling && x_.trip_count > kMostSilentIterations;
  if (loop.polls || many) poll_iteration(loop.id, before_iteration);
  const Val i = current();
  llvm::Value* const next = math_.binary(BinaryOp::Add, loop.type, i, loop.step, loop.type).v;
  llvm::Value* again = nullptr;
  if (counter != nullptr) {
    llvm::Value* const done =
        b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), counter), b_.getInt32(1), "", true, true);
    b_.CreateStore(done, counter);
    again = b_.CreateICmpNE(done, b_.getInt32(static_cast<uint32_t>(*loop.trip_count)));
  } else {
    again = after ? less(loop, {next, false}, loop.last).v : has_more(loop, i);
  }
  b_.CreateStore(next, variable);
  b_.CreateCondBr(again, body, exit);
  b_.SetInsertPoint(exit);
  x_.mask = before;
}

void LoopEmitter::emit_divergent_for(const ForLoop& loop) {
  const For& s = loop.s;
  const bool varying = loop.first.varying;
  llvm::Type* const stored = x_.shaped(loop.type, varying);
  llvm::Value* const variable = x_.new_variable(stored);
  b_.CreateStore(loop.first.v, variable);
  const auto current = [&] { return Val{b_.CreateLoad(stored, variable), varying}; };
  llvm::BasicBlock* const body = x_.new_block("for");
  llvm::BasicBlock* const exit = x_.new_block("for_end");
  x_.frame().slots[s.variable.index()].variable = nullptr;
  llvm::Value* lanes_in = nullptr;
  if (x_.mask == nullptr && loop.first.offset != nullptr && !x_.options.checked &&
      x_.d().stays_convergent(s) && x_.repeated + s.body.count < kMostRepeated)
    lanes_in = emit_convergent_iterations(loop, variable);
  else
    lanes_in = math_.splat(less(loop, loop.first, loop.last));
  if (x_.mask != nullptr) lanes_in = b_.CreateAnd(x_.mask, lanes_in);
  const LoopLanes lanes = enter_divergent(lanes_in, s.body);
  llvm::BasicBlock* const head = x_.new_block("for_lanes");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  x_.mask = b_.CreateLoad(x_.vector(b_.getInt1Ty()), lanes.active);
  b_.CreateCondBr(x_.any(x_.mask), body, exit);
  b_.SetInsertPoint(body);
  x_.frame().slots[s.variable.index()].value = current();
  const Emitted before_iteration = emitted();
  emit_iteration(s.body, exit, true);
  if (loop.polls) poll_iteration(loop.id, before_iteration);
  const Val i = current();
  llvm::Value* again = has_more(loop, i);
  if (!again->getType()->isVectorTy()) again = math_.splat({again, false});
  b_.CreateStore(b_.CreateAnd(x_.mask_or_all(), again), lanes.active);
  b_.CreateStore(math_.binary(BinaryOp::Add, loop.type, i, loop.step, loop.type).v, variable);
  b_.CreateBr(head);
  b_.SetInsertPoint(exit);
  leave_divergent(lanes);
}

// To count the instructions of a function is to visit all of them, which too many loops would do
// too often.
LoopEmitter::Emitted LoopEmitter::emitted() {
  constexpr uint32_t kMostCounted = 256;
  Emitted now{.nodes = x_.nodes, .called = x_.called};
  if (counted_++ < kMostCounted)
    now.instructions = b_.GetInsertBlock()->getParent()->getInstructionCount();
  return now;
}

uint64_t LoopEmitter::iteration_weight(const Emitted& before) const {
  constexpr uint64_t kInstructionsPerUnit = 16;
  constexpr uint64_t kInstructionsPerNode = 4;
  constexpr uint64_t kMostUnits = 1U << 14;
  const uint64_t instructions =
      before.instructions
          ? b_.GetInsertBlock()->getParent()->getInstructionCount() - *before.instructions
          : (x_.nodes - before.nodes) * kInstructionsPerNode;
  const uint64_t called = x_.called - before.called;
  return std::clamp<uint64_t>((instructions + called) / kInstructionsPerUnit, 1, kMostUnits);
}

void LoopEmitter::poll_iteration(StmtId id, const Emitted& before) {
  ++polling_;
  x_.target.poll({{}, id}, static_cast<uint32_t>(iteration_weight(before)));
}

llvm::Value* LoopEmitter::emit_convergent_iterations(const ForLoop& loop, llvm::Value* variable) {
  x_.repeated += loop.s.body.count;
  llvm::Type* const word = b_.getInt64Ty();
  llvm::Value* const end = b_.CreateZExt(loop.last.v, word);
  llvm::Value* const start = x_.rows.start();
  // Of the first lane; where the numbers of a block start again at 0 there are no such iterations.
  llvm::Value* const at = x_.new_variable(word);
  llvm::Value* const first_lane = b_.CreateZExt(b_.CreateAdd(start, loop.first.offset), word);
  b_.CreateStore(first_lane, at);
  llvm::Value* const wraps =
      b_.CreateICmpUGT(first_lane, llvm::ConstantInt::get(word, (uint64_t{1} << 32) - x_.lanes()));
  llvm::Value* const lanes_at_once =
      math_.splat(math_.binary(BinaryOp::Lt, Type::U32, loop.first, loop.last, Type::U32));
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::BasicBlock* const head = x_.new_block("together");
  llvm::BasicBlock* const iteration = x_.new_block("trip");
  llvm::BasicBlock* const left = x_.new_block("left_over");
  llvm::BasicBlock* const rest = x_.new_block("rest");
  b_.CreateCondBr(wraps, rest, head);
  b_.SetInsertPoint(head);
  llvm::Value* const i = b_.CreateLoad(word, at);
  llvm::Value* const behind =
      b_.CreateAdd(i, llvm::ConstantInt::get(word, x_.lanes()), "", true, true);
  b_.CreateCondBr(b_.CreateICmpULE(behind, end), iteration, left);
  b_.SetInsertPoint(iteration);
  llvm::Value* const low = b_.CreateTrunc(i, b_.getInt32Ty());
  const auto numbered = [&](llvm::Value* from_here) {
    return b_.CreateAdd(b_.CreateVectorSplat(x_.lanes(), from_here), x_.iota(b_.getInt32Ty()));
  };
  x_.frame().slots[loop.s.variable.index()].value = {numbered(low), true, b_.CreateSub(low, start)};
  // Nothing leaves it early, so it is like any iteration without a mask.
  const Emitted before_iteration = emitted();
  constexpr uint64_t kIterationsAhead = 16;
  constexpr uint64_t kFarStep = 1024;
  const uint64_t far = llvm::cast<llvm::ConstantInt>(loop.step.v)->getZExtValue();
  const std::optional<StrideLoop> outer = x_.stride;
  if (far >= kFarStep) x_.stride = {low, far * kIterationsAhead};
  emit_iteration(loop.s.body, rest, false);
  x_.stride = outer;
  x_.mask = nullptr;
  if (loop.polls) poll_iteration(loop.id, before_iteration);
  b_.CreateStore(
      b_.CreateAdd(b_.CreateLoad(word, at), b_.CreateZExt(loop.step.v, word), "", true, true), at);
  b_.CreateBr(head);
  // Those below the end, which is less than a block away.
  b_.SetInsertPoint(left);
  llvm::Value* const count = b_.CreateTrunc(
      b_.CreateSub(end, b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, i, end)), b_.getInt32Ty());
  llvm::Value* const some =
      b_.CreateICmpULT(x_.iota(b_.getInt32Ty()), b_.CreateVectorSplat(x_.lanes(), count));
  b_.CreateStore(numbered(b_.CreateTrunc(i, b_.getInt32Ty())), variable);
  b_.CreateBr(rest);
  b_.SetInsertPoint(rest);
  llvm::PHINode* const lanes_in = b_.CreatePHI(x_.vector(b_.getInt1Ty()), 2);
  lanes_in->addIncoming(lanes_at_once, from);
  lanes_in->addIncoming(some, left);
  return lanes_in;
}

void LoopEmitter::emit_while(const While& s, StmtId id) {
  const bool divergent = x_.wide() && x_.d().diverges(id);
  if (!divergent && x_.options.nests_loops) {
    e_.nests.emit_while(s, id);
    return;
  }
  llvm::BasicBlock* const head = x_.new_block("while");
  llvm::BasicBlock* const body = x_.new_block("while_body");
  llvm::BasicBlock* const exit = x_.new_block("while_end");
  if (!divergent) {
    llvm::Value* const before = x_.mask;
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    const Val c = e_.values.value(s.condition);
    if (!x_.terminated()) b_.CreateCondBr(c.v, body, exit);
    b_.SetInsertPoint(body);
    const Emitted before_iteration = emitted();
    emit_iteration(s.body, exit, false);
    poll_iteration(id, before_iteration);
    b_.CreateBr(head);
    b_.SetInsertPoint(exit);
    x_.mask = before;
    return;
  }
  const LoopLanes lanes = enter_divergent(x_.mask_or_all(), s.body);
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  x_.mask = b_.CreateLoad(x_.vector(b_.getInt1Ty()), lanes.active);
  Val c = e_.values.value(s.condition);
  x_.mask = b_.CreateAnd(x_.mask_or_all(), math_.splat(c));
  b_.CreateCondBr(x_.any(x_.mask), body, exit);
  b_.SetInsertPoint(body);
  const Emitted before_iteration = emitted();
  emit_iteration(s.body, exit, true);
  b_.CreateStore(x_.mask_or_all(), lanes.active);
  poll_iteration(id, before_iteration);
  b_.CreateBr(head);
  b_.SetInsertPoint(exit);
  leave_divergent(lanes);
}

}  // namespace vyre::codegen
