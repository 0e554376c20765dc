// SPDX-License-Identifier: Apache-2.0
#include "vyre/run/config.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "vyre/pipeline/compiler.hpp"

namespace vyre::run {

namespace {

std::unexpected<Error> invalid(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::InvalidArgument,
                               .message = std::move(message),
                               .context = {},
                               .at = {},
                               .diagnostics = {}});
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

std::string_view name_of(Timing timing) {
  switch (timing) {
    case Timing::None: return "none";
    case Timing::Dispatch: return "dispatch";
    case Timing::Segments: return "segments";
    case Timing::Regions: return "regions";
  }
  VYRE_CHECK(false && "a Timing outside its enumeration");
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
  if (config.timing && *config.timing > Timing::Regions)
    return invalid(
        fmt::format("there is no timing {}. Fix: use none, dispatch, segments or regions",
                    std::to_underlying(*config.timing)));
  if (config.profile) VYRE_TRY(pipeline::profile_of(*config.profile));
  if (config.print_bytes && *config.print_bytes > kMostPrintBytes)
    return invalid(
        fmt::format("print_bytes = {}, and at most {} are allowed. Fix: print less, or "
                    "store what is needed in an output",
                    *config.print_bytes, kMostPrintBytes));
  if (config.timeout && config.timeout->count() < 0)
    return invalid("a timeout below zero. Fix: leave it out, or use 0, for no limit");
  return {};
}

}  // namespace vyre::run
