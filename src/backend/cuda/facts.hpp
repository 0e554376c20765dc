// SPDX-License-Identifier: Apache-2.0
// What the driver says of a GPU, as the facts that the core decides by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backend/cuda/driver_api.hpp"
#include "vyre/backend/cuda.hpp"

namespace vyre::backend::cuda {

// The newest architecture that code is made for and that a GPU of this compute capability runs;
// empty if it is older than all of them.
std::string_view architecture_of(int major, int minor);

// "cuda", "cuda:1"
std::string device_id(uint32_t index);

// A GPU that the driver counts. Makes no context.
CudaDevice describe(const Driver& driver, uint32_t index);

}  // namespace vyre::backend::cuda
