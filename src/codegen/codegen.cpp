// SPDX-License-Identifier: Apache-2.0
#include "codegen/codegen.hpp"

#include <algorithm>
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

namespace {

bool is_written(ir::BufferKind kind) {
  switch (kind) {
    case ir::BufferKind::InOut:
    case ir::BufferKind::Out:
    case ir::BufferKind::WriteOnly:
    case ir::BufferKind::Persistent:
    case ir::BufferKind::Shared: return true;
    case ir::BufferKind::In:
    case ir::BufferKind::Uniform: return false;
  }
  return true;
}

std::vector<device::EntryBinding> bindings_of(const plan::Segment& segment) {
  std::vector<device::EntryBinding> bindings;
  const check::CheckedProgram& c = segment.program;
  for (size_t i = 0; i < c.program.buffers.size(); ++i) {
    const ir::Buffer& buffer = c.program.buffers[i];
    bindings.push_back({.name = buffer.name,
                        .element_bytes = bytes_of(buffer.element),
                        .count = c.buffers[i].constant_count,
                        .written = is_written(buffer.kind),
                        .shared = buffer.kind == ir::BufferKind::Shared});
  }
  for (const plan::SharedUse& use : segment.shared) {
    bindings[use.buffer.index()].restore = use.restore;
    bindings[use.buffer.index()].save = use.save;
  }
  return bindings;
}

}  // namespace

std::vector<device::Entry> entries_of(const plan::Plan& plan, std::string_view program_name,
                                      const Target& target) {
  std::vector<device::Entry> entries;
  for (size_t i = 0; i < plan.segments.size(); ++i) {
    const plan::Segment& segment = plan.segments[i];
    device::Entry entry;
    entry.name =
        plan.whole ? std::string(program_name) : fmt::format("{}, segment {}", program_name, i);
    entry.bindings = bindings_of(segment);
    entry.regions = segment.regions;
    entry.workgroup = segment.program.workgroup;
    entry.barriers_inside =
        segment.barriers_inside || (plan.whole && segment.program.has_grid_barrier);
    entry.whole = plan.whole;
    entry.can_trap = std::ranges::any_of(segment.program.program.stmts, [](const ir::Stmt& s) {
      return std::holds_alternative<ir::Trap>(s);
    });
    if (target.format == Format::Ptx) {
      const ThreadShape shape = thread_shape(segment.program, target.checked);
      entry.lanes_per_thread = shape.lanes;
      entry.threads = shape.threads;
      entry.shared_bytes = block_shared_bytes(segment.program);
      entry.launchable = is_launchable(segment);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<std::shared_ptr<const device::InterpretedProgram>> programs_of(
    const std::shared_ptr<const plan::Plan>& plan) {
  std::vector<std::shared_ptr<const device::InterpretedProgram>> programs;
  for (const plan::Segment& segment : plan->segments) {
    auto program = std::make_shared<device::InterpretedProgram>();
    program->program = std::shared_ptr<const check::CheckedProgram>(plan, &segment.program);
    program->live = segment.live;
    // Lanes that write a value of all of them have to agree on it.
    for (const plan::Argument& a : segment.arguments)
      program->agreed.push_back(a.kind == plan::Argument::Kind::HiddenOut &&
                                (plan->hidden[a.index].kind == plan::Hidden::Kind::Frame ||
                                 !segment.carries_group_frame));
    programs.push_back(std::move(program));
  }
  return programs;
}

Error explain(const plan::Plan& plan, Format format, bool checked, uint32_t entry,
              const device::KernelStop& stop) {
  return format == Format::Object ? explain_stop(plan, entry, checked, stop)
                                  : explain_whole_stop(plan, entry, stop);
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
