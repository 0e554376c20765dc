// SPDX-License-Identifier: Apache-2.0
// D-OBS.1: the counters themselves. What each path adds is tested where the paths are, in run.
#include "vyre/device/telemetry.hpp"

#include <set>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace vyre::device {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

struct Field {
  TelemetryField id;
  TelemetryKind kind;
  std::string name;
  std::string help;
  uint64_t TelemetrySnapshot::* value;
};

const std::vector<Field>& fields() {
  static const std::vector<Field> kAll = {
#define VYRE_FIELD(enumerator, name, kind, help) \
  {TelemetryField::enumerator, TelemetryKind::kind, #name, help, &TelemetrySnapshot::name},
      VYRE_TELEMETRY_FIELDS(VYRE_FIELD)
#undef VYRE_FIELD
  };
  return kAll;
}

struct MetricField {
  TelemetryKind kind;
  std::string name;
  std::string help;
  std::optional<uint64_t> Metrics::* value;
};

const std::vector<MetricField>& metrics() {
  static const std::vector<MetricField> kAll = {
#define VYRE_METRIC(name, kind, help) {TelemetryKind::kind, #name, help, &Metrics::name},
      VYRE_METRICS(VYRE_METRIC)
#undef VYRE_METRIC
  };
  return kAll;
}

// A different number for every field, too large for 32 bits.
uint64_t number_of(size_t index) {
  return (uint64_t{1} << 33) + index;
}

TelemetrySnapshot all_different() {
  TelemetrySnapshot snapshot;
  for (size_t i = 0; i < fields().size(); ++i) snapshot.*fields()[i].value = number_of(i);
  return snapshot;
}

// The names are an interface: dashboards break when one changes.
TEST(Telemetry, NamesInTheirOrder) {
  std::vector<std::string> names;
  names.reserve(fields().size());
  for (const Field& field : fields()) names.push_back(field.name);
  EXPECT_THAT(
      names,
      ElementsAre("dispatches", "launches", "input_bytes", "output_bytes", "output_slots",
                  "output_slots_reused", "output_slots_moved", "output_slots_appended",
                  "output_bytes_incoming", "output_bytes_copied", "output_bytes_moved",
                  "output_bytes_appended", "output_bytes_retained", "grid_sync_splits",
                  "grid_sync_segments", "grid_sync_points", "launches_native",
                  "launches_persistent", "launches_resident", "launches_host", "launches_whole",
                  "fixpoint_passes", "fixpoint_early_exits", "cache_hits", "cache_misses",
                  "cache_unknown", "cache_corrupt", "compile_ns", "planned", "generated",
                  "strategies_revised", "tuning_trials", "tuning_adopted", "tuning_records_read",
                  "device_lost", "recoveries", "traps", "out_of_bounds", "cleared_bytes"));
  EXPECT_EQ(names.size(), kTelemetryFieldCount);
  std::set<std::string> helps;
  for (const Field& field : fields()) {
    EXPECT_EQ(kind_of(field.id), field.kind);
    EXPECT_EQ(field.kind == TelemetryKind::Gauge, field.name == "output_bytes_retained");
    EXPECT_TRUE(helps.insert(field.help).second) << field.name;
    EXPECT_THAT(field.help, Not(HasSubstr("\n")));
  }
}

TEST(Telemetry, BeginsAtZero) {
  EXPECT_EQ(Telemetry().snapshot(), TelemetrySnapshot{});
}

TEST(Telemetry, EachFieldCountsForItself) {
  for (const Field& field : fields()) {
    Telemetry telemetry;
    telemetry.add(field.id);
    telemetry.add(field.id, uint64_t{1} << 40);
    TelemetrySnapshot expected;
    expected.*field.value = (uint64_t{1} << 40) + 1;
    EXPECT_EQ(telemetry.snapshot(), expected) << field.name;
    EXPECT_NE(telemetry.snapshot(), TelemetrySnapshot{}) << field.name;
  }
}

TEST(Telemetry, AGaugeIsTheLastValueWhateverTheThread) {
  Telemetry telemetry;
  telemetry.set(TelemetryField::OutputBytesRetained, 100);
  std::thread([&] { telemetry.set(TelemetryField::OutputBytesRetained, 7); }).join();
  EXPECT_EQ(telemetry.snapshot().output_bytes_retained, 7U);
}

TEST(TelemetryDeathTest, ACounterIsNotSet) {
  Telemetry telemetry;
  EXPECT_DEATH(telemetry.set(TelemetryField::Dispatches, 1), "internal bug");
}

TEST(Telemetry, CountersStopAtTheTop) {
  Telemetry telemetry;
  telemetry.add(TelemetryField::InputBytes, kMax - 1);
  telemetry.add(TelemetryField::InputBytes, 1);
  EXPECT_EQ(telemetry.snapshot().input_bytes, kMax);
  telemetry.add(TelemetryField::InputBytes, kMax);
  EXPECT_EQ(telemetry.snapshot().input_bytes, kMax);
  // The sums of threads as well.
  Telemetry shared;
  shared.add(TelemetryField::InputBytes, kMax - 1);
  std::thread([&] { shared.add(TelemetryField::InputBytes, 5); }).join();
  EXPECT_EQ(shared.snapshot().input_bytes, kMax);
}

TEST(Telemetry, AddingNeitherThrowsNorLocks) {
  static_assert(noexcept(std::declval<Telemetry&>().add(TelemetryField::Launches, 1)));
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
}

// More threads than shards, and readers at the same time.
TEST(Telemetry, ThreadsLoseNothing) {
  constexpr uint64_t kThreads = 12;
  constexpr uint64_t kRounds = 2000;
  Telemetry telemetry;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      uint64_t seen = 0;
      for (uint64_t i = 0; i < kRounds; ++i) {
        telemetry.add(TelemetryField::Dispatches);
        telemetry.add(TelemetryField::InputBytes, i);
        if (i % 100 != 0) continue;
        const uint64_t now = telemetry.snapshot().dispatches;
        EXPECT_GE(now, seen) << "a counter went down";
        seen = now;
      }
    });
  for (std::thread& thread : threads) thread.join();
  TelemetrySnapshot expected;
  expected.dispatches = kThreads * kRounds;
  expected.input_bytes = kThreads * (kRounds * (kRounds - 1) / 2);
  EXPECT_EQ(telemetry.snapshot(), expected);
}

