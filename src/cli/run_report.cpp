// SPDX-License-Identifier: Apache-2.0
#include "cli/run_report.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/strategy.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::cli {
namespace {

Json json_of(const TrapReport& report) {
  Json json;
  json["tag"] = report.tag;
  json["value"] = report.value;
  json["lane"] = report.lane;
  json["line"] = report.at.line;
  return json;
}

Json json_of(const std::optional<uint64_t>& number) {
  return number ? Json(*number) : Json();
}

Json json_of(const std::optional<Spread>& spread) {
  if (!spread) return {};
  Json json;
  json["min"] = spread->min;
  json["median"] = spread->median;
  json["max"] = spread->max;
  return json;
}

}  // namespace

std::optional<Spread> wall_spread(const Measured& measured) {
  return spread_of(
      std::vector<std::optional<uint64_t>>(measured.wall_ns.begin(), measured.wall_ns.end()));
}

std::string duration_text(const std::optional<uint64_t>& ns) {
  if (!ns) return "-";
  const auto value = static_cast<double>(*ns);
  if (*ns < 1'000) return fmt::format("{} ns", *ns);
  if (*ns < 1'000'000) return fmt::format("{:.3f} us", value / 1e3);
  if (*ns < 1'000'000'000) return fmt::format("{:.3f} ms", value / 1e6);
  return fmt::format("{:.3f} s", value / 1e9);
}

namespace {

// What launches took: nothing known is "-", and what others share is only known up to their sum.
std::string range_text(const run::LaunchTime& own, const run::LaunchTime& shared) {
  if (shared.launches == 0) return duration_text(own.device_ns);
  if (!own.device_ns || !shared.device_ns) return "-";
  const std::string most = duration_text(*own.device_ns + *shared.device_ns);
  return *own.device_ns == 0 ? fmt::format("up to {}", most)
                             : fmt::format("{} to {}", duration_text(own.device_ns), most);
}

constexpr size_t kWidestName = 40;

// A table with as many columns as its first row; all but the first are flush right.
std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], std::min(row[i].size(), kWidestName));
  std::string text;
  for (const auto& row : rows) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

// The rows of one kind, or nothing.
template <class Row, class Cells>
std::string rows_text(std::vector<std::string> head, const std::vector<Row>& rows,
                      const Cells& cells_of) {
  if (rows.empty()) return "";
  std::vector<std::vector<std::string>> table = {std::move(head)};
  for (const Row& row : rows) table.push_back(cells_of(row, table.size() - 1));
  return table_text(table);
}

// Launches that the row shares with others count as its own.
std::string launches_text(const run::LaunchTime& own, const run::LaunchTime& shared) {
  return std::to_string(own.launches + shared.launches);
}

std::string breakdown_text(const run::Breakdown& b) {
  std::string text = rows_text(
      {"segment", "launches", "device"}, b.segments,
      [](const run::SegmentTime& s, size_t i) -> std::vector<std::string> {
        return {fmt::format("{}{}{}", i, s.regions.empty() ? "" : " ", fmt::join(s.regions, ", ")),
                std::to_string(s.time.launches), duration_text(s.time.device_ns)};
      });
  text += rows_text({"region", "launches", "device"}, b.regions,
                    [](const run::RegionTime& r, size_t) -> std::vector<std::string> {
                      return {r.name, launches_text(r.own, r.shared), range_text(r.own, r.shared)};
                    });
  text +=
      rows_text({"fixpoint", "passes", "launches", "device"}, b.fixpoints,
                [](const run::FixpointTime& f, size_t i) -> std::vector<std::string> {
                  return {f.at.line != 0 ? fmt::format("line {}", f.at.line) : std::to_string(i),
                          f.passes ? std::to_string(*f.passes) : "-",
                          launches_text(f.own, f.shared), range_text(f.own, f.shared)};
                });
  return text;
}

Json json_of(const run::LaunchTime& time) {
  Json json;
  json["launches"] = time.launches;
  json["device_ns"] = json_of(time.device_ns);
  return json;
}

// Launches and time of what only the row runs, and of what it shares with others.
Json json_of(const run::LaunchTime& own, const run::LaunchTime& shared) {
  Json json = json_of(own);
  json["shared_launches"] = shared.launches;
  json["shared_device_ns"] = json_of(shared.device_ns);
  return json;
}

Json json_of(const run::Breakdown& b) {
  Json json;
  for (const char* list : {"segments", "regions", "fixpoints"}) json[list] = Json::array();
  for (const run::SegmentTime& segment : b.segments) {
    Json row = json_of(segment.time);
    row["regions"] = segment.regions;
    json["segments"].push_back(std::move(row));
  }
  for (const run::RegionTime& region : b.regions) {
    Json row;
    row["name"] = region.name;
    row.update(json_of(region.own, region.shared));
    json["regions"].push_back(std::move(row));
  }
  for (const run::FixpointTime& fixpoint : b.fixpoints) {
    Json row;
    row["line"] = fixpoint.at.line != 0 ? Json(fixpoint.at.line) : Json();
    row["passes"] = json_of(fixpoint.passes);
    row.update(json_of(fixpoint.own, fixpoint.shared));
    json["fixpoints"].push_back(std::move(row));
  }
  return json;
}

}  // namespace

