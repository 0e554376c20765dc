// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_view.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "base/match.hpp"
#include "vyre/check/overwritten.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/plan/bindings.hpp"
#include "vyre/text/text.hpp"

namespace vyre::cli {

using namespace ir;

std::string text_of(Place place) {
  return fmt::format("{}:{}", place.line, place.column);
}

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string PlanView::Segment::lines() const {
  if (first_line == 0) return "";
  if (first_line == last_line) return fmt::format("line {}", first_line);
  return fmt::format("lines {} to {}", first_line, last_line);
}

std::string regions_text(const PlanView::Segment& segment) {
  return fmt::format("{} {}", segment.regions.size() == 1 ? "region" : "regions",
                     fmt::join(segment.regions, ", "));
}

std::string shared_text(const PlanView::Shared& shared) {
  if (shared.restore && shared.save) return "restored and saved";
  return shared.restore ? "restored" : "saved";
}

uint64_t PlanView::workgroups() const {
  return uint64_t{(*grid)[0]} * (*grid)[1] * (*grid)[2];
}

namespace {

Place place_of(const Position& at) {
  return {at.line, at.column};
}

std::string with_place(std::string text, Place at) {
  if (at.line != 0) text += fmt::format(" at {}", text_of(at));
  return text;
}

std::string_view access_text(plan::Access access) {
  switch (access) {
    case plan::Access::ReadOnly: return "read";
    case plan::Access::WriteOnly: return "write";
    case plan::Access::ReadWrite: return "read write";
  }
  return "?";
}

std::string_view each_text(plan::Hidden::Extent extent) {
  switch (extent) {
    case plan::Hidden::Extent::Once: return "dispatch";
    case plan::Hidden::Extent::PerWorkgroup: return "workgroup";
    case plan::Hidden::Extent::PerLane: return "lane";
    case plan::Hidden::Extent::LikeBuffer: return "buffer";
  }
  return "?";
}

class Viewer {
 public:
  explicit Viewer(const PlanViewInput& input)
      : input_(input),
        plan_(input.plan),
        checked_(input.prepared.checked),
        p_(input.prepared.checked.program) {}

  Result<PlanView> run() {
    view_.file = input_.prepared.name;
    view_.source = input_.prepared.text;
    view_.program = p_.name;
    view_.digest = digest_of(p_).hex();
    view_.route = name_of(plan_.route);
    view_.why = input_.strategy.why;
    view_.strategy = input_.strategy;
    view_.plan_digest = input_.digest.hex();
    view_.checked = input_.checked;
    view_.whole = plan_.whole;
    view_.barriers = plan_.barriers;
    VYRE_TRY(buffers());
    launch();
    for (const plan::Segment& s : plan_.segments) view_.segments.push_back(segment(s));
    name_words();
    view_.steps = steps(plan_.steps, "the end of the program");
    hidden();
    stops();
    VYRE_TRY(scratch());
    return std::move(view_);
  }

 private:
  [[nodiscard]] std::string name(BufferId id) const { return p_[id].name; }

  [[nodiscard]] std::string missing_text(const std::vector<BufferId>& needs) const {
    std::vector<std::string> options;
    options.reserve(needs.size());
    for (const BufferId id : needs) options.push_back(fmt::format("--in {}", name(id)));
    return fmt::format("{}", fmt::join(options, ", "));
  }

  // As a dispatch sees it; none if the launch is not known.
  [[nodiscard]] std::optional<std::vector<bool>> overwritten_buffers() const {
    const size_t count = p_.buffers.size();
    if (input_.checked || plan_.route == plan::Route::Host) return std::vector<bool>(count);
    std::vector<std::span<const std::byte>> given(count);
    for (uint32_t i = 0; i < count; ++i) {
      if (!input_.known.count_known(BufferId{i})) return std::nullopt;
      if (const auto slot = checked_.buffers[i].input_slot)
        given[i] = input_.prepared.inputs[*slot];
    }
    if (!input_.known.grid_known) return std::nullopt;
    return check::overwritten(checked_, input_.known.launch, given);
  }

