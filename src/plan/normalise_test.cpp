// SPDX-License-Identifier: Apache-2.0
// Control flow around barriers in its normal form, printed.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

std::string grid(std::string_view body) {
  return normalised(
      "program p { workgroup 4; inout a : u32[]; inout b : u32[]; in n : u32[4]; shared s : "
      "u32[4];" +
      std::string(body) + "}");
}
std::string workgroup(std::string_view body) {
  return normalised(
      "program p { workgroup 4; inout a : u32[]; shared s : u32[4];" + std::string(body) + "}",
      ir::Scope::Workgroup);
}

TEST(Normalise, LeavesWhatHasNoBarrier) {
  EXPECT_EQ(grid(R"(
    for i in 0 .. 3 { if n[i] == 1 { break; } barrier workgroup; }
    while a[gid.x] < 3 { a[gid.x] += 1; if a[gid.x] == 2 { continue; } }
    barrier grid;)"),
            R"(
region main {
  for i in 0 .. 3 {
    if n[i] == 1 {
      break;
    }
    barrier workgroup;
  }
  while a[gid.x] < 3 {
    a[gid.x] += 1;
    if a[gid.x] == 2 {
      continue;
    }
  }
  barrier grid;
}
)");
}

TEST(Normalise, Branch) {
  EXPECT_EQ(
      grid("if n[0] == 1 { barrier grid; } else if n[1] == 2 { a[gid.x] = 1; barrier grid; }"),
      R"(
region main {
  let taken_2 : bool = n[0] == 1;
  if taken_2 {
    barrier grid;
  } else {
    let taken : bool = n[1] == 2;
    if taken {
      a[gid.x] = 1;
      barrier grid;
    }
  }
}
)");
}

// What is read to the left of the load is read before its barriers.
TEST(Normalise, GridLoadInACondition) {
  EXPECT_EQ(grid("if a[gid.x] + n[0] * grid_load(b[0]) > a[1] { b[gid.x] = 1; }"), R"(
region main {
  let before : u32 = a[gid.x];
  let loaded : u32 = grid_load(b[0]);
  if before + n[0] * loaded > a[1] {
    b[gid.x] = 1;
  }
}
)");
  EXPECT_EQ(grid("if workgroup_load(s[0]) + grid_load(b[1]) == 2 { b[gid.x] = 1; }"), R"(
region main {
  let loaded : u32 = workgroup_load(s[0]);
  let loaded_2 : u32 = grid_load(b[1]);
  if loaded + loaded_2 == 2 {
    b[gid.x] = 1;
  }
}
)");
  EXPECT_EQ(grid("if grid_load(b[0]) == 1 && a[gid.x] == 2 { b[gid.x] = 1; }"), R"(
region main {
  let loaded : u32 = grid_load(b[0]);
  if loaded == 1 && a[gid.x] == 2 {
    b[gid.x] = 1;
  }
}
)");
  EXPECT_EQ(grid("if grid_load(b[0]) == 1 { barrier grid; b[gid.x] = 1; }"), R"(
region main {
  let loaded : u32 = grid_load(b[0]);
  let taken : bool = loaded == 1;
  if taken {
    barrier grid;
    b[gid.x] = 1;
  }
}
)");
}

TEST(Normalise, GridLoadInOtherPlaces) {
  EXPECT_EQ(grid("let x = grid_load(b[0]); a[gid.x] = x;"), R"(
region main {
  let x = grid_load(b[0]);
  a[gid.x] = x;
}
)");
  EXPECT_EQ(grid("var x = grid_load(b[0]); x = grid_load(b[x]); a[gid.x] += x;"), R"(
region main {
  let loaded : u32 = grid_load(b[0]);
  var x = loaded;
  let loaded_2 : u32 = grid_load(b[x]);
  x = loaded_2;
  a[gid.x] += x;
}
)");
  EXPECT_EQ(grid("let x = grid_load(b[n[1]]); a[gid.x] = x;"), R"(
region main {
  let at : u32 = n[1];
  let x = grid_load(b[at]);
  a[gid.x] = x;
}
)");
}

