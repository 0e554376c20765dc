// SPDX-License-Identifier: Apache-2.0
#include "property/program_gen.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "property/random.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::property {

namespace {

using namespace ir;

Type value_type(Random& rnd) {
  return static_cast<Type>(rnd.below(7));
}
Type element_type(Random& rnd) {
  return static_cast<Type>(rnd.below(kTypeCount));
}

std::string message(Random& rnd) {
  static constexpr std::array kPieces =
      std::to_array<std::string_view>({"a", " ", "\"", "\\", "\n", "\t", "\\n", "//", "{", "}", ";",
                                       "\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80", "need"});
  std::string text;
  for (uint64_t i = rnd.below(8); i > 0; --i) text += rnd.pick(kPieces);
  return text;
}

uint16_t tag(Random& rnd) {
  static constexpr std::array<uint16_t, 4> kTags = {0, 1, 127, 65535};
  return rnd.pick(kTags);
}

class Generator {
 public:
  Generator(uint64_t seed, GenOptions options)
      : rnd_(seed), options_(options), budget_(options.statements) {}

  Program run() {
    p_.name = fresh_name();
    declare_globals();
    headers();
    for (size_t i = 0; i < p_.fns.size(); ++i) function(i);
    top_level();
    return std::move(p_);
  }

 private:
  // ---- names ----

  // Words that mean something elsewhere in the grammar but are free as names.
  std::string candidate() {
    static constexpr std::array kTricky = std::to_array<std::string_view>(
        {"relaxed", "acquire", "add",     "xor",   "and",    "streaming", "x",   "y",       "z",
         "unroll",  "count",   "binding", "range", "e1",     "E5",        "f",   "u",       "i",
         "_",       "__",      "u32x",    "main",  "mainly", "A",         "tag", "live_out"});
    switch (rnd_.below(6)) {
      case 0: return std::string(rnd_.pick(kTricky));
      case 1: return std::string(1, static_cast<char>('a' + rnd_.below(26)));
      case 2:
        if (rnd_.one_in(20))
          return std::string(kMaxNameBytes - 4, 'n') + std::to_string(rnd_.below(10000));
        [[fallthrough]];
      default: return "v" + std::to_string(rnd_.below(100));
    }
  }

  std::string fresh_name() {
    while (true) {
      std::string name = candidate();
      if (name.size() <= kMaxNameBytes && !is_reserved(name) && taken_.insert(name).second)
        return name;
    }
  }

  std::string region_name() {
    const std::string name = candidate();
    return is_reserved(name) ? "part" : name;
  }

  // ---- expressions ----

  std::optional<Type> suffix(bool decimal) {
    if (rnd_.one_in(2)) return std::nullopt;
    return decimal ? (rnd_.one_in(2) ? Type::F32 : Type::F64)
                   : static_cast<Type>(1 + rnd_.below(6));
  }

  Expr int_literal() {
    static constexpr std::array<uint64_t, 12> kEdges = {
        0,          1,          2,          255,       256,        0x7fffffff,
        0x80000000, 0xffffffff, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX};
    const uint64_t magnitude = rnd_.one_in(3)   ? rnd_.pick(kEdges)
                               : rnd_.one_in(4) ? rnd_.next()
                                                : rnd_.below(100);
    return IntLiteral{magnitude, rnd_.one_in(4), suffix(false)};
  }

  Expr float_literal() {
    FloatLiteral literal;
    literal.negative = rnd_.one_in(4);
    literal.suffix = suffix(true);
    if (rnd_.one_in(8)) return literal;
    const uint64_t size = rnd_.one_in(10) ? 40 : 1 + rnd_.below(9);
    for (uint64_t i = 0; i < size; ++i) {
      const bool edge = i == 0 || i + 1 == size;
      literal.digits += static_cast<char>('0' + (edge ? 1 + rnd_.below(9) : rnd_.below(10)));
    }
    static constexpr std::array<int32_t, 6> kEdges = {-324, 309, 39, -44, INT32_MAX, INT32_MIN};
    literal.exponent =
        rnd_.one_in(5) ? rnd_.pick(kEdges) : static_cast<int32_t>(rnd_.below(40)) - 20;
    return literal;
  }

