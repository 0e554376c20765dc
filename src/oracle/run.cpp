// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "oracle/machine.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::oracle {

using namespace ir;

namespace {

Result<void> check_options(const Options& options) {
  const uint32_t s = options.subgroup_size;
  if (s != 1 && s != 4 && s != 8 && s != 16 && s != 32)
    return std::unexpected(
        error(ErrorCode::InvalidArgument,
              fmt::format("a subgroup of {} lanes. Fix: use 1, 4, 8, 16 or 32", s)));
  if (options.iterations == 0)
    return std::unexpected(error(ErrorCode::InvalidArgument,
                                 "fixpoint_iterations must be at least 1. Fix: use 1 to run the "
                                 "program once"));
  return {};
}

bool is_written(BufferKind kind) {
  return kind == BufferKind::InOut || kind == BufferKind::Out || kind == BufferKind::WriteOnly ||
         kind == BufferKind::Persistent || kind == BufferKind::Scratch;
}

Result<void> check_buffer_memory(const check::CheckedProgram& checked, const check::Launch& launch,
                                 const Options& options) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < launch.counts.size(); ++i) {
    const Buffer& buffer = checked.program.buffers[i];
    if (buffer.kind == BufferKind::Shared) continue;
    bytes += launch.counts[i] * bytes_of(buffer.element);  // 64 buffers of 2^35 bytes at most
    if (bytes > options.memory_limit)
      return std::unexpected(error(
          ErrorCode::LimitExceeded,
          fmt::format("the buffers up to `{}` need {} bytes, more than the limit of {} bytes. Fix: "
                      "use smaller buffers, or allow more memory",
                      buffer.name, bytes, options.memory_limit)));
  }
  return {};
}

std::vector<std::vector<std::byte>> make_buffers(
    const check::CheckedProgram& checked, const check::Launch& launch,
    std::span<const std::span<const std::byte>> inputs) {
  std::vector<std::vector<std::byte>> buffers(checked.program.buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = checked.program.buffers[i];
    if (buffer.kind == BufferKind::Shared) continue;
    if (const auto slot = checked.buffers[i].input_slot)
      buffers[i].assign(inputs[*slot].begin(), inputs[*slot].end());
    else
      buffers[i].resize(launch.counts[i] * bytes_of(buffer.element));
  }
  return buffers;
}

Result<Outcome> run_checked(const check::CheckedProgram& checked,
                            std::span<const std::span<const std::byte>> inputs,
                            const Options& options) {
  VYRE_TRY(check_options(options));
  VYRE_TRY_ASSIGN(auto launch, check::resolve_launch(checked, {.inputs = inputs,
                                                               .grid = options.grid,
                                                               .workgroup = options.workgroup}));
  VYRE_TRY(check_buffer_memory(checked, launch, options));

  const Code code = compile(checked);
  std::vector<std::vector<std::byte>> buffers = make_buffers(checked, launch, inputs);
  Machine machine(checked, code, launch, options, {buffers.begin(), buffers.end()});

  uint32_t iterations = 0;
  bool converged = false;
  while (iterations < options.iterations && !converged) {
    std::vector<std::vector<std::byte>> before;
    if (options.iterations > 1) before = buffers;
    VYRE_TRY(machine.run_pass());
    ++iterations;
    if (options.iterations == 1) break;
    converged = true;
    for (size_t i = 0; i < buffers.size() && converged; ++i)
      if (is_written(checked.program.buffers[i].kind)) converged = before[i] == buffers[i];
  }

  Outcome outcome = machine.take_totals();
  outcome.state_bytes_per_lane = sizeof(Lane) + 8 * uint64_t{code.frame_slots};
  outcome.buffers = std::move(buffers);
  outcome.launch = std::move(launch);
  outcome.iterations = iterations;
  outcome.converged = converged;
  return outcome;
}

}  // namespace

std::string_view name_of(Schedule schedule) {
  switch (schedule) {
    case Schedule::Forward: return "forward";
    case Schedule::Reversed: return "reversed";
    case Schedule::Random: return "random";
  }
  return "?";
}

Outcome Machine::take_totals() {
  if (races_) totals_.races = races_->take(totals_.races_not_listed);
  return std::move(totals_);
}

std::vector<std::span<const std::byte>> Outcome::outputs(
    const check::CheckedProgram& checked) const {
  std::vector<std::span<const std::byte>> result;
  for (uint32_t i = 0; i < buffers.size(); ++i) {
    const auto slot = checked.buffers[i].output_slot;
    if (!slot) continue;
    if (result.size() <= *slot) result.resize(*slot + 1);
    result[*slot] = check::returned_bytes(checked, BufferId{i}, buffers[i]);
  }
  return result;
}

Result<Outcome> run(const check::CheckedProgram& checked,
                    std::span<const std::span<const std::byte>> inputs, const Options& options) {
  try {
    auto outcome = run_checked(checked, inputs, options);
    if (options.printed != nullptr) sort_lines(*options.printed);
    return outcome;
  } catch (const std::bad_alloc&) {
    return std::unexpected(error(ErrorCode::HostOutOfMemory,
                                 "the host has no memory left for the buffers and lanes of this "
                                 "dispatch. Fix: use smaller inputs or a smaller grid"));
  }
}

}  // namespace vyre::oracle
