// SPDX-License-Identifier: Apache-2.0
// Calls of functions in which lanes synchronise or end are replaced by the body of the function;
// the cut then sees every barrier in the one body of the program.
#include <algorithm>
#include <map>

#include "ir/properties.hpp"
#include "plan/copier.hpp"
#include "plan/exits.hpp"
#include "plan/hoist.hpp"
#include "plan/passes.hpp"

namespace vyre::plan {

using namespace ir;

namespace {

// A copy of a function's body: locals and tags of its own, memories for buffer parameters.
class BodyCopier : public Copier {
 public:
  BodyCopier(Draft& d, std::map<uint32_t, Memory> memories)
      : Copier(d), memories_(std::move(memories)) {}

  LocalId local(LocalId id) override {
    const auto [it, fresh] = locals_.try_emplace(id.value, LocalId{});
    if (fresh) it->second = d_.copy_of(id);
    return it->second;
  }

  // Tags with a resume in this function are its own.
  void own_tags(Block body) {
    for (const StmtId id : d_.p.items(body))
      for_each_stmt(d_.p, id, [&](StmtId s) {
        if (const auto* resume = std::get_if<Resume>(&d_.p[s])) tags_[resume->tag] = kNoTag;
      });
    for (auto& [source, own] : tags_) {
      own = d_.fresh_tag();
      d_.source_tags[static_cast<uint16_t>(own)] = d_.source_tag(source);
    }
  }

 private:
  static constexpr uint32_t kNoTag = ~uint32_t{0};
  Memory memory(Memory m) override {
    const auto it = m.kind == Memory::Kind::Local ? memories_.find(m.index) : memories_.end();
    return it != memories_.end() ? it->second : Copier::memory(m);
  }
  [[nodiscard]] uint16_t tag(uint16_t t) const override {
    const auto it = tags_.find(t);
    return it == tags_.end() ? t : static_cast<uint16_t>(it->second);
  }

  std::map<uint32_t, Memory> memories_;  // by LocalId of a buffer parameter
  std::map<uint32_t, LocalId> locals_;
  std::map<uint16_t, uint32_t> tags_;
};

class ReturnRewriter : public ExitRewriter {
 public:
  ReturnRewriter(Draft& d, LocalId result, Level flow)
      : ExitRewriter(d), result_(result), flow_(flow) {}

  // Statements that declare the flag, if it came to be used.
  StmtList flag_declaration() {
    if (!done_.valid()) return {};
    return {d_.let(done_, d_.boolean(false))};
  }

 private:
  [[nodiscard]] bool is_exit(StmtId id) const override {
    return std::holds_alternative<Return>(d_.p[id]);
  }
  void exit(StmtId id, bool needs_flag, StmtList& out) override {
    const auto s = std::get<Return>(d_.p[id]);
    if (s.value.valid()) out.push_back(d_.assign(result_, s.value));
    if (needs_flag) out.push_back(d_.assign(done(), d_.boolean(true)));
  }
  ExprId going_on() override { return d_.negate(d_.ref(done())); }

  LocalId done() {
    if (!done_.valid()) done_ = d_.local(Local::Kind::Var, "returned", Type::Bool, flow_);
    return done_;
  }

  LocalId result_;
  Level flow_;
  LocalId done_;
};

class Inliner : private Hoister {
 public:
  Inliner(Draft& d, const Inlined& also)
      : Hoister(d),
        needed_(d.p.fns.size()),
        effects_(also.effects),
        ids_(also.ids),
        only_axes_(also.only_axes) {
    for (uint32_t i = 0; i < d.p.fns.size(); ++i) needs_inlining(FnId{i});
  }

  void run() {
    collect_unconditional_collectives(d_.p.body);
    StmtList body;
    block(d_.p.body, body);
    d_.p.body = d_.block(body);
  }

 private:
  enum class Need : uint8_t { Unknown, No, Yes };

