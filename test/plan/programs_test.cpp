// SPDX-License-Identifier: Apache-2.0
// What makes a directed program fit to judge others by: it is valid and free of races, and has one
// result under all schedules.
#include "plan/programs.hpp"

#include <chrono>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "generator/schedules.hpp"
#include "vyre/text/text.hpp"

namespace vyre::plan_test {
namespace {

using oracle::Schedule;

std::string text_of(const std::string& name) {
  std::ifstream file(programs_dir() / (name + ".vyre"), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<oracle::Outcome> run(const Directed& directed, const check::CheckedProgram& checked,
                            oracle::Options options) {
  options.subgroup_size = 4;
  options.grid = directed.grid;
  options.timeout = std::chrono::seconds(60);
  options.on_resume = [&](std::span<const oracle::TrapReport> reports,
                          oracle::HandlerBuffers& buffers) {
    return generator::handle_resume(directed.program, reports, buffers);
  };
  const std::vector<std::span<const std::byte>> inputs(directed.inputs.begin(),
                                                       directed.inputs.end());
  return oracle::run(checked, inputs, options);
}

class DirectedPrograms : public ::testing::TestWithParam<std::string> {};

TEST_P(DirectedPrograms, AreTheSameUnderAllSchedules) {
  const Directed directed = load_directed(GetParam());
  const check::Checked checked = check::check(directed.program);
  ASSERT_TRUE(checked.program.has_value()) << render_text(checked.diagnostics, {});
  const std::vector<oracle::Options> runs = {
      {.schedule = Schedule::Forward, .races = true},
      {.schedule = Schedule::Reversed},
      {.schedule = Schedule::Random, .seed = 1, .races = true},
      {.schedule = Schedule::Random, .seed = 2, .races = true}};
  std::optional<Result<oracle::Outcome>> first;
  for (const oracle::Options& options : runs) {
    SCOPED_TRACE(fmt::format("{} {}", name_of(options.schedule), options.seed));
    Result<oracle::Outcome> outcome = run(directed, *checked.program, options);
    EXPECT_EQ(outcome ? "" : std::string(name_of(outcome.error().code)), directed.error)
        << (outcome ? "it succeeds" : to_string(outcome.error()));
    if (outcome)
      for (const oracle::Race& race : outcome->races) ADD_FAILURE() << to_string(race);
    if (first)
      EXPECT_EQ(generator::difference(directed.program, *first, outcome), "");
    else
      first = std::move(outcome);
  }
}

INSTANTIATE_TEST_SUITE_P(All, DirectedPrograms, ::testing::ValuesIn(directed_names()),
                         [](const auto& test) { return test.param; });

TEST(DirectedProgramList, IsLong) {
  EXPECT_GE(load_directed().size(), 90U);
}

TEST(DirectedProgramList, IsWellKept) {
  for (const Directed& directed : load_directed()) {
    SCOPED_TRACE(directed.name);
    const std::string text = text_of(directed.name);
    EXPECT_TRUE(text.starts_with("// ")) << "the first line says what it is about";
    EXPECT_FALSE(text.starts_with("// run:")) << "the first line says what it is about";
    EXPECT_EQ(directed.program.name, directed.name);
    const text::Formatted formatted = text::format(text, directed.name);
    ASSERT_TRUE(formatted.text.has_value());
    EXPECT_EQ(*formatted.text, text) << "Fix: vyre fmt --write test/plan/programs/*.vyre";
  }
}

}  // namespace
}  // namespace vyre::plan_test
