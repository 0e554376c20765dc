// SPDX-License-Identifier: Apache-2.0
// How compiled code of Format::Ptx and Format::Cubin is launched: the contract between the code
// generator and a backend that runs it on a GPU. Plain data of fixed layout, little-endian on both
// sides; the generator takes the offsets from here.
//
// A module defines a kernel vyre_entry_<i> for each entry. Its one parameter, by value, is GpuArgs
// and, at once behind it, one KernelBinding per argument of the entry, with addresses of the device
// (device/kernel.hpp). That of a shared buffer is where workgroups keep it between launches. A
// workgroup is a block of as many threads as it has lanes, all along x; workgroups are blocks
// (x, y, z). The launch gives a block Entry::shared_bytes of dynamic shared memory.
//
// Where Entry::lanes_per_thread is more than 1, blocks have Entry::threads threads and there
// are as many along x as it takes to run all lanes of a row of workgroups; `first` counts blocks.
//
// Where Entry::barriers_inside, all blocks of the grid have to be on the GPU at once (a cooperative
// launch), in one launch with `first` of zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/kernel.hpp"
#include "vyre/device/capabilities.hpp"

namespace vyre::device {

struct GpuArgs {
  uint32_t grid[3] = {};  // workgroups, as the program sees them
  // What block (0, 0, 0) is among all blocks: what is too much for one launch is launched in parts.
  uint32_t first[3] = {};
  uint64_t control = 0;  // address of a GpuControl
};
static_assert(sizeof(GpuArgs) == 32);

// In memory of the GPU, at a multiple of 256. Zeros before the first launch that uses it.
struct GpuControl {
  // Not 0: lanes stop at the next poll, and what they have not done stays undone. The
  // host may store it while kernels run.
  uint32_t cancel = 0;
  uint32_t lock = 0;  // of `stop`, the code's own
  // Of the smallest lane so far; Kind::None: no lane has stopped. Kind::Loop: `lane` was given up
  // in a loop.
  KernelStop stop = {};
  uint32_t zero[8] = {};
  // Counters of blocks that have come to barriers of the grid: all zero before each launch of an
  // entry with barriers inside. `arrived`, or, where barriers count votes, the others in turn. Far
  // apart: some blocks still read one when others add to the next.
  uint64_t even = 0;
  uint32_t more[14] = {};
  uint32_t arrived = 0;
  uint32_t and_more[15] = {};
  uint64_t odd = 0;
  uint32_t rest[14] = {};
};
static_assert(sizeof(GpuControl) == 256 && offsetof(GpuControl, even) == 64 &&
              offsetof(GpuControl, arrived) == 128 && offsetof(GpuControl, odd) == 192);
// From `even` on, words that hold the counters and nothing else.
inline constexpr uint32_t kGpuCounterWords =
    (offsetof(GpuControl, odd) - offsetof(GpuControl, even)) / 4 + 2;

// Shared memory of a block: words of the code's own, then the shared buffers of the program in
// their order, each at a multiple of kGpuSharedRow, or of its @align if that is more.
inline constexpr uint64_t kGpuSharedRow = 16;
inline constexpr uint64_t kGpuSharedHeader = 16;

// What this code does on every GPU that it is made for. Shared memory, bindings, formats and
// whether blocks can be there all at once are the device's.
Capabilities gpu_capabilities();

}  // namespace vyre::device
