// SPDX-License-Identifier: Apache-2.0
// Where the calls go that steps are made of: to a stream that runs them, to one that captures them,
// or into the nodes of a graph that was captured from calls of the same kind, as far as they
// differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "backend/cuda/gpu.hpp"

namespace vyre::backend::cuda {

struct LaunchCall {
  FunctionHandle function = nullptr;
  std::array<uint32_t, 3> grid = {1, 1, 1};
  uint32_t threads = 1;
  uint32_t shared_bytes = 0;
  bool cooperative = false;
  friend bool operator==(const LaunchCall&, const LaunchCall&) = default;
};
struct SetCall {
  DeviceAddress to = 0;
  uint32_t value = 0;
  uint32_t width = 4;  // bytes of an element: 1 or 4
  uint64_t count = 0;
  friend bool operator==(const SetCall&, const SetCall&) = default;
};
struct CopyCall {
  enum class Way : uint8_t { OnDevice, ToDevice, ToHost };
  Way way = Way::OnDevice;
  uint64_t to = 0;  // addresses of the device, or of the host
  uint64_t from = 0;
  uint64_t bytes = 0;
  friend bool operator==(const CopyCall&, const CopyCall&) = default;
};

// What a node of a graph does at its next launch.
struct Node {
  NodeHandle handle = nullptr;
  std::variant<LaunchCall, SetCall, CopyCall> call;
  std::vector<std::byte> parameters{};  // of a launch
};

class CommandSink {
 public:
  CommandSink(const Gpu& gpu, StreamHandle stream) : gpu_(&gpu), stream_(stream) {}

  // The stream captures, and the calls are added to the nodes, if there are any.
  static CommandSink capturing(const Gpu& gpu, StreamHandle stream, std::vector<Node>* nodes) {
    CommandSink sink(gpu, stream);
    sink.captured_ = nodes;
    sink.of_graph_ = true;
    return sink;
  }
  // Nothing runs: the nodes of the graph become what the calls are.
  static CommandSink patching(const Gpu& gpu, GraphExecHandle graph, std::span<Node> nodes) {
    CommandSink sink(gpu, nullptr);
    sink.graph_ = graph;
    sink.nodes_ = nodes;
    sink.of_graph_ = true;
    return sink;
  }
  // Whether all this is for later.
  [[nodiscard]] bool of_graph() const { return of_graph_; }
  // The calls were of another kind than those of the nodes: the graph is of no use any more. After
  // the last call.
  [[nodiscard]] bool unlike() const { return unlike_ || next_ != nodes_.size(); }
  // Whether a node is not what it was.
  [[nodiscard]] bool has_patched() const { return has_patched_; }

  // One structure is all that a kernel takes.
  Outcome launch(const LaunchCall& call, std::span<const std::byte> parameters);
  Outcome set_words(DeviceAddress to, uint32_t value, uint64_t count) {
    return set({.to = to, .value = value, .width = 4, .count = count});
  }
  Outcome set_bytes(DeviceAddress to, std::byte value, uint64_t count) {
    return set({.to = to, .value = std::to_integer<uint32_t>(value), .width = 1, .count = count});
  }
  Outcome copy(DeviceAddress to, DeviceAddress from, uint64_t bytes) {
    return copy({.way = CopyCall::Way::OnDevice, .to = to, .from = from, .bytes = bytes});
  }
  Outcome copy_to_device(DeviceAddress to, const std::byte* from, uint64_t bytes) {
    return copy({.way = CopyCall::Way::ToDevice,
                 .to = to,
                 .from = reinterpret_cast<uint64_t>(from),
                 .bytes = bytes});
  }
  Outcome copy_to_host(std::byte* to, DeviceAddress from, uint64_t bytes) {
    return copy({.way = CopyCall::Way::ToHost,
                 .to = reinterpret_cast<uint64_t>(to),
                 .from = from,
                 .bytes = bytes});
  }

 private:
  Outcome set(const SetCall& call);
  Outcome copy(const CopyCall& call);
  // The node has become the call, if that was done.
  Outcome patched(const Outcome& done, Node& node, const auto& call) {
    if (!done.ok()) return done;
    node.call = call;
    has_patched_ = true;
    return done;
  }
  // The node that the last call has become.
  Outcome note(const Outcome& done, Node&& node);
  // The next one that is to be patched; none if it is of another kind.
  template <class Call>
  Node* next();

  const Gpu* gpu_;
  StreamHandle stream_ = nullptr;
  bool of_graph_ = false;
  std::vector<Node>* captured_ = nullptr;
  GraphExecHandle graph_ = nullptr;  // that is patched
  std::span<Node> nodes_{};
  size_t next_ = 0;
  bool unlike_ = false;
  bool has_patched_ = false;
};

}  // namespace vyre::backend::cuda
