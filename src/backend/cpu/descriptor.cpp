// SPDX-License-Identifier: Apache-2.0
#include "vyre/backend/cpu.hpp"
#include "vyre/device/registry.hpp"

namespace vyre::backend {

using namespace device;

// Declared by the list of backends that the build writes.
BackendDescriptor cpu_descriptor() {
  return {.id = "cpu",
          .kind = Kind::Cpu,
          .rank = 100,
          .dispatches = true,
          .features = {"compiled code on all cores", "loops without the host"},
          .acquisition_cost_us = 100,
          .enumerate =
              [] {
                BackendInfo info = cpu_info();
                return std::vector<DeviceFacts>{{.id = std::move(info.id),
                                                 .capabilities = info.capabilities,
                                                 .profile = std::move(info.profile),
                                                 .unusable = why_no_cpu()}};
              },
          .open = [](uint32_t) { return open_cpu(); },
          .site = __FILE__};
}

}  // namespace vyre::backend
