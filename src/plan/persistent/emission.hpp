// SPDX-License-Identifier: Apache-2.0
// What the files that emit a persistent kernel share.
#pragma once

#include <algorithm>

#include "plan/persistent/emit.hpp"

namespace vyre::plan::persistent {

// What belongs to one iteration over virtual workgroups.
struct Iteration {
  struct Axis {
    ir::LocalId local;
    bool used = false;
  };
  std::array<Axis, 3> wid, gid, lid;
  ir::LocalId number, group, lane, in_group;
  ir::LocalId active;                       // of one among several: whether it exists
  std::map<uint32_t, ir::LocalId> names;    // by LocalId
  std::map<uint32_t, ir::LocalId> hoisted;  // by ExprId: loads that are done already
  bool uses_lane = false;
};

// A body while it is emitted.
struct Emission {
  explicit Emission(const EmitInput& input)
      : d(input.d),
        memory(input.memory),
        a(input.analysis),
        place(input.placement),
        lane_of_source(input.lane),
        live(input.live),
        interleave(std::max(input.interleave, 1U)),
        wide_index(input.wide_index),
        is_1d(input.is_1d),
        size(input.d.c.workgroup) {}

  Draft& d;
  KernelMemory& memory;
  const Analysis& a;
  const Placement& place;
  const ir::LocalId lane_of_source, live;
  const uint32_t interleave;
  const bool wide_index, is_1d;
  const std::array<uint32_t, 3> size;  // of a workgroup of the dispatch

  // Of the launch.
  ir::LocalId first, stride, groups, iterations, is_row;
  ir::LocalId first_lane;  // whether this lane stands for the first one of the dispatch
  ir::LocalId backwards;   // whether the next loop over iterations begins with the last one
  ir::LocalId from, by;    // of this loop: its first workgroup, and the way to the next
  uint32_t loops = 0;      // around the phase
  std::array<ir::LocalId, 3> num = {};
  std::set<uint32_t> declared;  // locals that some iteration has declared under their own name
  Iteration now;
  bool in_iteration = false;
};

// ---- emit.cpp

// Whether all iterations read the same. `seen`: locals of the phase that are declared outside of
// the iterations.
bool reads_once(const Emission& em, ir::ExprId id, const std::set<uint32_t>& seen);
ir::StmtId name_group(Emission& em, ir::ExprId number);

// ---- iteration.cpp

void name_ids(Emission& em);
StmtList declare_ids(Emission& em);
// What a local is called in this iteration. Every declaration has a local of its own.
ir::LocalId named(const Emission& em, ir::LocalId local);
void declare(Emission& em, ir::LocalId local);
void rewrite(Emission& em, ir::StmtId id, StmtList& out);
ir::ExprId rewrite(Emission& em, ir::ExprId id);
void rematerialise(Emission& em, ir::LocalId local, std::set<uint32_t>& declared, StmtList& out);
ir::ExprId in_slot(Emission& em, ir::LocalId local, ir::LocalId element = {});
ir::StmtId to_slot(Emission& em, ir::LocalId local, ir::ExprId value, ir::LocalId element = {});
// One iteration: that of the loop, or the unrolled one of this number. `before`: uniform locals as
// they were.
void emit_iteration(Emission& em, uint32_t phase, std::span<const ir::StmtId> items,
                    std::optional<uint32_t> unrolled, std::map<uint32_t, ir::LocalId>& before,
                    StmtList& outside, StmtList& out);

// ---- interleave.cpp

// How many iterations are interleaved: 1 if there is nothing to gain.
uint32_t interleave_width(const Emission& em, std::span<const ir::StmtId> items);
void iterate_interleaved(Emission& em, uint32_t phase, std::span<const ir::StmtId> items,
                         uint32_t width, StmtList& out);
// Which iterations: from this one on, or unrolled ones from this number on.
struct Range {
  ir::LocalId base = {};
  uint32_t number = 0;
  bool all = false;  // there are so many
};
StmtList interleave(Emission& em, uint32_t phase, std::span<const ir::StmtId> items, uint32_t width,
                    const Range& range, std::map<uint32_t, ir::LocalId>& before, StmtList& outside);

}  // namespace vyre::plan::persistent
