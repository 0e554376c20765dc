// SPDX-License-Identifier: Apache-2.0
// The statements of a program, for one block of lanes, as LLVM IR. What is the same for every
// target is here; where memory lies, which lanes a block has, how one of them stops and whether
// blocks can wait for each other is the Environment's.
//
// A block of one lane is plain code. In a block of many, control flow that is the same for all
// lanes stays control flow; where lanes part, both sides are run under a mask of the lanes that are
// meant, and a mask of no lane skips a side. A null mask stands for all lanes.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "codegen/llvm/body/code_size.hpp"
#include "codegen/llvm/body/divergence.hpp"
#include "codegen/llvm/body/out_of_line.hpp"
#include "codegen/llvm/body/values.hpp"
#include "vyre/check/check.hpp"

namespace vyre::codegen {

inline constexpr uint32_t kCopyBanks = 4;
// A worker's own copy of a buffer into which a launch only ever combines values, in some banks so
// that the same element need not be waited for again and again.
struct OwnCopy {
  llvm::Value* use = nullptr;  // i1: whether the copy is there
  llvm::Value* address = nullptr;
  llvm::Value* bank_mask = nullptr;    // of lane numbers, i64
  llvm::Value* bank_stride = nullptr;  // elements, i64
};

// Memory that can be indexed.
struct MemoryRef {
  ir::Type element = ir::Type::U32;
  llvm::Value* address = nullptr;
  llvm::Value* length = nullptr;  // elements, i32
  bool invariant = false;         // nobody writes it while the kernel runs
  bool steady = false;            // nobody writes it in this phase
  bool own = false;               // no other thread sees it: atomics need not be atomic
  bool per_lane = false;          // elements are vectors, one part for each lane
  const OwnCopy* copy = nullptr;
  uint16_t argument = 0;  // what a parameter stands for, see argument_number()
  llvm::MDNode* scope = nullptr;
  llvm::MDNode* others = nullptr;  // the scopes of all other memories
};

// Buffers and tables of a program, as what a parameter of a function can stand for; 0 is none.
inline constexpr uint16_t kTableArguments = 0x8000;
uint16_t argument_number(ir::Memory memory);

// What changes nothing as the operand of an atomic operation, of a scalar or vector type; null if
// there is no such operand.
llvm::Constant* neutral_operand(ir::AtomicOp op, ir::Type type, llvm::Type* shape);

// A place in the source that a stop can name.
struct SiteRef {
  ir::ExprId expr;
  ir::StmtId stmt;
};

// An asynchronous copy, as every lane of the workgroup comes to it.
struct CopyOperands {
  ir::Memory dst_memory, src_memory;
  MemoryRef dst, src;
  llvm::Value* dst_index = nullptr;
  llvm::Value* src_index = nullptr;
  llvm::Value* count = nullptr;
  ir::Type dst_type = ir::Type::U32, src_type = ir::Type::U32, count_type = ir::Type::U32;
};

// Checked mode: whether a copy of some elements leaves a memory (numbers of one wide type), and the
// index (i64) that says so.
struct OutsideCopy {
  llvm::Value* outside = nullptr;
  llvm::Value* index = nullptr;
};
OutsideCopy outside_copy(Builder& builder, llvm::Value* first, llvm::Value* count,
                         llvm::Value* length);

class Environment {
 public:
  virtual ~Environment() = default;
  virtual Val builtin(ir::Builtin builtin, uint32_t axis) = 0;
  virtual MemoryRef buffer(ir::BufferId id) = 0;
  // Global numbers of the lanes, as u32.
  virtual Val global_lane() = 0;
  // One lane stops: reports are kept for the smallest.
  virtual void trapped(SiteRef site, llvm::Value* lane, llvm::Value* value) = 0;
  virtual void out_of_bounds(SiteRef site, const MemoryRef& memory, llvm::Value* lane,
                             llvm::Value* index) = 0;
  // In each trip of a loop without a known end; `weight`: about how long a trip is.
  virtual void poll(SiteRef site, uint32_t weight) = 0;
  // Instead, for loops that ask after many trips: how many of them at most (i64), where a trip
  // weighs 2^weight_bits; and after so many (i64).
  virtual llvm::Value* trips_left(uint32_t weight_bits);
  virtual void poll_trips(SiteRef site, llvm::Value* trips, uint32_t weight_bits);
  // Only where Options::nests_loops, what poll() does in two parts: so many units of work (i32) are
  // done; if that was enough, ask whether to go on.
  virtual void spend(llvm::Value* units);
  virtual void ask(SiteRef site);
  // A block at the end of the lane's (or the block's) code.
  virtual llvm::BasicBlock* lane_end() = 0;
  // First lane of the block along x, as i32, to which Val::offset is added.
  virtual llvm::Value* start() = 0;
  // The same as i64. Where ensure_below() has said yes, the sum with the offset (as a signed
  // number) is the index without wrapping.
  virtual llvm::Value* wide_start() = 0;
  // True if from now on start + offset .. + lanes lies below the limit (u32): the environment makes
  // sure of it before it comes here. False: it cannot, and the caller has to test.
  virtual bool ensure_below(llvm::Value* offset, llvm::Value* limit, bool signed_index) = 0;
  virtual bool ensure_at_least(llvm::Value* offset, llvm::Value* limit) = 0;
  // Where ensure_below() has said yes: the offset as a signed number of 64 bits.
  virtual llvm::Value* row_offset(llvm::Value* offset) = 0;
  // Called for an unmasked contiguous store outside of loops; true: write past the caches, the row
  // starts at a multiple of row_align().
  virtual bool streams(ir::BufferId id, llvm::Value* offset) = 0;
  // Lanes with start + offset + k below the limit, or equal to it, are all that make a difference.
  virtual void only_lanes(llvm::Value* offset, llvm::Value* limit, bool equal) = 0;
  // From here on a block of one lane, the one with this number in the block (i32), until
  // leave_lane().
  virtual void enter_lane(llvm::Value* lane);
  virtual void leave_lane();
  // Between them what is emitted belongs to a function of its own, of which nothing can be done
  // before it is called.
  virtual void enter_function() {}
  virtual void leave_function() {}

