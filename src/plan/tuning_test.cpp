// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/tuning.hpp"

#include <gtest/gtest.h>

#include "vyre/text/text.hpp"

namespace vyre::plan {
namespace {

check::CheckedProgram program() {
  auto checked = check::check_valid(
      text::parse("program p { workgroup 4; in a : u32[]; inout b : u8[]; shared s : u32[64]; "
                  "b[gid.x] = a[gid.x]; }",
                  "p.vyre")
          .program);
  EXPECT_TRUE(checked);
  return std::move(*checked);
}

// D-MODE.3: sizes within a power of two are one class.
TEST(ShapeClass, IsCoarse) {
  const auto checked = program();
  const auto of = [&](const check::Axes& grid, uint64_t a, uint64_t b,
                      const check::Axes& workgroup) {
    return shape_class_of(checked, {.workgroup = workgroup, .grid = grid, .counts = {a, b, 64}});
  };
  const ShapeClass base = of({20, 1, 1}, 100, 100, {4, 1, 1});
  EXPECT_EQ(base.workgroups_log2, 5u);
  EXPECT_EQ(base.bytes_log2, 9u);  // 500; shared memory is not counted
  EXPECT_EQ(of({31, 1, 1}, 120, 31, {4, 1, 1}), base);
  EXPECT_EQ(of({16, 1, 1}, 64, 0, {4, 1, 1}), base);
  EXPECT_NE(of({32, 1, 1}, 100, 100, {4, 1, 1}), base);
  EXPECT_NE(of({15, 1, 1}, 100, 100, {4, 1, 1}), base);
  EXPECT_NE(of({5, 4, 1}, 100, 100, {4, 1, 1}), base);
  EXPECT_NE(of({20, 1, 1}, 103, 100, {4, 1, 1}), base);
  EXPECT_NE(of({20, 1, 1}, 100, 100, {8, 1, 1}), base);
  EXPECT_EQ(to_string(base), "16 to 31 workgroups of 4x1x1, 256 to 511 bytes");
  EXPECT_EQ(to_string(of({0, 1, 1}, 0, 1, {4, 1, 1})), "0 workgroups of 4x1x1, 1 bytes");
}

TEST(Difference, NamesWhatIsOther) {
  const RouteVariant base = {.route = Route::Persistent,
                             .workgroups_per_block = 8,
                             .unrolled_iterations = 2,
                             .interleave = 2};
  RouteVariant other = base;
  EXPECT_EQ(difference(other, base), "default");
  other.interleave = 4;
  EXPECT_EQ(difference(other, base), "interleave 4");
  other.workgroups_per_block = 1;
  other.unrolled_iterations = 0;
  EXPECT_EQ(difference(other, base), "1 workgroup per block, interleave 4, state in memory");
  EXPECT_EQ(difference({.route = Route::Resident}, base), "route resident");
  EXPECT_EQ(difference({.route = Route::Native, .lanes = 16}, {.route = Route::Native}),
            "16 lanes side by side");
}

TEST(TuningRecord, IsARequestIfSomethingIsAdopted) {
  EXPECT_FALSE(TuningRecord{}.request());
  const TuningRecord record{
      .adopted = RouteVariant{.lanes = 8}, .default_ns = 20, .adopted_ns = 10};
  ASSERT_TRUE(record.request());
  EXPECT_EQ(record.request()->variant.lanes, 8u);
  EXPECT_EQ(record.request()->why, "measured on this device: 10 ns instead of 20 ns");
}

}  // namespace
}  // namespace vyre::plan
