// SPDX-License-Identifier: Apache-2.0
#include "vyre/check/overwritten.hpp"

#include <cstring>

#include "check/program_test.hpp"

namespace vyre::check {
namespace {

using Words = std::vector<uint32_t>;

struct Case {
  uint32_t elements = 1000;     // of `data`
  Words u = {40, 25, 1000, 0};  // the uniform
  bool known = true;            // what it holds
  std::optional<Axes> grid = {};
  std::optional<Axes> workgroup = {};
};

// The buffers that are overwritten, as "a b". The program has `uniform u : u32[4]` and
// `in data : u32[]`.
std::string overwritten_in(std::string_view source, const Case& c = {}) {
  const CheckedProgram program = checked(source);
  const Words data(c.elements);
  std::vector<std::span<const std::byte>> inputs;
  std::vector<std::span<const std::byte>> given(program.buffers.size());
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    if (!program.buffers[i].input_slot) continue;
    const bool uniform = program.buffers[i].role == Role::Uniform;
    inputs.push_back(std::as_bytes(std::span(uniform ? c.u : data)));
    if (c.known || !uniform) given[i] = inputs.back();
  }
  const auto launch =
      resolve_launch(program, {.inputs = inputs, .grid = c.grid, .workgroup = c.workgroup});
  EXPECT_TRUE(launch) << to_string(launch.error());
  if (!launch) return "";
  const std::vector<bool> all = overwritten(program, *launch, given);
  std::string names;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i]) names += (names.empty() ? "" : " ") + program.program.buffers[i].name;
  return names;
}

// Statements in a program of one lane for each element of `a`, and a few more.
std::string one(std::string_view statements, const Case& c = {}, std::string_view items = "") {
  return overwritten_in(
      "program t {\n  workgroup 64;\n  over len(data);\n  uniform u : u32[4];\n"
      "  in data : u32[];\n  inout io : u32[];\n  out a : u32[] @count(len(data));\n"
      "  shared s : u32[64];\n" +
          std::string(items) + "\n" + std::string(statements) + "\n}\n",
      c);
}

// A lane for each point of a picture of u[0] x u[1] points, and those up to whole workgroups.
std::string picture(std::string_view statements, const Case& c = {}) {
  return overwritten_in(
      "program t {\n  workgroup 16, 8;\n  over u[0], u[1];\n"
      "  uniform u : u32[4];\n  in data : u32[];\n"
      "  out a : u32[] @count(u[0] * u[1]);\n" +
          std::string(statements) + "\n}\n",
      c);
}

TEST(Overwritten, ByItsOwnLane) {
  EXPECT_EQ(one("a[gid.x] = 1;"), "a");
  EXPECT_EQ(one("let i = gid.x; if i < len(a) { a[i] = data[i]; }"), "a");
  EXPECT_EQ(one("let i = gid.x; if i >= len(data) { return; } a[i] = data[i];"), "a");
  EXPECT_EQ(one("if !(gid.x < len(a)) { return; } else { } a[gid.x] = 1;"), "a");
  EXPECT_EQ(one("if gid.x < len(a) { } else { return; } a[gid.x] = 1;"), "a");
  EXPECT_EQ(one("let inside = len(a) > gid.x; if inside { a[gid.x] = 1; }"), "a");
  EXPECT_EQ(one("var i = gid.x; if i <= 999 && gid.y == 0 { a[i] = 1; }"), "a");
  EXPECT_EQ(one("a[wid.x * 64 + lid.x] = 1;"), "a");
  EXPECT_EQ(one("a[(wid.x << 6) + lid.x] = 1;"), "a");
  EXPECT_EQ(one("a[wid.x * workgroup_size.x + lid.x] = 1;"), "a");
  EXPECT_EQ(one("a[999 - gid.x] = 1;"), "a");
  EXPECT_EQ(one("let i = gid.x as i32; if i < (len(a) as i32) { a[i] = 1; }"), "a");
  EXPECT_EQ(one("a[gid.x as u64] = 1;"), "a");
  EXPECT_EQ(one("if gid.x < len(a) { if data[gid.x] > 3 { io[0] = 1; } a[gid.x] = 1; }"), "a");
}

