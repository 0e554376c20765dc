// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nvptx/target.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "codegen/llvm/body/private_memory.hpp"
#include "codegen/llvm/body/stops.hpp"
#include "codegen/llvm/nvptx/kernel.hpp"

namespace vyre::codegen {

namespace {

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
  return error(ErrorCode::LimitExceeded,
               fmt::format("a kernel has {} barriers over the grid, more than are "
                           "compiled (at most {}). Fix: put them into a loop",
                           barriers, kMostGridBarriers));
}

std::optional<Error> can_emit(const NvptxTarget& target, const plan::Plan& plan) {
  if (std::ranges::find(kArchitectures, target.architecture) == kArchitectures.end())
    return error(ErrorCode::Unsupported,
                 fmt::format("no PTX is made for architecture `{}`. Fix: use one of {}; newer GPUs "
                             "run code for sm_90",
                             target.architecture, fmt::join(kArchitectures, ", ")));
  for (const plan::Segment& segment : plan.segments)
    if (auto refused = nvptx_refusal(segment)) return refused;
  return std::nullopt;
}

// Segments are printed as they are: what is decided is how.
Result<CodePlan> legalize(const plan::Plan& plan, const NvptxTarget& target) {
  std::vector<const check::CheckedProgram*> programs;
  for (const plan::Segment& segment : plan.segments) {
    if (auto refused = too_many_barriers(segment)) return std::unexpected(std::move(*refused));
    if (auto refused = private_refusal(segment.program))
      return std::unexpected(std::move(*refused));
    programs.push_back(&segment.program);
  }
  return plan_code(programs, target.budget);
}

Result<Code> print(const plan::Plan& plan, const CodePlan& sizes, const NvptxTarget& target,
                   NvptxListing listing) {
  Machine machine = Machine::nvptx(target.architecture);
  machine.cheap_passes = sizes.effort == Effort::Cheap;
  return make_code(machine, listing == NvptxListing::Ptx ? Output::Assembly : Output::Ir,
                   [&](llvm::Module& module) -> Result<void> {
                     for (uint32_t i = 0; i < plan.segments.size(); ++i) {
                       KernelContext context(module, plan, i, machine,
                                             {.checked = target.checked,
                                              .ulp_budget = target.ulp_budget,
                                              .poison = target.poison,
                                              .size = &sizes.programs[i],
                                              .lanes = target.lanes});
                       NvptxKernel(context).run();
                     }
                     return {};
                   });
}

Result<Code> legalize_and_print(const plan::Plan& plan, const NvptxTarget& target,
                                NvptxListing listing) {
  VYRE_TRY_ASSIGN(const auto sizes, legalize(plan, target));
  return print(plan, sizes, target, listing);
}

// Of a thread, at most; 0: chosen by what the lanes do.
uint32_t lanes_of(const Target& target) {
  return target.cheap ? 1 : target.lanes;
}

// As long as `target` is there.
NvptxTarget nvptx_target(const Target& target) {
  return {
      .architecture = target.architecture.empty() ? kDefaultPtxArchitecture : target.architecture,
      .checked = target.checked,
      .ulp_budget = target.ulp_budget,
      .poison = target.poison,
      .budget = target.cheap ? kCheapBudget : CodeBudget{},
      .lanes = lanes_of(target)};
}

std::optional<Error> can_emit_for(const Target& target, const plan::Plan& plan) {
  return can_emit(nvptx_target(target), plan);
}

template <NvptxListing listing>
Result<Code> list(const Target& target, const plan::Plan& plan) {
  return legalize_and_print(plan, nvptx_target(target), listing);
}

constexpr Listing kListings[] = {{"llvm", list<NvptxListing::Llvm>},
                                 {"ptx", list<NvptxListing::Ptx>}};

void describe_entry(const Target& target, const plan::Segment& segment, device::Entry& entry) {
  const ThreadShape shape = thread_shape(segment.program, target.checked, lanes_of(target));
  entry.lanes_per_thread = shape.lanes;
  entry.threads = shape.threads;
  entry.shared_bytes = block_shared_bytes(segment.program);
  entry.launchable = is_launchable(segment);
}

Error explain(const plan::Plan& plan, uint32_t entry, bool /*checked*/,
              const device::KernelStop& stop) {
  return explain_whole_stop(plan, entry, stop);
}

}  // namespace

Result<Code> nvptx_code(const plan::Plan& plan, const NvptxTarget& target, NvptxListing listing) {
  if (auto refused = can_emit(target, plan)) return std::unexpected(std::move(*refused));
  return legalize_and_print(plan, target, listing);
}

constinit const TargetDescriptor kNvptxTarget = {
    .format = device::Format::Ptx,
    .can_emit = can_emit_for,
    .emit = list<NvptxListing::Ptx>,
    .listings = kListings,
    .approximations = kGpuApproximations,
    .has_cheap_code = true,
    .other_listing = "ask for llvm or ptx; a cubin is made by the driver of a GPU: --device cuda",
    .describe_entry = describe_entry,
    .explain = explain,
    .driver_compiles = true,
    .architecture_capabilities = nvptx_capabilities,
    .default_architecture = kDefaultPtxArchitecture};

}  // namespace vyre::codegen
