// SPDX-License-Identifier: Apache-2.0
// What the emitters of one body share: where they write, what they write for, and which lanes the
// insertion point is for.
//
// A block of one lane is plain code. In a block of many, control flow that is the same for all
// lanes stays control flow; where lanes diverge, both sides are run under a mask of the lanes that
// are meant, and a mask of no lane skips a side. A null mask stands for all lanes.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "codegen/approximations.hpp"
#include "codegen/llvm/body/code_size.hpp"
#include "codegen/llvm/body/condition_facts.hpp"
#include "codegen/llvm/body/divergence.hpp"
#include "codegen/llvm/body/lowering.hpp"

namespace vyre::codegen {

struct BodyOptions {
  BlockShape shape = {};
  bool checked = false;
  bool half_conversions = true;
  bool cheap_masks = true;  // otherwise a jump around a masked access is worth it
  ir::StmtId test = {};     // DemandedLanes::test
  // One lane's accesses that may be out of bounds are jumped over, and not sent to another
  // address: where a jump costs less than an access, or memories have addresses of their own.
  bool jumps_over_accesses = false;
  bool splits_loops = false;  // see loop_splitter.hpp
  // Loops of the code are nests: the inner ones take some iterations without polling, so that LLVM
  // can unroll them.
  bool nests_loops = false;
  // Threads share lines of a cache: what is there already is not written again where all may
  // write.
  bool shared_lines = false;
  // Stores past the caches are finished before a release. On x86-64 these are not ordered by it.
  bool fences_releases = false;
  // Lanes of a block of one that can wait for each other and see each other's values.
  bool lanes_are_threads = false;
  // Of maths functions, and how far from exact their results may be.
  std::span<const Approximation> approximations = {};
  uint32_t ulp_budget = 0;
  // By statement of the program: PhaseShape::serialised.
  const std::vector<bool>* serialised = nullptr;
  // Of the program: which functions are called; null: all are inlined.
  const CodeSize* size = nullptr;
};

// A local of the program, or of a function.
struct Slot {
  Val value;                        // let
  llvm::Value* variable = nullptr;  // var: its memory
  bool varying = false;
  std::optional<MemoryRef> memory;  // private array, buffer parameter
};
// By local of the program, from the first one that a function has.
class Slots {
 public:
  Slots() = default;
  Slots(size_t first, size_t count) : first_(first), slots_(count) {}
  Slot& operator[](size_t local) { return slots_[local - first_]; }
  const Slot& operator[](size_t local) const { return slots_[local - first_]; }
  [[nodiscard]] size_t size() const { return slots_.size(); }

 private:
  size_t first_ = 0;
  std::vector<Slot> slots_;
};

// A loop around the insertion point.
struct Loop {
  llvm::BasicBlock* next = nullptr;
  llvm::BasicBlock* exit = nullptr;
  llvm::Value* skipped = nullptr;  // divergent: lanes that continue with the next iteration
  // Variables, where loops are nests: iterations that are not counted as work yet, and what one
  // weighs.
  llvm::Value* unreported = nullptr;
  llvm::Value* weight = nullptr;
};

// The program, or a function that is being inlined.
struct Frame {
  const check::CheckedProgram* c = nullptr;
  const Divergence* d = nullptr;
  Slots slots;
  std::vector<Loop> loops;
  // Of a function:
  ir::FnId fn = {};
  llvm::Value* result = nullptr;
  bool result_varies = false;
  llvm::BasicBlock* exit = nullptr;
  bool divergent = false;           // lanes return one after the other
  uint32_t divergence_depth = 0;    // divergent constructs around its body
  llvm::Value* returned = nullptr;  // then: those that have
};

// A loop with large strides through memory, which processors do not foresee.
struct StrideLoop {
  llvm::Value* number = nullptr;  // i32, what the index has to depend on
  uint64_t ahead = 0;             // elements until what will be used soon
};

struct SplitLoop;  // loop_splitter.hpp

// Statements that may be emitted a second time so that full blocks need no mask.
inline constexpr uint32_t kMostRepeated = 400;
// Loops of fewer iterations, with those around them, end soon enough without a poll: a block of
// lanes polls when it is done.
inline constexpr uint64_t kIterationsWithoutPoll = uint64_t{1} << 18;

struct BodyContext {
  BodyContext(Builder& builder, const Lowering& lowering, const check::CheckedProgram& program,
              const Divergence& divergence, const BodyOptions& options);

  // ---- the program

  Frame& frame() { return frames.back(); }
  [[nodiscard]] const ir::Program& p() const { return frames.back().c->program; }
  [[nodiscard]] const check::CheckedProgram& c() const { return *frames.back().c; }
  [[nodiscard]] const Divergence& d() const { return *frames.back().d; }
  [[nodiscard]] ir::Type type_of_expr(ir::ExprId id) const { return *c().expr_types[id.index()]; }
  // The program itself, or a function of it; not the maths library.
  [[nodiscard]] bool in_program() const { return frames.back().c == frames.front().c; }

  // ---- the target

  CoreLowering& core();
  ThreadLowering& threads();

  // ---- types and values

  [[nodiscard]] bool wide() const { return options.shape.lanes > 1; }
  [[nodiscard]] uint32_t lanes() const { return options.shape.lanes; }
  llvm::Type* vector(llvm::Type* scalar) {
    return wide() ? llvm::FixedVectorType::get(scalar, lanes()) : scalar;
  }
  llvm::Type* shaped(ir::Type type, bool varying);
  Val constant(ir::Type type, uint64_t bits);
  llvm::Value* iota(llvm::Type* element);
  llvm::Value* new_variable(llvm::Type* type);

  // ---- blocks

  llvm::BasicBlock* new_block(const char* name);
  [[nodiscard]] bool terminated() const;
  void branch_to(llvm::BasicBlock* block);

  // ---- masks

  llvm::Value* all_lanes();
  llvm::Value* no_lanes();
  llvm::Value* mask_or_all() { return mask != nullptr ? mask : all_lanes(); }
  llvm::Value* mask_bits(llvm::Value* lanes_in);
  llvm::Value* any(llvm::Value* lanes_in);
  llvm::Value* every(llvm::Value* lanes_in);
  // The first lane of a mask that has one, i32.
  llvm::Value* first_lane(llvm::Value* lanes_in);
  llvm::Value* merged_mask(llvm::Value* a, llvm::BasicBlock* from_a, llvm::Value* b,
                           llvm::BasicBlock* from_b);

  Builder& builder;
  Lowering lowering;
  TargetLowering& target;
  RowLowering& rows;
  BodyOptions options;
  Arithmetic math;
  std::deque<Frame> frames;  // references stay valid while functions are entered

  llvm::Value* mask = nullptr;
  llvm::Value* live = nullptr;    // variable: lanes that have not ended, if lanes can end alone
  uint32_t divergence_depth = 0;  // divergent constructs around the insertion point
  llvm::Value* serial_lane = nullptr;  // the one being run, where lanes are serialised
  llvm::Value* sink = nullptr;         // where stores go that do not happen
  ConditionFacts facts;
  std::vector<SplitLoop*> splits;  // around the insertion point
  bool splits_off = false;         // in iterations that are left over
  std::optional<StrideLoop> stride;
  uint64_t trip_count = 1;  // of the loops around, as far as it is known

  uint64_t nodes = 0;     // statements and expressions emitted so far
  uint32_t repeated = 0;  // statements emitted a second time for full masks
  // Instructions that the calls so far stand for, with those of the functions that they call:
  // a loop whose iterations call much polls as often as if all of it were inlined.
  uint64_t called = 0;
};

}  // namespace vyre::codegen
