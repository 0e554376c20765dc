// SPDX-License-Identifier: Apache-2.0
#include "backend/reference/launch.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "oracle/machine.hpp"

namespace vyre::backend {

using device::Completion;
using device::EntryBinding;

namespace {

Error internal(const device::Entry& entry, std::string_view what) {
  return {.code = ErrorCode::Internal,
          .message = fmt::format("`{}`: {}. Fix: report this as a bug of the driver or the planner",
                                 entry.name, what),
          .context = {},
          .at = {},
          .diagnostics = {}};
}

class LaunchRun {
 public:
  LaunchRun(const LaunchRequest& request, Completion& completion)
      : r_(request),
        entry_(request.kernel.entry),
        program_(*request.kernel.source->program),
        completion_(completion) {}

  Result<void> run() {
    VYRE_TRY(fit());
    VYRE_TRY(set_options());
    if (entry_.whole) return run_whole();
    if (entry_.barriers_inside && !r_.launch.cooperative)
      return fail("has barriers over the grid and is not launched as a cooperative kernel");
    if (r_.launch.blocks == 0) return run_slice(0, launch_.workgroups());
    if (entry_.barriers_inside)
      return fail("has barriers over the grid, which blocks of several workgroups do not keep");
    return run_blocks();
  }

 private:
  std::unexpected<Error> fail(std::string_view what) const {
    return std::unexpected(internal(entry_, what));
  }

  // The program sees as many elements as there are bytes for.
  Result<void> fit() {
    const auto& buffers = program_.program.buffers;
    if (r_.arguments.size() != buffers.size() || entry_.bindings.size() != buffers.size())
      return fail(fmt::format("{} arguments for {} buffers", r_.arguments.size(), buffers.size()));
    launch_.workgroup = r_.launch.workgroup;
    launch_.grid = r_.grid;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const uint64_t size = bytes_of(buffers[i].element);
      const uint64_t bytes = r_.arguments[i].size();
      const auto constant = program_.buffers[i].constant_count;
      if (buffers[i].kind == ir::BufferKind::Shared) {
        launch_.counts.push_back(constant.value_or(0));
        continue;
      }
      if (bytes % size != 0 || bytes / size > check::kMaxElements ||
          (constant && *constant != bytes / size))
        return fail(fmt::format("{} bytes for buffer `{}` with elements of {} bytes", bytes,
                                buffers[i].name, size));
      launch_.counts.push_back(bytes / size);
    }
    for (size_t i = 0; i < entry_.bindings.size(); ++i) {
      const EntryBinding& binding = entry_.bindings[i];
      if (!binding.restore && !binding.save) continue;
      if (r_.arguments[i].size() < launch_.workgroups() * area_bytes(i))
        return fail(fmt::format("too few bytes to keep the shared memory `{}` of {} workgroups",
                                buffers[i].name, launch_.workgroups()));
    }
    return {};
  }

  Result<void> set_options() {
    const device::Submission& s = r_.submission;
    options_.schedule = r_.options.schedule;
    options_.seed = r_.options.seed + completion_.launches;
    options_.subgroup_size = r_.options.subgroup_size;
    options_.checked = s.checked;
    options_.memory_limit = r_.options.memory_limit;
    options_.cancel = s.cancel;
    if (s.deadline != device::kNoDeadline)  // a limit of 0 would be none
      options_.timeout = std::max(std::chrono::nanoseconds(1),
                                  std::chrono::duration_cast<std::chrono::nanoseconds>(
                                      s.deadline - std::chrono::steady_clock::now()));
    if (s.host == nullptr) return {};
    options_.on_progress = [host = s.host](const oracle::Progress& p) {
      host->progress(p.workgroups_done, p.workgroups);
    };
    options_.on_resume = [host = s.host](std::span<const TrapReport> reports,
                                         HandlerBuffers& buffers) {
      return host->resume(reports, buffers);
    };
    return {};
  }

