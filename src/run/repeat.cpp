// SPDX-License-Identifier: Apache-2.0
// A dispatch that is like the one before it: equal config, same buffers of the device, as many
// bytes of the host. What that one has recorded is submitted again; nothing is checked, laid out or
// recorded twice.
#include <algorithm>
#include <array>
#include <string_view>

#include "base/errors.hpp"
#include "run/state.hpp"

namespace vyre::run {

using device::Buffer;
using device::Region;
using device::TelemetryField;
using device::Transfer;

namespace {

// The queue, limits, the label and what is measured are those of each call, and nothing that was
// recorded depends on them.
bool alike(const DispatchConfig& a, const DispatchConfig& b) {
  constexpr std::array<std::string_view, 5> kOfTheCall = {"queue", "timeout", "cancel", "label",
                                                          "timing"};
  const auto matters = [&](std::string_view name) {
    return std::ranges::find(kOfTheCall, name) == kOfTheCall.end();
  };
#define VYRE_ALIKE(type, name) \
  if (matters(#name) && a.name != b.name) return false;
  VYRE_CONFIG_FIELDS(VYRE_ALIKE)
#undef VYRE_ALIKE
  return true;
}

// Whether sizes that depend on contents are as they were.
bool has_last_uniforms(const check::CheckedProgram& program, const std::vector<bool>& host_reads,
                       const Arguments& arguments, std::span<const std::byte> left) {
  const auto& buffers = program.buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].input_slot) continue;
    const Argument& argument = arguments.inputs[*buffers[i].input_slot];
    if (argument.buffer() != nullptr || (buffers[i].role != check::Role::Uniform && !host_reads[i]))
      continue;
    const auto bytes = argument.bytes();
    if (!std::ranges::equal(bytes, left.first(bytes.size()))) return false;
    left = left.subspan(bytes.size());
  }
  return true;
}

}  // namespace

bool Dispatch::is_like_last(const Arguments& arguments) const {
  const Workspace::Last& last = lease_->last;
  if (!last.can_repeat || arguments.inputs.size() != last.inputs.size() ||
      arguments.outputs.size() != last.outputs.size() || !tuning_.is_settled())
    return false;
  const device::Backend& backend = *device_.backend;
  if (device_.trace.load(std::memory_order_relaxed) != nullptr || !device_.check_usable() ||
      p_.generation != backend.generation() || !alike(config_, last.config))
    return false;
  const auto same = [&](const Buffer& buffer, const Region& region) {
    return buffer.belongs_to(backend) && buffer.whole() == region;
  };
  bool all_buffers = true;
  for (size_t i = 0; i < last.inputs.size(); ++i) {
    const Buffer* const buffer = arguments.inputs[i].buffer();
    const Region& before = last.inputs[i];
    if (buffer == nullptr) {
      all_buffers = false;
      if (before.buffer.valid() || arguments.inputs[i].bytes().size() != before.bytes) return false;
    } else if (!same(*buffer, before)) {
      return false;
    }
  }
  for (size_t i = 0; i < last.outputs.size(); ++i) {
    const Buffer* const buffer = arguments.outputs[i];
    if (buffer == nullptr ? last.outputs[i].buffer.valid() : !same(*buffer, last.outputs[i]))
      return false;
  }
  return all_buffers ||
         has_last_uniforms(*p_.source.program, p_.host_reads, arguments, lease_->wanted.uniforms);
}

void Dispatch::use_again(const Arguments& arguments) {
  Workspace& w = *lease_;
  w.uses.clear();
  for (const Argument& argument : arguments.inputs)
    if (argument.buffer() != nullptr) w.uses.emplace_back(*argument.buffer());
  for (const Buffer* const output : arguments.outputs)
    if (output != nullptr) w.uses.emplace_back(*output);
  const auto& buffers = p_.source.program->buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].input_slot) continue;
    w.given[i] = arguments.inputs[*buffers[i].input_slot].bytes();
    host_input_bytes_ += w.given[i].size();
  }
}

void Dispatch::remember(const Arguments& arguments) {
  Workspace::Last& last = lease_->last;
  last.inputs.clear();
  for (const Argument& argument : arguments.inputs)
    last.inputs.push_back(argument.buffer() != nullptr ? argument.buffer()->whole()
                                                       : Region{{}, 0, argument.bytes().size()});
  last.outputs.clear();
  for (const Buffer* const output : arguments.outputs)
    last.outputs.push_back(output != nullptr ? output->whole() : Region{});
}

// Everything was one submission that needs nothing of the host but bytes before it and after it: no
// callback, and no answer that the report would have to be made of.
void Dispatch::note_repeatable(const PlanRunner& runner, const Report& report) {
  Workspace& w = *lease_;
  const device::Capabilities& can = device_.backend->info().capabilities;
  if (!w.recorder.can_flush_again() || !runner.deferred() || iterations_of(config_) != 1 ||
      config_.grid_from || config_.progress || config_.trap_handler || config_.communicator ||
      can.whole_programs || device_.at_host() || w.wanted.policy.print ||
      !w.variant->schedule.fixpoints.empty())
    return;
  const auto wanted = [](const auto& sizes, auto size_of) {
    return static_cast<size_t>(
        std::ranges::count_if(sizes, [&](const auto& x) { return size_of(x) != 0; }));
  };
  if (w.recorder.transfers(Transfer::Direction::ToDevice) !=
          wanted(w.given, [](const auto& bytes) { return bytes.size(); }) ||
      w.recorder.transfers(Transfer::Direction::ToHost) !=
          wanted(w.output_bytes, [](uint64_t bytes) { return bytes; }))
    return;
  w.last.config = config_;
  w.last.report = report;
  w.last.can_repeat = true;
}

// Transfers are the inputs that came as bytes, and the outputs that go back so.
void Dispatch::rebind(Outputs& slots) {
  Workspace& w = *lease_;
  w.hosts.clear();
  for (const auto& given : w.given)  // a device only reads from it
    if (!given.empty()) w.hosts.push_back(const_cast<std::byte*>(given.data()));
  w.recorder.rebind(Transfer::Direction::ToDevice, w.hosts);
  w.hosts.clear();
  for (size_t slot = 0; slot < w.output_bytes.size(); ++slot)
    if (w.output_bytes[slot] != 0) w.hosts.push_back(slots[slot].data());
  w.recorder.rebind(Transfer::Direction::ToHost, w.hosts);
}

Result<void> Dispatch::record_again(Outputs* slots) {
  Outputs& to = slots != nullptr ? *slots : unwanted_;
  VYRE_TRY(check_growth(to));
  const OutputStats stats = prepare_outputs(to, lease_->output_bytes);
  if (slots != nullptr) stats_ = stats;
  rebind(to);
  report_ = lease_->last.report;
  return {};
}

}  // namespace vyre::run
