// SPDX-License-Identifier: Apache-2.0
// Object code of the host for a plan.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

enum class HostListing : uint8_t { Object, Llvm, Assembly };

struct HostOptions {
  bool checked = false;
  bool other_shapes = false;             // of processors of another kind; this one runs them, too
  std::optional<std::byte> poison = {};  // what memory holds that need not be cleared
};
Result<std::vector<std::byte>> host_code(const plan::Plan& plan, const HostOptions& options,
                                         HostListing listing);
inline Result<std::vector<std::byte>> host_code(const plan::Plan& plan, bool checked,
                                                HostListing listing) {
  return host_code(plan, {.checked = checked}, listing);
}

}  // namespace vyre::codegen
