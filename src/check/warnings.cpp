// SPDX-License-Identifier: Apache-2.0
// Warnings about a program that is otherwise valid: things that are never used, statements that are
// never reached, loops that wait for another lane. A name that starts with an underscore is meant
// to be unused.
#include <algorithm>
#include <unordered_set>

#include <fmt/core.h>

#include "check/constants.hpp"
#include "check/flow.hpp"
#include "ir/properties.hpp"

namespace vyre::check {

using namespace ir;

namespace {

class Uses {
 public:
  explicit Uses(State& s)
      : s_(s),
        p_(s.p),
        locals_(p_.locals.size()),
        consts_(p_.consts.size()),
        buffers_(p_.buffers.size()),
        fns_(p_.fns.size()) {}

  void run() {
    for_each_header_expr(p_, [&](ExprId id) { expr(id); });
    for (const Fn& fn : p_.fns) block(fn.body);
    block(p_.body);
    for (uint32_t i = 0; i < p_.locals.size(); ++i)
      if (declared_.contains(i) && !locals_[i])
        unused(LocalId{i}, p_.locals[i].name,
               p_.locals[i].kind == Local::Kind::Var ? "assigned but never read" : "never used");
    for (uint32_t i = 0; i < p_.consts.size(); ++i)
      if (!consts_[i]) unused(ConstId{i}, p_.consts[i].name, "never used");
    for (uint32_t i = 0; i < p_.buffers.size(); ++i)
      if (!buffers_[i]) unused(BufferId{i}, p_.buffers[i].name, "never used");
    for (uint32_t i = 0; i < p_.fns.size(); ++i)
      if (!fns_[i]) unused(FnId{i}, p_.fns[i].name, "never called");
  }

 private:
  template <class AnyId>
  void unused(AnyId id, const std::string& name, std::string_view how) {
    if (name.starts_with('_')) return;
    // What an expansion declares is not what anybody wrote: a field, or a name in one of many
    // instances.
    if (const LocId where = p_.loc(id);
        where.valid() && p_.positions.locs[where.index()].inlined_at.valid())
      return;
    s_.report(Code::Unused, id, fmt::format("`{}` is {}", name, how),
              fmt::format("remove it, or call it `_{}` if that is meant", name));
  }

  void memory(Memory m) {
    if (!m.valid()) return;
    switch (m.kind) {
      case Memory::Kind::Buffer: buffers_[m.index] = true; return;
      case Memory::Kind::Table: consts_[m.index] = true; return;
      case Memory::Kind::Local: locals_[m.index] = true; return;
    }
  }

  void expr(ExprId id) {
    const Expr& e = p_[id];
    if (const auto* ref = std::get_if<LocalRef>(&e))
      locals_[ref->local.index()] = true;
    else if (const auto* ref_const = std::get_if<ConstRef>(&e))
      consts_[ref_const->constant.index()] = true;
    else if (const auto* call = std::get_if<Call>(&e))
      fns_[call->fn.index()] = true;
    for_each_memory(p_, e, [&](const MemoryUse& use) { memory(use.memory); });
    for_each_operand(p_, e, [&](ExprId child) { expr(child); });
  }

  void array_length(const Local& array) {
    if (array.count.valid()) expr(array.count);
    for (const ExprId length : p_.values(array.axes)) expr(length);
    for (const ExprId value : p_.values(array.values)) expr(value);
  }

  void block(Block b) {
    for (StmtId id : p_.items(b)) {
      const Stmt& st = p_[id];
      for_each_operand(p_, st, [&](ExprId child) { expr(child); });
      for_each_local(st, [&](LocalId local, LocalAccess access) {
        if (access == LocalAccess::Declare) declared_.insert(local.value);
      });
      if (const auto* array = std::get_if<DeclareArray>(&st)) array_length(p_[array->local]);
      for_each_memory(p_, st, [&](const MemoryUse& use) {
        // A store alone does not make use of a private array.
        const LocalId local = use.memory.local();
        if (!local.valid() || p_[local].kind == Local::Kind::BufferParam) memory(use.memory);
      });
      for_each_block(st, [&](Block inner) { block(inner); });
    }
  }

  State& s_;
  const Program& p_;
  std::vector<bool> locals_, consts_, buffers_, fns_;
  std::unordered_set<uint32_t>
      declared_;  // by a statement: parameters and loop variables may go unused
};

class Flow {
 public:
  explicit Flow(State& s) : s_(s), p_(s.p) {}

