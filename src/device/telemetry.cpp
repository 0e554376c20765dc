// SPDX-License-Identifier: Apache-2.0
#include "vyre/device/telemetry.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/utf8.hpp"

namespace vyre::device {
namespace {

struct Field {
  TelemetryKind kind;
  std::string_view name;
  std::string_view help;
  uint64_t TelemetrySnapshot::* value;
};

constexpr Field kFields[] = {
#define VYRE_FIELD(enumerator, name, kind, help) \
  {TelemetryKind::kind, #name, help, &TelemetrySnapshot::name},
    VYRE_TELEMETRY_FIELDS(VYRE_FIELD)
#undef VYRE_FIELD
};

uint64_t difference(uint64_t later, uint64_t earlier) {
  return later > earlier ? later - earlier : 0;
}

bool is_metric_name(std::string_view name) {
  return !name.empty() && name.size() <= Telemetry::kMaxMetricName &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

uint64_t metric_of(const TelemetrySnapshot& snapshot, std::string_view name) {
  for (const auto& [key, value] : snapshot.metrics)
    if (key == name) return value;
  return 0;
}

// Label values escape these three; names come from drivers and may hold any bytes.
std::string label_of(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const base::CodePoint point = base::code_point_at(text, i);
    i += point.bytes;
    if (point.value == U'\n') {
      out += "\\n";
      continue;
    }
    if (point.value == U'"' || point.value == U'\\') out += '\\';
    base::append_utf8(out, point.value);
  }
  return out;
}

void put_head(std::string& out, std::string_view name, std::string_view help,
              std::string_view type) {
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void put_sample(std::string& out, std::string_view name, std::string_view label, uint64_t value) {
  fmt::format_to(std::back_inserter(out), "{}{{device=\"{}\"}} {}\n", name, label, value);
}

}  // namespace

TelemetrySnapshot operator-(const TelemetrySnapshot& later, const TelemetrySnapshot& earlier) {
  TelemetrySnapshot result;
  for (const Field& field : kFields)
    result.*field.value = field.kind == TelemetryKind::Gauge
                              ? later.*field.value
                              : difference(later.*field.value, earlier.*field.value);
  for (const auto& [name, value] : later.metrics)
    result.metrics.emplace_back(name, difference(value, metric_of(earlier, name)));
  return result;
}

void Telemetry::set(TelemetryField field, uint64_t value) noexcept {
  VYRE_CHECK(kind_of(field) == TelemetryKind::Gauge);
  place_of(field).store(value, std::memory_order_relaxed);
}

uint64_t Telemetry::sum_of(TelemetryField field) const {
  uint64_t sum = 0;
  for (const Shard& shard : shards_)
    sum = saturating_add(sum,
                         shard.values[std::to_underlying(field)].load(std::memory_order_relaxed));
  return sum;
}

// The place of a metric, which begins at 0. The caller holds the lock.
Result<uint64_t*> Telemetry::metric(std::string_view name) {
  if (const auto found = metrics_.find(name); found != metrics_.end()) return &found->second;
  if (!is_metric_name(name))
    return std::unexpected(Error{
        .code = ErrorCode::InvalidArgument,
        .message =
            fmt::format("a metric cannot be called `{}`. Fix: use 1 to {} of the "
                        "characters a-z, 0-9 and _",
                        base::printable_text(name.substr(0, kMaxMetricName + 1)), kMaxMetricName),
        .context = {},
        .at = {},
        .diagnostics = {}});
  if (metrics_.size() >= kMaxMetrics)
    return std::unexpected(
        Error{.code = ErrorCode::LimitExceeded,
              .message = fmt::format("no room for the metric `{}`: a device has at most {}. Fix: "
                                     "use a fixed set of names, without numbers that grow",
                                     name, kMaxMetrics),
              .context = {},
              .at = {},
              .diagnostics = {}});
  return &metrics_.emplace(name, 0).first->second;
}

Result<void> Telemetry::set_metric(std::string_view name, uint64_t value) {
  const std::scoped_lock lock(mutex_);
  const Result<uint64_t*> at = metric(name);
  if (!at) return std::unexpected(at.error());
  **at = value;
  return {};
}

Result<void> Telemetry::add_metric(std::string_view name, uint64_t amount) {
  const std::scoped_lock lock(mutex_);
  const Result<uint64_t*> at = metric(name);
  if (!at) return std::unexpected(at.error());
  **at = saturating_add(**at, amount);
  return {};
}

TelemetrySnapshot Telemetry::snapshot() const {
  TelemetrySnapshot result;
  for (size_t i = 0; i < kTelemetryFieldCount; ++i)
    result.*kFields[i].value = sum_of(static_cast<TelemetryField>(i));
  const std::scoped_lock lock(mutex_);
  result.metrics.assign(metrics_.begin(), metrics_.end());
  return result;
}

std::string to_prometheus(std::span<const DeviceTelemetry> devices) {
  std::vector<std::string> labels;
  labels.reserve(devices.size());
  std::set<std::string_view> metrics;
  for (const DeviceTelemetry& each : devices) {
    labels.push_back(label_of(each.device));
    for (const auto& [name, value] : each.snapshot.metrics) metrics.insert(name);
  }
  std::string out;
  for (const Field& field : kFields) {
    const bool gauge = field.kind == TelemetryKind::Gauge;
    const std::string name = fmt::format("vyre_{}{}", field.name, gauge ? "" : "_total");
    put_head(out, name, field.help, gauge ? "gauge" : "counter");
    for (size_t i = 0; i < devices.size(); ++i)
      put_sample(out, name, labels[i], devices[i].snapshot.*field.value);
  }
  for (const std::string_view metric : metrics) {
    const std::string name = fmt::format("vyre_backend_{}", metric);
    put_head(out, name, "counted by the backend", "untyped");
    for (size_t i = 0; i < devices.size(); ++i)
      for (const auto& [key, value] : devices[i].snapshot.metrics)
        if (key == metric) put_sample(out, name, labels[i], value);
  }
  return out;
}

std::string to_prometheus(const TelemetrySnapshot& snapshot, std::string_view device) {
  const DeviceTelemetry one{.device = std::string(device), .snapshot = snapshot};
  return to_prometheus(std::span(&one, 1));
}

std::string to_json(const TelemetrySnapshot& snapshot, std::string_view device) {
  using Json = nlohmann::ordered_json;
  Json json{{"schema", 1},
            {"kind", "telemetry"},
            {"device", device},
            {"counters", Json::object()},
            {"gauges", Json::object()},
            {"backend", Json::object()}};
  for (const Field& field : kFields)
    json[field.kind == TelemetryKind::Gauge ? "gauges" : "counters"][std::string(field.name)] =
        snapshot.*field.value;
  for (const auto& [name, value] : snapshot.metrics) json["backend"][name] = value;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace vyre::device