  Expr builtin() {
    const auto which = static_cast<Builtin>(rnd_.below(kBuiltinCount));
    return BuiltinRef{which, has_axis(which) ? static_cast<uint8_t>(rnd_.below(3)) : uint8_t{0}};
  }

  // Something that can be indexed, if there is anything; `whole` leaves out tables and arrays.
  std::optional<Memory> memory(bool whole = false) {
    std::vector<Memory> all;
    if (!in_function_ && !constant_)
      for (uint32_t i = 0; i < p_.buffers.size(); ++i)
        if (!p_.buffers[i].scalar) all.push_back(Memory::of(BufferId{i}));
    for (uint32_t i = 0; i < p_.consts.size(); ++i)
      if (p_.consts[i].table && !whole) all.push_back(Memory::of(ConstId{i}));
    for (const LocalId id : visible_) {
      const Local::Kind kind = p_[id].kind;
      if (kind == Local::Kind::BufferParam || (kind == Local::Kind::Array && !whole))
        all.push_back(Memory::of(id));
    }
    if (all.empty()) return std::nullopt;
    return rnd_.pick(all);
  }

  std::optional<LocalId> scalar() {
    std::vector<LocalId> all;
    for (const LocalId id : visible_)
      if (p_[id].kind != Local::Kind::BufferParam && p_[id].kind != Local::Kind::Array)
        all.push_back(id);
    if (all.empty()) return std::nullopt;
    return rnd_.pick(all);
  }

  Expr leaf() {
    switch (rnd_.below(7)) {
      case 0: return float_literal();
      case 1: return BoolLiteral{rnd_.one_in(2)};
      case 2:
        if (const auto local = scalar()) return LocalRef{*local};
        break;
      case 3:
        for (uint32_t i = 0; i < p_.consts.size(); ++i)
          if (!p_.consts[i].table && rnd_.one_in(2)) return ConstRef{ConstId{i}};
        break;
      case 4:
        for (uint32_t i = 0; i < p_.buffers.size() && !in_function_ && !constant_; ++i)
          if (p_.buffers[i].scalar && rnd_.one_in(2))
            return Load{Memory::of(BufferId{i}), p_.add(IntLiteral{})};
        return builtin();
      case 5:
        if (const auto m = memory(true)) {
          if (rnd_.one_in(3)) return AxisLen{*m, static_cast<uint8_t>(rnd_.below(kMaxAxes))};
          return Len{*m};
        }
        break;
      default: break;
    }
    return int_literal();
  }

  ExprId expr(uint32_t depth) {
    if (depth <= 1 || rnd_.one_in(3)) return p_.add(leaf());
    return p_.add(inner(depth - 1));
  }
  ExprId expr() { return expr(1 + static_cast<uint32_t>(rnd_.below(options_.expr_depth))); }
  ExprId constant_expr() {
    const bool outer = std::exchange(constant_, true);
    const ExprId id = expr(3);
    constant_ = outer;
    return id;
  }

  // A node whose operands are at most `depth` deep.
  Expr inner(uint32_t depth) {
    switch (rnd_.below(11)) {
      case 0:
      case 1: {
        const ExprId left = expr(depth);
        return Binary{static_cast<BinaryOp>(rnd_.below(18)), left, expr(depth)};
      }
      case 2: return Unary{static_cast<UnaryOp>(rnd_.below(3)), expr(depth)};
      case 3: return Cast{value_type(rnd_), expr(depth)};
      case 4: return Bitcast{value_type(rnd_), expr(depth)};
      case 5:
        if (const auto m = memory()) return Load{*m, index(*m, depth)};
        break;
      case 6: {
        IntrinsicCall call{static_cast<Intrinsic>(rnd_.below(kIntrinsicCount)), {}};
        for (size_t i = 0; i < static_cast<size_t>(arity_of(call.op)); ++i)
          call.args[i] = expr(depth);
        return call;
      }
      case 7:
        if (const auto m = memory()) return atomic(*m, depth);
        break;
      case 8: {
        Subgroup op{static_cast<SubgroupOp>(rnd_.below(kSubgroupOpCount)), expr(depth), {}};
        if (arity_of(op.op) == 2) op.lane = expr(depth);
        return op;
      }
      case 9:
        if (const auto m = memory())
          return UniformLoad{rnd_.one_in(2) ? Scope::Grid : Scope::Workgroup, *m, index(*m, depth)};
        break;
      default:
        if (!p_.fns.empty()) return call(depth);
        break;
    }
    return leaf();
  }

