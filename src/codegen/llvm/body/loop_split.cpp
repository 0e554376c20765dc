// SPDX-License-Identifier: Apache-2.0
// Loops whose accesses are tested before they start.
//
// In a loop over i, an index is mostly by * i + rest with a rest that the loop does not change.
// While a trip is emitted for the first time, such accesses are not tested but noted. Together they
// give the trips in which all of them are inside, and only these run that code; the others run a
// second version of the trip with its tests. Trips of the first version are counted where their
// number is known, not one by one, before somebody asks whether to go on.
//
// All of this is in 64 bits, where no index wraps: one that is inside there is the index that the
// program computes modulo 2^32.
#include <bit>
#include <utility>

#include "codegen/llvm/body/hoister.hpp"
#include "codegen/llvm/body/lane_code.hpp"

namespace vyre::codegen {

using namespace ir;
namespace in = llvm::Intrinsic;

namespace {

// Fewer trips than that of a known number are left as they are: LLVM unrolls them.
constexpr uint64_t kMostUnrolled = 64;
constexpr uint64_t kMostFactor = uint64_t{1} << 31;

struct Affine {
  llvm::Value* by = nullptr;    // i64
  llvm::Value* rest = nullptr;  // i32, modulo 2^32
};

// v = by * number + rest; `leaf` says what stands for a value that the number is not in, or null.
std::optional<Affine> affine(Builder& b, llvm::Value* v, const llvm::Value* number,
                             llvm::function_ref<llvm::Value*(llvm::Value*)> leaf) {
  if (v == number) return Affine{b.getInt64(1), b.getInt32(0)};
  auto* const op = llvm::dyn_cast<llvm::BinaryOperator>(v);
  if (op == nullptr) return std::nullopt;
  const bool left = computed_from(op->getOperand(0), number);
  if (left == computed_from(op->getOperand(1), number)) return std::nullopt;
  std::optional<Affine> part = affine(b, op->getOperand(left ? 0 : 1), number, leaf);
  llvm::Value* const other = part ? leaf(op->getOperand(left ? 1 : 0)) : nullptr;
  if (other == nullptr) return std::nullopt;
  switch (op->getOpcode()) {
    case llvm::Instruction::Add: part->rest = b.CreateAdd(part->rest, other); return part;
    case llvm::Instruction::Sub:
      if (!left) return std::nullopt;
      part->rest = b.CreateSub(part->rest, other);
      return part;
    case llvm::Instruction::Mul: {
      const auto* const known = llvm::dyn_cast<llvm::ConstantInt>(part->by);
      const auto* const factor = llvm::dyn_cast<llvm::ConstantInt>(other);
      if (known == nullptr) return std::nullopt;
      if (factor != nullptr) {
        const uint64_t by = known->getZExtValue() * factor->getZExtValue();
        if (by == 0 || by > kMostFactor) return std::nullopt;
        part->by = b.getInt64(by);
      } else {
        if (!known->isOne()) return std::nullopt;
        part->by = b.CreateZExt(other, b.getInt64Ty());
      }
      part->rest = b.CreateMul(part->rest, other);
      return part;
    }
    default: return std::nullopt;
  }
}

}  // namespace

struct LaneCode::SplitLoop {
  llvm::Value* number = nullptr;  // the loop's variable in the trip, i32
  llvm::Value* at = nullptr;      // the same as i64
  llvm::BasicBlock* before = nullptr;
  Hoister hoister;
  // Trips of a known number, from a known start: bounds of the last one are known as well.
  std::optional<uint64_t> first{};
  uint64_t distance = 0;  // from the first trip's number to the last one's
  // In trip i, 0 <= rest + by * i < limit.
  struct Condition {
    llvm::Value* rest = nullptr;
    llvm::Value* by = nullptr;
    llvm::Value* limit = nullptr;
  };
  std::vector<Condition> conditions{};
};

bool LaneCode::can_split(const For& s, Type type) const {
  if (!options_.splits_loops || options_.checked || no_splits_ || mask_ != nullptr) return false;
  if (copies_ + s.body.count >= kMostRepeated) return false;
  if (type == Type::U32) return true;
  const auto first = check::evaluate_constant(c(), s.first);
  return type == Type::I32 && first && static_cast<int32_t>(first->bits) >= 0;
}

llvm::Value* LaneCode::split_index(llvm::Value* index, llvm::Value* start, const MemoryRef& m,
                                   Type index_type) {
  if (splits_.empty() || bits_of(index_type) != 32 || mask_ != nullptr) return nullptr;
  llvm::Type* const word = b_.getInt64Ty();
  const uint32_t row = start != nullptr ? lanes() : 1;
  for (auto it = splits_.rbegin(); it != splits_.rend(); ++it) {
    SplitLoop& loop = **it;
    if (!computed_from(index, loop.number)) continue;
    if (loop.first && start != nullptr) {
      // Both ends as an index of the row, so that the row is split instead of the loop.
      const auto a = affine(b_, index, loop.number, [](llvm::Value* v) { return v; });
      auto* const by = a ? llvm::dyn_cast<llvm::ConstantInt>(a->by) : nullptr;
      const uint64_t reach = by != nullptr ? by->getZExtValue() * loop.distance : kMostFactor;
      if (reach < kMostFactor) {
        llvm::Value* length = m.length;
        if (is_signed(index_type))
          length = b_.CreateBinaryIntrinsic(in::umin, length, b_.getInt32(1U << 31));
        length = b_.CreateBinaryIntrinsic(in::usub_sat, length,
                                          b_.getInt32(static_cast<uint32_t>(reach)));
        llvm::Value* const first = b_.CreateAdd(
            a->rest, b_.getInt32(static_cast<uint32_t>(by->getZExtValue() * *loop.first)));
        if (env_.ensure_below(first, length, is_signed(index_type))) {
          llvm::Value* const further =
              b_.CreateMul(by, b_.CreateSub(loop.at, b_.getInt64(*loop.first)), "", true, true);
          return b_.CreateAdd(b_.CreateAdd(start, b_.CreateSExt(first, word)), further);
        }
      }
    }
    Builder before(loop.before);
    const auto a =
        affine(before, index, loop.number, [&](llvm::Value* v) { return loop.hoister.hoist(v); });
    llvm::Value* limit = loop.hoister.hoist(m.length);
    if (!a || limit == nullptr) continue;
    limit = before.CreateZExt(limit, word);
    if (is_signed(index_type))
      limit = before.CreateBinaryIntrinsic(in::umin, limit, before.getInt64(uint64_t{1} << 31));
    if (row != 1) limit = before.CreateSub(limit, before.getInt64(row - 1));
    llvm::Value* rest = before.CreateSExt(a->rest, word);
    if (start != nullptr) rest = before.CreateAdd(rest, start);
    loop.conditions.push_back({rest, a->by, limit});
    return b_.CreateAdd(rest, b_.CreateMul(a->by, loop.at, "", false, true), "", false, true);
  }
  return nullptr;
}

// The trips in which everything is inside: first <= i < second.
std::pair<llvm::Value*, llvm::Value*> LaneCode::trips_inside(const SplitLoop& split,
                                                             llvm::Value* begin, llvm::Value* end) {
  llvm::Value* low = begin;
  llvm::Value* high = end;
  llvm::Value* const zero = b_.getInt64(0);
  for (const SplitLoop::Condition& c : split.conditions) {
    if (const auto* k = llvm::dyn_cast<llvm::ConstantInt>(c.by)) {
      // The first i for which by * i is not less.
      const auto reaches = [&](llvm::Value* n) -> llvm::Value* {
        n = b_.CreateBinaryIntrinsic(in::smax, n, zero);
        if (k->isOne()) return n;
        return b_.CreateUDiv(b_.CreateAdd(n, b_.getInt64(k->getZExtValue() - 1)), c.by);
      };
      low = b_.CreateBinaryIntrinsic(in::smax, low, reaches(b_.CreateNeg(c.rest)));
      high = b_.CreateBinaryIntrinsic(in::smin, high, reaches(b_.CreateSub(c.limit, c.rest)));
      continue;
    }
    // A division would take longer than many loops do: all trips or none.
    llvm::Value* const most = b_.CreateMul(c.by, b_.CreateSub(end, b_.getInt64(1)));
    llvm::Value* const least = b_.CreateMul(c.by, begin);
    llvm::Value* const fits = b_.CreateICmpULT(most, b_.getInt64(uint64_t{1} << 62));
    llvm::Value* const above = b_.CreateICmpSGE(b_.CreateAdd(c.rest, least), zero);
    llvm::Value* const below = b_.CreateICmpSLT(b_.CreateAdd(c.rest, most), c.limit);
    high = b_.CreateSelect(b_.CreateAnd(fits, b_.CreateAnd(above, below)), high, zero);
  }
  return {low, high};
}

void LaneCode::emit_split_for(const For& s, StmtId id, const Val& first, const Val& last,
                              const Val& step, std::optional<uint64_t> trips, bool polls) {
  const Type type = *c().local_types[s.variable.index()];
  llvm::Type* const word = b_.getInt64Ty();
  llvm::Function& function = *b_.GetInsertBlock()->getParent();
  llvm::Value* const at = new_variable(word);
  llvm::BasicBlock* const before = new_block("for_range");
  llvm::BasicBlock* const exit = new_block("for_end");
  b_.CreateCondBr(math_.binary(BinaryOp::Lt, type, first, last, type).v, before, exit);
  b_.SetInsertPoint(before);
  // Neither is negative where anything is done.
  llvm::Value* const begin = b_.CreateZExt(first.v, word);
  llvm::Value* const end = b_.CreateZExt(last.v, word);
  llvm::Value* const by = b_.CreateZExt(step.v, word);
  b_.CreateStore(begin, at);

  const bool unrolls = trips && *trips <= kMostUnrolled;
  SplitLoop split{.before = before, .hoister = Hoister(before, function)};
  if (const auto* k = llvm::dyn_cast<llvm::ConstantInt>(first.v); unrolls && k != nullptr) {
    split.first = k->getZExtValue();
    split.distance = (*trips - 1) * llvm::cast<llvm::ConstantInt>(step.v)->getZExtValue();
  }
  const bool asks_each_trip = polls && d().may_leave(s.body);
  const auto trip = [&](llvm::BasicBlock* block) {
    b_.SetInsertPoint(block);
    split.at = b_.CreateLoad(word, at);
    split.number = b_.CreateTrunc(split.at, b_.getInt32Ty());
    Slot& slot = frame().slots[s.variable.index()];
    slot.variable = nullptr;
    slot.value = {split.number, false};
    const Emitted before_trip = emitted();
    emit_trip(s.body, exit, false);
    return before_trip;
  };
  const auto next = [&] {
    llvm::Value* const n = b_.CreateAdd(b_.CreateLoad(word, at), by, "", true, true);
    b_.CreateStore(n, at);
    return n;
  };

  llvm::BasicBlock* const fast = new_block("for");
  splits_.push_back(&split);
  const Emitted before_trip = trip(fast);
  splits_.pop_back();
  const uint64_t weight = trip_weight(before_trip);
  if (asks_each_trip) env_.poll({{}, id}, static_cast<uint32_t>(weight));
  llvm::BasicBlock* const fast_end = b_.GetInsertBlock();
  const bool counts = polls && !asks_each_trip;
  const bool whole = split.conditions.empty();

  b_.SetInsertPoint(before);
  auto [low, high] = trips_inside(split, begin, end);

  llvm::BasicBlock* const enter = new_block("for_inside");
  llvm::BasicBlock* const leave = new_block("for_leave");
  llvm::BasicBlock* const slow = whole ? nullptr : new_block("for_tested");
  llvm::BasicBlock* head = enter;
  if (unrolls && !whole) {
    // One version for all trips, so that their number stays known.
    llvm::Value* const all =
        b_.CreateAnd(b_.CreateICmpSLE(low, begin), b_.CreateICmpSGE(high, end));
    b_.CreateCondBr(all, enter, slow);
    head = slow;
    high = end;
  } else if (!whole) {
    head = new_block("for_trips");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::Value* const i = b_.CreateLoad(word, at);
    b_.CreateCondBr(b_.CreateAnd(b_.CreateICmpSGE(i, low), b_.CreateICmpSLT(i, high)), enter, slow);
  } else {
    b_.CreateBr(enter);
  }

  b_.SetInsertPoint(enter);
  const auto weight_bits = static_cast<uint32_t>(std::bit_width(weight - 1));
  llvm::Value* const from = counts ? b_.CreateLoad(word, at) : nullptr;
  llvm::Value* stop = high;
  if (counts)
    stop = b_.CreateBinaryIntrinsic(
        in::smin, high, b_.CreateAdd(from, b_.CreateMul(env_.trips_left(weight_bits), by)));
  b_.CreateBr(fast);
  b_.SetInsertPoint(fast_end);
  b_.CreateCondBr(b_.CreateICmpSLT(next(), stop), fast, leave);
  b_.SetInsertPoint(leave);
  llvm::Value* const reached = b_.CreateLoad(word, at);
  if (counts)
    env_.poll_trips({{}, id}, b_.CreateUDiv(b_.CreateSub(reached, from), by), weight_bits);
  if (unrolls && !counts)
    b_.CreateBr(exit);
  else
    b_.CreateCondBr(b_.CreateICmpSLT(reached, end), unrolls ? enter : head, exit);

  if (!whole) {
    copies_ += s.body.count;
    const bool outer = std::exchange(no_splits_, true);
    const Emitted before_slow = trip(slow);
    no_splits_ = outer;
    if (polls) poll_trip(id, before_slow);
    b_.CreateCondBr(b_.CreateICmpSLT(next(), end), head, exit);
  }
  b_.SetInsertPoint(exit);
  mask_ = nullptr;
}

}  // namespace vyre::codegen
