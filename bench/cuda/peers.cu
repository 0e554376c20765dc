// SPDX-License-Identifier: Apache-2.0
// Memory, timers, graphs, and the list of all runs.
#include <cstring>

#include "peers.cuh"

namespace peers {
namespace {

bool timers = false;
cudaEvent_t first_event = nullptr;
cudaEvent_t last_event = nullptr;

// Captures what `record` launches into `graph`.
void capture(cudaGraph_t graph, const std::function<void()>& record) {
  must(cudaStreamBeginCaptureToGraph(stream(), graph, nullptr, nullptr, 0,
                                     cudaStreamCaptureModeThreadLocal));
  record();
  must(cudaStreamEndCapture(stream(), &graph));
}
cudaGraphExec_t instantiate(cudaGraph_t graph) {
  cudaGraphExec_t exec = nullptr;
  must(cudaGraphInstantiate(&exec, graph, 0));
  must(cudaGraphDestroy(graph));
  return exec;
}

}  // namespace

cudaStream_t stream() {
  static const cudaStream_t kStream = [] {
    cudaStream_t made = nullptr;
    must(cudaStreamCreate(&made));
    return made;
  }();
  return kStream;
}
void begin() {
  if (timers) must(cudaEventRecord(first_event, stream()));
}
void done() {
  must(cudaGetLastError());
  if (timers) must(cudaEventRecord(last_event, stream()));
  must(cudaStreamSynchronize(stream()));
}

void* allocate(size_t bytes) {
  void* d = nullptr;
  if (cudaMalloc(&d, bytes) != cudaSuccess) return nullptr;
  must(cudaMemset(d, 0, bytes));
  must(cudaDeviceSynchronize());
  return d;
}

cudaGraphExec_t graph_of(const std::function<void()>& record) {
  cudaGraph_t graph = nullptr;
  must(cudaGraphCreate(&graph, 0));
  capture(graph, record);
  return instantiate(graph);
}

cudaGraphExec_t while_graph(const std::function<void(cudaGraphConditionalHandle)>& record) {
  cudaGraph_t graph = nullptr;
  must(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle handle = 0;
  must(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = handle;
  parameters.conditional.type = cudaGraphCondTypeWhile;
  parameters.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  must(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &parameters));
#else
  must(cudaGraphAddNode(&node, graph, nullptr, 0, &parameters));
#endif
  capture(parameters.conditional.phGraph_out[0], [&] { record(handle); });
  return instantiate(graph);
}

}  // namespace peers

namespace {

using peers::must;

void release(void* d) {
  must(cudaFree(d));
}
void upload(void* d, const void* host, size_t bytes) {
  must(cudaMemcpy(d, host, bytes, cudaMemcpyHostToDevice));
}
void download(void* host, const void* d, size_t bytes) {
  must(cudaMemcpy(host, d, bytes, cudaMemcpyDeviceToHost));
}
VyreCudaRun find(const char* name) {
  for (const peers::List& list :
       {peers::stream_runs(), peers::pass_runs(), peers::dispatch_runs(), peers::graph_runs(),
        peers::cub_runs(), peers::corpus_runs(), peers::tuned_runs()})
    for (size_t i = 0; i < list.count; ++i)
      if (std::strcmp(list.first[i].name, name) == 0) return list.first[i].run;
  return nullptr;
}
void set_timers(int on) {
  if (peers::first_event == nullptr) {
    must(cudaEventCreate(&peers::first_event));
    must(cudaEventCreate(&peers::last_event));
  }
  peers::timers = on != 0;
}
double device_ns() {
  float ms = 0;
  must(cudaEventElapsedTime(&ms, peers::first_event, peers::last_event));
  return static_cast<double>(ms) * 1e6;
}

constexpr VyreCudaPeers kPeers = {
    .allocate = peers::allocate,
    .release = release,
    .upload = upload,
    .download = download,
    .find = find,
    .set_timers = set_timers,
    .device_ns = device_ns,
    .make_context = peers::make_context,
    .why_no_compiler = peers::why_no_compiler,
    .compile = peers::compile,
    .drop = peers::drop,
    .run_code = peers::run_code,
};

}  // namespace

extern "C" const VyreCudaPeers* vyre_cuda_peers() {
  return &kPeers;
}
