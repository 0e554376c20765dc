// SPDX-License-Identifier: Apache-2.0
// What the tests of the driver share: programs from text, devices without a disk cache, words.
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "vyre/backend/null.hpp"
#include "vyre/backend/reference.hpp"
#include "vyre/run/device.hpp"
#include "vyre/text/text.hpp"

namespace vyre::run {

inline ir::Program program(std::string_view text) {
  text::Parsed parsed = text::parse(text, "test.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors()) << render_text(parsed.diagnostics, {});
  return std::move(parsed.program);
}

inline Device over(std::shared_ptr<device::Backend> backend) {
  DeviceOptions options;
  options.cache_directory.clear();
  return Device::over(std::move(backend), std::move(options));
}
inline Device reference(backend::ReferenceOptions options = {}) {
  return over(*backend::open_reference(std::move(options)));
}

inline Pipeline compile(const Device& device, std::string_view text,
                        const DispatchConfig& config = {}) {
  auto compiled = device.compile(program(text), config);
  EXPECT_TRUE(compiled) << to_string(compiled.error());
  return compiled ? compiled->pipeline : Pipeline();
}

inline std::span<const std::byte> bytes_of_words(const std::vector<uint32_t>& words) {
  return std::as_bytes(std::span(words));
}
inline std::vector<uint32_t> words(std::span<const std::byte> bytes) {
  std::vector<uint32_t> result(bytes.size() / 4);
  std::memcpy(result.data(), bytes.data(), result.size() * 4);
  return result;
}

// One inout word, a grid barrier in the middle.
inline constexpr std::string_view kTwoSegments = R"(program two {
  workgroup 1;
  over 1;
  inout a : u32[];
  region first { a[0] = a[0] + 1; }
  barrier grid;
  region second { a[0] = a[0] + 1; }
})";

// A device without a barrier of its own, on which a function stands for every launch.
struct Fake {
  std::shared_ptr<backend::NullBackend> backend;
  Device device;
  explicit Fake(backend::NullOptions options) : backend(backend::open_null(std::move(options))) {
    device = over(backend);
  }
};
inline backend::NullOptions split_options() {
  backend::NullOptions options;
  options.info.capabilities.cooperative_grid_barrier = false;
  options.info.capabilities.device_loops = false;
  return options;
}
// The launch changes the first word of its first argument of that many bytes.
inline std::function<Result<void>(const backend::NullLaunch&)> on_word(
    std::function<uint32_t(uint32_t)> change) {
  return [change = std::move(change)](const backend::NullLaunch& launch) -> Result<void> {
    uint32_t word = 0;
    std::memcpy(&word, launch.arguments[0].data(), 4);
    word = change(word);
    std::memcpy(launch.arguments[0].data(), &word, 4);
    return {};
  };
}

}  // namespace vyre::run
