// SPDX-License-Identifier: Apache-2.0
#include "vyre/backend/cpu.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <vector>

#include <fmt/format.h>

#include "backend/cpu/block_pool.hpp"
#include "backend/cpu/bulk.hpp"
#include "backend/cpu/kernel_code.hpp"
#include "backend/cpu/launch.hpp"
#include "backend/cpu/pool.hpp"
#include "backend/cpu/processor.hpp"
#include "backend/cpu/topology.hpp"
#include "device/host_memory.hpp"
#include "device/host_steps.hpp"

namespace vyre::backend {

using namespace device;
using namespace cpu;

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kExactBlocks = true;
#elif defined(__has_feature)
constexpr bool kExactBlocks = __has_feature(address_sanitizer);
#else
constexpr bool kExactBlocks = false;
#endif

constexpr uint32_t kMaxBindings = 1024;

Error error(ErrorCode code, std::string message) {
  return {.code = code, .message = std::move(message), .context = {}, .at = {}, .diagnostics = {}};
}

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
        blocks_(kept_memory()),
        memory_({.limit = memory_limit(options),
                 .fresh_fill = options.fresh_fill,
                 .source = kExactBlocks ? nullptr : &blocks_}),
        pool_({.workers = info().profile.compute_units, .spin = options.spin}),
        helpers_(pool_.workers() - 1),
        helper_scratch_(pool_.workers() - 1) {
    for (size_t i = 0; i < helpers_.size(); ++i) helpers_[i].memory = &helper_scratch_[i];
    const uint64_t caches = machine_topology().l2_total;
    if (caches != 0) stream_bytes_ = 2 * caches;
  }
  ~Cpu() override { delete spare_.load(std::memory_order_relaxed); }

 private:
  class Run;

  Result<Handle> do_allocate(uint64_t bytes, Memory kind) override {
    return memory_.allocate(bytes, kind, info());
  }
  void do_release(Handle handle) noexcept override {
    if (!memory_.release(handle)) code_.release(handle);
  }
  Result<void> do_transfer(std::span<const Transfer> transfers) override;
  Result<Loaded> do_load(const Artifact& artifact) override;
  Result<Ticket> do_submit(const Submission& submission) override;
  Result<Completion> do_wait(Ticket ticket, Deadline) override { return finished_.take(ticket); }
  Result<void> do_recover() override {
    memory_.clear();
    blocks_.trim();
    code_.clear();
    finished_.clear();
    return {};
  }

  BlockPool blocks_;
  HostMemory memory_;
  HostCode<KernelCode> code_;
  FinishedWork finished_;
  uint64_t stream_bytes_ = ~uint64_t{0};
  // Of a caller that has none; one is enough unless several threads submit at once.
  std::atomic<Scratch*> spare_ = nullptr;

  Pool pool_;
  // Whoever owns the pool owns these.
  std::vector<Worker> helpers_;
  std::vector<Scratch> helper_scratch_;
  uint64_t launches_ = 0;
};

// The work of one thread that submits.
class Cpu::Run : public HostDevice {
 public:
  Run(Cpu& backend, const Submission& submission)
      : backend_(backend), submission_(submission), work_(backend.memory_) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() override {
    if (owns_pool_) backend_.pool_.disown();
    if (scratch_ != nullptr) delete backend_.spare_.exchange(scratch_, std::memory_order_acq_rel);
  }

  std::span<std::byte> memory(Handle buffer) override { return work_.find(buffer); }
  void on_step(const Step& step) override { step_ = &step; }

  void fill(std::span<std::byte> to, std::byte value) override {
    bulk_fill(pool_for(bulk_ns(to.size())), to, value);
  }
  void copy(std::span<std::byte> to, std::span<const std::byte> from) override {
    bulk_copy(pool_for(bulk_ns(to.size())), to, from);
  }
  bool differ(std::span<const std::byte> a, std::span<const std::byte> b) override {
    return bulk_differ(pool_for(bulk_ns(a.size())), a, b);
  }

