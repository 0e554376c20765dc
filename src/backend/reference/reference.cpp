// SPDX-License-Identifier: Apache-2.0
#include "vyre/backend/reference.hpp"

#include <chrono>
#include <new>

#include <fmt/format.h>

#include "backend/reference/launch.hpp"
#include "base/errors.hpp"
#include "device/host_memory.hpp"
#include "device/host_steps.hpp"
#include "device/time_counter.hpp"
#include "vyre/check/launch.hpp"

namespace vyre::backend {

using namespace device;

namespace {

constexpr std::byte kScribble{0xA5};

class Reference : public Backend {
 public:
  explicit Reference(ReferenceOptions options)
      : Backend(reference_info(options)),
        options_(std::move(options)),
        memory_({.limit = options_.memory_limit, .fresh_fill = kScribble}) {}

 private:
  using Kernels = std::vector<Kernel>;

  class Run : public HostDevice {
   public:
    Run(Reference& backend, const Submission& submission)
        : backend_(backend), submission_(submission), work_(backend.memory_) {}

    std::span<std::byte> memory(Handle buffer) override { return work_.find(buffer); }

    Result<Timings> launch(const Launch& launch, const Axes& grid,
                           Completion& completion) override {
      const auto kernels = backend_.code_.find(launch.pipeline);
      if (!kernels || launch.entry >= kernels->size())
        return std::unexpected(error(
            ErrorCode::Internal, fmt::format("a launch of entry {} of handle {}, which there is "
                                             "not. Fix: report this as a bug of the driver",
                                             launch.entry, launch.pipeline.value)));
      const Kernel& kernel = (*kernels)[launch.entry];
      if (auto ok =
              check_residency(launch, grid, backend_.options_.resident_groups, backend_.info());
          !ok)
        return std::unexpected(ok.error());
      VYRE_TRY_ASSIGN(auto arguments, regions(kernel, launch));
      const auto begin = std::chrono::steady_clock::now();
      const LaunchRequest request{.kernel = kernel,
                                  .launch = launch,
                                  .grid = grid,
                                  .arguments = std::move(arguments),
                                  .submission = submission_,
                                  .options = backend_.options_};
      VYRE_TRY(run_launch(request, completion));
      const auto taken = std::chrono::duration_cast<std::chrono::nanoseconds>(
          std::chrono::steady_clock::now() - begin);
      return Timings{.device_ns = static_cast<uint64_t>(taken.count())};
    }

   private:
    Result<std::vector<std::span<std::byte>>> regions(const Kernel& kernel, const Launch& launch) {
      std::vector<std::span<std::byte>> arguments;
      for (const Region& r : launch.arguments) {
        const std::span<std::byte> all = work_.find(r.buffer);
        if (r.offset > all.size() || r.bytes > all.size() - r.offset)
          return std::unexpected(
              error(ErrorCode::Internal,
                    fmt::format("argument {} of `{}` is {} bytes at {} of handle {}, which has {} "
                                "bytes. Fix: report this as a bug of the driver",
                                arguments.size(), kernel.entry.name, r.bytes, r.offset,
                                r.buffer.value, all.size())));
        arguments.push_back(all.subspan(r.offset, r.bytes));
      }
      return arguments;
    }

    Reference& backend_;
    const Submission& submission_;
    HostMemory::Work work_;
  };

  Result<Allocated> do_allocate(const Allocation& wanted) override {
    return memory_.allocate(wanted, info());
  }
  void do_release(Handle handle) noexcept override {
    if (!memory_.release(handle)) code_.release(handle);
  }
  Result<void> do_transfer(std::span<const Transfer> transfers) override {
    const Submission none;
    Run run(*this, none);
    return run_transfers(transfers, run);
  }

