// SPDX-License-Identifier: Apache-2.0
// What the driver itself costs: dispatches on a device that does nothing.
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "vyre/backend/null.hpp"
#include "vyre/run/device.hpp"
#include "vyre/text/text.hpp"

namespace vyre {
namespace {

constexpr std::string_view kAdd = R"(program add {
  workgroup 256;
  over len(o);
  in a : f32[];
  in b : f32[];
  inout o : f32[];
  if gid.x < len(o) { o[gid.x] = a[gid.x] + b[gid.x]; }
})";

constexpr std::string_view kThreeSegments = R"(program three {
  workgroup 256;
  over len(o);
  in a : f32[];
  in b : f32[];
  inout o : f32[];
  if gid.x < len(o) { o[gid.x] = a[gid.x]; }
  barrier grid;
  if gid.x < len(o) { o[gid.x] = o[len(o) - 1 - gid.x] + b[gid.x]; }
  barrier grid;
  if gid.x < len(o) { o[gid.x] = o[gid.x] * 2.0; }
})";

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fputs((to_string(result.error()) + "\n").c_str(), stderr);
    std::exit(1);
  }
  return std::move(*result);
}

run::Device open(bool native) {
  backend::NullOptions options;
  options.record = false;
  options.info.capabilities.cooperative_grid_barrier = native;
  run::DeviceOptions device;
  device.cache_directory.clear();
  return run::Device::over(backend::open_null(options), device);
}

run::Pipeline compile(const run::Device& device, std::string_view text) {
  return must(device.compile(text::parse(text, "bench.vyre").program)).pipeline;
}

// The submission alone, as somebody would write it by hand against the backend.
void backend_alone(benchmark::State& state) {
  const run::Device device = open(true);
  const auto checked = must(check::check_valid(text::parse(kAdd, "bench.vyre").program));
  const pipeline::Compiler::Found found = must(device.compiler().get(
      pipeline::make_source(std::make_shared<const check::CheckedProgram>(checked)), {}));
  std::vector<device::Buffer> buffers;
  std::vector<device::Region> regions;
  for (int i = 0; i < 3; ++i) buffers.push_back(must(device.allocate(4096)));
  for (const device::Buffer& buffer : buffers) regions.push_back(buffer.whole());
  device::Launch launch;
  launch.pipeline = found.variant->loaded.handle();
  launch.arguments = regions;
  launch.workgroup = {256, 1, 1};
  launch.grid = {4, 1, 1};
  const device::Step step = launch;
  device::Submission submission;
  submission.steps = {&step, 1};
  for (auto _ : state) {
    const device::Ticket ticket = must(device.backend().submit(submission));
    benchmark::DoNotOptimize(must(device.backend().wait(ticket)));
  }
}
BENCHMARK(backend_alone);

// A warm blocking dispatch with three resident buffers.
void resident(benchmark::State& state, std::string_view text, bool native) {
  const run::Device device = open(native);
  const run::Pipeline pipeline = compile(device, text);
  std::vector<run::Buffer> buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(must(device.allocate(4096)));
  const std::vector<run::Argument> inputs(buffers.begin(), buffers.end());
  run::Outputs slots;
  for (auto _ : state) must(pipeline.dispatch_into({.inputs = inputs}, slots));
}
BENCHMARK_CAPTURE(resident, one_launch, kAdd, true);
BENCHMARK_CAPTURE(resident, three_segments, kThreeSegments, false);

// Bytes of the host in and out, slots kept.
void host_bytes(benchmark::State& state) {
  const run::Device device = open(true);
  const run::Pipeline pipeline = compile(device, kAdd);
  const std::vector<float> values(static_cast<size_t>(state.range(0)) / 4);
  const std::vector<run::Argument> inputs(3, run::Argument(values));
  run::Outputs slots;
  for (auto _ : state) must(pipeline.dispatch_into({.inputs = inputs}, slots));
}
BENCHMARK(host_bytes)->Arg(64)->Arg(4096)->Arg(1 << 20);

void asynchronous(benchmark::State& state) {
  const run::Device device = open(true);
  const run::Pipeline pipeline = compile(device, kAdd);
  std::vector<run::Buffer> buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(must(device.allocate(4096)));
  const std::vector<run::Argument> inputs(buffers.begin(), buffers.end());
  for (auto _ : state) {
    run::Pending pending = must(pipeline.dispatch_async({.inputs = inputs}));
    benchmark::DoNotOptimize(must(pending.wait()));
  }
}
BENCHMARK(asynchronous)->UseRealTime();

// Ten dispatches recorded as one submission, per dispatch.
void sequence(benchmark::State& state) {
  const run::Device device = open(true);
  const run::Pipeline pipeline = compile(device, kAdd);
  std::vector<run::Buffer> buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(must(device.allocate(4096)));
  const std::vector<run::Argument> inputs(buffers.begin(), buffers.end());
  const std::vector<run::SequenceItem> items(10, {pipeline, {.inputs = inputs}});
  for (auto _ : state) must(device.run_sequence(items, 100));
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(sequence);

// A pipeline that is in memory, and one that has to be made.
void compile_hit(benchmark::State& state) {
  const run::Device device = open(true);
  const auto checked = std::make_shared<const check::CheckedProgram>(
      must(check::check_valid(text::parse(kAdd, "bench.vyre").program)));
  for (auto _ : state) benchmark::DoNotOptimize(must(device.compile(checked)));
}
BENCHMARK(compile_hit);

void lost_device(benchmark::State& state) {
  const auto null = backend::open_null();
  run::DeviceOptions options;
  options.cache_directory.clear();
  const run::Device device = run::Device::over(null, options);
  const run::Pipeline pipeline = compile(device, kAdd);
  null->lose_device_at(null->calls());
  (void)device.allocate(4);
  run::Outputs slots;
  for (auto _ : state) benchmark::DoNotOptimize(pipeline.dispatch_into({}, slots));
}
BENCHMARK(lost_device);

}  // namespace
}  // namespace vyre
