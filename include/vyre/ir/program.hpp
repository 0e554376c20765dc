// SPDX-License-Identifier: Apache-2.0
// Program: what the text, the builder and the binary form all describe.
//
// Everything lives in flat vectors owned by the Program; nodes refer to each other by typed ids.
// The nodes form trees: no expression or statement has two parents (builder and decoder keep this
// up). A Program may hold nodes that nothing refers to; they have no meaning. Source positions sit
// beside the nodes and take no part in equality, bytes or digest. What a program means is in
// semantics.hpp and docs/language.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "vyre/base/diagnostic.hpp"
#include "vyre/base/function_ref.hpp"
#include "vyre/base/ids.hpp"
#include "vyre/ir/ops.hpp"
#include "vyre/ir/types.hpp"

namespace vyre::ir {

using ExprId = Id<struct ExprTag>;
using StmtId = Id<struct StmtTag>;
using LocalId = Id<struct LocalTag>;
using BufferId = Id<struct BufferTag>;
using ConstId = Id<struct ConstTag>;
using FnId = Id<struct FnTag>;
using LocId = Id<struct LocTag>;

// Consecutive entries of one of the list vectors of a Program.
struct Range {
  uint32_t first = 0;
  uint32_t count = 0;
  [[nodiscard]] bool empty() const { return count == 0; }
};

// Something that can be indexed: a buffer, a constant table, or a local that is a private array or
// a `buffer` parameter of a function.
struct Memory {
  enum class Kind : uint8_t { Buffer, Table, Local };
  Kind kind = Kind::Buffer;
  uint32_t index = Id<void>::kNone;