  Result<Loaded> do_load(const Artifact& artifact) override {
    const TimeCounter::Scope loading(load_time_);
    Kernels kernels;
    for (size_t i = 0; i < artifact.entries.size(); ++i) {
      const Entry& entry = artifact.entries[i];
      const auto source = i < artifact.programs.size() ? artifact.programs[i] : nullptr;
      if (!source || (entry.whole && entry.barriers_inside && !options_.whole_programs))
        return std::unexpected(
            error(ErrorCode::CompileFailed,
                  fmt::format("`{}` for device `{}` {}. Fix: report this as a bug of the driver",
                              entry.name, info().id,
                              source ? "is a whole program, which it does not take"
                                     : "comes without its program")));
      kernels.push_back({.entry = entry,
                         .source = source,
                         .code = oracle::compile(*source->program, source->live)});
    }
    Loaded loaded{.handle = memory_.new_handle(),
                  .max_resident_groups =
                      std::vector<uint64_t>(artifact.entries.size(), options_.resident_groups),
                  .native = {}};
    code_.add(loaded.handle, std::move(kernels));
    return loaded;
  }

  Result<Ticket> do_submit(const Submission& submission) override {
    Result<Completion> result;
    result->timings.device_ns = 0;
    try {
      Run run(*this, submission);
      if (auto ok = run_steps(submission, info(), run, *result); !ok)
        result = std::unexpected(std::move(ok.error()));
    } catch (const std::bad_alloc&) {
      result =
          std::unexpected(error(ErrorCode::HostOutOfMemory,
                                "the host has no memory left for the lanes of this dispatch. Fix: "
                                "use smaller inputs or a smaller grid"));
    }
    if (!options_.resident_buffers) memory_.scribble(kScribble);
    return finished_.add(std::move(result));
  }
  Result<Completion> do_wait(Ticket ticket, Deadline) override { return finished_.take(ticket); }

  Result<void> do_recover() override {
    memory_.clear();
    code_.clear();
    finished_.clear();
    return {};
  }
  [[nodiscard]] Metrics do_metrics() const override {
    Metrics metrics = memory_.metrics();
    metrics.load_ns = load_time_.ns();
    return metrics;
  }

  const ReferenceOptions options_;
  HostMemory memory_;
  HostCode<Kernels> code_;
  FinishedWork finished_;
  TimeCounter load_time_;
};

}  // namespace

BackendInfo reference_info(const ReferenceOptions& options) {
  Capabilities c;
  c.subgroup_ops = c.subgroup_shuffle = c.f16_storage = c.bf16_storage = c.storage_8bit =
      c.storage_16bit = c.i64 = c.f64 = c.i64_atomics = c.f32_atomic_add = c.indirect =
          c.trap_propagation = c.mul_hi = c.strict_f32 = c.f32_subnormals = c.exact_fma =
              c.exact_division = c.exact_sqrt = c.exact_conversions = true;
  c.cooperative_grid_barrier = options.grid_barrier;
  c.device_loops = options.device_loops;
  c.whole_programs = options.whole_programs;
  c.resident_buffers = options.resident_buffers;
  c.host_split = options.host_split;
  // The language's own limits, or none.
  constexpr auto kGroups = static_cast<uint32_t>(check::kMaxWorkgroupsPerAxis);
  constexpr auto kLanes = static_cast<uint32_t>(check::kMaxLanes);
  c.max_workgroups = {kGroups, kGroups, kGroups};
  c.max_workgroup_size = {kLanes, kLanes, kLanes};
  c.max_invocations_per_workgroup = kLanes;
  c.shared_bytes = uint64_t{1} << 30;
  c.max_bindings = 1024;
  c.subgroup_size = options.subgroup_size;
  c.formats = {Format::Program};
  DeviceProfile profile;
  profile.name = options.name;
  profile.compute_units = 1;
  return {.id = options.id,
          .version = "1",
          .kind = Kind::Oracle,
          .capabilities = c,
          .profile = profile,
          .signature = "reference"};
}

Result<std::shared_ptr<Backend>> open_reference(ReferenceOptions options) {
  const uint32_t s = options.subgroup_size;
  if (s != 1 && s != 4 && s != 8 && s != 16 && s != 32)
    return std::unexpected(
        error(ErrorCode::InvalidArgument,
              fmt::format("a subgroup of {} lanes. Fix: use 1, 4, 8, 16 or 32", s)));
  return std::make_shared<Reference>(std::move(options));
}

}  // namespace vyre::backend
