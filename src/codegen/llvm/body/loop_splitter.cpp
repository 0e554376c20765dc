// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/loop_splitter.hpp"

#include <bit>
#include <utility>

#include "codegen/llvm/body/emitters.hpp"

namespace vyre::codegen {

using namespace ir;
namespace in = llvm::Intrinsic;

namespace {

// Loops of a lower known trip count are left as they are: LLVM unrolls them.
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

bool LoopSplitter::can_split(const For& s, Type type) const {
  if (!x_.options.splits_loops || x_.options.checked || x_.splits_off || x_.mask != nullptr)
    return false;
  if (x_.repeated + s.body.count >= kMostRepeated) return false;
  if (type == Type::U32) return true;
  const auto first = check::evaluate_constant(x_.c(), s.first);
  return type == Type::I32 && first && static_cast<int32_t>(first->bits) >= 0;
}

// Both ends as an index of the row, so that the row is split instead of the loop.
llvm::Value* LoopSplitter::guarded_by_row(const SplitLoop& loop, llvm::Value* index,
                                          llvm::Value* start, const MemoryRef& m, Type index_type) {
  const auto a = affine(b_, index, loop.number, [](llvm::Value* v) { return v; });
  auto* const by = a ? llvm::dyn_cast<llvm::ConstantInt>(a->by) : nullptr;
  const uint64_t reach = by != nullptr ? by->getZExtValue() * loop.distance : kMostFactor;
  if (reach >= kMostFactor) return nullptr;
  llvm::Value* length = m.length;
  if (is_signed(index_type))
    length = b_.CreateBinaryIntrinsic(in::umin, length, b_.getInt32(1U << 31));
  length =
      b_.CreateBinaryIntrinsic(in::usub_sat, length, b_.getInt32(static_cast<uint32_t>(reach)));
  llvm::Value* const first =
      b_.CreateAdd(a->rest, b_.getInt32(static_cast<uint32_t>(by->getZExtValue() * *loop.first)));
  if (!x_.rows.ensure_below(first, length, is_signed(index_type))) return nullptr;
  llvm::Value* const further =
      b_.CreateMul(by, b_.CreateSub(loop.at, b_.getInt64(*loop.first)), "", true, true);
  return b_.CreateAdd(b_.CreateAdd(start, b_.CreateSExt(first, b_.getInt64Ty())), further);
}

llvm::Value* LoopSplitter::split_index(llvm::Value* index, llvm::Value* start, const MemoryRef& m,
                                       Type index_type) {
  if (x_.splits.empty() || bits_of(index_type) != 32 || x_.mask != nullptr) return nullptr;
  llvm::Type* const word = b_.getInt64Ty();
  const uint32_t row = start != nullptr ? x_.lanes() : 1;
  for (auto it = x_.splits.rbegin(); it != x_.splits.rend(); ++it) {
    SplitLoop& loop = **it;
    if (!computed_from(index, loop.number)) continue;
    if (loop.first && start != nullptr)
      if (llvm::Value* const inside = guarded_by_row(loop, index, start, m, index_type))
        return inside;
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

// The iterations in which everything is inside: first <= i < second.
std::pair<llvm::Value*, llvm::Value*> LoopSplitter::iterations_inside(const SplitLoop& split,
                                                                      llvm::Value* begin,
                                                                      llvm::Value* end) {
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
    // A division would take longer than many loops do: all iterations or none.
    llvm::Value* const most = b_.CreateMul(c.by, b_.CreateSub(end, b_.getInt64(1)));
    llvm::Value* const least = b_.CreateMul(c.by, begin);
    llvm::Value* const fits = b_.CreateICmpULT(most, b_.getInt64(uint64_t{1} << 62));
    llvm::Value* const above = b_.CreateICmpSGE(b_.CreateAdd(c.rest, least), zero);
    llvm::Value* const below = b_.CreateICmpSLT(b_.CreateAdd(c.rest, most), c.limit);
    high = b_.CreateSelect(b_.CreateAnd(fits, b_.CreateAnd(above, below)), high, zero);
  }
  return {low, high};
}

// The loop's numbers as i64, and what is around it.
struct LoopSplitter::Range {
  llvm::Value* at = nullptr;  // variable
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;
  llvm::Value* by = nullptr;
  llvm::BasicBlock* before = nullptr;
  llvm::BasicBlock* exit = nullptr;
};

// The version without tests, which has no branch at its end yet.
struct LoopSplitter::Inside {
  llvm::BasicBlock* start = nullptr;
  llvm::BasicBlock* end = nullptr;
  uint64_t weight = 1;
  bool unrolls = false;  // all iterations in one version
  bool counts = false;   // iterations between polls
  bool whole = false;    // it has no conditions: there is no other version
};

LoopEmitter::Emitted LoopSplitter::emit_iteration(const ForLoop& loop, SplitLoop& split,
                                                  const Range& range, llvm::BasicBlock* block) {
  b_.SetInsertPoint(block);
  split.at = b_.CreateLoad(b_.getInt64Ty(), range.at);
  split.number = b_.CreateTrunc(split.at, b_.getInt32Ty());
  Slot& slot = x_.frame().slots[loop.s.variable.index()];
  slot.variable = nullptr;
  slot.value = {split.number, false};
  const LoopEmitter::Emitted before = e_.loops.emitted();
  e_.loops.emit_iteration(loop.s.body, range.exit, false);
  return before;
}

llvm::Value* LoopSplitter::next(const Range& range) {
  llvm::Value* const n =
      b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), range.at), range.by, "", true, true);
  b_.CreateStore(n, range.at);
  return n;
}

