// SPDX-License-Identifier: Apache-2.0
// Kernels for the cores of the host: one function per segment, which runs some workgroups of a
// grid one after the other, each phase by phase, each phase block by block (device/kernel.hpp says
// how it is called).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "codegen/llvm/body/code_size.hpp"
#include "codegen/llvm/body/divergence.hpp"
#include "codegen/llvm/body/phases.hpp"
#include "codegen/llvm/cpu/buffer_use.hpp"
#include "codegen/llvm/llvm_ir.hpp"
#include "device/kernel.hpp"

namespace vyre::codegen {

struct HostTarget {
  bool half_conversions = true;  // between f16 and f32, by instructions
  bool cheap_masks = false;      // a masked access takes as long as a whole one
  bool wide_vectors = true;      // of 512 bits
  bool checked = false;
  uint32_t ulp_budget = 0;               // of maths functions
  bool runs_once = false;                // the segment is all there is of the program
  std::optional<std::byte> poison = {};  // what scratch memory holds that is not cleared
  uint32_t lanes = 0;                    // of a block; 0: chosen by what a phase does
  Effort effort = Effort::Full;
};

// A segment as it is compiled: `sizes` are those of its phases; none: every call is inlined.
struct KernelSource {
  const plan::Segment& segment;
  const Phases& phases;
  std::span<const CodeSize> sizes;
  uint32_t number = 0;
};

// Adds vyre_entry_<number> to the module; says what a caller has to know.
device::KernelInfo emit_kernel(llvm::Module& module, const KernelSource& source,
                               const HostTarget& target);

struct PhaseShape {
  BlockShape block;
  // By statement: ifs that few lanes take and in which these come one after the other. Empty: none.
  std::vector<bool> serialised;
};
struct ShapeOptions {
  bool one_lane = false;  // without need no more
  bool wide_vectors = true;
  uint32_t lanes = 0;  // of a block, wherever it may have several; 0: by what the phase does
};
// Lanes of a block in which a phase is run. `own`, by buffer: memory that no other thread sees.
// `uses`, by buffer: what its segment does with it.
PhaseShape choose_shape(const check::CheckedProgram& phase, const std::vector<bool>& own,
                        const std::vector<BufferUse>& uses, const ShapeOptions& options);

inline constexpr uint32_t kSubgroupLanes = 32;

}  // namespace vyre::codegen
