// SPDX-License-Identifier: Apache-2.0
#include "cli/values_number.hpp"

#include <bit>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/values_decimal.hpp"

namespace vyre::cli {
namespace {

using ir::Type;

// The bits in hex, or "message | fix".
std::string parsed(Type element, std::string_view text) {
  const auto bits = parse_element(element, text);
  if (!bits) return bits.error().message + " | " + bits.error().fix;
  return fmt::format("{:0{}x}", *bits, ir::bytes_of(element) * 2);
}

TEST(ValuesNumber, ReadsIntegers) {
  EXPECT_EQ(parsed(Type::U8, "0"), "00");
  EXPECT_EQ(parsed(Type::U8, "255"), "ff");
  EXPECT_EQ(parsed(Type::U8, "+7"), "07");
  EXPECT_EQ(parsed(Type::U8, "-0"), "00");
  EXPECT_EQ(parsed(Type::I8, "-128"), "80");
  EXPECT_EQ(parsed(Type::I8, "-0x10"), "f0");
  EXPECT_EQ(parsed(Type::U16, "0xBEEF"), "beef");
  EXPECT_EQ(parsed(Type::I16, "0b101"), "0005");
  EXPECT_EQ(parsed(Type::U32, "4294967295"), "ffffffff");
  EXPECT_EQ(parsed(Type::U32, "1_000_000"), "000f4240");
  EXPECT_EQ(parsed(Type::U32, "0xFFFF_FFFF"), "ffffffff");
  EXPECT_EQ(parsed(Type::I32, "-2147483648"), "80000000");
  EXPECT_EQ(parsed(Type::U64, "18446744073709551615"), "ffffffffffffffff");
  EXPECT_EQ(parsed(Type::U64, "0xffffffffffffffff"), "ffffffffffffffff");
  EXPECT_EQ(parsed(Type::I64, "-9223372036854775808"), "8000000000000000");
}

TEST(ValuesNumber, ReadsWholeNumbersInDecimalForm) {
  EXPECT_EQ(parsed(Type::U32, "1e3"), "000003e8");
  EXPECT_EQ(parsed(Type::U32, "2.0"), "00000002");
  EXPECT_EQ(parsed(Type::U32, "1.5e1"), "0000000f");
  EXPECT_EQ(parsed(Type::U32, "1200e-2"), "0000000c");
  EXPECT_EQ(parsed(Type::U32, "0e99999999999999999999"), "00000000");
  EXPECT_EQ(parsed(Type::U64, "1.8446744073709551615e19"), "ffffffffffffffff");
  EXPECT_EQ(parsed(Type::U64, "00000000000000000000000000007"), "0000000000000007");
}

TEST(ValuesNumber, RefusesIntegersWithTheRange) {
  EXPECT_EQ(parsed(Type::U8, "300"),
            "`300` does not fit u8, which holds 0 to 255 | use a number in that range");
  EXPECT_EQ(parsed(Type::U32, "-1"),
            "`-1` does not fit u32, which holds 0 to 4294967295 | use a number in that range");
  EXPECT_EQ(
      parsed(Type::I32, "0xFFFFFFFF"),
      "`0xFFFFFFFF` does not fit i32, which holds -2147483648 to 2147483647 | use a number in "
      "that range");
  EXPECT_EQ(parsed(Type::I64, "9223372036854775808"),
            "`9223372036854775808` does not fit i64, which holds -9223372036854775808 to "
            "9223372036854775807 | use a number in that range");
  EXPECT_EQ(parsed(Type::U64, "18446744073709551616").substr(0, 41),
            "`18446744073709551616` does not fit u64, ");
  EXPECT_EQ(parsed(Type::U64, "0x10000000000000000").substr(0, 40),
            "`0x10000000000000000` does not fit u64, ");
  EXPECT_EQ(parsed(Type::U64, "1e99999999999999999999").substr(0, 43),
            "`1e99999999999999999999` does not fit u64, ");
  EXPECT_EQ(
      parsed(Type::U32, "1.5"),
      "`1.5` is not a whole number, and u32 holds whole numbers (0 to 4294967295) | round it, "
      "or use a buffer of a float type");
  EXPECT_EQ(parsed(Type::I8, "1e-99999999999999999999"),
            "`1e-99999999999999999999` is not a whole number, and i8 holds whole numbers (-128 to "
            "127) | round it, or use a buffer of a float type");
  EXPECT_EQ(parsed(Type::U32, "nan").substr(0, 31), "`nan` is not a whole number, an");
  EXPECT_EQ(parsed(Type::U32, "true"), "`true` is a bool, not a number | write 1 or 0");
}

TEST(ValuesNumber, RefusesWhatIsNoNumber) {
  for (const char* text : {"abc",  "1x",   "--1", "+-1",    "0x",  "0xG",     "0b2", "0b",
                           "1__0", "_1",   "1_",  "1e",     "1e+", ".",       "-",   "1.2.3",
                           "1 2",  "0x-1", "1;2", "nan(1)", "e5",  "0x1.8p1", "1f",  "٣"}) {
    for (const Type element : {Type::U32, Type::I64, Type::F32, Type::F64, Type::BF16}) {
      EXPECT_EQ(parsed(element, text),
                fmt::format("`{}` is not a number | write numbers such as 7, "
                            "-3, 0x1F, 0.5 or 1e-3",
                            text));
    }
  }
  EXPECT_EQ(parsed(Type::F32, ""), "a number is missing | write a number");
  EXPECT_EQ(parsed(Type::F32, std::string(1000, 'x')).substr(0, 80),
            "`" + std::string(60, 'x') + "…` is not a numbe");
}

TEST(ValuesNumber, ReadsBools) {
  EXPECT_EQ(parsed(Type::Bool, "true"), "00000001");
  EXPECT_EQ(parsed(Type::Bool, "False"), "00000000");
  EXPECT_EQ(parsed(Type::Bool, "1"), "00000001");
  EXPECT_EQ(parsed(Type::Bool, "0"), "00000000");
  EXPECT_EQ(parsed(Type::Bool, "2"), "`2` is not a bool | write true or false (or 1 or 0)");
}

TEST(ValuesNumber, ReadsFloats) {
  EXPECT_EQ(parsed(Type::F32, "1"), "3f800000");
  EXPECT_EQ(parsed(Type::F32, "-0"), "80000000");
  EXPECT_EQ(parsed(Type::F32, "0.1"), "3dcccccd");
  EXPECT_EQ(parsed(Type::F32, ".5"), "3f000000");
  EXPECT_EQ(parsed(Type::F32, "5."), "40a00000");
  EXPECT_EQ(parsed(Type::F32, "5.e-1"), "3f000000");
  EXPECT_EQ(parsed(Type::F32, "0x10"), "41800000");
  EXPECT_EQ(parsed(Type::F32, "1_0.5"), "41280000");
  EXPECT_EQ(parsed(Type::F32, "1e-45"), "00000001");
  EXPECT_EQ(parsed(Type::F32, "3.4028235e38"), "7f7fffff");
  EXPECT_EQ(parsed(Type::F64, "0.1"), "3fb999999999999a");
  EXPECT_EQ(parsed(Type::F64, "5e-324"), "0000000000000001");
  EXPECT_EQ(parsed(Type::F64, "0xffffffffffffffff"), "43f0000000000000");
  EXPECT_EQ(parsed(Type::F16, "1"), "3c00");
  EXPECT_EQ(parsed(Type::F16, "-65504"), "fbff");
  EXPECT_EQ(parsed(Type::F16, "6e-8"), "0001");
  EXPECT_EQ(parsed(Type::F16, "6.1e-5"), "03ff");
  EXPECT_EQ(parsed(Type::F16, "6.103515625e-5"), "0400");
  EXPECT_EQ(parsed(Type::BF16, "1"), "3f80");
  EXPECT_EQ(parsed(Type::BF16, "0.1"), "3dcd");
  EXPECT_EQ(parsed(Type::BF16, "3.3895314e38"), "7f7f");
}

TEST(ValuesNumber, ReadsSpecialFloats) {
  EXPECT_EQ(parsed(Type::F32, "nan"), "7fc00000");
  EXPECT_EQ(parsed(Type::F32, "-nan"), "ffc00000");
  EXPECT_EQ(parsed(Type::F32, "inf"), "7f800000");
  EXPECT_EQ(parsed(Type::F32, "+Infinity"), "7f800000");
  EXPECT_EQ(parsed(Type::F64, "-inf"), "fff0000000000000");
  EXPECT_EQ(parsed(Type::F64, "NaN"), "7ff8000000000000");
  EXPECT_EQ(parsed(Type::F16, "nan"), "7e00");
  EXPECT_EQ(parsed(Type::F16, "-inf"), "fc00");
  EXPECT_EQ(parsed(Type::BF16, "nan"), "7fc0");
  EXPECT_EQ(parsed(Type::BF16, "inf"), "7f80");
}

TEST(ValuesNumber, FloatsOutOfRange) {
  EXPECT_EQ(parsed(Type::F32, "1e39"),
            "`1e39` is too large for f32, whose largest value is 3.4028235e+38 | use a smaller "
            "number, or write inf");
  EXPECT_EQ(parsed(Type::F64, "-1e999"),
            "`-1e999` is too large for f64, whose largest value is 1.7976931348623157e+308 | use a "
            "smaller number, or write inf");
  EXPECT_EQ(parsed(Type::F16, "65520"),
            "`65520` is too large for f16, whose largest value is 65504 | use a smaller number, or "
            "write inf");
  EXPECT_EQ(parsed(Type::BF16, "1e39").substr(0, 32), "`1e39` is too large for bf16, wh");
  EXPECT_EQ(parsed(Type::F64, "0x10000000000000000"),
            "`0x10000000000000000` has more than 64 bits | write such a number as a decimal");
  // What is too small is rounded like everything else.
  EXPECT_EQ(parsed(Type::F32, "-1e-999"), "80000000");
  EXPECT_EQ(parsed(Type::F64, "1e-99999999999999999999"), "0000000000000000");
  EXPECT_EQ(parsed(Type::F16, "1e-300"), "0000");
  EXPECT_EQ(parsed(Type::BF16, "-1e-400"), "8000");
}

// 2049 lies in the middle of the f16 values 2048 and 2050. A decimal so close to it that its
// nearest double is 2049 must still go to its own side.
TEST(ValuesNumber, RoundsNarrowFloatsOnce) {
  const std::string zeros(60, '0');
  EXPECT_EQ(parsed(Type::F16, "2049"), "6800");
  EXPECT_EQ(parsed(Type::F16, "2049." + zeros + "1"), "6801");
  EXPECT_EQ(parsed(Type::F16, "2048." + std::string(60, '9')), "6800");
  EXPECT_EQ(parsed(Type::F16, "2051"), "6802") << "a tie goes to even, upwards";
  EXPECT_EQ(parsed(Type::F16, "2050." + std::string(60, '9')), "6801");
  EXPECT_EQ(parsed(Type::F16, "65519." + std::string(60, '9')), "7bff");
  // Half of the smallest subnormal, 2^-25 for f16 and 2^-134 for bf16.
  EXPECT_EQ(parsed(Type::F16, "2.98023223876953125e-8"), "0000");
  EXPECT_EQ(parsed(Type::F16, "2.98023223876953125" + zeros + "1e-8"), "0001");
  EXPECT_EQ(parsed(Type::F16, "8.94069671630859375e-8"), "0002");
  // 1 + 2^-8 for bf16, and 1 + 2^-8 + 2^-60, which is nearest to the double 1 + 2^-8. Through f32
  // the 2^-60 would be lost as well.
  EXPECT_EQ(parsed(Type::BF16, "1.00390625"), "3f80");
  EXPECT_EQ(parsed(Type::BF16, "1.00390625000000000086736173798840354720596224069595336914"),
            "3f81");
  EXPECT_EQ(parsed(Type::BF16, "1.01171875"), "3f82");
  EXPECT_EQ(parsed(Type::BF16, "1.0117187499999999999999999999999"), "3f81");
}

TEST(ValuesNumber, NarrowFloatsMatchTheCompiler) {
#ifdef __FLT16_MAX__
  // Every f16, the middles between neighbours, and a little to both sides.
  for (uint64_t bits = 0; bits < 0x7bff; ++bits) {
    const double low = float_value(Type::F16, bits);
    const double high = float_value(Type::F16, bits + 1);
    ASSERT_LT(low, high);
    const double middle = (low + high) / 2;
    for (const double value :
         {low, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e9)}) {
      const auto want = std::bit_cast<uint16_t>(static_cast<_Float16>(value));
      const auto got = parse_element(Type::F16, fmt::format("{:.60g}", value));
      ASSERT_TRUE(got);
      ASSERT_EQ(*got, want) << value;
    }
  }
#endif
}

TEST(ValuesNumber, EveryNarrowFloatReadsBackFromItsText) {
  for (const Type element : {Type::F16, Type::BF16}) {
    for (uint64_t bits = 0; bits <= 0xffff; ++bits) {
      const std::string text = bits_text(element, bits);
      const auto back = parse_element(element, text);
      ASSERT_TRUE(back) << text;
      if (text == "nan") continue;
      ASSERT_EQ(*back, bits) << text;
      ASSERT_EQ(float_bits(element, float_value(element, bits)), bits);
    }
  }
}

TEST(ValuesNumber, WideFloatsReadBackFromTheirText) {
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const uint64_t bits = state ^ (state >> 29);
    for (const Type element : {Type::F32, Type::F64}) {
      const uint64_t mine = element == Type::F32 ? bits >> 32 : bits;
      const std::string text = bits_text(element, mine);
      const auto back = parse_element(element, text);
      ASSERT_TRUE(back) << text;
      if (text != "nan") {
        ASSERT_EQ(*back, mine) << text;
      }
    }
  }
}

