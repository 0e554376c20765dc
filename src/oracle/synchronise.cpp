// SPDX-License-Identifier: Apache-2.0
// Where lanes synchronise: barriers of every scope, subgroup operations, waits, fixpoints, resumes
// and collectives, and what it means when a lane leaves for good.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "oracle/machine.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::oracle {

using namespace ir;

namespace {

// An index has at most 64 bits, with or without a sign.
std::string to_text(__int128 index) {
  return index < 0 ? fmt::format("{}", static_cast<int64_t>(index))
                   : fmt::format("{}", static_cast<uint64_t>(index));
}

}  // namespace

void Machine::arrive(Group& group, uint32_t index, Scope scope) {
  const uint32_t subgroup = index / options_.subgroup_size;
  switch (scope) {
    case Scope::Subgroup:
      group.lanes[index].state = LaneState::AtSubgroup;
      if (++group.subgroups[subgroup].arrived == group.subgroups[subgroup].live)
        complete_subgroup(group, subgroup);
      break;
    case Scope::Workgroup:
      group.lanes[index].state = LaneState::AtWorkgroup;
      if (++group.at_workgroup == group.live) complete_workgroup(group);
      break;
    case Scope::Grid:
      group.lanes[index].state = LaneState::AtGrid;
      ++group.at_grid;
      ++at_grid_;
      break;
  }
}

// A lane that takes part in nothing more, or in nothing until its resume. Those who wait for it may
// be complete now.
void Machine::leave(Group& group, uint32_t index, LaneState state) {
  group.lanes[index].state = state;
  const uint32_t subgroup = index / options_.subgroup_size;
  Group::Subgroup& s = group.subgroups[subgroup];
  if (!group.lanes[index].retired) --s.live;
  --group.live;
  --live_;
  if (state == LaneState::Trapped) {
    ++group.trapped;
    ++trapped_;
  }
  if (s.live != 0 && s.arrived == s.live) complete_subgroup(group, subgroup);
  if (group.live != 0 && group.at_workgroup == group.live) complete_workgroup(group);
}

void Machine::complete_subgroup(Group& group, uint32_t subgroup) {
  const uint32_t first = subgroup * options_.subgroup_size;
  const uint32_t last =
      std::min(first + options_.subgroup_size, static_cast<uint32_t>(group.lanes.size()));
  std::optional<Pc> pc;
  for (uint32_t l = first; l < last; ++l) {
    if (group.lanes[l].state != LaneState::AtSubgroup) continue;
    if (!pc) pc = group.lanes[l].pc;
    VYRE_CHECK(*pc == group.lanes[l].pc);  // the checker proved uniform flow
  }
  const Instr& instr = code_.instrs[*pc];
  if (instr.op == Op::Subgroup)
    subgroup_operation(group, subgroup, instr);
  else if (races_)
    races_->barrier_subgroup(group.id, subgroup, global_id(group, first), last - first);
  group.subgroups[subgroup].arrived = 0;
  for (uint32_t l = first; l < last; ++l) {
    if (group.lanes[l].state != LaneState::AtSubgroup) continue;
    group.lanes[l].pc = *pc + 1;
    make_ready(group, l);
  }
}

void Machine::complete_workgroup(Group& group) {
  std::optional<Pc> pc;
  for (const Lane& lane : group.lanes) {
    if (lane.state != LaneState::AtWorkgroup) continue;
    if (!pc) pc = lane.pc;
    VYRE_CHECK(*pc == lane.pc);
  }
  const Instr& instr = code_.instrs[*pc];
  if (instr.op == Op::Wait) {
    for (PendingCopy& copy : group.copies)
      if (copy.tag == instr.b) perform(group, copy);
    std::erase_if(group.copies, [&](const PendingCopy& copy) { return copy.tag == instr.b; });
  }
  if (slice_.all_arrive && group.live != group.lanes.size()) ++missed_barriers_;
  if (races_)
    races_->barrier_workgroup(group.id, global_id(group, 0),
                              static_cast<uint32_t>(group.lanes.size()));
  group.at_workgroup = 0;
  for (uint32_t l = 0; l < group.lanes.size(); ++l) {
    if (group.lanes[l].state != LaneState::AtWorkgroup) continue;
    group.lanes[l].pc = *pc + 1;
    make_ready(group, l);
  }
}

