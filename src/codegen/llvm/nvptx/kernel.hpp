// SPDX-License-Identifier: Apache-2.0
// One segment as a kernel of PTX: a lane is a thread, a workgroup is a block of threads. How it is
// launched is in device/gpu_kernel.hpp.
#pragma once

#include <utility>
#include <vector>

#include "codegen/llvm/body/body_emitter.hpp"
#include "codegen/llvm/body/bounds_guards.hpp"
#include "codegen/llvm/machine_code.hpp"
#include "codegen/llvm/nvptx/target.hpp"
#include "codegen/llvm/nvptx/votes.hpp"
#include "device/gpu_kernel.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

// Units of work between two looks at whether to go on.
inline constexpr uint32_t kTripsPerPoll = 1U << 14;
// Lanes that take longer look before they begin; in about a nanosecond of a processor.
inline constexpr double kLongLane = 1000;
inline constexpr unsigned kPtxGlobalSpace = 1;
inline constexpr unsigned kPtxSharedSpace = 3;
// Named by the language's rules, not by a warp: a subgroup is that many lanes in their order.
inline constexpr uint32_t kPtxSubgroupLanes = 32;

// Words at the start of a block's shared memory.
inline constexpr uint32_t kEndedWord = 0;  // lanes that have come to the end
inline constexpr uint32_t kTurnWord = 1;   // what of a copy somebody has taken
// Of barriers of the grid. Without votes not 0 if the launch was given up; with them what the
// counter has grown by, or 0.
inline constexpr uint32_t kMetWord = 2;

// What a segment does that decides how its blocks are made.
struct ThreadUse {
  bool ends = false;       // a lane, before the end of the program
  bool waits = false;      // at barriers of its workgroup
  bool subgroups = false;  // operations and barriers of subgroups
  bool copies = false;     // asynchronous copies
};
ThreadUse thread_use(const check::CheckedProgram& program, bool accesses_end);

class NvptxKernel : public TargetLowering, public RowLowering, public ThreadLowering {
 public:
  struct Options {
    bool checked = false;
    std::optional<std::byte> poison = {};  // NvptxTarget::poison
    const CodeSize* size = nullptr;        // BodyOptions::size
  };
  NvptxKernel(llvm::Module& module, const plan::Plan& plan, uint32_t number, const Machine& machine,
              const Options& options);
  void run();

  // ---- lowering

  Val builtin(ir::Builtin builtin, uint32_t axis) override;
  MemoryRef buffer(ir::BufferId id) override { return memories_[id.index()]; }
  Val global_lane() override;
  void trapped(SiteRef site, llvm::Value* lane, llvm::Value* value) override;
  void out_of_bounds(SiteRef site, const MemoryRef& memory, llvm::Value* lane,
                     llvm::Value* index) override;
  void poll(SiteRef site, uint32_t weight) override;
  void count_work(llvm::Value* units) override;
  void poll_if_due(SiteRef site) override;
  void enter_function() override { early_.push_back(std::exchange(hoister_, nullptr)); }
  void leave_function() override {
    hoister_ = early_.back();
    early_.pop_back();
  }
  llvm::BasicBlock* lane_end() override { return lane_end_; }
  llvm::Value* start() override { return start_; }
  llvm::Value* wide_start() override { return wide_start_; }
  bool ensure_below(llvm::Value* offset, llvm::Value* limit, bool signed_index) override {
    return hoister_ != nullptr && guards_.below(*hoister_, offset, limit, signed_index);
  }
  bool ensure_at_least(llvm::Value* offset, llvm::Value* limit) override {
    return hoister_ != nullptr && guards_.at_least(*hoister_, offset, limit);
  }
  llvm::Value* row_offset(llvm::Value* offset) override;
  bool streams(ir::BufferId, llvm::Value*) override { return false; }
  void demand_lanes(llvm::Value*, llvm::Value*, bool) override {}
  void workgroup_barrier() override;
  void grid_barrier(ir::StmtId at) override;
  bool try_lower_statement(ir::StmtId id) override;
  llvm::Value* try_lower_expression(ir::ExprId id) override;
  void subgroup_barrier() override;
  void copy(const CopyOperands& x, SiteRef site) override;
  llvm::Value* ballot(llvm::Value* condition) override;
  llvm::Value* from_lane(llvm::Value* word, llvm::Value* lane) override;
  [[nodiscard]] bool subgroups_are_full() const override;
  void fence() override;

 private:
  static Val plain(llvm::Value* v) { return {v, false}; }

  // ---- the function and its ids (nvptx_kernel.cpp)

  void declare();
  void emit_lanes(uint32_t lanes);
  void emit_several();
  struct Version;
  Version together(llvm::Value* first, llvm::BasicBlock* before, bool aligned);
  Val along_x();
  void annotate(const char* what, uint32_t value);
  llvm::Value* parameter(llvm::Type* type, uint64_t offset);
  llvm::Value* special(llvm::Intrinsic::ID id, uint32_t below);
  void find_ids();
  llvm::Value* lane_in_group() { return thread_; }
  llvm::Value* group_id(uint32_t axis) { return group_[axis]; }
  llvm::Value* lane_along(uint32_t axis);
  llvm::Value* linear_group();
  llvm::Value* size_of(uint32_t axis) { return b_.getInt32(program_.workgroup[axis]); }
  [[nodiscard]] uint32_t threads() const { return shape_.threads; }
  [[nodiscard]] bool several() const { return shape_.lanes > 1; }
  llvm::BasicBlock* block(const char* name);

