// SPDX-License-Identifier: Apache-2.0
// What stands behind the handles of vyre.h. Each is counted; handles hold those they depend on.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "vyre/base/diagnostic.hpp"
#include "vyre/base/trace.hpp"
#include "vyre/check/check.hpp"
#include "vyre/run/device.hpp"
#include "vyre/vyre.h"

namespace vyre::c {

struct Counted {
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  std::atomic<uint64_t> references = 1;
};

template <class Handle>
Handle* retain(Handle* handle) noexcept {
  if (handle != nullptr) handle->references.fetch_add(1, std::memory_order_relaxed);
  return handle;
}
template <class Handle>
void release(Handle* handle) noexcept {
  if (handle != nullptr && handle->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete handle;
}

// One reference of a handle.
template <class Handle>
class Ref {
 public:
  Ref() = default;
  explicit Ref(Handle* handle) : handle_(retain(handle)) {}
  Ref(const Ref& other) : handle_(retain(other.handle_)) {}
  Ref(Ref&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Ref() { release(handle_); }
  Handle* operator->() const { return handle_; }
  Handle& operator*() const { return *handle_; }
  [[nodiscard]] Handle* get() const { return handle_; }

 private:
  Handle* handle_ = nullptr;
};

// A program with the text that positions point into; empty for one that came as bytes.
struct Source {
  std::string file;
  std::string text;
  std::shared_ptr<const check::CheckedProgram> checked;
  Diagnostics diagnostics;  // warnings
};

// What the config of a dispatch points to and does not own.
using Kept = std::vector<std::shared_ptr<const void>>;
struct Config {
  run::DispatchConfig dispatch;
  Kept kept;
};

// Memory of the host that an output goes to.
struct HostMemory {
  std::byte* data = nullptr;
  uint64_t bytes = 0;
};

}  // namespace vyre::c

struct vyre_data : vyre::c::Counted {
  explicit vyre_data(std::string b) : bytes(std::move(b)) {}
  std::string bytes;
};

struct vyre_cancel : vyre::c::Counted {
  std::shared_ptr<std::atomic<bool>> requested = std::make_shared<std::atomic<bool>>(false);
};

struct vyre_trace : vyre::c::Counted {
  explicit vyre_trace(size_t max_events) : trace(max_events) {}
  vyre::Trace trace;
};

struct vyre_device : vyre::c::Counted {
  ~vyre_device();
  std::mutex mutex;
  std::vector<vyre::c::Ref<vyre_trace>> traces;  // every one that work may still write to
  // Work was left to finish on its own, and may do so after this handle.
  std::atomic<bool> has_left_work = false;
  vyre::run::Device device;
};

struct vyre_program : vyre::c::Counted {
  std::shared_ptr<const vyre::c::Source> source;
};

struct vyre_pipeline : vyre::c::Counted {
  vyre::c::Ref<vyre_device> device;
  std::shared_ptr<const vyre::c::Source> source;
  vyre::c::Config config;
  vyre::run::Pipeline pipeline;
  std::vector<bool> host_reads;             // by BufferId: sizes depend on its contents
  std::vector<vyre::ir::BufferId> inputs;   // by slot
  std::vector<vyre::ir::BufferId> outputs;  // by slot
  std::mutex mutex;                         // never waited for: a child of fork() may find it held
  std::vector<vyre::run::Outputs> idle{};   // slots of dispatches before
  static constexpr size_t kMostIdle = 16;
};

struct vyre_buffer : vyre::c::Counted {
  vyre::c::Ref<vyre_device> device;
  vyre::device::Buffer buffer;
};

struct vyre_call : vyre::c::Counted {
  vyre::c::Ref<vyre_pipeline> pipeline;
  vyre::c::Config config;
  std::vector<vyre::c::Ref<vyre_buffer>> buffers;
  std::vector<vyre::run::Argument> inputs;
  std::vector<const vyre::device::Buffer*> outputs;  // empty: none stays on the device
  std::vector<vyre::c::HostMemory> host;             // by output slot; empty: all are dropped
  [[nodiscard]] vyre::run::Arguments arguments() const {
    return {.inputs = inputs, .outputs = outputs};
  }
};

struct vyre_pending : vyre::c::Counted {
  ~vyre_pending();
  vyre::c::Ref<vyre_call> call;
  std::mutex mutex;  // of the thread that waits
  bool is_started = false;
  vyre::run::Pending pending;
};
