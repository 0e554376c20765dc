// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/cpu.hpp"

#include "codegen/llvm/kernel.hpp"
#include "codegen/llvm/machine_code.hpp"

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

}  // namespace

Result<std::vector<std::byte>> host_code(const plan::Plan& plan, const HostOptions& options,
                                         HostListing listing) {
  Machine machine = Machine::host();
  if (options.other_shapes) machine.cheap_masks = machine.wide_vectors = !machine.wide_vectors;
  const Output output = listing == HostListing::Object     ? Output::Object
                        : listing == HostListing::Assembly ? Output::Assembly
                                                           : Output::Ir;
  return make_code(machine, output, [&](llvm::Module& module) -> Result<void> {
    std::vector<device::KernelInfo> all;
    const bool runs_once =
        plan.steps.size() == 1 && std::holds_alternative<plan::LaunchStep>(plan.steps.front().node);
    for (uint32_t i = 0; i < plan.segments.size(); ++i) {
      const plan::Segment& segment = plan.segments[i];
      const auto phases = Phases::make(segment.program, options.checked);
      if (!phases) return std::unexpected(phases.error());
      all.push_back(emit_kernel(module, segment, *phases, i,
                                {.half_conversions = machine.half_conversions,
                                 .cheap_masks = machine.cheap_masks,
                                 .wide_vectors = machine.wide_vectors,
                                 .checked = options.checked,
                                 .runs_once = runs_once,
                                 .poison = options.poison}));
    }
    add_info(module, all);
    return {};
  });
}

}  // namespace vyre::codegen
