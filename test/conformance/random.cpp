// SPDX-License-Identifier: Apache-2.0
// Random programs of test/generator on a device. VYRE_CONFORMANCE_PROGRAMS=50000 makes it that
// many; what fails is told with the command that shows it alone.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/compare.hpp"
#include "conformance/judge.hpp"
#include "conformance/suites.hpp"
#include "generator/generator.hpp"
#include "generator/schedules.hpp"
#include "plan/compare.hpp"
#include "vyre/check/exact_nans.hpp"
#include "vyre/oracle/oracle.hpp"
#include "vyre/run/device.hpp"
#include "vyre/text/text.hpp"

namespace vyre::conformance {
namespace {

constexpr uint64_t kPrograms = 400;          // on a device that is no oracle; CI asks for more
constexpr uint64_t kProgramsOnOracle = 100;  // where it only tests this test
constexpr uint64_t kProgramsOnVariant = 60;  // of a device, which only gets other code
constexpr uint64_t kTests = 20;              // that they are shared out among
constexpr uint64_t kFirstSeed = 700'000;

// Compiling takes nearly all of the time, and grows faster than a program does: many small programs
// find more in that time than few large ones, which are needed as well.
constexpr uint32_t kSmallProgram = 14;  // statements
constexpr uint64_t kLargeEvery = 16;
constexpr uint64_t kPrintsEvery = 8;

uint32_t size_of(uint64_t seed) {
  return seed % kLargeEvery == 0 ? generator::GeneratorOptions().size : kSmallProgram;
}

class RandomTest : public testing::Test {
 public:
  RandomTest(const Subject& subject, uint64_t first, uint64_t count)
      : subject_(subject), first_(first), count_(count) {}

  void TestBody() override {
    if (!subject_.unusable.empty()) GTEST_SKIP() << "unavailable: " << subject_.unusable;
    generator::GeneratorOptions options;
    plan_test::limit_to(plan_test::capabilities_of(subject_.id), options);
    for (uint64_t seed = first_; seed < first_ + count_; ++seed) {
      options.size = size_of(seed);
      const generator::Generated g = generator::generate(seed, options);
      const auto checked = check::check_valid(g.program);
      ASSERT_TRUE(checked.has_value()) << "seed " << seed;
      const auto fault =
          plan_test::find_fault(*checked, g.inputs, g.grid, plan_test::device_ways(subject_.id));
      EXPECT_FALSE(fault.has_value()) << fmt::format(
          "seed {}, {}: {}\n  reproduce: vyre_plan_check --seed {} --size {} "
          "--device {}",
          seed, plan_test::to_string(fault->way), fault->what, seed, options.size, subject_.id);
      if (tries_strategies()) try_strategies(seed, options);
      if (seed % kPrintsEvery == 0) expect_lines(seed, g);
    }
  }

 private:
  // The same program with prints: the lines of the oracle, and results as without.
  void expect_lines(uint64_t seed, const generator::Generated& g) const {
    Case one{.name = "random", .text = {}};
    ir::Program program = g.program;
    generator::add_prints(program, seed);
    one.text = text::print(program);
    one.grid = g.grid;
    one.passes_vary = true;
    const auto checked = check::check_valid(std::move(program));
    ASSERT_TRUE(checked) << "seed " << seed << "\n" << to_string(checked.error());
    for (size_t i = 0; i < checked->buffers.size(); ++i)
      if (const auto slot = checked->buffers[i].input_slot)
        one.inputs.push_back({checked->program.buffers[i].name, g.inputs[*slot]});
    if (!has_one_order(*checked, g, one)) return;
    const auto device = open_subject(subject_);
    ASSERT_TRUE(device) << to_string(device.error());
    const Judgement judgement = judge_on(one, *device);
    EXPECT_NE(judgement.verdict, Verdict::Fail)
        << "seed " << seed << " with prints: " << judgement.text << "\n"
        << one.text;
  }

