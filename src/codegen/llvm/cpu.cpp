// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/cpu.hpp"

#include <fmt/format.h>

#include "base/match.hpp"
#include "codegen/llvm/kernel.hpp"
#include "codegen/llvm/machine_code.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::codegen {

using namespace ir;
using device::KernelStop;

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

Error unexplained() {
  return {.code = ErrorCode::Internal,
          .message =
              "compiled code stopped at a place that its program does not have. Fix: report "
              "this as a bug of Vyre",
          .context = {},
          .at = {},
          .diagnostics = {}};
}

// Copies and loops of a cut segment, in the order of its steps.
struct StepPlaces {
  std::vector<const plan::CopyStep*> copies;
  std::vector<Position> loops;

  void collect(const plan::Steps& steps) {
    for (const plan::Step& step : steps)
      match(
          step.node, [](const plan::LaunchStep&) {}, [](const plan::PhaseStep&) {},
          [&](const plan::BranchStep& x) {
            collect(x.then_steps);
            collect(x.else_steps);
          },
          [&](const plan::LoopStep& x) {
            loops.push_back(x.at);
            collect(x.condition);
            collect(x.body);
          },
          [](const plan::FixpointStep&) {}, [](const plan::ResumeStep&) {},
          [](const plan::CollectiveStep&) {},
          [&](const plan::CopyStep& x) { copies.push_back(&x); });
  }
};

Error outside(const KernelStop& stop, const std::string& name, Type index_type, Position at) {
  const bool negative = static_cast<int64_t>(stop.index) < 0 && index_type != Type::U64;
  return oracle::out_of_bounds_error(stop.lane, name,
                                     negative ? fmt::format("{}", static_cast<int64_t>(stop.index))
                                              : fmt::format("{}", stop.index),
                                     stop.value, std::move(at));
}

Error timeout(const Position& at) {
  return {.code = ErrorCode::Timeout,
          .message = at.line != 0
                         ? fmt::format("the dispatch ran longer than its time limit, or was "
                                       "cancelled, in the loop at line {}. Fix: look whether the "
                                       "loop ends, use smaller inputs, or allow more time",
                                       at.line)
                         : std::string("the dispatch ran longer than its time limit, or was "
                                       "cancelled, in a loop. Fix: look whether the loop ends, use "
                                       "smaller inputs, or allow more time"),
          .context = {},
          .at = at,
          .diagnostics = {}};
}

std::string name_of_memory(const Program& p, Memory m) {
  switch (m.kind) {
    case Memory::Kind::Buffer: return p[m.buffer()].name;
    case Memory::Kind::Table: return p[m.table()].name;
    case Memory::Kind::Local: return p[m.local()].name;
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> host_code(const plan::Plan& plan, bool checked,
                                         HostListing listing) {
  const Machine& machine = Machine::host();
  const Output output = listing == HostListing::Object     ? Output::Object
                        : listing == HostListing::Assembly ? Output::Assembly
                                                           : Output::Ir;
  return make_code(machine, output, [&](llvm::Module& module) -> Result<void> {
    std::vector<device::KernelInfo> all;
    const bool runs_once =
        plan.steps.size() == 1 && std::holds_alternative<plan::LaunchStep>(plan.steps.front().node);
    for (uint32_t i = 0; i < plan.segments.size(); ++i) {
      const plan::Segment& segment = plan.segments[i];
      const auto phases = Phases::make(segment.program, checked);
      if (!phases) return std::unexpected(phases.error());
      all.push_back(emit_kernel(module, segment, *phases, i,
                                {.half_conversions = machine.half_conversions,
                                 .cheap_masks = machine.cheap_masks,
                                 .wide_vectors = machine.wide_vectors,
                                 .checked = checked,
                                 .runs_once = runs_once}));
    }
    add_info(module, all);
    return {};
  });
}

Error explain_stop(const plan::Plan& plan, uint32_t segment, bool checked, const KernelStop& stop) {
  if (segment >= plan.segments.size()) return unexplained();
  const check::CheckedProgram& program = plan.segments[segment].program;
  const auto phases = Phases::make(program, checked);
  if (!phases) return phases.error();
  StepPlaces steps;
  if (phases->cut() != nullptr) steps.collect(phases->cut()->steps);

  if (stop.kind == KernelStop::Kind::Trap && phases->cut() != nullptr) {
    if (stop.site >= phases->cut()->sites.size()) return unexplained();
    const plan::Site& site = phases->cut()->sites[stop.site];
    return oracle::trapped_error(
        {.tag = site.tag, .value = stop.value, .lane = stop.lane, .at = site.at});
  }
  if (stop.site == kNoSite) return timeout({});
  if (stop.site >= kLoopSites) {
    const uint32_t loop = stop.site - kLoopSites;
    return loop < steps.loops.size() ? timeout(steps.loops[loop]) : unexplained();
  }
  if (stop.site >= kCopySites) {
    const uint32_t number = (stop.site - kCopySites) / 2;
    if (number >= steps.copies.size()) return unexplained();
    const plan::CopyStep& copy = *steps.copies[number];
    const bool source = (stop.site - kCopySites) % 2 == 0;
    return outside(stop, program.program[source ? copy.src : copy.dst].name,
                   source ? copy.src_type : copy.dst_type, copy.at);
  }
  const auto place = phases->place(stop.site);
  if (!place) return unexplained();
  const check::CheckedProgram& phase = phases->program(place->phase);
  const Program& p = phase.program;
  if (place->at.expr.valid() ? place->at.expr.index() >= p.exprs.size()
                             : place->at.stmt.index() >= p.stmts.size())
    return unexplained();
  const Position at =
      place->at.expr.valid() ? p.position_of(place->at.expr) : p.position_of(place->at.stmt);
  switch (stop.kind) {
    case KernelStop::Kind::None: break;
    case KernelStop::Kind::Trap: {
      const auto* trap = std::get_if<Trap>(&p[place->at.stmt]);
      if (trap == nullptr) break;
      return oracle::trapped_error(
          {.tag = trap->tag, .value = stop.value, .lane = stop.lane, .at = at});
    }
    case KernelStop::Kind::OutOfBounds: {
      Memory memory;
      ExprId index;
      if (place->at.expr.valid()) {
        if (const auto* load = std::get_if<Load>(&p[place->at.expr]))
          memory = load->memory, index = load->index;
        else if (const auto* atomic = std::get_if<Atomic>(&p[place->at.expr]))
          memory = atomic->memory, index = atomic->index;
      } else if (const auto* store = std::get_if<Store>(&p[place->at.stmt])) {
        memory = store->memory, index = store->index;
      }
      if (stop.memory != 0)
        memory = stop.memory < kTableArguments
                     ? Memory::of(BufferId{stop.memory - 1U})
                     : Memory::of(ConstId{static_cast<uint32_t>(stop.memory - kTableArguments)});
      if (!memory.valid()) break;
      return outside(stop, name_of_memory(p, memory), *phase.expr_types[index.index()], at);
    }
    case KernelStop::Kind::Loop: return timeout(at);
  }
  return unexplained();
}

}  // namespace vyre::codegen
