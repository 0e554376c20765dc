// SPDX-License-Identifier: Apache-2.0
#include "oracle/races.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace vyre::oracle {

using namespace ir;
using Access = Race::Access;

namespace {

constexpr uint64_t kAllGroups = ~uint64_t{0};
constexpr uint32_t kNoSubgroup = ~uint32_t{0};  // of an async copy
// Unordered accesses that one element remembers. More readers than this of one element between two
// barriers lose the oldest of them.
constexpr size_t kMaxRecords = 64;

constexpr bool is_write(Access a) {
  return a == Access::Write || a == Access::AtomicWrite || a == Access::CopyWrite;
}
constexpr bool is_atomic(Access a) {
  return a == Access::AtomicRead || a == Access::AtomicWrite;
}
constexpr bool conflict(Access a, Access b) {
  return (is_write(a) || is_write(b)) && !(is_atomic(a) && is_atomic(b));
}
// Everything that conflicts with `old` conflicts with `now` too.
constexpr bool covers(Access now, Access old) {
  if (is_write(now) && !is_atomic(now)) return true;
  if (is_write(old)) return is_atomic(old) && is_write(now);
  return is_atomic(old) || !is_atomic(now);
}

// Keys of a Clock: lanes as they are numbered, groups and subgroups with marks that no lane has.
constexpr uint64_t group_key(uint64_t group) {
  return (uint64_t{1} << 62) | group;
}
constexpr uint64_t subgroup_key(uint64_t group, uint32_t subgroup) {
  return (uint64_t{3} << 62) | (group << 30) | subgroup;
}

void join(std::unordered_map<uint64_t, uint32_t>& into,
          const std::unordered_map<uint64_t, uint32_t>& from) {
  for (const auto& [key, value] : from) {
    uint32_t& mine = into[key];
    mine = std::max(mine, value);
  }
}

}  // namespace

RaceDetector::Location RaceDetector::location(MemoryRow row, uint64_t element,
                                              uint64_t group) const {
  const bool shared = code_.memories[row].kind == MemoryInfo::Kind::Shared;
  return {shared ? group : kAllGroups, row, element};
}

RaceDetector::Cell& RaceDetector::cell(MemoryRow row, uint64_t element, uint64_t group) {
  const MemoryInfo& info = code_.memories[row];
  std::vector<Cell>& cells =
      info.kind == MemoryInfo::Kind::Shared ? groups_[group].shared[row] : buffers_[row];
  if (cells.size() <= element) cells.resize(std::max<uint64_t>(element + 1, cells.size() * 2));
  return cells[element];
}

RaceDetector::Record RaceDetector::record(const Accessor& by, Access access) {
  Group& group = groups_[by.group];
  Record r{.who = by.who,
           .group = by.group,
           .phase = phase_,
           .group_epoch = group.epoch,
           .subgroup = by.subgroup.value_or(kNoSubgroup),
           .subgroup_epoch = 0,
           .time = 0,
           .lane = by.lane,
           .pc = by.pc,
           .access = access};
  if (by.subgroup) {
    const auto epoch = group.subgroup_epochs.find(*by.subgroup);
    if (epoch != group.subgroup_epochs.end()) r.subgroup_epoch = epoch->second;
  }
  if (code_.ordered_atomics) {
    const auto time = times_.find(by.who);
    if (time != times_.end()) r.time = time->second;
  }
  return r;
}

bool RaceDetector::ordered(const Record& earlier, const Record& later) const {
  if (earlier.phase < later.phase) return true;
  if (earlier.group == later.group) {
    if (earlier.group_epoch < later.group_epoch) return true;
    if (earlier.subgroup == later.subgroup && earlier.subgroup != kNoSubgroup &&
        earlier.subgroup_epoch < later.subgroup_epoch)
      return true;
  }
  if (!code_.ordered_atomics) return false;
  const auto clock = clocks_.find(later.who);
  if (clock == clocks_.end()) return false;
  const auto knows = [&](uint64_t key) -> std::optional<uint32_t> {
    const auto it = clock->second.find(key);
    if (it == clock->second.end()) return std::nullopt;
    return it->second;
  };
  if (const auto time = knows(earlier.who); time && earlier.time <= *time) return true;
  if (const auto epoch = knows(group_key(earlier.group)); epoch && earlier.group_epoch < *epoch)
    return true;
  if (earlier.subgroup == kNoSubgroup) return false;
  const auto epoch = knows(subgroup_key(earlier.group, earlier.subgroup));
  return epoch && earlier.subgroup_epoch < *epoch;
}

void RaceDetector::access(MemoryRow row, uint64_t element, Access access, const Accessor& by) {
  std::vector<Record>& records = cell(row, element, by.group).records;
  const Record now = record(by, access);
  bool kept = false;  // an equal record is there already
  std::erase_if(records, [&](const Record& old) {
    const bool same = old.who == now.who;
    const bool before = same || ordered(old, now);
    if (!before && conflict(old.access, access)) report(old, now, row, element);
    if (same && !covers(access, old.access) && covers(old.access, access) &&
        old.phase == now.phase && old.group_epoch == now.group_epoch &&
        old.subgroup_epoch == now.subgroup_epoch && old.time == now.time)
      kept = true;
    return before && covers(access, old.access);
  });
  if (kept) return;
  if (records.size() >= kMaxRecords) records.erase(records.begin());
  records.push_back(now);
}