  // One index, or several. The types and numbers of both are for the checker.
  ExprId index(Memory m, uint32_t depth) {
    if (depth < 2 || !rnd_.one_in(4)) return expr(depth);
    std::vector<ExprId> indices;
    for (uint64_t n = 2 + rnd_.below(kMaxAxes - 1); n > 0; --n) indices.push_back(expr(depth - 1));
    return p_.add(AxisIndex{m, p_.add_values(indices)});
  }

  Expr atomic(Memory m, uint32_t depth) {
    Atomic op;
    op.op = static_cast<AtomicOp>(rnd_.below(kAtomicCount));
    op.order = static_cast<MemoryOrder>(rnd_.below(4));
    op.memory = m;
    op.index = index(m, depth);
    for (size_t i = 0; i < static_cast<size_t>(arity_of(op.op)); ++i) op.args[i] = expr(depth);
    return op;
  }

  Expr call(uint32_t depth) {
    const auto fn = static_cast<uint32_t>(rnd_.below(p_.fns.size()));
    std::vector<Arg> args;
    const uint64_t count = rnd_.below(4);
    for (uint64_t i = 0; i < count; ++i) {
      const auto m = rnd_.one_in(3) ? memory(true) : std::nullopt;
      if (m)
        args.emplace_back(*m);
      else
        args.emplace_back(expr(depth));
    }
    return Call{FnId{fn}, p_.add_args(args)};
  }

  // ---- declarations ----

  void declare_globals() {
    for (uint64_t i = rnd_.below(4); i > 0; --i)
      p_.add(Const{fresh_name(), value_type(rnd_), rnd_.one_in(3), {}});
    for (uint64_t i = rnd_.below(6); i > 0; --i) {
      Buffer buffer;
      buffer.name = fresh_name();
      buffer.kind = static_cast<BufferKind>(rnd_.below(kBufferKindCount));
      buffer.element = element_type(rnd_);
      buffer.scalar = buffer.kind == BufferKind::Uniform && rnd_.one_in(2);
      p_.add(std::move(buffer));
    }
    for (uint64_t i = rnd_.below(3); i > 0; --i) {
      Fn fn;
      fn.name = fresh_name();
      p_.add(std::move(fn));
    }
  }

  void headers() {
    for (uint64_t i = 0, n = 1 + rnd_.below(3); i < n; ++i) p_.workgroup[i] = constant_expr();
    for (uint64_t i = 0, n = rnd_.below(4); i < n; ++i) p_.over[i] = expr();
    for (size_t i = 0; i < p_.consts.size(); ++i) {
      std::vector<ExprId> values;
      for (uint64_t n = p_.consts[i].table ? 1 + rnd_.below(5) : 1; n > 0; --n)
        values.push_back(constant_expr());
      p_.consts[i].values = p_.add_values(values);
    }
    for (size_t i = 0; i < p_.buffers.size(); ++i) attributes(p_.buffers[i]);
    uint32_t place = 0;
    for (uint64_t i = rnd_.below(3); i > 0; --i) {
      place += static_cast<uint32_t>(rnd_.below(p_.buffers.size() + 1 - place));
      const ExprId condition = expr();
      p_.add(Require{condition, message(rnd_), place});
    }
  }

