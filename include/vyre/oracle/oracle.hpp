// SPDX-License-Identifier: Apache-2.0
// The reference interpreter: the meaning of programs as something that runs. Every lane is a
// suspended computation of its own; barriers wait, a fixpoint compares, a trapped lane sleeps until
// its resume. Nothing is transformed, so what a backend computes can be held against it.
//
// It runs on one core and is slow. It also finds what a fast backend cannot: data races, the first
// access out of bounds, and results that depend on the order of lanes.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/check/check.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/ir/host.hpp"

namespace vyre::oracle {

// The order in which lanes take their steps between barriers. A race-free program whose atomics do
// not depend on order gives the same bytes under all of them.
enum class Schedule : uint8_t {
  Forward,   // one lane after the other, each as far as it gets
  Reversed,  // the same from the last lane of the last workgroup to the first
  Random,    // a lane chosen anew for each statement, by `seed`
};
std::string_view name_of(Schedule schedule);

using vyre::FixpointReport;
using vyre::HandlerBuffers;
using vyre::TrapReport;

// What ends a dispatch when a trap is not resumed, and when a fixpoint has at most 0 passes.
Error trapped_error(const TrapReport& report);
Error zero_passes_error(uint32_t lane, Position at);
// What ends it where an assert() fails.
Error assertion_error(uint32_t lane, std::string_view text, Position at);
// What ends it in checked mode. The index as text: it may be a number of any integer type.
Error out_of_bounds_error(uint32_t lane, std::string_view memory, std::string_view index,
                          uint64_t count, Position at);

struct Progress {
  uint64_t statements = 0;       // executed so far, over all lanes
  uint64_t phase = 0;            // grid barriers executed so far
  uint64_t workgroups_done = 0;  // in this phase
  uint64_t workgroups = 0;
};

struct Options {
  Schedule schedule = Schedule::Forward;
  uint64_t seed = 0;            // of Schedule::Random
  uint32_t subgroup_size = 32;  // 1, 4, 8, 16 or 32
  bool checked = false;         // an access out of bounds is an error
  bool races = false;           // detect data races; slower
  uint32_t iterations = 1;  // repeat the whole program until nothing changes, at most this often
  std::optional<check::Axes> grid = {};
  std::optional<check::Axes> workgroup = {};
  std::chrono::nanoseconds timeout{0};        // 0: none
  uint64_t memory_limit = uint64_t{4} << 30;  // for buffers and the state of lanes
  uint64_t max_races = 100;                   // different ones listed; the rest is counted
  const std::atomic<bool>* cancel = nullptr;  // set by the caller: stop soon
  std::function<void(const Progress&)> on_progress = {};  // now and then
  TrapHandler on_resume = {};
  // Where print() writes its lines, also of a dispatch that fails; nothing: it does nothing.
  PrintReport* printed = nullptr;
  uint64_t print_bytes = uint64_t{1} << 20;  // memory for them, as plans count it
};

// Two accesses to one element that nothing orders, at least one of them a write, not both atomic.
struct Race {
  enum class Access : uint8_t { Read, Write, AtomicRead, AtomicWrite, CopyRead, CopyWrite };
  struct Side {
    Access access = Access::Read;
    uint32_t lane = 0;  // global lane id; for copies one lane of the workgroup
    Position at;
  };
  std::string memory;  // name of the buffer
  bool shared = false;
  uint64_t element = 0;
  Side first, second;  // in the order of this run
  uint64_t times = 1;  // how often this pair of places raced
};
std::string_view name_of(Race::Access access);
// One line: what, where, by whom.
std::string to_string(const Race& race);

struct Outcome {
  std::vector<std::vector<std::byte>> buffers;  // final contents by BufferId; empty for shared ones
  std::vector<TrapReport> resumed;              // reports of traps that were resumed
  std::vector<Race> races;
  uint64_t races_not_listed = 0;
  uint32_t iterations = 0;                // passes over the whole program
  bool converged = false;                 // the last of several passes changed nothing
  std::vector<FixpointReport> fixpoints;  // the last ones that ended, at most 1024, in order
  check::Launch launch;
  uint64_t statements = 0;  // executed, over all lanes
  uint64_t phases = 0;      // grid barriers executed
  uint64_t state_bytes_per_lane = 0;
  uint64_t peak_state_bytes = 0;  // of all suspended lanes and their shared memory

  // What the caller of a dispatch gets, by output slot.
  [[nodiscard]] std::vector<std::span<const std::byte>> outputs(
      const check::CheckedProgram& checked) const;
};

// Inputs by input slot. Errors: those of resolve_launch, Trapped, OutOfBounds (checked mode),
// InvalidArgument (a fixpoint of 0 passes, sizes of a collective), Timeout (also when cancelled),
// LimitExceeded (memory), HostOutOfMemory, and what a resume handler returns.
Result<Outcome> run(const check::CheckedProgram& checked,
                    std::span<const std::span<const std::byte>> inputs,
                    const Options& options = {});

}  // namespace vyre::oracle
