// SPDX-License-Identifier: Apache-2.0
// What tests of graphs share.
#pragma once

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "backend/cuda/fake_test.hpp"

namespace vyre::backend {

class CudaGraph : public CudaTest {
 protected:
  static size_t calls(const std::string& name) {
    return static_cast<size_t>(std::ranges::count(fake_cuda().record(), name));
  }
  static size_t launched_graphs() { return calls("cuGraphLaunch"); }
  Result<device::Completion> replay(const std::vector<device::Step>& steps, uint64_t key = 7,
                                    device::Submission submission = {}) {
    submission.replay_key = key;
    return run(steps, submission);
  }
  Result<device::Ticket> submit(const std::vector<device::Step>& steps, uint64_t key) {
    return device_->submit({.steps = steps, .replay_key = key});
  }
  // Adds one to each word of its argument.
  static void count_up(uint32_t kernel = kOne) {
    fake_cuda().on_kernel(fmt::format("vyre_entry_{}", kernel), [](const cuda::FakeLaunch& x) {
      const Parameters p(x);
      for (uint64_t i = 0; i < p.bindings[0].length; ++i) ++p.words(0)[i];
      return 0;
    });
  }
  void expect_three_runs(const std::vector<device::Step>& steps, uint64_t graphs) {
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(replay(steps));
    EXPECT_EQ(launched_graphs(), graphs);
  }

  std::atomic<int> running_ = 0;
  std::atomic<bool> go_ = false;

  void endless(uint32_t kernel) {
    fake_cuda().on_kernel(fmt::format("vyre_entry_{}", kernel), [this](const cuda::FakeLaunch& x) {
      const Parameters p(x);
      ++running_;
      while (!p.cancelled() && !go_) std::this_thread::yield();
      if (p.cancelled())
        p.control().stop = {.kind = device::KernelStop::Kind::Loop, .site = 3, .lane = 5};
      return 0;
    });
  }
};

}  // namespace vyre::backend
