// SPDX-License-Identifier: Apache-2.0
// Gives the steps of one submission to a stream, in order. Only steps that the host has to see the
// result of (exits, grids in memory) and long transfers of memory that is not pinned wait for it.
//
// Steps that come again, as a submission or as the body of a loop, go to a stream that captures
// them, and the graph is launched from then on (run_graph.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include "backend/cuda/batched_copies.hpp"
#include "backend/cuda/code.hpp"
#include "backend/cuda/command_sink.hpp"
#include "backend/cuda/memory.hpp"
#include "backend/cuda/submission_resources.hpp"
#include "backend/cuda/submission_tracker.hpp"
#include "device/host_memory.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/steps.hpp"

namespace vyre::backend::cuda {

// What all submissions of a device share.
struct DeviceContext {
  explicit DeviceContext(const Gpu& device)
      : gpu(device),
        memory(gpu),
        resources(gpu),
        submissions(gpu, resources),
        compare(gpu),
        copies(gpu),
        capture(gpu) {}

  const Gpu& gpu;
  DeviceMemory memory;
  device::HostCode<Code> code;
  SubmissionResources resources;
  SubmissionTracker submissions;
  CompareKernel compare;
  BatchedCopies copies;
  Capture capture;
};

class Run {
 public:
  Run(DeviceContext& parts, InFlightSubmission& in_flight, Pace& pace,
      const device::Submission& submission)
      : context_(parts),
        gpu_(parts.gpu),
        in_flight_(in_flight),
        stream_(in_flight.stream),
        pace_(pace),
        submission_(submission),
        sink_(gpu_, stream_) {}

  // What goes wrong is left in the submission.
  void run();

 private:
  // Transfers up to this go through pinned memory.
  static constexpr uint64_t kStagedBytes = 64U << 10;

  // Steps that follow each other.
  struct Range {
    uint32_t first = 0;
    uint32_t last = 0;
    [[nodiscard]] uint32_t size() const { return last - first; }
  };
  // What a loop does in each pass, in two parts.
  struct Loop {
    Range parts[2];
    uint32_t most = 0;     // passes
    bool decided = false;  // whether there is another is known after each
    // From here on as a graph of `passes` passes.
    bool looked = false;  // whether it can be one
    uint32_t passes = 0;  // 0: none
    size_t graph = 0;     // among those of the submission
    uint64_t launches = 0;
  };

  // False: the submission ends here, at an exit or because it was stopped.
  Result<bool> list(uint32_t first, uint32_t last);
  Result<bool> repeat_while(const device::While& x, uint32_t at);
  Result<bool> repeat(const device::Repeat& x, uint32_t at);
  Result<bool> choose(const device::Branch& x, uint32_t at);
  // One more pass, or several at once if as many are `left`; adds them to `done`.
  Result<bool> passes(Loop& loop, uint64_t left, uint64_t& done);
  Result<bool> pass(const Loop& loop);

  // ---- graphs
  // Whether steps can be captured: nothing in them needs the host before they are over.
  [[nodiscard]] bool can_capture(Range range, bool transfers) const;
  // The submission as the graph that is kept. False: it cannot be one, or not now. The
  // driver makes large graphs only while nothing runs.
  bool make_replay();
  bool record_replay();
  // All that is in the graph, with what the host does around it.
  bool issue_replay(InFlightSubmission::Replay& replay);
  // The graph of the submission, which was made of a submission of the same form, as the graph of
  // this one. False: there is none any more.
  bool patch_replay();
  void without_replay();
  // Whether a graph has run so often that the kernel of short copies is worth loading for it.
  bool improve_replay();
  // Left to the next flush_copies().
  Result<bool> batch(const BatchedCopy& batched);
  Result<bool> flush_copies();
  bool mark_end(InFlightSubmission::Replay& replay);
  Result<bool> replay();
  void count_launches(Range range, uint64_t passes);
  void capture_loop(Loop& loop);
  Graph capture(bool patched, const std::function<bool()>& issue);
  Result<bool> step(const device::Step& step);
  Result<bool> launch(const device::Launch& x);
  Result<bool> copy(const device::Copy& x);
  Result<bool> fill(const device::Fill& x);
  Result<bool> set(const device::SetWord& x);
  Result<bool> compare(const device::Compare& x);
  Result<bool> transfer(const device::Transfer& x);
  Result<bool> long_transfer(const device::Transfer& x, DeviceAddress at);
  Result<bool> exit(const device::Exit& x);
  // Before a call that goes to the stream. False: the submission was stopped.
  Result<bool> make_room() {
    return sink_.of_graph() ? true : context_.submissions.make_room(in_flight_, pace_);
  }

  Result<DeviceAddress> address(const device::Region& region, bool written);
  // What memory holds now, up to 16 bytes of it, in pinned memory. Null: the submission was
  // stopped.
  Result<const std::byte*> read(const device::Region& region);
  Result<std::optional<uint32_t>> word(const device::Word& word);
  Result<bool> start(const Kernel& kernel, const InFlightSubmission::Launched& launched,
                     const device::Launch& x, const device::Axes& grid);
  Result<void> bind(const Kernel& kernel, const device::Launch& x, const device::Axes& grid,
                    std::byte* bindings);

  DeviceContext& context_;
  const Gpu& gpu_;
  InFlightSubmission& in_flight_;
  StreamHandle stream_;
  Pace& pace_;
  const device::Submission& submission_;
  CommandSink sink_;
  InFlightSubmission::Replay* replay_ = nullptr;  // that is being made or patched
  bool writes_pinned_ = false;                    // memory that the host may read
  bool batching_ = false;                         // short copies and fills are batched
  std::vector<BatchedCopy> batched_;
  std::map<uint32_t, Loop> loops_;  // by their step
};

}  // namespace vyre::backend::cuda
