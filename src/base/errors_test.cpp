// SPDX-License-Identifier: Apache-2.0
#include "base/errors.hpp"

#include <memory>

#include <gtest/gtest.h>

namespace vyre {
namespace {

Result<int> number(bool there) {
  if (!there) return fail(ErrorCode::InvalidArgument, "no number", {"a.vyre", 2, 3, 1});
  return 7;
}
Result<std::unique_ptr<int>> owned(bool there) {
  if (!there) return fail(ErrorCode::Internal, "nothing owned");
  return std::make_unique<int>(5);
}

Result<std::string> both(bool first, bool second) {
  VYRE_TRY(number(first));
  VYRE_TRY_ASSIGN(const int n, number(first));
  VYRE_TRY_ASSIGN(auto pointer, owned(second));
  return std::to_string(n + *pointer);
}

TEST(Errors, ValuesGoOn) {
  EXPECT_EQ(both(true, true), "12");
}

TEST(Errors, ErrorsArePassedOnWhole) {
  const auto first = both(false, true);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(first.error().message, "no number");
  EXPECT_EQ(first.error().at, (Position{"a.vyre", 2, 3, 1}));
  const auto second = both(true, false);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "nothing owned");
}

// One statement, so that it may stand under an `if` that has an `else`.
Result<void> under_if(bool checks) {
  if (checks)
    VYRE_TRY(number(false));
  else
    VYRE_TRY(number(true));
  return {};
}

TEST(Errors, TryIsOneStatement) {
  EXPECT_FALSE(under_if(true));
  EXPECT_TRUE(under_if(false));
}

std::expected<int, std::string> other(bool there) {
  if (!there) return std::unexpected("another kind of error");
  return 1;
}
std::expected<void, std::string> passes_other(bool there) {
  VYRE_TRY(other(there));
  return {};
}

TEST(Errors, TheErrorMayBeOfAnyType) {
  EXPECT_TRUE(passes_other(true));
  EXPECT_EQ(passes_other(false).error(), "another kind of error");
}

}  // namespace
}  // namespace vyre
