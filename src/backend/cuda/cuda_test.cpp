// SPDX-License-Identifier: Apache-2.0
// The public face of the device, on the driver of the tests.
#include "vyre/backend/cuda.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "backend/cuda/fake_test.hpp"

namespace vyre::backend {
namespace {

using namespace device;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// ---- memory

// Code that was not made is never run in place of what should have been.
TEST_F(CudaTest, WhatNoWorkgroupCanBeThereForIsNotLaunched) {
  fake_cuda().reset({.blocks_per_multiprocessor = 0});
  open();
  bind({{1}});
  EXPECT_THAT(failure({launch(kOne)}),
              HasSubstr("a launch of `kernel 0`, of which no workgroup can"));
  EXPECT_EQ(fake_cuda().launches().size(), 0u);
}

TEST_F(CudaTest, MemoryOfEveryKindCanBeUsed) {
  open();
  for (const Memory kind : {Memory::Device, Memory::Staging, Memory::Control}) {
    const Buffer a = *device_->allocate(12, kind);
    Words in = {1, 2, 3};
    Words out(3);
    const Transfer both[] = {to_device(a.whole(), in.data()), to_host(a.whole(), out.data())};
    ASSERT_TRUE(device_->transfer({&both[0], 1}));
    ASSERT_TRUE(device_->transfer({&both[1], 1}));
    EXPECT_EQ(out, in);
    Words word(1);
    expect_runs(
        {SetWord{.to = {a.handle(), 4}, .value = 7}, to_host(*a.region(4, 4), word.data())});
    EXPECT_THAT(word, ElementsAre(7));
  }
  const Buffer none = *device_->allocate(0);
  EXPECT_TRUE(none.valid());
  const uint64_t before = fake_cuda().live().memory;
  const Buffer odd = *device_->allocate(13);
  EXPECT_EQ(fake_cuda().live().memory, before + 1);
}

TEST_F(CudaTest, TooMuchMemoryIsAnErrorWithBothNumbers) {
  fake_cuda().reset({.memory_bytes = 1 << 20});
  open();
  const auto big = device_->allocate(2 << 20);
  ASSERT_FALSE(big);
  EXPECT_EQ(big.error().code, ErrorCode::DeviceOutOfMemory);
  EXPECT_THAT(
      big.error().message,
      HasSubstr("2097152 bytes are requested on device `cuda`, which has 1048576 bytes "
                "available: CUDA_ERROR_OUT_OF_MEMORY (2) from cuMemAllocFromPoolAsync. Fix: "));
  EXPECT_FALSE(device_->is_lost());
  fake_cuda().fail("cuMemHostAlloc", 0, 2);
  EXPECT_THAT(device_->allocate(5, Memory::Staging).error().message,
              HasSubstr("5 bytes are requested"));
  const auto huge = device_->allocate(uint64_t{1} << 40);
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::LimitExceeded);
}

TEST_F(CudaTest, DevicesWithoutPoolsAllocateFromTheDriver) {
  cuda::FakeSettings settings;
  settings.attributes[115] = 0;
  settings.memory_bytes = 1 << 20;
  fake_cuda().reset(settings);
  open();
  EXPECT_EQ(fake_cuda().live().pools, 0u);
  bind({{1, 2, 3}});
  EXPECT_THAT(read(0), ElementsAre(1, 2, 3));
  EXPECT_THAT(device_->allocate(2 << 20).error().message, HasSubstr("from cuMemAlloc_v2"));
  buffers_.clear();
  EXPECT_EQ(fake_cuda().live().memory, 0u);
}

// Neither the driver nor its pools say whose memory it was.
TEST_F(CudaTest, MemoryIsClearedUnlessItIsOverwritten) {
  for (const int pools : {1, 0}) {
    SCOPED_TRACE(pools);
    cuda::FakeSettings settings;
    settings.attributes[115] = pools;
    fake_cuda().reset(settings);
    open();
    for (const Memory kind : {Memory::Device, Memory::Staging, Memory::Control}) {
      const uint64_t before = device_->cleared_bytes();
      buffers_.clear();
      buffers_.push_back(*device_->allocate({.bytes = 100, .kind = kind, .owner = 7}));
      EXPECT_THAT(read(0), Each(0u));
      EXPECT_EQ(device_->cleared_bytes(), before + 112);
      buffers_.clear();
      buffers_.push_back(
          *device_->allocate({.bytes = 100, .kind = kind, .owner = 7, .overwritten = true}));
      EXPECT_THAT(read(0), Each(0xA5A5A5A5u));
      EXPECT_EQ(device_->cleared_bytes(), before + 112);
    }
    buffers_.clear();
    // What cannot be cleared is not handed out.
    fake_cuda().fail("cuMemsetD8Async", 0, 2);
    const uint64_t live = fake_cuda().live().memory;
    EXPECT_FALSE(device_->allocate(100));
    // A pool frees in the order of its stream.
    for (int i = 0; i < 5000 && fake_cuda().live().memory != live; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(fake_cuda().live().memory, live);
  }
}

TEST_F(CudaTest, TransfersOutsideABufferAreRefused) {
  open();
  const Buffer a = *device_->allocate(8);
  Words host(4);
  const Transfer wrong = to_device({a.handle(), 4, 8}, host.data());
  EXPECT_THAT(device_->transfer({&wrong, 1}).error().message,
              HasSubstr("8 bytes at 4 of handle 2 are used, which has 8 bytes"));
  for (const Step& step :
       {Step(wrong), Step(Fill{.to = {a.handle(), 4, 8}}), Step(SetWord{.to = {a.handle(), 8}}),
        Step(Copy{.to = {a.handle(), 8, 4}, .from = {a.handle(), 0, 4}}),
        Step(Compare{.a = {a.handle(), 0, 8}, .b = {{99}, 0, 8}, .differs = {a.handle(), 0}}),
        Step(Exit{.word = {{99}, 0}})}) {
    uint32_t failed_step = 9;
    EXPECT_THAT(failure({Fill{}, step}, {.failed_step = &failed_step}), HasSubstr("Internal"));
    EXPECT_EQ(failed_step, 1u);
  }
  EXPECT_THAT(failure({Copy{.to = {a.handle(), 0, 6}, .from = {a.handle(), 2, 6}}}),
              HasSubstr("overlaps itself"));
}

// ---- steps

TEST_F(CudaTest, BytesAreMovedInOrder) {
  open();
  bind({{1, 2, 3, 4}, {0, 0, 0, 0}});
  Words in = {7, 8};
  Words out(4);
  const Buffer& a = buffers_[0];
  const Buffer& b = buffers_[1];
  expect_runs({to_device(*a.region(4, 8), in.data()), Copy{.to = b.whole(), .from = a.whole()},
               Fill{.to = *b.region(0, 3), .value = std::byte{0xFF}},
               SetWord{.to = word(3, 1), .value = 9}, to_host(b.whole(), out.data()),
               Fill{.to = b.whole()}, Copy{}, Fill{}, Transfer{}});
  EXPECT_THAT(out, ElementsAre(0x00FFFFFF, 7, 8, 9));
  EXPECT_THAT(read(0), ElementsAre(1, 7, 8, 4));
  EXPECT_THAT(read(1), Each(0));
}

// More than the pinned memory of a submission holds, and transfers that do not go through it.
TEST_F(CudaTest, TransfersOfAnyLength) {
  open();
  const Buffer a = *device_->allocate(1 << 20);
  std::vector<uint32_t> in((1 << 20) / 4);
  std::iota(in.begin(), in.end(), 1);
  std::vector<uint32_t> out(in.size());
  std::vector<Step> steps = {to_device(a.whole(), in.data())};
  for (uint64_t at = 0; at < 1 << 20; at += 60'000)
    steps.push_back(to_host(*a.region(at, std::min<uint64_t>(60'000, (1 << 20) - at)),
                            reinterpret_cast<std::byte*>(out.data()) + at));
  expect_runs(steps);
  EXPECT_EQ(out, in);
  std::ranges::fill(out, 0);
  expect_runs({to_host(a.whole(), out.data())});
  EXPECT_EQ(out, in);
  for (uint32_t& x : in) x ^= 5;
  steps.clear();
  for (uint64_t at = 0; at < 1 << 20; at += 60'000)
    steps.push_back(to_device(*a.region(at, std::min<uint64_t>(60'000, (1 << 20) - at)),
                              reinterpret_cast<std::byte*>(in.data()) + at));
  // The word is read although the pinned memory is full.
  steps.emplace_back(Exit{.word = {a.handle(), 0}, .if_equal = false, .value = in[0]});
  steps.push_back(to_host(a.whole(), out.data()));
  expect_runs(steps);
  EXPECT_EQ(out, in);
}

TEST_F(CudaTest, ComparisonsStoreOneWhereBytesDiffer) {
  open();
  bind({Words(101, 5), Words(101, 5), {0, 0}});
  const Buffer& a = buffers_[0];
  const Buffer& b = buffers_[1];
  const auto differ = [&](uint64_t offset_a, uint64_t offset_b, uint64_t bytes) {
    expect_runs({SetWord{.to = word(0, 2), .value = 0}, Compare{.a = *a.region(offset_a, bytes),
                                                                .b = *b.region(offset_b, bytes),
                                                                .differs = word(0, 2)}});
    return read(2)[0];
  };
  EXPECT_EQ(differ(0, 0, 404), 0u);
  EXPECT_EQ(differ(4, 8, 396), 0u);
  EXPECT_EQ(differ(0, 0, 0), 0u);
  expect_runs({SetWord{.to = word(100, 1), .value = 6}});
  EXPECT_EQ(differ(0, 0, 404), 1u);
  EXPECT_EQ(differ(0, 0, 400), 0u);
  EXPECT_EQ(differ(1, 1, 400), 1u);
  // What is 1 stays 1.
  expect_runs({Compare{.a = a.whole(), .b = b.whole(), .differs = word(0, 2)},
               Compare{.a = *a.region(0, 8), .b = *b.region(0, 8), .differs = word(0, 2)}});
  EXPECT_EQ(read(2)[0], 1u);
}

TEST_F(CudaTest, ExitsEndASubmission) {
  open();
  bind({{3, 0}});
  const Step last = SetWord{.to = word(1), .value = 8};
  const auto go = [&](bool if_equal, uint32_t value) {
    return *run({SetWord{.to = word(1), .value = 0},
                 Exit{.word = word(0), .if_equal = if_equal, .value = value}, last});
  };
  EXPECT_EQ(go(true, 3).exited_at, 1u);
  EXPECT_THAT(read(0), ElementsAre(3, 0));
  EXPECT_EQ(go(true, 4).exited_at, std::nullopt);
  EXPECT_THAT(read(0), ElementsAre(3, 8));
  EXPECT_EQ(go(false, 4).exited_at, 1u);
  EXPECT_EQ(go(false, 3).exited_at, std::nullopt);
}

// Words: 0 counts down, 1 counts launches, 2 to 4 are results, 5 a limit.
TEST_F(CudaTest, LoopsAreSteps) {
  open();
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch& x) {
    uint32_t* const words = Parameters(x).words(0);
    if (words[0] != 0) --words[0];
    ++words[1];
    return 0;
  });
  const Step body = launch(kOne);
  bind({{5, 0, 9, 9, 100, 2}});
  const auto again = [&](Words words, const std::vector<Step>& steps) {
    const Transfer start = to_device(buffers_[0].whole(), words.data());
    EXPECT_TRUE(device_->transfer({&start, 1}));
    std::vector<Step> all = steps;
    for (Step& step : all)
      if (std::holds_alternative<Launch>(step)) step = launch(kOne);
    expect_runs(all);
    return read(0);
  };
  // Until nothing is left; at most; at most what memory says; none at all.
  EXPECT_THAT(again({5, 0, 9, 9, 100, 2}, {Repeat{.body_steps = 1,
                                                  .most = 50,
                                                  .until_zero = word(0),
                                                  .result = word(2),
                                                  .total = word(4)},
                                           body}),
              ElementsAre(0, 1, 1, 1, 101, 2));  // the word is 1 at the start
  EXPECT_THAT(
      again({5, 0, 9, 9, 100, 2}, {Repeat{.body_steps = 1, .most = 3, .result = word(2)}, body}),
      ElementsAre(2, 3, 3, 0, 100, 2));
  EXPECT_THAT(again({5, 0, 9, 9, 100, 2},
                    {Repeat{.body_steps = 1, .most_from = word(5), .result = word(2)}, body}),
              ElementsAre(3, 2, 2, 0, 100, 2));
  EXPECT_THAT(again({5, 0, 9, 9, 100, 2}, {Repeat{.body_steps = 1,
                                                  .most = 0,
                                                  .until_zero = word(0),
                                                  .result = word(2),
                                                  .total = word(4)},
                                           body}),
              ElementsAre(1, 0, 0, 0, 100, 2));
  EXPECT_THAT(
      again({5, 0, 9, 9, 100, 2}, {While{.condition_steps = 1, .body_steps = 1, .word = word(0)},
                                   body, SetWord{.to = word(2), .value = 7}}),
      ElementsAre(0, 5, 7, 9, 100, 2));
  for (const uint32_t which : {0U, 1U})
    EXPECT_THAT(again({which, 0, 9, 9, 100, 2},
                      {Branch{.then_steps = 1, .else_steps = 2, .word = word(0)}, body,
                       SetWord{.to = word(2), .value = 7}, SetWord{.to = word(3), .value = 8},
                       SetWord{.to = word(4), .value = 1}}),
                which != 0 ? ElementsAre(0, 1, 9, 9, 1, 2) : ElementsAre(0, 0, 7, 8, 1, 2));
}

// However many launches a loop makes, they share a few controls.
TEST_F(CudaTest, LongLoopsNeedNoMemory) {
  open();
  bind({{0, 0}});
  std::set<uint64_t> controls;
  fake_cuda().on_kernel("vyre_entry_0", [&](const cuda::FakeLaunch& x) {
    const Parameters p(x);
    controls.insert(p.args.control);
    p.words(0)[0] = ++p.words(0)[1] < 1000 ? 1 : 0;
    return 0;
  });
  const auto done =
      run({Repeat{.body_steps = 1, .most = 5000, .until_zero = word(0)}, launch(kOne)});
  ASSERT_TRUE(done) << to_string(done.error());
  EXPECT_EQ(done->launches, 1000u);
  EXPECT_THAT(read(0), ElementsAre(0, 1000));
  EXPECT_EQ(controls.size(), 1u);
}

TEST_F(CudaTest, EndlessLoopsEndAtTheLimit) {
  open();
  bind({{1, 0}});
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch&) { return 0; });
  for (const bool launches : {true, false}) {
    std::vector<Step> steps = {
        While{.condition_steps = 0, .body_steps = launches ? 1U : 0U, .word = word(0)}};
    if (launches) steps.emplace_back(launch(kOne));
    Submission limited;
    limited.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
    EXPECT_THAT(failure(steps, limited), HasSubstr("Timeout"));
  }
}

// ---- code

TEST_F(CudaTest, AnOlderCompilerGetsNoThreadOption) {
  for (const bool splits : {true, false}) {
    close();
    fake_cuda().reset({.splits_compilation = splits});
    open();
    EXPECT_EQ(std::ranges::count(fake_cuda().record(), "cuLinkCreate_v2"), splits ? 1 : 2);
    expect_runs({});
  }
}

TEST_F(CudaTest, PtxBecomesABinaryThatCanBeKept) {
  open();
  EXPECT_EQ(code_.native_format(), Format::Cubin);
  EXPECT_FALSE(code_.native().empty());
  EXPECT_EQ(code_.max_resident_groups(kOne), 8u);  // 2 on each of 4
  Artifact cached = fake_artifact();
  cached.format = Format::Cubin;
  cached.code.assign(code_.native().begin(), code_.native().end());
  fake_cuda().clear_record();
  auto loaded = device_->load(cached);
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->native().empty());
  for (const std::string& call : fake_cuda().record()) EXPECT_FALSE(call.starts_with("cuLink"));
}

TEST_F(CudaTest, BadCodeIsAnErrorWithTheLog) {
  open();
  Artifact artifact = fake_artifact();
  artifact.code = bytes_of("nonsense");
  auto loaded = device_->load(artifact);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::CompileFailed);
  EXPECT_THAT(to_string(loaded.error()),
              HasSubstr("compiling PTX on device `cuda` failed with CUDA_ERROR_INVALID_PTX (218) "
                        "from cuLinkAddData_v2"));
  EXPECT_THAT(to_string(loaded.error()), HasSubstr("Missing .version directive"));

  artifact.format = Format::Cubin;
  artifact.code.push_back({});
  loaded = device_->load(artifact);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::CompileFailed);
  EXPECT_THAT(loaded.error().message, HasSubstr("Fix: clear the cache"));

  artifact = fake_artifact();
  artifact.code = bytes_of(ptx_of({1}));
  loaded = device_->load(artifact);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::CompileFailed);
  EXPECT_THAT(loaded.error().message, HasSubstr("loading the kernel of `kernel 1`"));

