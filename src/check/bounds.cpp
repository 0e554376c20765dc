// SPDX-License-Identifier: Apache-2.0
// Bounds proofs: walks the program with what comparisons, loop bounds and `require` say about
// numbers, and notes for each access whether its index can leave the memory. A proof only uses
// values that cannot change behind the lane's back: it holds whatever other lanes do.
#include <fmt/core.h>

#include "base/stop.hpp"
#include "check/bounds_numbers.hpp"
#include "check/flow.hpp"
#include "ir/properties.hpp"

namespace vyre::check {

using namespace ir;

namespace {

class Bounds {
 public:
  explicit Bounds(State& s) : s_(s), p_(s.p), numbers_(s) {
    s_.facts.expr_proofs.assign(p_.exprs.size(), -1);
    s_.facts.stmt_proofs.assign(p_.stmts.size(), -1);
    s_.facts.positive_steps.assign(p_.stmts.size(), false);
    s_.facts.axis_proofs.assign(p_.exprs.size(), 0);
  }

  void run() {
    for (const Fn& fn : p_.fns) {
      numbers_.facts.clear();
      block(fn.body);
    }
    numbers_.facts.clear();
    for (const Require& r : p_.require_list) numbers_.assume_on_host(r.condition);
    block(p_.body);
  }

 private:
  struct VersionOf {
    LocalId local;
    uint32_t version;
  };

