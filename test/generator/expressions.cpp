// SPDX-License-Identifier: Apache-2.0
// Typed expressions. `level` is the most a value may differ: Grid asks for one that is the same in
// all lanes.
#include <algorithm>
#include <array>

#include "generator/maker.hpp"

namespace vyre::generator {

using namespace ir;

ExprId Maker::u32(uint64_t n) {
  return p_.add(IntLiteral{n, false, std::nullopt});
}

ExprId Maker::binary(const Binary& e) {
  return p_.add(e);
}

// ---- leaves

uint64_t highest_value(Type type) {
  return type == Type::U32   ? 0xffff'ffffULL
         : type == Type::I32 ? 0x7fff'ffffULL
         : type == Type::U64 ? ~0ULL
                             : ~0ULL >> 1;
}

// `plain`: without a suffix, where something else gives the type.
ExprId Maker::literal(Type type, bool plain) {
  const std::optional<Type> suffix = plain ? std::nullopt : std::optional(type);
  if (type == Type::Bool) return p_.add(BoolLiteral{rnd_.one_in(2)});
  if (is_float(type)) {
    struct Decimal {
      const char* digits;
      int32_t exponent;
    };
    static constexpr std::array<Decimal, 16> kDecimals = {{{"", 0},
                                                           {"1", 1},
                                                           {"5", 0},
                                                           {"15", 1},
                                                           {"2", 1},
                                                           {"1", 0},
                                                           {"31415927", 1},
                                                           {"34028235", 39},
                                                           {"1", -44},
                                                           {"117549435", -37},
                                                           {"16777216", 8},
                                                           {"65504", 5},
                                                           {"4294967295", 10},
                                                           {"7", 2},
                                                           {"333333333333333333333", 0},
                                                           {"1", 11}}};
    const Decimal& d = rnd_.pick(kDecimals);
    return p_.add(FloatLiteral{d.digits, d.exponent, rnd_.one_in(4), suffix});
  }
  const uint64_t most = highest_value(type);
  IntLiteral result{0, false, suffix};
  if (rnd_.one_in(5)) {
    const std::array<uint64_t, 14> edges = {
        0, most, most, most - 1, most - 2, most / 2, most / 2 + 1, 31, 32, 33, 63, 64, 255, 65535};
    result.magnitude = rnd_.pick(edges);
  } else {
    result.magnitude = rnd_.below(rnd_.one_in(4) ? 70 : 10);
  }
  if (is_signed(type) && rnd_.one_in(3)) {
    result.negative = true;
    if (result.magnitude == most) result.magnitude = most + 1;
  }
  return p_.add(result);
}

// To the right of `op`, where the left side has the type: no suffix needed, and no zero divisor.
ExprId Maker::operand_literal(Type type, BinaryOp op) {
  const ExprId id = literal(type, rnd_.one_in(2));
  if (op == BinaryOp::Div || op == BinaryOp::Rem)
    if (auto* whole = std::get_if<IntLiteral>(&p_.exprs[id.index()]);
        whole && whole->magnitude == 0)
      whole->magnitude = 3;
  return id;
}

ExprId Maker::builtin_value(Level level) {
  static constexpr std::array kBuiltins = {
      Builtin::NumWorkgroups, Builtin::WorkgroupSize, Builtin::FixpointPasses,
      Builtin::SubgroupSize,  Builtin::Wid,           Builtin::SubgroupId,
      Builtin::Gid,           Builtin::Lid,           Builtin::SubgroupLane};
  static constexpr std::array kLevels = {Level::Grid, Level::Grid,      Level::Grid,
                                         Level::Grid, Level::Workgroup, Level::Subgroup,
                                         Level::Lane, Level::Lane,      Level::Lane};
  for (;;) {
    const size_t k = static_cast<size_t>(rnd_.below(kBuiltins.size()));
    const Builtin b = kBuiltins[k];
    if (kLevels[k] > level) continue;
    if (b == Builtin::FixpointPasses && !options_.fixpoints) continue;
    if ((b == Builtin::SubgroupSize || b == Builtin::SubgroupId || b == Builtin::SubgroupLane) &&
        !options_.subgroups)
      continue;
    return p_.add(BuiltinRef{b, has_axis(b) ? static_cast<uint8_t>(rnd_.below(3)) : uint8_t{0}});
  }
}

std::optional<ExprId> Maker::local(Type type, Level level) {
  std::vector<LocalId> all;
  for (const LocalInfo& info : visible_)
    if (info.array == 0 && info.type == type && info.level <= level) all.push_back(info.id);
  if (all.empty()) return std::nullopt;
  // Later ones more often: they hold what the program has computed.
  const size_t k = static_cast<size_t>(std::max(rnd_.below(all.size()), rnd_.below(all.size())));
  return reference(all[k]);
}

std::optional<ExprId> Maker::load(Type type, Level level) {
  struct Source {
    Memory memory;
    uint32_t count;
    std::optional<size_t> mem;
  };
  std::vector<Source> all;
  for (const ConstId id : tables_)
    if (p_[id].type == type) all.push_back({Memory::of(id), p_[id].values.count, {}});
  for (const LocalInfo& info : visible_)
    if (info.array != 0 && info.type == type && info.level <= level)
      all.push_back({Memory::of(info.id), info.array, {}});
  for (size_t i = 0; i < mems_.size(); ++i) {
    if (widened(mems_[i].element) != type) continue;
    if (!mems_[i].constant && (level != Level::Lane || !may_load(i))) continue;
    all.push_back({mems_[i].memory, mems_[i].count, i});
  }
  if (all.empty()) return std::nullopt;
  const Source source = rnd_.pick(all);
  const bool own = source.mem && !mems_[*source.mem].constant && owned(*source.mem);
  const ExprId index = own ? own_index(*source.mem) : any_index(level, source.count);
  return p_.add(Load{source.memory, index});
}

ExprId Maker::leaf(Type type, Level level) {
  if (!rnd_.one_in(3))
    if (const auto id = local(type, level)) return *id;
  if (rnd_.one_in(2) && depth_of_index_ < 3) {
    const Within deeper(depth_of_index_, depth_of_index_ + 1);
    if (const auto id = load(type, level)) return *id;
  }
  switch (rnd_.below(6)) {
    case 0: {
      std::vector<ConstId> same;
      for (const ConstId id : scalars_)
        if (p_[id].type == type) same.push_back(id);
      if (!same.empty()) return p_.add(ConstRef{rnd_.pick(same)});
      break;
    }
    case 1:
      if (type == Type::U32 && !mems_.empty()) return p_.add(Len{rnd_.pick(mems_).memory});
      if (type == Type::Bool && options_.fixpoints)
        return p_.add(BuiltinRef{Builtin::FixpointConverged, 0});
      break;
    case 2:
    case 3:
      if (type == Type::U32) return builtin_value(level);
      if (is_number(type)) return p_.add(Cast{type, builtin_value(level)});
      break;
    default: break;
  }
  return literal(type);
}

// ---- operators

ExprId Maker::arithmetic(Type type, Level level, int depth) {
  static constexpr std::array kInteger = {
      BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem,
      BinaryOp::And, BinaryOp::Or,  BinaryOp::Xor, BinaryOp::Shl, BinaryOp::Shr};
  static constexpr std::array kFloat = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div};
  if (rnd_.one_in(8)) {
    const ExprId operand = expr(type, level, depth - 1);
    return p_.add(
        Unary{is_float(type) || rnd_.one_in(2) ? UnaryOp::Neg : UnaryOp::BitNot, operand});
  }
  const BinaryOp op = is_float(type) ? rnd_.pick(kFloat) : rnd_.pick(kInteger);
  const ExprId left = expr(type, level, depth - 1);
  if (is_shift(op)) {
    static constexpr std::array kAmounts = {Type::U32, Type::I32, Type::U64, Type::I64};
    Type amount = rnd_.pick(kAmounts);
    if (!has(amount)) amount = Type::U32;
    return binary({op, left, expr(amount, level, depth - 1)});
  }
  if (rnd_.one_in(3)) return binary({op, left, operand_literal(type, op)});
  const ExprId right = expr(type, level, depth - 1);
  if (op == BinaryOp::Div || op == BinaryOp::Rem)
    if (auto* whole = std::get_if<IntLiteral>(&p_.exprs[right.index()]);
        whole && whole->magnitude == 0)
      whole->magnitude = 1;
  return binary({op, left, right});
}

