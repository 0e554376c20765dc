// SPDX-License-Identifier: Apache-2.0
// Loops whose accesses are tested before they start.
//
// In a loop over i, an index is mostly by * i + rest with a rest that is loop-invariant. While an
// iteration is emitted for the first time, such accesses are not tested but noted. Together they
// give the iterations in which all of them are inside, and only these run that code; the others run
// a second version of the iteration with its tests. Iterations of the first version are counted
// where their number is known, not one at a time, before the next poll.
//
// All of this is in 64 bits, where no index wraps: one that is inside there is the index that the
// program computes modulo 2^32.
#pragma once

#include <utility>

#include "codegen/llvm/body/hoister.hpp"
#include "codegen/llvm/body/loop_emitter.hpp"

namespace vyre::codegen {

// A loop that is being split.
struct SplitLoop {
  llvm::Value* number = nullptr;  // the loop's variable in the iteration, i32
  llvm::Value* at = nullptr;      // the same as i64
  llvm::BasicBlock* before = nullptr;
  Hoister hoister;
  // Of a known trip count, from a known start: bounds of the last iteration are known as well.
  std::optional<uint64_t> first{};
  uint64_t distance = 0;  // from the first iteration's number to the last one's
  // In iteration i, 0 <= rest + by * i < limit.
  struct Condition {
    llvm::Value* rest = nullptr;
    llvm::Value* by = nullptr;
    llvm::Value* limit = nullptr;
  };
  std::vector<Condition> conditions{};
};

class LoopSplitter : Emitter {
 public:
  LoopSplitter(BodyContext& context, Emitters& emitters) : Emitter(context, emitters) {}

  [[nodiscard]] bool can_split(const ir::For& s, ir::Type type) const;
  void emit_for(const ForLoop& loop);
  // Where a row of lanes starts whose index is `index` (and what `start` says), if the loops around
  // are split so that it is inside; null if not.
  llvm::Value* split_index(llvm::Value* index, llvm::Value* start, const MemoryRef& m,
                           ir::Type index_type);

 private:
  struct Range;
  struct Inside;
  // Around the version without tests.
  struct Way {
    llvm::BasicBlock* enter = nullptr;
    llvm::BasicBlock* leave = nullptr;
    llvm::BasicBlock* head = nullptr;  // where it is decided which version is next
    llvm::Value* high = nullptr;       // the end of the iterations that need no tests
  };
  LoopEmitter::Emitted emit_iteration(const ForLoop& loop, SplitLoop& split, const Range& range,
                                      llvm::BasicBlock* block);
  llvm::Value* next(const Range& range);
  void emit_versions(const ForLoop& loop, SplitLoop& split, const Range& range,
                     const Inside& inside);
  void emit_inside(const ForLoop& loop, const Range& range, const Inside& inside, const Way& way);
  llvm::Value* guarded_by_row(const SplitLoop& loop, llvm::Value* index, llvm::Value* start,
                              const MemoryRef& m, ir::Type index_type);
  std::pair<llvm::Value*, llvm::Value*> iterations_inside(const SplitLoop& split,
                                                          llvm::Value* begin, llvm::Value* end);
};

}  // namespace vyre::codegen
