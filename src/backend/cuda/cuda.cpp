// SPDX-License-Identifier: Apache-2.0
#include "vyre/backend/cuda.hpp"

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
#include "device/host_steps.hpp"

namespace vyre::backend {

using namespace device;
using namespace cuda;

namespace {

Error error(ErrorCode code, std::string message) {
  return {.code = code, .message = std::move(message), .context = {}, .at = {}, .diagnostics = {}};
}

class Cuda : public Backend {
 public:
  Cuda(BackendInfo info, const Driver& driver, DeviceNumber number)
      : Backend(std::move(info)),
        gpu_{.driver = driver, .info = this->info(), .number = number},
        parts_(gpu_) {}
  ~Cuda() override { stop(); }

  // Takes the context and makes what every submission needs.
  Result<void> start();

 private:
  struct Queue {
    std::mutex mutex;  // of one submission after the other
    StreamHandle stream = nullptr;
  };

  // Frees everything and gives the context back.
  void stop() noexcept;
  Result<Queue*> queue_of(uint32_t number);

  Result<Allocated> do_allocate(const Allocation& wanted) override;
  void do_release(Handle handle) noexcept override;
  Result<void> do_transfer(std::span<const Transfer> transfers) override;
  Result<Loaded> do_load(const Artifact& artifact) override;
  Result<Ticket> do_submit(const Submission& submission) override;
  Result<Completion> do_wait(Ticket ticket, Deadline deadline) override;
  bool do_is_done(Ticket ticket) override;
  Result<void> do_recover() override;

