// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/binary_format.hpp"
#include "ir/binary_reader.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::ir {

namespace {

using namespace binary;

// Every failure sticks in the reader. A node made after one may hold invalid ids; it is never
// looked at, because the program is given away only when all went well.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : bytes_(bytes), in_(bytes) {}

  Result<Program> run() {
    start();
    in_section(Section::Declarations, [&] { declarations(); });
    in_section(Section::Header, [&] { header(); });
    in_section(Section::Functions, [&] { functions(); });
    in_section(Section::Body, [&] { body(); });
    if (in_.ok() && in_.remaining() != 0)
      in_.malformed(in_.offset(), "expected the end of the bytes, found more");
    if (in_.ok()) return std::move(p_);
    const Diagnostic& found = in_.diagnostic();
    Error error;
    error.code = ErrorCode::InvalidProgram;
    error.message = fmt::format("the bytes are no program: {}. Fix: {}", found.message, found.fix);
    error.diagnostics.push_back(found);
    return std::unexpected(std::move(error));
  }

 private:
  // ---- frame ----

  void start() {
    const size_t shared = std::min(bytes_.size(), kMagic.size());
    const bool same =
        std::equal(kMagic.begin(), kMagic.begin() + static_cast<std::ptrdiff_t>(shared),
                   bytes_.begin(), [](uint8_t a, std::byte b) { return std::byte{a} == b; });
    if (!same || bytes_.size() < kMagic.size()) {
      in_.fail(Code::NotAProgramFile, 0, "expected the first bytes of an encoded program",
               "give a program text, or bytes that vyre wrote");
      return;
    }
    for (size_t i = 0; i < kMagic.size(); ++i) in_.u8("the first bytes");
    const uint32_t version = in_.u32("the version");
    if (in_.ok() && version != kBinaryVersion) {
      in_.fail(Code::NotAProgramFile, kMagic.size(),
               fmt::format("the program is of format version {}, this build reads version {}",
                           version, kBinaryVersion),
               "encode the program with the same release of vyre that reads it");
      return;
    }
    const uint32_t length = in_.u32("the length");
    if (!in_.ok()) return;
    if (length != bytes_.size() || length > kMaxBytes)
      in_.malformed(kMagic.size() + 4,
                    fmt::format("the length says {} bytes, there are {}, and at most {} are "
                                "allowed",
                                length, bytes_.size(), kMaxBytes));
  }

  template <class Read>
  void in_section(Section id, Read&& read) {
    in_.enter(static_cast<uint8_t>(id));
    if (!in_.ok()) return;
    read();
    in_.leave();
  }

  // Called once for everything that takes memory.
  void take_node() {
    if (++nodes_ > kMaxNodes)
      in_.malformed(in_.offset(), fmt::format("the program has more than {} nodes", kMaxNodes));
  }

  // A count of things that each call take_node().
  uint32_t node_count(std::string_view what) {
    const size_t start = in_.offset();
    const uint32_t count = in_.count(what);
    if (count <= kMaxNodes) return count;
    in_.malformed(start, fmt::format("the program has more than {} nodes", kMaxNodes));
    return 0;
  }

  uint32_t at_least_one(std::string_view what) {
    const size_t start = in_.offset();
    const uint32_t count = in_.count(what);
    if (count == 0) in_.malformed(start, fmt::format("expected {}, found 0", what));
    return count;
  }

  std::string name(std::string_view what) {
    const size_t start = in_.offset();
    std::string text = in_.string(kMaxNameBytes, Code::NameTooLong, what);
    if (!in_.ok()) return text;
    if (!is_identifier(text))
      in_.fail(Code::InvalidName, start, fmt::format("{} is no name", what),
               "use letters, digits and _, and no digit first");
    else if (is_reserved(text))
      in_.fail(Code::ReservedName, start,
               fmt::format("`{}` is reserved and cannot be {}", text, what), "use another name");
    return text;
  }

  Type type(std::string_view what = "a type") { return in_.tag<Type>(kTypeCount, what); }
  std::optional<Type> optional_type() {
    const uint8_t value = in_.tag<uint8_t>(kTypeCount + 1, "a type or none");
    return value == 0 ? std::nullopt : std::optional(static_cast<Type>(value - 1));
  }

  // ---- declarations ----

