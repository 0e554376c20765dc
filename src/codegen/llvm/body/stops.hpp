// SPDX-License-Identifier: Apache-2.0
// What the stops mean that compiled code reports, with the place in the source.
#pragma once

#include "device/kernel.hpp"
#include "vyre/base/result.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

// Of code of the host, whose segments are cut into phases.
Error explain_stop(const plan::Plan& plan, uint32_t segment, bool checked,
                   const device::KernelStop& stop);
// Of code whose lanes are threads.
Error explain_whole_stop(const plan::Plan& plan, uint32_t segment, const device::KernelStop& stop);

}  // namespace vyre::codegen
