// SPDX-License-Identifier: Apache-2.0
// A request for memory of a device: how much, for whom, and what it may hold.
//
// Memory that one owner frees and another one gets never shows what it held. An owner is a pipeline
// (its arenas) or a device handle (the buffers of its caller); what it freed itself it may get back
// as it was, if it says that it does not need zeros.
#pragma once

#include <cstdint>

#include "vyre/device/steps.hpp"

namespace vyre::device {

enum class Memory : uint8_t {
  Device,
  Staging,  // of the host, fast to transfer from
  Control,  // the host may write it while work runs
};

enum class Contents : uint8_t {
  Zeros,
  // Anything that is not another owner's: zeros, a pattern, or what this owner left in memory that
  // it freed.
  Uninitialised,
};

// One of its own for everyone who calls, never 0.
uint64_t new_owner();

// Every address is a multiple of this, and of more on request: a power of two up to kMostAlignment,
// the size of a huge page.
inline constexpr uint64_t kLeastAlignment = 256;
inline constexpr uint64_t kMostAlignment = uint64_t{2} << 20;
// Of memory that a workgroup shares.
inline constexpr uint64_t kMostSharedAlignment = 1024;

struct Allocation {
  uint64_t bytes = 0;
  Memory kind = Memory::Device;
  uint64_t owner = 0;  // 0: no owner, which never gets anything back
  Contents contents = Contents::Uninitialised;
  // The caller writes all of it before anyone can read it, so nothing has to be cleared.
  bool overwritten = false;
  uint64_t alignment = kLeastAlignment;  // of the address on the device
};

struct Allocated {
  Handle handle;
  uint64_t cleared_bytes = 0;  // on the way from one owner to another, or to be zeros
};

}  // namespace vyre::device
