// SPDX-License-Identifier: Apache-2.0
// Finding data races while a program runs.
//
// Every element keeps the accesses that a later one could still race with. Two accesses are ordered
// if a barrier whose scope holds both lanes lies between them, or if a chain of release and acquire
// leads from one to the other. A lane that has ended counts as having arrived at every later
// barrier, because barriers do not wait for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "oracle/code.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::oracle {

// Who accesses: lanes are numbered over the grid, an async copy is a lane of its own that belongs
// to no subgroup.
struct Accessor {
  uint64_t who = 0;
  uint64_t group = 0;
  std::optional<uint32_t> subgroup;
  uint32_t lane = 0;  // to show
  Pc pc = 0;

  static Accessor copy(uint64_t group, uint16_t tag, uint32_t lane, Pc pc) {
    return {(uint64_t{1} << 63) | (group << 16) | tag, group, std::nullopt, lane, pc};
  }
};

class RaceDetector {
 public:
  RaceDetector(const check::CheckedProgram& checked, const Code& code, uint64_t max_listed)
      : checked_(checked), code_(code), max_listed_(max_listed), buffers_(code.memories.size()) {}

  void access(MemoryRow row, uint64_t element, Race::Access access, const Accessor& by);
  // An atomic, after access(): what its memory order adds. `writes`: it stored a value.
  void order(MemoryRow row, uint64_t element, ir::MemoryOrder order, bool reads, bool writes,
             const Accessor& by);
  // A plain store breaks a chain of releases.
  void forget_release(MemoryRow row, uint64_t element, const Accessor& by);

  // The lanes of a scope have consecutive numbers.
  void barrier_subgroup(uint64_t group, uint32_t subgroup, uint64_t first_lane, uint32_t lanes);
  void barrier_workgroup(uint64_t group, uint64_t first_lane, uint32_t lanes);
  void barrier_grid();
  void end_group(uint64_t group);

  std::vector<Race> take(uint64_t& not_listed);

 private:
  struct Record {
    uint64_t who = 0;
    uint64_t group = 0;
    uint64_t phase = 0;
    uint32_t group_epoch = 0;
    uint32_t subgroup = 0;
    uint32_t subgroup_epoch = 0;
    uint32_t time = 0;  // of the lane, counted in releases
    uint32_t lane = 0;
    Pc pc = 0;
    Race::Access access = Race::Access::Read;
  };
  // What is known to have happened before: by lane up to a time, by workgroup and subgroup up to
  // an epoch.
  using Clock = std::unordered_map<uint64_t, uint32_t>;
  struct Cell {
    std::vector<Record> records;
  };
  struct Group {
    uint32_t epoch = 0;
    std::unordered_map<uint32_t, uint32_t> subgroup_epochs;
    std::map<MemoryRow, std::vector<Cell>> shared;
  };
  struct Location {
    uint64_t group;  // kAllGroups for buffers
    MemoryRow row;
    uint64_t element;
    friend auto operator<=>(const Location&, const Location&) = default;
  };

  void share_clocks(uint64_t first_lane, uint32_t lanes);
  [[nodiscard]] Location location(MemoryRow row, uint64_t element, uint64_t group) const;
  Cell& cell(MemoryRow row, uint64_t element, uint64_t group);
  Record record(const Accessor& by, Race::Access access);
  [[nodiscard]] bool ordered(const Record& earlier, const Record& later) const;
  void report(const Record& earlier, const Record& later, MemoryRow row, uint64_t element);

  const check::CheckedProgram& checked_;
  const Code& code_;
  uint64_t max_listed_;
  uint64_t phase_ = 0;
  std::vector<std::vector<Cell>> buffers_;
  std::unordered_map<uint64_t, Group> groups_;
  std::unordered_map<uint64_t, Clock> clocks_;    // by lane
  std::unordered_map<uint64_t, uint32_t> times_;  // by lane: releases so far
  std::map<Location, Clock> releases_;
  std::map<std::tuple<Pc, Pc, MemoryRow>, size_t> listed_;
  std::vector<Race> races_;
  uint64_t not_listed_ = 0;
};

}  // namespace vyre::oracle
