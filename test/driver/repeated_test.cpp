// SPDX-License-Identifier: Apache-2.0
// A dispatch that is like the one before it takes no memory from the heap of the host, and many
// dispatches leave nothing behind.
#include <array>
#include <filesystem>
#include <fstream>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "driver/heap.hpp"
#include "driver/world.hpp"
#include "figure.hpp"
#include "vyre/backend/cpu.hpp"

namespace vyre::driver_test {
namespace {

using run::Argument;
using run::Buffer;

// ---- no allocations

struct Route {
  const char* name;
  bool barriers;
  bool compiled = false;  // on the cores of this machine; else on a device that does nothing
};
void PrintTo(const Route& route, std::ostream* out) {
  *out << route.name;
}

class RepeatedDispatches : public testing::TestWithParam<Route> {
 protected:
  void SetUp() override {
    if (!kOwnHeap) GTEST_SKIP() << "not under ThreadSanitizer";
    if (GetParam().compiled && *backend::why_no_cpu() != 0) GTEST_SKIP() << backend::why_no_cpu();
  }
  RepeatedDispatches() {
    if (GetParam().compiled) {
      if (auto opened = run::Device::open("cpu", {.cache_directory = {}})) device_ = *opened;
      return;
    }
    backend::NullOptions options;
    options.record = false;
    options.info.capabilities.cooperative_grid_barrier = GetParam().barriers;
    device_ = run::Device::over(backend::open_null(std::move(options)), {.cache_directory = {}});
  }

  run::Pipeline compile(const Program& program) {
    auto compiled = device_.compile(program);
    EXPECT_TRUE(compiled);
    return compiled->pipeline;
  }

  template <class Dispatch>
  static void expect_none(const Dispatch& dispatch) {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(dispatch());
    const uint64_t before = heap_allocations();
    bool all = true;
    for (int i = 0; i < 100; ++i) all = dispatch().has_value() && all;
    const uint64_t made = heap_allocations() - before;
    EXPECT_TRUE(all);
    EXPECT_EQ(made, 0U) << made / 100.0 << " allocations in each dispatch";
  }

  run::Device device_;
};

TEST_P(RepeatedDispatches, ThreeResidentBuffers) {
  const run::Pipeline add = compile(programs().add);
  const Buffer a = *device_.upload(std::as_bytes(count_to(64)));
  const Buffer b = *device_.upload(std::as_bytes(count_to(64)));
  const Buffer c = *device_.allocate(256);
  const std::array<Argument, 2> inputs = {a, b};
  const std::array<const Buffer*, 1> outputs = {&c};
  run::Outputs slots;
  expect_none([&] { return add.dispatch_into({.inputs = inputs, .outputs = outputs}, slots); });
}

TEST_P(RepeatedDispatches, BytesOfTheHost) {
  const run::Pipeline scale = compile(programs().scale);
  const auto k = count_to(1);
  const auto a = count_to(64);
  const std::array<Argument, 2> inputs = {k, a};
  run::Outputs slots(1);
  slots[0].reserve(256);
  expect_none([&] { return scale.dispatch_into({.inputs = inputs}, slots); });
}

TEST_P(RepeatedDispatches, BarriersOverResidentBuffers) {
  const run::Pipeline split = compile(programs().split);
  const auto k = count_to(1);
  const Buffer d = *device_.upload(std::as_bytes(count_to(64)));
  const Buffer e = *device_.allocate(256);
  const std::array<Argument, 2> inputs = {k, d};
  const std::array<const Buffer*, 2> outputs = {&d, &e};
  run::Outputs slots;
  const auto once = [&] {
    return split.dispatch_into({.inputs = inputs, .outputs = outputs}, slots);
  };
  ASSERT_EQ(once()->segments, GetParam().barriers ? 1U : 3U);
  expect_none(once);
}

TEST_P(RepeatedDispatches, BarriersOverBytesOfTheHost) {
  const run::Pipeline split = compile(programs().split);
  const auto k = count_to(1);
  const auto d = count_to(64);
  const std::array<Argument, 2> inputs = {k, d};
  run::Outputs slots;
  expect_none([&] { return split.dispatch_into({.inputs = inputs}, slots); });
}

TEST_P(RepeatedDispatches, RepeatedPasses) {
  const run::Pipeline saturate = compile(programs().saturate);
  run::DispatchConfig config;
  config.fixpoint_iterations = 4;
  const Buffer d = *device_.upload(std::as_bytes(count_to(8)));
  const std::array<Argument, 1> inputs = {d};
  run::Outputs slots;
  expect_none([&] { return saturate.dispatch_into({.inputs = inputs}, slots, config); });
}

INSTANTIATE_TEST_SUITE_P(Routes, RepeatedDispatches,
                         testing::Values(Route{"whole", true}, Route{"split", false},
                                         Route{"compiled", false, true}),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- nothing is left behind (row 21)

uint64_t resident_kib() {
  std::ifstream statm("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  statm >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) / 1024;
}
size_t entries_of(const char* directory) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory),
                                           std::filesystem::directory_iterator()));
}

