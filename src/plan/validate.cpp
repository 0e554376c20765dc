// SPDX-License-Identifier: Apache-2.0
#include "plan/validate.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "base/match.hpp"
#include "ir/properties.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

std::span<const StmtId> body_of(const Lowering& l) {
  return l.d.p.items(l.d.p.body);
}

std::string at_line(const Draft& d, StmtId id) {
  const Position at = d.p.position_of(id);
  return at.line == 0 ? std::string() : fmt::format(" (line {})", at.line);
}

// visit(StmtId) gives what is broken at a statement, or nothing; the first counts.
std::string first_stmt(const Draft& d, std::span<const StmtId> items, auto&& visit) {
  std::string broken;
  for (const StmtId id : items) {
    if (!broken.empty()) break;
    for_each_stmt(d.p, id, [&](StmtId s) {
      if (broken.empty()) broken = visit(s);
    });
  }
  return broken;
}
std::string first_expr(const Draft& d, std::span<const StmtId> items, auto&& visit) {
  return first_stmt(d, items, [&](StmtId s) {
    std::string broken;
    for_each_operand(d.p, d.p[s], [&](ExprId top) {
      for_each_expr(d.p, top, [&](ExprId e) {
        if (broken.empty()) broken = visit(e);
      });
    });
    return broken.empty() ? broken : broken + at_line(d, s);
  });
}

std::string missing_facts(const Draft& d) {
  const check::CheckedProgram& c = d.c;
  const Program& p = d.p;
  if (c.expr_types.size() != p.exprs.size() || c.expr_proofs.size() != p.exprs.size() ||
      c.axis_proofs.size() != p.exprs.size())
    return "an expression has no type or no bounds proof";
  if (c.flow_levels.size() != p.stmts.size() || c.stmt_proofs.size() != p.stmts.size())
    return "a statement has no level or no bounds proof";
  if (c.local_types.size() != p.locals.size() || c.local_levels.size() != p.locals.size() ||
      c.array_counts.size() != p.locals.size() || d.source_names.size() != p.locals.size())
    return "a local has no type, level, count or name in the source";
  if (c.buffers.size() != p.buffers.size() || d.arguments.size() != p.buffers.size())
    return "a buffer has no facts or stands for nothing";
  std::unordered_set<std::string_view> names;
  for (const Local& local : p.locals)
    if (!names.insert(local.name).second)
      return fmt::format("two locals are called `{}`", local.name);
  return {};
}

// The statement's own node, not what is below it.
std::string broken_declaration(const Draft& d, StmtId id, std::vector<bool>& declared) {
  std::string broken;
  for_each_local(d.p[id], [&](LocalId local, LocalAccess access) {
    if (access != LocalAccess::Declare && access != LocalAccess::Iterate) return;
    if (declared[local.index()])
      broken = fmt::format("`{}` is declared twice{}", d.p[local].name, at_line(d, id));
    declared[local.index()] = true;
  });
  return broken;
}

}  // namespace

namespace invariant {

// ---- of the program

std::string well_formed(const Lowering& l) {
  const Draft& d = l.d;
  if (std::string broken = missing_facts(d); !broken.empty()) return broken;
  std::vector<bool> used(d.p.exprs.size());
  std::vector<bool> declared(d.p.locals.size());
  return first_stmt(d, body_of(l), [&](StmtId s) {
    std::string broken = broken_declaration(d, s, declared);
    for_each_operand(d.p, d.p[s], [&](ExprId top) {
      for_each_expr(d.p, top, [&](ExprId e) {
        if (used[e.index()]) broken = "an expression has two uses" + at_line(d, s);
        // What an Eval drops may have no value: a call, an atomic store.
        if (!d.c.expr_types[e.index()] && !(e == top && std::holds_alternative<Eval>(d.p[s])))
          broken = "an expression has no type" + at_line(d, s);
        used[e.index()] = true;
      });
    });
    return broken;
  });
}

namespace {

class CalledFunctions {
 public:
  explicit CalledFunctions(const Draft& d) : d_(d), seen_(d.p.fns.size()) {}

