// SPDX-License-Identifier: Apache-2.0
// Accesses out of bounds: every kind of access, element type and bad index. A load gives 0, a store
// is dropped, an atomic does nothing; in checked mode the dispatch ends with OutOfBounds.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "conformance/case.hpp"
#include "vyre/ir/ops.hpp"

namespace vyre::conformance {

using namespace ir;

namespace {

constexpr uint32_t kSize = 10;  // elements of whatever is accessed

// Bad ones, and two good ones so that something can be seen to happen.
std::vector<uint64_t> indices(Type type) {
  std::vector<uint64_t> all = {0,           0xFFFF'FFFF, kSize,       kSize + 1,   0x8000'0000,
                               0x7FFF'FFFF, 3,           0x4000'0000, 0xFFFF'FFFE, kSize - 1,
                               0x4000'0003, 0x2000'0003, 0xC000'0000, 256,         65536};
  if (bits_of(type) == 64)
    all.insert(all.end(), {0x1'0000'0000, 0x1'0000'0003, 0x8000'0000'0000'0000,
                           0xFFFF'FFFF'FFFF'FFFF, 0x7FFF'FFFF'FFFF'FFFF, 0xFFFF'FFFF'0000'0003,
                           0x2000'0000'0000'0003, 0x4000'0000'0000'0003});
  return all;
}

struct Access {
  std::string name;
  std::string declarations;
  std::string body;  // of a lane, which has `i`, the index `k` and a value `v`
};

// Shared memory and private arrays start with something in them that is not 0.
std::vector<Access> accesses(Type type) {
  const std::string_view t = name_of(type);
  const std::string_view w = name_of(widened(type));
  const std::string plus = type == Type::Bool ? "^=" : "+=";
  std::vector<Access> all = {
      {"load", fmt::format("  inout m : {}[];\n", t), "  o[i] = m[k];\n"},
      {"load_in", fmt::format("  in m : {}[];\n", t), "  o[i] = m[k];\n"},
      {"load_uniform", fmt::format("  uniform m : {}[];\n", t), "  o[i] = m[k];\n"},
      {"store", fmt::format("  inout m : {}[];\n", t), "  m[k] = v;\n  o[i] = v;\n"},
      {"store_writeonly", fmt::format("  in m : {0}[];\n  writeonly n : {0}[{1}];\n", t, kSize),
       "  n[k] = v;\n  o[i] = m[i];\n"},
      {"change", fmt::format("  inout m : {}[];\n", t),
       fmt::format("  m[k] {} v;\n  o[i] = v;\n", plus)},
      {"shared_load", fmt::format("  in m : {0}[];\n  shared s : {0}[{1}];\n", t, kSize),
       fmt::format("  if i < {} {{\n    s[i] = m[i];\n  }}\n  barrier workgroup;\n"
                   "  o[i] = s[k];\n",
                   kSize)},
      {"shared_store", fmt::format("  in m : {0}[];\n  shared s : {0}[{1}];\n", t, kSize),
       fmt::format("  if i < {0} {{\n    s[i] = m[i];\n  }}\n  barrier workgroup;\n"
                   "  s[k] {1} v;\n  barrier workgroup;\n  o[i] = s[i % {0}];\n",
                   kSize, plus)},
      {"function",
       fmt::format("  inout m : {0}[];\n  fn get(b : buffer {0}[], n : $I) -> {1} {{\n"
                   "    return b[n];\n  }}\n",
                   t, w),
       "  o[i] = get(m, k);\n"}};
  if (!is_storage(type)) {
    const std::string zero = type == Type::Bool ? "true" : "1";
    const std::string one = type == Type::Bool ? "false" : "2";
    all.push_back(
        {"table",
         fmt::format("  in m : {0}[];\n  const Table : {0}[] = {{ {1}, {2}, {1}, {2}, {1}, "
                     "{2}, {1}, {2}, {1}, {2} }};\n",
                     t, zero, one),
         "  o[i] = Table[k];\n  if i == 1000 {\n    o[i] = m[i];\n  }\n"});
    all.push_back({"array_load", fmt::format("  in m : {}[];\n", t),
                   fmt::format("  var p : {}[{}];\n  for n in 0 .. {} {{\n    p[n] = m[n];\n  }}\n"
                               "  o[i] = p[k];\n",
                               t, kSize, kSize)});
    all.push_back({"array_store", fmt::format("  in m : {}[];\n", t),
                   fmt::format("  var p : {0}[{1}];\n  var q : {0}[{1}];\n  p[k] = v;\n"
                               "  q[9] {2} v;\n  var sum = p[0];\n  for n in 1 .. {1} {{\n"
                               "    sum {2} p[n];\n    sum {2} q[n];\n  }}\n  o[i] = sum;\n"
                               "  if i == 1000 {{\n    o[i] = m[i];\n  }}\n",
                               t, kSize, plus)});
  }
  if (is_integer(type) || type == Type::F32)
    for (int n = 0; n < kAtomicCount; ++n) {
      const auto op = static_cast<AtomicOp>(n);
      if (type == Type::F32 && op != AtomicOp::Add && op != AtomicOp::Load &&
          op != AtomicOp::Store && op != AtomicOp::Exchange)
        continue;
      std::string call = fmt::format("{}(m[k]", name_of(op));
      for (int a = 0; a < arity_of(op); ++a) call += ", v";
      call += ")";
      all.push_back({std::string(name_of(op)), fmt::format("  inout m : {}[];\n", t),
                     op == AtomicOp::Store ? fmt::format("  {};\n  o[i] = v;\n", call)
                                           : fmt::format("  o[i] = {};\n", call)});
      std::string shared = call;
      shared.replace(shared.find("m[k]"), 4, "s[k]");
      all.push_back(
          {std::string(name_of(op)) + "_shared",
           fmt::format("  in m : {0}[];\n  shared s : {0}[{1}];\n", t, kSize),
           fmt::format("  if i < {} {{\n    s[i] = m[i];\n  }}\n  barrier workgroup;\n", kSize) +
               (op == AtomicOp::Store ? fmt::format("  {};\n  o[i] = v;\n", shared)
                                      : fmt::format("  o[i] = {};\n", shared)) +
               fmt::format("  barrier workgroup;\n  o[i + 64] = s[i % {}];\n", kSize)});
    }
  return all;
}

std::string text_of(const Access& access, Type type, Type index) {
  const std::string text = fmt::format(
      "program bounds {{\n  workgroup 64;\n  over 64;\n  in at : {0}[];\n  in x : {1}[];\n"
      "{2}  out o : {1}[128];\n  let i = gid.x;\n  let k = at[i];\n  let v = x[i];\n{3}}}\n",
      name_of(index), name_of(type), access.declarations, access.body);
  return fill(text, {{"$I", name_of(index)}});
}

std::vector<Input> inputs_of(Type type, Type index, std::span<const uint64_t> at) {
  // A value that is not 0 for every lane, and indices that are bad for lanes that have none.
  std::vector<uint64_t> values;
  for (uint64_t i = 0; i < 64; ++i)
    values.push_back(type == Type::Bool  ? 1
                     : type == Type::F32 ? 0x3F80'0000 + (i << 16)
                     : type == Type::F64 ? 0x3FF0'0000'0000'0000 + (i << 44)
                                         : 17 + i);
  std::vector<uint64_t> all(at.begin(), at.end());
  all.resize(64, kSize + 5);
  return {{"at", elements(index, all)},
          {"x", elements(type, values)},
          {"m", elements(type, std::span(values).first(kSize))}};
}

constexpr std::string_view kAffine = R"(program affine {
  workgroup 64;
  over $LANES;
  in a : u32[$SIZE];
  in bytes : u8[$SIZE];
  in wide : u64[$SIZE];
  inout back : u32[$SIZE];
  out next : u32[$SIZE];
  out far : u32[$SIZE];
  out small : u8[$SIZE];
  out sums : u32[$LANES];
  let i = gid.x;
  let n = len(a);
  var s = a[i] + a[i + 1] * 3 + a[i - 1] * 5 + a[i + 4294967290] * 7;
  s += a[n - 1 - i] * 11 + a[i * 2] * 13 + a[i * 2 + 1] * 17 + a[i * 3 - 2] * 19;
  s += a[i ^ 1] * 23 + a[i / 2] * 29 + a[i as i32 - 3] * 31 + a[i as u64 + 4294967296] * 37;
  s += a[(i as i64) - 1] * 41 + a[i << 4] * 43 + a[1000000 - i] * 47 + a[i & 7] * 53;
  s += bytes[i + 1] * 59 + bytes[i - 1] * 61 + (wide[i + 1] as u32) * 67 + (wide[i - 1] as u32);
  if i + 1 < n {
    s += a[i + 1] * 71;
  }
  if i - 1 < n {
    s += a[i - 1] * 73;
  }
  if i <= n - 1 {
    s += 79;
  }
  for k in 0 .. 5 {
    s += a[i + k] * (83 + k) + a[i - k];
  }
  sums[i] = s;
  next[i + 1] = i + 1;
  far[i - 3] = i + 7;
  small[i + 2] = i + 300;
  back[i] += i;
}
)";

constexpr std::string_view kAffine2 = R"(program affine_2 {
  workgroup 8, 4;
  over $W, $H;
  uniform size : u32[2];
  in a : f32[];
  out o : f32[] @count($W * $H);
  let x = gid.x;
  let y = gid.y;
  let w = size[0];
  let at = y * w + x;
  var s = a[at] + a[at - 1] + a[at + 1] + a[at - w] + a[at + w];
  s += a[(y + 1) * w + x + 1] - a[(y - 1) * w + x - 1];
  if x < $W {
    o[y * $W + x] = s;
  }
}
)";

