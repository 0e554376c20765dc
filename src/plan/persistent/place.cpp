// SPDX-License-Identifier: Apache-2.0
#include "plan/persistent/place.hpp"

#include <algorithm>

namespace vyre::plan::persistent {

using namespace ir;

namespace {

bool fits_registers(const Analysis& a, uint32_t iterations) {
  constexpr uint32_t kMostWords = 40;        // of a thread
  constexpr uint32_t kMostStatements = 400;  // in all iterations
  // Without state there is nothing to gain.
  return a.words != 0 && !a.has_arrays && a.words * iterations <= kMostWords &&
         a.statements * iterations <= kMostStatements;
}

using Taken = std::map<std::pair<Type, uint32_t>, size_t>;  // of KernelMemory::slots

BufferId slot_buffer(Draft& d, KernelMemory& memory, Taken& taken, Type type, uint32_t elements) {
  const std::pair key(type, elements);
  std::vector<BufferId>& buffers = memory.slots[key];
  const size_t n = taken[key]++;
  if (n == buffers.size()) {
    Hidden hidden;
    hidden.kind = Hidden::Kind::Slot;
    hidden.name = "turn_slot";
    hidden.element = type;
    hidden.extent = Hidden::Extent::PerLane;
    hidden.count = elements;
    buffers.push_back(d.add_hidden(std::move(hidden)));
  }
  return buffers[n];
}

}  // namespace

// Values of one lane stand side by side as long as one access can move them; a private array has
// its elements apart, as lanes use the same one at a time.
Placement place(Draft& d, KernelMemory& memory, const Analysis& a, const RouteVariant& variant) {
  Placement out;
  out.workgroups_per_block =
      a.synchronises_workgroup ? 1 : std::max(variant.workgroups_per_block, 1U);
  if (fits_registers(a, variant.unrolled_iterations))
    out.unrolled_iterations = variant.unrolled_iterations;
  Taken taken;
  std::map<Type, std::vector<uint32_t>> scalars;
  for (const uint32_t i : a.live_across) {
    const Type type = d.type_of(LocalId{i});
    const uint32_t elements = d.c.array_counts[i];
    if (out.unrolled_iterations != 0) {
      const std::string name = d.source_names[i];
      for (uint32_t t = 0; t < out.unrolled_iterations; ++t)
        out.registers[i].push_back(d.local(Local::Kind::Var, name, type, Level::Lane));
    } else if (elements != 0) {
      out.slots[i] = {slot_buffer(d, memory, taken, type, elements), 0, 0};
    } else {
      scalars[type].push_back(i);
    }
  }
  constexpr uint32_t kMostWords = 4;  // of an access
  for (const auto& [type, locals] : scalars)
    for (size_t at = 0; at < locals.size();) {
      uint32_t width = type == Type::Bool ? 1 : kMostWords / words_of(type);
      while (width > locals.size() - at) width /= 2;
      const BufferId buffer = slot_buffer(d, memory, taken, type, width);
      for (uint32_t k = 0; k < width; ++k) out.slots[locals[at + k]] = {buffer, width, k};
      at += width;
    }
  return out;
}

}  // namespace vyre::plan::persistent
