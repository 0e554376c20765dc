// SPDX-License-Identifier: Apache-2.0
// One segment as a kernel of PTX: a lane is a thread, a workgroup is a block of threads. How it is
// launched is in device/gpu_kernel.hpp.
#pragma once

#include "codegen/llvm/nvptx/nvptx_lowering.hpp"

namespace vyre::codegen {

class NvptxKernel : KernelPart {
 public:
  explicit NvptxKernel(KernelContext& context)
      : KernelPart(context),
        stops_(context),
        shared_memory_(context, stops_),
        grid_barriers_(context),
        lowering_(context, stops_, shared_memory_, grid_barriers_) {}

  void run();

 private:
  void declare();
  void annotate(const char* what, uint32_t value);
  llvm::Value* special(llvm::Intrinsic::ID id, uint32_t below);
  void find_ids();
  void bind_buffers();
  void give_scopes();
  void emit_coarsened();
  void emit_serialised(llvm::Value* first, llvm::Value* end);
  void keep_subnormals_in_atomics();

  StopEmitter stops_;
  SharedMemoryEmitter shared_memory_;
  GridBarrierEmitter grid_barriers_;
  NvptxLowering lowering_;
};

}  // namespace vyre::codegen
