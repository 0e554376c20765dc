// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_launch.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/errors.hpp"

namespace vyre::cli {

using namespace ir;

namespace {

using Needs = std::vector<std::set<uint32_t>>;  // by BufferId: missing inputs, in source order

std::set<uint32_t> needs_of_shape(const Prepared& prepared, const Needs& counts, BufferId id);

// Missing inputs that a host expression reads: through the length of a buffer or an element.
std::set<uint32_t> needs_of(const Prepared& prepared, const Needs& counts, ExprId id) {
  const Program& p = prepared.checked.program;
  std::set<uint32_t> needs;
  if (!id.valid()) return needs;
  const auto unite = [&](const std::set<uint32_t>& more) {
    needs.insert(more.begin(), more.end());
  };
  if (const auto* len = std::get_if<Len>(&p[id]); len != nullptr && len->memory.buffer().valid())
    unite(counts[len->memory.buffer().index()]);
  if (const auto* len = std::get_if<AxisLen>(&p[id]);
      len != nullptr && len->memory.buffer().valid())
    unite(needs_of_shape(prepared, counts, len->memory.buffer()));
  if (const auto* load = std::get_if<Load>(&p[id]);
      load != nullptr && load->memory.buffer().valid() &&
      std::ranges::find(prepared.missing, load->memory.buffer()) != prepared.missing.end())
    needs.insert(load->memory.buffer().value);
  for_each_operand(p, p[id], [&](ExprId e) { unite(needs_of(prepared, counts, e)); });
  return needs;
}

// What is missing to know the lengths in the brackets.
std::set<uint32_t> needs_of_shape(const Prepared& prepared, const Needs& counts, BufferId id) {
  const Program& p = prepared.checked.program;
  if (!prepared.checked.buffers[id.index()].host_shape) return {};
  std::set<uint32_t> needs = needs_of(prepared, counts, p[id].count);
  for (const ExprId length : p.values(p[id].axes)) needs.merge(needs_of(prepared, counts, length));
  return needs;
}

Needs needs_of_counts(const Prepared& prepared) {
  const Program& p = prepared.checked.program;
  Needs counts(p.buffers.size());
  for (uint32_t i = 0; i < p.buffers.size(); ++i) {
    if (prepared.checked.buffers[i].constant_count) continue;
    const bool missing = std::ranges::find(prepared.missing, BufferId{i}) != prepared.missing.end();
    if (missing) counts[i].insert(i);
    if (!prepared.checked.buffers[i].input_slot)
      counts[i].merge(needs_of_shape(prepared, counts, BufferId{i}));
    // @count refers to buffers before this one.
    if (p.buffers[i].size.valid()) counts[i].merge(needs_of(prepared, counts, p.buffers[i].size));
  }
  return counts;
}

// Without `over` the grid covers the largest buffer that is written, else the largest of all.
std::set<uint32_t> needs_of_largest(const Program& p, const Needs& counts) {
  std::set<uint32_t> all;
  std::set<uint32_t> written;
  bool writes = false;
  for (uint32_t i = 0; i < p.buffers.size(); ++i) {
    const BufferKind kind = p.buffers[i].kind;
    if (kind == BufferKind::Shared || kind == BufferKind::Scratch) continue;
    all.insert(counts[i].begin(), counts[i].end());
    if (kind != BufferKind::Out && kind != BufferKind::WriteOnly && kind != BufferKind::InOut)
      continue;
    writes = true;
    written.insert(counts[i].begin(), counts[i].end());
  }
  return writes ? written : all;
}

std::vector<BufferId> in_order(const std::set<uint32_t>& needs) {
  std::vector<BufferId> list;
  list.reserve(needs.size());
  for (const uint32_t i : needs) list.push_back(BufferId{i});
  return list;
}

// The program without the inputs that are missing and the host expressions that read them;
// `inputs` are its own.
check::CheckedProgram without_unknown(const Prepared& prepared, const Needs& counts,
                                      std::vector<std::span<const std::byte>>& inputs) {
  check::CheckedProgram checked = prepared.checked;
  Program& p = checked.program;
  for (uint32_t i = 0; i < p.buffers.size(); ++i) {
    if (!counts[i].empty()) p.buffers[i].size = {};
    // A missing buffer has no elements to compare its shape with.
    if (counts[i].empty() && needs_of_shape(prepared, counts, BufferId{i}).empty()) continue;
    p.buffers[i].axes = {};
    checked.buffers[i].host_shape = false;
  }
  for (const Require& require : p.require_list)
    if (!needs_of(prepared, counts, require.condition).empty())
      p.exprs[require.condition.index()] = BoolLiteral{true};
  for (const BufferId missing : prepared.missing) checked.buffers[missing.index()].input_slot = {};
  for (check::BufferFacts& facts : checked.buffers) {
    if (!facts.input_slot) continue;
    const uint32_t slot = std::exchange(*facts.input_slot, static_cast<uint32_t>(inputs.size()));
    inputs.emplace_back(prepared.inputs[slot]);
  }
  return checked;
}

}  // namespace

Result<KnownLaunch> resolve_known(const Prepared& prepared) {
  const Program& p = prepared.checked.program;
  const Needs counts = needs_of_counts(prepared);
  KnownLaunch known;
  for (const std::set<uint32_t>& needs : counts) known.count_needs.push_back(in_order(needs));

  const bool has_over = p.over[0].valid();
  std::set<uint32_t> grid_needs;
  if (!prepared.grid && has_over)
    for (const ExprId axis : p.over) grid_needs.merge(needs_of(prepared, counts, axis));
  else if (!prepared.grid)
    grid_needs = needs_of_largest(p, counts);
  known.grid_needs = in_order(grid_needs);
  known.grid_needed = !prepared.grid && !has_over && prepared.checked.workgroup_axes > 1;
  known.grid_known = known.grid_needs.empty() && !known.grid_needed;

  std::vector<std::span<const std::byte>> views;
  const check::CheckedProgram checked = without_unknown(prepared, counts, views);
  VYRE_TRY_ASSIGN(auto launch,
                  check::resolve_launch(
                      checked, {.inputs = views,
                                .grid = known.grid_known ? prepared.grid : check::Axes{1, 1, 1},
                                .workgroup = prepared.workgroup}));
  known.launch = std::move(launch);
  return known;
}

}  // namespace vyre::cli
