// SPDX-License-Identifier: Apache-2.0
// A program made with the C++ builder: the same Program that a text would give, so it can be
// printed, compared and compiled like one.
//
// Prints:
//   program scale {
//     workgroup 256;
//   ...
//   }
//   b: 2.5 5.0 7.5
//   `b` is already declared
#include <cstdio>
#include <vector>

#include <vyre/vyre.hpp>

#include "or_exit.hpp"

namespace {

using namespace vyre;

Result<Program> scale() {
  ProgramBuilder p("scale");
  p.workgroup(256);
  auto a = p.in<f32>("a");
  auto b = p.out<f32>("b", count(len(a)));
  auto i = let("i", gid.x);
  if_(i < len(b), [&] { b[i] = a[i] * 2.5f; });
  return p.finish();  // the program, or every mistake with its C++ line
}

// A mistake in the C++ does not crash: finish() tells of all of them.
Result<Program> wrong() {
  ProgramBuilder p("wrong");
  p.workgroup(1);
  auto b = p.out<u32>("b", elements(1));
  auto again = p.out<u32>("b", elements(1));
  b[0] = 1u;
  again[0] = 2u;
  return p.finish();
}

}  // namespace

int main() {
  const Program program = or_exit(scale());
  std::printf("%s", print(program).c_str());

  const Device device = or_exit(Device::open("cpu"));
  const CompileResult compiled = or_exit(device.compile(program));
  const std::vector<float> a = {1, 2, 3};
  const DispatchResult result = or_exit(compiled.pipeline.dispatch({a}));
  const std::vector<float> b = to_vector<float>(result.outputs[0]);
  std::printf("b:");
  for (const float value : b) std::printf(" %.1f", static_cast<double>(value));
  std::printf("\n");

  Result<Program> mistaken = wrong();
  Result<CheckedProgram> checked =
      mistaken ? check_valid(std::move(*mistaken)) : std::unexpected(mistaken.error());
  if (checked) return 1;
  for (const Diagnostic& found : checked.error().diagnostics)
    std::printf("%s\n", found.message.c_str());
}
