// SPDX-License-Identifier: Apache-2.0
// The state of one generation: the program so far, the locals in sight with their types and levels,
// the roles of memories, and what the surrounding statements forbid. Split over several files by
// concern.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "generator/generator.hpp"
#include "property/random.hpp"
#include "vyre/check/check.hpp"

namespace vyre::generator {

using check::Level;
using ir::ExprId;
using ir::LocalId;
using ir::Scope;
using ir::StmtId;
using ir::Type;

uint64_t highest_value(Type integer);

// Who may do what with a memory until the next barrier that can change it.
enum class Role : uint8_t {
  Read,        // everybody reads, nobody writes
  Own,         // element (lane + shift) mod lanes belongs to the lane; for shared: of the workgroup
  Group,       // the same within the elements of the workgroup
  Subgroup,    // the same within the elements of the subgroup; shared memory only
  Accumulate,  // everybody updates with one operation whose order does not matter; nobody reads
  Single,      // one lane only (of the grid; for shared of the workgroup)
  Closed,      // nobody
};
// Own with this shift: the index comes from a parameter of the function.
inline constexpr uint32_t kByParameter = 0xffff'ffff;
struct State {
  Role role = Role::Read;
  uint32_t shift = 0;   // Own, Group, Subgroup; Single: the lane
  bool mirror = false;  // Own: counted from the end
  ir::AtomicOp op = ir::AtomicOp::Add;
  bool pinned = false;  // barriers leave it alone
  friend bool operator==(const State&, const State&) = default;
};

struct Mem {
  ir::Memory memory;
  Type element = Type::U32;
  uint32_t count = 0;
  bool readable = true;
  bool writable = false;
  bool constant = false;  // `in` and `uniform`: loads are as uniform as their index
  bool shared = false;
  bool atomics = false;
};

struct LocalInfo {
  LocalId id;
  Type type = Type::U32;
  Level level = Level::Lane;
  bool assignable = false;
  uint32_t array = 0;  // elements of a private array
};

struct FnInfo {
  struct Param {
    Type type = Type::U32;
    Level level = Level::Lane;
    std::optional<Mem> memory;  // a buffer parameter: what the body does with it
    State state;                // at entry and exit
    bool index_of_own = false;  // a value: the caller's own index in the memory before it
  };
  ir::FnId id;
  std::vector<Param> params;
  std::optional<Type> result;
  Level result_level = Level::Lane;
  Level needs = Level::Lane;  // flow in which it may be called
  bool has_grid_barrier = false;
  bool has_workgroup_barrier = false;
  bool traps = false;
  uint32_t cost = 0;
};

class Maker {
 public:
  Maker(uint64_t seed, const GeneratorOptions& options);
  Generated run();

 private:
  // ---- declarations.cpp
  void choose_grid();
  void declare_consts();
  void declare_buffers();
  ir::BufferId declare(ir::BufferKind kind, Type element, uint32_t count, bool dynamic);
  void attributes(ir::BufferId id);
  void headers();
  std::vector<std::vector<std::byte>> make_inputs();
  std::vector<std::byte> input_bytes(Type element, uint32_t count);
  std::string fresh(std::string_view prefix);
  Type any_type();
  Type element_type();
  [[nodiscard]] bool has(Type type) const;

  // ---- shapes.cpp
  void give_shapes(std::vector<std::vector<std::byte>>& inputs);
  void shape(ir::BufferId id);
  ExprId row_length();
  ExprId by_axes(const check::CheckedProgram& checked, ir::Memory memory, ExprId index);

  // ---- roles.cpp
  State any_state(const Mem& mem, Scope scope, const State& now);
  [[nodiscard]] static std::optional<Scope> scope_between(const Mem& mem, const State& from,
                                                          const State& to);
  void reroll(Scope scope);
  void emit_barrier(Scope scope);
  void restore(const std::vector<State>& entry);
  [[nodiscard]] bool may_synchronise(Scope scope) const;
  [[nodiscard]] bool may_load(size_t mem) const;
  [[nodiscard]] bool owned(size_t mem) const;
  ExprId own_index(size_t mem);
  ExprId own_index(const Mem& mem, const State& state);
  ExprId lane_id();   // of the grid
  ExprId local_id();  // of the workgroup
  ExprId group_id();
  ExprId any_index(Level level, uint32_t count);

  // ---- expressions.cpp
  ExprId expr(Type type, Level level, int depth);
  ExprId value(Type type, Level level) {
    return expr(type, level, 1 + static_cast<int>(rnd_.below(4)));
  }
  ExprId condition(Level level);
  ExprId leaf(Type type, Level level);
  std::optional<ExprId> load(Type type, Level level);
  std::optional<ExprId> local(Type type, Level level);
  ExprId literal(Type type, bool plain = false);
  ExprId operand_literal(Type type, ir::BinaryOp op);
  ExprId builtin_value(Level level);
  ExprId operation(Type type, Level level, int depth);
  ExprId arithmetic(Type type, Level level, int depth);
  ExprId truth(Level level, int depth);
  ExprId function(Type type, Level level, int depth);
  ExprId conversion(Type type, Level level, int depth);
  ExprId reinterpreted(Type type, Level level, int depth);
  std::optional<ExprId> subgroup(Type type, Level level, int depth);
  std::optional<ExprId> own_atomic(Type type);
  std::optional<ExprId> call_value(Type type, Level level);
  ir::MemoryOrder order_for(ir::AtomicOp op);
  ExprId u32(uint64_t n);
  // Takes a node, not three arguments: the order in which a list in braces is evaluated is defined,
  // and with it the sequence of random numbers.
  ExprId binary(const ir::Binary& e);
  ExprId reference(LocalId id) { return p_.add(ir::LocalRef{id}); }

