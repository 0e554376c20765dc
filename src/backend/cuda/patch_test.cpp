// SPDX-License-Identifier: Apache-2.0
// Graphs that are given other buffers.
#include <chrono>

#include "backend/cuda/graph_test.hpp"

namespace vyre::backend {
namespace {

using namespace device;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class CudaPatch : public CudaGraph {
 protected:
  Launch launch_on(const Region& region, uint32_t kernel = kOne) {
    arguments_ = region;
    Launch one = launch(kernel);
    one.arguments = {&arguments_, 1};
    return one;
  }
  static size_t patches() {
    return calls("cuGraphExecKernelNodeSetParams_v2") + calls("cuGraphExecMemsetNodeSetParams") +
           calls("cuGraphExecMemcpyNodeSetParams");
  }
  // A graph of a launch on the first buffer.
  void make_graph(uint32_t kernel = kOne) {
    for (uint64_t key : {1, 2}) ASSERT_TRUE(replay({launch_on(buffers_[0].whole(), kernel)}, key));
    ASSERT_EQ(fake_cuda().live().graphs, 1u);
    fake_cuda().clear_record();
  }
  Region arguments_;
};

// Every kind of step, on buffers and lengths that change each time.
TEST_F(CudaPatch, OneGraphDoesWhatComes) {
  open();
  bind({{1, 2, 3, 4}, {0, 0, 0, 0, 0}, {1, 2, 3, 4, 5, 6}, {0, 0, 0, 0}, {9}});
  count_up();
  Words in(2);
  Words out(1);
  const auto steps = [&](size_t from, size_t to, uint32_t value) -> std::vector<Step> {
    in = {value, value + 1};
    return {to_device(*buffers_[from].region(8, 8), in.data()),
            Fill{.to = *buffers_[from].region(0, 4), .value = static_cast<std::byte>(value)},
            launch_on(buffers_[from].whole()),
            SetWord{.to = word(from, from), .value = value},
            Copy{.to = *buffers_[to].region(4, 12), .from = *buffers_[from].region(4, 12)},
            Fill{.to = buffers_[4].whole()},
            Compare{.a = *buffers_[to].region(8, 4),
                    .b = *buffers_[from].region(8, 4),
                    .differs = word(0, 4)},
            to_host(*buffers_[to].region(8, 4), out.data())};
  };
  const auto expect = [&](size_t from, size_t to, uint32_t value) {
    SCOPED_TRACE(value);
    const Words before = read(from);
    const auto done = replay(steps(from, to, value), value);
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_EQ(done->launches, 1u);
    Words after = before;
    after[0] = value * 0x0101'0101;
    after[2] = value;
    after[3] = value + 1;
    for (uint32_t& x : after) ++x;
    after[from] = value;
    EXPECT_EQ(read(from), after);
    EXPECT_THAT(out, ElementsAre(after[2]));
    EXPECT_EQ(read(to)[1], after[1]);
    EXPECT_EQ(read(to)[3], after[3]);
    EXPECT_EQ(read(4)[0], 0u);
  };
  expect(0, 1, 10);
  expect(0, 1, 11);
  fake_cuda().clear_record();
  expect(2, 3, 12);
  EXPECT_EQ(calls("cuGraphExecKernelNodeSetParams_v2"), 2u);  // the comparison is one
  EXPECT_EQ(calls("cuGraphExecMemsetNodeSetParams"), 2u);
  EXPECT_EQ(calls("cuGraphExecMemcpyNodeSetParams"), 3u);
  expect(0, 3, 13);
  expect(2, 1, 14);
  EXPECT_EQ(calls("cuStreamBeginCapture_v2"), 0u);
  EXPECT_EQ(calls("cuLaunchKernel"), 0u);
  EXPECT_EQ(launched_graphs(), 3u);
  EXPECT_EQ(fake_cuda().live().graphs, 1u);
}

TEST_F(CudaPatch, WhatIsTheSameIsLeftAlone) {
  open();
  bind({{1}, {2}});
  count_up();
  make_graph();
  ASSERT_TRUE(replay({launch_on(buffers_[0].whole())}, 3));
  EXPECT_EQ(patches(), 0u);
  ASSERT_TRUE(replay({launch_on(buffers_[1].whole())}, 4));
  EXPECT_EQ(patches(), 1u);
  ASSERT_TRUE(replay({launch_on(buffers_[1].whole())}, 5));
  EXPECT_EQ(patches(), 1u);
  EXPECT_THAT(read(0), ElementsAre(4));
  EXPECT_THAT(read(1), ElementsAre(4));
  // Another grid is other work.
  Launch wide = launch_on(buffers_[1].whole());
  wide.grid = {2, 1, 1};
  ASSERT_TRUE(replay({wide}, 6));
  EXPECT_EQ(launched_graphs(), 3u);
}

// Each has a graph in the end, and nothing is patched any more.
TEST_F(CudaPatch, BuffersThatAlternateHaveAGraphEach) {
  open();
  bind({{0}, {0}, {0}, {0}, {0}, {0}});
  count_up();
  uint64_t key = 0;
  for (int round = 0; round < 4; ++round) {
    if (round == 3) fake_cuda().clear_record();
    for (const size_t i : {0, 1}) ASSERT_TRUE(replay({launch_on(buffers_[i].whole())}, ++key));
  }
  EXPECT_EQ(patches(), 0u);
  EXPECT_EQ(launched_graphs(), 2u);
  EXPECT_EQ(fake_cuda().live().graphs, 2u);
  // More than a few share what there is.
  for (int round = 0; round < 4; ++round)
    for (size_t i = 0; i < 6; ++i) ASSERT_TRUE(replay({launch_on(buffers_[i].whole())}, ++key));
  EXPECT_EQ(fake_cuda().live().graphs, 4u);
  for (size_t i = 0; i < 6; ++i) EXPECT_THAT(read(i), ElementsAre(i < 2 ? 8 : 4));
}

// Work that the host looks at has no mark at its end, so it is another graph.
TEST_F(CudaPatch, PinnedMemoryIsAnotherGraph) {
  open();
  bind({{1}});
  count_up();
  make_graph();
  const Buffer pinned = *device_->allocate(4, Memory::Staging);
  Words value = {5};
  const Transfer up = to_device(pinned.whole(), value.data());
  ASSERT_TRUE(device_->transfer({&up, 1}));
  for (uint64_t key = 10; key < 14; ++key) ASSERT_TRUE(replay({launch_on(pinned.whole())}, key));
  const Transfer down = to_host(pinned.whole(), value.data());
  ASSERT_TRUE(device_->transfer({&down, 1}));
  EXPECT_THAT(value, ElementsAre(9));
  EXPECT_THAT(read(0), ElementsAre(3));
  EXPECT_EQ(calls("cuMemsetD32Async"), 0u);
  EXPECT_GE(launched_graphs(), 1u);
}

TEST_F(CudaPatch, BlocksAreCountedFromZero) {
  open();
  bind({{0}, {0}});
  std::atomic<uint32_t> began_at = 0;
  fake_cuda().on_kernel("vyre_entry_2", [&](const cuda::FakeLaunch& x) {
    began_at += Parameters(x).control().arrived;
    Parameters(x).control().arrived = 4;
    ++Parameters(x).words(0)[0];
    return 0;
  });
  make_graph(kBarrier);
  for (uint64_t key = 3; key < 9; ++key)
    ASSERT_TRUE(replay({launch_on(buffers_[key % 2].whole(), kBarrier)}, key));
  EXPECT_EQ(began_at, 0u);
  EXPECT_THAT(read(0), ElementsAre(5));
  EXPECT_THAT(read(1), ElementsAre(3));
}

// What cannot be patched is given to the stream, which tells what is wrong with it.
TEST_F(CudaPatch, ErrorsAreReportedAsWithoutAGraph) {
  open();
  bind({{0}, {0}, {0}});
  count_up();
  make_graph();
  Region outside = buffers_[1].whole();
  outside.bytes = 8;
  uint32_t failed_step = 9;
  EXPECT_THAT(failure({launch_on(outside)}, {.replay_key = 3, .failed_step = &failed_step}),
              HasSubstr("8 bytes"));
  EXPECT_EQ(failed_step, 0u);
  EXPECT_EQ(launched_graphs(), 0u);
  make_graph();
  fake_cuda().fail("cuGraphExecKernelNodeSetParams_v2", 0, 701);
  ASSERT_TRUE(replay({launch_on(buffers_[1].whole())}, 5));
  EXPECT_THAT(read(1), ElementsAre(1));
  EXPECT_EQ(launched_graphs(), 0u);
  EXPECT_EQ(fake_cuda().live().graphs, 0u);
  fake_cuda().fail("cuGraphExecKernelNodeSetParams_v2", 0, 700);
  make_graph();
  const auto lost = replay({launch_on(buffers_[2].whole())}, 6);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::DeviceLost);
}

TEST_F(CudaPatch, APatchedGraphIsStoppedLikeAnyOther) {
  open();
  bind({{0}, {0}});
  go_ = true;
  endless(kOne);
  make_graph();
  go_ = false;
  EXPECT_THAT(
      failure({launch_on(buffers_[1].whole())}, {.replay_key = 3, .deadline = Clock::now() + 20ms}),
      HasSubstr("kernel 0 in a loop site 3"));
  EXPECT_EQ(launched_graphs(), 1u);
  const std::atomic<bool> cancelled = true;
  EXPECT_THAT(failure({launch_on(buffers_[0].whole())}, {.replay_key = 4, .cancel = &cancelled}),
              HasSubstr("cancel"));
  go_ = true;
  for (uint64_t key = 5; key < 8; ++key)
    EXPECT_TRUE(replay({launch_on(buffers_[key % 2].whole())}, key));
}

// While it is under way it is not touched.
TEST_F(CudaPatch, AGraphThatIsUnderWayIsNotPatched) {
  open();
  bind({{0}, {0}});
  go_ = true;
  endless(kOne);
  make_graph();
  go_ = false;
  const auto first = submit({launch_on(buffers_[0].whole())}, 2);
  ASSERT_TRUE(first);
  const auto second = submit({launch_on(buffers_[1].whole())}, 3);
  ASSERT_TRUE(second);
  EXPECT_EQ(patches(), 0u);
  EXPECT_EQ(launched_graphs(), 1u);
  go_ = true;
  EXPECT_TRUE(device_->wait(*second));
  EXPECT_TRUE(device_->wait(*first));
}

}  // namespace
}  // namespace vyre::backend
