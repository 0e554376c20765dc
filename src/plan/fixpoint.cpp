// SPDX-License-Identifier: Apache-2.0
// How a fixpoint notices that a pass changed a buffer. Exact in every mode: "some store differed"
// is not enough, because a second store of the same pass may put the old value back.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/match.hpp"
#include "plan/hoist.hpp"
#include "plan/mutation.hpp"
#include "plan/passes.hpp"

namespace vyre::plan {

using namespace ir;

bool loads_all_bits(Type element) {
  return element != Type::Bool && element != Type::F16 && element != Type::BF16;
}

namespace {

bool is_monotone(AtomicOp op) {
  return op == AtomicOp::Max || op == AtomicOp::Min || op == AtomicOp::Or || op == AtomicOp::And;
}

struct Writes {
  std::vector<AtomicOp> atomics;
  uint32_t stores = 0;
  bool store_in_loop = false;
  ExprId store_index;
  bool others = false;  // async copies, collectives, swaps
};

class ModeFinder {
 public:
  ModeFinder(Draft& d, bool checked) : d_(d), checked_(checked), values_(d.p.locals.size()) {
    for (const StmtId id : d.p.items(d.p.body))
      for_each_stmt(d.p, id, [&](StmtId s) {
        if (const auto* let = std::get_if<Let>(&d.p[s]))
          if (d.p[let->local].kind == Local::Kind::Let) values_[let->local.index()] = let->value;
      });
  }

  void run() {
    for (const StmtId id : d_.p.items(d_.p.body))
      for_each_stmt(d_.p, id, [&](StmtId s) {
        if (std::holds_alternative<Fixpoint>(d_.p[s])) fixpoint(s);
      });
  }

 private:
  void fixpoint(StmtId id) {
    const auto s = std::get<Fixpoint>(d_.p[id]);
    FixpointInfo info;
    info.at = d_.p.position_of(id);
    const auto list = d_.p.memories(s.buffers);
    for (const Memory m : std::vector<Memory>(list.begin(), list.end()))
      info.buffers.push_back(mode(s, m.buffer()));
    d_.fixpoint_rows[id.value] = static_cast<uint32_t>(d_.fixpoints.size());
    d_.fixpoints.push_back(std::move(info));
  }

  FixpointBuffer mode(const Fixpoint& s, BufferId buffer) {
    const auto snapshot = [&](std::string why) {
      return FixpointBuffer{buffer, FixpointMode::Snapshot, std::move(why)};
    };
    bool resumes = false;
    for (const StmtId item : d_.p.items(s.body))
      resumes = resumes || any_stmt_below(d_.p, item, [&](StmtId inner) {
                  return std::holds_alternative<Resume>(d_.p[inner]);
                });
    if (resumes && !mutated(Mutation::TrackDespiteResume))
      return snapshot("the handler of a resume inside may write it");
    Writes w;
    for (const StmtId item : d_.p.items(s.body)) collect(item, buffer, false, w);
    if (w.others) return snapshot("a copy, collective or swap inside writes it");
    if (w.stores == 0) {
      if (!w.atomics.empty() && is_float(d_.p[buffer].element))
        return snapshot("atomics write floats, which may be equal with other bits");
      const bool one_kind = std::ranges::all_of(
          w.atomics, [&](AtomicOp op) { return is_monotone(op) && op == w.atomics.front(); });
      if (one_kind)
        return {buffer, FixpointMode::Tracked,
                w.atomics.empty() ? "nothing inside writes it"
                                  : fmt::format("only {} writes it, so a value that changed never "
                                                "comes back",
                                                ir::name_of(w.atomics.front()))};
      return snapshot("several kinds of atomics write it, or one that can undo a change");
    }
    if (w.stores > 1 || !w.atomics.empty()) return snapshot("more than one statement writes it");
    if (w.store_in_loop && !mutated(Mutation::TrackStoreInLoop))
      return snapshot("it is stored in a loop, so a value may change and change back");
    if (checked_) return snapshot("checked mode reports accesses of the source only");
    if (!loads_all_bits(d_.p[buffer].element)) return snapshot("its type has bits a load hides");
    if (!injective(w.store_index, 0)) return snapshot("several lanes might store to one element");
    return {buffer, FixpointMode::TrackedStore, "one store, each lane at its own element"};
  }

