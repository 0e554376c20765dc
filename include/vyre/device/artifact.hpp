// SPDX-License-Identifier: Apache-2.0
// Compiled code on its way to a device: one module with several entries. An entry is plain data, so
// that the cache keeps it beside the code and a backend knows nothing of programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vyre/base/digest.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/capabilities.hpp"

namespace vyre::device {

struct KernelStop;          // device/kernel.hpp
struct InterpretedProgram;  // vyre/device/interpreted.hpp

// A buffer that an entry takes as an argument.
struct EntryBinding {
  std::string name = {};
  uint32_t element_bytes = 4;       // a power of two
  std::optional<uint32_t> count{};  // elements that the code relies on; none: any number
  bool written = false;             // by the code
  // Memory of a workgroup. It starts as zeros unless it is restored; the argument is where
  // workgroups keep it between launches.
  bool shared = false;
  bool restore = false;
  bool save = false;  // when all lanes of the workgroup are done
  friend bool operator==(const EntryBinding&, const EntryBinding&) = default;
};

// One kernel: all that a backend needs to launch it.
struct Entry {
  std::string name = {};                    // "bfs, segment 2"
  std::vector<EntryBinding> bindings = {};  // by argument
  std::vector<std::string> regions = {};    // for traces
  Axes workgroup = {1, 1, 1};               // lanes
  bool barriers_inside = false;             // over the grid: all workgroups have to run at once
  // A source as it is, with the grid barriers, fixpoints, resumes and collectives that it may have.
  // It has no plan: what stops it is the error of its submission.
  bool whole = false;
  // A lane may end at a trap, also in a submission that is not checked.
  bool can_trap = false;
  // Code for a GPU: a thread runs this many consecutive lanes along x. With more than one, a block
  // runs lanes of several workgroups, which have no axes but x; otherwise a block is a workgroup.
  uint32_t lanes_per_thread = 1;
  uint32_t threads = 1;       // of a block
  uint64_t shared_bytes = 0;  // dynamic shared memory of a block
  // False: the code of this entry is empty, because it cannot run with its barriers inside. The
  // device reports a residency of no workgroup, and the driver chooses another route.
  bool launchable = true;
  friend bool operator==(const Entry&, const Entry&) = default;
};

// What a stop in an entry means, with its position in the source.
using StopExplainer = std::function<Error(uint32_t entry, const KernelStop& stop)>;

struct Artifact {
  Format format = Format::Program;
  std::vector<std::byte> code = {};
  std::vector<Entry> entries = {};
  Digest key = {};
  // Format::Program, by entry: what an interpreter runs. It stays in this process.
  std::vector<std::shared_ptr<const InterpretedProgram>> programs = {};
  // Compiled code: the backend knows no positions of sources and calls this. May be empty; may be
  // called as long as the code is loaded.
  StopExplainer explain = {};
};

}  // namespace vyre::device
