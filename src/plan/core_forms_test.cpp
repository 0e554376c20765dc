// SPDX-License-Identifier: Apache-2.0
// Loops and arrays in the forms that the planner knows, run against what they were.
#include "plan/core_forms.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "plan/printed_test.hpp"
#include "vyre/oracle/oracle.hpp"
#include "vyre/text/text.hpp"

namespace vyre::plan {
namespace {

using Bytes = std::vector<std::byte>;

std::string program(std::string_view statements) {
  return "program p { workgroup 1; in n : i64[8]; out o : i64[64]; var k = 0; " +
         std::string(statements) + "}";
}

// The output, or the error, of a program given {0, 1, ..., 7} as n.
std::string outcome(const check::CheckedProgram& checked) {
  Bytes n(64);
  for (int64_t i = 0; i < 8; ++i) std::memcpy(n.data() + i * 8, &i, 8);
  const std::span<const std::byte> inputs[] = {n};
  const auto run = oracle::run(checked, inputs, {});
  if (!run) return to_string(run.error());
  std::string text;
  const Bytes& bytes = run->buffers[1];
  for (size_t i = 0; i < bytes.size(); i += 8) {
    int64_t value = 0;
    std::memcpy(&value, bytes.data() + i, 8);
    text += std::to_string(value) + " ";
  }
  return text;
}

// What the program gives in its own and in the core forms, which have to agree.
std::string both(std::string_view statements) {
  const check::CheckedProgram checked = checked_text(program(statements));
  const std::string before = outcome(checked);
  const auto simpler = core_forms(checked);
  EXPECT_TRUE(simpler.has_value()) << statements;
  if (!simpler) return before;
  EXPECT_FALSE(core_forms(*simpler).has_value());
  EXPECT_EQ(outcome(*simpler), before) << text::print(simpler->program);
  // What is printed is a program as well, with the same result.
  const check::CheckedProgram again = checked_text(text::print(simpler->program));
  EXPECT_EQ(outcome(again).substr(0, 40), before.substr(0, 40));
  return before;
}

TEST(CoreForms, LeavesOtherProgramsAlone) {
  const auto given = checked_text(
      program("for i in 0 .. 9 step 3 { o[i] = 1; } var a : i64[4]; a[0] = n[0]; o[k] = a[0];"));
  EXPECT_FALSE(core_forms(given).has_value());
}

TEST(CoreForms, ReversedLoops) {
  for (const char* const range :
       {"0 .. 10", "0 .. 10 step 3", "5 .. 5", "9 .. 2", "-4 .. 9 step 4", "n[1] .. n[7] step 2",
        "-9223372036854775808i64 .. 9223372036854775807 step 9223372036854775807",
        "9223372036854775800i64 .. 9223372036854775807 step 3", "n[2] .. n[3]"})
    both("for i in rev " + std::string(range) +
         " { if i == 6 { continue; } o[k] = (i as i64) + 1; k += 1; if k == 9 { break; } }");
}

TEST(CoreForms, StepsOfTheRun) {
  for (const char* const rev : {"", "rev "})
    for (const char* const range :
         {"0 .. 10i64 step n[3]", "n[1] .. n[7] step n[2]", "5 .. 5i64 step n[0]",
          "7 .. n[3] step n[0]", "0 .. 10i64 step max(n[0], 4)", "0 .. 9i64 step n[0]",
          "0 .. 9i64 step n[0] - 1",
          "-9223372036854775808i64 .. 9223372036854775807 step 9223372036854775800 + n[7]"})
      both("for i in " + std::string(rev) + range + " { o[k] = i; k += 1; }");
}

// Each loop reports with the same tag, and none with a tag of the program.
TEST(CoreForms, TagsOfLoops) {
  EXPECT_NE(both("if n[0] == 1 { trap(65535, 1); } for i in 0 .. n[1] step n[2] { o[k] = i; } "
                 "for i in 0 .. 9i64 step n[0] { o[k] = i; }")
                .find("tag 65534 and value 0"),
            std::string::npos);
}

TEST(CoreForms, ValuesOfArrays) {
  EXPECT_EQ(
      both("var a : i64[4] = {3 + 4, -2}; for i in 0 .. 4 { o[i] = a[i]; } a[k] = 1;").substr(0, 9),
      "7 -2 0 0 ");
  both(
      "for t in 0 .. 2 { var a : i64[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, "
      "16, 17}; for i in 0 .. 20 { o[i] += a[i]; a[i] = 9; } }");
}

}  // namespace
}  // namespace vyre::plan