  void collect(StmtId id, BufferId buffer, bool in_loop, Writes& w) {
    const Memory target = Memory::of(buffer);
    const Stmt& s = d_.p[id];
    for_each_operand(d_.p, s, [&](ExprId top) {
      for_each_expr(d_.p, top, [&](ExprId e) {
        const auto* atomic = std::get_if<Atomic>(&d_.p[e]);
        if (atomic != nullptr && atomic->memory == target && atomic->op != AtomicOp::Load)
          w.atomics.push_back(atomic->op);
      });
    });
    if (const auto* store = std::get_if<Store>(&s); store != nullptr && store->memory == target) {
      ++w.stores;
      w.store_in_loop |= in_loop;
      w.store_index = store->index;
    }
    if (const auto* copy = std::get_if<AsyncCopy>(&s)) w.others |= copy->dst == target;
    if (const auto* collective = std::get_if<Collective>(&s))
      w.others |= collective->dst == target || collective->src == target;
    if (const auto* swap = std::get_if<Swap>(&s);
        swap != nullptr && !mutated(Mutation::TrackDespiteSwap))
      w.others |= swap->a == target || swap->b == target;
    const bool loop = std::holds_alternative<For>(s) || std::holds_alternative<While>(s) ||
                      std::holds_alternative<Fixpoint>(s);
    for_each_block(s, [&](Block b) {
      for (const StmtId inner : d_.p.items(b)) collect(inner, buffer, in_loop || loop, w);
    });
  }

  // Different lanes, different values: gid.x, moved by something all lanes share.
  [[nodiscard]] bool injective(ExprId id, int depth) const {
    if (depth > 16 || d_.c.workgroup_axes != 1) return false;
    const auto again = [&](ExprId e) { return injective(e, depth + 1); };
    const auto fixed = [&](ExprId e) {
      return is_stable(d_, e) && d_.level_of(e) == Level::Grid &&
             !std::holds_alternative<LocalRef>(d_.p[e]);
    };
    const Expr& e = d_.p[id];
    if (const auto* b = std::get_if<BuiltinRef>(&e))
      return b->builtin == Builtin::Gid && b->axis == 0;
    if (const auto* l = std::get_if<LocalRef>(&e)) {
      const ExprId value = values_[l->local.index()];
      return value.valid() && again(value);
    }
    if (const auto* cast = std::get_if<Cast>(&e))
      return is_integer(cast->type) && is_integer(d_.type_of(cast->operand)) &&
             again(cast->operand);
    if (const auto* b = std::get_if<Binary>(&e))
      return (b->op == BinaryOp::Add || b->op == BinaryOp::Xor || b->op == BinaryOp::Sub) &&
             ((again(b->left) && fixed(b->right)) || (fixed(b->left) && again(b->right)));
    return false;
  }

  Draft& d_;
  bool checked_;
  std::vector<ExprId> values_;  // by LocalId: what an immutable local is
};

class Tracker : private Hoister {
 public:
  Tracker(Draft& d, const MarkChanged& mark) : Hoister(d), mark_(mark) {}

  void run() {
    StmtList body;
    block(d_.p.body, body);
    d_.p.body = d_.block(body);
  }

 private:
  // Fixpoints around the current statement that notice changes of the buffer in this mode.
  [[nodiscard]] std::vector<uint32_t> marks(Memory m, FixpointMode mode) const {
    std::vector<uint32_t> rows;
    if (m.kind != Memory::Kind::Buffer) return rows;
    for (const uint32_t row : around_)
      for (const FixpointBuffer& b : d_.fixpoints[row].buffers)
        if (b.buffer == m.buffer() && b.mode == mode) {
          rows.push_back(row);
          break;
        }
    return rows;
  }

  [[nodiscard]] bool chosen(ExprId id) const override {
    const auto* atomic = std::get_if<Atomic>(&d_.p[id]);
    return atomic != nullptr && atomic->op != AtomicOp::Load &&
           !marks(atomic->memory, FixpointMode::Tracked).empty();
  }

  ExprId take(ExprId id, StmtList& out) override {
    auto atomic = std::get<Atomic>(d_.p[id]);
    const int32_t proof = d_.c.expr_proofs[id.index()];
    const Type type = d_.type_of(atomic.args[0]);
    const Type index_type = d_.type_of(atomic.index);
    const LocalId index = d_.capture(atomic.index, "at", d_.level_of(atomic.index), out);
    const ExprId operand = within(d_.element_of(atomic.memory), atomic.args[0]);
    const LocalId value = d_.capture(operand, "with", d_.level_of(operand), out);
    atomic.index = d_.ref(index);
    atomic.args[0] = d_.ref(value);
    const ExprId access = d_.expr(atomic, type, d_.p.loc(id));
    d_.c.expr_proofs[access.index()] = proof;
    const LocalId old = d_.capture(access, "old", Level::Lane, out);
    ExprId after;
    switch (atomic.op) {
      case AtomicOp::Max:
      case AtomicOp::Min: {
        IntrinsicCall call;
        call.op = atomic.op == AtomicOp::Max ? Intrinsic::Max : Intrinsic::Min;
        call.args[0] = d_.ref(old);
        call.args[1] = d_.ref(value);
        after = d_.expr(call, type);
        break;
      }
      case AtomicOp::Or: after = d_.binary(BinaryOp::Or, d_.ref(old), d_.ref(value)); break;
      default: after = d_.binary(BinaryOp::And, d_.ref(old), d_.ref(value)); break;
    }
    ExprId changed = d_.binary(BinaryOp::Ne, after, d_.ref(old));
    if (mutated(Mutation::TrackEveryWrite)) changed = d_.boolean(true);
    if (proof < 0) {
      // Out of bounds the access did nothing, whatever `old` says.
      const bool wide = bits_of(index_type) == 64;
      const Type bound = wide ? Type::U64 : Type::U32;
      ExprId inside = d_.binary(BinaryOp::Lt, d_.cast(bound, d_.ref(index)),
                                d_.cast(bound, d_.length(atomic.memory)));
      if (is_signed(index_type) && !wide)
        inside = d_.binary(BinaryOp::LogicalAnd,
                           d_.binary(BinaryOp::Ge, d_.ref(index), d_.zero(index_type)), inside);
      if (!mutated(Mutation::TrackOutOfBounds))
        changed = d_.binary(BinaryOp::LogicalAnd, inside, changed);
    }
    mark_changed(changed, marks(atomic.memory, FixpointMode::Tracked), out);
    return d_.ref(old);
  }

