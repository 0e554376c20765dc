// SPDX-License-Identifier: Apache-2.0
// What compiled code relies on in the bytes it is given, taken from its entry: the same for every
// device that runs compiled code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "device/kernel.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/artifact.hpp"
#include "vyre/device/steps.hpp"

namespace vyre::device {

// How the bytes of an argument become elements.
struct KernelArgument {
  static constexpr uint64_t kAnyCount = ~uint64_t{0};
  uint32_t element_shift = 0;
  bool shared = false;
  uint64_t count = kAnyCount;  // that the code relies on
  uint64_t kept_bytes = 0;     // of a shared buffer, for each workgroup between launches
};
// By argument.
std::vector<KernelArgument> kernel_arguments(const Entry& entry);

inline constexpr uint64_t kBindingAlign = 256;

// Whether the argument of a launch of `groups` workgroups is what the code expects; `address` is
// that of the region, null if it is empty.
inline bool fits(const KernelArgument& argument, const Region& region, uint64_t address,
                 uint64_t groups) {
  const uint64_t length = region.bytes >> argument.element_shift;
  return length << argument.element_shift == region.bytes && address % kBindingAlign == 0 &&
         (argument.count == KernelArgument::kAnyCount || argument.count == length) &&
         (argument.shared ? region.bytes / groups >= argument.kept_bytes : length <= UINT32_MAX);
}
inline uint32_t length_of(const KernelArgument& argument, const Region& region) {
  return static_cast<uint32_t>(
      std::min<uint64_t>(region.bytes >> argument.element_shift, UINT32_MAX));
}
inline bool too_long(const KernelArgument& argument, const Region& region) {
  return !argument.shared && region.bytes >> argument.element_shift > kMostKernelElements;
}

// Internal: arguments that the driver must not have given.
Error argument_count_error(const Entry& entry, size_t given, size_t wanted);
Error misfit_error(const Entry& entry, size_t index, const KernelArgument& argument,
                   const Region& region, uint64_t buffer_bytes);
// LimitExceeded.
Error too_long_error(const Entry& entry, size_t index, const KernelArgument& argument,
                     const Region& region, const std::string& device);
// What the artifact says of a stop; Internal if it says nothing.
Error explain_stop(const StopExplainer& explain, const Entry& entry, uint32_t number,
                   const KernelStop& stop);

}  // namespace vyre::device
