// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/graph.hpp"

namespace vyre::backend::cuda {

Graph Capture::graph(const std::function<bool(StreamHandle)>& issue) {
  const std::scoped_lock lock(mutex_);
  if (stream_ == nullptr && !gpu_.driver.stream_create(&stream_, kStreamNonBlocking).ok()) {
    stream_ = nullptr;
    return {};
  }
  if (!gpu_.driver.capture_begin(stream_, kCaptureRelaxed).ok()) return {};
  const bool issued = issue(stream_);
  GraphHandle captured = nullptr;
  const bool ended = gpu_.driver.capture_end(stream_, &captured).ok();
  if (!ended || captured == nullptr) {
    // It may still be in a capture.
    std::ignore = gpu_.driver.stream_destroy(std::exchange(stream_, nullptr));
    return {};
  }
  GraphExecHandle ready = nullptr;
  const bool made = issued && gpu_.driver.graph_instantiate(&ready, captured, 0).ok();
  std::ignore = gpu_.driver.graph_destroy(captured);
  return made ? Graph(gpu_, ready) : Graph();
}

void Capture::close() noexcept {
  const std::scoped_lock lock(mutex_);
  if (stream_ != nullptr) std::ignore = gpu_.driver.stream_destroy(std::exchange(stream_, nullptr));
}

}  // namespace vyre::backend::cuda
