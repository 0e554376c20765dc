// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs as devices: runs PTX and CUDA binaries through the driver's library, which is looked
// for at run time (libcuda.so.1, or the file that VYRE_CUDA_LIBRARY names).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::backend {

// A GPU as it is seen without opening it.
struct CudaDevice {
  device::BackendInfo info;
  std::string unusable = {};  // why it cannot be opened; empty: it can
};

// All that the driver sees, in its order; where there is no driver or no GPU, one that is not
// usable and says why. Makes no context.
std::vector<CudaDevice> cuda_devices();

// Unavailable for a GPU that is not there or not usable. Work goes on after submit returns, one
// stream per queue; what goes wrong in it is reported by wait.
Result<std::shared_ptr<device::Backend>> open_cuda(uint32_t index = 0);

}  // namespace vyre::backend
