// SPDX-License-Identifier: Apache-2.0
// What a caller gives to a dispatch, and whether it fits.
#include <fmt/format.h>

#include "base/errors.hpp"
#include "run/errors.hpp"
#include "run/state.hpp"

namespace vyre::run {

using device::Buffer;
using device::Region;
using ir::BufferId;

namespace {

const std::string& name_of_buffer(const check::CheckedProgram& checked, size_t i) {
  return checked.program.buffers[i].name;
}

}  // namespace

Result<void> Dispatch::check_generation() const {
  const device::Backend& backend = *device_.backend;
  if (p_.generation == backend.generation()) return {};
  return fail(ErrorCode::StaleHandle,
              fmt::format("pipeline `{}` is from generation {} of device `{}`, which is in "
                          "generation {} since its recovery. Fix: compile it again after "
                          "recover()",
                          p_.id, p_.generation, backend.info().id, backend.generation()));
}

Result<void> Dispatch::take_arguments(const Arguments& arguments) {
  VYRE_TRY(device_.check_usable());
  const device::Backend& backend = *device_.backend;
  VYRE_TRY(check_generation());
  const check::CheckedProgram& checked = *p_.source.program;
  Workspace& w = *lease_;
  const size_t buffers = checked.buffers.size();
  const size_t outputs = p_.bindings.output_slots.size();
  if (!arguments.outputs.empty() && arguments.outputs.size() != outputs)
    return fail(ErrorCode::InvalidArgument,
                fmt::format("dispatch expected {} output buffer(s) for program `{}`, received {}. "
                            "Fix: give one pointer for each output, null for those that come back "
                            "as bytes",
                            outputs, checked.program.name, arguments.outputs.size()));
  w.resident.assign(buffers, Region{});
  w.given.assign(buffers, std::span<const std::byte>());
  w.by_input.clear();
  w.uses.clear();
  w.wanted.input_bytes.clear();
  w.wanted.uniforms.clear();
  w.wanted.resident.assign(buffers, false);
  host_input_bytes_ = 0;
  const auto use = [&](size_t i, const Buffer& buffer) -> Result<void> {
    if (auto ok = buffer.check_owner(backend); !ok) {
      Error error = ok.error();
      error.context.push_back(fmt::format("argument `{}` of program `{}`",
                                          name_of_buffer(checked, i), checked.program.name));
      return std::unexpected(std::move(error));
    }
    w.resident[i] = buffer.whole();
    w.wanted.resident[i] = true;
    w.uses.emplace_back(buffer);
    return {};
  };
  // Lengths are all that is looked at; a resident buffer has no bytes here.
  static constexpr std::byte kNowhere{};
  for (const Argument& argument : arguments.inputs)
    w.by_input.push_back(argument.buffer() == nullptr
                             ? argument.bytes()
                             : std::span(&kNowhere, argument.buffer()->bytes()));
  for (const auto& bytes : w.by_input) w.wanted.input_bytes.push_back(bytes.size());
  for (size_t i = 0; i < buffers; ++i) {
    const check::BufferFacts& facts = checked.buffers[i];
    if (facts.input_slot && *facts.input_slot < arguments.inputs.size()) {
      const Argument& argument = arguments.inputs[*facts.input_slot];
      if (argument.buffer() != nullptr) {
        if (p_.host_reads[i])
          return fail(ErrorCode::InvalidArgument,
                      fmt::format("`{}` decides about sizes (`over`, @count or require), so it "
                                  "cannot be a buffer on the device. Fix: give its bytes",
                                  name_of_buffer(checked, i)),
                      checked.program.position_of(BufferId{static_cast<uint32_t>(i)}));
        VYRE_TRY(use(i, *argument.buffer()));
        // It may be larger than what the program declares.
        const auto& fixed = facts.constant_count;
        const uint64_t needed =
            fixed ? uint64_t{*fixed} * bytes_of(checked.program.buffers[i].element) : 0;
        if (fixed && argument.buffer()->bytes() >= needed) {
          w.resident[i].bytes = needed;
          w.by_input[*facts.input_slot] = std::span(&kNowhere, needed);
        }
      } else {
        if (facts.role == check::Role::Persistent && at_host())
          return fail(ErrorCode::Unsupported,
                      fmt::format("`{}` is persistent, and device `{}` keeps no buffers between "
                                  "dispatches (resident_buffers). Fix: use another device",
                                  name_of_buffer(checked, i), backend.info().id),
                      checked.program.position_of(BufferId{static_cast<uint32_t>(i)}));
        if (facts.role == check::Role::Persistent)
          return fail(ErrorCode::InvalidArgument,
                      fmt::format("`{}` is persistent: only a buffer on the device keeps its "
                                  "contents. Fix: allocate one and give that",
                                  name_of_buffer(checked, i)),
                      checked.program.position_of(BufferId{static_cast<uint32_t>(i)}));
        w.given[i] = argument.bytes();
        host_input_bytes_ += argument.bytes().size();
        if (facts.role == check::Role::Uniform || p_.host_reads[i])
          w.wanted.uniforms.insert(w.wanted.uniforms.end(), argument.bytes().begin(),
                                   argument.bytes().end());
      }
    }
    if (!facts.output_slot || arguments.outputs.empty()) continue;
    const Buffer* const output = arguments.outputs[*facts.output_slot];
    if (output == nullptr) continue;
    if (w.wanted.resident[i] && w.resident[i].buffer != output->handle())
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("`{}` comes in as one buffer and is to stay in another. Fix: give the "
                      "same buffer twice, or copy it",
                      name_of_buffer(checked, i)));
    if (!w.wanted.resident[i]) VYRE_TRY(use(i, *output));
  }
  // Bytes of the host are copied, so only buffers can overlap.
  for (size_t a = 0; a < buffers; ++a) {
    if (!w.wanted.resident[a]) continue;
    for (size_t b = a + 1; b < buffers; ++b) {
      if (!w.wanted.resident[b] || w.resident[a].buffer != w.resident[b].buffer) continue;
      if (!is_written(checked.program.buffers[a].kind) &&
          !is_written(checked.program.buffers[b].kind))
        continue;
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("`{}` and `{}` are the same buffer, and the program writes to it. "
                              "Fix: give each its own buffer",
                              name_of_buffer(checked, a), name_of_buffer(checked, b)));
    }
  }
  return {};
}

}  // namespace vyre::run
