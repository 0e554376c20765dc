// SPDX-License-Identifier: Apache-2.0
#include "vyre/device/capabilities.hpp"

#include <functional>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vyre::device {
namespace {

using testing::ElementsAre;

// Another value than the one that stands there.
void change(bool& value) {
  value = !value;
}
void change(uint32_t& value) {
  value += 1;
}
void change(uint64_t& value) {
  value += uint64_t{1} << 32;  // a field cut to 32 bits would not show it
}
void change(Axes& value) {
  value[2] += 1;
}
void change(FormatSet& value) {
  value.insert(Format::Spirv);
}
void change(TimingQuality& value) {
  value = TimingQuality::HardwareCounters;
}
void change(std::string& value) {
  value += "x";
}

// Each field changed alone, by its name.
#define VYRE_CHANGED(type, name, initial) \
  {                                       \
    Fields one;                           \
    change(one.name);                     \
    all.emplace_back(#name, one);         \
  }
std::vector<std::pair<std::string, Capabilities>> changed_capabilities() {
  using Fields = Capabilities;
  std::vector<std::pair<std::string, Capabilities>> all;
  VYRE_CAPABILITY_FIELDS(VYRE_CHANGED)
  return all;
}
std::vector<std::pair<std::string, DeviceProfile>> changed_profiles() {
  using Fields = DeviceProfile;
  std::vector<std::pair<std::string, DeviceProfile>> all;
  VYRE_DEVICE_PROFILE_FIELDS(VYRE_CHANGED)
  return all;
}
#undef VYRE_CHANGED

std::map<std::string_view, std::string> by_name(const Description& description) {
  return {description.begin(), description.end()};
}

TEST(Capabilities, DefaultsAllowTheLeast) {
  for (const auto& [name, value] : describe(Capabilities{})) {
    if (value == "true" || value == "false")
      EXPECT_EQ(value, name == "host_split" ? "true" : "false") << name;
    else if (name == "max_workgroup_size" || name == "max_workgroups")
      EXPECT_EQ(value, "1x1x1") << name;
    else if (name == "max_invocations_per_workgroup")
      EXPECT_EQ(value, "1");
    else if (name == "formats")
      EXPECT_EQ(value, "none");
    else
      EXPECT_EQ(value, "0") << name;
  }
}

TEST(DeviceProfile, DefaultsSayNothing) {
  for (const auto& [name, value] : describe(DeviceProfile{}))
    EXPECT_EQ(value, name == "name" ? "" : name == "timing_quality" ? "host_only" : "0") << name;
}

TEST(Capabilities, EveryFieldCountsAndIsDescribed) {
  const Description plain = describe(Capabilities{});
  const auto changed = changed_capabilities();
  ASSERT_EQ(changed.size(), plain.size());
  for (size_t i = 0; i < changed.size(); ++i) {
    const auto& [name, capabilities] = changed[i];
    EXPECT_EQ(name, plain[i].first);
    EXPECT_NE(capabilities, Capabilities{}) << name;
    const Description described = describe(capabilities);
    for (size_t k = 0; k < plain.size(); ++k)
      EXPECT_EQ(described[k] != plain[k], k == i) << name << ", " << plain[k].first;
  }
}

TEST(DeviceProfile, EveryFieldCountsAndIsDescribed) {
  const Description plain = describe(DeviceProfile{});
  const auto changed = changed_profiles();
  ASSERT_EQ(changed.size(), plain.size());
  for (size_t i = 0; i < changed.size(); ++i) {
    const auto& [name, profile] = changed[i];
    EXPECT_EQ(name, plain[i].first);
    EXPECT_NE(profile, DeviceProfile{}) << name;
    const Description described = describe(profile);
    for (size_t k = 0; k < plain.size(); ++k)
      EXPECT_EQ(described[k] != plain[k], k == i) << name << ", " << plain[k].first;
  }
}

// The order is part of cache keys, and a field that is gone would not fail the tests above.
TEST(Capabilities, NamesInTheirOrder) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : describe(Capabilities{})) names.push_back(name);
  EXPECT_THAT(names,
              ElementsAre("subgroup_ops", "subgroup_shuffle", "f16_storage", "bf16_storage",
                          "storage_8bit", "storage_16bit", "i64", "f64", "i64_atomics",
                          "f32_atomic_add", "tensor_cores", "async_compute", "indirect",
                          "speculation", "persistent_threads", "cooperative_grid_barrier",
                          "device_loops", "whole_programs", "resident_buffers", "host_split",
                          "trap_propagation", "mul_hi", "strict_f32", "f32_subnormals", "exact_fma",
                          "exact_division", "exact_sqrt", "exact_conversions", "max_workgroup_size",
                          "max_invocations_per_workgroup", "max_workgroups", "shared_bytes",
                          "storage_buffer_bytes", "max_bindings", "subgroup_size", "formats"));
  names.clear();
  for (const auto& [name, value] : describe(DeviceProfile{})) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("name", "compute_units", "registers_per_compute_unit",
                                 "lanes_per_compute_unit", "barrier_blocks_per_compute_unit",
                                 "memory_bandwidth_bytes_per_second", "timing_quality",
                                 "preferred_unroll", "code_lanes"));
}

