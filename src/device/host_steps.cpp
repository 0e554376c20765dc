// SPDX-License-Identifier: Apache-2.0
#include "device/host_steps.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/match.hpp"

namespace vyre::device {

namespace {

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// Regions and words of a device, with the first error that using them met.
class Access {
 public:
  explicit Access(HostDevice& device) : device_(device) {}

  // Empty if it is not there; then failed().
  std::span<std::byte> region(const Region& r) {
    if (r.bytes == 0) return {};
    // Words and frames are mostly all in one buffer.
    if (r.buffer != last_) {
      last_ = r.buffer;
      last_bytes_ = device_.memory(r.buffer);
    }
    const std::span<std::byte> all = last_bytes_;
    if (r.offset <= all.size() && r.bytes <= all.size() - r.offset)
      return all.subspan(r.offset, r.bytes);
    fail(outside_error(r.buffer, r.offset, r.bytes, all.size()));
    return {};
  }
  uint32_t read(const Word& w) {
    uint32_t value = 0;
    if (const auto at = region({w.buffer, w.offset, 4}); !at.empty())
      std::memcpy(&value, at.data(), 4);
    return value;
  }
  void write(const Word& w, uint32_t value) {
    if (const auto at = region({w.buffer, w.offset, 4}); !at.empty())
      std::memcpy(at.data(), &value, 4);
  }
  void move(const Transfer& t) {
    const auto at = region(t.device);
    if (at.empty()) return;
    if (t.direction == Transfer::Direction::ToDevice)
      device_.copy(at, {t.host, at.size()});
    else
      device_.copy({t.host, at.size()}, at);
  }

  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] Result<void> result() {
    if (error_) return std::unexpected(std::move(*error_));
    return {};
  }

 private:
  HostDevice& device_;
  Handle last_;
  std::span<std::byte> last_bytes_;
  std::optional<Error> error_;
};

class Runner {
 public:
  Runner(const Submission& submission, const BackendInfo& info, HostDevice& device,
         Completion& completion)
      : submission_(submission),
        info_(info),
        device_(device),
        completion_(completion),
        access_(device) {
    if (submission.measure == Measure::Steps || device.watches_steps() ||
        submission.steps.size() > kMostKnown)
      return;
    known_steps_ = static_cast<uint32_t>(submission.steps.size());
    for (uint32_t i = 0; i < known_steps_; ++i) known_[i].kind = Known::Kind::Not;
  }

  Result<void> run() {
    list(0, static_cast<uint32_t>(submission_.steps.size()));
    if (access_.failed() && submission_.failed_step != nullptr) *submission_.failed_step = step_;
    return access_.result();
  }

 private:
  // These return false when the submission is over: at an exit or an error.

  bool list(uint32_t first, uint32_t last) {
    for (uint32_t i = first; i < last;) {
      if (i < known_steps_) {
        switch (again(i)) {
          case Again::Done: ++i; continue;
          case Again::Over: return false;
          case Again::Unknown: break;
        }
      }
      step_ = i;
      if (!may_go_on()) return false;
      const Step& step = submission_.steps[i];
      uint32_t owned = 0;
      const bool more = match(
          step, [&](const Launch& x) { return timed(step, [&] { launch(x); }); },
          [&](const Copy& x) { return timed(step, [&] { copy(x); }); },
          [&](const Fill& x) {
            return timed(step, [&] {
              const auto to = access_.region(x.to);
              if (!to.empty()) device_.fill(to, x.value);
              took(to.size());
            });
          },
          [&](const SetWord& x) { return timed(step, [&] { access_.write(x.to, x.value); }); },
          [&](const Compare& x) { return timed(step, [&] { compare(x); }); },
          [&](const Transfer& x) { return timed(step, [&] { move(x); }); },
          [&](const Exit& x) {
            bool leaves = false;
            const bool fine =
                timed(step, [&] { leaves = (access_.read(x.word) == x.value) == x.if_equal; });
            if (fine && leaves) completion_.exited_at = i;
            return fine && !leaves;
          },
          [&](const While& x) {
            owned = x.condition_steps + x.body_steps;
            return loop(x, i);
          },
          [&](const Repeat& x) {
            owned = x.body_steps;
            return repeat(x, i);
          },
          [&](const Branch& x) {
            owned = x.then_steps + x.else_steps;
            const bool then = access_.read(x.word) != 0;
            if (access_.failed()) return false;
            const uint32_t from = then ? i + 1 : i + 1 + x.then_steps;
            return list(from, from + (then ? x.then_steps : x.else_steps));
          });
      if (!more) return false;
      if (i < known_steps_) know(step, i);
      i += 1 + owned;
    }
    return true;
  }

