// SPDX-License-Identifier: Apache-2.0
// Printed C: its text for some examples, that a compiler takes it without a warning, what it
// refuses, and what it says about stops. That it computes the right thing is what the conformance
// programs on device `c` are for.
#include "codegen/c/c.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "vyre/check/check.hpp"
#include "vyre/text/text.hpp"

namespace vyre::codegen {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kSource = VYRE_SOURCE_DIR;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

check::CheckedProgram checked_program(const std::string& source) {
  text::Parsed parsed = text::parse(source, "test.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors())
      << render_text(parsed.diagnostics, {{"test.vyre", source}});
  auto checked = check::check_valid(std::move(parsed.program));
  EXPECT_TRUE(checked.has_value()) << (checked ? "" : to_string(checked.error()));
  return checked ? std::move(*checked) : check::CheckedProgram{};
}

plan::Plan plan_of(const std::string& source, plan::Route route = plan::Route::Resident,
                   bool checked = false) {
  auto plan =
      plan::make_plan(checked_program(source), {.variant = {.route = route}, .checked = checked});
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : to_string(plan.error()));
  return plan ? std::move(*plan) : plan::Plan{};
}

std::string printed(const plan::Plan& plan, const COptions& options = {}) {
  EXPECT_FALSE(refuse_c(plan).has_value());
  const auto text = print_c(plan, options);
  EXPECT_TRUE(text.has_value()) << (text ? "" : to_string(text.error()));
  return text.value_or("");
}

// What the compiler of this system says of files; nothing if there is no compiler.
class SystemCompiler {
 public:
  SystemCompiler() : there_(std::system("cc --version > /dev/null 2>&1") == 0) {
    std::filesystem::create_directories(folder_);
  }
  ~SystemCompiler() { std::filesystem::remove_all(folder_); }
  SystemCompiler(const SystemCompiler&) = delete;
  SystemCompiler& operator=(const SystemCompiler&) = delete;

  [[nodiscard]] bool there() const { return there_; }
  void add(const std::string& name, const std::string& code) {
    std::ofstream(folder_ / (name + ".c")) << code;
  }
  // All of them in one call. Functions are printed with more parameters than each needs.
  [[nodiscard]] std::string complaints() const {
    const std::string command = fmt::format(
        "cd {} && cc -std=c17 -fsyntax-only -pedantic -Wall -Wextra -Wno-unused *.c > log 2>&1",
        folder_.string());
    const bool good = std::system(command.c_str()) == 0;
    return read(folder_ / "log") + (good ? "" : "refused\n");
  }

 private:
  bool there_;
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("vyre_c_test_{}", ::getpid());
};

// ---- examples

class CExample : public testing::TestWithParam<const char*> {};

TEST_P(CExample, IsPrintedAsTheGoldenFileSays) {
  const std::string source = read(kSource / "examples" / fmt::format("{}.vyre", GetParam()));
  const std::string code = printed(plan_of(source));
  const auto golden = kSource / "test/golden/c" / fmt::format("{}.c", GetParam());
  const char* const regenerate = std::getenv("VYRE_REGEN");
  if (regenerate != nullptr && std::string_view(regenerate) == "1") std::ofstream(golden) << code;
  EXPECT_EQ(code, read(golden)) << "if the change is meant: VYRE_REGEN=1 and run this test again";
}

INSTANTIATE_TEST_SUITE_P(C, CExample, testing::Values("reach", "scan", "sensors", "matmul"),
                         [](const auto& one) { return one.param; });

TEST(C, IsTakenByACompilerWithoutWarnings) {
  SystemCompiler compiler;
  if (!compiler.there()) GTEST_SKIP() << "there is no cc";
  int files = 0;
  for (const char* const folder : {"examples", "test/conformance/programs"})
    for (const auto& file : std::filesystem::directory_iterator(kSource / folder)) {
      if (file.path().extension() != ".vyre") continue;
      const bool checked = ++files % 4 == 0;
      const plan::Plan plan = plan_of(read(file.path()), plan::Route::Resident, checked);
      compiler.add(file.path().stem(), printed(plan, {.checked = checked}));
    }
  EXPECT_GT(files, 50);
  EXPECT_EQ(compiler.complaints(), "");
}

// ---- words

TEST(C, NamesAreNoWordsOfC) {
  const std::string code = printed(plan_of(R"(program p {
  workgroup 4;
  in  int : u32[];
  out register : u32[4];
  fn main(double : u32) -> u32 { return double + 1; }
  const NULL : u32[] = {7, 8};
  let __LINE__ = int[gid.x];
  let errno = main(__LINE__);
  register[gid.x] = errno + NULL[gid.x];
}
)"));
  EXPECT_THAT(code, HasSubstr("const uint32_t *int_b0; uint32_t int_n0;"));
  EXPECT_THAT(code, HasSubstr("const uint32_t u__LINE___v1 = load_u32(m->int_b0"));
  SystemCompiler compiler;
  if (!compiler.there()) GTEST_SKIP() << "there is no cc";
  compiler.add("words", code);
  EXPECT_EQ(compiler.complaints(), "");
}

TEST(C, BitsThatAreNoConstantsOfCAreKept) {
  const std::string code = printed(plan_of(R"(program p {
  workgroup 4;
  out o : f32[3];
  const table : f32[] = {1.5, bitcast<f32>(0x7fa00001)};
  o[0] = table[gid.x];
  o[1] = bitcast<f32>(0x7fa00002) * -0.0;
  o[2] = 0.1;
}
)"));
  EXPECT_THAT(code, HasSubstr("union { uint32_t bits[2]; float values[2]; }"));
  EXPECT_THAT(code, HasSubstr("1069547520u, 2141192193u,"));
  EXPECT_THAT(code, HasSubstr("f32_of_bits(2141192194u) * (-0x0p+0f)"));
  EXPECT_THAT(code, HasSubstr("0x1.99999ap-4f"));
}

// ---- order

// C evaluates operands in any order, so what has an effect is a statement of its own.
TEST(C, EffectsHappenInTheOrderOfTheLanguage) {
  const std::string code = printed(plan_of(R"(program p {
  workgroup 1;
  inout a : u32[4];
  a[0] = a[1] + atomic_add(a[1], 2) * a[1];
}
)"));
  const size_t before = code.find("const uint32_t t0 = load_u32(m->a_b0, m->a_n0, 1u);");
  const size_t effect = code.find("const uint32_t t1 = atomic_add_u32(m->a_b0");
  EXPECT_NE(before, std::string::npos) << code;
  EXPECT_NE(effect, std::string::npos) << code;
  EXPECT_LT(before, effect);
  EXPECT_THAT(code, HasSubstr("t0 + (t1 * load_u32(m->a_b0, m->a_n0, 1u))"));
}

// ---- what is refused

constexpr const char* kGridBarrier = R"(program p {
  workgroup 4;
  inout a : u32[];
  a[gid.x] = 1;
  barrier grid;
  a[gid.x] += a[0];
}
)";

