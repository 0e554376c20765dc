// SPDX-License-Identifier: Apache-2.0
// A plan for other programs. docs/cli.md lists the fields.
#include <nlohmann/json.hpp>

#include "cli/plan_view.hpp"
#include "cli/strategy.hpp"

namespace vyre::cli {

namespace {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
Json or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}
Json or_null(uint32_t line) {
  return line == 0 ? Json() : Json(line);
}

void put_place(Json& json, Place at) {
  json["line"] = or_null(at.line);
  json["column"] = or_null(at.column);
}

std::string_view name_of(PlanView::Step::Kind kind) {
  using Kind = PlanView::Step::Kind;
  switch (kind) {
    case Kind::Launch: return "launch";
    case Kind::Barrier: return "barrier";
    case Kind::Branch: return "branch";
    case Kind::Loop: return "loop";
    case Kind::Fixpoint: return "fixpoint";
    case Kind::Resume: return "resume";
    case Kind::Collective: return "collective";
    case Kind::Copy: return "copy";
    case Kind::Swap: return "swap";
  }
  return "?";
}

template <class List, class ToJson>
Json array_of(const List& list, const ToJson& to_json) {
  Json json = Json::array();
  for (const auto& item : list) json.push_back(to_json(item));
  return json;
}

// A branch has "then" and "else", a loop "condition" and "body", a fixpoint "body".
Json json_of(const PlanView::Step& step) {
  using Kind = PlanView::Step::Kind;
  Json json;
  json["kind"] = name_of(step.kind);
  json["label"] = step.label;
  if (step.segment) json["segment"] = *step.segment;
  if (step.row) json[step.kind == Kind::Resume ? "resume" : "fixpoint"] = *step.row;
  if (step.word) json["frame_word"] = *step.word;
  if (step.kind == Kind::Fixpoint || step.kind == Kind::Resume || step.kind == Kind::Collective ||
      step.kind == Kind::Swap)
    put_place(json, step.at);
  for (const PlanView::Group& group : step.groups)
    json[step.kind == Kind::Fixpoint ? "body" : group.label] =
        array_of(group.steps, [](const PlanView::Step& s) { return json_of(s); });
  return json;
}

Json json_of(const PlanView::Buffer& b) {
  Json json;
  json["name"] = b.name;
  json["kind"] = b.kind;
  json["type"] = b.element;
  json["count"] = or_null(b.count);
  if (!b.axes.empty()) json["axes"] = b.axes;
  json["access"] = b.access;
  json["input"] = or_null(b.input_slot);
  json["output"] = or_null(b.output_slot);
  json["binding"] = or_null(b.binding);
  json["begins"] = or_null(b.begins);
  return json;
}

Json json_of(const PlanView::LiveAcross& c) {
  Json json;
  json["name"] = c.name;
  json["type"] = c.type;
  json["level"] = c.level;
  json["how"] = plan::name_of(c.how);
  json["where"] = or_null(c.where);
  json["why"] = c.why;
  put_place(json, c.declared);
  return json;
}

Json json_of(const PlanView::Segment& s) {
  Json json;
  json["regions"] = s.regions;
  json["first_line"] = or_null(s.first_line);
  json["last_line"] = or_null(s.last_line);
  json["ends_with"] = s.end;
  json["barrier"] = s.ends_phase;
  json["barriers_inside"] = s.barriers_inside;
  put_place(json, s.barrier);
  json["live_across"] = array_of(s.live_across, [](const auto& c) { return json_of(c); });
  json["shared"] = array_of(s.shared, [](const PlanView::Shared& shared) {
    return Json{{"name", shared.name}, {"restored", shared.restore}, {"saved", shared.save}};
  });
  json["notes"] = s.notes;
  json["program"] = s.program;
  return json;
}

Json json_of(const PlanView::Hidden& h) {
  Json json;
  json["name"] = h.name;
  json["holds"] = h.kind;
  json["type"] = h.element;
  json["count"] = h.each == "buffer" ? Json() : Json(h.count);
  json["halves"] = h.two_halves ? 2 : 1;
  json["per"] = h.each;
  json["like"] = or_null(h.like);
  json["bytes"] = or_null(h.bytes);
  return json;
}

Json json_of(const PlanView::Fixpoint& f) {
  Json json;
  put_place(json, f.at);
  json["buffers"] = array_of(f.buffers, [](const PlanView::Fixpoint::Watched& b) {
    return Json{{"name", b.name}, {"mode", b.mode}, {"why", b.why}};
  });
  return json;
}

Json json_of(const PlanView::Stop& stop) {
  Json json;
  json["tag"] = stop.zero_passes || stop.assertion ? Json() : Json(stop.tag);
  put_place(json, stop.at);
  return json;
}

template <class List>
Json all(const List& list) {
  return array_of(list, [](const auto& item) { return json_of(item); });
}

}  // namespace

Json plan_json(const PlanView& v) {
  Json json;
  json["file"] = v.file;
  json["program"] = v.program;
  json["digest"] = v.digest;
  json["route"] = v.route;
  json["why"] = v.why;
  json["strategy"] = json_of(v.strategy.variant);
  json["estimated"] = v.strategy.is_estimate();
  json["tuned"] = v.strategy.tuned;
  json["plan_digest"] = v.plan_digest;
  json["checked"] = v.checked;
  json["grid_barriers"] = v.barriers;
  json["whole"] = v.whole;
  json["buffers"] = all(v.buffers);
  json["inputs"] = v.inputs;
  json["outputs"] = v.outputs;
  json["workgroup"] = v.workgroup;
  json["grid"] = or_null(v.grid);
  json["grid_missing"] = or_null(v.grid_missing);
  json["steps"] = all(v.steps);
  json["segments"] = all(v.segments);
  json["hidden"] = all(v.hidden);
  Json scratch;
  scratch["per_lane"] = v.lane_bytes;
  scratch["per_workgroup"] = v.workgroup_bytes;
  scratch["fixed"] = v.fixed_bytes;
  scratch["snapshots"] = or_null(v.snapshot_bytes);
  scratch["total"] = or_null(v.total_bytes);
  scratch["missing"] = or_null(v.total_missing);
  json["scratch"] = std::move(scratch);
  json["fixpoints"] = all(v.fixpoints);
  json["resumes"] = all(v.resumes);
  json["traps"] = all(v.traps);
  return json;
}

}  // namespace vyre::cli
