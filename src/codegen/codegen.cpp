// SPDX-License-Identifier: Apache-2.0
#include "codegen/codegen.hpp"

#include <cstring>

#include <fmt/format.h>

#include "codegen/llvm/cpu.hpp"
#include "codegen/llvm/nvptx.hpp"
#include "codegen/llvm/stops.hpp"
#include "device/kernel.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::codegen {

using device::Format;

namespace {

std::unexpected<Error> unsupported(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::Unsupported,
                               .message = std::move(message),
                               .context = {},
                               .at = {},
                               .diagnostics = {}});
}

void append_u32(std::vector<std::byte>& out, uint32_t value) {
  const size_t at = out.size();
  out.resize(at + 4);
  std::memcpy(out.data() + at, &value, 4);
}

// For devices that interpret programs: the segments in their canonical form, and what stands beside
// them.
std::vector<std::byte> emit_programs(const plan::Plan& plan) {
  std::vector<std::byte> out;
  append_u32(out, static_cast<uint32_t>(plan.segments.size()));
  for (const plan::Segment& segment : plan.segments) {
    const std::vector<std::byte> program = ir::encode(segment.program.program);
    append_u32(out, static_cast<uint32_t>(program.size()));
    out.insert(out.end(), program.begin(), program.end());
    append_u32(out, segment.live.value);
    append_u32(out, static_cast<uint32_t>(segment.shared.size()));
    for (const plan::SharedUse& use : segment.shared) {
      append_u32(out, use.buffer.value);
      append_u32(out, (use.restore ? 1U : 0U) | (use.save ? 2U : 0U));
    }
  }
  return out;
}

}  // namespace

namespace {

HostCode host_code_for(std::string_view architecture) {
  if (architecture == device::kOtherShapes) return HostCode::OtherShapes;
  if (architecture == device::kCalledFunctions) return HostCode::Called;
  return architecture == device::kCheapCode ? HostCode::Cheap : HostCode::Plain;
}

}  // namespace

NvptxTarget ptx_target(const Target& target) {
  return {
      .architecture = target.architecture.empty() ? kDefaultPtxArchitecture : target.architecture,
      .checked = target.checked,
      .poison = target.poison};
}

Result<Format> choose_format(const device::FormatSet& formats, std::string_view device) {
  for (const Format format : {Format::Program, Format::Object, Format::Ptx})
    if (formats.contains(format)) return format;
  return unsupported(
      fmt::format("device `{}` loads {}, and this build generates code for none of these. Fix: use "
                  "a build with the code generator of this device, or another device",
                  device, to_string(formats)));
}

std::vector<device::Entry> entries_of(const std::shared_ptr<const plan::Plan>& plan,
                                      std::string_view program_name, const Target& target) {
  std::vector<device::Entry> entries;
  for (size_t i = 0; i < plan->segments.size(); ++i) {
    const plan::Segment& segment = plan->segments[i];
    device::Entry entry;
    entry.name =
        plan->whole ? std::string(program_name) : fmt::format("{}, segment {}", program_name, i);
    entry.arguments = static_cast<uint32_t>(segment.arguments.size());
    for (const plan::SharedUse& use : segment.shared)
      entry.shared.push_back({use.buffer, use.restore, use.save});
    // Lanes that write a value of all of them have to agree on it.
    for (const plan::Argument& a : segment.arguments)
      entry.agreed.push_back(a.kind == plan::Argument::Kind::HiddenOut &&
                             (plan->hidden[a.index].kind == plan::Hidden::Kind::Frame ||
                              !segment.carries_group_frame));
    entry.barriers_inside =
        segment.barriers_inside || (plan->whole && segment.program.has_grid_barrier);
    entry.regions = segment.regions;
    entry.program = std::shared_ptr<const check::CheckedProgram>(plan, &segment.program);
    entry.live = segment.live;
    entry.whole = plan->whole;
    const auto number = static_cast<uint32_t>(i);
    if (target.format == Format::Object)
      entry.explain = [plan, number, checked = target.checked](const device::KernelStop& stop) {
        return explain_stop(*plan, number, checked, stop);
      };
    if (target.format == Format::Ptx) {
      const ThreadShape shape = thread_shape(segment.program, target.checked);
      entry.lanes_per_thread = shape.lanes;
      entry.block_threads = shape.threads;
      entry.explain = [plan, number](const device::KernelStop& stop) {
        return explain_whole_stop(*plan, number, stop);
      };
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<std::vector<std::byte>> emit(const Target& target, const plan::Plan& plan) {
  if (target.format == Format::Program) return emit_programs(plan);
  if (target.format == Format::Object)
    return host_code(plan,
                     {.checked = target.checked,
                      .code = host_code_for(target.architecture),
                      .poison = target.poison},
                     HostListing::Object);
  if (target.format == Format::Ptx) return nvptx_code(plan, ptx_target(target));
  return unsupported(
      fmt::format("there is no code generator for format `{}`. Fix: use another "
                  "device",
                  name_of(target.format)));
}

}  // namespace vyre::codegen
