// SPDX-License-Identifier: Apache-2.0
// Streams, graphs and events of the driver of the tests.
#include <chrono>

#include "backend/cuda/testdata/fake_state.hpp"

namespace vyre::backend::cuda {

namespace {

// A node that was captured in the graph this one was made of.
FakeNode* node_to_patch(GraphExecHandle exec, NodeHandle node, FakeNode::Kind kind) {
  const auto graph = fake().find(fake().graphs, exec);
  if (!graph || !graph->source || !fake().is_graph(graph->source.get())) return nullptr;
  const auto& captured = graph->source->nodes;
  for (size_t i = 0; i < captured.size(); ++i)
    if (reinterpret_cast<NodeHandle>(captured[i].get()) == node)
      return captured[i]->kind == kind ? graph->nodes[i].get() : nullptr;
  return nullptr;
}

}  // namespace

extern "C" {

Status cuStreamCreate(StreamHandle* stream, unsigned flags) {
  VYRE_ENTER("cuStreamCreate");
  if (flags != kStreamNonBlocking) return status::kInvalidValue;
  *stream = fake().add<StreamHandle>(fake().streams, std::make_shared<FakeStream>());
  return 0;
}
Status cuStreamDestroy_v2(StreamHandle stream) {
  const Status failed = fake().enter("cuStreamDestroy_v2");
  auto taken = fake().take(fake().streams, stream);
  if (!taken) return status::kInvalidHandle;
  fake().destroyed(std::move(taken));
  return failed;
}
Status cuStreamQuery(StreamHandle stream) {
  VYRE_ENTER("cuStreamQuery");
  const auto on = fake().find(fake().streams, stream);
  if (!on) return status::kInvalidHandle;
  return on->busy() ? status::kNotReady : fake().broken();
}
Status cuStreamSynchronize(StreamHandle stream) {
  VYRE_ENTER("cuStreamSynchronize");
  const auto on = fake().find(fake().streams, stream);
  if (!on) return status::kInvalidHandle;
  if (on->capturing()) return status::kCaptureUnsupported;
  on->synchronize();
  return fake().broken();
}
Status cuStreamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  VYRE_ENTER("cuStreamWaitEvent");
  const auto on = fake().find(fake().streams, stream);
  const auto e = fake().find(fake().events, event);
  if (!on || !e) return status::kInvalidHandle;
  if (on->capturing()) {
    on->invalidate();
    return status::kCaptureIsolation;
  }
  const std::scoped_lock lock(e->mutex);
  on->add([e, n = e->recorded] {
    std::unique_lock waiting(e->mutex);
    e->changed.wait(waiting, [&] { return e->happened >= n; });
  });
  return 0;
}
Status cuStreamBeginCapture_v2(StreamHandle stream, int mode) {
  VYRE_ENTER("cuStreamBeginCapture_v2");
  const auto on = fake().find(fake().streams, stream);
  if (!on) return status::kInvalidHandle;
  return mode == kCaptureRelaxed && on->capture() ? 0 : status::kInvalidValue;
}
Status cuStreamEndCapture(StreamHandle stream, GraphHandle* graph) {
  const Status failed = fake().enter("cuStreamEndCapture");
  *graph = nullptr;
  const auto on = fake().find(fake().streams, stream);
  if (!on || !on->capturing()) return status::kInvalidValue;
  auto made = on->end_capture();
  if (failed != 0) return failed;
  if (!made) return status::kCaptureInvalidated;
  *graph = fake().add<GraphHandle>(fake().graphs, std::move(made));
  return 0;
}
Status cuGraphInstantiateWithFlags(GraphExecHandle* exec, GraphHandle graph, unsigned long long) {
  VYRE_ENTER("cuGraphInstantiateWithFlags");
  const auto from = fake().find(fake().graphs, graph);
  if (!from) return status::kInvalidHandle;
  fake().await_context();
  if (from->nodes.size() > 64) const auto idle = fake().when_idle();
  auto ready = std::make_shared<FakeGraph>();
  ready->source = from;
  for (const auto& node : from->nodes) ready->nodes.push_back(std::make_shared<FakeNode>(*node));
  *exec = fake().add<GraphExecHandle>(fake().graphs, std::move(ready));
  return 0;
}
Status cuStreamGetCaptureInfo_v2(StreamHandle stream, int* capturing, uint64_t*, GraphHandle*,
                                 const NodeHandle** last, size_t* count) {
  VYRE_ENTER("cuStreamGetCaptureInfo_v2");
  const auto on = fake().find(fake().streams, stream);
  if (!on) return status::kInvalidHandle;
  *capturing = on->capturing() ? 1 : 0;
  FakeNode* const* const node = on->last_captured();
  *last = reinterpret_cast<const NodeHandle*>(node);
  *count = node != nullptr ? 1 : 0;
  return 0;
}
Status cuGraphExecKernelNodeSetParams_v2(GraphExecHandle exec, NodeHandle handle,
                                         const KernelNodeParameters* next) {
  VYRE_ENTER("cuGraphExecKernelNodeSetParams_v2");
  FakeNode* node = node_to_patch(exec, handle, FakeNode::Kind::Launch);
  if (node == nullptr) node = node_to_patch(exec, handle, FakeNode::Kind::Cooperative);
  if (node == nullptr || node->function != next->function) return status::kInvalidValue;
  return make_launch(next->function, next->grid, next->block, next->shared_bytes, next->parameters,
                     node->kind == FakeNode::Kind::Cooperative, node->work);
}
Status cuGraphExecMemsetNodeSetParams(GraphExecHandle exec, NodeHandle handle,
                                      const SetNodeParameters* next, ContextHandle context) {
  VYRE_ENTER("cuGraphExecMemsetNodeSetParams");
  FakeNode* const node = node_to_patch(exec, handle, FakeNode::Kind::Fill);
  if (node == nullptr || context == nullptr || next->height != 1 ||
      (next->element_bytes != 1 && next->element_bytes != 4) ||
      next->to % next->element_bytes != 0 ||
      !fake().is_memory(next->to, next->width * next->element_bytes))
    return status::kInvalidValue;
  node->work = filling(next->to, next->value, next->element_bytes, next->width);
  return 0;
}
Status cuGraphExecMemcpyNodeSetParams(GraphExecHandle exec, NodeHandle handle,
                                      const CopyNodeParameters* next, ContextHandle context) {
  VYRE_ENTER("cuGraphExecMemcpyNodeSetParams");
  FakeNode* const node = node_to_patch(exec, handle, FakeNode::Kind::Copy);
  const auto address = [&](const CopyPlace& place) {
    const bool host = place.memory == CopyPlace::kHost;
    const auto at = host ? reinterpret_cast<uint64_t>(place.host) : place.device;
    return fake().is_memory(at, next->width, host) ? reinterpret_cast<std::byte*>(at) : nullptr;
  };
  std::byte* const to = address(next->to);
  const std::byte* const from = address(next->from);
  if (node == nullptr || context == nullptr || next->height != 1 || next->depth != 1 ||
      next->width == 0 || to == nullptr || from == nullptr)
    return status::kInvalidValue;
  node->work = [=, bytes = next->width] { std::memcpy(to, from, bytes); };
  return 0;
}
Status cuGraphDestroy(GraphHandle graph) {
  const Status failed = fake().enter("cuGraphDestroy");
  return fake().take(fake().graphs, graph) ? failed : status::kInvalidHandle;
}
Status cuGraphLaunch(GraphExecHandle exec, StreamHandle stream) {
  VYRE_ENTER("cuGraphLaunch");
  const auto on = fake().find(fake().streams, stream);
  const auto graph = fake().find(fake().graphs, exec);
  if (!on || !graph) return status::kInvalidHandle;
  fake().await_context();
  on->await_room(kMostAhead);
  std::vector<std::function<void()>> works;
  for (const auto& node : graph->nodes) works.push_back(node->work);
  on->add([works = std::move(works)] {
    for (const auto& work : works) work();
  });
  return 0;
}
Status cuGraphExecDestroy(GraphExecHandle exec) {
  const Status failed = fake().enter("cuGraphExecDestroy");
  return fake().take(fake().graphs, exec) ? failed : status::kInvalidHandle;
}
Status cuEventCreate(EventHandle* event, unsigned) {
  VYRE_ENTER("cuEventCreate");
  *event = fake().add<EventHandle>(fake().events, std::make_shared<FakeEvent>());
  return 0;
}
Status cuEventDestroy_v2(EventHandle event) {
  const Status failed = fake().enter("cuEventDestroy_v2");
  return fake().take(fake().events, event) ? failed : status::kInvalidHandle;
}
Status cuEventRecord(EventHandle event, StreamHandle stream) {
  VYRE_ENTER("cuEventRecord");
  const auto on = fake().find(fake().streams, stream);
  const auto e = fake().find(fake().events, event);
  if (!on || !e) return status::kInvalidHandle;
  if (on->capturing()) return status::kCaptureUnsupported;
  const std::scoped_lock lock(e->mutex);
  on->add([e, n = ++e->recorded] {
    const std::scoped_lock happening(e->mutex);
    e->happened = std::max(e->happened, n);
    e->time = Clock::now();
    e->changed.notify_all();
  });
  return 0;
}
Status cuEventQuery(EventHandle event) {
  VYRE_ENTER("cuEventQuery");
  const auto e = fake().find(fake().events, event);
  if (!e) return status::kInvalidHandle;
  {
    const std::scoped_lock lock(e->mutex);
    if (e->happened != e->recorded) return status::kNotReady;
  }
  return fake().broken();  // by what came before it
}
Status cuEventSynchronize(EventHandle event) {
  VYRE_ENTER("cuEventSynchronize");
  const auto e = fake().find(fake().events, event);
  if (!e) return status::kInvalidHandle;
  std::unique_lock lock(e->mutex);
  e->changed.wait(lock, [&] { return e->happened == e->recorded; });
  return 0;
}
Status cuEventElapsedTime(float* ms, EventHandle from, EventHandle to) {
  VYRE_ENTER("cuEventElapsedTime");
  const auto a = fake().find(fake().events, from);
  const auto b = fake().find(fake().events, to);
  if (!a || !b) return status::kInvalidHandle;
  const std::scoped_lock lock(a->mutex, b->mutex);
  if (a->happened != a->recorded || b->happened != b->recorded) return status::kNotReady;
  *ms = std::chrono::duration<float, std::milli>(b->time - a->time).count();
  return 0;
}

}  // extern "C"

}  // namespace vyre::backend::cuda