  // Only where each lane is a thread of its own (Options::lanes_are_threads); elsewhere the plan
  // cuts at barriers and copies, and a subgroup is a block of lanes.
  virtual void workgroup_barrier();
  // `at`: the statement, if it is one.
  virtual void grid_barrier(ir::StmtId at);
  // What a statement of the program does, and what an expression of it is, if the environment has
  // its own way for it; otherwise false and null.
  virtual bool does(ir::StmtId) { return false; }
  virtual llvm::Value* knows(ir::ExprId) { return nullptr; }
  virtual void subgroup_barrier();
  virtual void copy(const CopyOperands& copy, SiteRef site);
  // Of lanes of the subgroup that have not ended: the bits (u32) of those for which it holds, and
  // the word (i32) of another one (below 32), which is anything if that one has ended. All of them
  // come here.
  virtual llvm::Value* ballot(llvm::Value* condition);
  virtual llvm::Value* from_lane(llvm::Value* word, llvm::Value* lane);
  // All subgroups have 32 lanes, and none of them ends before the others.
  [[nodiscard]] virtual bool subgroups_are_full() const;
  // Between accesses of this lane and those of others anywhere on the device.
  virtual void fence();
};

inline uint64_t row_align(ir::Type element, uint32_t lanes) {
  return std::min<uint64_t>(64, uint64_t{lanes} * ir::bytes_of(element));
}

// Metadata of loads that can be done before the lanes of a phase start, and give the same there.
inline constexpr const char* kSteady = "vyre.steady";

// Eight bytes of zeros, to load instead of what is not there.
llvm::Value* zero_global(llvm::Module& module);

class LaneCode {
 public:
  struct Options {
    BlockShape shape;
    bool checked = false;
    bool half_conversions = true;
    bool cheap_masks = true;  // otherwise a jump around a masked access is worth it
    ir::StmtId test = {};     // LanesNeeded::test
    // One lane's accesses that may be out of bounds are jumped over, and not sent to another
    // address: where a jump costs less than an access, or memories have addresses of their own.
    bool jumps_over_accesses = false;
    bool splits_loops = false;  // see loop_split.cpp
    // Loops of the code are nests: the inner ones take some trips without asking, so that LLVM can
    // unroll them.
    bool nests_loops = false;
    // Threads share lines of a cache: what is there already is not written again where all may
    // write.
    bool shared_lines = false;
    // Lanes of a block of one that can wait for each other and see each other's values.
    bool lanes_are_threads = false;
    // By statement of the program: PhaseShape::one_by_one.
    const std::vector<bool>* one_by_one = nullptr;
    // Of the program: which functions are called; null: all are inlined.
    const CodeSize* size = nullptr;
  };
  LaneCode(Builder& builder, Environment& environment, const check::CheckedProgram& program,
           const Divergence& divergence, const Options& options);

