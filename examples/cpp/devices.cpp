// SPDX-License-Identifier: Apache-2.0
// Which devices there are, which one is the best, and what to do where there is none.
//
// Prints:
//   ...
//   reference ... oracle
//   ...
//   runs on ...
//   ... gives 42
#include <array>
#include <cstdint>
#include <cstdio>

#include <vyre/vyre.hpp>

#include "or_exit.hpp"

namespace {

constexpr const char* kAnswer =
    "program answer { workgroup 1; over 1; out o : u32[1]; o[0] = 6 * 7; }";

void list_devices() {
  for (const vyre::device::BackendDescriptor& row : vyre::registry().registered_backends()) {
    for (const vyre::DeviceFacts& facts : row.enumerate()) {
      std::printf("%-12s %-28s %s", facts.id.c_str(), facts.profile.name.c_str(),
                  name_of(row.kind).data());
      if (!facts.unusable.empty()) std::printf(" (unusable: %s)", facts.unusable.c_str());
      std::printf("\n");
    }
  }
}

vyre::Device choose() {
  // The best GPU, or else the CPU. An oracle is never taken by itself: it would be correct, and
  // slower than anybody expects.
  vyre::Selection selection;
  auto best = vyre::Device::open_preferred({.allow_cpu = true}, {}, &selection);
  if (best) {
    std::printf("%s", to_string(selection).c_str());
    return std::move(*best);
  }
  // Slow is fine here, so say so.
  std::printf("%s\nso the reference interpreter has to do\n", best.error().message.c_str());
  return or_exit(vyre::Device::open("reference"));
}

}  // namespace

int main() {
  list_devices();
  const vyre::Device device = choose();
  std::printf("runs on %s: %u invocations per workgroup, grid barriers %s\n",
              device.info().id.c_str(), device.info().capabilities.max_invocations_per_workgroup,
              device.info().capabilities.cooperative_grid_barrier ? "in one launch" : "cut");

  const auto compiled = or_exit(device.compile(or_exit(vyre::parse_checked(kAnswer))));
  const auto result = or_exit(compiled.pipeline.dispatch({}));
  std::printf("%s gives %u\n", compiled.pipeline.id().c_str(),
              vyre::to_vector<uint32_t>(result.outputs[0])[0]);
}