  // ---- steps that loops come back to

  // A short step with its bytes looked up.
  struct Known {
    enum class Kind : uint8_t { Not, Launch, SetWord, Copy, Exit };
    Kind kind;
    bool if_equal;
    uint32_t value;
    std::byte* to;
    const std::byte* from;
  };
  enum class Again : uint8_t { Unknown, Done, Over };
  static constexpr uint32_t kMostKnown = 64;
  static constexpr uint64_t kCopyBytes = 8;  // of a frame of the grid, in many loops

  void know(const Step& step, uint32_t i) {
    Known& known = known_[i];
    if (const auto* launch = std::get_if<Launch>(&step)) {
      if (launch->grid_from) return;
      known.kind = Known::Kind::Launch;
      known.value = static_cast<uint32_t>(std::min<uint64_t>(lanes_of(*launch), UINT32_MAX));
    } else if (const auto* set = std::get_if<SetWord>(&step)) {
      known = {.kind = Known::Kind::SetWord,
               .if_equal = false,
               .value = set->value,
               .to = access_.region({set->to.buffer, set->to.offset, 4}).data(),
               .from = nullptr};
    } else if (const auto* copy = std::get_if<Copy>(&step)) {
      if (copy->to.bytes != kCopyBytes) return;
      known = {.kind = Known::Kind::Copy,
               .if_equal = false,
               .value = 0,
               .to = access_.region(copy->to).data(),
               .from = access_.region(copy->from).data()};
    } else if (const auto* exit = std::get_if<Exit>(&step)) {
      known = {.kind = Known::Kind::Exit,
               .if_equal = exit->if_equal,
               .value = exit->value,
               .to = nullptr,
               .from = access_.region({exit->word.buffer, exit->word.offset, 4}).data()};
    }
  }

  Again again(uint32_t i) {
    const Known& known = known_[i];
    switch (known.kind) {
      case Known::Kind::Not: return Again::Unknown;
      case Known::Kind::Launch: {
        step_ = i;
        if (!may_go_on()) return Again::Over;
        if (!device_.launch_again(i, completion_, again_error_)) return Again::Unknown;
        if (again_error_) {
          access_.fail(std::move(*again_error_));
          return Again::Over;
        }
        took(known.value);
        launched();
        return Again::Done;
      }
      case Known::Kind::SetWord: std::memcpy(known.to, &known.value, 4); return Again::Done;
      case Known::Kind::Copy: std::memcpy(known.to, known.from, kCopyBytes); return Again::Done;
      case Known::Kind::Exit: {
        uint32_t value = 0;
        std::memcpy(&value, known.from, 4);
        if ((value == known.value) != known.if_equal) return Again::Done;
        completion_.exited_at = i;
        return Again::Over;
      }
    }
    return Again::Unknown;
  }

  bool loop(const While& x, uint32_t at) {
    const uint32_t body = at + 1 + x.condition_steps;
    for (;;) {
      if (!list(at + 1, body)) return false;
      step_ = at;
      if (access_.read(x.word) == 0) return !access_.failed();
      if (!list(body, body + x.body_steps)) return false;
      step_ = at;
      if (!may_go_on()) return false;  // also if no step is in it
    }
  }

  bool repeat(const Repeat& x, uint32_t at) {
    const uint32_t most = x.most_from ? access_.read(*x.most_from) : x.most;
    if (x.until_zero) access_.write(*x.until_zero, 1);
    uint32_t passes = 0;
    bool converged = false;
    while (!access_.failed() && passes < most && !converged) {
      if (!submission_.counts.empty()) ++submission_.counts[at];
      if (!list(at + 1, at + 1 + x.body_steps)) return false;
      ++passes;
      step_ = at;
      converged = x.until_zero && access_.read(*x.until_zero) == 0;
      if (!may_go_on()) return false;
    }
    if (x.result) {
      access_.write(*x.result, passes);
      access_.write({x.result->buffer, x.result->offset + 4}, converged ? 1 : 0);
    }
    if (x.total) access_.write(*x.total, access_.read(*x.total) + passes);
    return !access_.failed();
  }

  template <class Do>
  bool timed(const Step& step, Do&& act) {
    device_.on_step(step);
    if (submission_.measure != Measure::Steps) {
      act();
    } else {
      const uint64_t begin = now_ns();
      act();
      completion_.steps.push_back({.step = step_, .begin_ns = begin, .end_ns = now_ns()});
    }
    return !access_.failed();
  }

