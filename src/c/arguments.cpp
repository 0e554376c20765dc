// SPDX-License-Identifier: Apache-2.0
#include "c/arguments.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "c/boundary.hpp"
#include "c/config.hpp"
#include "vyre/check/launch.hpp"

namespace vyre::c {

namespace {

const check::CheckedProgram& checked_of(const vyre_pipeline& pipeline) {
  return *pipeline.source->checked;
}
const std::string& name_of_buffer(const vyre_pipeline& pipeline, ir::BufferId id) {
  return checked_of(pipeline).program[id].name;
}

// The array is not read before its length is known to be right.
Result<void> check_count(const vyre_pipeline& pipeline, std::string_view what, const void* array,
                         size_t count, size_t wanted) {
  if (count == wanted && (array != nullptr || count == 0)) return {};
  if (count == wanted) return null_argument(what);
  return fail(ErrorCode::InvalidArgument,
              fmt::format("program `{}` has {} {}, and {} were given. Fix: give one for each "
                          "declaration, in their order",
                          checked_of(pipeline).program.name, wanted, what, count));
}

Result<void> check_argument(const vyre_pipeline& pipeline, ir::BufferId id, const vyre_arg& arg) {
  const std::string& name = name_of_buffer(pipeline, id);
  if (arg.buffer == nullptr) return require_bytes(arg.data, arg.size, name);
  if (arg.data != nullptr || arg.size != 0)
    return fail(
        ErrorCode::InvalidArgument,
        fmt::format("argument `{}` is both memory and a buffer. Fix: give one of them", name));
  return {};
}

std::unexpected<Error> too_small(const vyre_pipeline& pipeline, size_t slot, uint64_t have,
                                 uint64_t needed) {
  return fail(
      ErrorCode::InvalidArgument,
      fmt::format("the memory for output `{}` has {} bytes, and its result has {}. Fix: give "
                  "as many; vyre_output_sizes() says them",
                  name_of_buffer(pipeline, pipeline.outputs[slot]), have, needed));
}

// Puts outputs into a call whose inputs are there.
class OutputReader {
 public:
  OutputReader(const vyre_pipeline& pipeline, const CallerArguments& given, vyre_call& call)
      : p_(pipeline), given_(given), call_(call) {}

  Result<void> read() {
    const size_t count = p_.outputs.size();
    if (given_.output_count == 0) return {};
    VYRE_TRY(check_count(p_, "outputs", given_.outputs, given_.output_count, count));
    call_.host.resize(count);
    bool any_resident = false;
    for (size_t slot = 0; slot < count; ++slot) {
      const vyre_arg& arg = given_.outputs[slot];
      VYRE_TRY(check_argument(p_, p_.outputs[slot], arg));
      any_resident |= arg.buffer != nullptr;
      call_.host[slot] = {static_cast<std::byte*>(arg.data), arg.size};
    }
    if (any_resident) {
      for (size_t slot = 0; slot < count; ++slot) {
        vyre_buffer* const buffer = given_.outputs[slot].buffer;
        call_.outputs.push_back(buffer == nullptr ? nullptr : &buffer->buffer);
        if (buffer != nullptr) call_.buffers.emplace_back(buffer);
      }
    }
    return sizes();
  }

 private:
  // An `inout` that came in as a buffer stays in it.
  [[nodiscard]] bool stays(size_t slot) const {
    const auto& input = checked_of(p_).buffers[p_.outputs[slot].index()].input_slot;
    return given_.outputs[slot].buffer != nullptr ||
           (input && call_.inputs[*input].buffer() != nullptr);
  }

  Result<void> sizes() {
    const auto lengths = output_bytes(p_, call_.inputs);
    std::optional<size_t> small;
    for (size_t slot = 0; slot < p_.outputs.size(); ++slot) {
      const bool on_device = stays(slot);
      if (on_device && call_.host[slot].data != nullptr)
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format("`{}` came in as a buffer and its result stays there, so memory for "
                        "it stays empty. Fix: give VYRE_NOWHERE, and vyre_buffer_read() it",
                        name_of_buffer(p_, p_.outputs[slot])));
      const bool dropped = call_.host[slot].data == nullptr && call_.host[slot].bytes == 0;
      given_.outputs[slot].written = lengths && !on_device ? (*lengths)[slot] : 0;
      if (lengths && !on_device && !dropped && (*lengths)[slot] > call_.host[slot].bytes && !small)
        small = slot;
    }
    if (small) return too_small(p_, *small, call_.host[*small].bytes, (*lengths)[*small]);
    return {};
  }

