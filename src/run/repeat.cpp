// SPDX-License-Identifier: Apache-2.0
// A dispatch that is like the one before it: same config, same buffers of the device. What that one
// has recorded is submitted again; nothing is checked, laid out or recorded twice.
#include "run/state.hpp"

namespace vyre::run {

using device::Buffer;
using device::Region;
using device::TelemetryField;

// Only the config of the pipeline itself is sure to be the same one when it has the same address.
bool Dispatch::is_like_last(const Arguments& arguments) const {
  const Workspace::Last& last = lease_->last;
  if (!last.can_repeat || last.config != &config_ || &config_ != &p_.config) return false;
  if (arguments.inputs.size() != last.inputs.size() ||
      arguments.outputs.size() != last.outputs.size())
    return false;
  const device::Backend& backend = *device_.backend;
  if (device_.trace.load(std::memory_order_relaxed) != nullptr || !device_.check_usable() ||
      p_.generation != backend.generation())
    return false;
  const auto same = [&](const Buffer& buffer, const Region& region) {
    return buffer.belongs_to(backend) && buffer.whole() == region;
  };
  for (size_t i = 0; i < last.inputs.size(); ++i) {
    const Buffer* const buffer = arguments.inputs[i].buffer();
    if (buffer == nullptr || !same(*buffer, last.inputs[i])) return false;
  }
  for (size_t i = 0; i < last.outputs.size(); ++i) {
    const Buffer* const buffer = arguments.outputs[i];
    if (buffer == nullptr ? last.outputs[i].buffer.valid() : !same(*buffer, last.outputs[i]))
      return false;
  }
  return true;
}

void Dispatch::use_again(const Arguments& arguments) {
  std::vector<Buffer::Use>& uses = lease_->uses;
  uses.clear();
  for (const Argument& argument : arguments.inputs) uses.emplace_back(*argument.buffer());
  for (const Buffer* const output : arguments.outputs)
    if (output != nullptr) uses.emplace_back(*output);
}

void Dispatch::remember(const Arguments& arguments) {
  Workspace::Last& last = lease_->last;
  last.config = &config_;
  last.inputs.clear();
  for (const Argument& argument : arguments.inputs)
    last.inputs.push_back(argument.buffer() != nullptr ? argument.buffer()->whole() : Region{});
  last.outputs.clear();
  for (const Buffer* const output : arguments.outputs)
    last.outputs.push_back(output != nullptr ? output->whole() : Region{});
}

// Everything was one submission that needs nothing of the host: no bytes of the caller in either
// direction, no callback, and no answer that the report would have to be made of.
void Dispatch::note_repeatable(const PlanRunner& runner, const Report& report) {
  Workspace& w = *lease_;
  const auto& buffers = p_.source.program->buffers;
  const device::Capabilities& can = device_.backend->info().capabilities;
  if (&config_ != &p_.config || !w.recorder.can_flush_again() || !runner.deferred() ||
      iterations() != 1 || config_.grid_from || config_.progress || config_.trap_handler ||
      config_.communicator || can.whole_programs || at_host() ||
      !w.variant->plan->fixpoints.empty())
    return;
  for (size_t i = 0; i < buffers.size(); ++i)
    if ((buffers[i].input_slot || buffers[i].output_slot) && !w.wanted.resident[i]) return;
  w.last.report = report;
  w.last.can_repeat = true;
}

Result<Report> Dispatch::repeat(Outputs* slots) {
  Workspace& w = *lease_;
  // A recovery may have come between prepare() and the turn of this work.
  if (auto ok = check_generation(); !ok) return std::unexpected(std::move(ok.error()));
  device_.telemetry.add(TelemetryField::Dispatches);
  if (auto ok = w.recorder.flush_again(submit_options()); !ok) {
    w.last.can_repeat = false;
    return failed(ok.error(), 0);
  }
  OutputStats stats;
  if (slots != nullptr) stats = prepare_outputs(*slots, w.output_bytes);
  Report report = w.last.report;
  finish(report, stats);
  return report;
}

}  // namespace vyre::run