  void launched() {
    ++completion_.launches;
    if (!submission_.counts.empty()) ++submission_.counts[step_];
  }
  void launch(const Launch& x) {
    took(x.grid_from ? ~uint64_t{0} : lanes_of(x));
    if (!x.grid_from && device_.launch_again(step_, completion_, again_error_)) {
      if (again_error_)
        access_.fail(std::move(*again_error_));
      else
        launched();
      return;
    }
    Axes grid = x.grid;
    if (x.grid_from)
      for (uint32_t axis = 0; axis < 3; ++axis)
        grid[axis] = access_.read({x.grid_from->buffer, x.grid_from->offset + uint64_t{4} * axis});
    if (access_.failed() || !runs(grid)) return;
    if (auto ok = check_limits(x, grid, info_); !ok) {
      access_.fail(std::move(ok.error()));
      return;
    }
    auto times = device_.launch(x, grid, completion_);
    if (times) {
      launched();
      if (auto ok = add_times(completion_.timings, *times); !ok)
        access_.fail(std::move(ok.error()));
    } else {
      access_.fail(std::move(times.error()));
    }
  }

  void move(const Transfer& x) {
    access_.move(x);
    took(x.device.bytes);
  }

  void copy(const Copy& x) {
    took(x.to.bytes);
    if (overlap(x.to, x.from)) {
      access_.fail(overlap_error(x.to.buffer));
      return;
    }
    const auto from = access_.region(x.from);
    const auto to = access_.region(x.to);
    if (!from.empty() && !to.empty()) device_.copy(to, from);
  }

  void compare(const Compare& x) {
    took(x.a.bytes);
    const auto a = access_.region(x.a);
    const auto b = access_.region(x.b);
    if (!a.empty() && !b.empty() && device_.differ(a, b)) access_.write(x.differs, 1);
  }

  bool may_go_on() {
    if (access_.failed()) return false;
    if (submission_.cancel != nullptr && submission_.cancel->load(std::memory_order_relaxed))
      access_.fail(cancelled_error());
    else if (submission_.deadline != kNoDeadline)
      read_clock();
    return !access_.failed();
  }

  // Reading it takes as long as a short step.
  void read_clock() {
    if (short_steps_ != 0 && short_steps_ <= kShortSteps) {
      ++short_steps_;
      return;
    }
    short_steps_ = 1;
    if (std::chrono::steady_clock::now() >= submission_.deadline)
      access_.fail(out_of_time_error(step_, submission_.steps.size()));
  }
  // As good as all of them: what the other axes add does not make a launch a short one.
  static uint64_t lanes_of(const Launch& x) {
    return uint64_t{x.grid[0]} * x.grid[1] * x.grid[2] * x.workgroup[0];
  }
  // Bytes or lanes that a step went through.
  void took(uint64_t size) {
    if (size > kShort) short_steps_ = 0;
  }

  const Submission& submission_;
  const BackendInfo& info_;
  HostDevice& device_;
  Completion& completion_;
  Access access_;
  uint32_t step_ = 0;
  static constexpr uint64_t kShort = 1024;
  static constexpr uint32_t kShortSteps = 16;
  uint32_t short_steps_ = 0;  // 0: the clock is read before the next one
  std::optional<Error> again_error_;
  uint32_t known_steps_ = 0;  // 0: every step goes the long way
  std::array<Known, kMostKnown> known_;
};

}  // namespace

Error outside_error(Handle buffer, uint64_t offset, uint64_t bytes, uint64_t size) {
  return error(ErrorCode::Internal,
               fmt::format("{} bytes at {} of handle {} are used, which has {} bytes. Fix: report "
                           "this as a bug of the driver",
                           bytes, offset, buffer.value, size));
}