  artifact = fake_artifact();
  artifact.format = Format::Object;
  EXPECT_EQ(device_->load(artifact).error().code, ErrorCode::Unsupported);
}

TEST_F(CudaTest, MoreSharedMemoryThanThereIsIsRefused) {
  cuda::FakeSettings small;
  small.attributes[97] = 64 << 10;
  fake_cuda().reset(small);
  auto device = open_cuda();
  ASSERT_TRUE(device);
  const auto loaded = (*device)->load(fake_artifact());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(
      loaded.error().message,
      HasSubstr("`kernel 3` has 80000 bytes of shared memory, and device `cuda` has 65520"));
}

// ---- launches

TEST_F(CudaTest, KernelsGetTheirArguments) {
  open();
  bind({Words(10), Words(100)});
  const Region empty[] = {regions_[0], Region{}};
  Launch x = launch(kTwo, {3, 2, 1});
  Launch y = x;
  y.arguments = empty;
  y.workgroup = {4, 2, 3};
  const auto done = run({x, y});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->launches, 2u);
  const auto launches = fake_cuda().launches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].kernel, "vyre_entry_1");
  EXPECT_THAT(launches[0].grid, ElementsAre(3, 2, 1));
  EXPECT_THAT(launches[0].block, ElementsAre(8, 1, 1));
  EXPECT_THAT(launches[1].block, ElementsAre(24, 1, 1));
  EXPECT_EQ(launches[0].shared_bytes, kGpuSharedHeader);
  EXPECT_FALSE(launches[0].cooperative);
  const Parameters first(launches[0]);
  EXPECT_THAT(first.args.grid, ElementsAre(3, 2, 1));
  EXPECT_THAT(first.args.first, Each(0));
  EXPECT_NE(first.args.control, 0u);
  EXPECT_EQ(first.args.control % 256, 0u);
  ASSERT_EQ(first.bindings.size(), 2u);
  for (const KernelBinding& binding : first.bindings) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(binding.address) % 256, 0u);
    EXPECT_EQ(binding.zero, 0u);
  }
  EXPECT_EQ(first.bindings[0].length, 10u);
  EXPECT_EQ(first.bindings[1].length, 100u);
  const Parameters second(launches[1]);
  EXPECT_EQ(second.bindings[0].address, first.bindings[0].address);
  EXPECT_EQ(second.bindings[1].address, nullptr);
  EXPECT_EQ(second.bindings[1].length, 0u);
  EXPECT_NE(second.args.control, first.args.control);  // each launch has its own
}

