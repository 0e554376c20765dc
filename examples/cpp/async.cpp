// SPDX-License-Identifier: Apache-2.0
// Dispatches that run while the caller does something else: several at once, one that is given up
// after a while, one that is cancelled.
//
// Prints:
//   sums: 45 4950 499500
//   with a timeout of 20 ms: Timeout
//   not done after 10 ms: Timeout
//   cancelled: Timeout
//   the device still works: 45
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <vyre/vyre.hpp>

#include "or_exit.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* kSum = R"(program sum {
  workgroup 1;
  in  n : u32[1];
  out s : u32[1];

  var sum = 0;
  for i in 0 .. n[0] {
    sum += i;
  }
  s[0] = sum;
}
)";

// The bytes are copied by the call, so `n` may go.
vyre::Pending start(const vyre::Pipeline& pipeline, uint32_t n,
                    const vyre::DispatchConfig& config = {}) {
  const std::array<uint32_t, 1> bound = {n};
  const std::array<vyre::Argument, 1> inputs = {bound};
  return or_exit(pipeline.dispatch_async({.inputs = inputs}, config));
}

uint32_t sum_of(const vyre::DispatchResult& result) {
  return vyre::to_vector<uint32_t>(result.outputs[0])[0];
}

const char* outcome(const vyre::Result<vyre::DispatchResult>& result) {
  return result ? "done" : name_of(result.error().code).data();
}

}  // namespace

int main() {
  const vyre::Device device = or_exit(vyre::Device::open("cpu"));
  const vyre::Pipeline pipeline =
      or_exit(device.compile(or_exit(vyre::parse_checked(kSum, "sum.vyre")))).pipeline;

  // Work of one queue runs in order; queues do not wait for each other.
  std::vector<vyre::Pending> running;
  for (const uint32_t n : {10U, 100U, 1000U})
    running.push_back(start(pipeline, n, {.queue = static_cast<uint32_t>(running.size())}));
  std::printf("sums:");
  for (vyre::Pending& pending : running) std::printf(" %u", sum_of(or_exit(pending.wait())));
  std::printf("\n");

  // An hour of work. The timeout is for the whole call, so it need not be watched.
  constexpr uint32_t kFar = ~uint32_t{0};
  vyre::Pending limited = start(pipeline, kFar, {.timeout = 20ms});
  std::printf("with a timeout of 20 ms: %s\n", outcome(limited.wait()));

  // A deadline of wait() leaves the dispatch as it is; cancel() ends it.
  vyre::Pending endless = start(pipeline, kFar);
  std::printf("not done after 10 ms: %s\n",
              outcome(endless.wait(std::chrono::steady_clock::now() + 10ms)));
  endless.cancel();
  std::printf("cancelled: %s\n", outcome(endless.wait()));

  vyre::Pending last = start(pipeline, 10);
  std::printf("the device still works: %u\n", sum_of(or_exit(last.wait())));
}