// ---- the grid

void Machine::end_phase() {
  ++totals_.phases;
  if (races_) races_->barrier_grid();
}

void Machine::release_grid(Pc to) {
  at_grid_ = 0;
  for (const auto& group : groups_) {
    group->at_grid = 0;
    for (uint32_t l = 0; l < group->lanes.size(); ++l) {
      if (group->lanes[l].state != LaneState::AtGrid) continue;
      group->lanes[l].pc = to;
      make_ready(*group, l);
    }
  }
}

Result<void> Machine::complete_grid() {
  std::optional<Pc> pc;
  LaneRef someone;
  for (const auto& group : groups_)
    for (uint32_t l = 0; l < group->lanes.size(); ++l) {
      if (group->lanes[l].state != LaneState::AtGrid) continue;
      if (!pc) {
        pc = group->lanes[l].pc;
        someone = {group.get(), l};
      }
      VYRE_CHECK(*pc == group->lanes[l].pc);
    }
  const Instr& instr = code_.instrs[*pc];
  const uint64_t* frame = frame_of(*someone.group, someone.lane);
  if (slice_.all_arrive && at_grid_ != groups_in_slice_ * lanes_per_group_) ++missed_barriers_;
  end_phase();
  switch (instr.op) {
    case Op::Barrier: release_grid(*pc + 1); return {};
    case Op::FixpointEnter: enter_fixpoint(instr, *pc, frame); return {};
    case Op::FixpointPass: end_fixpoint_pass(instr, *pc); return {};
    case Op::Resume: release_grid(*pc + 1); return resume(static_cast<uint16_t>(instr.b));
    case Op::Collective: {
      if (next_collective_ < code_.unconditional_collectives.size() &&
          code_.unconditional_collectives[next_collective_] == *pc)
        ++next_collective_;
      VYRE_TRY(collective(code_.collectives[instr.a], frame));
      release_grid(*pc + 1);
      return {};
    }
    case Op::Swap:
      // Contents move, names and lengths stay; the phase has ended, so no access is in between.
      std::ranges::swap_ranges(buffers_[resolve(instr.a, frame)],
                               buffers_[resolve(instr.b, frame)]);
      release_grid(*pc + 1);
      return {};
    default: break;
  }
  VYRE_CHECK(!"lanes of the grid wait at something that is no meeting point of the grid");
}

void Machine::enter_fixpoint(const Instr& instr, Pc pc, const uint64_t* frame) {
  Fixpoint& f = fixpoints_[instr.b];
  f.most = static_cast<uint32_t>(frame[instr.a]);
  f.passes = 0;
  f.buffers.clear();
  for (const MemoryRow row : code_.fixpoints[instr.b].buffers)
    f.buffers.push_back(resolve(row, frame));
  f.before.clear();
  for (const MemoryRow row : f.buffers)
    f.before.emplace_back(buffers_[row].begin(), buffers_[row].end());
  release_grid(pc + 1);
}

void Machine::end_fixpoint_pass(const Instr& instr, Pc pc) {
  Fixpoint& f = fixpoints_[instr.b];
  ++f.passes;
  bool same = true;
  for (size_t k = 0; k < f.buffers.size(); ++k) {
    const std::span<const std::byte> now = buffers_[f.buffers[k]];
    if (std::ranges::equal(f.before[k], now)) continue;
    same = false;
    f.before[k].assign(now.begin(), now.end());
  }
  if (!same && f.passes < f.most) {
    release_grid(instr.target);
    return;
  }
  fixpoint_passes_ = f.passes;
  fixpoint_converged_ = same;
  f.before.clear();
  constexpr size_t kMostReports = 1024;
  if (totals_.fixpoints.size() == kMostReports) totals_.fixpoints.erase(totals_.fixpoints.begin());
  totals_.fixpoints.push_back({f.passes, same});
  release_grid(pc + 1);
}

