// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/backend/null.hpp"
#include "vyre/backend/reference.hpp"
#include "vyre/run/device.hpp"
#include "vyre/text/text.hpp"

namespace vyre::run {
namespace {

ir::Program program(std::string_view text) {
  auto parsed = text::parse(text, "test.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors()) << render_text(parsed.diagnostics, {});
  return std::move(parsed.program);
}

TEST(Dispatch, WholeProgramOnTheReference) {
  const Device device = Device::over(*backend::open_reference(), {.cache_directory = {}});
  auto compiled = device.compile(program(R"(program twice {
    workgroup 4;
    in a : u32[]; out o : u32[] @count(len(a));
    if gid.x < len(a) { o[gid.x] = a[gid.x] * 2; }
  })"));
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  const std::vector<uint32_t> a = {1, 2, 3, 4, 5};
  const auto result = compiled->pipeline.dispatch({a});
  ASSERT_TRUE(result) << to_string(result.error());
  std::vector<uint32_t> o(5);
  ASSERT_EQ(result->outputs[0].size(), 20U);
  std::memcpy(o.data(), result->outputs[0].data(), 20);
  EXPECT_THAT(o, testing::ElementsAre(2, 4, 6, 8, 10));
}

}  // namespace
}  // namespace vyre::run
