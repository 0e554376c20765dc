// SPDX-License-Identifier: Apache-2.0
// The bits of NaNs that are only moved: every pattern of f16 and bf16, signalling or not, by every
// way that a value can take, and every class of f32 NaNs that becomes one of them. The conversion
// instructions of processors change such bits.
#include <bit>

#include <fmt/format.h>

#include "conformance/case.hpp"

namespace vyre::conformance {

using namespace ir;

namespace {

// In one phase. The value is also computed with, so that it is needed as a number, too.
constexpr std::string_view kMoves = R"(program nan_bits_moves {
  workgroup 64;
  over len(a);
  in a : $T[];
  out same : $T[] @count(len(a));
  out wide : f32[] @count(len(a));
  out bits : u32[] @count(len(a));
  out chosen : $T[] @count(len(a));
  out listed : $T[] @count(len(a));
  out called : $T[] @count(len(a));
  out looped : $T[] @count(len(a));
  out exchanged : f32[] @count(len(a));
  out numbers : u32[] @count(len(a));
  fn pass(x : f32, k : u32) -> f32 {
    if k % 2 == 0 {
      return x;
    }
    let y = x;
    return y;
  }
  fn put(to : buffer $T[], k : u32, x : f32) {
    to[k] = x;
  }
  let i = gid.x;
  let x = a[i];
  same[i] = x;
  wide[i] = x;
  bits[i] = bitcast<u32>(x);
  chosen[i] = select(x < 1.0, a[i], x);
  var list : f32[5];
  list[i % 5] = x;
  listed[i] = list[(i + 5) % 5];
  put(called, i, pass(x, i));
  var kept = a[len(a) - 1 - i];
  for k in 0 .. i % 7 + 1 {
    if k == i % 7 {
      kept = x;
    }
  }
  looped[i] = kept;
  atomic_exchange(exchanged[i], x);
  // A NaN never gets into the sum, so all bits are specified.
  var n = x;
  if !is_nan(n) {
    n = n * 0.5 + 1.0;
  }
  numbers[i] = bitcast<u32>(n);
}
)";

constexpr std::string_view kShared = R"(program nan_bits_shared {
  workgroup 64;
  over len(a);
  in a : $T[];
  inout there : $T[];
  out there_and_back : $T[] @count(len(a));
  out wide : f32[] @count(len(a));
  out by_copy : $T[] @count(len(a));
  out uniform_load : $T[] @count(len(a));
  out shuffled : $T[] @count(len(a));
  out far : f32[] @count(len(a));
  out sent : $T[] @count(len(a));
  shared s : $T[64];
  shared w : f32[64];
  let i = gid.x;
  s[63 - lid.x] = a[i];
  w[lid.x] = a[i];
  barrier workgroup;
  there_and_back[i] = s[63 - lid.x];
  wide[i] = w[63 - lid.x];
  async copy(1, there, wid.x * 64, s, 0, 64);
  wait(1);
  by_copy[i] = there[wid.x * 64 + 63 - lid.x];
  let u = workgroup_load(s[5]);
  uniform_load[i] = u;
  shuffled[i] = subgroup_shuffle_xor(a[i], 1);
  far[i] = subgroup_shuffle(s[lid.x], (i * 7 + 3) % 32);
  sent[i] = subgroup_broadcast(a[i], 3);
}
)";

// Across barriers of the whole grid: in slots or in registers, as the route has it.
constexpr std::string_view kSlots = R"(program nan_bits_slots {
  workgroup 64;
  over len(a);
  inout a : $T[];
  out same : $T[] @count(len(a));
  out bits : u32[] @count(len(a));
  out listed : $T[] @count(len(a));
  out shared_over : $T[] @count(len(a));
  out uniform_load : $T[] @count(len(a));
  shared s : $T[64];
  let i = gid.x;
  let x = a[i];
  var y = a[len(a) - 1 - i];
  var list : f32[3];
  list[i % 3] = x;
  s[lid.x] = x;
  barrier grid;
  a[i] = 0.0;
  barrier grid;
  same[i] = x;
  bits[i] = bitcast<u32>(y);
  y = s[lid.x];
  listed[i] = list[i % 3];
  shared_over[i] = s[lid.x];
  barrier grid;
  a[i] = y;
  let u = grid_load(a[$K]);
  uniform_load[i] = u;
}
)";

constexpr std::string_view kStore = R"(program nan_bits_store {
  workgroup 64;
  over len(a);
  in a : f32[];
  in w : u32[];
  out direct : $T[] @count(len(a));
  out cast : $T[] @count(len(a));
  out back : f32[] @count(len(a));
  out through : $T[] @count(len(a));
  shared s : $T[64];
  let i = gid.x;
  direct[i] = a[i];
  cast[i] = bitcast<f32>(w[i]);
  back[i] = direct[i];
  s[lid.x] = a[i];
  barrier workgroup;
  through[i] = s[lid.x];
}
)";

