// SPDX-License-Identifier: Apache-2.0
// What peers.cu offers, as plain C functions in a library of its own, so that only nvcc has to see
// it. Everything blocks until the GPU is done. Pointers `d*` are addresses of the GPU.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct VyreCudaPeers {
  void* (*allocate)(size_t bytes);  // zeros; null: no memory
  void (*release)(void* d);
  void (*upload)(void* d, const void* host, size_t bytes);
  void (*download)(void* host, const void* d, size_t bytes);

  // Streams of elements: one lane per thread, and four with 16-byte accesses.
  void (*scale_add)(const uint32_t* da, const uint32_t* db, uint32_t* d_o, uint32_t n);
  void (*scale_add4)(const uint32_t* da, const uint32_t* db, uint32_t* d_o, uint32_t n);
  void (*copy)(void* d_to, const void* d_from, size_t bytes);
  void (*widen)(const uint8_t* da, uint32_t* d_o, uint32_t n);
  void (*stencil)(const float* da, float* d_o, uint32_t width, uint32_t height);

  // Barriers and passes.
  void (*barriers)(uint32_t blocks, uint32_t threads, uint32_t passes);  // cooperative groups
  void (*host_passes)(uint32_t blocks, uint32_t threads, uint32_t passes);

  void (*launch)(uint32_t* d);       // one small kernel
  void (*launch_many)(uint32_t* d);  // a hundred, no wait in between

  void (*sum)(const uint32_t* d, uint32_t* d_total, uint32_t n);  // CUB
  // Level by level with a flag that the host reads; what vyre runs as one launch.
  void (*bfs)(const uint32_t* d_row, const uint32_t* d_col, uint32_t* d_depth, uint32_t nodes,
              uint32_t start);
};

// What nvcc's library exports.
const VyreCudaPeers* vyre_cuda_peers();
}

namespace vyre::bench {

// Null and a reason where there is none.
const VyreCudaPeers* cuda_peers(const char** why);

}  // namespace vyre::bench
