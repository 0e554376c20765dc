// SPDX-License-Identifier: Apache-2.0
// Element types in memory: what a load widens to, what a store keeps, and copies that keep bits.
#include <bit>

#include <fmt/format.h>

#include "conformance/case.hpp"
#include "ir/scalar.hpp"

namespace vyre::conformance {

using namespace ir;

namespace {

constexpr std::string_view kWiden = R"(program widen {
  workgroup 256;
  over len(a);
  in a : $T[];
  out o : $W[] @count(len(a));
  out same : $T[] @count(len(a));
  let i = gid.x;
  o[i] = a[i];
  same[i] = a[i];
}
)";

constexpr std::string_view kNarrow = R"(program narrow {
  workgroup 64;
  over len(a);
  in a : $W[];
  out o : $T[] @count(len(a));
  out back : $W[] @count(len(a));
  let i = gid.x;
  o[i] = a[i];
  back[i] = o[i];
}
)";

// Through shared memory, with an operation on the way.
constexpr std::string_view kShared = R"(program through_shared {
  workgroup 50;
  over len(a);
  in a : $T[];
  out o : $T[] @count(len(a));
  shared s : $T[50];
  let i = gid.x;
  s[49 - lid.x] = a[i];
  barrier workgroup;
  s[lid.x] $OP s[lid.x];
  barrier workgroup;
  o[i] = s[49 - lid.x];
}
)";

constexpr std::string_view kCopies = R"(program copies {
  workgroup 40;
  over len(a);
  in a : $T[];
  inout there : $T[];
  out direct : $T[] @count(len(a));
  out by_array : $T[] @count(len(a));
  out by_shared : $T[] @count(len(a));
  out by_copy : $T[] @count(len(a));
  out by_call : $T[] @count(len(a));
  out by_branch : $T[] @count(len(a));
  shared s : $T[40];
  fn pass(v : buffer $T[], k : u32) -> $W {
    if k % 2 == 0 {
      return v[k];
    }
    let x = v[k];
    return x;
  }
  let i = gid.x;
  direct[i] = a[i];
  var p : $W[3];
  p[i % 3] = a[i];
  by_array[i] = p[i % 3];
  s[lid.x] = a[i];
  barrier workgroup;
  by_shared[i] = s[lid.x];
  async copy(1, there, wid.x * 40, s, 0, 40);
  wait(1);
  by_copy[i] = there[i];
  by_call[i] = pass(a, i);
  var x = a[i];
  if i % 3 == 0 {
    x = a[i + 1];
  }
  by_branch[i] = x;
}
)";

// Values right at, below and above the middle between two neighbours of a 16-bit float.
std::vector<uint64_t> middles(Type type) {
  std::vector<uint64_t> all = corner_values(Type::F32);
  const auto value = [&](uint16_t bits) {
    return std::bit_cast<uint32_t>(type == Type::F16 ? float_from_half(bits)
                                                     : float_from_bfloat(bits));
  };
  for (uint32_t bits = 0; bits < 0x7F80; bits += 23)
    for (const uint32_t sign : {0U, 0x8000'0000U}) {
      const uint32_t low = value(static_cast<uint16_t>(bits));
      const uint32_t high = value(static_cast<uint16_t>(bits + 1));
      if (high < low || high >= 0x7F80'0000) continue;
      const uint32_t middle = std::bit_cast<uint32_t>(
          static_cast<float>((static_cast<double>(std::bit_cast<float>(low)) +
                              static_cast<double>(std::bit_cast<float>(high))) /
                             2));
      for (const uint32_t x : {middle - 1, middle, middle + 1}) all.push_back(x ^ sign);
    }
  // Where f16 and bf16 overflow.
  for (const uint32_t border :
       {0x477F'E000U, 0x477F'F000U, 0x4780'0000U, 0x7F7F'8000U, 0x3380'0000U, 0x3300'0000U,
        0x3300'0001U, 0x3280'0000U, 0x0000'8000U})
    for (uint32_t k = border - 3; k != border + 4; ++k) all.push_back(k);
  return all;
}

std::vector<uint64_t> all_patterns(Type type) {
  std::vector<uint64_t> all(size_t{1} << bits_of(type));
  for (size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

}  // namespace

std::vector<Case> storage_cases() {
  std::vector<Case> cases;
  for (const Type type : {Type::U8, Type::I8, Type::U16, Type::I16, Type::F16, Type::BF16}) {
    const std::string_view t = name_of(type);
    const std::string_view w = name_of(widened(type));
    cases.push_back({.name = fmt::format("storage_load_{}", t),
                     .text = fill(kWiden, {{"$T", t}, {"$W", w}}),
                     .inputs = {{"a", elements(type, all_patterns(type))}},
                     .exact_nans = true});
    std::vector<uint64_t> values =
        type == Type::F16 || type == Type::BF16 ? middles(type) : corner_values(widened(type));
    for (const uint64_t x : random_values(widened(type), 500, 7)) values.push_back(x);
    cases.push_back({.name = fmt::format("storage_store_{}", t),
                     .text = fill(kNarrow, {{"$T", t}, {"$W", w}}),
                     .inputs = {{"a", elements(widened(type), values)}},
                     .exact_nans = true});
  }
  for (const Type type : kElements) {
    const std::string_view t = name_of(type);
    std::vector<uint64_t> values = corner_values(type);
    for (const uint64_t x : random_values(type, 173, 8)) values.push_back(x);
    cases.push_back({.name = fmt::format("storage_shared_{}", t),
                     .text = fill(kShared, {{"$T", t}, {"$OP", type == Type::Bool ? "^=" : "+="}}),
                     .inputs = {{"a", elements(type, values)}}});
    if (type == Type::Bool) continue;
    cases.push_back({.name = fmt::format("storage_copies_{}", t),
                     .text = fill(kCopies, {{"$T", t}, {"$W", name_of(widened(type))}}),
                     .inputs = {{"a", elements(type, values)}, {"there", elements(type, values)}},
                     .exact_nans = true});
  }
  // Any nonzero word is true; a store writes 0 or 1.
  cases.push_back({.name = "storage_bool_words",
                   .text = fill(kWiden, {{"$T", "bool"}, {"$W", "bool"}}),
                   .inputs = {{"a", bytes_of<uint32_t>({0, 1, 2, 0x80, 0x100, 0x8000'0000,
                                                        0xFFFF'FFFF, 0xA5A5'A5A5, 0})}}});
  return cases;
}

}  // namespace vyre::conformance
