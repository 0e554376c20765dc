// SPDX-License-Identifier: Apache-2.0
// What the inliner makes of calls, printed.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

// The result is a variable; a plain value is read before the body runs.
TEST(Inline, Result) {
  EXPECT_EQ(inlined(R"(program p {
    workgroup 4; inout a : u32[];
    fn next(b : buffer u32[], k : u32) -> u32 { b[gid.x] += k; barrier grid; return b[0] + k; }
    let x = next(a, gid.x * 2);
    a[gid.x] = x;
  })"),
            R"(
region main {
  let k_2 : u32 = gid.x * 2;
  var next_2 : u32 = 0u32;
  a[gid.x] += k_2;
  barrier grid;
  next_2 = a[0] + k_2;
  let x = next_2;
  a[gid.x] = x;
}
)");
}

// A function without a barrier is called as before, also with an effect.
TEST(Inline, LeavesWhatNeedsNoInlining) {
  constexpr std::string_view kSource = R"(program p {
    workgroup 4; inout a : u32[];
    fn twice(k : u32) -> u32 { return k * 2; }
    fn put(b : buffer u32[], k : u32) { b[gid.x] = twice(k); barrier subgroup; }
    put(a, 3);
    barrier grid;
    a[gid.x] += twice(a[gid.x]);
  })";
  EXPECT_EQ(inlined(kSource), R"(
region main {
  put(a, 3);
  barrier grid;
  a[gid.x] += twice(a[gid.x]);
}
)");
  EXPECT_EQ(inlined(kSource, true), R"(
region main {
  let k_3 : u32 = 3;
  a[gid.x] = twice(k_3);
  barrier subgroup;
  barrier grid;
  a[gid.x] += twice(a[gid.x]);
}
)");
}

TEST(Inline, EarlyReturnsInLoops) {
  EXPECT_EQ(inlined(R"(program p {
    workgroup 4; inout b : u32[];
    fn find(a : buffer u32[], k : u32) -> u32 {
      for i in 0 .. 4 {
        while a[i] < k {
          if a[i] == 7 { return i; }
          a[gid.x] += 1;
          if a[i] == 9 { break; }
        }
        a[gid.x] += 2;
      }
      if k == 0 { return 8; }
      trap(4, k);
      a[gid.x] += 3;
      return 9;
    }
    let x = find(b, 5);
    b[gid.x] = x;
  })"),
            R"(
region main {
  let k_2 : u32 = 5;
  var find_2 : u32 = 0u32;
  var returned : bool = false;
  for i_2 in 0 .. 4 {
    while b[i_2] < k_2 {
      if b[i_2] == 7 {
        find_2 = i_2;
        returned = true;
        break;
      }
      b[gid.x] += 1;
      if b[i_2] == 9 {
        break;
      }
    }
    if returned {
      break;
    }
    b[gid.x] += 2;
  }
  if !returned {
    if k_2 == 0 {
      find_2 = 8;
      returned = true;
    }
    if !returned {
      trap(4, k_2);
      b[gid.x] += 3;
      find_2 = 9;
    }
  }
  let x = find_2;
  b[gid.x] = x;
}
)");
}

TEST(Inline, BufferParameters) {
  EXPECT_EQ(inlined(R"(program p {
    workgroup 4; inout a : u32[]; inout b : u32[]; shared s : u32[4];
    fn move(to : buffer u32[], from : buffer u32[], k : u32) {
      to[k] = from[k] + len(from);
      barrier grid;
      let w = workgroup_load(from[1]);
      atomic_add(to[0], w);
    }
    move(a, b, gid.x);
    move(s, a, lid.x);
  })"),
            R"(
region main {
  let k_2 : u32 = gid.x;
  a[k_2] = b[k_2] + len(b);
  barrier grid;
  let w_2 : u32 = workgroup_load(b[1]);
  atomic_add(a[0], w_2);
  let k_3 : u32 = lid.x;
  s[k_3] = a[k_3] + len(a);
  barrier grid;
  let w_3 : u32 = workgroup_load(a[1]);
  atomic_add(s[0], w_3);
}
)");
}