TEST(ValuesNumber, WritesElements) {
  const auto text = [](Type element, std::string_view number) {
    return bits_text(element, *parse_element(element, number));
  };
  EXPECT_EQ(bits_text(Type::Bool, 0), "false");
  EXPECT_EQ(bits_text(Type::Bool, 7), "true");
  EXPECT_EQ(bits_text(Type::I8, 0x80), "-128");
  EXPECT_EQ(bits_text(Type::U8, 0x80), "128");
  EXPECT_EQ(bits_text(Type::I64, UINT64_MAX), "-1");
  EXPECT_EQ(bits_text(Type::U64, UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(bits_text(Type::I32, 0xfffffffe), "-2");
  EXPECT_EQ(text(Type::F32, "0.1"), "0.1");
  EXPECT_EQ(text(Type::F32, "100000"), "100000");
  EXPECT_EQ(text(Type::F32, "16777216"), "16777216");
  EXPECT_EQ(text(Type::F32, "-1.5"), "-1.5");
  EXPECT_EQ(text(Type::F32, "-0"), "-0");
  EXPECT_EQ(text(Type::F32, "0.0001"), "0.0001");
  EXPECT_EQ(text(Type::F32, "0.00001"), "1e-5");
  EXPECT_EQ(text(Type::F32, "1234567948140544"), "1234567948140544");
  EXPECT_EQ(text(Type::F64, "1e15"), "1000000000000000");
  EXPECT_EQ(text(Type::F64, "1.25e16"), "1.25e+16");
  EXPECT_EQ(text(Type::F64, "5e-324"), "5e-324");
  EXPECT_EQ(text(Type::F16, "0.1"), "0.1");
  EXPECT_EQ(text(Type::F16, "0.333333"), "0.3333");
  EXPECT_EQ(text(Type::F16, "65504"), "65504") << "65500 reads back too and is no shorter";
  EXPECT_EQ(text(Type::F16, "6e-8"), "6e-8");
  EXPECT_EQ(text(Type::BF16, "3.14159"), "3.14");
  EXPECT_EQ(text(Type::BF16, "inf"), "inf");
  EXPECT_EQ(text(Type::F64, "-inf"), "-inf");
  EXPECT_EQ(text(Type::F64, "-nan"), "nan");
}

TEST(ValuesNumber, LoadsAndStoresLittleEndian) {
  std::vector<std::byte> bytes(16);
  store_element(Type::U32, bytes, 1, 0x04030201);
  EXPECT_EQ(bytes[4], std::byte{1});
  EXPECT_EQ(bytes[7], std::byte{4});
  EXPECT_EQ(load_element(Type::U16, bytes, 3), 0x0403U);
  EXPECT_EQ(load_element(Type::U64, bytes, 0), 0x0403020100000000U);
}

TEST(ValuesNumber, ComparesDecimalsExactly) {
  EXPECT_EQ(compare_magnitude(*parse_decimal("0.1"), 0.1), -1) << "the double is a little above";
  EXPECT_EQ(compare_magnitude(*parse_decimal("-0.5"), 0.5), 0);
  EXPECT_EQ(compare_magnitude(*parse_decimal("0.3"), 0.3), 1);
  EXPECT_EQ(compare_magnitude(*parse_decimal("0"), 0.0), 0);
  EXPECT_EQ(compare_magnitude(*parse_decimal("0"), 5e-324), -1);
  EXPECT_EQ(compare_magnitude(*parse_decimal("1e-400"), 0.0), 1);
  EXPECT_EQ(compare_magnitude(*parse_decimal("4.94e-324"), 5e-324), -1);
  EXPECT_EQ(compare_magnitude(*parse_decimal("10"), 9.0), 1);
}

}  // namespace
}  // namespace vyre::cli
