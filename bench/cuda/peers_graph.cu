// SPDX-License-Identifier: Apache-2.0
// Breadth-first search, level by level: with a host that looks after each level, and with a WHILE
// node of a graph. Bodies are those of the programs; a vertex may look before it writes.
#include <map>
#include <tuple>

#include "peers.cuh"

namespace peers {
namespace {

constexpr uint32_t kUnseen = 0xFFFFFFFFu;

// What a level needs to know, in memory for graphs.
struct Level {
  uint32_t level, changed, begin, end;
};

__global__ void start_depths(uint32_t* depth, uint32_t nodes, uint32_t start) {
  const uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < nodes) depth[v] = v == start ? 0 : kUnseen;
}
__global__ void start_level(Level* level) {
  *level = {0, 0, 0, 1};
}
__global__ void start_queue(uint32_t* queue, uint32_t* tail, uint32_t start) {
  queue[0] = start;
  *tail = 1;
}

template <bool kReadFirst>
__device__ void relax(uint32_t* depth, uint32_t to, uint32_t level, uint32_t* changed) {
  if (kReadFirst && depth[to] <= level) return;
  if (atomicMin(&depth[to], level) > level) *changed = 1;
}
template <bool kReadFirst>
__device__ void vertex_level(const uint32_t* row, const uint32_t* col, uint32_t* depth,
                             uint32_t nodes, uint32_t level, uint32_t* changed) {
  const uint32_t v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= nodes || depth[v] != level) return;
  for (uint32_t e = row[v]; e < row[v + 1]; ++e) relax<kReadFirst>(depth, col[e], level + 1, changed);
}
template <bool kReadFirst>
__device__ void edge_level(const uint32_t* from, const uint32_t* to, uint32_t* depth,
                           uint32_t edges, uint32_t level, uint32_t* changed) {
  const uint32_t e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e < edges && depth[from[e]] == level) relax<kReadFirst>(depth, to[e], level + 1, changed);
}
// Nodes of the level stand in queue[begin .. end]; a node has kLanes lanes, which share its edges.
template <uint32_t kLanes>
__device__ void queue_level(const uint32_t* row, const uint32_t* col, uint32_t* depth,
                            uint32_t* queue, uint32_t* tail, uint32_t begin, uint32_t end,
                            uint32_t level) {
  const uint32_t lanes = gridDim.x * blockDim.x;
  for (uint32_t k = blockIdx.x * blockDim.x + threadIdx.x; k < (end - begin) * kLanes; k += lanes) {
    const uint32_t v = queue[begin + k / kLanes];
    for (uint32_t e = row[v] + k % kLanes; e < row[v + 1]; e += kLanes)
      if (atomicCAS(&depth[col[e]], kUnseen, level + 1) == kUnseen)
        queue[atomicAdd(tail, 1)] = col[e];
  }
}

template <bool kEdges, bool kReadFirst>
__global__ void level_of(const uint32_t* a, const uint32_t* b, uint32_t* depth, uint32_t count,
                         uint32_t level, uint32_t* changed) {
  if constexpr (kEdges)
    edge_level<kReadFirst>(a, b, depth, count, level, changed);
  else
    vertex_level<kReadFirst>(a, b, depth, count, level, changed);
}
template <bool kEdges, bool kReadFirst>
__global__ void level_in(const uint32_t* a, const uint32_t* b, uint32_t* depth, uint32_t count,
                         Level* level) {
  if constexpr (kEdges)
    edge_level<kReadFirst>(a, b, depth, count, level->level, &level->changed);
  else
    vertex_level<kReadFirst>(a, b, depth, count, level->level, &level->changed);
}
__global__ void decide_level(Level* level, cudaGraphConditionalHandle handle) {
  level->level += 1;
  cudaGraphSetConditional(handle, level->changed);
  level->changed = 0;
}
template <uint32_t kLanes>
__global__ void queue_of(const uint32_t* row, const uint32_t* col, uint32_t* depth, uint32_t* queue,
                         uint32_t* tail, uint32_t begin, uint32_t end, uint32_t level) {
  queue_level<kLanes>(row, col, depth, queue, tail, begin, end, level);
}
template <uint32_t kLanes>
__global__ void queue_in(const uint32_t* row, const uint32_t* col, uint32_t* depth, uint32_t* queue,
                         uint32_t* tail, const Level* level) {
  queue_level<kLanes>(row, col, depth, queue, tail, level->begin, level->end, level->level);
}
__global__ void decide_queue(Level* level, const uint32_t* tail,
                             cudaGraphConditionalHandle handle) {
  level->level += 1;
  level->begin = level->end;
  level->end = *tail;
  cudaGraphSetConditional(handle, level->begin < level->end);
}

Level* level_words() {
  static Level* const kLevel = static_cast<Level*>(allocate(sizeof(Level)));
  return kLevel;
}

