// SPDX-License-Identifier: Apache-2.0
// How fixpoints notice changes: the mode of each buffer with its reason, and the marks.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

// The modes of a fixpoint over `d` with this body.
std::string modes_of(std::string_view body, bool checked = false, std::string_view type = "u32") {
  return fixpoint_modes("program p { workgroup 4; inout d : " + std::string(type) +
                            "[]; inout a : u32[]; uniform u : u32[2]; shared s : u32[8];"
                            "fixpoint max 9 over (d) {" +
                            std::string(body) + "} }",
                        checked);
}

TEST(FixpointModes, Tracked) {
  EXPECT_EQ(modes_of("atomic_max(d[0], a[gid.x]); atomic_max(d[1], 3);"),
            "d: tracked: only atomic_max writes it, so a value that changed never comes back");
  EXPECT_EQ(modes_of("atomic_min(d[0], a[gid.x]);"),
            "d: tracked: only atomic_min writes it, so a value that changed never comes back");
  EXPECT_EQ(modes_of("for i in 0 .. 4 { atomic_or(d[i], atomic_load(d[0])); }"),
            "d: tracked: only atomic_or writes it, so a value that changed never comes back");
  EXPECT_EQ(modes_of("atomic_and(d[0], a[gid.x]);"),
            "d: tracked: only atomic_and writes it, so a value that changed never comes back");
  EXPECT_EQ(modes_of("a[gid.x] = d[gid.x];"), "d: tracked: nothing inside writes it");
}

TEST(FixpointModes, TrackedStore) {
  EXPECT_EQ(modes_of("d[gid.x] = a[gid.x];"),
            "d: tracked store: one store, each lane at its own element");
  EXPECT_EQ(modes_of("if a[gid.x] == 1 { let i = gid.x + 3; d[i ^ u[0]] = 1; }"),
            "d: tracked store: one store, each lane at its own element");
  EXPECT_EQ(modes_of("d[(gid.x as i32) - 2] = 1.0;", false, "f32"),
            "d: tracked store: one store, each lane at its own element");
}

TEST(FixpointModes, SnapshotOfStores) {
  EXPECT_EQ(modes_of("d[gid.x] = 1; d[gid.x] = 2;"),
            "d: snapshot: more than one statement writes it");
  EXPECT_EQ(modes_of("d[gid.x] = 1; atomic_max(d[0], 2);"),
            "d: snapshot: more than one statement writes it");
  EXPECT_EQ(modes_of("for i in 0 .. 2 { d[gid.x] ^= 1; }"),
            "d: snapshot: it is stored in a loop, so a value may change and change back");
  EXPECT_EQ(modes_of("fixpoint max 2 over (a) { d[gid.x] += 1; }"),
            "d: snapshot: it is stored in a loop, so a value may change and change back\n"
            "a: tracked: nothing inside writes it");
  EXPECT_EQ(modes_of("d[gid.x / 2 * 2] = 1;"),
            "d: snapshot: several lanes might store to one element");
  EXPECT_EQ(modes_of("d[gid.x + a[0]] = 1;"),
            "d: snapshot: several lanes might store to one element");
  EXPECT_EQ(modes_of("d[lid.x] = 1;"), "d: snapshot: several lanes might store to one element");
  EXPECT_EQ(modes_of("d[gid.x] = 1;", true),
            "d: snapshot: checked mode reports accesses of the source only");
  EXPECT_EQ(modes_of("d[gid.x] = 1.0;", false, "f16"),
            "d: snapshot: its type has bits a load hides");
  EXPECT_EQ(modes_of("d[gid.x] = 1.0;", false, "bf16"),
            "d: snapshot: its type has bits a load hides");
  EXPECT_EQ(modes_of("d[gid.x] = true;", false, "bool"),
            "d: snapshot: its type has bits a load hides");
}

TEST(FixpointModes, SnapshotOfAtomics) {
  EXPECT_EQ(modes_of("atomic_max(d[0], 1); atomic_min(d[1], 2);"),
            "d: snapshot: several kinds of atomics write it, or one that can undo a change");
  EXPECT_EQ(modes_of("atomic_add(d[0], 1);"),
            "d: snapshot: several kinds of atomics write it, or one that can undo a change");
  EXPECT_EQ(modes_of("let old = atomic_exchange(d[gid.x], 1); a[gid.x] = old;"),
            "d: snapshot: several kinds of atomics write it, or one that can undo a change");
}

