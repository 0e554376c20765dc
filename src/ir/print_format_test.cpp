// SPDX-License-Identifier: Apache-2.0
#include "ir/print_format.hpp"

#include <bit>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace vyre::ir {
namespace {

std::string text(std::string_view format, const std::vector<Type>& types = {},
                 const std::vector<uint64_t>& bits = {}) {
  return format_text(format, types, bits);
}
uint64_t f32(float value) {
  return std::bit_cast<uint32_t>(value);
}

TEST(PrintFormat, Texts) {
  EXPECT_EQ(text(""), "");
  EXPECT_EQ(text("a {{b}} c"), "a {b} c");
  EXPECT_EQ(text("{{{}}}", {Type::U32}, {7}), "{7}");
  EXPECT_EQ(text("{}{}", {Type::U32, Type::I32}, {4294967295, 4294967295}), "4294967295-1");
  EXPECT_EQ(text("{} {}", {Type::U64, Type::I64}, {~uint64_t{0}, ~uint64_t{0}}),
            "18446744073709551615 -1");
  EXPECT_EQ(text("{} {:d} {}", {Type::Bool, Type::Bool, Type::Bool}, {1, 1, 0}), "true 1 false");
}

TEST(PrintFormat, Specs) {
  EXPECT_EQ(text("{:>5}|{:<5}|{:^5}|{:*^5}", std::vector<Type>(4, Type::U32), {1, 2, 3, 4}),
            "    1|2    |  3  |**4**");
  EXPECT_EQ(
      text("{:+} {:x} {:#X} {:#010b} {:o}", std::vector<Type>(5, Type::U32), {1, 255, 255, 5, 8}),
      "+1 ff 0XFF 0b00000101 10");
  EXPECT_EQ(text("{} {:.3f} {:e} {:8.2f} {:g}", std::vector<Type>(5, Type::F32),
                 std::vector<uint64_t>(5, f32(0.1F))),
            "0.1 0.100 1.000000e-01     0.10 0.1");
  EXPECT_EQ(text("{}", {Type::F64}, {std::bit_cast<uint64_t>(0.1)}), "0.1");
}

// What arithmetic leaves of a NaN differs between devices.
TEST(PrintFormat, AllNansAreWrittenAlike) {
  for (const uint64_t bits : {0x7fc00000U, 0xffc00000U, 0x7f800001U, 0xff801234U})
    EXPECT_EQ(text("{}", {Type::F32}, {bits}), "nan") << bits;
  EXPECT_EQ(text("{}", {Type::F64}, {0xfff8000000000001}), "nan");
  EXPECT_EQ(text("{} {}", {Type::F32, Type::F32}, {0x80000000, 0xff800000}), "-0 -inf");
}

TEST(PrintFormat, WhatIsNoFormat) {
  const auto wrong = [](std::string_view format) {
    FormatProblem problem;
    parse_format(format, problem);
    return !problem.message.empty() && !problem.fix.empty();
  };
  for (const std::string_view format : {"{", "}", "{0}", "{x}", "{ }", "a } b", "{{{", "{:"})
    EXPECT_TRUE(wrong(format)) << format;
  for (const std::string_view format : {"", "{}", "{:}", "{{", "}}", "{{}}", "{:>3}"})
    EXPECT_FALSE(wrong(format)) << format;
}

TEST(PrintFormat, SpecsAndTypes) {
  const auto fits = [](std::string_view spec, Type type) {
    return check_spec(spec, type).message.empty();
  };
  for (const Type type : {Type::U32, Type::I32, Type::U64, Type::I64}) {
    for (const char* spec : {"", "d", "x", "#X", "b", "o", "+d", "08", ">8", "-^8x"})
      EXPECT_TRUE(fits(spec, type)) << spec;
    for (const char* spec : {"f", ".2", "s", "e", "c", "L", "{}", "8.", "256", "dd", "?"})
      EXPECT_FALSE(fits(spec, type)) << spec;
  }
  for (const Type type : {Type::F32, Type::F64}) {
    for (const char* spec : {"", ".3", ".3f", "+e", "08.3G", "a", "#g"})
      EXPECT_TRUE(fits(spec, type)) << spec;
    for (const char* spec : {"d", "x", ".256f", "s", "p"}) EXPECT_FALSE(fits(spec, type)) << spec;
  }
  for (const char* spec : {"", "s", "d", ">8", "#x"}) EXPECT_TRUE(fits(spec, Type::Bool)) << spec;
  for (const char* spec : {"f", "+", "#", "08", ".2"}) EXPECT_FALSE(fits(spec, Type::Bool)) << spec;
}

// Whatever is accepted is written without an exception.
TEST(PrintFormat, EveryAcceptedSpecIsWritten) {
  constexpr std::string_view kLetters = "{}<>^*+- #0123.dxXbBoaAeEfFgGscL?";
  for (const char a : kLetters)
    for (const char b : kLetters)
      for (const char c : kLetters) {
        const std::string spec = {a, b, c};
        if (spec.find_first_of("{}") != std::string::npos) continue;
        for (const Type type : {Type::Bool, Type::U32, Type::I64, Type::F32, Type::F64}) {
          if (!check_spec(spec, type).message.empty()) continue;
          EXPECT_NO_THROW(text("{:" + spec + "}", {type}, {1})) << spec;
        }
      }
}

}  // namespace
}  // namespace vyre::ir
