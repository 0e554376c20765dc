// SPDX-License-Identifier: Apache-2.0
#include "driver/observe.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace vyre::driver_test {

namespace {

std::string text_of(const run::Report& report) {
  const plan::RouteVariant& v = report.variant;
  return fmt::format(
      "route {}, workgroups_per_block {}, unrolled {}, interleave {}, 1d {}, plan {}, segments {}, "
      "launches {}, grid {}, workgroup {}, iterations {}, converged {}, resumed {}",
      name_of(report.route), v.workgroups_per_block, v.unrolled_iterations, v.interleave, v.is_1d,
      report.plan.hex(), report.segments, report.launches, fmt::join(report.grid, "x"),
      fmt::join(report.workgroup, "x"), report.iterations, report.converged, report.resumed.size());
}

}  // namespace

std::string observe(const run::Device& device, const Shot& shot) {
  const auto compiled = device.compile(program_of(shot.text), shot.config);
  if (!compiled) return to_string(compiled.error());
  std::vector<run::Argument> inputs;
  for (const Words& words : shot.inputs) inputs.emplace_back(words);
  run::Outputs outputs;
  const auto report = compiled->pipeline.dispatch_into({.inputs = inputs}, outputs);
  if (!report) return to_string(report.error());
  std::string text = text_of(*report);
  for (const Bytes& bytes : outputs) {
    text += fmt::format(", {} bytes:", bytes.size());
    for (const std::byte byte : bytes) text += fmt::format(" {:02x}", std::to_integer<int>(byte));
  }
  return text;
}

std::string observe(backend::NullOptions options, const Shot& shot) {
  return observe(run::Device::over(backend::open_null(std::move(options)), {.cache_directory = {}}),
                 shot);
}

std::string observe_by_interpreter(const Shot& shot) {
  const auto device = run::Device::open("reference:3", {.cache_directory = {}});
  return device ? observe(*device, shot) : to_string(device.error());
}

size_t calls_of(const backend::NullBackend& backend, backend::NullCall::Kind kind) {
  return static_cast<size_t>(std::ranges::count(backend.record(), kind, &backend::NullCall::kind));
}

}  // namespace vyre::driver_test
