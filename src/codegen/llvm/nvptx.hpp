// SPDX-License-Identifier: Apache-2.0
// PTX for a plan: one kernel per segment, in which a lane is a thread and a workgroup is a block of
// threads. Barriers of a workgroup are barriers of the block, wherever control flow has them; a
// lane that ends is a thread that exits, for which barriers do not wait from sm_70 on.
//
// Kernel vyre_entry_<i> has one parameter, by value: device::KernelArgs and, at once behind it, one
// device::KernelBinding with an address of the device per argument of the segment; that of a shared
// buffer is read if workgroups keep it between launches (device/kernel.hpp). It is launched with
// KernelArgs::grid blocks; their size is in the code.
//
// No code is made for subgroup operations, barriers of the grid, asynchronous copies, traps,
// ordered atomics and checked mode: these are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/device/capabilities.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

inline constexpr std::string_view kDefaultPtxArchitecture = "sm_90";

struct NvptxTarget {
  std::string_view architecture = kDefaultPtxArchitecture;
  bool checked = false;
};
enum class NvptxListing : uint8_t { Ptx, Llvm };

// Text. Unsupported for an architecture or a program that no code is made for.
Result<std::vector<std::byte>> nvptx_code(const plan::Plan& plan, const NvptxTarget& target,
                                          NvptxListing listing = NvptxListing::Ptx);

// What this code can rely on, on every GPU that it is made for.
device::Capabilities nvptx_capabilities();

// Null: the segment can be made. Otherwise the first thing that cannot, with its place.
std::optional<Error> nvptx_refusal(const plan::Segment& segment);

}  // namespace vyre::codegen
