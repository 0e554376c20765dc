// SPDX-License-Identifier: Apache-2.0
#include "codegen/codegen.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"

namespace vyre::codegen {

using device::Format;

Result<Format> choose_format(const device::FormatSet& formats, std::string_view device) {
  for (const TargetDescriptor* const target : targets())
    if (formats.contains(target->format)) return target->format;
  return fail(
      ErrorCode::Unsupported,
      fmt::format("device `{}` loads {}, and this build generates code for none of these. Fix: use "
                  "a build with the code generator of this device, or another device",
                  device, to_string(formats)));
}

CodeChoices code_choices(Format format, const check::CheckedProgram& program, uint32_t ulp_budget) {
  const TargetDescriptor* const target = find_target(format);
  if (target == nullptr) return {};
  return {.ulps = ulps_of(target->approximations, program, ulp_budget),
          .has_cheap_code = target->has_cheap_code};
}

bool is_interpreted(Format format) {
  const TargetDescriptor* const target = find_target(format);
  return target != nullptr && target->is_interpreted;
}

namespace {

bool is_written(ir::BufferKind kind) {
  switch (kind) {
    case ir::BufferKind::InOut:
    case ir::BufferKind::Out:
    case ir::BufferKind::WriteOnly:
    case ir::BufferKind::Persistent:
    case ir::BufferKind::Scratch:
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

// The target, if it makes code of this plan.
Result<const TargetDescriptor*> emitting_target(const Target& target, const plan::Plan& plan) {
  const TargetDescriptor* const found = find_target(target.format);
  if (found == nullptr)
    return fail(ErrorCode::Unsupported,
                fmt::format("there is no code generator for format `{}`. Fix: use another "
                            "device",
                            name_of(target.format)));
  if (auto refused = found->can_emit(target, plan)) return std::unexpected(std::move(*refused));
  return found;
}

}  // namespace

std::vector<device::Entry> entries_of(const plan::Plan& plan, std::string_view program_name,
                                      const Target& target) {
  const TargetDescriptor* const descriptor = find_target(target.format);
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
    if (descriptor != nullptr && descriptor->describe_entry != nullptr)
      descriptor->describe_entry(target, segment, entry);
    entries.push_back(std::move(entry));
  }
  return entries;
}

Error explain(const plan::Plan& plan, Format format, bool checked, uint32_t entry,
              const device::KernelStop& stop) {
  const TargetDescriptor* const target = find_target(format);
  VYRE_CHECK(target != nullptr && target->explain != nullptr);
  return target->explain(plan, entry, checked, stop);
}

Result<Code> emit(const Target& target, const plan::Plan& plan) {
  VYRE_TRY_ASSIGN(const auto* const descriptor, emitting_target(target, plan));
  return descriptor->emit(target, plan);
}

std::vector<std::string> listing_names() {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  };
  for (const TargetDescriptor* const target : targets())
    for (const Listing& listing : target->listings) add(listing.name);
  for (const Format format : {Format::Spirv, Format::Cubin}) add(name_of(format));
  return names;
}

namespace {

const TargetDescriptor* target_for_every_device(std::string_view listing) {
  for (const TargetDescriptor* const target : targets())
    if (!target->listed_for.empty() &&
        std::ranges::find(target->listings, listing, &Listing::name) != target->listings.end())
      return target;
  return nullptr;
}

}  // namespace

Format listing_format(std::string_view listing, Format format) {
  const TargetDescriptor* const target = target_for_every_device(listing);
  return target != nullptr ? target->format : format;
}

std::string_view listing_device(std::string_view listing) {
  const TargetDescriptor* const target = target_for_every_device(listing);
  return target != nullptr ? target->listed_for : std::string_view();
}

Result<Code> list_code(std::string_view listing, const Target& target, const plan::Plan& plan) {
  const TargetDescriptor* const found = find_target(target.format);
  if (found != nullptr) {
    const auto with_name = std::ranges::find(found->listings, listing, &Listing::name);
    if (with_name != found->listings.end()) {
      VYRE_TRY(emitting_target(target, plan));
      return with_name->print(target, plan);
    }
  }
  return fail(
      ErrorCode::Unsupported,
      fmt::format("the device takes code as `{}`, which has no listing as {}. Fix: {}",
                  name_of(target.format), listing,
                  found != nullptr
                      ? found->other_listing
                      : "use a build with the code generator of this device, or another device"));
}

}  // namespace vyre::codegen
