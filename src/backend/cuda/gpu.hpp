// SPDX-License-Identifier: Apache-2.0
// One GPU with its primary context, which all parts of the backend share.
#pragma once

#include <string_view>

#include "backend/cuda/driver_api.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::backend::cuda {

struct Gpu {
  const Driver& driver;
  const device::BackendInfo& info;
  DeviceNumber number = 0;
  ContextHandle context = nullptr;

  // `doing` of error_of, on this device.
  [[nodiscard]] Error failed(const Outcome& outcome, std::string_view doing) const;
  [[nodiscard]] Result<void> check(const Outcome& outcome, std::string_view doing) const {
    if (outcome.ok()) return {};
    return std::unexpected(failed(outcome, doing));
  }
  // DeviceOutOfMemory names what was asked for and what there is.
  [[nodiscard]] Error allocation_failed(const Outcome& outcome, uint64_t bytes) const;
};

// The context is that of the calling thread as long as this lives.
class Current {
 public:
  explicit Current(const Gpu& gpu) : gpu_(gpu), pushed_(gpu.driver.context_push(gpu.context)) {}
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();
  [[nodiscard]] Result<void> check() const { return gpu_.check(pushed_, "using the device"); }

 private:
  const Gpu& gpu_;
  Outcome pushed_;
};

}  // namespace vyre::backend::cuda
