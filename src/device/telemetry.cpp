// SPDX-License-Identifier: Apache-2.0
#include "vyre/device/telemetry.hpp"

#include <algorithm>
#include <optional>
#include <vector>

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

struct MetricField {
  TelemetryKind kind;
  std::string_view name;
  std::string_view help;
  std::optional<uint64_t> Metrics::* value;
};

constexpr MetricField kMetrics[] = {
#define VYRE_METRIC(name, kind, help) {TelemetryKind::kind, #name, help, &Metrics::name},
    VYRE_METRICS(VYRE_METRIC)
#undef VYRE_METRIC
};

uint64_t difference(uint64_t later, uint64_t earlier) {
  return later > earlier ? later - earlier : 0;
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

// Puts the description of a field and gives its full name.
std::string put_head(std::string& out, std::string_view prefix, const auto& field) {
  const bool gauge = field.kind == TelemetryKind::Gauge;
  std::string name = fmt::format("{}{}{}", prefix, field.name, gauge ? "" : "_total");
  fmt::format_to(std::back_inserter(out), "# HELP {} {}\n# TYPE {} {}\n", name, field.help, name,
                 gauge ? "gauge" : "counter");
  return name;
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
  for (const MetricField& metric : kMetrics) {
    const std::optional<uint64_t>& now = later.metrics.*metric.value;
    if (now)
      result.metrics.*metric.value =
          metric.kind == TelemetryKind::Gauge
              ? *now
              : difference(*now, (earlier.metrics.*metric.value).value_or(0));
  }
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

TelemetrySnapshot Telemetry::snapshot() const {
  TelemetrySnapshot result;
  for (size_t i = 0; i < kTelemetryFieldCount; ++i)
    result.*kFields[i].value = sum_of(static_cast<TelemetryField>(i));
  return result;
}

std::string to_prometheus(std::span<const DeviceTelemetry> devices) {
  std::vector<std::string> labels;
  labels.reserve(devices.size());
  for (const DeviceTelemetry& each : devices) labels.push_back(label_of(each.device));
  std::string out;
  for (const Field& field : kFields) {
    const std::string name = put_head(out, "vyre_", field);
    for (size_t i = 0; i < devices.size(); ++i)
      put_sample(out, name, labels[i], devices[i].snapshot.*field.value);
  }
  for (const MetricField& metric : kMetrics) {
    const auto value_of = [&](const DeviceTelemetry& each) {
      return each.snapshot.metrics.*metric.value;
    };
    if (std::ranges::none_of(devices, [&](const auto& each) { return value_of(each).has_value(); }))
      continue;
    const std::string name = put_head(out, "vyre_backend_", metric);
    for (size_t i = 0; i < devices.size(); ++i)
      if (const auto value = value_of(devices[i])) put_sample(out, name, labels[i], *value);
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
            {"backend", {{"counters", Json::object()}, {"gauges", Json::object()}}}};
  const auto kind_of = [](const auto& field) {
    return field.kind == TelemetryKind::Gauge ? "gauges" : "counters";
  };
  for (const Field& field : kFields)
    json[kind_of(field)][std::string(field.name)] = snapshot.*field.value;
  for (const MetricField& metric : kMetrics)
    if (const auto value = snapshot.metrics.*metric.value)
      json["backend"][kind_of(metric)][std::string(metric.name)] = *value;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace vyre::device
