// SPDX-License-Identifier: Apache-2.0
// Loops: as they are where all lanes take the same trips, under masks of those that still do where
// they part.
#include "codegen/llvm/body/lane_code.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// With loops inside that may end without having asked.
constexpr uint64_t kMostSilentTrips = 64;

}  // namespace

std::optional<uint64_t> LaneCode::constant_trips(const For& s) const {
  const auto first = check::evaluate_constant(c(), s.first);
  const auto last = check::evaluate_constant(c(), s.last);
  if (!first || !last) return std::nullopt;
  const auto number = [&](const check::Constant& k) -> __int128 {
    if (k.type == Type::I32) return static_cast<int32_t>(static_cast<uint32_t>(k.bits));
    if (k.type == Type::I64) return static_cast<int64_t>(k.bits);
    return k.bits;
  };
  const __int128 distance = number(*last) - number(*first);
  if (distance <= 0) return 0;
  const __int128 step = s.step.valid() ? number(*check::evaluate_constant(c(), s.step)) : 1;
  return static_cast<uint64_t>((distance + step - 1) / step);
}

void LaneCode::emit_trip(Block body, Loop loop, bool divergent) {
  loop.next = new_block("next");
  if (divergent) {
    loop.skipped = new_variable(vector(b_.getInt1Ty()));
    b_.CreateStore(no_lanes(), loop.skipped);
  }
  frame().loops.push_back(loop);
  emit_block(body);
  frame().loops.pop_back();
  llvm::Value* left = mask_;
  if (divergent && !terminated())
    left = b_.CreateOr(mask_or_all(), b_.CreateLoad(vector(b_.getInt1Ty()), loop.skipped));
  branch_to(loop.next);
  b_.SetInsertPoint(loop.next);
  mask_ = left;
}

struct LaneCode::LanesOfLoop {
  llvm::Value* before = nullptr;
  llvm::Value* active = nullptr;  // variable
  bool ends = false;              // lanes may end in it
};

LaneCode::LanesOfLoop LaneCode::enter_divergent(llvm::Value* first_lanes, Block body) {
  LanesOfLoop lanes{mask_, new_variable(vector(b_.getInt1Ty())), can_end(body)};
  b_.CreateStore(first_lanes, lanes.active);
  ++parted_;
  return lanes;
}

void LaneCode::leave_divergent(const LanesOfLoop& lanes) {
  --parted_;
  mask_ = lanes.before;
  if (lanes.ends) {
    llvm::Value* const live = b_.CreateLoad(vector(b_.getInt1Ty()), live_);
    mask_ = mask_ != nullptr ? b_.CreateAnd(mask_, live) : live;
  }
  // Lanes that left the loop by returning from the function wait for its end.
  if (frame().divergent) {
    llvm::Value* const here = b_.CreateLoad(vector(b_.getInt1Ty()), frame().returned);
    mask_ = b_.CreateAnd(mask_or_all(), b_.CreateNot(here));
  }
}

// Whether the variable of a loop with constant bounds has no number for what comes after its last
// iteration.
bool LaneCode::wraps_behind(const For& s, Type type) const {
  const check::Constant last = *check::evaluate_constant(c(), s.last);
  const uint64_t step = s.step.valid() ? check::evaluate_constant(c(), s.step)->bits : 1;
  const bool wide = type == Type::U64 || type == Type::I64;
  const uint64_t highest = ~uint64_t{0} >> ((wide ? 0 : 32) + (is_signed(type) ? 1 : 0));
  const bool negative = is_signed(type) && last.bits > highest;
  return !negative && last.bits > highest - step;
}

