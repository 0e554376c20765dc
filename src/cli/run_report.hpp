// SPDX-License-Identifier: Apache-2.0
// What `vyre run` says about a dispatch besides its outputs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/app.hpp"
#include "cli/dispatch.hpp"
#include "vyre/run/device.hpp"

namespace vyre::cli {

// One dispatch after the other, all of the same thing.
struct Measured {
  std::vector<uint64_t> wall_ns;
  std::vector<std::optional<uint64_t>> device_ns;
  run::Report last{};
  std::string why;  // the last one ran the way it did

  void add(run::Report report);
};

struct Spread {
  uint64_t min = 0;
  uint64_t median = 0;  // the lower one of an even number
  uint64_t max = 0;
};
// Nothing if one is absent, or there is none.
std::optional<Spread> spread_of(std::span<const std::optional<uint64_t>> values);

// Of the whole calls.
std::optional<Spread> wall_spread(const Measured& measured);

// "whole" for programs without a grid barrier, else the name of the route.
std::string route_name(const check::CheckedProgram& program, const run::Report& report);

// "12.345 us"; "-" for nothing.
std::string duration_text(const std::optional<uint64_t>& ns);

// --time: what took how long, absent ones as "-".
std::string time_text(const std::string& device, const std::string& route,
                      const Measured& measured);

// The fields of the document, but for the outputs.
Json json_of(const Prepared& prepared, const std::string& device, const Measured& measured,
             bool cached);

}  // namespace vyre::cli