TEST(Normalise, ForSteps) {
  EXPECT_EQ(grid("for i in 1 .. n[0] { a[gid.x] += i; barrier grid; }"), R"(
region main {
  var next_i : u32 = 1;
  let end_i : u32 = n[0];
  while true {
    let again : bool = next_i < end_i;
    if !again {
      break;
    }
    let i = next_i;
    a[gid.x] += i;
    barrier grid;
    next_i = next_i + 1u32;
  }
}
)");
  EXPECT_EQ(grid("for i in 0 .. n[0] step 3 { a[gid.x] += i; barrier grid; }"), R"(
region main {
  var next_i : u32 = 0;
  let end_i : u32 = n[0];
  while true {
    let again : bool = next_i < end_i;
    if !again {
      break;
    }
    let i = next_i;
    a[gid.x] += i;
    barrier grid;
    next_i = select(end_i - next_i > 3u32, next_i + 3u32, end_i);
  }
}
)");
  EXPECT_EQ(
      grid("for i in -5i32 .. (n[0] as i32) step 2 { a[gid.x] += (i as u32); barrier grid; }"),
      R"(
region main {
  var next_i : i32 = -5i32;
  let end_i : i32 = n[0] as i32;
  while true {
    let again : bool = next_i < end_i;
    if !again {
      break;
    }
    let i = next_i;
    a[gid.x] += i as u32;
    barrier grid;
    next_i = select(end_i as u32 - next_i as u32 > 2u32, next_i + 2i32, end_i);
  }
}
)");
  EXPECT_EQ(grid("for i in 0u64 .. (n[0] as u64) step 2 { a[gid.x] += (i as u32); barrier grid; }"),
            R"(
region main {
  var next_i : u64 = 0u64;
  let end_i : u64 = n[0] as u64;
  while true {
    let again : bool = next_i < end_i;
    if !again {
      break;
    }
    let i = next_i;
    a[gid.x] += i as u32;
    barrier grid;
    next_i = select(end_i - next_i > 2u64, next_i + 2u64, end_i);
  }
}
)");
}

TEST(Normalise, BreakAndContinue) {
  EXPECT_EQ(grid(R"(
    for i in 0 .. 9 {
      if n[0] == i { a[gid.x] = 1; break; a[gid.x] = 2; }
      a[gid.x] += 3;
      if n[1] == i { continue; } else { a[gid.x] += 4; }
      barrier grid;
      a[gid.x] += 5;
    })"),
            R"(
region main {
  var next_i : u32 = 0;
  let end_i : u32 = 9;
  var left : bool = false;
  while true {
    let again : bool = !left && next_i < end_i;
    if !again {
      break;
    }
    var skips : bool = false;
    let i = next_i;
    if n[0] == i {
      a[gid.x] = 1;
      left = true;
      skips = true;
    }
    let taken_2 : bool = !skips;
    if taken_2 {
      a[gid.x] += 3;
      if n[1] == i {
        skips = true;
      } else {
        a[gid.x] += 4;
      }
      let taken : bool = !skips;
      if taken {
        barrier grid;
        a[gid.x] += 5;
      }
    }
    next_i = next_i + 1u32;
  }
}
)");
  EXPECT_EQ(grid("for i in 0 .. 9 { barrier grid; if n[0] == i { continue; } a[gid.x] += 1; }"),
            R"(
region main {
  var next_i : u32 = 0;
  let end_i : u32 = 9;
  while true {
    let again : bool = next_i < end_i;
    if !again {
      break;
    }
    var skips : bool = false;
    let i = next_i;
    barrier grid;
    if n[0] == i {
      skips = true;
    }
    if !skips {
      a[gid.x] += 1;
    }
    next_i = next_i + 1u32;
  }
}
)");
}

TEST(Normalise, While) {
  EXPECT_EQ(grid("var k = 0u32; while k < n[0] { k += 1; barrier grid; }"), R"(
region main {
  var k = 0u32;
  while true {
    let again : bool = k < n[0];
    if !again {
      break;
    }
    k += 1;
    barrier grid;
  }
}
)");
  EXPECT_EQ(grid("while grid_load(b[0]) < 4 { if gid.x == 0 { b[0] += 1; } }"), R"(
region main {
  while true {
    let loaded : u32 = grid_load(b[0]);
    let again : bool = loaded < 4;
    if !again {
      break;
    }
    if gid.x == 0 {
      b[0] += 1;
    }
  }
}
)");
}

