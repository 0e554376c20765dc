// SPDX-License-Identifier: Apache-2.0
#include "cli/open_device.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"
#include "base/utf8.hpp"
#include "cli/devices.hpp"
#include "vyre/backend/reference.hpp"

namespace vyre::cli {
namespace {

const backend::ReferenceOptions* find_reference(std::string_view id) {
  const auto all = backend::reference_devices();
  const auto found = std::ranges::find(all, id, &backend::ReferenceOptions::id);
  return found == all.end() ? nullptr : &*found;
}

Result<run::Device> open_reference(const backend::ReferenceOptions& device,
                                   const DeviceChoice& choice) {
  static const std::map<std::string, oracle::Schedule, std::less<>> kSchedules = {
      {"forward", oracle::Schedule::Forward},
      {"reversed", oracle::Schedule::Reversed},
      {"random", oracle::Schedule::Random}};
  backend::ReferenceOptions options = device;
  if (choice.schedule) options.schedule = kSchedules.at(*choice.schedule);
  if (choice.subgroup_size) options.subgroup_size = *choice.subgroup_size;
  options.seed = choice.seed;
  VYRE_TRY_ASSIGN(auto backend, backend::open_reference(std::move(options)));
  return run::Device::over(std::move(backend), choice.options);
}

}  // namespace

std::optional<int> refuse_device(App& app, const DeviceChoice& choice) {
  const bool special = choice.schedule || choice.subgroup_size;
  if (special && find_reference(choice.id) == nullptr)
    return app.fail({kExitUsage,
                     fmt::format("{} is an option of the reference interpreter, not of device `{}`",
                                 choice.schedule ? "--schedule" : "--subgroup-size", choice.id),
                     "add --device reference, or leave the option out"});
  if (choice.id == "auto" || !see_devices(device::registry(), choice.id).empty())
    return std::nullopt;
  // What there is not cannot be opened; the registry knows how to say so. `x:0` is `x`.
  const auto missing = device::registry().acquire(choice.id);
  return missing ? std::nullopt : std::optional(fail(app, missing.error()));
}

std::expected<run::Device, int> open_device(App& app, DeviceChoice choice) {
  const auto failed = [&](const Error& error) { return std::unexpected(fail(app, error)); };
  if (choice.id == "auto") {
    device::Selection selection;
    auto device = run::Device::open_preferred({.allow_cpu = choice.allow_cpu},
                                              std::move(choice.options), &selection);
    if (!device) return failed(device.error());
    App::talk(fallback_note(selection));
    return std::move(*device);
  }
  const TraceSpan span(choice.options.trace, TraceCategory::Select, "open " + choice.id);
  const backend::ReferenceOptions* const reference = find_reference(choice.id);
  auto device = reference != nullptr ? open_reference(*reference, choice)
                                     : run::Device::open(choice.id, std::move(choice.options));
  if (!device) return failed(device.error());
  return std::move(*device);
}

Result<DeviceInputs> make_arguments(const Prepared& prepared, const run::Device& device) {
  DeviceInputs inputs;
  inputs.buffers.reserve(prepared.inputs.size());
  std::vector<bool> persistent(prepared.inputs.size());
  for (const check::BufferFacts& facts : prepared.checked.buffers)
    if (facts.input_slot && facts.role == check::Role::Persistent)
      persistent[*facts.input_slot] = device.info().capabilities.resident_buffers;
  for (size_t slot = 0; slot < prepared.inputs.size(); ++slot) {
    const std::span<const std::byte> bytes = prepared.inputs[slot];
    if (!persistent[slot]) {
      inputs.arguments.emplace_back(bytes);
      continue;
    }
    VYRE_TRY_ASSIGN(auto buffer, device.upload(bytes));
    inputs.buffers.push_back(std::move(buffer));
    inputs.arguments.emplace_back(inputs.buffers.back());
  }
  return inputs;
}

void set(run::DispatchConfig& config, const CodeOptions& code) {
  config.ulp_budget = code.ulp_budget;
  config.profile = code.profile;
}

std::string fallback_note(const device::Selection& selection) {
  const auto winner = std::ranges::find(selection.candidates, selection.winner,
                                        [](const auto& c) { return c.facts.id; });
  if (winner == selection.candidates.end() || winner->kind != device::Kind::Cpu) return "";
  std::vector<std::string> reasons;
  for (const device::Selection::Candidate& c : selection.candidates)
    if (c.kind == device::Kind::Gpu && !c.failure.empty())
      reasons.push_back(fmt::format("{}: {}", c.facts.id, c.failure));
  if (reasons.empty()) reasons.emplace_back("no backend of this build sees one");
  return base::printable_text(fmt::format("vyre: no usable GPU ({}), so this runs on {}",
                                          fmt::join(reasons, "; "), selection.winner)) +
         "\n";
}

void warn(std::string_view message) {
  App::talk(fmt::format("vyre: warning: {}\n", base::printable_text(std::string(message))));
}

}  // namespace vyre::cli
