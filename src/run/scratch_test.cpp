// SPDX-License-Identifier: Apache-2.0
// Scratch belongs to one dispatch: it starts as zeros every time, takes no slot, and two dispatches
// do not share it. Scalars are plain values of the caller.
#include <gmock/gmock.h>

#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kCounts = R"(program counts {
  workgroup 4;
  uniform n    : u32;
  uniform stride : i32;
  in      x    : u32[n];
  scratch seen : u32[n];
  out     y    : u32[n];
  let i = gid.x;
  atomic_add(seen[x[i]], stride as u32);
  barrier grid;
  if i < n {
    y[i] = seen[i];
  }
})";

TEST(Scratch, StartsAsZerosInEveryDispatch) {
  const Device device = reference();
  const Pipeline pipeline = compile(device, kCounts);
  const std::vector<uint32_t> x = {1, 1, 3, 1, 3, 9};
  for (int round = 0; round < 3; ++round) {
    const auto result = pipeline.dispatch({6, 2, x});
    ASSERT_TRUE(result) << to_string(result.error());
    ASSERT_EQ(result->outputs.size(), 1U);
    // Lanes 6 and 7 read 0 behind the end of x.
    EXPECT_THAT(words(result->outputs[0]), ElementsAre(4, 6, 0, 4, 0, 0));
  }
}

TEST(Scratch, IsNotSharedByDispatchesInFlight) {
  const Device device = reference();
  const Pipeline pipeline = compile(device, kCounts);
  const std::vector<uint32_t> ones = {1, 1, 1, 1};
  const std::vector<uint32_t> twos = {2, 2, 2, 2};
  std::vector<Pending> pending;
  for (int i = 0; i < 6; ++i) {
    const std::vector<Argument> inputs = {4, 1, i % 2 == 0 ? ones : twos};
    auto started = pipeline.dispatch_async({.inputs = inputs});
    ASSERT_TRUE(started) << to_string(started.error());
    pending.push_back(std::move(*started));
  }
  for (int i = 0; i < 6; ++i) {
    const auto result = pending[static_cast<size_t>(i)].wait();
    ASSERT_TRUE(result) << to_string(result.error());
    if (i % 2 == 0)
      EXPECT_THAT(words(result->outputs[0]), ElementsAre(0, 4, 0, 0));
    else
      EXPECT_THAT(words(result->outputs[0]), ElementsAre(0, 0, 4, 0));
  }
}

TEST(Scratch, InputsMustFitTheirShape) {
  const Device device = reference();
  const Pipeline pipeline = compile(device, kCounts);
  const std::vector<uint32_t> x = {1, 2, 3};
  const auto result = pipeline.dispatch({4, 1, x});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(to_string(result.error()), HasSubstr("input `x` expected 4 elements, received 3"));
}

// Every scalar is one element, of the width that the program declares.
TEST(Scratch, ScalarsOfAnotherWidthAreRefused) {
  const Device device = reference();
  const Pipeline pipeline = compile(device, kCounts);
  const std::vector<uint32_t> x = {1};
  const auto result = pipeline.dispatch({uint64_t{1}, 1, x});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace vyre::run
