// SPDX-License-Identifier: Apache-2.0
// Every atomic on every type, memory and order: lanes on their own elements with the old value
// used and unused, and many lanes on one element where the order does not show.
#include <bit>

#include <fmt/format.h>

#include "conformance/case.hpp"
#include "vyre/ir/ops.hpp"

namespace vyre::conformance {

using namespace ir;

namespace {

// One element per lane; $CALLS has one operation for each order.
constexpr std::string_view kOwnBuffer = R"(program own {
  workgroup 32;
  over len(v);
  in v : $T[];
  in e : $T[];
  inout m : $T[];
  out r : $T[] @count(len(v) * 4);
  let i = gid.x;
  if i >= len(v) {
    return;
  }
$CALLS
}
)";

constexpr std::string_view kOwnShared = R"(program own_shared {
  workgroup 32;
  over len(v);
  in v : $T[];
  in e : $T[];
  inout m : $T[];
  out r : $T[] @count(len(v) * 4);
  shared s : $T[32];
  let i = gid.x;
  $INIT;
$CALLS
  barrier workgroup;
  m[i] = s[lid.x];
}
)";

constexpr std::string_view kManyBuffer = R"(program many {
  workgroup 64;
  over len(v);
  in v : $T[];
  inout m : $T[3];
  if gid.x < len(v) {
    $F(m[0], $V);
    $F(m[gid.x % 2 + 1], $V$ORDER);
  }
}
)";

constexpr std::string_view kManyShared = R"(program many_shared {
  workgroup 64;
  over len(v);
  in v : $T[];
  inout m : $T[3];
  out o : $T[64];
  shared s : $T[3];
  if lid.x < 3 {
    s[lid.x] = m[lid.x];
  }
  barrier workgroup;
  if gid.x < len(v) {
    $F(s[0], $V);
    $F(s[lid.x % 2 + 1], $V$ORDER);
  }
  barrier workgroup;
  if lid.x < 3 {
    o[wid.x * 3 + lid.x] = s[lid.x];
  }
}
)";

// Tickets: every number is drawn once, and nobody can tell by whom.
constexpr std::string_view kTickets = R"(program tickets {
  workgroup 48;
  over 500;
  inout c : $T[2];
  out drawn : u32[500];
  out drawn_in_group : u32[528];
  out sum : $T[1];
  shared s : $T[1];
  if gid.x >= 500 {
    return;
  }
  let ticket = atomic_add(c[0], 1$ORDER);
  drawn[ticket] += 1;
  let near = atomic_add(s[0], 1$ORDER);
  drawn_in_group[wid.x * 48 + (near as u32)] += 1;
  atomic_add(sum[0], ticket);
}
)";

// One winner, and a sum by compare-and-swap.
constexpr std::string_view kSwaps = R"(program swaps {
  workgroup 33;
  over 300;
  inout c : $T[3];
  out winners : u32[2];
  shared s : $T[1];
  if gid.x < 300 {
    if atomic_cas(c[0], 0, 1$ORDER) == 0 {
      atomic_add(winners[0], 1);
    }
    if atomic_cas(s[0], 0, 1$ORDER) == 0 {
      atomic_add(winners[1], 1);
    }
    let add = gid.x as $T;
    var going = true;
    while going {
      let seen = atomic_load(c[1]);
      going = atomic_cas(c[1], seen, seen + add$ORDER) != seen;
    }
    atomic_exchange(c[2], 77$ORDER);
  }
}
)";

std::vector<MemoryOrder> orders_of(AtomicOp op) {
  if (op == AtomicOp::Load) return {MemoryOrder::Relaxed, MemoryOrder::Acquire};
  if (op == AtomicOp::Store) return {MemoryOrder::Relaxed, MemoryOrder::Release};
  return {MemoryOrder::Relaxed, MemoryOrder::Acquire, MemoryOrder::Release, MemoryOrder::AcqRel};
}

bool is_small(Type type) {
  return ir::bytes_of(type) < 4;
}