void LaneCode::emit_for(const For& s, StmtId id) {
  const Type type = *c().local_types[s.variable.index()];
  const auto less = [&](const Val& a, const Val& b) {
    return math_.binary(BinaryOp::Lt, type, a, b, type);
  };
  const Val first = value(s.first);
  const Val last = value(s.last);
  if (terminated()) return;
  const Val step = constant(type, s.step.valid() ? check::evaluate_constant(c(), s.step)->bits : 1);
  const uint64_t outer_trips = trips_;
  const auto trips = constant_trips(s);
  const bool polls = !trips || *trips > kTripsWithoutPoll / trips_;
  if (!polls) trips_ *= std::max<uint64_t>(1, *trips);

  const bool divergent = wide() && d().diverges(id);
  if (!divergent && can_split(s, type)) {
    emit_split_for(s, id, first, last, step, trips, polls);
    trips_ = outer_trips;
    return;
  }
  if (!divergent && polls && options_.nests_loops) {
    emit_for_nest(s, id, first, last, step);
    return;
  }
  const bool varying = divergent && first.varying;
  llvm::Type* const stored = shaped(type, varying);
  llvm::Value* const variable = new_variable(stored);
  b_.CreateStore(first.v, variable);
  const auto current = [&] { return Val{b_.CreateLoad(stored, variable), varying}; };
  // What is left, as an unsigned number, is more than a step: then the next trip is below the end
  // and the sum does not overflow.
  const auto more = [&](const Val& i) {
    Val left = math_.binary(BinaryOp::Sub, type, last, i, type);
    left.offset = nullptr;
    Val by = step;
    math_.align(left, by);
    return b_.CreateICmpUGT(left.v, by.v);
  };
  llvm::BasicBlock* const body = new_block("for");
  llvm::BasicBlock* const exit = new_block("for_end");
  Slot& slot = frame().slots[s.variable.index()];
  slot.variable = nullptr;
  if (!divergent) {
    llvm::Value* const before = mask_;
    // Threads test what the variable is next and not what it was, because ptxas takes such a test
    // for the other (wrapping_tests.hpp); where there is nothing next, they count.
    const bool after = options_.nests_loops && !polls;
    llvm::Value* counter = nullptr;
    if (after && wraps_behind(s, type)) {
      counter = new_variable(b_.getInt32Ty());
      b_.CreateStore(b_.getInt32(0), counter);
    }
    b_.CreateCondBr(less(first, last).v, body, exit);
    b_.SetInsertPoint(body);
    frame().slots[s.variable.index()].value = current();
    const Emitted before_trip = emitted();
    const uint32_t asked = asked_;
    emit_trip(s.body, exit, false);
    // Loops inside may leave asking to those around them.
    const bool many = options_.nests_loops && asked_ != asked && trips_ > kMostSilentTrips;
    if (polls || many) poll_trip(id, before_trip);
    const Val i = current();
    llvm::Value* const next = math_.binary(BinaryOp::Add, type, i, step, type).v;
    llvm::Value* again = nullptr;
    if (counter != nullptr) {
      llvm::Value* const done =
          b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), counter), b_.getInt32(1), "", true, true);
      b_.CreateStore(done, counter);
      again = b_.CreateICmpNE(done, b_.getInt32(static_cast<uint32_t>(*trips)));
    } else {
      again = after ? less({next, false}, last).v : more(i);
    }
    b_.CreateStore(next, variable);
    b_.CreateCondBr(again, body, exit);
    b_.SetInsertPoint(exit);
    mask_ = before;
  } else {
    llvm::Value* lanes_in = nullptr;
    if (mask_ == nullptr && first.offset != nullptr && !options_.checked && d().stays_together(s) &&
        copies_ + s.body.count < kMostRepeated)
      lanes_in = emit_together(s, id, first, last, step, variable, polls);
    else
      lanes_in = math_.splat(less(first, last));
    if (mask_ != nullptr) lanes_in = b_.CreateAnd(mask_, lanes_in);
    const LanesOfLoop lanes = enter_divergent(lanes_in, s.body);
    llvm::BasicBlock* const head = new_block("for_lanes");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    mask_ = b_.CreateLoad(vector(b_.getInt1Ty()), lanes.active);
    b_.CreateCondBr(any(mask_), body, exit);
    b_.SetInsertPoint(body);
    frame().slots[s.variable.index()].value = current();
    const Emitted before_trip = emitted();
    emit_trip(s.body, exit, true);
    if (polls) poll_trip(id, before_trip);
    const Val i = current();
    llvm::Value* again = more(i);
    if (!again->getType()->isVectorTy()) again = math_.splat({again, false});
    b_.CreateStore(b_.CreateAnd(mask_or_all(), again), lanes.active);
    b_.CreateStore(math_.binary(BinaryOp::Add, type, i, step, type).v, variable);
    b_.CreateBr(head);
    b_.SetInsertPoint(exit);
    leave_divergent(lanes);
  }
  trips_ = outer_trips;
}

// To count the instructions of a function is to look at all of them, which too many loops would do
// too often.
LaneCode::Emitted LaneCode::emitted() {
  constexpr uint32_t kMostCounted = 256;
  Emitted now{.nodes = nodes_, .called = called_};
  if (counted_++ < kMostCounted)
    now.instructions = b_.GetInsertBlock()->getParent()->getInstructionCount();
  return now;
}

uint64_t LaneCode::trip_weight(const Emitted& before) const {
  constexpr uint64_t kInstructionsPerUnit = 16;
  constexpr uint64_t kInstructionsPerNode = 4;
  constexpr uint64_t kMostUnits = 1U << 14;
  const uint64_t instructions =
      before.instructions
          ? b_.GetInsertBlock()->getParent()->getInstructionCount() - *before.instructions
          : (nodes_ - before.nodes) * kInstructionsPerNode;
  const uint64_t called = called_ - before.called;
  return std::clamp<uint64_t>((instructions + called) / kInstructionsPerUnit, 1, kMostUnits);
}

void LaneCode::poll_trip(StmtId id, const Emitted& before) {
  ++asked_;
  env_.poll({{}, id}, static_cast<uint32_t>(trip_weight(before)));
}