  // Whether lanes print the same in every order; `one` gets the error that the program ends with.
  static bool has_one_order(const check::CheckedProgram& checked, const generator::Generated& g,
                            Case& one) {
    std::vector<PrintReport> lines;
    lines.reserve(2);
    for (const auto schedule : {oracle::Schedule::Forward, oracle::Schedule::Reversed}) {
      oracle::Options options;
      options.schedule = schedule;
      options.grid = g.grid;
      options.on_resume = [&](std::span<const TrapReport> reports, HandlerBuffers& buffers) {
        return generator::handle_resume(checked.program, reports, buffers);
      };
      options.print_bytes = one.print_bytes;
      options.printed = &lines.emplace_back();
      const auto ran = oracle::run(
          checked, std::vector<std::span<const std::byte>>(g.inputs.begin(), g.inputs.end()),
          options);
      one.error = ran ? std::nullopt : std::optional(ran.error().code);
    }
    return lines.size() == 2 && lines[0] == lines[1];
  }

  // Programs that end well and need nothing but bytes, with every strategy that the tuner tries.
  void try_strategies(uint64_t seed, generator::GeneratorOptions options) const {
    options.traps = options.unmatched_traps = options.persistent = options.collectives = false;
    const generator::Generated g = generator::generate(seed, options);
    auto checked = std::make_shared<const check::CheckedProgram>(*check::check_valid(g.program));
    const std::vector<bool> exact = check::exact_nans(*checked);
    const auto device = open_subject(subject_);
    ASSERT_TRUE(device) << to_string(device.error());
    const auto compiled = device->compile(checked, {.grid = g.grid, .tune = run::Tune::On});
    ASSERT_TRUE(compiled) << to_string(compiled.error());
    const std::vector<run::Argument> inputs(g.inputs.begin(), g.inputs.end());
    std::optional<run::Outputs> first;
    constexpr int kMostRuns = 200;
    for (int i = 0; i < kMostRuns; ++i) {
      run::Outputs slots;
      const auto report = compiled->pipeline.dispatch_into({.inputs = inputs}, slots);
      ASSERT_TRUE(report) << "seed " << seed << "\n" << to_string(report.error());
      for (size_t b = 0; first && b < checked->buffers.size(); ++b) {
        const auto slot = checked->buffers[b].output_slot;
        if (!slot) continue;
        const auto& buffer = checked->program.buffers[b];
        ASSERT_FALSE(cli::find_difference(buffer.element, (*first)[*slot], slots[*slot],
                                          exact[b] ? cli::Nans::Exact : cli::Nans::AllEqual))
            << fmt::format("seed {} of {}, {}: `{}` differs from the default's", seed, subject_.id,
                           report->trial, buffer.name);
      }
      if (!first) first = std::move(slots);
      const auto tuning = compiled->pipeline.tuning();
      if (!tuning || tuning->record) break;
    }
  }

  const Subject& subject_;
  uint64_t first_;
  uint64_t count_;
};

uint64_t programs_for(const Subject& subject) {
  constexpr uint64_t kVariantShare = 8;
  if (const char* const count = std::getenv("VYRE_CONFORMANCE_PROGRAMS")) {
    const uint64_t programs = std::strtoull(count, nullptr, 10);
    return subject.open && !subject.every_case ? programs / kVariantShare : programs;
  }
  if (subject.open) return kProgramsOnVariant;
  return subject.oracle ? kProgramsOnOracle : kPrograms;
}

}  // namespace

void register_random(const std::vector<Subject>& devices) {
  for (const Subject& subject : devices) {
    if (!subject.every_case && !subject.open) continue;
    const uint64_t all = programs_for(subject);
    const uint64_t tests = std::min(all, kTests);
    for (uint64_t t = 0; t < tests; ++t) {
      const uint64_t first = all * t / tests;
      const uint64_t count = all * (t + 1) / tests - first;
      testing::RegisterTest(suite_name(subject).c_str(), fmt::format("random_{}", t).c_str(),
                            nullptr, nullptr, __FILE__, __LINE__,
                            [=, &subject]() -> testing::Test* {
                              return new RandomTest(subject, kFirstSeed + first, count);
                            });
    }
  }
}

}  // namespace vyre::conformance
