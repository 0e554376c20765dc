// SPDX-License-Identifier: Apache-2.0
// Object code as the generator would write it, made by the compiler of the build. The entries are
// named in kernels_test.hpp, in this order.
#include "device/kernel.hpp"

using vyre::device::KernelArgs;
using vyre::device::KernelBinding;
using vyre::device::KernelInfo;
using vyre::device::KernelStop;
using vyre::device::KernelWorker;

extern "C" {

// Not from the headers, so that the compiler calls them.
void* memcpy(void*, const void*, size_t);
void* memset(void*, int, size_t);
float floorf(float);
double fma(double, double, double);

extern const KernelInfo vyre_info[];

#define ENTRY(n)                                                                     \
  void vyre_entry_##n(const KernelArgs* args, [[maybe_unused]] KernelWorker* worker, \
                      uint64_t first, uint64_t count)

static uint32_t* words(const KernelArgs* args, int binding) {
  return reinterpret_cast<uint32_t*>(
      reinterpret_cast<const KernelBinding*>(args + 1)[binding].address);
}
static void linger(int times) {
  for (int i = 0; i < times; ++i) asm volatile("");
}
static uint32_t length(const KernelArgs* args, int binding) {
  return reinterpret_cast<const KernelBinding*>(args + 1)[binding].length;
}

// 0, count: each workgroup adds one to its word.
ENTRY(0) {
  for (uint64_t g = first; g < first + count; ++g)
    if (g < length(args, 0)) words(args, 0)[g] += 1;
}

// 1, endless: until it is stopped. The last word shows that it runs.
ENTRY(1) {
  __atomic_store_n(&words(args, 0)[length(args, 0) - 1], 1, __ATOMIC_RELAXED);
  for (uint64_t g = first; g < first + count; ++g)
    while (worker->poll(worker, 7 + static_cast<uint32_t>(g % 2)) == 0) {
    }
}

// 2, stop: the lane of every workgroup whose word is not 0 stops with it.
ENTRY(2) {
  for (uint64_t g = first; g < first + count; ++g) {
    const uint32_t value = words(args, 0)[g];
    if (value == 0) continue;
    const auto lane = static_cast<uint32_t>(g) * 4;
    if (lane < worker->stop.lane) worker->stop = {KernelStop::Kind::Trap, 0, 21, lane, value, 0};
  }
}

// 3, control: the control bits of floating point, and whether subnormals live.
ENTRY(3) {
  for (uint64_t g = first; g < first + count; ++g) {
    volatile float tiny = 1e-30F;
    const uint32_t control = __builtin_ia32_stmxcsr() & ~0x3FU;
    words(args, 0)[g] = tiny * 1e-10F != 0.0F ? control : 0;
    linger(2000);
  }
}

// 4, tally: workers count by themselves and add up at the end, without atomics.
ENTRY(4) {
  auto* const tally = reinterpret_cast<uint64_t*>(worker->scratch);
  if (worker->started == 0) {
    memset(worker->scratch, 0, vyre_info[4].scratch_bytes);
    worker->started = 1;
  }
  for (uint64_t g = first; g < first + count; ++g) {
    tally[100] += words(args, 0)[g];
    linger(100);
  }
}
void vyre_finish_4(const KernelArgs* args, KernelWorker* worker) {
  words(args, 1)[0] += static_cast<uint32_t>(reinterpret_cast<uint64_t*>(worker->scratch)[100]);
  words(args, 1)[1] += 1;
}

// 5, calls: every way to name something.
__attribute__((visibility("default"))) uint32_t vyre_calls = 0;
uint32_t vyre_zeros[64];
static float (*volatile vyre_floor)(float) = floorf;
static uint32_t twice(uint32_t x) {
  return 2 * x;
}
static uint32_t thrice(uint32_t x) {
  return 3 * x;
}
using Function = uint32_t (*)(uint32_t);
extern const Function vyre_functions[2];
const Function vyre_functions[2] = {twice, thrice};
asm(".section .rodata.test_distances,\"a\",@progbits\n"
    "vyre_distances:\n"
    "  .quad vyre_entry_0 - .\n"         // R_X86_64_PC64
    "  .long vyre_zeros@GOTPCREL + 4\n"  // R_X86_64_GOTPCREL
    "  .long 0\n"
    ".text\n");
ENTRY(5) {
  vyre_calls += 1;
  uint32_t copied[300];
  memcpy(copied, words(args, 0), sizeof(copied[0]) * length(args, 0));
  for (uint64_t g = first; g < first + count; ++g) {
    uint32_t value = vyre_functions[g % 2](copied[g]) + vyre_zeros[g % 64];
    value += static_cast<uint32_t>(vyre_floor(2.5F + static_cast<float>(g)));
    value += static_cast<uint32_t>(fma(2.0, static_cast<double>(g), 1.0));
    words(args, 0)[g] = value;
  }
}

// 6, who: the worker that ran a workgroup, slowly.
ENTRY(6) {
  for (uint64_t g = first; g < first + count; ++g) {
    words(args, 0)[g] = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(worker) >> 4);
    linger(20000);
  }
}

// 7, step: one pass of a loop. The first word counts down; the second says whether it moved.
ENTRY(7) {
  (void)first;
  (void)count;
  uint32_t* const a = words(args, 0);
  if (a[0] != 0) {
    a[0] -= 1;
    a[1] = 1;
  }
  a[2] += 1;
}

// 8, grid: what the code knows about the launch.
ENTRY(8) {
  (void)first;
  (void)count;
  uint32_t* const a = words(args, 0);
  for (int axis = 0; axis < 3; ++axis) a[axis] = args->grid[axis];
  a[3] = length(args, 0);
  a[4] = args->stream_bytes > 0;
  a[5] = worker->scratch != nullptr && reinterpret_cast<uintptr_t>(worker->scratch) % 64 == 0;
}

const KernelInfo vyre_info[9] = {
    {0, 1, 0}, {0, 1000, 0}, {0, 50, 0}, {0, 100, 0},  {1024, 20, KernelInfo::kHasFinish},
    {0, 1, 0}, {0, 1000, 0}, {0, 1, 0},  {4096, 1, 0},
};
}
