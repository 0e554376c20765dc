// SPDX-License-Identifier: Apache-2.0
// What the peers have in common: a stream, timers, lists of runs. The library is
//   nvcc -O3 -arch=native -std=c++20 -shared -Xcompiler -fPIC -cudart static \
//     -o libvyre_cuda_peers.so bench/cuda/peers*.cu
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "peers.hpp"

namespace peers {

inline void must(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "peers.cu: %s\n", cudaGetErrorString(status));
  std::abort();
}

cudaStream_t stream();
// Around what a run gives to the stream. `done` waits for it.
void begin();
void done();

void* allocate(size_t bytes);

template <class T>
T* at(void* const* d, int i) {
  return static_cast<T*>(d[i]);
}
inline uint32_t blocks_for(uint64_t n, uint32_t threads = 256) {
  return static_cast<uint32_t>((n + threads - 1) / threads);
}
// A launch whose blocks may wait for each other.
template <class... Ps, class... As>
void launch_cooperative(void (*kernel)(Ps...), dim3 grid, dim3 block, As... as) {
  std::tuple<Ps...> values(as...);
  std::apply(
      [&](auto&... each) {
        void* arguments[] = {&each...};
        must(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(kernel), grid, block, arguments, 0,
                                         stream()));
      },
      values);
}

// A word that comes back to the host.
class Word {
 public:
  Word() : d_(static_cast<uint32_t*>(allocate(4))) { must(cudaMallocHost(&host_, 4)); }
  uint32_t* d() const { return d_; }
  void clear() const { must(cudaMemsetAsync(d_, 0, 4, stream())); }
  // Waits for everything before it.
  uint32_t get() const {
    must(cudaMemcpyAsync(host_, d_, 4, cudaMemcpyDeviceToHost, stream()));
    must(cudaStreamSynchronize(stream()));
    return *host_;
  }

 private:
  uint32_t* d_;
  uint32_t* host_ = nullptr;
};

// What is launched in `record` as a graph.
cudaGraphExec_t graph_of(const std::function<void()>& record);
// What is launched in `record` again and again, as long as a kernel says so to the handle.
cudaGraphExec_t while_graph(const std::function<void(cudaGraphConditionalHandle)>& record);

struct Named {
  const char* name;
  VyreCudaRun run;
};
struct List {
  const Named* first;
  size_t count;
};
// One per file.
List stream_runs();
List pass_runs();
List dispatch_runs();
List graph_runs();
List cub_runs();
List corpus_runs();
List tuned_runs();

// From sources, peers_cold.cu.
void make_context();
const char* why_no_compiler();
size_t compile(const char* source, int to_binary, char** code);
void drop(char* code);
void run_code(const void* code, const VyreCudaPeers::Call* call);

}  // namespace peers
