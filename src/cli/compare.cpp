// SPDX-License-Identifier: Apache-2.0
#include "cli/compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "cli/values.hpp"
#include "ir/scalar.hpp"

namespace vyre::cli {

using namespace ir;

namespace {

// The bits of an element, zero-extended.
uint64_t raw(Type element, std::span<const std::byte> bytes, uint64_t index) {
  const uint32_t size = bytes_of(element);
  uint64_t bits = 0;
  for (uint32_t i = 0; i < size; ++i)
    bits |= std::to_integer<uint64_t>(bytes[index * size + i]) << (8 * i);
  return bits;
}

bool is_nan(Type element, uint64_t bits) {
  switch (element) {
    case Type::F32: return std::isnan(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case Type::F64: return std::isnan(std::bit_cast<double>(bits));
    case Type::F16: return std::isnan(float_from_half(static_cast<uint16_t>(bits)));
    case Type::BF16: return std::isnan(float_from_bfloat(static_cast<uint16_t>(bits)));
    case Type::Bool:
    case Type::U32:
    case Type::I32:
    case Type::U64:
    case Type::I64:
    case Type::U8:
    case Type::I8:
    case Type::U16:
    case Type::I16: return false;
  }
  return false;
}

bool is_any_float(Type element) {
  return is_float(element) || element == Type::F16 || element == Type::BF16;
}

// Floats in their order as unsigned numbers; negative ones count down from the middle.
uint64_t place(Type element, uint64_t bits) {
  const uint64_t sign = uint64_t{1} << (bits_of(element) - 1);
  return (bits & sign) != 0 ? sign - 1 - (bits - sign) : sign + bits;
}

std::optional<uint64_t> distance(Type element, uint64_t a, uint64_t b) {
  if (!is_any_float(element) || is_nan(element, a) || is_nan(element, b)) return std::nullopt;
  const uint64_t x = place(element, a);
  const uint64_t y = place(element, b);
  return x > y ? x - y : y - x;
}

}  // namespace

std::optional<uint64_t> ulp_distance(Type element, std::span<const std::byte> a,
                                     std::span<const std::byte> b) {
  return distance(element, raw(element, a, 0), raw(element, b, 0));
}

std::optional<Difference> find_difference(Type element, std::span<const std::byte> wanted,
                                          std::span<const std::byte> given, Nans nans) {
  const uint64_t count = std::min(wanted.size(), given.size()) / bytes_of(element);
  Difference difference;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t a = raw(element, wanted, i);
    const uint64_t b = raw(element, given, i);
    if (a == b) continue;
    if (nans == Nans::AllEqual && is_nan(element, a) && is_nan(element, b)) continue;
    const auto ulps = distance(element, a, b);
    if (difference.count++ == 0) {
      difference.element = i;
      difference.wanted = element_text(element, wanted, i);
      difference.given = element_text(element, given, i);
      difference.ulps = ulps;
      if (difference.wanted == difference.given) {
        difference.wanted += fmt::format(" ({:#x})", a);
        difference.given += fmt::format(" ({:#x})", b);
      }
    }
    if (ulps) difference.most_ulps = std::max(difference.most_ulps.value_or(0), *ulps);
  }
  if (difference.count == 0 && wanted.size() == given.size()) return std::nullopt;
  return difference;
}

std::optional<uint64_t> writer_of(const check::CheckedProgram& checked, BufferId buffer,
                                  uint64_t element) {
  const Program& p = checked.program;
  if (checked.workgroup_axes != 1 || !p.fns.empty()) return std::nullopt;
  // A local is gid.x if its only value is.
  const auto is_gid = [&](ExprId id) {
    const auto direct = [&](ExprId e) {
      const auto* builtin = std::get_if<BuiltinRef>(&p[e]);
      return builtin != nullptr && builtin->builtin == Builtin::Gid && builtin->axis == 0;
    };
    if (direct(id)) return true;
    const auto* local = std::get_if<LocalRef>(&p[id]);
    if (local == nullptr || p[local->local].kind != Local::Kind::Let) return false;
    return std::ranges::any_of(p.stmts, [&](const Stmt& s) {
      const auto* let = std::get_if<Let>(&s);
      return let != nullptr && let->local == local->local && direct(let->value);
    });
  };
  bool known = false;
  for (const Stmt& s : p.stmts) {
    if (const auto* store = std::get_if<Store>(&s); store != nullptr) {
      if (store->memory != Memory::of(buffer)) continue;
      if (!is_gid(store->index)) return std::nullopt;
      known = true;
    } else if (std::holds_alternative<AsyncCopy>(s) || std::holds_alternative<Collective>(s) ||
               std::holds_alternative<Swap>(s)) {
      return std::nullopt;
    }
  }
  for (const Expr& e : p.exprs)
    if (const auto* atomic = std::get_if<Atomic>(&e);
        atomic != nullptr && atomic->op != AtomicOp::Load && atomic->memory == Memory::of(buffer))
      return std::nullopt;
  return known ? std::optional(element) : std::nullopt;
}

}  // namespace vyre::cli