llvm::Value* LaneCode::emit_together(const For& s, StmtId id, const Val& first, const Val& last,
                                     const Val& step, llvm::Value* variable, bool polls) {
  copies_ += s.body.count;
  llvm::Type* const word = b_.getInt64Ty();
  llvm::Value* const end = b_.CreateZExt(last.v, word);
  llvm::Value* const start = env_.start();
  // Of the first lane; where the numbers of a block start again at 0 there are no such trips.
  llvm::Value* const at = new_variable(word);
  llvm::Value* const first_lane = b_.CreateZExt(b_.CreateAdd(start, first.offset), word);
  b_.CreateStore(first_lane, at);
  llvm::Value* const wraps =
      b_.CreateICmpUGT(first_lane, llvm::ConstantInt::get(word, (uint64_t{1} << 32) - lanes()));
  llvm::Value* const lanes_at_once =
      math_.splat(math_.binary(BinaryOp::Lt, Type::U32, first, last, Type::U32));
  llvm::BasicBlock* const from = b_.GetInsertBlock();
  llvm::BasicBlock* const head = new_block("together");
  llvm::BasicBlock* const trip = new_block("trip");
  llvm::BasicBlock* const left = new_block("left_over");
  llvm::BasicBlock* const rest = new_block("rest");
  b_.CreateCondBr(wraps, rest, head);
  b_.SetInsertPoint(head);
  llvm::Value* const i = b_.CreateLoad(word, at);
  llvm::Value* const behind =
      b_.CreateAdd(i, llvm::ConstantInt::get(word, lanes()), "", true, true);
  b_.CreateCondBr(b_.CreateICmpULE(behind, end), trip, left);
  b_.SetInsertPoint(trip);
  llvm::Value* const low = b_.CreateTrunc(i, b_.getInt32Ty());
  const auto numbered = [&](llvm::Value* from_here) {
    return b_.CreateAdd(b_.CreateVectorSplat(lanes(), from_here), iota(b_.getInt32Ty()));
  };
  frame().slots[s.variable.index()].value = {numbered(low), true, b_.CreateSub(low, start)};
  // Nothing leaves it early, so it is like any trip without a mask.
  const Emitted before_trip = emitted();
  constexpr uint64_t kTripsAhead = 16;
  constexpr uint64_t kFarStep = 1024;
  const uint64_t far = llvm::cast<llvm::ConstantInt>(step.v)->getZExtValue();
  const std::optional<Walk> outer = walk_;
  if (far >= kFarStep) walk_ = {low, far * kTripsAhead};
  emit_trip(s.body, rest, false);
  walk_ = outer;
  mask_ = nullptr;
  if (polls) poll_trip(id, before_trip);
  b_.CreateStore(b_.CreateAdd(b_.CreateLoad(word, at), b_.CreateZExt(step.v, word), "", true, true),
                 at);
  b_.CreateBr(head);
  // Those below the end, which is less than a block away.
  b_.SetInsertPoint(left);
  llvm::Value* const count = b_.CreateTrunc(
      b_.CreateSub(end, b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, i, end)), b_.getInt32Ty());
  llvm::Value* const some =
      b_.CreateICmpULT(iota(b_.getInt32Ty()), b_.CreateVectorSplat(lanes(), count));
  b_.CreateStore(numbered(b_.CreateTrunc(i, b_.getInt32Ty())), variable);
  b_.CreateBr(rest);
  b_.SetInsertPoint(rest);
  llvm::PHINode* const lanes_in = b_.CreatePHI(vector(b_.getInt1Ty()), 2);
  lanes_in->addIncoming(lanes_at_once, from);
  lanes_in->addIncoming(some, left);
  return lanes_in;
}

void LaneCode::emit_while(const While& s, StmtId id) {
  const bool divergent = wide() && d().diverges(id);
  if (!divergent && options_.nests_loops) {
    emit_while_nest(s, id);
    return;
  }
  llvm::BasicBlock* const head = new_block("while");
  llvm::BasicBlock* const body = new_block("while_body");
  llvm::BasicBlock* const exit = new_block("while_end");
  if (!divergent) {
    llvm::Value* const before = mask_;
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    const Val c = value(s.condition);
    if (!terminated()) b_.CreateCondBr(c.v, body, exit);
    b_.SetInsertPoint(body);
    const Emitted before_trip = emitted();
    emit_trip(s.body, exit, false);
    poll_trip(id, before_trip);
    b_.CreateBr(head);
    b_.SetInsertPoint(exit);
    mask_ = before;
    return;
  }
  const LanesOfLoop lanes = enter_divergent(mask_or_all(), s.body);
  b_.CreateBr(head);
  b_.SetInsertPoint(head);
  mask_ = b_.CreateLoad(vector(b_.getInt1Ty()), lanes.active);
  Val c = value(s.condition);
  mask_ = b_.CreateAnd(mask_or_all(), math_.splat(c));
  b_.CreateCondBr(any(mask_), body, exit);
  b_.SetInsertPoint(body);
  const Emitted before_trip = emitted();
  emit_trip(s.body, exit, true);
  b_.CreateStore(mask_or_all(), lanes.active);
  poll_trip(id, before_trip);
  b_.CreateBr(head);
  b_.SetInsertPoint(exit);
  leave_divergent(lanes);
}

}  // namespace vyre::codegen
