// SPDX-License-Identifier: Apache-2.0
// What the driver requests of a device: a Submission is a list of steps over device memory, done in
// order. Steps are plain values; loops and branches say how many of the following steps belong to
// them, so a list can be recorded once and run again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "vyre/base/reports.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/capabilities.hpp"

namespace vyre {
class HandlerBuffers;  // vyre/ir/host.hpp: the program's buffers while a resume handler runs
}  // namespace vyre

namespace vyre::device {

// What a backend calls a piece of memory or a loaded artifact. Only it knows the meaning.
struct Handle {
  uint64_t value = 0;
  [[nodiscard]] bool valid() const { return value != 0; }
  friend bool operator==(const Handle&, const Handle&) = default;
};

// Bytes of a buffer. Made by Buffer::region, which checks them; an empty region may have no buffer.
struct Region {
  Handle buffer;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Region&, const Region&) = default;
};

// A u32 in a buffer, at a multiple of 4.
struct Word {
  Handle buffer;
  uint64_t offset = 0;
  friend bool operator==(const Word&, const Word&) = default;
};

// Runs the workgroups of a grid.
struct Launch {
  Handle pipeline;
  uint32_t entry = 0;
  // By argument of the entry. For a shared buffer: where workgroups keep it between launches, one
  // area after the other; empty if they do not.
  std::span<const Region> arguments = {};
  Axes workgroup = {1, 1, 1};
  Axes grid = {0, 0, 0};            // workgroups; any 0: nothing runs
  std::optional<Word> grid_from{};  // instead: three words read when the launch starts
  // All workgroups are on the device at once, if need be as `blocks` that run several each.
  bool cooperative = false;
  uint64_t blocks = 0;   // 0: one for each workgroup
  uint32_t segment = 0;  // of its plan, for people
};
struct Copy {
  Region to, from;  // of one length, not overlapping
};
struct Fill {
  Region to;
  std::byte value{0};
};
struct SetWord {
  Word to;
  uint32_t value = 0;
};
// Stores 1 if the regions (of one length) differ, leaves the word alone otherwise.
struct Compare {
  Region a, b;
  Word differs;
};
// Between host and device. The host's bytes stay where they are until the submission is done.
struct Transfer {
  enum class Direction : uint8_t { ToDevice, ToHost };
  Direction direction = Direction::ToDevice;
  Region device;
  std::byte* host = nullptr;
};
// Ends the submission here, successfully, if the comparison with the word holds.
struct Exit {
  Word word;
  bool if_equal = true;  // false: if it differs
  uint32_t value = 0;
};

// Only for devices with device_loops:

// condition steps; leave if the word is 0; body steps; again.
struct While {
  uint32_t condition_steps = 0;
  uint32_t body_steps = 0;
  Word word;
};
// body steps, at most so often; with `until_zero`, not again after a pass that leaves that word 0.
struct Repeat {
  uint32_t body_steps = 0;
  uint32_t most = 0;
  std::optional<Word> most_from{};   // instead, read at the start
  std::optional<Word> until_zero{};  // stored as 1 at the start, so a pass of none "converges" not
  std::optional<Word> result{};      // two words: passes, and whether the last one left 0
  std::optional<Word> total{};       // the passes are added here
};
struct Branch {
  uint32_t then_steps = 0;
  uint32_t else_steps = 0;
  Word word;  // not 0: then
};

using Step =
    std::variant<Launch, Copy, Fill, SetWord, Compare, Transfer, Exit, While, Repeat, Branch>;

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

// What a whole program (Capabilities::whole_programs) calls when it needs the host.
class HostServices {
 public:
  virtual ~HostServices() = default;
  // At a resume with reports. An error ends the launch with that error.
  virtual Result<void> resume(std::span<const TrapReport> reports, HandlerBuffers& buffers) = 0;
  // How far a long launch has come, now and then. `of` 0: unknown.
  virtual void progress(uint64_t /*done*/, uint64_t /*of*/) {}
  // What print() may take of memory; 0: it writes nothing.
  [[nodiscard]] virtual uint64_t print_bytes() const { return 0; }
  // Once for a launch in which print() wrote anything, also if it then failed.
  virtual void printed(PrintReport /*lines*/) {}
};

struct Ticket {
  uint64_t value = 0;
  friend bool operator==(const Ticket&, const Ticket&) = default;
};

// What a submission measures, each with what those before it do. Device time costs nothing on some
// devices, which then always report it.
enum class Measure : uint8_t {
  Nothing,
  Launches,  // Timings::device_ns, on devices that can
  Steps,     // Completion::steps
};

struct Submission {
  std::span<const Step> steps = {};
  uint32_t queue = 0;  // work of one queue runs in order
  std::span<const Ticket> after = {};
  Measure measure = Measure::Nothing;
  bool checked = false;  // accesses out of bounds stop their lane
  // Not 0: submissions with equal keys have equal steps, but for where the host's bytes of
  // transfers are and what they hold. A device may keep what it made of them.
  uint64_t replay_key = 0;
  HostServices* host = nullptr;
  Deadline deadline = kNoDeadline;            // the work stops soon after it, with Timeout
  const std::atomic<bool>* cancel = nullptr;  // likewise, once it is set
  // Where the backend writes which step failed, if it knows; valid until the ticket is waited for.
  uint32_t* failed_step = nullptr;
  // Empty, or by step and likewise valid: the backend adds the launches of a Launch that ran, and
  // the passes of a Repeat that began. Work that fails may be counted as far as it was handed over.
  std::span<uint64_t> counts = {};
};

// What a device measured; nothing where it cannot.
struct Timings {
  std::optional<uint64_t> device_ns{};
  std::optional<uint64_t> enqueue_ns{};
  std::optional<uint64_t> wait_ns{};
  friend bool operator==(const Timings&, const Timings&) = default;
};

// A launch of this grid runs.
constexpr bool runs(const Axes& grid) {
  return grid[0] != 0 && grid[1] != 0 && grid[2] != 0;
}

// When a step ran, on the steady clock of the host.
struct StepTime {
  uint32_t step = 0;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
};

// A lane that ended at an access out of bounds.
struct LaneStop {
  uint32_t lane = 0;
  Error error;
};

// What a whole program has done, which no plan counts for it.
struct WholeReport {
  uint64_t phases = 0;
  uint64_t statements = 0;  // over all lanes
  std::vector<FixpointReport> fixpoints;
  std::vector<TrapReport> resumed;
};

struct Completion {
  Timings timings;
  uint64_t launches = 0;                // over all loops
  std::optional<uint32_t> exited_at{};  // the Exit step that ended it
  std::optional<LaneStop> lane_stop{};  // the one of the smallest lane
  std::optional<WholeReport> whole{};
  std::vector<StepTime> steps;
};

}  // namespace vyre::device