  Result<void> buffers() {
    VYRE_TRY_ASSIGN(auto bindings, plan::plan_bindings(checked_));
    const auto overwritten = overwritten_buffers();
    for (uint32_t i = 0; i < p_.buffers.size(); ++i) {
      const ir::Buffer& declared = p_.buffers[i];
      const check::BufferFacts& facts = checked_.buffers[i];
      PlanView::Buffer row;
      row.name = declared.name;
      row.kind = name_of(declared.kind);
      row.element = name_of(declared.element);
      row.access = "workgroup";
      for (const plan::Binding& b : bindings.bindings)
        if (b.buffer_index == BufferId{i}) row.access = access_text(b.access);
      if (input_.known.count_known(BufferId{i})) {
        row.count = input_.known.launch.counts[i];
        row.axes = input_.known.launch.axes[i];
      }
      row.input_slot = facts.input_slot;
      row.output_slot = facts.output_slot;
      row.binding = facts.binding;
      if (facts.input_slot)
        row.begins = "given";
      else if (facts.role == check::Role::Shared)
        row.begins = "zeros";
      else if (overwritten)
        row.begins = (*overwritten)[i] ? "overwritten" : "zeros";
      view_.buffers.push_back(std::move(row));
    }
    for (const uint32_t row : bindings.input_slots)
      view_.inputs.push_back(bindings.bindings[row].name);
    for (const uint32_t row : bindings.output_slots)
      view_.outputs.push_back(bindings.bindings[row].name);
    return {};
  }

  void launch() {
    view_.workgroup = input_.known.launch.workgroup;
    if (input_.known.grid_known)
      view_.grid = input_.known.launch.grid;
    else if (input_.known.grid_needed)
      view_.grid_missing = "needs --grid";
    else
      view_.grid_missing =
          fmt::format("needs {}, or --grid", missing_text(input_.known.grid_needs));
  }

  // ---- steps

  void name_words() {
    for (const plan::Segment& s : plan_.segments)
      for (const plan::LiveAcross& c : s.live_across)
        if (c.where.starts_with("frame word ")) words_.try_emplace(c.where, c.name);
  }

  // "`going` (frame word 1)", if a local with a name lies there.
  [[nodiscard]] std::string word_text(uint32_t word) const {
    const std::string where = fmt::format("frame word {}", word);
    const auto named = words_.find(where);
    return named == words_.end() ? where : fmt::format("`{}` ({})", named->second, where);
  }

  // `end` says what comes after the last of them.
  std::vector<PlanView::Step> steps(const plan::Steps& list, std::string_view end) {
    std::vector<PlanView::Step> out;
    for (const plan::Step& s : list) {
      out.push_back(step(s));
      if (const auto segment = out.back().segment)
        view_.segments[*segment].end =
            end_of(*segment, out.size() == list.size() ? end : std::string_view());
    }
    return out;
  }

  PlanView::Step step(const plan::Step& step) {
    using Kind = PlanView::Step::Kind;
    PlanView::Step out;
    match(
        step.node,
        [&](const plan::LaunchStep& x) {
          out.kind = Kind::Launch;
          out.segment = x.segment;
          out.label = fmt::format("segment {}", x.segment);
        },
        [&](const plan::PhaseStep&) {
          out.kind = Kind::Barrier;
          out.label = "barrier, nothing to launch";
        },
        [&](const plan::BranchStep& x) {
          out.kind = Kind::Branch;
          out.word = x.word;
          out.at = place_of(x.at);
          out.label = with_place(fmt::format("if {}", word_text(x.word)), out.at);
          out.groups.push_back({"then", steps(x.then_steps, "the end of the branch")});
          out.groups.push_back({"else", steps(x.else_steps, "the end of the branch")});
        },
        [&](const plan::LoopStep& x) {
          out.kind = Kind::Loop;
          out.word = x.word;
          out.at = place_of(x.at);
          out.label = with_place("loop", out.at);
          out.again = fmt::format("while {}", word_text(x.word));
          out.groups.push_back({"condition", steps(x.condition, "the decision of the loop")});
          out.groups.push_back({"body", steps(x.body, "the end of the loop body")});
        },
        [&](const plan::FixpointStep& x) { fixpoint(x, out); },
        [&](const plan::ResumeStep& x) {
          out.kind = Kind::Resume;
          out.row = x.resume;
          out.at = place_of(plan_.resumes[x.resume].at);
          out.label = with_place(
              fmt::format("resume of trap {} by the host", plan_.resumes[x.resume].tag), out.at);
        },
        [&](const plan::CollectiveStep& x) {
          out.kind = Kind::Collective;
          out.at = place_of(x.at);
          std::string operands = name(x.src);
          if (x.dst.valid()) operands += ", " + name(x.dst);
          out.label = with_place(fmt::format("{}({})", name_of(x.op), operands), out.at);
        },
        [&](const plan::CopyStep& x) {
          out.kind = Kind::Copy;
          out.label = fmt::format("copy {} to {}", name(x.src), name(x.dst));
        },
        [&](const plan::SwapStep& x) {
          out.kind = Kind::Swap;
          out.at = place_of(x.at);
          out.label = with_place(fmt::format("swap({}, {})", name(x.a), name(x.b)), out.at);
        });
    return out;
  }