// Shared memory and private arrays at the ends of a workgroup.
constexpr std::string_view kAffineShared = R"(program affine_shared {
  workgroup $W;
  over $W * 3;
  in a : u32[];
  out o : u32[] @count($W * 3);
  shared s : u32[$S];
  shared t : u16[$S];
  let l = lid.x;
  s[l] = a[gid.x];
  t[l + 1] = a[gid.x];
  barrier workgroup;
  var r = s[l] + s[l + 1] * 3 + s[l - 1] * 5 + s[$S - 1 - l] * 7 + t[l] * 11 + t[l - 1] * 13;
  barrier workgroup;
  s[l - 2] = r;
  s[$W + $W - l] = 9;
  barrier workgroup;
  o[gid.x] = s[l] + r;
}
)";

constexpr std::string_view kCopies = R"(program copies {
  workgroup 16;
  in from : $T[10];
  in plan : $I[];
  inout to : $T[10];
  out seen : $T[160];
  shared s : $T[10];
  for k in 0 .. 3 {
    if lid.x < 10 {
      s[lid.x] = from[9 - lid.x];
    }
    barrier workgroup;
    let row = k * 3;
    async copy(1, s, plan[row], from, plan[row + 1], plan[row + 2]);
    wait(1);
    if lid.x < 10 {
      seen[k * 40 + lid.x] = s[lid.x];
    }
    async copy(2, to, plan[row + 1], s, plan[row], plan[row + 2]);
    wait(2);
    if lid.x < 10 {
      seen[k * 40 + 20 + lid.x] = to[lid.x];
    }
    barrier workgroup;
  }
}
)";