TEST(Capabilities, ValuesAsText) {
  Capabilities c;
  c.i64 = true;
  c.max_workgroup_size = {1024, 512, 64};
  c.storage_buffer_bytes = uint64_t{1} << 40;
  c.formats = {Format::Cubin, Format::Ptx};
  const auto text = by_name(describe(c));
  EXPECT_EQ(text.at("i64"), "true");
  EXPECT_EQ(text.at("max_workgroup_size"), "1024x512x64");
  EXPECT_EQ(text.at("storage_buffer_bytes"), "1099511627776");
  EXPECT_EQ(text.at("formats"), "ptx,cubin");
}

TEST(Capabilities, EveryAxisIsDescribed) {
  std::set<std::string> seen = {"1x1x1"};
  for (size_t axis = 0; axis < 3; ++axis) {
    Capabilities c;
    c.max_workgroups[axis] = 2;
    EXPECT_NE(c, Capabilities{});
    EXPECT_TRUE(seen.insert(by_name(describe(c)).at("max_workgroups")).second) << axis;
  }
}

TEST(Format, NamesAndSets) {
  std::set<std::string_view> names;
  FormatSet all;
  for (int i = 0; i < kFormatCount; ++i) {
    const auto format = static_cast<Format>(i);
    EXPECT_TRUE(names.insert(name_of(format)).second);
    EXPECT_FALSE(all.contains(format));
    all.insert(format);
    EXPECT_TRUE(all.contains(format));
    EXPECT_EQ(to_string(FormatSet{format}), name_of(format));
  }
  EXPECT_EQ(to_string(all), "program,object,ptx,cubin,spirv,c");
  EXPECT_EQ(to_string(FormatSet{}), "none");
  EXPECT_TRUE(FormatSet{}.empty());
  EXPECT_FALSE(all.empty());
  EXPECT_EQ((FormatSet{Format::Ptx, Format::Ptx}), FormatSet{Format::Ptx});
}

// D-REG.5: timing counts 0, 1, 2, 3.
TEST(TimingQuality, RankAndNames) {
  std::vector<std::string_view> names(kTimingQualityCount);
  for (size_t i = 0; i < names.size(); ++i) names[i] = name_of(static_cast<TimingQuality>(i));
  EXPECT_THAT(names, ElementsAre("host_only", "host_enqueue_wait", "device_timestamps",
                                 "hardware_counters"));
}

// D-REG.5: what each fact alone is worth.
TEST(Score, Table) {
  struct Row {
    std::string name;
    uint32_t points;
    std::function<void(Capabilities&, DeviceProfile&)> give;
  };
  const std::vector<Row> rows = {
      {"storage buffers", 16, [](auto& c, auto&) { c.storage_buffer_bytes = 1; }},
      {"63 invocations", 0, [](auto& c, auto&) { c.max_invocations_per_workgroup = 63; }},
      {"64 invocations", 8, [](auto& c, auto&) { c.max_invocations_per_workgroup = 64; }},
      {"255 invocations", 8, [](auto& c, auto&) { c.max_invocations_per_workgroup = 255; }},
      {"256 invocations", 12, [](auto& c, auto&) { c.max_invocations_per_workgroup = 256; }},
      {"subgroup size", 8, [](auto& c, auto&) { c.subgroup_size = 1; }},
      {"subgroup ops", 8, [](auto& c, auto&) { c.subgroup_ops = true; }},
      {"shuffle", 4, [](auto& c, auto&) { c.subgroup_shuffle = true; }},
      {"shared memory", 4, [](auto& c, auto&) { c.shared_bytes = 1; }},
      {"f16", 2, [](auto& c, auto&) { c.f16_storage = true; }},
      {"bf16", 2, [](auto& c, auto&) { c.bf16_storage = true; }},
      {"tensor cores", 4, [](auto& c, auto&) { c.tensor_cores = true; }},
      {"indirect", 2, [](auto& c, auto&) { c.indirect = true; }},
      {"enqueue and wait", 0,
       [](auto&, auto& p) { p.timing_quality = TimingQuality::HostEnqueueWait; }},
      {"timestamps", 2, [](auto&, auto& p) { p.timing_quality = TimingQuality::DeviceTimestamps; }},
      {"counters", 4, [](auto&, auto& p) { p.timing_quality = TimingQuality::HardwareCounters; }},
  };
  EXPECT_EQ(score({}, {}), 0U);
  Capabilities all;
  DeviceProfile profile;
  for (const Row& row : rows) {
    Capabilities c;
    DeviceProfile p;
    row.give(c, p);
    EXPECT_EQ(score(c, p), row.points) << row.name;
    row.give(all, profile);
  }
  EXPECT_EQ(score(all, profile), kMaxScore);
}

// D-REG.5: nothing else is worth anything.
TEST(Score, OtherFieldsDoNotCount) {
  const std::set<std::string> counted = {"storage_buffer_bytes", "subgroup_size", "subgroup_ops",
                                         "subgroup_shuffle",     "shared_bytes",  "f16_storage",
                                         "bf16_storage",         "tensor_cores",  "indirect",
                                         "timing_quality"};
  for (const auto& [name, c] : changed_capabilities())
    EXPECT_EQ(score(c, {}) > 0, counted.contains(name)) << name;
  for (const auto& [name, p] : changed_profiles())
    EXPECT_EQ(score({}, p) > 0, counted.contains(name)) << name;
}

}  // namespace
}  // namespace vyre::device
