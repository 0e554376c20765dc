// SPDX-License-Identifier: Apache-2.0
#include "vyre/plan/bindings.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "vyre/check/launch.hpp"

namespace vyre::plan {
namespace {

using check::BufferFacts;
using check::Role;
using ir::BufferId;
using ir::BufferKind;

Error failure(ErrorCode code, std::string_view message, std::string_view fix) {
  return Error{.code = code,
               .message = fmt::format("{}. Fix: {}", message, fix),
               .context = {},
               .at = {},
               .diagnostics = {}};
}

Access access_of(BufferKind kind) {
  switch (kind) {
    case BufferKind::In:
    case BufferKind::Uniform: return Access::ReadOnly;
    case BufferKind::WriteOnly: return Access::WriteOnly;
    case BufferKind::InOut:
    case BufferKind::Out:
    case BufferKind::Shared:
    case BufferKind::Persistent:
    case BufferKind::Scratch: return Access::ReadWrite;
  }
  VYRE_CHECK(false && "a BufferKind outside its enumeration");
}

// What bindings and shared memory have in common.
struct Extent {
  uint32_t element_size = 0;
  uint32_t alignment = 0;
  std::optional<uint64_t> byte_len;
};

Result<Extent> extent_of(const ir::Buffer& buffer, const BufferFacts& facts) {
  Extent extent{.element_size = ir::bytes_of(buffer.element), .alignment = 0, .byte_len = {}};
  VYRE_TRY_ASSIGN(const auto alignment, preferred_alignment(facts.align, extent.element_size));
  extent.alignment = alignment;
  if (!facts.constant_count) return extent;
  VYRE_TRY_ASSIGN(const auto byte_len, static_byte_len(*facts.constant_count, extent.element_size));
  extent.byte_len = byte_len;
  return extent;
}

Binding binding_of(const check::CheckedProgram& checked, BufferId id, const Extent& extent) {
  const ir::Buffer& buffer = checked.program[id];
  const BufferFacts& facts = checked.buffers[id.index()];
  VYRE_CHECK(facts.binding.has_value());
  return {.name = buffer.name,
          .binding = *facts.binding,
          .buffer_index = id,
          .role = facts.role,
          .access = access_of(buffer.kind),
          .element_size = extent.element_size,
          .preferred_alignment = extent.alignment,
          .element_count = facts.constant_count.value_or(0),
          .static_byte_len = extent.byte_len,
          .input_index = facts.input_slot,
          .output_index = facts.output_slot};
}

SharedBuffer shared_of(const check::CheckedProgram& checked, BufferId id, const Extent& extent) {
  VYRE_CHECK(extent.byte_len.has_value());
  return {.name = checked.program[id].name,
          .buffer_index = id,
          .element_size = extent.element_size,
          .preferred_alignment = extent.alignment,
          .element_count = *checked.buffers[id.index()].constant_count,
          .byte_len = *extent.byte_len};
}

// The slots are the checker's; this only turns them round.
std::vector<uint32_t> slots_of(std::span<const Binding> bindings,
                               std::optional<uint32_t> Binding::* index) {
  std::vector<uint32_t> slots;
  for (uint32_t i = 0; i < bindings.size(); ++i) {
    const std::optional<uint32_t> slot = bindings[i].*index;
    if (!slot) continue;
    if (slots.size() <= *slot) slots.resize(*slot + 1);
    slots[*slot] = i;
  }
  return slots;
}

}  // namespace

Result<BindingPlan> plan_bindings(const check::CheckedProgram& checked) {
  BindingPlan plan;
  for (uint32_t i = 0; i < checked.program.buffers.size(); ++i) {
    const BufferId id{i};
    const ir::Buffer& buffer = checked.program[id];
    auto extent = extent_of(buffer, checked.buffers[i]);
    if (!extent) {
      extent.error().context.push_back(fmt::format("while binding `{}`", buffer.name));
      extent.error().at = checked.program.position_of(id);
      return std::unexpected(std::move(extent.error()));
    }
    if (checked.buffers[i].role == Role::Shared)
      plan.shared.push_back(shared_of(checked, id, *extent));
    else
      plan.bindings.push_back(binding_of(checked, id, *extent));
  }
  std::ranges::sort(plan.bindings, {}, &Binding::binding);
  plan.input_slots = slots_of(plan.bindings, &Binding::input_index);
  plan.output_slots = slots_of(plan.bindings, &Binding::output_index);
  return plan;
}

Result<uint32_t> preferred_alignment(uint64_t hint, uint32_t element_size) {
  if (hint > UINT32_MAX || (hint != 0 && !std::has_single_bit(hint)))
    return std::unexpected(failure(ErrorCode::InvalidProgram,
                                   fmt::format("a buffer has preferred_alignment={}", hint),
                                   "use 0 or a power of two below 2^32"));
  return std::max(static_cast<uint32_t>(hint), std::bit_ceil(element_size));
}

Result<uint64_t> static_byte_len(uint64_t element_count, uint32_t element_size) {
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(element_count, uint64_t{element_size}, &bytes))
    return std::unexpected(
        failure(ErrorCode::InvalidProgram,
                fmt::format("a buffer of {} elements of {} bytes has more than {} bytes",
                            element_count, element_size, UINT64_MAX),
                "declare fewer elements"));
  return bytes;
}

Result<uint32_t> element_count(uint64_t bytes, uint32_t element_size) {
  VYRE_CHECK(element_size != 0);
  if (bytes % element_size != 0)
    return std::unexpected(
        failure(ErrorCode::InvalidArgument,
                fmt::format("a buffer of {} bytes is not a multiple of its element size ({})",
                            bytes, element_size),
                "give whole elements"));
  const uint64_t count = bytes / element_size;
  if (count > check::kMaxElements)
    return std::unexpected(
        failure(ErrorCode::LimitExceeded,
                fmt::format("a buffer has {} elements, more than {}", count, check::kMaxElements),
                "split the data over several dispatches"));
  return static_cast<uint32_t>(count);
}

Digest layout_fingerprint(const BindingPlan& plan) {
  std::vector<std::byte> bytes;
  const auto put = [&](uint32_t word) {
    for (int shift = 0; shift < 32; shift += 8)
      bytes.push_back(static_cast<std::byte>(word >> shift));
  };
  for (const Binding& b : plan.bindings) {
    put(b.binding);
    put(std::to_underlying(b.role));
    put(std::to_underlying(b.access));
    put(b.element_size);
  }
  return digest_of(bytes);
}

bool share_layout(const BindingPlan& a, const BindingPlan& b) {
  return layout_fingerprint(a) == layout_fingerprint(b);
}

std::string_view name_of(DescriptorSlot::Class descriptor_class) {
  switch (descriptor_class) {
    case DescriptorSlot::Class::Storage: return "storage";
    case DescriptorSlot::Class::Uniform: return "uniform";
  }
  VYRE_CHECK(false && "a class outside its enumeration");
}

std::vector<DescriptorSlot> descriptor_slots(const BindingPlan& plan) {
  std::vector<DescriptorSlot> slots;
  slots.reserve(plan.bindings.size());
  for (const Binding& b : plan.bindings)
    slots.push_back({.group = 0,
                     .binding = b.binding,
                     .descriptor_class = b.role == Role::Uniform ? DescriptorSlot::Class::Uniform
                                                                 : DescriptorSlot::Class::Storage,
                     .read_only = b.access == Access::ReadOnly,
                     .element_size = b.element_size});
  return slots;
}

}  // namespace vyre::plan