  static Memory of(BufferId id) { return {Kind::Buffer, id.value}; }
  static Memory of(ConstId id) { return {Kind::Table, id.value}; }
  static Memory of(LocalId id) { return {Kind::Local, id.value}; }
  [[nodiscard]] bool valid() const { return index != Id<void>::kNone; }
  [[nodiscard]] BufferId buffer() const {
    return kind == Kind::Buffer ? BufferId{index} : BufferId{};
  }
  [[nodiscard]] ConstId table() const { return kind == Kind::Table ? ConstId{index} : ConstId{}; }
  [[nodiscard]] LocalId local() const { return kind == Kind::Local ? LocalId{index} : LocalId{}; }
  friend bool operator==(Memory, Memory) = default;
};

// ---- expressions

// A whole number as written. `-` directly before a literal belongs to it (so -0 differs from 0 in
// the type that it takes). Without a suffix the type comes from the context.
struct IntLiteral {
  uint64_t magnitude = 0;
  bool negative = false;
  std::optional<Type> suffix;
};
// A decimal as written: 0.digits x 10^exponent, digits without leading or trailing zeros ("" is
// zero, with exponent 0). Kept in decimal because it is rounded once, to the type that the context
// gives it.
struct FloatLiteral {
  std::string digits;
  int32_t exponent = 0;
  bool negative = false;
  std::optional<Type> suffix;
};
struct BoolLiteral {
  bool value = false;
};
struct LocalRef {
  LocalId local;
};
// A scalar constant.
struct ConstRef {
  ConstId constant;
};
struct BuiltinRef {
  Builtin builtin = Builtin::Gid;
  uint8_t axis = 0;
};
// Of a buffer or buffer parameter.
struct Len {
  Memory memory;
};
struct Load {
  Memory memory;
  ExprId index;
};
struct Unary {
  UnaryOp op = UnaryOp::Neg;
  ExprId operand;
};
struct Binary {
  BinaryOp op = BinaryOp::Add;
  ExprId left, right;
};
struct Cast {
  Type type = Type::U32;
  ExprId operand;
};
struct Bitcast {
  Type type = Type::U32;
  ExprId operand;
};
// arity_of(op) arguments.
struct IntrinsicCall {
  Intrinsic op = Intrinsic::Select;
  std::array<ExprId, 3> args;
};
// args: arity_of(op) of them; Cas: expected, new.
struct Atomic {
  AtomicOp op = AtomicOp::Add;
  Memory memory;
  ExprId index;
  std::array<ExprId, 2> args;
  MemoryOrder order = MemoryOrder::Relaxed;
};
// `lane` only with arity 2.
struct Subgroup {
  SubgroupOp op = SubgroupOp::Ballot;
  ExprId value;
  ExprId lane;
};
// grid_load(b[i]) and workgroup_load(b[i]); scope is Grid or Workgroup.
struct UniformLoad {
  Scope scope = Scope::Grid;
  Memory memory;
  ExprId index;
};
// `args`: into Program::args.
struct Call {
  FnId fn;
  Range args;
};
// What the parser puts where it could not read an expression. Never part of a valid program; the
// checker says nothing about it because the parser already did.
struct Poison {};
// The place of an element by one index per axis, row-major; stands as the index of an access to
// `memory`. Its value is the number of the element, or kOutsideAxis if any index is outside of its
// axis: no memory has that many elements. `indices`: into Program::expr_lists, at least two.
// In plans `lengths` has the length of each axis as an expression; programs have none.
struct AxisIndex {
  Memory memory;
  Range indices;
  Range lengths = {};
};
// len(b, k): the length of one axis.
struct AxisLen {
  Memory memory;
  uint8_t axis = 0;
};

using Expr = std::variant<IntLiteral, FloatLiteral, BoolLiteral, LocalRef, ConstRef, BuiltinRef,
                          Len, Load, Unary, Binary, Cast, Bitcast, IntrinsicCall, Atomic, Subgroup,
                          UniformLoad, Call, Poison, AxisIndex, AxisLen>;

// An argument of a call: a value, or a memory for a `buffer` parameter.
using Arg = std::variant<ExprId, Memory>;

// ---- statements

using Block = Range;  // into Program::block_items

// `let` or `var`, as the local's kind says.
struct Let {
  LocalId local;
  ExprId value;
};
struct DeclareArray {
  LocalId local;
};
// v = e, v op= e
struct Assign {
  LocalId local;
  std::optional<BinaryOp> op;
  ExprId value;
};
// b[i] = e, b[i] op= e
struct Store {
  Memory memory;
  ExprId index;
  std::optional<BinaryOp> op;
  ExprId value;
};
// A call or an atomic for its effect.
struct Eval {
  ExprId value;
};
// `else if`: one If in else_block.
struct If {
  ExprId condition;
  Block then_block;
  Block else_block;
};
// `step` may be absent. `reversed`: from the last value of `first .. last step` down to `first`.
struct For {
  LocalId variable;
  ExprId first, last;
  ExprId step;
  bool unroll = false;
  Block body;
  bool reversed = false;
};
struct While {
  ExprId condition;
  Block body;
};
struct Break {};
struct Continue {};
// `value` may be absent.
struct Return {
  ExprId value;
};
// { ... }
struct Nested {
  Block body;
};
struct Region {
  std::string name;
  Block body;
};
struct Barrier {
  Scope scope = Scope::Workgroup;
};
// `buffers`: into Program::memory_lists.
struct Fixpoint {
  ExprId max_passes;
  Range buffers;
  Block body;
};
struct AsyncCopy {
  uint16_t tag = 0;
  Memory dst;
  ExprId dst_index;
  Memory src;
  ExprId src_index;
  ExprId count;
};
struct Wait {
  uint16_t tag = 0;
};
struct Trap {
  uint16_t tag = 0;
  ExprId value;
};
struct Resume {
  uint16_t tag = 0;
};
// all_reduce(src, reduce), broadcast(src, root), all_gather(src, dst), reduce_scatter(src, dst,
// reduce). dst, reduce and root are unused where the operation has none; root and group are
// constant expressions; group may be absent.
struct Collective {
  CollectiveOp op = CollectiveOp::AllReduce;
  Memory src, dst;
  ReduceOp reduce = ReduceOp::Add;
  ExprId root;
  ExprId group;
};
// swap(a, b): a grid barrier, then the two buffers have exchanged their contents.
struct Swap {
  Memory a, b;
};
// print("v = {}", v): a line for people (ir/print_format.hpp). `args`: into Program::expr_lists,
// pure, one for each `{}`. Without DispatchConfig::print it has no meaning.
struct Print {
  std::string format;
  Range args;
};
// assert(condition, "text {}", x): in checked mode a trap that no resume matches; otherwise it has
// no meaning.
struct Assert {
  ExprId condition;
  std::string format;
  Range args;
};

using Stmt = std::variant<Let, DeclareArray, Assign, Store, Eval, If, For, While, Break, Continue,
                          Return, Nested, Region, Barrier, Fixpoint, AsyncCopy, Wait, Trap, Resume,
                          Collective, Swap, Print, Assert>;

// ---- declarations

struct Local {
  enum class Kind : uint8_t { Let, Var, Array, For, Param, BufferParam };
  std::string name;
  Kind kind = Kind::Let;
  std::optional<Type>
      type;      // as declared; always there for Array (element), Param and BufferParam (element)
  ExprId count;  // Array: number of elements, a constant expression
  // Array: what its first elements start with, constant expressions in Program::expr_lists.
  Range values = {};
  Range axes = {};   // Array: as of a Buffer, constants
  uint8_t rank = 1;  // BufferParam: number of axes of what is passed
};

struct Const {
  std::string name;
  Type type = Type::U32;
  bool table = false;
  Range values;  // into Program::expr_lists; exactly one unless it is a table
};

enum class BufferKind : uint8_t { In, Uniform, InOut, Out, WriteOnly, Shared, Persistent, Scratch };
inline constexpr int kBufferKindCount = 8;
enum class Locality : uint8_t { None, Streaming, Temporal, Random };
std::string_view name_of(BufferKind kind);
std::string_view name_of(Locality locality);

struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::In;
  Type element = Type::U32;
  // What is written between the brackets: nothing, the number of elements, or one length per axis
  // (`axes`, into Program::expr_lists, at least two; then `count` is not used). Constants for
  // shared memory, host expressions otherwise.
  ExprId count;
  Range axes;
  bool scalar = false;  // `uniform n : u32;`: one element, read as `n`
  // Attributes; an invalid id means that the attribute is not written.
  ExprId binding;
  ExprId align;
  ExprId size;                     // @count(expr)
  ExprId range_first, range_last;  // both or none
  bool live_out = false;
  Locality locality = Locality::None;
  std::optional<uint8_t> coalesce_axis;
};