void LoopSplitter::emit_for(const ForLoop& loop) {
  llvm::Type* const word = b_.getInt64Ty();
  llvm::Function& function = *b_.GetInsertBlock()->getParent();
  Range range;
  range.at = x_.new_variable(word);
  range.before = x_.new_block("for_range");
  range.exit = x_.new_block("for_end");
  b_.CreateCondBr(math_.binary(BinaryOp::Lt, loop.type, loop.first, loop.last, loop.type).v,
                  range.before, range.exit);
  b_.SetInsertPoint(range.before);
  // Neither is negative where anything is done.
  range.begin = b_.CreateZExt(loop.first.v, word);
  range.end = b_.CreateZExt(loop.last.v, word);
  range.by = b_.CreateZExt(loop.step.v, word);
  b_.CreateStore(range.begin, range.at);

  Inside inside;
  inside.unrolls = loop.trip_count && *loop.trip_count <= kMostUnrolled;
  SplitLoop split{.before = range.before, .hoister = Hoister(range.before, function)};
  if (const auto* k = llvm::dyn_cast<llvm::ConstantInt>(loop.first.v);
      inside.unrolls && k != nullptr) {
    split.first = k->getZExtValue();
    split.distance =
        (*loop.trip_count - 1) * llvm::cast<llvm::ConstantInt>(loop.step.v)->getZExtValue();
  }
  const bool polls_each = loop.polls && x_.d().may_leave(loop.s.body);
  inside.start = x_.new_block("for");
  x_.splits.push_back(&split);
  const LoopEmitter::Emitted before = emit_iteration(loop, split, range, inside.start);
  x_.splits.pop_back();
  inside.weight = e_.loops.iteration_weight(before);
  if (polls_each) x_.target.poll({{}, loop.id}, static_cast<uint32_t>(inside.weight));
  inside.end = b_.GetInsertBlock();
  inside.counts = loop.polls && !polls_each;
  inside.whole = split.conditions.empty();
  emit_versions(loop, split, range, inside);
  b_.SetInsertPoint(range.exit);
  x_.mask = nullptr;
}

void LoopSplitter::emit_versions(const ForLoop& loop, SplitLoop& split, const Range& range,
                                 const Inside& inside) {
  b_.SetInsertPoint(range.before);
  auto [low, high] = iterations_inside(split, range.begin, range.end);
  llvm::BasicBlock* const enter = x_.new_block("for_inside");
  llvm::BasicBlock* const leave = x_.new_block("for_leave");
  llvm::BasicBlock* const tested = inside.whole ? nullptr : x_.new_block("for_tested");
  llvm::BasicBlock* head = enter;
  if (inside.unrolls && !inside.whole) {
    // One version for all iterations, so that their number stays known.
    llvm::Value* const all =
        b_.CreateAnd(b_.CreateICmpSLE(low, range.begin), b_.CreateICmpSGE(high, range.end));
    b_.CreateCondBr(all, enter, tested);
    head = tested;
    high = range.end;
  } else if (!inside.whole) {
    head = x_.new_block("for_trips");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::Value* const i = b_.CreateLoad(b_.getInt64Ty(), range.at);
    b_.CreateCondBr(b_.CreateAnd(b_.CreateICmpSGE(i, low), b_.CreateICmpSLT(i, high)), enter,
                    tested);
  } else {
    b_.CreateBr(enter);
  }
  emit_inside(loop, range, inside, {.enter = enter, .leave = leave, .head = head, .high = high});
  if (inside.whole) return;
  x_.repeated += loop.s.body.count;
  const bool outer = std::exchange(x_.splits_off, true);
  const LoopEmitter::Emitted before = emit_iteration(loop, split, range, tested);
  x_.splits_off = outer;
  if (loop.polls) e_.loops.poll_iteration(loop.id, before);
  b_.CreateCondBr(b_.CreateICmpSLT(next(range), range.end), head, range.exit);
}

// Runs the version without tests up to `high`, or to the next poll.
void LoopSplitter::emit_inside(const ForLoop& loop, const Range& range, const Inside& inside,
                               const Way& way) {
  llvm::Type* const word = b_.getInt64Ty();
  b_.SetInsertPoint(way.enter);
  const auto weight_bits = static_cast<uint32_t>(std::bit_width(inside.weight - 1));
  llvm::Value* const from = inside.counts ? b_.CreateLoad(word, range.at) : nullptr;
  llvm::Value* stop = way.high;
  if (inside.counts)
    stop = b_.CreateBinaryIntrinsic(
        in::smin, way.high,
        b_.CreateAdd(from, b_.CreateMul(x_.core().iterations_left(weight_bits), range.by)));
  b_.CreateBr(inside.start);
  b_.SetInsertPoint(inside.end);
  b_.CreateCondBr(b_.CreateICmpSLT(next(range), stop), inside.start, way.leave);
  b_.SetInsertPoint(way.leave);
  llvm::Value* const reached = b_.CreateLoad(word, range.at);
  if (inside.counts)
    x_.core().poll_iterations({{}, loop.id}, b_.CreateUDiv(b_.CreateSub(reached, from), range.by),
                              weight_bits);
  if (inside.unrolls && !inside.counts)
    b_.CreateBr(range.exit);
  else
    b_.CreateCondBr(b_.CreateICmpSLT(reached, range.end), inside.unrolls ? way.enter : way.head,
                    range.exit);
}

}  // namespace vyre::codegen
