// SPDX-License-Identifier: Apache-2.0
#include "vyre/backend/cuda.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <tuple>

#include <fmt/format.h>

#include "backend/cuda/driver_api.hpp"
#include "backend/cuda/gpu.hpp"
#include "backend/cuda/run.hpp"
#include "base/errors.hpp"
#include "device/host_steps.hpp"

namespace vyre::backend {

using namespace device;
using namespace cuda;

namespace {

// Devices of this process that use the primary context of a GPU.
class ContextUse {
 public:
  ContextUse(const Driver& driver, DeviceNumber number) : gpu_(&driver, number) { count(1); }
  ContextUse(const ContextUse&) = delete;
  ContextUse& operator=(const ContextUse&) = delete;
  ~ContextUse() { count(-1); }
  [[nodiscard]] bool is_only() const { return count(0) == 1; }

 private:
  int count(int more) const {
    static std::mutex g_mutex;
    static auto& g_uses = *new std::map<std::pair<const Driver*, DeviceNumber>, int>;
    const std::scoped_lock lock(g_mutex);
    return g_uses[gpu_] += more;
  }
  std::pair<const Driver*, DeviceNumber> gpu_;
};

class Cuda : public Backend {
 public:
  Cuda(BackendInfo info, const Driver& driver, DeviceNumber number)
      : Backend(std::move(info)),
        gpu_{.driver = driver, .info = this->info(), .number = number},
        use_(driver, number),
        context_(gpu_) {
    gpu_.watch = [this] { context_.submissions.watch(Clock::now()); };
  }
  ~Cuda() override;

  Result<void> open();

 private:
  struct Queue {
    std::timed_mutex mutex;  // of one submission after the other
    StreamHandle stream = nullptr;
    Pace pace;
  };

  // Takes the context and makes what every submission needs.
  Result<void> start();
  // Frees everything and gives the context back. Nothing of that if a kernel hangs.
  void stop() noexcept;
  // A device that hangs is lost, whatever the call that found it so has returned.
  void note_hang();
  [[nodiscard]] Error still_runs() const;
  Result<Queue*> queue_of(uint32_t number);
  Result<void> load_compare(const Submission& submission);
  Result<Ticket> issue(const Submission& submission);

  Result<Allocated> do_allocate(const Allocation& wanted) override;
  void do_release(Handle handle) noexcept override;
  Result<void> do_transfer(std::span<const Transfer> transfers) override;
  Result<Loaded> do_load(const Artifact& artifact) override;
  Result<Ticket> do_submit(const Submission& submission) override;
  Result<Completion> do_wait(Ticket ticket, Deadline deadline) override;
  bool do_is_done(Ticket ticket) override;
  Result<void> do_recover() override;
  [[nodiscard]] Metrics do_metrics() const override;