ExprId Maker::truth(Level level, int depth) {
  static constexpr std::array kCompare = {BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt,
                                          BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge};
  static constexpr std::array kLogic = {BinaryOp::And, BinaryOp::Or, BinaryOp::Xor, BinaryOp::Eq,
                                        BinaryOp::Ne};
  switch (rnd_.below(8)) {
    case 0: return p_.add(Unary{UnaryOp::Not, expr(Type::Bool, level, depth - 1)});
    case 1: {
      const BinaryOp op = rnd_.one_in(2) ? BinaryOp::LogicalAnd : BinaryOp::LogicalOr;
      const ExprId left = expr(Type::Bool, level, depth - 1);
      const Within lazy(no_subgroup_, true);  // not all lanes need come to the right side
      return binary({op, left, expr(Type::Bool, level, depth - 1)});
    }
    case 2: {
      const ExprId left = expr(Type::Bool, level, depth - 1);
      return binary({rnd_.pick(kLogic), left, expr(Type::Bool, level, depth - 1)});
    }
    case 3:
      if (options_.floats) {
        static constexpr std::array kTests = {Intrinsic::IsNan, Intrinsic::IsInf,
                                              Intrinsic::IsFinite};
        const Type type = has(Type::F64) && rnd_.one_in(4) ? Type::F64 : Type::F32;
        return p_.add(IntrinsicCall{rnd_.pick(kTests), {expr(type, level, depth - 1), {}, {}}});
      }
      [[fallthrough]];
    default: {
      Type type = any_type();
      if (type == Type::Bool) type = Type::U32;
      const BinaryOp op = rnd_.pick(kCompare);
      const ExprId left = expr(type, level, depth - 1);
      return binary(
          {op, left, rnd_.one_in(2) ? operand_literal(type, op) : expr(type, level, depth - 1)});
    }
  }
}

