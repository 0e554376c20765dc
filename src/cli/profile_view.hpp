// SPDX-License-Identifier: Apache-2.0
// A profile as it is shown: where the device's time of a program went, by segment, region and
// fixpoint, with what is known of the work done there. Every form (text, JSON, HTML) is written
// from it. What a device does not tell is absent, never a guess.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan_view.hpp"
#include "cli/profile_traffic.hpp"
#include "cli/run_report.hpp"
#include "vyre/device/registry.hpp"
#include "vyre/run/breakdown.hpp"

namespace vyre::cli {

struct ProfileRow {
  enum class Kind : uint8_t { Segment, Region, Fixpoint };
  Kind kind = Kind::Segment;
  std::string name;
  std::optional<uint64_t> passes{};
  uint64_t launches = 0;  // of one repetition, with those that it shares with others
  // Over the repetitions, of launches that run nothing else; and of those that it shares.
  std::optional<Spread> own_ns{}, shared_ns{};
  std::optional<double> share{};      // of the device's time, of `own_ns`
  std::optional<Traffic> traffic{};   // of all launches of one repetition
  std::optional<double> bandwidth{};  // bytes per second, by the median
};

// A span of the trace of one command.
struct ProfileSpan {
  std::string name, category, track;
  uint64_t start_ns = 0;
  uint64_t duration_ns = 0;
};

struct ProfileView {
  std::string file, program, digest;
  std::string device, device_name, route;
  check::Axes grid = {0, 0, 0}, workgroup = {1, 1, 1};
  uint32_t repeats = 1;
  uint64_t launches = 0;
  std::optional<Spread> wall_ns, device_ns;
  uint64_t peak_bandwidth = 0;  // bytes per second; 0: unknown
  std::vector<ProfileRow> rows;
  std::optional<PlanView> plan;  // of this run; none: it ran another one than is shown
  std::vector<ProfileSpan> spans;
};

struct ProfileInput {
  const Prepared& prepared;
  const check::Launch& launch;
  const std::vector<run::Report>& reports;  // of the repetitions, at least one
  const plan::Plan* plan = nullptr;         // what ran; null: not known
};
// The rows of a profile.
std::vector<ProfileRow> profile_rows(const ProfileInput& input, uint64_t device_ns);

// "1.50 MiB", "12.3 GB/s", "37.5 %"; with "≥ " before what is not exact.
std::string bytes_text(const Traffic& traffic);
std::string bandwidth_text(double bytes_per_second, bool exact);
std::string percent_text(double fraction, bool exact = true);
// What the cells of a row say, one for each head; "unknown" or "-" for nothing.
std::vector<std::string> profile_heads(ProfileRow::Kind kind);
std::vector<std::string> profile_cells(const ProfileView& view, const ProfileRow& row);
// What the numbers mean and which are missing, a sentence each.
std::vector<std::string> profile_notes(const ProfileView& view);

std::string profile_text(const ProfileView& view);
Json profile_json(const ProfileView& view);
std::string profile_html(const ProfileView& view);

}  // namespace vyre::cli
