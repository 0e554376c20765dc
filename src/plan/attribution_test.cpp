// SPDX-License-Identifier: Apache-2.0
// D-RES.6: whose time the time of a segment is.
#include "vyre/plan/attribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/text/text.hpp"

namespace vyre::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Plan plan_of(std::string_view body, Route route = Route::Resident, bool whole = false) {
  const std::string text =
      "program p { workgroup 4; inout a : u32[]; inout d : u32[];\n" + std::string(body) + " }";
  const auto checked = check::check_valid(text::parse(text, "p.vyre").program);
  EXPECT_TRUE(checked.has_value()) << (checked ? "" : to_string(checked.error()));
  return whole ? whole_plan(*checked) : *make_plan(*checked, {.variant = {.route = route}});
}

using Numbers = std::vector<uint32_t>;
RegionShares region(std::string name, const Numbers& whole, const Numbers& shared = {}) {
  return {.name = std::move(name), .segments = {.whole = whole, .shared = shared}};
}

TEST(Attribution, ASegmentOfOneRegionIsItsTime) {
  const Attribution a = attribute_segments(
      plan_of("region x { a[0] = 1; } barrier grid; region y { a[0] = 2; } barrier grid; "
              "region x { a[0] = 3; }"));
  EXPECT_THAT(a.regions, ElementsAre(region("x", {0, 2}), region("y", {1})));
  EXPECT_THAT(a.fixpoints, IsEmpty());
}

TEST(Attribution, ASegmentOfSeveralRegionsIsShared) {
  const Attribution a = attribute_segments(plan_of(
      "region x { a[0] = 1; } region y { a[0] = 2; } barrier grid; region y { a[0] = 3; }"));
  EXPECT_THAT(a.regions, ElementsAre(region("x", {}, {0}), region("y", {1}, {0})));
}

TEST(Attribution, RegionsNest) {
  const Attribution a = attribute_segments(
      plan_of("region outer { a[0] = 1; region inner { a[1] = 2; } barrier grid; "
              "region inner { a[2] = 3; region deep { a[3] = 4; } } }"));
  EXPECT_THAT(a.regions, ElementsAre(region("outer", {0, 1}), region("inner", {1}, {0}),
                                     region("deep", {}, {1})));
}

// What stands around a region in the segment is not of the region.
TEST(Attribution, ARegionInABranchIsShared) {
  const Attribution a = attribute_segments(
      plan_of("region r { if gid.x == 0 { region inner { a[0] = 1; } } } barrier grid; "
              "region r { { region inner { a[0] = 2; } } }"));
  EXPECT_THAT(a.regions, ElementsAre(region("r", {0, 1}), region("inner", {1}, {0})));
}

// Two regions of one name are one row, so a segment of both is theirs alone.
TEST(Attribution, EqualNamesAreOneRow) {
  const Attribution a =
      attribute_segments(plan_of("region x { a[0] = 1; } region x { a[1] = 2; }"));
  EXPECT_THAT(a.regions, ElementsAre(region("x", {0})));
}

constexpr std::string_view kFixpoints =
    "region before { a[0] = 1; }\n"
    "fixpoint max 9 over (d) { region pass { atomic_max(d[0], a[0]); }\n"
    "  fixpoint max 3 over (a) { atomic_max(a[0], d[0]); } }\n"
    "region after { a[0] = 2; }";

TEST(Attribution, AFixpointHasTheSegmentsOfItsBody) {
  const Plan plan = plan_of(kFixpoints);
  const Attribution a = attribute_segments(plan);
  ASSERT_EQ(plan.segments.size(), 4U);
  EXPECT_THAT(a.fixpoints, ElementsAre(FixpointShares{.at = plan.fixpoints[0].at,
                                                      .is_step = true,
                                                      .segments = {.whole = {1, 2}, .shared = {}}},
                                       FixpointShares{.at = plan.fixpoints[1].at,
                                                      .is_step = true,
                                                      .segments = {.whole = {2}, .shared = {}}}));
  EXPECT_EQ(a.fixpoints[0].at.line, 3U);
}

// A launch that repeats them inside has one time for all.
TEST(Attribution, FixpointsInsideALaunchAreShared) {
  const SegmentShares all = {.whole = {}, .shared = {0}};
  for (const bool whole : {false, true}) {
    const Attribution a = attribute_segments(plan_of(kFixpoints, Route::Native, whole));
    ASSERT_EQ(a.fixpoints.size(), 2U);
    for (const FixpointShares& fixpoint : a.fixpoints) {
      EXPECT_EQ(fixpoint.segments, all);
      EXPECT_FALSE(fixpoint.is_step);
    }
    EXPECT_EQ(a.fixpoints[0].at.line, 3U);
    EXPECT_EQ(a.fixpoints[1].at.line, 4U);
    for (const RegionShares& row : a.regions) EXPECT_EQ(row.segments, all) << row.name;
  }
}

TEST(Attribution, AProgramInOneRegion) {
  const Attribution a = attribute_segments(plan_of(
      "region all { a[0] = 1; region inner { a[1] = 2; } a[2] = 3; }", Route::Native, true));
  EXPECT_THAT(a.regions,
              testing::UnorderedElementsAre(region("all", {0}), region("inner", {}, {0})));
}

}  // namespace
}  // namespace vyre::plan