  void declarations() {
    p_.name = name("the name of the program");
    const uint32_t consts = node_count("the number of constants");
    p_.consts.reserve(consts);
    for (uint32_t i = 0; i < consts && in_.ok(); ++i) {
      take_node();
      Const constant;
      constant.name = name("the name of a constant");
      constant.type = type();
      constant.table = in_.flag("whether the constant is a table");
      p_.add(std::move(constant));
    }
    const uint32_t buffers = node_count("the number of buffers");
    p_.buffers.reserve(buffers);
    for (uint32_t i = 0; i < buffers && in_.ok(); ++i) {
      take_node();
      Buffer buffer;
      buffer.name = name("the name of a buffer");
      buffer.kind = in_.tag<BufferKind>(kBufferKindCount, "a kind of buffer");
      buffer.element = type("an element type");
      p_.add(std::move(buffer));
    }
    const uint32_t fns = node_count("the number of functions");
    p_.fns.reserve(fns);
    for (uint32_t i = 0; i < fns && in_.ok(); ++i) {
      take_node();
      Fn fn;
      fn.name = name("the name of a function");
      p_.add(std::move(fn));
    }
  }

  void header() {
    p_.workgroup = axes(1, "the number of workgroup axes");
    p_.over = axes(0, "the number of axes of `over`");
    for (Const& constant : p_.consts) {
      if (!in_.ok()) return;
      const uint32_t count = constant.table ? at_least_one("the number of values of a table") : 1;
      constant.values = p_.add_values(exprs(count));
    }
    for (Buffer& buffer : p_.buffers) {
      if (!in_.ok()) return;
      buffer_parts(buffer);
    }
    const uint32_t requires_count = node_count("the number of requirements");
    p_.require_list.reserve(requires_count);
    uint32_t least = 0;
    for (uint32_t i = 0; i < requires_count && in_.ok(); ++i) {
      take_node();
      const size_t start = in_.offset();
      Require require;
      require.buffers_before = static_cast<uint32_t>(
          in_.varint(p_.buffers.size(), "the number of buffers before a requirement"));
      if (require.buffers_before < least) in_.malformed(start, "requirements are not in order");
      least = require.buffers_before;
      require.message = in_.string(SIZE_MAX, Code::MalformedBytes, "the message of a requirement");
      require.condition = expr();
      p_.add(std::move(require));
    }
  }

  std::array<ExprId, 3> axes(uint8_t least, std::string_view what) {
    std::array<ExprId, 3> ids;
    const size_t start = in_.offset();
    const uint8_t count = in_.tag<uint8_t>(4, what);
    if (count < least) in_.unknown_tag(start, count, what);
    for (size_t i = 0; i < count; ++i) ids[i] = expr();
    return ids;
  }

  std::vector<ExprId> exprs(uint32_t count) {
    std::vector<ExprId> ids;
    for (uint32_t i = 0; i < count && in_.ok(); ++i) ids.push_back(expr());
    return ids;
  }

  void buffer_parts(Buffer& b) {
    const uint8_t parts = in_.u8("the parts of a buffer");
    if ((parts & kHasCount) != 0) b.count = expr();
    if ((parts & kHasBinding) != 0) b.binding = expr();
    if ((parts & kHasAlign) != 0) b.align = expr();
    if ((parts & kHasSize) != 0) b.size = expr();
    if ((parts & kHasRange) != 0) {
      b.range_first = expr();
      b.range_last = expr();
    }
    b.live_out = (parts & kIsLiveOut) != 0;
    if ((parts & kHasLocality) != 0) {
      const size_t start = in_.offset();
      b.locality = in_.tag<Locality>(4, "a locality");
      if (b.locality == Locality::None) in_.malformed(start, "expected a locality, found none");
    }
    if ((parts & kHasCoalesce) != 0) b.coalesce_axis = in_.tag<uint8_t>(3, "an axis");
  }

  void functions() {
    for (Fn& fn : p_.fns) {
      if (!in_.ok()) return;
      locals_.clear();
      const uint32_t count = in_.count("the number of parameters");
      std::vector<LocalId> params;
      for (uint32_t i = 0; i < count && in_.ok(); ++i) params.push_back(param());
      fn.params = p_.add_params(params);
      fn.result = optional_type();
      fn.body = block(1);
    }
  }

