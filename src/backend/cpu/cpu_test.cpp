// SPDX-License-Identifier: Apache-2.0
#include "vyre/backend/cpu.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

#include "backend/cpu/kernels_test.hpp"
#include "backend/cpu/processor.hpp"

namespace vyre::backend {
namespace {

using namespace device;
using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// ---- launches

TEST_F(CpuTest, EveryWorkgroupRunsOnce) {
  for (const uint32_t workers : {1U, 2U, 3U}) {
    open({.workers = workers});
    for (const uint32_t groups : {1U, 2U, 3U, 7U, 64U, 1000U, 4097U, 100'000U}) {
      bind({Words(groups + 1)});
      expect_runs({launch(kCount, groups, 1), launch(kCount, groups, 256)});
      Words expected(groups + 1, 2);
      expected.back() = 0;
      ASSERT_EQ(read(0), expected) << groups;
    }
  }
}

TEST_F(CpuTest, AllWorkersTakePart) {
  open({.workers = 2});
  bind({Words(400)});
  std::set<uint32_t> workers;
  for (int i = 0; i < 50 && workers.size() < 2; ++i) {
    expect_runs({launch(kWho, 400, 64)});
    workers.clear();
    for (const uint32_t worker : read(0)) workers.insert(worker);
  }
  EXPECT_EQ(workers.size(), 2u);
  EXPECT_FALSE(workers.contains(0));
}

TEST_F(CpuTest, PassesTheLaunchToTheCode) {
  open();
  bind({Words(10)});
  Launch x = launch(kGrid, 3);
  x.grid = {3, 2, 1};
  expect_runs({x});
  EXPECT_THAT(read(0), ElementsAre(3, 2, 1, 10, 1, 1, 0, 0, 0, 0));

  bind({Words(12)});
  write(0, {5, 1, 1, 9, 9, 9, 9, 9, 9, 9, 9, 9});
  x = launch(kGrid, 0);
  expect_runs({x});  // a grid with a 0 runs nothing
  EXPECT_EQ(read(0)[3], 9u);
  x.grid_from = word(0);
  expect_runs({x});
  EXPECT_EQ(read(0)[0], 5u);
  EXPECT_EQ(read(0)[3], 12u);
}

TEST_F(CpuTest, CodeFindsWhatItNames) {
  open();
  Words in(100);
  std::iota(in.begin(), in.end(), 0);
  bind({in});
  expect_runs({launch(kCalls, 100)});
  const Words out = read(0);
  for (uint32_t g = 0; g < 100; ++g)
    EXPECT_EQ(out[g], g * (g % 2 == 0 ? 2 : 3) + (g + 2) + (2 * g + 1)) << g;

  Artifact absolute = kernels_artifact();
  absolute.code = absolute_object();
  absolute.entries.resize(1);
  load(absolute);
  bind({Words(5)});
  expect_runs({launch(0, 5)});
  EXPECT_THAT(read(0), ElementsAre(20, 30, 40, 50, 20));
}

TEST_F(CpuTest, WorkersKeepScratchAndFinish) {
  for (const uint32_t workers : {1U, 2U, 4U}) {
    open({.workers = workers});
    Words in(20'000);
    std::iota(in.begin(), in.end(), 1);
    bind({in, Words(2)});
    for (uint32_t round = 1; round <= 20; ++round) {
      write(1, {0, 0});
      expect_runs({launch(kTally, 20'000, 4)});
      EXPECT_EQ(read(1)[0], 20'000u * 20'001u / 2);
      EXPECT_GE(read(1)[1], 1u);  // once for each worker that ran
      EXPECT_LE(read(1)[1], workers);
    }
  }
}

#if defined(__x86_64__)
TEST_F(CpuTest, FloatingPointIsSetAndRestored) {
  open();
  bind({Words(500)});
  const uint32_t before = _mm_getcsr();
  _mm_setcsr(0x9FC0);  // flush to zero, denormals are zero
  const auto few = run({launch(kControl, 1)});
  const uint32_t after_few = _mm_getcsr();
  const auto many = run({launch(kControl, 500, 64)});
  const uint32_t after_many = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_TRUE(few && many);
  EXPECT_EQ(after_few, 0x9FC0u);
  EXPECT_EQ(after_many, 0x9FC0u);
  EXPECT_THAT(read(0), Each(0x1F80u));
}
#endif

TEST_F(CpuTest, TimesAndProgress) {
  open();
  bind({Words(200'000)});
  const auto done =
      run({launch(kCount, 100, 1), Fill{buffers_[0].whole()}}, {.measure = Measure::Steps});
  ASSERT_TRUE(done);
  EXPECT_GT(done->timings.device_ns.value_or(0), 0u);
  EXPECT_EQ(done->launches, 1u);
  ASSERT_EQ(done->steps.size(), 2u);
  EXPECT_LE(done->steps[0].end_ns, done->steps[1].begin_ns);

  class Services : public HostServices {
   public:
    uint64_t calls = 0, last = 0, of = 0;
    Result<void> resume(std::span<const TrapReport>, HandlerBuffers&) override { return {}; }
    void progress(uint64_t done, uint64_t all) override {
      ++calls;
      EXPECT_GE(done, last);
      last = done;
      of = all;
    }
  } host;
  ASSERT_TRUE(run({launch(kWho, 100'000, 1)}, {.host = &host}));  // about a second
  EXPECT_GT(host.calls, 0u);
  EXPECT_EQ(host.of, 100'000u);

  class Throwing : public HostServices {
   public:
    Result<void> resume(std::span<const TrapReport>, HandlerBuffers&) override { return {}; }
    void progress(uint64_t, uint64_t) override { throw std::runtime_error("no more"); }
  } thrower;
  EXPECT_THROW((void)run({launch(kWho, 100'000, 1)}, {.host = &thrower}), std::runtime_error);
  expect_runs({launch(kCount, 100'000, 64)});  // nobody was left behind
}

// ---- stops

TEST_F(CpuTest, TheSmallestLaneWins) {
  open();
  Words in(5000);
  in[4000] = 1;
  in[77] = 5;
  in[78] = 6;
  in[2500] = 7;
  bind({in});
  for (const uint32_t lanes : {1U, 64U}) {
    const auto done = run({launch(kStop, 5000, lanes)});
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_TRUE(done->lane_stop);
    EXPECT_EQ(done->lane_stop->lane, 4 * 77u);
    EXPECT_EQ(done->lane_stop->error.message, "trap 21 lane 308 value 5");
  }
  in[77] = in[78] = 0;
  write(0, in);
  const std::vector<Region> tail = {*buffers_[0].region(1024, 4 * 4000)};
  Launch second = launch(kStop, 4000);
  second.arguments = tail;
  const auto done = run({launch(kStop, 5000), second});  // first 2500, then 2500 - 256
  ASSERT_TRUE(done);
  EXPECT_EQ(done->lane_stop->lane, 4 * (2500u - 256u));
  EXPECT_FALSE(run({launch(kStop, 77)})->lane_stop);
}

TEST_F(CpuTest, AStopOfAWholeProgramIsTheError) {
  open({.workers = 2}, true);
  bind({{0, 3, 0}});
  uint32_t failed_step = 9;
  const auto done = run({launch(kCount, 0), launch(kStop, 3)}, {.failed_step = &failed_step});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::Trapped);
  EXPECT_EQ(done.error().message, "trap 21 lane 4 value 3");
  EXPECT_EQ(failed_step, 1u);
}

TEST_F(CpuTest, AStopWithoutAnExplanation) {
  open();
  Artifact artifact = kernels_artifact();
  artifact.explain = {};
  load(artifact);
  bind({{0, 3, 0}});
  const auto done = run({launch(kStop, 3)});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->lane_stop->error.code, ErrorCode::Internal);
  EXPECT_THAT(done->lane_stop->error.message, HasSubstr("lane 4 of `kernel 2` stopped at site 21"));

  const auto late =
      run({launch(kEndless, 4)}, {.deadline = std::chrono::steady_clock::now() + 10ms});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::Timeout);
  EXPECT_THAT(late.error().message, HasSubstr("longer than its time limit, up to step 0 of 1"));
}

TEST_F(CpuTest, DeadlinesAndCancelEndLoops) {
  for (const uint32_t workers : {1U, 2U}) {
    open({.workers = workers});
    for (const uint32_t groups : {1U, 500U}) {
      bind({Words(groups + 1)});
      const auto begin = std::chrono::steady_clock::now();
      const auto late = run({launch(kEndless, groups, 64)}, {.deadline = begin + 20ms});
      ASSERT_FALSE(late);
      EXPECT_EQ(late.error().code, ErrorCode::Timeout);
      EXPECT_THAT(late.error().message, HasSubstr("loop "));
      EXPECT_GE(std::chrono::steady_clock::now(), begin + 20ms);
      EXPECT_LT(std::chrono::steady_clock::now(), begin + 5s);

      std::atomic<bool> cancel = false;
      std::jthread canceller([&] {
        std::this_thread::sleep_for(10ms);
        cancel = true;
      });
      const auto cancelled = run({launch(kEndless, groups, 64)}, {.cancel = &cancel});
      ASSERT_FALSE(cancelled);
      EXPECT_EQ(cancelled.error().code, ErrorCode::Timeout);
      EXPECT_THAT(cancelled.error().message, HasSubstr("loop "));
    }
    expect_runs({launch(kCount, 500, 256)});  // and goes on
  }
}

// Between pieces of work, for kernels that never ask.
TEST_F(CpuTest, DeadlinesEndLongLaunches) {
  open();
  bind({Words(4'000'000)});
  const auto begin = std::chrono::steady_clock::now();
  const auto late = run({launch(kWho, 4'000'000, 1)}, {.deadline = begin + 30ms});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::Timeout);
  EXPECT_THAT(late.error().message, HasSubstr("the dispatch ran longer than its time limit"));
  EXPECT_LT(std::chrono::steady_clock::now(), begin + 10s);
}

// ---- steps

TEST_F(CpuTest, Loops) {
  open();
  bind({{5, 0, 0, 0, 0, 0, 0, 0}});
  // Until a pass moves nothing.
  expect_runs({Repeat{.body_steps = 2,
                      .most = 100,
                      .until_zero = word(1),
                      .result = word(3),
                      .total = word(5)},
               SetWord{word(1), 0}, launch(kStep, 1)});
  EXPECT_THAT(read(0), ElementsAre(0, 0, 6, 6, 1, 6, 0, 0));
  write(0, {3, 0, 0, 0, 0, 0, 0, 0});
  expect_runs({While{.condition_steps = 0, .body_steps = 1, .word = word(0)}, launch(kStep, 1),
               Branch{.then_steps = 1, .else_steps = 1, .word = word(1)}, SetWord{word(6), 11},
               SetWord{word(6), 22}});
  EXPECT_THAT(read(0), ElementsAre(0, 1, 3, 0, 0, 0, 11, 0));
  const auto done = run({Exit{.word = word(6), .if_equal = true, .value = 11}, launch(kStep, 1)});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->exited_at, 0u);
  EXPECT_EQ(done->launches, 0u);
}

TEST_F(CpuTest, BulkSteps) {
  for (const uint32_t workers : {1U, 2U, 3U}) {
    open({.workers = workers});
    for (const size_t size : {size_t{4}, size_t{1000}, size_t{1'000'003}, size_t{3'000'001}}) {
      Words in(size);
      std::iota(in.begin(), in.end(), 1);
      bind({in, Words(size), Words(2)});
      expect_runs({Compare{buffers_[0].whole(), buffers_[1].whole(), word(0, 2)},
                   Copy{buffers_[1].whole(), buffers_[0].whole()},
                   Compare{buffers_[0].whole(), buffers_[1].whole(), word(1, 2)}});
      EXPECT_EQ(read(1), in);
      EXPECT_THAT(read(2), ElementsAre(1, 0));
      in.back() ^= 1;
      write(0, in);
      expect_runs({Compare{buffers_[0].whole(), buffers_[1].whole(), word(1, 2)},
                   Fill{buffers_[1].whole(), std::byte{0x11}}});
      EXPECT_THAT(read(2), ElementsAre(1, 1));
      EXPECT_THAT(read(1), Each(0x11111111u));
    }
  }
}

// ---- what the driver must not do

TEST_F(CpuTest, RefusesWrongLaunches) {
  open();
  bind({Words(1000)});
  const auto message = [&](const Launch& x) {
    const auto done = run({x});
    if (done) return std::string("it runs");
    EXPECT_EQ(done.error().code, ErrorCode::Internal);
    return done.error().message;
  };
  Launch x = launch(kKernelCount, 1);
  EXPECT_THAT(message(x), HasSubstr("entry 9"));
  x = launch(kCount, 1);
  x.pipeline = buffers_[0].handle();
  EXPECT_THAT(message(x), HasSubstr("which there is not"));
  x = launch(kCount, 1);
  x.arguments = {};
  EXPECT_THAT(message(x), HasSubstr("0 arguments for 1 buffers"));
  for (const Region region :
       {Region{buffers_[0].handle(), 64, 64}, Region{buffers_[0].handle(), 256, 4000},
        Region{buffers_[0].handle(), 0, 6}, Region{Handle{999}, 0, 4}}) {
    x.arguments = {&region, 1};
    EXPECT_THAT(message(x), HasSubstr("argument 0 of `kernel 0`"));
  }
  x.arguments = regions_;
  x.workgroup = {2048, 1, 1};
  const auto done = run({x});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::LimitExceeded);
}

// What the code relies on: a constant count, and room for what workgroups keep.
TEST_F(CpuTest, ArgumentsFitTheProgram) {
  open();
  const auto load_as = [&](std::vector<EntryBinding> bindings) {
    Artifact artifact = kernels_artifact();
    artifact.entries.resize(1);
    artifact.entries[0].bindings = std::move(bindings);
    load(artifact);
  };
  const auto runs = [&](uint32_t groups, const std::vector<Region>& arguments) {
    Launch x = launch(kCount, groups);
    x.arguments = arguments;
    return run({x}).has_value();
  };
  load_as({{.name = "a", .count = 8}});
  bind({Words(8), Words(3 * 64)});
  EXPECT_TRUE(runs(1, {regions_[0]}));
  EXPECT_FALSE(runs(1, {*buffers_[0].region(0, 16)}));
  EXPECT_FALSE(runs(1, {Region{}}));

  load_as({{.name = "a"}, {.name = "s", .count = 64, .shared = true}});
  EXPECT_TRUE(runs(4, {regions_[0], Region{}}));
  load_as(
      {{.name = "a"}, {.name = "s", .count = 64, .shared = true, .restore = true, .save = true}});
  EXPECT_TRUE(runs(3, {regions_[0], regions_[1]}));
  EXPECT_FALSE(runs(4, {regions_[0], regions_[1]}));
  EXPECT_FALSE(runs(1, {regions_[0], Region{}}));
}

TEST_F(CpuTest, RefusesIncompleteCode) {
  device_ = *open_cpu();
  const auto message = [&](const Artifact& artifact) {
    const auto loaded = device_->load(artifact);
    if (loaded) return std::string("it loads");
    EXPECT_EQ(loaded.error().code, ErrorCode::CompileFailed);
    EXPECT_THAT(loaded.error().message, HasSubstr("Fix: "));
    return loaded.error().message;
  };
  Artifact artifact = kernels_artifact();
  artifact.entries.resize(10, artifact.entries[0]);
  EXPECT_THAT(message(artifact), HasSubstr("no vyre_info for entry 9"));
  for (const std::string_view name : {"vyre_entry_7", "vyre_finish_4"}) {
    artifact = kernels_artifact();
    const auto place = std::ranges::search(artifact.code, std::as_bytes(std::span(name)));
    ASSERT_FALSE(place.empty());
    place.back() = std::byte{'X'};
    EXPECT_THAT(message(artifact), HasSubstr(fmt::format("does not define {}", name)));
  }
  artifact = kernels_artifact();
  artifact.entries[2].barriers_inside = true;
  EXPECT_THAT(message(artifact), HasSubstr("barriers over the grid"));
  artifact = kernels_artifact();
  artifact.code.resize(100);
  EXPECT_THAT(message(artifact), HasSubstr("cannot be loaded"));
  artifact = kernels_artifact();
  artifact.entries.clear();
  EXPECT_EQ(message(artifact), "it loads");
}

// ---- memory and life

TEST_F(CpuTest, MemoryIsAlignedAndReused) {
  open({.workers = 1, .fresh_fill = std::byte{0xA5}});
  bind({Words(3)});
  EXPECT_EQ(buffers_[0].bytes(), 12u);
  bind({Words(1'000'000, 7)});
  expect_runs({launch(kCount, 10)});
  EXPECT_EQ(read(0)[9], 8u);
  buffers_.clear();
  buffers_.push_back(*device_->allocate(1000));
  EXPECT_THAT(read(0), Each(0xA5A5A5A5u));
  EXPECT_TRUE(device_->allocate(0));
}

TEST_F(CpuTest, OutOfMemoryNamesBothNumbers) {
  open({.workers = 1, .memory_limit = 1'000'000});
  const auto first = device_->allocate(400'000);
  ASSERT_TRUE(first);
  const auto second = device_->allocate(700'000);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::DeviceOutOfMemory);
  EXPECT_THAT(second.error().message, HasSubstr("700000 bytes"));
  EXPECT_THAT(second.error().message, HasSubstr("600000 bytes available"));
  EXPECT_TRUE(device_->allocate(600'000));
}

TEST_F(CpuTest, RecoverStartsAnew) {
  open();
  bind({Words(10)});
  const Buffer old = std::move(buffers_[0]);
  const LoadedArtifact old_code = std::move(code_);
  ASSERT_TRUE(device_->recover());
  EXPECT_FALSE(old.check_owner(*device_));
  load(kernels_artifact());
  bind({Words(10)});
  expect_runs({launch(kCount, 10, 64)});
  EXPECT_THAT(read(0), Each(1u));
}

TEST_F(CpuTest, SaysWhatItIs) {
  const BackendInfo info = cpu_info();
  EXPECT_EQ(info.id, "cpu");
  EXPECT_EQ(info.kind, Kind::Cpu);
  EXPECT_EQ(info.capabilities.subgroup_size, kCpuSubgroupSize);
  EXPECT_TRUE(info.capabilities.formats.contains(Format::Object));
  EXPECT_FALSE(info.capabilities.whole_programs || info.capabilities.cooperative_grid_barrier);
  EXPECT_THAT(info.signature, HasSubstr("x86_64 "));
  EXPECT_EQ(cpu_info().signature, info.signature);
  EXPECT_EQ((*open_cpu())->info().profile, info.profile);
}

}  // namespace
}  // namespace vyre::backend
