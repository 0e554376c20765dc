// SPDX-License-Identifier: Apache-2.0
#include "text/number.hpp"

#include <gtest/gtest.h>

namespace vyre::text {
namespace {

using ir::Type;

uint64_t integer(std::string_view spelling) {
  const auto number = read_number(spelling);
  EXPECT_TRUE(number && !number->decimal) << spelling;
  return number ? number->magnitude : 0;
}

std::string decimal(std::string_view spelling) {
  const auto number = read_number(spelling);
  if (!number || !number->decimal) return "error";
  return number->digits + "e" + std::to_string(number->exponent);
}

std::string message(std::string_view spelling) {
  const auto number = read_number(spelling);
  return number ? "fine" : number.error().message;
}

TEST(Number, ReadsIntegers) {
  EXPECT_EQ(integer("0"), 0u);
  EXPECT_EQ(integer("007"), 7u);
  EXPECT_EQ(integer("1_000_000"), 1'000'000u);
  EXPECT_EQ(integer("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(integer("0xffff_FFFF"), 0xffffffffu);
  EXPECT_EQ(integer("0xffffffffffffffff"), UINT64_MAX);
  EXPECT_EQ(integer("0b1010"), 10u);
  EXPECT_EQ(integer("0b" + std::string(64, '1')), UINT64_MAX);
}

TEST(Number, ReadsSuffixes) {
  EXPECT_EQ(read_number("5u32")->suffix, Type::U32);
  EXPECT_EQ(read_number("5i64")->suffix, Type::I64);
  EXPECT_EQ(read_number("1f32")->suffix, Type::F32);
  EXPECT_EQ(read_number("0b1f64")->suffix, Type::F64);
  EXPECT_EQ(read_number("1.5f64")->suffix, Type::F64);
  EXPECT_EQ(read_number("5")->suffix, std::nullopt);
}

TEST(Number, HexDigitsWinOverFloatSuffixes) {
  EXPECT_EQ(integer("0x1f32"), 0x1f32u);
  EXPECT_EQ(read_number("0x1f32")->suffix, std::nullopt);
  EXPECT_EQ(integer("0xffu32"), 0xffu);
  EXPECT_EQ(read_number("0xffi64")->suffix, Type::I64);
}

TEST(Number, KeepsDecimalsInCanonicalDigits) {
  EXPECT_EQ(decimal("1.5"), "15e1");
  EXPECT_EQ(decimal("0.0"), "e0");
  EXPECT_EQ(decimal("000.000"), "e0");
  EXPECT_EQ(decimal("0.001250"), "125e-2");
  EXPECT_EQ(decimal("100.0"), "1e3");
  EXPECT_EQ(decimal("1.0e10"), "1e11");
  EXPECT_EQ(decimal("12.5E-3"), "125e-1");
  EXPECT_EQ(decimal("1_0.2_5e+1_0"), "1025e12");
  EXPECT_EQ(decimal("0.0e99999999999999999999"), "e0");
  EXPECT_EQ(decimal("1.0e2147483646"), "1e2147483647");
}

TEST(Number, RefusesWhatTheGrammarDoes) {
  EXPECT_EQ(message("18446744073709551616"),
            "`18446744073709551616` is above the largest integer, 18446744073709551615");
  EXPECT_EQ(message("0x10000000000000000"),
            "`0x10000000000000000` is above the largest integer, 18446744073709551615");
  EXPECT_EQ(message("1x"), "`x` is glued to the number `1x`");
  EXPECT_EQ(message("1u8"), "`u8` is glued to the number `1u8`");
  EXPECT_EQ(message("0b102"), "`2` is glued to the number `0b102`");
  EXPECT_EQ(message("0X10"), "`X10` is glued to the number `0X10`");
  EXPECT_EQ(message("1e5"), "`1e5` has an exponent but no decimal point");
  EXPECT_EQ(message("1.5u32"), "the decimal `1.5u32` has the integer suffix `u32`");
  EXPECT_EQ(message("1."), "the decimal `1.` lacks digits on one side of its point");
  EXPECT_EQ(message(".5"), "the decimal `.5` lacks digits on one side of its point");
  EXPECT_EQ(message("1.0e2147483647"), "the exponent of `1.0e2147483647` is out of range");
  EXPECT_EQ(message("1.0e-99999999999999"),
            "the exponent of `1.0e-99999999999999` is out of range");
  for (const std::string_view bad :
       {"0x", "0b", "1_", "1__0", "0x_1", "1_u32", "1.0_", "1._0", "1.0e", "1.0e+", "1.0e_1"})
    EXPECT_NE(message(bad), "fine") << bad;
}

TEST(Number, WritesIntegers) {
  EXPECT_EQ(write_number(ir::IntLiteral{7, false, {}}), "7");
  EXPECT_EQ(write_number(ir::IntLiteral{0, true, {}}), "-0");
  EXPECT_EQ(write_number(ir::IntLiteral{UINT64_MAX, false, Type::U64}), "18446744073709551615u64");
  EXPECT_EQ(write_number(ir::IntLiteral{1, true, Type::F32}), "-1f32");
}

TEST(Number, WritesDecimalsPlainlyWhileTheyAreShort) {
  const auto write = [](std::string digits, int32_t exponent, bool negative = false) {
    return write_number(ir::FloatLiteral{std::move(digits), exponent, negative, {}});
  };
  EXPECT_EQ(write("", 0), "0.0");
  EXPECT_EQ(write("", 0, true), "-0.0");
  EXPECT_EQ(write("15", 1), "1.5");
  EXPECT_EQ(write("5", 0), "0.5");
  EXPECT_EQ(write("5", -3), "0.0005");
  EXPECT_EQ(write("5", -4), "5.0e-5");
  EXPECT_EQ(write("1", 17), "10000000000000000.0");
  EXPECT_EQ(write("12", 18), "1.2e17");
  EXPECT_EQ(write("123", INT32_MAX, true), "-1.23e2147483646");
  EXPECT_EQ(write("1", INT32_MIN), "1.0e-2147483649");
}

TEST(Number, WhatIsWrittenReadsBack) {
  for (const std::string digits : {"1", "12", "987654321", "1234567890123456789012345"}) {
    for (const int32_t exponent :
         {INT32_MIN, -324, -20, -4, -3, 0, 1, 2, 5, 17, 18, 309, INT32_MAX}) {
      const std::string text = write_number(ir::FloatLiteral{digits, exponent, false, Type::F64});
      const auto number = read_number(text);
      ASSERT_TRUE(number) << text;
      EXPECT_EQ(number->digits, digits) << text;
      EXPECT_EQ(number->exponent, exponent) << text;
      EXPECT_EQ(number->suffix, Type::F64) << text;
    }
  }
}

}  // namespace
}  // namespace vyre::text
