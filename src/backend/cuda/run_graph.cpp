// SPDX-License-Identifier: Apache-2.0
// Steps that come again, as graphs. To capture takes some 8 us and 1 us for each step, and saves
// 2 us for each whenever they run.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

#include "backend/cuda/run.hpp"
#include "base/errors.hpp"
#include "device/gpu_kernel.hpp"

namespace vyre::backend::cuda {

using namespace device;

namespace {

constexpr uint32_t kLoopSteps = 64;   // that passes are joined for
constexpr uint64_t kPlainPasses = 4;  // of a loop that may end at any time
// As long as it takes, with copies, to compile the kernel that makes them shorter.
constexpr uint32_t kRunsForBatching = 256;
constexpr uint64_t kStagingSlack = 64;  // for the place of a transfer
constexpr uint32_t kCaptureSteps = 16;  // that could have been given to a stream meanwhile

}  // namespace

bool Run::can_capture(Range range, bool transfers) const {
  if (in_flight_.measure != Measure::Nothing || submission_.checked ||
      range.size() > kMostGraphSteps)
    return false;
  uint64_t staged = 0;
  uint64_t launches = 0;
  bool may_stop = false;
  for (uint32_t i = range.first; i < range.last; ++i) {
    const Step& step = submission_.steps[i];
    if (const auto* launch = std::get_if<Launch>(&step)) {
      if (launch->grid_from) return false;
      const auto code = context_.code.find(launch->pipeline);
      if (!code || launch->entry >= code->kernels.size()) return false;
      const Kernel& kernel = code->kernels[launch->entry];
      // Each pass of a loop has stops of its own, which one control block could not distinguish.
      // The records of a replay go through staging memory.
      if (kernel.entry.can_trap && !transfers) return false;
      may_stop = may_stop || kernel.entry.can_trap;
      ++launches;
    } else if (const auto* transfer = std::get_if<Transfer>(&step)) {
      if (!transfers || transfer->device.bytes > kStagedBytes) return false;
      staged += transfer->device.bytes + kStagingSlack;
    } else if (std::holds_alternative<Exit>(step) || std::holds_alternative<While>(step) ||
               std::holds_alternative<Repeat>(step) || std::holds_alternative<Branch>(step)) {
      return false;
    }
  }
  return staged + (may_stop ? launches * sizeof(GpuControl) : 0) <=
         SubmissionResources::kStagingBytes;
}

bool Run::mark_end(InFlightSubmission::Replay& replay) {
  const SubmissionResources::Mark mark = context_.resources.mark(in_flight_);
  if (mark.host == nullptr) return true;
  replay.mark = mark.host;
  return sink_.set_words(mark.address, 1, 1).ok();
}

// An error is found again when the steps go to a stream instead.
Graph Run::capture(bool patched, const std::function<bool()>& issue) {
  const uint32_t step = in_flight_.step;
  Graph made = context_.capture.graph(patched, [&](const CommandSink& capturing) {
    const CommandSink to_stream = std::exchange(sink_, capturing);
    const bool issued = issue();
    sink_ = to_stream;
    return issued;
  });
  in_flight_.step = step;
  return made;
}

// ---- submissions

bool Run::issue_replay(InFlightSubmission::Replay& replay) {
  replay_ = &replay;
  batching_ = replay.batches_copies;
  writes_pinned_ = false;
  const auto issued = list(0, in_flight_.steps);
  const bool done = issued && *issued && flush_copies();
  replay_ = nullptr;
  batching_ = false;
  batched_.clear();
  if (!done) return false;
  replay.launches = std::exchange(in_flight_.completion.launches, 0);
  replay.may_stop = in_flight_.checked;
  if (!replay.may_stop) return writes_pinned_ || mark_end(replay);
  // What lanes leave is copied, and forgotten.
  const auto stops =
      context_.resources.stage(in_flight_, in_flight_.launches.size() * sizeof(GpuControl));
  if (!stops || *stops == nullptr) return false;
  replay.stops = *stops;
  std::byte* to = *stops;
  for (const SubmissionResources::Controls& area : SubmissionResources::controls(in_flight_)) {
    const size_t bytes = area.count * sizeof(GpuControl);
    if (!sink_.copy_to_host(to, area.first, bytes).ok() ||
        !sink_.set_words(area.first, 0, bytes / 4).ok())
      return false;
    to += bytes;
  }
  return true;
}

// For the steps, which go to the stream instead.
void Run::without_replay() {
  in_flight_.completion.launches = 0;
  in_flight_.checked = submission_.checked;
  in_flight_.staging_used = 0;
  context_.submissions.forget_launches(in_flight_, 0);
}

bool Run::make_replay() {
  const auto moment = context_.submissions.try_exclusive(in_flight_);
  return moment && record_replay();
}

bool Run::record_replay() {
  auto made = std::make_unique<InFlightSubmission::Replay>();
  made->key = submission_.replay_key;
  if (can_capture({.first = 0, .last = in_flight_.steps}, true)) {
    made->batches_copies = context_.copies.is_loaded();
    made->graph = capture(true, [&] { return issue_replay(*made); });
  }
  if (!made->graph) made.reset();
  context_.submissions.keep(in_flight_, std::move(made));
  if (!in_flight_.replay) without_replay();
  return in_flight_.replay != nullptr;
}

bool Run::patch_replay() {
  InFlightSubmission::Replay& replay = *in_flight_.replay;
  if (replay.key != 0 && replay.key == submission_.replay_key) return true;
  replay.key = submission_.replay_key;
  replay.up.clear();
  replay.down.clear();
  replay.mark = nullptr;
  replay.stops = nullptr;
  without_replay();
  const CommandSink to_stream = std::exchange(sink_, replay.graph.patch());
  // A mark where there was none, or none where there was one, is another node.
  const bool patched = issue_replay(replay) && !sink_.unlike();
  if (patched && sink_.has_patched())
    gpu_.counters.graphs_patched.fetch_add(1, std::memory_order_relaxed);
  sink_ = to_stream;
  if (patched) return true;
  context_.submissions.forget_replay(in_flight_);
  without_replay();
  return false;
}

bool Run::improve_replay() {
  InFlightSubmission::Replay& replay = *in_flight_.replay;
  if (replay.batches_copies || (replay.up.empty() && replay.down.empty()) ||
      ++replay.runs < kRunsForBatching)
    return true;
  const auto moment = context_.submissions.try_exclusive(in_flight_);
  if (!moment) return true;      // another time
  replay.batches_copies = true;  // or it cannot be
  if (!context_.copies.load()) return true;
  context_.submissions.forget_replay(in_flight_);
  without_replay();
  return record_replay();
}

Result<bool> Run::batch(const BatchedCopy& batched) {
  if (!BatchedCopies::fits(batched_, batched)) VYRE_TRY(flush_copies());
  batched_.push_back(batched);
  return true;
}

Result<bool> Run::flush_copies() {
  if (batched_.empty()) return true;
  const std::vector<BatchedCopy> all = std::exchange(batched_, {});
  VYRE_TRY([&]() -> Result<void> {
    const BatchedCopy& one = all[0];
    if (all.size() > 1 || one.from != 0) return context_.copies.launch(all, sink_);
    constexpr std::string_view kDoing = "a fill";
    if (one.bytes % 4 == 0 && one.to % 4 == 0)
      return gpu_.check(sink_.set_words(one.to, one.value, one.bytes / 4), kDoing);
    return gpu_.check(sink_.set_bytes(one.to, static_cast<std::byte>(one.value), one.bytes),
                      kDoing);
  }());
  return true;
}

Result<bool> Run::replay() {
  const InFlightSubmission::Replay& replay = *in_flight_.replay;
  if (replay.stops != nullptr)
    std::memset(replay.stops, 0, in_flight_.launches.size() * sizeof(GpuControl));
  in_flight_.step = 0;
  if (context_.submissions.poll_stop(in_flight_)) return false;
  for (const InFlightSubmission::Staged& up : replay.up)
    std::memcpy(up.at, std::get<Transfer>(submission_.steps[up.step]).host, up.bytes);
  for (const InFlightSubmission::Staged& down : replay.down)
    in_flight_.to_host.push_back({.from = down.at,
                                  .to = std::get<Transfer>(submission_.steps[down.step]).host,
                                  .bytes = down.bytes});
  VYRE_TRY(context_.resources.await_cleared(in_flight_, stream_));
  if (auto room = make_room(); !room || !*room) return room;
  if (replay.mark != nullptr) std::atomic_ref(*replay.mark).store(0, std::memory_order_relaxed);
  VYRE_TRY(replay.graph.launch(stream_));
  in_flight_.step = in_flight_.steps - 1;
  in_flight_.completion.launches = replay.launches;
  count_launches({.first = 0, .last = in_flight_.steps}, 1);
  return true;
}

// Of steps that ran as a graph, in which every launch stands once for each pass.
void Run::count_launches(Range range, uint64_t passes) {
  if (submission_.counts.empty()) return;
  for (uint32_t i = range.first; i < range.last; ++i)
    if (const auto* launch = std::get_if<Launch>(&submission_.steps[i]);
        launch != nullptr && runs(launch->grid))
      submission_.counts[i] += passes;
}

// ---- loops

Result<bool> Run::pass(const Loop& loop) {
  for (const Range& part : loop.parts)
    if (auto more = list(part.first, part.last); !more || !*more) return more;
  return true;
}

Result<bool> Run::passes(Loop& loop, uint64_t left, uint64_t& done) {
  if (!loop.looked && (!loop.decided || done >= kPlainPasses)) capture_loop(loop);
  if (loop.passes == 0 || loop.passes > left) {
    ++done;
    return pass(loop);
  }
  VYRE_TRY(context_.resources.await_cleared(in_flight_, stream_));
  if (auto room = make_room(); !room || !*room) return room;
  VYRE_TRY(in_flight_.graphs[loop.graph].launch(stream_));
  in_flight_.completion.launches += loop.launches;
  for (const Range& part : loop.parts) count_launches(part, loop.passes);
  done += loop.passes;
  return true;
}

void Run::capture_loop(Loop& loop) {
  loop.looked = true;
  const uint32_t steps = loop.parts[0].size() + loop.parts[1].size();
  if (steps == 0 || !can_capture(loop.parts[0], false) || !can_capture(loop.parts[1], false))
    return;
  // Behind work that may take long the passes go one by one.
  const auto moment = context_.submissions.try_exclusive(in_flight_);
  if (!moment) return;
  // Several short passes are one graph, of which there are a few.
  const uint32_t passes =
      loop.decided ? 1 : std::clamp(std::min(kLoopSteps / steps, loop.most / 4), 1U, loop.most);
  const uint64_t all = uint64_t{loop.most} * steps;
  if (all < kCaptureSteps + uint64_t{2} * passes * steps) return;
  const uint64_t launches = in_flight_.completion.launches;
  const size_t controls = in_flight_.launches.size();
  Graph graph = capture(false, [&] {
    for (uint32_t i = 0; i < passes; ++i)
      if (const auto issued = pass(loop); !issued || !*issued) return false;
    return true;
  });
  loop.launches = in_flight_.completion.launches - launches;
  in_flight_.completion.launches = launches;
  if (!graph) {
    context_.submissions.forget_launches(in_flight_, controls);
    return;
  }
  loop.graph = in_flight_.graphs.size();
  in_flight_.graphs.push_back(std::move(graph));
  in_flight_.kept_launches = in_flight_.launches.size();
  loop.passes = passes;
}

}  // namespace vyre::backend::cuda