  // All statements, at the insertion point; afterwards the insertion point is where lanes that
  // reach the end arrive. `mask`: the lanes there are; null: all.
  void emit(llvm::Value* mask);

 private:
  // ---- frames: the program, or a function that is being inlined

  struct Slot {
    Val value;                        // let
    llvm::Value* variable = nullptr;  // var: its memory
    bool varying = false;
    std::optional<MemoryRef> memory;  // private array, buffer parameter
  };
  struct Loop {
    llvm::BasicBlock* next = nullptr;
    llvm::BasicBlock* exit = nullptr;
    llvm::Value* skipped = nullptr;  // divergent: lanes that continue with the next trip
    // Variables, where loops are nests: trips since somebody was told, and what one weighs.
    llvm::Value* untold = nullptr;
    llvm::Value* weight = nullptr;
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
    uint32_t parted = 0;              // divergent constructs around its body
    llvm::Value* returned = nullptr;  // then: those that have
  };

  struct SplitLoop;
  struct Nest;

  // Statements that may be emitted a second time so that full blocks need no mask.
  static constexpr uint32_t kMostRepeated = 400;
  // Loops of fewer trips, with those around them, end soon enough without asking: a block of lanes
  // asks when it is done.
  static constexpr uint64_t kTripsWithoutPoll = uint64_t{1} << 18;

  // ---- statements (statements.cpp, loops.cpp)

  void emit_top(std::vector<ir::StmtId> items, size_t first);
  void emit_block(ir::Block block);
  void emit_stmt(ir::StmtId id);
  void emit_let(const ir::Let& s);
  void emit_array(const ir::DeclareArray& s);
  void emit_assign(const ir::Assign& s);
  void emit_store(const ir::Store& s, ir::StmtId id);
  void emit_if(const ir::If& s, ir::StmtId id);
  void tell_test(const ir::If& s);
  void emit_uniform_if(llvm::Value* condition, const ir::If& s);
  void emit_divergent_if(Val condition, const ir::If& s);
  // Not for the lanes together but for one after the other.
  void emit_one_by_one(std::span<const ir::StmtId> items, llvm::Value* lanes_in);
  [[nodiscard]] bool comes_one_by_one(ir::StmtId id) const {
    return wide() && frames_.size() == 1 && options_.one_by_one != nullptr &&
           (*options_.one_by_one)[id.index()];
  }
  // Runs `body` under the mask if it has a lane; returns the mask afterwards.
  llvm::Value* under_mask(llvm::Value* mask, llvm::function_ref<void()> body);
  void emit_for(const ir::For& s, ir::StmtId id);
  void emit_while(const ir::While& s, ir::StmtId id);
  // One trip of a loop, which ends at the insertion point: where lanes go on with the next trip.
  void emit_trip(ir::Block body, llvm::BasicBlock* exit, bool divergent) {
    emit_trip(body, Loop{.exit = exit}, divergent);
  }
  void emit_trip(ir::Block body, Loop loop, bool divergent);
  // The trips that all lanes take together; the rest is for the lanes that are returned, from the
  // values in `variable` on.
  llvm::Value* emit_together(const ir::For& s, ir::StmtId id, const Val& first, const Val& last,
                             const Val& step, llvm::Value* variable, bool polls);
  // How much there was at some time: of the function, and of the program.
  struct Emitted {
    std::optional<uint64_t> instructions = {};
    uint64_t nodes = 0;
    uint64_t called = 0;
  };
  Emitted emitted();
  // Asks whether to go on, after a trip that was emitted since then.
  void poll_trip(ir::StmtId id, const Emitted& before);
  [[nodiscard]] uint64_t trip_weight(const Emitted& before) const;
  // Loops as nests (loop_nest.cpp).
  void emit_for_nest(const ir::For& s, ir::StmtId id, const Val& first, const Val& last,
                     const Val& step);
  void emit_while_nest(const ir::While& s, ir::StmtId id);
  Nest start_nest();
  void tell_trips(const Loop& loop);
  // Loops whose accesses are tested before they start (loop_split.cpp).
  [[nodiscard]] bool can_split(const ir::For& s, ir::Type type) const;
  void emit_split_for(const ir::For& s, ir::StmtId id, const Val& first, const Val& last,
                      const Val& step, std::optional<uint64_t> trips, bool polls);
  std::pair<llvm::Value*, llvm::Value*> trips_inside(const SplitLoop& split, llvm::Value* begin,
                                                     llvm::Value* end);
  // Where a row of lanes starts whose index is `index` (and what `start` says), if the loops around
  // are split so that it is inside; null if not.
  llvm::Value* split_index(llvm::Value* index, llvm::Value* start, const MemoryRef& m,
                           ir::Type index_type);
  struct LanesOfLoop;
  LanesOfLoop enter_divergent(llvm::Value* first_lanes, ir::Block body);
  void leave_divergent(const LanesOfLoop& lanes);
  void emit_return(const ir::Return& s);
  void emit_trap(const ir::Trap& s, ir::StmtId id);
  void emit_barrier(const ir::Barrier& s, ir::StmtId id);
  void emit_copy(const ir::AsyncCopy& s, ir::StmtId id);
  void end_lanes();
  [[nodiscard]] bool jumps_out(ir::Block block) const;
  [[nodiscard]] bool can_end(ir::Block block) const;
  [[nodiscard]] bool calls_ending(ir::ExprId id) const;
  [[nodiscard]] std::optional<uint64_t> constant_trips(const ir::For& s) const;
  [[nodiscard]] bool wraps_behind(const ir::For& s, ir::Type type) const;

