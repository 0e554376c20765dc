// SPDX-License-Identifier: Apache-2.0
// Work that is given to the driver more than once, as CUDA graphs: what would have gone to a stream
// is captured, made ready once, and launched in one piece as often as it is wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "backend/cuda/command_sink.hpp"
#include "backend/cuda/gpu.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/steps.hpp"

namespace vyre::backend::cuda {

inline constexpr size_t kMostGraphSteps = 4096;

class Graph {
 public:
  Graph() = default;
  // The nodes are those of `source`, which lives as long as they are to be patched.
  Graph(const Gpu& gpu, GraphExecHandle ready, GraphHandle source, std::vector<Node> nodes)
      : gpu_(&gpu), ready_(ready), source_(source), nodes_(std::move(nodes)) {}
  Graph(Graph&& other) noexcept { *this = std::move(other); }
  Graph& operator=(Graph&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(ready_, other.ready_);
    std::swap(source_, other.source_);
    std::swap(nodes_, other.nodes_);
    return *this;
  }
  // The context is current, and no thread waits for a launch of it any more.
  ~Graph() {
    if (gpu_ != nullptr && gpu_->hung) return;
    if (ready_ != nullptr) std::ignore = gpu_->driver.graph_exec_destroy(ready_);
    if (source_ != nullptr) std::ignore = gpu_->driver.graph_destroy(source_);
  }
  explicit operator bool() const { return ready_ != nullptr; }

  [[nodiscard]] Result<void> launch(StreamHandle stream) const {
    const Outcome launched = gpu_->driver.graph_launch(ready_, stream);
    if (launched.ok()) gpu_->counters.graphs_replayed.fetch_add(1, std::memory_order_relaxed);
    return gpu_->check(launched, "a launch of recorded work");
  }
  // For what it does from its next launch on.
  [[nodiscard]] CommandSink patch() { return CommandSink::patching(*gpu_, ready_, nodes_); }

 private:
  const Gpu* gpu_ = nullptr;
  GraphExecHandle ready_ = nullptr;
  GraphHandle source_ = nullptr;  // none: it is never patched
  std::vector<Node> nodes_;
};

// Captures on a stream of its own, which nothing ever runs on: whatever goes wrong there, the
// queues do not know of it.
class Capture {
 public:
  explicit Capture(const Gpu& gpu) : gpu_(gpu) {}
  // What `issue` gives to the stream. None: it could not be captured, or `issue` has said so.
  // One at a time; the context is current.
  Graph graph(bool patched, const std::function<bool(CommandSink)>& issue);
  void close() noexcept;

 private:
  const Gpu& gpu_;
  std::mutex mutex_;
  StreamHandle stream_ = nullptr;  // made when it is first needed
};

// How far submissions are the same. Those of one `form` do the same in the same order, to buffers
// that may be others: one graph can be patched to do it. Where `whole` is equal, too, so are the
// buffers; the bytes of the host never count. These are hashes: what a graph does is compared call
// by call before it is believed.
struct Likeness {
  uint64_t form = 0;  // 0: it is never a graph
  uint64_t whole = 0;
};
Likeness likeness_of(const device::Submission& submission);

}  // namespace vyre::backend::cuda
