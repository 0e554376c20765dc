// SPDX-License-Identifier: Apache-2.0
#include "vyre/ir/program.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "ir/properties.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::ir {

namespace {

template <class IdType, class T>
IdType append(std::vector<T>& all, T value, std::vector<LocId>& locs, LocId loc) {
  VYRE_CHECK(all.size() < IdType::kNone);
  const IdType id{static_cast<uint32_t>(all.size())};
  all.push_back(std::move(value));
  // Positions are optional: the vector only grows as far as one is given.
  if (loc.valid()) {
    locs.resize(all.size());
    locs.back() = loc;
  }
  return id;
}

template <class T>
Range append_list(std::vector<T>& all, std::span<const T> values) {
  VYRE_CHECK(all.size() + values.size() <= UINT32_MAX);
  const Range range{static_cast<uint32_t>(all.size()), static_cast<uint32_t>(values.size())};
  all.insert(all.end(), values.begin(), values.end());
  return range;
}

LocId lookup(const std::vector<LocId>& locs, size_t index) {
  return index < locs.size() ? locs[index] : LocId{};
}

}  // namespace

std::string_view name_of(BufferKind kind) {
  switch (kind) {
    case BufferKind::In: return "in";
    case BufferKind::Uniform: return "uniform";
    case BufferKind::InOut: return "inout";
    case BufferKind::Out: return "out";
    case BufferKind::WriteOnly: return "writeonly";
    case BufferKind::Shared: return "shared";
    case BufferKind::Persistent: return "persistent";
    case BufferKind::Scratch: return "scratch";
  }
  return "";
}

std::string_view name_of(Locality locality) {
  switch (locality) {
    case Locality::None: return "";
    case Locality::Streaming: return "streaming";
    case Locality::Temporal: return "temporal";
    case Locality::Random: return "random";
  }
  return "";
}

size_t Program::axes(const std::array<ExprId, 3>& ids) {
  return static_cast<size_t>(
      std::find_if(ids.begin(), ids.end(), [](ExprId id) { return !id.valid(); }) - ids.begin());
}

ExprId Program::add(Expr expr, LocId loc) {
  return append<ExprId>(exprs, std::move(expr), positions.exprs, loc);
}
StmtId Program::add(Stmt stmt, LocId loc) {
  return append<StmtId>(stmts, std::move(stmt), positions.stmts, loc);
}
LocalId Program::add(Local local, LocId loc) {
  return append<LocalId>(locals, std::move(local), positions.locals, loc);
}
ConstId Program::add(Const constant, LocId loc) {
  return append<ConstId>(consts, std::move(constant), positions.consts, loc);
}
BufferId Program::add(Buffer buffer, LocId loc) {
  return append<BufferId>(buffers, std::move(buffer), positions.buffers, loc);
}
FnId Program::add(Fn fn, LocId loc) {
  return append<FnId>(fns, std::move(fn), positions.fns, loc);
}
void Program::add(Require require, LocId loc) {
  append<Id<Require>>(require_list, std::move(require), positions.requires_, loc);
}

Block Program::add_block(std::span<const StmtId> items) {
  return append_list(block_items, items);
}
Range Program::add_values(std::span<const ExprId> values) {
  return append_list(expr_lists, values);
}
Range Program::add_params(std::span<const LocalId> params) {
  return append_list(param_lists, params);
}
Range Program::add_memories(std::span<const Memory> memories) {
  return append_list(memory_lists, memories);
}
Range Program::add_args(std::span<const Arg> arguments) {
  return append_list(args, arguments);
}

LocId Program::add_loc(Loc loc) {
  const LocId id{static_cast<uint32_t>(positions.locs.size())};
  positions.locs.push_back(loc);
  return id;
}

LocId Program::loc(ExprId id) const {
  return lookup(positions.exprs, id.index());
}
LocId Program::loc(StmtId id) const {
  return lookup(positions.stmts, id.index());
}
LocId Program::loc(LocalId id) const {
  return lookup(positions.locals, id.index());
}
LocId Program::loc(ConstId id) const {
  return lookup(positions.consts, id.index());
}
LocId Program::loc(BufferId id) const {
  return lookup(positions.buffers, id.index());
}
LocId Program::loc(FnId id) const {
  return lookup(positions.fns, id.index());
}
LocId Program::loc_of_require(size_t index) const {
  return lookup(positions.requires_, index);
}

Position Program::position(LocId id) const {
  if (!id.valid() || id.index() >= positions.locs.size()) return {};
  const auto place = [this](const Loc& loc) -> Position {
    return {loc.file < positions.files.size() ? positions.files[loc.file] : std::string(), loc.line,
            loc.column, loc.length};
  };
  const Loc& loc = positions.locs[id.index()];
  Position position = place(loc);
  // Each use was added before what it expands to; anything else is no chain.
  for (LocId use = loc.inlined_at, inner = id; use.valid() && use.value < inner.value;
       use = positions.locs[use.index()].inlined_at) {
    position.used_at.push_back(place(positions.locs[use.index()]));
    inner = use;
  }
  return position;
}

bool operator==(const Program& a, const Program& b) {
  return encode(a) == encode(b);
}

uint32_t rank_of(const Program& program, Memory memory) {
  switch (memory.kind) {
    case Memory::Kind::Buffer: return std::max(program[memory.buffer()].axes.count, 1U);
    case Memory::Kind::Table: return 1;
    case Memory::Kind::Local: {
      const Local& local = program[memory.local()];
      return local.kind == Local::Kind::BufferParam ? local.rank : std::max(local.axes.count, 1U);
    }
  }
  return 1;
}

bool top_level_stands(const Program& program, std::span<const StmtId> items) {
  return std::all_of(items.begin(), items.end(),
                     [&](StmtId id) { return properties_of(program[id]).may_stand_at_top_level; });
}

}  // namespace vyre::ir
