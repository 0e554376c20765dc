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

// Lengths are all that is read; a resident buffer has no bytes here.
constexpr std::byte kNowhere{};

// Puts the arguments of one dispatch into its workspace.
class ArgumentReader {
 public:
  ArgumentReader(const PipelineState& pipeline, Workspace& workspace, const Arguments& arguments)
      : p_(pipeline),
        checked_(*pipeline.source.program),
        w_(workspace),
        arguments_(arguments),
        buffers_(checked_.buffers.size()) {}

  Result<void> read() {
    const size_t outputs = p_.bindings.output_slots.size();
    if (!arguments_.outputs.empty() && arguments_.outputs.size() != outputs)
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("dispatch expected {} output buffer(s) for program `{}`, received "
                              "{}. Fix: give one pointer for each output, null for those that "
                              "come back as bytes",
                              outputs, checked_.program.name, arguments_.outputs.size()));
    clear();
    for (const Argument& argument : arguments_.inputs)
      w_.by_input.push_back(argument.buffer() == nullptr
                                ? argument.bytes()
                                : std::span(&kNowhere, argument.buffer()->bytes()));
    for (const auto& bytes : w_.by_input) w_.wanted.input_bytes.push_back(bytes.size());
    for (size_t i = 0; i < buffers_; ++i) {
      const check::BufferFacts& facts = checked_.buffers[i];
      if (facts.input_slot && *facts.input_slot < arguments_.inputs.size()) {
        const Argument& argument = arguments_.inputs[*facts.input_slot];
        VYRE_TRY(argument.buffer() != nullptr ? resident_input(i, *argument.buffer())
                                              : host_input(i, argument.bytes()));
      }
      VYRE_TRY(output(i));
    }
    return check_overlaps();
  }
  [[nodiscard]] uint64_t host_bytes() const { return host_bytes_; }

 private:
  void clear() {
    w_.resident.assign(buffers_, Region{});
    w_.given.assign(buffers_, std::span<const std::byte>());
    w_.by_input.clear();
    w_.uses.clear();
    w_.wanted.input_bytes.clear();
    w_.wanted.uniforms.clear();
    w_.wanted.resident.assign(buffers_, false);
  }

  [[nodiscard]] Position position(size_t i) const {
    return checked_.program.position_of(BufferId{static_cast<uint32_t>(i)});
  }

  Result<void> use(size_t i, const Buffer& buffer) {
    if (auto ok = buffer.check_owner(*p_.device->backend); !ok) {
      Error error = ok.error();
      error.context.push_back(fmt::format("argument `{}` of program `{}`",
                                          name_of_buffer(checked_, i), checked_.program.name));
      return std::unexpected(std::move(error));
    }
    // Of an empty buffer no byte is ever addressed.
    if (const uint64_t wanted = checked_.buffers[i].align;
        wanted > buffer.alignment() && buffer.bytes() != 0)
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("`{0}` requires a multiple of {1} bytes (@align), and the buffer given "
                      "for it was allocated at a multiple of {2}. Fix: allocate or upload it "
                      "with an alignment of {1}",
                      name_of_buffer(checked_, i), wanted, buffer.alignment()),
          position(i));
    w_.resident[i] = buffer.whole();
    w_.wanted.resident[i] = true;
    w_.uses.emplace_back(buffer);
    return {};
  }

  Result<void> resident_input(size_t i, const Buffer& buffer) {
    const check::BufferFacts& facts = checked_.buffers[i];
    if (p_.host_reads[i])
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("`{}` decides about sizes (`over`, @count or require), so it "
                              "cannot be a buffer on the device. Fix: give its bytes",
                              name_of_buffer(checked_, i)),
                  position(i));
    VYRE_TRY(use(i, buffer));
    // It may be larger than what the program declares.
    const auto& fixed = facts.constant_count;
    const uint64_t needed =
        fixed ? uint64_t{*fixed} * bytes_of(checked_.program.buffers[i].element) : 0;
    if (fixed && buffer.bytes() >= needed) {
      w_.resident[i].bytes = needed;
      w_.by_input[*facts.input_slot] = std::span(&kNowhere, needed);
    }
    return {};
  }

  Result<void> host_input(size_t i, std::span<const std::byte> bytes) {
    const check::BufferFacts& facts = checked_.buffers[i];
    if (facts.role == check::Role::Persistent && p_.device->at_host())
      return fail(ErrorCode::Unsupported,
                  fmt::format("`{}` is persistent, and device `{}` keeps no buffers between "
                              "dispatches (resident_buffers). Fix: use another device",
                              name_of_buffer(checked_, i), p_.device->backend->info().id),
                  position(i));
    if (facts.role == check::Role::Persistent)
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("`{}` is persistent: only a buffer on the device keeps its "
                              "contents. Fix: allocate one and give that",
                              name_of_buffer(checked_, i)),
                  position(i));
    w_.given[i] = bytes;
    host_bytes_ += bytes.size();
    if (facts.role == check::Role::Uniform || p_.host_reads[i])
      w_.wanted.uniforms.insert(w_.wanted.uniforms.end(), bytes.begin(), bytes.end());
    return {};
  }

  Result<void> output(size_t i) {
    const check::BufferFacts& facts = checked_.buffers[i];
    if (!facts.output_slot || arguments_.outputs.empty()) return {};
    const Buffer* const output = arguments_.outputs[*facts.output_slot];
    if (output == nullptr) return {};
    if (w_.wanted.resident[i] && w_.resident[i].buffer != output->handle())
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("`{}` comes in as one buffer and is to stay in another. Fix: give the "
                      "same buffer twice, or copy it",
                      name_of_buffer(checked_, i)));
    return w_.wanted.resident[i] ? Result<void>{} : use(i, *output);
  }

  // Bytes of the host are copied, so only buffers can overlap.
  [[nodiscard]] Result<void> check_overlaps() const {
    const auto written = [&](size_t i) { return is_written(checked_.program.buffers[i].kind); };
    for (size_t a = 0; a < buffers_; ++a) {
      if (!w_.wanted.resident[a]) continue;
      for (size_t b = a + 1; b < buffers_; ++b) {
        if (!w_.wanted.resident[b] || w_.resident[a].buffer != w_.resident[b].buffer) continue;
        if (!written(a) && !written(b)) continue;
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("`{}` and `{}` are the same buffer, and the program writes to it. "
                                "Fix: give each its own buffer",
                                name_of_buffer(checked_, a), name_of_buffer(checked_, b)));
      }
    }
    return {};
  }

  const PipelineState& p_;
  const check::CheckedProgram& checked_;
  Workspace& w_;
  const Arguments& arguments_;
  size_t buffers_;
  uint64_t host_bytes_ = 0;
};

}  // namespace

Result<void> PipelineState::check_generation() const {
  const device::Backend& backend = *device->backend;
  if (generation == backend.generation()) return {};
  return fail(ErrorCode::StaleHandle,
              fmt::format("pipeline `{}` is from generation {} of device `{}`, which is in "
                          "generation {} since its recovery. Fix: compile it again after "
                          "recover()",
                          id, generation, backend.info().id, backend.generation()));
}

Result<void> Dispatch::take_arguments(const Arguments& arguments) {
  VYRE_TRY(device_.check_usable());
  VYRE_TRY(p_.check_generation());
  ArgumentReader reader(p_, *lease_, arguments);
  VYRE_TRY(reader.read());
  host_input_bytes_ = reader.host_bytes();
  return {};
}

}  // namespace vyre::run
