// SPDX-License-Identifier: Apache-2.0
// Work that is given to the driver more than once, as CUDA graphs: what would have gone to a stream
// is captured, made ready once, and launched in one piece as often as it is wanted.
#pragma once

#include <functional>
#include <mutex>
#include <tuple>
#include <utility>

#include "backend/cuda/gpu.hpp"
#include "vyre/base/result.hpp"

namespace vyre::backend::cuda {

class Graph {
 public:
  Graph() = default;
  Graph(const Gpu& gpu, GraphExecHandle handle) : gpu_(&gpu), handle_(handle) {}
  Graph(Graph&& other) noexcept
      : gpu_(other.gpu_), handle_(std::exchange(other.handle_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  // The context is current, and nobody waits for a launch of it any more.
  ~Graph() {
    if (handle_ != nullptr) std::ignore = gpu_->driver.graph_exec_destroy(handle_);
  }
  explicit operator bool() const { return handle_ != nullptr; }

  [[nodiscard]] Result<void> launch(StreamHandle stream) const {
    return gpu_->check(gpu_->driver.graph_launch(handle_, stream), "a launch of recorded work");
  }

 private:
  const Gpu* gpu_ = nullptr;
  GraphExecHandle handle_ = nullptr;
};

// Captures on a stream of its own, which nothing ever runs on: whatever goes wrong there, the
// queues do not know of it.
class Capture {
 public:
  explicit Capture(const Gpu& gpu) : gpu_(gpu) {}
  // What `issue` gives to the stream. None: it could not be captured, or `issue` has said so.
  // One at a time; the context is current.
  Graph graph(const std::function<bool(StreamHandle)>& issue);
  void close() noexcept;

 private:
  const Gpu& gpu_;
  std::mutex mutex_;
  StreamHandle stream_ = nullptr;  // made when it is first needed
};

}  // namespace vyre::backend::cuda
