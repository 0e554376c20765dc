// SPDX-License-Identifier: Apache-2.0
#include "plan/variants.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "generator/reduce_tree.hpp"

namespace vyre::plan_test {

using namespace ir;
using check::CheckedProgram;
using generator::Place;

namespace {

constexpr int kAttempts = 8;

size_t below(size_t n, Random& random) {
  return std::uniform_int_distribution<size_t>(0, n - 1)(random);
}

// What the checker makes of it; nothing if the change is not allowed there.
Variant checked(Program program) {
  check::Checked result = check::check(std::move(program));
  return std::move(result.program);
}

// Lists of the main body, at any depth.
std::vector<Place> body_places(const Program& p) {
  std::unordered_set<uint32_t> inside;
  const auto walk = [&](const auto& self, Block block) -> void {
    for (const StmtId id : p.items(block)) {
      inside.insert(id.value);
      for_each_block(p[id], [&](Block b) { self(self, b); });
    }
  };
  walk(walk, p.body);
  std::vector<Place> places;
  for (const Place& place : generator::places_of(p))
    if (place.kind == Place::Kind::Body ||
        (place.kind == Place::Kind::Stmt && inside.contains(place.index)))
      places.push_back(place);
  return places;
}

std::vector<StmtId> items_at(Program& p, const Place& place) {
  const auto items = p.items(generator::block_at(p, place));
  return {items.begin(), items.end()};
}
void set_items(Program& p, const Place& place, const std::vector<StmtId>& items) {
  const Block block = p.add_block(items);
  generator::block_at(p, place) = block;
}

// Locals that statements mention, at any depth.
void mentioned(const Program& p, StmtId id, std::unordered_set<uint32_t>& locals) {
  const auto memory = [&](Memory m) {
    if (m.kind == Memory::Kind::Local) locals.insert(m.index);
  };
  const auto walk = [&](const auto& self, ExprId e) -> void {
    if (const auto* x = std::get_if<LocalRef>(&p[e])) locals.insert(x->local.value);
    if (const auto* x = std::get_if<Load>(&p[e])) memory(x->memory);
    if (const auto* x = std::get_if<Len>(&p[e])) memory(x->memory);
    if (const auto* x = std::get_if<Atomic>(&p[e])) memory(x->memory);
    if (const auto* x = std::get_if<Call>(&p[e]))
      for (const Arg& arg : p.arguments(x->args))
        if (const auto* m = std::get_if<Memory>(&arg)) memory(*m);
    for_each_operand(p, p[e], [&](ExprId inner) { self(self, inner); });
  };
  for_each_operand(p, p[id], [&](ExprId e) { walk(walk, e); });
  if (const auto* x = std::get_if<Assign>(&p[id])) locals.insert(x->local.value);
  if (const auto* x = std::get_if<Store>(&p[id])) memory(x->memory);
  for_each_block(p[id], [&](Block b) {
    for (const StmtId inner : p.items(b)) mentioned(p, inner, locals);
  });
}

// Does a statement from `end` on use what those of [first, end) declare?
bool used_later(const Program& p, const std::vector<StmtId>& items, size_t first, size_t end) {
  std::unordered_set<uint32_t> later;
  for (size_t i = end; i < items.size(); ++i) mentioned(p, items[i], later);
  for (size_t i = first; i < end; ++i) {
    if (const auto* let = std::get_if<Let>(&p[items[i]]); let != nullptr)
      if (later.contains(let->local.value)) return true;
    if (const auto* array = std::get_if<DeclareArray>(&p[items[i]]); array != nullptr)
      if (later.contains(array->local.value)) return true;
  }
  return false;
}

struct Spot {
  Place place;
  size_t at = 0;
};

// Places between statements of the main body that all lanes of the grid reach converged as far as
// one can tell without the checker, and where no copy is under way.
class BarrierSpots {
 public:
  explicit BarrierSpots(const CheckedProgram& source) : source_(source), p_(source.program) {
    list(p_.body, {Place::Kind::Body, 0, 0});
  }
  std::vector<Spot> spots;

 private:
  void list(Block block, Place place) {
    const auto items = p_.items(block);
    bool converged = true;
    for (size_t at = 0; at < items.size(); ++at) {
      converged = source_.flow_levels[items[at].index()] == check::Level::Grid;
      if (converged && copies_.empty()) spots.push_back({place, at});
      if (const auto* copy = std::get_if<AsyncCopy>(&p_[items[at]])) copies_.insert(copy->tag);
      if (const auto* wait = std::get_if<Wait>(&p_[items[at]])) copies_.erase(wait->tag);
      int which = 0;
      for_each_block(p_[items[at]], [&](Block inner) {
        list(inner, {Place::Kind::Stmt, items[at].value, which++});
      });
    }
    if (converged && copies_.empty()) spots.push_back({place, items.size()});
  }

