// SPDX-License-Identifier: Apache-2.0
#include "vyre/device/capabilities.hpp"

#include <fmt/format.h>

#include "base/check.hpp"

namespace vyre::device {
namespace {

std::string text_of(bool value) {
  return value ? "true" : "false";
}
std::string text_of(uint32_t value) {
  return std::to_string(value);
}
std::string text_of(uint64_t value) {
  return std::to_string(value);
}
std::string text_of(const Axes& value) {
  return fmt::format("{}x{}x{}", value[0], value[1], value[2]);
}
std::string text_of(const FormatSet& value) {
  return to_string(value);
}
std::string text_of(TimingQuality value) {
  return std::string(name_of(value));
}
std::string text_of(const std::string& value) {
  return value;
}

}  // namespace

std::string_view name_of(Format format) {
  switch (format) {
    case Format::Program: return "program";
    case Format::Object: return "object";
    case Format::Ptx: return "ptx";
    case Format::Cubin: return "cubin";
    case Format::Spirv: return "spirv";
    case Format::C: return "c";
  }
  VYRE_CHECK(false && "a Format outside its enumeration");
}

std::string to_string(const FormatSet& formats) {
  std::string text;
  for (int i = 0; i < kFormatCount; ++i) {
    const auto format = static_cast<Format>(i);
    if (!formats.contains(format)) continue;
    if (!text.empty()) text += ',';
    text += name_of(format);
  }
  return text.empty() ? "none" : text;
}

std::string_view name_of(TimingQuality quality) {
  switch (quality) {
    case TimingQuality::HostOnly: return "host_only";
    case TimingQuality::HostEnqueueWait: return "host_enqueue_wait";
    case TimingQuality::DeviceTimestamps: return "device_timestamps";
    case TimingQuality::HardwareCounters: return "hardware_counters";
  }
  VYRE_CHECK(false && "a TimingQuality outside its enumeration");
}

#define VYRE_DESCRIBE(type, name, initial) {#name, text_of(described.name)},

Description describe(const Capabilities& capabilities) {
  const auto& described = capabilities;
  return {VYRE_CAPABILITY_FIELDS(VYRE_DESCRIBE)};
}

Description describe(const DeviceProfile& profile) {
  const auto& described = profile;
  return {VYRE_DEVICE_PROFILE_FIELDS(VYRE_DESCRIBE)};
}

#undef VYRE_DESCRIBE

uint32_t score(const Capabilities& capabilities, const DeviceProfile& profile) {
  const Capabilities& c = capabilities;
  uint32_t sum = 0;
  const auto add = [&](bool offered, uint32_t points) { sum += offered ? points : 0; };
  add(c.storage_buffer_bytes > 0, 16);
  add(c.max_invocations_per_workgroup >= 64, 8);
  add(c.max_invocations_per_workgroup >= 256, 4);
  add(c.subgroup_size > 0, 8);
  add(c.subgroup_ops, 8);
  add(c.subgroup_shuffle, 4);
  add(c.shared_bytes > 0, 4);
  add(c.f16_storage, 2);
  add(c.bf16_storage, 2);
  add(c.tensor_cores, 4);
  add(c.indirect, 2);
  add(profile.timing_quality >= TimingQuality::DeviceTimestamps, 2);
  add(profile.timing_quality >= TimingQuality::HardwareCounters, 2);
  return sum;
}

}  // namespace vyre::device
