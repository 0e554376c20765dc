// SPDX-License-Identifier: Apache-2.0
// Facts about the kinds of nodes, each in one place. Every list here has a row or an arm per kind
// and none for "the rest": a new kind does not compile until it has all of them. A pass that needs
// such a fact reads it here instead of naming kinds, because a kind that a pass forgets to name
// gets the answer of the others, and that may be the optimistic one.
//
// Operands and child blocks are listed in src/ir/walk.cpp, the order of evaluation in
// vyre/ir/evaluation.hpp; both belong to the same set of facts.
#pragma once

#include <optional>

#include "vyre/ir/evaluation.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::ir {

// ---- operands and blocks (for_each_operand, for_each_block), replaced

// Puts replace(id) in the place of each of them, in the order of the walkers. `expr` and `stmt` are
// copies that belong to the caller, or nodes that `replace` does not move.
void replace_operands(Program& program, Expr& expr, FunctionRef<ExprId(ExprId)> replace);
void replace_operands(Program& program, Stmt& stmt, FunctionRef<ExprId(ExprId)> replace);
void replace_blocks(Stmt& stmt, FunctionRef<Block(Block)> replace);

// ---- memory that a node names

enum class Access : uint8_t { Length, Read, Write, Update };
constexpr bool reads(Access access) {
  return access == Access::Read || access == Access::Update;
}
constexpr bool writes(Access access) {
  return access == Access::Write || access == Access::Update;
}
constexpr Access access_of(AtomicOp op) {
  if (op == AtomicOp::Load) return Access::Read;
  return op == AtomicOp::Store ? Access::Write : Access::Update;
}

// No statement can write such a buffer, so it keeps its contents for the whole dispatch.
constexpr bool is_read_only(BufferKind kind) {
  return kind == BufferKind::In || kind == BufferKind::Uniform;
}

struct MemoryUse {
  Memory memory;
  Access access = Access::Read;
  ExprId index;         // invalid where the node names the memory as a whole
  bool atomic = false;  // also of an atomic load, which needs memory that can be written
};

// Calls visit(MemoryUse) for each memory that the node itself names; its operands name their own. A
// call counts as an update of every memory that it passes.
void for_each_memory(const Program& program, const Expr& expr,
                     FunctionRef<void(const MemoryUse&)> visit);
void for_each_memory(const Program& program, const Stmt& stmt,
                     FunctionRef<void(const MemoryUse&)> visit);
// Puts replace(Memory) in the place of each of them.
void replace_memories(Program& program, Expr& expr, FunctionRef<Memory(Memory)> replace);
void replace_memories(Program& program, Stmt& stmt, FunctionRef<Memory(Memory)> replace);

// ---- locals that a node names (private arrays and buffer parameters are memory as well)

// Iterate: declared by a loop, for its body.
enum class LocalAccess : uint8_t { Read, Declare, Assign, Iterate };

// Calls visit(LocalId, LocalAccess) for each local that the node itself names other than as memory.
void for_each_local(const Expr& expr, FunctionRef<void(LocalId, LocalAccess)> visit);
void for_each_local(const Stmt& stmt, FunctionRef<void(LocalId, LocalAccess)> visit);
// Puts replace(LocalId) in the place of each of them.
void replace_locals(Expr& expr, FunctionRef<LocalId(LocalId)> replace);
void replace_locals(Stmt& stmt, FunctionRef<LocalId(LocalId)> replace);

// ---- expressions

// What decides over how many lanes the value of an expression is the same.
enum class UniformityRule : uint8_t {
  Operands,  // the worst operand; the whole grid if there is none
  Local,     // the local that it names
  Memory,    // the memory that it names, and the index
  Given,     // ExprProperties::uniform_over, whatever the operands are
  Function,  // what the function returns
};

// Whether a second evaluation gives the same value as the first, if the operands do.
enum class Rematerialise : uint8_t { Always, WhileMemoryUnchanged, Never };

