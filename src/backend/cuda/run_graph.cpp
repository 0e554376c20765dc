// SPDX-License-Identifier: Apache-2.0
// Steps that come again, as graphs. To capture takes some 8 us and 1 us for each step, and saves
// 2 us for each whenever they run.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>
#include <utility>

#include "backend/cuda/run.hpp"
#include "device/gpu_kernel.hpp"

namespace vyre::backend::cuda {

using namespace device;

namespace {

constexpr uint32_t kMostSteps = 4096;  // of one graph
constexpr uint32_t kLoopSteps = 64;    // that passes are put together for
constexpr uint64_t kPlainPasses = 4;   // of a loop that may end at any time
// As long as it takes, with copies, to compile the kernel that makes them shorter.
constexpr uint32_t kRunsForMoves = 256;
constexpr uint64_t kStagingSlack = 64;  // for the place of a transfer
constexpr uint32_t kCaptureSteps = 16;  // that could have been given to a stream meanwhile

}  // namespace

bool Run::can_capture(Range range, bool transfers) const {
  if (flight_.timing || submission_.checked || range.size() > kMostSteps) return false;
  uint64_t staged = 0;
  uint64_t launches = 0;
  bool may_stop = false;
  for (uint32_t i = range.first; i < range.last; ++i) {
    const Step& step = submission_.steps[i];
    if (const auto* launch = std::get_if<Launch>(&step)) {
      if (launch->grid_from) return false;
      const auto code = parts_.code.find(launch->pipeline);
      if (!code || launch->entry >= code->kernels.size()) return false;
      const Kernel& kernel = code->kernels[launch->entry];
      // Each pass of a loop has stops of its own, which one control block could not tell apart. The
      // records of a replay go through staging memory.
      if (kernel.may_stop && !transfers) return false;
      may_stop = may_stop || kernel.may_stop;
      ++launches;
    } else if (const auto* transfer = std::get_if<Transfer>(&step)) {
      if (!transfers || transfer->device.bytes > kStagedBytes) return false;
      staged += transfer->device.bytes + kStagingSlack;
    } else if (std::holds_alternative<Exit>(step) || std::holds_alternative<While>(step) ||
               std::holds_alternative<Repeat>(step) || std::holds_alternative<Branch>(step)) {
      return false;
    }
  }
  return staged + (may_stop ? launches * sizeof(GpuControl) : 0) <= Flights::kStagingBytes;
}

bool Run::stays_on_device() const {
  const auto is_pinned = [&](Handle buffer) { return parts_.memory.find(buffer).host != nullptr; };
  return std::ranges::none_of(submission_.steps, [&](const Step& step) {
    if (const auto* x = std::get_if<Launch>(&step))
      return std::ranges::any_of(x->arguments,
                                 [&](const Region& r) { return is_pinned(r.buffer); });
    if (const auto* x = std::get_if<Copy>(&step)) return is_pinned(x->to.buffer);
    if (const auto* x = std::get_if<Fill>(&step)) return is_pinned(x->to.buffer);
    if (const auto* x = std::get_if<SetWord>(&step)) return is_pinned(x->to.buffer);
    if (const auto* x = std::get_if<Compare>(&step)) return is_pinned(x->differs.buffer);
    if (const auto* x = std::get_if<Transfer>(&step))
      return x->direction == Transfer::Direction::ToHost || is_pinned(x->device.buffer);
    return false;
  });
}

bool Run::mark_end(Flight::Replay& replay) const {
  const Flights::Mark mark = parts_.flights.mark(flight_);
  if (mark.host == nullptr) return true;
  replay.mark = mark.host;
  return gpu_.driver.set_words(mark.address, 1, 1, stream_).ok();
}

// What goes wrong is found again by whoever gives the steps to a stream instead.
Graph Run::capture(const std::function<bool()>& issue) {
  const StreamHandle stream = stream_;
  const uint32_t step = flight_.step;
  Graph made = parts_.capture.graph([&](StreamHandle capturing) {
    stream_ = capturing;
    capturing_ = true;
    const bool issued = issue();
    capturing_ = false;
    stream_ = stream;
    return issued;
  });
  flight_.step = step;
  return made;
}

// ---- submissions

bool Run::make_replay() {
  const Range all{.first = 0, .last = static_cast<uint32_t>(submission_.steps.size())};
  auto made = std::make_unique<Flight::Replay>();
  if (all.size() != 0 && can_capture(all, true)) {
    replay_ = made.get();
    made->moves = moving_ = parts_.moves.is_loaded();
    made->graph = capture([&] {
      const auto issued = list(all.first, all.last);
      if (!issued || !*issued || !flush_moves()) return false;
      made->launches = flight_.completion.launches;
      made->may_stop = flight_.checked;
      if (!made->may_stop) return !stays_on_device() || mark_end(*made);
      // What lanes leave is copied, and forgotten.
      const auto stops =
          parts_.flights.stage(flight_, flight_.launches.size() * sizeof(GpuControl));
      if (!stops || *stops == nullptr) return false;
      made->stops = *stops;
      std::byte* to = *stops;
      for (const Flights::Controls& area : Flights::controls(flight_)) {
        const size_t bytes = area.count * sizeof(GpuControl);
        if (!gpu_.driver.copy_to_host(to, area.first, bytes, stream_).ok() ||
            !gpu_.driver.set_words(area.first, 0, bytes / 4, stream_).ok())
          return false;
        to += bytes;
      }
      return true;
    });
    replay_ = nullptr;
    moving_ = false;
    moves_.clear();
  }
  if (!made->graph) made.reset();
  parts_.flights.keep(flight_, submission_.replay_key, std::move(made));
  flight_.completion.launches = 0;
  if (flight_.replay) return true;
  flight_.checked = submission_.checked;
  flight_.staging_used = 0;
  parts_.flights.forget_launches(flight_, 0);
  return false;
}

bool Run::improve_replay() {
  Flight::Replay& replay = *flight_.replay;
  if (replay.moves || (replay.up.empty() && replay.down.empty()) || ++replay.runs < kRunsForMoves)
    return true;
  replay.moves = true;  // or it cannot be
  if (!parts_.moves.load()) return true;
  parts_.flights.forget_replay(flight_);
  flight_.checked = submission_.checked;
  return make_replay();
}

Result<bool> Run::move(const Move& move) {
  if (!Moves::fits(moves_, move))
    if (auto ok = flush_moves(); !ok) return ok;
  moves_.push_back(move);
  return true;
}

Result<bool> Run::flush_moves() {
  if (moves_.empty()) return true;
  const std::vector<Move> all = std::exchange(moves_, {});
  const auto done = [&]() -> Result<void> {
    const Move& one = all[0];
    if (all.size() > 1 || one.from != 0) return parts_.moves.launch(all, stream_);
    constexpr std::string_view kDoing = "a fill";
    if (one.bytes % 4 == 0 && one.to % 4 == 0)
      return gpu_.check(gpu_.driver.set_words(one.to, one.value, one.bytes / 4, stream_), kDoing);
    return gpu_.check(
        gpu_.driver.set_bytes(one.to, static_cast<unsigned char>(one.value), one.bytes, stream_),
        kDoing);
  }();
  if (!done) return std::unexpected(done.error());
  return true;
}

Result<bool> Run::replay() {
  const Flight::Replay& replay = *flight_.replay;
  if (replay.stops != nullptr)
    std::memset(replay.stops, 0, flight_.launches.size() * sizeof(GpuControl));
  flight_.step = 0;
  if (parts_.flights.look_at(flight_)) return false;
  for (const Flight::Staged& up : replay.up)
    std::memcpy(up.at, std::get<Transfer>(submission_.steps[up.step]).host, up.bytes);
  for (const Flight::Staged& down : replay.down)
    flight_.to_host.push_back({.from = down.at,
                               .to = std::get<Transfer>(submission_.steps[down.step]).host,
                               .bytes = down.bytes});
  if (auto ok = parts_.flights.await_cleared(flight_, stream_); !ok)
    return std::unexpected(std::move(ok.error()));
  if (replay.mark != nullptr) std::atomic_ref(*replay.mark).store(0, std::memory_order_relaxed);
  if (auto ok = replay.graph.launch(stream_); !ok) return std::unexpected(std::move(ok.error()));
  flight_.step = flight_.steps - 1;
  flight_.completion.launches = replay.launches;
  return true;
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
  if (auto ok = parts_.flights.await_cleared(flight_, stream_); !ok)
    return std::unexpected(std::move(ok.error()));
  if (auto ok = flight_.graphs[loop.graph].launch(stream_); !ok)
    return std::unexpected(std::move(ok.error()));
  flight_.completion.launches += loop.launches;
  done += loop.passes;
  return true;
}

void Run::capture_loop(Loop& loop) {
  loop.looked = true;
  const uint32_t steps = loop.parts[0].size() + loop.parts[1].size();
  if (steps == 0 || !can_capture(loop.parts[0], false) || !can_capture(loop.parts[1], false))
    return;
  // Several short passes are one graph, of which there are a few.
  const uint32_t passes =
      loop.decided ? 1 : std::clamp(std::min(kLoopSteps / steps, loop.most / 4), 1U, loop.most);
  const uint64_t all = uint64_t{loop.most} * steps;
  if (all < kCaptureSteps + uint64_t{2} * passes * steps) return;
  const uint64_t launches = flight_.completion.launches;
  const size_t controls = flight_.launches.size();
  Graph graph = capture([&] {
    for (uint32_t i = 0; i < passes; ++i)
      if (const auto issued = pass(loop); !issued || !*issued) return false;
    return true;
  });
  loop.launches = flight_.completion.launches - launches;
  flight_.completion.launches = launches;
  if (!graph) {
    parts_.flights.forget_launches(flight_, controls);
    return;
  }
  loop.graph = flight_.graphs.size();
  flight_.graphs.push_back(std::move(graph));
  flight_.kept_launches = flight_.launches.size();
  loop.passes = passes;
}

}  // namespace vyre::backend::cuda
