// SPDX-License-Identifier: Apache-2.0
// Object code of the host for a plan.
#pragma once

#include <memory>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

enum class HostListing : uint8_t { Object, Llvm, Assembly };

// `other_shapes`: those of processors of another kind, which this one runs, too.
Result<std::vector<std::byte>> host_code(const plan::Plan& plan, bool checked, HostListing listing,
                                         bool other_shapes = false);

}  // namespace vyre::codegen
