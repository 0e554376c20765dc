// SPDX-License-Identifier: Apache-2.0
#include "vyre/check/launch.hpp"

#include <gmock/gmock.h>

#include "check/program_test.hpp"

namespace vyre::check {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Launches : public ::testing::Test {
 protected:
  Result<Launch> launch(std::string_view text, const std::vector<size_t>& input_bytes,
                        LaunchRequest request = {}) {
    checked_ = checked(text);
    bytes_.clear();
    for (const size_t size : input_bytes) bytes_.emplace_back(size);
    if (!uniform_.empty())
      for (size_t i = 0; i < uniform_.size() * 4; ++i)
        bytes_[0][i] = reinterpret_cast<const std::byte*>(uniform_.data())[i];
    views_.assign(bytes_.begin(), bytes_.end());
    request.inputs = views_;
    return resolve_launch(checked_, request);
  }

  std::string error(std::string_view text, const std::vector<size_t>& input_bytes,
                    const LaunchRequest& request = {}) {
    const Result<Launch> result = launch(text, input_bytes, request);
    return result ? "ok" : to_string(result.error());
  }

  std::vector<uint32_t> uniform_;  // the first words of the first input
  CheckedProgram checked_;
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<std::span<const std::byte>> views_;
};

TEST_F(Launches, GridFromTheOverClause) {
  const auto l = launch(
      "program p { workgroup 64; over len(a) * 2; in a : u32[]; out o : u32[1]; o[0] = a[0]; }",
      {400});
  ASSERT_TRUE(l.has_value());
  EXPECT_THAT(l->grid, ElementsAre(4, 1, 1));
  EXPECT_THAT(l->counts, ElementsAre(100, 1));
}

TEST_F(Launches, GridFromTheLargestWrittenBuffer) {
  const std::string text =
      "program p { workgroup 64; in a : u32[]; inout b : u8[]; out o : u32[3]; o[0] = a[0]; b[0] = "
      "1; }";
  const auto l = launch(text, {4000, 65});
  ASSERT_TRUE(l.has_value());
  EXPECT_THAT(l->grid, ElementsAre(2, 1, 1));
  // Without one: the largest of all; at least one lane.
  const std::string reads =
      "program p { workgroup 64; in a : u32[]; persistent b : u32[]; b[0] = a[0]; }";
  EXPECT_THAT(launch(reads, {516, 4})->grid, ElementsAre(3, 1, 1));
  EXPECT_THAT(launch(reads, {0, 0})->grid, ElementsAre(1, 1, 1));
}

TEST_F(Launches, TheCallersGridComesFirst) {
  const std::string text = "program p { workgroup 8, 8; out o : u32[4]; o[gid.x] = gid.y; }";
  EXPECT_THAT(error(text, {}),
              HasSubstr("has a workgroup of 2 axes and nothing says how large the grid is"));
  const auto l = launch(text, {}, {.grid = Axes{3, 2, 1}});
  ASSERT_TRUE(l.has_value());
  EXPECT_EQ(l->workgroups(), 6U);
  EXPECT_EQ(l->lanes_per_workgroup(), 64U);
  EXPECT_THAT(launch(text, {}, {.grid = Axes{3, 0, 1}})->grid, ElementsAre(0, 0, 0));
}

TEST_F(Launches, InputsAreChecked) {
  const std::string text =
      "program p { workgroup 8; in a : u32[]; in b : u16[4]; out o : u32[4]; o[0] = a[0] + b[0]; }";
  EXPECT_THAT(error(text, {4}),
              HasSubstr("dispatch expected 2 input buffers for program `p`, received 1"));
  EXPECT_THAT(error(text, {5, 8}),
              HasSubstr("input `a` has 5 bytes, which is not a multiple of 4"));
  EXPECT_THAT(error(text, {8, 6}),
              HasSubstr("input `b` expected 8 bytes (4 elements), received 6 (3)"));
  EXPECT_EQ(error(text, {8, 8}), "ok");
  EXPECT_THAT(
      error("program p { workgroup 8; uniform u : u32[]; out o : u32[1]; o[0] = u[0]; }", {65540}),
      HasSubstr("LimitExceeded"));
}

TEST_F(Launches, RequireAndCountInDeclarationOrder) {
  const std::string text = R"(program p {
    workgroup 8;
    uniform n : u32[2];
    require n[0] > 0, "n must be positive";
    out a : u32[] @count(n[0] * n[1]);
    require len(a) < 100, "too many";
    out b : u32[] @count(len(a) + 1);
    a[0] = 1;
    b[0] = 1;
  })";
  uniform_ = {3, 5};
  EXPECT_THAT(launch(text, {8})->counts, ElementsAre(2, 15, 16));
  uniform_ = {0, 5};
  EXPECT_THAT(error(text, {8}),
              HasSubstr("InvalidArgument (1008): the program requires: n must be positive"));
  uniform_ = {20, 5};
  EXPECT_THAT(error(text, {8}), HasSubstr("the program requires: too many"));
  uniform_ = {0x10000, 0x10000};
  EXPECT_THAT(error(text, {8}),
              HasSubstr("LimitExceeded (1015): this host expression does not fit its type u32"));
}