  void attributes(Buffer& b) {
    if (rnd_.one_in(6) && !b.scalar)
      b.axes = lengths();
    else if (rnd_.one_in(3) && !b.scalar)
      b.count = constant_expr();
    if (rnd_.one_in(4)) b.binding = constant_expr();
    if (rnd_.one_in(5)) b.align = constant_expr();
    if (rnd_.one_in(4)) b.size = expr();
    if (rnd_.one_in(6)) {
      b.range_first = constant_expr();
      b.range_last = constant_expr();
    }
    b.live_out = rnd_.one_in(6);
    b.locality = rnd_.one_in(3) ? static_cast<Locality>(rnd_.below(4)) : Locality::None;
    if (rnd_.one_in(5)) b.coalesce_axis = static_cast<uint8_t>(rnd_.below(3));
  }

  Range lengths() {
    std::vector<ExprId> axes;
    for (uint64_t n = 2 + rnd_.below(kMaxAxes - 1); n > 0; --n) axes.push_back(constant_expr());
    return p_.add_values(axes);
  }

  void function(size_t index) {
    in_function_ = true;
    const std::set<std::string> outer = taken_;
    std::vector<LocalId> params;
    for (uint64_t i = rnd_.below(4); i > 0; --i) {
      const bool buffer = rnd_.one_in(3);
      params.push_back(declare({fresh_name(),
                                buffer ? Local::Kind::BufferParam : Local::Kind::Param,
                                buffer ? element_type(rnd_) : value_type(rnd_),
                                {}}));
      if (buffer && rnd_.one_in(3))
        p_.locals.back().rank = static_cast<uint8_t>(1 + rnd_.below(kMaxAxes));
    }
    const Range range = p_.add_params(params);
    const auto result = rnd_.one_in(2) ? std::optional(value_type(rnd_)) : std::nullopt;
    const Block body = block(1);
    Fn& fn = p_.fns[index];
    fn.params = range;
    fn.result = result;
    fn.body = body;
    visible_.clear();
    taken_ = outer;
    in_function_ = false;
  }

  // ---- statements ----

  LocalId declare(Local local) {
    const LocalId id = p_.add(std::move(local));
    visible_.push_back(id);
    return id;
  }

  // `depth` blocks lie around its statements.
  Block block(uint32_t depth) {
    const size_t outer = visible_.size();
    std::vector<StmtId> items;
    for (uint64_t i = rnd_.below(5); i > 0 && budget_ > 0; --i)
      items.push_back(p_.add(statement(depth)));
    leave(outer);
    return p_.add_block(items);
  }

  void leave(size_t outer) {
    for (size_t i = outer; i < visible_.size(); ++i) taken_.erase(p_[visible_[i]].name);
    visible_.resize(outer);
  }

  void top_level() {
    std::vector<StmtId> items;
    for (uint64_t i = rnd_.below(4); i > 0; --i) {
      budget_ = std::max(budget_, 1u);
      switch (rnd_.below(6)) {
        case 5:
          if (const auto m = memory()) items.push_back(p_.add(Stmt{Swap{*m, *memory()}}));
          break;
        case 0: items.push_back(p_.add(Stmt{Barrier{static_cast<Scope>(rnd_.below(3))}})); break;
        case 1:
          if (const auto m = memory()) items.push_back(p_.add(collective(*m)));
          break;
        case 2:
          if (const auto m = memory()) items.push_back(p_.add(fixpoint(*m, 0)));
          break;
        default: items.push_back(p_.add(region(0)));
      }
    }
    p_.body = p_.add_block(items);
  }

  Stmt region(uint32_t depth) {
    std::string name = region_name();
    return Region{std::move(name), block(depth + 1)};
  }

  Stmt fixpoint(Memory first, uint32_t depth) {
    std::vector<Memory> list = {first};
    while (rnd_.one_in(2)) list.push_back(*memory());
    Fixpoint loop;
    loop.max_passes = expr();
    loop.buffers = p_.add_memories(list);
    loop.body = block(depth + 1);
    return loop;
  }