  LocalId param() {
    const size_t start = in_.offset();
    const uint8_t code = in_.u8("a kind of parameter");
    if (code != static_cast<uint8_t>(ParamCode::Value) &&
        code != static_cast<uint8_t>(ParamCode::Buffer))
      in_.unknown_tag(start, code, "a kind of parameter");
    Local local;
    local.kind = code == static_cast<uint8_t>(ParamCode::Value) ? Local::Kind::Param
                                                                : Local::Kind::BufferParam;
    local.name = name("the name of a parameter");
    local.type = type();
    return declare(std::move(local));
  }

  void body() {
    locals_.clear();
    const size_t start = in_.offset();
    p_.body = block(0);
    if (in_.ok() && !top_level_stands(p_, p_.items(p_.body)))
      in_.fail(Code::RegionRule, start,
               "a statement at the top level is no region, barrier, collective or fixpoint",
               "put the statements of the program into one region");
  }

  // ---- references ----

  LocalId declare(Local local) {
    take_node();
    const LocalId id = p_.add(std::move(local));
    locals_.push_back({id, true});
    return id;
  }

  LocalId local() {
    const size_t start = in_.offset();
    const uint64_t number = in_.varint(UINT32_MAX, "the number of a local");
    if (!in_.ok()) return {};
    if (number >= locals_.size() || !locals_[number].visible) {
      in_.malformed(start, fmt::format("local {} is not declared here", number));
      return {};
    }
    return locals_[number].id;
  }

  static bool is_memory(Local::Kind kind) {
    return kind == Local::Kind::Array || kind == Local::Kind::BufferParam;
  }

  uint32_t index(size_t size, std::string_view what) {
    const size_t start = in_.offset();
    const uint64_t number = in_.varint(UINT32_MAX, what);
    if (in_.ok() && number >= size)
      in_.malformed(start, fmt::format("expected {} below {}, found {}", what, size, number));
    return static_cast<uint32_t>(number);
  }

  Memory memory() {
    const size_t start = in_.offset();
    const auto kind = in_.tag<Memory::Kind>(3, "a kind of memory");
    if (!in_.ok()) return {};
    switch (kind) {
      case Memory::Kind::Buffer:
        return Memory::of(BufferId{index(p_.buffers.size(), "the number of a buffer")});
      case Memory::Kind::Table: {
        const ConstId id{index(p_.consts.size(), "the number of a table")};
        if (in_.ok() && !p_[id].table)
          in_.malformed(start, fmt::format("constant {} is no table", id.value));
        return Memory::of(id);
      }
      case Memory::Kind::Local: {
        const LocalId id = local();
        if (in_.ok() && !is_memory(p_[id].kind))
          in_.malformed(start, "the local is no array or buffer parameter");
        return Memory::of(id);
      }
    }
    return {};
  }

  // What len() and calls take: no table and no array.
  Memory whole_buffer() {
    const size_t start = in_.offset();
    const Memory m = memory();
    const bool array = in_.ok() && m.local().valid() && p_[m.local()].kind == Local::Kind::Array;
    if (m.kind == Memory::Kind::Table || array)
      in_.malformed(start, "expected a buffer, found a table or an array");
    return m;
  }

  // ---- expressions ----

  ExprId expr() {
    if (!in_.ok()) return {};
    if (expr_depth_ == kMaxExprDepth) {
      in_.fail(Code::ExpressionTooDeep, in_.offset(),
               fmt::format("the expression is more than {} nodes deep", kMaxExprDepth),
               "name parts of it with `let`");
      return {};
    }
    ++expr_depth_;
    take_node();
    Expr node = expr_node();
    --expr_depth_;
    return p_.add(std::move(node));
  }

