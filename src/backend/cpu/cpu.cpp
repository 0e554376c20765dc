// SPDX-License-Identifier: Apache-2.0
#include "vyre/backend/cpu.hpp"

#include <algorithm>
#include <new>
#include <vector>

#include <fmt/format.h>

#include "backend/cpu/kernel_code.hpp"
#include "backend/cpu/processor.hpp"
#include "backend/cpu/run.hpp"
#include "backend/cpu/topology.hpp"
#include "base/errors.hpp"
#include "base/sanitizers.hpp"
#include "device/host_steps.hpp"
#include "device/kernel.hpp"
#include "device/time_counter.hpp"

namespace vyre::backend {

using namespace device;
using namespace cpu;

namespace {

uint64_t memory_limit(const CpuOptions& options) {
  return options.memory_limit != 0 ? options.memory_limit : available_memory() / 5 * 4;
}

uint64_t kept_memory() {
  return std::max(machine_topology().memory_bytes / 8, uint64_t{256} << 20);
}

class Cpu : public Backend {
 public:
  explicit Cpu(const CpuOptions& options)
      : Backend(cpu_info(options)),
        parts_({.workers = info().profile.compute_units, .spin = options.spin},
               {.limit = memory_limit(options), .fresh_fill = options.fresh_fill}, kept_memory(),
               base::kAddressSanitizer) {
    parts_.device = info().id;
    const uint64_t caches = machine_topology().l2_total;
    if (caches != 0) parts_.stream_bytes = 2 * caches;
  }

 private:
  Result<Allocated> do_allocate(const Allocation& wanted) override {
    return parts_.memory.allocate(wanted, info());
  }
  void do_release(Handle handle) noexcept override {
    if (!parts_.memory.release(handle)) parts_.code.release(handle);
  }
  Result<void> do_transfer(std::span<const Transfer> transfers) override;
  Result<Loaded> do_load(const Artifact& artifact) override;
  Result<Ticket> do_submit(const Submission& submission) override;
  Result<Completion> do_wait(Ticket ticket, Deadline) override { return finished_.take(ticket); }
  Result<void> do_recover() override {
    parts_.memory.clear();
    parts_.blocks.trim();
    parts_.code.clear();
    finished_.clear();
    return {};
  }
  [[nodiscard]] Metrics do_metrics() const override;

  Parts parts_;
  FinishedWork finished_;
  TimeCounter load_time_;
};

Result<void> Cpu::do_transfer(std::span<const Transfer> transfers) {
  const Submission none;
  Run run(parts_, none);
  return run_transfers(transfers, run);
}

Metrics Cpu::do_metrics() const {
  Metrics metrics = parts_.memory.metrics();
  metrics.memory_kept_bytes = parts_.blocks.kept_bytes();
  metrics.load_ns = load_time_.ns();
  metrics.workers = parts_.pool.helpers() + 1;
  metrics.worker_wakes = parts_.pool.wakes();
  return metrics;
}

Result<Backend::Loaded> Cpu::do_load(const Artifact& artifact) {
  const TimeCounter::Scope loading(load_time_);
  VYRE_TRY_ASSIGN(auto code, load_kernels(artifact));
  Loaded loaded{.handle = parts_.memory.new_handle(),
                .max_resident_groups = std::vector<uint64_t>(artifact.entries.size(), ~uint64_t{0}),
                .native = {}};
  parts_.code.add(loaded.handle, std::move(code));
  return loaded;
}

Result<Ticket> Cpu::do_submit(const Submission& submission) {
  Result<Completion> result;
  result->timings.device_ns = 0;
  try {
    Run run(parts_, submission);
    if (auto ok = run_steps(submission, info(), run, *result); ok)
      result->timings.device_ns = run.device_ns();
    else
      result = std::unexpected(std::move(ok.error()));
  } catch (const std::bad_alloc&) {
    result = std::unexpected(error(ErrorCode::HostOutOfMemory,
                                   "the host has no memory left to run this dispatch. Fix: use "
                                   "smaller inputs or a smaller grid"));
  }
  return finished_.add(std::move(result));
}

}  // namespace

const char* why_no_cpu() {
  return kRunsObjects ? "" : "code is generated for x86-64 only";
}

namespace {

std::string_view architecture_of(CpuCode code) {
  switch (code) {
    case CpuCode::Plain: return {};
    case CpuCode::OtherShapes: return device::kOtherShapes;
    case CpuCode::CalledFunctions: return device::kCalledFunctions;
    case CpuCode::Cheap: return device::kCheapCode;
  }
  return {};
}

}  // namespace

BackendInfo cpu_info(const CpuOptions& options) {
  Capabilities c;
  c.subgroup_ops = c.subgroup_shuffle = c.f16_storage = c.bf16_storage = c.storage_8bit =
      c.storage_16bit = c.i64 = c.f64 = c.i64_atomics = c.f32_atomic_add = c.indirect =
          c.trap_propagation = c.mul_hi = c.strict_f32 = c.f32_subnormals = c.exact_fma =
              c.exact_division = c.exact_sqrt = c.exact_conversions = true;
  c.device_loops = c.resident_buffers = c.host_split = true;
  c.max_workgroup_size = {1024, 1024, 1024};
  c.max_invocations_per_workgroup = 1024;
  c.max_workgroups = {0x7FFF'FFFF, 0x7FFF'FFFF, 0x7FFF'FFFF};
  c.shared_bytes = uint64_t{256} << 10;                // what still stays close to a core
  c.storage_buffer_bytes = uint64_t{0xFFFF'FFFF} * 8;  // all elements that there are indices for
  c.max_bindings = kMaxBindings;
  c.subgroup_size = kCpuSubgroupSize;
  c.formats = {Format::Object};
  const Topology& machine = machine_topology();
  DeviceProfile profile;
  profile.name = machine.name;
  profile.compute_units = options.workers != 0 ? options.workers : usable_cores();
  profile.timing_quality = TimingQuality::DeviceTimestamps;  // its clock is the host's
  profile.code_lanes = 1 + 8 + 16 + 32 + 64;  // of a block (codegen/llvm/cpu/shape.cpp)
  return {.id = "cpu",
          .version = "1",
          .kind = Kind::Cpu,
          .capabilities = c,
          .profile = profile,
          .signature = fmt::format("x86_64 {}", machine.features),
          .architecture = std::string(architecture_of(options.code))};
}

Result<std::shared_ptr<Backend>> open_cpu(CpuOptions options) {
  if (!kRunsObjects)
    return std::unexpected(
        error(ErrorCode::Unavailable,
              fmt::format("device `cpu` cannot be used here: {}. Fix: use another device",
                          why_no_cpu())));
  return std::make_shared<Cpu>(options);
}

}  // namespace vyre::backend
