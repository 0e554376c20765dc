// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_view.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vyre/plan/attribution.hpp"

namespace vyre::cli {

namespace {

constexpr double kSecond = 1e9;

using LaunchTimeOf = std::function<const run::LaunchTime&(const run::Breakdown&)>;

using Breakdowns = std::vector<const run::Breakdown*>;

// Of the repetitions that ran what the last one did.
Breakdowns alike(const std::vector<run::Report>& reports) {
  Breakdowns list;
  for (const run::Report& report : reports)
    if (report.plan == reports.back().plan) list.push_back(&report.breakdown);
  return list;
}

std::optional<Spread> spread(const Breakdowns& breakdowns, const LaunchTimeOf& time_of) {
  std::vector<std::optional<uint64_t>> values;
  for (const run::Breakdown* b : breakdowns) values.push_back(time_of(*b).device_ns);
  return spread_of(values);
}

// The launch that a segment of a plan gets, with the sizes of the plan's own buffers; none for
// launches of another shape than the dispatch's.
class SegmentTraffic {
 public:
  explicit SegmentTraffic(const ProfileInput& input) : input_(input) {}

  [[nodiscard]] std::optional<Traffic> of(size_t number) const {
    const plan::Plan* plan = input_.plan;
    if (plan == nullptr || number >= plan->segments.size() || input_.launch.workgroups() == 0)
      return std::nullopt;
    const plan::Segment& segment = plan->segments[number];
    if (segment.workgroups_per_block != 0) return std::nullopt;
    check::Launch launch = input_.launch;
    const size_t buffers = segment.program.program.buffers.size();
    std::vector<std::span<const std::byte>> given(buffers);
    launch.counts.assign(buffers, 0);
    launch.axes.assign(buffers, {});
    for (size_t i = 0; i < buffers; ++i) {
      // A program that runs as it is has the buffers of the source.
      const plan::Argument argument =
          i < segment.arguments.size()
              ? segment.arguments[i]
              : plan::Argument{plan::Argument::Kind::Source, static_cast<uint32_t>(i)};
      launch.counts[i] = count_of(*plan, argument);
      if (argument.kind == plan::Argument::Kind::Source &&
          argument.index < input_.launch.axes.size())
        launch.axes[i] = input_.launch.axes[argument.index];
      if (argument.kind == plan::Argument::Kind::Source) given[i] = bytes_of_source(argument.index);
    }
    return traffic_of(segment.program, launch, given);
  }

 private:
  [[nodiscard]] uint64_t count_of(const plan::Plan& plan, const plan::Argument& argument) const {
    const check::Launch& launch = input_.launch;
    if (argument.kind == plan::Argument::Kind::Source) return launch.counts[argument.index];
    const plan::Hidden& hidden = plan.hidden[argument.index];
    switch (hidden.extent) {
      case plan::Hidden::Extent::Once: return hidden.count;
      case plan::Hidden::Extent::PerWorkgroup: return hidden.count * launch.workgroups();
      case plan::Hidden::Extent::PerLane:
        return hidden.count * launch.workgroups() * launch.lanes_per_workgroup();
      case plan::Hidden::Extent::LikeBuffer: return launch.counts[hidden.like.index()];
    }
    return 0;
  }
  [[nodiscard]] std::span<const std::byte> bytes_of_source(uint32_t buffer) const {
    const auto& slot = input_.prepared.checked.buffers[buffer].input_slot;
    if (!slot || *slot >= input_.prepared.inputs.size()) return {};
    return input_.prepared.inputs[*slot];
  }

