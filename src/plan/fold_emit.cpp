// SPDX-License-Identifier: Apache-2.0
// The body of a folded segment.
#include <algorithm>

#include "base/match.hpp"
#include "plan/fold.hpp"
#include "plan/mutation.hpp"

namespace vyre::plan {

using namespace ir;

StmtList Folder::run() {
  const auto fresh = [&](Local::Kind kind, std::string_view name, Level level,
                         Type type = Type::U32) { return d_.local(kind, name, type, level); };
  using Kind = Local::Kind;
  const Level level = together_ == 1 ? Level::Workgroup : Level::Lane;
  for (LocalId& n : num_) n = fresh(Kind::Let, "num", Level::Grid);
  groups_ = fresh(Kind::Let, "groups", Level::Grid);
  is_row_ = fresh(Kind::Let, "is_row", Level::Grid, Type::Bool);
  first_ = fresh(Kind::Let, "first", level);
  stride_ = fresh(Kind::Let, "stride", Level::Grid);
  turns_ = fresh(Kind::Let, "turns", level);

  find_slots();
  StmtList out = start();
  const StmtList body = around(view_.parts);
  if (first_lane_.valid()) {
    const ExprId in_group =
        d_.binary(BinaryOp::Rem, d_.lane_in_group(), d_.number(d_.lanes_per_group()));
    out.push_back(d_.let(
        first_lane_,
        d_.binary(BinaryOp::LogicalAnd, d_.binary(BinaryOp::Eq, d_.ref(first_), d_.number(0)),
                  d_.binary(BinaryOp::Eq, in_group, d_.number(0)))));
  }
  if (backwards_.valid()) out.push_back(d_.let(backwards_, d_.boolean(false)));
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

// A register for each written turn, or a place in memory. Values of one lane stand side by side as
// long as one access can move them; a private array has its elements apart, as lanes use the same
// one at a time.
void Folder::find_slots() {
  std::map<Type, std::vector<uint32_t>> scalars;
  for (const uint32_t i : view_.waits) {
    const Type type = d_.type_of(LocalId{i});
    const uint32_t elements = d_.c.array_counts[i];
    if (written_turns_ != 0) {
      const std::string name = d_.source_names[i];
      for (uint32_t t = 0; t < written_turns_; ++t)
        kept_[i].push_back(d_.local(Local::Kind::Var, name, type, Level::Lane));
    } else if (elements != 0) {
      slots_[i] = {slot_buffer(type, elements), 0, 0};
    } else {
      scalars[type].push_back(i);
    }
  }
  constexpr uint32_t kMostWords = 4;  // of an access
  for (const auto& [type, locals] : scalars)
    for (size_t at = 0; at < locals.size();) {
      uint32_t width = type == Type::Bool ? 1 : kMostWords / words_of(type);
      while (width > locals.size() - at) width /= 2;
      const BufferId buffer = slot_buffer(type, width);
      for (uint32_t k = 0; k < width; ++k) slots_[locals[at + k]] = {buffer, width, k};
      at += width;
    }
}

BufferId Folder::slot_buffer(Type type, uint32_t elements) {
  const std::pair key(type, elements);
  std::vector<BufferId>& buffers = memory_.slots[key];
  const size_t n = slots_taken_[key]++;
  if (n == buffers.size()) {
    Hidden hidden;
    hidden.kind = Hidden::Kind::Slot;
    hidden.name = "turn_slot";
    hidden.element = type;
    hidden.extent = Hidden::Extent::PerLane;
    hidden.count = elements;
    buffers.push_back(d_.add_hidden(std::move(hidden)));
  }
  return buffers[n];
}

void Folder::name_ids() {
  using Kind = Local::Kind;
  const Level level = together_ == 1 ? Level::Workgroup : Level::Lane;
  const auto fresh = [&](Kind kind, std::string_view name, Level of) {
    return d_.local(kind, name, Type::U32, of);
  };
  now_ = {};
  now_.turn = fresh(Kind::For, "turn", level);
  now_.group = fresh(Kind::Let, "turn_group", level);
  now_.lane = fresh(Kind::Let, "turn_lane", Level::Lane);
  now_.in_group = fresh(Kind::Let, "in_group", Level::Lane);
  for (Axis& a : now_.wid) a = {fresh(Kind::Var, "turn_wid", level), false};
  for (Axis& a : now_.gid) a = {fresh(Kind::Let, "turn_gid", Level::Lane), false};
  for (Axis& a : now_.lid) a = {fresh(Kind::Let, "turn_lid", Level::Lane), false};
}

// What every lane of the launch knows, and the locals that outlive a turn.
StmtList Folder::start() {
  StmtList out;
  if (!memory_.grid.valid()) {
    Hidden hidden;
    hidden.kind = Hidden::Kind::Grid;
    hidden.name = "dispatch_grid";
    hidden.count = 3;
    memory_.grid = d_.add_hidden(std::move(hidden), BufferKind::In);
  }
  for (uint32_t axis = 0; axis < 3; ++axis)
    out.push_back(d_.let(num_[axis], d_.load(Memory::of(memory_.grid), d_.number(axis), true)));
  const auto num = [&](uint32_t axis) { return d_.ref(num_[axis]); };
  const ExprId rows = d_.binary(BinaryOp::Mul, num(1), num(2));
  out.push_back(d_.let(groups_, d_.binary(BinaryOp::Mul, num(0), rows)));
  if (!row_)
    out.push_back(d_.let(
        is_row_, d_.binary(BinaryOp::Eq, d_.binary(BinaryOp::Mul, num(1), num(2)), d_.number(1))));
  ExprId first = d_.builtin(Builtin::Wid);
  ExprId step = d_.builtin(Builtin::NumWorkgroups);
  if (together_ != 1) {
    const ExprId beside =
        d_.binary(BinaryOp::Div, d_.builtin(Builtin::Lid), d_.number(d_.lanes_per_group()));
    first = d_.binary(BinaryOp::Add, d_.binary(BinaryOp::Mul, first, d_.number(together_)), beside);
    step = d_.binary(BinaryOp::Mul, step, d_.number(together_));
  }
  out.push_back(d_.let(first_, first));
  out.push_back(d_.let(stride_, step));
  // Every lane has one turn at least.
  const ExprId others = d_.binary(
      BinaryOp::Sub, d_.binary(BinaryOp::Sub, d_.ref(groups_), d_.number(1)), d_.ref(first_));
  out.push_back(d_.let(
      turns_,
      d_.binary(BinaryOp::Add, d_.binary(BinaryOp::Div, others, d_.ref(stride_)), d_.number(1))));
  for (const auto& [i, u] : view_.uses) {
    const LocalId local{i};
    if (u.home != Home::Slot && u.home != Home::Uniform) continue;
    if (d_.c.array_counts[i] != 0) {
      out.push_back(d_.stmt(DeclareArray{local}, d_.p.loc(local)));
      continue;
    }
    d_.p.locals[i].kind = Local::Kind::Var;
    out.push_back(d_.let(local, d_.zero(d_.type_of(local))));
    if (const auto kept = kept_.find(i); kept != kept_.end())
      for (const LocalId own : kept->second) out.push_back(d_.let(own, d_.zero(d_.type_of(local))));
  }
  return out;
}

StmtList Folder::around(const std::vector<Part>& parts) {
  StmtList out;
  for (const Part& part : parts) {
    if (!part.stmt.valid()) {
      piece(part, out);
      continue;
    }
    std::vector<ExprId> operands;
    for (const ExprId e : d_.operands(part.stmt)) operands.push_back(rewrite(e));
    StmtId copy = operands.empty() ? part.stmt : d_.with_operands(part.stmt, operands);
    const bool loop = std::holds_alternative<For>(d_.p[part.stmt]) ||
                      std::holds_alternative<While>(d_.p[part.stmt]);
    std::vector<StmtList> blocks;
    loops_ += loop ? 1 : 0;
    for (const std::vector<Part>& block : part.blocks) blocks.push_back(around(block));
    loops_ -= loop ? 1 : 0;
    if (!blocks.empty()) copy = d_.with_blocks(copy, blocks);
    out.push_back(copy);
  }
  return out;
}

// ---- pieces

bool Folder::reads_once(ExprId id, const std::set<uint32_t>& seen) const {
  bool once = is_same_in_workgroups(
      d_.p, d_.p[id],
      [&](LocalId local) {
        const Home h = home(local);
        return h == Home::Uniform || h == Home::Loop || seen.contains(local.value);
      },
      [&](Memory m) { return m.kind != Memory::Kind::Local && !d_.is_shared(m); },
      [] { return false; });
  for_each_operand(d_.p, d_.p[id], [&](ExprId e) { once = once && reads_once(e, seen); });
  return once;
}

bool Folder::runs_once(StmtId id, std::set<uint32_t>& seen) const {
  const auto may_write = [&](LocalId local) { return home(local) == Home::Uniform; };
  const auto block = [&](Block b) {
    std::set<uint32_t> inner = seen;
    return std::ranges::all_of(d_.p.items(b), [&](StmtId s) { return runs_once(s, inner); });
  };
  return match(
      d_.p[id],
      [&](const Let& x) {
        if (!reads_once(x.value, seen)) return false;
        if (may_write(x.local)) return true;
        if (home(x.local) != Home::Inside || view_.uses.at(x.local.value).assigns != 0)
          return false;
        seen.insert(x.local.value);
        return true;
      },
      [&](const Assign& x) { return may_write(x.local) && reads_once(x.value, seen); },
      [&](const Store& x) {
        return !x.op && x.memory.kind == Memory::Kind::Buffer && !d_.is_shared(x.memory) &&
               reads_once(x.index, seen) && reads_once(x.value, seen);
      },
      [&](const Eval& x) {
        const auto* atomic = std::get_if<Atomic>(&d_.p[x.value]);
        return atomic != nullptr && atomic->op == AtomicOp::Store &&
               !d_.is_shared(atomic->memory) && reads_once(atomic->index, seen) &&
               reads_once(atomic->args[0], seen);
      },
      [&](const If& x) {
        return (reads_once(x.condition, seen) || is_of_first_lane(x)) && block(x.then_block) &&
               block(x.else_block);
      },
      [](const DeclareArray&) { return false; }, [](const For&) { return false; },
      [](const While&) { return false; }, [](const Break&) { return false; },
      [](const Continue&) { return false; }, [](const Return&) { return false; },
      [](const Nested&) { return false; }, [](const Region&) { return false; },
      [](const Barrier&) { return false; }, [](const Fixpoint&) { return false; },
      [](const AsyncCopy&) { return false; }, [](const Wait&) { return false; },
      [](const Trap&) { return false; }, [](const Resume&) { return false; },
      [](const Collective&) { return false; });
}

bool Folder::is_of_first_lane(const If& s) const {
  const auto* equal = std::get_if<Binary>(&d_.p[s.condition]);
  if (equal == nullptr || equal->op != BinaryOp::Eq || !d_.p.items(s.else_block).empty())
    return false;
  const auto* ref = std::get_if<LocalRef>(&d_.p[equal->left]);
  const auto zero = check::evaluate_constant(d_.c, equal->right);
  return ref != nullptr && ref->local == lane_of_source_ && zero && zero->bits == 0;
}

// A statement that runs once for all turns.
void Folder::once(StmtId id, StmtList& out) {
  const auto* branch = std::get_if<If>(&d_.p[id]);
  if (branch == nullptr || !is_of_first_lane(*branch)) return rewrite(id, out);
  if (!first_lane_.valid())
    first_lane_ = d_.local(Local::Kind::Let, "first_lane", Type::Bool, Level::Lane);
  const auto items = d_.p.items(branch->then_block);
  StmtList body;
  for (const StmtId inner : StmtList(items.begin(), items.end())) once(inner, body);
  out.push_back(d_.when(
      mutated(Mutation::FoldLaneZeroNever) ? d_.boolean(false) : d_.ref(first_lane_), body));
}

void Folder::piece(const Part& part, StmtList& out) {
  const std::span<const StmtId> items = part.items;
  std::set<uint32_t> seen;
  size_t begin = 0;
  while (begin < items.size() && runs_once(items[begin], seen)) ++begin;
  // From the end: what is declared in the turns is not seen after them.
  size_t end = items.size();
  while (end > begin) {
    std::set<uint32_t> after = seen;
    if (!std::ranges::all_of(items.subspan(end - 1), [&](StmtId s) { return runs_once(s, after); }))
      break;
    --end;
  }
  for (const StmtId id : items.first(begin)) once(id, out);
  // What every piece computes again for itself needs no turns of its own.
  const std::span<const StmtId> rest = items.subspan(begin, end - begin);
  const bool idle = std::ranges::all_of(rest, [&](StmtId id) {
    const auto* let = std::get_if<Let>(&d_.p[id]);
    return let != nullptr && home(let->local) == Home::Again;
  });
  if (!idle) turns(part.piece, rest, out);
  for (const StmtId id : items.subspan(end)) once(id, out);
}

void Folder::turns(uint32_t piece, std::span<const StmtId> items, StmtList& out) {
  std::map<uint32_t, LocalId> before;
  const uint32_t width = width_of(items);
  const Level level = together_ == 1 ? Level::Workgroup : Level::Lane;
  if (written_turns_ == 0) {
    if (width > 1) return many_turns(piece, items, width, out);
    name_ids();
    StmtList body = {name_group(d_.ref(now_.turn))};
    const LocalId number = now_.turn;
    turn(piece, items, std::nullopt, before, out, body);
    For loop;
    loop.variable = number;
    loop.first = d_.number(0);
    loop.last = d_.ref(turns_);
    loop.body = d_.block(body);
    out.push_back(d_.stmt(loop, {}, level));
    return;
  }
  for (uint32_t t = 0; t < written_turns_;) {
    const uint32_t count = std::min(width, written_turns_ - t);
    if (count > 1) {
      const StmtList body = interleave(piece, items, count, {.number = t}, before, out);
      out.push_back(d_.stmt(Nested{d_.block(body)}));
    } else {
      name_ids();
      StmtList body = {name_group(d_.number(t))};
      turn(piece, items, t, before, out, body);
      // Every lane has a first one.
      out.push_back(t == 0 ? d_.stmt(Nested{d_.block(body)})
                           : d_.when(d_.binary(BinaryOp::Lt, d_.number(t), d_.ref(turns_)), body));
    }
    t += count;
  }
}

StmtId Folder::name_group(ExprId number) {
  const LocalId from = from_.valid() ? from_ : first_;
  const LocalId by = from_.valid() ? by_ : stride_;
  return d_.let(now_.group, d_.binary(BinaryOp::Add, d_.ref(from),
                                      d_.binary(BinaryOp::Mul, number, d_.ref(by))));
}

void Folder::turn(uint32_t piece, std::span<const StmtId> items, std::optional<uint32_t> written,
                  std::map<uint32_t, LocalId>& before, StmtList& outside, StmtList& out) {
  in_turn_ = true;
  const Mentioned mentioned = mentioned_in(items);
  StmtList restored;
  StmtList saved;
  std::set<uint32_t> declared;
  for (const auto& [i, u] : mentioned.locals)
    if (u.declared) declared.insert(i);
  for (const auto& [i, u] : mentioned.locals) {
    const LocalId local{i};
    switch (home(local)) {
      case Home::Again: declare_again(local, declared, restored); break;
      case Home::Uniform:
        // Every turn starts from what held before the first one.
        if (u.written && !u.declared && !mutated(Mutation::FoldUniformInPlace)) {
          const auto [it, fresh] = before.try_emplace(i, LocalId{});
          if (fresh) it->second = d_.capture(d_.ref(local), "before", Level::Grid, outside);
          restored.push_back(d_.assign(local, d_.ref(it->second)));
        }
        break;
      case Home::Slot:
        // Without a slot there is no earlier value.
        if (view_.waits.contains(i) && view_.values.at(piece).read.contains(i))
          load_slot(local, written, restored);
        if (u.written && view_.needed_after.at(piece).contains(i) &&
            !mutated(Mutation::FoldNotSaved))
          save_slot(local, written, saved);
        break;
      case Home::Inside:
      case Home::Loop: break;
    }
  }
  StmtList body;
  for (const StmtId id : items) rewrite(id, body);
  StmtList from_memory;
  StmtList to_memory;
  for (const uint32_t buffer : mentioned.shared) {
    copy_shared(BufferId{buffer}, false, from_memory);
    copy_shared(BufferId{buffer}, true, to_memory);
  }
  const auto append = [&](const StmtList& list) {
    out.insert(out.end(), list.begin(), list.end());
  };
  append(ids());
  append(from_memory);
  if (!mentioned.shared.empty()) out.push_back(d_.barrier(Scope::Workgroup));
  append(restored);
  append(body);
  append(saved);
  if (!mentioned.shared.empty()) {
    out.push_back(d_.barrier(Scope::Workgroup));
    append(to_memory);
    out.push_back(d_.barrier(Scope::Workgroup));
  }
  in_turn_ = false;
}

}  // namespace vyre::plan