  // The value as an element holds it: of 8 or 16 bits, widened again.
  ExprId within(Type element, ExprId value) {
    if (bits_of(element) >= 32) return value;
    if (!is_signed(widened(element)))
      return d_.binary(BinaryOp::And, value, d_.number((uint64_t{1} << bits_of(element)) - 1));
    const uint32_t unused = 32 - bits_of(element);
    return d_.binary(BinaryOp::Shr, d_.binary(BinaryOp::Shl, value, d_.number(unused)),
                     d_.number(unused));
  }

  void mark_changed(ExprId changed, const std::vector<uint32_t>& rows, StmtList& out) {
    StmtList marks;
    for (const uint32_t row : rows) marks.push_back(mark_(d_, row));
    if (mutated(Mutation::TrackInnermostOnly)) marks = {marks.back()};
    out.push_back(d_.when(changed, marks));
  }

  void block(Block b, StmtList& out) {
    const auto items = d_.p.items(b);
    const StmtList given(items.begin(), items.end());
    for (const StmtId id : given) statement(id, out);
  }

  void statement(StmtId id, StmtList& out) {
    const Stmt s = d_.p[id];
    const bool fixpoint = std::holds_alternative<Fixpoint>(s);
    if (fixpoint) around_.push_back(d_.fixpoint_rows.at(id.value));
    StmtId own = id;
    std::vector<StmtList> blocks;
    for_each_block(s, [&](Block b) { block(b, blocks.emplace_back()); });
    if (!blocks.empty()) own = d_.with_blocks(id, blocks);
    if (fixpoint) around_.pop_back();
    const auto* store = std::get_if<Store>(&s);
    if (store == nullptr || marks(store->memory, FixpointMode::TrackedStore).empty()) {
      hoist_statement(own, out);
      return;
    }
    const ExprId index_value = hoist(store->index, out);
    const LocalId index = d_.capture(index_value, "at", d_.level_of(index_value), out);
    const LocalId old = d_.capture(d_.load(store->memory, d_.ref(index)), "old", Level::Lane, out);
    const ExprId value = hoist(store->value, out);
    const StmtId plain = d_.with_operands(id, {d_.ref(index), value});
    out.push_back(plain);
    const ExprId changed = d_.binary(
        BinaryOp::Ne, as_bits(d_, d_.load(store->memory, d_.ref(index))), as_bits(d_, d_.ref(old)));
    mark_changed(changed, marks(store->memory, FixpointMode::TrackedStore), out);
  }

  const MarkChanged& mark_;
  std::vector<uint32_t> around_;
};

}  // namespace

// A fixpoint that may be asked for 0 passes stops all lanes before it starts.
Draft guard_zero_passes(Draft d) {
  const auto guard = [&](const auto& self, Block block) -> StmtList {
    const auto given = d.p.items(block);
    StmtList out;
    for (const StmtId id : StmtList(given.begin(), given.end())) {
      const Stmt s = d.p[id];
      StmtId own = d.map_blocks(id, [&](Block b) { return self(self, b); });
      if (const auto* fixpoint = std::get_if<Fixpoint>(&s)) {
        const auto constant = check::evaluate_constant(d.c, fixpoint->max_passes);
        if (!constant || constant->bits == 0) {
          if (!d.zero_passes_tag) d.zero_passes_tag = d.fresh_tag();
          const LocalId most = d.capture(fixpoint->max_passes, "most", Level::Grid, out);
          const StmtId trap =
              d.stmt(Trap{*d.zero_passes_tag, d.number(0)}, d.p.loc(id), Level::Grid);
          out.push_back(d.when(d.binary(BinaryOp::Eq, d.ref(most), d.number(0)), {trap}));
          own = d.with_operands(own, {d.ref(most)});
        }
      }
      out.push_back(own);
    }
    return out;
  };
  d.p.body = d.block(guard(guard, d.p.body));
  return d;
}

Draft find_fixpoint_modes(Draft d, bool checked) {
  ModeFinder(d, checked).run();
  return d;
}

Draft track_writes(Draft d, const MarkChanged& mark) {
  Tracker(d, mark).run();
  return d;
}

}  // namespace vyre::plan
