// SPDX-License-Identifier: Apache-2.0
// Where programs are cut, what lives at the edges of the pieces, and where it is kept.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

constexpr std::string_view kHead =
    "program p { workgroup 4; inout a : u32[]; in n : u32[4]; shared s : u32[4]; shared t : "
    "u32[4];";

std::string tree(std::string_view body) {
  return tree_of(std::string(kHead) + std::string(body) + "}");
}
std::string homes(std::string_view body) {
  return storage_of(std::string(kHead) + std::string(body) + "}");
}

TEST(Cut, StraightLine) {
  EXPECT_EQ(tree(R"(
    let x = a[gid.x];
    let i = gid.x + n[0];
    var y = 1u32;
    barrier grid;
    y += x;
    barrier grid;
    barrier grid;
    a[i] = y;)"),
            R"(
piece 0, ends a phase
  in:
  let x = a[gid.x];
  let i = gid.x + n[0];
  var y = 1u32;
  out: x i y
piece 1, ends a phase
  in: x i y
  y += x;
  out: i y
piece 2, ends a phase
piece 3
  in: i y
  a[i] = y;
  out:
recomputed: i
)");
}

// Cuts before a branch or loop end no phase; the word they decide on is never computed again.
TEST(Cut, BranchAndLoop) {
  EXPECT_EQ(tree(R"(
    let x = a[gid.x];
    let go = n[0] == 1;
    if go { barrier grid; a[gid.x] = x; } else { a[gid.x] = 2; }
    for i in 0 .. 2 { barrier grid; a[gid.x] += i; })"),
            R"(
piece 0
  in:
  let x = a[gid.x];
  let go = n[0] == 1;
  let taken : bool = go;
  out: x taken
branch taken
  piece 1, ends a phase
  piece 2
    in: x
    a[gid.x] = x;
    out:
else
  piece 3
    in:
    a[gid.x] = 2;
    out:
piece 4
  in:
  var next_i : u32 = 0;
  let end_i : u32 = 2;
  out: next_i end_i
loop
  piece 5
    in: next_i end_i
    let again : bool = next_i < end_i;
    out: next_i end_i again
while again
  piece 6, ends a phase
    in: next_i end_i
    let i = next_i;
    out: i next_i end_i
  piece 7
    in: i next_i end_i
    a[gid.x] += i;
    next_i = next_i + 1u32;
    out: next_i end_i
recomputed: end_i
)");
}

TEST(Cut, GridLoadEndsTwoPhases) {
  EXPECT_EQ(tree("a[gid.x] = 1; let x = grid_load(a[0]); a[gid.x] += x;"), R"(
piece 0, ends a phase
  in:
  a[gid.x] = 1;
  out:
piece 1, ends a phase
  in:
  let x = grid_load(a[0]);
  out: x
piece 2
  in: x
  a[gid.x] += x;
  out:
)");
}

TEST(Cut, Fixpoint) {
  EXPECT_EQ(tree(R"(
    var k = a[gid.x];
    fixpoint max n[0] over (a) { a[gid.x] = k; k += 1; }
    a[gid.x] = fixpoint_passes();)"),
            R"(
piece 0, ends a phase
  in:
  var k = a[gid.x];
  let most : u32 = n[0];
  out: k most
fixpoint 0 at most most
  piece 1, ends a phase
    in: k most
    let at : u32 = gid.x;
    let old : u32 = a[at];
    a[at] = k;
    if a[at] != old {
      atomic_store(control[3u32], 1u32);
    }
    k += 1;
    out: k most
piece 2
  in:
  a[gid.x] = fixpoint_passes();
  out:
)");
}

// An element keeps the rest of a private array alive; its declaration begins a new one.
TEST(Cut, PrivateArrays) {
  EXPECT_EQ(tree(R"(
    var v : u32[3];
    v[0] = a[gid.x];
    barrier grid;
    v[1] = 2;
    barrier grid;
    a[gid.x] = v[0] + v[1];
    var w : u32[3];
    barrier grid;
    a[gid.x] = w[0];)"),
            R"(
piece 0, ends a phase
  in:
  var v : u32[3];
  v[0] = a[gid.x];
  out: v
piece 1, ends a phase
  in: v
  v[1] = 2;
  out: v
piece 2, ends a phase
  in: v
  a[gid.x] = v[0] + v[1];
  var w : u32[3];
  out: w
piece 3
  in: w
  a[gid.x] = w[0];
  out:
)");
}

