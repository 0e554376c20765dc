// SPDX-License-Identifier: Apache-2.0
// What lives across phases: locals that a later phase reads.
#include <algorithm>

#include "ir/properties.hpp"
#include "plan/mutation.hpp"
#include "plan/persistent/analyse.hpp"

namespace vyre::plan::persistent {

using namespace ir;

Mentioned mentioned_in(const Draft& d, std::span<const StmtId> items) {
  Mentioned m;
  const auto memory = [&](const MemoryUse& use) {
    if (use.access == Access::Length) return;
    if (use.memory.kind == Memory::Kind::Local)
      m.locals[use.memory.index].written |= writes(use.access);
    if (d.is_shared(use.memory)) m.shared.insert(use.memory.index);
  };
  const auto local = [&](LocalId at, LocalAccess access) {
    switch (access) {
      case LocalAccess::Read: m.locals[at.value]; return;
      case LocalAccess::Declare: m.locals[at.value] = {true, true}; return;
      case LocalAccess::Assign: m.locals[at.value].written = true; return;
      case LocalAccess::Iterate: return;  // a loop in the phase keeps it to itself
    }
  };
  for (const StmtId id : items) {
    for_each_stmt(d.p, id, [&](StmtId s) {
      for_each_local(d.p[s], local);
      for_each_memory(d.p, d.p[s], memory);
    });
    for_each_expr_below(d.p, id, [&](ExprId e) {
      for_each_local(d.p[e], local);
      for_each_memory(d.p, d.p[e], memory);
    });
  }
  return m;
}

namespace {

// What a local held before matters, unless the first statement that mentions it gives it a value.
void note_values(const Draft& d, Analysis& a, const Part& part) {
  Analysis::Values& values = a.values[part.phase];
  std::set<uint32_t> seen;
  for (const StmtId id : part.items) {
    const auto* let = std::get_if<Let>(&d.p[id]);
    const auto* array = std::get_if<DeclareArray>(&d.p[id]);
    const auto* assign = std::get_if<Assign>(&d.p[id]);
    LocalId set = let != nullptr                     ? let->local
                  : array != nullptr                 ? array->local
                  : assign != nullptr && !assign->op ? assign->local
                                                     : LocalId{};
    if (assign != nullptr && set.valid())
      for_each_expr(d.p, assign->value, [&](ExprId e) {
        const auto* ref = std::get_if<LocalRef>(&d.p[e]);
        if (ref != nullptr && ref->local == assign->local) set = {};
      });
    for (const auto& [i, u] : mentioned_in(d, {&id, 1}).locals) {
      if (storage_of(a, LocalId{i}) != StorageClass::Slot || !seen.insert(i).second) continue;
      if (set == LocalId{i})
        values.set.insert(i);
      else if (!u.declared)
        values.read.insert(i);
    }
  }
}

struct Exits {
  const Locals* after_loop = nullptr;
  const Locals* next_iteration = nullptr;
};
Locals live_before(const Draft& d, Analysis& a, const std::vector<Part>& parts, Locals live,
                   const Exits& exits);

Locals live_before(const Draft& d, Analysis& a, const Part& loop, const Locals& after) {
  Locals at_head = after;
  for (;;) {
    Locals before = live_before(d, a, loop.blocks[0], at_head, {&after, &at_head});
    before.insert(after.begin(), after.end());
    if (before == at_head || mutated(Mutation::PersistentLiveInLoopOnly)) return at_head;
    at_head = std::move(before);
  }
}

// Locals that are read where the parts begin, or after them and not given a value before.
Locals live_before(const Draft& d, Analysis& a, const std::vector<Part>& parts, Locals live,
                   const Exits& exits) {
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (!part->stmt.valid()) {
      if (!a.values.contains(part->phase)) note_values(d, a, *part);
      const Analysis::Values& values = a.values.at(part->phase);
      a.live_after[part->phase].insert(live.begin(), live.end());
      for (const uint32_t i : values.set) live.erase(i);
      live.insert(values.read.begin(), values.read.end());
      continue;
    }
    const Stmt& s = d.p[part->stmt];
    if (std::holds_alternative<Break>(s)) live = *exits.after_loop;
    if (std::holds_alternative<Continue>(s)) live = *exits.next_iteration;
    if (std::holds_alternative<Return>(s)) live.clear();
    if (std::holds_alternative<If>(s)) {
      Locals before = live_before(d, a, part->blocks[0], live, exits);
      before.merge(live_before(d, a, part->blocks[1], live, exits));
      live = std::move(before);
    }
    if (std::holds_alternative<For>(s) || std::holds_alternative<While>(s))
      live = live_before(d, a, *part, live);
    for_each_operand(d.p, s, [&](ExprId operand) {
      for_each_expr(d.p, operand, [&](ExprId e) {
        const auto* ref = std::get_if<LocalRef>(&d.p[e]);
        if (ref != nullptr && storage_of(a, ref->local) == StorageClass::Slot)
          live.insert(ref->local.value);
      });
    });
  }
  return live;
}

}  // namespace

void find_live(const Draft& d, Analysis& a) {
  live_before(d, a, a.parts, {}, {});
  for (const auto& [phase, needed] : a.live_after)
    a.live_across.insert(needed.begin(), needed.end());
}

}  // namespace vyre::plan::persistent