void add_affine(std::vector<Case>& cases) {
  for (const uint32_t size : {1U, 2U, 31U, 32U, 33U, 63U, 64U, 65U, 100U, 127U, 255U, 1000U}) {
    for (const uint32_t lanes : {size, size + 70}) {
      std::vector<uint64_t> values(size);
      for (uint32_t i = 0; i < size; ++i) values[i] = i * 37 + 5;
      const std::string s = std::to_string(size);
      cases.push_back({.name = fmt::format("bounds_affine_{}_lanes_{}", size, lanes),
                       .text = fill(kAffine, {{"$SIZE", s}, {"$LANES", std::to_string(lanes)}}),
                       .inputs = {{"a", elements(Type::U32, values)},
                                  {"bytes", elements(Type::U8, values)},
                                  {"wide", elements(Type::U64, values)},
                                  {"back", elements(Type::U32, values)}},
                       .guarded = true});
    }
  }
  for (const auto& [w, h] : {std::pair{1U, 1U}, {8U, 4U}, {9U, 5U}, {33U, 7U}, {64U, 64U}}) {
    std::vector<float> values(size_t{w} * h);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) / 3;
    cases.push_back({.name = fmt::format("bounds_affine_{}x{}", w, h),
                     .text = fill(kAffine2, {{"$W", std::to_string(w)}, {"$H", std::to_string(h)}}),
                     .inputs = {{"size", bytes_of<uint32_t>({w, h})}, {"a", bytes_of(values)}},
                     .guarded = true});
  }
  for (const auto& [w, s] :
       {std::pair{1U, 1U}, {16U, 15U}, {32U, 32U}, {33U, 40U}, {64U, 1U}, {100U, 99U}}) {
    std::vector<uint32_t> values(size_t{w} * 3);
    for (uint32_t i = 0; i < values.size(); ++i) values[i] = i * 101 + 1;
    cases.push_back(
        {.name = fmt::format("bounds_affine_shared_{}_of_{}", w, s),
         .text = fill(kAffineShared, {{"$W", std::to_string(w)}, {"$S", std::to_string(s)}}),
         .inputs = {{"a", bytes_of(values)}}});
  }
}

