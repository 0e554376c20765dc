// SPDX-License-Identifier: Apache-2.0
// Every operator, exactly defined function and conversion on every type that has it: all pairs of
// corner values, and operands that the compiler knows.
#include <array>

#include <fmt/format.h>

#include "conformance/case.hpp"
#include "ir/scalar.hpp"
#include "vyre/ir/ops.hpp"

namespace vyre::conformance {

using namespace ir;

namespace {

// The last workgroup has lanes past the end: their loads give 0 and their stores are dropped.
constexpr std::string_view kBinary = R"(program binary {
  workgroup 64;
  over len(a);
  in a : $T[];
  in b : $U[];
  out o : $R[] @count(len(a));
  let i = gid.x;
  o[i] = $E;
}
)";

constexpr std::string_view kUnary = R"(program unary {
  workgroup 64;
  over len(a);
  in a : $T[];
  out o : $R[] @count(len(a));
  let i = gid.x;
  o[i] = $E;
}
)";

constexpr std::string_view kTernary = R"(program ternary {
  workgroup 64;
  over len(a);
  in a : $T[];
  in b : $T[];
  in c : $T[];
  out o : $T[] @count(len(a));
  let i = gid.x;
  o[i] = $E;
}
)";

// The value through a variable, an element and a private array.
constexpr std::string_view kAssign = R"(program assign {
  workgroup 32;
  over len(a);
  in a : $T[];
  in b : $U[];
  out o : $T[] @count(len(a));
  out p : $T[] @count(len(a));
  out q : $T[] @count(len(a));
  let i = gid.x;
  var v = a[i];
  v $OP= b[i];
  o[i] = v;
  p[i] = a[i];
  p[i] $OP= b[i];
  var array : $T[4];
  array[i & 3] = a[i];
  array[i & 3] $OP= b[i];
  q[i] = array[i & 3];
}
)";

constexpr std::string_view kBranch = R"(program branch {
  workgroup 64;
  over len(a);
  in a : $T[];
  in b : $T[];
  out o : u32[] @count(len(a));
  let i = gid.x;
  var r = 0;
  if a[i] $OP b[i] {
    r += 1;
  } else {
    r += 2;
  }
  if !(a[i] $OP b[i]) {
    r += 4;
  }
  while a[i] $OP b[i] {
    r += 8;
    break;
  }
  o[i] = r + select(a[i] $OP b[i], 16, 32);
}
)";

std::string word_of(BinaryOp op) {
  static constexpr std::array<const char*, 18> kWords = {
      "lazy_or", "lazy_and", "eq",  "ne",  "lt",  "le",  "gt",  "ge",  "or",
      "xor",     "and",      "shl", "shr", "add", "sub", "mul", "div", "rem"};
  return kWords.at(static_cast<size_t>(op));
}

std::vector<Input> two(Type t, std::span<const uint64_t> a, Type u, std::span<const uint64_t> b) {
  const auto [first, second] = pairs(a, b);
  return {{"a", elements(t, first)}, {"b", elements(u, second)}};
}

// Constants as they are written, of which some are neutral or absorbing elements.
std::vector<std::string> literals(Type type, bool divisor) {
  std::vector<std::string> all;
  if (type == Type::F32)
    return {"0.0", "-0.0", "1.0", "-1.0", "2.0", "0.5", "3.0", "3.4028235e38", "1.0e-45"};
  if (type == Type::F64) return {"0.0", "-0.0", "1.0", "-1.0", "2.0", "0.5", "3.0", "1.0e-320"};
  if (type == Type::Bool) return {"true", "false"};
  all = {"1", "2", "3", "7", "10", "16", "31", "2147483647"};
  if (!divisor) all.emplace_back("0");
  if (is_signed(type)) {
    all.insert(all.end(), {"-1", "-2", "-2147483648"});
  } else {
    all.insert(all.end(), {"2147483648", "4294967295", "641"});
  }
  if (type == Type::I64)
    all.insert(all.end(), {"9223372036854775807", "-9223372036854775808", "4294967296"});
  if (type == Type::U64) all.insert(all.end(), {"18446744073709551615", "4294967297"});
  return all;
}

// o[i * n + k] = a[i] op literal k, and the other way round.
Case with_constants(BinaryOp op, Type type) {
  const bool divisor = op == BinaryOp::Div || op == BinaryOp::Rem;
  const std::vector<std::string> right =
      literals(is_shift(op) ? Type::U32 : type, divisor && is_integer(type));
  const std::vector<std::string> left = literals(type, false);
  const std::string_view result = is_comparison(op) ? "bool" : name_of(type);
  std::string text = fmt::format(
      "program constants {{\n  workgroup 64;\n  over len(a);\n  in a : {0}[];\n"
      "  out o : {1}[] @count(len(a) * {2});\n  out p : {1}[] @count(len(a) * {3});\n"
      "  let i = gid.x;\n  if i >= len(a) {{\n    return;\n  }}\n",
      name_of(type), result, right.size(), left.size());
  for (size_t k = 0; k < right.size(); ++k)
    text +=
        fmt::format("  o[i * {} + {}] = a[i] {} {};\n", right.size(), k, spelling_of(op), right[k]);
  for (size_t k = 0; k < left.size(); ++k)
    text +=
        fmt::format("  p[i * {} + {}] = {} {} a[i];\n", left.size(), k, left[k], spelling_of(op));
  return {.name = fmt::format("operator_{}_{}_constants", word_of(op), name_of(type)),
          .text = text + "}\n",
          .inputs = {{"a", elements(type, corner_values(type))}}};
}

