// SPDX-License-Identifier: Apache-2.0
// What callers outside of code generation know of LLVM in this process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vyre/base/result.hpp"

namespace vyre::codegen {

// "19.1.7": of the library that runs in this process, which may be newer than the headers.
std::string llvm_version();

// An exception has gone through frames of LLVM, which have no destructors to run: something may be
// locked or half done. Another process is the better place to compile in from then on.
bool llvm_was_interrupted();

// Whether this thread is in LLVM. A new-handler that ends the process there, instead of letting
// std::bad_alloc through frames of LLVM, needs to know.
bool in_llvm();

// For a process that does nothing but compile: called in LLVM's frames instead of throwing through
// them. Neither may return.
struct FailureHooks {
  void (*no_memory)() = nullptr;
  void (*refused)(const char* reason) = nullptr;
};
void set_failure_hooks(const FailureHooks& hooks);

// What `make` gives; nothing, before LLVM's first pass, if the module turns out to be heavier than
// that (instructions, by the registers that their values take). 0: no limit.
std::optional<Result<std::vector<std::byte>>> if_light(
    uint64_t most, const std::function<Result<std::vector<std::byte>>()>& make);

}  // namespace vyre::codegen
