// SPDX-License-Identifier: Apache-2.0
// Programs that have to give the same: a barrier more, other names, other regions, other bindings,
// other workgroups. Directed and random programs; the changed one on every route, against what the
// oracle says of the original.
#include <array>
#include <functional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "generator/generator.hpp"
#include "generator/schedules.hpp"
#include "plan/interpreter.hpp"
#include "plan/programs.hpp"
#include "plan/variants.hpp"
#include "vyre/text/text.hpp"

namespace vyre::plan_test {
namespace {

using plan::Route;

struct Case {
  std::string name;
  check::CheckedProgram checked;
  std::vector<std::vector<std::byte>> inputs;
  std::optional<check::Axes> grid;
  Random random;
};

void for_each_case(uint64_t first, uint64_t count, const generator::GeneratorOptions& options,
                   const std::function<void(Case&)>& visit) {
  for (uint64_t seed = first; seed < first + count; ++seed) {
    generator::Generated g = generator::generate(seed, options);
    Case one{fmt::format("seed {}", seed), {}, std::move(g.inputs), g.grid, Random(seed)};
    auto checked = check::check_valid(std::move(g.program));
    ASSERT_TRUE(checked.has_value());
    one.checked = std::move(*checked);
    visit(one);
  }
}
void for_each_directed(const std::function<void(Case&)>& visit) {
  uint64_t number = 0;
  for (Directed& directed : load_directed()) {
    ++number;
    // Only long, and nothing that others lack.
    if (directed.name == "ten_thousand_trips") continue;
    Case one{directed.name, {}, std::move(directed.inputs), directed.grid, Random(number)};
    one.checked = *check::check_valid(std::move(directed.program));
    visit(one);
  }
}

struct Way {
  Route route = Route::Resident;
  bool workgroup_phases = false;
};
constexpr std::array<Way, 5> kWays = {Way{Route::Native}, Way{Route::Persistent},
                                      Way{Route::Resident}, Way{Route::Host},
                                      Way{Route::Resident, true}};

constexpr std::array kSchedules = {oracle::Schedule::Forward, oracle::Schedule::Reversed,
                                   oracle::Schedule::Random};

// Buffers, and with which error it ended; a message may name what was renamed.
std::string difference_of(const ir::Program& program, const Ran& a, const Ran& b) {
  const auto said = [](const Ran& r) {
    return r.error ? fmt::format("{} (line {})", name_of(r.error->code), r.error->at.line)
                   : std::string("it succeeds");
  };
  if (said(a) != said(b)) return said(a) + " / " + said(b);
  oracle::Outcome x;
  oracle::Outcome y;
  x.buffers = a.buffers;
  y.buffers = b.buffers;
  return generator::difference(program, std::move(x), std::move(y));
}

// The variant on every route against the original on the oracle.
void expect_same(Case& original, const check::CheckedProgram& variant,
                 const OtherSize* size = nullptr) {
  for (size_t i = 0; i < variant.buffers.size(); ++i) {
    EXPECT_EQ(variant.buffers[i].input_slot, original.checked.buffers[i].input_slot);
    EXPECT_EQ(variant.buffers[i].output_slot, original.checked.buffers[i].output_slot);
  }
  RunOptions options;
  options.grid = original.grid;
  const Ran expected = run_source(original.checked, original.inputs, options);
  if (size) {
    options.grid = size->grid;
    options.workgroup = size->workgroup;
  }
  const auto details = [&] {
    return original.name + "\n" + text::print(original.checked.program) + "// ---- changed to\n" +
           text::print(variant.program);
  };
  options.schedule = kSchedules[original.random() % kSchedules.size()];
  options.seed = original.random();
  const Ran source = run_source(variant, original.inputs, options);
  ASSERT_EQ(difference_of(original.checked.program, expected, source), "") << details();
  for (const Way& way : kWays) {
    const auto plan =
        plan::make_plan(variant, {.variant = {.route = way.route}, .workgroup = options.workgroup});
    ASSERT_TRUE(plan.has_value()) << to_string(plan.error()) << details();
    options.workgroup_phases = way.workgroup_phases;
    const Ran ran = interpret(variant, *plan, original.inputs, options);
    ASSERT_EQ(difference_of(original.checked.program, expected, ran), "")
        << plan::name_of(way.route) << (way.workgroup_phases ? " with workgroup phases\n" : "\n")
        << details();
  }
}

using Change = Variant (*)(const check::CheckedProgram&, Random&);

// Random programs are smaller than usual: what is changed then lies in the middle of things.
generator::GeneratorOptions small() {
  generator::GeneratorOptions options;
  options.size = 30;
  options.max_lanes = 24;
  return options;
}
constexpr uint64_t kSeeds = 60;

struct Metamorphosis {
  std::string name;
  Change change;
  uint64_t first_seed;
  bool must_succeed = false;
  // How many programs have a place for the change, so that the test cannot come to test nothing.
  size_t least_directed;
  size_t least_random;
};

class Metamorphic : public ::testing::TestWithParam<Metamorphosis> {
 protected:
  // True if the program has a place for the change.
  static bool try_one(Case& one) {
    const Metamorphosis& m = GetParam();
    if (m.must_succeed) {
      RunOptions options;
      options.grid = one.grid;
      if (run_source(one.checked, one.inputs, options).error) return false;
    }
    const Variant variant = m.change(one.checked, one.random);
    if (variant) expect_same(one, *variant);
    return variant.has_value();
  }
};

TEST_P(Metamorphic, DirectedPrograms) {
  size_t changed = 0;
  for_each_directed([&](Case& one) {
    if (!HasFatalFailure()) changed += try_one(one) ? 1 : 0;
  });
  EXPECT_GE(changed, GetParam().least_directed);
}

TEST_P(Metamorphic, RandomPrograms) {
  size_t changed = 0;
  for_each_case(GetParam().first_seed, kSeeds, small(), [&](Case& one) {
    if (!HasFatalFailure()) changed += try_one(one) ? 1 : 0;
  });
  EXPECT_GE(changed, GetParam().least_random);
}

INSTANTIATE_TEST_SUITE_P(
    All, Metamorphic,
    ::testing::Values(Metamorphosis{"BarrierAdded", with_barrier, 50000, true, 200, 50},
                      Metamorphosis{"Renamed", renamed, 51000, false, 240, 60},
                      Metamorphosis{"RegionSplit", with_region_split, 52000, false, 120, 8},
                      Metamorphosis{"RegionAdded", with_region_added, 53000, false, 240, 55},
                      Metamorphosis{"DeadCode", with_dead_code, 56000, false, 200, 50},
                      Metamorphosis{"BindingsPermuted", with_bindings_permuted, 54000, false, 240,
                                    60}),
    [](const auto& test) { return test.param.name; });

size_t try_other_size(Case& one) {
  const std::vector<std::span<const std::byte>> inputs(one.inputs.begin(), one.inputs.end());
  const auto other =
      with_other_workgroup(one.checked, {.inputs = inputs, .grid = one.grid}, one.random);
  if (other) expect_same(one, other->program, &*other);
  return other ? 1 : 0;
}

TEST(MetamorphicWorkgroup, DirectedPrograms) {
  size_t changed = 0;
  for_each_directed([&](Case& one) {
    if (!HasFatalFailure()) changed += try_other_size(one);
  });
  EXPECT_GE(changed, 190U);
}

TEST(MetamorphicWorkgroup, RandomPrograms) {
  generator::GeneratorOptions options = small();
  options.shared = options.workgroup_barriers = options.subgroups = options.async = false;
  options.many_axes = false;
  size_t changed = 0;
  for_each_case(55000, 2 * kSeeds, options, [&](Case& one) {
    if (!HasFatalFailure()) changed += try_other_size(one);
  });
  EXPECT_GE(changed, 100U);
}

}  // namespace
}  // namespace vyre::plan_test