// D-PIPE.10: the driver's memory is at multiples of 256; kernels get the multiple that was wanted,
// and the driver gets back what it gave.
TEST_F(CudaTest, MemoryIsAlignedAsWanted) {
  for (const bool pools : {false, true}) {
    SCOPED_TRACE(pools);
    close();
    cuda::FakeSettings settings;
    settings.attributes[static_cast<int>(cuda::DeviceAttribute::MemoryPools)] = pools ? 1 : 0;
    fake_cuda().reset(settings);
    open();
    for (uint64_t alignment = 256; alignment <= kMostAlignment; alignment *= 2) {
      buffers_.clear();
      regions_.clear();
      for (const uint64_t bytes : {uint64_t{4}, uint64_t{40}, uint64_t{4096}}) {
        auto buffer = device_->allocate(Allocation{.bytes = bytes, .alignment = alignment});
        ASSERT_TRUE(buffer) << to_string(buffer.error());
        EXPECT_EQ(buffer->alignment(), alignment);
        // All of it is there: the fake's memory is the host's.
        Words words(bytes / 4, 7);
        const Transfer up = to_device(buffer->whole(), words.data());
        ASSERT_TRUE(device_->transfer({&up, 1}));
        buffers_.push_back(std::move(*buffer));
        regions_.push_back(buffers_.back().whole());
      }
      const size_t before = fake_cuda().launches().size();
      ASSERT_TRUE(run({launch(kTwo, {1, 1, 1})}));
      const Parameters parameters(fake_cuda().launches()[before]);
      for (const KernelBinding& binding : parameters.bindings) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(binding.address) % alignment, 0u) << alignment;
        EXPECT_EQ(*reinterpret_cast<const uint32_t*>(binding.address), 7u);
      }
    }
    buffers_.clear();
    EXPECT_EQ(device_->allocate(Allocation{.bytes = 4, .kind = Memory::Staging, .alignment = 4096})
                  .error()
                  .code,
              ErrorCode::InvalidArgument);
  }
}

