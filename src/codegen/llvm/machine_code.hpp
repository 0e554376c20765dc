// SPDX-License-Identifier: Apache-2.0
// From LLVM IR to code of the host, or to PTX. The only place with LLVM's passes and targets, whose
// headers take ten seconds to read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "vyre/base/result.hpp"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace vyre::codegen {

// What code is made for.
struct Machine {
  std::string triple;
  std::string cpu;
  std::string features;
  bool half_conversions = false;
  bool cheap_masks = false;   // masked accesses to elements of any size
  bool wide_vectors = false;  // 512 bits, to be requested
  bool lanes_are_threads = false;
  bool cheap_passes = false;  // only what takes linear time

  static const Machine& host();
  // "sm_90"
  static Machine nvptx(std::string_view architecture);
};

enum class Output : uint8_t { Object, Assembly, Ir };

// Lets `fill` write a module for the machine, optimises it and gives it out. CompileFailed for what
// LLVM refuses, also where it would end the process; Internal for a module that is not valid.
// Throws Stopped between LLVM's passes and std::bad_alloc.
//
// LLVM is compiled without exceptions: what is thrown through its frames runs none of their
// destructors. So whatever LLVM was working on then is abandoned, never destroyed
// (codegen/in_process.hpp).
Result<std::vector<std::byte>> make_code(const Machine& machine, Output output,
                                         const std::function<Result<void>(llvm::Module&)>& fill);

}  // namespace vyre::codegen
