// SPDX-License-Identifier: Apache-2.0
// Plain C: a plan as one file of C17, for people to read and for compilers of the host that are
// not LLVM. It defines what device/kernel.hpp says of an object, and needs of a C library only
// <math.h> and <string.h>. Compile it with -ffp-contract=off: a compiler that fuses a product and a
// sum changes bits. It counts on little-endian memory, IEEE floats that are not evaluated in a
// wider type, and signed numbers that wrap when they are converted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "codegen/target.hpp"
#include "device/kernel.hpp"
#include "vyre/base/result.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

struct COptions {
  uint32_t subgroup_size = 32;
  bool checked = false;                  // accesses out of bounds stop a lane
  std::optional<std::byte> poison = {};  // for tests: what memory holds that is not cleared
};

// Unsupported: barriers over the grid inside of a launch, for which all workgroups would have to
// run at once.
std::optional<Error> refuse_c(const plan::Plan& plan);

// refuse_c() has refused nothing. LimitExceeded: a plan that becomes too large, or lanes with more
// private memory than the stack of a thread has.
Result<std::string> print_c(const plan::Plan& plan, const COptions& options);

// What a stop means that the code has reported, with its place in the source.
Error explain_c_stop(const plan::Plan& plan, uint32_t segment, bool checked,
                     const device::KernelStop& stop);

extern const TargetDescriptor kCTarget;

}  // namespace vyre::codegen
