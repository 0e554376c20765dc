// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/run.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "backend/cpu/bulk.hpp"
#include "base/errors.hpp"

namespace vyre::backend::cpu {

using namespace device;

Parts::Parts(Pool::Options pool_options, HostMemory::Options memory_options, uint64_t kept_bytes,
             bool exact_blocks)
    : blocks(kept_bytes),
      memory({.limit = memory_options.limit,
              .fresh_fill = memory_options.fresh_fill,
              .source = exact_blocks ? nullptr : &blocks}),
      pool(pool_options),
      helpers(pool.workers() - 1),
      helper_scratch(pool.workers() - 1) {
  for (size_t i = 0; i < helpers.size(); ++i) helpers[i].memory = &helper_scratch[i];
}

Run::Run(Parts& parts, const Submission& submission)
    : parts_(parts),
      submission_(submission),
      kept_(parts.spare.exchange(nullptr, std::memory_order_acq_rel)),
      job_(submission, self_, floating_point_) {
  if (!kept_) kept_ = std::make_unique<Kept>();
  parts.memory.refresh(kept_->lookups);
  if (const uint64_t now = parts.code.releases(); kept_->code_releases != now) {
    kept_->codes = {};
    kept_->codes_used = 0;
    kept_->code_releases = now;
  }
  self_.memory = &kept_->scratch;
  prepared_steps_.fill(kNoStep);
}

Run::~Run() {
  if (owns_pool_) parts_.pool.disown();
  delete parts_.spare.exchange(kept_.release(), std::memory_order_acq_rel);
}

void Run::on_step(const Step& step) {
  step_ = &step;
  if (std::holds_alternative<Transfer>(step)) stop_clock();
}

void Run::fill(std::span<std::byte> to, std::byte value) {
  bulk_fill(pool_for(bulk_ns(to.size())), to, value);
}

void Run::copy(std::span<std::byte> to, std::span<const std::byte> from) {
  bulk_copy(pool_for(bulk_ns(to.size())), to, from);
}

bool Run::differ(std::span<const std::byte> a, std::span<const std::byte> b) {
  return bulk_differ(pool_for(bulk_ns(a.size())), a, b);
}

Result<Timings> Run::launch(const Launch& launch, const Axes& grid, Completion& completion) {
  VYRE_TRY_ASSIGN(const auto prepared, prepare(launch, grid));
  std::optional<Error> failed;
  run(*prepared, completion, failed);
  if (failed) return std::unexpected(std::move(*failed));
  return Timings{.device_ns = 0};  // see device_ns()
}

bool Run::launch_again(uint32_t step, Completion& completion, std::optional<Error>& error) {
  const uint32_t slot = step % kPrepared;
  if (prepared_steps_[slot] != step) return false;
  const PreparedLaunch& launch = prepared_[slot];
  step_ = &submission_.steps[step];
  if (!launch.at_once || !clock_runs_) {
    run(launch, completion, error);
    return true;
  }
  const LaunchJob::End end = job_.run_at_once(launch);
  if (end != LaunchJob::End::Done || job_.has_stop()) [[unlikely]]
    take_end(end, launch, completion, error);
  return true;
}

uint64_t Run::device_ns() {
  stop_clock();
  return device_ns_;
}

// The helpers, if the work is worth it and no other submission has them.
Pool* Run::pool_for(uint64_t work_ns) {
  if (work_ns < kAloneNs) return nullptr;
  owns_pool_ = owns_pool_ || parts_.pool.try_own();
  return owns_pool_ ? &parts_.pool : nullptr;
}

void Run::start_clock() {
  if (std::exchange(clock_runs_, true)) return;
  clock_start_ = Clock::now();
}

void Run::stop_clock() {
  if (!std::exchange(clock_runs_, false)) return;
  device_ns_ += static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - clock_start_).count());
}

void Run::run(const PreparedLaunch& launch, Completion& completion, std::optional<Error>& failed) {
  start_clock();
  LaunchJob::End end{};
  if (launch.at_once) {
    end = job_.run_at_once(launch);
  } else if (Pool* const pool = pool_for(launch.work_ns)) {
    const LaunchJob::Crew crew{
        .pool = *pool, .helpers = parts_.helpers, .number = ++parts_.launches};
    end = job_.run(launch, &crew);
  } else {
    end = job_.run(launch, nullptr);
  }
  if (end != LaunchJob::End::Done || job_.has_stop()) [[unlikely]]
    take_end(end, launch, completion, failed);
}

void Run::take_end(LaunchJob::End end, const PreparedLaunch& launch, Completion& completion,
                   std::optional<Error>& failed) {
  if (end != LaunchJob::End::Done) {
    failed = ended(end, *launch.kernel);
  } else {
    const KernelStop stop = job_.stop();
    if (stop.kind == KernelStop::Kind::None) return;
    if (auto ok = stopped(stop, *launch.kernel, completion); !ok) failed = std::move(ok.error());
  }
}

