// SPDX-License-Identifier: Apache-2.0
// Shapes: grids and workgroups of one to three axes with odd sizes, empty grids and buffers, sizes
// that the caller gives, and the ids that lanes see.
#include <array>

#include <fmt/format.h>

#include "conformance/case.hpp"

namespace vyre::conformance {
namespace {

// Each lane tells all that it knows about itself.
constexpr std::string_view kIds = R"(program ids {
  workgroup $SIZE;
  $OVER
  out o : u32[$COUNT];
  out seen : u32[$LANES];
  let lanes = workgroup_size.x * workgroup_size.y * workgroup_size.z;
  let w = (wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x;
  let l = (lid.z * workgroup_size.y + lid.y) * workgroup_size.x + lid.x;
  let i = w * lanes + l;
  o[i * 15] = gid.x;
  o[i * 15 + 1] = gid.y;
  o[i * 15 + 2] = gid.z;
  o[i * 15 + 3] = lid.x;
  o[i * 15 + 4] = lid.y;
  o[i * 15 + 5] = lid.z;
  o[i * 15 + 6] = wid.x;
  o[i * 15 + 7] = wid.y;
  o[i * 15 + 8] = wid.z;
  o[i * 15 + 9] = num_workgroups.x;
  o[i * 15 + 10] = num_workgroups.y;
  o[i * 15 + 11] = num_workgroups.z;
  o[i * 15 + 12] = workgroup_size.x;
  o[i * 15 + 13] = workgroup_size.y;
  o[i * 15 + 14] = workgroup_size.z;
  atomic_add(seen[i], 1);
}
)";

// Shared memory is zero at the start of every workgroup, however many there are.
constexpr std::string_view kShared = R"(program zeros {
  workgroup $SIZE;
  out bad : u32[1];
  out sum : u32[1];
  shared s : u32[77];
  shared b : u8[19];
  shared d : u64[5];
  let l = (lid.z * workgroup_size.y + lid.y) * workgroup_size.x + lid.x;
  let lanes = workgroup_size.x * workgroup_size.y * workgroup_size.z;
  for k in 0 .. 77 {
    if k % lanes == l && (s[k] != 0 || b[k % 19] != 0 || d[k % 5] != 0) {
      atomic_add(bad[0], 1);
    }
  }
  barrier workgroup;
  for k in 0 .. 77 {
    if k % lanes == l {
      s[k] = 0xA5A5A5A5;
      if k < 19 {
        b[k] = 0xA5;
      }
      if k < 5 {
        d[k] = 0xA5A5A5A5A5A5A5A5;
      }
    }
  }
  barrier workgroup;
  atomic_add(sum[0], s[76 - l % 77] + b[l % 19]);
}
)";

constexpr std::string_view kElementwise = R"(program elementwise {
  workgroup 64;
  in a : $T[];
  in b : $T[];
  out o : $T[] @count(len(a));
  inout p : $T[];
  o[gid.x] = a[gid.x] * b[gid.x] + a[gid.x];
  p[gid.x] -= b[gid.x];
}
)";

struct Shape {
  check::Axes size;
  check::Axes grid;
};

std::string axes_text(const check::Axes& axes, std::string_view between) {
  return fmt::format("{}{}{}{}{}", axes[0], between, axes[1], between, axes[2]);
}

void add_ids(std::vector<Case>& cases) {
  constexpr std::array<Shape, 14> kShapes = {{{{1, 1, 1}, {1, 1, 1}},
                                              {{1, 1, 1}, {17, 1, 1}},
                                              {{64, 1, 1}, {3, 1, 1}},
                                              {{100, 1, 1}, {5, 1, 1}},
                                              {{7, 1, 1}, {3, 5, 1}},
                                              {{8, 5, 1}, {3, 1, 1}},
                                              {{8, 5, 1}, {3, 7, 1}},
                                              {{1, 9, 1}, {1, 4, 1}},
                                              {{16, 16, 1}, {2, 3, 1}},
                                              {{3, 5, 7}, {2, 3, 2}},
                                              {{1, 1, 33}, {3, 1, 5}},
                                              {{2, 1, 3}, {1, 9, 1}},
                                              {{32, 2, 2}, {1, 1, 3}},
                                              {{5, 5, 5}, {0, 3, 3}}}};
  for (const Shape& shape : kShapes) {
    const uint32_t lanes = shape.size[0] * shape.size[1] * shape.size[2] * shape.grid[0] *
                           shape.grid[1] * shape.grid[2];
    cases.push_back({.name = fmt::format("ids_{}_in_{}", axes_text(shape.size, "x"),
                                         axes_text(shape.grid, "x")),
                     .text = fill(kIds, {{"$SIZE", axes_text(shape.size, ", ")},
                                         {"$OVER", ""},
                                         {"$COUNT", std::to_string(lanes * 15 + 3)},
                                         {"$LANES", std::to_string(lanes + 3)}}),
                     .grid = shape.grid});
  }
  // `over` rounds up; the lanes past the end run.
  for (const auto& [over, workgroups] : {std::pair{"over 100;", 7U},
                                         {"over 5, 3;", 3U},
                                         {"over 17, 2, 3;", 12U},
                                         {"over 0;", 0U},
                                         {"over 0, 7;", 0U}})
    cases.push_back({.name = fmt::format("ids_{}", fill(over, {{" ", "_"}, {",", ""}, {";", ""}})),
                     .text = fill(kIds, {{"$SIZE", "16"},
                                         {"$OVER", over},
                                         {"$COUNT", std::to_string(workgroups * 16 * 15 + 2)},
                                         {"$LANES", std::to_string(workgroups * 16 + 2)}})});
}

