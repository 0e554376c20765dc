// SPDX-License-Identifier: Apache-2.0
// Several turns of a folded segment, statement by statement. They are lanes of their own, so the
// order of their statements is free; loads of one are under way while another one waits.
#include <algorithm>

#include "plan/fold.hpp"
#include "plan/mutation.hpp"

namespace vyre::plan {

using namespace ir;

// ---- what can be gained

bool Folder::has_effect(ExprId id) const {
  bool effect = properties_of(d_.p[id]).has_effect;
  for_each_operand(d_.p, d_.p[id], [&](ExprId e) { effect = effect || has_effect(e); });
  return effect;
}

// What most lanes pass: a comparison of numbers that are there already, or being alive.
bool Folder::is_guard(ExprId id) const {
  if (const auto* ref = std::get_if<LocalRef>(&d_.p[id])) return ref->local == live_;
  const auto* binary = std::get_if<Binary>(&d_.p[id]);
  if (binary == nullptr) return false;
  if (binary->op == BinaryOp::LogicalAnd) return is_guard(binary->left) && is_guard(binary->right);
  if (binary->op != BinaryOp::Lt && binary->op != BinaryOp::Le && binary->op != BinaryOp::Gt &&
      binary->op != BinaryOp::Ge)
    return false;
  std::vector<Early> loads;
  early_loads(id, false, loads);
  return loads.empty() && !has_effect(id);
}

void Folder::early_loads(ExprId id, bool guessed, std::vector<Early>& out) const {
  const Expr& e = d_.p[id];
  if (const auto* binary = std::get_if<Binary>(&e); binary != nullptr && is_lazy(binary->op)) {
    early_loads(binary->left, guessed, out);
    if (binary->op == BinaryOp::LogicalAnd && is_guard(binary->left))
      early_loads(binary->right, true, out);
    return;
  }
  for_each_operand(d_.p, e, [&](ExprId inner) { early_loads(inner, guessed, out); });
  const auto* load = std::get_if<Load>(&e);
  const auto* atomic = std::get_if<Atomic>(&e);
  const bool from_buffer =
      (load != nullptr && load->memory.kind == Memory::Kind::Buffer &&
       !d_.is_shared(load->memory)) ||
      (atomic != nullptr && atomic->op == AtomicOp::Load && !d_.is_shared(atomic->memory));
  if (from_buffer) out.push_back({id, guessed});
}

// In the order in which they are needed. A statement with an effect may have one as its last deed.
std::vector<Folder::Early> Folder::early_loads(StmtId id) const {
  std::vector<Early> out;
  const Stmt& s = d_.p[id];
  const bool known = std::holds_alternative<Let>(s) || std::holds_alternative<Assign>(s) ||
                     std::holds_alternative<If>(s) || std::holds_alternative<Store>(s) ||
                     std::holds_alternative<Eval>(s);
  if (!known) return out;
  const auto* eval = std::get_if<Eval>(&s);
  bool effect = false;
  const auto visit = [&](ExprId e) {
    effect = effect || has_effect(e);
    early_loads(e, false, out);
  };
  const auto* atomic = eval != nullptr ? std::get_if<Atomic>(&d_.p[eval->value]) : nullptr;
  if (atomic != nullptr && atomic->op != AtomicOp::Load)
    for_each_operand(d_.p, d_.p[eval->value], visit);
  else
    for_each_operand(d_.p, s, visit);
  if (effect) out.clear();
  return out;
}

// Whether all turns go the same way.
bool Folder::is_same(const If& s) const {
  std::vector<Early> loads;
  early_loads(s.condition, false, loads);
  return loads.empty() && reads_once(s.condition, {});
}

bool Folder::gains(std::span<const StmtId> items) const {
  return std::ranges::any_of(items, [&](StmtId id) {
    const Stmt& s = d_.p[id];
    if (!early_loads(id).empty()) return true;
    const auto* branch = std::get_if<If>(&s);
    const auto* nested = std::get_if<Nested>(&s);
    const auto* region = std::get_if<Region>(&s);
    if (nested != nullptr) return gains(d_.p.items(nested->body));
    if (region != nullptr) return gains(d_.p.items(region->body));
    return branch != nullptr && (is_same(*branch) || is_guard(branch->condition)) &&
           (gains(d_.p.items(branch->then_block)) || gains(d_.p.items(branch->else_block)));
  });
}

uint32_t Folder::width_of(std::span<const StmtId> items) const {
  constexpr uint32_t kMostStatements = 80;
  constexpr uint32_t kMostWords = 8;  // of state under way
  if (interleaved_ == 1 || view_.meets_in_group) return 1;
  const Mentioned mentioned = mentioned_in(items);
  uint32_t words = 0;
  for (const auto& [i, u] : mentioned.locals) {
    if (d_.c.array_counts[i] != 0) return 1;
    if (home(LocalId{i}) != Home::Slot) continue;
    // The value that a condition around barriers sees is that of the last turn.
    if (u.written && view_.uses.at(i).pieces.contains(kAround)) return 1;
    if (view_.waits.contains(i)) words += words_of(d_.type_of(LocalId{i}));
  }
  if ((words == 0 || written_turns_ != 0) && !gains(items)) return 1;
  uint32_t statements = 0;
  for (const StmtId id : items) for_each_stmt(d_.p, id, [&](StmtId) { ++statements; });
  uint32_t width = interleaved_;
  while (width > 1 && (statements * width > kMostStatements ||
                       (written_turns_ == 0 && words * width > kMostWords)))
    width /= 2;
  return std::max(width, 1U);
}

// ---- the statements

void Folder::name_waiting(uint32_t piece, const Mentioned& mentioned,
                          std::optional<uint32_t> written, std::map<uint32_t, LocalId>& before,
                          StmtList& outside, StmtList& restored, StmtList& saved) {
  std::set<uint32_t> declared;
  for (const auto& [i, u] : mentioned.locals)
    if (u.declared) declared.insert(i);
  // Each turn has its own copy of what outlives turns.
  for (const auto& [i, u] : mentioned.locals) {
    const LocalId local{i};
    if (home(local) == Home::Uniform && u.written) {
      const auto [it, fresh] = before.try_emplace(i, LocalId{});
      if (fresh) it->second = d_.capture(d_.ref(local), "before", Level::Grid, outside);
      const LocalId own = d_.copy_of(local);
      restored.push_back(d_.let(own, d_.ref(it->second)));
      now_.names[i] = own;
    }
    if (home(local) != Home::Slot) continue;
    const bool waits = view_.waits.contains(i);
    if (waits && written) {
      now_.names[i] = kept_.at(i)[*written];
      continue;
    }
    const bool read = waits && view_.values.at(piece).read.contains(i);
    const LocalId own = d_.copy_of(local);
    restored.push_back(d_.let(own, read ? in_slot(local) : d_.zero(d_.type_of(local))));
    now_.names[i] = own;
    if (waits && u.written && view_.needed_after.at(piece).contains(i) &&
        !mutated(Mutation::FoldNotSaved))
      saved.push_back(to_slot(local, d_.ref(own)));
  }
  for (const auto& [i, u] : mentioned.locals)
    if (home(LocalId{i}) == Home::Again) declare_again(LocalId{i}, declared, restored);
}

// As many turns as there are, `width` of them at a time, the last ones with a look at whether there
// are so many. What the last turns had in a cache, the first ones of the next loop find there:
// loops go back and forth.
void Folder::many_turns(uint32_t piece, std::span<const StmtId> items, uint32_t width,
                        StmtList& out) {
  const Level level = d_.level_of(turns_);
  const auto select = [&](LocalId condition, ExprId yes, ExprId no) {
    IntrinsicCall call;
    call.op = Intrinsic::Select;
    call.args = {d_.ref(condition), yes, no};
    return d_.expr(call, Type::U32);
  };
  if (loops_ != 0) {
    if (!backwards_.valid())
      backwards_ = d_.local(Local::Kind::Var, "backwards", Type::Bool, Level::Grid);
    const ExprId others = d_.binary(BinaryOp::Sub, d_.ref(turns_), d_.number(1));
    const ExprId last =
        d_.binary(BinaryOp::Add, d_.ref(first_), d_.binary(BinaryOp::Mul, others, d_.ref(stride_)));
    from_ = d_.capture(select(backwards_, last, d_.ref(first_)), "from", level, out);
    const ExprId back = d_.binary(BinaryOp::Sub, d_.number(0), d_.ref(stride_));
    by_ = d_.capture(select(backwards_, back, d_.ref(stride_)), "by", Level::Grid, out);
  }
  const ExprId rest = d_.binary(BinaryOp::Rem, d_.ref(turns_), d_.number(width));
  const LocalId whole =
      d_.capture(d_.binary(BinaryOp::Sub, d_.ref(turns_), rest), "whole", level, out);
  std::map<uint32_t, LocalId> before;
  For loop;
  loop.variable = d_.local(Local::Kind::For, "turn", Type::U32, level);
  loop.first = d_.number(0);
  loop.last = d_.ref(whole);
  loop.step = d_.number(width);
  loop.body =
      d_.block(interleave(piece, items, width, {.base = loop.variable, .all = true}, before, out));
  out.push_back(d_.stmt(loop, {}, level));
  const StmtList tail = interleave(piece, items, width, {.base = whole}, before, out);
  out.push_back(d_.when(d_.binary(BinaryOp::Lt, d_.ref(whole), d_.ref(turns_)), tail));
  if (loops_ != 0) out.push_back(d_.assign(backwards_, d_.negate(d_.ref(backwards_))));
  from_ = by_ = {};
}

StmtList Folder::interleave(uint32_t piece, std::span<const StmtId> items, uint32_t width,
                            const Some& some, std::map<uint32_t, LocalId>& before,
                            StmtList& outside) {
  in_turn_ = true;
  const Mentioned mentioned = mentioned_in(items);
  const bool written = !some.base.valid();
  std::vector<Turn> turns;
  std::vector<StmtList> heads(width);
  StmtList restored;
  std::vector<StmtList> saved(width);
  for (uint32_t k = 0; k < width; ++k) {
    name_ids();
    const uint32_t number = some.number + k;
    ExprId ahead = d_.number(number);
    // Where there is no such turn, its lane looks at what the first of them looks at, and does
    // nothing.
    if (number != 0 && !some.all) {
      now_.active = d_.local(Local::Kind::Let, "active", Type::Bool, d_.level_of(turns_));
      const ExprId left =
          written ? d_.ref(turns_) : d_.binary(BinaryOp::Sub, d_.ref(turns_), d_.ref(some.base));
      heads[k].push_back(d_.let(now_.active, d_.binary(BinaryOp::Gt, left, ahead)));
      IntrinsicCall select;
      select.op = Intrinsic::Select;
      select.args = {d_.ref(now_.active), d_.clone(ahead), d_.number(0)};
      ahead = d_.expr(select, Type::U32);
    }
    heads[k].push_back(
        name_group(written ? ahead : d_.binary(BinaryOp::Add, d_.ref(some.base), ahead)));
    name_waiting(piece, mentioned, written ? std::optional(number) : std::nullopt, before, outside,
                 restored, saved[k]);
    turns.push_back(std::exchange(now_, {}));
  }
  StmtList body;
  side_by_side(items, turns, some.all, body);

  StmtList out;
  const auto append = [&](const StmtList& list) {
    out.insert(out.end(), list.begin(), list.end());
  };
  for (uint32_t k = 0; k < width; ++k) {
    now_ = turns[k];
    append(heads[k]);
    append(ids());
  }
  append(restored);
  append(body);
  for (uint32_t k = 0; k < width; ++k) {
    if (saved[k].empty()) continue;
    if (turns[k].active.valid())
      out.push_back(d_.when(d_.ref(turns[k].active), saved[k]));
    else
      append(saved[k]);
  }
  for (const auto& [i, u] : mentioned.locals)
    if (home(LocalId{i}) == Home::Uniform && u.written && some.number == 0)
      out.push_back(d_.assign(LocalId{i}, d_.ref(turns[0].names.at(i))));
  in_turn_ = false;
  now_ = {};
  return out;
}

void Folder::side_by_side(std::span<const StmtId> items, std::vector<Turn>& turns, bool all,
                          StmtList& out) {
  for (const StmtId id : StmtList(items.begin(), items.end())) {
    const Stmt s = d_.p[id];
    const auto inside = [&](StmtId copy) {
      return d_.map_blocks(copy, [&](Block b) {
        StmtList list;
        side_by_side(d_.p.items(b), turns, all, list);
        return list;
      });
    };
    if (std::holds_alternative<Nested>(s) || std::holds_alternative<Region>(s)) {
      out.push_back(inside(id));
      continue;
    }
    const auto* branch = std::get_if<If>(&s);
    if (branch != nullptr && is_same(*branch)) {
      std::swap(now_, turns[0]);
      const ExprId condition = rewrite(branch->condition);
      std::swap(now_, turns[0]);
      out.push_back(inside(d_.with_operands(id, {condition})));
      continue;
    }
    if (branch != nullptr && d_.p.items(branch->else_block).empty() &&
        is_guard(branch->condition) && gains(d_.p.items(branch->then_block))) {
      guarded(id, turns, all, out);
      continue;
    }
    one_by_one(id, turns, all, out);
  }
}

// Where all of them pass, they go on side by side.
void Folder::guarded(StmtId id, std::vector<Turn>& turns, bool all, StmtList& out) {
  const If branch = std::get<If>(d_.p[id]);
  ExprId pass;
  for (Turn& turn : turns) {
    std::swap(now_, turn);
    ExprId own = d_.clone(rewrite(branch.condition));
    if (!all && now_.active.valid())
      own = d_.binary(BinaryOp::LogicalAnd, d_.ref(now_.active), own);
    pass = pass.valid() ? d_.binary(BinaryOp::LogicalAnd, pass, own) : own;
    std::swap(now_, turn);
  }
  std::vector<Turn> inner = turns;
  StmtList then;
  side_by_side(d_.p.items(branch.then_block), inner, true, then);
  StmtList otherwise;
  for (size_t k = 0; k < turns.size(); ++k) turns[k].uses_lane |= inner[k].uses_lane;
  for (size_t k = 0; k < turns.size(); ++k)
    for (const auto member : {&Turn::wid, &Turn::gid, &Turn::lid})
      for (size_t axis = 0; axis < 3; ++axis)
        (turns[k].*member)[axis].used |= (inner[k].*member)[axis].used;
  one_by_one(id, turns, all, otherwise);
  out.push_back(d_.when(pass, then, otherwise));
}

void Folder::one_by_one(StmtId id, std::vector<Turn>& turns, bool all, StmtList& out) {
  for (const Early& early : early_loads(id))
    for (Turn& turn : turns) {
      std::swap(now_, turn);
      ExprId value = rewrite(early.load);
      // Where a guard is what the proof rests on, there is none.
      if (early.guessed) {
        value = d_.clone(value);
        d_.c.expr_proofs[value.index()] = -1;
      }
      const LocalId local = d_.capture(value, "early", Level::Lane, out);
      now_.early[early.load.value] = local;
      std::swap(now_, turn);
    }
  const Stmt s = d_.p[id];
  const auto* let = std::get_if<Let>(&s);
  const auto* assign = std::get_if<Assign>(&s);
  const bool plain = (let != nullptr && !has_effect(let->value)) ||
                     (assign != nullptr && !has_effect(assign->value));
  for (Turn& turn : turns) {
    std::swap(now_, turn);
    StmtList list;
    if (all || plain || !now_.active.valid() || mutated(Mutation::FoldTurnsTooMany)) {
      rewrite(id, out);
    } else if (let != nullptr && home(let->local) == Home::Inside) {
      // Others see the local, whether the turn exists or not.
      const ExprId value = rewrite(let->value);
      declare(let->local);
      const LocalId own = named(let->local);
      d_.p.locals[own.index()].kind = Local::Kind::Var;
      out.push_back(d_.let(own, d_.zero(d_.type_of(own))));
      out.push_back(d_.when(d_.ref(now_.active), {d_.assign(own, value)}));
    } else {
      rewrite(id, list);
      out.push_back(d_.when(d_.ref(now_.active), list));
    }
    std::swap(now_, turn);
  }
}

}  // namespace vyre::plan
