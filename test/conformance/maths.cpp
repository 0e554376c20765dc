// SPDX-License-Identifier: Apache-2.0
// The mathematical library on some thousand f32 patterns: all special ones, every exponent with
// several mantissas, and the places where the functions change their way.
#include <bit>

#include <fmt/format.h>

#include "conformance/case.hpp"
#include "vyre/ir/ops.hpp"

namespace vyre::conformance {

using namespace ir;

namespace {

std::vector<uint64_t> patterns() {
  std::vector<uint64_t> all = corner_values(Type::F32);
  for (uint64_t exponent = 0; exponent < 256; ++exponent)
    for (const uint64_t mantissa : {0x0ULL, 0x1ULL, 0x2AAAAAULL, 0x555555ULL, 0x7FFFFFULL})
      for (const uint64_t sign : {0ULL, 1ULL})
        all.push_back(sign << 31 | exponent << 23 | mantissa);
  // Around multiples of pi / 4, of ln 2, and where exp and pow overflow or vanish.
  for (const float x :
       {0.785398F, 1.570796F, 2.356194F, 3.141593F, 6.283185F,  100.53097F, 65536.0F,
        0.346574F, 0.693147F, 88.72284F, 87.33655F, 103.97208F, 127.99999F, 149.0F,
        150.0F,    1.0F,      0.99F,     0.5F,      2.0F,       9.0F})
    for (int32_t k = -8; k <= 8; ++k)
      for (const uint32_t sign : {0U, 0x8000'0000U})
        all.push_back((std::bit_cast<uint32_t>(x) + static_cast<uint32_t>(k)) ^ sign);
  for (const uint64_t x : random_values(Type::F32, 1000, 6)) all.push_back(x);
  return all;
}

constexpr std::string_view kOne = R"(program one_argument {
  workgroup 64;
  over len(a);
  in a : f32[];
  out o : f32[] @count(len(a));
  o[gid.x] = $F(a[gid.x]);
}
)";

constexpr std::string_view kTwo = R"(program two_arguments {
  workgroup 64;
  over len(a);
  in a : f32[];
  in b : f32[];
  out o : f32[] @count(len(a));
  o[gid.x] = $F(a[gid.x], b[gid.x]);
}
)";

}  // namespace

std::vector<Case> maths_cases() {
  std::vector<Case> cases;
  const std::vector<uint64_t> values = patterns();
  for (int n = static_cast<int>(Intrinsic::Exp); n < kIntrinsicCount; ++n) {
    const auto op = static_cast<Intrinsic>(n);
    const std::string name = fmt::format("maths_{}", name_of(op));
    if (arity_of(op) == 1) {
      cases.push_back({.name = name,
                       .text = fill(kOne, {{"$F", name_of(op)}}),
                       .inputs = {{"a", elements(Type::F32, values)}}});
      continue;
    }
    auto [a, b] = pairs(corner_values(Type::F32), corner_values(Type::F32));
    for (size_t i = 0; i < values.size(); ++i) {
      a.push_back(values[i]);
      b.push_back(values[(i * 37 + 11) % values.size()]);
    }
    cases.push_back({.name = name,
                     .text = fill(kTwo, {{"$F", name_of(op)}}),
                     .inputs = {{"a", elements(Type::F32, a)}, {"b", elements(Type::F32, b)}}});
  }
  return cases;
}

}  // namespace vyre::conformance
