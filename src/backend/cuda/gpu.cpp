// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/gpu.hpp"

#include <fmt/format.h>

namespace vyre::backend::cuda {

Error Gpu::failed(const Outcome& outcome, std::string_view doing) const {
  return error_of(driver, outcome, fmt::format("{} on device `{}`", doing, info.id));
}

Error Gpu::allocation_failed(const Outcome& outcome, uint64_t bytes) const {
  if (outcome.status != status::kOutOfMemory)
    return failed(outcome, fmt::format("allocating {} bytes", bytes));
  size_t available = 0;
  size_t total = 0;
  const bool known = driver.memory_info(&available, &total).ok();
  return {.code = ErrorCode::DeviceOutOfMemory,
          .message = fmt::format("{} bytes are requested on device `{}`, which has {} bytes "
                                 "available: {}. Fix: free buffers, or use smaller ones",
                                 bytes, info.id,
                                 known ? fmt::to_string(available) : "an unknown number of",
                                 describe(driver, outcome)),
          .context = {},
          .at = {},
          .diagnostics = {}};
}

Current::~Current() {
  ContextHandle popped = nullptr;
  if (pushed_.ok()) std::ignore = gpu_.driver.context_pop(&popped);
}

}  // namespace vyre::backend::cuda