  bool needs_inlining(FnId fn) {
    Need& need = needed_[fn.index()];
    if (need != Need::Unknown) return need == Need::Yes;
    // The axes are those of what is passed.
    bool yes = std::ranges::any_of(d_.p.params(d_.p[fn].params),
                                   [&](LocalId param) { return d_.p[param].rank > 1; });
    const auto synchronises = [&](std::optional<Scope> scope) {
      return !only_axes_ && scope && (effects_ || *scope != Scope::Subgroup);
    };
    const auto touch = [&](const MemoryUse& use) {
      yes |= effects_ && (use.atomic || (writes(use.access) && is_outer(use.memory)));
    };
    const auto visit = [&](ExprId id) {
      const Expr& e = d_.p[id];
      if (const auto* builtin = std::get_if<BuiltinRef>(&e))
        yes |= !only_axes_ && (ids_ || is_call(builtin->builtin));
      yes |= synchronises(properties_of(e).synchronises);
      if (const auto* call = std::get_if<Call>(&e))
        yes |= needs_inlining(call->fn);
      else
        for_each_memory(d_.p, e, touch);
    };
    for (const StmtId id : d_.p.items(d_.p[fn].body)) {
      for_each_stmt(d_.p, id, [&](StmtId s) {
        const StmtProperties row = properties_of(d_.p[s]);
        // Prints and asserts use hidden memory, which no function sees.
        yes |= synchronises(row.synchronises) ||
               (!only_axes_ && (row.exit == Exit::Trap || std::holds_alternative<Print>(d_.p[s]) ||
                                std::holds_alternative<Assert>(d_.p[s])));
        for_each_memory(d_.p, d_.p[s], touch);
      });
      for_each_expr_below(d_.p, id, visit);
    }
    need = yes ? Need::Yes : Need::No;
    return yes;
  }

  // Memory that others can see: not a private array.
  [[nodiscard]] bool is_outer(Memory m) const {
    return m.kind != Memory::Kind::Local || d_.p[m.local()].kind == Local::Kind::BufferParam;
  }

  void collect_unconditional_collectives(Block b) {
    for (const StmtId id : d_.p.items(b)) {
      const Stmt& s = d_.p[id];
      if (std::holds_alternative<Collective>(s)) d_.unconditional_collectives.insert(id.value);
      if (const auto* nested = std::get_if<Nested>(&s))
        collect_unconditional_collectives(nested->body);
      if (const auto* region = std::get_if<Region>(&s))
        collect_unconditional_collectives(region->body);
    }
  }

  void block(Block b, StmtList& out) {
    const auto items = d_.p.items(b);
    const StmtList given(items.begin(), items.end());
    for (const StmtId id : given) statement(id, out);
  }

  [[nodiscard]] bool calls_below(StmtId id) const {
    return any_expr_below(d_.p, id, [&](ExprId e) { return chosen(e); });
  }

  void statement(StmtId id, StmtList& out) {
    if (!calls_below(id)) {
      out.push_back(id);
      return;
    }
    const StmtId own = d_.map_blocks(id, [&](Block b) {
      StmtList list;
      block(b, list);
      return list;
    });
    hoist_statement(own, out);
  }

  [[nodiscard]] bool chosen(ExprId id) const override {
    const auto* call = std::get_if<Call>(&d_.p[id]);
    return call != nullptr && needed_[call->fn.index()] == Need::Yes;
  }

  ExprId take(ExprId id, StmtList& out) override {
    const auto call = std::get<Call>(d_.p[id]);
    const Fn fn = d_.p[call.fn];
    const auto given = d_.p.arguments(call.args);
    const std::vector<Arg> args(given.begin(), given.end());
    const auto param_span = d_.p.params(fn.params);
    const std::vector<LocalId> params(param_span.begin(), param_span.end());
    std::map<uint32_t, Memory> memories;
    for (size_t i = 0; i < params.size(); ++i)
      if (const Memory* m = std::get_if<Memory>(&args[i])) memories[params[i].value] = *m;
    BodyCopier copier(d_, std::move(memories));
    copier.own_tags(fn.body);
    for (size_t i = 0; i < params.size(); ++i)
      if (const ExprId* value = std::get_if<ExprId>(&args[i]))
        out.push_back(
            d_.stmt(Let{copier.local(params[i]), *value}, d_.p.loc(id), d_.level_of(params[i])));
    Level flow = Level::Grid;
    for (const StmtId item : d_.p.items(fn.body))
      for_each_stmt(d_.p, item, [&](StmtId s) {
        if (std::holds_alternative<Return>(d_.p[s]))
          flow = std::max(flow, d_.c.flow_levels[s.index()]);
      });
    LocalId result;
    if (fn.result) {
      result = d_.local(Local::Kind::Var, fn.name, *fn.result, d_.level_of(call));
      out.push_back(d_.let(result, d_.zero(*fn.result)));
    }
    const StmtList body = copier.block(fn.body);
    ReturnRewriter returns(d_, result, flow);
    const StmtList straight = returns.rewrite(body, true, false);
    for (const StmtId flag : returns.flag_declaration()) out.push_back(flag);
    for (const StmtId item : straight) statement(item, out);
    return result.valid() ? d_.ref(result) : ExprId{};
  }

  std::vector<Need> needed_;
  bool effects_;
  bool ids_;
  bool only_axes_;
};

}  // namespace

Draft inline_calls(Draft d, const Inlined& also) {
  Inliner(d, also).run();
  return d;
}

}  // namespace vyre::plan
