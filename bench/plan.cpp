// SPDX-License-Identifier: Apache-2.0
// What planning costs: from a checked program to segments, for straight lines of barriers, barriers
// in loops, and much state that lives across them. Goal: 1,000 statements with 50 barriers in 50
// ms.
#include "vyre/plan/plan.hpp"

#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "vyre/text/text.hpp"

namespace {

using namespace vyre;

check::CheckedProgram checked(const std::string& text) {
  check::Checked result = check::check(text::parse(text, "bench.vyre").program);
  return std::move(result.program).value();
}

// `barriers` of them among `statements`, with `live` variables that live through all.
check::CheckedProgram straight(uint64_t statements, uint64_t barriers, uint64_t live) {
  std::string text = "program p { workgroup 64; inout a : u32[]; ";
  for (uint64_t v = 0; v < live; ++v) text += fmt::format("var v{} = a[gid.x + {}];\n", v, v);
  for (uint64_t s = live; s < statements; ++s) {
    if (s % (statements / barriers) == 0)
      text += "barrier grid;\n";
    else
      text += fmt::format("v{0} = v{0} * 3 + a[v{1} % 64];\n", s % live, (s + 1) % live);
  }
  for (uint64_t v = 0; v < live; ++v)
    text += fmt::format("a[gid.x * {} + {}] = v{};\n", live, v, v);
  return checked(text + "}");
}

// The same in loops: every tenth barrier opens one around the next nine.
check::CheckedProgram loops(uint64_t statements, uint64_t barriers) {
  std::string text =
      "program p { workgroup 64; in n : u32[]; inout a : u32[]; var x = a[gid.x]; var y = 0;\n";
  bool open = false;
  uint64_t met = 0;
  for (uint64_t s = 0; s < statements; ++s) {
    if (s % (statements / barriers) == 0) {
      if (met++ % 10 == 0) {
        if (open) text += "}\n";
        text += fmt::format("for i{} in 0 .. n[{}] {{\n", s, met % 4);
        open = true;
      }
      text += "barrier grid;\n";
    } else if (s % 7 == 0) {
      text += "if a[x % 64] > y { y += x; return; } else { x ^= y; }\n";
    } else {
      text += fmt::format("let t{} = a[(x + {}) % 64]; y = y * 3 + t{};\n", s, s, s);
    }
  }
  return checked(text + "} a[gid.x] = x + y; }");
}

void plan_of(benchmark::State& state, const check::CheckedProgram& program, plan::Route route) {
  size_t segments = 0;
  for (auto _ : state) {
    auto plan = plan::make_plan(program, {.variant = {.route = route}});
    segments = plan->segments.size();
    benchmark::DoNotOptimize(plan);
  }
  state.counters["segments"] = static_cast<double>(segments);
  state.counters["statements"] = static_cast<double>(program.program.stmts.size());
}

void register_all() {
  const auto add = [](const char* name, const check::CheckedProgram& program) {
    for (const plan::Route route : {plan::Route::Resident, plan::Route::Native})
      benchmark::RegisterBenchmark(
          fmt::format("{}, {}", name, plan::name_of(route)).c_str(),
          [program, route](benchmark::State& state) { plan_of(state, program, route); })
          ->Unit(benchmark::kMillisecond);
  };
  add("1,000 statements, 50 barriers, 20 live", straight(1000, 50, 20));
  add("1,000 statements, 50 barriers, 200 live", straight(1000, 50, 200));
  add("1,000 statements, 50 barriers in 5 loops", loops(1000, 50));
  add("10,000 statements, 500 barriers, 50 live", straight(10'000, 500, 50));
}

const bool registered = (register_all(), true);

}  // namespace