  Stmt collective(Memory src) {
    Collective c;
    c.op = static_cast<CollectiveOp>(rnd_.below(4));
    c.src = src;
    if (c.op == CollectiveOp::AllGather || c.op == CollectiveOp::ReduceScatter) c.dst = *memory();
    if (c.op == CollectiveOp::AllReduce || c.op == CollectiveOp::ReduceScatter)
      c.reduce = static_cast<ReduceOp>(rnd_.below(6));
    if (c.op == CollectiveOp::Broadcast) c.root = constant_expr();
    if (rnd_.one_in(3)) c.group = constant_expr();
    return c;
  }

  std::optional<BinaryOp> assign_op() {
    if (rnd_.one_in(2)) return std::nullopt;
    const auto first = static_cast<uint64_t>(BinaryOp::Or);
    return static_cast<BinaryOp>(first +
                                 rnd_.below(static_cast<uint64_t>(BinaryOp::Rem) - first + 1));
  }

  Stmt let(Local::Kind kind) {
    const ExprId value = expr();
    const auto type = rnd_.one_in(2) ? std::optional(value_type(rnd_)) : std::nullopt;
    return Let{declare({fresh_name(), kind, type, {}}), value};
  }

  Stmt for_loop(uint32_t depth) {
    For loop;
    loop.first = expr();
    loop.last = expr();
    if (rnd_.one_in(3)) loop.step = constant_expr();
    loop.unroll = rnd_.one_in(3);
    loop.reversed = rnd_.one_in(3);
    const size_t outer = visible_.size();
    loop.variable = declare({fresh_name(), Local::Kind::For, {}, {}});
    loop.body = block(depth + 1);
    leave(outer);
    return loop;
  }

  Stmt if_else(uint32_t depth) {
    If s;
    s.condition = expr();
    s.then_block = block(depth + 1);
    if (rnd_.one_in(2)) s.else_block = block(depth + 1);
    // A chain of else ifs now and then.
    if (s.else_block.empty() && rnd_.one_in(2) && depth + 2 < options_.block_depth && budget_ > 0) {
      --budget_;
      const StmtId inner = p_.add(if_else(depth + 1));
      s.else_block = p_.add_block(std::array{inner});
    }
    return s;
  }

  Stmt eval() {
    if (rnd_.one_in(2) && !p_.fns.empty()) return Eval{p_.add(call(3))};
    if (const auto m = memory()) return Eval{p_.add(atomic(*m, 3))};
    return Eval{p_.add(Expr{Subgroup{SubgroupOp::Any, expr(2), {}}})};
  }

  Stmt with_blocks(uint32_t depth) {
    switch (rnd_.below(6)) {
      case 0: return if_else(depth);
      case 1: return for_loop(depth);
      case 2: {
        const ExprId condition = expr();
        return While{condition, block(depth + 1)};
      }
      case 3: return region(depth);
      case 4:
        if (const auto m = memory()) return fixpoint(*m, depth);
        [[fallthrough]];
      default: return Nested{block(depth + 1)};
    }
  }

  Stmt statement(uint32_t depth) {
    --budget_;
    if (depth < options_.block_depth && rnd_.one_in(3)) return with_blocks(depth);
    const auto m = memory();
    switch (rnd_.below(19)) {
      case 0:
      case 1: return let(Local::Kind::Let);
      case 2: return let(Local::Kind::Var);
      case 3: {
        Local array{fresh_name(), Local::Kind::Array, value_type(rnd_), {}};
        if (rnd_.one_in(3))
          array.axes = lengths();
        else
          array.count = constant_expr();
        std::vector<ExprId> values;
        if (rnd_.one_in(3))
          for (uint64_t n = 1 + rnd_.below(4); n != 0; --n) values.push_back(constant_expr());
        if (!values.empty()) array.values = p_.add_values(values);
        return DeclareArray{declare(std::move(array))};
      }
      case 4:
        if (const auto local = scalar()) return Assign{*local, assign_op(), expr()};
        return let(Local::Kind::Var);
      case 5:
      case 6:
        if (!m) return let(Local::Kind::Let);
        return store(*m);
      case 7: return eval();
      case 8: return rnd_.one_in(2) ? Stmt{Break{}} : Stmt{Continue{}};
      case 9: return Return{rnd_.one_in(2) ? expr() : ExprId{}};
      case 10: return Barrier{static_cast<Scope>(rnd_.below(3))};
      case 11: return m ? async_copy(*m) : Stmt{Wait{tag(rnd_)}};
      case 12: return Wait{tag(rnd_)};
      case 13: return Trap{tag(rnd_), expr()};
      case 14: return Resume{tag(rnd_)};
      case 15: return m ? Stmt{Swap{*m, *memory()}} : Stmt{Wait{tag(rnd_)}};
      case 16:
      case 17: {
        const ExprId condition = rnd_.one_in(2) ? expr() : ExprId{};
        std::vector<ExprId> args;
        for (uint64_t n = rnd_.below(4); n != 0; --n) args.push_back(expr());
        const Range printed = p_.add_values(args);
        if (!condition.valid()) return Print{message(rnd_), printed};
        return Assert{condition, message(rnd_), printed};
      }
      default: return m ? collective(*m) : Stmt{Resume{tag(rnd_)}};
    }
  }

