// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nvptx.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "codegen/llvm/nvptx_kernel.hpp"
#include "codegen/llvm/private_memory.hpp"

namespace vyre::codegen {

namespace {

std::unexpected<Error> unsupported(std::string message) {
  return std::unexpected(Error{.code = ErrorCode::Unsupported,
                               .message = std::move(message),
                               .context = {},
                               .at = {},
                               .diagnostics = {}});
}

// Those of LLVM 19 for which barriers do not wait for threads that have exited, and that ptxas
// still takes. A GPU runs code for all architectures before its own.
constexpr std::array<std::string_view, 6> kArchitectures = {"sm_75", "sm_80", "sm_86",
                                                            "sm_87", "sm_89", "sm_90"};

// Each is a call that waits, and LLVM takes the square of their number.
constexpr uint32_t kMostGridBarriers = 1'024;

std::optional<Error> too_many_barriers(const plan::Segment& segment) {
  if (!segment.barriers_inside) return std::nullopt;
  uint32_t barriers = 0;
  for (const ir::Stmt& s : segment.program.program.stmts)
    if (const auto* barrier = std::get_if<ir::Barrier>(&s))
      barriers += barrier->scope == ir::Scope::Grid ? 1 : 0;
  if (barriers <= kMostGridBarriers) return std::nullopt;
  return Error{.code = ErrorCode::LimitExceeded,
               .message = fmt::format("a kernel has {} barriers over the grid, more than are "
                                      "compiled (at most {}). Fix: put them into a loop",
                                      barriers, kMostGridBarriers),
               .context = {},
               .at = {},
               .diagnostics = {}};
}

}  // namespace

Result<std::vector<std::byte>> nvptx_code(const plan::Plan& plan, const NvptxTarget& target,
                                          NvptxListing listing) {
  if (std::ranges::find(kArchitectures, target.architecture) == kArchitectures.end())
    return unsupported(
        fmt::format("no PTX is made for architecture `{}`. Fix: use one of {}; newer GPUs run code "
                    "for sm_90",
                    target.architecture, fmt::join(kArchitectures, ", ")));
  for (const plan::Segment& segment : plan.segments) {
    if (auto refused = nvptx_refusal(segment)) return std::unexpected(std::move(*refused));
    if (auto refused = too_many_barriers(segment)) return std::unexpected(std::move(*refused));
    if (auto refused = private_refusal(segment.program))
      return std::unexpected(std::move(*refused));
  }
  std::vector<const check::CheckedProgram*> programs;
  for (const plan::Segment& segment : plan.segments) programs.push_back(&segment.program);
  VYRE_TRY_ASSIGN(const auto sizes, plan_code(programs, target.budget));
  Machine machine = Machine::nvptx(target.architecture);
  machine.cheap_passes = sizes.effort == Effort::Cheap;
  return make_code(
      machine, listing == NvptxListing::Ptx ? Output::Assembly : Output::Ir,
      [&](llvm::Module& module) -> Result<void> {
        for (uint32_t i = 0; i < plan.segments.size(); ++i)
          NvptxKernel(
              module, plan, i, machine,
              {.checked = target.checked, .poison = target.poison, .size = &sizes.programs[i]})
              .run();
        return {};
      });
}

}  // namespace vyre::codegen