struct Require {
  ExprId condition;
  std::string message;
  uint32_t buffers_before = 0;  // its place in the order of buffer declarations
};

struct Fn {
  std::string name;
  Range params;  // into Program::param_lists
  std::optional<Type> result;
  Block body;
};

// A place in a source text, and the call it was inlined at, if any.
struct Loc {
  uint32_t file = 0;  // into Positions::files
  uint32_t line = 0;  // from 1; 0: unknown
  uint32_t column = 0;
  uint32_t length = 1;
  LocId inlined_at;
};

// Where things come from. Vectors run parallel to those of the Program; a missing entry is
// "unknown".
struct Positions {
  std::vector<std::string> files;
  std::vector<Loc> locs;
  std::vector<LocId> exprs, stmts, locals, consts, buffers, fns, requires_;
  LocId program, workgroup, over;
};

struct Program {
  std::string name;
  std::array<ExprId, 3> workgroup;  // leading ones valid; 1 to 3 in a valid program
  std::array<ExprId, 3> over;       // leading ones valid; none if there is no clause
  std::vector<Const> consts;
  std::vector<Buffer> buffers;        // in declaration order
  std::vector<Require> require_list;  // in declaration order
  std::vector<Fn> fns;
  Block body;  // top level: regions, barriers, collectives, fixpoints and swaps only

  std::vector<Local> locals;
  std::vector<Expr> exprs;
  std::vector<Stmt> stmts;
  std::vector<StmtId> block_items;
  std::vector<ExprId> expr_lists;
  std::vector<LocalId> param_lists;
  std::vector<Memory> memory_lists;
  std::vector<Arg> args;

