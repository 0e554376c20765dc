// SPDX-License-Identifier: Apache-2.0
#include "run/entry.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace vyre::run {

namespace {

std::string text_of(const Doing& doing) {
  return doing.name.empty() ? std::string(doing.what)
                            : fmt::format("{} `{}`", doing.what, doing.name);
}

// What a device says, not what is wrong with a call.
bool of_device(ErrorCode code) {
  return code == ErrorCode::DeviceOutOfMemory || code == ErrorCode::CompileFailed ||
         code == ErrorCode::DispatchFailed || code == ErrorCode::DeviceLost;
}

}  // namespace

Error out_of_memory(const Doing& doing) noexcept {
  Error error;
  error.code = ErrorCode::HostOutOfMemory;
  error.message = "Fix: free RAM";  // short enough to need none
  try {
    std::string message = fmt::format(
        "the host has no memory or thread left while {}. Fix: use smaller inputs and outputs, keep "
        "them on the device, or run less at once",
        text_of(doing));
    error.message = std::move(message);
  } catch (const std::bad_alloc&) {
    return error;
  }
  return error;
}

Error stopped_error(const Doing& doing, const Stopped& stopped) {
  Error error = error_of(stopped);
  error.context.push_back(fmt::format("while {}", text_of(doing)));
  return error;
}

void complete_error(device::Backend& backend, const Doing& doing, Error& error) {
  if (!of_device(error.code)) return;
  const auto names_it = [](const std::string& line) { return line.starts_with("while "); };
  if (std::ranges::any_of(error.context, names_it)) return;
  std::string line = fmt::format("while {} on device `{}`", text_of(doing), backend.info().id);
  if (error.code == ErrorCode::DeviceLost) {
    backend.describe_loss({std::move(line)});
    if (auto lost = backend.check_usable(); !lost) error = std::move(lost.error());
    return;
  }
  error.context.push_back(std::move(line));
}

}  // namespace vyre::run