TEST(FixpointModes, SnapshotOfOtherWriters) {
  EXPECT_EQ(modes_of("if a[gid.x] == 1 { trap(1, 0); } resume(1);"),
            "d: snapshot: the handler of a resume inside may write it");
  EXPECT_EQ(modes_of("async copy(1, d, 0, s, 0, 4); wait(1);"),
            "d: snapshot: a copy, collective or swap inside writes it");
  EXPECT_EQ(modes_of("all_reduce(d, add);"),
            "d: snapshot: a copy, collective or swap inside writes it");
}

TEST(FixpointModes, TwoAxesAreNotInjective) {
  EXPECT_EQ(fixpoint_modes(R"(program p {
    workgroup 4, 2; inout d : u32[];
    fixpoint max 9 over (d) { d[gid.x] = 1; }
  })"),
            "d: snapshot: several lanes might store to one element");
}

TEST(FixpointModes, EachBufferForItself) {
  EXPECT_EQ(fixpoint_modes(R"(program p {
    workgroup 4; inout a : u32[]; inout b : u32[]; inout c : u32[];
    fixpoint max 9 over (a, b, c) {
      atomic_max(a[0], 1);
      b[gid.x] = 1;
      fixpoint max 3 over (b, a) { atomic_max(a[1], 4); }
      c[0] = 1;
    }
  })"),
            "a: tracked: only atomic_max writes it, so a value that changed never comes back\n"
            "b: tracked store: one store, each lane at its own element\n"
            "c: snapshot: several lanes might store to one element\n"
            "b: tracked: nothing inside writes it\n"
            "a: tracked: only atomic_max writes it, so a value that changed never comes back");
}

// ---- marks

TEST(TrackWrites, AtomicForItsEffect) {
  expect_golden("TrackWrites.AtomicForItsEffect", tracked(R"(program p {
    workgroup 4; inout d : u32[4]; in a : u32[];
    fixpoint max 9 over (d) { atomic_max(d[gid.x & 3], a[gid.x]); }
  })"));
}

// What stands to the left is evaluated before, the right side of && only if it is reached.
TEST(TrackWrites, AtomicInALargerExpression) {
  expect_golden("TrackWrites.AtomicInALargerExpression", tracked(R"(program p {
    workgroup 4; inout d : u32[4]; inout o : u32[];
    fixpoint max 9 over (d) {
      o[gid.x] = o[0] * 2 + atomic_or(d[1], o[1] | 4) - o[2];
      if o[gid.x] == 3 && atomic_or(d[2], 1) == 0 { o[gid.x] = 9; }
    }
  })"));
}

// Out of bounds an atomic changes nothing and still gives a value.
TEST(TrackWrites, OutOfBounds) {
  expect_golden("TrackWrites.OutOfBounds", tracked(R"(program p {
    workgroup 4; inout d : u32[]; inout e : i64[]; in i : i32[]; in w : u64[];
    fixpoint max 9 over (d, e) {
      atomic_min(d[gid.x], 3);
      atomic_min(d[i[gid.x]], 3);
      atomic_and(e[w[gid.x]], 3);
    }
  })"));
}

TEST(TrackWrites, NestedFixpointsAreBothMarked) {
  expect_golden("TrackWrites.NestedFixpointsAreBothMarked", tracked(R"(program p {
    workgroup 4; inout d : u32[4]; inout e : u32[4];
    fixpoint max 9 over (d, e) {
      fixpoint max 3 over (d) { atomic_max(d[0], 2); atomic_max(e[0], 2); }
    }
    atomic_max(d[1], 2);
  })"));
}

TEST(TrackWrites, Store) {
  expect_golden("TrackWrites.Store", tracked(R"(program p {
    workgroup 4; inout d : u32[]; inout f : f32[]; inout c : u32[4];
    fixpoint max 9 over (d, f, c) {
      d[gid.x + 1] = d[gid.x] + atomic_max(c[0], 1);
      f[gid.x] += 1.5;
    }
  })"));
}

}  // namespace
}  // namespace vyre::plan
