// SPDX-License-Identifier: Apache-2.0
#include "pipeline/compile_job.hpp"

#include <fmt/format.h>

#include "base/error_codes.hpp"
#include "base/errors.hpp"
#include "base/stop.hpp"
#include "pipeline/program_image.hpp"

namespace vyre {

template <class Archive>
void fields(Archive& a, Position& x) {
  a(x.file, x.line, x.column, x.length);
}
template <class Archive>
void fields(Archive& a, Error& x) {
  a(x.code, x.message, x.context, x.at);
}

namespace codegen {
template <class Archive>
void fields(Archive& a, Target& x) {
  a(x.format, x.subgroup_size, x.checked, x.architecture, x.ulp_budget, x.cheap, x.poison, x.lanes);
}
}  // namespace codegen

namespace pipeline {

template <class Archive>
void fields(Archive& a, Policy& x) {
  a(x.variant.route, x.variant.workgroups_per_block, x.variant.unrolled_iterations,
    x.variant.interleave, x.variant.is_1d, x.variant.lanes, x.checked, x.workgroup, x.ulp_budget,
    x.profile, x.print);
}
template <class Archive>
void fields(Archive& a, CompileJob& x) {
  a(x.program, x.policy, x.wide_index, x.target, x.listing);
}

namespace {

// Everything that decides how plain values lie in memory.
std::string layout() {
  return fmt::format("vyre-compile 1 {} {} {} {} {}", compiler_build_id(), __VERSION__,
                     sizeof(ir::Expr), sizeof(ir::Stmt), sizeof(void*));
}

constexpr uint64_t kEnd = 0x646e652065727956;  // "Vyre end"

}  // namespace

std::vector<std::byte> encode(const CompileJob& job) {
  Writer out;
  std::string head = layout();
  out(head, const_cast<CompileJob&>(job));
  return out.take();
}

Result<CompileJob> decode_job(std::span<const std::byte> bytes) {
  Reader in(bytes);
  std::string head;
  in(head);
  CompileJob job;
  if (head == layout()) in(job);
  if (head == layout() && in.at_end()) return job;
  return std::unexpected(
      Error{.code = ErrorCode::CompileFailed,
            .message = fmt::format("vyre-compile ({}) is of another build than what started it "
                                   "({}). Fix: install both from one build",
                                   layout(), head),
            .context = {},
            .at = {},
            .diagnostics = {}});
}

std::vector<std::byte> encode_answer(const Result<CodeBytes>& answer) {
  Writer out;
  const bool made = answer.has_value();
  out(made);
  if (made)
    out(*answer);
  else
    out(answer.error());
  out(kEnd);
  return out.take();
}

std::optional<Result<CodeBytes>> decode_answer(std::span<const std::byte> bytes) {
  Reader in(bytes);
  bool made = false;
  in(made);
  CodeBytes code;
  Error error;
  if (made)
    in(code);
  else
    in(error);
  uint64_t end = 0;
  in(end);
  if (!in.at_end() || end != kEnd || !is_known(error.code)) return std::nullopt;
  if (made) return Result<CodeBytes>(std::move(code));
  return Result<CodeBytes>(std::unexpected(std::move(error)));
}

Result<CodeBytes> make_code(const codegen::Target& target, std::string_view listing,
                            const plan::Plan& plan) {
  const StageScope stage(Stage::Generate);
  return listing.empty() ? codegen::emit(target, plan) : codegen::list_code(listing, target, plan);
}

Result<CodeBytes> run(const CompileJob& job) {
  VYRE_TRY_ASSIGN(const auto checked, check::check_valid(job.program));
  device::Capabilities capabilities;
  capabilities.i64 = job.wide_index;
  VYRE_TRY_ASSIGN(const auto plan, make_plan(checked, job.policy, capabilities));
  return make_code(job.target, job.listing, plan);
}

}  // namespace pipeline
}  // namespace vyre