ExprId Maker::function(Type type, Level level, int depth) {
  static constexpr std::array kInteger = {
      Intrinsic::Min,      Intrinsic::Max,   Intrinsic::Clamp,  Intrinsic::Abs,
      Intrinsic::AbsDiff,  Intrinsic::Sign,  Intrinsic::SatAdd, Intrinsic::SatSub,
      Intrinsic::SatMul,   Intrinsic::MulHi, Intrinsic::Rotl,   Intrinsic::Rotr,
      Intrinsic::Popcount, Intrinsic::Clz,   Intrinsic::Ctz,    Intrinsic::ReverseBits};
  static constexpr std::array kFloat = {
      Intrinsic::Min,   Intrinsic::Max,   Intrinsic::Clamp, Intrinsic::Abs,      Intrinsic::Sign,
      Intrinsic::Fma,   Intrinsic::Sqrt,  Intrinsic::Floor, Intrinsic::Ceil,     Intrinsic::Trunc,
      Intrinsic::Round, Intrinsic::Rsqrt, Intrinsic::Recip, Intrinsic::RoundAway};
  static constexpr std::array kMaths = {
      Intrinsic::Exp,   Intrinsic::Exp2,  Intrinsic::Log,   Intrinsic::Log2,  Intrinsic::Sin,
      Intrinsic::Cos,   Intrinsic::Tan,   Intrinsic::Asin,  Intrinsic::Acos,  Intrinsic::Atan,
      Intrinsic::Sinh,  Intrinsic::Cosh,  Intrinsic::Tanh,  Intrinsic::Pow,   Intrinsic::Atan2,
      Intrinsic::Hypot, Intrinsic::Log10, Intrinsic::Log1p, Intrinsic::Expm1, Intrinsic::Cbrt,
      Intrinsic::Erf,   Intrinsic::Exp10};
  if (type == Type::Bool || rnd_.one_in(6)) {
    IntrinsicCall call{Intrinsic::Select, {}};
    call.args[0] = expr(Type::Bool, level, depth - 1);
    call.args[1] = expr(type, level, depth - 1);
    call.args[2] = expr(type, level, depth - 1);
    return p_.add(call);
  }
  IntrinsicCall call;
  if (is_integer(type))
    call.op = rnd_.pick(kInteger);
  else if (options_.transcendental && rnd_.one_in(3))
    call.op = rnd_.pick(kMaths);
  else
    call.op = rnd_.pick(kFloat);
  const bool rotates = call.op == Intrinsic::Rotl || call.op == Intrinsic::Rotr;
  for (int i = 0; i < arity_of(call.op); ++i)
    call.args[static_cast<size_t>(i)] =
        expr(rotates && i == 1 ? Type::U32 : type, level, depth - 1);
  return p_.add(call);
}

