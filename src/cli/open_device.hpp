// SPDX-License-Identifier: Apache-2.0
// The device that a command runs on: one by name, or the best there is.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/dispatch.hpp"
#include "vyre/run/device.hpp"

namespace vyre::cli {

struct DeviceChoice {
  std::string id = "auto";
  bool allow_cpu = true;  // for auto: a CPU if there is no GPU
  // Of the reference interpreter; others refuse them.
  std::optional<std::string> schedule{};  // forward, reversed or random
  std::optional<uint32_t> subgroup_size{};
  uint64_t seed = 0;  // of the random schedule
  run::DeviceOptions options{};
};

// What can be refused before anything is read: a device that there is not, and options of the
// reference interpreter for another one. Shown as App::fail and fail() do; nothing: go on.
std::optional<int> refuse_device(App& app, const DeviceChoice& choice);

// Opens it, and says on stderr if it is a CPU that was not named. Errors are shown; the exit
// code is then what is left.
std::expected<run::Device, int> open_device(App& app, DeviceChoice choice);

// The inputs of a dispatch as a device takes them. Valid as long as `prepared`.
struct DeviceInputs {
  std::vector<run::Buffer> buffers;  // of persistent ones
  std::vector<run::Argument> arguments;
};
// Persistent inputs have to be on the device; where it keeps nothing, the driver says so.
Result<DeviceInputs> make_arguments(const Prepared& prepared, const run::Device& device);

// What the command line says about code, as the fields of a dispatch.
void set(run::DispatchConfig& config, const CodeOptions& code);

// The line about a CPU that was taken because there is no GPU; empty for any other choice.
std::string fallback_note(const device::Selection& selection);

// Warnings of the cache and the like, on stderr.
void warn(std::string_view message);

}  // namespace vyre::cli