  const ProfileInput& input_;
};

Traffic repeated(Traffic traffic, uint64_t launches) {
  if (__builtin_mul_overflow(traffic.at_least, launches, &traffic.at_least)) {
    traffic.at_least = UINT64_MAX;
    traffic.exact = false;
  }
  return traffic;
}

// Of several segments; none if nothing is known of one of them.
std::optional<Traffic> sum_of(const std::vector<ProfileRow>& segments,
                              const plan::SegmentShares& shares) {
  std::optional<Traffic> sum;
  for (const uint32_t number : shares.whole) {
    if (number >= segments.size() || !segments[number].traffic) return std::nullopt;
    const Traffic& more = *segments[number].traffic;
    if (!sum) {
      sum = more;
      continue;
    }
    sum->at_least += more.at_least;
    sum->exact = sum->exact && more.exact;
    // Of the launch with the most of them.
    sum->active_lanes = std::max(sum->active_lanes, more.active_lanes);
  }
  return sum;
}

void fill(ProfileRow& row, uint64_t device_ns) {
  if (row.own_ns && device_ns > 0)
    row.share = static_cast<double>(row.own_ns->median) / static_cast<double>(device_ns);
  if (row.traffic && row.own_ns && row.own_ns->median > 0 && row.traffic->at_least > 0)
    row.bandwidth = static_cast<double>(row.traffic->at_least) * kSecond /
                    static_cast<double>(row.own_ns->median);
}

}  // namespace

std::vector<ProfileRow> profile_rows(const ProfileInput& input, uint64_t device_ns) {
  const run::Breakdown& last = input.reports.back().breakdown;
  const Breakdowns all = alike(input.reports);
  std::vector<ProfileRow> rows;
  const SegmentTraffic segments(input);
  for (size_t i = 0; i < last.segments.size(); ++i) {
    const run::SegmentTime& segment = last.segments[i];
    ProfileRow row{.kind = ProfileRow::Kind::Segment,
                   .name = fmt::format("{}{}{}", i, segment.regions.empty() ? "" : " ",
                                       fmt::join(segment.regions, ", "))};
    row.launches = segment.time.launches;
    row.own_ns = spread(
        all, [i](const run::Breakdown& b) -> const run::LaunchTime& { return b.segments[i].time; });
    if (const auto once = segments.of(i)) row.traffic = repeated(*once, row.launches);
    rows.push_back(std::move(row));
  }
  const std::vector<ProfileRow> by_segment = rows;
  const auto attribution =
      input.plan != nullptr ? std::optional(plan::attribute_segments(*input.plan)) : std::nullopt;
  const auto add = [&](ProfileRow row, const auto& time, const auto& times_of,
                       const plan::SegmentShares* shares) {
    row.launches = time.own.launches + time.shared.launches;
    row.own_ns = spread(
        all, [&](const run::Breakdown& b) -> const run::LaunchTime& { return times_of(b).own; });
    if (time.shared.launches > 0)
      row.shared_ns = spread(all, [&](const run::Breakdown& b) -> const run::LaunchTime& {
        return times_of(b).shared;
      });
    if (shares != nullptr) row.traffic = sum_of(by_segment, *shares);
    if (row.traffic && time.shared.launches > 0) row.traffic->exact = false;
    rows.push_back(std::move(row));
  };
  for (size_t i = 0; i < last.regions.size(); ++i) {
    const run::RegionTime& region = last.regions[i];
    const bool known = attribution && i < attribution->regions.size() &&
                       attribution->regions[i].name == region.name;
    add(
        {.kind = ProfileRow::Kind::Region, .name = region.name}, region,
        [i](const run::Breakdown& b) -> const run::RegionTime& { return b.regions[i]; },
        known ? &attribution->regions[i].segments : nullptr);
  }
  for (size_t i = 0; i < last.fixpoints.size(); ++i) {
    const run::FixpointTime& fixpoint = last.fixpoints[i];
    ProfileRow row{.kind = ProfileRow::Kind::Fixpoint,
                   .name = fixpoint.at.line != 0 ? fmt::format("line {}", fixpoint.at.line)
                                                 : std::to_string(i),
                   .passes = fixpoint.passes};
    const bool known = attribution && i < attribution->fixpoints.size();
    add(
        std::move(row), fixpoint,
        [i](const run::Breakdown& b) -> const run::FixpointTime& { return b.fixpoints[i]; },
        known ? &attribution->fixpoints[i].segments : nullptr);
  }
  // Launches that are measured one by one can take longer together than the whole.
  uint64_t sum = 0;
  for (const ProfileRow& row : by_segment) sum += row.own_ns ? row.own_ns->median : 0;
  for (ProfileRow& row : rows) fill(row, std::max(device_ns, sum));
  return rows;
}

// ---- numbers as text

namespace {

// Three digits that count.
std::string short_number(double value) {
  if (value >= 100) return fmt::format("{:.0f}", value);
  return value >= 10 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

// Of the device's time; what it shares with others is only known up to their sum.
std::string share_cell(const ProfileView& view, const ProfileRow& row) {
  if (!row.share) return "-";
  if (!row.shared_ns) return percent_text(*row.share);
  const double most = *row.share + (static_cast<double>(row.shared_ns->median) /
                                    static_cast<double>(view.device_ns->median));
  const std::string text = percent_text(std::min(1.0, most));
  return row.own_ns->median == 0 ? "up to " + text
                                 : fmt::format("{} to {}", percent_text(*row.share), text);
}

std::string time_cell(const ProfileRow& row, uint64_t Spread::* part) {
  const auto of = [&](const std::optional<Spread>& spread) {
    return spread ? std::optional((*spread).*part) : std::nullopt;
  };
  if (!row.shared_ns) return duration_text(of(row.own_ns));
  if (!row.own_ns) return "-";
  const uint64_t own = (*row.own_ns).*part;
  const std::string most = duration_text(own + (*row.shared_ns).*part);
  return own == 0 ? "up to " + most : fmt::format("{} to {}", duration_text(own), most);
}

}  // namespace

std::string bytes_text(const Traffic& traffic) {
  constexpr double kStep = 1024;
  static constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(traffic.at_least);
  size_t unit = 0;
  for (; value >= kStep && unit + 1 < std::size(kUnits); ++unit) value /= kStep;
  return fmt::format("{}{} {}", traffic.exact ? "" : "≥ ",
                     unit == 0 ? std::to_string(traffic.at_least) : short_number(value),
                     kUnits[unit]);
}

std::string bandwidth_text(double bytes_per_second, bool exact) {
  constexpr double kGiga = 1e9;
  constexpr double kMega = 1e6;
  const bool giga = bytes_per_second >= kGiga;
  return fmt::format("{}{} {}", exact ? "" : "≥ ",
                     short_number(bytes_per_second / (giga ? kGiga : kMega)),
                     giga ? "GB/s" : "MB/s");
}

std::string percent_text(double fraction, bool exact) {
  return fmt::format("{}{:.1f} %", exact ? "" : "≥ ", 100 * fraction);
}

std::vector<std::string> profile_heads(ProfileRow::Kind kind) {
  const char* what = kind == ProfileRow::Kind::Segment  ? "segment"
                     : kind == ProfileRow::Kind::Region ? "region"
                                                        : "fixpoint";
  return {what,       "time",  "least",     "share",   "passes",
          "launches", "bytes", "bandwidth", "of peak", "lanes active"};
}

std::vector<std::string> profile_cells(const ProfileView& view, const ProfileRow& row) {
  const bool known = row.traffic && (row.traffic->exact || row.traffic->at_least > 0);
  const bool exact = row.traffic && row.traffic->exact;
  const bool lanes = row.traffic && row.traffic->lanes > 0 && row.traffic->active_lanes > 0;
  return {row.name,
          time_cell(row, &Spread::median),
          time_cell(row, &Spread::min),
          share_cell(view, row),
          row.passes ? std::to_string(*row.passes) : "-",
          std::to_string(row.launches),
          known ? bytes_text(*row.traffic) : "unknown",
          row.bandwidth ? bandwidth_text(*row.bandwidth, exact) : "unknown",
          row.bandwidth && view.peak_bandwidth > 0
              ? percent_text(*row.bandwidth / static_cast<double>(view.peak_bandwidth), exact)
              : "unknown",
          lanes ? percent_text(static_cast<double>(row.traffic->active_lanes) /
                                   static_cast<double>(row.traffic->lanes),
                               exact || row.traffic->active_lanes == row.traffic->lanes)
                : "unknown"};
}

std::vector<std::string> profile_notes(const ProfileView& view) {
  std::vector<std::string> notes;
  if (view.repeats > 1)
    notes.push_back(
        fmt::format("time is the median of {} repetitions, least the least of them", view.repeats));
  notes.emplace_back(
      "bytes are what loads, stores and atomics of buffers ask for in all launches of one "
      "repetition, caches or not; with \"≥\" some of it hangs on data and is left out");
  notes.emplace_back(
      "lanes active are those of a launch that certainly execute an access of a buffer");
  notes.push_back(
      view.peak_bandwidth > 0
          ? fmt::format("the device's memory moves {} at most",
                        bandwidth_text(static_cast<double>(view.peak_bandwidth), true))
          : fmt::format("device {} does not report the bandwidth of its memory", view.device));
  if (!view.device_ns)
    notes.push_back(fmt::format("device {} does not measure its own time", view.device));
  notes.push_back(
      fmt::format("device {} reports neither registers nor occupancy of a launch", view.device));
  return notes;
}

}  // namespace vyre::cli
