// SPDX-License-Identifier: Apache-2.0
// The mathematical library on some thousand patterns of each width: all special ones, every
// exponent with several mantissas, and the places where the functions change their way.
#include <bit>

#include <fmt/format.h>

#include "conformance/case.hpp"
#include "vyre/ir/ops.hpp"

namespace vyre::conformance {

using namespace ir;

namespace {

std::vector<uint64_t> patterns_f32() {
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

std::vector<uint64_t> patterns_f64() {
  std::vector<uint64_t> all = corner_values(Type::F64);
  for (uint64_t exponent = 0; exponent < 2048; ++exponent) {
    const uint64_t mantissa = (exponent * 0x9e37'79b9'7f4a'7c15) >> 12;
    all.push_back(exponent << 52 | mantissa);
    all.push_back(uint64_t{1} << 63 | exponent << 52 | (mantissa ^ 0x000f'ffff'ffff'ffff));
  }
  // Around multiples of pi / 4, of ln 2, the ends of the ranges, and the limits of the pieces; the
  // last one is the f64 nearest to a multiple of pi / 2.
  for (const double x : {0.7853981633974483,
                         1.5707963267948966,
                         2.356194490192345,
                         3.141592653589793,
                         6.283185307179586,
                         1073741824.0,
                         0.3465735902799727,
                         0.6931471805599453,
                         709.782712893384,
                         708.3964185322641,
                         745.1332191019412,
                         1023.99999999,
                         1075.0,
                         308.2547155599167,
                         323.3062153431158,
                         0.41421356237309503,
                         0.7071067811865476,
                         1.4142135623730951,
                         1.0,
                         0.5,
                         2.0,
                         0.875,
                         1.5,
                         2.25,
                         3.25,
                         4.25,
                         6.0,
                         9007199254740991.0,
                         6381956970095103.0 * 0x1p797})
    for (int64_t k = -4; k <= 4; ++k)
      for (const uint64_t sign : {uint64_t{0}, uint64_t{1} << 63})
        all.push_back((std::bit_cast<uint64_t>(x) + static_cast<uint64_t>(k)) ^ sign);
  for (const uint64_t x : random_values(Type::F64, 1000, 6)) all.push_back(x);
  return all;
}

constexpr std::string_view kOne = R"(program one_argument {
  workgroup 64;
  over len(a);
  in a : $T[];
  out o : $T[] @count(len(a));
  o[gid.x] = $F(a[gid.x]);
}
)";

constexpr std::string_view kTwo = R"(program two_arguments {
  workgroup 64;
  over len(a);
  in a : $T[];
  in b : $T[];
  out o : $T[] @count(len(a));
  o[gid.x] = $F(a[gid.x], b[gid.x]);
}
)";

void add_cases(Type type, const std::vector<uint64_t>& values, std::vector<Case>& cases) {
  for (int n = static_cast<int>(Intrinsic::Exp); n < kIntrinsicCount; ++n) {
    const auto op = static_cast<Intrinsic>(n);
    // Cases of f32 came first and keep their names.
    const std::string name =
        fmt::format("maths_{}{}", name_of(op), type == Type::F32 ? "" : "_f64");
    const auto text = [&](std::string_view program) {
      return fill(program, {{"$F", name_of(op)}, {"$T", name_of(type)}});
    };
    if (arity_of(op) == 1) {
      cases.push_back(
          {.name = name, .text = text(kOne), .inputs = {{"a", elements(type, values)}}});
      continue;
    }
    auto [a, b] = pairs(corner_values(type), corner_values(type));
    for (size_t i = 0; i < values.size(); ++i) {
      a.push_back(values[i]);
      b.push_back(values[(i * 37 + 11) % values.size()]);
    }
    cases.push_back({.name = name,
                     .text = text(kTwo),
                     .inputs = {{"a", elements(type, a)}, {"b", elements(type, b)}}});
  }
}

// A function of the program wins over a built-in one of the second edition.
constexpr std::string_view kOwn = R"(program own_functions {
  workgroup 64;
  over len(a);
  in a : f32[];
  out o : f32[] @count(len(a));
  fn erf(x : f32) -> f32 {
    return x + 1.0;
  }
  let cbrt = erf(a[gid.x]);
  o[gid.x] = cbrt * hypot(cbrt, 2.0);
}
)";

}  // namespace

std::vector<Case> maths_cases() {
  std::vector<Case> cases;
  add_cases(Type::F32, patterns_f32(), cases);
  add_cases(Type::F64, patterns_f64(), cases);
  cases.push_back({.name = "maths_own_functions",
                   .text = std::string(kOwn),
                   .inputs = {{"a", elements(Type::F32, corner_values(Type::F32))}}});
  return cases;
}

}  // namespace vyre::conformance
