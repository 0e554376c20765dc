// SPDX-License-Identifier: Apache-2.0
// Programs changed so that nothing they compute changes, on a device; and grid barriers on
// different numbers of blocks.
#include <array>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "attack/attack.hpp"
#include "generator/generator.hpp"
#include "plan/driver.hpp"
#include "plan/interpreter.hpp"
#include "plan/variants.hpp"
#include "vyre/text/text.hpp"

namespace vyre::attack {

using namespace plan_test;
using generator::Generated;
using plan::Route;

namespace {

struct Subject {
  Generated generated;
  check::CheckedProgram checked;
};

std::optional<Subject> make_subject(uint64_t seed, const generator::GeneratorOptions& options) {
  Subject subject{generator::generate(seed, options), {}};
  auto checked = check::check_valid(subject.generated.program);
  if (!checked) return std::nullopt;
  subject.checked = std::move(*checked);
  return subject;
}

// What a rewrite may change besides: positions, names in messages, and how many barriers there are.
std::string difference_of(const ir::Program& program, const Ran& expected, Ran got) {
  const auto code = [](const Ran& r) {
    return r.error ? std::string(name_of(r.error->code)) : std::string("it succeeds");
  };
  if (code(expected) != code(got))
    return fmt::format("{} / {}{}", code(expected), code(got),
                       got.error ? ": " + to_string(*got.error) : "");
  if (expected.error) return "";
  got.counted = false;
  got.resumed = expected.resumed;
  return difference(program, expected, got);
}

struct Rewritten {
  const char* name;
  check::CheckedProgram program;
  std::optional<check::Axes> grid;
  std::optional<check::Axes> workgroup;
};

std::optional<Rewritten> rewrite(const Subject& subject, bool succeeds, Random& random) {
  using Change = Variant (*)(const check::CheckedProgram&, Random&);
  struct Named {
    const char* name;
    Change change;
  };
  constexpr std::array<Named, 6> kChanges = {
      Named{"a barrier more", with_barrier},           Named{"other names", renamed},
      Named{"a region split", with_region_split},      Named{"a region more", with_region_added},
      Named{"other bindings", with_bindings_permuted}, Named{"dead code", with_dead_code}};
  const auto& grid = subject.generated.grid;
  for (int attempt = 0; attempt < 8; ++attempt) {
    const size_t which = random() % (kChanges.size() + 1);
    if (which == kChanges.size()) {
      const std::vector<std::span<const std::byte>> inputs(subject.generated.inputs.begin(),
                                                           subject.generated.inputs.end());
      if (auto other =
              with_other_workgroup(subject.checked, {.inputs = inputs, .grid = grid}, random))
        return Rewritten{"another workgroup", std::move(other->program), other->grid,
                         other->workgroup};
      continue;
    }
    // A trap that nobody resumes ends the phase it happens in.
    if (kChanges[which].change == with_barrier && !succeeds) continue;
    if (auto variant = kChanges[which].change(subject.checked, random))
      return Rewritten{kChanges[which].name, std::move(*variant), grid, std::nullopt};
  }
  return std::nullopt;
}

}  // namespace

Finding rewrites(uint64_t seed, const Settings& settings) {
  generator::GeneratorOptions options;
  options.size = settings.size != 0 ? settings.size : 20;
  options.max_lanes = 48;
  limit_to(capabilities_of(settings.device), options);
  const auto subject = make_subject(seed, options);
  if (!subject) return {.fault = "the generator made a program that is not valid"};
  const run::Device& device = open_device(settings.device);
  RunOptions run;
  run.grid = subject->generated.grid;
  run.subgroup_size = std::max(device.info().capabilities.subgroup_size, 1U);
  const Ran expected = run_source(subject->checked, subject->generated.inputs, run);
  Random random(seed);
  Finding finding{.fault = "", .cases = 0};
  for (uint32_t i = 0; i < settings.rewrites; ++i) {
    const auto rewritten = rewrite(*subject, !expected.error, random);
    if (!rewritten) continue;
    ++finding.cases;
    run.grid = rewritten->grid;
    run.workgroup = rewritten->workgroup;
    Ran got = drive(rewritten->program, device, subject->generated.inputs, run);
    const std::string what = difference_of(subject->checked.program, expected, std::move(got));
    if (what.empty()) continue;
    finding.fault =
        fmt::format("{}: {}\n{}// ---- changed to\n{}", rewritten->name, what,
                    text::print(subject->checked.program), text::print(rewritten->program.program));
    break;
  }
  return finding;
}

Finding blocks(uint64_t seed, const Settings& settings) {
  generator::GeneratorOptions options;
  options.size = settings.size != 0 ? settings.size : 40;
  // The first one of some that has a barrier of the grid; nearly all have.
  std::optional<Subject> subject;
  for (uint64_t i = 0; i < 20; ++i) {
    subject = make_subject(seed + (i << 40), options);
    if (!subject) return {.fault = "the generator made a program that is not valid"};
    const std::string text = text::print(subject->checked.program);
    if (text.contains("barrier grid") || text.contains("fixpoint") || text.contains("grid_load"))
      break;
  }
  RunOptions run;
  run.grid = subject->generated.grid;
  const Ran expected = run_source(subject->checked, subject->generated.inputs, run);
  Finding finding{.fault = "", .cases = 0};
  const auto compare = [&](const std::string& way, Ran got) {
    ++finding.cases;
    if (finding.fault.empty())
      if (const std::string what =
              difference_of(subject->checked.program, expected, std::move(got));
          !what.empty())
        finding.fault = fmt::format("{}: {}\n{}", way, what, text::print(subject->checked.program));
  };
  for (const Route route : {Route::Native, Route::Resident, Route::Host, Route::Persistent}) {
    const auto plan = plan::make_plan(subject->checked, {.variant = {.route = route}});
    if (!plan) return {.fault = "no plan: " + to_string(plan.error())};
    for (const uint32_t count : {1U, 2U, 7U, 64U}) {
      if (route != Route::Persistent && count != 1) continue;
      run.resident_blocks = count;
      const std::string way = fmt::format("{}, {} blocks", plan::name_of(route), count);
      compare(way, interpret(subject->checked, *plan, subject->generated.inputs, run));
      if (route == Route::Persistent)
        compare(way + " by the driver",
                drive(subject->checked, open_device({.route = route, .device_loops = true}, run),
                      subject->generated.inputs, run));
    }
  }
  return finding;
}

}  // namespace vyre::attack
