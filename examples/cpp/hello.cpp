// SPDX-License-Identifier: Apache-2.0
// The shortest way to run a program: open a device, compile, dispatch on bytes of the host.
//
// Prints:
//   2 4 6 8 10
#include <cstdint>
#include <cstdio>
#include <vector>

#include <vyre/vyre.hpp>

namespace {

constexpr const char* kTwice = R"(program twice {
  workgroup 64;
  in  a : u32[];
  out b : u32[] @count(len(a));

  let i = gid.x;
  if i < len(b) {
    b[i] = a[i] * 2;
  }
}
)";

vyre::Result<std::vector<uint32_t>> twice(const std::vector<uint32_t>& a) {
  // There on every machine. open_preferred() would take a GPU first.
  auto device = vyre::Device::open("cpu");
  if (!device) return std::unexpected(device.error());

  auto program = vyre::parse_checked(kTwice, "twice.vyre");
  if (!program) return std::unexpected(program.error());

  auto compiled = device->compile(std::move(*program));
  if (!compiled) return std::unexpected(compiled.error());

  // Inputs in the order of their declarations; outputs likewise.
  auto result = compiled->pipeline.dispatch({a});
  if (!result) return std::unexpected(result.error());
  return vyre::to_vector<uint32_t>(result->outputs[0]);
}

}  // namespace

int main() {
  const auto doubled = twice({1, 2, 3, 4, 5});
  if (!doubled) {
    std::fprintf(stderr, "%s\n", to_string(doubled.error()).c_str());
    return exit_code_of(doubled.error().code);
  }
  for (size_t i = 0; i < doubled->size(); ++i)
    std::printf("%s%u", i == 0 ? "" : " ", (*doubled)[i]);
  std::printf("\n");
}
