// SPDX-License-Identifier: Apache-2.0
// Data that stays on the device: uploaded once, smoothed a hundred times from one buffer to the
// other and back without a return to the host, and then only a part of it is read.
//
// Prints:
//   100 launches in 1 submission
//   in the middle: ...
//   the same as plain C++: yes
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <vyre/vyre.hpp>

#include "or_exit.hpp"

namespace {

constexpr const char* kSmooth = R"(program smooth {
  workgroup 64;
  in  a : u32[];
  out b : u32[] @count(len(a));

  let i = gid.x;
  if i >= len(a) {
    return;
  }
  let left = select(i > 0, i - 1, i);
  let right = min(i + 1, len(a) - 1);
  b[i] = (a[left] + 2 * a[i] + a[right]) / 4;
}
)";

std::vector<uint32_t> smooth(const std::vector<uint32_t>& a) {
  std::vector<uint32_t> b(a.size());
  for (size_t i = 0; i < a.size(); ++i)
    b[i] = (a[i == 0 ? 0 : i - 1] + 2 * a[i] + a[i + 1 == a.size() ? i : i + 1]) / 4;
  return b;
}

}  // namespace

int main() {
  const vyre::Device device = or_exit(vyre::Device::open("cpu"));
  const vyre::Pipeline pipeline =
      or_exit(device.compile(or_exit(vyre::parse_checked(kSmooth, "smooth.vyre")))).pipeline;

  std::vector<uint32_t> values(256);
  values[128] = 1'000'000;
  const vyre::Buffer here = or_exit(device.upload(vyre::as_bytes(values)));
  const vyre::Buffer there = or_exit(device.allocate(here.bytes()));

  // Two steps, there and back, fifty times.
  const std::array<vyre::Argument, 1> from_here = {here};
  const std::array<vyre::Argument, 1> from_there = {there};
  const std::array<const vyre::Buffer*, 1> to_here = {&here};
  const std::array<const vyre::Buffer*, 1> to_there = {&there};
  const std::array<vyre::SequenceItem, 2> items = {{
      {.pipeline = pipeline, .arguments = {.inputs = from_here, .outputs = to_there}},
      {.pipeline = pipeline, .arguments = {.inputs = from_there, .outputs = to_here}},
  }};
  const std::array<vyre::ReadRange, 1> middle = {{{.buffer = &here, .offset = 504, .bytes = 20}}};
  std::vector<std::vector<std::byte>> read;
  const vyre::SequenceReport report =
      or_exit(device.run_sequence({.repeated = items, .repeats = 50, .ranges = middle}, &read));
  std::printf("%zu launches in %zu submission%s\n", size_t{report.launches},
              size_t{report.submissions}, report.submissions == 1 ? "" : "s");

  std::printf("in the middle:");
  for (const uint32_t value : vyre::to_vector<uint32_t>(read[0])) std::printf(" %u", value);
  std::printf("\n");

  for (int n = 0; n < 100; ++n) values = smooth(values);
  const bool same = vyre::to_vector<uint32_t>(or_exit(device.read(here))) == values;
  std::printf("the same as plain C++: %s\n", same ? "yes" : "no");
  return same ? 0 : 1;
}