// After a break the condition is not evaluated again: its barriers would count.
TEST(Normalise, WhileWithBreakAndBarrierInItsCondition) {
  EXPECT_EQ(grid(R"(
    var k = 0u32;
    while grid_load(b[0]) < 4 {
      k += 1;
      if k == n[0] { break; }
      a[gid.x] += k;
    })"),
            R"(
region main {
  var k = 0u32;
  var left : bool = false;
  while true {
    var holds : bool = false;
    let taken : bool = !left;
    if taken {
      let loaded : u32 = grid_load(b[0]);
      holds = loaded < 4;
    }
    let again : bool = holds;
    if !again {
      break;
    }
    var skips : bool = false;
    k += 1;
    if k == n[0] {
      left = true;
      skips = true;
    }
    if !skips {
      a[gid.x] += k;
    }
  }
}
)");
}

TEST(Normalise, Nested) {
  EXPECT_EQ(grid(R"(
    region outer {
      for i in 0 .. 3 {
        var k = i;
        while true {
          if k == n[0] { break; }
          { k += 1; barrier grid; }
        }
        for j in 0 .. 2 { if a[gid.x] == j { continue; } a[gid.x] += 1; }
        if n[1] == i { continue; }
        a[gid.x] += 2;
      }
    })"),
            R"(
region outer {
  var next_i : u32 = 0;
  let end_i : u32 = 3;
  while true {
    let again_2 : bool = next_i < end_i;
    if !again_2 {
      break;
    }
    var skips : bool = false;
    let i = next_i;
    var k = i;
    var left : bool = false;
    while true {
      var holds : bool = false;
      if !left {
        holds = true;
      }
      let again : bool = holds;
      if !again {
        break;
      }
      var skips_2 : bool = false;
      if k == n[0] {
        left = true;
        skips_2 = true;
      }
      let taken : bool = !skips_2;
      if taken {
        {
          k += 1;
          barrier grid;
        }
      }
    }
    for j in 0 .. 2 {
      if a[gid.x] == j {
        continue;
      }
      a[gid.x] += 1;
    }
    if n[1] == i {
      skips = true;
    }
    if !skips {
      a[gid.x] += 2;
    }
    next_i = next_i + 1u32;
  }
}
)");
}

TEST(Normalise, Fixpoint) {
  EXPECT_EQ(grid("fixpoint max n[0] + 1 over (b) { if n[1] == 1 { barrier grid; } b[0] = 1; }"),
            R"(
let most : u32 = n[0] + 1;
fixpoint max most over (b) {
  let taken : bool = n[1] == 1;
  if taken {
    barrier grid;
  }
  b[0] = 1;
}
)");
}

// At workgroup scope the same with barriers of the workgroup; those of a condition, too.
TEST(Normalise, WorkgroupScope) {
  EXPECT_EQ(workgroup(R"(
    for i in 0 .. wid.x {
      s[lid.x] = i;
      barrier workgroup;
      if workgroup_load(s[0]) == 2 { break; }
      a[gid.x] += s[3];
    })"),
            R"(
region main {
  var next_i : u32 = 0;
  let end_i : u32 = wid.x;
  var left : bool = false;
  while true {
    let again : bool = !left && next_i < end_i;
    if !again {
      break;
    }
    var skips : bool = false;
    let i = next_i;
    s[lid.x] = i;
    barrier workgroup;
    let loaded : u32 = workgroup_load(s[0]);
    if loaded == 2 {
      left = true;
      skips = true;
    }
    if !skips {
      a[gid.x] += s[3];
    }
    next_i = next_i + 1u32;
  }
}
)");
  EXPECT_EQ(
      workgroup("if wid.x == 1 { async copy(1, s, 0, a, wid.x, 4); wait(1); } a[gid.x] = s[1];"),
      R"(
region main {
  let taken : bool = wid.x == 1;
  if taken {
    async copy(1, s, 0, a, wid.x, 4);
    wait(1);
  }
  a[gid.x] = s[1];
}
)");
}

}  // namespace
}  // namespace vyre::plan
