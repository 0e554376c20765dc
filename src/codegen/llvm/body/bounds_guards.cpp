// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/bounds_guards.hpp"

namespace vyre::codegen {

namespace in = llvm::Intrinsic;

bool BoundsGuards::add(Hoister& hoister, Condition condition) {
  condition.offset = hoister.hoist(condition.offset);
  condition.limit = hoister.hoist(condition.limit);
  if (condition.offset == nullptr || condition.limit == nullptr) return false;
  conditions_.push_back(condition);
  return true;
}

bool BoundsGuards::below(Hoister& hoister, llvm::Value* offset, llvm::Value* limit,
                         bool signed_index) {
  return add(hoister,
             {.offset = offset, .limit = limit, .below = true, .signed_index = signed_index});
}

bool BoundsGuards::at_least(Hoister& hoister, llvm::Value* offset, llvm::Value* limit) {
  return add(hoister, {.offset = offset, .limit = limit});
}

bool BoundsGuards::fact(Hoister& hoister, llvm::Value* condition) {
  llvm::Value* const early = hoister.hoist(condition);
  if (early == nullptr) return false;
  facts_.push_back(early);
  return true;
}

BoundsGuards::Range BoundsGuards::range(Builder& b, llvm::Value* end) const {
  Range r{.high = end};
  for (const Condition& c : conditions_) {
    llvm::Type* const word = b.getInt64Ty();
    llvm::Value* const offset = b.CreateSExt(c.offset, word);
    llvm::Value* const limit = b.CreateZExt(c.limit, word);
    llvm::Value* above = limit;
    llvm::Value* low = nullptr;
    if (c.below) {
      low = b.CreateNeg(offset);
      if (c.signed_index)
        above = b.CreateBinaryIntrinsic(in::umin, limit, b.getInt64(uint64_t{1} << 31));
    } else {
      // Also not beyond 2^32, where it would be small again.
      low = b.CreateSub(limit, offset);
      above = b.getInt64(uint64_t{1} << 32);
    }
    r.low = r.low != nullptr ? b.CreateBinaryIntrinsic(in::smax, r.low, low) : low;
    r.high = b.CreateBinaryIntrinsic(in::smin, r.high, b.CreateSub(above, offset));
  }
  for (llvm::Value* const fact : facts_)
    r.facts = r.facts != nullptr ? b.CreateAnd(r.facts, fact) : fact;
  return r;
}

llvm::Value* BoundsGuards::inside(Builder& b, const Range& r, llvm::Value* here, uint32_t lanes) {
  llvm::Value* all = b.CreateICmpSLE(b.CreateAdd(here, b.getInt64(lanes), "", true, true), r.high);
  if (r.low != nullptr) all = b.CreateAnd(all, b.CreateICmpSGE(here, r.low));
  return r.facts != nullptr ? b.CreateAnd(all, r.facts) : all;
}

}  // namespace vyre::codegen