void add_sizes(std::vector<Case>& cases) {
  for (const uint32_t count :
       {0U, 1U, 2U, 31U, 32U, 33U, 63U, 64U, 65U, 127U, 129U, 1000U, 4096U}) {
    for (const ir::Type type : {ir::Type::U32, ir::Type::F32, ir::Type::U64, ir::Type::F64}) {
      if (count > 65 && type != ir::Type::F32) continue;
      cases.push_back({.name = fmt::format("size_{}_{}", count, ir::name_of(type)),
                       .text = fill(kElementwise, {{"$T", ir::name_of(type)}}),
                       .inputs = {{"a", elements(type, random_values(type, count, 12))},
                                  {"b", elements(type, random_values(type, count, 13))},
                                  {"p", elements(type, random_values(type, count, 14))}},
                       .every_route = count == 65,
                       .guarded = true});
    }
    // Lengths that differ: the shorter ones end early.
    cases.push_back(
        {.name = fmt::format("size_{}_and_others", count),
         .text = fill(kElementwise, {{"$T", "f32"}}),
         .inputs = {{"a", elements(ir::Type::F32, random_values(ir::Type::F32, count, 12))},
                    {"b", elements(ir::Type::F32, random_values(ir::Type::F32, count / 2, 13))},
                    {"p", elements(ir::Type::F32, random_values(ir::Type::F32, count + 70, 14))}},
         .guarded = true});
  }
  // Another workgroup than the program's.
  for (const uint32_t size : {1U, 3U, 32U, 100U, 256U})
    cases.push_back({.name = fmt::format("workgroup_given_{}", size),
                     .text = fill(kElementwise, {{"$T", "i32"}}),
                     .run_line = "--in a=iota(200) --in b=iota(200) --in p=iota(200)",
                     .workgroup = check::Axes{size, 1, 1}});
  // Fewer and more lanes than elements.
  for (const uint32_t groups : {0U, 1U, 2U, 9U})
    cases.push_back({.name = fmt::format("grid_given_{}", groups),
                     .text = fill(kElementwise, {{"$T", "i32"}}),
                     .run_line = "--in a=iota(200) --in b=iota(200) --in p=iota(200)",
                     .grid = check::Axes{groups, 1, 1}});
}

}  // namespace

std::vector<Case> grid_cases() {
  std::vector<Case> cases;
  add_ids(cases);
  add_sizes(cases);
  for (const auto& [size, groups] : {std::pair{"1", 40U},
                                     {"7", 30U},
                                     {"64", 100U},
                                     {"100", 20U},
                                     {"8, 5", 20U},
                                     {"3, 4, 5", 9U}})
    cases.push_back({.name = fmt::format("shared_zero_{}", fill(size, {{", ", "x"}})),
                     .text = fill(kShared, {{"$SIZE", size}}),
                     .grid = check::Axes{groups, 1, 1}});
  // Repeating the whole program until nothing changes.
  for (const uint32_t passes : {1U, 2U, 5U, 100U})
    cases.push_back({.name = fmt::format("iterations_{}", passes),
                     .text = "program shrink {\n  workgroup 32;\n  inout a : u32[];\n"
                             "  a[gid.x] = a[gid.x] / 2;\n}\n",
                     .run_line = "--in a=iota(100)",
                     .iterations = passes,
                     .every_route = true});
  return cases;
}

}  // namespace vyre::conformance
