// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/cpu/target.hpp"

#include "base/errors.hpp"
#include "codegen/llvm/body/private_memory.hpp"
#include "codegen/llvm/body/stops.hpp"
#include "codegen/llvm/cpu/kernel.hpp"
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

// The segments of a plan as phases, with what is done about their sizes.
struct Legalized {
  std::vector<Phases> segments;
  CodePlan sizes;
};

Result<Legalized> legalize(const plan::Plan& plan, const HostOptions& options) {
  Legalized legal;
  for (const plan::Segment& segment : plan.segments) {
    VYRE_TRY_ASSIGN(auto phases, Phases::make(segment.program, options.checked));
    legal.segments.push_back(std::move(phases));
  }
  std::vector<const check::CheckedProgram*> programs;
  for (const Phases& phases : legal.segments)
    for (size_t i = 0; i < phases.count(); ++i) programs.push_back(&phases.program(i));
  for (const check::CheckedProgram* const program : programs)
    if (auto refused = private_refusal(*program)) return std::unexpected(std::move(*refused));
  VYRE_TRY_ASSIGN(legal.sizes, plan_code(programs, budget_for(options.code)));
  return legal;
}

Result<Code> print(const plan::Plan& plan, const Legalized& legal, const HostOptions& options,
                   HostListing listing) {
  Machine machine = machine_for(options.code);
  machine.cheap_passes = legal.sizes.effort == Effort::Cheap;
  return make_code(machine, output_for(listing), [&](llvm::Module& module) -> Result<void> {
    std::vector<device::KernelInfo> all;
    const HostTarget target{
        .half_conversions = machine.half_conversions,
        .cheap_masks = machine.cheap_masks,
        .wide_vectors = machine.wide_vectors,
        .checked = options.checked,
        .ulp_budget = options.ulp_budget,
        .runs_once = plan.steps.size() == 1 &&
                     std::holds_alternative<plan::LaunchStep>(plan.steps.front().node),
        .poison = options.poison,
        .lanes = options.lanes,
        .effort = legal.sizes.effort};
    std::span<const CodeSize> left = legal.sizes.programs;
    for (uint32_t i = 0; i < plan.segments.size(); ++i) {
      const Phases& phases = legal.segments[i];
      all.push_back(
          emit_kernel(module, {plan.segments[i], phases, left.first(phases.count()), i}, target));
      left = left.subspan(phases.count());
    }
    add_info(module, all);
    return {};
  });
}

HostCode code_for(std::string_view architecture) {
  if (architecture == device::kOtherShapes) return HostCode::OtherShapes;
  if (architecture == device::kCalledFunctions) return HostCode::Called;
  return architecture == device::kCheapCode ? HostCode::Cheap : HostCode::Plain;
}

// Every plan is cut at what lanes of one thread cannot do.
std::optional<Error> can_emit(const Target& /*target*/, const plan::Plan& /*plan*/) {
  return std::nullopt;
}

HostOptions options_of(const Target& target) {
  return {.checked = target.checked,
          .code = target.cheap ? HostCode::Cheap : code_for(target.architecture),
          .ulp_budget = target.ulp_budget,
          .poison = target.poison,
          .lanes = target.lanes};
}

template <HostListing listing>
Result<Code> list(const Target& target, const plan::Plan& plan) {
  return host_code(plan, options_of(target), listing);
}

constexpr Listing kListings[] = {{"llvm", list<HostListing::Llvm>},
                                 {"asm", list<HostListing::Assembly>}};

}  // namespace

Result<Code> host_code(const plan::Plan& plan, const HostOptions& options, HostListing listing) {
  VYRE_TRY_ASSIGN(const auto legal, legalize(plan, options));
  return print(plan, legal, options, listing);
}

constinit const TargetDescriptor kCpuTarget = {.format = device::Format::Object,
                                               .can_emit = can_emit,
                                               .emit = list<HostListing::Object>,
                                               .listings = kListings,
                                               .approximations = kHostApproximations,
                                               .has_cheap_code = true,
                                               .other_listing = "ask for llvm or asm",
                                               .explain = explain_stop};

}  // namespace vyre::codegen