bool overlap(const Region& a, const Region& b) {
  return a.bytes != 0 && a.buffer == b.buffer && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

Error overlap_error(Handle buffer) {
  return error(ErrorCode::Internal,
               fmt::format("a copy within handle {} overlaps itself. Fix: report this as a bug of "
                           "the driver",
                           buffer.value));
}

Result<void> check_limits(const Launch& launch, const Axes& grid, const BackendInfo& info) {
  const Capabilities& c = info.capabilities;
  const auto too_large = [&](std::string_view what, const Axes& grid, const Axes& most) {
    return std::unexpected(
        error(ErrorCode::LimitExceeded,
              fmt::format("{} of {}x{}x{} is not what device `{}` allows (1 to {}x{}x{}). Fix: use "
                          "another one",
                          what, grid[0], grid[1], grid[2], info.id, most[0], most[1], most[2])));
  };
  for (size_t axis = 0; axis < 3; ++axis) {
    if (grid[axis] > c.max_workgroups[axis]) return too_large("a grid", grid, c.max_workgroups);
    if (launch.workgroup[axis] == 0 || launch.workgroup[axis] > c.max_workgroup_size[axis])
      return too_large("a workgroup", launch.workgroup, c.max_workgroup_size);
  }
  using Wide = unsigned __int128;
  // Every launch comes through here, so what almost all of them are is decided with few words.
  uint64_t few = 0;
  const uint64_t in_group = uint64_t{launch.workgroup[0]} * launch.workgroup[1];
  if (in_group <= 0xFFFF'FFFF &&
      in_group * launch.workgroup[2] <= c.max_invocations_per_workgroup &&
      !__builtin_mul_overflow(uint64_t{grid[0]} * grid[1], uint64_t{grid[2]}, &few) &&
      !__builtin_mul_overflow(few, in_group * launch.workgroup[2], &few) && few <= 0xFFFF'FFFF)
    return {};
  const Wide lanes = Wide{launch.workgroup[0]} * launch.workgroup[1] * launch.workgroup[2];
  const Wide groups = Wide{grid[0]} * grid[1] * grid[2];
  if (lanes > c.max_invocations_per_workgroup)
    return std::unexpected(
        error(ErrorCode::LimitExceeded,
              fmt::format("a workgroup of {} lanes is larger than device `{}` allows ({}). Fix: "
                          "use a smaller one",
                          lanes, info.id, c.max_invocations_per_workgroup)));
  if (groups * lanes > 0xFFFF'FFFF)
    return std::unexpected(error(ErrorCode::LimitExceeded,
                                 fmt::format("{} workgroups of {} lanes are more than 2^32-1 "
                                             "lanes. Fix: use a smaller grid",
                                             groups, lanes)));
  return {};
}

void HostDevice::fill(std::span<std::byte> to, std::byte value) {
  std::memset(to.data(), static_cast<int>(value), to.size());
}
void HostDevice::copy(std::span<std::byte> to, std::span<const std::byte> from) {
  std::memcpy(to.data(), from.data(), to.size());
}
bool HostDevice::differ(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::memcmp(a.data(), b.data(), a.size()) != 0;
}

Error cancelled_error() {
  return error(ErrorCode::Timeout, "the dispatch was cancelled. Fix: run it again");
}
Error out_of_time_error(uint64_t step, uint64_t steps) {
  return error(
      ErrorCode::Timeout,
      fmt::format("the dispatch ran longer than its time limit, up to step {} of {}. Fix: look "
                  "for a loop that does not end, use smaller inputs, or allow more time",
                  step, steps));
}

Result<void> run_steps(const Submission& submission, const BackendInfo& info, HostDevice& device,
                       Completion& completion) {
  return Runner(submission, info, device, completion).run();
}

Result<void> run_transfers(std::span<const Transfer> transfers, HostDevice& device) {
  Access access(device);
  for (const Transfer& t : transfers) access.move(t);
  return access.result();
}

Result<void> check_residency(const Launch& launch, const Axes& grid, uint64_t resident,
                             const BackendInfo& info) {
  if (!launch.cooperative) return {};
  const uint64_t at_once =
      launch.blocks != 0 ? launch.blocks : uint64_t{grid[0]} * grid[1] * grid[2];
  if (at_once <= resident) return {};
  return std::unexpected(
      error(ErrorCode::CooperativeResidencyExceeded,
            fmt::format("{} workgroups have to run at once and device `{}` keeps {} of them. Fix: "
                        "use a smaller grid, or let the driver cut the program",
                        at_once, info.id, resident)));
}

Result<void> add_times(Timings& sum, const Timings& more) {
  bool overflow = false;
  const auto add = [&](std::optional<uint64_t>& to, const std::optional<uint64_t>& from) {
    uint64_t total = 0;
    if (!to || !from)
      to.reset();
    else if (__builtin_add_overflow(*to, *from, &total))
      overflow = true;
    else
      to = total;
  };
  add(sum.device_ns, more.device_ns);
  add(sum.enqueue_ns, more.enqueue_ns);
  add(sum.wait_ns, more.wait_ns);
  if (overflow)
    return std::unexpected(error(ErrorCode::LimitExceeded,
                                 "the measured times add up to more than 2^64-1 ns. Fix: measure "
                                 "fewer launches at once"));
  return {};
}

}  // namespace vyre::device