// Destination, source and length of copies: three copies per case.
void add_copies(std::vector<Case>& cases) {
  constexpr uint64_t kBig = 0x8000'0000;
  constexpr uint64_t kMost = 0xFFFF'FFFF;
  const std::vector<std::array<uint64_t, 9>> plans = {
      {0, 0, 10, 1, 0, 10, 0, 1, 10},
      {3, 5, 20, 9, 9, 5, 10, 10, 3},
      {kMost, 0, 4, 0, kMost, 4, kMost - 1, kMost - 1, 6},
      {kBig, 0, 3, 0, kBig, 3, 2, 2, 0},
      {8, 0, 40, 0, 8, 40, 4, 6, 5000},
  };
  std::vector<uint64_t> values(10);
  for (const Type type : kElements)
    for (size_t n = 0; n < plans.size(); ++n)
      for (const Type index : {Type::U32, Type::I64}) {
        if (index == Type::I64 && n % 2 == 0) continue;
        for (size_t i = 0; i < values.size(); ++i)
          values[i] = type == Type::Bool ? (i % 2) : (type == Type::F64 ? i << 50 : 33 + i);
        cases.push_back(
            {.name = fmt::format("bounds_copy_{}_{}_{}", name_of(type), n, name_of(index)),
             .text = fill(kCopies, {{"$T", name_of(type)}, {"$I", name_of(index)}}),
             .inputs = {{"from", elements(type, values)},
                        {"plan", elements(index, plans[n])},
                        {"to", Bytes(10 * ir::bytes_of(type), std::byte{0})}},
             .grid = check::Axes{1, 1, 1}});
      }
}

// The right side is proved to be inside by the left one, which not all lanes pass.
constexpr std::string_view kGuard = R"(
program lazy_guard {
  workgroup 64;
  over len(o);
  in    a : u32[];
  in    b : $T[];
  inout o : u32[];
  let i = gid.x;
  if i < len(a) && a[i] > 3 || i < len(b) && b[i] as u32 == 1 ||
      i >= 5 && i - 5 < len(a) && a[i - 5] < 2 {
    o[i] = 7;
  }
  o[i] += select(i < len(a) && (i < len(b) && (a[i] as f32 > 2.0 || b[i] as u32 == 0)), 100, 10);
}
)";

void add_guards(std::vector<Case>& cases) {
  for (const char* const type : {"u32", "u8"})
    for (const int length : {1, 31, 33, 64, 100, 1023})
      cases.push_back(
          {.name = fmt::format("lazy_guard_{}_{}", type, length),
           .text = fill(kGuard, {{"$T", type}}),
           .run_line = fmt::format("--in a=random({},0,9) --in b=random({},0,4) --in o=iota({})",
                                   length, length / 2 + 1, length + 200),
           .guarded = true});
}

}  // namespace

std::vector<Case> bounds_cases() {
  std::vector<Case> cases;
  for (const Type type : kElements)
    for (const Access& access : accesses(type))
      for (const Type index : kIntegers) {
        // Every kind of index meets u32; the others take turns.
        const size_t choice = (access.name.size() + static_cast<size_t>(type)) % 4;
        if (type != Type::U32 && index != Type::U32 && index != kIntegers[choice]) continue;
        cases.push_back(
            {.name = fmt::format("bounds_{}_{}_by_{}", access.name, name_of(type), name_of(index)),
             .text = text_of(access, type, index),
             .inputs = inputs_of(type, index, indices(index))});
      }
  add_affine(cases);
  add_copies(cases);
  add_guards(cases);
  return cases;
}

std::vector<Case> checked_cases() {
  std::vector<Case> cases;
  size_t choice = 0;
  const auto add = [&](const Access& access, Type type, Type index, std::optional<uint64_t> bad) {
    // Good indices but for some lanes; the smallest of them tells.
    std::vector<uint64_t> at(64);
    for (size_t i = 0; i < at.size(); ++i) at[i] = i % kSize;
    const size_t lane = ++choice * 7 % 64;
    if (bad) {
      at[lane] = *bad;
      at[63] = *bad;
    }
    cases.push_back({.name = fmt::format("checked_{}_{}_by_{}_{}", access.name, name_of(type),
                                         name_of(index), bad ? fmt::format("{:x}", *bad) : "fine"),
                     .text = text_of(access, type, index),
                     .inputs = inputs_of(type, index, at),
                     .checked = true,
                     .error = bad ? std::optional(ErrorCode::OutOfBounds) : std::nullopt});
  };
  for (const Type type : kElements)
    for (const Access& access : accesses(type)) {
      // These read past an end on purpose, or store to one element from several lanes.
      if (access.name == "store_writeonly") continue;
      const std::vector<uint64_t> bad = {kSize, 0xFFFF'FFFF, kSize + 1, 0x8000'0000, 0xFFFF'FFF0};
      add(access, type, Type::U32, bad[(choice + access.name.size()) % bad.size()]);
      if (access.name == "load") add(access, type, Type::U32, {});
      if (type != Type::U32 || access.name != "load") continue;
      for (const Type index : kIntegers)
        for (const uint64_t one : indices(index))
          if (one >= kSize && (index != Type::U32 || std::ranges::find(bad, one) == bad.end()))
            add(access, type, index, one);
    }
  return cases;
}

}  // namespace vyre::conformance
