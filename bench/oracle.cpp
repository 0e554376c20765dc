// SPDX-License-Identifier: Apache-2.0
// How fast the reference interpreter runs: lane-statements per second on one core, for plain
// arithmetic, memory, barriers, a fixpoint over a graph, and with its checks switched on.
#include "vyre/oracle/oracle.hpp"

#include <cstring>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "vyre/check/check.hpp"
#include "vyre/text/text.hpp"

namespace {

using namespace vyre;

struct Case {
  check::CheckedProgram program;
  std::vector<std::vector<uint32_t>> inputs;
};

check::CheckedProgram checked(const std::string& text) {
  check::Checked result = check::check(text::parse(text, "bench.vyre").program);
  return std::move(result.program).value();
}

Case arithmetic() {
  return {checked(R"(program arithmetic {
    workgroup 64;
    over 4096;
    out o : u32[4096];
    var h = gid.x;
    var x = 0.5;
    for i in 0 .. 100 {
      h = (h ^ i) * 2654435761;
      x = fma(x, 1.25, 0.125) * 0.5;
      h += rotl(h, 7);
    }
    o[gid.x] = h + bitcast<u32>(x);
  })"),
          {}};
}

Case scan() {
  return {checked(R"(program scan {
    workgroup 256;
    over len(a);
    inout a : u32[];
    shared s : u32[256];
    s[lid.x] = a[gid.x];
    for k in 0 .. 8 {
      let d = 1 << k;
      barrier workgroup;
      var v = s[lid.x];
      if lid.x >= d { v += s[lid.x - d]; }
      barrier workgroup;
      s[lid.x] = v;
    }
    a[gid.x] = s[lid.x];
  })"),
          {std::vector<uint32_t>(1 << 16, 1)}};
}

Case grid_steps() {
  return {checked(R"(program steps {
    workgroup 64;
    over len(a);
    inout a : u32[];
    inout b : u32[];
    for t in 0 .. 20 {
      b[gid.x] = a[gid.x] + a[(gid.x + 1) % len(a)];
      barrier grid;
      a[gid.x] = b[gid.x] ^ b[(gid.x + 7) % len(a)];
      barrier grid;
    }
  })"),
          {std::vector<uint32_t>(1 << 14, 3), std::vector<uint32_t>(1 << 14, 0)}};
}

Case reach() {
  constexpr uint32_t kNodes = 1 << 14;
  Case c{checked(R"(program reach {
    workgroup 256;
    over len(visited);
    in row : u32[];
    in col : u32[];
    inout visited : u32[];
    fixpoint max 100000 over (visited) {
      let v = gid.x;
      if v < len(visited) && atomic_load(visited[v]) == 1 {
        for e in row[v] .. row[v + 1] { atomic_max(visited[col[e]], 1); }
      }
    }
  })"),
         {std::vector<uint32_t>(kNodes + 1), std::vector<uint32_t>(kNodes * 4),
          std::vector<uint32_t>(kNodes, 0)}};
  uint32_t state = 1;
  for (uint32_t v = 0; v <= kNodes; ++v) c.inputs[0][v] = v * 4;
  for (uint32_t& e : c.inputs[1]) {
    state = state * 1664525 + 1013904223;
    e = (state >> 8) % kNodes;
  }
  c.inputs[2][0] = 1;
  return c;
}

void run(benchmark::State& state, const Case& c, const oracle::Options& options) {
  std::vector<std::span<const std::byte>> views;
  for (const auto& input : c.inputs) views.push_back(std::as_bytes(std::span(input)));
  double statements = 0;
  for (auto _ : state) {
    const auto outcome = oracle::run(c.program, views, options);
    if (!outcome) {
      state.SkipWithError(outcome.error().message.c_str());
      break;
    }
    statements += static_cast<double>(outcome->statements);
  }
  state.counters["lane-statements"] = benchmark::Counter(statements, benchmark::Counter::kIsRate);
}

oracle::Options with(oracle::Schedule schedule, bool races = false) {
  oracle::Options options;
  options.schedule = schedule;
  options.seed = 1;
  options.races = races;
  return options;
}

const struct {
  const char* name;
  Case (*make)();
} kCases[] = {
    {"arithmetic", arithmetic}, {"scan", scan}, {"grid_steps", grid_steps}, {"reach", reach}};

const struct {
  const char* name;
  oracle::Options options;
} kModes[] = {{"forward", with(oracle::Schedule::Forward)},
              {"random", with(oracle::Schedule::Random)},
              {"forward_races", with(oracle::Schedule::Forward, true)}};

const bool kRegistered = [] {
  for (const auto& c : kCases)
    for (const auto& mode : kModes)
      benchmark::RegisterBenchmark(
          (std::string(c.name) + "/" + mode.name).c_str(),
          [&](benchmark::State& state) { run(state, c.make(), mode.options); })
          ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
