// SPDX-License-Identifier: Apache-2.0
// The table of targets.
#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "codegen/c/c.hpp"
#include "codegen/llvm/cpu/target.hpp"
#include "codegen/llvm/nvptx/target.hpp"
#include "codegen/program_target.hpp"
#include "codegen/target.hpp"

namespace vyre::codegen {

std::span<const TargetDescriptor* const> targets() {
  static constexpr std::array kTargets = {&kProgramTarget, &kCpuTarget, &kNvptxTarget, &kCTarget};
  return kTargets;
}

const TargetDescriptor* find_target(device::Format format) {
  const auto found = std::ranges::find(targets(), format, &TargetDescriptor::format);
  return found == targets().end() ? nullptr : *found;
}

const TargetDescriptor& architecture_target() {
  const auto found = std::ranges::find_if(targets(), [](const TargetDescriptor* target) {
    return target->architecture_capabilities != nullptr;
  });
  VYRE_CHECK(found != targets().end());
  return **found;
}

}  // namespace vyre::codegen
