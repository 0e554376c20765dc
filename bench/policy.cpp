// SPDX-License-Identifier: Apache-2.0
// What the choices of a caller are worth on `cpu`: maths functions strict and with a budget, code
// for throughput and code that is there soon, hints of buffers.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "vyre/backend/cpu.hpp"
#include "vyre/run/device.hpp"
#include "vyre/text/text.hpp"

namespace vyre {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fputs((to_string(result.error()) + "\n").c_str(), stderr);
    std::exit(1);
  }
  return std::move(*result);
}

// One worker: the code is compared, not the memory of the machine.
run::Device open() {
  return run::Device::over(must(backend::open_cpu({.workers = 1})), {.cache_directory = {}});
}

ir::Program parse(const std::string& text) {
  return text::parse(text, "bench.vyre").program;
}

// 32 KiB in and out, which stay in the cache, and 64 calls for each number.
constexpr uint32_t kNumbers = 8192;
constexpr uint32_t kCalls = 64;

void function(benchmark::State& state, const std::string& name, uint32_t budget) {
  const run::Device device = open();
  const auto compiled = must(device.compile(
      parse(
          fmt::format("program f {{ workgroup 256; in x : f32[{0}]; inout y : f32[{0}]; over {0};\n"
                      "  let a = x[gid.x]; var sum = 0.0;\n"
                      "  for k in 0 .. {1} {{ sum += {2}(a + (k as f32)); }} y[gid.x] = sum; }}",
                      kNumbers, kCalls, name)),
      {.ulp_budget = budget}));
  std::vector<float> numbers(kNumbers);
  for (uint32_t i = 0; i < kNumbers; ++i) numbers[i] = 0.01F + static_cast<float>(i) * 0.01F;
  const device::Buffer x = must(device.upload(std::as_bytes(std::span(numbers))));
  const device::Buffer y = must(device.allocate(kNumbers * sizeof(float)));
  for (auto _ : state) must(compiled.pipeline.dispatch({x, y}));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kNumbers * kCalls);
}

std::string example(const std::string& name) {
  std::ifstream file(std::string(VYRE_SOURCE_DIR) + "/examples/" + name + ".vyre");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void compilation(benchmark::State& state, const std::string& name, const std::string& profile) {
  const ir::Program program = parse(example(name));
  for (auto _ : state) must(open().compile(program, {.profile = profile}));
}

void stencil(benchmark::State& state, const std::string& profile) {
  const run::Device device = open();
  const auto compiled = must(device.compile(
      parse("program s { workgroup 256; in a : f32[65536]; inout o : f32[65536]; over 65536;\n"
            "  let i = gid.x; if i > 0 && i < 65535 { o[i] = 0.25 * (a[i - 1] + a[i + 1]) + 0.5 * "
            "a[i]; } }"),
      {.profile = profile}));
  const device::Buffer a = must(device.allocate(4 * 65536));
  const device::Buffer o = must(device.allocate(4 * 65536));
  for (auto _ : state) must(compiled.pipeline.dispatch({a, o}));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * 65536);
}

// Neighbours lie along y.
void transposed(benchmark::State& state, const std::string& hint) {
  const run::Device device = open();
  const auto compiled = must(device.compile(
      parse("program t { workgroup 16, 16; in a : f32[262144]; inout o : f32[262144] " + hint +
            "; over 512, 512;\n  let i = gid.x * 512 + gid.y; o[i] = a[i] * 2.0 + 1.0; }")));
  const device::Buffer a = must(device.allocate(4 * 262144));
  const device::Buffer o = must(device.allocate(4 * 262144));
  for (auto _ : state) must(compiled.pipeline.dispatch({a, o}));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * 262144);
}

// 16 MiB: written past the caches of a processor only if somebody says so.
void stored(benchmark::State& state, const std::string& hint) {
  const run::Device device = open();
  const auto compiled = must(device.compile(
      parse("program w { workgroup 256; in a : f32[]; inout o : f32[] " + hint +
            "; over len(o); let i = gid.x; if i < len(o) { o[i] = a[i] * 2.0; } }")));
  const uint64_t bytes = uint64_t{16} << 20;
  const device::Buffer a = must(device.allocate(bytes));
  const device::Buffer o = must(device.allocate(bytes));
  for (auto _ : state) must(compiled.pipeline.dispatch({a, o}));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * 2 * bytes));
}

const bool kRegistered = [] {
  for (const char* const name : {"recip", "rsqrt", "sin", "cos"})
    for (const uint32_t budget : {0U, 4U})
      benchmark::RegisterBenchmark(fmt::format("{}, {} ULP", name, budget).c_str(), function,
                                   std::string(name), budget);
  for (const char* const name : {"heat", "matmul", "reach", "scan"})
    for (const char* const profile : {"throughput", "latency"})
      benchmark::RegisterBenchmark(fmt::format("compile {}, {}", name, profile).c_str(),
                                   compilation, std::string(name), std::string(profile));
  for (const char* const profile : {"throughput", "latency"})
    benchmark::RegisterBenchmark(fmt::format("run a stencil, {}", profile).c_str(), stencil,
                                 std::string(profile));
  for (const char* const hint : {"", "@coalesce(y)"})
    benchmark::RegisterBenchmark(fmt::format("rows along y {}", hint).c_str(), transposed,
                                 std::string(hint));
  for (const char* const hint : {"@locality(temporal)", "@locality(streaming)"})
    benchmark::RegisterBenchmark(fmt::format("16 MiB {}", hint).c_str(), stored, std::string(hint));
  return true;
}();

}  // namespace
}  // namespace vyre
