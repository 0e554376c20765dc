// SPDX-License-Identifier: Apache-2.0
// Object code of the host for a plan.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "codegen/target.hpp"

namespace vyre::codegen {

extern const TargetDescriptor kCpuTarget;

enum class HostListing : uint8_t { Object, Llvm, Assembly };

// Which code is made of a program. Cheap: with as little effort as for the largest programs
// (code_size.hpp). For tests: the shapes that processors of another kind get, and this one runs,
// too; functions that are called wherever they can be.
enum class HostCode : uint8_t { Plain, OtherShapes, Called, Cheap };

struct HostOptions {
  bool checked = false;
  HostCode code = HostCode::Plain;
  uint32_t ulp_budget = 0;
  std::optional<std::byte> poison = {};  // what memory holds that need not be cleared
  uint32_t lanes = 0;                    // of a block; 0: chosen by what a phase does
};
Result<Code> host_code(const plan::Plan& plan, const HostOptions& options, HostListing listing);
inline Result<Code> host_code(const plan::Plan& plan, bool checked, HostListing listing) {
  return host_code(plan, HostOptions{.checked = checked}, listing);
}

}  // namespace vyre::codegen