  Result<void> run_whole() {
    PrintReport printed;
    device::HostServices* const host = r_.submission.host;
    options_.print_bytes = host != nullptr ? host->print_bytes() : 0;
    if (options_.print_bytes != 0) options_.printed = &printed;
    oracle::Machine machine(program_, r_.kernel.code, launch_, options_, r_.arguments);
    const Result<void> ran = machine.run_pass();
    if (options_.print_bytes != 0) host->printed(std::move(printed));
    VYRE_TRY(ran);
    oracle::Outcome totals = machine.take_totals();
    if (!completion_.whole) completion_.whole.emplace();
    device::WholeReport& whole = *completion_.whole;
    whole.phases += totals.phases;
    whole.statements += totals.statements;
    whole.fixpoints.insert(whole.fixpoints.end(), totals.fixpoints.begin(), totals.fixpoints.end());
    whole.resumed.insert(whole.resumed.end(), totals.resumed.begin(), totals.resumed.end());
    return {};
  }

  [[nodiscard]] uint64_t area_bytes(size_t buffer) const {
    return launch_.counts[buffer] * bytes_of(program_.program.buffers[buffer].element);
  }
  // Where a workgroup keeps shared memory between launches, and where it is while it runs.
  [[nodiscard]] std::span<std::byte> kept(size_t buffer, uint64_t group) const {
    return r_.arguments[buffer].subspan(group * area_bytes(buffer), area_bytes(buffer));
  }
  [[nodiscard]] std::span<std::byte> used(size_t buffer, std::span<std::byte> shared) const {
    return shared.subspan(r_.kernel.code.memories[buffer].offset, area_bytes(buffer));
  }

  Result<void> run_slice(uint64_t first, uint64_t count) {
    oracle::Slice slice;
    slice.first = first;
    slice.count = count;
    slice.agreed = r_.kernel.source->agreed;
    slice.all_arrive = entry_.barriers_inside;
    slice.on_start = [this](uint64_t group, std::span<std::byte> shared) {
      for (size_t i = 0; i < entry_.bindings.size(); ++i)
        if (entry_.bindings[i].restore) std::ranges::copy(kept(i, group), used(i, shared).begin());
    };
    slice.on_end = [this](uint64_t group, std::span<std::byte> shared) {
      for (size_t i = 0; i < entry_.bindings.size(); ++i)
        if (entry_.bindings[i].save) std::ranges::copy(used(i, shared), kept(i, group).begin());
    };
    oracle::Machine machine(program_, r_.kernel.code, launch_, options_, r_.arguments,
                            std::move(slice));
    Result<void> done = machine.run_pass();
    if (machine.disagreements() != 0) return fail("lanes disagree about a uniform value");
    if (machine.missed_barriers() != 0)
      return fail("a lane ends while others wait for it at a barrier");
    if (done || !machine.stopped()) return done;
    const uint32_t lane = machine.stopped()->lane;
    if (!completion_.lane_stop || lane < completion_.lane_stop->lane)
      completion_.lane_stop = {.lane = lane, .error = std::move(done.error())};
    return {};
  }

  // Each block runs all workgroups of its share one after the other, forward and backward
  // alternately.
  Result<void> run_blocks() {
    const uint64_t groups = launch_.workgroups();
    const uint64_t blocks = std::min(r_.launch.blocks, groups);
    const bool backward = completion_.launches % 2 == 1;
    for (uint64_t b = 0; b < blocks; ++b) {
      const uint64_t block = options_.schedule == oracle::Schedule::Reversed ? blocks - 1 - b : b;
      const uint64_t share = (groups - block + blocks - 1) / blocks;
      for (uint64_t k = 0; k < share; ++k) {
        const uint64_t group = block + (backward ? share - 1 - k : k) * blocks;
        VYRE_TRY(run_slice(group, 1));
      }
    }
    return {};
  }

  const LaunchRequest& r_;
  const device::Entry& entry_;
  const check::CheckedProgram& program_;
  Completion& completion_;
  check::Launch launch_;
  oracle::Options options_;
};

}  // namespace

Result<void> run_launch(const LaunchRequest& request, Completion& completion) {
  return LaunchRun(request, completion).run();
}

}  // namespace vyre::backend
