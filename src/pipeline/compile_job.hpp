// SPDX-License-Identifier: Apache-2.0
// The request to vyre-compile and its answer, as bytes. Both ends are of one build; a job of
// another one is refused.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/codegen.hpp"
#include "vyre/pipeline/compiler.hpp"

namespace vyre::pipeline {

struct CompileJob {
  ir::Program program;
  Policy policy;
  bool wide_index = false;  // Capabilities::i64 of the device
  codegen::Target target;
  std::string listing = {};  // codegen::Listing::name; empty: what a device loads
};

std::vector<std::byte> encode(const CompileJob& job);
// CompileFailed for bytes of another build.
Result<CompileJob> decode_job(std::span<const std::byte> bytes);

using CodeBytes = std::vector<std::byte>;
std::vector<std::byte> encode_answer(const Result<CodeBytes>& answer);
// Null: not a whole answer, or an error with a code that there is not. A process that crashed may
// have written anything.
std::optional<Result<CodeBytes>> decode_answer(std::span<const std::byte> bytes);

// Checks, plans and makes code. `check` is skipped where the caller has the plan.
Result<CodeBytes> run(const CompileJob& job);
Result<CodeBytes> make_code(const codegen::Target& target, std::string_view listing,
                            const plan::Plan& plan);

}  // namespace vyre::pipeline