  // ---- expressions (expressions.cpp)

  Val value(ir::ExprId id);
  // As a condition: in a block without mask the environment may promise its outcome.
  Val condition(ir::ExprId id);
  std::optional<bool> promised(const ir::Binary& e, const Val& x, const Val& y);
  Val lazy(const ir::Binary& e, bool as_condition);
  // What a condition that holds, or not, says about all of the block (facts.cpp).
  void learn(ir::ExprId condition, bool holds, ir::Block block);
  [[nodiscard]] bool at_least(ir::ExprId large, ir::ExprId small) const;
  bool quickly_done(ir::ExprId id, uint32_t& nodes) const;
  Val uniform_load(ir::ExprId id, const ir::UniformLoad& e);
  Val call(const ir::Call& e);
  Val call_body(Frame frame, ir::FnId fn);
  // Functions of their own (calls.cpp).
  Slots slots_of(const check::CheckedProgram& program, ir::FnId fn);
  struct Callee;
  Val call_function(const ir::Call& e);
  Val call_maths(Frame frame, ir::FnId fn, std::span<const Val> args, bool varying);
  // Emits what `body` does as a function, in which nothing is known of what is around the call.
  OutOfLine own_function(const Callee& callee, llvm::function_ref<Val(llvm::Function&)> body);
  Val maths(ir::Intrinsic op, ir::Type type, std::span<const Val> args);
  Val intrinsic(const ir::IntrinsicCall& e);
  Val constant(ir::Type type, uint64_t bits);

  // ---- memory (memory.cpp)

