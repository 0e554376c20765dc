// SPDX-License-Identifier: Apache-2.0
#include "check/typer.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "vyre/check/check.hpp"

namespace vyre::check {

using namespace ir;
using Maybe = Typer::Maybe;

namespace {

std::string range_text(Type type) {
  switch (type) {
    case Type::U32: return "0 to 4294967295";
    case Type::I32: return "-2147483648 to 2147483647";
    case Type::U64: return "0 to 18446744073709551615";
    case Type::I64: return "-9223372036854775808 to 9223372036854775807";
    case Type::F32: return "whole numbers with at most 24 significant bits";
    case Type::F64: return "whole numbers with at most 53 significant bits";
    case Type::Bool:
    case Type::U8:
    case Type::I8:
    case Type::U16:
    case Type::I16:
    case Type::F16:
    case Type::BF16: return "no number";
  }
  return "";
}

std::string spelled(const Expr& e) {
  if (const auto* whole = std::get_if<IntLiteral>(&e))
    return fmt::format("{}{}", whole->negative ? "-" : "", whole->magnitude);
  if (const auto* decimal = std::get_if<FloatLiteral>(&e))
    return fmt::format("{}0.{}e{}", decimal->negative ? "-" : "", decimal->digits.substr(0, 20),
                       decimal->exponent);
  return "the literal";
}

// Which operand types an intrinsic takes.
enum class Takes : uint8_t { Anything, Numbers, Integers, Floats };

Takes takes(Intrinsic op) {
  switch (op) {
    case Intrinsic::Select: return Takes::Anything;
    case Intrinsic::Min:
    case Intrinsic::Max:
    case Intrinsic::Clamp:
    case Intrinsic::Abs:
    case Intrinsic::Sign: return Takes::Numbers;
    case Intrinsic::AbsDiff:
    case Intrinsic::SatAdd:
    case Intrinsic::SatSub:
    case Intrinsic::SatMul:
    case Intrinsic::MulHi:
    case Intrinsic::Rotl:
    case Intrinsic::Rotr:
    case Intrinsic::Popcount:
    case Intrinsic::Clz:
    case Intrinsic::Ctz:
    case Intrinsic::ReverseBits: return Takes::Integers;
    case Intrinsic::Fma:
    case Intrinsic::Sqrt:
    case Intrinsic::Floor:
    case Intrinsic::Ceil:
    case Intrinsic::Trunc:
    case Intrinsic::Round:
    case Intrinsic::IsNan:
    case Intrinsic::IsInf:
    case Intrinsic::IsFinite:
    case Intrinsic::Rsqrt:
    case Intrinsic::Recip:
    case Intrinsic::Exp:
    case Intrinsic::Exp2:
    case Intrinsic::Log:
    case Intrinsic::Log2:
    case Intrinsic::Sin:
    case Intrinsic::Cos:
    case Intrinsic::Tan:
    case Intrinsic::Asin:
    case Intrinsic::Acos:
    case Intrinsic::Atan:
    case Intrinsic::Sinh:
    case Intrinsic::Cosh:
    case Intrinsic::Tanh:
    case Intrinsic::Pow:
    case Intrinsic::Atan2:
    case Intrinsic::Hypot:
    case Intrinsic::Log10:
    case Intrinsic::Log1p:
    case Intrinsic::Expm1:
    case Intrinsic::Cbrt:
    case Intrinsic::Erf:
    case Intrinsic::Exp10:
    case Intrinsic::RoundAway: return Takes::Floats;
  }
  return Takes::Anything;
}

bool fits(Takes what, Type type) {
  switch (what) {
    case Takes::Anything: return true;
    case Takes::Numbers: return is_number(type);
    case Takes::Integers: return is_integer(type);
    case Takes::Floats: return is_float(type);
  }
  return false;
}

std::string_view text_of(Takes what) {
  switch (what) {
    case Takes::Anything: return "any type";
    case Takes::Numbers: return "a number";
    case Takes::Integers: return "an integer";
    case Takes::Floats: return "f32 or f64";
  }
  return "";
}

}  // namespace

bool Typer::literal_only(ExprId id) {
  literal_only_.resize(p_.exprs.size());
  uint8_t& known = literal_only_[id.index()];
  if (known != 0) return known == 2;
  const bool yes = match(
      p_[id], [](const IntLiteral& e) { return !e.suffix; },
      [](const FloatLiteral& e) { return !e.suffix; },
      [&](const Unary& e) { return e.op != UnaryOp::Not && literal_only(e.operand); },
      [&](const Binary& e) {
        if (is_lazy(e.op) || is_comparison(e.op)) return false;
        return literal_only(e.left) && (is_shift(e.op) || literal_only(e.right));
      },
      [&](const IntrinsicCall& e) {
        // Select and the min-like functions pass the expected type on to their arguments.
        const size_t first = e.op == Intrinsic::Select ? 1 : 0;
        if (e.op == Intrinsic::IsNan || e.op == Intrinsic::IsInf || e.op == Intrinsic::IsFinite)
          return false;
        for (size_t i = first; i < static_cast<size_t>(arity_of(e.op)); ++i)
          if (!literal_only(e.args[i])) return false;
        return true;
      },
      [](const BoolLiteral&) { return false; }, [](const LocalRef&) { return false; },
      [](const ConstRef&) { return false; }, [](const BuiltinRef&) { return false; },
      [](const Len&) { return false; }, [](const Load&) { return false; },
      [](const Cast&) { return false; }, [](const Bitcast&) { return false; },
      [](const Atomic&) { return false; }, [](const Subgroup&) { return false; },
      [](const UniformLoad&) { return false; }, [](const Call&) { return false; },
      [](const Poison&) { return false; }, [](const AxisIndex&) { return false; },
      [](const AxisLen&) { return false; });
  literal_only_[id.index()] = yes ? 2 : 1;
  return yes;
}

Maybe Typer::infer(ExprId id, Maybe expected) {
  const Expr& e = p_[id];
  const Maybe type = infer_node(id, e, expected);
  s_.facts.expr_types[id.index()] = type;
  if (const auto* c = std::get_if<Call>(&e); c != nullptr && !p_[c->fn].result) {
    s_.report(Code::NoEffect, id, fmt::format("`{}` gives no value", p_[c->fn].name),
              "call it as a statement, or declare a result: `fn …(…) -> u32`")
        .notes.push_back(s_.note(c->fn, "the function is declared here"));
  } else if (const auto* a = std::get_if<Atomic>(&e); a != nullptr && a->op == AtomicOp::Store) {
    s_.report(Code::NoEffect, id, "`atomic_store` gives no value",
              "use it as a statement, or use `atomic_exchange`");
  }
  return type;
}

void Typer::infer_effect(ExprId id) {
  s_.facts.expr_types[id.index()] = infer_node(id, p_[id], std::nullopt);
}

Maybe Typer::infer_node(ExprId id, const Expr& node, Maybe expected) {
  return match(
      node,
      [&](const IntLiteral& e) { return literal(id, node, e.suffix, true, e.negative, expected); },
      [&](const FloatLiteral& e) {
        return literal(id, node, e.suffix, false, e.negative, expected);
      },
      [](const BoolLiteral&) -> Maybe { return Type::Bool; },
      [&](const LocalRef& e) -> Maybe {
        const Local& local = p_[e.local];
        if (local.kind == Local::Kind::Array || local.kind == Local::Kind::BufferParam) {
          s_.report(Code::WrongKindOfName, id, fmt::format("`{}` is not a value", local.name),
                    fmt::format("use an element of it: `{}[i]`", local.name));
          return std::nullopt;
        }
        return s_.facts.local_types[e.local.index()];
      },
      [&](const ConstRef& e) -> Maybe {
        const Const& c = p_[e.constant];
        if (!c.table) return c.type;
        s_.report(Code::WrongKindOfName, id, fmt::format("the table `{}` is not a value", c.name),
                  fmt::format("use an element of it: `{}[i]`", c.name));
        return std::nullopt;
      },
      [](const BuiltinRef& e) -> Maybe {
        return e.builtin == Builtin::FixpointConverged ? Type::Bool : Type::U32;
      },
      [&](const Len& e) -> Maybe {
        const bool buffer = e.memory.kind == Memory::Kind::Buffer ||
                            (e.memory.kind == Memory::Kind::Local &&
                             p_[e.memory.local()].kind == Local::Kind::BufferParam);
        if (!buffer)
          s_.report(Code::WrongKindOfName, id,
                    fmt::format("`{}` is not a buffer", name_of(p_, e.memory)),
                    "use the element count that its declaration gives");
        return Type::U32;
      },
      [&](const Load& e) -> Maybe {
        index(e.memory, e.index);
        return widened(element_type(p_, e.memory));
      },
      [&](const Unary& e) { return unary(id, e, expected); },
      [&](const Binary& e) { return binary(id, e, expected); },
      [&](const Cast& e) { return cast(id, e.type, e.operand); },
      [&](const Bitcast& e) { return bitcast(id, e); },
      [&](const IntrinsicCall& e) { return intrinsic(id, e, expected); },
      [&](const Atomic& e) { return atomic(id, e); },
      [&](const Subgroup& e) { return subgroup(id, e, expected); },
      [&](const UniformLoad& e) -> Maybe {
        index(e.memory, e.index);
        return widened(element_type(p_, e.memory));
      },
      [&](const Call& e) { return call(id, e); },
      [](const Poison&) -> Maybe { return std::nullopt; },
      [&](const AxisIndex& e) -> Maybe {
        s_.report(Code::BadShape, id,
                  fmt::format("an index of `{}` by axes stands outside of its brackets",
                              name_of(p_, e.memory)),
                  "use it as the index of an access");
        return std::nullopt;
      },
      [&](const AxisLen& e) { return axis_len(id, e); });
}

void Typer::index(Memory memory, ExprId id) {
  const auto* at = std::get_if<AxisIndex>(&p_[id]);
  const BufferId buffer = memory.buffer();
  if (buffer.valid() && p_[buffer].scalar) return scalar_index(buffer, id);
  if (at == nullptr) {
    require_integer(id, "the index");
    return;
  }
  bool all = true;
  for (const ExprId each : p_.values(at->indices)) all = require_integer(each, "the index") && all;
  const uint32_t rank = rank_of(p_, memory);
  if (at->memory != memory || at->indices.count != rank) {
    s_.report(Code::BadShape, id,
              fmt::format("`{}` has {} {}, but {} indices are given", name_of(p_, memory), rank,
                          rank == 1 ? "axis" : "axes", at->indices.count),
              rank == 1
                  ? fmt::format("declare it with axes, `{} : {}[h, w]`", name_of(p_, memory),
                                vyre::ir::name_of(element_type(p_, memory)))
                  : "give one index for each axis, or one for the element in row-major order");
    return;
  }
  if (all) s_.facts.expr_types[id.index()] = Type::U32;
}

// Only the index that the text form leaves out.
void Typer::scalar_index(BufferId buffer, ExprId id) {
  const auto* literal = std::get_if<IntLiteral>(&p_[id]);
  if (literal != nullptr && literal->magnitude == 0 && !literal->negative && !literal->suffix) {
    infer(id);
    return;
  }
  s_.report(Code::BadScalar, id, fmt::format("the scalar `{}` has an index", p_[buffer].name),
            fmt::format("write `{}`, or declare a buffer: `{} : {}[]`", p_[buffer].name,
                        p_[buffer].name, vyre::ir::name_of(p_[buffer].element)));
}

Maybe Typer::axis_len(ExprId id, const AxisLen& e) {
  const uint32_t rank = rank_of(p_, e.memory);
  const BufferId buffer = e.memory.buffer();
  if (e.memory.kind == Memory::Kind::Table) {
    s_.report(Code::WrongKindOfName, id, fmt::format("`{}` is not a buffer", name_of(p_, e.memory)),
              "use the element count that its declaration gives");
  } else if (e.axis >= rank || (buffer.valid() && p_[buffer].scalar)) {
    s_.report(Code::BadShape, id, fmt::format("`{}` has no axis {}", name_of(p_, e.memory), e.axis),
              rank == 1 ? "use axis 0" : fmt::format("use an axis from 0 to {}", rank - 1));
  }
  return Type::U32;
}

Maybe Typer::literal(ExprId id, const Expr& e, Maybe suffix, bool whole, bool negative,
                     Maybe expected) {
  Type type = whole ? (negative ? Type::I32 : Type::U32) : Type::F32;
  if (suffix)
    type = *suffix;
  else if (expected && (whole ? is_number(*expected) : is_float(*expected)))
    type = *expected;
  if (literal_in_type(e, type)) return type;
  std::string fix = "write a value in that range";
  if (type == Type::U32 && negative)
    fix = "make the other side signed, or convert: `(-1) as u32`";
  else if ((type == Type::U32 || type == Type::I32) && whole)
    fix = "use a 64-bit type, for example with the suffix u64 or i64";
  else if (is_float(type) && whole)
    fix = "write a decimal, which is rounded: add `.0`";
  s_.report(Code::LiteralDoesNotFit, id,
            whole ? fmt::format("{} does not fit in {} ({})", spelled(e), vyre::ir::name_of(type),
                                range_text(type))
                  : fmt::format("{} is too large for {}", spelled(e), vyre::ir::name_of(type)),
            std::move(fix));
  return type;
}

void Typer::require(ExprId id, Type wanted, const std::string& what) {
  const Maybe type = infer(id, wanted);
  if (!type || *type == wanted) return;
  s_.report(Code::TypeMismatch, id,
            fmt::format("{} has type {}, but this is {}", what, vyre::ir::name_of(wanted),
                        vyre::ir::name_of(*type)),
            fmt::format("convert it: `(…) as {}`", vyre::ir::name_of(wanted)));
}

void Typer::require_bool(ExprId id, std::string_view what) {
  const Maybe type = infer(id, Type::Bool);
  if (!type || *type == Type::Bool) return;
  s_.report(Code::ConditionNotBool, id,
            fmt::format("{} must be bool, but this is {}", what, vyre::ir::name_of(*type)),
            "compare it with something: `… != 0`");
}

Maybe Typer::require_integer(ExprId id, std::string_view what) {
  const Maybe type = infer(id);
  if (!type || is_integer(*type)) return type;
  s_.report(Code::IndexNotInteger, id,
            fmt::format("{} must be an integer, but this is {}", what, vyre::ir::name_of(*type)),
            "convert it: `(…) as u32`");
  return std::nullopt;
}

namespace {

// For two types that differ. An integer would lose what is behind the point of the other one.
std::string advice_of(Type a, Type b) {
  if (is_integer(a) == is_integer(b))
    return fmt::format("convert one of them, for example `(…) as {}`", vyre::ir::name_of(a));
  return fmt::format("convert the integer: `(…) as {}`", vyre::ir::name_of(is_integer(a) ? b : a));
}

}  // namespace

Maybe Typer::same_type(std::initializer_list<ExprId> ids, Maybe expected, ExprId at,
                       std::string_view what) {
  Maybe common = expected;
  Maybe found;
  bool unknown = false;
  bool differ = false;
  for (const bool literals : {false, true}) {
    for (ExprId id : ids) {
      if (literal_only(id) != literals) continue;
      const Maybe type = infer(id, found ? found : common);
      if (!type)
        unknown = true;
      else if (!found)
        found = type;
      else if (*type != *found && !differ) {
        differ = true;
        s_.report(Code::TypeMismatch, at,
                  fmt::format("{} are {} and {}", what, vyre::ir::name_of(*found),
                              vyre::ir::name_of(*type)),
                  advice_of(*found, *type));
      }
    }
  }
  return unknown || differ ? std::nullopt : found;
}

Maybe Typer::unary(ExprId id, const Unary& e, Maybe expected) {
  if (e.op == UnaryOp::Not) {
    const Maybe type = infer(e.operand, Type::Bool);
    if (type && *type != Type::Bool)
      s_.report(Code::WrongOperandType, id,
                fmt::format("`!` takes bool, but this is {}", vyre::ir::name_of(*type)),
                is_integer(*type) ? "use `~` for bits, or compare with 0"
                                  : "compare it with something first");
    return Type::Bool;
  }
  const Maybe type = infer(e.operand, expected);
  if (!type) return std::nullopt;
  const bool ok = e.op == UnaryOp::Neg ? is_number(*type) : is_integer(*type);
  if (ok) return type;
  s_.report(Code::WrongOperandType, id,
            fmt::format("`{}` takes {}, but this is {}", spelling_of(e.op),
                        e.op == UnaryOp::Neg ? "a number" : "an integer", vyre::ir::name_of(*type)),
            *type == Type::Bool ? "use `!` for bool" : "convert it to an integer first");
  return std::nullopt;
}

bool Typer::operand_fits(ExprId at, BinaryOp op, Type type) {
  bool ok = true;
  std::string_view takes_text = "numbers";
  switch (op) {
    case BinaryOp::Eq:
    case BinaryOp::Ne: return true;
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge:
    case BinaryOp::Add:
    case BinaryOp::Sub:
    case BinaryOp::Mul:
    case BinaryOp::Div: ok = is_number(type); break;
    case BinaryOp::Rem:
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      ok = is_integer(type);
      takes_text = "integers";
      break;
    case BinaryOp::Or:
    case BinaryOp::Xor:
    case BinaryOp::And:
      ok = is_integer(type) || type == Type::Bool;
      takes_text = "integers or bool";
      break;
    case BinaryOp::LogicalOr:
    case BinaryOp::LogicalAnd:
      ok = type == Type::Bool;
      takes_text = "bool";
      break;
  }
  if (!ok)
    s_.report(Code::WrongOperandType, at,
              fmt::format("`{}` takes {}, but these are {}", spelling_of(op), takes_text,
                          vyre::ir::name_of(type)),
              type == Type::Bool ? "use `==`, `!=`, `&`, `|`, `^` or `as u32` on bool"
                                 : "convert both sides first, for example with `as u32`");
  return ok;
}

void Typer::zero_divisor(BinaryOp op, Type type, ExprId right) {
  if ((op != BinaryOp::Div && op != BinaryOp::Rem) || !is_integer(type)) return;
  const auto* literal = std::get_if<IntLiteral>(&p_[right]);
  if (literal != nullptr && literal->magnitude == 0)
    s_.report(
        Code::DivisionByLiteralZero, right, fmt::format("`{}` by the literal 0", spelling_of(op)),
        "divide by something else; a divisor that is 0 at run time gives x / 0 = x and x % 0 = 0");
}

Maybe Typer::binary(ExprId id, const Binary& e, Maybe expected) {
  if (is_lazy(e.op)) {
    for (ExprId side : {e.left, e.right}) {
      const Maybe type = infer(side, Type::Bool);
      if (type && *type != Type::Bool) operand_fits(side, e.op, *type);
    }
    return Type::Bool;
  }
  if (is_shift(e.op)) {
    const Maybe left = infer(e.left, expected);
    require_integer(e.right, "the shift amount");
    if (!left || !operand_fits(id, e.op, *left)) return std::nullopt;
    return left;
  }
  const bool compares = is_comparison(e.op);
  const Maybe type = same_type({e.left, e.right}, compares ? std::nullopt : expected, id,
                               fmt::format("the two sides of `{}`", spelling_of(e.op)));
  if (type && operand_fits(id, e.op, *type)) {
    zero_divisor(e.op, *type, e.right);
    return compares ? Type::Bool : *type;
  }
  return compares ? Maybe(Type::Bool) : std::nullopt;
}

void Typer::check_op_assign(ExprId at, BinaryOp op, Type target, ExprId value,
                            const std::string& what) {
  if (is_shift(op)) {
    require_integer(value, "the shift amount");
    operand_fits(at, op, target);
    return;
  }
  require(value, target, what);
  if (operand_fits(at, op, target)) zero_divisor(op, target, value);
}

Maybe Typer::cast(ExprId id, Type to, ExprId operand) {
  const Maybe from = infer(operand);
  if (is_storage(to)) {
    s_.report(Code::StorageTypeAsValue, id,
              fmt::format("{} exists in buffers only", vyre::ir::name_of(to)),
              fmt::format("use {}", vyre::ir::name_of(widened(to))));
    return widened(to);
  }
  (void)from;  // every value type converts to every other
  return to;
}

Maybe Typer::bitcast(ExprId id, const Bitcast& e) {
  const Maybe from = infer(e.operand);
  if (is_storage(e.type)) {
    s_.report(Code::StorageTypeAsValue, id,
              fmt::format("{} exists in buffers only", vyre::ir::name_of(e.type)),
              fmt::format("use {}", vyre::ir::name_of(widened(e.type))));
    return widened(e.type);
  }
  if (from && (bits_of(*from) != bits_of(e.type) || *from == Type::Bool || e.type == Type::Bool))
    s_.report(Code::BadBitcast, id,
              fmt::format("cannot bitcast {} ({} bit) to {} ({} bit)", vyre::ir::name_of(*from),
                          bits_of(*from), vyre::ir::name_of(e.type), bits_of(e.type)),
              "bitcast between types of one width; use `as` to convert the value");
  return e.type;
}

Maybe Typer::intrinsic(ExprId id, const IntrinsicCall& e, Maybe expected) {
  const Takes wanted = takes(e.op);
  const bool gives_bool =
      e.op == Intrinsic::IsNan || e.op == Intrinsic::IsInf || e.op == Intrinsic::IsFinite;
  const std::string what = fmt::format("the arguments of `{}`", vyre::ir::name_of(e.op));
  if (gives_bool) expected = std::nullopt;
  Maybe type;
  if (e.op == Intrinsic::Select) {
    require_bool(e.args[0], "the condition of `select`");
    type = same_type({e.args[1], e.args[2]}, expected, id, what);
  } else if (e.op == Intrinsic::Rotl || e.op == Intrinsic::Rotr) {
    type = infer(e.args[0], expected);
    require_integer(e.args[1], "the rotate amount");
  } else if (arity_of(e.op) == 1) {
    type = infer(e.args[0], expected);
  } else if (arity_of(e.op) == 2) {
    type = same_type({e.args[0], e.args[1]}, expected, id, what);
  } else {
    type = same_type({e.args[0], e.args[1], e.args[2]}, expected, id, what);
  }
  if (!type) return gives_bool ? Maybe(Type::Bool) : std::nullopt;
  if (!fits(wanted, *type)) {
    s_.report(Code::WrongOperandType, id,
              fmt::format("`{}` takes {}, but this is {}", vyre::ir::name_of(e.op), text_of(wanted),
                          vyre::ir::name_of(*type)),
              is_integer(*type)
                  ? "convert the argument: `(…) as f32`, or write a decimal such as 2.0"
                  : "convert the argument with `as`");
    return gives_bool ? Maybe(Type::Bool) : std::nullopt;
  }
  return gives_bool ? Type::Bool : *type;
}

namespace {

bool has_atomic(Type type, AtomicOp op) {
  const bool moves = op == AtomicOp::Load || op == AtomicOp::Store || op == AtomicOp::Exchange;
  const bool orders = op == AtomicOp::Min || op == AtomicOp::Max;
  switch (type) {
    case Type::U32:
    case Type::I32:
    case Type::U64:
    case Type::I64: return true;
    case Type::U8:
    case Type::I8:
    case Type::U16:
    case Type::I16:
      return moves || op == AtomicOp::Or || op == AtomicOp::And || op == AtomicOp::Add;
    case Type::F32: return moves || orders || op == AtomicOp::Add;
    case Type::F64: return orders || op == AtomicOp::Add;
    case Type::Bool:
    case Type::F16:
    case Type::BF16: return false;
  }
  return false;
}

// What a type has instead, for "Fix:".
std::string_view atomics_of(Type type) {
  switch (type) {
    case Type::U8:
    case Type::I8:
    case Type::U16:
    case Type::I16: return "; 8- and 16-bit elements have load, store, exchange, add, and and or";
    case Type::F32: return "; f32 has load, store, exchange, add, min and max";
    case Type::F64: return "; f64 has add, min and max";
    case Type::Bool:
    case Type::U32:
    case Type::I32:
    case Type::U64:
    case Type::I64:
    case Type::F16:
    case Type::BF16: return "";
  }
  return "";
}

}  // namespace

Maybe Typer::atomic(ExprId id, const Atomic& e) {
  index(e.memory, e.index);
  const Type type = element_type(p_, e.memory);
  if (!has_atomic(type, e.op))
    s_.report(Code::AtomicNotAllowed, id,
              fmt::format("`{}` does not work on {} elements", vyre::ir::name_of(e.op),
                          vyre::ir::name_of(type)),
              fmt::format("use u32, i32, u64 or i64 elements{}", atomics_of(type)));
  for (int i = 0; i < arity_of(e.op); ++i)
    require(e.args[static_cast<size_t>(i)], widened(type),
            fmt::format("an element of `{}`", name_of(p_, e.memory)));
  const bool bad_load =
      e.op == AtomicOp::Load && (e.order == MemoryOrder::Release || e.order == MemoryOrder::AcqRel);
  const bool bad_store = e.op == AtomicOp::Store &&
                         (e.order == MemoryOrder::Acquire || e.order == MemoryOrder::AcqRel);
  if (bad_load || bad_store)
    s_.report(
        Code::BadMemoryOrder, id,
        fmt::format("`{}` cannot be `{}`", vyre::ir::name_of(e.op), vyre::ir::name_of(e.order)),
        bad_load ? "use relaxed or acquire for a load" : "use relaxed or release for a store");
  return e.op == AtomicOp::Store ? std::nullopt : Maybe(widened(type));
}

Maybe Typer::subgroup(ExprId id, const Subgroup& e, Maybe expected) {
  const auto wrong = [&](Type type, std::string_view wanted) {
    s_.report(Code::WrongOperandType, id,
              fmt::format("`{}` takes {}, but this is {}", vyre::ir::name_of(e.op), wanted,
                          vyre::ir::name_of(type)),
              "convert the argument with `as`, or compare it to get a bool");
  };
  if (e.lane.valid())
    require(e.lane, Type::U32, fmt::format("the lane of `{}`", vyre::ir::name_of(e.op)));
  switch (e.op) {
    case SubgroupOp::Ballot:
    case SubgroupOp::Any:
    case SubgroupOp::All: {
      const Maybe type = infer(e.value, Type::Bool);
      if (type && *type != Type::Bool) wrong(*type, "bool");
      return e.op == SubgroupOp::Ballot ? Type::U32 : Type::Bool;
    }
    case SubgroupOp::Shuffle:
    case SubgroupOp::ShuffleXor:
    case SubgroupOp::ShuffleUp:
    case SubgroupOp::ShuffleDown:
    case SubgroupOp::Broadcast: return infer(e.value, expected);
    case SubgroupOp::Add:
    case SubgroupOp::Mul:
    case SubgroupOp::Min:
    case SubgroupOp::Max:
    case SubgroupOp::ExclusiveAdd:
    case SubgroupOp::InclusiveAdd: {
      const Maybe type = infer(e.value, expected);
      if (type && !is_number(*type)) wrong(*type, "a number");
      return type;
    }
    case SubgroupOp::And:
    case SubgroupOp::Or:
    case SubgroupOp::Xor: {
      const Maybe type = infer(e.value, expected);
      if (type && !is_integer(*type)) wrong(*type, "an integer");
      return type;
    }
  }
  return std::nullopt;
}

Maybe Typer::call(ExprId id, const Call& e) {
  const Fn& fn = p_[e.fn];
  const auto params = p_.params(fn.params);
  const auto args = p_.arguments(e.args);
  if (params.size() != args.size()) {
    s_.report(
          Code::WrongArgumentCount, id,
          fmt::format("`{}` takes {} argument{}, but {} {} given", fn.name, params.size(),
                      params.size() == 1 ? "" : "s", args.size(), args.size() == 1 ? "is" : "are"),
          "give one argument for each parameter")
        .notes.push_back(s_.note(e.fn, "the function is declared here"));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const Local* param = i < params.size() ? &p_[params[i]] : nullptr;
    if (const ExprId* value = std::get_if<ExprId>(&args[i])) {
      if (param == nullptr) {
        infer(*value);
      } else if (param->kind == Local::Kind::BufferParam) {
        infer(*value);
        if (std::holds_alternative<Poison>(p_[*value])) continue;
        s_.report(Code::WrongKindOfName, *value,
                  fmt::format("the parameter `{}` of `{}` takes a buffer, not a value", param->name,
                              fn.name),
                  "pass the name of a buffer");
      } else {
        require(*value, param->type.value_or(Type::U32),
                fmt::format("the parameter `{}` of `{}`", param->name, fn.name));
      }
      continue;
    }
    if (param == nullptr) continue;
    const Memory memory = std::get<Memory>(args[i]);
    const bool buffer =
        memory.kind == Memory::Kind::Buffer ||
        (memory.kind == Memory::Kind::Local && p_[memory.local()].kind == Local::Kind::BufferParam);
    if (param->kind != Local::Kind::BufferParam || !buffer) {
      s_.report(Code::WrongKindOfName, id,
                buffer
                    ? fmt::format("the parameter `{}` of `{}` takes a value, not the buffer `{}`",
                                  param->name, fn.name, name_of(p_, memory))
                    : fmt::format("`{}` is not a buffer, so it cannot be passed to `{}`",
                                  name_of(p_, memory), fn.name),
                buffer ? "pass an element of it, or declare a `buffer` parameter"
                       : "pass single elements as values");
    } else if (element_type(p_, memory) != param->type.value_or(Type::U32)) {
      s_.report(
          Code::TypeMismatch, id,
          fmt::format("the parameter `{}` of `{}` takes {} elements, but `{}` has {}", param->name,
                      fn.name, vyre::ir::name_of(param->type.value_or(Type::U32)),
                      name_of(p_, memory), vyre::ir::name_of(element_type(p_, memory))),
          "pass a buffer of the same element type");
    } else if (const BufferId passed = memory.buffer(); passed.valid() && p_[passed].scalar) {
      s_.report(Code::BadScalar, id,
                fmt::format("the parameter `{}` of `{}` takes a buffer, and `{}` is a scalar",
                            param->name, fn.name, p_[passed].name),
                "take a value: declare the parameter without `buffer` and `[]`");
    } else if (param->rank != 1 && rank_of(p_, memory) != param->rank) {
      s_.report(
          Code::BadShape, id,
          fmt::format("the parameter `{}` of `{}` takes {} axes, but `{}` has {}", param->name,
                      fn.name, param->rank, name_of(p_, memory), rank_of(p_, memory)),
          "pass a buffer with as many axes");
    }
  }
  return fn.result;
}

}  // namespace vyre::check
