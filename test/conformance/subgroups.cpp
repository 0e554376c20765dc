// SPDX-License-Identifier: Apache-2.0
// Every subgroup operation on every type, in whole and partial subgroups, with lanes that have
// ended, after code in which lanes went different ways.
#include <array>
#include <bit>

#include <fmt/format.h>

#include "conformance/case.hpp"
#include "vyre/ir/ops.hpp"

namespace vyre::conformance {

using namespace ir;

namespace {

struct Shape {
  const char* name;
  const char* workgroup;
  uint32_t lanes;
};
constexpr std::array<Shape, 9> kShapes = {{{"1", "1", 1},
                                           {"7", "7", 7},
                                           {"32", "32", 32},
                                           {"33", "33", 33},
                                           {"64", "64", 64},
                                           {"100", "100", 100},
                                           {"8x5", "8, 5", 40},
                                           {"3x7x5", "3, 7, 5", 105},
                                           {"1x45", "1, 45", 45}}};
constexpr uint32_t kGroups = 3;

// $BEFORE ends lanes or not.
constexpr std::string_view kText = R"(program subgroup_operations {
  workgroup $SIZE;
  in a : $T[];
  out o : $T[$COUNT];
  out q : u32[$ASKED];
  let l = (lid.z * workgroup_size.y + lid.y) * workgroup_size.x + lid.x;
  let i = wid.x * $LANES + l;
$BEFORE
  var x = a[i];
  if i % 3 == 1 {
    x = a[i + 1];
  }
  for k in 0 .. i % 4 {
    if k == 2 {
      x = a[i * 2 % len(a)];
    }
  }
  let far = (i * 7 + 3) % 40;
$OPERATIONS
}
)";

constexpr std::array<std::pair<const char*, const char*>, 4> kBefore = {{
    {"all", ""},
    {"some_ended", "  if i % 5 == 3 || l == 0 {\n    return;\n  }"},
    {"few_left", "  if l % 16 != 9 {\n    return;\n  }"},
    {"group_ended",
     "  if wid.x == 1 {\n    return;\n  }\n  if l >= 40 && l < 70 {\n    return;\n  }"},
}};

std::vector<std::string> operations(Type type) {
  std::vector<std::string> all = {
      "subgroup_shuffle(x, far)",        "subgroup_shuffle(x, subgroup_lane)",
      "subgroup_shuffle(x, 0xFFFFFFFF)", "subgroup_shuffle_xor(x, 1)",
      "subgroup_shuffle_xor(x, 5)",      "subgroup_shuffle_xor(x, far)",
      "subgroup_shuffle_up(x, 1)",       "subgroup_shuffle_up(x, far)",
      "subgroup_shuffle_down(x, 2)",     "subgroup_shuffle_down(x, far)",
      "subgroup_shuffle_up(x, 0)",       "subgroup_shuffle_down(x, 0xFFFFFFFF)",
      "subgroup_broadcast(x, 0)",        "subgroup_broadcast(x, 3)",
      "subgroup_broadcast(x, 31)",       "subgroup_broadcast(x, 40)"};
  if (type == Type::Bool) return all;
  for (const char* op : {"add", "mul", "min", "max", "exclusive_add", "inclusive_add"})
    all.push_back(fmt::format("subgroup_{}(x)", op));
  if (is_integer(type))
    for (const char* op : {"and", "or", "xor"}) all.push_back(fmt::format("subgroup_{}(x)", op));
  return all;
}

Case make(Type type, const Shape& shape, size_t before) {
  const std::vector<std::string> all = operations(type);
  std::string lines;
  for (size_t k = 0; k < all.size(); ++k)
    lines += fmt::format("  o[i * {} + {}] = {};\n", all.size(), k, all[k]);
  const std::string odd = type == Type::Bool ? "x" : fmt::format("x > (3 as {})", name_of(type));
  lines += fmt::format(
      "  q[i * 6] = subgroup_ballot({0});\n  q[i * 6 + 1] = subgroup_any({0}) as u32;\n"
      "  q[i * 6 + 2] = subgroup_all({0}) as u32;\n  q[i * 6 + 3] = subgroup_ballot(true);\n"
      "  barrier subgroup;\n"
      "  q[i * 6 + 4] = subgroup_lane;\n  q[i * 6 + 5] = subgroup_id * 100 + subgroup_size;\n",
      odd);
  const uint32_t count = shape.lanes * kGroups;
  std::vector<uint64_t> values = random_values(type, count, 11);
  // Sums of wild floats are infinite or NaN; most of them should say more.
  for (size_t i = 0; i < values.size(); ++i) {
    if (type == Type::F32)
      values[i] = std::bit_cast<uint32_t>(
          static_cast<float>(static_cast<int>(values[i] % 2001) - 1000) / 7.0F);
    if (type == Type::F64)
      values[i] = std::bit_cast<uint64_t>(static_cast<double>(values[i] % 100'000) / 7.0);
    if (i % 23 == 22) values[i] = corner_values(type)[i % corner_values(type).size()];
  }
  return {
      .name = fmt::format("subgroup_{}_{}_{}", name_of(type), shape.name, kBefore.at(before).first),
      .text = fill(kText, {{"$T", name_of(type)},
                           {"$SIZE", shape.workgroup},
                           {"$LANES", std::to_string(shape.lanes)},
                           {"$COUNT", std::to_string(count * all.size())},
                           {"$ASKED", std::to_string(count * 6)},
                           {"$BEFORE", kBefore.at(before).second},
                           {"$OPERATIONS", lines}}),
      .inputs = {{"a", elements(type, values)}},
      .grid = check::Axes{kGroups, 1, 1}};
}

}  // namespace

std::vector<Case> subgroup_cases() {
  std::vector<Case> cases;
  for (const Type type : kArithmetic)
    for (const Shape& shape : kShapes)
      for (size_t before = 0; before < kBefore.size(); ++before) {
        // Every type meets every shape, and every way of ending on one that is not whole.
        if (before > 1 && shape.lanes != 100 && shape.lanes != 40) continue;
        cases.push_back(make(type, shape, before));
      }
  return cases;
}

}  // namespace vyre::conformance