TEST(C, BarriersOverTheGridInsideOfALaunchAreRefused) {
  const auto refused = refuse_c(plan_of(kGridBarrier, plan::Route::Native));
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->code, ErrorCode::Unsupported);
  EXPECT_THAT(refused->message, HasSubstr("Fix: use the resident or host route"));
  EXPECT_TRUE(refuse_c(plan_of(kGridBarrier, plan::Route::Persistent)).has_value());
  EXPECT_FALSE(refuse_c(plan_of(kGridBarrier, plan::Route::Resident)).has_value());
}

// ---- stops

TEST(C, AStopIsExplainedByPrintingAgain) {
  const plan::Plan plan = plan_of(R"(program p {
  workgroup 4;
  in  a : u32[];
  out o : u32[4];
  o[gid.x] = a[gid.x];
  if gid.x == 2 { trap(7, 1); }
  while o[0] == 0 { o[1] = 1; }
}
)",
                                  plan::Route::Resident, true);
  using Kind = device::KernelStop::Kind;
  const std::string code = printed(plan, {.checked = true});
  EXPECT_THAT(code, HasSubstr("vyre_stop_lane(g, 2, 0, g->first_lane + lane, m->a_n0, t"));
  const Error load =
      explain_c_stop(plan, 0, true, {.kind = Kind::OutOfBounds, .lane = 3, .value = 2, .index = 3});
  EXPECT_EQ(load.code, ErrorCode::OutOfBounds);
  EXPECT_THAT(load.message, HasSubstr("lane 3 accesses `a`[3], which has 2 elements"));
  EXPECT_EQ(load.at.line, 5U);
  EXPECT_THAT(code, HasSubstr("vyre_stop_lane(g, 1, 2, g->first_lane + lane, 1u, 0, 0);"));
  const Error trap =
      explain_c_stop(plan, 0, true, {.kind = Kind::Trap, .site = 2, .lane = 2, .value = 1});
  EXPECT_EQ(trap.code, ErrorCode::Trapped);
  EXPECT_EQ(trap.at.line, 6U);
  const Error loop = explain_c_stop(plan, 0, true, {.kind = Kind::Loop, .site = 4});
  EXPECT_EQ(loop.code, ErrorCode::Timeout);
  EXPECT_THAT(loop.message, HasSubstr("in the loop at line 7"));
  const Error none = explain_c_stop(plan, 0, true, {.kind = Kind::Trap, .site = 99});
  EXPECT_EQ(none.code, ErrorCode::Internal);
}

}  // namespace
}  // namespace vyre::codegen
