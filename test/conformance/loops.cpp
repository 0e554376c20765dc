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

// Both directions, with a step that only the run knows, in every type of loop variable, also at the
// ends of the type. What lanes see is the order of the values.
constexpr std::string_view kOrder = R"(
program order_of_a_loop {
  workgroup 64;
  over 64;
  in  bounds : $I[2];
  in  by     : $I[1];
  out values : $I[64];
  out count  : u32[2];
  let first = bounds[0];
  let last = bounds[1];
  let s = by[0];
  var n = 0;
  for i in $REV first .. last step $STEP {
    if n < len(values) && gid.x == 0 {
      values[n] = i;
    }
    n += 1;
    if n == 40 {
      break;
    }
  }
  // Lanes with a range of their own, which some leave early.
  var own = 0;
  for i in $REV first .. last + (gid.x % 2) as $I step $STEP {
    own = own * 31 + (i as u32) + 1;
    if own % 11 == 5 {
      break;
    }
    if own % 7 > 40 {
      continue;
    }
    own ^= 3;
    if own % 13 == gid.x % 13 {
      break;
    }
  }
  if gid.x == 0 {
    count[0] = n;
  }
  if gid.x == 17 {
    count[1] = own;
  }
}
)";

void add_order(std::vector<Case>& cases) {
  struct Range {
    const char* name;
    const char* type;
    const char* bounds;
    const char* step;
  };
  constexpr Range kRanges[] = {
      {"few", "u32", "[3,17]", "4"},
      {"each", "i32", "[-4,9]", "1"},
      {"empty", "u32", "[9,9]", "3"},
      {"backwards", "i32", "[5,-5]", "2"},
      {"one", "u32", "[7,8]", "4294967295"},
      {"top", "u32", "[4294967285,4294967294]", "4"},
      {"all", "u32", "[0,4294967294]", "1000000007"},
      {"signed_all", "i32", "[-2147483648,2147483646]", "2147483647"},
      {"signed_low", "i32", "[-2147483648,-2147483640]", "3"},
      {"signed_top", "i32", "[2147483640,2147483646]", "5"},
      {"wide_all", "u64", "[0,18446744073709551614]", "9223372036854775807"},
      {"wide_top", "u64", "[18446744073709551600,18446744073709551614]", "3"},
      {"wide_signed", "i64", "[-9223372036854775808,9223372036854775806]", "4611686018427387905"},
      {"wide_few", "i64", "[-20,20]", "7"},
  };
  for (const Range& r : kRanges)
    for (const char* const rev : {"", "rev"})
      for (const char* const step : {"s", "given", "max(s, 1)"}) {
        const bool given = std::string_view(step) == "given";
        cases.push_back(
            {.name = fmt::format("loop_order_{}_{}{}", r.name, *rev != 0 ? "rev_" : "",
                                 given            ? "constant"
                                 : step[0] == 's' ? "run_time"
                                                  : "positive"),
             .text =
                 fill(kOrder, {{"$STEP", given ? r.step : step}, {"$REV", rev}, {"$I", r.type}}),
             .run_line = fmt::format("--in bounds={} --in by=[{}]", r.bounds, r.step),
             .every_route = std::string_view(r.name).starts_with("signed")});
      }
}

// A step that is not positive stops the lanes that have an iteration, and no others.
constexpr std::string_view kStopped = R"(
program stopped_loop {
  workgroup 64;
  over 100;
  in    by : $I[1];
  inout o  : u32[100];
  if gid.x >= $FROM {
    for i in $REV 0 .. o[gid.x] as $I step by[0] {
      o[gid.x] = (i as u32) * 2;
    }
  }
}
)";

void add_stopped(std::vector<Case>& cases) {
  for (const char* const type : {"u32", "i32", "u64", "i64"})
    for (const char* const rev : {"", "rev"})
      for (const char* const by : {"0", "-3", "4"}) {
        if (*type == 'u' && *by == '-') continue;
        for (const char* const from : {"0", "70", "100"}) {
          const bool stops = *by != '4' && std::string_view(from) != "100";
          cases.push_back(
              {.name = fmt::format("loop_stopped_{}_{}{}_{}", type, *rev != 0 ? "rev_" : "",
                                   *by == '-'   ? "negative"
                                   : *by == '0' ? "zero"
                                                : "fine",
                                   from),
               .text = fill(kStopped, {{"$I", type}, {"$REV", rev}, {"$FROM", from}}),
               .run_line = fmt::format("--in by=[{}] --in o=iota(100)", by),
               .error = stops ? std::optional(ErrorCode::Trapped) : std::nullopt});
        }
      }
}

// Private arrays of every type with values, of few and of many elements.
constexpr std::string_view kArrays = R"(
program arrays_with_values {
  workgroup 64;
  over 64;
  const Two : u32 = 2;
  in  at : u32[64];
  out o  : $T[64];
  out p  : u32[64];
  var few : $T[5] = {$A, $B};
  var many : u32[4096] = {7, 6, 5, Two + 2, 3, Two, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for k in 0 .. 3 {
    var again : u32[3] = {k, 9};
    p[gid.x] += again[0] * 100 + again[1] + again[2];
    again[0] = 5;
    again[2] = 77;
  }
  many[at[gid.x] * 61] += gid.x;
  o[gid.x] = few[at[gid.x] % 7];
  few[1] = few[0];
  for k in rev 0 .. 4096 step 61 {
    p[gid.x] = p[gid.x] * 3 + many[k];
  }
}
)";

void add_arrays(std::vector<Case>& cases) {
  struct Values {
    const char* type;
    const char* a;
    const char* b;
  };
  constexpr Values kValues[] = {{"u32", "4294967295", "1 + 2"},
                                {"i32", "-7", "1 - 5"},
                                {"u64", "18446744073709551615", "3"},
                                {"i64", "-9", "4"},
                                {"f32", "-0.0", "1.5 * 2.0"},
                                {"f64", "0.1", "-1.0e300"},
                                {"bool", "true", "1 == 2"}};
  for (const Values& v : kValues)
    cases.push_back(
        {.name = fmt::format("array_values_{}", v.type),
         .text =
             fill(kArrays, {{"$T", v.type}, {"$A", v.a}, {"$B", v.b}, {"= {k, 9}", "= {4, 9}"}}),
         .run_line = "--in at=iota(64)"});
}

}  // namespace

std::vector<Case> loop_cases() {
  std::vector<Case> cases;
  add_loads(cases);
  add_signed(cases);
  add_constant(cases);
  add_stores(cases);
  add_order(cases);
  add_stopped(cases);
  add_arrays(cases);
  return cases;
}

}  // namespace vyre::conformance