// Threads with several lanes: as many blocks as it takes for the lanes of a row.
TEST_F(CudaTest, BlocksOfSeveralWorkgroups) {
  open();
  Artifact artifact = fake_artifact();
  artifact.entries[kOne].lanes_per_thread = 4;
  artifact.entries[kOne].threads = 256;
  auto loaded = device_->load(artifact);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  code_ = std::move(*loaded);
  bind({Words(1)});
  expect_runs({launch(kOne, {128, 3, 1}), launch(kOne, {129, 1, 2})});
  const auto launches = fake_cuda().launches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_THAT(launches[0].block, ElementsAre(256, 1, 1));
  EXPECT_THAT(launches[0].grid, ElementsAre(1, 3, 1));
  EXPECT_THAT(launches[1].grid, ElementsAre(2, 1, 2));
  EXPECT_THAT(Parameters(launches[1]).args.grid, ElementsAre(129, 1, 2));
}

// A program that no plan looks after fails with what its lanes tell, checked or not.
TEST_F(CudaTest, TrapsOfWholeProgramsAreErrors) {
  open();
  Artifact artifact = fake_artifact();
  artifact.entries[kOne].can_trap = true;
  artifact.entries[kOne].whole = true;
  auto loaded = device_->load(artifact);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  code_ = std::move(*loaded);
  bind({Words(1)});
  fake_cuda().on_kernel("vyre_entry_0", [](const cuda::FakeLaunch& x) {
    Parameters(x).control().stop = {.kind = KernelStop::Kind::Trap, .site = 7, .lane = 3};
    return 0;
  });
  uint32_t step = 99;
  Submission submission;
  submission.failed_step = &step;
  EXPECT_THAT(failure({SetWord{.to = word(0), .value = 1}, launch(kOne)}, submission),
              HasSubstr("site 7 lane 3"));
  EXPECT_EQ(step, 1u);
}