// The right side of && is reached only if the left side holds, and what stands before the call is
// evaluated before it.
TEST(Inline, TrapOnTheRightOfAnd) {
  EXPECT_EQ(inlined(R"(program p {
    workgroup 4; inout a : u32[];
    fn guard(k : u32) -> u32 { if k == 3 { trap(9, k); } return k; }
    if a[gid.x] + a[0] > 4 && guard(a[1]) == 3 || a[2] == 1 { a[gid.x] = 1; }
    barrier grid;
  })"),
            R"(
region main {
  var both : bool = a[gid.x] + a[0] > 4;
  if both {
    let k_2 : u32 = a[1];
    var guard_2 : u32 = 0u32;
    if k_2 == 3 {
      trap(9, k_2);
    }
    guard_2 = k_2;
    both = guard_2 == 3;
  }
  if both || a[2] == 1 {
    a[gid.x] = 1;
  }
  barrier grid;
}
)");
}

// The index is evaluated first, then the old element, then the value.
TEST(Inline, CompoundStore) {
  EXPECT_EQ(inlined(R"(program p {
    workgroup 4; inout b : u32[];
    fn f(c : buffer u32[]) -> u32 { if c[1] == 7 { trap(9, 1); } return c[0]; }
    b[b[gid.x]] += f(b);
    b[f(b)] = b[1];
    var x = b[2];
    x += f(b);
    b[gid.x] = x;
  })"),
            R"(
region main {
  let at : u32 = b[gid.x];
  let old : u32 = b[at];
  var f_2 : u32 = 0u32;
  if b[1] == 7 {
    trap(9, 1);
  }
  f_2 = b[0];
  b[at] = old + f_2;
  var f_3 : u32 = 0u32;
  if b[1] == 7 {
    trap(9, 1);
  }
  f_3 = b[0];
  b[f_3] = b[1];
  var x = b[2];
  var f_4 : u32 = 0u32;
  if b[1] == 7 {
    trap(9, 1);
  }
  f_4 = b[0];
  x += f_4;
  b[gid.x] = x;
}
)");
}

TEST(Inline, ConditionsOfLoops) {
  EXPECT_EQ(inlined(R"(program p {
    workgroup 4; inout b : u32[];
    fn more(a : buffer u32[], k : u32) -> bool { if a[1] == 7 { trap(9, 1); } return a[0] > k; }
    var n = 0u32;
    while more(b, n) { n += 1; if n == 5 { continue; } b[gid.x] = n; }
    for i in 0 .. select(more(b, 3), 1u32, 2) { b[gid.x] += i; }
  })"),
            R"(
region main {
  var n = 0u32;
  while true {
    let k_2 : u32 = n;
    var more_2 : bool = false;
    if b[1] == 7 {
      trap(9, 1);
    }
    more_2 = b[0] > k_2;
    if !more_2 {
      break;
    }
    n += 1;
    if n == 5 {
      continue;
    }
    b[gid.x] = n;
  }
  let k_3 : u32 = 3;
  var more_3 : bool = false;
  if b[1] == 7 {
    trap(9, 1);
  }
  more_3 = b[0] > k_3;
  for i in 0 .. select(more_3, 1u32, 2) {
    b[gid.x] += i;
  }
}
)");
}