// A lane that waits needs what lives after its own resume and, while others may wait, after theirs.
TEST(Cut, TwoTags) {
  EXPECT_EQ(tree(R"(
    let x = a[gid.x];
    if gid.x == 1 { trap(1, 0); }
    let y = a[gid.x + 1];
    if gid.x == 2 { trap(2, 0); }
    let z = a[gid.x + 2];
    barrier grid;
    a[gid.x] = z;
    resume(2);
    a[gid.x] += y;
    if gid.x == 3 { trap(1, 1); }
    resume(1);
    a[gid.x] += x;)"),
            R"(
piece 0, ends a phase, lanes may be gone, open 1 2
  in:
  let x = a[gid.x];
  if gid.x == 1 {
    trap(1, 0);
  }
  let y = a[gid.x + 1];
  if gid.x == 2 {
    trap(2, 0);
  }
  let z = a[gid.x + 2];
  out: x y z
piece 1, lanes may be gone, open 1 2
  in: x y z
  a[gid.x] = z;
  out: x y
resume 2
piece 2, lanes may be gone, open 1
  in: x y
  a[gid.x] += y;
  if gid.x == 3 {
    trap(1, 1);
  }
  out: x
resume 1
piece 3, lanes may be gone
  in: x
  a[gid.x] += x;
  out:
live after resume(1): x
live after resume(2): x y
parked at trap(1) of line 3: x
parked at trap(2) of line 5: x y
parked at trap(1) of line 11: x
)");
}

TEST(Cut, ReturnAndUnmatchedTrap) {
  EXPECT_EQ(tree(R"(
    let x = a[gid.x];
    let y = a[gid.x + 1];
    barrier grid;
    if x == 1 { return; }
    if x == 2 { trap(9, x + y); }
    barrier grid;
    a[gid.x] = 1;)"),
            R"(
piece 0, ends a phase
  in:
  let x = a[gid.x];
  let y = a[gid.x + 1];
  out: x y
piece 1, ends a phase, lanes may be gone
  in: x y
  if x == 1 {
    return;
  }
  if x == 2 {
    trap(9, x + y);
  }
  out:
piece 2, lanes may be gone
  in:
  a[gid.x] = 1;
  out:
)");
}

// Restored where it may have been written before and matters; `t` is written and never read.
TEST(Cut, SharedMemory) {
  EXPECT_EQ(tree(R"(
    s[lid.x] = 1;
    t[lid.x] = 2;
    barrier grid;
    a[gid.x] = 1;
    barrier grid;
    a[gid.x] = s[0];
    t[0] = 1;
    barrier grid;
    s[lid.x] = 4;)"),
            R"(
piece 0, ends a phase
  in: s
  s[lid.x] = 1;
  t[lid.x] = 2;
  out: s
  save: s
piece 1, ends a phase
  in: s
  a[gid.x] = 1;
  out: s
  restore: s
  save: s
piece 2, ends a phase
  in: s
  a[gid.x] = s[0];
  t[0] = 1;
  out:
  restore: s
piece 3
  in:
  s[lid.x] = 4;
  out:
)");
}

// Dead on the way of lanes that go on, needed by those that wait.
TEST(Cut, SharedMemoryOfWaitingLanes) {
  EXPECT_EQ(tree(R"(
    if gid.x == 1 { trap(1, 0); }
    s[lid.x] = 1;
    barrier grid;
    a[gid.x] = 1;
    return;
    resume(1);
    a[gid.x] = s[lid.x];)"),
            R"(
piece 0, ends a phase, lanes may be gone, open 1
  in: s
  if gid.x == 1 {
    trap(1, 0);
  }
  s[lid.x] = 1;
  out: s
  save: s
piece 1, lanes may be gone, open 1
  in:
  a[gid.x] = 1;
  return;
  out: s
  restore: s
  save: s
resume 1
piece 2, lanes may be gone
  in: s
  a[gid.x] = s[lid.x];
  out:
  restore: s
live after resume(1): s
parked at trap(1) of line 2: s
)");
}

TEST(Cut, Collective) {
  EXPECT_EQ(tree("let x = a[gid.x]; all_reduce(a, add); a[gid.x] += x;"), R"(
piece 0
  in:
  let x = a[gid.x];
  out: x
collective
piece 1
  in: x
  a[gid.x] += x;
  out:
)");
}

TEST(Cut, WorkgroupScope) {
  EXPECT_EQ(tree_of(R"(program p {
    workgroup 4; inout a : u32[]; shared s : u32[4];
    let x = a[gid.x];
    async copy(1, s, 0, a, wid.x * 4, 4);
    let w = wid.x + 1;
    wait(1);
    for i in 0 .. w { barrier workgroup; s[lid.x] += x; }
    a[gid.x] = s[0];
  })",
                    ir::Scope::Workgroup),
            R"(