// VYRE_SOAK=1000000 is the nightly figure.
TEST(Soak, DispatchesOfRandomSizes) {
  backend::NullOptions options;
  options.record = false;
  options.info.capabilities.cooperative_grid_barrier = false;
  const auto backend = backend::open_null(std::move(options));
  const run::Device device = run::Device::over(backend, {.cache_directory = {}});
  std::mt19937 random(7);
  const auto dispatch = [&](uint32_t i) {
    const uint32_t n = 4 * (1 + random() % 250);
    const auto data = count_to(n);
    const auto k = count_to(1);
    const Program program =
        std::array{programs().scale, programs().split, programs().settle, programs().add}[i % 4];
    auto compiled = device.compile(program);  // from the cache
    ASSERT_TRUE(compiled);
    run::Outputs slots;
    Result<run::Report> report;
    if (i % 4 == 2) {
      const Argument inputs[] = {data};
      report = compiled->pipeline.dispatch_into({.inputs = inputs}, slots);
    } else if (i % 4 == 3) {
      const Buffer buffer = *device.upload(std::as_bytes(data));
      const Argument inputs[] = {buffer, data};
      auto pending = compiled->pipeline.dispatch_async({.inputs = inputs});
      ASSERT_TRUE(pending);
      report = pending->wait_into(slots);
    } else {
      const Argument inputs[] = {k, data};
      report = compiled->pipeline.dispatch_into({.inputs = inputs}, slots);
    }
    ASSERT_TRUE(report) << to_string(report.error());
  };
  for (uint32_t i = 0; i < 1'000; ++i) dispatch(i);
  const uint64_t memory = resident_kib();
  const size_t files = entries_of("/proc/self/fd");
  const size_t threads = entries_of("/proc/self/task");
  const int64_t pieces = heap_pieces();
  const uint64_t buffers = backend->live_buffers();
  const uint64_t loaded = backend->loaded();
  const auto dispatches = static_cast<uint32_t>(test::figure("VYRE_SOAK", 10'000));
  for (uint32_t i = 0; i < dispatches; ++i) dispatch(i);
  EXPECT_EQ(entries_of("/proc/self/fd"), files);
  EXPECT_EQ(entries_of("/proc/self/task"), threads);
  EXPECT_EQ(backend->live_buffers(), buffers);
  EXPECT_EQ(backend->loaded(), loaded);
  // Queues and tables round their memory up.
  EXPECT_LE(std::abs(heap_pieces() - pieces), 8);
  // The sanitizers keep what was freed for a while.
  if (base::kSanitized) return;
  EXPECT_LE(resident_kib(), memory + memory / 100 + 2048);
}

// Small ones that the caller runs alone, larger ones for which helpers come, and loops over the
// grid.
TEST(Soak, DispatchesOnTheCores) {
  if (*backend::why_no_cpu() != 0) GTEST_SKIP() << backend::why_no_cpu();
  const auto opened = run::Device::open("cpu", {.cache_directory = {}});
  ASSERT_TRUE(opened) << to_string(opened.error());
  const run::Pipeline add = opened->compile(programs().add)->pipeline;
  const run::Pipeline split = opened->compile(programs().split)->pipeline;
  struct Data {
    Buffer a, b, c;
  };
  const auto data_of = [&](uint32_t n) {
    const std::vector<uint32_t> ones(n, 1);
    return Data{*opened->upload(std::as_bytes(std::span(ones))),
                *opened->upload(std::as_bytes(std::span(ones))),
                *opened->allocate(4 * uint64_t{n})};
  };
  const Data small = data_of(64);
  const Data large = data_of(100'000);
  const auto k = count_to(1);
  run::Outputs slots;
  const auto dispatch = [&](uint32_t i) {
    const Data& data = i % 50 == 0 ? large : small;
    if (i % 10 == 3) {
      const std::array<Argument, 2> inputs = {k, data.a};
      const std::array<const Buffer*, 2> outputs = {&data.a, &data.c};
      ASSERT_TRUE(split.dispatch_into({.inputs = inputs, .outputs = outputs}, slots));
    } else {
      const std::array<Argument, 2> inputs = {data.a, data.b};
      const std::array<const Buffer*, 1> outputs = {&data.c};
      ASSERT_TRUE(add.dispatch_into({.inputs = inputs, .outputs = outputs}, slots));
    }
  };
  for (uint32_t i = 0; i < 1'000; ++i) dispatch(i);
  const uint64_t memory = resident_kib();
  const size_t files = entries_of("/proc/self/fd");
  const size_t threads = entries_of("/proc/self/task");
  const int64_t pieces = heap_pieces();
  const auto dispatches = static_cast<uint32_t>(test::figure("VYRE_SOAK", 100'000));
  for (uint32_t i = 0; i < dispatches; ++i) dispatch(i);
  EXPECT_EQ(entries_of("/proc/self/fd"), files);
  EXPECT_EQ(entries_of("/proc/self/task"), threads);
  if (kOwnHeap) {
    EXPECT_LE(std::abs(heap_pieces() - pieces), 8);
  }
  if (base::kSanitized) return;
  EXPECT_LE(resident_kib(), memory + memory / 100 + 2048);
}

}  // namespace
}  // namespace vyre::driver_test
