// SPDX-License-Identifier: Apache-2.0
// The binding plan: from a checked program, what every buffer is to the caller (slots, in the order
// of declaration) and to the device (bindings, by number). Every route and the oracle use the slots
// that the checker counted, so a caller sees the same arguments wherever a program runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/digest.hpp"
#include "vyre/base/result.hpp"
#include "vyre/check/check.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::plan {

// What a program may do with a buffer on the device.
enum class Access : uint8_t { ReadOnly, WriteOnly, ReadWrite };

// A buffer that the device gets an address for: all but the shared ones.
struct Binding {
  std::string name;
  uint32_t binding = 0;
  ir::BufferId buffer_index;
  check::Role role = check::Role::Input;
  Access access = Access::ReadOnly;
  uint32_t element_size = 0;                // bytes
  uint32_t preferred_alignment = 0;         // bytes
  uint32_t element_count = 0;               // 0 also when sized at run time
  std::optional<uint64_t> static_byte_len;  // none: sized at run time; 0: empty
  std::optional<uint32_t> input_index;      // into the caller's inputs
  std::optional<uint32_t> output_index;     // into the caller's outputs

  friend bool operator==(const Binding&, const Binding&) = default;
};

// Memory of a workgroup: no binding, no slot, always a constant size.
struct SharedBuffer {
  std::string name;
  ir::BufferId buffer_index;
  uint32_t element_size = 0;
  uint32_t preferred_alignment = 0;
  uint32_t element_count = 0;
  uint64_t byte_len = 0;

  friend bool operator==(const SharedBuffer&, const SharedBuffer&) = default;
};

struct BindingPlan {
  std::vector<Binding> bindings;      // ascending by binding number
  std::vector<uint32_t> input_slots;  // in order of declaration; values index `bindings`
  std::vector<uint32_t> output_slots;
  std::vector<SharedBuffer> shared;  // in order of declaration

  friend bool operator==(const BindingPlan&, const BindingPlan&) = default;
};

// Errors: InvalidProgram for an alignment or a length that cannot be. The checker refuses such
// programs; facts that come from elsewhere may still hold them.
Result<BindingPlan> plan_bindings(const check::CheckedProgram& checked);

// The larger of the hint and the element size rounded up to a power of two. InvalidProgram unless
// the hint is 0 (none) or a power of two below 2^32.
Result<uint32_t> preferred_alignment(uint64_t hint, uint32_t element_size);

// Bytes of a buffer with a constant count; InvalidProgram if they are more than 2^64-1.
Result<uint64_t> static_byte_len(uint64_t element_count, uint32_t element_size);

// Elements in the bytes that a caller gave; 0 means empty. InvalidArgument if they are not whole
// elements, LimitExceeded for more than 2^32-1, which is never cut to a smaller count.
Result<uint32_t> element_count(uint64_t bytes, uint32_t element_size);

// Programs with equal fingerprints can be given each other's descriptors: the same binding numbers,
// roles, accesses and element sizes. Element counts and shared memory do not matter.
Digest layout_fingerprint(const BindingPlan& plan);
bool share_layout(const BindingPlan& a, const BindingPlan& b);

// A binding as a descriptor of the device.
struct DescriptorSlot {
  enum class Class : uint8_t { Storage, Uniform };
  uint32_t group = 0;
  uint32_t binding = 0;
  Class descriptor_class = Class::Storage;
  bool read_only = false;
  uint32_t element_size = 0;

  friend bool operator==(const DescriptorSlot&, const DescriptorSlot&) = default;
};
std::string_view name_of(DescriptorSlot::Class descriptor_class);

// Sorted by (group, binding). The caller's buffers are group 0.
std::vector<DescriptorSlot> descriptor_slots(const BindingPlan& plan);

}  // namespace vyre::plan