  Positions positions;

  [[nodiscard]] const Expr& operator[](ExprId id) const { return exprs[id.index()]; }
  [[nodiscard]] const Stmt& operator[](StmtId id) const { return stmts[id.index()]; }
  [[nodiscard]] const Local& operator[](LocalId id) const { return locals[id.index()]; }
  [[nodiscard]] const Const& operator[](ConstId id) const { return consts[id.index()]; }
  [[nodiscard]] const Buffer& operator[](BufferId id) const { return buffers[id.index()]; }
  [[nodiscard]] const Fn& operator[](FnId id) const { return fns[id.index()]; }

  [[nodiscard]] std::span<const StmtId> items(Block block) const {
    return slice(block_items, block);
  }
  [[nodiscard]] std::span<const ExprId> values(Range range) const {
    return slice(expr_lists, range);
  }
  [[nodiscard]] std::span<const LocalId> params(Range range) const {
    return slice(param_lists, range);
  }
  [[nodiscard]] std::span<const Memory> memories(Range range) const {
    return slice(memory_lists, range);
  }
  [[nodiscard]] std::span<const Arg> arguments(Range range) const { return slice(args, range); }

  // Number of leading valid ids.
  [[nodiscard]] static size_t axes(const std::array<ExprId, 3>& ids);

  // New nodes. The list forms copy the given ids to the end of the list vector.
  ExprId add(Expr expr, LocId loc = {});
  StmtId add(Stmt stmt, LocId loc = {});
  LocalId add(Local local, LocId loc = {});
  ConstId add(Const constant, LocId loc = {});
  BufferId add(Buffer buffer, LocId loc = {});
  FnId add(Fn fn, LocId loc = {});
  void add(Require require, LocId loc = {});
  Block add_block(std::span<const StmtId> items);
  Range add_values(std::span<const ExprId> values);
  Range add_params(std::span<const LocalId> params);
  Range add_memories(std::span<const Memory> memories);
  Range add_args(std::span<const Arg> arguments);
  LocId add_loc(Loc loc);

  [[nodiscard]] LocId loc(ExprId id) const;
  [[nodiscard]] LocId loc(StmtId id) const;
  [[nodiscard]] LocId loc(LocalId id) const;
  [[nodiscard]] LocId loc(ConstId id) const;
  [[nodiscard]] LocId loc(BufferId id) const;
  [[nodiscard]] LocId loc(FnId id) const;
  [[nodiscard]] LocId loc_of_require(size_t index) const;
  // For diagnostics; unknown() if there is none.
  [[nodiscard]] Position position(LocId id) const;
  template <class AnyId>
  [[nodiscard]] Position position_of(AnyId id) const {
    return position(loc(id));
  }

 private:
  template <class T>
  static std::span<const T> slice(const std::vector<T>& all, Range range) {
    return std::span<const T>(all).subspan(range.first, range.count);
  }
};

// Most axes of a memory, the number of an element that none has, and how many axes one has.
inline constexpr uint32_t kMaxAxes = 4;
inline constexpr uint32_t kOutsideAxis = 0xFFFF'FFFF;
uint32_t rank_of(const Program& program, Memory memory);

// Equal means: the same canonical bytes (binary.hpp). Names count, positions do not.
bool operator==(const Program& a, const Program& b);

// True if the top level may stand as it is: only regions, barriers, collectives, fixpoints and
// swaps.
bool top_level_stands(const Program& program, std::span<const StmtId> items);

// Calls visit(ExprId) for each direct operand of the node, left to right in order of evaluation.
void for_each_operand(const Program& program, const Expr& expr,
                      FunctionRef<void(const ExprId&)> visit);
void for_each_operand(const Program& program, const Stmt& stmt,
                      FunctionRef<void(const ExprId&)> visit);
// Calls visit(Block) for each direct child block of a statement, in source order.
void for_each_block(const Stmt& stmt, FunctionRef<void(const Block&)> visit);

}  // namespace vyre::ir