  void fixpoint(const plan::FixpointStep& x, PlanView::Step& out) {
    const plan::FixpointInfo& info = plan_.fixpoints[x.fixpoint];
    std::vector<std::string> watched;
    watched.reserve(info.buffers.size());
    for (const plan::FixpointBuffer& b : info.buffers) watched.push_back(name(b.buffer));
    out.kind = PlanView::Step::Kind::Fixpoint;
    out.row = x.fixpoint;
    if (!x.most) out.word = x.word;
    out.at = place_of(info.at);
    out.label = with_place(fmt::format("fixpoint over {}", fmt::join(watched, ", ")), out.at);
    out.again = fmt::format("until nothing changes, at most {} passes",
                            x.most ? std::to_string(*x.most) : word_text(x.word));
    out.groups.push_back({"each pass", steps(x.body, "the end of the pass")});
  }

  // ---- segments

  static PlanView::LiveAcross live_across(const plan::LiveAcross& c) {
    PlanView::LiveAcross out;
    out.name = c.name;
    out.type = name_of(c.type);
    if (c.elements != 0) out.type += fmt::format("[{}]", c.elements);
    out.level = name_of(c.level);
    out.how = c.how;
    out.where = c.where;
    out.why = c.why;
    out.declared = place_of(c.declared);
    return out;
  }

  // What ends a segment, in words; `last` is how its block of steps ends.
  std::string end_of(uint32_t number, std::string_view last) const {
    const plan::Segment& s = plan_.segments[number];
    const Place at = place_of(s.barrier);
    if (s.ends_phase) return with_place("a grid barrier", at);
    if (at.line != 0) return with_place("the statement", at);
    return std::string(last.empty() ? "the next step" : last);
  }

  PlanView::Segment segment(const plan::Segment& s) {
    PlanView::Segment out;
    out.regions = s.regions;
    out.first_line = s.first_line;
    out.last_line = s.last_line;
    out.ends_phase = s.ends_phase;
    out.barriers_inside = s.barriers_inside;
    out.barrier = place_of(s.barrier);
    for (const plan::LiveAcross& c : s.live_across) out.live_across.push_back(live_across(c));
    for (const plan::SharedUse& use : s.shared)
      out.shared.push_back({name(plan_.hidden[use.hidden].like), use.restore, use.save});
    if (s.barriers_inside) out.notes.emplace_back("grid barriers inside the launch");
    if (s.workgroups_per_block != 0)
      out.notes.emplace_back("blocks iterate over the workgroups of the dispatch");
    if (s.swaps_frame) out.notes.emplace_back("writes the other half of the frame");
    if (s.swaps_group_frame) out.notes.emplace_back("writes the other half of the workgroup frame");
    if (s.carries_group_frame)
      out.notes.emplace_back("copies the workgroup frame of workgroups that wait");
    if (s.reports_live) out.notes.emplace_back("reports whether a lane is left");
    out.program = text::print(s.program.program);
    return out;
  }

  // ---- memory