TEST(Overwritten, OnlyInPart) {
  EXPECT_EQ(one(""), "");
  EXPECT_EQ(one("a[gid.x + 1] = 1;"), "");
  EXPECT_EQ(one("a[gid.x * 2] = 1;"), "");
  EXPECT_EQ(one("a[gid.x / 2] = 1;"), "");
  EXPECT_EQ(one("a[gid.x ^ 1] = 1;"), "");
  EXPECT_EQ(one("a[lid.x] = 1;"), "");
  EXPECT_EQ(one("a[wid.x] = 1;"), "");
  EXPECT_EQ(one("a[data[gid.x]] = 1;"), "");
  EXPECT_EQ(one("a[998 - gid.x] = 1;"), "");
  EXPECT_EQ(one("if gid.x < 999 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("if gid.x > 0 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("if gid.x != 5 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("if gid.x != 0 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("if gid.x < len(a) || data[0] == 1 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("if gid.x < len(a) && data[0] == 1 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("if lid.x < 63 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("if gid.x < len(a) { if lid.x == 0 { a[gid.x] = 1; } }"), "");
  EXPECT_EQ(one("if gid.y == 1 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("if false { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("if subgroup_lane == 0 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("var i = gid.x; if data[0] == 1 { i = 0; } a[i] = 1;"), "");
  // Both sides store, and each for a part of the lanes.
  EXPECT_EQ(one("if data[gid.x] == 1 { a[gid.x] = 1; } else { a[gid.x] = 2; }"), "");
}

TEST(Overwritten, GridAndLength) {
  EXPECT_EQ(one("a[gid.x] = 1;", {.grid = Axes{16, 1, 1}}), "a");  // 1024 lanes
  EXPECT_EQ(one("a[gid.x] = 1;", {.grid = Axes{15, 1, 1}}), "");
  EXPECT_EQ(one("a[gid.x] = 1;", {.grid = Axes{1, 16, 1}}), "");
  EXPECT_EQ(one("a[gid.x] = 1;", {.grid = Axes{0, 1, 1}}), "");
  EXPECT_EQ(one("a[gid.x] = 1;", {.grid = Axes{16, 3, 2}}), "a");
  EXPECT_EQ(one("a[0] = 1;", {.elements = 1}), "a");
  EXPECT_EQ(one("a[0] = 1;", {.elements = 2}), "");
  EXPECT_EQ(one("a[1] = 1;", {.elements = 1}), "");
  EXPECT_EQ(one("if gid.x == 0 { a[0] = 1; }", {.elements = 1}), "a");
  EXPECT_EQ(one("if gid.x == 64 { a[0] = 1; }", {.elements = 1}), "");  // there is no such lane
  const std::string_view plain =
      "program t { workgroup 64; over len(data); in data : u32[]; writeonly a : u32[] "
      "@count(len(data)); a[gid.x] = 1; }";
  EXPECT_EQ(overwritten_in(plain, {.workgroup = Axes{128, 1, 1}}), "a");
  EXPECT_EQ(overwritten_in(plain, {.grid = Axes{8, 1, 1}, .workgroup = Axes{128, 1, 1}}), "a");
  EXPECT_EQ(overwritten_in(plain, {.grid = Axes{8, 1, 1}, .workgroup = Axes{64, 1, 1}}), "");
}

TEST(Overwritten, TwoAxes) {
  EXPECT_EQ(picture("if gid.x >= u[0] || gid.y >= u[1] { return; } a[gid.y * u[0] + gid.x] = 1;"),
            "a");
  EXPECT_EQ(picture("if gid.x < u[0] && gid.y < u[1] { a[gid.y * u[0] + gid.x] = 1; }"), "a");
  EXPECT_EQ(picture("let i = gid.y * u[0] + gid.x; if i < len(a) { a[i] = 1; }"), "a");
  EXPECT_EQ(picture("a[gid.y * u[0] + gid.x] = 1;"), "a");
  EXPECT_EQ(picture("if gid.x < u[0] && gid.y < u[1] { a[gid.x * u[1] + gid.y] = 1; }"), "a");
  EXPECT_EQ(picture("a[gid.y * num_workgroups.x * 16 + gid.x] = 1;"), "a");
  EXPECT_EQ(picture("if gid.x + 1 < u[0] && gid.y < u[1] { a[gid.y * u[0] + gid.x] = 1; }"), "");
  EXPECT_EQ(picture("if gid.x > 0 && gid.x < u[0] { a[gid.y * u[0] + gid.x] = 1; }"), "");
  EXPECT_EQ(picture("if gid.x < u[0] && gid.y + 1 < u[1] { a[gid.y * u[0] + gid.x] = 1; }"), "");
  EXPECT_EQ(picture("if gid.x < u[0] { a[gid.y * (u[0] + 1) + gid.x] = 1; }"), "");
  EXPECT_EQ(picture("if gid.x < gid.y { a[gid.y * u[0] + gid.x] = 1; }"), "");
  // Nothing says what u[0] is in the code.
  EXPECT_EQ(picture("a[gid.y * u[0] + gid.x] = 1;", {.known = false}), "");
  EXPECT_EQ(picture("a[gid.y * u[9] + gid.x] = 1;"), "");  // zero, as it is out of bounds
}

TEST(Overwritten, WhatWraps) {
  // gid.x - 1 is the largest number in lane 0, which does not pass.
  EXPECT_EQ(one("if gid.x - 1 < len(a) { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("if gid.x + 1 > 0 { a[gid.x] = 1; }"), "a");
  EXPECT_EQ(one("if gid.x * 0x1000_0000 < 0x8000_0000 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("a[gid.x + 5 - 5] = 1;"), "a");
  EXPECT_EQ(one("a[gid.x - 5 + 5] = 1;"), "a");
  // Cancels out to 2^32 - 5, not to -5.
  EXPECT_EQ(one("let far = gid.x - 5 - gid.x; if gid.x < far { a[gid.x] = 1; }"), "a");
  EXPECT_EQ(one("let far = gid.x - 5 - gid.x; if gid.x >= far { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("let i = gid.x as i32; if i - 10 < 0 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("let i = gid.x as i32; if i - 10 >= -10 { a[gid.x] = 1; }"), "a");
  EXPECT_EQ(one("a[gid.x * (0x1_0000_0001u64 as u32)] = 1;"), "a");
  EXPECT_EQ(one("a[((gid.x as u64) * 0x1_0000_0001u64) as u32] = 1;"), "");
}

TEST(Overwritten, Loops) {
  const std::string_view stride =
      "program t { workgroup 64; over 256; in data : u32[]; out a : u32[] @count(len(data)); ";
  const auto strided = [&](std::string_view text) {
    return overwritten_in(std::string(stride) + std::string(text) + "}");
  };
  EXPECT_EQ(strided("for i in gid.x .. len(a) step 256 { a[i] = 1; }"), "a");
  EXPECT_EQ(strided("for i in gid.x .. 1000 step 128 { a[i] = data[i]; }"), "a");
  EXPECT_EQ(strided("for k in 0 .. 4 { a[k * 256 + gid.x] = 1; }"), "a");
  EXPECT_EQ(strided("for k in 0 .. 4 { a[gid.x * 4 + k] = 1; }"), "a");
  EXPECT_EQ(strided("for k in 0 .. 2 { for j in 0 .. 2 { a[k * 512 + j * 256 + gid.x] = 1; } }"),
            "a");
  EXPECT_EQ(strided("for k in 0 .. 4 { for j in 0 .. k { } a[k * 256 + gid.x] = 1; }"), "a");
  EXPECT_EQ(strided("for k in 0 .. 4 { while data[k] > 0 { break; } a[k * 256 + gid.x] = 1; }"),
            "a");
  EXPECT_EQ(strided("for i in gid.x .. len(a) step 257 { a[i] = 1; }"), "");
  EXPECT_EQ(strided("for i in gid.x .. 999 step 256 { a[i] = 1; }"), "");
  EXPECT_EQ(strided("for i in gid.x + 1 .. len(a) step 256 { a[i] = 1; }"), "");
  EXPECT_EQ(strided("for k in 0 .. 3 { a[k * 256 + gid.x] = 1; }"), "");
  EXPECT_EQ(strided("for k in 1 .. 4 { a[k * 256 + gid.x] = 1; }"), "");
  EXPECT_EQ(strided("for k in 0 .. data[0] { a[k * 256 + gid.x] = 1; }"), "");
  EXPECT_EQ(strided("for k in 0 .. 4 { if k == 2 { break; } a[k * 256 + gid.x] = 1; }"), "");
  EXPECT_EQ(strided("for k in 0 .. 4 { a[k * 256 + gid.x] = 1; if data[k] > 0 { break; } }"), "");
  EXPECT_EQ(strided("for k in 0 .. 4 { if data[k] > 0 { continue; } a[k * 256 + gid.x] = 1; }"),
            "");
  EXPECT_EQ(strided("for k in 0 .. 4 { a[k * 256 + gid.x] = 1; if data[k] > 0 { return; } }"), "");
  EXPECT_EQ(strided("for k in 0 .. 4 { for j in 0 .. k { a[j * 256 + gid.x] = 1; } }"), "");
  EXPECT_EQ(one("while data[0] > 0 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("for k in 0 .. 0 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("for k in 0 .. 1 { a[gid.x] = k; }"), "a");
}

TEST(Overwritten, LanesThatEndBefore) {
  EXPECT_EQ(one("if data[gid.x] == 1 { return; } a[gid.x] = 1;"), "");
  EXPECT_EQ(one("if gid.x < 5 { return; } a[gid.x] = 1;"), "");
  EXPECT_EQ(one("if gid.x < 2000 { if data[0] == 1 { return; } } a[gid.x] = 1;"), "");
  EXPECT_EQ(one("if gid.x >= 1000 { if data[0] == 1 { return; } } a[gid.x] = 1;"), "");
  EXPECT_EQ(one("while data[0] > 0 { return; } a[gid.x] = 1;"), "");
  EXPECT_EQ(one("for k in 0 .. 3 { if data[k] == 1 { return; } } a[gid.x] = 1;"), "");
  EXPECT_EQ(one("region x { if data[0] == 1 { return; } } region y { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("region x { if gid.x >= len(a) { return; } } region y { a[gid.x] = 1; }"), "a");
  EXPECT_EQ(one("if gid.x < len(a) { a[gid.x] = 1; } if data[0] == 1 { return; }"), "a");
  EXPECT_EQ(one("if gid.x < len(a) { a[gid.x] = 1; return; } io[0] = 1;"), "a");
}

TEST(Overwritten, Reads) {
  EXPECT_EQ(one("io[0] = a[0]; a[gid.x] = 1;"), "");
  EXPECT_EQ(one("a[gid.x] = 1; io[0] = a[0];"), "");  // another lane may be faster
  EXPECT_EQ(one("a[gid.x] = 1; a[gid.x] += 1;"), "");
  EXPECT_EQ(one("a[gid.x] += 1;"), "");
  EXPECT_EQ(one("atomic_add(a[gid.x], 1);"), "");
  EXPECT_EQ(one("atomic_store(a[gid.x], 1);"), "");
  EXPECT_EQ(one("a[gid.x] = 1; atomic_add(a[0], 1);"), "");
  EXPECT_EQ(one("a[gid.x] = 1; barrier workgroup; io[0] = a[0];"), "");
  EXPECT_EQ(one("a[gid.x] = 1; barrier grid; io[0] = a[0];"), "a");
  EXPECT_EQ(one("a[gid.x] = 1; barrier grid; atomic_add(a[0], 1);"), "a");
  EXPECT_EQ(one("a[gid.x] = 1; let x = grid_load(a[0]); io[0] = x;"), "a");
  EXPECT_EQ(one("a[gid.x] = 1; let x = workgroup_load(a[0]); io[0] = x;"), "");
  EXPECT_EQ(one("barrier grid; a[gid.x] = 1; io[0] = a[0];"), "");
  EXPECT_EQ(one("a[gid.x] = 1; if u[0] == 40 { barrier grid; io[0] = a[0]; }"), "a");
  EXPECT_EQ(one("a[gid.x] = 1; if data[0] == 40 { barrier grid; } io[0] = a[0];"), "");
  EXPECT_EQ(one("a[gid.x] = 1; for k in 0 .. data[0] { barrier grid; io[k] = a[k]; }"), "a");
  EXPECT_EQ(one("a[gid.x] = 1; for k in 0 .. data[0] { io[k] = a[k]; barrier grid; }"), "");
  EXPECT_EQ(one("a[gid.x] = 1; while grid_load(a[0]) > 0 { a[gid.x] = 0; }"), "a");
  EXPECT_EQ(one("async copy(0, s, 0, a, 0, 64); wait(0); a[gid.x] = s[lid.x];"), "");
  EXPECT_EQ(one("async copy(0, a, 0, data, 0, len(a)); wait(0);"), "");
  // All turns of the loop store together; the first of them does not.
  EXPECT_EQ(overwritten_in("program t { workgroup 64; over 256; in data : u32[]; inout io : u32[]; "
                           "out a : u32[] @count(len(data)); for k in 0 .. 4 { "
                           "a[k * 256 + gid.x] = 1; barrier grid; io[k] = a[999]; } }"),
            "");
}

// The barrier waits for lanes that are there; nobody promises when others are seen.
TEST(Overwritten, ReadsOfWhatEndedLanesStored) {
  EXPECT_EQ(one("a[gid.x] = 1; if data[0] == 1 { return; } barrier grid; io[0] = a[0];"), "");
  EXPECT_EQ(one("if data[0] == 1 { a[gid.x] = 2; return; } barrier grid; io[0] = a[0];"), "");
  EXPECT_EQ(one("if gid.x >= len(a) { return; } a[gid.x] = 1; barrier grid; io[0] = a[0];"), "a");
  EXPECT_EQ(one("a[gid.x] = 1; barrier grid; if data[0] == 1 { return; } io[0] = a[0];"), "a");
}

TEST(Overwritten, Fixpoints) {
  EXPECT_EQ(one("a[gid.x] = 1; fixpoint max 9 over (a) { atomic_max(a[0], data[gid.x]); }"), "a");
  EXPECT_EQ(one("fixpoint max 9 over (a) { a[gid.x] = 1; }"), "");  // the first pass is compared
  EXPECT_EQ(one("fixpoint max 9 over (a) { io[0] = 1; } a[gid.x] = 1;"), "");
  EXPECT_EQ(one("a[gid.x] = 1; if data[0] == 1 { return; } fixpoint max 9 over (a) { }"), "");
  EXPECT_EQ(one("fixpoint max 9 over (io) { io[0] = 1; } a[gid.x] = 1;"), "a");
  EXPECT_EQ(one("fixpoint max 9 over (io) { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("fixpoint max 9 over (io) { if data[0] == 1 { return; } } a[gid.x] = 1;"), "");
  // At most 0 passes stop the program as a trap does.
  EXPECT_EQ(one("fixpoint max data[0] over (io) { io[0] = 1; } a[gid.x] = 1;"), "");
  EXPECT_EQ(one("fixpoint max u[3] over (io) { io[0] = 1; } a[gid.x] = 1;"), "");
  EXPECT_EQ(one("fixpoint max u[2] over (io) { io[0] = 1; } a[gid.x] = 1;"), "a");
  EXPECT_EQ(one("a[gid.x] = 1; fixpoint max data[0] over (io) { io[0] = 1; }"), "a");
  EXPECT_EQ(overwritten_in("program t { workgroup 64; over 256; in data : u32[]; inout io : u32[]; "
                           "out a : u32[] @count(len(data)); for k in 0 .. 4 { "
                           "a[k * 256 + gid.x] = 1; fixpoint max data[k] over (io) { io[0] = 1; } "
                           "} }"),
            "");
}

TEST(Overwritten, ProgramsThatMayStop) {
  EXPECT_EQ(one("a[gid.x] = 1; if data[0] == 1 { trap(1, 0); }"), "");
  EXPECT_EQ(one("a[gid.x] = 1; if data[0] == 1 { trap(1, 0); } resume(1);"), "");
  EXPECT_EQ(one("a[gid.x] = 1; all_reduce(a, add);"), "");
}

TEST(Overwritten, Functions) {
  const std::string_view put =
      "fn put(b : buffer u32[], i : u32, x : u32) { if i >= len(b) { return; } b[i] = x; }";
  EXPECT_EQ(one("put(a, gid.x, 1);", {}, put), "a");
  EXPECT_EQ(one("put(io, gid.x, 1);", {}, put), "");
  EXPECT_EQ(one("put(a, gid.x + 1, 1);", {}, put), "");
  EXPECT_EQ(one("put(a, lid.x, 1); put(a, gid.x, 2);", {}, put), "a");
  EXPECT_EQ(one("if data[0] == 1 { put(a, gid.x, 1); }", {}, put), "");
  // Its return ends the function, not the lane.
  EXPECT_EQ(one("put(io, gid.x, 1); a[gid.x] = 1;", {}, put), "a");
  const std::string_view first = "fn first(b : buffer u32[]) -> u32 { return b[0]; }";
  EXPECT_EQ(one("io[0] = first(a); a[gid.x] = 1;", {}, first), "");
  EXPECT_EQ(one("a[gid.x] = 1; barrier grid; io[0] = first(a);", {}, first), "a");
  const std::string_view some =
      "fn some(b : buffer u32[], i : u32) { if b[i] == 1 { return; } }"
      "fn late(b : buffer u32[], c : buffer u32[], i : u32) { if b[i] == 1 { return; } c[i] = 1; }";
  EXPECT_EQ(one("some(data, 0); late(data, a, gid.x);", {}, some), "");
  const std::string_view function = "fn meet(n : u32) { if n == 0 { return; } barrier grid; }";
  EXPECT_EQ(one("a[gid.x] = 1; meet(data[0]); io[0] = a[0];", {}, function), "");
}

// Operands that may not be evaluated, in every place where an expression stands. `w` stores and is
// true, `n` stores and is false.
constexpr std::string_view kLazy =
    "fn w(b : buffer u32[], i : u32) -> bool { b[i] = 1; return true; }"
    "fn n(b : buffer u32[], i : u32) -> bool { b[i] = 1; return false; }"
    "fn both(b : buffer u32[], i : u32) -> bool { return i < 1 && w(b, i); }"
    "fn number(b : buffer u32[], i : u32) -> u32 { b[i] = 1; return i; }"
    "fn same(x : bool) -> bool { return x; }";

TEST(Overwritten, LazyOperandsOfSomeLanes) {
  for (const std::string_view value :
       {"gid.x < 1 && w(a, gid.x)",
        "gid.x > 1 || w(a, gid.x)",
        "gid.x < 999 && w(a, gid.x)",
        "data[gid.x] == 1 && w(a, gid.x)",
        "!(gid.x < 1) || w(a, gid.x)",
        "data[0] == 1 && (gid.x < len(a) && w(a, gid.x))",
        "(gid.x < 1 && same(true)) && w(a, gid.x)",
        "gid.x < 1 && same(w(a, gid.x))",
        "gid.x < 1 && !w(a, gid.x)",
        "gid.x < 1 && number(a, gid.x) == 0",
        "both(a, gid.x)",
        "same(gid.x < 1 && w(a, gid.x))",
        "false && w(a, gid.x)",
        "true || w(a, gid.x)",
        "n(io, gid.x) && w(a, gid.x)",
        "w(io, gid.x) || w(a, gid.x)",
        "(data[0] == 1 || n(io, 0)) && w(a, gid.x)",
        "gid.x < 1 && (true || w(io, 0)) && w(a, gid.x)",
        "select(gid.x < 1 && w(a, gid.x), true, false)",
        "atomic_add(io[0], select(gid.x < 1 && w(a, gid.x), 1, 0)) == 0"}) {
    SCOPED_TRACE(value);
    const std::string v(value);
    EXPECT_EQ(one("let c = " + v + ";", {}, kLazy), "");
    EXPECT_EQ(one("var c = true; c = " + v + ";", {}, kLazy), "");
    EXPECT_EQ(one("if " + v + " { }", {}, kLazy), "");
    EXPECT_EQ(one("while " + v + " { break; }", {}, kLazy), "");
    EXPECT_EQ(one("for k in 0 .. select(" + v + ", 1, 0) { }", {}, kLazy), "");
    EXPECT_EQ(one("io[select(" + v + ", 0, 1)] = 1;", {}, kLazy), "");
    EXPECT_EQ(one("io[0] = select(" + v + ", 0, 1);", {}, kLazy), "");
    EXPECT_EQ(one("same(" + v + ");", {}, kLazy), "");
    // What follows is not held up by it.
    EXPECT_EQ(one("let c = " + v + "; a[gid.x] = 2;", {}, kLazy), "a");
  }
}

TEST(Overwritten, LazyOperandsOfAllLanes) {
  EXPECT_EQ(one("let c = gid.x < len(a) && w(a, gid.x);", {}, kLazy), "a");
  EXPECT_EQ(one("let c = gid.x >= len(a) || w(a, gid.x);", {}, kLazy), "a");
  EXPECT_EQ(one("let c = true && w(a, gid.x);", {}, kLazy), "a");
  EXPECT_EQ(one("let c = u[3] == 0 && (gid.y == 0 && w(a, gid.x));", {}, kLazy), "a");
  EXPECT_EQ(one("let c = u[3] == 0 && w(a, gid.x);", {.u = {40, 25, 1000, 1}}, kLazy), "");
  EXPECT_EQ(one("let c = w(a, gid.x) && gid.x < 1;", {}, kLazy), "a");  // on the left
  EXPECT_EQ(one("let c = w(a, gid.x) || n(io, 0);", {}, kLazy), "a");
  EXPECT_EQ(one("let c = select(gid.x < 1, w(a, gid.x), false);", {}, kLazy), "a");  // all three
  EXPECT_EQ(one("let c = w(a, gid.x) & (gid.x < 1);", {}, kLazy), "a");
  EXPECT_EQ(one("while w(a, gid.x) { break; }", {}, kLazy), "a");  // at least once
}

// A read counts wherever it stands.
TEST(Overwritten, LazyReads) {
  EXPECT_EQ(one("let c = gid.x < 1 && a[0] == 1; a[gid.x] = 1;"), "");
  EXPECT_EQ(one("let c = gid.x < 1 || atomic_add(a[0], 1) == 1; a[gid.x] = 1;"), "");
  EXPECT_EQ(one("a[gid.x] = 1; let c = gid.x < 1 && a[0] == 1;"), "");
  EXPECT_EQ(one("a[gid.x] = 1; barrier grid; let c = gid.x < 1 && a[0] == 1;"), "a");
}

// Loops that need not run, in the program and in functions, which stand in operands.
TEST(Overwritten, LoopsThatNeedNotRun) {
  EXPECT_EQ(one("for k in 0 .. u[3] { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("for k in 0 .. u[3] { a[gid.x] = 1; }", {.u = {40, 25, 1000, 2}}), "a");
  EXPECT_EQ(one("for k in 0 .. u[3] { a[gid.x] = 1; }", {.known = false}), "");
  EXPECT_EQ(one("for k in 5 .. 5 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("for k in gid.x .. 3 { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("for k in 0 .. data[0] { a[gid.x] = 1; }"), "");
  EXPECT_EQ(one("var k = 0; while k < 1 { a[gid.x] = 1; k += 1; }"), "");
  const std::string_view loops =
      "fn times(b : buffer u32[], i : u32, n : u32) -> bool { for k in 0 .. n { b[i] = 1; } "
      "return true; }"
      "fn until(b : buffer u32[], i : u32, n : u32) -> bool { var k = 0; while k < n { b[i] = 1; "
      "k += 1; } return true; }"
      "fn early(b : buffer u32[], i : u32, n : u32) -> bool { if i >= n { return true; } "
      "b[i] = 1; return false; }";
  EXPECT_EQ(one("times(a, gid.x, 0);", {}, loops), "");
  EXPECT_EQ(one("times(a, gid.x, 1);", {}, loops), "a");
  EXPECT_EQ(one("until(a, gid.x, 1);", {}, loops), "");
  EXPECT_EQ(one("early(a, gid.x, 999);", {}, loops), "");
  EXPECT_EQ(one("early(a, gid.x, 1000);", {}, loops), "a");
  EXPECT_EQ(one("let c = gid.x < 1 && times(a, gid.x, 1);", {}, loops), "");
  EXPECT_EQ(one("let c = gid.x < 1000 && times(a, gid.x, 1);", {}, loops), "a");
  EXPECT_EQ(one("for k in 0 .. 1 { let c = gid.x < 1 && times(a, gid.x, 1); }", {}, loops), "");
  EXPECT_EQ(one("for k in 0 .. u[3] { let c = early(a, gid.x, 1000); }", {}, loops), "");
  EXPECT_EQ(one("while early(io, gid.x, 0) && early(a, gid.x, 1000) { break; }", {}, loops), "");
}

TEST(Overwritten, KindsOfBuffers) {
  const std::string_view items =
      "writeonly w : u8[] @count(len(data)); inout l : f32[] @count(len(data)) @live_out; "
      "persistent kept : u32[]; out part : u32[] @count(len(data)) @range(0 .. 8);";
  EXPECT_EQ(one("let i = gid.x; a[i] = 1; io[i] = 1; w[i] = 1; l[i] = 1.0; kept[i] = 1; part[i] = "
                "1; s[lid.x] = 1;",
                {}, items),
            "a w l part");
}

// One lane of each workgroup stores, as in sums by workgroups.
TEST(Overwritten, ByWorkgroups) {
  const std::string_view items = "out g : u32[] @count((len(data) + 63) / 64);";
  EXPECT_EQ(one("if lid.x == 0 { g[wid.x] = 1; }", {}, items), "g");
  EXPECT_EQ(one("if lid.x == 63 { g[wid.x] = 1; } barrier grid; a[gid.x] = g[wid.x];", {}, items),
            "a g");
  EXPECT_EQ(one("if lid.x == 64 { g[wid.x] = 1; }", {}, items), "");
  EXPECT_EQ(one("if lid.x == 0 && wid.x > 0 { g[wid.x] = 1; }", {}, items), "");
  EXPECT_EQ(one("if lid.x == 0 && gid.x < len(data) { g[wid.x] = 1; }", {}, items), "");
  EXPECT_EQ(one("if lid.x == 0 { g[wid.x] = 1; }", {.grid = Axes{15, 1, 1}}, items), "");
}

// A program may be larger than anybody wants to look through before a launch.
TEST(Overwritten, StopsAtTheLimit) {
  std::string many = "a[gid.x] = 1;";
  for (int i = 0; i < 12'000; ++i) many += "io[0] = 1;";
  EXPECT_EQ(one(many), "");
  std::string twice = "let c0 = gid.x < len(a);";
  for (int i = 1; i < 40; ++i)
    twice += "let c" + std::to_string(i) + " = c" + std::to_string(i - 1) + " && c" +
             std::to_string(i - 1) + ";";
  EXPECT_EQ(one(twice + "if c3 { a[gid.x] = 1; }"), "a");
  EXPECT_EQ(one(twice + "if c39 { a[gid.x] = 1; }"), "");
}

}  // namespace
}  // namespace vyre::check
