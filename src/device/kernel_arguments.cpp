// SPDX-License-Identifier: Apache-2.0
#include "device/kernel_arguments.hpp"

#include <bit>

#include <fmt/format.h>

#include "base/errors.hpp"

namespace vyre::device {

std::vector<KernelArgument> kernel_arguments(const Entry& entry) {
  std::vector<KernelArgument> arguments;
  for (const EntryBinding& binding : entry.bindings) {
    KernelArgument a;
    a.element_shift = static_cast<uint32_t>(std::countr_zero(binding.element_bytes));
    a.shared = binding.shared;
    if (binding.count && !binding.shared) a.count = *binding.count;
    if (binding.shared && (binding.restore || binding.save))
      a.kept_bytes = uint64_t{binding.count.value_or(0)} * binding.element_bytes;
    arguments.push_back(a);
  }
  return arguments;
}

Error argument_count_error(const Entry& entry, size_t given, size_t wanted) {
  return error(ErrorCode::Internal,
               fmt::format("{} arguments for {} buffers of `{}`. Fix: report this as a bug of the "
                           "driver",
                           given, wanted, entry.name));
}

Error misfit_error(const Entry& entry, size_t index, const KernelArgument& argument,
                   const Region& region, uint64_t buffer_bytes) {
  return error(ErrorCode::Internal,
               fmt::format("argument {} of `{}` is {} bytes at {} of handle {}, which has {} "
                           "bytes; it wants elements of {} bytes at a multiple of {}{}. Fix: "
                           "report this as a bug of the driver",
                           index, entry.name, region.bytes, region.offset, region.buffer.value,
                           buffer_bytes, 1U << argument.element_shift, kBindingAlign,
                           argument.shared ? ", as many as all its workgroups keep" : ""));
}

Error too_long_error(const Entry& entry, size_t index, const KernelArgument& argument,
                     const Region& region, const std::string& device) {
  return error(
      ErrorCode::LimitExceeded,
      fmt::format("buffer `{}` has {} elements, and device `{}` takes {}. Fix: use a shorter one",
                  entry.bindings[index].name, region.bytes >> argument.element_shift, device,
                  kMostKernelElements));
}

Error explain_stop(const StopExplainer& explain, const Entry& entry, uint32_t number,
                   const KernelStop& stop) {
  if (explain) return explain(number, stop);
  return error(ErrorCode::Internal,
               fmt::format("lane {} of `{}` stopped at site {}, which nobody can explain. Fix: "
                           "report this as a bug of the code generator",
                           stop.lane, entry.name, stop.site));
}

}  // namespace vyre::device
