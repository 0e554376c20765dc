// SPDX-License-Identifier: Apache-2.0
// Which lane runs next, and the life of workgroups: started in order, kept while a
// lane waits for the grid, given up when the last one has ended.
#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "oracle/machine.hpp"

namespace vyre::oracle {

using namespace ir;

namespace {

// Schedule::Random interleaves lanes of this many workgroups' worth of lanes at a time; a program
// with grid barriers has all of them around anyway.
constexpr size_t kLanesAtOnce = 4096;
// Up to here the order in which workgroups start is shuffled.
constexpr uint64_t kMostShuffled = uint64_t{1} << 20;

uint64_t group_bytes(const Code& code, const Options& options, uint32_t lanes) {
  const uint64_t subgroups = (lanes + options.subgroup_size - 1) / options.subgroup_size;
  return sizeof(Group) + uint64_t{lanes} * (sizeof(Lane) + 8 * uint64_t{code.frame_slots}) +
         code.shared_bytes + subgroups * sizeof(Group::Subgroup);
}

Result<void> check_memory(const Code& code, const Options& options, uint32_t lanes,
                          std::span<const std::span<std::byte>> buffers, uint64_t groups) {
  uint64_t used = 0;
  for (const auto& buffer : buffers) used += buffer.size();
  // Compare without a product that could overflow.
  const uint64_t left = options.memory_limit > used ? options.memory_limit - used : 0;
  if (groups <= left / group_bytes(code, options, lanes)) return {};
  return std::unexpected(Error{
      .code = ErrorCode::LimitExceeded,
      .message = fmt::format(
          "{} workgroups of {} lanes have to be kept at once, with {} bytes per lane and {} bytes "
          "of "
          "shared memory per workgroup; with {} bytes of buffers that is more than the limit of {} "
          "bytes. Fix: use a smaller grid, fewer locals, or allow more memory",
          groups, lanes, sizeof(Lane) + 8 * uint64_t{code.frame_slots}, code.shared_bytes, used,
          options.memory_limit),
      .context = {},
      .at = {},
      .diagnostics = {}});
}

}  // namespace

Machine::Machine(const check::CheckedProgram& checked, const Code& code,
                 const check::Launch& launch, const Options& options,
                 std::vector<std::span<std::byte>> buffers, Slice slice)
    : checked_(checked),
      code_(code),
      launch_(launch),
      options_(options),
      buffers_(std::move(buffers)),
      tables_(code.tables),
      lanes_per_group_(launch.lanes_per_workgroup()),
      slice_(std::move(slice)),
      groups_in_slice_(slice_.count.value_or(launch.workgroups() - slice_.first)),
      random_(options.seed) {
  if (options.races) races_.emplace(checked, code, options.max_races);
  deadline_ = std::chrono::steady_clock::now() + options.timeout;
}

void Machine::make_ready(Group& group, uint32_t lane) {
  group.lanes[lane].state = LaneState::Ready;
  if (options_.schedule == Schedule::Random) ready_.push_back({&group, lane});
}

std::unique_ptr<Group> Machine::start_group(uint64_t n) {
  std::unique_ptr<Group> group;
  if (spare_.empty()) {
    group = std::make_unique<Group>();
  } else {
    group = std::move(spare_.back());
    spare_.pop_back();
  }
  group->id = n;
  group->wid = {static_cast<uint32_t>(n % launch_.grid[0]),
                static_cast<uint32_t>(n / launch_.grid[0] % launch_.grid[1]),
                static_cast<uint32_t>(n / launch_.grid[0] / launch_.grid[1])};
  group->lanes.assign(lanes_per_group_, Lane{});
  group->slots.assign(uint64_t{lanes_per_group_} * code_.frame_slots, 0);
  group->shared.assign(code_.shared_bytes / 8, 0);
  group->copies.clear();
  const uint32_t size = options_.subgroup_size;
  group->subgroups.assign((lanes_per_group_ + size - 1) / size, {});
  for (uint32_t s = 0; s < group->subgroups.size(); ++s)
    group->subgroups[s].live = std::min(size, lanes_per_group_ - s * size);
  group->live = lanes_per_group_;
  group->at_workgroup = group->at_grid = group->trapped = 0;
  live_ += lanes_per_group_;
  if (options_.schedule == Schedule::Random)
    for (uint32_t l = 0; l < lanes_per_group_; ++l) ready_.push_back({group.get(), l});
  if (slice_.on_start) slice_.on_start(n, std::as_writable_bytes(std::span(group->shared)));
  return group;
}

void Machine::keep_or_finish(std::unique_ptr<Group> group) {
  if (group->live != 0 || group->trapped != 0) {
    groups_.push_back(std::move(group));
    totals_.peak_state_bytes = std::max(
        totals_.peak_state_bytes, groups_.size() * group_bytes(code_, options_, lanes_per_group_));
    return;
  }
  if (races_) races_->end_group(group->id);
  if (slice_.on_end) slice_.on_end(group->id, std::as_writable_bytes(std::span(group->shared)));
  constexpr size_t kSpare = 16;
  if (spare_.size() < kSpare) spare_.push_back(std::move(group));
}

void Machine::run_group_in_order(Group& group) {
  const bool reversed = options_.schedule == Schedule::Reversed;
  const auto lanes = static_cast<uint32_t>(group.lanes.size());
  for (bool any = true; any && !error_;) {
    any = false;
    for (uint32_t k = 0; k < lanes; ++k) {
      const uint32_t l = reversed ? lanes - 1 - k : k;
      while (group.lanes[l].state == LaneState::Ready && !error_) {
        any = true;
        run_lane(group, l, ~uint64_t{0});
      }
    }
  }
}

void Machine::run_in_order() {
  const bool reversed = options_.schedule == Schedule::Reversed;
  // Workgroups are kept in the order in which they started.
  for (size_t k = 0; k < groups_.size() && !error_; ++k) run_group_in_order(*groups_[k]);
  while (unstarted_ != 0 && !error_) {
    auto group =
        start_group(slice_.first + (reversed ? unstarted_ - 1 : groups_in_slice_ - unstarted_));
    --unstarted_;
    run_group_in_order(*group);
    keep_or_finish(std::move(group));
  }
}

void Machine::run_at_random() {
  size_t sweep_at = 64;
  while (!error_) {
    while (unstarted_ != 0 && ready_.size() < kLanesAtOnce) {
      if (groups_.size() >= sweep_at) {
        remove_finished_groups();
        sweep_at = groups_.size() * 2 + 64;
      }
      groups_.push_back(
          start_group(slice_.first + (order_.empty() ? unstarted_ - 1 : order_[unstarted_ - 1])));
      --unstarted_;
    }
    if (ready_.empty()) return;
    const size_t k = random_() % ready_.size();
    const LaneRef ref = ready_[k];
    if (run_lane(*ref.group, ref.lane, 1)) continue;  // its next statement may come at once
    // It waits or has gone. If it was the last to arrive somewhere it is ready again, and has been
    // added a second time.
    ready_[k] = ready_.back();
    ready_.pop_back();
  }
}

void Machine::remove_finished_groups() {
  totals_.peak_state_bytes = std::max(
      totals_.peak_state_bytes, groups_.size() * group_bytes(code_, options_, lanes_per_group_));
  std::vector<std::unique_ptr<Group>> all = std::exchange(groups_, {});
  for (auto& group : all) keep_or_finish(std::move(group));
}

Result<void> Machine::run_pass() {
  groups_.clear();
  ready_.clear();
  order_.clear();
  waiting_.clear();
  reports_.clear();
  fixpoints_.assign(code_.fixpoints.size(), {});
  live_ = at_grid_ = trapped_ = 0;
  next_collective_ = 0;
  fixpoint_passes_ = 0;
  fixpoint_converged_ = false;
  phases_before_ = totals_.phases;
  until_poll_ = 1;
  unstarted_ = groups_in_slice_;
  if (unstarted_ == 0) return {};

  const uint64_t at_once =
      options_.schedule == Schedule::Random ? kLanesAtOnce / lanes_per_group_ + 1 : 1;
  if (auto ok =
          check_memory(code_, options_, lanes_per_group_, buffers_,
                       checked_.has_grid_barrier ? unstarted_ : std::min(unstarted_, at_once));
      !ok)
    return ok;
  if (options_.schedule == Schedule::Random && unstarted_ <= kMostShuffled) {
    order_.resize(unstarted_);
    std::iota(order_.begin(), order_.end(), uint64_t{0});
    for (size_t k = order_.size(); k > 1; --k) std::swap(order_[k - 1], order_[random_() % k]);
  }

  for (;;) {
    if (options_.schedule == Schedule::Random)
      run_at_random();
    else
      run_in_order();
    if (error_) return std::unexpected(*error_);
    remove_finished_groups();
    // Every lane has finished the phase: what it reported decides now.
    if (stop_) return std::unexpected(error_of(checked_, code_, *stop_));
    Result<void> done;
    if (live_ != 0) {
      VYRE_CHECK(at_grid_ == live_);  // anything else waits for a lane that will never come
      done = complete_grid();
    } else if (trapped_ != 0) {
      done = resume_first();
    } else {
      return remaining_collectives(kNoTarget);
    }
    if (!done) return done;
  }
}

}  // namespace vyre::oracle
