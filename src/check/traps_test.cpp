// SPDX-License-Identifier: Apache-2.0
#include "check/program_test.hpp"

namespace vyre::check {
namespace {

TEST(Resume, EnclosesItsTraps) {
  EXPECT_EQ(errors(in_program("if gid.x == 1 { trap(7, 0); } resume(7);")), "");
  EXPECT_EQ(errors(in_program(
                "{ { if gid.x == 1 { trap(7, 0); } } } region r { trap(7, 1); } resume(7);")),
            "");
  EXPECT_EQ(errors(in_program("if gid.x == 1 { trap(7, 0); }")), "");
  EXPECT_EQ(errors(in_program("for i in 0 .. 3 { trap(7, 0); } resume(7);")), "V080");
  EXPECT_EQ(
      errors(in_program("fixpoint max 3 over (work) { if gid.x == 1 { trap(7, 0); } resume(7); }")),
      "");
  EXPECT_EQ(errors(in_program("fixpoint max 3 over (work) { trap(7, 0); } resume(7);")), "V080");
  EXPECT_EQ(errors(in_program("trap(7, 0); resume(7); trap(7, 1);")), "V080");
  EXPECT_EQ(errors(in_program("if data[0] == 1 { trap(7, 0); resume(7); } trap(7, 1);")), "V080");
  EXPECT_EQ(errors(in_program("f(); resume(7);", "fn f() { trap(7, 0); }")), "V080");
  EXPECT_EQ(errors(in_program("resume(7);")), "V080");
}

TEST(Resume, OnePerTag) {
  EXPECT_EQ(errors(in_program("trap(7, 0); resume(7); resume(7);")), "V081");
  EXPECT_EQ(errors(in_program("trap(7, 0); resume(7); trap(8, 0); resume(8);")), "");
}

TEST(Resume, LocalsOfTheSpanAreGone) {
  EXPECT_EQ(errors(in_program("if gid.x == 1 { trap(7, 0); } let y = 1; resume(7); work[0] = y;")),
            "V082");
  EXPECT_EQ(errors(in_program("let y = 1; if gid.x == 1 { trap(7, 0); } resume(7); work[0] = y;")),
            "");
  EXPECT_EQ(errors(in_program("if gid.x == 1 { trap(7, 0); } let y = 1; work[0] = y; resume(7);")),
            "");
  EXPECT_EQ(errors(in_program("if gid.x == 1 { trap(7, 0); } resume(7); let y = 1; work[0] = y;")),
            "");
  EXPECT_EQ(
      errors(in_program("if gid.x == 1 { trap(7, 0); } var y : u32[4]; resume(7); y[0] = 1;")),
      "V082");
  EXPECT_EQ(errors(in_program("if gid.x == 1 { trap(7, 0); } let y = 1; if gid.x == 2 { trap(8, "
                              "0); } resume(8); work[0] = y; resume(7);")),
            "");
}

TEST(Resume, SpansInsideSpans) {
  EXPECT_EQ(errors(in_program("if gid.x == 1 { trap(1, 0); } for i in 0 .. 3 { if gid.x == i { "
                              "trap(2, 0); } let y = i; work[y] = y; resume(2); } resume(1);")),
            "");
  EXPECT_EQ(errors(in_program("if gid.x == 1 { trap(1, 0); } for i in 0 .. 3 { if gid.x == i { "
                              "trap(2, 0); } let y = i; resume(2); work[y] = y; } resume(1);")),
            "V082");
}

TEST(Resume, NothingJumpsOverIt) {
  EXPECT_EQ(errors(in_program("while data[0] == 1 { if gid.x == 1 { trap(7, 0); } if data[1] == 1 "
                              "{ break; } resume(7); }")),
            "V083");
  EXPECT_EQ(errors(in_program("while data[0] == 1 { if data[1] == 1 { break; } if gid.x == 1 { "
                              "trap(7, 0); } resume(7); continue; }")),
            "");
  EXPECT_EQ(
      errors(in_program("if gid.x == 1 { trap(7, 0); } while data[0] == 1 { break; } resume(7);")),
      "");
  EXPECT_EQ(errors(in_program("if gid.x == 1 { trap(7, 0); } return; resume(7);")), "");
  EXPECT_EQ(
      errors(in_program(
          "f(1);", "fn f(a : u32) { if a == 1 { trap(7, 0); } if a == 2 { return; } resume(7); }")),
      "V083");
}

TEST(AsyncCopy, PairsWithItsWait) {
  EXPECT_EQ(errors(in_program("async copy(1, tile, 0, data, 0, 64); wait(1);")), "");
  EXPECT_EQ(errors(in_program("async copy(1, tile, 0, data, 0, 64); async copy(2, work, 0, data, "
                              "0, 64); wait(2); wait(1);")),
            "");
  EXPECT_EQ(errors(in_program("async copy(1, tile, 0, data, 0, 64);")), "V084");
  EXPECT_EQ(errors(in_program("wait(1);")), "V084");
  EXPECT_EQ(
      errors(in_program("async copy(1, tile, 0, data, 0, 64); if data[0] == 1 { wait(1); } ")),
      "V084 V084");
  EXPECT_EQ(errors(in_program("for i in 0 .. 4 { async copy(1, tile, 0, data, i, 64); wait(1); }")),
            "");
  EXPECT_EQ(errors(in_program("async copy(1, tile, 0, data, 0, 64); wait(1); async copy(1, tile, "
                              "0, data, 0, 64); wait(1);")),
            "");
}

TEST(AsyncCopy, WhatMayStandBetween) {
  const auto between = [](std::string_view what, std::string_view items = "") {
    return errors(in_program(
        "async copy(1, tile, 0, data, 0, 64); " + std::string(what) + " wait(1);", items));
  };
  EXPECT_EQ(
      between("barrier workgroup; work[0] = 1; for i in 0 .. 3 { if data[i] == 1 { break; } }"),
      "");
  EXPECT_EQ(between("barrier grid;"), "V085");
  EXPECT_EQ(between("if data[0] == 1 { barrier grid; }"), "V085");
  EXPECT_EQ(between("fixpoint max 2 over (work) { }"), "V085");
  EXPECT_EQ(between("if gid.x == 1 { return; }"), "V085");
  EXPECT_EQ(between("if gid.x == 1 { trap(1, 0); }"), "V085");
  EXPECT_EQ(between("async copy(1, tile, 0, data, 0, 64);"), "V085");
  EXPECT_EQ(between("let x = grid_load(work[0]);"), "V085");
  EXPECT_EQ(between("all_reduce(work, add);"), "V085");
  EXPECT_EQ(between("sync();", "fn sync() { barrier grid; }"), "V085");
  EXPECT_EQ(
      between(
          "more(tile, data);",
          "fn more(t : buffer u32[], d : buffer u32[]) { async copy(1, t, 0, d, 0, 1); wait(1); }"),
      "V085");
  EXPECT_EQ(errors(in_program("while data[0] == 1 { async copy(1, tile, 0, data, 0, 64); if "
                              "data[1] == 1 { break; } wait(1); }")),
            "V085");
}

TEST(AsyncCopy, Memories) {
  EXPECT_EQ(errors(in_program("async copy(1, tile, 0, reals, 0, 64); wait(1);")), "V064");
  EXPECT_EQ(errors(in_program("async copy(1, tile, 0, tile, 8, 8); wait(1);")), "V064");
  EXPECT_EQ(errors(in_program("async copy(1, data, 0, tile, 8, 8); wait(1);")), "V050");
  EXPECT_EQ(errors(in_program("async copy(1, work, 0, sink, 8, 8); wait(1);")), "V050");
  EXPECT_EQ(errors(in_program("var a : u32[8]; async copy(1, a, 0, data, 8, 8); wait(1);")),
            "V064");
}

}  // namespace
}  // namespace vyre::check
