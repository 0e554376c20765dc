// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/cpu.hpp"

#include "base/errors.hpp"
#include "codegen/llvm/kernel.hpp"
#include "codegen/llvm/machine_code.hpp"
#include "codegen/llvm/private_memory.hpp"

namespace vyre::codegen {

namespace {

// vyre_info, which says of each kernel what its caller has to know.
void add_info(llvm::Module& module, const std::vector<device::KernelInfo>& all) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const wide = llvm::Type::getInt64Ty(context);
  llvm::Type* const word = llvm::Type::getInt32Ty(context);
  llvm::StructType* const row = llvm::StructType::get(context, {wide, word, word});
  std::vector<llvm::Constant*> rows;
  for (const device::KernelInfo& info : all)
    rows.push_back(llvm::ConstantStruct::get(
        row, {llvm::ConstantInt::get(wide, info.scratch_bytes),
              llvm::ConstantInt::get(word, info.cost), llvm::ConstantInt::get(word, info.flags)}));
  llvm::ArrayType* const type = llvm::ArrayType::get(row, rows.size());
  auto* const global =
      llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal("vyre_info", type));
  global->setInitializer(llvm::ConstantArray::get(type, rows));
  global->setConstant(true);
  global->setAlignment(llvm::Align(16));
}

Machine machine_for(HostCode code) {
  Machine machine = Machine::host();
  if (code == HostCode::OtherShapes)
    machine.cheap_masks = machine.wide_vectors = !machine.wide_vectors;
  return machine;
}

CodeBudget budget_for(HostCode code) {
  switch (code) {
    case HostCode::Plain:
    case HostCode::OtherShapes: return {};
    case HostCode::Called: return kCalledBudget;
    case HostCode::Cheap: return kCheapBudget;
  }
  return {};
}

Output output_for(HostListing listing) {
  switch (listing) {
    case HostListing::Object: return Output::Object;
    case HostListing::Llvm: return Output::Ir;
    case HostListing::Assembly: return Output::Assembly;
  }
  return Output::Object;
}

}  // namespace

Result<std::vector<std::byte>> host_code(const plan::Plan& plan, const HostOptions& options,
                                         HostListing listing) {
  std::vector<Phases> segments;
  std::vector<const check::CheckedProgram*> programs;
  for (const plan::Segment& segment : plan.segments) {
    VYRE_TRY_ASSIGN(auto phases, Phases::make(segment.program, options.checked));
    segments.push_back(std::move(phases));
  }
  for (const Phases& phases : segments)
    for (size_t i = 0; i < phases.count(); ++i) programs.push_back(&phases.program(i));
  for (const check::CheckedProgram* const program : programs)
    if (auto refused = private_refusal(*program)) return std::unexpected(std::move(*refused));
  VYRE_TRY_ASSIGN(const auto sizes, plan_code(programs, budget_for(options.code)));

  Machine machine = machine_for(options.code);
  machine.cheap_passes = sizes.effort == Effort::Cheap;
  return make_code(machine, output_for(listing), [&](llvm::Module& module) -> Result<void> {
    std::vector<device::KernelInfo> all;
    const HostTarget target{
        .half_conversions = machine.half_conversions,
        .cheap_masks = machine.cheap_masks,
        .wide_vectors = machine.wide_vectors,
        .checked = options.checked,
        .runs_once = plan.steps.size() == 1 &&
                     std::holds_alternative<plan::LaunchStep>(plan.steps.front().node),
        .poison = options.poison,
        .effort = sizes.effort};
    std::span<const CodeSize> left = sizes.programs;
    for (uint32_t i = 0; i < plan.segments.size(); ++i) {
      const size_t phases = segments[i].count();
      all.push_back(
          emit_kernel(module, {plan.segments[i], segments[i], left.first(phases), i}, target));
      left = left.subspan(phases);
    }
    add_info(module, all);
    return {};
  });
}

}  // namespace vyre::codegen