  Expr expr_node() {
    const size_t start = in_.offset();
    const uint8_t code = in_.u8("an expression");
    // No default: a code that is missing here is a compiler error, one that is not a code falls
    // through.
    switch (static_cast<ExprCode>(code)) {
      case ExprCode::IntLiteral: return int_literal();
      case ExprCode::FloatLiteral: return float_literal();
      case ExprCode::BoolLiteral: return BoolLiteral{in_.flag("true or false")};
      case ExprCode::LocalRef: return local_ref(start);
      case ExprCode::ConstRef: return const_ref(start);
      case ExprCode::BuiltinRef: {
        const auto builtin = in_.tag<Builtin>(kBuiltinCount, "a built-in value");
        return BuiltinRef{builtin, has_axis(builtin) ? in_.tag<uint8_t>(3, "an axis") : uint8_t{0}};
      }
      case ExprCode::Len: return Len{whole_buffer()};
      case ExprCode::Load: {
        const Memory m = memory();
        return Load{m, expr()};
      }
      case ExprCode::Unary: {
        const auto op = in_.tag<UnaryOp>(3, "a unary operator");
        return Unary{op, expr()};
      }
      case ExprCode::Binary: {
        const auto op = in_.tag<BinaryOp>(18, "a binary operator");
        const ExprId left = expr();
        return Binary{op, left, expr()};
      }
      case ExprCode::Cast: {
        const Type to = type();
        return Cast{to, expr()};
      }
      case ExprCode::Bitcast: {
        const Type to = type();
        return Bitcast{to, expr()};
      }
      case ExprCode::IntrinsicCall: {
        IntrinsicCall call{in_.tag<Intrinsic>(kIntrinsicCount, "a built-in function"), {}};
        for (size_t i = 0; i < static_cast<size_t>(arity_of(call.op)); ++i) call.args[i] = expr();
        return call;
      }
      case ExprCode::Atomic: return atomic();
      case ExprCode::Subgroup: {
        Subgroup e{in_.tag<SubgroupOp>(kSubgroupOpCount, "a subgroup operation"), expr(), {}};
        if (arity_of(e.op) == 2) e.lane = expr();
        return e;
      }
      case ExprCode::UniformLoad: return uniform_load();
      case ExprCode::Call: return call();
    }
    in_.unknown_tag(start, code, "an expression");
    return Poison{};
  }

  // Sign and suffix of a literal; the suffix is an arithmetic type other than bool.
  std::pair<bool, std::optional<Type>> literal_flags(bool integer) {
    const size_t start = in_.offset();
    const uint8_t flags = in_.u8("the flags of a literal");
    const bool negative = (flags & 1) != 0;
    if (flags <= 1) return {negative, std::nullopt};
    const int number = (flags >> 1) - 1;
    const bool fits = number < kTypeCount && (integer ? is_number(static_cast<Type>(number))
                                                      : is_float(static_cast<Type>(number)));
    if (!fits) in_.unknown_tag(start, flags, "the flags of a literal");
    return {negative, fits ? std::optional(static_cast<Type>(number)) : std::nullopt};
  }

  Expr int_literal() {
    const auto [negative, suffix] = literal_flags(true);
    return IntLiteral{in_.varint(UINT64_MAX, "a whole number"), negative, suffix};
  }

  Expr float_literal() {
    const auto [negative, suffix] = literal_flags(false);
    const size_t start = in_.offset();
    const int32_t exponent = in_.zigzag32("an exponent");
    std::string digits = in_.string(SIZE_MAX, Code::MalformedBytes, "digits");
    const bool only_digits =
        std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    const bool canonical =
        digits.empty() ? exponent == 0 : digits.front() != '0' && digits.back() != '0';
    if (!only_digits || !canonical)
      in_.malformed(start, "expected a decimal number in its shortest form");
    return FloatLiteral{std::move(digits), exponent, negative, suffix};
  }

  Expr local_ref(size_t start) {
    const LocalId id = local();
    if (in_.ok() && is_memory(p_[id].kind))
      in_.malformed(start, "an array or buffer parameter is no value");
    return LocalRef{id};
  }

  Expr const_ref(size_t start) {
    const ConstId id{index(p_.consts.size(), "the number of a constant")};
    if (in_.ok() && p_[id].table)
      in_.malformed(start, fmt::format("constant {} is a table", id.value));
    return ConstRef{id};
  }

  Expr atomic() {
    Atomic e;
    e.op = in_.tag<AtomicOp>(kAtomicCount, "an atomic operation");
    e.order = in_.tag<MemoryOrder>(4, "a memory order");
    e.memory = memory();
    e.index = expr();
    for (size_t i = 0; i < static_cast<size_t>(arity_of(e.op)); ++i) e.args[i] = expr();
    return e;
  }

  Expr uniform_load() {
    const size_t start = in_.offset();
    const auto scope = in_.tag<Scope>(3, "a scope");
    if (scope == Scope::Subgroup) in_.malformed(start, "expected the scope workgroup or grid");
    const Memory m = memory();
    return UniformLoad{scope, m, expr()};
  }

