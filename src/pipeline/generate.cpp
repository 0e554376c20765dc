// SPDX-License-Identifier: Apache-2.0
#include "pipeline/generate.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <sys/resource.h>

#include "base/stop.hpp"
#include "codegen/cost.hpp"
#include "codegen/in_process.hpp"
#include "pipeline/compile_child.hpp"

namespace vyre::pipeline {

namespace {

std::unexpected<Error> over_limit(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::LimitExceeded,
                               .message = std::move(message),
                               .context = {},
                               .at = {},
                               .diagnostics = {}});
}

// Whether an allocation may fail in this process at all: then LLVM is better off in another one,
// because it has no way back from that.
bool memory_is_limited() {
  for (const auto which : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) return true;
  }
  return false;
}

CompileJob job_of(const GenerateRequest& request) {
  return {.program = request.program.program,
          .policy = request.policy,
          .wide_index = request.wide_index,
          .target = request.target,
          .listing = request.listing};
}

std::unexpected<Error> no_compiler(uint64_t cost, const CompileLimits& limits,
                                   const CompilerFile& file) {
  return over_limit(
      fmt::format("the program is too large to be compiled in this process (cost {}, limit {}), "
                  "and there is no "
                  "{} to do it elsewhere (looked for at {}). Fix: install it there, name it in {}, "
                  "or set {}={} "
                  "to compile here without limits",
                  cost, limits.in_process_cost, kCompilerName,
                  file.tried.empty() ? "no place" : file.tried.front().string(), kCompilerVariable,
                  kCompilerVariable, kInProcess));
}

Result<CodeBytes> in_child(const GenerateRequest& request, const CompileLimits& limits,
                           const std::filesystem::path& compiler) {
  using std::chrono::milliseconds;
  ChildLimits child;
  child.bytes = limits.bytes;
  child.processor = limits.time;
  // On a busy machine it takes longer than its work.
  constexpr int kBusy = 6;
  child.time = kBusy * limits.time;
  // It stops by itself soon after the deadline, should no process be left to end it.
  const StopCondition::Time deadline = StopScope::deadline();
  const auto now = std::chrono::steady_clock::now();
  if (deadline - now < child.time)
    child.time = std::max(milliseconds(1),
                          std::chrono::ceil<milliseconds>(deadline - now) + milliseconds(500));
  return compile_in_child(compiler, encode(job_of(request)), child);
}

}  // namespace

Result<CodeBytes> generate(const GenerateRequest& request, const CompileLimits& limits) {
  if (codegen::is_interpreted(request.target.format))
    return make_code(request.target, request.listing, request.plan);
  const StageScope stage(Stage::Generate);
  poll_stop_now();
  const uint64_t cost = codegen::compile_cost(request.plan);
  const bool small = cost <= limits.in_process_cost;
  // Looked for only where it is needed: most programs are small.
  if (small && !memory_is_limited() && !codegen::llvm_was_interrupted()) {
    // What was not foreseen: the units are alike, and this one counts all that is written.
    constexpr uint64_t kWeightOfCost = 4;
    if (auto code = codegen::if_light(kWeightOfCost * limits.in_process_cost, [&] {
          return make_code(request.target, request.listing, request.plan);
        }))
      return std::move(*code);
  }
  const CompilerFile file = find_compiler();
  if (!file.path.empty()) return in_child(request, limits, file.path);
  // Nothing but the environment says that memory and time do not matter, and nothing at all where
  // the limits allow no compilation in this process.
  if (!small && (!file.in_process || limits.in_process_cost == 0))
    return no_compiler(cost, limits, file);
  return make_code(request.target, request.listing, request.plan);
}

Result<void> check_program_limits(const check::CheckedProgram& program,
                                  const CompileLimits& limits) {
  if (program.statements_inlined <= limits.statements) return {};
  return over_limit(
      fmt::format("program `{}` has {} statements after inlining, and {} are allowed. Fix: use "
                  "loops instead of repeated statements, or split the program",
                  program.program.name, program.statements_inlined, limits.statements));
}

Result<void> check_driver_text(const CodeBytes& code, device::Format format,
                               const CompileLimits& limits) {
  const codegen::TargetDescriptor* const target = codegen::find_target(format);
  const bool is_driver_text = target != nullptr && target->driver_compiles;
  if (!is_driver_text || code.size() <= limits.driver_text_bytes) return {};
  return over_limit(fmt::format(
      "the code for the driver's compiler has {} bytes of PTX, and {} are allowed, since "
      "nothing can stop it. Fix: make the program smaller, or split it",
      code.size(), limits.driver_text_bytes));
}

}  // namespace vyre::pipeline