  void run() {
    for (const Fn& fn : p_.fns) block(fn.body);
    block(p_.body);
  }

 private:
  void block(Block b) {
    bool ended = false;
    bool reported = false;
    for (StmtId id : p_.items(b)) {
      if (std::holds_alternative<Resume>(p_[id])) ended = reported = false;
      if (ended && !reported) {
        reported = true;
        s_.report(Code::Unreachable, id, "no lane can reach this statement",
                  "remove it, or the return, break, continue or trap before it");
      }
      if (const auto* loop = std::get_if<While>(&p_[id])) waits(id, *loop);
      ended = ended || never_falls_through(p_, id);
      for_each_block(p_[id], [&](Block inner) { block(inner); });
    }
  }

  // What a loop does that could end it, apart from its condition.
  struct Body {
    std::unordered_set<uint32_t> assigned;
    std::unordered_set<uint64_t> written;
    bool leaves = false;
    bool barrier = false;
  };
  static uint64_t key(Memory m) { return (static_cast<uint64_t>(m.kind) << 32) | m.index; }

  // A loop whose condition only other lanes can change, without a barrier: they need not make
  // progress meanwhile.
  void waits(StmtId id, const While& st) {
    std::unordered_set<uint64_t> read;
    std::unordered_set<uint32_t> locals;
    std::span<const StmtId> rest = p_.items(st.body);
    condition(st.condition, read, locals);
    // `while true { if c { break; } ... }` waits for c as `while !c { ... }` does.
    if (const If* exit = leading_exit(st)) {
      condition(exit->condition, read, locals);
      rest = rest.subspan(1);
    }
    if (read.empty()) return;
    Body body;
    visit(rest, body);
    if (body.leaves || body.barrier) return;
    if (std::any_of(locals.begin(), locals.end(),
                    [&](uint32_t l) { return body.assigned.contains(l); }))
      return;
    if (std::any_of(read.begin(), read.end(), [&](uint64_t m) { return body.written.contains(m); }))
      return;
    s_.report(
        Code::MayNeverEnd, id,
        "this loop waits for another lane, which may never run while it does",
        "put a barrier in the loop, or let a `fixpoint` repeat the work until nothing changes");
  }

  const If* leading_exit(const While& st) const {
    const auto* always = std::get_if<BoolLiteral>(&p_[st.condition]);
    const auto items = p_.items(st.body);
    if (always == nullptr || !always->value || items.empty()) return nullptr;
    const auto* exit = std::get_if<If>(&p_[items.front()]);
    if (exit == nullptr || !exit->else_block.empty() || exit->then_block.count != 1) return nullptr;
    return std::holds_alternative<Break>(p_[p_.items(exit->then_block).front()]) ? exit : nullptr;
  }

  bool changeable(Memory m) const {
    if (m.kind == Memory::Kind::Table) return false;
    if (m.kind == Memory::Kind::Local) return p_[m.local()].kind == Local::Kind::BufferParam;
    return !is_read_only(p_[m.buffer()].kind);
  }

  void condition(ExprId id, std::unordered_set<uint64_t>& read,
                 std::unordered_set<uint32_t>& locals) {
    const Expr& e = p_[id];
    for_each_local(e, [&](LocalId local, LocalAccess) { locals.insert(local.value); });
    if (const auto* load = std::get_if<Load>(&e); load != nullptr && changeable(load->memory))
      read.insert(key(load->memory));
    if (const auto* atomic = std::get_if<Atomic>(&e)) read.insert(key(atomic->memory));
    for_each_operand(p_, e, [&](ExprId child) { condition(child, read, locals); });
  }

  void effects(ExprId id, Body& body) {
    const Expr& e = p_[id];
    for_each_memory(p_, e, [&](const MemoryUse& use) {
      if (writes(use.access)) body.written.insert(key(use.memory));
    });
    const auto scope = properties_of(e).synchronises;
    body.barrier = body.barrier || (scope && *scope != Scope::Subgroup);
    if (const auto* call = std::get_if<Call>(&e)) {
      body.barrier = body.barrier || s_.fns[call->fn.index()].barrier;
      body.leaves = body.leaves || s_.fns[call->fn.index()].ends_lane;
    }
    for_each_operand(p_, e, [&](ExprId child) { effects(child, body); });
  }

