// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/cpu/blocks.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "codegen/llvm/cpu/block_lowering.hpp"
#include "codegen/llvm/cpu/buffer_use.hpp"
#include "codegen/llvm/cpu/kernel.hpp"

namespace vyre::codegen {

using namespace ir;
namespace in = llvm::Intrinsic;

namespace {

class RowEmitter {
 public:
  RowEmitter(Builder& builder, const BlockKernel& kernel, const check::CheckedProgram& phase,
             const Divergence& divergence, const BodyOptions& options)
      : b_(builder),
        k_(kernel),
        phase_(phase),
        divergence_(&divergence),
        options_(options),
        has_loops_(std::ranges::any_of(phase.program.stmts,
                                       [](const Stmt& s) {
                                         return std::holds_alternative<For>(s) ||
                                                std::holds_alternative<While>(s);
                                       })),
        // A packed block is a subgroup and starts where that does.
        repeatable_(!options.checked && !options.shape.packed && repeatable(phase)),
        function_(*builder.GetInsertBlock()->getParent()),
        size_(phase.workgroup),
        row_{.shape = options.shape, .axis = options.shape.axis},
        lowering_(builder, kernel, phase, row_) {}

  void run(llvm::Value* wx, llvm::Value* run, bool any_lane) {
    llvm::Type* const word = b_.getInt64Ty();
    const auto number = [&](uint64_t n) { return llvm::ConstantInt::get(word, n); };
    const uint32_t along = row_.axis;
    llvm::Value* const group = along == 0 ? wx : b_.CreateZExt(k_.ids.wid[along], word);
    // As u32: ids wrap nowhere, but the code does not rely on it.
    row_.group_start = b_.CreateTrunc(b_.CreateMul(group, number(size_[along])), b_.getInt32Ty());
    if (row_.shape.packed) {
      row(number(0), number(lowering_.lanes_per_group()), lowering_.lanes_per_group());
      return;
    }
    llvm::Value* const x0 = b_.CreateMul(group, number(size_[along]), "", true, true);
    if (any_lane) {
      row_.lid[1] = row_.lid[2] = b_.getInt32(0);
      row(x0, b_.CreateAdd(x0, number(1), "", true, true), 1);
      return;
    }
    llvm::Value* const x1 =
        b_.CreateAdd(x0, b_.CreateMul(run, number(size_[along]), "", true, true), "", true, true);
    // The other axes around the row, z outside.
    const auto over = [&](int axis, auto&& self) -> void {
      if (axis < 0) {
        row(x0, x1, size_[along]);
        return;
      }
      const auto a = static_cast<uint32_t>(axis);
      if (a == along || size_[a] == 1) {
        row_.lid[a] = b_.getInt32(0);
        self(axis - 1, self);
        return;
      }
      llvm::BasicBlock* const before = b_.GetInsertBlock();
      llvm::BasicBlock* const body = block("row");
      llvm::BasicBlock* const after = block("rows_done");
      b_.CreateBr(body);
      b_.SetInsertPoint(body);
      llvm::PHINode* const at = b_.CreatePHI(b_.getInt32Ty(), 2);
      at->addIncoming(b_.getInt32(0), before);
      row_.lid[a] = at;
      self(axis - 1, self);
      llvm::Value* const next = b_.CreateAdd(at, b_.getInt32(1), "", true, true);
      at->addIncoming(next, b_.GetInsertBlock());
      b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt32(size_[a])), body, after);
      b_.SetInsertPoint(after);
    };
    over(2, over);
  }