  Stmt store(Memory m) {
    Store s;
    s.memory = m;
    s.index = index(m, 3);
    s.op = assign_op();
    s.value = expr();
    return s;
  }

  Stmt async_copy(Memory dst) {
    AsyncCopy copy;
    copy.tag = tag(rnd_);
    copy.dst = dst;
    copy.src = *memory();
    copy.dst_index = expr();
    copy.src_index = expr();
    copy.count = expr();
    return copy;
  }

  Random rnd_;
  GenOptions options_;
  uint32_t budget_;
  Program p_;
  std::set<std::string> taken_;  // names that are visible here
  std::vector<LocalId> visible_;
  bool in_function_ = false;
  bool constant_ = false;  // inside a constant expression: no buffers
};

// True if the node now differs in its bytes.
bool change(Expr& expr) {
  if (auto* e = std::get_if<IntLiteral>(&expr)) return e->negative = !e->negative, true;
  if (auto* e = std::get_if<FloatLiteral>(&expr)) return e->negative = !e->negative, true;
  if (auto* e = std::get_if<BoolLiteral>(&expr)) return e->value = !e->value, true;
  if (auto* e = std::get_if<Binary>(&expr))
    return e->op = e->op == BinaryOp::Add ? BinaryOp::Sub : BinaryOp::Add, true;
  if (auto* e = std::get_if<Unary>(&expr))
    return e->op = e->op == UnaryOp::Neg ? UnaryOp::Not : UnaryOp::Neg, true;
  if (auto* e = std::get_if<Cast>(&expr))
    return e->type = e->type == Type::U32 ? Type::I32 : Type::U32, true;
  if (auto* e = std::get_if<Bitcast>(&expr))
    return e->type = e->type == Type::U32 ? Type::I32 : Type::U32, true;
  if (auto* e = std::get_if<Atomic>(&expr))
    return e->order = e->order == MemoryOrder::Relaxed ? MemoryOrder::AcqRel : MemoryOrder::Relaxed,
           true;
  return false;
}

}  // namespace

Program random_program(uint64_t seed, GenOptions options) {
  return Generator(seed, options).run();
}

void mutate(Program& program, uint64_t seed) {
  Random rnd(seed);
  const uint64_t choice = rnd.below(4);
  if (choice == 0) {
    program.name += program.name.size() < kMaxNameBytes ? "q" : "";
    program.name.back() = program.name.back() == 'q' ? 'r' : 'q';
    return;
  }
  // Every generated node is part of the program, so a change of any of them counts.
  const size_t first = rnd.below(program.exprs.size());
  for (size_t i = 0; choice != 1 && i < program.exprs.size(); ++i)
    if (change(program.exprs[(first + i) % program.exprs.size()])) return;
  const auto top = program.items(program.body);
  std::vector<StmtId> items(top.begin(), top.end());
  items.push_back(program.add(Stmt{Barrier{Scope::Grid}}));
  program.body = program.add_block(items);
}

}  // namespace vyre::property
