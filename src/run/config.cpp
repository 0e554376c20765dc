// SPDX-License-Identifier: Apache-2.0
#include "vyre/run/config.hpp"

#include <fmt/format.h>

#include "base/check.hpp"

namespace vyre::run {

namespace {

std::unexpected<Error> invalid(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::InvalidArgument,
                               .message = std::move(message),
                               .context = {},
                               .at = {},
                               .diagnostics = {}});
}

std::string text_of(const std::string& value) {
  return value;
}
std::string text_of(uint32_t value) {
  return std::to_string(value);
}
std::string text_of(uint64_t value) {
  return std::to_string(value);
}
std::string text_of(bool value) {
  return value ? "true" : "false";
}
std::string text_of(std::chrono::nanoseconds value) {
  return fmt::format("{} ns", value.count());
}
std::string text_of(const check::Axes& value) {
  return fmt::format("{}x{}x{}", value[0], value[1], value[2]);
}
std::string text_of(const GridFrom& value) {
  return fmt::format("a buffer at byte {}", value.offset);
}
std::string text_of(Choice value) {
  return std::string(name_of(value));
}
std::string text_of(Cooperative value) {
  return std::string(name_of(value));
}
std::string text_of(Tune value) {
  return std::string(name_of(value));
}
template <class T>
std::string text_of(const std::shared_ptr<T>& value) {
  return value ? "set" : "none";
}
template <class T>
std::string text_of(T* value) {
  return value != nullptr ? "set" : "none";
}

}  // namespace

std::string_view name_of(Choice choice) {
  switch (choice) {
    case Choice::Auto: return "auto";
    case Choice::Force: return "force";
    case Choice::Disable: return "disable";
  }
  VYRE_CHECK(false && "a Choice outside its enumeration");
}

std::string_view name_of(Cooperative cooperative) {
  switch (cooperative) {
    case Cooperative::Auto: return "auto";
    case Cooperative::Require: return "require";
  }
  VYRE_CHECK(false && "a Cooperative outside its enumeration");
}

std::string_view name_of(Tune tune) {
  switch (tune) {
    case Tune::Off: return "off";
    case Tune::Read: return "read";
    case Tune::On: return "on";
  }
  VYRE_CHECK(false && "a Tune outside its enumeration");
}

std::optional<Tune> tune_from_name(std::string_view name) {
  for (const Tune tune : {Tune::Off, Tune::Read, Tune::On})
    if (name_of(tune) == name) return tune;
  return std::nullopt;
}

DispatchConfig merge(const DispatchConfig& base, const DispatchConfig& over) {
  DispatchConfig merged = base;
  if (over.grid && !over.grid_from) merged.grid_from.reset();
  if (over.grid_from && !over.grid) merged.grid.reset();
#define VYRE_MERGE(type, name) \
  if (over.name) merged.name = over.name;
  VYRE_CONFIG_FIELDS(VYRE_MERGE)
#undef VYRE_MERGE
  return merged;
}

Result<void> check_config(const DispatchConfig& config) {
  if (config.fixpoint_iterations == 0U)
    return invalid("fixpoint_iterations must be at least 1. Fix: use 1 to run the program once");
  if (config.grid && config.grid_from)
    return invalid("grid and grid_from exclude each other. Fix: give one of them");
  if (config.grid_from && config.grid_from->offset % 4 != 0)
    return invalid(fmt::format(
        "grid_from reads three u32 at byte {}, which is not a multiple of 4. Fix: align "
        "the offset",
        config.grid_from->offset));
  if (config.grid_from && config.grid_from->buffer == nullptr)
    return invalid("grid_from names no buffer. Fix: give one with at least 12 bytes");
  if (config.queue && *config.queue >= kQueues)
    return invalid(fmt::format("there is no queue {}. Fix: use a number from 0 to {}",
                               *config.queue, kQueues - 1));
  if (config.timeout && config.timeout->count() < 0)
    return invalid("a timeout below zero. Fix: leave it out, or use 0, for no limit");
  return {};
}

std::vector<std::pair<std::string, std::string>> describe(const DispatchConfig& config) {
  std::vector<std::pair<std::string, std::string>> fields;
#define VYRE_DESCRIBE(type, name) \
  if (config.name) fields.emplace_back(#name, text_of(*config.name));
  VYRE_CONFIG_FIELDS(VYRE_DESCRIBE)
#undef VYRE_DESCRIBE
  return fields;
}

}  // namespace vyre::run
