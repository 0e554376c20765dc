// SPDX-License-Identifier: Apache-2.0
// Loops whose trips reach into memory and beyond it. Code generators test such accesses before the
// loop where they can, and have to find exactly the trips that need no test.
#include <fmt/format.h>

#include "conformance/case.hpp"

namespace vyre::conformance {
namespace {

// All lanes make the same trips.
constexpr std::string_view kUniform = R"(
program uniform_loop {
  workgroup 64;
  over 150;
  in  bounds : $I[3];
  in  a      : u32[];
  out o      : u32[150];
  let n = bounds[2];
  var sum = 1;
  for i in $FIRST .. $LAST step $STEP {
    sum = sum * 3 + a[$INDEX];
  }
  o[gid.x] = sum;
}
)";

// Each lane has its own; some leave early.
constexpr std::string_view kOwn = R"(
program own_loop {
  workgroup 64;
  over 150;
  in  bounds : $I[3];
  in  a      : u32[];
  out o      : u32[150];
  let n = bounds[2];
  let first = $FIRST + (gid.x % 5) as $I;
  var sum = 1;
  var odd = false;
  for i in first .. $LAST step $STEP {
    if a[$INDEX] % 7 == 3 {
      continue;
    }
    sum = sum * 3 + a[$INDEX];
    odd = !odd;
    if sum % 61 == 17 {
      break;
    }
  }
  o[gid.x] = sum * 2 + odd as u32;
}
)";

// Every lane and trip stores to an element of its own, or to none.
constexpr std::string_view kStores = R"(
program store_loop {
  workgroup 64;
  over 128;
  in  bounds : u32[2];
  out o      : u32[900];
  for i in bounds[0] .. bounds[1] {
    o[$INDEX] = i * 1000 + gid.x + 1;
  }
}
)";

struct Bounds {
  const char* name;
  const char* values;  // first, last, n
  const char* step;
};

void add_loads(std::vector<Case>& cases) {
  constexpr std::string_view kIndices[] = {"i",
                                           "i - 1",
                                           "i + 1",
                                           "7 + i",
                                           "i * 2",
                                           "i * 3 + 1",
                                           "(i - 2) * 5",
                                           "i * n",
                                           "n - i",
                                           "i * n + 3",
                                           "gid.x + i",
                                           "gid.x + i - 30",
                                           "i + gid.x * 3",
                                           "gid.x + i * 16 - 5",
                                           "i * n + gid.x",
                                           "i + 0xFFFF_FFF0",
                                           "i * 0x4000_0000",
                                           "gid.x + i + 0xFFFF_FFF0"};
  constexpr Bounds kBounds[] = {{"inside", "[0,20,4]", "1"},
                                {"over_the_end", "[80,131,3]", "1"},
                                {"steps", "[1,140,0]", "7"},
                                {"empty", "[9,9,2]", "1"},
                                {"backwards", "[40,3,2]", "1"},
                                {"near_the_top", "[4294967270,4294967295,5]", "2"},
                                {"far_steps", "[0,4294967295,1]", "400000000"}};
  for (size_t k = 0; k < std::size(kIndices); ++k)
    for (const Bounds& b : kBounds)
      for (const std::string_view text : {kUniform, kOwn})
        cases.push_back(
            {.name = fmt::format("loop_{}_{}_{}", text == kOwn ? "own" : "uniform", b.name, k),
             .text = fill(text, {{"$INDEX", kIndices[k]},
                                 {"$STEP", b.step},
                                 {"$FIRST", "bounds[0]"},
                                 {"$LAST", "bounds[1]"},
                                 {"$I", "u32"}}),
             .run_line = fmt::format("--in bounds={} --in a=iota(100)", b.values),
             .guarded = true});
}

void add_signed(std::vector<Case>& cases) {
  constexpr std::string_view kIndices[] = {"i", "i - 5", "i * 3 - 7", "i * n", "n - i", "i + n"};
  for (size_t k = 0; k < std::size(kIndices); ++k)
    for (const char* const first : {"0", "3", "bounds[0]"})
      for (const std::string_view text : {kUniform, kOwn})
        cases.push_back(
            {.name = fmt::format("loop_signed_{}_{}_{}", text == kOwn ? "own" : "uniform",
                                 fill(first, {{"bounds[0]", "given"}}), k),
             .text = fill(text, {{"$INDEX", kIndices[k]},
                                 {"$STEP", "2"},
                                 {"$FIRST", first},
                                 {"$LAST", "bounds[1]"},
                                 {"$I", "i32"}}),
             .run_line = "--in bounds=[-9,120,-2] --in a=iota(100)",
             .guarded = true});
}

void add_constant(std::vector<Case>& cases) {
  constexpr std::string_view kIndices[] = {"i",
                                           "i * 8 + 3",
                                           "gid.x + i",
                                           "gid.x + i * 64",
                                           "gid.x + i * 64 - 70",
                                           "gid.x - i",
                                           "gid.x + i * 0x0800_0000"};
  constexpr Bounds kBounds[] = {
      {"few", "0 3", "1"}, {"many", "0 90", "1"}, {"later", "2 17", "3"}, {"none", "4 4", "1"}};
  for (size_t k = 0; k < std::size(kIndices); ++k)
    for (const Bounds& b : kBounds)
      for (const int length : {1, 130, 1100}) {
        const std::string_view values = b.values;
        const size_t space = values.find(' ');
        cases.push_back({.name = fmt::format("loop_constant_{}_{}_{}", b.name, length, k),
                         .text = fill(kUniform, {{"$INDEX", kIndices[k]},
                                                 {"$STEP", b.step},
                                                 {"$FIRST", values.substr(0, space)},
                                                 {"$LAST", values.substr(space + 1)},
                                                 {"$I", "u32"}}),
                         .run_line = fmt::format("--in bounds=[0,0,0] --in a=iota({})", length),
                         .guarded = true});
      }
}

void add_stores(std::vector<Case>& cases) {
  constexpr std::string_view kIndices[] = {"gid.x + i * 128", "gid.x + i * 128 - 250",
                                           "gid.x * 9 + i", "i * 128 + gid.x + 0xFFFF_FF00"};
  for (size_t k = 0; k < std::size(kIndices); ++k)
    for (const char* const bounds : {"[0,5]", "[0,9]", "[3,9]"})
      cases.push_back({.name = fmt::format("loop_stores_{}_{}",
                                           fill(bounds, {{"[", ""}, {"]", ""}, {",", "_"}}), k),
                       .text = fill(kStores, {{"$INDEX", kIndices[k]}}),
                       .run_line = fmt::format("--in bounds={}", bounds),
                       .guarded = true});
}

}  // namespace

std::vector<Case> loop_cases() {
  std::vector<Case> cases;
  add_loads(cases);
  add_signed(cases);
  add_constant(cases);
  add_stores(cases);
  return cases;
}

}  // namespace vyre::conformance