bool defined(AtomicOp op, Type type) {
  const bool moves = op == AtomicOp::Load || op == AtomicOp::Store || op == AtomicOp::Exchange;
  const bool orders = op == AtomicOp::Min || op == AtomicOp::Max;
  if (type == Type::F64) return orders || op == AtomicOp::Add;
  if (type == Type::F32) return moves || orders || op == AtomicOp::Add;
  if (is_small(type))
    return moves || op == AtomicOp::Or || op == AtomicOp::And || op == AtomicOp::Add;
  return true;
}

// `given`: what lanes give the operation. Of a small element also bits that it does not have.
std::string calls(AtomicOp op, std::string_view place, bool used, std::string_view given) {
  std::string text;
  int k = 0;
  for (const MemoryOrder order : orders_of(op)) {
    std::string call = fmt::format("{}({}", name_of(op), place);
    if (op == AtomicOp::Cas) call += fmt::format(", e[i], {}", given);
    if (op != AtomicOp::Cas && arity_of(op) == 1) call += fmt::format(", {}", given);
    call += fmt::format(", {})", name_of(order));
    text += used && op != AtomicOp::Store
                ? fmt::format("  r[i * 4 + {}] = {};\n", k, call)
                : (op == AtomicOp::Load ? fmt::format("  let unused_{} = {};\n", k, call)
                                        : fmt::format("  {};\n", call));
    ++k;
  }
  return text;
}

void add_own(std::vector<Case>& cases, AtomicOp op, Type type) {
  // f32 adds of one lane after another have one order, so any values will do.
  const std::vector<uint64_t> values = corner_values(type);
  const auto [m, v] = pairs(values, values);
  // What a swap looks for; it is there in two lanes of three.
  std::vector<uint64_t> e = m;
  for (size_t i = 0; i < e.size(); i += 3) e[i] = v[i];
  for (const bool shared : {false, true})
    for (const bool used : {true, false}) {
      if (!used && op == AtomicOp::Load) continue;
      std::string body = calls(op, shared ? "s[lid.x]" : "m[i]", used,
                               is_small(type) ? "v[i] ^ 0x5A5A_5A00" : "v[i]");
      cases.push_back(
          {.name = fmt::format("{}_{}{}{}", name_of(op), name_of(type), shared ? "_shared" : "",
                               used ? "" : "_unused"),
           .text = fill(
               shared ? kOwnShared : kOwnBuffer,
               {{"$T", name_of(type)},
                {"$INIT", type == Type::F64 ? "s[lid.x] = m[i]" : "atomic_store(s[lid.x], m[i])"},
                {"$CALLS", body}}),
           .inputs = {
               {"v", elements(type, v)}, {"e", elements(type, e)}, {"m", elements(type, m)}}});
    }
}

void add_many(std::vector<Case>& cases, AtomicOp op, Type type) {
  const bool commutes = op <= AtomicOp::Xor;
  if (!commutes && op != AtomicOp::Nand && op != AtomicOp::Exchange && op != AtomicOp::Store)
    return;
  // Sums of small whole numbers are exact in any order.
  std::vector<uint64_t> values = random_values(type, 300, 9);
  for (size_t i = 0; is_float(type) && i < values.size(); ++i) {
    const double whole = static_cast<double>(values[i] % 100);
    values[i] = type == Type::F64 ? std::bit_cast<uint64_t>(whole)
                                  : std::bit_cast<uint32_t>(static_cast<float>(whole));
  }
  const Bytes start = type == Type::F32   ? bytes_of<float>({1.0F, 2.0F, 3.0F})
                      : type == Type::F64 ? bytes_of<double>({1.0, 2.0, 3.0})
                                          : elements(type, random_values(type, 3, 10));
  for (const MemoryOrder order : orders_of(op))
    for (const bool shared : {false, true})
      cases.push_back({.name = fmt::format("{}_{}_many{}_{}", name_of(op), name_of(type),
                                           shared ? "_shared" : "", name_of(order)),
                       .text = fill(shared ? kManyShared : kManyBuffer,
                                    {{"$T", name_of(type)},
                                     {"$F", name_of(op)},
                                     // All lanes the same where the order would show.
                                     {"$V", commutes ? "v[gid.x]" : "v[5]"},
                                     {"$ORDER", fmt::format(", {}", name_of(order))}}),
                       .inputs = {{"v", elements(type, values)}, {"m", start}}});
}