  const CheckedProgram& source_;
  const Program& p_;
  std::unordered_set<uint16_t> copies_;  // tags of those under way
};

}  // namespace

Variant with_barrier(const CheckedProgram& source, Random& random) {
  const std::vector<Spot> spots = BarrierSpots(source).spots;
  for (int attempt = 0; attempt < kAttempts && !spots.empty(); ++attempt) {
    const Spot spot = spots[below(spots.size(), random)];
    Program changed = source.program;
    std::vector<StmtId> items = items_at(changed, spot.place);
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(spot.at),
                 changed.add(Stmt(Barrier{Scope::Grid})));
    set_items(changed, spot.place, items);
    if (Variant variant = checked(std::move(changed))) return variant;
  }
  return std::nullopt;
}

Variant renamed(const CheckedProgram& source, Random& random) {
  constexpr std::array<std::string_view, 24> kOfThePlanner = {
      "lane",    "group",      "frame",  "next_frame", "slot_0",        "mask",
      "control", "meeting",    "live",   "passes",     "converged",     "at",
      "old",     "with",       "before", "taken",      "again",         "left",
      "skips",   "trap_value", "most",   "pass",       "meeting_round", "group_votes"};
  Program p = source.program;
  std::vector<std::string> names;
  for (const std::string_view name : kOfThePlanner) {
    names.emplace_back(name);
    names.push_back(fmt::format("{}_2", name));
  }
  const size_t needed =
      p.locals.size() + p.buffers.size() + p.fns.size() + p.consts.size() + p.stmts.size();
  while (names.size() < needed) names.push_back(fmt::format("x{}", names.size()));
  std::shuffle(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(needed), random);
  size_t next = 0;
  for (Buffer& b : p.buffers) b.name = names[next++];
  for (Local& l : p.locals) l.name = names[next++];
  for (Fn& f : p.fns) f.name = names[next++];
  for (Const& c : p.consts) c.name = names[next++];
  for (Stmt& s : p.stmts)
    if (auto* region = std::get_if<Region>(&s)) region->name = names[next++];
  return checked(std::move(p));
}

Variant with_region_split(const CheckedProgram& source, Random& random) {
  Program p = source.program;
  const auto top_span = p.items(p.body);
  const std::vector<StmtId> top(top_span.begin(), top_span.end());
  struct Split {
    size_t region;
    size_t at;
  };
  std::vector<Split> spots;
  for (size_t r = 0; r < top.size(); ++r) {
    const auto* region = std::get_if<Region>(&p[top[r]]);
    if (region == nullptr) continue;
    const auto span = p.items(region->body);
    const std::vector<StmtId> items(span.begin(), span.end());
    for (size_t at = 1; at < items.size(); ++at)
      if (!used_later(p, items, 0, at)) spots.push_back({r, at});
  }
  for (int attempt = 0; attempt < kAttempts && !spots.empty(); ++attempt) {
    const Split spot = spots[below(spots.size(), random)];
    Program changed = p;
    const StmtId old = top[spot.region];
    const Region region = std::get<Region>(changed[old]);
    const auto span = changed.items(region.body);
    const std::vector<StmtId> items(span.begin(), span.end());
    Region first{region.name, changed.add_block(std::span(items).first(spot.at))};
    Region second{"second_half", changed.add_block(std::span(items).subspan(spot.at))};
    std::vector<StmtId> list = top;
    list[spot.region] = changed.add(Stmt(first));
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(spot.region) + 1,
                changed.add(Stmt(second)));
    changed.body = changed.add_block(list);
    if (Variant variant = checked(std::move(changed))) return variant;
  }
  return std::nullopt;
}

Variant with_region_added(const CheckedProgram& source, Random& random) {
  Program p = source.program;
  const std::vector<Place> places = body_places(p);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Place place = places[below(places.size(), random)];
    const std::vector<StmtId> items = items_at(p, place);
    if (items.empty()) continue;
    const size_t first = below(items.size(), random);
    const size_t count = 1 + below(items.size() - first, random);
    if (used_later(p, items, first, first + count)) continue;
    Program changed = p;
    const Block inner = changed.add_block(std::span(items).subspan(first, count));
    // The top level takes no plain blocks.
    const bool region = place.kind == Place::Kind::Body || below(2, random) == 0;
    const StmtId added = changed.add(region ? Stmt(Region{"added", inner}) : Stmt(Nested{inner}));
    std::vector<StmtId> list(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(first));
    list.push_back(added);
    list.insert(list.end(), items.begin() + static_cast<std::ptrdiff_t>(first + count),
                items.end());
    set_items(changed, place, list);
    if (Variant variant = checked(std::move(changed))) return variant;
  }
  return std::nullopt;
}

namespace {

std::optional<Stmt> dead_statement(Program& p, Random& random) {
  switch (below(3, random)) {
    case 0: return Stmt(Return{});
    case 1: {
      While endless;
      endless.condition = p.add(Expr(BoolLiteral{true}));
      endless.body = p.add_block(std::vector<StmtId>());
      return Stmt(endless);
    }
    default: break;
  }
  const auto number = [&](uint64_t value) {
    IntLiteral literal;
    literal.magnitude = value;
    return p.add(Expr(literal));
  };
  std::vector<uint32_t> buffers;
  for (uint32_t i = 0; i < p.buffers.size(); ++i)
    if (is_integer(p.buffers[i].element) && !is_storage(p.buffers[i].element)) buffers.push_back(i);
  if (buffers.empty()) return std::nullopt;
  Store store;
  store.memory = Memory::of(BufferId{buffers[below(buffers.size(), random)]});
  store.index = number(below(8, random));
  store.value = number(below(100, random));
  return Stmt(store);
}

}  // namespace

