// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/cpu/demanded_lanes.hpp"

#include <gtest/gtest.h>

#include "codegen/llvm/code_test.hpp"
#include "codegen/llvm/cpu/buffer_use.hpp"

namespace vyre::codegen {
namespace {

constexpr std::string_view kBuffers =
    "program p {\n  workgroup 64;\n  uniform u : u32[2];\n  in a : u32[];\n  inout b : u32[];\n"
    "  inout n : u32[4];\n  shared s : u32[64];\n";

check::CheckedProgram program_of(std::string_view statements) {
  return plan_of(std::string(kBuffers) + std::string(statements) + "}\n").segments[0].program;
}
DemandedLanes needed(std::string_view statements) {
  return demanded_lanes(program_of(statements));
}

TEST(DemandedLanes, OneWhereAllDoTheSame) {
  EXPECT_TRUE(needed("  let x = u[0] + 1;\n  n[0] = x;\n").one);
  EXPECT_TRUE(needed("  if u[0] > 3 { n[u[1]] = a[5]; }\n").one);
  EXPECT_FALSE(needed("  n[0] += 1;\n").one);
  EXPECT_FALSE(needed("  n[0] = gid.x;\n").one);
  EXPECT_FALSE(needed("  b[lid.x] = 1;\n").one);
  EXPECT_FALSE(needed("  atomic_add(n[0], 1);\n").one);
  EXPECT_FALSE(needed("  if a[0] > 3 { trap(1, 2); }\n  n[0] = 1;\n").one);
}

TEST(DemandedLanes, ThoseOfOneTest) {
  EXPECT_TRUE(needed("  if lid.x < u[0] { b[gid.x] = 1; }\n").test.valid());
  EXPECT_TRUE(needed("  if lid.x == 0 { atomic_add(n[0], 1); }\n  n[1] = u[0];\n").test.valid());
  // Two tests, an `else`, a limit of each lane, or lanes that leave what follows to others.
  EXPECT_FALSE(
      needed("  if lid.x < u[0] { b[1] = 1; }\n  if lid.x < 4 { b[gid.x] = 2; }\n").test.valid());
  EXPECT_FALSE(needed("  if lid.x < u[0] { b[gid.x] = 1; } else { b[0] = 2; }\n").test.valid());
  EXPECT_FALSE(needed("  if lid.x < a[gid.x] { b[gid.x] = 1; }\n").test.valid());
  EXPECT_FALSE(needed("  if lid.x == 0 { b[gid.x] = 1; return; }\n  n[1] = u[0];\n").test.valid());
}

TEST(BufferUses, CombinedAndStored) {
  const auto uses = [](std::string_view statements) {
    return buffer_uses(program_of(statements))[3];
  };
  EXPECT_EQ(uses("  atomic_add(n[a[gid.x]], 1);\n").combines, ir::AtomicOp::Add);
  EXPECT_EQ(uses("  atomic_max(n[0], 1);\n  atomic_max(n[1], 7);\n").combines, ir::AtomicOp::Max);
  EXPECT_FALSE(uses("  atomic_max(n[0], 1);\n  atomic_add(n[1], 7);\n").combines);
  EXPECT_FALSE(uses("  b[gid.x] = atomic_add(n[0], 1);\n").combines);
  EXPECT_FALSE(uses("  atomic_add(n[0], 1);\n  b[gid.x] = n[1];\n").combines);
  EXPECT_TRUE(uses("  n[gid.x] = 1;\n").stored_once);
  EXPECT_FALSE(uses("  n[gid.x] = 1;\n  n[gid.x + 1] = 2;\n").stored_once);
  EXPECT_FALSE(uses("  n[gid.x] = 1;\n  b[gid.x] = n[0];\n").stored_once);
}

TEST(BufferUses, SharedMemoryThatIsWrittenWhole) {
  const auto whole = [](std::string_view statements) {
    return overwrites(program_of(statements), ir::BufferId{4});
  };
  EXPECT_TRUE(whole("  s[lid.x] = a[gid.x];\n"));
  EXPECT_FALSE(whole("  s[lid.x + 1] = a[gid.x];\n"));
  EXPECT_FALSE(whole("  if u[0] > 1 { s[lid.x] = a[gid.x]; }\n"));
  EXPECT_FALSE(whole("  s[lid.x] = s[lid.x ^ 1];\n"));
  EXPECT_FALSE(whole("  if gid.x > 5 { return; }\n  s[lid.x] = 1;\n"));
  // What is there is read, whatever comes after.
  EXPECT_FALSE(whole("  s[lid.x] += 1;\n  s[lid.x] = 1;\n"));
  EXPECT_FALSE(whole("  s[lid.x] = 1;\n  s[lid.x ^ 1] += 1;\n"));
  EXPECT_FALSE(whole("  async copy(0, b, 0, s, 0, 4);\n  wait(0);\n  s[lid.x] = 1;\n"));
  // Where it may not be done.
  EXPECT_FALSE(whole("  for i in 0 .. u[0] { s[lid.x] = 1; }\n"));
  EXPECT_FALSE(whole("  while u[0] > 1 { s[lid.x] = 1; break; }\n"));
}

}  // namespace
}  // namespace vyre::codegen
