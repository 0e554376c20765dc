// SPDX-License-Identifier: Apache-2.0
// Shared memory at the edges of a kernel, and copies that the lanes of a workgroup do
// cooperatively.
#pragma once

#include "codegen/llvm/nvptx/stop_emitter.hpp"

namespace vyre::codegen {

class SharedMemoryEmitter : KernelPart {
 public:
  SharedMemoryEmitter(KernelContext& context, StopEmitter& stops)
      : KernelPart(context), stops_(stops) {}

  // By all threads, of which none has ended yet.
  void start();
  // By each thread at its end.
  void save();
  // An asynchronous copy.
  void copy(const CopyOperands& x, SiteRef site);

 private:
  void deal(llvm::Value* first, llvm::Value* step, llvm::Value* count,
            llvm::function_ref<void(llvm::Value* at)> body);
  void deal_to_all(uint32_t count, llvm::function_ref<void(llvm::Value* at)> body);
  void take_elements(llvm::Value* count, llvm::function_ref<void(llvm::Value* at)> body);
  [[nodiscard]] const plan::SharedUse* use_of(uint32_t buffer) const;
  [[nodiscard]] bool needs_zeros(uint32_t buffer) const;  // clear.cpp
  void copy_shared(uint32_t buffer, bool save, bool alone);
  [[nodiscard]] bool saves() const;
  void check_copy(const CopyOperands& x, SiteRef site, llvm::Value* dst, llvm::Value* src,
                  llvm::Value* count);

  StopEmitter& stops_;
};

}  // namespace vyre::codegen