  Gpu gpu_;
  Parts parts_;
  StreamHandle transfers_ = nullptr;
  std::mutex queues_mutex_;
  std::map<uint32_t, std::unique_ptr<Queue>> queues_;
};

Result<void> Cuda::start() {
  if (auto ok =
          gpu_.check(gpu_.driver.context_retain(&gpu_.context, gpu_.number), "making the context");
      !ok) {
    gpu_.context = nullptr;
    return ok;
  }
  const Current current(gpu_);
  if (auto ok = current.check(); !ok) return ok;
  if (auto ok = parts_.memory.open(); !ok) return ok;
  if (auto ok = parts_.flights.open(); !ok) return ok;
  return gpu_.check(gpu_.driver.stream_create(&transfers_, kStreamNonBlocking), "making a stream");
}

void Cuda::stop() noexcept {
  if (gpu_.context == nullptr) return;
  {
    const Current current(gpu_);
    parts_.flights.close();
    for (auto& [number, queue] : queues_) std::ignore = gpu_.driver.stream_destroy(queue->stream);
    queues_.clear();
    if (transfers_ != nullptr)
      std::ignore = gpu_.driver.stream_destroy(std::exchange(transfers_, nullptr));
    parts_.capture.close();
    parts_.compare.clear();
    parts_.moves.clear();
    parts_.code.clear();
    parts_.memory.close();
  }
  std::ignore = gpu_.driver.context_release(gpu_.number);
  gpu_.context = nullptr;
}

Result<Cuda::Queue*> Cuda::queue_of(uint32_t number) {
  const std::scoped_lock lock(queues_mutex_);
  if (const auto found = queues_.find(number); found != queues_.end()) return found->second.get();
  auto queue = std::make_unique<Queue>();
  if (auto ok = gpu_.check(gpu_.driver.stream_create(&queue->stream, kStreamNonBlocking),
                           "making a stream");
      !ok)
    return std::unexpected(std::move(ok.error()));
  return queues_.emplace(number, std::move(queue)).first->second.get();
}

Result<Allocated> Cuda::do_allocate(const Allocation& wanted) {
  const Current current(gpu_);
  if (auto ok = current.check(); !ok) return std::unexpected(std::move(ok.error()));
  return parts_.memory.allocate(wanted);
}

void Cuda::do_release(Handle handle) noexcept {
  const Current current(gpu_);
  const auto block = parts_.memory.take(handle);
  if (!block) {
    parts_.code.release(handle);
    return;
  }
  // The driver would wait without a look at time limits.
  if (parts_.memory.waits(*block)) parts_.flights.settle();
  parts_.memory.free(*block);
}

Result<void> Cuda::do_transfer(std::span<const Transfer> transfers) {
  const Current current(gpu_);
  if (auto ok = current.check(); !ok) return ok;
  Result<void> done;
  for (const Transfer& t : transfers) {
    const Region& r = t.device;
    if (r.bytes == 0) continue;
    const bool to_device = t.direction == Transfer::Direction::ToDevice;
    const DeviceMemory::Block block = parts_.memory.find(r.buffer);
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
  if (auto ok = current.check(); !ok) return std::unexpected(std::move(ok.error()));
  auto code = load_code(gpu_, artifact);
  if (!code) return std::unexpected(std::move(code.error()));
  Loaded loaded{.handle = parts_.memory.new_handle(),
                .max_resident_groups = {},
                .native = std::move(code->cubin),
                .native_format = Format::Cubin};
  for (const Kernel& kernel : code->code.kernels)
    loaded.max_resident_groups.push_back(kernel.resident_groups);
  parts_.code.add(loaded.handle, std::move(code->code));
  return loaded;
}

Result<Ticket> Cuda::do_submit(const Submission& submission) {
  const auto begin = Clock::now();
  const Current current(gpu_);
  if (auto ok = current.check(); !ok) return std::unexpected(std::move(ok.error()));
  auto queue = queue_of(submission.queue);
  if (!queue) return std::unexpected(std::move(queue.error()));
  auto flight = parts_.flights.begin(submission);
  if (!flight) return std::unexpected(std::move(flight.error()));
  const std::scoped_lock lock((*queue)->mutex);
  const StreamHandle stream = (*queue)->stream;
  try {
    if (auto ok = parts_.flights.after(stream, submission.after); !ok)
      (*flight)->error = std::move(ok.error());
    else
      Run(parts_, **flight, stream, submission).run();
  } catch (const std::bad_alloc&) {
    (*flight)->error = error(ErrorCode::HostOutOfMemory,
                             "the host has no memory left to run this dispatch. Fix: use smaller "
                             "inputs or a smaller grid");
  }
  const Ticket ticket = (*flight)->ticket;
  (*flight)->completion.timings.enqueue_ns = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
  parts_.flights.submitted(**flight, stream);
  // A device that is lost is told at once; what else goes wrong in the work, by wait.
  if ((*flight)->error && (*flight)->error->code == ErrorCode::DeviceLost) {
    Error lost = std::move(*(*flight)->error);
    parts_.flights.drop(**flight);
    return std::unexpected(std::move(lost));
  }
  return ticket;
}

Result<Completion> Cuda::do_wait(Ticket ticket, Deadline deadline) {
  const Current current(gpu_);
  if (auto ok = current.check(); !ok) return std::unexpected(std::move(ok.error()));
  return parts_.flights.wait(ticket, deadline);
}

bool Cuda::do_is_done(Ticket ticket) {
  const Current current(gpu_);
  return !current.check() || parts_.flights.is_done(ticket);
}

// Resetting the primary context takes with it what anybody else in this process has in it.
Result<void> Cuda::do_recover() {
  stop();
  auto started = gpu_.check(gpu_.driver.context_reset(gpu_.number), "resetting the context");
  if (started) started = start();
  if (started) return started;
  stop();
  const std::string& why = started.error().message;
  return std::unexpected(
      error(ErrorCode::Unavailable,
            fmt::format("device `{}` does not come back: {}. Fix: restart the process", info().id,
                        why.substr(0, why.find(". Fix: ")))));
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
  if (auto ok = device->start(); !ok) return std::unexpected(std::move(ok.error()));
  return device;
}

}  // namespace vyre::backend