// ---- traps

Result<void> Machine::resume(uint16_t tag) {
  std::vector<TrapReport> reports = std::move(reports_[tag]);
  std::vector<LaneRef> lanes = std::move(waiting_[tag]);
  reports_.erase(tag);
  waiting_.erase(tag);
  std::ranges::sort(reports, {}, &TrapReport::lane);
  if (!reports.empty() && options_.on_resume) {
    VYRE_TRY(options_.on_resume(reports, *this));
  }
  totals_.resumed.insert(totals_.resumed.end(), reports.begin(), reports.end());
  for (const LaneRef& ref : lanes) {
    Group& group = *ref.group;
    ++group.subgroups[ref.lane / options_.subgroup_size].live;
    ++group.live;
    ++live_;
    --group.trapped;
    --trapped_;
    group.lanes[ref.lane].pc += 1;
    make_ready(group, ref.lane);
  }
  return {};
}

namespace {

// The calls that lead to the resume a lane waits for, outermost first, then the resume itself: in
// this form places compare in the order of execution.
std::vector<Pc> path_of(const Code& code, const LaneRef& ref) {
  const Lane& lane = ref.group->lanes[ref.lane];
  const uint64_t* base = ref.group->slots.data() + uint64_t{ref.lane} * code.frame_slots;
  std::vector<Pc> path = {lane.pc};
  for (uint32_t frame = lane.frame; frame != 0;) {
    const uint64_t link = base[frame];
    path.push_back(static_cast<Pc>(link) - 1);
    frame -= static_cast<uint32_t>(link >> 32);
  }
  std::ranges::reverse(path);
  return path;
}

}  // namespace

// No lane is live, but some wait: the grid goes on at the first resume that has any.
Result<void> Machine::resume_first() {
  std::optional<std::pair<std::vector<Pc>, uint16_t>> first;
  for (const auto& [tag, lanes] : waiting_) {
    std::pair candidate(path_of(code_, lanes.front()), tag);
    if (!first || candidate < *first) first = std::move(candidate);
  }
  VYRE_TRY(remaining_collectives(first->first.front()));
  end_phase();
  return resume(first->second);
}

// ---- collectives of a single rank

Result<void> Machine::collective(const CollectiveInfo& info, const uint64_t* frame) {
  if (info.op == CollectiveOp::AllReduce || info.op == CollectiveOp::Broadcast) return {};
  const MemoryRow src = resolve(info.src, frame);
  const MemoryRow dst = resolve(info.dst, frame);
  const Program& p = checked_.program;
  if (launch_.counts[src] != launch_.counts[dst])
    return std::unexpected(Error{
        .code = ErrorCode::InvalidArgument,
        .message = fmt::format(
            "{} on one rank copies `{}` ({} elements) to `{}` ({} elements). Fix: with R ranks the "
            "one is R times as long as the other",
            name_of(info.op), p.buffers[src].name, launch_.counts[src], p.buffers[dst].name,
            launch_.counts[dst]),
        .context = {},
        .at = p.position_of(info.stmt),
        .diagnostics = {}});
  if (src != dst) std::ranges::copy(buffers_[src], buffers_[dst].begin());
  return {};
}

// Collectives take part even when no lane is left: other ranks wait for them. Only those that no
// branch or loop decides about can be known to come.
Result<void> Machine::remaining_collectives(Pc before) {
  for (; next_collective_ < code_.unconditional_collectives.size() &&
         code_.unconditional_collectives[next_collective_] < before;
       ++next_collective_) {
    end_phase();
    const Instr& instr = code_.instrs[code_.unconditional_collectives[next_collective_]];
    VYRE_TRY(collective(code_.collectives[instr.a], nullptr));
  }
  return {};
}