  void visit(std::span<const StmtId> items, Body& body) {
    for (StmtId id : items) {
      const Stmt& st = p_[id];
      for_each_operand(p_, st, [&](ExprId child) { effects(child, body); });
      if (const auto* assign = std::get_if<Assign>(&st)) body.assigned.insert(assign->local.value);
      for_each_memory(p_, st, [&](const MemoryUse& use) {
        if (writes(use.access)) body.written.insert(key(use.memory));
      });
      const StmtProperties row = properties_of(st);
      body.leaves =
          body.leaves || row.exit == Exit::Break || row.may_end_lane || may_stop_at_step(s_, st);
      // A copy alone is no synchronisation point for the loop: its `wait` is one.
      body.barrier = body.barrier || (row.synchronises && !std::holds_alternative<AsyncCopy>(st));
      for_each_block(st, [&](Block inner) { visit(p_.items(inner), body); });
    }
  }

  State& s_;
  const Program& p_;
};

// An input whose elements lanes take one each, in a program that has as many lanes as an output of
// constant length: the grid does not grow with the input.
class DefaultGrid {
 public:
  explicit DefaultGrid(State& s) : s_(s), p_(s.p) {}

  void run() {
    if (Program::axes(p_.over) != 0 || Program::axes(p_.workgroup) != 1) return;
    const auto lanes = constant_lanes();
    if (!lanes) return;
    block(p_.body);
    if (!found_.valid()) return;
    s_.report(
        Code::GridMissesInput, found_,
        fmt::format("the grid has {} lane{} however long `{}` is: without `over`, the longest "
                    "output decides",
                    *lanes, *lanes == 1 ? "" : "s", p_[input_].name),
        fmt::format("add `over len({});`, or `over {};` if that is meant", p_[input_].name,
                    *lanes));
  }

 private:
  std::optional<uint64_t> constant_count(size_t index) const {
    if (const auto& count = s_.facts.buffers[index].constant_count) return *count;
    const ExprId size = p_.buffers[index].size;
    if (!size.valid()) return std::nullopt;
    const auto value = evaluate(p_, s_.facts, size);
    return value ? std::optional(value->bits) : std::nullopt;
  }

  // Of the grid, if outputs of constant length alone decide about it.
  std::optional<uint64_t> constant_lanes() const {
    std::optional<uint64_t> most;
    for (size_t i = 0; i < p_.buffers.size(); ++i) {
      const BufferKind kind = p_.buffers[i].kind;
      if (kind != BufferKind::Out && kind != BufferKind::WriteOnly && kind != BufferKind::InOut)
        continue;
      const auto count = constant_count(i);
      if (!count) return std::nullopt;
      most = std::max(most.value_or(0), *count);
    }
    return most;
  }

  bool is_lane_number(ExprId id) const {
    const Expr& e = p_[id];
    if (const auto* builtin = std::get_if<BuiltinRef>(&e))
      return builtin->builtin == Builtin::Gid && builtin->axis == 0;
    const auto* local = std::get_if<LocalRef>(&e);
    return local != nullptr && lane_numbers_.contains(local->local.value);
  }

  void expr(ExprId id) {
    const auto* load = std::get_if<Load>(&p_[id]);
    if (load != nullptr && !found_.valid() && load->memory.kind == Memory::Kind::Buffer &&
        p_[load->memory.buffer()].kind == BufferKind::In &&
        !s_.facts.buffers[load->memory.index].constant_count && is_lane_number(load->index)) {
      found_ = id;
      input_ = load->memory.buffer();
    }
    for_each_operand(p_, p_[id], [&](ExprId child) { expr(child); });
  }

  void block(Block b) {
    for (const StmtId id : p_.items(b)) {
      const Stmt& st = p_[id];
      for_each_operand(p_, st, [&](ExprId child) { expr(child); });
      if (const auto* let = std::get_if<Let>(&st);
          let != nullptr && p_[let->local].kind == Local::Kind::Let && is_lane_number(let->value))
        lane_numbers_.insert(let->local.value);
      for_each_block(st, [&](Block inner) { block(inner); });
    }
  }

  State& s_;
  const Program& p_;
  std::unordered_set<uint32_t> lane_numbers_;  // `let`s that are gid.x
  ExprId found_;
  BufferId input_;
};

}  // namespace

void warn_default_grid(State& s) {
  DefaultGrid(s).run();
}
void warn_unused(State& s) {
  Uses(s).run();
}
void warn_flow(State& s) {
  Flow(s).run();
}

}  // namespace vyre::check
