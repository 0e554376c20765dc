// SPDX-License-Identifier: Apache-2.0
#include "device/gpu_kernel.hpp"

#include <algorithm>
#include <variant>

namespace vyre::device {

uint64_t gpu_shared_bytes(const check::CheckedProgram& program) {
  uint64_t bytes = kGpuSharedHeader;
  const auto& buffers = program.program.buffers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].kind != ir::BufferKind::Shared) continue;
    const uint64_t own =
        uint64_t{*program.buffers[i].constant_count} * ir::bytes_of(buffers[i].element);
    bytes += (own + kGpuSharedRow - 1) / kGpuSharedRow * kGpuSharedRow;
  }
  return bytes;
}

bool gpu_can_meet(const check::CheckedProgram& program, ir::LocalId live) {
  if (!live.valid()) return true;
  const ir::Program& p = program.program;
  return std::ranges::none_of(
             p.exprs, [](const ir::Expr& e) { return std::holds_alternative<ir::Subgroup>(e); }) &&
         std::ranges::none_of(p.stmts, [](const ir::Stmt& s) {
           const auto* barrier = std::get_if<ir::Barrier>(&s);
           return barrier != nullptr && barrier->scope == ir::Scope::Subgroup;
         });
}

}  // namespace vyre::device