 private:
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(b_.getContext(), name, &function_);
  }

  // One block at x; the insertion point comes to where its lanes have ended.
  void lanes_at(llvm::Value* x, llvm::Value* mask) {
    row_.wide_start = x;
    row_.start = b_.CreateTrunc(x, b_.getInt32Ty());
    row_.lane_end = block("lane_end");
    BodyOptions options = options_;
    options.shape = row_.shape;
    BodyEmitter code(b_, {.target = lowering_, .rows = lowering_, .core = &lowering_}, phase_,
                     *divergence_, options);
    code.emit(mask);
    if (b_.GetInsertBlock()->getTerminator() == nullptr) b_.CreateBr(row_.lane_end);
    b_.SetInsertPoint(row_.lane_end);
    if (k_.block_done) k_.block_done();
  }

  static constexpr uint32_t kFewLanes = 8;

  // Blocks one after the other that need no test; the end has no branch yet.
  struct Stretch {
    llvm::BasicBlock* start = nullptr;
    llvm::BasicBlock* end = nullptr;
    llvm::Value* x = nullptr;
    uint32_t lanes = 1;
  };
  Stretch stretch(llvm::Value* at, const char* name) {
    Stretch s;
    s.lanes = row_.shape.lanes;
    s.start = block(name);
    b_.SetInsertPoint(s.start);
    s.x = b_.CreateLoad(b_.getInt64Ty(), at);
    lanes_at(s.x, nullptr);
    s.end = b_.GetInsertBlock();
    return s;
  }

  // The same again in another way, which relies on the same.
  Stretch another_stretch(llvm::Value* at, llvm::BasicBlock* before, const char* name) {
    const BoundsGuards guards = row_.guards;
    Hoister again(before, function_);
    row_.hoister = row_.shape.lanes > 1 ? &again : nullptr;
    const Stretch s = stretch(at, name);
    row_.hoister = nullptr;
    row_.guards = guards;
    return s;
  }
  // One lane, or some that are tested and masked.
  Stretch last_stretch(llvm::Value* at, llvm::Value* x1, uint32_t unit) {
    Stretch s;
    s.lanes = row_.shape.lanes;
    s.start = block("rest_of_row");
    b_.SetInsertPoint(s.start);
    s.x = b_.CreateLoad(b_.getInt64Ty(), at);
    lanes_at(s.x, s.lanes > 1 ? lanes_below(s.x, x1, unit) : nullptr);
    s.end = b_.GetInsertBlock();
    return s;
  }
  template <class Emit>
  Stretch of_lanes(uint32_t lanes, Emit&& emit) {
    const BlockShape shape{.lanes = lanes, .axis = row_.axis};
    const Divergence divergence(phase_, shape, {});
    const Divergence* const outer = std::exchange(divergence_, &divergence);
    const BlockShape outer_shape = std::exchange(row_.shape, shape);
    const Stretch s = emit();
    row_.shape = outer_shape;
    divergence_ = outer;
    return s;
  }

  // As a mask, which is there even if all lanes are.
  llvm::Value* lanes_below(llvm::Value* x, llvm::Value* x1, uint32_t unit) {
    const uint32_t lanes = row_.shape.lanes;
    llvm::Type* const type = llvm::FixedVectorType::get(b_.getInt1Ty(), lanes);
    // After blocks that overlap the next ones may start anywhere.
    if (unit % lanes == 0 && !repeatable_) return llvm::Constant::getAllOnesValue(type);
    llvm::Type* const bits = b_.getIntNTy(lanes);
    llvm::Value* const all = b_.getInt64(lanes);
    llvm::Value* const left = b_.CreateBinaryIntrinsic(in::umin, b_.CreateSub(x1, x), all);
    llvm::Value* const missing = b_.CreateTrunc(b_.CreateSub(all, left), bits);
    return b_.CreateBitCast(b_.CreateLShr(llvm::Constant::getAllOnesValue(bits), missing), type);
  }

  // Null if no store of the block can go past the caches.
  llvm::Value* worth_streaming(llvm::Value* x0) {
    llvm::Value* all = nullptr;
    std::erase_if(row_.streams, [&](const RowState::Stream& s) {
      llvm::Value* worth = k_.streams(s.buffer);
      if (worth == nullptr) return true;
      const Type element = (*k_.memories)[s.buffer.index()].element;
      const uint64_t multiple = row_align(element, row_.shape.lanes) / bytes_of(element);
      llvm::Value* const first = b_.CreateAdd(b_.CreateTrunc(x0, b_.getInt32Ty()), s.offset);
      llvm::Value* const rest =
          b_.CreateAnd(first, b_.getInt32(static_cast<uint32_t>(multiple - 1)));
      worth = b_.CreateAnd(worth, b_.CreateICmpEQ(rest, b_.getInt32(0)));
      all = all != nullptr ? b_.CreateAnd(all, worth) : worth;
      return false;
    });
    return all;
  }

  // What is left over at the ends of a row in fewer lanes, where masks cost more than that. Not
  // with loops, in which few lanes take as long as many.
  [[nodiscard]] bool splits_ends() const {
    return row_.shape.lanes > 1 && !row_.shape.packed && !options_.checked &&
           !options_.cheap_masks && !has_loops_;
  }

  // Narrow elements can only be masked lane by lane.
  [[nodiscard]] uint32_t last_lanes() const {
    const auto narrow = [](const Buffer& b) { return bytes_of(b.element) < 4; };
    return std::ranges::any_of(phase_.program.buffers, narrow) ? 1 : kFewLanes;
  }

  // The part of x0 <= x < x1 whose lanes make a difference, or a block where none does.
  std::pair<llvm::Value*, llvm::Value*> narrowed(llvm::Value* x0, llvm::Value* x1) {
    if (!row_.narrow) return {x0, x1};
    llvm::Type* const word = b_.getInt64Ty();
    const auto number = [&](int64_t n) { return llvm::ConstantInt::getSigned(word, n); };
    const int64_t lanes = splits_ends() ? last_lanes() : row_.shape.lanes;
    llvm::Value* const of_first =
        b_.CreateZExt(b_.CreateAdd(b_.CreateTrunc(x0, b_.getInt32Ty()), row_.narrow->offset), word);
    llvm::Value* const count = b_.CreateSub(x1, x0);
    // Where values start again at 0 the row stays whole.
    llvm::Value* const wraps =
        b_.CreateICmpUGT(b_.CreateAdd(of_first, count), number(int64_t{1} << 32));
    llvm::Value* const distance = b_.CreateSub(b_.CreateZExt(row_.narrow->limit, word), of_first);
    llvm::Value* start = number(0);
    llvm::Value* length = b_.CreateBinaryIntrinsic(in::smax, distance, number(lanes));
    if (row_.narrow->equal) {
      // As an unsigned number what lies before the row is far behind it.
      llvm::Value* const hit = b_.CreateAnd(b_.CreateICmpULT(distance, count), b_.CreateNot(wraps));
      start = b_.CreateSelect(hit, b_.CreateAnd(distance, number(-lanes)), start);
      length = number(lanes);
    }
    llvm::Value* const first = b_.CreateAdd(x0, start);
    llvm::Value* const end = b_.CreateBinaryIntrinsic(in::smin, x1, b_.CreateAdd(first, length));
    return {first, b_.CreateSelect(wraps, x1, end)};
  }

  struct Row {
    llvm::Value* x0 = nullptr;
    llvm::Value* x1 = nullptr;
    uint32_t unit = 1;
    llvm::Value* at = nullptr;  // variable: the next lane
    llvm::BasicBlock* before = nullptr;
    llvm::BasicBlock* head = nullptr;  // where it is decided what comes next
    llvm::Value* first = nullptr;      // the lanes of it that make a difference
    llvm::Value* end = nullptr;
    BoundsGuards::Range range = {};  // those among them for which all guards hold
  };
  // Lanes x0 <= x < x1, of which there are a multiple of `unit`.
  void row(llvm::Value* x0, llvm::Value* x1, uint32_t unit) {
    Row r{.x0 = x0, .x1 = x1, .unit = unit, .at = variable(b_.getInt64Ty())};
    r.before = block("row_start");
    b_.CreateBr(r.before);
    b_.SetInsertPoint(r.before);
    const uint32_t lanes = row_.shape.lanes;

    // Complete blocks first, to learn what they rely on; `before` is finished afterwards.
    Hoister hoister(r.before, function_);
    if (lanes > 1) row_.hoister = &hoister;
    row_.narrower = &hoister;
    r.head = block("blocks");
    llvm::BasicBlock* const done = block("row_done");
    row_.guards.clear();
    row_.streams.clear();
    row_.narrow.reset();
    const Stretch cached = stretch(r.at, "block");
    row_.hoister = nullptr;
    row_.narrower = nullptr;
    b_.SetInsertPoint(r.before);
    llvm::Value* const streaming = worth_streaming(x0);
    std::optional<Stretch> streamed;
    if (streaming != nullptr) {
      row_.streaming = true;
      streamed = another_stretch(r.at, r.before, "streamed_block");
      row_.streaming = false;
    }
    const bool all_fast = unit % lanes == 0 && row_.guards.empty();
    std::optional<Stretch> few;
    std::optional<Stretch> rest;
    if (!all_fast && splits_ends()) {
      // Blocks that overlap do what few lanes would.
      if (lanes > kFewLanes && !repeatable_)
        few = of_lanes(kFewLanes, [&] { return another_stretch(r.at, r.before, "few_lanes"); });
      rest = of_lanes(last_lanes(), [&] { return last_stretch(r.at, x1, unit); });
    }

    b_.SetInsertPoint(r.before);
    std::tie(r.first, r.end) = narrowed(x0, x1);
    b_.CreateStore(r.first, r.at);
    r.range = row_.guards.range(b_, r.end);
    b_.CreateBr(r.head);
    llvm::BasicBlock* fast = cached.start;
    repeat(r, cached);
    if (streamed) {
      repeat(r, *streamed);
      fast = block("past_caches");
      b_.SetInsertPoint(fast);
      // Blocks may have come out of step with the start of the row.
      llvm::Value* const steps =
          b_.CreateAnd(b_.CreateSub(b_.CreateLoad(b_.getInt64Ty(), r.at), x0), number(lanes - 1));
      b_.CreateCondBr(b_.CreateAnd(streaming, b_.CreateICmpEQ(steps, number(0))), streamed->start,
                      cached.start);
    }

    b_.SetInsertPoint(r.head);
    choose_next(r, {.cached = cached, .fast = fast, .all_fast = all_fast, .few = few, .rest = rest},
                done);
    b_.SetInsertPoint(done);
  }

  // What a row is made of. `fast` is where a whole block starts, in the caches or past them; what
  // is left over is run by `few` lanes and then by `rest`, or under a mask.
  struct Stretches {
    const Stretch& cached;
    llvm::BasicBlock* fast = nullptr;
    bool all_fast = false;
    const std::optional<Stretch>& few;
    const std::optional<Stretch>& rest;
  };
  // At the head: which stretch is next.
  void choose_next(const Row& r, const Stretches& s, llvm::BasicBlock* done) {
    const uint32_t lanes = row_.shape.lanes;
    llvm::Value* const here = b_.CreateLoad(b_.getInt64Ty(), r.at);
    llvm::BasicBlock* const choose = block("choose");
    b_.CreateCondBr(b_.CreateICmpSLT(here, r.end), choose, done);
    b_.SetInsertPoint(choose);
    if (s.all_fast) {
      b_.CreateBr(s.fast);
      return;
    }
    llvm::BasicBlock* const not_all = block("not_all");
    b_.CreateCondBr(BoundsGuards::inside(b_, r.range, here, lanes), s.fast, not_all);
    b_.SetInsertPoint(not_all);
    if (repeatable_ && lanes > 1) go_back(r, here, s.cached);
    if (s.few) {
      b_.CreateCondBr(BoundsGuards::inside(b_, r.range, here, s.few->lanes), s.few->start,
                      s.rest->start);
    } else if (s.rest) {
      b_.CreateBr(s.rest->start);
    } else {
      lanes_at(here, lanes_below(here, r.x1, r.unit));
      b_.CreateStore(b_.CreateAdd(here, number(lanes), "", true, true), r.at);
      b_.CreateBr(r.head);
    }
    // Back to the head, and not on into what a whole block could do.
    for (const std::optional<Stretch>& left : {s.few, s.rest}) {
      if (!left) continue;
      b_.SetInsertPoint(left->end);
      b_.CreateStore(b_.CreateAdd(left->x, number(left->lanes), "", true, true), r.at);
      b_.CreateBr(r.head);
    }
  }

  llvm::Value* number(int64_t n) { return llvm::ConstantInt::getSigned(b_.getInt64Ty(), n); }

  // The end of a stretch: the next block of the same kind. One test in the loop: where this ends,
  // the head decides again.
  void repeat(const Row& r, const Stretch& s) {
    b_.SetInsertPoint(s.end);
    llvm::Value* const next = b_.CreateAdd(s.x, number(s.lanes), "", true, true);
    b_.CreateStore(next, r.at);
    llvm::Value* const behind = b_.CreateAdd(next, number(s.lanes), "", true, true);
    b_.CreateCondBr(b_.CreateICmpSLE(behind, r.range.high), s.start, r.head);
  }

  // Where less than a block is left of the range, a whole one that ends with the range, some of
  // whose lanes run a second time.
  void go_back(const Row& r, llvm::Value* here, const Stretch& s) {
    llvm::Value* const back = b_.CreateSub(r.range.high, number(s.lanes), "", false, true);
    llvm::Value* low = r.first;
    if (r.range.low != nullptr) low = b_.CreateBinaryIntrinsic(in::smax, low, r.range.low);
    llvm::Value* const some =
        b_.CreateAnd(b_.CreateICmpSLT(here, r.range.high), b_.CreateICmpSGE(here, low));
    llvm::BasicBlock* const again = block("overlap");
    llvm::BasicBlock* const not_again = block("no_overlap");
    b_.CreateCondBr(b_.CreateAnd(some, b_.CreateICmpSGE(back, low)), again, not_again);
    b_.SetInsertPoint(again);
    b_.CreateStore(back, r.at);
    b_.CreateBr(s.start);
    b_.SetInsertPoint(not_again);
  }

  llvm::Value* variable(llvm::Type* type) {
    llvm::BasicBlock& entry = function_.getEntryBlock();
    Builder at(&entry, entry.begin());
    return at.CreateAlloca(type);
  }

  Builder& b_;
  const BlockKernel& k_;
  const check::CheckedProgram& phase_;
  const Divergence* divergence_;
  const BodyOptions& options_;
  bool has_loops_;
  bool repeatable_;
  llvm::Function& function_;
  std::array<uint32_t, 3> size_;
  RowState row_;
  BlockLowering lowering_;
};

}  // namespace

void emit_blocks(Builder& builder, const BlockKernel& kernel, const check::CheckedProgram& phase,
                 const Divergence& divergence, const BodyOptions& options, llvm::Value* wx,
                 llvm::Value* run, bool any_lane) {
  RowEmitter(builder, kernel, phase, divergence, options).run(wx, run, any_lane);
}

}  // namespace vyre::codegen