  Gpu gpu_;
  ContextUse use_;
  bool was_active_ = false;  // the primary context, before open()
  DeviceContext context_;
  StreamHandle transfers_ = nullptr;
  std::mutex queues_mutex_;
  std::map<uint32_t, std::unique_ptr<Queue>> queues_;
};

Result<void> Cuda::open() {
  unsigned flags = 0;
  int active = 0;
  VYRE_TRY(gpu_.check(gpu_.driver.context_state(gpu_.number, &flags, &active),
                      "looking at the context"));
  was_active_ = active != 0;
  if (was_active_ && still_hangs(gpu_.driver, gpu_.number)) return std::unexpected(still_runs());
  return start();
}

Cuda::~Cuda() {
  stop();
  if (!gpu_.hung) return;
  std::vector<StreamHandle> streams;
  for (const auto& [number, queue] : queues_) streams.push_back(queue->stream);
  remember_hung(gpu_, std::move(streams));
}

Result<void> Cuda::start() {
  if (auto ok =
          gpu_.check(gpu_.driver.context_retain(&gpu_.context, gpu_.number), "making the context");
      !ok) {
    gpu_.context = nullptr;
    return ok;
  }
  const Current current(gpu_);
  VYRE_TRY(current.check());
  VYRE_TRY(context_.memory.open());
  VYRE_TRY(context_.resources.open());
  return gpu_.check(gpu_.driver.stream_create(&transfers_, kStreamNonBlocking), "making a stream");
}

void Cuda::stop() noexcept {
  if (gpu_.context == nullptr) return;
  {
    const Current current(gpu_);
    if (gpu_.hung && context_.submissions.has_ended()) gpu_.hung = false;
    if (!gpu_.hung) context_.submissions.close();
    if (gpu_.hung) return;
    for (auto& [number, queue] : queues_) {
      for (EventHandle event : queue->pace.events)
        if (event != nullptr) std::ignore = gpu_.driver.event_destroy(event);
      std::ignore = gpu_.driver.stream_destroy(queue->stream);
    }
    queues_.clear();
    if (transfers_ != nullptr)
      std::ignore = gpu_.driver.stream_destroy(std::exchange(transfers_, nullptr));
    context_.capture.close();
    context_.compare.clear();
    context_.copies.clear();
    context_.code.clear();
    context_.memory.close();
    gpu_.deferred.run(gpu_.driver);
  }
  std::ignore = gpu_.driver.context_release(gpu_.number);
  gpu_.context = nullptr;
}

Result<Cuda::Queue*> Cuda::queue_of(uint32_t number) {
  const std::scoped_lock lock(queues_mutex_);
  if (const auto found = queues_.find(number); found != queues_.end()) return found->second.get();
  auto queue = std::make_unique<Queue>();
  VYRE_TRY(
      gpu_.check(gpu_.driver.stream_create(&queue->stream, kStreamNonBlocking), "making a stream"));
  return queues_.emplace(number, std::move(queue)).first->second.get();
}

Result<Allocated> Cuda::do_allocate(const Allocation& wanted) {
  const Current current(gpu_);
  VYRE_TRY(current.check());
  auto allocated = context_.memory.allocate(wanted);
  if (!allocated) context_.submissions.free_deferred();
  note_hang();
  return allocated;
}

void Cuda::do_release(Handle handle) noexcept {
  if (gpu_.hung) return;  // a kernel may use it
  const Current current(gpu_);
  if (const auto block = context_.memory.take(handle))
    context_.memory.free(*block);
  else
    context_.code.release(handle);
  context_.submissions.free_deferred();
  note_hang();
}

void Cuda::note_hang() {
  if (!gpu_.hung || is_lost()) return;
  try {
    Error loss = context_.submissions.loss();
    note_loss(loss);
  } catch (const std::bad_alloc&) {
    return;  // the next call finds it
  }
}

Result<void> Cuda::do_transfer(std::span<const Transfer> transfers) {
  const Current current(gpu_);
  VYRE_TRY(current.check());
  Result<void> done;
  for (const Transfer& t : transfers) {
    const Region& r = t.device;
    if (r.bytes == 0) continue;
    const bool to_device = t.direction == Transfer::Direction::ToDevice;
    const DeviceMemory::Block block = context_.memory.find(r.buffer);
    if (r.offset > block.bytes || r.bytes > block.bytes - r.offset) {
      done = std::unexpected(outside_error(r.buffer, r.offset, r.bytes, block.bytes));
    } else if (block.host != nullptr) {
      std::byte* const at = block.host + r.offset;
      std::memcpy(to_device ? at : t.host, to_device ? t.host : at, r.bytes);
    } else {
      const DeviceAddress at = block.address + r.offset;
      done = gpu_.check(to_device ? gpu_.driver.copy_to_device(at, t.host, r.bytes, transfers_)
                                  : gpu_.driver.copy_to_host(t.host, at, r.bytes, transfers_),
                        "a transfer");
    }
    if (!done) break;
  }
  // Also after an error: the caller's memory is its own again.
  auto over = gpu_.check(gpu_.driver.stream_synchronize(transfers_), "a transfer");
  return done ? over : done;
}

Result<Backend::Loaded> Cuda::do_load(const Artifact& artifact) {
  const Current current(gpu_);
  VYRE_TRY(current.check());
  VYRE_TRY_ASSIGN(auto linked, link_code(gpu_, artifact));
  VYRE_TRY_ASSIGN(const auto moment, context_.submissions.exclusive());
  VYRE_TRY_ASSIGN(auto code, load_code(gpu_, artifact, linked));
  Loaded loaded{.handle = context_.memory.new_handle(),
                .max_resident_groups = {},
                .native = std::move(linked),
                .native_format = Format::Cubin};
  for (const Kernel& kernel : code.kernels)
    loaded.max_resident_groups.push_back(kernel.resident_groups);
  context_.code.add(loaded.handle, std::move(code));
  return loaded;
}

// A kernel cannot be loaded behind work that is in flight.
Result<void> Cuda::load_compare(const Submission& submission) {
  if (context_.compare.is_loaded() || std::ranges::none_of(submission.steps, [](const Step& step) {
        return std::holds_alternative<Compare>(step);
      }))
    return {};
  VYRE_TRY_ASSIGN(const auto moment, context_.submissions.exclusive());
  return context_.compare.load();
}

Result<Ticket> Cuda::do_submit(const Submission& submission) {
  const Current current(gpu_);
  VYRE_TRY(current.check());
  auto ticket = issue(submission);
  note_hang();
  return ticket;
}

Result<Ticket> Cuda::issue(const Submission& submission) {
  constexpr std::chrono::milliseconds kWatchInterval{1};
  const auto begin = Clock::now();
  VYRE_TRY(load_compare(submission));
  VYRE_TRY_ASSIGN(auto queue, queue_of(submission.queue));
  const StreamHandle stream = queue->stream;
  VYRE_TRY_ASSIGN(auto in_flight, context_.submissions.begin(submission, stream));
  std::unique_lock lock(queue->mutex, std::defer_lock);
  // Who has it may lead a loop.
  while (!lock.try_lock_for(kWatchInterval) && !context_.submissions.poll_stop(*in_flight)) {
  }
  try {
    if (!lock.owns_lock())
      in_flight->error = context_.submissions.stopped_before(*in_flight);
    else if (auto ok = context_.submissions.after(*in_flight, submission.after); !ok)
      in_flight->error = std::move(ok.error());
    else
      Run(context_, *in_flight, queue->pace, submission).run();
  } catch (const std::bad_alloc&) {
    in_flight->error = error(ErrorCode::HostOutOfMemory,
                             "the host has no memory left to run this dispatch. Fix: use smaller "
                             "inputs or a smaller grid");
  }
  const Ticket ticket = in_flight->ticket;
  in_flight->completion.timings.enqueue_ns = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
  context_.submissions.submitted(*in_flight);
  // A lost device is reported at once; other errors of the work are reported by wait.
  if (gpu_.hung) return std::unexpected(context_.submissions.hung_error(*in_flight));
  if (in_flight->error && in_flight->error->code == ErrorCode::DeviceLost) {
    Error lost = std::move(*in_flight->error);
    context_.submissions.drop(*in_flight);
    return std::unexpected(std::move(lost));
  }
  return ticket;
}

Result<Completion> Cuda::do_wait(Ticket ticket, Deadline deadline) {
  const Current current(gpu_);
  VYRE_TRY(current.check());
  auto done = context_.submissions.wait(ticket, deadline);
  context_.submissions.free_deferred();
  note_hang();
  return done;
}

bool Cuda::do_is_done(Ticket ticket) {
  const Current current(gpu_);
  return !current.check() || context_.submissions.is_done(ticket);
}

Error Cuda::still_runs() const {
  const DeviceMemory::Sum kept = context_.memory.sum();
  return error(
      ErrorCode::DeviceLost,
      fmt::format("a kernel that did not end still runs on device `{}`{}. Fix: restart the "
                  "process",
                  info().id,
                  kept.buffers == 0
                      ? ""
                      : fmt::format(", and {} buffers of {} bytes that it may use are kept",
                                    kept.buffers, kept.bytes)));
}

Metrics Cuda::do_metrics() const {
  const DeviceMemory::Sum memory = context_.memory.sum();
  const GpuCounters& counted = gpu_.counters;
  return {.memory_bytes = memory.bytes,
          .memory_peak_bytes = memory.peak_bytes,
          .staging_bytes = counted.staging_bytes.load(std::memory_order_relaxed),
          .submissions_in_flight = gpu_.in_flight_count.load(std::memory_order_relaxed),
          .graphs_built = counted.graphs_built.load(std::memory_order_relaxed),
          .graphs_replayed = counted.graphs_replayed.load(std::memory_order_relaxed),
          .graphs_patched = counted.graphs_patched.load(std::memory_order_relaxed),
          .jit_ns = counted.jit.ns(),
          .load_ns = counted.load.ns()};
}

// A reset of the primary context takes with it what everybody else in this process has in it: only
// a context that was not in use before is reset. Without a reset the device comes back if the
// context is sound, as it is after a kernel that has ended late.
Result<void> Cuda::do_recover() {
  stop();
  if (gpu_.hung) return std::unexpected(still_runs());
  const bool shared = was_active_ || !use_.is_only();
  Result<void> started;
  if (!shared)
    started = gpu_.check(gpu_.driver.context_reset(gpu_.number), "resetting the context");
  if (started) started = start();
  if (started) return started;
  stop();
  const std::string& why = started.error().message;
  return std::unexpected(error(
      shared ? ErrorCode::DeviceLost : ErrorCode::Unavailable,
      fmt::format("device `{}` does not come back: {}{}. Fix: restart the process", info().id,
                  why.substr(0, why.find(". Fix: ")),
                  shared ? "; others in this process use its context, so it is not reset" : "")));
}

}  // namespace

Result<std::shared_ptr<Backend>> open_cuda(uint32_t index) {
  std::vector<CudaDevice> devices = cuda_devices();
  const auto no = [&](std::string_view why) {
    return std::unexpected(
        error(ErrorCode::Unavailable,
              fmt::format("device {} of `cuda` cannot be used: {}. Fix: install the NVIDIA driver, "
                          "name its library in {}, or use another device",
                          index, why, kDriverVariable)));
  };
  if (index >= devices.size()) return no(fmt::format("there are {}", devices.size()));
  if (!devices[index].unusable.empty()) return no(devices[index].unusable);
  const auto driver = find_driver();
  if (!driver) return no(driver.error());
  DeviceNumber number = 0;
  if (const Outcome got = (*driver)->device_get(&number, static_cast<int>(index)); !got.ok())
    return no(describe(**driver, got));
  auto device = std::make_shared<Cuda>(std::move(devices[index].info), **driver, number);
  VYRE_TRY(device->open());
  return device;
}

}  // namespace vyre::backend