TEST_F(Launches, HostExpressionsDoNotWrap) {
  const auto over = [](const std::string& expression) {
    return "program p { workgroup 1; uniform n : u32[2]; over " + expression +
           "; out o : u32[1]; o[0] = n[0]; }";
  };
  uniform_ = {0, 7};
  EXPECT_THAT(error(over("n[0] - 1"), {8}), HasSubstr("LimitExceeded"));
  EXPECT_THAT(error(over("-n[1]"), {8}), HasSubstr("LimitExceeded"));
  EXPECT_THAT(error(over("n[1] << 30"), {8}), HasSubstr("LimitExceeded"));
  EXPECT_THAT(launch(over("n[1] << 2"), {8})->grid, ElementsAre(28, 1, 1));
  EXPECT_THAT(launch(over("select(n[0] == 0, n[1], 1)"), {8})->grid, ElementsAre(7, 1, 1));
  EXPECT_THAT(launch(over("max(n[0], n[1]) / 0x2"), {8})->grid, ElementsAre(3, 1, 1));
  EXPECT_THAT(launch(over("(n[1] as f32 * 1.5) as u32"), {8})->grid, ElementsAre(10, 1, 1));
  EXPECT_THAT(error(over("(n[0] as i32) - 1"), {8}), HasSubstr("`over` is -1"));
  EXPECT_THAT(launch(over("n[9] + 2"), {8})->grid, ElementsAre(2, 1, 1));  // out of bounds reads 0
  // Lazy operators guard what would overflow.
  const std::string guarded =
      "program p { workgroup 1; uniform n : u32[2]; require n[0] == 0 || n[0] - 1 < 5, \"x\"; out "
      "o : u32[1]; o[0] = n[0]; }";
  EXPECT_EQ(error(guarded, {8}), "ok");
}

TEST_F(Launches, LimitsOfTheGrid) {
  const std::string text = "program p { workgroup 2; over 1u64 << 40; out o : u32[1]; o[0] = 1; }";
  EXPECT_THAT(error(text, {}), HasSubstr("workgroups on axis x, more than 2147483647"));
  const std::string lanes = "program p { workgroup 256; out o : u32[1]; o[0] = 1; }";
  EXPECT_THAT(error(lanes, {}, {.grid = Axes{65536, 256, 1}}),
              HasSubstr("has more than 4294967295 lanes"));
  EXPECT_EQ(error(lanes, {}, {.grid = Axes{65535, 256, 1}}), "ok");
}

TEST_F(Launches, AnotherWorkgroupSize) {
  const std::string free = "program p { workgroup 64; over 100; out o : u32[100]; o[gid.x] = 1; }";
  EXPECT_THAT(launch(free, {}, {.workgroup = Axes{10, 1, 1}})->grid, ElementsAre(10, 1, 1));
  EXPECT_THAT(error(free, {}, {.workgroup = Axes{0, 1, 1}}), HasSubstr("a workgroup axis is 0"));
  EXPECT_THAT(error("program p { workgroup 4; out o : u32[4]; o[lid.x] = 1; }", {},
                    {.workgroup = Axes{2, 1, 1}}),
              HasSubstr("cannot be changed, because of `lid`"));
  EXPECT_THAT(error("program p { workgroup 4; shared s : u32[4]; out o : u32[4]; s[0] = 1; "
                    "o[gid.x] = s[0]; }",
                    {}, {.workgroup = Axes{2, 1, 1}}),
              HasSubstr("because of the shared buffer `s`"));
}

TEST_F(Launches, ReturnedBytesAreClamped) {
  const CheckedProgram c = checked(
      "program p { workgroup 1; out a : u32[8] @range(8..16); out b : u32[2] @range(4..400); out d "
      ": u32[1] @range(40..80); a[0] = 1; b[0] = 1; d[0] = 1; }");
  const std::vector<std::byte> bytes(32);
  EXPECT_EQ(returned_bytes(c, ir::BufferId{0}, bytes).size(), 8U);
  EXPECT_EQ(returned_bytes(c, ir::BufferId{0}, bytes).data(), bytes.data() + 8);
  EXPECT_EQ(returned_bytes(c, ir::BufferId{1}, std::span(bytes).first(8)).size(), 4U);
  EXPECT_EQ(returned_bytes(c, ir::BufferId{2}, std::span(bytes).first(4)).size(), 0U);
}

}  // namespace
}  // namespace vyre::check