void add_binary(std::vector<Case>& cases) {
  for (int n = 0; n < 18; ++n) {
    const auto op = static_cast<BinaryOp>(n);
    for (const Type type : kArithmetic) {
      if (scalar_fn(op, type) == nullptr) continue;
      const std::string name = fmt::format("operator_{}_{}", word_of(op), name_of(type));
      const std::string_view t = name_of(type);
      const std::string expression = fmt::format("a[i] {} b[i]", spelling_of(op));
      const std::vector<uint64_t> values = corner_values(type);
      const std::vector<Type> rights =
          is_shift(op) ? std::vector<Type>(std::begin(kIntegers), std::end(kIntegers))
                       : std::vector<Type>{type};
      for (const Type right : rights) {
        const std::string suffix = is_shift(op) ? fmt::format("_by_{}", name_of(right)) : "";
        cases.push_back({.name = name + suffix,
                         .text = fill(kBinary, {{"$T", t},
                                                {"$U", name_of(right)},
                                                {"$R", is_comparison(op) ? "bool" : t},
                                                {"$E", expression}}),
                         .inputs = two(type, values, right, corner_values(right))});
      }
      if (is_comparison(op)) {
        cases.push_back({.name = name + "_branch",
                         .text = fill(kBranch, {{"$T", t}, {"$OP", spelling_of(op)}}),
                         .inputs = two(type, values, type, values)});
      } else if (!is_lazy(op)) {
        cases.push_back(
            {.name = name + "_assign",
             .text = fill(kAssign,
                          {{"$T", t}, {"$U", is_shift(op) ? "u32" : t}, {"$OP", spelling_of(op)}}),
             .inputs = two(type, values, is_shift(op) ? Type::U32 : type,
                           corner_values(is_shift(op) ? Type::U32 : type))});
      }
      if (!is_lazy(op)) cases.push_back(with_constants(op, type));
    }
  }
}

void add_unary(std::vector<Case>& cases) {
  constexpr std::array<const char*, 3> kWords = {"neg", "not", "bit_not"};
  for (int n = 0; n < 3; ++n) {
    const auto op = static_cast<UnaryOp>(n);
    for (const Type type : kArithmetic) {
      if (scalar_fn(op, type) == nullptr) continue;
      const std::string_view t = name_of(type);
      cases.push_back(
          {.name = fmt::format("operator_{}_{}", kWords.at(static_cast<size_t>(n)), t),
           .text =
               fill(kUnary, {{"$T", t}, {"$R", t}, {"$E", fmt::format("{}a[i]", spelling_of(op))}}),
           .inputs = {{"a", elements(type, corner_values(type))}}});
    }
  }
}

Case ternary(Intrinsic op, Type type) {
  const std::vector<uint64_t> values = corner_values(type);
  auto [a, b] = pairs(values, values);
  std::vector<uint64_t> c;
  // Another third value for each pair, so that all meet in some way.
  for (size_t i = 0; i < a.size(); ++i) c.push_back(values[(i * 7 + i / 11) % values.size()]);
  for (const uint64_t x : random_values(type, 500, 1)) a.push_back(x);
  for (const uint64_t x : random_values(type, 500, 2)) b.push_back(x);
  for (const uint64_t x : random_values(type, 500, 3)) c.push_back(x);
  return {.name = fmt::format("function_{}_{}", name_of(op), name_of(type)),
          .text = fill(kTernary, {{"$T", name_of(type)},
                                  {"$E", fmt::format("{}(a[i], b[i], c[i])", name_of(op))}}),
          .inputs = {{"a", elements(type, a)}, {"b", elements(type, b)}, {"c", elements(type, c)}}};
}

