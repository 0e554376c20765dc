// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "base/fork.hpp"
#include "vyre/backend/reference.hpp"
#include "vyre/device/registry.hpp"

namespace vyre::backend {

using namespace device;

std::span<const ReferenceOptions> reference_devices() {
  static const auto kDevices = [] {
    std::array<ReferenceOptions, 6> all;
    const auto name = [&](size_t i, const char* how) {
      if (i > 0) all[i].id += ":" + std::to_string(i);
      all[i].name += how;
    };
    for (size_t i = 1; i < all.size(); ++i) all[i].whole_programs = false;
    for (size_t i = 3; i < all.size(); ++i) all[i].grid_barrier = false;
    for (size_t i = 4; i < all.size(); ++i) all[i].device_loops = false;
    all[2].resident_groups = 2;
    all[5].resident_buffers = false;
    name(0, ", whole programs");
    name(1, ", native barriers");
    name(2, ", virtual workgroups");
    name(3, ", resident split");
    name(4, ", resident split, loops on the host");
    name(5, ", host split");
    return all;
  }();
  return kDevices;
}

namespace {
const base::CalledAtLoad kAll(reference_devices);
}

// Declared by the list of backends that the build writes.
BackendDescriptor reference_descriptor() {
  return {.id = "reference",
          .kind = Kind::Oracle,
          .rank = 1000,
          .dispatches = true,
          .features = {"defines the meaning of programs", "every route"},
          .acquisition_cost_us = 10,
          .enumerate =
              [] {
                std::vector<DeviceFacts> devices;
                for (const ReferenceOptions& options : reference_devices()) {
                  BackendInfo info = reference_info(options);
                  devices.push_back({.id = std::move(info.id),
                                     .capabilities = info.capabilities,
                                     .profile = std::move(info.profile)});
                }
                return devices;
              },
          .open = [](uint32_t index) { return open_reference(reference_devices()[index]); },
          .site = __FILE__};
}

}  // namespace vyre::backend