piece 0, ends a phase
  in: s
  let x = a[gid.x];
  let copy_word : u32 = 0;
  let copy_word_2 : u32 = wid.x * 4;
  let copy_word_3 : u32 = 4;
  let w = wid.x + 1;
  out: x w copy_word copy_word_2 copy_word_3 s
copy copy_word copy_word_2 copy_word_3
piece 1
  in: x w s
  var next_i : u32 = 0;
  let end_i : u32 = w;
  out: x next_i end_i s
  restore: s
  save: s
loop
  piece 2
    in: x next_i end_i s
    let again : bool = next_i < end_i;
    out: x next_i end_i again s
    restore: s
    save: s
while again
  piece 3, ends a phase
    in: x next_i end_i s
    let i = next_i;
    out: x next_i end_i s
    restore: s
    save: s
  piece 4
    in: x next_i end_i s
    s[lid.x] += x;
    next_i = next_i + 1u32;
    out: x next_i end_i s
    restore: s
    save: s
piece 5
  in: s
  a[gid.x] = s[0];
  out:
  restore: s
recomputed: w end_i
)");
}

// ---- homes

// A slot is used again when nothing that shares an edge with its value needs it.
TEST(Homes, SlotsAreUsedAgain) {
  EXPECT_EQ(homes(R"(
    let x = a[gid.x];
    let y = a[gid.x + 1];
    barrier grid;
    a[gid.x] = x + y;
    let z = a[gid.x + 2];
    barrier grid;
    let f = (z as f32);
    barrier grid;
    a[gid.x] = (f as u32);)"),
            R"(
x: slot 0
y: slot 1
z: slot 0
f: slot 2
slot 0: u32
slot 1: u32
slot 2: f32
frame words 0, workgroup frame rows 0
)");
}

TEST(Homes, ConflictOverOneEdge) {
  EXPECT_EQ(homes(R"(
    let x = a[gid.x];
    barrier grid;
    let y = a[gid.x + 1];
    barrier grid;
    a[gid.x] = x + y;)"),
            R"(
x: slot 0
y: slot 1
slot 0: u32
slot 1: u32
frame words 0, workgroup frame rows 0
)");
}

// While a lane may wait, its values keep their slots over all edges.
TEST(Homes, ConflictThroughAResume) {
  EXPECT_EQ(homes(R"(
    let x = a[gid.x];
    if gid.x == 1 { trap(1, 0); }
    barrier grid;
    let y = a[gid.x];
    barrier grid;
    a[gid.x] = y;
    return;
    resume(1);
    a[gid.x] = x;)"),
            R"(
x: slot 0
y: slot 1
slot 0: u32
slot 1: u32
frame words 0, workgroup frame rows 0
)");
}

TEST(Homes, FramesAndArrays) {
  EXPECT_EQ(homes(R"(
    var g = n[0];
    var wide = (n[1] as u64);
    var w = wid.x;
    var wide_w = (wid.x as i64);
    var flag = true;
    var v : f32[3];
    var u : f32[3];
    var l = (a[gid.x] as i64);
    barrier grid;
    g += 1; wide += 1; w += 1; wide_w += 1; flag = !flag; v[0] = 1.0; u[0] = 1.0; l += 1;
    barrier grid;
    if flag { a[gid.x] = g + (wide as u32) + w + (wide_w as u32) + (v[1] as u32) + (l as u32) + (u[1] as u32); })"),
            R"(
g: frame 0
wide: frame 1
w: workgroup frame 0
wide_w: workgroup frame 1
flag: frame 3
v: frame 4
u: frame 7
l: slot 0
slot 0: i64
frame words 10, workgroup frame rows 2
)");
}

// At workgroup scope everything that a workgroup shares lies in the frame.
TEST(Homes, WorkgroupScope) {
  EXPECT_EQ(storage_of(R"(program p {
    workgroup 4; inout a : u32[];
    var g = len(a);
    var w = wid.x;
    var l = a[gid.x];
    barrier workgroup;
    g += 1; w += 1; l += 1;
    barrier workgroup;
    a[gid.x] = g + w + l;
  })",
                       ir::Scope::Workgroup),
            R"(
g: frame 0
w: frame 1
l: slot 0
slot 0: u32
frame words 2, workgroup frame rows 0
)");
}

}  // namespace
}  // namespace vyre::plan