void Measured::add(run::Report report) {
  wall_ns.push_back(report.wall_ns);
  device_ns.push_back(report.timings.device_ns);
  last = std::move(report);
}

std::optional<Spread> spread_of(std::span<const std::optional<uint64_t>> values) {
  std::vector<uint64_t> sorted;
  sorted.reserve(values.size());
  for (const std::optional<uint64_t>& value : values) {
    if (!value) return std::nullopt;
    sorted.push_back(*value);
  }
  if (sorted.empty()) return std::nullopt;
  std::ranges::sort(sorted);
  return Spread{sorted.front(), sorted[(sorted.size() - 1) / 2], sorted.back()};
}

std::string route_name(const check::CheckedProgram& program, const run::Report& report) {
  return plan::contains_grid_barrier(program) ? std::string(plan::name_of(report.route)) : "whole";
}

std::string time_text(const std::string& device, const std::string& route,
                      const Measured& measured) {
  const run::Report& last = measured.last;
  std::string text = fmt::format("device {}, route {}, {} launch{}\n", device, route, last.launches,
                                 last.launches == 1 ? "" : "es");
  if (last.tuned || !last.trial.empty()) text += fmt::format("tuning: {}\n", measured.why);
  if (measured.wall_ns.size() < 2) {
    text += fmt::format("wall     {:>12}\n", duration_text(last.wall_ns));
    text += fmt::format("device   {:>12}\n", duration_text(last.timings.device_ns));
  } else {
    text += fmt::format("{:<8} {:>12} {:>12} {:>12}\n", "", "min", "median", "max");
    const auto row = [&](std::string_view name, const std::optional<Spread>& spread) {
      const auto cell = [&](uint64_t Spread::* part) {
        return duration_text(spread ? std::optional((*spread).*part) : std::nullopt);
      };
      text += fmt::format("{:<8} {:>12} {:>12} {:>12}\n", name, cell(&Spread::min),
                          cell(&Spread::median), cell(&Spread::max));
    };
    row("wall", wall_spread(measured));
    row("device", spread_of(measured.device_ns));
    text += fmt::format("the last of {}:\n", measured.wall_ns.size());
  }
  text += fmt::format("enqueue  {:>12}\n", duration_text(last.timings.enqueue_ns));
  text += fmt::format("wait     {:>12}\n", duration_text(last.timings.wait_ns));
  return text + breakdown_text(last.breakdown);
}

Json json_of(const Prepared& prepared, const std::string& device, const Measured& measured,
             bool cached) {
  const run::Report& report = measured.last;
  Json json;
  json["program"] = prepared.checked.program.name;
  json["digest"] = ir::digest_of(prepared.checked.program).hex();
  json["device"] = device;
  json["route"] = route_name(prepared.checked, report);
  json["strategy"] = json_of(report.variant);
  json["why"] = measured.why;
  json["tuned"] = report.tuned;
  json["trial"] = report.trial.empty() ? Json() : Json(report.trial);
  json["plan_digest"] = report.plan.hex();
  json["segments"] = report.segments;
  json["launches"] = report.launches;
  json["grid"] = report.grid;
  json["workgroup"] = report.workgroup;
  json["grid_barriers"] = json_of(report.grid_barriers);
  json["fixpoints"] = Json::array();
  for (const FixpointReport& fixpoint : report.fixpoints) {
    Json row;
    row["passes"] = fixpoint.passes;
    row["converged"] = fixpoint.converged;
    json["fixpoints"].push_back(std::move(row));
  }
  json["iterations"] = report.iterations;
  json["statements"] = json_of(report.statements);
  json["traps"] = Json::array();
  for (const TrapReport& trap : report.resumed) json["traps"].push_back(json_of(trap));
  json["wall_ns"] = report.wall_ns;
  json["device_ns"] = json_of(report.timings.device_ns);
  json["enqueue_ns"] = json_of(report.timings.enqueue_ns);
  json["wait_ns"] = json_of(report.timings.wait_ns);
  // Of the last one, with --time.
  if (!report.breakdown.segments.empty()) json["breakdown"] = json_of(report.breakdown);
  json["repeats"] = measured.wall_ns.size();
  json["wall_ns_of_all"] = json_of(wall_spread(measured));
  json["device_ns_of_all"] = json_of(spread_of(measured.device_ns));
  json["cache_hit"] = nullptr;
  if (cached && report.cache_hit != run::CacheHit::Unknown)
    json["cache_hit"] = report.cache_hit == run::CacheHit::Yes;
  return json;
}

}  // namespace vyre::cli