// All lanes order numbers of both signs, both zeros and NaNs into a few elements: what is left does
// not depend on who comes first.
void add_orders(std::vector<Case>& cases, AtomicOp op, Type type) {
  std::vector<uint64_t> values = corner_values(type);
  while (values.size() < 300) values.insert(values.end(), values.begin(), values.end());
  values.resize(300);
  const std::vector<uint64_t> corners = corner_values(type);
  for (size_t at = 0; at + 3 <= corners.size(); at += 3)
    for (const bool shared : {false, true})
      cases.push_back(
          {.name = fmt::format("{}_{}_order{}_{}", name_of(op), name_of(type),
                               shared ? "_shared" : "", at / 3),
           .text = fill(
               shared ? kManyShared : kManyBuffer,
               {{"$T", name_of(type)}, {"$F", name_of(op)}, {"$V", "v[gid.x]"}, {"$ORDER", ""}}),
           .inputs = {{"v", elements(type, values)},
                      {"m", elements(type, std::span(corners).subspan(at, 3))}},
           .exact_nans = true,
           .every_route = at == 0});
}

// Lanes set, clear and count neighbouring small elements; those beside them stay as they are.
constexpr std::string_view kNeighbours = R"(program neighbours {
  workgroup 64;
  over 512;
  inout m : $T[77];
  inout n : $T[77];
  out   o : u32[77];
  shared s : $T[7];
  atomic_or(m[gid.x % 40], (1 << (gid.x / 77)) as $V);
  atomic_and(m[40 + gid.x % 37], ~((2 << (gid.x / 74)) as $V));
  atomic_add(n[gid.x % 75 + 1], 5);
  if gid.x == 99 {
    n[0] = 9;
    n[76] = 8;
  }
  atomic_add(s[lid.x % 7], 0x101);
  barrier workgroup;
  if lid.x < 7 {
    atomic_add(o[lid.x + wid.x * 7], atomic_exchange(s[lid.x], 3) as u32);
    atomic_add(o[lid.x + 60], s[lid.x] as u32);
  }
  atomic_or(m[1000 + gid.x], 1);
}
)";

}  // namespace

std::vector<Case> atomic_cases() {
  std::vector<Case> cases;
  for (const Type type : {Type::U8, Type::I8, Type::U16, Type::I16})
    cases.push_back(
        {.name = fmt::format("atomic_neighbours_{}", name_of(type)),
         .text = fill(kNeighbours, {{"$T", name_of(type)}, {"$V", name_of(ir::widened(type))}}),
         .inputs = {{"m", elements(type, random_values(type, 77, 3))},
                    {"n", elements(type, random_values(type, 77, 4))}},
         .every_route = true,
         .guarded = true});
  for (const Type type : {Type::F32, Type::F64})
    for (const AtomicOp op : {AtomicOp::Min, AtomicOp::Max}) add_orders(cases, op, type);
  for (const Type type : {Type::U32, Type::I32, Type::U64, Type::I64, Type::F32, Type::F64,
                          Type::U8, Type::I8, Type::U16, Type::I16}) {
    for (int n = 0; n < kAtomicCount; ++n) {
      const auto op = static_cast<AtomicOp>(n);
      if (!defined(op, type)) continue;
      add_own(cases, op, type);
      add_many(cases, op, type);
    }
    if (is_float(type) || is_small(type)) continue;
    for (const std::string_view order : {"", ", acquire", ", release", ", acq_rel"}) {
      const std::string suffix = order.empty() ? "relaxed" : std::string(order.substr(2));
      cases.push_back({.name = fmt::format("atomic_tickets_{}_{}", name_of(type), suffix),
                       .text = fill(kTickets, {{"$T", name_of(type)}, {"$ORDER", order}}),
                       .inputs = {{"c", Bytes(2 * ir::bytes_of(type))}}});
      cases.push_back({.name = fmt::format("atomic_swaps_{}_{}", name_of(type), suffix),
                       .text = fill(kSwaps, {{"$T", name_of(type)}, {"$ORDER", order}}),
                       .inputs = {{"c", Bytes(3 * ir::bytes_of(type))}}});
    }
  }
  return cases;
}

}  // namespace vyre::conformance
