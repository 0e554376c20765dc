// SPDX-License-Identifier: Apache-2.0
#include "vyre/base/result.hpp"

#include <gtest/gtest.h>

#include "base/error_codes.hpp"

namespace vyre {
namespace {

TEST(Result, ExitCodesAreThoseOfTheContract) {
  const std::pair<int, int> expected[] = {
      {1006, 3}, {1002, 4}, {1007, 4}, {1014, 4},  {1004, 5},  {1003, 6},
      {1005, 6}, {1010, 6}, {1013, 6}, {1001, 7},  {1016, 7},  {1009, 8},
      {1015, 8}, {1017, 9}, {1999, 9}, {1011, 10}, {1012, 10}, {1008, 11},
  };
  for (const auto& [code, exit_code] : expected)
    EXPECT_EQ(exit_code_of(static_cast<ErrorCode>(code)), exit_code) << code;
}

TEST(Result, NumbersFromOutsideMayBeNoCode) {
  int known = 0;
  for (int code = 0; code < 65536; ++code) known += is_known(static_cast<ErrorCode>(code)) ? 1 : 0;
  EXPECT_EQ(known, 18);
  EXPECT_TRUE(is_known(ErrorCode::Internal));
  EXPECT_FALSE(is_known(static_cast<ErrorCode>(1018)));
}

TEST(Result, NamesAreThoseOfTheEnumeration) {
  EXPECT_EQ(name_of(ErrorCode::InvalidProgram), "InvalidProgram");
  EXPECT_EQ(name_of(ErrorCode::CooperativeResidencyExceeded), "CooperativeResidencyExceeded");
  EXPECT_EQ(name_of(ErrorCode::Unknown), "Unknown");
}

TEST(Result, TextHasNameNumberMessageAndContext) {
  Error error{ErrorCode::InvalidArgument, "row is too short (7)", {}, {}, {}};
  EXPECT_EQ(to_string(error), "InvalidArgument (1008): row is too short (7)");
  error.context = {"while binding row", "while running reach"};
  EXPECT_EQ(
      to_string(error),
      "InvalidArgument (1008): row is too short (7)\n  while binding row\n  while running reach");
  error.at = {"reach.vyre", 3, 9, 1};
  EXPECT_NE(to_string(error).find("\n  at reach.vyre:3:9\n  while binding row"), std::string::npos);
}

}  // namespace
}  // namespace vyre
