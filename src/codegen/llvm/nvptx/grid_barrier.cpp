// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nvptx/grid_barrier.hpp"

#include <utility>

#include <llvm/IR/IntrinsicsNVPTX.h>

namespace vyre::codegen {

using namespace ir;
using device::GpuControl;
namespace in = llvm::Intrinsic;

namespace {

// Measured on an H200 with 132 to 1024 blocks.
constexpr uint32_t kQuickPolls = 4;
constexpr uint32_t kPollsPerCancelPoll = 128;
constexpr uint32_t kBackoffAtBarrier = 50;  // ns
constexpr uint32_t kManyBlocks = 400;
constexpr uint32_t kBackoffOfMany = 200;  // before the first poll

// A GPU has places for some thousand blocks.
constexpr uint32_t kBits = 16;
constexpr uint64_t kMask = (1U << kBits) - 1;
constexpr uint32_t kFirstCounter = offsetof(GpuControl, even);
constexpr uint32_t kOtherCounter = offsetof(GpuControl, even) ^ offsetof(GpuControl, odd);

}  // namespace

// Whether the first barrier stands in no loop and under no condition.
bool GridBarrierEmitter::is_first_at_top() const {
  const Program& p = k_.program.program;
  const auto waits = [&](auto&& self, ExprId id) -> bool {
    const auto* load = std::get_if<UniformLoad>(&p[id]);
    bool found = load != nullptr && load->scope == Scope::Grid;
    for_each_operand(p, p[id], [&](ExprId e) { found = found || self(self, e); });
    return found;
  };
  enum class First : uint8_t { None, Top, Inside };
  const auto find = [&](auto&& self, Block block) -> First {
    for (const StmtId id : p.items(block)) {
      const auto* barrier = std::get_if<Barrier>(&p[id]);
      bool here = barrier != nullptr && barrier->scope == Scope::Grid;
      for_each_operand(p, p[id], [&](ExprId e) { here = here || waits(waits, e); });
      if (here) return std::holds_alternative<While>(p[id]) ? First::Inside : First::Top;
      const bool same =
          std::holds_alternative<Region>(p[id]) || std::holds_alternative<Nested>(p[id]);
      First below = First::None;
      for_each_block(p[id], [&](Block b) {
        if (below == First::None) below = self(self, b);
      });
      if (below != First::None) return same ? below : First::Inside;
    }
    return First::None;
  };
  return find(find, p.body) == First::Top;
}

void GridBarrierEmitter::declare() {
  const auto variable = [&](llvm::Constant* start) {
    llvm::Value* const made = b_.CreateAlloca(start->getType());
    b_.CreateStore(start, made);
    return made;
  };
  count_type_ = b_.getIntNTy(k_.votes.most_at_once() > 1 ? 64 : 32);
  static_assert((Votes::kMostAtOnce + 1) * kBits <= 64);
  llvm::Constant* const zero = llvm::ConstantInt::get(count_type_, 0);
  base_ = variable(zero);
  if (k_.votes.count() == 0) return;
  next_base_ = variable(zero);
  counter_at_ = variable(b_.getInt32(kFirstCounter));
  for (uint32_t i = 0; i < k_.votes.count(); ++i) {
    cast_.push_back(variable(b_.getFalse()));
    outcome_.push_back(variable(b_.getInt32(0)));
  }
}

bool GridBarrierEmitter::try_lower_statement(StmtId id) {
  const auto step = k_.votes.step(id);
  if (step && step->casts) b_.CreateStore(b_.getTrue(), cast_[step->vote]);
  return step.has_value();
}

llvm::Value* GridBarrierEmitter::try_lower_expression(ExprId id) {
  const auto vote = k_.votes.outcome(id);
  return vote ? b_.CreateLoad(b_.getInt32Ty(), outcome_[*vote]) : nullptr;
}

GridBarrierEmitter::Arrival GridBarrierEmitter::next_arrival() {
  Arrival m;
  m.blocks = b_.CreateMul(b_.CreateMul(k_.grid[0], k_.grid[1]), k_.grid[2]);
  m.base = b_.CreateLoad(count_type_, base_);
  if (k_.votes.count() == 0)
    m.counter = byte_address(b_, k_.control, offsetof(GpuControl, arrived));
  else
    m.counter =
        b_.CreateGEP(b_.getInt8Ty(), k_.control, b_.CreateLoad(b_.getInt32Ty(), counter_at_));
  return m;
}

// Of a counter without votes others may be at the next barrier already.
llvm::Value* GridBarrierEmitter::all_arrived(const Arrival& arrival, llvm::Value* grown) {
  llvm::Value* came = b_.CreateTrunc(grown, b_.getInt32Ty());
  if (k_.votes.count() != 0) came = b_.CreateAnd(came, b_.getInt32(kMask));
  return b_.CreateICmpUGE(came, arrival.blocks);
}

llvm::Value* GridBarrierEmitter::poll_counter(const Arrival& arrival) {
  const bool wide = count_type_->isIntegerTy(64);
  llvm::Value* const now = k_.inline_ptx(
      wide ? "ld.acquire.gpu.global.u64 $0, [$1];" : "ld.acquire.gpu.global.u32 $0, [$1];",
      wide ? "=l,l,~{memory}" : "=r,l,~{memory}", count_type_, {arrival.counter});
  return b_.CreateSub(now, arrival.base);
}

llvm::Function* GridBarrierEmitter::wait_function() {
  const char* const name = k_.votes.count() == 0          ? "vyre_wait"
                           : k_.votes.most_at_once() == 1 ? "vyre_wait_for_votes"
                                                          : "vyre_wait_for_more_votes";
  if (llvm::Function* const made = k_.module.getFunction(name)) return made;
  const Builder::InsertPointGuard guard(b_);
  llvm::Type* const word = b_.getInt32Ty();
  llvm::Type* const global = b_.getPtrTy(kPtxGlobalSpace);
  llvm::Function* const made =
      k_.internal_function(name, count_type_, {global, global, count_type_, word});
  const Arrival arrival{made->getArg(1), made->getArg(2), made->getArg(3)};
  const auto new_block = [&](const char* block) {
    return llvm::BasicBlock::Create(context_, block, made);
  };
  llvm::BasicBlock* const entry = new_block("entry");
  llvm::BasicBlock* const poll = new_block("poll");
  llvm::BasicBlock* const behind = new_block("behind");
  llvm::BasicBlock* const test = new_block("look");
  llvm::BasicBlock* const rest = new_block("rest");
  llvm::BasicBlock* const done = new_block("done");
  b_.SetInsertPoint(entry);
  b_.CreateBr(poll);
  b_.SetInsertPoint(poll);
  llvm::PHINode* const polls = b_.CreatePHI(word, 2);
  polls->addIncoming(b_.getInt32(1), entry);
  llvm::Value* const grown = poll_counter(arrival);
  b_.CreateCondBr(all_arrived(arrival, grown), done, behind);
  b_.SetInsertPoint(behind);
  llvm::Value* const often =
      b_.CreateICmpEQ(b_.CreateAnd(polls, b_.getInt32(kPollsPerCancelPoll - 1)), b_.getInt32(0));
  b_.CreateCondBr(often, test, rest);
  b_.SetInsertPoint(test);
  llvm::Value* const cancel = b_.CreateLoad(
      word, byte_address(b_, made->getArg(0), offsetof(GpuControl, cancel)), /*isVolatile=*/true);
  b_.CreateCondBr(b_.CreateICmpNE(cancel, b_.getInt32(0)), done, rest);
  b_.SetInsertPoint(rest);
  k_.sleep(kBackoffAtBarrier);
  polls->addIncoming(b_.CreateAdd(polls, b_.getInt32(1)), rest);
  b_.CreateBr(poll);
  b_.SetInsertPoint(done);
  llvm::PHINode* const result = b_.CreatePHI(count_type_, 2);
  result->addIncoming(grown, poll);
  result->addIncoming(llvm::ConstantInt::get(count_type_, 0), test);
  b_.CreateRet(result);
  return made;
}

// What makes it fast: to branch on what the addition returned before the counter is polled, some
// polls in a row that are not counted, and, where many blocks would get in each other's way, a
// pause before the first one. Without votes there is nothing to report when all have arrived.
llvm::Value* GridBarrierEmitter::wait_for_all(const Arrival& arrival, llvm::Value* mine,
                                              llvm::BasicBlock* join) {
  const bool counts = k_.votes.count() != 0;
  llvm::BasicBlock* const others = k_.block("others");
  llvm::BasicBlock* const pause = k_.block("pause");
  llvm::BasicBlock* const report = k_.block("tell");
  llvm::BasicBlock* const done = counts ? report : join;
  std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> ways;
  const auto done_if_all = [&](llvm::Value* grown, llvm::BasicBlock* otherwise) {
    b_.CreateCondBr(all_arrived(arrival, grown), done, otherwise);
    ways.emplace_back(grown, b_.GetInsertBlock());
    b_.SetInsertPoint(otherwise);
  };
  const bool wide = count_type_->isIntegerTy(64);
  llvm::Value* const old = k_.inline_ptx(wide ? "atom.add.acq_rel.gpu.global.u64 $0, [$1], $2;"
                                              : "atom.add.acq_rel.gpu.global.u32 $0, [$1], $2;",
                                         wide ? "=l,l,l,~{memory}" : "=r,l,r,~{memory}",
                                         count_type_, {arrival.counter, mine});
  done_if_all(b_.CreateSub(b_.CreateAdd(old, mine), arrival.base), others);
  llvm::BasicBlock* const poll = k_.block("poll");
  b_.CreateCondBr(b_.CreateICmpUGE(arrival.blocks, b_.getInt32(kManyBlocks)), pause, poll);
  b_.SetInsertPoint(pause);
  k_.sleep(kBackoffOfMany);
  b_.CreateBr(poll);
  b_.SetInsertPoint(poll);
  for (uint32_t i = 0; i < kQuickPolls; ++i) {
    done_if_all(poll_counter(arrival), k_.block("behind"));
    k_.sleep(kBackoffAtBarrier);
  }
  llvm::Value* const last =
      b_.CreateCall(wait_function(), {k_.control, arrival.counter, arrival.base, arrival.blocks});
  ways.emplace_back(last, b_.GetInsertBlock());
  llvm::Constant* const none = llvm::ConstantInt::get(count_type_, 0);
  if (counts)
    b_.CreateBr(report);
  else
    b_.CreateCondBr(b_.CreateICmpEQ(last, none), report, join);
  b_.SetInsertPoint(report);
  if (!counts) return llvm::ConstantInt::get(count_type_, 1);
  llvm::PHINode* const grown = b_.CreatePHI(count_type_, static_cast<unsigned>(ways.size()));
  for (const auto& [value, from] : ways) grown->addIncoming(value, from);
  return grown;
}

// What a block learns is a word of shared memory that one thread writes and all read.
void GridBarrierEmitter::barrier(StmtId at) {
  const bool counts = k_.votes.count() != 0;
  const std::span<const uint32_t> votes = k_.votes.at(at);
  const auto number = [&](uint64_t n) { return llvm::ConstantInt::get(count_type_, n); };
  const Arrival arrival = next_arrival();
  llvm::Value* const word = k_.header_word(kBarrierWord);
  llvm::BasicBlock* const arrive = k_.block("arrive");
  llvm::BasicBlock* const join = k_.block("join");
  llvm::BasicBlock* const on = k_.block("met");
  llvm::Value* mine = number(1);
  if (votes.empty()) k_.workgroup_barrier();
  for (uint32_t i = 0; i < votes.size(); ++i) {
    llvm::Value* const cast = b_.CreateLoad(b_.getInt1Ty(), cast_[votes[i]]);
    llvm::Value* const any =
        b_.CreateIntrinsic(in::nvvm_barrier0_or, {}, {b_.CreateZExt(cast, b_.getInt32Ty())});
    mine = b_.CreateAdd(mine, b_.CreateSelect(b_.CreateICmpNE(any, b_.getInt32(0)),
                                              number(uint64_t{1} << kBits * (i + 1)), number(0)));
    b_.CreateStore(b_.getFalse(), cast_[votes[i]]);
  }
  b_.CreateCondBr(b_.CreateICmpEQ(k_.thread, b_.getInt32(0)), arrive, join);
  b_.SetInsertPoint(arrive);
  if (llvm::Value* const cancelled = std::exchange(cancel_at_start_, nullptr)) {
    llvm::BasicBlock* const give_up = k_.block("give_up");
    llvm::BasicBlock* const begun = k_.block("begun");
    b_.CreateCondBr(b_.CreateICmpNE(cancelled, b_.getInt32(0)), give_up, begun);
    b_.SetInsertPoint(give_up);
    b_.CreateStore(number(counts ? 0 : 1), word, true);
    b_.CreateBr(join);
    b_.SetInsertPoint(begun);
  }
  b_.CreateStore(wait_for_all(arrival, mine, join), word, true);
  b_.CreateBr(join);
  b_.SetInsertPoint(join);
  k_.workgroup_barrier();
  llvm::Value* const outcome = b_.CreateLoad(count_type_, word, true);
  llvm::Value* const none = b_.CreateICmpEQ(outcome, number(0));
  llvm::MDBuilder md(context_);
  b_.CreateCondBr(counts ? none : b_.CreateNot(none), k_.leave, on,
                  md.createBranchWeights(1, kUnitsPerPoll));
  b_.SetInsertPoint(on);
  if (!counts) {
    b_.CreateStore(b_.CreateAdd(arrival.base, arrival.blocks), base_);
    return;
  }
  b_.CreateStore(b_.CreateLoad(count_type_, next_base_), base_);
  b_.CreateStore(b_.CreateAdd(arrival.base, outcome), next_base_);
  b_.CreateStore(
      b_.CreateXor(b_.CreateLoad(b_.getInt32Ty(), counter_at_), b_.getInt32(kOtherCounter)),
      counter_at_);
  for (uint32_t i = 0; i < votes.size(); ++i) {
    llvm::Value* const shifted =
        b_.CreateTrunc(b_.CreateLShr(outcome, number(uint64_t{kBits} * (i + 1))), b_.getInt32Ty());
    b_.CreateStore(b_.CreateAnd(shifted, b_.getInt32(kMask)), outcome_[votes[i]]);
  }
}

}  // namespace vyre::codegen