// Subgroup operations would wait for inactive lanes for ever: nothing of such an entry fits.
TEST_F(CudaTest, AnEntryThatCannotBeLaunchedNeverFits) {
  open();
  Artifact artifact = fake_artifact();
  auto loaded = device_->load(artifact);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_GT(loaded->max_resident_groups(kBarrier), 0u);
  artifact.entries[kBarrier].launchable = false;
  loaded = device_->load(artifact);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_EQ(loaded->max_resident_groups(kBarrier), 0u);
}

TEST_F(CudaTest, ControlsAreZerosForEveryLaunch) {
  open();
  bind({Words(1)});
  int dirty = 0;
  int launches = 0;
  const auto kernel = [&](const cuda::FakeLaunch& x) {
    GpuControl& control = Parameters(x).control();
    ++launches;
    const auto* bytes = reinterpret_cast<const std::byte*>(&control);
    for (size_t i = 0; i < sizeof(control); ++i) dirty += bytes[i] != std::byte{};
    if (x.cooperative) control.arrived += 4;
    return 0;
  };
  fake_cuda().on_kernel("vyre_entry_0", kernel);
  fake_cuda().on_kernel("vyre_entry_2", kernel);
  std::vector<Step> steps;
  for (int i = 0; i < 150; ++i) steps.emplace_back(launch(i % 3 == 0 ? kBarrier : kOne));
  for (int round = 0; round < 3; ++round) expect_runs(steps);
  EXPECT_EQ(launches, 450);
  EXPECT_EQ(dirty, 0);
}