  Result<Timings> launch(const Launch& launch, const Axes& grid, Completion& completion) override {
    if (launch.pipeline != pipeline_) {
      code_ = backend_.code_.find(launch.pipeline);
      pipeline_ = launch.pipeline;
    }
    if (!code_ || launch.entry >= code_->kernels.size())
      return std::unexpected(error(ErrorCode::Internal,
                                   fmt::format("a launch of entry {} of handle {}, which there is "
                                               "not. Fix: report this as a bug of the driver",
                                               launch.entry, launch.pipeline.value)));
    const Kernel& kernel = code_->kernels[launch.entry];
    const uint64_t groups = uint64_t{grid[0]} * grid[1] * grid[2];
    if (auto ok = bind(kernel, launch, grid, groups); !ok) return std::unexpected(ok.error());
    if (kernel.info.scratch_bytes != 0 && scratch_ == nullptr) take_scratch();
    const uint64_t lanes =
        uint64_t{launch.workgroup[0]} * launch.workgroup[1] * launch.workgroup[2];
    LaunchJob::Request request{.kernel = kernel,
                               .args = *args(),
                               .submission = submission_,
                               .groups = groups,
                               .lanes = lanes,
                               .caller = &floating_point_};
    const auto begin = std::chrono::steady_clock::now();
    if (groups > 1) request.pool = pool_for(LaunchJob::expected_ns(kernel, groups, lanes));
    if (request.pool != nullptr) {
      request.number = ++backend_.launches_;
      request.helpers = backend_.helpers_;
    }
    LaunchJob job(request);
    const LaunchJob::End end = job.run(self_);
    const auto taken = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::steady_clock::now() - begin);
    if (end != LaunchJob::End::Done) return std::unexpected(ended(end, job, kernel));
    if (const KernelStop stop = job.stop(self_); stop.kind != KernelStop::Kind::None)
      if (auto ok = stopped(stop, kernel, completion); !ok) return std::unexpected(ok.error());
    return Timings{.device_ns = static_cast<uint64_t>(taken.count())};
  }

 private:
  // The helpers, if the work is worth it and nobody else has them.
  Pool* pool_for(uint64_t work_ns) {
    if (work_ns < kAloneNs) return nullptr;
    owns_pool_ = owns_pool_ || backend_.pool_.try_own();
    return owns_pool_ ? &backend_.pool_ : nullptr;
  }

  KernelArgs* args() { return reinterpret_cast<KernelArgs*>(argument_bytes_); }

  Result<void> bind(const Kernel& kernel, const Launch& launch, const Axes& grid, uint64_t groups) {
    const size_t count = kernel.arguments.size();
    if (launch.arguments.size() != count || count > kMaxBindings)
      return std::unexpected(
          error(ErrorCode::Internal,
                fmt::format("{} arguments for {} buffers of `{}`. Fix: report this as a bug of the "
                            "driver",
                            launch.arguments.size(), count, kernel.entry.name)));
    new (argument_bytes_)
        KernelArgs{.grid = {grid[0], grid[1], grid[2]}, .stream_bytes = backend_.stream_bytes_};
    for (size_t i = 0; i < count; ++i) {
      const Region& r = launch.arguments[i];
      const Kernel::Argument& a = kernel.arguments[i];
      std::byte* address = nullptr;
      bool fits = true;
      if (r.bytes != 0) {
        const std::span<std::byte> all = work_.find(r.buffer);
        fits = r.offset <= all.size() && r.bytes <= all.size() - r.offset;
        address = all.data() + r.offset;
      }
      const uint64_t length = r.bytes >> a.element_shift;
      fits = fits && length << a.element_shift == r.bytes &&
             reinterpret_cast<uintptr_t>(address) % kBindingAlign == 0 &&
             (a.count == Kernel::Argument::kAnyCount || a.count == length) &&
             (a.shared ? r.bytes / groups >= a.kept_bytes : length <= UINT32_MAX);
      if (!fits) return std::unexpected(misfit(kernel, i, r));
      if (!a.shared && length > kMostKernelElements)
        return std::unexpected(error(
            ErrorCode::LimitExceeded,
            fmt::format("buffer `{}` has {} elements, and device `{}` takes {}. Fix: use a shorter "
                        "one",
                        kernel.entry.program->program.buffers[i].name, length, backend_.info().id,
                        kMostKernelElements)));
      new (argument_bytes_ + sizeof(KernelArgs) + i * sizeof(KernelBinding))
          KernelBinding{.address = address,
                        .length = static_cast<uint32_t>(std::min<uint64_t>(length, UINT32_MAX))};
    }
    return {};
  }

  Error misfit(const Kernel& kernel, size_t argument, const Region& r) {
    return error(
        ErrorCode::Internal,
        fmt::format(
            "argument {} of `{}` is {} bytes at {} of handle {}, which has {} "
            "bytes; it wants elements of {} bytes at a multiple of {}{}. Fix: "
            "report this as a bug of the driver",
            argument, kernel.entry.name, r.bytes, r.offset, r.buffer.value,
            work_.find(r.buffer).size(), 1U << kernel.arguments[argument].element_shift,
            kBindingAlign,
            kernel.arguments[argument].shared ? ", as many as all its workgroups keep" : ""));
  }

  void take_scratch() {
    scratch_ = backend_.spare_.exchange(nullptr, std::memory_order_acq_rel);
    if (scratch_ == nullptr) scratch_ = new Scratch;
    self_.memory = scratch_;
  }

  Error ended(LaunchJob::End end, const LaunchJob& job, const Kernel& kernel) {
    if (end == LaunchJob::End::NoMemory)
      return error(ErrorCode::HostOutOfMemory,
                   fmt::format("the host has no {} bytes left for `{}` to work with. Fix: use "
                               "smaller inputs or smaller workgroups",
                               kernel.info.scratch_bytes, kernel.entry.name));
    const auto site = job.loop_site(self_);
    if (site && kernel.entry.explain)
      return kernel.entry.explain({.kind = KernelStop::Kind::Loop, .site = *site});
    if (end == LaunchJob::End::Cancelled) return cancelled_error();
    return out_of_time_error(static_cast<uint64_t>(step_ - submission_.steps.data()),
                             submission_.steps.size());
  }

  static Result<void> stopped(const KernelStop& stop, const Kernel& kernel,
                              Completion& completion) {
    if (!kernel.entry.whole && completion.lane_stop && completion.lane_stop->lane <= stop.lane)
      return {};
    Error why = kernel.entry.explain
                    ? kernel.entry.explain(stop)
                    : error(ErrorCode::Internal,
                            fmt::format("lane {} of `{}` stopped at site {}, which nobody can "
                                        "explain. Fix: report this as a bug of the code generator",
                                        stop.lane, kernel.entry.name, stop.site));
    if (kernel.entry.whole) return std::unexpected(std::move(why));
    completion.lane_stop = {.lane = stop.lane, .error = std::move(why)};
    return {};
  }

  static constexpr uint64_t kBindingAlign = 256;

  Cpu& backend_;
  const Submission& submission_;
  HostMemory::Work work_;
  const Step* step_ = nullptr;
  Handle pipeline_;
  std::shared_ptr<const KernelCode> code_;
  bool owns_pool_ = false;
  Scratch* scratch_ = nullptr;
  KernelFloatingPoint floating_point_;
  Worker self_;
  // KernelArgs and its bindings; only what a launch uses is ever written.
  alignas(64) std::byte argument_bytes_[sizeof(KernelArgs) + kMaxBindings * sizeof(KernelBinding)];
};