  std::string run(std::span<const StmtId> items) {
    return first_expr(d_, items, [&](ExprId e) { return called(e); });
  }

 private:
  std::string called(ExprId e) {
    const auto* call = std::get_if<Call>(&d_.p[e]);
    if (call == nullptr || seen_[call->fn.index()]) return {};
    seen_[call->fn.index()] = true;
    const auto body = d_.p.items(d_.p[call->fn].body);
    std::string what = first_stmt(d_, body, [&](StmtId s) {
      const StmtProperties row = properties_of(d_.p[s]);
      return std::string(more_than_subgroup(row.synchronises) || row.exit == Exit::Trap
                             ? "synchronises or stops lanes"
                             : "");
    });
    if (what.empty())
      what = first_expr(d_, body, [&](ExprId inner) {
        const auto* builtin = std::get_if<BuiltinRef>(&d_.p[inner]);
        if (more_than_subgroup(properties_of(d_.p[inner]).synchronises))
          return std::string("synchronises");
        return std::string(builtin != nullptr && is_call(builtin->builtin)
                               ? "reads the result of a fixpoint"
                               : "");
      });
    if (!what.empty())
      return fmt::format("the function `{}`, which is called, {}", d_.p[call->fn].name, what);
    return run(body);
  }
  static bool more_than_subgroup(std::optional<Scope> scope) {
    return scope && *scope != Scope::Subgroup;
  }

  const Draft& d_;
  std::vector<bool> seen_;
};

}  // namespace

std::string axes_lowered(const Lowering& l) {
  return first_expr(l.d, body_of(l), [&](ExprId e) {
    const auto* at = std::get_if<AxisIndex>(&l.d.p[e]);
    if (std::holds_alternative<AxisLen>(l.d.p[e]))
      return std::string("the length of an axis is left");
    return std::string(at != nullptr && at->lengths.count != at->indices.count
                           ? "an index by axes has no lengths"
                           : "");
  });
}

std::string barriers_in_the_body(const Lowering& l) {
  return CalledFunctions(l.d).run(body_of(l));
}

std::string prints_lowered(const Lowering& l) {
  return first_stmt(l.d, body_of(l), [&](StmtId s) {
    return std::holds_alternative<Print>(l.d.p[s]) || std::holds_alternative<Assert>(l.d.p[s])
               ? "a print or an assert is left" + at_line(l.d, s)
               : std::string();
  });
}

std::string zero_passes_guarded(const Lowering& l) {
  return first_stmt(l.d, body_of(l), [&](StmtId s) {
    const auto* fixpoint = std::get_if<Fixpoint>(&l.d.p[s]);
    if (fixpoint == nullptr || std::holds_alternative<LocalRef>(l.d.p[fixpoint->max_passes]))
      return std::string();
    const auto most = check::evaluate_constant(l.d.c, fixpoint->max_passes);
    return most && most->bits != 0 ? std::string()
                                   : "a fixpoint may be entered for 0 passes" + at_line(l.d, s);
  });
}

std::string fixpoints_have_modes(const Lowering& l) {
  return first_stmt(l.d, body_of(l), [&](StmtId s) {
    const auto* fixpoint = std::get_if<Fixpoint>(&l.d.p[s]);
    if (fixpoint == nullptr) return std::string();
    const auto row = l.d.fixpoint_rows.find(s.value);
    const bool known =
        row != l.d.fixpoint_rows.end() && row->second < l.d.fixpoints.size() &&
        l.d.fixpoints[row->second].buffers.size() == l.d.p.memories(fixpoint->buffers).size();
    return known ? std::string() : "a fixpoint has no modes for its buffers" + at_line(l.d, s);
  });
}

std::string control_declared(const Lowering& l) {
  const bool known =
      l.control.valid() && l.d.arguments[l.control.index()].kind == Argument::Kind::Hidden &&
      l.d.hidden[l.d.arguments[l.control.index()].index].kind == Hidden::Kind::Control;
  return known ? "" : "the control words are no hidden buffer";
}

std::string votes_declared(const Lowering& l) {
  if (!l.native || !l.native->votes.valid()) return "votes of the grid have no words";
  if (l.native->rounds.size() != l.d.fixpoints.size() ||
      l.native->inside.size() != l.d.fixpoints.size())
    return "a fixpoint has no local for the round of its votes";
  return {};
}

std::string effects_separated(const Lowering& l) {
  const Draft& d = l.d;
  return first_stmt(d, body_of(l), [&](StmtId s) {
    const auto* let = std::get_if<Let>(&d.p[s]);
    std::string broken;
    for_each_operand(d.p, d.p[s], [&](ExprId top) {
      for_each_expr(d.p, top, [&](ExprId e) {
        if (std::holds_alternative<UniformLoad>(d.p[e]) && (let == nullptr || let->value != e))
          broken = "a load with barriers is part of a larger value" + at_line(d, s);
        if (!std::holds_alternative<Call>(d.p[e])) return;
        for_each_operand(d.p, d.p[e], [&](ExprId argument) {
          for_each_expr(d.p, argument, [&](ExprId inner) {
            if (std::holds_alternative<Atomic>(d.p[inner]) ||
                std::holds_alternative<Subgroup>(d.p[inner]))
              broken = "an argument of a call has an effect" + at_line(d, s);
          });
        });
      });
    });
    return broken;
  });
}

namespace {

// Writes to the tracked buffers of the fixpoints around a list of statements.
class TrackedWrites {
 public:
  explicit TrackedWrites(const Draft& d) : d_(d) {}