  // ---- statements.cpp
  void statement();
  bool try_statement(uint64_t pick);
  void emit(ir::Stmt stmt);
  LocalId new_local(ir::Local::Kind kind, std::string_view prefix, std::optional<Type> type);
  void let_statement(bool mutable_local);
  bool assign_statement();
  bool array_statement();
  bool store_statement();
  bool atomic_statement();
  bool single_statement();
  bool ticket_statement();
  bool last_arriver_statement();
  void observe(const LocalInfo& info);
  bool observe_statement();
  bool collective_statement();
  bool async_statement();
  void prologue();

  // ---- control.cpp
  void statements(uint64_t n);
  ir::Block block(const std::function<void()>& body);
  ir::Block synchronising_block(const std::vector<State>& entry, const std::function<void()>& body);
  [[nodiscard]] bool too_deep(uint32_t repeats) const;
  Level level_at_least(Level flow);
  void if_statement();
  void for_statement();
  uint64_t extreme_range(ir::For& loop, ir::Type type, Level level);
  void while_statement();
  ExprId branch_condition(Level level, bool again);
  std::optional<ExprId> uniform_load(Scope scope);
  bool uniform_load_statement();
  bool jump_statement();
  bool return_statement();
  void nested_statement();
  bool endless_loop_statement();

  // ---- meetings.cpp
  bool fixpoint_statement();
  void converging_update(size_t mem);
  bool trap_statement();
  bool unmatched_trap_statement();
  void trap_if(uint16_t tag);
  void resume_at(uint16_t tag, size_t visible_before);
  void main_program();

  // ---- functions.cpp
  void make_functions();
  void make_function(Level needs);
  void buffer_param(FnInfo& fn, const Mem& like);
  std::optional<ExprId> call(const FnInfo& fn);
  bool prepare_call(const FnInfo& fn);
  [[nodiscard]] bool stands_for(const FnInfo::Param& param, const Mem& mem) const;
  bool call_statement();
  void drop_uncalled();
  [[nodiscard]] bool callable(const FnInfo& fn) const;

  // ---- lazy.cpp
  ir::FnId storing_function(const Mem& like, Type value_type);
  ExprId storing_call(size_t mem);
  ExprId lazy_value(size_t mem, int depth);
  bool lazy_statement();

  // ---- planted.cpp
  void plant();
  void plant_in_buffer(uint64_t shape);
  void plant_in_shared(uint64_t shape);
  void plant_copy(bool source);
  StmtId racing(ir::Stmt stmt);
  void read_racing(ir::Memory memory, ExprId index);
  [[nodiscard]] Planted planted_lines(const ir::Program& printed) const;

  // Sets a member for as long as it lives.
  template <class T>
  class Within {
   public:
    Within(T& at, T value) : at_(at), old_(std::exchange(at, std::move(value))) {}
    ~Within() { at_ = std::move(old_); }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    T& at_;
    T old_;
  };

  struct Loop {
    Level level = Level::Lane;
    std::vector<State> entry;
  };

  property::Random rnd_;
  GeneratorOptions options_;
  ir::Program p_;
  uint32_t names_ = 0;

  // The grid.
  std::array<uint32_t, 3> size_ = {1, 1, 1};  // of a workgroup
  check::Axes grid_ = {1, 1, 1};
  uint32_t axes_ = 1;
  uint32_t group_lanes_ = 1;
  uint32_t lanes_ = 1;

  // Memories and locals in sight; functions have their own.
  std::vector<Mem> mems_;
  std::vector<State> states_;
  std::vector<LocalInfo> visible_;
  std::vector<uint32_t> counts_;  // by BufferId
  ir::BufferId scalar_;           // the length of a row
  uint32_t row_ = 1;
  std::vector<ir::ConstId> scalars_, tables_;
  std::vector<FnInfo> fns_;
  LocalId lane_local_, local_local_, group_local_;
  ir::BufferId observed_, tickets_, histogram_, arrivals_, total_;
  std::optional<std::pair<ir::BufferId, ir::BufferId>>
      twins_;                          // one type and size, for collectives
  std::vector<ir::BufferId> swapped_;  // likewise, for swaps in the place of barriers

  // Where the next statement stands.
  std::vector<StmtId> items_;  // of the block at hand
  Level flow_ = Level::Grid;
  int depth_ = 0;
  uint32_t budget_ = 0;      // statements left
  uint32_t multiplier_ = 1;  // how often a lane comes here at most
  uint64_t cost_ = 0;
  std::optional<Loop> loop_;
  Type loaded_ = Type::U32;  // by the last uniform_load()
  bool in_fn_ = false;
  bool copying_ = false;     // between an async copy and its wait
  bool no_return_ = false;   // of a function
  bool may_end_ = true;      // lanes may end here
  bool some_ended_ = false;  // a lane may have ended or wait
  bool no_subgroup_ = false;
  bool pure_ = false;  // no effects in expressions
  int depth_of_index_ = 0;
  size_t frozen_ = 0;  // locals before this one keep their value unless they are per lane
  uint16_t next_tag_ = 0;
  bool calm_ = false;  // no lane ends before the others
  bool unmatched_ = false;
  bool trap_rich_ = false;  // many lanes wait and end
  bool ordered_ = true;     // atomics may have memory orders
  FnInfo* fn_ = nullptr;
  std::vector<State> fn_entry_;
  std::vector<LocalId> params_;

  bool plant_pending_ = false;
  Planted planted_;
  StmtId planted_first_, planted_second_;
};

}  // namespace vyre::generator
