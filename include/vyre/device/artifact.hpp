// SPDX-License-Identifier: Apache-2.0
// Compiled code on its way to a device: one module with many entries. The bytes are all that a
// cache has to keep; what people read about (names, positions) is added anew from the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "vyre/base/digest.hpp"
#include "vyre/base/result.hpp"
#include "vyre/check/check.hpp"
#include "vyre/device/capabilities.hpp"

namespace vyre::device {

// Shared memory of a workgroup at the edges of a launch. What is not restored starts as zeros.
struct SharedEdge {
  ir::BufferId buffer;
  bool restore = false;
  bool save = false;  // when all lanes of the workgroup are done
};

struct KernelStop;

// One kernel.
struct Entry {
  std::string name;  // "bfs, segment 2"
  uint32_t arguments = 0;
  std::vector<SharedEdge> shared = {};
  bool barriers_inside = false;  // over the grid: all workgroups have to run at once
  std::vector<std::string> regions = {};

  // Format::Program: the program itself, as it was checked. It is not code: it stays in this
  // process and is shared with the plan it comes from.
  std::shared_ptr<const check::CheckedProgram> program = {};
  ir::LocalId live = {};  // valid: false in lanes that only walk along to barriers
  // A source as it is, with the grid barriers, fixpoints, resumes and collectives that it may have.
  // No plan looks after it: what stops it is the error of its submission.
  bool whole = false;
  // By argument, may be empty: lanes that store to one element have to store the same value. A
  // device may hold the program to it.
  std::vector<bool> agreed = {};
  // Code for a GPU: a thread runs so many consecutive lanes along x. With more than one, a block
  // has `block_threads` of them and runs lanes of several workgroups, which have no axes but x;
  // otherwise a block is a workgroup.
  uint32_t lanes_per_thread = 1;
  uint32_t block_threads = 0;
  // Compiled code: what a stop means, with its place in the source. May be empty.
  std::function<Error(const KernelStop& stop)> explain = {};
};

struct Artifact {
  Format format = Format::Program;
  std::vector<std::byte> code = {};
  std::vector<Entry> entries = {};
  Digest key = {};
};

}  // namespace vyre::device