ExprId Maker::conversion(Type type, Level level, int depth) {
  const ExprId from = expr(any_type(), level, depth - 1);
  return p_.add(Cast{type, from});
}

// The same bits under another type. The bits of a NaN must not become a number: they are not
// specified where arithmetic made them.
ExprId Maker::reinterpreted(Type type, Level level, int depth) {
  const bool wide = bits_of(type) == 64;
  const Type flt = wide ? Type::F64 : Type::F32;
  const Type uns = wide ? Type::U64 : Type::U32;
  const Type sgn = wide ? Type::I64 : Type::I32;
  if (is_float(type)) {
    const Type from = rnd_.one_in(2) ? uns : sgn;
    return has(from) ? p_.add(Bitcast{type, expr(from, level, depth - 1)}) : literal(type);
  }
  if (!has(flt) || rnd_.one_in(2)) {
    const Type from = type == uns ? sgn : uns;
    return p_.add(Bitcast{type, expr(from, level, depth - 1)});
  }
  std::vector<LocalId> floats;
  for (const LocalInfo& info : visible_)
    if (info.array == 0 && info.type == flt && info.level <= level) floats.push_back(info.id);
  if (floats.empty()) return p_.add(Bitcast{type, literal(flt)});
  const LocalId x = rnd_.pick(floats);
  const ExprId nan = p_.add(IntrinsicCall{Intrinsic::IsNan, {reference(x), {}, {}}});
  const ExprId other = literal(flt);
  return p_.add(
      Bitcast{type, p_.add(IntrinsicCall{Intrinsic::Select, {nan, other, reference(x)}})});
}

// ---- meetings of the subgroup, memory, calls

std::optional<ExprId> Maker::subgroup(Type type, Level level, int depth) {
  if (!options_.subgroups || flow_ > Level::Subgroup || no_subgroup_ || level < Level::Subgroup)
    return std::nullopt;
  const auto value_of = [&](Type t) { return expr(t, Level::Lane, depth - 1); };
  std::vector<SubgroupOp> ops;
  if (type == Type::Bool) ops = {SubgroupOp::Any, SubgroupOp::All};
  if (type == Type::U32) ops = {SubgroupOp::Ballot};
  if (is_number(type))
    ops.insert(ops.end(), {SubgroupOp::Add, SubgroupOp::Mul, SubgroupOp::Min, SubgroupOp::Max});
  if (is_integer(type)) ops.insert(ops.end(), {SubgroupOp::And, SubgroupOp::Or, SubgroupOp::Xor});
  ops.push_back(SubgroupOp::Broadcast);
  if (level == Level::Lane) {
    ops.insert(ops.end(), {SubgroupOp::Shuffle, SubgroupOp::ShuffleXor, SubgroupOp::ShuffleUp,
                           SubgroupOp::ShuffleDown});
    // In which order a scan adds floats is nowhere said.
    if (is_integer(type))
      ops.insert(ops.end(), {SubgroupOp::ExclusiveAdd, SubgroupOp::InclusiveAdd});
  }
  Subgroup call{rnd_.pick(ops), {}, {}};
  const bool votes =
      call.op == SubgroupOp::Ballot || call.op == SubgroupOp::Any || call.op == SubgroupOp::All;
  call.value = value_of(votes ? Type::Bool : type);
  if (arity_of(call.op) == 2) {
    const Level most = call.op == SubgroupOp::Broadcast ? Level::Subgroup : Level::Lane;
    call.lane = rnd_.one_in(2) ? u32(rnd_.below(9)) : expr(Type::U32, most, depth - 1);
  }
  return p_.add(call);
}

