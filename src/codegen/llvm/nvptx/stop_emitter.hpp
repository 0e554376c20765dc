// SPDX-License-Identifier: Apache-2.0
// Lanes that stop, and lanes that poll whether to go on.
#pragma once

#include "codegen/llvm/nvptx/kernel_context.hpp"

namespace vyre::codegen {

class StopEmitter : KernelPart {
 public:
  explicit StopEmitter(KernelContext& context) : KernelPart(context) {}

  // At the start of the kernel.
  void declare();
  void record(device::KernelStop::Kind kind, SiteRef site, uint16_t memory, llvm::Value* lane,
              llvm::Value* value, llvm::Value* index);
  void count_work(llvm::Value* units);
  void poll_if_due(SiteRef site);
  // Once, before a lane does anything.
  void poll_at_start();

 private:
  llvm::Function* stop_function();
  llvm::Value* is_cancelled();

  llvm::Value* work_left_ = nullptr;  // variable: until the next poll
};

}  // namespace vyre::codegen
