// SPDX-License-Identifier: Apache-2.0
// PTX for a plan: one kernel per segment, in which a lane is a thread and a workgroup is a block of
// threads (device/gpu_kernel.hpp says how it is launched). Barriers are barriers of the block, of
// the warp or of all blocks, wherever control flow has them; a lane that ends is a thread that
// exits, for which barriers do not wait from sm_70 on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codegen/llvm/body/code_size.hpp"
#include "codegen/target.hpp"

namespace vyre::codegen {

extern const TargetDescriptor kNvptxTarget;

inline constexpr std::string_view kDefaultPtxArchitecture = "sm_90";

struct NvptxTarget {
  std::string_view architecture = kDefaultPtxArchitecture;
  bool checked = false;
  uint32_t ulp_budget = 0;
  std::optional<std::byte> poison = {};  // what shared memory holds that need not be cleared
  CodeBudget budget = {};
  uint32_t lanes = 0;  // of a thread, at most; 0: chosen by what the lanes do
};
enum class NvptxListing : uint8_t { Ptx, Llvm };

// Text. Unsupported for an architecture or a program that no code is made for.
Result<Code> nvptx_code(const plan::Plan& plan, const NvptxTarget& target,
                        NvptxListing listing = NvptxListing::Ptx);

// How many consecutive lanes along x a thread runs, and the threads of a block. With more than one
// lane a block runs lanes of several workgroups, whatever their size is.
struct ThreadShape {
  uint32_t lanes = 1;
  uint32_t threads = 1;
};
// `lanes`: the most of a thread; 0: chosen by what they do.
ThreadShape thread_shape(const check::CheckedProgram& program, bool checked, uint32_t lanes = 0);

// Dynamic shared memory of a block, as device/gpu_kernel.hpp lays it out.
struct SharedLayout {
  std::vector<uint64_t> at;  // by buffer; 0: not shared
  uint64_t bytes = 0;
  uint64_t alignment = 0;  // of the start
};
SharedLayout shared_layout(const check::CheckedProgram& program);
inline uint64_t block_shared_bytes(const check::CheckedProgram& program) {
  return shared_layout(program).bytes;
}

// Whether the segment can be launched as one kernel. Inactive lanes that only execute uniform code
// up to barriers (Segment::live) are still threads of their warp but do not execute operations of
// subgroups, which would wait for them: such a program has to be split at its barriers. The kernel
// of a segment that cannot be launched is empty.
bool is_launchable(const plan::Segment& segment);

// What this code can rely on, on every GPU that it is made for.
device::Capabilities nvptx_capabilities();

// Null: the segment can be made. Otherwise the first thing that cannot, with its place.
std::optional<Error> nvptx_refusal(const plan::Segment& segment);

}  // namespace vyre::codegen
