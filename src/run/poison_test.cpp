// SPDX-License-Identifier: Apache-2.0
#include "run/poison.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/run/device.hpp"

namespace vyre::run {
namespace {

using testing::HasSubstr;

class Poison : public testing::Test {
 protected:
  ~Poison() override { ::unsetenv(kPoisonVariable); }
  static void set(const char* value) { ::setenv(kPoisonVariable, value, 1); }
};

TEST_F(Poison, IsAByte) {
  ::unsetenv(kPoisonVariable);
  EXPECT_EQ(*poison_of_environment(), std::nullopt);
  set("");
  EXPECT_EQ(*poison_of_environment(), std::nullopt);
  set("165");
  EXPECT_EQ(*poison_of_environment(), std::byte{0xA5});
  set("0xa5");
  EXPECT_EQ(*poison_of_environment(), std::byte{0xA5});
  set("0");
  EXPECT_EQ(*poison_of_environment(), std::byte{0});
}

TEST_F(Poison, NothingElse) {
  for (const char* const wrong : {"256", "-1", "yes", "0x", "0x1FF", "12 ", "1.5"}) {
    SCOPED_TRACE(wrong);
    set(wrong);
    const auto poison = poison_of_environment();
    ASSERT_FALSE(poison);
    EXPECT_EQ(poison.error().code, ErrorCode::InvalidArgument);
    EXPECT_THAT(poison.error().message, HasSubstr("VYRE_POISON is `" + std::string(wrong) + "`"));
    EXPECT_THAT(poison.error().message, HasSubstr("Fix: "));
    EXPECT_FALSE(Device::open("reference", {.cache_directory = {}}));
  }
}

// Code with a pattern inside is not taken for code without.
TEST_F(Poison, HasKeysOfItsOwn) {
  const auto build = [] {
    return std::string(Device::open("reference", {.cache_directory = {}})->compiler().build_id());
  };
  const std::string plain = build();
  set("1");
  const std::string one = build();
  set("2");
  EXPECT_NE(one, plain);
  EXPECT_NE(build(), one);
}

}  // namespace
}  // namespace vyre::run
