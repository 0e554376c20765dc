// SPDX-License-Identifier: Apache-2.0
// What turns have to keep: locals that a later piece reads.
#include <algorithm>

#include "plan/fold.hpp"
#include "plan/mutation.hpp"

namespace vyre::plan {

using namespace ir;

Folder::Mentioned Folder::mentioned_in(std::span<const StmtId> items) const {
  Mentioned m;
  const auto memory = [&](const MemoryUse& use) {
    if (use.access == Access::Length) return;
    if (use.memory.kind == Memory::Kind::Local)
      m.locals[use.memory.index].written |= writes(use.access);
    if (d_.is_shared(use.memory)) m.shared.insert(use.memory.index);
  };
  const auto local = [&](LocalId at, LocalAccess access) {
    switch (access) {
      case LocalAccess::Read: m.locals[at.value]; return;
      case LocalAccess::Declare: m.locals[at.value] = {true, true}; return;
      case LocalAccess::Assign: m.locals[at.value].written = true; return;
      case LocalAccess::Iterate: return;  // a loop in the piece keeps it to itself
    }
  };
  for (const StmtId id : items) {
    for_each_stmt(d_.p, id, [&](StmtId s) {
      for_each_local(d_.p[s], local);
      for_each_memory(d_.p, d_.p[s], memory);
    });
    for_each_expr_below(d_.p, id, [&](ExprId e) {
      for_each_local(d_.p[e], local);
      for_each_memory(d_.p, d_.p[e], memory);
    });
  }
  return m;
}

// What a local held before matters, unless the first statement that mentions it gives it a value.
void Folder::note_values(const Part& part) {
  Values& values = view_.values[part.piece];
  std::set<uint32_t> seen;
  for (const StmtId id : part.items) {
    const auto* let = std::get_if<Let>(&d_.p[id]);
    const auto* array = std::get_if<DeclareArray>(&d_.p[id]);
    const auto* assign = std::get_if<Assign>(&d_.p[id]);
    LocalId set = let != nullptr                     ? let->local
                  : array != nullptr                 ? array->local
                  : assign != nullptr && !assign->op ? assign->local
                                                     : LocalId{};
    if (assign != nullptr && set.valid())
      for_each_expr(d_.p, assign->value, [&](ExprId e) {
        const auto* ref = std::get_if<LocalRef>(&d_.p[e]);
        if (ref != nullptr && ref->local == assign->local) set = {};
      });
    for (const auto& [i, u] : mentioned_in({&id, 1}).locals) {
      if (home(LocalId{i}) != Home::Slot || !seen.insert(i).second) continue;
      if (set == LocalId{i})
        values.set.insert(i);
      else if (!u.declared)
        values.read.insert(i);
    }
  }
}

void Folder::find_waiting() {
  needed_before(view_.parts, {}, {});
  for (const auto& [piece, needed] : view_.needed_after)
    view_.waits.insert(needed.begin(), needed.end());
}

Folder::Locals Folder::needed_before(const std::vector<Part>& parts, Locals live,
                                     const Exits& exits) {
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (!part->stmt.valid()) {
      if (!view_.values.contains(part->piece)) note_values(*part);
      const Values& values = view_.values.at(part->piece);
      view_.needed_after[part->piece].insert(live.begin(), live.end());
      for (const uint32_t i : values.set) live.erase(i);
      live.insert(values.read.begin(), values.read.end());
      continue;
    }
    const Stmt& s = d_.p[part->stmt];
    if (std::holds_alternative<Break>(s)) live = *exits.after_loop;
    if (std::holds_alternative<Continue>(s)) live = *exits.next_trip;
    if (std::holds_alternative<Return>(s)) live.clear();
    if (std::holds_alternative<If>(s)) {
      Locals before = needed_before(part->blocks[0], live, exits);
      before.merge(needed_before(part->blocks[1], live, exits));
      live = std::move(before);
    }
    if (std::holds_alternative<For>(s) || std::holds_alternative<While>(s))
      live = needed_before(*part, live);
    for_each_operand(d_.p, s, [&](ExprId operand) {
      for_each_expr(d_.p, operand, [&](ExprId e) {
        const auto* ref = std::get_if<LocalRef>(&d_.p[e]);
        if (ref != nullptr && home(ref->local) == Home::Slot) live.insert(ref->local.value);
      });
    });
  }
  return live;
}

Folder::Locals Folder::needed_before(const Part& loop, const Locals& after) {
  Locals at_head = after;
  for (;;) {
    Locals before = needed_before(loop.blocks[0], at_head, {&after, &at_head});
    before.insert(after.begin(), after.end());
    if (before == at_head || mutated(Mutation::FoldNeededInTripOnly)) return at_head;
    at_head = std::move(before);
  }
}

}  // namespace vyre::plan