void RaceDetector::order(MemoryRow row, uint64_t element, MemoryOrder order, bool reads,
                         bool writes, const Accessor& by) {
  if (!code_.ordered_atomics) return;
  const Location at = location(row, element, by.group);
  const bool acquires = order == MemoryOrder::Acquire || order == MemoryOrder::AcqRel;
  const bool releases = order == MemoryOrder::Release || order == MemoryOrder::AcqRel;
  const auto released = releases_.find(at);
  if (acquires && reads && released != releases_.end()) {
    join(clocks_[by.who], released->second);
  }
  if (!writes) return;
  // A store starts anew; a read-modify-write goes on with the chain it read from.
  if (!reads && released != releases_.end()) releases_.erase(released);
  if (!releases) return;
  Clock& clock = releases_[at];
  if (const auto mine = clocks_.find(by.who); mine != clocks_.end()) join(clock, mine->second);
  const Record now = record(by, Access::AtomicWrite);
  join(clock, {{by.who, now.time}, {group_key(by.group), now.group_epoch}});
  if (by.subgroup) join(clock, {{subgroup_key(by.group, *by.subgroup), now.subgroup_epoch}});
  ++times_[by.who];
}

void RaceDetector::forget_release(MemoryRow row, uint64_t element, const Accessor& by) {
  if (code_.ordered_atomics) releases_.erase(location(row, element, by.group));
}

void RaceDetector::share_clocks(uint64_t first_lane, uint32_t lanes) {
  if (clocks_.empty()) return;
  Clock all;
  for (uint64_t lane = first_lane; lane < first_lane + lanes; ++lane)
    if (const auto clock = clocks_.find(lane); clock != clocks_.end()) join(all, clock->second);
  if (all.empty()) return;
  for (uint64_t lane = first_lane; lane < first_lane + lanes; ++lane) clocks_[lane] = all;
}

void RaceDetector::barrier_subgroup(uint64_t group, uint32_t subgroup, uint64_t first_lane,
                                    uint32_t lanes) {
  ++groups_[group].subgroup_epochs[subgroup];
  share_clocks(first_lane, lanes);
}

void RaceDetector::barrier_workgroup(uint64_t group, uint64_t first_lane, uint32_t lanes) {
  ++groups_[group].epoch;
  share_clocks(first_lane, lanes);
}

void RaceDetector::barrier_grid() {
  ++phase_;
  clocks_.clear();
  releases_.clear();
}

void RaceDetector::end_group(uint64_t group) {
  groups_.erase(group);
}

void RaceDetector::report(const Record& earlier, const Record& later, MemoryRow row,
                          uint64_t element) {
  // One pair of places is one race, whichever of the two comes first in this run.
  const auto [low, high] = std::minmax(earlier.pc, later.pc);
  const auto known = listed_.find({low, high, row});
  if (known != listed_.end()) {
    ++races_[known->second].times;
    return;
  }
  if (races_.size() >= max_listed_) {
    ++not_listed_;
    return;
  }
  const Program& p = checked_.program;
  const auto side = [&](const Record& r) {
    const ExprId expr = code_.exprs[r.pc];
    return Race::Side{r.access, r.lane,
                      expr.valid() ? p.position_of(expr) : p.position_of(code_.stmts[r.pc])};
  };
  const BufferId buffer = code_.memories[row].memory.buffer();
  listed_.emplace(std::tuple(low, high, row), races_.size());
  races_.push_back({.memory = p[buffer].name,
                    .shared = p[buffer].kind == BufferKind::Shared,
                    .element = element,
                    .first = side(earlier),
                    .second = side(later),
                    .times = 1});
}

std::vector<Race> RaceDetector::take(uint64_t& not_listed) {
  not_listed = not_listed_;
  return std::move(races_);
}

std::string_view name_of(Race::Access access) {
  switch (access) {
    case Access::Read: return "read";
    case Access::Write: return "write";
    case Access::AtomicRead: return "atomic read";
    case Access::AtomicWrite: return "atomic write";
    case Access::CopyRead: return "read by an async copy";
    case Access::CopyWrite: return "write by an async copy";
  }
  return "?";
}

std::string to_string(const Race& race) {
  const auto place = [](const Position& at) {
    return at.line == 0 ? std::string("unknown line") : fmt::format("line {}", at.line);
  };
  return fmt::format("data race on `{}`[{}]: {} in {} (lane {}) and {} in {} (lane {})",
                     race.memory, race.element, name_of(race.first.access), place(race.first.at),
                     race.first.lane, name_of(race.second.access), place(race.second.at),
                     race.second.lane);
}

}  // namespace vyre::oracle
