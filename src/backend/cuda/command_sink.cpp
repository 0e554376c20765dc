// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/command_sink.hpp"

#include <algorithm>

namespace vyre::backend::cuda {

namespace {

// NOLINTBEGIN(performance-no-int-to-ptr)
void* host_pointer(uint64_t address) {
  return reinterpret_cast<void*>(address);
}
// NOLINTEND(performance-no-int-to-ptr)

}  // namespace

Outcome CommandSink::note(const Outcome& done, Node&& node) {
  if (!done.ok() || captured_ == nullptr) return done;
  // What comes next would depend on the node that came last.
  int capturing = 0;
  const NodeHandle* last = nullptr;
  size_t count = 0;
  const Outcome queried =
      gpu_->driver.capture_info(stream_, &capturing, nullptr, nullptr, &last, &count);
  if (!queried.ok()) return queried;
  if (count != 1) return {status::kInvalidValue, queried.call};
  node.handle = *last;
  captured_->push_back(std::move(node));
  return done;
}

template <class Call>
Node* CommandSink::next() {
  unlike_ = unlike_ || next_ == nodes_.size() || !std::holds_alternative<Call>(nodes_[next_].call);
  return unlike_ ? nullptr : &nodes_[next_++];
}

Outcome CommandSink::launch(const LaunchCall& call, std::span<const std::byte> parameters) {
  const auto& [function, grid, threads, shared, cooperative] = call;
  void* pointers[] = {const_cast<std::byte*>(parameters.data())};  // the driver reads it
  if (graph_ == nullptr) {
    const Outcome done =
        cooperative ? gpu_->driver.launch_cooperative(function, grid[0], grid[1], grid[2], threads,
                                                      1, 1, shared, stream_, pointers)
                    : gpu_->driver.launch(function, grid[0], grid[1], grid[2], threads, 1, 1,
                                          shared, stream_, pointers, nullptr);
    if (captured_ == nullptr) return done;
    return note(done, {.call = call, .parameters = {parameters.begin(), parameters.end()}});
  }
  Node* const node = next<LaunchCall>();
  if (node == nullptr) return {};
  const auto& before = std::get<LaunchCall>(node->call);
  if (before == call && std::ranges::equal(node->parameters, parameters)) return {};
  // What it is, is settled when a graph is made; so is the code.
  if (before.function != function || before.cooperative != cooperative) {
    unlike_ = true;
    return {};
  }
  const KernelNodeParameters next{.function = function,
                                  .grid = {grid[0], grid[1], grid[2]},
                                  .block = {threads, 1, 1},
                                  .shared_bytes = shared,
                                  .parameters = pointers};
  const Outcome done =
      patched(gpu_->driver.graph_set_kernel(graph_, node->handle, &next), *node, call);
  if (done.ok()) node->parameters.assign(parameters.begin(), parameters.end());
  return done;
}

Outcome CommandSink::set(const SetCall& call) {
  if (graph_ == nullptr)
    return note(call.width == 4
                    ? gpu_->driver.set_words(call.to, call.value, call.count, stream_)
                    : gpu_->driver.set_bytes(call.to, static_cast<unsigned char>(call.value),
                                             call.count, stream_),
                {.call = call});
  Node* const node = next<SetCall>();
  if (node == nullptr || std::get<SetCall>(node->call) == call) return {};
  const SetNodeParameters next{
      .to = call.to, .value = call.value, .element_bytes = call.width, .width = call.count};
  return patched(gpu_->driver.graph_set_fill(graph_, node->handle, &next, gpu_->context), *node,
                 call);
}

Outcome CommandSink::copy(const CopyCall& call) {
  using Way = CopyCall::Way;
  if (graph_ == nullptr) {
    const auto run = [&] {
      switch (call.way) {
        case Way::OnDevice: return gpu_->driver.copy(call.to, call.from, call.bytes, stream_);
        case Way::ToDevice:
          return gpu_->driver.copy_to_device(call.to, host_pointer(call.from), call.bytes, stream_);
        case Way::ToHost:
          return gpu_->driver.copy_to_host(host_pointer(call.to), call.from, call.bytes, stream_);
      }
      return Outcome{};
    };
    return note(run(), {.call = call});
  }
  Node* const node = next<CopyCall>();
  if (node == nullptr || std::get<CopyCall>(node->call) == call) return {};
  if (std::get<CopyCall>(node->call).way != call.way) {
    unlike_ = true;
    return {};
  }
  CopyNodeParameters next{.width = call.bytes};
  const auto place = [](bool host, uint64_t at) {
    CopyPlace place{.memory = host ? CopyPlace::kHost : CopyPlace::kDevice};
    if (host)
      place.host = host_pointer(at);
    else
      place.device = at;
    return place;
  };
  next.from = place(call.way == Way::ToDevice, call.from);
  next.to = place(call.way == Way::ToHost, call.to);
  return patched(gpu_->driver.graph_set_copy(graph_, node->handle, &next, gpu_->context), *node,
                 call);
}

}  // namespace vyre::backend::cuda
