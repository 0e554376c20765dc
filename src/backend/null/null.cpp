// SPDX-License-Identifier: Apache-2.0
#include "vyre/backend/null.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <memory_resource>
#include <mutex>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "base/match.hpp"
#include "device/host_memory.hpp"
#include "device/host_steps.hpp"
#include "vyre/device/registry.hpp"

namespace vyre::backend {

using namespace device;
using CallKind = NullCall::Kind;

namespace {

constexpr std::byte kScribble{0xA5};

}  // namespace

BackendInfo null_info() {
  Capabilities c;
  c.subgroup_ops = c.subgroup_shuffle = c.f16_storage = c.bf16_storage = c.storage_8bit =
      c.storage_16bit = c.i64 = c.f64 = c.i64_atomics = c.f32_atomic_add = c.indirect =
          c.cooperative_grid_barrier = c.device_loops = c.resident_buffers = c.trap_propagation =
              c.mul_hi = c.strict_f32 = c.f32_subnormals = c.exact_fma = c.exact_division =
                  c.exact_sqrt = c.exact_conversions = true;
  c.max_workgroup_size = {1024, 1024, 64};
  c.max_invocations_per_workgroup = 1024;
  c.max_workgroups = {0x7FFF'FFFF, 65535, 65535};
  c.shared_bytes = 48 << 10;
  c.max_bindings = 64;
  c.subgroup_size = 32;
  c.formats = {Format::Program};
  DeviceProfile profile;
  profile.name = "null (runs nothing)";
  return {.id = "null",
          .version = "1",
          .kind = Kind::Null,
          .capabilities = c,
          .profile = profile,
          .signature = "null"};
}

std::string_view name_of(NullCall::Kind kind) {
  switch (kind) {
    case CallKind::Allocate: return "allocate";
    case CallKind::Release: return "release";
    case CallKind::Write: return "write";
    case CallKind::Read: return "read";
    case CallKind::Load: return "load";
    case CallKind::Submit: return "submit";
    case CallKind::Launch: return "launch";
    case CallKind::Copy: return "copy";
    case CallKind::Fill: return "fill";
    case CallKind::SetWord: return "set_word";
    case CallKind::Compare: return "compare";
    case CallKind::Exit: return "exit";
    case CallKind::Wait: return "wait";
    case CallKind::Recover: return "recover";
  }
  VYRE_CHECK(false && "a NullCall::Kind outside its enumeration");
}

// Declared by the list of backends that the build writes.
BackendDescriptor null_descriptor() {
  return {.id = "null",
          .kind = Kind::Null,
          .rank = 2000,
          .dispatches = false,
          .features = {"records what it is asked to do", "fails where a test wants it"},
          .acquisition_cost_us = 1,
          .enumerate =
              [] {
                BackendInfo info = null_info();
                return std::vector<DeviceFacts>{{.id = std::move(info.id),
                                                 .capabilities = info.capabilities,
                                                 .profile = std::move(info.profile)}};
              },
          .open = [](uint32_t) -> Result<std::shared_ptr<Backend>> { return open_null(); },
          .site = __FILE__};
}

// ---- what it remembers

struct NullBackend::State {
  struct Kernel {
    Entry entry;
    std::shared_ptr<const InterpretedProgram> program;
  };
  using Kernels = std::vector<Kernel>;  // by entry
  struct Fault {
    std::optional<CallKind> kind;  // any
    uint64_t left = 0;             // calls until it strikes
    Error error;
  };

  explicit State(NullOptions o)
      : options(std::move(o)),
        memory({.limit = options.memory_limit, .fresh_fill = options.fresh_fill}) {}

  // One more call that can fail.
  Result<void> call(CallKind kind, std::optional<CallKind> also = {}) {
    calls.fetch_add(1, std::memory_order_relaxed);
    if (!has_faults.load(std::memory_order_acquire)) return {};
    const std::scoped_lock lock(mutex);
    std::optional<Error> struck;
    for (Fault& fault : faults) {
      if (fault.kind && fault.kind != kind && fault.kind != also) continue;
      if (fault.left-- == 0) struck = fault.error;
    }
    std::erase_if(faults, [](const Fault& fault) { return fault.left == ~uint64_t{0}; });
    has_faults.store(!faults.empty(), std::memory_order_release);
    if (struck) return std::unexpected(std::move(*struck));
    return {};
  }
  void add_fault(Fault fault) {
    const std::scoped_lock lock(mutex);
    faults.push_back(std::move(fault));
    has_faults.store(true, std::memory_order_release);
  }
  void write_down(CallKind kind, Handle handle = {}, uint64_t offset = 0, uint64_t bytes = 0) {
    if (!options.record) return;
    const std::scoped_lock lock(mutex);
    try {
      record.push_back({.kind = kind, .handle = handle, .offset = offset, .bytes = bytes});
    } catch (const std::bad_alloc&) {
      return;  // the work is not to fail, nor to lose what it made, because of its record
    }
  }
  void write_down(CallKind kind, const Region& r) { write_down(kind, r.buffer, r.offset, r.bytes); }

  // Work that starts when a thread waits for it. The caller's lists may be gone by then.
  struct Later {
    explicit Later(const Submission& given)
        : submission(given), steps(given.steps.begin(), given.steps.end()) {
      for (Step& step : steps)
        if (auto* const launch = std::get_if<Launch>(&step)) {
          arguments.emplace_back(launch->arguments.begin(), launch->arguments.end());
          launch->arguments = arguments.back();
        }
      submission.steps = steps;
    }
    uint64_t ticket = 0;
    Submission submission;
    std::vector<Step> steps;
    std::deque<std::vector<Region>> arguments;
    std::optional<Result<Completion>> result;
  };

  const NullOptions options;
  std::mutex order;  // of what is done later: one at a time
  uint64_t next_later = 1;
  std::deque<std::unique_ptr<Later>> later;  // under `mutex`, but for what is being done
  std::atomic<uint64_t> calls = 0;
  std::atomic<uint64_t> launches = 0;
  HostMemory memory;
  HostCode<Kernels> code;
  FinishedWork finished;

  std::mutex mutex;  // of what follows
  std::vector<NullCall> record;
  std::vector<Fault> faults;
  std::atomic<bool> has_faults = false;
};

NullBackend::NullBackend(NullOptions options)
    : Backend(options.info), state_(std::make_unique<State>(std::move(options))) {}
NullBackend::~NullBackend() = default;

std::shared_ptr<NullBackend> open_null(NullOptions options) {
  return std::make_shared<NullBackend>(std::move(options));
}

uint64_t NullBackend::calls() const {
  return state_->calls.load(std::memory_order_relaxed);
}
uint64_t NullBackend::launches() const {
  return state_->launches.load(std::memory_order_relaxed);
}
uint64_t NullBackend::live_buffers() const {
  return state_->memory.buffers();
}
uint64_t NullBackend::live_bytes() const {
  return state_->memory.bytes();
}
uint64_t NullBackend::loaded() const {
  return state_->code.size();
}

void NullBackend::fail_call(uint64_t n, Error error) {
  const uint64_t now = calls();
  VYRE_CHECK(n >= now);  // a call that was made cannot fail any more
  state_->add_fault({.kind = {}, .left = n - now, .error = std::move(error)});
}
void NullBackend::fail_calls_like(NullCall::Kind kind, uint64_t n, Error error) {
  state_->add_fault({.kind = kind, .left = n, .error = std::move(error)});
}
void NullBackend::lose_device_at(uint64_t n) {
  fail_call(n, error(ErrorCode::DeviceLost,
                     fmt::format("device `{}` is lost, as a test wants it. Fix: recover() it",
                                 info().id)));
}

std::vector<NullCall> NullBackend::record() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->record;
}
void NullBackend::clear_record() {
  const std::scoped_lock lock(state_->mutex);
  state_->record.clear();
}

// ---- the work

class NullBackend::Run : public HostDevice {
 public:
  explicit Run(NullBackend& backend)
      : backend_(backend), state_(*backend.state_), work_(state_.memory) {}

