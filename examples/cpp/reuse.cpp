// SPDX-License-Identifier: Apache-2.0
// Compile once, dispatch many times: results go into the same output slots, whose memory is kept,
// so a loop of dispatches stops allocating.
//
// Prints:
//   1000 dispatches, the last gives 1000 2000 3000
//   the slot stayed where it was: yes
//   slots reused: 999
//   compiled again: yes, from the cache
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

#include <vyre/vyre.hpp>

#include "or_exit.hpp"

namespace {

constexpr const char* kScale = R"(program scale {
  workgroup 64;
  uniform factor : u32[1];
  in      a      : u32[];
  out     b      : u32[] @count(len(a));

  let i = gid.x;
  if i < len(b) {
    b[i] = a[i] * factor[0];
  }
}
)";

}  // namespace

int main() {
  const vyre::Device device = or_exit(vyre::Device::open("cpu"));
  // Shared, so that compiling it twice copies nothing.
  const auto program = std::make_shared<const vyre::CheckedProgram>(
      or_exit(vyre::parse_checked(kScale, "scale.vyre")));
  const vyre::Pipeline pipeline = or_exit(device.compile(program)).pipeline;

  const std::vector<uint32_t> a = {1, 2, 3};
  vyre::Outputs slots;
  const std::byte* first = nullptr;
  for (uint32_t n = 1; n <= 1000; ++n) {
    const std::array<uint32_t, 1> factor = {n};
    const std::array<vyre::Argument, 2> inputs = {factor, a};
    or_exit(pipeline.dispatch_into({.inputs = inputs}, slots));
    if (n == 1) first = slots[0].data();
  }

  const std::vector<uint32_t> b = vyre::to_vector<uint32_t>(slots[0]);
  const vyre::TelemetrySnapshot counted = device.telemetry();
  std::printf("%zu dispatches, the last gives %u %u %u\n", size_t{counted.dispatches}, b[0], b[1],
              b[2]);
  std::printf("the slot stayed where it was: %s\n", slots[0].data() == first ? "yes" : "no");
  std::printf("slots reused: %zu\n", size_t{counted.output_slots_reused});

  const vyre::CompileResult again = or_exit(device.compile(program));
  std::printf("compiled again: %s, from the cache\n", name_of(again.cache_hit).data());
}
