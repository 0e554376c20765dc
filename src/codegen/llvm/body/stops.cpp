// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/stops.hpp"

#include <fmt/format.h>

#include "base/match.hpp"
#include "codegen/llvm/body/phases.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::codegen {

using namespace ir;
using device::KernelStop;

namespace {

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
          [&](const plan::CopyStep& x) { copies.push_back(&x); }, [](const plan::SwapStep&) {});
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

// A stop at a place of a phase.
Error explain_place(const Phases& phases, const KernelStop& stop) {
  const auto place = phases.place(stop.site);
  if (!place) return unexplained();
  const check::CheckedProgram& phase = phases.program(place->phase);
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
        else if (const auto* uniform = std::get_if<UniformLoad>(&p[place->at.expr]))
          memory = uniform->memory, index = uniform->index;
      } else if (const auto* store = std::get_if<Store>(&p[place->at.stmt])) {
        memory = store->memory, index = store->index;
      } else if (const auto* copy = std::get_if<AsyncCopy>(&p[place->at.stmt])) {
        const bool source = stop.memory == argument_number(copy->src);
        memory = source ? copy->src : copy->dst, index = source ? copy->src_index : copy->dst_index;
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

}  // namespace

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
  return explain_place(*phases, stop);
}

Error explain_whole_stop(const plan::Plan& plan, uint32_t segment, const KernelStop& stop) {
  if (segment >= plan.segments.size()) return unexplained();
  return explain_place(Phases::whole(plan.segments[segment].program), stop);
}

}  // namespace vyre::codegen