// ---- what a resume handler may do

std::span<const std::byte> Machine::read(BufferId buffer) const {
  return buffers_[buffer.index()];
}

std::span<std::byte> Machine::write(BufferId buffer) {
  const BufferKind kind = checked_.program[buffer].kind;
  if (kind != BufferKind::InOut && kind != BufferKind::Out && kind != BufferKind::Persistent)
    return {};
  return buffers_[buffer.index()];
}

// ---- errors

Error trapped_error(const TrapReport& report) {
  // That of a loop whose step is not positive, unless the program has this tag itself.
  const std::string_view loop =
      report.tag == kMaxTag ? " (a `for` reports a step that is not positive so)" : "";
  return {.code = ErrorCode::Trapped,
          .message = fmt::format(
              "lane {} trapped with tag {} and value {}, and the program has no "
              "resume({}){}. Fix: look at what the program reports with this trap, or add a "
              "resume",
              report.lane, report.tag, report.value, report.tag, loop),
          .context = {},
          .at = report.at,
          .diagnostics = {}};
}

Error assertion_error(uint32_t lane, std::string_view text, Position at) {
  return {
      .code = ErrorCode::Trapped,
      .message = fmt::format("lane {}: the assertion failed: {}. Fix: look at why the condition "
                             "does not hold there",
                             lane, text),
      .context = {},
      .at = std::move(at),
      .diagnostics = {}};
}

Error zero_passes_error(uint32_t lane, Position at) {
  return {.code = ErrorCode::InvalidArgument,
          .message = fmt::format(
              "a fixpoint of at most 0 passes (lane {}). Fix: allow at least one pass", lane),
          .context = {},
          .at = std::move(at),
          .diagnostics = {}};
}

Error out_of_bounds_error(uint32_t lane, std::string_view memory, std::string_view index,
                          uint64_t count, Position at) {
  return {.code = ErrorCode::OutOfBounds,
          .message = fmt::format(
              "lane {} accesses `{}`[{}], which has {} element{}. Fix: guard the access, or run "
              "without checked mode to let it read 0 and drop what it writes",
              lane, memory, index, count, count == 1 ? "" : "s"),
          .context = {},
          .at = std::move(at),
          .diagnostics = {}};
}

Position position_of(const check::CheckedProgram& checked, const Code& code, Pc pc) {
  const ExprId expr = code.exprs[pc];
  const Program& p = checked.program;
  return expr.valid() ? p.position_of(expr) : p.position_of(code.stmts[pc]);
}

Error error_of(const check::CheckedProgram& checked, const Code& code, const Stop& stop) {
  const Program& p = checked.program;
  Error error{.code = ErrorCode::Trapped,
              .message = {},
              .context = {},
              .at = position_of(checked, code, stop.pc),
              .diagnostics = {}};
  switch (stop.kind) {
    case Stop::Kind::Trap:
      return trapped_error(
          {.tag = stop.tag, .value = stop.value, .lane = stop.lane, .at = error.at});
    case Stop::Kind::FixpointZero: return zero_passes_error(stop.lane, error.at);
    case Stop::Kind::Assertion: return assertion_error(stop.lane, stop.text, error.at);
    case Stop::Kind::OutOfBounds: {
      const Memory m = code.memories[stop.memory].memory;
      const std::string& name = m.kind == Memory::Kind::Buffer  ? p[m.buffer()].name
                                : m.kind == Memory::Kind::Table ? p[m.table()].name
                                                                : p[m.local()].name;
      return out_of_bounds_error(stop.lane, name, to_text(stop.index), stop.count, error.at);
    }
  }
  return error;
}

}  // namespace vyre::oracle