  MemoryRef memory(ir::Memory m);
  MemoryRef table(ir::ConstId id);
  MemoryRef new_table(ir::ConstId id);
  Val load(ir::Memory m, ir::ExprId index, SiteRef site, bool proved);
  Val load_at(const MemoryRef& m, Val index, ir::Type index_type, SiteRef site, bool proved);
  void store_at(const MemoryRef& m, ir::Memory source, Val index, ir::Type index_type, Val v,
                SiteRef site, bool proved);
  llvm::Value* in_bounds(const MemoryRef& m, const Val& index, ir::Type index_type);
  llvm::Value* wide_index(llvm::Value* index, ir::Type type);
  llvm::Value* element_address(const MemoryRef& m, llvm::Value* wide);
  // Lanes that may access: the mask without those that are out of bounds. Checked mode: these stop.
  // Null: all.
  llvm::Value* allowed(const MemoryRef& m, const Val& index, ir::Type index_type, SiteRef site,
                       bool proved);
  // Scalars: whether the access may happen; null: it may. Checked mode: otherwise the lane stops.
  llvm::Value* allowed_scalar(const MemoryRef& m, const Val& index, ir::Type index_type,
                              SiteRef site, bool proved);
  void stop_lanes(llvm::Value* lanes, SiteRef site, const MemoryRef& m, const Val& index,
                  ir::Type index_type);
  Val load_scalar(const MemoryRef& m, const Val& index, ir::Type index_type, SiteRef site,
                  bool proved);
  Val load_contiguous(const MemoryRef& m, const Val& index, ir::Type index_type, SiteRef site,
                      bool proved);
  llvm::Value* unmasked_row(const MemoryRef& m, const Val& index, ir::Type index_type,
                            llvm::Value* address, bool proved);
  // A row of lanes that starts there, as an unsigned number of 64 bits.
  llvm::Value* whole_row_inside(const MemoryRef& m, llvm::Value* wide_first, ir::Type index_type);
  llvm::Value* ragged_start(llvm::Value* first, llvm::Value* offset);
  // Asks for a row that will be wanted later.
  void prefetch(const MemoryRef& m, const Val& index, llvm::Value* address);
  llvm::Value* gather_narrow(const MemoryRef& m, llvm::Value* index, llvm::Value* lanes_in);
  llvm::Value* own_part(const MemoryRef& m, llvm::Value* index, ir::Type index_type);
  void store_uniform(const MemoryRef& m, const Val& index, ir::Type index_type, const Val& v,
                     SiteRef site, bool proved);
  llvm::Value* changes_element(const MemoryRef& m, const Val& index, llvm::Value* inside,
                               llvm::Value* address, llvm::Value* raw);
  void store_contiguous(const MemoryRef& m, ir::Memory source, const Val& index,
                        ir::Type index_type, llvm::Value* raw, SiteRef site, bool proved);
  llvm::Value* sink_address();
  // `access` if `inside` holds, else zero of what it gives.
  llvm::Value* jumped_over(llvm::Value* inside, llvm::function_ref<llvm::Value*()> access);
  llvm::Value* finish_load(const MemoryRef& m, llvm::Value* raw);
  void describe_access(const MemoryRef& m, llvm::Instruction& access);
  template <class Instruction>
  Instruction* mark(const MemoryRef& m, Instruction* access) {
    describe_access(m, *access);
    return access;
  }
  [[nodiscard]] llvm::Align align_of(const MemoryRef& m) const;

  // ---- atomics (atomics.cpp)

  Val atomic(ir::ExprId id, const ir::Atomic& e, bool used);
  llvm::Value* atomic_scalar(const MemoryRef& m, const ir::Atomic& e, llvm::Value* address,
                             llvm::Value* a, llvm::Value* b, bool used);
  llvm::Value* combine(const MemoryRef& m, const ir::Atomic& e, llvm::Value* wide, llvm::Value* a);
  // Of all lanes, in the worker's own copy if there is one.
  void combine_lanes(const MemoryRef& m, const ir::Atomic& e, const Val& index, ir::Type index_type,
                     const Val& operand, llvm::Value* lanes_in);
  llvm::Value* reduced(ir::AtomicOp op, ir::Type type, llvm::Value* values);
  // Elements with a number that is not a constant are taken from memory; null: all lanes have the
  // same.
  llvm::Value* in_memory(const Val& v);
  llvm::Value* of_lane(const Val& v, llvm::Value* place, llvm::Value* lane);
  // Runs `body(lane number)` for each lane of the mask; an exit in the middle is not possible.
  void for_each_lane(llvm::Value* mask, llvm::function_ref<void(llvm::Value*)> body);

  // ---- subgroups of threads (thread_subgroup.cpp)

  Val thread_subgroup(const ir::Subgroup& e);
  llvm::Value* word_of_lane(llvm::Value* v, llvm::Value* lane);
  llvm::Value* of_all_lanes(ir::SubgroupOp op, ir::Type type, llvm::Value* v, llvm::Value* present);
  llvm::Value* over_threads(ir::SubgroupOp op, ir::Type type, llvm::Value* v);

  // ---- subgroups (subgroup.cpp)

