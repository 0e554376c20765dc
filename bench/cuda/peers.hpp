// SPDX-License-Identifier: Apache-2.0
// What peers*.cu offer, as plain C functions in a library of its own, so that only nvcc has to see
// them. Everything blocks until the GPU is done. Pointers `d*` are addresses of the GPU.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Something that a peer does: with buffers of the GPU and numbers whose meaning is its own.
using VyreCudaRun = void (*)(void* const* d, const uint32_t* numbers);

struct VyreCudaPeers {
  void* (*allocate)(size_t bytes);  // zeros; null: no memory
  void (*release)(void* d);
  void (*upload)(void* d, const void* host, size_t bytes);
  void (*download)(void* host, const void* d, size_t bytes);

  VyreCudaRun (*find)(const char* name);  // null: there is none
  // With timers on, how long the GPU took for the last run.
  void (*set_timers)(int on);
  double (*device_ns)();

  // From a source to a result. `why_no_compiler` is null where libnvrtc is there.
  void (*make_context)();
  const char* (*why_no_compiler)();
  // To a CUDA binary or to PTX; the size of it, 0 if it does not compile. `*code` is freed by
  // `drop`.
  size_t (*compile)(const char* source, int to_binary, char** code);
  void (*drop)(char* code);
  // Loads code, uploads a and b, runs `kernel(a, b, o, n)`, brings o back.
  struct Call {
    const char* kernel;
    const void *a, *b;
    void* o;
    size_t bytes;  // of each of them
    uint32_t n;
    uint32_t grid[2], block[2];
  };
  void (*run_code)(const void* code, const Call* call);
};

// What nvcc's library exports.
const VyreCudaPeers* vyre_cuda_peers();
}

namespace vyre::bench {

// Null and a reason where there is none.
const VyreCudaPeers* cuda_peers(const char** why);

}  // namespace vyre::bench
