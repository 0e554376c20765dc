#include <cstdio>

#include <vyre/vyre.hpp>
int main() {
  // Compiled code needs more of the library than the interpreter.
  auto device = vyre::Device::open("cpu");
  if (!device) device = vyre::Device::open("reference");
  const auto compiled = device->compile(
      *vyre::parse_checked("program p { workgroup 1; over 1; out o : u32[1]; o[0] = 42; }"));
  const auto result = compiled->pipeline.dispatch({});
  std::printf("vyre %s: %u\n", vyre::kVersion.data(),
              vyre::to_vector<unsigned>(result->outputs[0])[0]);
}