  std::span<std::byte> memory(Handle buffer) override { return work_.find(buffer); }

  void on_step(const Step& step) override {
    if (!state_.options.record) return;
    match(
        step, [](const Launch&) {}, [&](const Copy& x) { state_.write_down(CallKind::Copy, x.to); },
        [&](const Fill& x) { state_.write_down(CallKind::Fill, x.to); },
        [&](const SetWord& x) { word(CallKind::SetWord, x.to); },
        [&](const Compare& x) { state_.write_down(CallKind::Compare, x.a); },
        [&](const Transfer& x) { transfer(x); },
        [&](const Exit& x) { word(CallKind::Exit, x.word); }, [](const While&) {},
        [](const Repeat&) {}, [](const Branch&) {});
  }
  void transfer(const Transfer& x) {
    state_.write_down(
        x.direction == Transfer::Direction::ToDevice ? CallKind::Write : CallKind::Read, x.device);
  }

  Result<Timings> launch(const Launch& x, const Axes& grid, Completion&) override {
    state_.write_down(CallKind::Launch, x.pipeline, x.entry, uint64_t{grid[0]} * grid[1] * grid[2]);
    VYRE_TRY(state_.call(CallKind::Launch));
    const auto kernels = state_.code.find(x.pipeline);
    if (!kernels || x.entry >= kernels->size() ||
        (*kernels)[x.entry].entry.bindings.size() != x.arguments.size())
      return std::unexpected(error(
          ErrorCode::Internal,
          fmt::format("a launch of entry {} of handle {} with {} arguments, which there is not. "
                      "Fix: report this as a bug of the driver",
                      x.entry, x.pipeline.value, x.arguments.size())));
    VYRE_TRY(check_residency(x, grid, state_.options.resident_groups, backend_.info()));
    const uint64_t number = state_.launches.fetch_add(1, std::memory_order_relaxed);
    if (state_.options.on_launch) VYRE_TRY(call_kernel((*kernels)[x.entry], x, grid, number));
    return state_.options.times_of ? state_.options.times_of(number) : state_.options.times;
  }