  Val subgroup(const ir::Subgroup& e);
  llvm::Value* joined(ir::SubgroupOp op, ir::Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* butterfly(ir::SubgroupOp op, ir::Type type, llvm::Value* v);
  llvm::Value* scanned(ir::Type type, llvm::Value* v, bool exclusive);
  llvm::Value* shuffled(ir::Type type, llvm::Value* v, llvm::Value* from, llvm::Value* valid);
  llvm::Constant* identity(ir::SubgroupOp op, ir::Type type);

  // ---- helpers

  [[nodiscard]] bool wide() const { return options_.shape.lanes > 1; }
  [[nodiscard]] uint32_t lanes() const { return options_.shape.lanes; }
  Frame& frame() { return frames_.back(); }
  const ir::Program& p() const { return frames_.back().c->program; }
  const check::CheckedProgram& c() const { return *frames_.back().c; }
  const Divergence& d() const { return *frames_.back().d; }
  [[nodiscard]] ir::Type type_of_expr(ir::ExprId id) const { return *c().expr_types[id.index()]; }
  llvm::Type* vector(llvm::Type* scalar) {
    return wide() ? llvm::FixedVectorType::get(scalar, lanes()) : scalar;
  }
  llvm::Type* shaped(ir::Type type, bool varying);
  llvm::Value* new_variable(llvm::Type* type);
  llvm::BasicBlock* new_block(const char* name);
  [[nodiscard]] bool terminated() const;
  void branch_to(llvm::BasicBlock* block);
  llvm::Value* all_lanes();
  llvm::Value* no_lanes();
  llvm::Value* mask_or_all() { return mask_ != nullptr ? mask_ : all_lanes(); }
  llvm::Value* mask_bits(llvm::Value* mask);
  llvm::Value* any(llvm::Value* mask);
  llvm::Value* every(llvm::Value* mask);
  llvm::Value* merged_mask(llvm::Value* a, llvm::BasicBlock* from_a, llvm::Value* b,
                           llvm::BasicBlock* from_b);
  llvm::Value* iota(llvm::Type* element);

  Builder& b_;
  Environment& env_;
  Options options_;
  Arithmetic math_;
  std::vector<bool> assigned_;  // by local of the program: variables that are not only declared
  std::deque<Frame> frames_;    // references stay valid while functions are entered
  llvm::Value* mask_ = nullptr;
  llvm::Value* live_ = nullptr;  // variable: lanes that have not ended, if lanes can end alone
  uint32_t parted_ = 0;          // divergent constructs around the insertion point
  llvm::Value* turn_ = nullptr;  // the lane whose turn it is, where they come one by one
  llvm::Value* sink_ = nullptr;  // where stores go that do not happen
  std::optional<Divergence> one_lane_;  // for emit_one_by_one()
  std::vector<SplitLoop*> splits_;
  // A loop that walks through memory in steps that processors do not foresee.
  struct Walk {
    llvm::Value* number = nullptr;  // i32, what the index has to depend on
    uint64_t ahead = 0;             // elements until what will be wanted soon
  };
  std::optional<Walk> walk_;
  bool no_splits_ = false;  // in trips that are left over
  uint64_t trips_ = 1;      // of the loops around, as far as they are known
  uint32_t asked_ = 0;      // loops so far that ask whether to go on
  // Of one lane: the first is not less than the second.
  std::vector<std::pair<ir::ExprId, ir::ExprId>> facts_;
  uint64_t nodes_ = 0;    // statements and expressions emitted so far
  uint32_t counted_ = 0;  // how often instructions were
  std::map<std::pair<const void*, uint32_t>, MemoryRef> tables_;  // by program and constant
  uint32_t copies_ = 0;  // statements emitted a second time for full masks
  // A function that was made: what it stands for, the block of lanes and the memories it is for.
  struct CallKey {
    uint32_t fn = 0;
    uint32_t lanes = 1;
    std::vector<const void*> values = {};
    friend auto operator<=>(const CallKey&, const CallKey&) = default;
  };
  std::map<CallKey, OutOfLine> functions_;
  // Instructions that the calls so far stand for, with those of the functions that they call:
  // a loop whose trips call much polls as often as if all of it were inlined.
  uint64_t called_ = 0;
  std::map<std::pair<const void*, uint32_t>, std::pair<size_t, size_t>> fn_locals_;
};

}  // namespace vyre::codegen
