// SPDX-License-Identifier: Apache-2.0
#include "codegen/c/c.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "codegen/c/segment.hpp"
#include "codegen/llvm/body/private_memory.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

namespace {

constexpr std::string_view kPrelude = R"(
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// ---- how a caller runs a segment

struct vyre_binding {
  void *address;
  uint32_t length;  // elements
  uint32_t zero;
};
struct vyre_args {
  uint32_t grid[3];  // workgroups
  uint32_t zero;
  uint64_t reserved[2];
  struct vyre_binding bindings[];
};
// Why the smallest lane that stopped did so.
struct vyre_stop {
  uint16_t kind;    // 0: none, 1: trap, 2: out of bounds
  uint16_t memory;
  uint32_t site;
  uint32_t lane;    // UINT32_MAX before the first
  uint32_t value;
  uint64_t index;
};
struct vyre_worker {
  unsigned char *scratch;
  uint32_t (*poll)(struct vyre_worker *worker, uint32_t site);  // not 0: give up
  struct vyre_stop stop;
  uint64_t reserved[2];
};
struct vyre_info {
  uint64_t scratch_bytes;
  uint32_t cost;
  uint32_t flags;
};

// ---- the workgroup that runs

struct vyre_group {
  struct vyre_worker *worker;
  uint32_t grid[3], wid[3];
  uint32_t first_lane;  // its number in the grid
  uint32_t ticks;
  bool ended;    // the lane, in a function that it called
  bool gave_up;  // the whole launch
};

static inline struct vyre_group vyre_start(const struct vyre_args *args,
                                           struct vyre_worker *worker) {
  const struct vyre_group g = {.worker = worker,
                               .grid = {args->grid[0], args->grid[1], args->grid[2]}};
  return g;
}

static inline void vyre_enter_workgroup(struct vyre_group *g, uint64_t n, uint32_t lanes) {
  g->wid[0] = (uint32_t)(n % g->grid[0]);
  g->wid[1] = (uint32_t)(n / g->grid[0] % g->grid[1]);
  g->wid[2] = (uint32_t)(n / g->grid[0] / g->grid[1]);
  g->first_lane = (uint32_t)n * lanes;
}

static inline void vyre_stop_lane(struct vyre_group *g, uint16_t kind, uint32_t site, uint32_t lane,
                                  uint32_t value, uint64_t index, uint16_t memory) {
  struct vyre_stop *const stop = &g->worker->stop;
  if (lane >= stop->lane) return;
  *stop = (struct vyre_stop){kind, memory, site, lane, value, index};
}

static inline bool vyre_tick(struct vyre_group *g, uint32_t site, uint32_t statements) {
  if ((g->ticks += statements) < 16384) return false;
  g->ticks = 0;
  if (g->worker->poll(g->worker, site) == 0) return false;
  return g->ended = g->gave_up = true;
}

)";

struct Text {
  std::string code;
  c::Sites sites;
};

Result<Text> print_all(const plan::Plan& plan, const COptions& options) {
  const c::Options each{
      .subgroup_size = options.subgroup_size, .checked = options.checked, .poison = options.poison};
  Text text;
  c::Library library(options.subgroup_size);
  std::string segments, infos;
  for (uint32_t i = 0; i < plan.segments.size(); ++i) {
    VYRE_TRY_ASSIGN(const auto one,
                    c::print_segment(plan.segments[i], i, each, library, text.sites));
    segments += one.code;
    // What a lane costs is a guess.
    constexpr int kCost = 100;
    infos += fmt::format("    {{{}, {}, {}}},\n", one.scratch_bytes, kCost,
                         device::KernelInfo::kCostGuessed);
  }
  text.code = "// Printed by vyre. Compile with -std=c17 -ffp-contract=off.\n";
  text.code += kPrelude.substr(1);
  if (!library.text().empty()) text.code += "// ---- operations\n\n" + library.text();
  text.code += segments;
  text.code += "// ---- what a caller has to know of each segment\n\n";
  text.code += fmt::format("const struct vyre_info vyre_info[{}] = {{\n{}}};\n",
                           plan.segments.size(), infos);
  return text;
}

bool needs_grid(const plan::Segment& segment) {
  if (segment.barriers_inside || segment.workgroups_per_block != 0) return true;
  const ir::Program& p = segment.program.program;
  const auto synchronises = [](const auto& node) {
    return ir::properties_of(node).synchronises == ir::Scope::Grid;
  };
  return std::ranges::any_of(p.stmts, synchronises) || std::ranges::any_of(p.exprs, synchronises);
}

}  // namespace

std::optional<Error> refuse_c(const plan::Plan& plan) {
  for (const plan::Segment& segment : plan.segments) {
    if (needs_grid(segment))
      return error(
          ErrorCode::Unsupported,
          "printed C runs the workgroups of a launch one after the other, so that there is "
          "no barrier over the grid inside of one. Fix: use the resident or host route");
  }
  return std::nullopt;
}

namespace {

std::optional<Error> can_emit(const Target& /*target*/, const plan::Plan& plan) {
  return refuse_c(plan);
}

Result<Code> print(const Target& target, const plan::Plan& plan) {
  VYRE_TRY_ASSIGN(const auto text, print_c(plan, {.subgroup_size = target.subgroup_size,
                                                  .checked = target.checked,
                                                  .poison = target.poison}));
  const auto bytes = std::as_bytes(std::span(text));
  return Code(bytes.begin(), bytes.end());
}

constexpr Listing kListings[] = {{"c", print}};

}  // namespace

constinit const TargetDescriptor kCTarget = {.format = device::Format::C,
                                             .can_emit = can_emit,
                                             .emit = print,
                                             .listings = kListings,
                                             .other_listing = "ask for c",
                                             .explain = explain_c_stop,
                                             .listed_for = "cpu"};

Result<std::string> print_c(const plan::Plan& plan, const COptions& options) {
  for (const plan::Segment& segment : plan.segments)
    if (auto refused = private_refusal(segment.program))
      return std::unexpected(std::move(*refused));
  VYRE_TRY_ASSIGN(auto text, print_all(plan, options));
  return std::move(text.code);
}

Error explain_c_stop(const plan::Plan& plan, uint32_t segment, bool checked,
                     const device::KernelStop& stop) {
  if (segment >= plan.segments.size())
    return error(ErrorCode::Internal,
                 "code of a segment that the plan does not have stopped. Fix: report this as a bug "
                 "of Vyre");
  const auto text = print_all(plan, {.checked = checked});
  return text ? text->sites.explain(stop) : text.error();
}

}  // namespace vyre::codegen