  const vyre_pipeline& p_;
  const CallerArguments& given_;
  vyre_call& call_;
};

}  // namespace

Result<std::vector<run::Argument>> read_inputs(const vyre_pipeline& pipeline,
                                               const vyre_arg* inputs, size_t count) {
  VYRE_TRY(check_count(pipeline, "inputs", inputs, count, pipeline.inputs.size()));
  std::vector<run::Argument> read;
  read.reserve(count);
  for (size_t slot = 0; slot < count; ++slot) {
    const vyre_arg& arg = inputs[slot];
    VYRE_TRY(check_argument(pipeline, pipeline.inputs[slot], arg));
    if (arg.buffer != nullptr)
      read.emplace_back(arg.buffer->buffer);
    else
      read.emplace_back(std::span(static_cast<const std::byte*>(arg.data), arg.size));
  }
  return read;
}

std::optional<std::vector<uint64_t>> output_bytes(const vyre_pipeline& pipeline,
                                                  const std::vector<run::Argument>& inputs) {
  // Of a buffer on the device only the length is read.
  static constexpr std::byte kNowhere{};
  const check::CheckedProgram& checked = checked_of(pipeline);
  std::vector<std::span<const std::byte>> views;
  views.reserve(inputs.size());
  for (size_t slot = 0; slot < inputs.size(); ++slot) {
    const device::Buffer* const buffer = inputs[slot].buffer();
    if (buffer == nullptr) {
      views.push_back(inputs[slot].bytes());
      continue;
    }
    const ir::BufferId id = pipeline.inputs[slot];
    if (pipeline.host_reads[id.index()]) return std::nullopt;
    uint64_t bytes = buffer->bytes();
    // It may be larger than what the program declares.
    if (const auto& fixed = checked.buffers[id.index()].constant_count)
      bytes = std::min(bytes, uint64_t{*fixed} * bytes_of(checked.program[id].element));
    views.emplace_back(&kNowhere, bytes);
  }
  // Lengths do not depend on the grid.
  const auto launch =
      check::resolve_launch(checked, {.inputs = views, .grid = check::Axes{1, 1, 1}});
  if (!launch) return std::nullopt;
  std::vector<uint64_t> lengths;
  lengths.reserve(pipeline.outputs.size());
  for (const ir::BufferId id : pipeline.outputs)
    lengths.push_back(
        check::returned_range(checked, id,
                              launch->counts[id.index()] * bytes_of(checked.program[id].element))
            .bytes);
  return lengths;
}

Result<std::unique_ptr<vyre_call>> bind(vyre_pipeline& pipeline, const CallerArguments& given,
                                        const vyre_options* options) {
  auto call = std::make_unique<vyre_call>();
  call->pipeline = Ref<vyre_pipeline>(&pipeline);
  VYRE_TRY_ASSIGN(call->config, config_of(options, pipeline.source));
  VYRE_TRY_ASSIGN(call->inputs, read_inputs(pipeline, given.inputs, given.input_count));
  for (size_t slot = 0; slot < given.input_count; ++slot)
    if (given.inputs[slot].buffer != nullptr) call->buffers.emplace_back(given.inputs[slot].buffer);
  VYRE_TRY(OutputReader(pipeline, given, *call).read());
  return call;
}

Result<void> copy_out(const vyre_call& call, const run::Outputs& results) {
  const size_t count = std::min(call.host.size(), results.size());
  for (size_t slot = 0; slot < count; ++slot) {
    const HostMemory& to = call.host[slot];
    if (to.data == nullptr || results[slot].empty()) continue;
    if (results[slot].size() > to.bytes)
      return too_small(*call.pipeline, slot, to.bytes, results[slot].size());
    std::memcpy(to.data, results[slot].data(), results[slot].size());
  }
  return {};
}

}  // namespace vyre::c