  std::string list(std::span<const StmtId> items) {
    for (size_t i = 0; i < items.size(); ++i) {
      const bool marked = i + 1 < items.size() && std::holds_alternative<If>(d_.p[items[i + 1]]);
      if (writes(items[i]) && !marked)
        return "a write to a tracked buffer of a fixpoint is not marked" + at_line(d_, items[i]);
      if (std::string broken = inside(items[i]); !broken.empty()) return broken;
    }
    return {};
  }

 private:
  std::string inside(StmtId id) {
    const auto row = d_.fixpoint_rows.find(id.value);
    const bool fixpoint = std::holds_alternative<Fixpoint>(d_.p[id]);
    if (fixpoint && row != d_.fixpoint_rows.end()) around_.push_back(row->second);
    std::string broken;
    for_each_block(d_.p[id], [&](Block b) {
      if (broken.empty()) broken = list(d_.p.items(b));
    });
    if (fixpoint && row != d_.fixpoint_rows.end()) around_.pop_back();
    return broken;
  }
  [[nodiscard]] bool writes(StmtId id) const {
    bool found = false;
    const auto visit = [&](const MemoryUse& use) {
      found = found || (ir::writes(use.access) && tracks(use.memory));
    };
    for_each_memory(d_.p, d_.p[id], visit);
    for_each_operand(d_.p, d_.p[id], [&](ExprId top) {
      for_each_expr(d_.p, top, [&](ExprId e) {
        if (std::holds_alternative<Atomic>(d_.p[e])) for_each_memory(d_.p, d_.p[e], visit);
      });
    });
    return found && !std::holds_alternative<Fixpoint>(d_.p[id]);
  }
  [[nodiscard]] bool tracks(Memory m) const {
    return m.kind == Memory::Kind::Buffer && std::ranges::any_of(around_, [&](uint32_t row) {
             return std::ranges::any_of(d_.fixpoints[row].buffers, [&](const FixpointBuffer& b) {
               return b.buffer == m.buffer() && b.mode != FixpointMode::Snapshot;
             });
           });
  }