// ---- what a launch needs, looked up once for each of a submission

void Run::forget() {
  prepared_steps_.fill(kNoStep);
  argument_bytes_used_ = 0;
}

const KernelCode* Run::code_of(Handle pipeline) {
  for (uint32_t i = 0; i < kept_->codes_used; ++i)
    if (kept_->codes[i].pipeline == pipeline) return kept_->codes[i].code.get();
  if (kept_->codes_used == Kept::kCodes) {
    forget();
    kept_->codes_used = 0;
  }
  auto code = parts_.code.find(pipeline);
  if (!code) return nullptr;
  Kept::Code& kept = kept_->codes[kept_->codes_used++];
  kept = {pipeline, std::move(code)};
  return kept.code.get();
}

Result<const PreparedLaunch*> Run::prepare(const Launch& launch, const Axes& grid) {
  const KernelCode* const code = code_of(launch.pipeline);
  if (code == nullptr || launch.entry >= code->kernels.size())
    return std::unexpected(
        error(ErrorCode::Internal, fmt::format("a launch of entry {} of handle {}, which there is "
                                               "not. Fix: report this as a bug of the driver",
                                               launch.entry, launch.pipeline.value)));
  const Kernel& kernel = code->kernels[launch.entry];
  const uint64_t groups = uint64_t{grid[0]} * grid[1] * grid[2];
  VYRE_TRY_ASSIGN(const auto args, bind(kernel, launch, grid, groups));
  const uint64_t lanes = uint64_t{launch.workgroup[0]} * launch.workgroup[1] * launch.workgroup[2];
  const auto step = static_cast<uint32_t>(step_ - submission_.steps.data());
  PreparedLaunch& prepared = prepared_[step % kPrepared];
  prepared = PreparedLaunch(kernel, args, groups, lanes);
  prepared_steps_[step % kPrepared] = launch.grid_from ? kNoStep : step;
  return &prepared;
}

Result<const KernelArgs*> Run::bind(const Kernel& kernel, const Launch& launch, const Axes& grid,
                                    uint64_t groups) {
  const size_t count = kernel.arguments.size();
  if (launch.arguments.size() != count || count > kMaxBindings)
    return std::unexpected(argument_count_error(kernel.entry, launch.arguments.size(), count));
  const size_t bytes = sizeof(KernelArgs) + count * sizeof(KernelBinding);
  if (bytes > sizeof(argument_bytes_) - argument_bytes_used_) forget();
  std::byte* const at = argument_bytes_ + argument_bytes_used_;
  const auto* const args =
      new (at) KernelArgs{.grid = {grid[0], grid[1], grid[2]}, .stream_bytes = parts_.stream_bytes};
  for (size_t i = 0; i < count; ++i) {
    const Region& r = launch.arguments[i];
    const KernelArgument& a = kernel.arguments[i];
    std::byte* address = nullptr;
    bool inside = true;
    if (r.bytes != 0) {
      const std::span<std::byte> all = memory(r.buffer);
      inside = r.offset <= all.size() && r.bytes <= all.size() - r.offset;
      address = all.data() + r.offset;
    }
    if (!inside || !fits(a, r, reinterpret_cast<uintptr_t>(address), groups))
      return std::unexpected(misfit_error(kernel.entry, i, a, r, memory(r.buffer).size()));
    if (too_long(a, r))
      return std::unexpected(too_long_error(kernel.entry, i, a, r, parts_.device));
    new (at + sizeof(KernelArgs) + i * sizeof(KernelBinding))
        KernelBinding{.address = address, .length = length_of(a, r)};
  }
  // Those of a launch whose grid is read each time are written anew each time.
  if (!launch.grid_from) argument_bytes_used_ += bytes;
  return args;
}

Error Run::ended(LaunchJob::End end, const Kernel& kernel) {
  if (end == LaunchJob::End::NoMemory)
    return error(ErrorCode::HostOutOfMemory,
                 fmt::format("the host has no {} bytes left for `{}` to work with. Fix: use "
                             "smaller inputs or smaller workgroups",
                             kernel.info.scratch_bytes, kernel.entry.name));
  const auto site = job_.loop_site();
  if (site && kernel.explain)
    return kernel.explain(kernel.number, {.kind = KernelStop::Kind::Loop, .site = *site});
  if (end == LaunchJob::End::Cancelled) return cancelled_error();
  return out_of_time_error(static_cast<uint64_t>(step_ - submission_.steps.data()),
                           submission_.steps.size());
}

Result<void> Run::stopped(const KernelStop& stop, const Kernel& kernel, Completion& completion) {
  if (!kernel.entry.whole && completion.lane_stop && completion.lane_stop->lane <= stop.lane)
    return {};
  Error why = explain_stop(kernel.explain, kernel.entry, kernel.number, stop);
  if (kernel.entry.whole) return std::unexpected(std::move(why));
  completion.lane_stop = {.lane = stop.lane, .error = std::move(why)};
  return {};
}

}  // namespace vyre::backend::cpu