Result<void> Cpu::do_transfer(std::span<const Transfer> transfers) {
  const Submission none;
  Run run(*this, none);
  return run_transfers(transfers, run);
}

Result<Backend::Loaded> Cpu::do_load(const Artifact& artifact) {
  auto code = load_kernels(artifact);
  if (!code) return std::unexpected(std::move(code.error()));
  Loaded loaded{.handle = memory_.new_handle(),
                .max_resident_groups = std::vector<uint64_t>(artifact.entries.size(), ~uint64_t{0}),
                .native = {}};
  code_.add(loaded.handle, std::move(*code));
  return loaded;
}

Result<Ticket> Cpu::do_submit(const Submission& submission) {
  Result<Completion> result;
  result->timings.device_ns = 0;
  try {
    Run run(*this, submission);
    if (auto ok = run_steps(submission, info(), run, *result); !ok)
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
  c.native_integer_bits = 64;
  c.formats = {Format::Object};
  const Topology& machine = machine_topology();
  DeviceProfile profile;
  profile.name = machine.name;
  profile.compute_units = options.workers != 0 ? options.workers : usable_cores();
  profile.l1_bytes = machine.l1_bytes;
  profile.l2_bytes = machine.l2_bytes;
  profile.timing_quality = TimingQuality::DeviceTimestamps;  // its clock is the host's
  profile.preferred_vector_width = kCpuSubgroupSize;
  return {.id = "cpu",
          .version = "1",
          .kind = Kind::Cpu,
          .capabilities = c,
          .profile = profile,
          .signature = fmt::format("x86_64 {}", machine.features)};
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
