// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/run.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/match.hpp"
#include "device/gpu_kernel.hpp"
#include "device/host_steps.hpp"

namespace vyre::backend::cuda {

using namespace device;

namespace {

constexpr uint64_t kParameterBytes = 4096;
constexpr uint32_t kMostBlocksAlong = 65535;  // y and z, in one launch

template <class T>
std::unexpected<Error> pass_on(Result<T>& result) {
  return std::unexpected(std::move(result.error()));
}

Result<bool> going_on(Result<void> done) {
  if (!done) return pass_on(done);
  return true;
}

}  // namespace

void Run::run() {
  const bool again = in_flight_.replay ? improve_replay() && patch_replay()
                                       : in_flight_.comes_again && make_replay();
  auto done = again ? replay() : list(0, static_cast<uint32_t>(submission_.steps.size()));
  if (done) return;
  if (submission_.failed_step != nullptr) *submission_.failed_step = in_flight_.step;
  in_flight_.error = std::move(done.error());
}

Result<bool> Run::list(uint32_t first, uint32_t last) {
  for (uint32_t i = first; i < last;) {
    in_flight_.step = i;
    if (!sink_.of_graph() && context_.submissions.poll_stop(in_flight_)) return false;
    const Step& next = submission_.steps[i];
    uint32_t owned = 0;
    Result<bool> more = true;
    if (const auto* loop = std::get_if<While>(&next)) {
      owned = loop->condition_steps + loop->body_steps;
      more = repeat_while(*loop, i);
    } else if (const auto* passes = std::get_if<Repeat>(&next)) {
      owned = passes->body_steps;
      more = repeat(*passes, i);
    } else if (const auto* branch = std::get_if<Branch>(&next)) {
      owned = branch->then_steps + branch->else_steps;
      more = choose(*branch, i);
    } else {
      more = step(next);
    }
    if (!more || !*more) return more;
    i += 1 + owned;
  }
  return true;
}

// ---- loops, of which the host decides whether they go on: a word comes back each time

Result<std::optional<uint32_t>> Run::word(const Word& word) {
  auto at = read({word.buffer, word.offset, 4});
  if (!at) return pass_on(at);
  if (*at == nullptr) return std::nullopt;
  uint32_t value = 0;
  std::memcpy(&value, *at, 4);
  // All launches so far are over.
  context_.submissions.recycle(in_flight_);
  VYRE_TRY(context_.resources.take_times(in_flight_));
  return value;
}

Result<bool> Run::repeat_while(const While& x, uint32_t at) {
  const uint32_t body = at + 1 + x.condition_steps;
  if (auto more = list(at + 1, body); !more || !*more) return more;
  // A pass is the body and the condition that comes after it.
  Loop& loop = loops_[at];
  loop.parts[0] = {.first = body, .last = body + x.body_steps};
  loop.parts[1] = {.first = at + 1, .last = body};
  loop.decided = true;
  loop.most = ~uint32_t{0};
  for (uint64_t done = 0;;) {
    in_flight_.step = at;
    auto value = word(x.word);
    if (!value) return pass_on(value);
    if (!*value) return false;
    if (**value == 0) return true;
    if (auto more = passes(loop, 1, done); !more || !*more) return more;
    in_flight_.step = at;
    if (context_.submissions.poll_stop(in_flight_)) return false;  // also if no step is in it
  }
}

Result<bool> Run::repeat(const Repeat& x, uint32_t at) {
  uint32_t most = x.most;
  if (x.most_from) {
    auto value = word(*x.most_from);
    if (!value) return pass_on(value);
    if (!*value) return false;
    most = **value;
  }
  if (x.until_zero) VYRE_TRY(set({*x.until_zero, 1}));
  Loop& loop = loops_[at];
  loop.parts[0] = {.first = at + 1, .last = at + 1 + x.body_steps};
  loop.decided = x.until_zero.has_value();
  loop.most = most;
  uint64_t done = 0;
  bool converged = false;
  while (done < most && !converged) {
    const uint64_t before = done;
    auto more = passes(loop, x.until_zero ? 1 : most - done, done);
    if (!submission_.counts.empty()) submission_.counts[at] += done - before;
    if (!more || !*more) return more;
    in_flight_.step = at;
    if (x.until_zero) {
      auto value = word(*x.until_zero);
      if (!value) return pass_on(value);
      if (!*value) return false;
      converged = **value == 0;
    }
    if (context_.submissions.poll_stop(in_flight_)) return false;
  }
  const auto passes = static_cast<uint32_t>(done);
  if (x.result) {
    VYRE_TRY(set({*x.result, passes}));
    VYRE_TRY(set({{x.result->buffer, x.result->offset + 4}, converged ? 1U : 0U}));
  }
  if (x.total) {
    auto value = word(*x.total);
    if (!value) return pass_on(value);
    if (!*value) return false;
    VYRE_TRY(set({*x.total, **value + passes}));
  }
  return true;
}

Result<bool> Run::choose(const Branch& x, uint32_t at) {
  auto value = word(x.word);
  if (!value) return pass_on(value);
  if (!*value) return false;
  const bool then = **value != 0;
  const uint32_t from = then ? at + 1 : at + 1 + x.then_steps;
  return list(from, from + (then ? x.then_steps : x.else_steps));
}

Result<bool> Run::step(const Step& step) {
  if (auto room = make_room(); !room || !*room) return room;
  const bool is_launch = std::holds_alternative<Launch>(step);
  const bool timing = in_flight_.measure == Measure::Steps ||
                      (in_flight_.measure == Measure::Launches && is_launch);
  InFlightSubmission::StepEvents events{.step = in_flight_.step, .launch = is_launch};
  if (timing) {
    // What the stream waits for is no part of the step.
    if (auto ok = context_.resources.await_cleared(in_flight_, stream_); !ok) return pass_on(ok);
    VYRE_TRY_ASSIGN(const auto begin, context_.resources.timer(in_flight_, stream_));
    events.begin = begin;
  }
  auto more = match(
      step, [&](const Launch& x) { return launch(x); }, [&](const Copy& x) { return copy(x); },
      [&](const Fill& x) { return fill(x); }, [&](const SetWord& x) { return set(x); },
      [&](const Compare& x) { return compare(x); }, [&](const Transfer& x) { return transfer(x); },
      [&](const Exit& x) { return exit(x); },
      // Those have their own steps.
      [](const While&) -> Result<bool> { return true; },
      [](const Repeat&) -> Result<bool> { return true; },
      [](const Branch&) -> Result<bool> { return true; });
  if (!more || !timing) return more;
  VYRE_TRY_ASSIGN(const auto end, context_.resources.timer(in_flight_, stream_));
  events.end = end;
  in_flight_.times.push_back(events);
  return more;
}

Result<DeviceAddress> Run::address(const Region& region, bool written) {
  const DeviceMemory::Block block = context_.memory.find(region.buffer);
  writes_pinned_ = writes_pinned_ || (written && block.host != nullptr);
  if (region.offset <= block.bytes && region.bytes <= block.bytes - region.offset)
    return block.address + region.offset;
  return std::unexpected(outside_error(region.buffer, region.offset, region.bytes, block.bytes));
}

Result<const std::byte*> Run::read(const Region& region) {
  VYRE_TRY_ASSIGN(const auto from, address(region, false));
  // The same bytes of the staging memory each time: they are read at once.
  const size_t used = in_flight_.staging_used;
  auto to = context_.resources.stage(in_flight_, region.bytes);
  in_flight_.staging_used = used;
  if (to && *to == nullptr) {
    // All of it is in use by transfers; none of them is once the stream is done.
    auto reached = context_.submissions.reach(in_flight_, stream_);
    if (!reached) return pass_on(reached);
    if (!*reached) return nullptr;
    for (const InFlightSubmission::HostCopy& copy : in_flight_.to_host)
      std::memcpy(copy.to, copy.from, copy.bytes);
    in_flight_.to_host.clear();
    in_flight_.staging_used = 0;
    to = context_.resources.stage(in_flight_, region.bytes);
    in_flight_.staging_used = 0;
  }
  if (!to) return pass_on(to);
  if (auto ok = gpu_.check(sink_.copy_to_host(*to, from, region.bytes), "reading a word"); !ok)
    return pass_on(ok);
  auto reached = context_.submissions.reach(in_flight_, stream_);
  if (!reached) return pass_on(reached);
  return *reached ? *to : nullptr;
}

// ---- bytes

Result<bool> Run::copy(const Copy& x) {
  if (overlap(x.to, x.from)) return std::unexpected(overlap_error(x.to.buffer));
  if (x.to.bytes == 0) return true;
  auto to = address(x.to, true);
  if (!to) return pass_on(to);
  auto from = address(x.from, false);
  if (!from) return pass_on(from);
  if (batching_ && x.to.bytes <= kMostBatchedBytes)
    return batch({.to = *to, .from = *from, .bytes = static_cast<uint32_t>(x.to.bytes)});
  VYRE_TRY(flush_copies());
  return going_on(gpu_.check(sink_.copy(*to, *from, x.to.bytes), "a copy"));
}

Result<bool> Run::fill(const Fill& x) {
  if (x.to.bytes == 0) return true;
  auto to = address(x.to, true);
  if (!to) return pass_on(to);
  if (batching_ && x.to.bytes <= kMostBatchedBytes)
    return batch({.to = *to,
                  .bytes = static_cast<uint32_t>(x.to.bytes),
                  .value = std::to_integer<uint32_t>(x.value) * 0x0101'0101});
  VYRE_TRY(flush_copies());
  return going_on(gpu_.check(sink_.set_bytes(*to, x.value, x.to.bytes), "a fill"));
}

Result<bool> Run::set(const SetWord& x) {
  auto to = address({x.to.buffer, x.to.offset, 4}, true);
  if (!to) return pass_on(to);
  if (batching_) return batch({.to = *to, .bytes = 4, .value = x.value});
  return going_on(gpu_.check(sink_.set_words(*to, x.value, 1), "setting a word"));
}

Result<bool> Run::compare(const Compare& x) {
  VYRE_TRY(flush_copies());
  if (x.a.bytes == 0) return true;
  auto a = address(x.a, false);
  if (!a) return pass_on(a);
  auto b = address(x.b, false);
  if (!b) return pass_on(b);
  auto differs = address({x.differs.buffer, x.differs.offset, 4}, true);
  if (!differs) return pass_on(differs);
  return going_on(
      context_.compare.launch({.a = *a, .b = *b, .bytes = x.a.bytes, .differs = *differs}, sink_));
}

Result<bool> Run::transfer(const Transfer& x) {
  const uint64_t bytes = x.device.bytes;
  if (bytes == 0) return true;
  const bool up = x.direction == Transfer::Direction::ToDevice;
  auto at = address(x.device, up);
  if (!at) return pass_on(at);
  std::byte* staged = nullptr;
  if (bytes <= kStagedBytes) {
    auto got = context_.resources.stage(in_flight_, bytes);
    if (!got) return pass_on(got);
    staged = *got;
  }
  if (staged == nullptr) return sink_.of_graph() ? false : long_transfer(x, *at);
  DeviceAddress moved = 0;
  if (bytes > kMostBatchedBytes) {
    VYRE_TRY(flush_copies());
  } else if (batching_) {
    if (auto ok = gpu_.check(gpu_.driver.host_address(&moved, staged, 0), "finding pinned memory");
        !ok)
      return pass_on(ok);
  }
  if (up) {
    if (replay_ != nullptr)
      replay_->up.push_back({.step = in_flight_.step, .at = staged, .bytes = bytes});
    else
      std::memcpy(staged, x.host, bytes);
    if (moved != 0) return batch({.to = *at, .from = moved, .bytes = static_cast<uint32_t>(bytes)});
    return going_on(gpu_.check(sink_.copy_to_device(*at, staged, bytes), "a transfer to it"));
  }
  writes_pinned_ = true;
  if (replay_ != nullptr)
    replay_->down.push_back({.step = in_flight_.step, .at = staged, .bytes = bytes});
  else
    in_flight_.to_host.push_back({.from = staged, .to = x.host, .bytes = bytes});
  if (moved != 0) return batch({.to = moved, .from = *at, .bytes = static_cast<uint32_t>(bytes)});
  return going_on(gpu_.check(sink_.copy_to_host(staged, *at, bytes), "a transfer from it"));
}

// The driver copies memory that is not pinned while the caller waits, and does not check time
// limits: it is called when there is nothing left to wait for, and for a part at a time. Nothing is
// ever under way to or from the caller's bytes when the caller gets them back.
Result<bool> Run::long_transfer(const Transfer& x, DeviceAddress at) {
  constexpr uint64_t kPart = uint64_t{64} << 20;
  const bool up = x.direction == Transfer::Direction::ToDevice;
  if (auto reached = context_.submissions.reach(in_flight_, stream_); !reached || !*reached)
    return reached;
  writes_pinned_ = writes_pinned_ || !up;
  for (uint64_t done = 0; done < x.device.bytes; done += kPart) {
    const uint64_t bytes = std::min(kPart, x.device.bytes - done);
    if (auto ok = up ? gpu_.check(sink_.copy_to_device(at + done, x.host + done, bytes),
                                  "a transfer to it")
                     : gpu_.check(sink_.copy_to_host(x.host + done, at + done, bytes),
                                  "a transfer from it");
        !ok)
      return pass_on(ok);
    if (auto reached = context_.submissions.reach(in_flight_, stream_); !reached || !*reached)
      return reached;
  }
  return true;
}

Result<bool> Run::exit(const Exit& x) {
  auto at = read({x.word.buffer, x.word.offset, 4});
  if (!at) return pass_on(at);
  if (*at == nullptr) return false;
  uint32_t value = 0;
  std::memcpy(&value, *at, 4);
  if ((value == x.value) != x.if_equal) return true;
  in_flight_.completion.exited_at = in_flight_.step;
  return false;
}

// ---- launches

Result<bool> Run::launch(const Launch& x) {
  VYRE_TRY(flush_copies());
  Axes grid = x.grid;
  if (x.grid_from) {
    auto at = read({x.grid_from->buffer, x.grid_from->offset, sizeof(grid)});
    if (!at) return pass_on(at);
    if (*at == nullptr) return false;
    std::memcpy(grid.data(), *at, sizeof(grid));
  }
  if (!runs(grid)) return true;
  if (auto ok = check_limits(x, grid, gpu_.info); !ok) return pass_on(ok);
  InFlightSubmission::Launched launched{
      .step = in_flight_.step, .code = context_.code.find(x.pipeline), .entry = x.entry};
  if (!launched.code || x.entry >= launched.code->kernels.size())
    return std::unexpected(error(
        ErrorCode::Internal, fmt::format("a launch of entry {} of handle {}, which there is not. "
                                         "Fix: report this as a bug of the driver",
                                         x.entry, x.pipeline.value)));
  const Kernel& kernel = launched.code->kernels[x.entry];
  if (kernel.resident_groups == 0)
    return std::unexpected(
        error(ErrorCode::Internal, fmt::format("a launch of `{}`, of which no workgroup can be on "
                                               "device `{}`. Fix: report this as a bug of the "
                                               "driver",
                                               kernel.entry.name, gpu_.info.id)));
  // Blocks that do not wait for each other need not be resident at once, whatever was requested.
  Launch all = x;
  all.blocks = 0;
  all.cooperative = kernel.entry.barriers_inside;
  if (auto ok = check_residency(all, grid, kernel.resident_groups, gpu_.info); !ok)
    return pass_on(ok);
  auto started = start(kernel, launched, x, grid);
  if (started && *started) {
    ++in_flight_.completion.launches;
    // What is captured has not run.
    if (!sink_.of_graph() && !submission_.counts.empty()) ++submission_.counts[in_flight_.step];
  }
  return started;
}

Result<bool> Run::start(const Kernel& kernel, const InFlightSubmission::Launched& launched,
                        const Launch& x, const Axes& grid) {
  alignas(16) std::byte all[kParameterBytes];
  if (auto ok = bind(kernel, x, grid, all + sizeof(GpuArgs)); !ok) return pass_on(ok);
  const std::span parameters(all,
                             sizeof(GpuArgs) + kernel.arguments.size() * sizeof(KernelBinding));
  const bool counts = kernel.entry.barriers_inside;
  auto control = context_.submissions.control(in_flight_, launched, counts && !sink_.of_graph());
  if (!control) return pass_on(control);
  if (*control == 0) return false;
  if (!sink_.of_graph())
    if (auto ok = context_.resources.await_cleared(in_flight_, stream_); !ok) return pass_on(ok);
  in_flight_.checked = in_flight_.checked || kernel.entry.can_trap;
  auto* const args = new (all) GpuArgs{.grid = {grid[0], grid[1], grid[2]}, .control = *control};
  const uint64_t lanes = kernel.entry.lanes_per_thread;
  LaunchCall call{.function = kernel.function,
                  .grid = {grid[0], grid[1], grid[2]},
                  .threads = lanes > 1 ? kernel.entry.threads
                                       : x.workgroup[0] * x.workgroup[1] * x.workgroup[2],
                  .shared_bytes = static_cast<uint32_t>(kernel.entry.shared_bytes),
                  .cooperative = counts};
  const auto failed = [&](const Outcome& outcome) {
    return std::unexpected(
        gpu_.failed(outcome, fmt::format("a launch of `{}`", kernel.entry.name)));
  };
  if (counts) {
    if (const Outcome got = sink_.launch(call, parameters); !got.ok()) return failed(got);
    if (!sink_.of_graph()) return true;
    // The next launch of the graph counts from zero again. Nothing but the counters is touched: the
    // host may store to the rest.
    return going_on(gpu_.check(
        sink_.set_words(*control + offsetof(GpuControl, even), 0, device::kGpuCounterWords),
        "clearing a control block"));
  }
  if (lanes > 1) {
    const uint64_t row = uint64_t{grid[0]} * x.workgroup[0];
    call.grid[0] = static_cast<uint32_t>((row + lanes * call.threads - 1) / (lanes * call.threads));
  }
  for (uint32_t z = 0; z < grid[2]; z += call.grid[2])
    for (uint32_t y = 0; y < grid[1]; y += call.grid[1]) {
      args->first[1] = y;
      args->first[2] = z;
      call.grid[1] = std::min(kMostBlocksAlong, grid[1] - y);
      call.grid[2] = std::min(kMostBlocksAlong, grid[2] - z);
      if (y + z != 0)
        if (auto room = make_room(); !room || !*room) return room;
      if (const Outcome got = sink_.launch(call, parameters); !got.ok()) return failed(got);
    }
  return true;
}

Result<void> Run::bind(const Kernel& kernel, const Launch& x, const Axes& grid,
                       std::byte* bindings) {
  const size_t count = kernel.arguments.size();
  if (x.arguments.size() != count || count > gpu_.info.capabilities.max_bindings)
    return std::unexpected(argument_count_error(kernel.entry, x.arguments.size(), count));
  const uint64_t groups = uint64_t{grid[0]} * grid[1] * grid[2];
  for (size_t i = 0; i < count; ++i) {
    const Region& r = x.arguments[i];
    const KernelArgument& a = kernel.arguments[i];
    const DeviceMemory::Block block =
        r.bytes != 0 ? context_.memory.find(r.buffer) : DeviceMemory::Block{};
    writes_pinned_ = writes_pinned_ || block.host != nullptr;
    const bool inside =
        r.bytes == 0 || (r.offset <= block.bytes && r.bytes <= block.bytes - r.offset);
    const DeviceAddress address = r.bytes != 0 ? block.address + r.offset : 0;
    if (!inside || !fits(a, r, address, groups))
      return std::unexpected(misfit_error(kernel.entry, i, a, r, block.bytes));
    if (too_long(a, r)) return std::unexpected(too_long_error(kernel.entry, i, a, r, gpu_.info.id));
    auto* const at = reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
    new (bindings + i * sizeof(KernelBinding))
        KernelBinding{.address = at, .length = length_of(a, r)};
  }
  return {};
}

}  // namespace vyre::backend::cuda
