// SPDX-License-Identifier: Apache-2.0
#include "vyre/backend/cuda.hpp"
#include "vyre/device/registry.hpp"

namespace vyre::backend {

using namespace device;

// Declared by the list of backends that the build writes.
BackendDescriptor cuda_descriptor() {
  return {.id = "cuda",
          .kind = Kind::Gpu,
          .rank = 10,
          .dispatches = true,
          .features = {"NVIDIA GPUs", "barriers of the grid on the device"},
          .acquisition_cost_us = 200'000,
          .enumerate =
              [] {
                std::vector<DeviceFacts> all;
                for (CudaDevice& device : cuda_devices())
                  all.push_back({.id = std::move(device.info.id),
                                 .capabilities = device.info.capabilities,
                                 .profile = std::move(device.info.profile),
                                 .unusable = std::move(device.unusable),
                                 .architecture = std::move(device.info.architecture)});
                return all;
              },
          .open = [](uint32_t index) { return open_cuda(index); },
          .site = __FILE__};
}

}  // namespace vyre::backend