// D-OBS.5: as those of the fields.
TEST(Metrics, NamesInTheirOrder) {
  std::vector<std::string> counters;
  std::vector<std::string> gauges;
  std::set<std::string> helps;
  for (const MetricField& metric : metrics()) {
    (metric.kind == TelemetryKind::Gauge ? gauges : counters).push_back(metric.name);
    EXPECT_TRUE(helps.insert(metric.help).second) << metric.name;
    EXPECT_THAT(metric.help, Not(HasSubstr("\n")));
    EXPECT_EQ(metric.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos);
  }
  EXPECT_THAT(counters, ElementsAre("graphs_built", "graphs_replayed", "graphs_patched", "jit_ns",
                                    "load_ns", "worker_wakes"));
  EXPECT_THAT(gauges, ElementsAre("memory_bytes", "memory_peak_bytes", "memory_kept_bytes",
                                  "staging_bytes", "submissions_in_flight", "workers"));
}

TEST(TelemetrySnapshot, DifferencesAreByField) {
  for (size_t i = 0; i < fields().size(); ++i) {
    const Field& field = fields()[i];
    TelemetrySnapshot later = all_different();
    later.*field.value += 5;
    TelemetrySnapshot expected;
    for (const Field& each : fields())
      if (each.kind == TelemetryKind::Gauge) expected.*each.value = later.*each.value;
    if (field.kind == TelemetryKind::Counter) expected.*field.value = 5;
    EXPECT_EQ(later - all_different(), expected) << field.name;
  }
}

// D-OBS.5
TEST(TelemetrySnapshot, DifferencesOfMetricsAreByKindAndNeverBelowZero) {
  for (const MetricField& metric : metrics()) {
    const bool gauge = metric.kind == TelemetryKind::Gauge;
    const auto difference = [&](std::optional<uint64_t> later, std::optional<uint64_t> earlier) {
      TelemetrySnapshot a;
      TelemetrySnapshot b;
      a.metrics.*metric.value = later;
      b.metrics.*metric.value = earlier;
      TelemetrySnapshot expected;
      const TelemetrySnapshot since = a - b;
      expected.metrics.*metric.value = since.metrics.*metric.value;
      EXPECT_EQ(since, expected) << "another one changed, too";
      return since.metrics.*metric.value;
    };
    SCOPED_TRACE(metric.name);
    EXPECT_EQ(difference(10, 2), gauge ? 10 : 8);
    EXPECT_EQ(difference(4, 5), gauge ? 4 : 0);
    EXPECT_EQ(difference(3, std::nullopt), 3);
    EXPECT_EQ(difference(std::nullopt, 1), std::nullopt);
  }
  TelemetrySnapshot earlier;
  earlier.dispatches = 9;
  TelemetrySnapshot later;
  later.dispatches = 8;
  EXPECT_EQ((later - earlier).dispatches, 0U);
}