struct ExprProperties {
  UniformityRule uniformity = UniformityRule::Given;
  // Of UniformityRule::Given; nothing: the value differs per lane.
  std::optional<Scope> uniform_over = std::nullopt;
  Rematerialise rematerialise = Rematerialise::Never;
  // The lanes of this scope evaluate it in lockstep. Nothing for a call: its function says.
  std::optional<Scope> synchronises = std::nullopt;
  bool has_effect = true;    // the number of evaluations matters, not only the value
  bool may_trap = true;      // an out-of-bounds fault, where accesses are checked
  bool may_end_lane = true;  // also where they are not: a call, by what its function does
  friend bool operator==(const ExprProperties&, const ExprProperties&) = default;
};

// Nothing but a value, which follows from the operands.
inline constexpr ExprProperties kPure = {.uniformity = UniformityRule::Operands,
                                         .rematerialise = Rematerialise::Always,
                                         .has_effect = false,
                                         .may_trap = false,
                                         .may_end_lane = false};

// Over which lanes a built-in value and the result of a subgroup operation are the same; nothing:
// they differ per lane.
std::optional<Scope> uniform_over(Builtin builtin);
std::optional<Scope> uniform_over(SubgroupOp op);

// One row per kind. The defaults are the worst that a kind can be; a row says what it is spared.
struct ExprRows {
  using Row = ExprProperties;
  using Rule = UniformityRule;

  Row operator()(const IntLiteral&) const { return kPure; }
  Row operator()(const FloatLiteral&) const { return kPure; }
  Row operator()(const BoolLiteral&) const { return kPure; }
  Row operator()(const LocalRef&) const {
    Row row = kPure;
    row.uniformity = Rule::Local;
    return row;
  }
  Row operator()(const ConstRef&) const { return kPure; }
  // A fixpoint that runs later changes what the built-in calls return.
  Row operator()(const BuiltinRef& e) const {
    return {.uniformity = Rule::Given,
            .uniform_over = ir::uniform_over(e.builtin),
            .rematerialise = is_call(e.builtin) ? Rematerialise::Never : Rematerialise::Always,
            .has_effect = false,
            .may_trap = false,
            .may_end_lane = false};
  }
  Row operator()(const Len&) const { return kPure; }
  Row operator()(const Load& e) const {
    return {.uniformity = Rule::Memory,
            .rematerialise = e.memory.kind == Memory::Kind::Table
                                 ? Rematerialise::Always
                                 : Rematerialise::WhileMemoryUnchanged,
            .has_effect = false,
            .may_end_lane = false};
  }
  Row operator()(const Unary&) const { return kPure; }
  Row operator()(const Binary&) const { return kPure; }
  Row operator()(const Cast&) const { return kPure; }
  Row operator()(const Bitcast&) const { return kPure; }
  Row operator()(const IntrinsicCall&) const { return kPure; }
  // Lanes execute atomics in any order, so each gets a result of its own.
  Row operator()(const Atomic& e) const {
    return {.has_effect = writes(access_of(e.op)), .may_end_lane = false};
  }
  Row operator()(const Subgroup& e) const {
    return {.uniform_over = ir::uniform_over(e.op),
            .synchronises = Scope::Subgroup,
            .may_trap = false,
            .may_end_lane = false};
  }
  Row operator()(const UniformLoad& e) const {
    return {.uniform_over = e.scope, .synchronises = e.scope, .may_end_lane = false};
  }
  Row operator()(const Call&) const { return {.uniformity = Rule::Function}; }
  // Uniform, so that the checker reports nothing about what the parser has refused already.
  Row operator()(const Poison&) const {
    Row row = kPure;
    row.rematerialise = Rematerialise::Never;
    return row;
  }
  Row operator()(const AxisIndex&) const { return kPure; }
  Row operator()(const AxisLen&) const { return kPure; }
};

ExprProperties properties_of(const Expr& expr);
// A load of a scalar uniform.
bool reads_scalar(const Program& program, const Expr& expr);

// ---- statements

// Where the lanes that execute a statement go on.
enum class Exit : uint8_t {
  None,      // behind it, after its blocks
  Continue,  // in the next iteration of the loop around it
  Break,     // behind the loop around it
  Return,    // behind the call; outside of functions the lane ends
  Trap,      // nowhere: the lane ends
};