  const Draft& d_;
  std::vector<uint32_t> around_;
};

// Statements around cuts, in the form that the cut needs.
class NormalForm {
 public:
  NormalForm(const Draft& d, const CutPoints& cuts) : d_(d), cuts_(cuts) {}

  std::string list(std::span<const StmtId> items, bool in_loop) const {
    for (const StmtId id : items) {
      if (in_loop && jumps(id)) return "a jump crosses a cut" + at_line(d_, id);
      if (!cuts_.below(d_, id)) continue;
      if (std::string broken = around(id, in_loop); !broken.empty()) return broken;
    }
    return {};
  }

 private:
  [[nodiscard]] std::string around(StmtId id, bool in_loop) const {
    const Stmt& s = d_.p[id];
    if (const auto* branch = std::get_if<If>(&s)) {
      if (!is_word(id, branch->condition))
        return "an `if` around a cut decides on no local" + at_line(d_, id);
      std::string broken = list(d_.p.items(branch->then_block), in_loop);
      return broken.empty() ? list(d_.p.items(branch->else_block), in_loop) : broken;
    }
    if (const auto* loop = std::get_if<While>(&s)) {
      const auto form = d_.loop_forms.find(id.value);
      const auto items = d_.p.items(loop->body);
      if (form == d_.loop_forms.end() || form->second.condition_items >= items.size())
        return "a loop around a cut has no word that says whether it goes on" + at_line(d_, id);
      std::string broken = list(items.first(form->second.condition_items), true);
      return broken.empty() ? list(items.subspan(form->second.condition_items + 1), true) : broken;
    }
    if (const auto* fixpoint = std::get_if<Fixpoint>(&s)) {
      if (!d_.branch_words.contains(id.value) &&
          !check::evaluate_constant(d_.c, fixpoint->max_passes))
        return "a fixpoint around a cut has no word for its passes" + at_line(d_, id);
      return list(d_.p.items(fixpoint->body), false);
    }
    if (std::holds_alternative<For>(s)) return "a `for` is left around a cut" + at_line(d_, id);
    std::string broken;
    for_each_block(s, [&](Block b) {
      if (broken.empty()) broken = list(d_.p.items(b), in_loop);
    });
    const auto* let = std::get_if<Let>(&s);
    for_each_operand(d_.p, s, [&](ExprId top) {
      for_each_expr(d_.p, top, [&](ExprId e) {
        if (cuts_.is_cut(d_, e) && (let == nullptr || let->value != e))
          broken = "a load with barriers is part of a larger value" + at_line(d_, id);
      });
    });
    return broken;
  }
  [[nodiscard]] bool is_word(StmtId id, ExprId condition) const {
    const auto word = d_.branch_words.find(id.value);
    const auto* ref = std::get_if<LocalRef>(&d_.p[condition]);
    return word != d_.branch_words.end() && ref != nullptr && ref->local == word->second;
  }
  [[nodiscard]] bool jumps(StmtId id) const {
    const StmtProperties row = properties_of(d_.p[id]);
    if (row.exit == Exit::Break || row.exit == Exit::Continue) return true;
    if (row.is_loop) return false;
    bool found = false;
    for_each_block(d_.p[id], [&](Block b) {
      for (const StmtId inner : d_.p.items(b)) found = found || jumps(inner);
    });
    return found;
  }

  const Draft& d_;
  const CutPoints& cuts_;
};

}  // namespace

std::string writes_tracked(const Lowering& l) {
  return TrackedWrites(l.d).list(body_of(l));
}

std::string normal_form(const Lowering& l) {
  return NormalForm(l.d, l.cuts).list(body_of(l), false);
}

}  // namespace invariant

void report_broken(std::string_view pass, const std::string& what) {
  std::fflush(stdout);
  fmt::print(stderr, "vyre: internal bug: after the pass `{}` of the planner, {}\n", pass, what);
  std::fflush(stderr);
  std::abort();
}

}  // namespace vyre::plan