  // ---- accesses
  std::optional<Wide> fixed_length(Memory m) const {
    switch (m.kind) {
      case Memory::Kind::Table: return p_[m.table()].values.count;
      case Memory::Kind::Buffer:
        if (const auto& count = s_.facts.buffers[m.index].constant_count) return *count;
        return std::nullopt;
      case Memory::Kind::Local:
        if (p_[m.local()].kind == Local::Kind::Array) return s_.facts.array_counts[m.index];
        return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<BoundsProof> prove(Memory m, ExprId index) {
    if (const auto* at = std::get_if<AxisIndex>(&p_[index])) return prove_axes(*at, index);
    const Interval range = numbers_.interval(index);
    if (range.lo < 0) return std::nullopt;
    const auto fixed = fixed_length(m);
    const Symbol length = length_symbol(m);
    const Wide at_least = fixed ? *fixed : numbers_.facts.narrowed(length, {0, UINT32_MAX}).lo;
    if (range.hi < at_least)
      return BoundsProof{
          BoundsProof::Kind::Range,
          fmt::format("the index is {} to {}, and `{}` has {}{} elements",
                      static_cast<int64_t>(range.lo), static_cast<int64_t>(range.hi),
                      name_of(p_, m), fixed ? "" : "at least ", static_cast<int64_t>(at_least))};
    if (fixed) return std::nullopt;
    // What is written as its length is its length.
    const Linear written = numbers_.axis_length(m, 0);
    const bool one = rank_of(p_, m) == 1 && written.symbol != length;
    for (const Upper& upper : numbers_.uppers(index)) {
      std::vector<LocId> because;
      if (one && below(upper, written, because))
        return BoundsProof{BoundsProof::Kind::Compared, reason(m, because)};
      if (numbers_.facts.below(upper.symbol, upper.offset, length, because))
        return BoundsProof{BoundsProof::Kind::Compared, reason(m, because)};
    }
    return std::nullopt;
  }

  bool below(const Upper& upper, const Linear& length, std::vector<LocId>& because) const {
    return length.symbol != kNoSymbol &&
           numbers_.facts.below(upper.symbol, upper.offset - length.offset, length.symbol, because);
  }

  // Each axis by itself: an access inside of all of them is inside of the memory.
  std::optional<BoundsProof> prove_axes(const AxisIndex& at, ExprId id) {
    const auto indices = p_.values(at.indices);
    std::vector<LocId> because;
    uint8_t proved = 0;
    bool ranges = true;
    for (uint32_t axis = 0; axis < indices.size(); ++axis) {
      const Interval range = numbers_.interval(indices[axis]);
      if (range.lo < 0) continue;
      const bool in_range = range.hi < numbers_.axis_interval(at.memory, axis).lo;
      ranges = ranges && in_range;
      if (in_range || compared(at.memory, axis, indices[axis], because))
        proved = static_cast<uint8_t>(proved | 1U << axis);
    }
    s_.facts.axis_proofs[id.index()] = proved;
    if (proved + 1U != 1U << indices.size()) return std::nullopt;
    return BoundsProof{
        ranges ? BoundsProof::Kind::Range : BoundsProof::Kind::Compared,
        with_lines(fmt::format("each index is inside of its axis of `{}`", name_of(p_, at.memory)),
                   because)};
  }

  bool compared(Memory m, uint32_t axis, ExprId index, std::vector<LocId>& because) const {
    const Linear length = numbers_.axis_length(m, axis);
    for (const Upper& upper : numbers_.uppers(index)) {
      std::vector<LocId> places;
      if (!below(upper, length, places)) continue;
      because.insert(because.end(), places.begin(), places.end());
      return true;
    }
    return false;
  }

  std::string reason(Memory m, const std::vector<LocId>& because) const {
    return with_lines(fmt::format("the index is below len({})", name_of(p_, m)), because);
  }

  std::string with_lines(std::string text, const std::vector<LocId>& because) const {
    const char* separator = ": line ";
    uint32_t last = 0;
    for (LocId at : because)
      if (const Position position = p_.position(at); position.known() && position.line != last) {
        last = position.line;
        text += separator + std::to_string(position.line);
        separator = ", line ";
      }
    return text;
  }

  void access(Memory m, ExprId index, int32_t& slot) {
    if (!m.buffer().valid() || !p_[m.buffer()].scalar) ++s_.facts.access_count;
    if (auto proof = prove(m, index)) {
      slot = static_cast<int32_t>(s_.facts.proofs.size());
      s_.facts.proofs.push_back(std::move(*proof));
    }
  }

  // ---- expressions
  void expr(ExprId id) {
    const Expr& e = p_[id];
    if (const auto* binary = std::get_if<Binary>(&e); binary != nullptr && is_lazy(binary->op)) {
      const auto mark = numbers_.facts.mark();
      lazy_chain(id, binary->op);
      numbers_.facts.undo(mark);
      return;
    }
    for_each_operand(p_, e, [&](ExprId child) { expr(child); });
    int32_t& slot = s_.facts.expr_proofs[id.index()];
    for_each_memory(p_, e, [&](const MemoryUse& use) {
      if (use.index.valid()) access(use.memory, use.index, slot);
    });
  }

  // a && b && c: each part is evaluated knowing those before it, which are looked at once.
  void lazy_chain(ExprId id, BinaryOp op) {
    const auto* binary = std::get_if<Binary>(&p_[id]);
    if (binary == nullptr || binary->op != op) return expr(id);
    lazy_chain(binary->left, op);
    const auto* inner = std::get_if<Binary>(&p_[binary->left]);
    const bool chain = inner != nullptr && inner->op == op;
    numbers_.assume(chain ? inner->right : binary->left, op == BinaryOp::LogicalAnd);
    expr(binary->right);
  }

  // ---- statements
  void block(Block b) {
    const auto start = numbers_.facts.mark();
    for (StmtId id : p_.items(b)) {
      poll_stop();
      // Lanes that trapped come back here: they passed none of the comparisons of this block.
      if (std::holds_alternative<Resume>(p_[id])) numbers_.facts.undo(start);
      stmt(id);
    }
    numbers_.facts.undo(start);
  }

  void stmt(StmtId id) {
    const Stmt& st = p_[id];
    if (const auto* branch = std::get_if<If>(&st)) return if_else(*branch);
    if (const auto* loop = std::get_if<For>(&st)) return for_loop(id, *loop);
    if (const auto* loop = std::get_if<While>(&st)) return while_loop(*loop);
    for_each_operand(p_, st, [&](ExprId child) { expr(child); });
    if (const auto* let = std::get_if<Let>(&st))
      numbers_.define(let->local, let->value);
    else if (const auto* assign = std::get_if<Assign>(&st)) {
      if (assign->op)
        numbers_.forget(assign->local);
      else
        numbers_.define(assign->local, assign->value);
    } else if (const auto* store = std::get_if<Store>(&st)) {
      access(store->memory, store->index, s_.facts.stmt_proofs[id.index()]);
    } else if (const auto* fix = std::get_if<Fixpoint>(&st)) {
      forget_assigned(fix->body);
      block(fix->body);
    } else {
      for_each_block(st, [&](Block inner) { block(inner); });
    }
  }

  void if_else(const If& st) {
    expr(st.condition);
    std::vector<VersionOf> versions;
    variables_in(st.condition, versions);
    for (const bool truth : {true, false}) {
      const auto mark = numbers_.facts.mark();
      // A variable that the first branch assigned has another version now; the condition spoke of
      // the old one.
      if (unchanged(versions)) numbers_.assume(st.condition, truth);
      block(truth ? st.then_block : st.else_block);
      numbers_.facts.undo(mark);
    }
    if (!unchanged(versions)) return;
    if (never_falls_through(p_, st.then_block))
      numbers_.assume(st.condition, false);
    else if (never_falls_through(p_, st.else_block))
      numbers_.assume(st.condition, true);
  }

  void for_loop(StmtId id, const For& st) {
    expr(st.first);
    expr(st.last);
    if (st.step.valid()) expr(st.step);
    s_.facts.positive_steps[id.index()] = !st.step.valid() || numbers_.interval(st.step).lo >= 1;
    const auto mark = numbers_.facts.mark();
    // The bounds are evaluated once, so what they say of variables is said before the body changes
    // them.
    numbers_.define_loop_variable(st);
    forget_assigned(st.body);
    block(st.body);
    numbers_.facts.undo(mark);
  }

  void while_loop(const While& st) {
    forget_assigned(st.body);
    expr(st.condition);
    const auto mark = numbers_.facts.mark();
    numbers_.assume(st.condition, true);
    block(st.body);
    numbers_.facts.undo(mark);
  }

  void forget_assigned(Block b) {
    for (StmtId id : p_.items(b)) {
      if (const auto* assign = std::get_if<Assign>(&p_[id])) numbers_.forget(assign->local);
      for_each_block(p_[id], [&](Block inner) { forget_assigned(inner); });
    }
  }

  void variables_in(ExprId id, std::vector<VersionOf>& out) const {
    if (const auto* ref = std::get_if<LocalRef>(&p_[id]);
        ref != nullptr && p_[ref->local].kind == Local::Kind::Var)
      out.push_back({ref->local, numbers_.version(ref->local)});
    for_each_operand(p_, p_[id], [&](ExprId child) { variables_in(child, out); });
  }
  bool unchanged(const std::vector<VersionOf>& versions) const {
    for (const VersionOf& v : versions)
      if (numbers_.version(v.local) != v.version) return false;
    return true;
  }

  State& s_;
  const Program& p_;
  Numbers numbers_;
};

}  // namespace

void find_bounds(State& s) {
  Bounds(s).run();
}

}  // namespace vyre::check