  void hidden() {
    for (const plan::Hidden& h : plan_.hidden) {
      PlanView::Hidden row;
      row.name = h.name;
      row.kind = name_of(h.kind);
      row.element = name_of(h.element);
      row.count = h.count;
      row.two_halves = h.two_halves;
      row.each = each_text(h.extent);
      if (h.like.valid()) row.like = name(h.like);
      if (h.extent != plan::Hidden::Extent::LikeBuffer)
        row.bytes = uint64_t{h.count} * bytes_of(h.element) * (h.two_halves ? 2 : 1);
      else if (input_.known.count_known(h.like))
        row.bytes = input_.known.launch.counts[h.like.index()] * bytes_of(p_[h.like].element);
      view_.hidden.push_back(std::move(row));
    }
  }

  Result<void> scratch() {
    VYRE_TRY_ASSIGN(const auto bytes, plan::state_bytes(plan_, checked_, input_.known.launch));
    view_.lane_bytes = bytes.per_lane;
    view_.workgroup_bytes = bytes.per_workgroup;
    view_.fixed_bytes = bytes.fixed;
    std::vector<BufferId> needs;
    for (const plan::Hidden& h : plan_.hidden)
      if (h.extent == plan::Hidden::Extent::LikeBuffer)
        for (const BufferId need : input_.known.count_needs[h.like.index()])
          if (std::ranges::find(needs, need) == needs.end()) needs.push_back(need);
    if (needs.empty()) view_.snapshot_bytes = bytes.snapshots;
    const bool any_grid = bytes.per_lane == 0 && bytes.per_workgroup == 0;
    if (needs.empty() && (view_.grid || any_grid))
      view_.total_bytes = bytes.total;
    else if (!needs.empty())
      view_.total_missing = fmt::format("needs {}", missing_text(needs));
    else
      view_.total_missing = view_.grid_missing;
    return {};
  }

  void stops() {
    for (const plan::FixpointInfo& info : plan_.fixpoints) {
      PlanView::Fixpoint row;
      row.at = place_of(info.at);
      for (const plan::FixpointBuffer& b : info.buffers)
        row.buffers.push_back({name(b.buffer), std::string(name_of(b.mode)), b.why});
      view_.fixpoints.push_back(std::move(row));
    }
    for (const plan::ResumeInfo& info : plan_.resumes)
      view_.resumes.push_back({info.tag, false, place_of(info.at), false});
    for (const plan::Site& site : plan_.sites)
      view_.traps.push_back({site.tag, site.zero_passes, place_of(site.at), site.assertion});
  }

  const PlanViewInput& input_;
  const plan::Plan& plan_;
  const check::CheckedProgram& checked_;
  const Program& p_;
  PlanView view_;
  std::map<std::string, std::string> words_;  // of the frame: what lies there first
};

}  // namespace

Result<PlanView> view_plan(const PlanViewInput& input) {
  return Viewer(input).run();
}

namespace {

CardLine::Kind kind_of(plan::LiveAcross::How how) {
  switch (how) {
    case plan::LiveAcross::How::Saved: return CardLine::Kind::Saved;
    case plan::LiveAcross::How::Kept: return CardLine::Kind::Kept;
    case plan::LiveAcross::How::Recomputed: return CardLine::Kind::Recomputed;
  }
  return CardLine::Kind::Plain;
}

}  // namespace

std::vector<CardLine> card_lines(const PlanView::Segment& segment) {
  std::vector<CardLine> lines;
  if (std::string where = segment.lines(); !where.empty()) lines.push_back({std::move(where)});
  if (!segment.regions.empty()) lines.push_back({regions_text(segment)});
  for (const PlanView::LiveAcross& c : segment.live_across)
    lines.push_back({fmt::format("{} {}: {}{}{}", name_of(c.how), c.name, c.type,
                                 c.where.empty() ? "" : ", ", c.where),
                     kind_of(c.how)});
  for (const PlanView::Shared& s : segment.shared)
    lines.push_back({fmt::format("shared {} {}", s.name, shared_text(s))});
  lines.push_back({"ends with " + segment.end});
  return lines;
}

std::string PlanView::count_text(const Buffer& b) {
  if (!b.count) return "?";
  std::string text = std::to_string(*b.count);
  if (!b.axes.empty()) text += fmt::format(" = {}", fmt::join(b.axes, " x "));
  return text;
}

}  // namespace vyre::cli
