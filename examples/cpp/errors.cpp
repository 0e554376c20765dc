// SPDX-License-Identifier: Apache-2.0
// What can go wrong and how it is told: every error is a value with a code, a message that ends
// with what to do, the place in the program and what was going on.
//
// Prints:
//   half.vyre:6:...: error[V033]...
//   ...
//   InvalidArgument (1008): ... Fix: ...
//   Trapped (1011): ...
//     at check.vyre:8:...
//   ...
//   trapped on line 8
//   StaleHandle (1013): ... Fix: ...
//   ...
//   after recover(): 1 2 3
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include <vyre/vyre.hpp>

#include "or_exit.hpp"

namespace {

// The condition of an `if` has to be a bool.
constexpr std::string_view kHalf = R"(program half {
  workgroup 1;
  inout a : u32[];

  region main {
    if a[gid.x] {
      a[gid.x] = a[gid.x] / 2;
    }
  }
}
)";

constexpr std::string_view kCheck = R"(program check {
  workgroup 1;
  over len(a);
  in  a : u32[];
  out b : u32[] @count(len(a));

  if a[gid.x] > 100 {
    trap(7, a[gid.x]);
  }
  b[gid.x] = a[gid.x];
}
)";

void show(const vyre::Error& error) {
  std::printf("%s\n", to_string(error).c_str());
}

}  // namespace

int main() {
  // A program that is not right: all of its mistakes, with the lines they are on.
  if (const auto wrong = vyre::parse_checked(kHalf, "half.vyre"); !wrong) {
    vyre::Diagnostics found;
    for (const vyre::Diagnostic& d : wrong.error().diagnostics)
      found.add(d.code, d.at, d.message, d.fix).notes = d.notes;
    std::printf("%s", render_text(found, {{"half.vyre", kHalf}}).c_str());
  }

  const vyre::Device device = or_exit(vyre::Device::open("cpu"));
  const auto compiled = or_exit(device.compile(or_exit(vyre::parse_checked(kCheck, "check.vyre"))));

  // A mistake of the caller: nothing has run, and the next call is as good as the first.
  if (const auto none = compiled.pipeline.dispatch({}); !none) show(none.error());

  // The program itself refuses its data. The place is that of the trap.
  const std::vector<uint32_t> bad = {1, 2, 300, 4};
  if (const auto trapped = compiled.pipeline.dispatch({bad}); !trapped) {
    show(trapped.error());
    if (trapped.error().code == vyre::ErrorCode::Trapped)
      std::printf("trapped on line %u\n", trapped.error().at.line);
  }

  // A device that was lost, or is made anew, forgets its buffers and pipelines.
  const std::vector<uint32_t> good = {1, 2, 3};
  const vyre::Buffer before = or_exit(device.upload(vyre::as_bytes(good)));
  or_exit(device.recover());
  if (const auto stale = device.read(before); !stale) show(stale.error());
  const auto anew = or_exit(device.compile(or_exit(vyre::parse_checked(kCheck, "check.vyre"))));
  const auto result = or_exit(anew.pipeline.dispatch({good}));
  const std::vector<uint32_t> b = vyre::to_vector<uint32_t>(result.outputs[0]);
  std::printf("after recover(): %u %u %u\n", b[0], b[1], b[2]);
}
