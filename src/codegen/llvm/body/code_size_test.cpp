// SPDX-License-Identifier: Apache-2.0
// Large programs: their size is known before code is made, calls stay calls, and what is emitted
// grows as the program does and not faster.
#include "codegen/llvm/body/code_size.hpp"

#include <functional>

#include <gmock/gmock.h>

#include "codegen/llvm/code_test.hpp"
#include "codegen/llvm/nvptx/target.hpp"

namespace vyre::codegen {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string repeated(size_t count, const std::function<std::string(const std::string&)>& part) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += part(std::to_string(i)) + "\n";
  return text;
}

std::string program(const std::string& functions, const std::string& body) {
  return "program p {\n  workgroup 64;\n  in d : u32[];\n  inout b : u32[];\n  inout y : f32[];\n"
         "  shared s : u32[64];\n" +
         functions + "let i = gid.x;\n" + body + "}\n";
}

std::string statements(size_t n) {
  return program("", repeated(n, [](const std::string& k) { return "b[i + " + k + "] = d[i];"; }));
}
std::string sines(size_t n) {
  return program("", "var v = y[i];\n" + repeated(n, [](const std::string& k) {
                       return "v = sin(v) + " + k + ".5;";
                     }) + "y[i] = v;\n");
}
std::string loops(size_t n) {
  return program("", "var v = d[i];\n" + repeated(n, [](const std::string& k) {
                       return "for k" + k + " in 0 .. d[" + k + "] { v = v * 3 + b[i + k" + k +
                              "]; }";
                     }) + "b[i] = v;\n");
}
std::string traps(size_t n) {
  return program("", repeated(n, [](const std::string& k) {
                       return "if d[i] == " + k + " { trap(1, i); }";
                     }) + "b[i] = 1;\n");
}
std::string barriers(size_t n) {
  return program("", "var v = d[i];\n" + repeated(n, [](const std::string&) {
                       return std::string(
                           "s[lid.x] = v; barrier workgroup; "
                           "v = v + s[63 - lid.x]; barrier workgroup;");
                     }) + "b[i] = v;\n");
}
// Each function calls the one before it four times.
std::string tower(size_t height) {
  std::string functions =
      "fn f0(q : u32, m : buffer u32[]) -> u32 { var v = q; while v > 7 { v = v / 2 + m[v]; } "
      "return v; }\n";
  for (size_t k = 1; k <= height; ++k) {
    const std::string callee = "f" + std::to_string(k - 1);
    functions += "fn f" + std::to_string(k) + "(q : u32, m : buffer u32[]) -> u32 { return " +
                 callee + "(q, m) + " + callee + "(q + 1, m) + " + callee + "(q + 2, m) + " +
                 callee + "(q + 3, m); }\n";
  }
  return program(functions, "b[i] = f" + std::to_string(height) + "(d[i], b);\n");
}

uint64_t lines(const std::string& text) {
  return static_cast<uint64_t>(std::ranges::count(text, '\n'));
}
uint64_t count(std::string_view text, std::string_view what) {
  uint64_t found = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

Result<std::vector<std::byte>> object_of(const std::string& source) {
  return host_code(plan_of(source), false, HostListing::Object);
}
std::string ptx_of(const std::string& source, const CodeBudget& budget = {}) {
  auto plan = plan::make_plan(checked_program(source), {.variant = {.route = plan::Route::Native}});
  EXPECT_TRUE(plan.has_value());
  return plan ? text_of_code(nvptx_code(*plan, {.budget = budget})) : std::string();
}

Effort effort_of(const std::string& source, const CodeBudget& budget = {}) {
  const check::CheckedProgram checked = checked_program(source);
  const auto plan = plan_code({&checked}, budget);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : to_string(plan.error()));
  return plan ? plan->effort : Effort::Full;
}

TEST(CodeSize, CountsWhatIsInlinedAsOftenAsItIsCalled) {
  const check::CheckedProgram low = checked_program(tower(2));
  const check::CheckedProgram high = checked_program(tower(5));
  EXPECT_GT(inlined_size(high).size, 50 * inlined_size(low).size);
  EXPECT_LT(called_size(high).size, 4 * called_size(low).size);
}