// Changes of the sign as integers, which compilers like to take for float operations.
constexpr std::string_view kSigns = R"(program nan_bits_signs {
  workgroup 64;
  over len(a);
  in a : $T[];
  out flipped : $T[] @count(len(a));
  out cleared : $T[] @count(len(a));
  out set : $T[] @count(len(a));
  out taken : $T[] @count(len(a));
  out words : $U[] @count(len(a));
  let i = gid.x;
  let u = bitcast<$U>(a[i]);
  let top = (1 as $U) << $LAST;
  flipped[i] = bitcast<$T>(u ^ top);
  cleared[i] = bitcast<$T>(u & ~top);
  set[i] = bitcast<$T>(u | top);
  taken[i] = bitcast<$T>((u & ~top) | (bitcast<$U>(a[len(a) - 1 - i]) & top));
  words[i] = bitcast<$U>(bitcast<$T>(u ^ top)) ^ top;
}
)";

std::vector<uint64_t> all_patterns() {
  std::vector<uint64_t> all(0x10000);
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

// NaNs of `bits` bits with an exponent of `exponent` bits: both signs; every single bit of the
// payload, all pairs of them, all from a bit upwards or downwards; random ones.
std::vector<uint64_t> nans(uint32_t bits, uint32_t exponent) {
  const uint32_t field = bits - 1 - exponent;
  const uint64_t ones = ((uint64_t{1} << exponent) - 1) << field;
  const uint64_t mask = (uint64_t{1} << field) - 1;
  std::vector<uint64_t> payloads;
  for (uint32_t i = 0; i < field; ++i) {
    for (uint32_t k = 0; k <= i; ++k) payloads.push_back((uint64_t{1} << i) | (uint64_t{1} << k));
    payloads.push_back(mask >> i);
    payloads.push_back((mask << i) & mask);
  }
  for (const uint64_t x : random_values(bits == 64 ? Type::U64 : Type::U32, 600, 18))
    payloads.push_back((x & mask) | 1);
  std::vector<uint64_t> all;
  for (const uint64_t payload : payloads)
    for (const uint64_t sign : {uint64_t{0}, uint64_t{1} << (bits - 1)})
      all.push_back(sign | ones | payload);
  for (const uint64_t other : {uint64_t{0}, ones, uint64_t{1} << (bits - 1), ones >> 1})
    all.push_back(other);
  while (all.size() % 64 != 0) all.push_back(0);
  return all;
}

}  // namespace

std::vector<Case> nan_bits_cases() {
  std::vector<Case> cases;
  const auto add = [&](std::string name, std::string text, std::vector<Input> inputs) -> Case& {
    return cases.emplace_back(
        Case{.name = std::move(name), .text = std::move(text), .inputs = std::move(inputs)});
  };
  const std::vector<uint64_t> floats = nans(32, 8);
  for (const Type type : {Type::F16, Type::BF16}) {
    const std::string_view t = name_of(type);
    const Bytes all = elements(type, all_patterns());
    // One output has numbers, so not everything is a copy.
    add(fmt::format("nan_bits_moves_{}", t), fill(kMoves, {{"$T", t}}), {{"a", all}});
    add(fmt::format("nan_bits_shared_{}", t), fill(kShared, {{"$T", t}}),
        {{"a", all}, {"there", all}})
        .exact_nans = true;
    // Signalling ones at both ends of the payload, and a quiet one.
    for (const char* const k : {"0x7C01", "0x7D55", "0xFF81", "0x7FC3"}) {
      Case& one = add(fmt::format("nan_bits_slots_{}_{}", t, k),
                      fill(kSlots, {{"$T", t}, {"$K", k}}), {{"a", all}});
      one.exact_nans = one.every_route = true;
    }
    add(fmt::format("nan_bits_store_{}", t), fill(kStore, {{"$T", t}}),
        {{"a", elements(Type::F32, floats)}, {"w", elements(Type::U32, floats)}})
        .exact_nans = true;
  }
  add("nan_bits_signs_f32", fill(kSigns, {{"$T", "f32"}, {"$U", "u32"}, {"$LAST", "31"}}),
      {{"a", elements(Type::F32, floats)}})
      .exact_nans = true;
  add("nan_bits_signs_f64", fill(kSigns, {{"$T", "f64"}, {"$U", "u64"}, {"$LAST", "63"}}),
      {{"a", elements(Type::F64, nans(64, 11))}})
      .exact_nans = true;
  return cases;
}

}  // namespace vyre::conformance