TEST(TelemetryPrometheus, EveryFieldWithHelpAndType) {
  std::string expected;
  for (size_t i = 0; i < fields().size(); ++i) {
    const Field& field = fields()[i];
    const bool gauge = field.name == "output_bytes_retained";
    const std::string name = "vyre_" + field.name + (gauge ? "" : "_total");
    expected += "# HELP " + name + " " + field.help + "\n";
    expected += "# TYPE " + name + (gauge ? " gauge\n" : " counter\n");
    expected += name + "{device=\"cuda:1\"} " + std::to_string(number_of(i)) + "\n";
  }
  EXPECT_EQ(to_prometheus(all_different(), "cuda:1"), expected);
}

// D-OBS.5
TEST(TelemetryPrometheus, EveryMetricWithHelpAndType) {
  for (const MetricField& metric : metrics()) {
    TelemetrySnapshot snapshot;
    snapshot.metrics.*metric.value = 7;
    const bool gauge = metric.kind == TelemetryKind::Gauge;
    const std::string name = "vyre_backend_" + metric.name + (gauge ? "" : "_total");
    EXPECT_THAT(
        to_prometheus(snapshot, "cpu"),
        testing::EndsWith("\n# HELP " + name + " " + metric.help + "\n# TYPE " + name +
                          (gauge ? " gauge\n" : " counter\n") + name + "{device=\"cpu\"} 7\n"));
  }
  EXPECT_THAT(to_prometheus({}, "cpu"), Not(HasSubstr("backend"))) << "what is not known, is not 0";
}

TEST(TelemetryPrometheus, SeveralDevicesDescribeANameOnce) {
  const std::vector<DeviceTelemetry> devices = {
      {.device = "a",
       .snapshot = {.dispatches = 1, .metrics = {.memory_bytes = 3, .graphs_built = 4}}},
      {.device = "b", .snapshot = {.dispatches = 2, .metrics = {.memory_bytes = 5}}}};
  const std::string text = to_prometheus(devices);
  EXPECT_THAT(text, HasSubstr("# TYPE vyre_dispatches_total counter\n"
                              "vyre_dispatches_total{device=\"a\"} 1\n"
                              "vyre_dispatches_total{device=\"b\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE vyre_backend_memory_bytes gauge\n"
                              "vyre_backend_memory_bytes{device=\"a\"} 3\n"
                              "vyre_backend_memory_bytes{device=\"b\"} 5\n"));
  EXPECT_THAT(text, testing::EndsWith("# TYPE vyre_backend_graphs_built_total counter\n"
                                      "vyre_backend_graphs_built_total{device=\"a\"} 4\n"));
  std::set<std::string> heads;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(!line.starts_with("#") || heads.insert(line).second) << line;
}

TEST(TelemetryPrometheus, LabelsAreEscaped) {
  EXPECT_THAT(to_prometheus({}, "a\"b\\c\nd\xFF"),
              HasSubstr("vyre_launches_total{device=\"a\\\"b\\\\c\\nd\uFFFD\"} 0\n"));
}

TEST(TelemetryJson, EveryFieldUnderItsName) {
  TelemetrySnapshot snapshot = all_different();
  snapshot.compile_ns = kMax;
  for (size_t i = 0; i < metrics().size(); ++i) snapshot.metrics.*metrics()[i].value = number_of(i);
  snapshot.metrics.staging_bytes.reset();
  const Json json = Json::parse(to_json(snapshot, "cpu \"0\"\xFF"));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("schema", "kind", "device", "counters", "gauges", "backend"));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["kind"], "telemetry");
  EXPECT_EQ(json["device"], "cpu \"0\"\uFFFD");
  for (const Field& field : fields())
    EXPECT_EQ(json[field.kind == TelemetryKind::Gauge ? "gauges" : "counters"]
                  .at(field.name)
                  .get<uint64_t>(),
              snapshot.*field.value)
        << field.name;
  EXPECT_EQ(json["counters"].size() + json["gauges"].size(), kTelemetryFieldCount);
  // D-OBS.5
  for (const MetricField& metric : metrics()) {
    const Json& of_kind =
        json["backend"].at(metric.kind == TelemetryKind::Gauge ? "gauges" : "counters");
    EXPECT_EQ(of_kind.contains(metric.name), metric.name != "staging_bytes");
    if (!of_kind.contains(metric.name)) continue;
    EXPECT_EQ(of_kind[metric.name].get<uint64_t>(), snapshot.metrics.*metric.value);
  }
  EXPECT_EQ(json["backend"]["counters"].size() + json["backend"]["gauges"].size(),
            metrics().size() - 1);
}

}  // namespace
}  // namespace vyre::device
