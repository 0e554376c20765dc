// SPDX-License-Identifier: Apache-2.0
// Private copies of buffers into which a segment only combines values (a histogram, a sum): each
// worker has its own, so that no thread waits for a cache line, and vyre_finish_<i> merges them.
#pragma once

#include <array>
#include <vector>

#include "codegen/llvm/body/memory_ref.hpp"
#include "codegen/llvm/cpu/buffer_use.hpp"

namespace vyre::codegen {

class PrivatisedReductions {
 public:
  // Takes room at the end of the scratch memory.
  PrivatisedReductions(const check::CheckedProgram& segment, const std::vector<BufferUse>& uses,
                       uint64_t& scratch_bytes);

  [[nodiscard]] bool empty() const { return copies_.empty(); }

  // At the start of an entry: the memories get to know their copies, which the first call of a
  // launch on a thread finds unfilled.
  void enter(Builder& builder, std::vector<MemoryRef>& memories,
             const std::array<llvm::Value*, 3>& grid, llvm::Value* scratch, llvm::Value* worker);

  // Adds vyre_finish_<number>.
  void finish(Builder& builder, llvm::Module& module, uint32_t number, bool half_conversions);

 private:
  struct Copy {
    uint32_t buffer = 0;
    ir::AtomicOp op = ir::AtomicOp::Add;
    ir::Type type = ir::Type::U32;
    uint64_t at = 0;
    PrivateCopy memory;
  };
  llvm::Value* worth_it(Builder& b, const Copy& copy, llvm::Value* length,
                        const std::array<llvm::Value*, 3>& grid) const;

  uint64_t lanes_per_group_;
  std::vector<Copy> copies_;
};

}  // namespace vyre::codegen