 private:
  void word(CallKind kind, const Word& w) { state_.write_down(kind, w.buffer, w.offset, 4); }

  Result<void> call_kernel(const State::Kernel& kernel, const Launch& x, const Axes& grid,
                           uint64_t number) {
    std::array<std::byte, 2048> storage;  // enough for most; more comes from the heap
    std::pmr::monotonic_buffer_resource resource(storage.data(), storage.size());
    std::pmr::vector<std::span<std::byte>> arguments(&resource);
    arguments.reserve(x.arguments.size());
    for (const Region& r : x.arguments) {
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
    return state_.options.on_launch({.entry = kernel.entry,
                                     .program = kernel.program,
                                     .launch = x,
                                     .grid = grid,
                                     .arguments = arguments,
                                     .number = number});
  }

  NullBackend& backend_;
  State& state_;
  HostMemory::Work work_;
};

Result<Allocated> NullBackend::do_allocate(const Allocation& wanted) {
  VYRE_TRY(state_->call(CallKind::Allocate));
  auto made = state_->memory.allocate(wanted, info());
  state_->write_down(CallKind::Allocate, made ? made->handle : Handle{}, 0, wanted.bytes);
  return made;
}

void NullBackend::do_release(Handle handle) noexcept {
  state_->write_down(CallKind::Release, handle);
  if (!state_->memory.release(handle)) state_->code.release(handle);
}

Result<void> NullBackend::do_transfer(std::span<const Transfer> transfers) {
  const auto has = [&](Transfer::Direction direction) {
    return std::ranges::any_of(transfers,
                               [&](const Transfer& t) { return t.direction == direction; });
  };
  const bool writes = has(Transfer::Direction::ToDevice);
  const bool reads = has(Transfer::Direction::ToHost);
  VYRE_TRY(state_->call(writes ? CallKind::Write : CallKind::Read,
                        reads ? CallKind::Read : CallKind::Write));
  Run run(*this);
  for (const Transfer& t : transfers) run.transfer(t);
  return run_transfers(transfers, run);
}

Result<Backend::Loaded> NullBackend::do_load(const Artifact& artifact) {
  VYRE_TRY(state_->call(CallKind::Load));
  const NullOptions& options = state_->options;
  Loaded loaded{.handle = state_->memory.new_handle(), .max_resident_groups = {}, .native = {}};
  State::Kernels kernels;
  for (size_t i = 0; i < artifact.entries.size(); ++i) {
    const Entry& entry = artifact.entries[i];
    loaded.max_resident_groups.push_back(options.resident_of ? options.resident_of(entry)
                                                             : options.resident_groups);
    kernels.push_back({entry, i < artifact.programs.size() ? artifact.programs[i] : nullptr});
  }
  state_->code.add(loaded.handle, std::move(kernels));
  state_->write_down(CallKind::Load, loaded.handle, 0, artifact.code.size());
  return loaded;
}

Result<Ticket> NullBackend::do_submit(const Submission& submission) {
  state_->write_down(CallKind::Submit, {}, submission.queue, submission.steps.size());
  VYRE_TRY(state_->call(CallKind::Submit));
  if (state_->options.on_submit) state_->options.on_submit(submission);
  if (!info().capabilities.async_compute) return state_->finished.add(work(submission));
  auto later = std::make_unique<State::Later>(submission);
  const std::scoped_lock lock(state_->mutex);
  later->ticket = state_->next_later++;
  const Ticket ticket{later->ticket};
  state_->later.push_back(std::move(later));
  return ticket;
}

Result<Completion> NullBackend::work(const Submission& submission) {
  Result<Completion> result;
  const Timings& times = state_->options.times;
  const bool all = state_->options.times_of != nullptr;
  if (all || times.device_ns) result->timings.device_ns = 0;
  if (all || times.enqueue_ns) result->timings.enqueue_ns = 0;
  if (all || times.wait_ns) result->timings.wait_ns = 0;
  {
    Run run(*this);
    if (auto ok = run_steps(submission, info(), run, *result); !ok)
      result = std::unexpected(std::move(ok.error()));
  }
  if (!info().capabilities.resident_buffers) state_->memory.scribble(kScribble);
  return result;
}

void NullBackend::do_work() {
  do_work(~uint64_t{0});
}

void NullBackend::do_work(uint64_t up_to) {
  const std::scoped_lock order(state_->order);
  for (;;) {
    State::Later* next = nullptr;
    {
      const std::scoped_lock lock(state_->mutex);
      for (const auto& later : state_->later)
        if (next == nullptr && !later->result && later->ticket <= up_to) next = later.get();
    }
    if (next == nullptr) return;
    auto result = work(next->submission);
    const std::scoped_lock lock(state_->mutex);
    next->result = std::move(result);
  }
}

bool NullBackend::do_is_done(Ticket ticket) {
  if (!info().capabilities.async_compute) return true;
  const std::scoped_lock lock(state_->mutex);
  return std::ranges::none_of(state_->later, [&](const auto& later) {
    return later->ticket == ticket.value && !later->result;
  });
}

Result<Completion> NullBackend::do_wait(Ticket ticket, Deadline) {
  state_->write_down(CallKind::Wait);
  Result<Completion> done;
  if (info().capabilities.async_compute) {
    do_work(ticket.value);
    const std::scoped_lock lock(state_->mutex);
    const auto row = std::ranges::find_if(
        state_->later, [&](const auto& later) { return later->ticket == ticket.value; });
    if (row == state_->later.end())
      return std::unexpected(
          error(ErrorCode::Internal, fmt::format("ticket {} is waited for, but there is no such "
                                                 "work. Fix: report this as a bug of the driver",
                                                 ticket.value)));
    done = std::move(*(*row)->result);
    state_->later.erase(row);
  } else {
    done = state_->finished.take(ticket);
  }
  VYRE_TRY(state_->call(CallKind::Wait));
  return done;
}

Metrics NullBackend::do_metrics() const {
  Metrics metrics = state_->memory.metrics();
  if (!info().capabilities.async_compute) return metrics;
  const std::scoped_lock lock(state_->mutex);
  metrics.submissions_in_flight = state_->later.size();
  return metrics;
}

Result<void> NullBackend::do_recover() {
  state_->write_down(CallKind::Recover);
  VYRE_TRY(state_->call(CallKind::Recover));
  state_->memory.clear();
  state_->code.clear();
  state_->finished.clear();
  const std::scoped_lock lock(state_->mutex);
  state_->later.clear();
  return {};
}

}  // namespace vyre::backend
