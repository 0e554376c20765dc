// SPDX-License-Identifier: Apache-2.0
// What the parts of a kernel of PTX share: the segment, the function that is being written, and
// which block and thread runs it. How a kernel is launched is in device/gpu_kernel.hpp.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "codegen/llvm/body/lowering.hpp"
#include "codegen/llvm/machine_code.hpp"
#include "codegen/llvm/nvptx/target.hpp"
#include "codegen/llvm/nvptx/votes.hpp"
#include "device/gpu_kernel.hpp"

namespace vyre::codegen {

inline constexpr unsigned kPtxGlobalSpace = 1;
inline constexpr unsigned kPtxSharedSpace = 3;
// Named by the language's rules, not by a warp: a subgroup is that many lanes in their order.
inline constexpr uint32_t kPtxSubgroupLanes = 32;
// Units of work between two polls whether to go on.
inline constexpr uint32_t kUnitsPerPoll = 1U << 14;

// Words at the start of a block's shared memory.
inline constexpr uint32_t kEndedWord = 0;  // lanes that have come to the end
inline constexpr uint32_t kTakenWord = 1;  // elements of a copy that some lane has taken
// Of barriers of the grid. Without votes not 0 if the launch was given up; with them what the
// counter has grown by, or 0.
inline constexpr uint32_t kBarrierWord = 2;

// What a segment does that decides how its blocks are made.
struct ThreadUse {
  bool ends = false;       // a lane, before the end of the program
  bool waits = false;      // at barriers of its workgroup
  bool subgroups = false;  // operations and barriers of subgroups
  bool copies = false;     // asynchronous copies
};
ThreadUse thread_use(const check::CheckedProgram& program, bool accesses_end);

struct KernelOptions {
  bool checked = false;
  uint32_t ulp_budget = 0;
  std::optional<std::byte> poison = {};  // NvptxTarget::poison
  const CodeSize* size = nullptr;        // BodyOptions::size
  uint32_t lanes = 0;                    // NvptxTarget::lanes
};

struct KernelContext {
  KernelContext(llvm::Module& to, const plan::Plan& plan, uint32_t index, const Machine& target,
                const KernelOptions& chosen);

  // ---- the function

  llvm::BasicBlock* block(const char* name);
  llvm::Value* parameter(llvm::Type* type, uint64_t offset);
  llvm::Function* internal_function(const char* name, llvm::Type* result,
                                    llvm::ArrayRef<llvm::Type*> parameters);
  llvm::Value* inline_ptx(const char* text, const char* constraints, llvm::Type* result,
                          llvm::ArrayRef<llvm::Value*> operands);

  // ---- ids

  [[nodiscard]] uint32_t threads() const { return shape.threads; }
  // A thread runs several lanes.
  [[nodiscard]] bool is_coarsened() const { return shape.lanes > 1; }
  llvm::Value* lane_in_group() { return thread; }
  llvm::Value* group_id(uint32_t axis) { return group[axis]; }
  llvm::Value* lane_along(uint32_t axis);
  llvm::Value* linear_group();
  llvm::Value* size_of(uint32_t axis) { return builder.getInt32(program.workgroup[axis]); }
  // Of a thread with several lanes: the first of them.
  Val global_lane();

  // ---- memory

  [[nodiscard]] uint32_t count_of(uint32_t buffer) const {
    return *program.buffers[buffer].constant_count;
  }
  [[nodiscard]] uint32_t rows_of(uint32_t buffer) const;
  llvm::Value* bound_address(uint32_t buffer);
  llvm::Value* header_word(uint32_t word);

  // ---- synchronisation

  void fence();
  void workgroup_barrier();
  void sleep(uint32_t ns);
  // Not 0: the launch is given up.
  llvm::Value* cancel_word();

  llvm::Module& module;
  llvm::LLVMContext& context;
  Builder builder;
  const plan::Segment& segment;
  const check::CheckedProgram& program;
  uint32_t number;
  const Machine& machine;
  KernelOptions options;
  ThreadUse use;
  ThreadShape shape;
  // Axes of the workgroup in the order in which threads are numbered. Another one than x, y, z has
  // no subgroups, which are of lanes by their number in the workgroup.
  std::array<uint32_t, 3> axes = {0, 1, 2};
  Votes votes;

  llvm::Function* function = nullptr;
  llvm::BasicBlock* exit = nullptr;   // where lanes end
  llvm::BasicBlock* leave = nullptr;  // where they are given up
  llvm::Value* shared = nullptr;
  llvm::Value* control = nullptr;
  llvm::Value* thread = nullptr;
  std::array<llvm::Value*, 3> group = {};
  std::array<llvm::Value*, 3> grid = {};
  std::vector<MemoryRef> memories;  // by buffer
  // Of a thread with several lanes: the first of those that are being written.
  llvm::Value* start = nullptr;
};

// What each part of a kernel has. They write at the insertion point of the context's builder.
class KernelPart {
 protected:
  explicit KernelPart(KernelContext& context)
      : k_(context), b_(context.builder), context_(context.context) {}

  KernelContext& k_;
  Builder& b_;
  llvm::LLVMContext& context_;
};

}  // namespace vyre::codegen