  Expr call() {
    const FnId fn{index(p_.fns.size(), "the number of a function")};
    const uint32_t count = in_.count("the number of arguments");
    std::vector<Arg> args;
    for (uint32_t i = 0; i < count && in_.ok(); ++i) {
      const size_t start = in_.offset();
      const uint8_t code = in_.u8("a kind of argument");
      if (code == static_cast<uint8_t>(ArgCode::Value)) {
        args.emplace_back(ExprId{});
      } else if (code == static_cast<uint8_t>(ArgCode::Memory)) {
        take_node();
        args.emplace_back(whole_buffer());
      } else {
        in_.unknown_tag(start, code, "a kind of argument");
      }
    }
    for (Arg& arg : args)
      if (ExprId* value = std::get_if<ExprId>(&arg)) *value = expr();
    return Call{fn, p_.add_args(args)};
  }

  // ---- statements ----

  // `depth` is the number of blocks around the statements of this one.
  Block block(uint32_t depth) {
    const size_t start = in_.offset();
    const uint32_t count = in_.count("the number of statements");
    if (depth > kMaxNesting)
      in_.fail(Code::NestingTooDeep, start,
               fmt::format("blocks are nested more than {} deep", kMaxNesting),
               "move the inner blocks into a function");
    const size_t outer = locals_.size();
    std::vector<StmtId> items;
    for (uint32_t i = 0; i < count && in_.ok(); ++i) {
      take_node();
      if (p_.stmts.size() >= kMaxStatements)
        in_.fail(Code::TooManyStatements, in_.offset(),
                 fmt::format("the program has more than {} statements", kMaxStatements),
                 "write loops and functions instead of repeating statements");
      Stmt node = stmt_node(depth);
      items.push_back(p_.add(std::move(node)));
    }
    // The parameters of a function stay, they belong to its body.
    for (size_t i = outer; i < locals_.size(); ++i) locals_[i].visible = false;
    return p_.add_block(items);
  }

  Stmt stmt_node(uint32_t depth);
  Stmt let(Local::Kind kind);
  Stmt declare_array();
  Stmt store();
  Stmt eval();
  Stmt for_loop(uint32_t depth);
  Stmt fixpoint(uint32_t depth);
  Stmt async_copy();
  Stmt collective();

  // The operator of `v op= e`, or none.
  std::optional<BinaryOp> assign_op() {
    const size_t start = in_.offset();
    const uint8_t value = in_.u8("an assignment operator");
    if (value == 0) return std::nullopt;
    const auto op = static_cast<BinaryOp>(value - 1);
    if (op < BinaryOp::Or || op > BinaryOp::Rem)
      in_.unknown_tag(start, value, "an assignment operator");
    return op;
  }

  uint16_t trap_tag() { return static_cast<uint16_t>(in_.varint(kMaxTag, "a tag")); }

  struct Declared {
    LocalId id;
    bool visible;
  };

  std::span<const std::byte> bytes_;
  Reader in_;
  Program p_;
  std::vector<Declared> locals_;  // of the function or main body at hand, by number
  uint32_t expr_depth_ = 0;
  size_t nodes_ = 0;
};

Stmt Decoder::stmt_node(uint32_t depth) {
  const size_t start = in_.offset();
  const uint8_t code = in_.u8("a statement");
  switch (static_cast<StmtCode>(code)) {
    case StmtCode::Let: return let(Local::Kind::Let);
    case StmtCode::Var: return let(Local::Kind::Var);
    case StmtCode::DeclareArray: return declare_array();
    case StmtCode::Assign: {
      const LocalId target = local();
      if (in_.ok() && is_memory(p_[target].kind))
        in_.malformed(start, "an array or buffer parameter is assigned as a whole");
      const auto op = assign_op();
      return Assign{target, op, expr()};
    }
    case StmtCode::Store: return store();
    case StmtCode::Eval: return eval();
    case StmtCode::If: {
      const ExprId condition = expr();
      const Block then_block = block(depth + 1);
      return If{condition, then_block, block(depth + 1)};
    }
    case StmtCode::For: return for_loop(depth);
    case StmtCode::While: {
      const ExprId condition = expr();
      return While{condition, block(depth + 1)};
    }
    case StmtCode::Break: return Break{};
    case StmtCode::Continue: return Continue{};
    case StmtCode::Return:
      return Return{in_.flag("whether a value is returned") ? expr() : ExprId{}};
    case StmtCode::Nested: return Nested{block(depth + 1)};
    case StmtCode::Region: {
      std::string region = name("the name of a region");
      return Region{std::move(region), block(depth + 1)};
    }
    case StmtCode::Barrier: return Barrier{in_.tag<Scope>(3, "a scope")};
    case StmtCode::Fixpoint: return fixpoint(depth);
    case StmtCode::AsyncCopy: return async_copy();
    case StmtCode::Wait: return Wait{trap_tag()};
    case StmtCode::Trap: {
      const uint16_t tag = trap_tag();
      return Trap{tag, expr()};
    }
    case StmtCode::Resume: return Resume{trap_tag()};
    case StmtCode::Collective: return collective();
  }
  in_.unknown_tag(start, code, "a statement");
  return Break{};
}

