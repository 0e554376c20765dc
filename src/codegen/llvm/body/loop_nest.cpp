// SPDX-License-Identifier: Apache-2.0
// Loops as nests, for threads: an inner loop of some trips that nobody counts but the loop itself,
// and one around it that asks whether to go on. LLVM unrolls the inner one.
//
// What has been done since somebody asked last is known to the environment. It is told at the end
// of each run of the inner loop, and where trips end early: by a condition, a break, or a return. A
// loop that ends before it has asked leaves that to the ones around it, and these ask after each
// trip.
#include <bit>

#include "codegen/llvm/body/lane_code.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// Units of work in one run of an inner loop.
constexpr uint64_t kUnitsPerRun = uint64_t{1} << 12;
constexpr uint64_t kMostTripsPerRun = uint64_t{1} << 10;

// A power of two, which LLVM can divide into trips that it does at once.
uint64_t trips_per_run(uint64_t weight) {
  return std::clamp<uint64_t>(std::bit_floor(kUnitsPerRun / weight), 1, kMostTripsPerRun);
}

// Whether what was emitted since then meets other lanes: then a counter is nothing next to it, and
// LLVM knows the trips of short loops as long as they are not cut into runs.
bool meets(const llvm::BasicBlock& since) {
  for (auto block = since.getIterator(); block != since.getParent()->end(); ++block)
    for (const llvm::Instruction& i : *block)
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&i);
          call != nullptr && call->isConvergent())
        return true;
  return false;
}

}  // namespace

struct LaneCode::Nest {
  llvm::BasicBlock* before = nullptr;
  Loop loop;
};

LaneCode::Nest LaneCode::start_nest() {
  Nest nest;
  nest.before = new_block("loop");
  nest.loop.untold = new_variable(b_.getInt32Ty());
  nest.loop.weight = new_variable(b_.getInt32Ty());
  b_.CreateStore(b_.getInt32(0), nest.loop.untold);
  b_.CreateBr(nest.before);
  b_.SetInsertPoint(nest.before);
  return nest;
}

void LaneCode::tell_trips(const Loop& loop) {
  if (loop.untold == nullptr) return;
  llvm::Type* const word = b_.getInt32Ty();
  env_.spend(b_.CreateMul(b_.CreateLoad(word, loop.untold), b_.CreateLoad(word, loop.weight)));
}

void LaneCode::emit_for_nest(const For& s, StmtId id, const Val& first, const Val& last,
                             const Val& step) {
  const Type type = *c().local_types[s.variable.index()];
  llvm::Type* const number = first.v->getType();
  llvm::Type* const word = b_.getInt32Ty();
  llvm::Value* const outer_mask = mask_;
  llvm::Value* const at = new_variable(number);
  llvm::Value* const rest = new_variable(number);  // trips
  b_.CreateStore(first.v, at);
  Nest nest = start_nest();
  llvm::BasicBlock* const count = new_block("for_count");
  llvm::BasicBlock* const run = new_block("for_run");
  llvm::BasicBlock* const body = new_block("for");
  llvm::BasicBlock* const ran = new_block("for_ran");
  llvm::BasicBlock* const exit = nest.loop.exit = new_block("for_end");
  b_.CreateCondBr(math_.binary(BinaryOp::Lt, type, first, last, type).v, count, exit);
  b_.SetInsertPoint(count);
  llvm::Value* const one = llvm::ConstantInt::get(number, 1);
  llvm::Value* const distance = b_.CreateSub(b_.CreateSub(last.v, first.v), one);
  b_.CreateStore(b_.CreateAdd(b_.CreateUDiv(distance, step.v), one), rest);
  b_.CreateBr(run);

  b_.SetInsertPoint(body);
  Slot& slot = frame().slots[s.variable.index()];
  slot.variable = nullptr;
  slot.value = {b_.CreateLoad(number, at), false};
  const Emitted before_trip = emitted();
  const uint32_t asked = asked_;
  emit_trip(s.body, nest.loop, false);
  const uint64_t weight = trip_weight(before_trip);
  // Loops inside may not have asked.
  const uint64_t most = asked_ != asked ? 1 : trips_per_run(weight);
  ++asked_;
  llvm::Value* const trips = b_.CreateAdd(b_.CreateLoad(word, nest.loop.untold), b_.getInt32(1));
  b_.CreateStore(trips, nest.loop.untold);
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(number, at), step.v), at);
  llvm::BasicBlock* const latch = b_.GetInsertBlock();

  b_.SetInsertPoint(nest.before, nest.before->begin());
  b_.CreateStore(b_.getInt32(static_cast<uint32_t>(weight)), nest.loop.weight);
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
    b_.CreateCondBr(b_.CreateICmpULT(trips, b_.CreateZExtOrTrunc(these, word)), body, ran);
  b_.SetInsertPoint(ran);
  tell_trips(nest.loop);
  b_.CreateStore(b_.getInt32(0), nest.loop.untold);
  env_.ask({{}, id});
  b_.CreateCondBr(b_.CreateICmpNE(b_.CreateLoad(number, rest), llvm::ConstantInt::get(number, 0)),
                  run, exit);
  b_.SetInsertPoint(exit);
  tell_trips(nest.loop);
  mask_ = outer_mask;
}

void LaneCode::emit_while_nest(const While& s, StmtId id) {
  llvm::Type* const word = b_.getInt32Ty();
  llvm::Value* const outer_mask = mask_;
  Nest nest = start_nest();
  llvm::BasicBlock* const head = new_block("while");
  llvm::BasicBlock* const body = new_block("while_body");
  llvm::BasicBlock* const exit = nest.loop.exit = new_block("while_end");
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  const Emitted before_trip = emitted();
  const uint32_t asked = asked_;
  const Val c = value(s.condition);
  if (!terminated()) b_.CreateCondBr(c.v, body, exit);
  b_.SetInsertPoint(body);
  emit_trip(s.body, nest.loop, false);
  const uint64_t weight = trip_weight(before_trip);
  const uint64_t most = trips_per_run(weight);
  if (asked_ != asked || most == 1 || meets(*head)) {
    b_.CreateStore(b_.getInt32(1), nest.loop.untold);
    tell_trips(nest.loop);
    b_.CreateStore(b_.getInt32(0), nest.loop.untold);
    env_.ask({{}, id});
    b_.CreateBr(head);
  } else {
    llvm::BasicBlock* const ran = new_block("while_ran");
    llvm::Value* const trips = b_.CreateAdd(b_.CreateLoad(word, nest.loop.untold), b_.getInt32(1));
    b_.CreateStore(trips, nest.loop.untold);
    b_.CreateCondBr(b_.CreateICmpULT(trips, b_.getInt32(static_cast<uint32_t>(most))), head, ran);
    b_.SetInsertPoint(ran);
    tell_trips(nest.loop);
    b_.CreateStore(b_.getInt32(0), nest.loop.untold);
    env_.ask({{}, id});
    b_.CreateBr(nest.before);
  }
  ++asked_;
  b_.SetInsertPoint(nest.before, nest.before->begin());
  b_.CreateStore(b_.getInt32(static_cast<uint32_t>(weight)), nest.loop.weight);
  b_.SetInsertPoint(exit);
  tell_trips(nest.loop);
  mask_ = outer_mask;
}

}  // namespace vyre::codegen