// Buffers: row, col or from, to; depth. Numbers: lanes of a level, nodes, start.
template <bool kEdges, bool kReadFirst>
void host_levels(void* const* d, const uint32_t* n) {
  static const Word kChanged;
  begin();
  start_depths<<<blocks_for(n[1]), 256, 0, stream()>>>(at<uint32_t>(d, 2), n[1], n[2]);
  for (uint32_t level = 0;; ++level) {
    kChanged.clear();
    level_of<kEdges, kReadFirst><<<blocks_for(n[0]), 256, 0, stream()>>>(
        at<uint32_t>(d, 0), at<uint32_t>(d, 1), at<uint32_t>(d, 2), n[0], level, kChanged.d());
    if (kChanged.get() == 0) break;
  }
  done();
}
template <bool kEdges, bool kReadFirst>
void while_levels(void* const* d, const uint32_t* n) {
  static std::map<std::tuple<void*, uint32_t>, cudaGraphExec_t> graphs;
  cudaGraphExec_t& graph = graphs[{d[2], n[0]}];
  Level* const level = level_words();
  if (graph == nullptr)
    graph = while_graph([&](cudaGraphConditionalHandle handle) {
      level_in<kEdges, kReadFirst><<<blocks_for(n[0]), 256, 0, stream()>>>(
          at<uint32_t>(d, 0), at<uint32_t>(d, 1), at<uint32_t>(d, 2), n[0], level);
      decide_level<<<1, 1, 0, stream()>>>(level, handle);
    });
  begin();
  start_depths<<<blocks_for(n[1]), 256, 0, stream()>>>(at<uint32_t>(d, 2), n[1], n[2]);
  start_level<<<1, 1, 0, stream()>>>(level);
  must(cudaGraphLaunch(graph, stream()));
  done();
}

// Buffers: row, col, depth, queue. Numbers: blocks at most, nodes, start.
template <uint32_t kLanes>
void host_queue(void* const* d, const uint32_t* n) {
  static const Word kTail;
  begin();
  start_depths<<<blocks_for(n[1]), 256, 0, stream()>>>(at<uint32_t>(d, 2), n[1], n[2]);
  start_queue<<<1, 1, 0, stream()>>>(at<uint32_t>(d, 3), kTail.d(), n[2]);
  uint32_t from = 0;
  uint32_t to = 1;
  for (uint32_t level = 0; from < to; ++level) {
    queue_of<kLanes><<<blocks_for((to - from) * kLanes), 256, 0, stream()>>>(
        at<uint32_t>(d, 0), at<uint32_t>(d, 1), at<uint32_t>(d, 2), at<uint32_t>(d, 3), kTail.d(),
        from, to, level);
    from = to;
    to = kTail.get();
  }
  done();
}
template <uint32_t kLanes>
void while_queue(void* const* d, const uint32_t* n) {
  static uint32_t* const kTail = static_cast<uint32_t*>(allocate(4));
  static std::map<std::tuple<void*, uint32_t>, cudaGraphExec_t> graphs;
  cudaGraphExec_t& graph = graphs[{d[2], n[0]}];
  Level* const level = level_words();
  if (graph == nullptr)
    graph = while_graph([&](cudaGraphConditionalHandle handle) {
      queue_in<kLanes><<<n[0], 256, 0, stream()>>>(at<uint32_t>(d, 0), at<uint32_t>(d, 1),
                                           at<uint32_t>(d, 2), at<uint32_t>(d, 3), kTail, level);
      decide_queue<<<1, 1, 0, stream()>>>(level, kTail, handle);
    });
  begin();
  start_depths<<<blocks_for(n[1]), 256, 0, stream()>>>(at<uint32_t>(d, 2), n[1], n[2]);
  start_queue<<<1, 1, 0, stream()>>>(at<uint32_t>(d, 3), kTail, n[2]);
  start_level<<<1, 1, 0, stream()>>>(level);
  must(cudaGraphLaunch(graph, stream()));
  done();
}

constexpr Named kRuns[] = {
    {"bfs_vertex_host", host_levels<false, false>},
    {"bfs_vertex_host_look", host_levels<false, true>},
    {"bfs_vertex_while", while_levels<false, false>},
    {"bfs_vertex_while_look", while_levels<false, true>},
    {"bfs_edge_host", host_levels<true, false>},
    {"bfs_edge_host_look", host_levels<true, true>},
    {"bfs_edge_while", while_levels<true, false>},
    {"bfs_edge_while_look", while_levels<true, true>},
    {"bfs_queue_host", host_queue<1>},
    {"bfs_queue_while", while_queue<1>},
    {"bfs_queue4_host", host_queue<4>},
    {"bfs_queue4_while", while_queue<4>},
};

}  // namespace

List graph_runs() {
  return {kRuns, std::size(kRuns)};
}

}  // namespace peers
