// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "codegen/llvm/body/hoister.hpp"
#include "codegen/llvm/body/values.hpp"

namespace vyre::codegen {

// What the code of a block without tests relies on: rows of lanes that stay inside of bounds. They
// are collected while the code is written and tested at once before it is entered.
class BoundsGuards {
 public:
  // start + offset .. + lanes lies below the limit (u32); with `signed_index`, as a signed number.
  // False: what it depends on is not known before the block.
  bool below(Hoister& hoister, llvm::Value* offset, llvm::Value* limit, bool signed_index);
  // It is not less than the limit anywhere, and does not wrap.
  bool at_least(Hoister& hoister, llvm::Value* offset, llvm::Value* limit);

  // Any other condition (i1).
  bool fact(Hoister& hoister, llvm::Value* condition);

  void clear() { *this = {}; }
  [[nodiscard]] bool empty() const { return conditions_.empty() && facts_.empty(); }
  [[nodiscard]] bool has_facts() const { return !facts_.empty(); }

  // The lanes (i64, signed) of those below `end` for which all of it holds; `low` null: from any
  // on.
  struct Range {
    llvm::Value* low = nullptr;
    llvm::Value* high = nullptr;
    llvm::Value* facts = nullptr;  // null: there are none
  };
  [[nodiscard]] Range range(Builder& b, llvm::Value* end) const;
  // Whether so many lanes from `here` on lie in it.
  static llvm::Value* inside(Builder& b, const Range& range, llvm::Value* here, uint32_t lanes);

 private:
  struct Condition {
    llvm::Value* offset = nullptr;
    llvm::Value* limit = nullptr;
    bool below = false;
    bool signed_index = false;
  };
  bool add(Hoister& hoister, Condition condition);
  std::vector<Condition> conditions_;
  std::vector<llvm::Value*> facts_;
};

}  // namespace vyre::codegen