MemoryOrder Maker::order_for(AtomicOp op) {
  if (!ordered_ || !rnd_.one_in(4)) return MemoryOrder::Relaxed;
  if (op == AtomicOp::Load) return MemoryOrder::Acquire;
  if (op == AtomicOp::Store) return MemoryOrder::Release;
  return static_cast<MemoryOrder>(rnd_.below(4));
}

// An atomic on an element that no other lane touches: what it gives is known exactly.
std::optional<ExprId> Maker::own_atomic(Type type) {
  if (!options_.atomics || pure_) return std::nullopt;
  std::vector<size_t> all;
  for (size_t i = 0; i < mems_.size(); ++i)
    if (mems_[i].atomics && widened(mems_[i].element) == type && owned(i) &&
        (is_integer(type) || mems_[i].element == type) && type != Type::Bool)
      all.push_back(i);
  if (all.empty()) return std::nullopt;
  const size_t mem = rnd_.pick(all);
  static constexpr std::array kFloat = {AtomicOp::Add, AtomicOp::Min, AtomicOp::Max,
                                        AtomicOp::Exchange, AtomicOp::Load};
  static constexpr std::array kDouble = {AtomicOp::Add, AtomicOp::Min, AtomicOp::Max};
  static constexpr std::array kSmall = {AtomicOp::Or, AtomicOp::And, AtomicOp::Add,
                                        AtomicOp::Exchange, AtomicOp::Load};
  Atomic atomic;
  atomic.op = type == Type::F32            ? rnd_.pick(kFloat)
              : type == Type::F64          ? rnd_.pick(kDouble)
              : mems_[mem].element != type ? rnd_.pick(kSmall)
                                           : static_cast<AtomicOp>(rnd_.below(kAtomicCount - 1));
  if (is_float(type) && atomic.op == AtomicOp::Add && !options_.float_atomics)
    atomic.op = AtomicOp::Max;
  atomic.memory = mems_[mem].memory;
  atomic.index = own_index(mem);
  for (int i = 0; i < arity_of(atomic.op); ++i)
    atomic.args[static_cast<size_t>(i)] = expr(type, Level::Lane, 1);
  atomic.order = order_for(atomic.op);
  return p_.add(atomic);
}

std::optional<ExprId> Maker::call_value(Type type, Level level) {
  std::vector<size_t> all;
  for (size_t i = 0; i < fns_.size(); ++i)
    if (fns_[i].result == type && fns_[i].result_level <= level &&
        fns_[i].needs >= Level::Subgroup && callable(fns_[i]))
      all.push_back(i);
  if (all.empty()) return std::nullopt;
  return call(fns_[rnd_.pick(all)]);
}

// ---- all together

ExprId Maker::operation(Type type, Level level, int depth) {
  switch (rnd_.below(12)) {
    case 0:
    case 1: return function(type, level, depth);
    case 2:
    case 3: return conversion(type, level, depth);
    case 4:
      if (type != Type::Bool) return reinterpreted(type, level, depth);
      break;
    case 5:
      if (const auto id = subgroup(type, level, depth)) return *id;
      break;
    case 6:
      if (level == Level::Lane && rnd_.one_in(3))
        if (const auto id = own_atomic(type)) return *id;
      break;
    case 7:
      if (rnd_.one_in(2))
        if (const auto id = call_value(type, level)) return *id;
      break;
    default: break;
  }
  return type == Type::Bool ? truth(level, depth) : arithmetic(type, level, depth);
}

ExprId Maker::expr(Type type, Level level, int depth) {
  if (depth <= 0 || rnd_.one_in(7)) return leaf(type, level);
  return operation(type, level, depth);
}

// Something that is true about as often as not.
ExprId Maker::condition(Level level) {
  if (rnd_.one_in(2)) return expr(Type::Bool, level, 2);
  // Data, if there is any: literals would decide it once and for all.
  ExprId x = level == Level::Lane ? lane_id() : expr(Type::U32, level, 1);
  if (rnd_.one_in(2))
    if (const auto known = local(Type::U32, level)) x = *known;
  const uint64_t modulus = 2 + rnd_.below(3);
  return binary({rnd_.one_in(2) ? BinaryOp::Eq : BinaryOp::Ne,
                 binary({BinaryOp::Rem, x, u32(modulus)}), u32(rnd_.below(modulus))});
}

}  // namespace vyre::generator