// Each copy of a resume is one of its own; the report still names the tag of the source.
TEST(Inline, ResumeInAFunctionCalledTwice) {
  constexpr std::string_view kSource = R"(program p {
    workgroup 4; inout a : u32[];
    fn ask(a : buffer u32[], k : u32) {
      if a[gid.x] == k { trap(1, k); }
      if a[gid.x] == 100 { trap(2, k); }
      a[gid.x] += 1;
      resume(1);
    }
    ask(a, 4);
    ask(a, 5);
  })";
  EXPECT_EQ(inlined(kSource), R"(
region main {
  let k_2 : u32 = 4;
  if a[gid.x] == k_2 {
    trap(0, k_2);
  }
  if a[gid.x] == 100 {
    trap(2, k_2);
  }
  a[gid.x] += 1;
  resume(0);
  let k_3 : u32 = 5;
  if a[gid.x] == k_3 {
    trap(3, k_3);
  }
  if a[gid.x] == 100 {
    trap(2, k_3);
  }
  a[gid.x] += 1;
  resume(3);
}
)");
  const Draft d = inline_calls(draft_of(kSource), {});
  ASSERT_EQ(d.source_tags.size(), 2U);
  for (const auto& [own, source] : d.source_tags) EXPECT_EQ(source, 1U);
}

TEST(Inline, CallsInsideFunctions) {
  EXPECT_EQ(inlined(R"(program p {
    workgroup 4; inout a : u32[];
    fn wait_for(b : buffer u32[], k : u32) -> u32 { barrier grid; return b[k]; }
    fn sum(b : buffer u32[], k : u32) -> u32 { let x = wait_for(b, k); let y = wait_for(b, k + 1); return x + y; }
    { let wait_for_ = sum(a, 1); a[gid.x] = wait_for_; }
    { let k = sum(a, 2); a[gid.x] += k; }
  })"),
            R"(
region main {
  {
    let k_4 : u32 = 1;
    var sum_2 : u32 = 0u32;
    let k_5 : u32 = k_4;
    var wait_for_2 : u32 = 0u32;
    barrier grid;
    wait_for_2 = a[k_5];
    let x_2 : u32 = wait_for_2;
    let k_6 : u32 = k_4 + 1;
    var wait_for_3 : u32 = 0u32;
    barrier grid;
    wait_for_3 = a[k_6];
    let y_2 : u32 = wait_for_3;
    sum_2 = x_2 + y_2;
    let wait_for_ = sum_2;
    a[gid.x] = wait_for_;
  }
  {
    let k_7 : u32 = 2;
    var sum_3 : u32 = 0u32;
    let k_8 : u32 = k_7;
    var wait_for_4 : u32 = 0u32;
    barrier grid;
    wait_for_4 = a[k_8];
    let x_3 : u32 = wait_for_4;
    let k_9 : u32 = k_7 + 1;
    var wait_for_5 : u32 = 0u32;
    barrier grid;
    wait_for_5 = a[k_9];
    let y_3 : u32 = wait_for_5;
    sum_3 = x_3 + y_3;
    let k_3 = sum_3;
    a[gid.x] += k_3;
  }
}
)");
}

// With effects: what writes memory of others or asks the subgroup is taken in, too.
TEST(Inline, Effects) {
  constexpr std::string_view kSource = R"(program p {
    workgroup 4; inout a : u32[]; inout d : u32[];
    fn count(b : buffer u32[]) -> u32 { return atomic_add(b[0], 1); }
    fn local(k : u32) -> u32 { var t : u32[2]; t[k & 1] = k; return t[0]; }
    fn ask(k : u32) -> u32 { return subgroup_add(k); }
    fixpoint max 2 over (d) { d[gid.x] = count(a) + local(3) + ask(4); }
  })";
  EXPECT_EQ(inlined(kSource), R"(
fixpoint max 2 over (d) {
  d[gid.x] = count(a) + local(3) + ask(4);
}
)");
  EXPECT_EQ(inlined(kSource, true), R"(
fixpoint max 2 over (d) {
  var count_2 : u32 = 0u32;
  count_2 = atomic_add(a[0], 1);
  let before : u32 = count_2 + local(3);
  let k_3 : u32 = 4;
  var ask_2 : u32 = 0u32;
  ask_2 = subgroup_add(k_3);
  d[gid.x] = before + ask_2;
}
)");
}

}  // namespace
}  // namespace vyre::plan
