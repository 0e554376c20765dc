// SPDX-License-Identifier: Apache-2.0
// One program on many buffers, whose turn comes at random, with and without a wait.
#include <array>
#include <vector>

#include "gpu/soak.hpp"

namespace vyre::soak {
namespace {

constexpr uint32_t kBuffers = 16;
constexpr uint32_t kWords = 132 * 256;

struct Counted {
  Buffer buffer;
  Buffer copy;  // what the program found in it
  uint32_t times = 0;
};

void run_on_many(Soak& soak, std::string_view barrier, uint32_t times) {
  const Pipeline pipeline = compile(soak.device, fmt::format(R"(program count {{
  workgroup 256;
  inout d : u32[];
  out found : u32[] @count(len(d));
  let i = gid.x;
  let y = d[i];
{}  d[i] = y + 1;
  found[i] = y;
}}
)",
                                                             barrier));
  std::vector<Counted> all(kBuffers);
  for (uint32_t i = 0; i < kBuffers; ++i) {
    // Some share a length, and with it a form of the work; others do not.
    const Words zeros(kWords - 256 * (i % 3));
    all[i].buffer = must(soak.device.upload(as_bytes(zeros)), "upload");
    all[i].copy = must(soak.device.upload(as_bytes(zeros)), "upload");
  }
  std::vector<Pending> pending;
  for (uint32_t left = times; left != 0;) {
    const uint32_t row = std::min(left, 1 + soak.up_to(100));
    left -= row;
    const bool waits = soak.random() % 2 == 0;
    for (uint32_t i = 0; i < row; ++i) {
      Counted& one = all[soak.random() % kBuffers];
      ++one.times;
      const std::array<Argument, 1> inputs = {one.buffer};
      const std::array<const Buffer*, 2> outputs = {nullptr, &one.copy};
      const Arguments arguments{.inputs = inputs, .outputs = outputs};
      if (waits)
        must(pipeline.dispatch(arguments), "a dispatch on buffers");
      else
        pending.push_back(must(pipeline.dispatch_async(arguments), "a dispatch without a wait"));
    }
    // Some are waited for, the others are dropped.
    for (Pending& p : pending)
      if (soak.random() % 2 == 0) must(p.wait(), "waiting for a dispatch");
    pending.clear();
  }
  for (const Counted& one : all) {
    const Words now = to_vector<uint32_t>(must(soak.device.read(one.buffer), "read"));
    const Words before = to_vector<uint32_t>(must(soak.device.read(one.copy), "read"));
    hold(now == Words(now.size(), one.times),
         "a buffer was not counted up as often as it was given");
    hold(one.times == 0 || before == Words(before.size(), one.times - 1),
         "what a dispatch found is not what the one before it left");
  }
}

}  // namespace

void check_other_buffers(Soak& soak) {
  const uint32_t times = soak.times(20'000, 60);
  for (const std::string_view barrier : {"", "  barrier grid;\n"})
    run_on_many(soak, barrier, times);
  soak.note = fmt::format("{} dispatches with and without a barrier", times);
}

}  // namespace vyre::soak
