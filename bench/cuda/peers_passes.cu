// SPDX-License-Identifier: Apache-2.0
// Barriers of the grid and what people do in place of them: passes of a fixpoint, phases with state.
#include <cooperative_groups.h>

#include <map>
#include <tuple>

#include "peers.cuh"

namespace peers {
namespace {

__global__ void barrier_passes(uint32_t* x, uint32_t passes) {
  const auto grid = cooperative_groups::this_grid();
  for (uint32_t i = 0; i < passes; ++i) grid.sync();
  if (grid.thread_rank() == 0) x[0] = passes;
}

// One lane raises a word; whether a pass changed something is a word as well, one of three in turn:
// it is read after the barrier of its pass, cleared after the next one, used again after that.
// With kOne one thread of a block looks at it for the others.
template <bool kOne>
__global__ void fixpoint_passes(uint32_t* x, uint32_t* changed, uint32_t most) {
  const auto grid = cooperative_groups::this_grid();
  const bool first = grid.thread_rank() == 0;
  if (first) {
    x[0] = 0;
    for (int i = 0; i < 3; ++i) changed[i] = 0;
  }
  grid.sync();
  for (uint32_t level = 0; level < most; ++level) {
    if (first && atomicMax(x, level + 1) < level + 1) atomicExch(&changed[level % 3], 1);
    grid.sync();
    const volatile uint32_t* const flag = &changed[level % 3];
    if constexpr (kOne) {
      if (__syncthreads_or(threadIdx.x == 0 && *flag != 0) == 0) return;
    } else if (*flag == 0) {
      return;
    }
    if (first) changed[(level + 2) % 3] = 0;
  }
}

__global__ void start_passes(uint32_t* x, uint32_t* changed, uint32_t* level) {
  *x = *changed = *level = 0;
}
__global__ void one_pass(uint32_t* x, uint32_t* changed, const uint32_t* level) {
  if (blockIdx.x == 0 && threadIdx.x == 0 && atomicMax(x, *level + 1) < *level + 1) *changed = 1;
}
__global__ void one_pass_of(uint32_t* x, uint32_t* changed, uint32_t level) {
  if (blockIdx.x == 0 && threadIdx.x == 0 && atomicMax(x, level + 1) < level + 1) *changed = 1;
}
__global__ void decide_pass(uint32_t* changed, uint32_t* level, uint32_t most,
                            cudaGraphConditionalHandle handle) {
  *level += 1;
  cudaGraphSetConditional(handle, *changed != 0 && *level < most);
  *changed = 0;
}

// Four words of state per lane; one word of each workgroup goes to its neighbour.
struct State {
  uint32_t a, b, c, d;
};
__device__ State start_state(uint32_t x) {
  return {x, x * 3 + 1, x ^ 0x9E3779B9u, ~x};
}
__device__ State next_state(State s, uint32_t from) {
  const uint32_t a = s.a * 1664525u + s.b + from;
  const uint32_t b = s.b ^ s.c;
  const uint32_t c = s.c + s.d;
  return {a, b, c, __funnelshift_l(s.d, s.d, 7) ^ a};
}
__global__ void state_first(const uint32_t* x, State* state) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  state[i] = start_state(x[i]);
}
__global__ void state_phase(State* state, uint32_t* mail, uint32_t phase) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t groups = gridDim.x;
  const uint4 loaded = reinterpret_cast<const uint4*>(state)[i];
  State s = {loaded.x, loaded.y, loaded.z, loaded.w};
  // What came in with the last phase.
  const uint32_t next = blockIdx.x + 1 == groups ? 0 : blockIdx.x + 1;
  s = next_state(s, phase == 0 ? 0 : mail[(phase - 1) % 2 * groups + next]);
  if (threadIdx.x == 0) mail[phase % 2 * groups + blockIdx.x] = s.a;
  reinterpret_cast<uint4*>(state)[i] = {s.a, s.b, s.c, s.d};
}
__global__ void state_last(const State* state, uint32_t* x) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = state[i].a ^ state[i].b ^ state[i].c ^ state[i].d;
}

// Buffers: x. Numbers: blocks, threads, passes.
void barriers(void* const* d, const uint32_t* n) {
  begin();
  launch_cooperative(barrier_passes, n[0], n[1], at<uint32_t>(d, 0), n[2]);
  done();
}
template <bool kOne>
void fixpoint(void* const* d, const uint32_t* n) {
  static uint32_t* const kChanged = static_cast<uint32_t*>(allocate(12));
  begin();
  launch_cooperative(fixpoint_passes<kOne>, n[0], n[1], at<uint32_t>(d, 0), kChanged, n[2]);
  done();
}
void while_passes(void* const* d, const uint32_t* n) {
  static uint32_t* const kWords = static_cast<uint32_t*>(allocate(512));
  static std::map<std::tuple<void*, uint32_t, uint32_t, uint32_t>, cudaGraphExec_t> graphs;
  uint32_t* const x = at<uint32_t>(d, 0);
  uint32_t* const changed = kWords;
  uint32_t* const level = kWords + 64;
  cudaGraphExec_t& graph = graphs[{x, n[0], n[1], n[2]}];
  if (graph == nullptr)
    graph = while_graph([&](cudaGraphConditionalHandle handle) {
      one_pass<<<n[0], n[1], 0, stream()>>>(x, changed, level);
      decide_pass<<<1, 1, 0, stream()>>>(changed, level, n[2], handle);
    });
  begin();
  start_passes<<<1, 1, 0, stream()>>>(x, changed, level);
  must(cudaGraphLaunch(graph, stream()));
  done();
}
void host_passes(void* const* d, const uint32_t* n) {
  static const Word kChanged;
  begin();
  must(cudaMemsetAsync(d[0], 0, 4, stream()));
  for (uint32_t level = 0; level < n[2]; ++level) {
    kChanged.clear();
    one_pass_of<<<n[0], n[1], 0, stream()>>>(at<uint32_t>(d, 0), kChanged.d(), level);
    if (kChanged.get() == 0) break;
  }
  done();
}

// Buffers: x in, x out, state, mail. Numbers: blocks, phases. A launch per phase, all recorded once.
void state_phases(void* const* d, const uint32_t* n) {
  static std::map<std::tuple<void*, uint32_t, uint32_t>, cudaGraphExec_t> graphs;
  cudaGraphExec_t& graph = graphs[{d[0], n[0], n[1]}];
  if (graph == nullptr)
    graph = graph_of([&] {
      state_first<<<n[0], 256, 0, stream()>>>(at<uint32_t>(d, 0), at<State>(d, 2));
      for (uint32_t phase = 0; phase < n[1]; ++phase)
        state_phase<<<n[0], 256, 0, stream()>>>(at<State>(d, 2), at<uint32_t>(d, 3), phase);
      state_last<<<n[0], 256, 0, stream()>>>(at<State>(d, 2), at<uint32_t>(d, 1));
    });
  begin();
  must(cudaGraphLaunch(graph, stream()));
  done();
}

constexpr Named kRuns[] = {
    {"barriers", barriers},       {"fixpoint", fixpoint<false>}, {"fixpoint_one", fixpoint<true>},         {"while_passes", while_passes},
    {"host_passes", host_passes}, {"state_phases", state_phases},
};

}  // namespace

List pass_runs() {
  return {kRuns, std::size(kRuns)};
}

}  // namespace peers