TEST(CodeSize, ALittleFunctionAndOneThatIsCalledOnceAreInlined) {
  const check::CheckedProgram checked = checked_program(
      program("fn little(q : u32) -> u32 { return q + 1; }\n"
              "fn once(q : u32) -> u32 { var v = q; while v > 7 { v = v / 2; } return v; }\n"
              "fn often(q : u32) -> u32 { var v = q; while v > 9 { v = v / 2; } return v; }\n",
              "b[i] = little(d[i]) + little(d[i + 1]) + once(i) + often(i) + often(i + 1);\n"));
  EXPECT_EQ(called_size(checked).called, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(called_size(checked, true).called, (std::vector<bool>{true, true, true}));
}

TEST(CodeSize, FunctionsThatSynchroniseAreInlined) {
  const check::CheckedProgram checked = checked_program(program(
      "fn meet(q : u32, m : buffer u32[]) -> u32 { var v = q; for k in 0 .. 9 { m[lid.x] = v; "
      "barrier workgroup; v += m[63 - lid.x]; barrier workgroup; } return v; }\n"
      "fn around(q : u32, m : buffer u32[]) -> u32 { let x = meet(q, m); let y = meet(x, m); "
      "return x + y; }\n",
      "let v = around(d[i], s);\nlet w = around(v, s);\nb[i] = w;\n"));
  EXPECT_EQ(called_size(checked, true).called, (std::vector<bool>{false, false}));
}

TEST(CodeSize, StepsDownAsAProgramGrows) {
  EXPECT_EQ(effort_of(statements(20)), Effort::Full);
  EXPECT_EQ(effort_of(statements(500)), Effort::Scalar);
  EXPECT_EQ(effort_of(statements(5'000)), Effort::Cheap);
  // Calls of maths functions are small, however many there are.
  EXPECT_EQ(effort_of(sines(100)), Effort::Full);
}

TEST(CodeSize, WhatIsTooLargeIsRefusedWithBothNumbers) {
  const check::CheckedProgram checked = checked_program(statements(100));
  const auto refused = plan_code({&checked}, {.most = 1'000});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("at most 1000"), HasSubstr("Fix:")));
}

TEST(CodeSize, TheLargestProgramsAreRefusedBeforeCodeIsMade) {
  const auto refused = object_of(program(
      "", repeated(60'000, [](const std::string& k) { return "b[d[i + " + k + "]] = d[b[i]];"; })));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(refused.error().message, HasSubstr("instructions"));
}

TEST(CodeSize, SmallProgramsHaveOneFunctionPerKernel) {
  const std::string ir = ir_of(tower(1));
  EXPECT_EQ(count(ir, "\ndefine "), 1U) << ir;
  EXPECT_EQ(count(ir_of(sines(3)), "\ndefine "), 1U);
}

TEST(CodeSize, CallsOfLargeProgramsAreCalls) {
  const std::string ir = ir_of(tower(7));
  EXPECT_THAT(ir, HasSubstr("define internal"));
  EXPECT_LT(lines(ir), 20 * lines(ir_of(tower(1))));
  const std::string ptx = ptx_of(tower(7));
  EXPECT_THAT(ptx, AllOf(HasSubstr(".func"), HasSubstr("call.uni")));
  EXPECT_LT(lines(ptx), 20 * lines(ptx_of(tower(1))));
}

TEST(CodeSize, MathsFunctionsOfLargeProgramsAreThereOnce) {
  const std::string ir = ir_of(sines(400));
  EXPECT_GE(count(ir, "define internal"), 1U);
  EXPECT_LE(count(ir, "define internal"), 3U);          // one for each shape of a block
  EXPECT_LE(count(ptx_of(sines(400)), "\n.func"), 2U);  // and its declaration
}

// Twice the program is about twice the code.
TEST(CodeSize, CodeGrowsAsTheProgramDoes) {
  for (const auto& [name, source] :
       {std::pair("statements", &statements), std::pair("sines", &sines),
        std::pair("loops", &loops), std::pair("traps", &traps), std::pair("barriers", &barriers)}) {
    const uint64_t some = lines(ir_of(source(2'000)));
    const uint64_t twice = lines(ir_of(source(4'000)));
    EXPECT_LT(twice, some * 21 / 10) << name;
    EXPECT_GT(twice, some) << name;
  }
}

// The programs of reliability test 13, for whom compiling took minutes: code, or a refusal.
TEST(CodeSize, BombsEndWithCodeOrARefusal) {
  for (const std::string& source :
       {barriers(1'024), traps(800), statements(40'000), loops(5'000), sines(3'000), tower(6)}) {
    const auto code = object_of(source);
    if (!code) {
      EXPECT_EQ(code.error().code, ErrorCode::LimitExceeded) << to_string(code.error());
    }
  }
}

TEST(CodeSize, PrivateArraysFitTheStackOfAThread) {
  const auto arrays = [](size_t n) {
    return program("", repeated(n, [](const std::string& k) {
                     return "var a" + k + " : u32[256]; a" + k + "[d[i] % 256] = i; b[i] = a" + k +
                            "[d[i + 1] % 256];";
                   }));
  };
  EXPECT_TRUE(object_of(arrays(128)).has_value());
  const auto refused = object_of(arrays(129));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("132096"), HasSubstr("131072"), HasSubstr("Fix:")));
  auto plan =
      plan::make_plan(checked_program(arrays(129)), {.variant = {.route = plan::Route::Native}});
  ASSERT_TRUE(plan.has_value());
  const auto ptx = nvptx_code(*plan, {});
  ASSERT_FALSE(ptx.has_value());
  EXPECT_EQ(ptx.error().code, ErrorCode::LimitExceeded);
}

TEST(CodeSize, PhasesOfLargeKernelsAreFunctions) {
  EXPECT_THAT(ir_of(barriers(4)), Not(HasSubstr("vyre_phase")));
  EXPECT_GE(count(ir_of(barriers(300)), "define internal"), 300U);
}

}  // namespace
}  // namespace vyre::codegen