  // ---- memory

  void bind_buffers();
  void give_scopes();
  llvm::Value* bound_address(uint32_t buffer);
  [[nodiscard]] uint32_t count_of(uint32_t buffer) const {
    return *program_.buffers[buffer].constant_count;
  }
  [[nodiscard]] uint32_t rows_of(uint32_t buffer) const;
  void keep_subnormals_in_atomics();

  // ---- shared memory and copies (nvptx_shared.cpp)

  void deal(llvm::Value* first, llvm::Value* step, llvm::Value* count,
            llvm::function_ref<void(llvm::Value* at)> body);
  void deal_to_all(uint32_t count, llvm::function_ref<void(llvm::Value* at)> body);
  void take_turns(llvm::Value* count, llvm::function_ref<void(llvm::Value* at)> body);
  llvm::Value* header_word(uint32_t word);
  [[nodiscard]] const plan::SharedUse* use_of(uint32_t buffer) const;
  [[nodiscard]] bool needs_zeros(uint32_t buffer) const;  // nvptx_clear.cpp
  void copy_shared(uint32_t buffer, bool save, bool alone);
  void start_shared();
  void save_shared();
  [[nodiscard]] bool saves() const;
  void check_copy(const CopyOperands& x, SiteRef site, llvm::Value* dst, llvm::Value* src,
                  llvm::Value* count);

  // ---- meeting and stopping (nvptx_meet.cpp)

  llvm::Value* inline_ptx(const char* text, const char* constraints, llvm::Type* result,
                          llvm::ArrayRef<llvm::Value*> operands);
  llvm::Function* internal_function(const char* name, llvm::Type* result,
                                    llvm::ArrayRef<llvm::Type*> parameters);
  void nap(uint32_t ns);
  llvm::Value* lanes_of_warp();
  llvm::Value* cancel_word();
  llvm::Value* given_up();
  void ask_first();
  llvm::Function* stop_function();
  void record(device::KernelStop::Kind kind, SiteRef site, uint16_t memory, llvm::Value* lane,
              llvm::Value* value, llvm::Value* index);

  // ---- barriers of the grid (nvptx_grid.cpp)

  struct Meeting {
    llvm::Value* counter = nullptr;  // its address
    llvm::Value* base = nullptr;     // what it was when all had left the barrier before
    llvm::Value* blocks = nullptr;
  };
  [[nodiscard]] bool meets_at_top() const;
  void declare_meetings();
  Meeting next_meeting();
  llvm::Value* all_came(const Meeting& meeting, llvm::Value* grown);
  llvm::Value* look_at(const Meeting& meeting);
  llvm::Function* wait_function();
  // By one thread of each block: what it tells the others, at the insertion point; without votes
  // it goes to `join` unless the launch is given up.
  llvm::Value* wait_for_all(const Meeting& meeting, llvm::Value* mine, llvm::BasicBlock* join);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  Builder b_;
  const plan::Segment& segment_;
  const check::CheckedProgram& program_;
  uint32_t number_;
  const Machine& machine_;
  bool checked_;
  std::optional<std::byte> poison_;
  const CodeSize* size_;
  ThreadUse use_;
  ThreadShape shape_;
  Votes votes_;

  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* exit_ = nullptr;   // where lanes end
  llvm::BasicBlock* leave_ = nullptr;  // where they are given up
  llvm::BasicBlock* lane_end_ = nullptr;
  // Of a thread with several lanes: the first of those that are being written, and how many.
  llvm::Value* start_ = nullptr;
  llvm::Value* wide_start_ = nullptr;
  uint32_t lanes_ = 1;
  Hoister* hoister_ = nullptr;
  std::vector<Hoister*> early_;  // of code around a function
  BoundsGuards guards_;
  bool aligned_ = false;  // rows start at multiples of a thread's lanes
  llvm::Value* shared_ = nullptr;
  llvm::Value* control_ = nullptr;
  llvm::Value* cancel_at_start_ = nullptr;  // not null: the first barrier of the grid looks at it
  llvm::Value* polls_left_ = nullptr;       // variables
  // Variables of barriers of the grid. With votes, the two counters take turns.
  llvm::Type* count_type_ = nullptr;
  llvm::Value* base_ = nullptr;
  llvm::Value* next_base_ = nullptr;
  llvm::Value* counter_at_ = nullptr;
  std::vector<llvm::Value*> cast_;     // variables: this lane has, by vote
  std::vector<llvm::Value*> outcome_;  // variables
  llvm::Value* thread_ = nullptr;
  std::array<llvm::Value*, 3> group_ = {};
  std::array<llvm::Value*, 3> grid_ = {};
  std::vector<MemoryRef> memories_;  // by buffer
};

}  // namespace vyre::codegen