Variant with_dead_code(const CheckedProgram& source, Random& random) {
  const std::vector<Place> places = body_places(source.program);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Program changed = source.program;
    const auto dead = dead_statement(changed, random);
    if (!dead) continue;
    const Place place = places[below(places.size(), random)];
    std::vector<StmtId> items = items_at(changed, place);
    IntLiteral far;
    far.magnitude = 0xFFFF'FFF1;  // no test has so many lanes
    Binary condition;
    condition.op = BinaryOp::Eq;
    condition.left = changed.add(Expr(BuiltinRef{Builtin::Gid, 0}));
    condition.right = changed.add(Expr(far));
    If branch;
    branch.condition = changed.add(Expr(condition));
    branch.then_block = changed.add_block(std::vector<StmtId>{changed.add(Stmt(*dead))});
    const size_t at = below(items.size() + 1, random);
    items.insert(items.begin() + static_cast<std::ptrdiff_t>(at), changed.add(Stmt(branch)));
    set_items(changed, place, items);
    if (Variant variant = checked(std::move(changed))) return variant;
  }
  return std::nullopt;
}

Variant with_bindings_permuted(const CheckedProgram& source, Random& random) {
  Program p = source.program;
  std::vector<uint64_t> numbers(p.buffers.size());
  std::iota(numbers.begin(), numbers.end(), uint64_t{0});
  std::ranges::shuffle(numbers, random);
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    if (p.buffers[i].kind == BufferKind::Shared) continue;
    IntLiteral number;
    number.magnitude = numbers[i];
    p.buffers[i].binding = p.add(Expr(number));
  }
  return checked(std::move(p));
}

namespace {

// gid.x says all that lid.x and wid.x do, if one knows the size.
void use_global_ids(Program& p, const check::Launch& launch) {
  const auto number = [&](uint32_t value) {
    IntLiteral literal;
    literal.magnitude = value;
    literal.suffix = Type::U32;
    return Expr(literal);
  };
  const size_t count = p.exprs.size();
  for (size_t i = 0; i < count; ++i) {
    const auto* builtin = std::get_if<BuiltinRef>(&p.exprs[i]);
    if (builtin == nullptr) continue;
    const BuiltinRef was = *builtin;
    const auto of_gid = [&](BinaryOp op) {
      if (was.axis != 0) return number(0);
      Binary e;
      e.op = op;
      e.left = p.add(Expr(BuiltinRef{Builtin::Gid, 0}));
      e.right = p.add(number(launch.workgroup[0]));
      return Expr(e);
    };
    if (was.builtin == Builtin::Lid) p.exprs[i] = of_gid(BinaryOp::Rem);
    if (was.builtin == Builtin::Wid) p.exprs[i] = of_gid(BinaryOp::Div);
    if (was.builtin == Builtin::NumWorkgroups) p.exprs[i] = number(launch.grid[was.axis]);
    if (was.builtin == Builtin::WorkgroupSize) p.exprs[i] = number(launch.workgroup[was.axis]);
  }
}

}  // namespace

std::optional<OtherSize> with_other_workgroup(const CheckedProgram& source,
                                              const check::LaunchRequest& request, Random& random) {
  if (source.workgroup_axes != 1) return std::nullopt;
  const auto launch = check::resolve_launch(source, request);
  if (!launch || launch->grid[1] != 1 || launch->grid[2] != 1) return std::nullopt;
  Program p = source.program;
  use_global_ids(p, *launch);
  // Subgroups follow the workgroup.
  for (const Expr& e : p.exprs) {
    if (std::holds_alternative<Subgroup>(e)) return std::nullopt;
    const auto* b = std::get_if<BuiltinRef>(&e);
    if (b != nullptr && b->builtin != Builtin::Gid && !is_call(b->builtin)) return std::nullopt;
  }
  const uint32_t lanes = launch->workgroup[0] * launch->grid[0];
  std::vector<uint32_t> sizes;
  for (uint32_t size = 1; size <= lanes; ++size)
    if (lanes % size == 0 && size != launch->workgroup[0]) sizes.push_back(size);
  Variant program = checked(std::move(p));
  if (sizes.empty() || !program) return std::nullopt;
  const uint32_t size = sizes[below(sizes.size(), random)];
  check::LaunchRequest again = request;
  again.workgroup = {size, 1, 1};
  again.grid = {lanes / size, 1, 1};
  // Refused: shared memory, barriers of workgroups.
  if (!check::resolve_launch(*program, again)) return std::nullopt;
  return OtherSize{std::move(*program), *again.workgroup, *again.grid};
}

}  // namespace vyre::plan_test