Stmt Decoder::let(Local::Kind kind) {
  Local local;
  local.kind = kind;
  local.name = name("the name of a local");
  local.type = optional_type();
  const ExprId value = expr();
  return Let{declare(std::move(local)), value};
}

Stmt Decoder::declare_array() {
  Local local;
  local.kind = Local::Kind::Array;
  local.name = name("the name of an array");
  local.type = type();
  local.count = expr();
  return DeclareArray{declare(std::move(local))};
}

Stmt Decoder::store() {
  const Memory m = memory();
  const auto op = assign_op();
  const ExprId at = expr();
  return Store{m, at, op, expr()};
}

// What the text writes as a call, and so can be a statement. Whether it has an effect is not asked
// here.
bool is_written_as_call(const Expr& expr) {
  if (const auto* builtin = std::get_if<BuiltinRef>(&expr)) return is_call(builtin->builtin);
  return std::holds_alternative<Call>(expr) || std::holds_alternative<Atomic>(expr) ||
         std::holds_alternative<Subgroup>(expr) || std::holds_alternative<UniformLoad>(expr) ||
         std::holds_alternative<IntrinsicCall>(expr) || std::holds_alternative<Len>(expr) ||
         std::holds_alternative<Bitcast>(expr);
}

Stmt Decoder::eval() {
  const size_t start = in_.offset();
  const ExprId value = expr();
  if (in_.ok() && !is_written_as_call(p_[value]))
    in_.malformed(start, "expected a call as a statement");
  return Eval{value};
}

Stmt Decoder::for_loop(uint32_t depth) {
  Local variable;
  variable.kind = Local::Kind::For;
  variable.name = name("the name of a loop variable");
  const auto parts = in_.tag<uint8_t>(kForParts + 1, "the parts of a loop");
  For loop;
  loop.unroll = (parts & kIsUnrolled) != 0;
  loop.first = expr();
  loop.last = expr();
  if ((parts & kHasStep) != 0) loop.step = expr();
  loop.variable = declare(std::move(variable));
  const size_t number = locals_.size() - 1;
  loop.body = block(depth + 1);
  locals_[number].visible = false;
  return loop;
}

Stmt Decoder::fixpoint(uint32_t depth) {
  const uint32_t count = at_least_one("the number of buffers of a fixpoint");
  std::vector<Memory> buffers;
  for (uint32_t i = 0; i < count && in_.ok(); ++i) {
    take_node();
    buffers.push_back(memory());
  }
  Fixpoint loop;
  loop.buffers = p_.add_memories(buffers);
  loop.max_passes = expr();
  loop.body = block(depth + 1);
  return loop;
}

Stmt Decoder::async_copy() {
  AsyncCopy copy;
  copy.tag = trap_tag();
  copy.dst = memory();
  copy.src = memory();
  copy.dst_index = expr();
  copy.src_index = expr();
  copy.count = expr();
  return copy;
}

Stmt Decoder::collective() {
  Collective c;
  c.op = in_.tag<CollectiveOp>(4, "a collective");
  c.src = memory();
  if (c.op == CollectiveOp::AllGather || c.op == CollectiveOp::ReduceScatter) c.dst = memory();
  if (c.op == CollectiveOp::AllReduce || c.op == CollectiveOp::ReduceScatter)
    c.reduce = in_.tag<ReduceOp>(6, "a reduction");
  const bool grouped = in_.flag("whether there is a group");
  if (c.op == CollectiveOp::Broadcast) c.root = expr();
  if (grouped) c.group = expr();
  return c;
}

}  // namespace

bool looks_encoded(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() &&
         std::equal(kMagic.begin(), kMagic.end(), bytes.begin(),
                    [](uint8_t a, std::byte b) { return std::byte{a} == b; });
}

Result<Program> decode(std::span<const std::byte> bytes) {
  return Decoder(bytes).run();
}

}  // namespace vyre::ir