struct StmtProperties {
  Exit exit = Exit::None;
  std::optional<Scope> synchronises = std::nullopt;  // the lanes of this scope synchronise at it
  bool is_loop = false;  // `break` and `continue` in its blocks belong to it
  bool may_stand_at_top_level = false;
  bool has_effect = true;    // of its own, on memory, locals or control flow, its blocks aside
  bool may_trap = true;      // a trap, or an out-of-bounds fault where accesses are checked
  bool may_end_lane = true;  // also where they are not
  friend bool operator==(const StmtProperties&, const StmtProperties&) = default;
};

// Nothing of its own: its operands and blocks say the rest.
inline constexpr StmtProperties kPlain = {
    .has_effect = false, .may_trap = false, .may_end_lane = false};
inline constexpr StmtProperties kSafe = {.may_trap = false, .may_end_lane = false};

struct StmtRows {
  using Row = StmtProperties;

  Row operator()(const Let&) const { return kSafe; }
  Row operator()(const DeclareArray&) const { return kSafe; }
  Row operator()(const Assign&) const { return kSafe; }
  Row operator()(const Store&) const { return {.may_end_lane = false}; }
  Row operator()(const Eval&) const { return kPlain; }
  Row operator()(const If&) const { return kPlain; }
  Row operator()(const For&) const { return loop(); }
  Row operator()(const While&) const { return loop(); }
  Row operator()(const Break&) const { return jump(Exit::Break); }
  Row operator()(const Continue&) const { return jump(Exit::Continue); }
  Row operator()(const Return&) const { return jump(Exit::Return); }
  Row operator()(const Nested&) const { return kPlain; }
  Row operator()(const Region&) const {
    Row row = kPlain;
    row.may_stand_at_top_level = true;
    return row;
  }
  Row operator()(const Barrier& s) const { return convergent(s.scope, true); }
  // `break` and `continue` do not cross it, so it is no loop in their sense.
  Row operator()(const Fixpoint&) const { return convergent(Scope::Grid, true); }
  Row operator()(const AsyncCopy&) const {
    return {.synchronises = Scope::Workgroup, .may_end_lane = false};
  }
  Row operator()(const Wait&) const { return convergent(Scope::Workgroup, false); }
  Row operator()(const Trap&) const { return jump(Exit::Trap); }
  Row operator()(const Resume&) const { return convergent(Scope::Grid, false); }
  Row operator()(const Collective&) const { return convergent(Scope::Grid, true); }
  Row operator()(const Swap&) const { return convergent(Scope::Grid, true); }
  // How often it is executed matters, but its loads stop no lane.
  Row operator()(const Print&) const { return kSafe; }
  Row operator()(const Assert&) const { return {.may_end_lane = false}; }

 private:
  static Row loop() {
    Row row = kPlain;
    row.is_loop = true;
    return row;
  }
  static Row jump(Exit exit) {
    return {.exit = exit,
            .may_trap = exit == Exit::Trap,
            .may_end_lane = exit == Exit::Return || exit == Exit::Trap};
  }
  static Row convergent(Scope scope, bool top_level) {
    Row row = kSafe;
    row.synchronises = scope;
    row.may_stand_at_top_level = top_level;
    return row;
  }
};

StmtProperties properties_of(const Stmt& stmt);

// The tag with which a loop reports a step below 1: the largest that no trap and no resume of the
// program has. None if they have all.
std::optional<uint16_t> step_trap_tag(const Program& program);

// True if the table has a row for every kind of the variant, none of them by conversion.
template <class Table, class Variant>
inline constexpr bool has_row_per_kind = false;
template <class Table, class... Kinds>
inline constexpr bool has_row_per_kind<Table, std::variant<Kinds...>> =
    (std::is_invocable_v<Table, const Kinds&> && ...);
static_assert(has_row_per_kind<ExprRows, Expr> && has_row_per_kind<StmtRows, Stmt>);

}  // namespace vyre::ir
