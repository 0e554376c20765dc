// SPDX-License-Identifier: Apache-2.0
// Object code of the host for a plan, and what the stops mean that it reports.
#pragma once

#include <memory>
#include <vector>

#include "device/kernel.hpp"
#include "vyre/base/result.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

enum class HostListing : uint8_t { Object, Llvm, Assembly };

Result<std::vector<std::byte>> host_code(const plan::Plan& plan, bool checked, HostListing listing);

// With the place in the source.
Error explain_stop(const plan::Plan& plan, uint32_t segment, bool checked,
                   const device::KernelStop& stop);

}  // namespace vyre::codegen
