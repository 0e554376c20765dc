// SPDX-License-Identifier: Apache-2.0
// A `null` device whose launches are run by the interpreter, so that every route gives real bytes
// and every call can be made to fail; and a few programs for it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "vyre/backend/null.hpp"
#include "vyre/run/device.hpp"

namespace vyre::driver_test {

using Bytes = std::vector<std::byte>;
using Words = std::vector<uint32_t>;
using Program = std::shared_ptr<const check::CheckedProgram>;

// Compiled by the first use, never freed.
struct Programs {
  Program scale;     // b[i] = a[i] * k[0]
  Program add;       // c[i] = a[i] + b[i]
  Program split;     // d: two barriers in a row over an inout; nobody decides anything
  Program loop;      // a barrier in a loop whose trip count a buffer has
  Program settle;    // a fixpoint in the program
  Program saturate;  // for fixpoint_iterations: one step up to 3, by two segments
  Program keep;      // a persistent buffer counts the dispatches
  Program resumed;   // a trap that is resumed
};
const Programs& programs();

// Any program of the text form. Stops the test program if it is wrong.
Program program_of(std::string_view text);

// What stands for a kernel.
Result<void> interpret(const backend::NullLaunch& launch);

struct WorldOptions {
  bool barriers = true;  // over the grid
  bool resident = true;  // buffers
  bool loops = true;     // on the device
  bool indirect = true;
  uint64_t blocks = ~uint64_t{0};  // workgroups at once
  bool record = true;
  run::DeviceOptions device = {.cache_directory = {}};
};

struct World {
  explicit World(const WorldOptions& options = {});
  std::shared_ptr<backend::NullBackend> backend;
  run::Device device;
};

Bytes bytes_of(std::span<const uint32_t> words);
// The words 1, 2, 3 and so on, at most 1024.
std::span<const uint32_t> count_to(uint32_t n);

}  // namespace vyre::driver_test
