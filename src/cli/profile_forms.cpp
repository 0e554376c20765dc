// SPDX-License-Identifier: Apache-2.0
// A profile as text for a terminal and as JSON.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/utf8.hpp"
#include "cli/profile_view.hpp"
#include "cli/strategy.hpp"

namespace vyre::cli {

namespace {

constexpr size_t kWidestName = 40;

size_t width_of(std::string_view text) {
  size_t width = 0;
  for (size_t i = 0; i < text.size();) {
    const base::CodePoint point = base::code_point_at(text, i);
    width += base::display_width(point.value);
    i += point.bytes;
  }
  return width;
}

std::string padded(const std::string& text, size_t width, bool left) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return left ? text + space : space + text;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], std::min(width_of(row[i]), kWidestName));
  std::string text;
  for (const auto& row : rows) {
    std::string line = padded(row[0], widths[0], true);
    for (size_t i = 1; i < row.size(); ++i) line += "  " + padded(row[i], widths[i], false);
    text += line + "\n";
  }
  return text;
}

std::string spread_line(std::string_view name, const std::optional<Spread>& spread) {
  const auto part = [&](uint64_t Spread::* which) {
    return duration_text(spread ? std::optional((*spread).*which) : std::nullopt);
  };
  return fmt::format("{:<7} median {:>12}, least {:>12}, most {:>12}\n", name,
                     part(&Spread::median), part(&Spread::min), part(&Spread::max));
}

Json json_of(const std::optional<Spread>& spread) {
  if (!spread) return {};
  return {{"min", spread->min}, {"median", spread->median}, {"max", spread->max}};
}

template <class Number>
Json or_null(const std::optional<Number>& number) {
  return number ? Json(*number) : Json();
}

Json json_of(const ProfileView& view, const ProfileRow& row) {
  Json json;
  json["name"] = row.name;
  json["launches"] = row.launches;
  json["passes"] = or_null(row.passes);
  json["device_ns"] = json_of(row.own_ns);
  json["shared_device_ns"] = json_of(row.shared_ns);
  json["share"] = or_null(row.share);
  const bool known = row.traffic && (row.traffic->exact || row.traffic->at_least > 0);
  json["bytes"] = known ? Json(row.traffic->at_least) : Json();
  json["bytes_exact"] = known ? Json(row.traffic->exact) : Json();
  json["bytes_per_second"] = or_null(row.bandwidth);
  json["of_peak"] = row.bandwidth && view.peak_bandwidth > 0
                        ? Json(*row.bandwidth / static_cast<double>(view.peak_bandwidth))
                        : Json();
  const bool lanes = row.traffic && row.traffic->active_lanes > 0;
  json["lanes"] = lanes ? Json(row.traffic->lanes) : Json();
  json["lanes_active"] = lanes ? Json(row.traffic->active_lanes) : Json();
  json["registers"] = nullptr;  // no device tells
  json["occupancy"] = nullptr;
  return json;
}

}  // namespace

std::string profile_text(const ProfileView& view) {
  std::string text = fmt::format(
      "{} on {}{}, route {}, grid {} of {} lanes, {} launch{}\n", view.program, view.device,
      view.device_name.empty() ? "" : fmt::format(" ({})", view.device_name), view.route,
      fmt::join(view.grid, "x"), fmt::join(view.workgroup, "x"), view.launches,
      view.launches == 1 ? "" : "es");
  text += spread_line("wall", view.wall_ns) + spread_line("device", view.device_ns);
  for (const auto kind :
       {ProfileRow::Kind::Segment, ProfileRow::Kind::Region, ProfileRow::Kind::Fixpoint}) {
    std::vector<std::vector<std::string>> rows = {profile_heads(kind)};
    for (const ProfileRow& row : view.rows)
      if (row.kind == kind) rows.push_back(profile_cells(view, row));
    if (rows.size() > 1) text += "\n" + table(rows);
  }
  text += "\n";
  for (const std::string& note : profile_notes(view)) text += note + "\n";
  return text;
}

Json profile_json(const ProfileView& view) {
  Json json;
  json["program"] = view.program;
  json["digest"] = view.digest;
  json["device"] = view.device;
  json["route"] = view.route;
  json["grid"] = view.grid;
  json["workgroup"] = view.workgroup;
  json["repeats"] = view.repeats;
  json["launches"] = view.launches;
  json["wall_ns"] = json_of(view.wall_ns);
  json["device_ns"] = json_of(view.device_ns);
  json["peak_bytes_per_second"] = view.peak_bandwidth > 0 ? Json(view.peak_bandwidth) : Json();
  for (const char* list : {"segments", "regions", "fixpoints"}) json[list] = Json::array();
  for (const ProfileRow& row : view.rows) {
    const char* list = row.kind == ProfileRow::Kind::Segment  ? "segments"
                       : row.kind == ProfileRow::Kind::Region ? "regions"
                                                              : "fixpoints";
    json[list].push_back(json_of(view, row));
  }
  json["notes"] = profile_notes(view);
  return json;
}

}  // namespace vyre::cli
