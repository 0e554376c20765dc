// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/values_helpers_test.hpp"
#include "cli/values_number.hpp"
#include "cli/values_random.hpp"

namespace vyre::cli {
namespace {

using ir::Type;

TEST(ValuesGenerators, MakesConstants) {
  EXPECT_EQ(read_shown(Type::U32, "zeros(3)"), "[0, 0, 0]");
  EXPECT_EQ(read_shown(Type::F64, "zeros(2)"), "[0, 0]");
  EXPECT_EQ(read_shown(Type::Bool, "ones(2)"), "[true, true]");
  EXPECT_EQ(read_shown(Type::I8, "ones(2)"), "[1, 1]");
  for (const Type element : {Type::F16, Type::BF16, Type::F32, Type::F64})
    EXPECT_EQ(read_shown(element, "ones(2)"), "[1, 1]");
  EXPECT_EQ(read_shown(Type::F32, "fill(2,-1.5)"), "[-1.5, -1.5]");
  EXPECT_EQ(read_shown(Type::F32, "fill(2, nan)"), "[nan, nan]");
  EXPECT_EQ(read_shown(Type::Bool, " fill ( 2 , true ) "), "[true, true]");
  EXPECT_EQ(read_shown(Type::I16, "fill(1,0x7F)"), "[127]");
  EXPECT_EQ(read_shown(Type::U32, "zeros(0)"), "[]");
  EXPECT_EQ(read_value({"a", Type::U16, {}}, "zeros(1_000)", {})->size(), 2000U);
  EXPECT_EQ(hex(*read_value({"a", Type::Bool, {}}, "ones(2)", {})), "0100000001000000");
}

TEST(ValuesGenerators, CountsUp) {
  EXPECT_EQ(read_shown(Type::U32, "iota(4)"), "[0, 1, 2, 3]");
  EXPECT_EQ(read_shown(Type::F16, "iota(3)"), "[0, 1, 2]");
  EXPECT_EQ(read_shown(Type::Bool, "iota(2)"), "[false, true]");
  EXPECT_EQ(read_shown(Type::I64, "iota(0)"), "[]");
  struct Last {
    Type element;
    uint64_t count;
    std::string last;
  };
  for (const Last& c :
       {Last{Type::U8, 256, "255"}, Last{Type::I8, 128, "127"}, Last{Type::U16, 65536, "65535"},
        Last{Type::F16, 2049, "2048"}, Last{Type::BF16, 257, "256"}, Last{Type::Bool, 2, "true"}}) {
    const auto bytes = read_value({"a", c.element, {}}, fmt::format("iota({})", c.count), {});
    ASSERT_TRUE(bytes);
    const std::string text = element_text(c.element, *bytes, c.count - 1);
    EXPECT_EQ(text, c.last);
    EXPECT_FALSE(read_value({"a", c.element, {}}, fmt::format("iota({})", c.count + 1), {}));
  }
  EXPECT_EQ(read_shown(Type::U8, "iota(300)"),
            "`iota(300)` counts up to 299, but u8 holds each whole number only up to 255 | use at "
            "most iota(256), or a buffer of a larger type");
}

TEST(ValuesGenerators, RefusesWhatIsMalformed) {
  EXPECT_EQ(read_shown(Type::U32, "fill(3)"),
            "`fill(3)` has 1 argument, and fill takes 2 | write it as fill(n,x)");
  EXPECT_EQ(read_shown(Type::U32, "zeros()"),
            "`zeros()` has 0 arguments, and zeros takes 1 | write it as zeros(n)");
  EXPECT_EQ(read_shown(Type::U32, "random(1,2,3,)"),
            "`random(1,2,3,)` has 4 arguments, and random takes 3 | write it as random(n,lo,hi)");
  EXPECT_EQ(read_shown(Type::U32, "radnom(1,2,3)"),
            "there is no generator `radnom` | write random, or use zeros(n), ones(n), fill(n,x), "
            "iota(n) or random(n,lo,hi)");
  EXPECT_EQ(read_shown(Type::U32, "linspace(3)"),
            "there is no generator `linspace` | use zeros(n), ones(n), fill(n,x), iota(n) or "
            "random(n,lo,hi)");
  EXPECT_EQ(read_shown(Type::U32, "zeros(3"),
            "`zeros(3` has no closing parenthesis at its end | close it with `)`, and quote the "
            "value for the shell");
  EXPECT_EQ(
      read_shown(Type::U32, "zeros(-3)"),
      "`-3` is not a number of elements in `zeros(-3)` | write a whole number such as 1024 or "
      "1_000_000");
  for (const char* text : {"zeros(x)", "zeros(1.5)", "fill(,1)", "zeros(nan)", "zeros(true)"})
    EXPECT_NE(read_shown(Type::U32, text).find("is not a number of elements"), std::string::npos);
  EXPECT_EQ(read_shown(Type::U8, "fill(3,256)"),
            "in `fill(3,256)`, `256` does not fit u8, which holds 0 to 255 | use a number in that "
            "range");
}

TEST(ValuesGenerators, HoldsSizesToTheLimits) {
  EXPECT_EQ(read_shown(Type::U32, "zeros(5)", 4),
            "buffer `a` has 4 elements, but `zeros(5)` has 5 | give exactly 4");
  EXPECT_EQ(read_shown(Type::U32, "zeros(5)", 1),
            "buffer `a` has 1 element, but `zeros(5)` has 5 | give exactly 1");
  EXPECT_EQ(read_shown(Type::U8, "zeros(4294967297)"),
            "`zeros(4294967297)` has 4294967297 elements of u8, more than this tool takes for one "
            "buffer | use at most 4294967296 elements (2^32 of them, 16 GiB)");
  EXPECT_EQ(read_shown(Type::F64, "zeros(2_147_483_649)"),
            "`zeros(2_147_483_649)` has 2147483649 elements of f64, more than this tool takes for "
            "one buffer | use at most 2147483648 elements (2^32 of them, 16 GiB)");
  for (const char* text : {"zeros(18446744073709551616)", "iota(99999999999999999999)",
                           "random(0xFFFFFFFFFFFFFFFF,0,1)", "fill(18446744073709551615,1)"})
    EXPECT_FALSE(read_value({"a", Type::U64, {}}, text, {})) << text;
}

// The contract with users: these numbers never change.
TEST(ValuesGenerators, RandomNumbersAreFixed) {
  Random random(0, "a");
  EXPECT_EQ(random.next(), 17109381960582443948U);
  EXPECT_EQ(read_shown(Type::U32, "random(5,0,1000)"), "[927, 756, 564, 142, 347]");
  EXPECT_EQ(read_shown(Type::U32, "random(5,0,1000)", {}, 1), "[581, 764, 781, 810, 635]");
  EXPECT_EQ(shown(Type::U32, read_value({"b", Type::U32, {}}, "random(5,0,1000)", {})),
            "[236, 183, 541, 748, 619]");
  EXPECT_EQ(read_shown(Type::I64, "random(3,-9223372036854775808,9223372036854775808)"),
            "[7886009923727668140, 4728374056302755672, 1184527597314610382]");
  EXPECT_EQ(read_shown(Type::F32, "random(4,0,1)"),
            "[0.92750144, 0.75632566, 0.56421334, 0.14260584]");
  EXPECT_EQ(read_shown(Type::F64, "random(3,-1,1)"),
            "[0.8550029091547784, 0.5126513424167544, 0.1284267394377535]");
  EXPECT_EQ(read_shown(Type::F16, "random(4,0,100)"), "[92.75, 75.6, 56.38, 14.25]");
  EXPECT_EQ(read_shown(Type::BF16, "random(4,-2,2)"), "[1.7, 1.02, 0.25, -1.43]");
  EXPECT_EQ(read_shown(Type::Bool, "random(8,0,2)"),
            "[true, true, true, false, false, false, true, false]");
}

TEST(ValuesGenerators, AShortRandomInputIsTheStartOfALongOne) {
  const auto shorter = read_value({"a", Type::I32, {}}, "random(10,-7,9)", {3});
  const auto longer = read_value({"a", Type::I32, {}}, "random(100,-7,9)", {3});
  ASSERT_TRUE(shorter && longer);
  EXPECT_TRUE(std::equal(shorter->begin(), shorter->end(), longer->begin()));
}

TEST(ValuesGenerators, RandomIntegersStayInRangeAndReachItsEnds) {
  const auto bytes = read_value({"a", Type::I8, {}}, "random(20000,-3,4)", {});
  ASSERT_TRUE(bytes);
  std::array<int, 7> seen{};
  for (uint64_t i = 0; i < 20000; ++i) {
    const auto value = static_cast<int8_t>(load_element(Type::I8, *bytes, i));
    ASSERT_GE(value, -3);
    ASSERT_LT(value, 4);
    ++seen[static_cast<size_t>(value + 3)];
  }
  for (const int count : seen) EXPECT_NEAR(count, 2857, 300);
  // The second bound may be one past the largest value.
  EXPECT_TRUE(read_value({"a", Type::U8, {}}, "random(9,0,256)", {}));
  EXPECT_TRUE(read_value({"a", Type::U64, {}}, "random(9,0,18446744073709551616)", {}));
  EXPECT_EQ(read_shown(Type::U64, "random(2,18446744073709551615,18446744073709551616)"),
            "[18446744073709551615, 18446744073709551615]");
  EXPECT_EQ(read_shown(Type::U32, "random(0,0,1)"), "[]");
}

TEST(ValuesGenerators, BelowIsUnbiased) {
  // 3 * 2^62: a plain multiplication or remainder would draw a third of the numbers twice as often.
  Random random(7, "bias");
  const uint64_t bound = uint64_t{3} << 62;
  int low = 0;
  for (int i = 0; i < 30000; ++i) {
    const uint64_t value = random.below(bound);
    ASSERT_LT(value, bound);
    if (value % 3 == 0) ++low;
  }
  EXPECT_NEAR(low, 10000, 400);
}

TEST(ValuesGenerators, RandomFloatsNeverReachTheSecondBound) {
  struct Range {
    Type element;
    std::string low;
    std::string high;
  };
  for (const Range& range : {Range{Type::F32, "0", "1"},
                             Range{Type::F32, "1", "1.0000001"},
                             Range{Type::F32, "0.99999994", "1"},
                             Range{Type::F32, "-1", "-0.99999994"},
                             Range{Type::F32, "-3.4028235e38", "3.4028235e38"},
                             Range{Type::F32, "0", "1e-45"},
                             Range{Type::F32, "1e-45", "1"},
                             Range{Type::F32, "-1", "1e-45"},
                             Range{Type::F64, "-1.7976931348623157e308", "1.7976931348623157e308"},
                             Range{Type::F64, "5e-324", "1.7976931348623157e308"},
                             Range{Type::F64, "-1.7976931348623157e308", "5e-324"},
                             Range{Type::F64, "0", "5e-324"},
                             Range{Type::F64, "1", "1.0000000000000002"},
                             Range{Type::F64, "0.9999999999999999", "1"},
                             Range{Type::F16, "0", "65504"},
                             Range{Type::F16, "-6e-8", "0"},
                             Range{Type::F16, "2046", "2048"},
                             Range{Type::BF16, "255", "256"},
                             Range{Type::BF16, "-256", "-255"},
                             Range{Type::BF16, "-3e38", "3e38"}}) {
    const auto low = float_value(range.element, *parse_element(range.element, range.low));
    const auto high = float_value(range.element, *parse_element(range.element, range.high));
    const auto text = fmt::format("random(3000,{},{})", range.low, range.high);
    const auto bytes = read_value({"a", range.element, {}}, text, {});
    ASSERT_TRUE(bytes) << text << ": " << bytes.error().message;
    for (uint64_t i = 0; i < 3000; ++i) {
      const double value = float_value(range.element, load_element(range.element, *bytes, i));
      ASSERT_GE(value, low) << text;
      ASSERT_LT(value, high) << text;
    }
  }
}

TEST(ValuesGenerators, RandomFloatsAreSpreadEvenly) {
  const auto bytes = read_value({"a", Type::F32, {}}, "random(40000,-1,3)", {});
  ASSERT_TRUE(bytes);
  std::array<int, 8> seen{};
  for (uint64_t i = 0; i < 40000; ++i)
    ++seen[static_cast<size_t>((float_value(Type::F32, load_element(Type::F32, *bytes, i)) + 1) *
                               2)];
  for (const int count : seen) EXPECT_NEAR(count, 5000, 300);
}

TEST(ValuesGenerators, RefusesRangesThatAreEmptyOrTooWide) {
  EXPECT_EQ(read_shown(Type::U32, "random(3,5,5)"),
            "`random(3,5,5)` has an empty range, because `5` is not less than `5` | write the "
            "smaller bound first; the second bound itself is never drawn");
  EXPECT_EQ(read_shown(Type::F32, "random(3,1,0)").substr(0, 35),
            "`random(3,1,0)` has an empty range,");
  EXPECT_EQ(read_shown(Type::F16, "random(3,2048,2048.5)").substr(0, 42),
            "`random(3,2048,2048.5)` has an empty range");
  EXPECT_EQ(read_shown(Type::U8, "random(3,0,257)"),
            "`random(3,0,257)` leaves the range of u8, which holds 0 to 255 | use bounds from 0 to "
            "256");
  EXPECT_EQ(read_shown(Type::U32, "random(3,-1,5)").substr(0, 42),
            "`random(3,-1,5)` leaves the range of u32, ");
  EXPECT_EQ(read_shown(Type::F32, "random(3,0,inf)"),
            "`random(3,0,inf)` has the bound `inf`, and only finite bounds make a range | use a "
            "finite number");
  EXPECT_EQ(read_shown(Type::F32, "random(3,nan,1)").substr(0, 37),
            "`random(3,nan,1)` has the bound `nan`");
  EXPECT_EQ(read_shown(Type::U32, "random(3,0,1.5)").substr(0, 56),
            "in `random(3,0,1.5)`, `1.5` is not a whole number, and u");
}

}  // namespace
}  // namespace vyre::cli