void add_functions(std::vector<Case>& cases) {
  for (int n = 0; n < kIntrinsicCount; ++n) {
    const auto op = static_cast<Intrinsic>(n);
    if (op == Intrinsic::Select) continue;
    for (const Type type : kArithmetic) {
      // The mathematical library: maths.cpp
      if (scalar_fn(op, type) == nullptr || op >= Intrinsic::Exp) continue;
      const std::string_view t = name_of(type);
      const std::string name = fmt::format("function_{}_{}", name_of(op), t);
      const bool question =
          op == Intrinsic::IsNan || op == Intrinsic::IsInf || op == Intrinsic::IsFinite;
      if (arity_of(op) == 1) {
        std::vector<uint64_t> values = corner_values(type);
        for (const uint64_t x : random_values(type, 300, 4)) values.push_back(x);
        cases.push_back({.name = name,
                         .text = fill(kUnary, {{"$T", t},
                                               {"$R", question ? "bool" : t},
                                               {"$E", fmt::format("{}(a[i])", name_of(op))}}),
                         .inputs = {{"a", elements(type, values)}}});
      } else if (arity_of(op) == 2) {
        const bool rotate = op == Intrinsic::Rotl || op == Intrinsic::Rotr;
        for (const Type right : rotate
                                    ? std::vector<Type>{Type::U32, Type::I32, Type::U64, Type::I64}
                                    : std::vector<Type>{type})
          cases.push_back(
              {.name = name + (rotate ? fmt::format("_by_{}", name_of(right)) : ""),
               .text = fill(kBinary, {{"$T", t},
                                      {"$U", name_of(right)},
                                      {"$R", t},
                                      {"$E", fmt::format("{}(a[i], b[i])", name_of(op))}}),
               .inputs = two(type, corner_values(type), right, corner_values(right))});
      } else {
        cases.push_back(ternary(op, type));
      }
    }
  }
}

// select keeps bits and evaluates both sides.
void add_select(std::vector<Case>& cases) {
  for (const Type type : kArithmetic) {
    const std::string_view t = name_of(type);
    cases.push_back(
        {.name = fmt::format("function_select_{}", t),
         .text = fill(kBinary,
                      {{"$T", t}, {"$U", t}, {"$R", t}, {"$E", "select(i % 3 == 1, a[i], b[i])"}}),
         .inputs = two(type, corner_values(type), type, corner_values(type)),
         .exact_nans = true});
  }
}

void add_conversions(std::vector<Case>& cases) {
  for (const Type from : kArithmetic)
    for (const Type to : kArithmetic) {
      if (conversion(from, to) == nullptr) continue;
      std::vector<uint64_t> values = corner_values(from);
      for (const uint64_t x : random_values(from, 400, 5)) values.push_back(x);
      cases.push_back({.name = fmt::format("convert_{}_to_{}", name_of(from), name_of(to)),
                       .text = fill(kUnary, {{"$T", name_of(from)},
                                             {"$R", name_of(to)},
                                             {"$E", fmt::format("a[i] as {}", name_of(to))}}),
                       .inputs = {{"a", elements(from, values)}}});
      if (bits_of(from) != bits_of(to) || from == Type::Bool) continue;
      cases.push_back(
          {.name = fmt::format("bitcast_{}_to_{}", name_of(from), name_of(to)),
           .text = fill(kUnary, {{"$T", name_of(from)},
                                 {"$R", name_of(to)},
                                 {"$E", fmt::format("bitcast<{}>(a[i])", name_of(to))}}),
           .inputs = {{"a", elements(from, values)}},
           .exact_nans = true});
    }
}

// Near the borders of integer types every float is tried, and near powers of two every integer.
void add_borders(std::vector<Case>& cases) {
  std::vector<uint64_t> floats;
  for (const uint32_t center : {0x4F00'0000U, 0x4F80'0000U, 0x5F00'0000U, 0x5F80'0000U,
                                0x3F80'0000U, 0x3F00'0000U, 0x4B00'0000U, 0x4B80'0000U})
    for (uint32_t k = center - 40; k != center + 40; ++k)
      for (const uint32_t sign : {0U, 0x8000'0000U}) floats.push_back(k ^ sign);
  for (const Type to : kIntegers)
    cases.push_back({.name = fmt::format("convert_border_f32_to_{}", name_of(to)),
                     .text = fill(kUnary, {{"$T", "f32"},
                                           {"$R", name_of(to)},
                                           {"$E", fmt::format("a[i] as {}", name_of(to))}}),
                     .inputs = {{"a", elements(Type::F32, floats)}}});
  for (const Type from : kIntegers)
    for (const Type to : {Type::F32, Type::F64}) {
      std::vector<uint64_t> values;
      for (uint32_t bit = 20; bit < bits_of(from); ++bit)
        for (uint64_t k = 0; k < 9; ++k) {
          values.push_back((uint64_t{1} << bit) + (k - 4));
          values.push_back(((uint64_t{1} << bit) | (uint64_t{1} << (bit > 24 ? bit - 24 : 0))) + k -
                           4);
          values.push_back(
              ((uint64_t{3} << bit) >> 1 | (uint64_t{1} << (bit > 53 ? bit - 53 : 0))) + k - 4);
        }
      cases.push_back({.name = fmt::format("convert_border_{}_to_{}", name_of(from), name_of(to)),
                       .text = fill(kUnary, {{"$T", name_of(from)},
                                             {"$R", name_of(to)},
                                             {"$E", fmt::format("a[i] as {}", name_of(to))}}),
                       .inputs = {{"a", elements(from, values)}}});
    }
}

}  // namespace

std::vector<Case> operator_cases() {
  std::vector<Case> cases;
  add_binary(cases);
  add_unary(cases);
  add_functions(cases);
  add_select(cases);
  add_conversions(cases);
  add_borders(cases);
  return cases;
}

}  // namespace vyre::conformance
