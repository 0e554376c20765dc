// SPDX-License-Identifier: Apache-2.0
// How compiled code of Format::Object is called: the contract between the code generator and a
// backend that runs it on the host's cores. Plain data of fixed layout; the generator takes the
// offsets from here.
//
// An object is one relocatable ELF file for the host. It defines, by entry number,
//   vyre_entry_<i>    KernelFn: runs some workgroups of the grid on the calling thread
//   vyre_finish_<i>   KernelFinishFn, only for entries with KernelInfo::kHasFinish
//   vyre_info         KernelInfo[number of entries], read-only
// and needs nothing from outside but the functions of the C library that compilers call by
// themselves (memcpy, memmove, memset, memcmp, fma, fmaf and the rounding functions).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vyre::device {

// BackendInfo::architecture of devices that require another kind of code than is best: see
// backend::CpuCode.
inline constexpr std::string_view kOtherShapes = "other shapes";
inline constexpr std::string_view kCalledFunctions = "called functions";
inline constexpr std::string_view kCheapCode = "cheap code";

// Buffers are no longer than this, so that the last elements and the first are never in one block
// of lanes whose indices wrap.
inline constexpr uint32_t kMostKernelElements = 0xFFFF'FFFF - 63;

struct KernelBinding {
  std::byte* address = nullptr;  // at a multiple of 256; null if there are no bytes
  uint32_t length = 0;           // elements
  uint32_t zero = 0;
};

// Followed at once by one KernelBinding per argument of the entry. That of a shared buffer is where
// workgroups keep it between launches (one area after the other, in the order of workgroups).
struct KernelArgs {
  uint32_t grid[3] = {};  // workgroups
  uint32_t zero = 0;
  // Results of more bytes than this do not stay in any cache: they may be written past it.
  uint64_t stream_bytes = ~uint64_t{0};
  uint64_t reserved = 0;
};
static_assert(sizeof(KernelArgs) == 32 && sizeof(KernelBinding) == 16);

// What a lane stopped with, or where one was when the launch was given up.
struct KernelStop {
  enum class Kind : uint16_t { None, Trap, OutOfBounds, Loop };
  static constexpr uint32_t kNoLane = ~uint32_t{0};
  Kind kind = Kind::None;
  uint16_t memory = 0;      // out of bounds: which one the site speaks of; 0: the site says it
  uint32_t site = 0;        // a number that the entry can explain
  uint32_t lane = kNoLane;  // global
  uint32_t value = 0;       // of a trap; out of bounds: how many elements there are
  uint64_t index = 0;       // out of bounds: the bits of the index, sign-extended
};
static_assert(sizeof(KernelStop) == 24);

// One thread's part in a launch.
struct KernelWorker {
  // KernelInfo::scratch_bytes at a multiple of 64, of any contents.
  std::byte* scratch = nullptr;
  // Polled now and then by loops without a known end. Not 0: the kernel returns at once, and what
  // it has not done stays undone.
  uint32_t (*poll)(KernelWorker* worker, uint32_t site) = nullptr;
  KernelStop stop = {};  // of the smallest lane so far; the code only ever lowers it
  // 0 before the first call of a launch on this thread; the code's own afterwards.
  uint64_t started = 0;
  uint64_t reserved = 0;
};
static_assert(sizeof(KernelWorker) == 56);

// Workgroups [first, first + count) in the order of their linear ids. A caller may split a launch
// into such calls as it likes, on any threads.
using KernelFn = void (*)(const KernelArgs* args, KernelWorker* worker, uint64_t first,
                          uint64_t count);
// Once per worker that has made a call, after the last call of the launch.
using KernelFinishFn = void (*)(const KernelArgs* args, KernelWorker* worker);

struct KernelInfo {
  static constexpr uint32_t kHasFinish = 1;
  // All workgroups do the same, and once is enough.
  static constexpr uint32_t kOneGroup = 2;
  // It has loops whose trip counts depend on data: the cost is no more than a guess.
  static constexpr uint32_t kCostGuessed = 4;
  uint64_t scratch_bytes = 0;
  uint32_t cost = 0;  // of one lane, in about a nanosecond: what to expect, not a promise
  uint32_t flags = 0;
};
static_assert(sizeof(KernelInfo) == 16);

}  // namespace vyre::device
