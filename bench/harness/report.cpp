// SPDX-License-Identifier: Apache-2.0
// Rows as one markdown table and as JSON.
#include "report.hpp"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace vyre::bench {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown CPU";
}

// Of one that is not the processor.
std::string device_name(const Bench& bench) {
  const BackendInfo& info = bench.device().info();
  return info.kind == DeviceKind::Gpu ? info.signature + ", " : std::string();
}

std::string times(const Sample& sample, const Sample& device) {
  std::string text = format_time(sample.median_ns) + " (" + format_time(sample.min_ns) + ")";
  if (device.repetitions != 0) text += "; device " + format_time(device.median_ns);
  return text;
}

std::string ratio_text(const Row& row) {
  if (row.ratio <= 0) return "-";
  std::string text = fmt::format("{:.2f}", row.ratio);
  if (row.device_ratio > 0) text += fmt::format("; device {:.2f}", row.device_ratio);
  return text;
}

std::string goal_text(const Goal& goal) {
  switch (goal.kind) {
    case Goal::Kind::None: return "-";
    case Goal::Kind::Ratio: return "≥ " + fmt::format("{:.3g}", goal.value);
    case Goal::Kind::DeviceRatio: return "device ≥ " + fmt::format("{:.3g}", goal.value);
    case Goal::Kind::Over: return "≤ " + format_time(goal.value) + " over";
    case Goal::Kind::AtMost: return "≤ " + format_time(goal.value);
  }
  return "-";
}

std::string equal_text(const Row& row) {
  if (!row.compared) return "-";
  if (!row.agreement.equal) return "**no**: " + row.agreement.how;
  return row.agreement.how.empty() ? "yes" : "yes, " + row.agreement.how;
}

// A message with several lines would end the table.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '|') c = ' ';
  return text.size() > 300 ? text.substr(0, 300) + "..." : text;
}

nlohmann::json to_json(const Sample& sample) {
  if (sample.repetitions == 0) return nullptr;
  return {{"median_ns", sample.median_ns},
          {"min_ns", sample.min_ns},
          {"repetitions", sample.repetitions}};
}

}  // namespace

std::string format_time(double ns) {
  if (ns < 1e3) return fmt::format("{:.3g} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3g} µs", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.3g} ms", ns / 1e6);
  return fmt::format("{:.3g} s", ns / 1e9);
}

std::string table_head(const Bench& bench) {
  std::string text = "Device `" + bench.options().device + "`, " + device_name(bench) + cpu_name() +
                     ", " + std::to_string(std::thread::hardware_concurrency()) + " cores. ";
  if (bench.quick()) text += "**Quick: sizes are tiny and nothing is judged.** ";
  text += "Times: median (min).\n\n";
  text += "| id | workload | ours | peer | peer's time | ratio | goal | met | equal | n |\n";
  text += "|---|---|---|---|---|---|---|---|---|---|\n";
  return text;
}

std::string table_line(const Row& row) {
  const bool ours = row.ours.repetitions != 0;
  const bool theirs = row.theirs.repetitions != 0;
  std::string text = "| " + row.id + " | " + row.workload + " | ";
  text += !row.failure.empty() ? "failed: " + one_line(row.failure)
          : ours               ? times(row.ours, row.ours_device)
                               : std::string("-");
  text += " | " + row.peer + (row.variant.empty() ? "" : ", " + row.variant) + " | ";
  text += theirs                     ? times(row.theirs, row.theirs_device)
          : row.unavailable == "-"   ? std::string("-")
          : !row.unavailable.empty() ? "unavailable: " + one_line(row.unavailable)
                                     : std::string("-");
  text += " | " + ratio_text(row);
  text += " | " + goal_text(row.goal);
  text += " | " + std::string(!row.judged ? "-" : row.met ? "yes" : "**no**");
  text += " | " + equal_text(row);
  const uint32_t n = std::max(row.ours.repetitions, row.theirs.repetitions);
  text += " | " + (n > 0 ? std::to_string(n) : std::string("-")) + " |\n";
  return text;
}

std::string to_json(const Bench& bench) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : bench.rows()) {
    nlohmann::json entry = {{"id", row.id},
                            {"workload", row.workload},
                            {"ours", to_json(row.ours)},
                            {"peer", row.peer},
                            {"variant", row.variant},
                            {"theirs", to_json(row.theirs)},
                            {"goal", goal_text(row.goal)}};
    if (row.ratio > 0) entry["ratio"] = row.ratio;
    if (row.ours_device.repetitions != 0) entry["ours_device"] = to_json(row.ours_device);
    if (row.theirs_device.repetitions != 0) entry["theirs_device"] = to_json(row.theirs_device);
    if (row.device_ratio > 0) entry["device_ratio"] = row.device_ratio;
    if (row.judged) entry["met"] = row.met;
    if (row.compared) entry["equal"] = row.agreement.equal;
    if (!row.agreement.how.empty()) entry["compared"] = row.agreement.how;
    if (!row.failure.empty()) entry["failure"] = row.failure;
    if (!row.unavailable.empty()) entry["unavailable"] = row.unavailable;
    rows.push_back(std::move(entry));
  }
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::tm utc{};
  std::strftime(date, sizeof date, "%FT%TZ", gmtime_r(&now, &utc));
  const nlohmann::json all = {{"date", date},
                              {"cpu", cpu_name()},
                              {"cores", std::thread::hardware_concurrency()},
                              {"device", bench.options().device},
                              {"signature", bench.device().info().signature},
                              {"quick", bench.quick()},
                              {"rows", rows}};
  return all.dump(1) + "\n";
}

}  // namespace vyre::bench
