// SPDX-License-Identifier: Apache-2.0
#include "codegen/cost.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "vyre/text/text.hpp"

namespace vyre::codegen {
namespace {

// As the CPU device plans it.
plan::Plan plan_of(const std::string& source) {
  text::Parsed parsed = text::parse(source, "p.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors())
      << render_text(parsed.diagnostics, {{"p.vyre", source}});
  const auto checked = check::check_valid(std::move(parsed.program));
  EXPECT_TRUE(checked) << (checked ? "" : to_string(checked.error()));
  if (!checked) return {};
  auto plan = plan::make_plan(*checked, {.variant = {.route = plan::Route::Resident}});
  EXPECT_TRUE(plan) << (plan ? "" : to_string(plan.error()));
  return plan ? std::move(*plan) : plan::Plan();
}

uint64_t cost_of(const std::string& body, const std::string& functions = "") {
  return compile_cost(
      plan_of("program p { workgroup 64; in d : u32[]; inout b : u32[]; shared s : "
              "u32[64];\n" +
              functions + " b[gid.x] = d[gid.x] + s[0]; " + body + " }"));
}

std::string times(int count, const std::function<std::string(int)>& part) {
  std::string text;
  for (int i = 0; i < count; ++i) text += part(i);
  return text;
}

TEST(CompileCost, GrowsWithStatements) {
  const auto stores = [](int i) { return "b[gid.x] = " + std::to_string(i) + "; "; };
  const uint64_t none = cost_of("");
  const uint64_t ten = cost_of(times(10, stores)) - none;
  const uint64_t hundred = cost_of(times(100, stores)) - none;
  EXPECT_GT(ten, 0U);
  EXPECT_EQ(hundred, 10 * ten);
}

// What is done lane by lane, in functions or at barriers is more than a sum.
TEST(CompileCost, WeighsByKind) {
  const uint64_t none = cost_of("");
  const auto of = [&](const std::string& value) {
    return cost_of("b[gid.x] = " + value + ";") - none;
  };
  const uint64_t sum = of("gid.x + 3");
  EXPECT_GT(of("gid.x / 3"), sum);
  EXPECT_GT(of("atomic_add(b[0], 3)"), sum);
  EXPECT_GT(of("(sin((gid.x as f32)) as u32)"), of("((gid.x as f32) as u32)"));
  EXPECT_GT(of("min(gid.x, 3)"), 0U);
  EXPECT_LT(of("min(gid.x, 3)"), of("gid.x / 3"));
  EXPECT_GT(cost_of("barrier workgroup;"), cost_of("let y = gid.x;"));
}

TEST(CompileCost, LoopsAreMoreThanTheirBodies) {
  const std::string body = "b[i] = d[i];";
  const uint64_t one = cost_of("for i in 0 .. d[0] { " + body + " }");
  EXPECT_GT(one - cost_of(""), cost_of("let i = 0; " + body) - cost_of(""));
  const uint64_t two = cost_of("for k in 0 .. d[1] { for i in 0 .. d[0] { " + body + " } }");
  EXPECT_GT(two, one);
}

// 40 loops in each other kept LLVM busy for five seconds, side by side for one.
TEST(CompileCost, DeepLoopsAreMoreThanTheSameSideBySide) {
  const auto head = [](int i) { return "for q" + std::to_string(i) + " in 0 .. d[0] { "; };
  const std::string nested = times(40, head) + "b[q39] = 1; " + std::string(40, '}');
  const std::string side_by_side =
      times(39, [&](int i) { return head(i) + "} "; }) + head(39) + "b[q39] = 1; }";
  EXPECT_GT(cost_of(nested), 10 * cost_of(side_by_side));
}

// 60 bytes each, four calls: the text says nothing about the size.
TEST(CompileCost, FunctionsCountAtEachCall) {
  std::string functions = "fn f0(x : u32) -> u32 { return x / 3; } ";
  const auto level = [](int n) {
    const std::string below = "f" + std::to_string(n - 1);
    return "fn f" + std::to_string(n) + "(x : u32) -> u32 { return " + below + "(x) + " + below +
           "(x + 1) + " + below + "(x + 2) + " + below + "(x + 3); } ";
  };
  for (int n = 1; n <= 5; ++n) functions += level(n);
  const auto of = [&](int n) {
    return cost_of("b[gid.x] = f" + std::to_string(n) + "(gid.x);", functions);
  };
  EXPECT_GT(of(1), of(0));
  EXPECT_GT(of(5), 3 * of(4));
  EXPECT_GT(of(5), 100'000U);  // the limit of a process is 15,000
}

TEST(CompileCost, AddsUpSegments) {
  plan::Plan plan = plan_of("program p { workgroup 64; inout b : u32[]; b[gid.x] = 1; }");
  const uint64_t one = compile_cost(plan);
  plan.segments.push_back(plan.segments.front());
  EXPECT_EQ(compile_cost(plan), 2 * one);
}

// Every example compiles in the calling process: a cold start has no time for another one.
TEST(CompileCost, ExamplesAreSmall) {
  constexpr uint64_t kInProcess = 15'000;  // pipeline::CompileLimits
  size_t count = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(VYRE_SOURCE_DIR) + "/examples")) {
    if (file.path().extension() != ".vyre") continue;
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const uint64_t cost = compile_cost(plan_of(text));
    EXPECT_LE(cost, kInProcess) << file.path();
    std::printf("%8llu %s\n", static_cast<unsigned long long>(cost),
                file.path().filename().c_str());
    ++count;
  }
  EXPECT_GE(count, 20U);
}

}  // namespace
}  // namespace vyre::codegen
