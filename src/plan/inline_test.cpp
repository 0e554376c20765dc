// SPDX-License-Identifier: Apache-2.0
// What the inliner makes of calls, printed.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

// The result is a variable; a plain value is read before the body runs.
TEST(Inline, Result) {
  expect_golden("Inline.Result", inlined(R"(program p {
    workgroup 4; inout a : u32[];
    fn next(b : buffer u32[], k : u32) -> u32 { b[gid.x] += k; barrier grid; return b[0] + k; }
    let x = next(a, gid.x * 2);
    a[gid.x] = x;
  })"));
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
  expect_golden("Inline.LeavesWhatNeedsNoInlining", inlined(kSource));
  expect_golden("Inline.LeavesWhatNeedsNoInlining.2", inlined(kSource, true));
}

TEST(Inline, EarlyReturnsInLoops) {
  expect_golden("Inline.EarlyReturnsInLoops", inlined(R"(program p {
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
  })"));
}

TEST(Inline, BufferParameters) {
  expect_golden("Inline.BufferParameters", inlined(R"(program p {
    workgroup 4; inout a : u32[]; inout b : u32[]; shared s : u32[4];
    fn move(to : buffer u32[], from : buffer u32[], k : u32) {
      to[k] = from[k] + len(from);
      barrier grid;
      let w = workgroup_load(from[1]);
      atomic_add(to[0], w);
    }
    move(a, b, gid.x);
    move(s, a, lid.x);
  })"));
}

// The right side of && is reached only if the left side holds, and what stands before the call is
// evaluated before it.
TEST(Inline, TrapOnTheRightOfAnd) {
  expect_golden("Inline.TrapOnTheRightOfAnd", inlined(R"(program p {
    workgroup 4; inout a : u32[];
    fn guard(k : u32) -> u32 { if k == 3 { trap(9, k); } return k; }
    if a[gid.x] + a[0] > 4 && guard(a[1]) == 3 || a[2] == 1 { a[gid.x] = 1; }
    barrier grid;
  })"));
}

// The index is evaluated first, then the old element, then the value.
TEST(Inline, CompoundStore) {
  expect_golden("Inline.CompoundStore", inlined(R"(program p {
    workgroup 4; inout b : u32[];
    fn f(c : buffer u32[]) -> u32 { if c[1] == 7 { trap(9, 1); } return c[0]; }
    b[b[gid.x]] += f(b);
    b[f(b)] = b[1];
    var x = b[2];
    x += f(b);
    b[gid.x] = x;
  })"));
}

TEST(Inline, ConditionsOfLoops) {
  expect_golden("Inline.ConditionsOfLoops", inlined(R"(program p {
    workgroup 4; inout b : u32[];
    fn more(a : buffer u32[], k : u32) -> bool { if a[1] == 7 { trap(9, 1); } return a[0] > k; }
    var n = 0u32;
    while more(b, n) { n += 1; if n == 5 { continue; } b[gid.x] = n; }
    for i in 0 .. select(more(b, 3), 1u32, 2) { b[gid.x] += i; }
  })"));
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
  expect_golden("Inline.ResumeInAFunctionCalledTwice", inlined(kSource));
  const Draft d = inline_calls(draft_of(kSource), {});
  ASSERT_EQ(d.source_tags.size(), 2U);
  for (const auto& [own, source] : d.source_tags) EXPECT_EQ(source, 1U);
}

TEST(Inline, CallsInsideFunctions) {
  expect_golden("Inline.CallsInsideFunctions", inlined(R"(program p {
    workgroup 4; inout a : u32[];
    fn wait_for(b : buffer u32[], k : u32) -> u32 { barrier grid; return b[k]; }
    fn sum(b : buffer u32[], k : u32) -> u32 { let x = wait_for(b, k); let y = wait_for(b, k + 1); return x + y; }
    { let wait_for_ = sum(a, 1); a[gid.x] = wait_for_; }
    { let k = sum(a, 2); a[gid.x] += k; }
  })"));
}

// With effects: what writes memory of others or uses the subgroup is inlined, too.
TEST(Inline, Effects) {
  constexpr std::string_view kSource = R"(program p {
    workgroup 4; inout a : u32[]; inout d : u32[];
    fn count(b : buffer u32[]) -> u32 { return atomic_add(b[0], 1); }
    fn local(k : u32) -> u32 { var t : u32[2]; t[k & 1] = k; return t[0]; }
    fn ask(k : u32) -> u32 { return subgroup_add(k); }
    fixpoint max 2 over (d) { d[gid.x] = count(a) + local(3) + ask(4); }
  })";
  expect_golden("Inline.Effects", inlined(kSource));
  expect_golden("Inline.Effects.2", inlined(kSource, true));
}

}  // namespace
}  // namespace vyre::plan