TEST_F(CudaTest, SharedMemoryIsGivenToBlocks) {
  open();
  bind({Words(8)});
  regions_.push_back(Region{});
  expect_runs({launch(kShared)});
  EXPECT_EQ(fake_cuda().launches()[0].shared_bytes, kGpuSharedHeader + 80000);
}

TEST_F(CudaTest, LargeGridsAreSeveralLaunches) {
  open();
  bind({Words(1)});
  Launch x = launch(kOne, {2, 65536, 1});
  x.workgroup = {1, 1, 1};
  Launch y = x;
  y.grid = {1, 65536, 2};
  Launch z = x;
  z.grid = {1, 1, 200'000};
  const auto done = run({x, y, z});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->launches, 3u);
  std::map<uint64_t, uint64_t> groups;  // by control
  for (const cuda::FakeLaunch& part : fake_cuda().launches()) {
    const Parameters p(part);
    EXPECT_LE(part.grid[1], 65535u);
    EXPECT_LE(part.grid[2], 65535u);
    EXPECT_EQ(p.args.first[0], 0u);
    EXPECT_EQ(p.args.first[1] % 65535, 0u);
    EXPECT_LE(p.args.first[1] + part.grid[1], p.args.grid[1]);
    EXPECT_LE(p.args.first[2] + part.grid[2], p.args.grid[2]);
    groups[p.args.control] += uint64_t{part.grid[0]} * part.grid[1] * part.grid[2];
  }
  std::vector<uint64_t> counts;
  for (const auto& [control, count] : groups) counts.push_back(count);
  EXPECT_THAT(counts, testing::UnorderedElementsAre(2 * 65536, 2 * 65536, 200'000));
  EXPECT_EQ(fake_cuda().launches().size(), 2u + 2u + 4u);
}

TEST_F(CudaTest, BarriersInsideAreCooperative) {
  open();
  bind({Words(1)});
  expect_runs({launch(kBarrier, {2, 2, 2})});
  ASSERT_EQ(fake_cuda().launches().size(), 1u);
  EXPECT_TRUE(fake_cuda().launches()[0].cooperative);
  EXPECT_THAT(failure({launch(kBarrier, {9, 1, 1})}), HasSubstr("CooperativeResidencyExceeded"));
  Launch plain = launch(kOne, {9, 1, 1});
  EXPECT_EQ(failure({plain}), "");
  // Blocks that do not wait for each other need not be there at once.
  plain.cooperative = true;
  plain.blocks = 4;
  EXPECT_EQ(failure({plain}), "");
  EXPECT_FALSE(fake_cuda().launches().back().cooperative);
}

TEST_F(CudaTest, GridsComeFromMemory) {
  open();
  bind({{5, 2, 1, 0, 0, 0x8000'0000, 1, 1}});
  Launch x = launch(kOne);
  x.grid_from = word(0);
  EXPECT_EQ(run({x})->launches, 1u);
  EXPECT_THAT(fake_cuda().launches()[0].grid, ElementsAre(5, 2, 1));
  x.grid_from = word(2);  // 1, 0, 0
  EXPECT_EQ(run({x})->launches, 0u);
  x.grid_from = word(5);
  EXPECT_THAT(failure({x}), HasSubstr("LimitExceeded"));
  x = launch(kOne, {1, 0, 1});
  EXPECT_EQ(run({x})->launches, 0u);
  EXPECT_EQ(fake_cuda().launches().size(), 1u);
}

TEST_F(CudaTest, LaunchesThatDoNotFitAreRefused) {
  open();
  bind({Words(1024)});
  Region region = regions_[0];
  Launch x = launch(kOne);
  x.arguments = {&region, 1};
  const auto message = [&] { return failure({x}); };
  EXPECT_EQ(message(), "");
  region.bytes = 3;
  EXPECT_THAT(message(), HasSubstr("argument 0 of `kernel 0` is 3 bytes at 0 of handle 2, which "
                                   "has 4096 bytes; it wants elements of 4 bytes"));
  region = {regions_[0].buffer, 4, 4};
  EXPECT_THAT(message(), HasSubstr("at a multiple of 256"));
  region = {regions_[0].buffer, 4096, 4};
  EXPECT_THAT(message(), HasSubstr("argument 0"));
  region = {regions_[0].buffer, 256, 256};
  EXPECT_EQ(message(), "");
  x.arguments = {};
  EXPECT_THAT(message(), HasSubstr("0 arguments for 1 buffers of `kernel 0`"));
  x.entry = 9;
  EXPECT_THAT(message(), HasSubstr("a launch of entry 9 of handle 1, which there is not"));
  x = launch(kOne);
  x.workgroup = {1024, 2, 1};
  EXPECT_THAT(message(), HasSubstr("a workgroup of 2048 lanes"));
  EXPECT_FALSE(device_->is_lost());
}

// Code that is released while a launch of it runs stays until that is over.
TEST_F(CudaTest, ReleasedCodeLivesAsLongAsItsLaunches) {
  open();
  bind({Words(1)});
  std::atomic<bool> go = false;
  fake_cuda().on_kernel("vyre_entry_0", [&](const cuda::FakeLaunch&) {
    while (!go) std::this_thread::yield();
    return 0;
  });
  const Step step = launch(kOne);
  const auto ticket = device_->submit({.steps = {&step, 1}});
  ASSERT_TRUE(ticket);
  const uint64_t modules = fake_cuda().live().modules;
  code_ = {};
  EXPECT_EQ(fake_cuda().live().modules, modules);
  go = true;
  EXPECT_TRUE(device_->wait(*ticket));
  EXPECT_EQ(fake_cuda().live().modules, modules - 1);
}

}  // namespace
}  // namespace vyre::backend
