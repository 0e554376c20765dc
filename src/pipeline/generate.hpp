// SPDX-License-Identifier: Apache-2.0
// Where code is made: small programs in this process, others by vyre-compile (compile_child.hpp).
// Interpreters take programs as they are, which is never any work.
#pragma once

#include <optional>
#include <string_view>

#include "pipeline/compile_job.hpp"
#include "vyre/pipeline/compile_limits.hpp"

namespace vyre::pipeline {

// Of the sources that this compiler is built from and of the LLVM it is built with, see
// cmake/CompilerId.cmake. The part of compiler_build_id() that is known when Vyre is built.
std::string_view compiler_source_id();

struct GenerateRequest {
  const check::CheckedProgram& program;
  const Policy& policy;
  const plan::Plan& plan;  // of both
  const codegen::Target& target;
  bool wide_index = false;
  std::string listing = {};  // codegen::Listing::name
};

// Throws Stopped. LimitExceeded: over a limit, or too large for this process and there is no
// vyre-compile.
Result<CodeBytes> generate(const GenerateRequest& request, const CompileLimits& limits);

// LimitExceeded: more statements than the limits allow.
Result<void> check_program_limits(const check::CheckedProgram& program,
                                  const CompileLimits& limits);
// LimitExceeded: code that the compiler of a driver would have to read, and that is too long.
Result<void> check_driver_text(const CodeBytes& code, device::Format format,
                               const CompileLimits& limits);

}  // namespace vyre::pipeline
