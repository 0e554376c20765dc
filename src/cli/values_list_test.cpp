// SPDX-License-Identifier: Apache-2.0
// `[1, 2, 3]` and csv.
#include <string>

#include <gtest/gtest.h>

#include "cli/values_helpers_test.hpp"

namespace vyre::cli {
namespace {

using ir::Type;

std::string csv_shown(Type element, std::string_view text, std::optional<uint64_t> count = {}) {
  return shown(element, from_csv({"a", element, count}, "d.csv", text));
}

TEST(ValuesList, ReadsLiterals) {
  EXPECT_EQ(read_shown(Type::U32, "[1,2,3]"), "[1, 2, 3]");
  EXPECT_EQ(read_shown(Type::U32, "[]"), "[]");
  EXPECT_EQ(read_shown(Type::U32, " [ ] "), "[]");
  EXPECT_EQ(read_shown(Type::I8, "[ -1, 0x7f , +5,]"), "[-1, 127, 5]");
  EXPECT_EQ(read_shown(Type::I32, "[1 2\n3]"), "[1, 2, 3]");
  EXPECT_EQ(read_shown(Type::Bool, "[true,false,1,0]"), "[true, false, true, false]");
  EXPECT_EQ(read_shown(Type::F32, "[0.1,-inf,nan,1e3]"), "[0.1, -inf, nan, 1000]");
  EXPECT_EQ(hex(*read_value({"a", Type::U16, {}}, "[1,0x0203]", {})), "01000302");
  EXPECT_EQ(hex(*read_value({"a", Type::Bool, {}}, "[true,false]", {})), "0100000000000000");
  EXPECT_EQ(hex(*read_value({"a", Type::BF16, {}}, "[1,-2]", {})), "803f00c0");
}

TEST(ValuesList, RefusesLiteralsWithTheElement) {
  EXPECT_EQ(
      read_shown(Type::U8, "[1,2,300]"),
      "element 2 of the list for buffer `a`: `300` does not fit u8, which holds 0 to 255 | use "
      "a number in that range");
  EXPECT_EQ(read_shown(Type::U32, "[1,,2]"),
            "element 1 of the list for buffer `a`: a number is missing before the comma | write a "
            "number there, or remove the comma");
  EXPECT_EQ(read_shown(Type::U32, "[,1]").substr(0, 25), "element 0 of the list for");
  EXPECT_EQ(read_shown(Type::U32, "[1,2"),
            "the list `[1,2` has no closing bracket at its end | close it with `]`, and quote the "
            "value for the shell");
  EXPECT_EQ(read_shown(Type::U32, "[").substr(0, 30), "the list `[` has no closing br");
  EXPECT_EQ(read_shown(Type::U32, "[[1],[2]]").substr(0, 61),
            "element 0 of the list for buffer `a`: `[1]` is not a number |");
  EXPECT_EQ(read_shown(Type::U32, "[1,2,3]", 4),
            "buffer `a` has 4 elements, but the list has 3 | give exactly 4");
}

TEST(ValuesList, ReadsCsv) {
  EXPECT_EQ(csv_shown(Type::U32, "1,2\n3,4\n"), "[1, 2, 3, 4]");
  EXPECT_EQ(csv_shown(Type::U32, "1, 2\r\n3\t4"), "[1, 2, 3, 4]");
  EXPECT_EQ(csv_shown(Type::U32, "1,2,\n3,4,\n"), "[1, 2, 3, 4]");
  EXPECT_EQ(csv_shown(Type::U32, "\n\n 7 \n\n"), "[7]");
  EXPECT_EQ(csv_shown(Type::U32, ""), "[]");
  EXPECT_EQ(csv_shown(Type::U32,
                      "\xEF\xBB\xBF"
                      "5"),
            "[5]");
  EXPECT_EQ(csv_shown(Type::F64, "0.5\n-1e-3\nNaN\n"), "[0.5, -0.001, nan]");
  EXPECT_EQ(csv_shown(Type::Bool, "true\nfalse\n"), "[true, false]");
}

TEST(ValuesList, RefusesCsvWithThePlace) {
  EXPECT_EQ(csv_shown(Type::U32, "1,2\n3,x\n"),
            "d.csv:2:3: `x` is not a number | write numbers such as 7, -3, 0x1F, 0.5 or 1e-3");
  EXPECT_EQ(csv_shown(Type::U32, "x,y\n1,2\n").substr(0, 30), "d.csv:1:1: `x` is not a number");
  EXPECT_EQ(csv_shown(Type::U32,
                      "\xEF\xBB\xBF"
                      "1,-2")
                .substr(0, 27),
            "d.csv:1:3: `-2` does not fi");
  EXPECT_EQ(csv_shown(Type::U32, "1,2\n\n  1,,2").substr(0, 31), "d.csv:3:5: a number is missing ");
  EXPECT_EQ(csv_shown(Type::U32, ",").substr(0, 31), "d.csv:1:1: a number is missing ");
  EXPECT_EQ(csv_shown(Type::U32, "1,2,3", 2),
            "buffer `a` has 2 elements, but `d.csv` has 3 | give exactly 2");
  EXPECT_FALSE(from_csv({"a", Type::U32, {}}, "d.csv", std::string_view("1\0002", 3)));
}

TEST(ValuesList, WritesCsv) {
  const auto bytes = read_value({"a", Type::I16, {}}, "[1,-2,3,4,5,6]", {});
  ASSERT_TRUE(bytes);
  EXPECT_EQ(to_csv({"a", Type::I16, *bytes, {}}), "1\n-2\n3\n4\n5\n6\n");
  EXPECT_EQ(to_csv({"a", Type::I16, *bytes, Shape{2, 3}}), "1,-2,3\n4,5,6\n");
  EXPECT_EQ(to_csv({"a", Type::I16, *bytes, Shape{1, 6}}), "1,-2,3,4,5,6\n");
  EXPECT_EQ(to_csv({"a", Type::I16, {}, {}}), "");
  EXPECT_EQ(to_csv({"a", Type::I16, {}, Shape{3, 0}}), "");
}

TEST(ValuesList, CsvReadsBackEveryType) {
  for (int t = 0; t < ir::kTypeCount; ++t) {
    const auto element = static_cast<Type>(t);
    const auto bytes = read_value({"a", element, {}}, "random(50,0,2)", {});
    ASSERT_TRUE(bytes);
    const ArrayView array{"a", element, *bytes, Shape{5, 10}};
    EXPECT_EQ(from_csv({"a", element, 50}, "d.csv", to_csv(array)), *bytes);
  }
}

}  // namespace
}  // namespace vyre::cli
