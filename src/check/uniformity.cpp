// SPDX-License-Identifier: Apache-2.0
// Uniformity: which values are the same over the grid, a workgroup or a subgroup, and whether
// control flow is where a barrier needs it to be.
//
// Everything is a graph. Nodes are locals (one set per call of their function) and stretches of
// control flow; an edge a -> b says that b is at least as divergent as a. Levels spread over the
// edges until nothing changes, each node rising at most three times, and every rise remembers its
// edge, so an error can show the way back to the value that started it. Functions are walked once
// per call: with their arguments' levels and buffers.
#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

#include <fmt/core.h>

#include "base/stop.hpp"
#include "check/level.hpp"
#include "check/state.hpp"
#include "ir/properties.hpp"

namespace vyre::check {

using namespace ir;

std::string_view name_of(Level level) {
  switch (level) {
    case Level::Grid: return "grid";
    case Level::Workgroup: return "workgroup";
    case Level::Subgroup: return "subgroup";
    case Level::Lane: return "lane";
  }
  return "";
}

namespace {

using Node = uint32_t;
constexpr uint32_t kNone = UINT32_MAX;

// Where an influence comes from, for explanations: an expression, or a statement.
struct Origin {
  ExprId expr;
  StmtId stmt;
};

struct Edge {
  Node from;  // kNone: the level below is given by the origin itself
  Node to;
  Level level = Level::Grid;
  Origin origin;
};

struct Requirement {
  Level most;
  Node node;
  Code code;
  std::string what;  // "`barrier grid`"
  Position at;
  uint64_t site;   // statements and expressions, to report each place once
  uint32_t calls;  // into call_chains_: the calls around it
};

struct CallFrame {
  ExprId call;
  uint32_t outer;
};

class Uniformity {
 public:
  explicit Uniformity(State& s) : s_(s), p_(s.p), nodes_of_(p_.locals.size(), kNone) {
    s_.facts.local_levels.assign(p_.locals.size(), Level::Grid);
    s_.facts.flow_levels.assign(p_.stmts.size(), Level::Grid);
  }

  void run() {
    flow_ = new_node();
    block(p_.body);
    // Functions without calls are walked once, as if called from grid-uniform flow with uniform
    // arguments.
    for (uint32_t i = 0; i < p_.fns.size(); ++i)
      if (!called_.contains(i)) {
        result_ = new_node();
        in_fn_ = true;
        for (LocalId param : p_.params(p_.fns[i].params)) fresh(param);
        block(p_.fns[i].body);
        in_fn_ = false;
      }
    spread();
    collect_facts();
    judge();
  }

 private:
  // ---- the graph
  Node new_node() {
    poll_stop();
    levels_.push_back(Level::Grid);
    reason_.push_back(kNone);
    return static_cast<Node>(levels_.size() - 1);
  }
  void edge(Node from, Node to, Origin origin) {
    if (from != to) edges_.push_back({from, to, Level::Grid, origin});
  }
  void raise(Node to, Level level, Origin origin) {
    if (level != Level::Grid) edges_.push_back({kNone, to, level, origin});
  }
  Node joined(Node flow, Origin origin) {
    const Node node = new_node();
    edge(flow, node, origin);
    return node;
  }

  void spread() {
    std::vector<uint32_t> first(levels_.size() + 1);
    for (const Edge& e : edges_)
      if (e.from != kNone) ++first[e.from + 1];
    for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    std::vector<uint32_t> out(first.back());
    std::vector<uint32_t> fill(first.begin(), first.end() - 1);
    for (uint32_t i = 0; i < edges_.size(); ++i)
      if (edges_[i].from != kNone) out[fill[edges_[i].from]++] = i;
    std::deque<Node> work;
    const auto lift = [&](uint32_t index, Level level) {
      const Edge& e = edges_[index];
      if (levels_[e.to] >= level) return;
      levels_[e.to] = level;
      reason_[e.to] = index;
      work.push_back(e.to);
    };
    for (uint32_t i = 0; i < edges_.size(); ++i)
      if (edges_[i].from == kNone) lift(i, edges_[i].level);
    while (!work.empty()) {
      poll_stop();
      const Node node = work.front();
      work.pop_front();
      for (uint32_t k = first[node]; k < first[node + 1]; ++k) lift(out[k], levels_[node]);
    }
  }

  // ---- locals
  Node fresh(LocalId local) {
    const Node node = new_node();
    nodes_of_[local.index()] = node;
    instances_.emplace_back(local, node);
    const StmtId resume = s_.split_by_resume[local.index()];
    if (resume.valid()) raise(node, Level::Lane, {{}, resume});
    return node;
  }
  Node node_of(LocalId local) {
    const Node node = nodes_of_[local.index()];
    return node == kNone ? fresh(local) : node;
  }

  // The buffer behind a memory in the current call.
  BufferId actual(Memory m) const {
    if (m.kind == Memory::Kind::Buffer) return m.buffer();
    if (m.kind == Memory::Kind::Table) return {};
    const auto it = bound_.find(m.index);
    return it == bound_.end() ? BufferId{} : it->second;
  }

  // ---- expressions: what flows into `to`
  void value(ExprId id, Node to) {
    const Expr& e = p_[id];
    const Origin here{id, {}};
    match(
        e, [](const IntLiteral&) {}, [](const FloatLiteral&) {}, [](const BoolLiteral&) {},
        [](const ConstRef&) {}, [](const Len&) {}, [](const Poison&) {}, [](const AxisLen&) {},
        [&](const AxisIndex& x) {
          for (const ExprId index : p_.values(x.indices)) value(index, to);
        },
        [&](const LocalRef& x) { edge(node_of(x.local), to, here); },
        [&](const BuiltinRef& x) { raise(to, level_over(uniform_over(x.builtin)), here); },
        [&](const Load& x) {
          // The memory first: if other lanes may write it, a uniform index would not help.
          memory(x.memory, to, here);
          value(x.index, to);
        },
        [&](const Unary& x) { value(x.operand, to); },
        [&](const Binary& x) {
          if (is_lazy(x.op)) return lazy(x, to);
          value(x.left, to);
          value(x.right, to);
        },
        [&](const Cast& x) { value(x.operand, to); },
        [&](const Bitcast& x) { value(x.operand, to); },
        [&](const IntrinsicCall& x) {
          for (int i = 0; i < arity_of(x.op); ++i) value(x.args[static_cast<size_t>(i)], to);
        },
        [&](const Atomic& x) {
          effects(x.index);
          for (int i = 0; i < arity_of(x.op); ++i) effects(x.args[static_cast<size_t>(i)]);
          raise(to, Level::Lane, here);
        },
        [&](const Subgroup& x) {
          need(Code::SubgroupNotUniform, Level::Subgroup, flow_,
               fmt::format("`{}`", vyre::ir::name_of(x.op)), id);
          effects(x.value);
          if (x.lane.valid()) {
            const Node lane = new_node();
            value(x.lane, lane);
            if (x.op == SubgroupOp::Broadcast)
              need(Code::ValueNotUniform, Level::Subgroup, lane, "the lane of `subgroup_broadcast`",
                   x.lane);
          }
          raise(to, level_over(uniform_over(x.op)), here);
        },
        [&](const UniformLoad& x) {
          const Level scope = level_over(x.scope);
          const std::string_view what = x.scope == Scope::Grid ? "`grid_load`" : "`workgroup_load`";
          need(Code::FlowNotUniform, scope, flow_, std::string(what), id);
          const Node index = new_node();
          value(x.index, index);
          need(Code::ValueNotUniform, scope, index, fmt::format("the index of {}", what), x.index);
          raise(to, scope, here);
        },
        [&](const Call& x) { call(id, x, to); });
  }
  // Only for what happens on the way (calls, requirements); the value itself goes nowhere.
  void effects(ExprId id) { value(id, new_node()); }

  // The right side is evaluated only by the lanes that the left side sends there.
  void lazy(const Binary& e, Node to) {
    const Node left = new_node();
    value(e.left, left);
    edge(left, to, {e.left, {}});
    const Node outer = flow_;
    flow_ = joined(outer, {e.left, {}});
    edge(left, flow_, {e.left, {}});
    value(e.right, to);
    flow_ = outer;
  }

  void memory(Memory m, Node to, Origin here) {
    if (m.kind == Memory::Kind::Table) return;
    if (m.kind == Memory::Kind::Local && p_[m.local()].kind == Local::Kind::Array) {
      edge(node_of(m.local()), to, here);
      return;
    }
    // A parameter that no call binds counts as the best there could be, like the other arguments of
    // a function without calls.
    const BufferId buffer = actual(m);
    if (!buffer.valid() || is_read_only(p_[buffer].kind)) return;
    raise(to, Level::Lane, here);
  }

  // ---- calls
  void call(ExprId id, const Call& e, Node to) {
    called_.insert(e.fn.value);
    const Fn& fn = p_[e.fn];
    const auto params = p_.params(fn.params);
    const auto args = p_.arguments(e.args);
    Pending pending{id, e.fn, flow_, new_node(), {}, {}};
    for (size_t i = 0; i < args.size(); ++i) {
      if (const ExprId* arg = std::get_if<ExprId>(&args[i])) {
        const Node node = new_node();
        value(*arg, node);
        if (i < params.size()) pending.values.emplace_back(params[i], std::pair(node, *arg));
      } else if (i < params.size()) {
        pending.buffers.emplace_back(params[i], actual(std::get<Memory>(args[i])));
      }
    }
    edge(pending.result, to, {id, {}});
    pending_.push_back(std::move(pending));
  }

  // Bodies are walked after the statement's expressions, so that recursion is only as deep as
  // blocks are.
  void walk_calls(size_t mark) {
    for (size_t i = mark; i < pending_.size(); ++i) {
      const Pending call = std::move(pending_[i]);
      const Fn& fn = p_[call.fn];
      auto outer_bound = std::move(bound_);
      const Node outer_flow = flow_;
      const Node outer_result = result_;
      const bool outer_in_fn = in_fn_;
      const auto outer_loops = std::move(loops_);
      bound_.clear();
      loops_.clear();
      for (const auto& [param, buffer] : call.buffers) bound_[param.value] = buffer;
      for (const auto& [param, arg] : call.values) edge(arg.first, fresh(param), {arg.second, {}});
      flow_ = call.flow;
      result_ = call.result;
      in_fn_ = true;
      frames_.push_back({call.id, frame_});
      const uint32_t outer_frame = frame_;
      frame_ = static_cast<uint32_t>(frames_.size() - 1);
      block(fn.body);
      frame_ = outer_frame;
      bound_ = std::move(outer_bound);
      flow_ = outer_flow;
      result_ = outer_result;
      in_fn_ = outer_in_fn;
      loops_ = outer_loops;
    }
    pending_.resize(mark);
  }

  // ---- statements
  struct Exits {
    std::vector<std::pair<Node, StmtId>>
        rest;  // from here the rest of the function is divergent (return)
    std::vector<std::pair<Node, StmtId>> continues;  // the rest of the loop body
  };

  Exits block(Block b) {
    const Node outer = flow_;
    Exits all;
    for (StmtId id : p_.items(b)) {
      flow_of_.emplace_back(id, flow_);
      const size_t mark = pending_.size();
      Exits exits = statement(id);
      walk_calls(mark);
      for (auto* list : {&exits.rest, &exits.continues})
        for (const auto& [node, origin] : *list) {
          const Node next = joined(flow_, {{}, origin});
          edge(node, next, {{}, origin});
          flow_ = next;
        }
      all.rest.insert(all.rest.end(), exits.rest.begin(), exits.rest.end());
      all.continues.insert(all.continues.end(), exits.continues.begin(), exits.continues.end());
    }
    flow_ = outer;
    return merged(std::move(all));
  }

  // Many jumps of one list are one influence for the lists around it.
  Exits merged(Exits exits) {
    for (auto* list : {&exits.rest, &exits.continues}) {
      if (list->size() <= 1) continue;
      const Node all = new_node();
      for (const auto& [node, origin] : *list) edge(node, all, {{}, origin});
      *list = {{all, list->front().second}};
    }
    return exits;
  }

  Exits in_block(Block b, Node flow) {
    const Node outer = flow_;
    flow_ = flow;
    Exits exits = block(b);
    flow_ = outer;
    return exits;
  }

  Node assigned(LocalId local, StmtId id) {
    const Node node = node_of(local);
    edge(flow_, node, {{}, id});
    return node;
  }

  void barrier(StmtId id, Scope scope) {
    need(Code::BarrierNotUniform, level_over(scope), flow_,
         fmt::format("`barrier {}`", vyre::ir::name_of(scope)), id);
  }

  void uniform_value(ExprId id, Level most, std::string what) {
    const Node node = new_node();
    value(id, node);
    need(Code::ValueNotUniform, most, node, std::move(what), id);
  }

  Exits statement(StmtId id) {
    return match(
        p_[id],
        [&](const Let& st) {
          const Node node = fresh(st.local);
          edge(flow_, node, {{}, id});
          value(st.value, node);
          return Exits{};
        },
        [&](const DeclareArray& st) {
          edge(flow_, fresh(st.local), {{}, id});
          return Exits{};
        },
        [&](const Assign& st) {
          value(st.value, assigned(st.local, id));
          return Exits{};
        },
        [&](const Store& st) {
          if (st.memory.kind == Memory::Kind::Local &&
              p_[st.memory.local()].kind == Local::Kind::Array) {
            const Node node = assigned(st.memory.local(), id);
            value(st.index, node);
            value(st.value, node);
          } else {
            effects(st.index);
            effects(st.value);
          }
          return Exits{};
        },
        [&](const Eval& st) {
          effects(st.value);
          return Exits{};
        },
        [&](const If& st) { return if_statement(st); },
        [&](const For& st) { return for_loop(id, st); },
        [&](const While& st) { return while_loop(st); },
        [&](const Break&) {
          if (!loops_.empty()) edge(flow_, loops_.back(), {{}, id});
          return Exits{};
        },
        [&](const Continue&) { return Exits{{}, {{flow_, id}}}; },
        [&](const Return& st) { return returns(id, st); },
        [&](const Nested& st) { return block(st.body); },
        [&](const Region& st) { return block(st.body); },
        [&](const Barrier& st) {
          barrier(id, st.scope);
          return Exits{};
        },
        [&](const Fixpoint& st) { return fixpoint(id, st); },
        [&](const AsyncCopy& st) {
          need(Code::FlowNotUniform, Level::Workgroup, flow_, "`async copy`", id);
          for (ExprId arg : {st.dst_index, st.src_index, st.count})
            uniform_value(arg, Level::Workgroup, "an argument of `async copy`");
          return Exits{};
        },
        [&](const Wait&) {
          need(Code::FlowNotUniform, Level::Workgroup, flow_, "`wait`", id);
          return Exits{};
        },
        [&](const Trap& st) {
          effects(st.value);
          return Exits{};
        },
        [&](const Resume&) {
          need(Code::FlowNotUniform, Level::Grid, flow_, "`resume`", id);
          return Exits{};
        },
        [&](const Collective& st) {
          need(Code::FlowNotUniform, Level::Grid, flow_,
               fmt::format("`{}`", vyre::ir::name_of(st.op)), id);
          return Exits{};
        },
        [&](const Swap&) {
          need(Code::FlowNotUniform, Level::Grid, flow_, "`swap`", id);
          return Exits{};
        },
        [&](const Print& st) { return printed({}, st.args); },
        [&](const Assert& st) { return printed(st.condition, st.args); });
  }

  // Of any level, in any flow.
  Exits printed(ExprId condition, Range args) {
    if (condition.valid()) effects(condition);
    for (ExprId arg : p_.values(args)) effects(arg);
    return Exits{};
  }

  Exits if_statement(const If& st) {
    const Node inner = joined(flow_, {st.condition, {}});
    value(st.condition, inner);
    Exits exits = in_block(st.then_block, inner);
    const Exits more = in_block(st.else_block, inner);
    exits.rest.insert(exits.rest.end(), more.rest.begin(), more.rest.end());
    exits.continues.insert(exits.continues.end(), more.continues.begin(), more.continues.end());
    return merged(std::move(exits));
  }

  Exits fixpoint(StmtId id, const Fixpoint& st) {
    need(Code::FlowNotUniform, Level::Grid, flow_, "`fixpoint`", id);
    uniform_value(st.max_passes, Level::Grid, "the most passes of a `fixpoint`");
    const auto outer = std::move(loops_);
    loops_.clear();
    Exits exits = block(st.body);
    loops_ = outer;
    return Exits{std::move(exits.rest), {}};
  }

  Exits for_loop(StmtId id, const For& st) {
    const Node body = joined(flow_, {{}, id});
    value(st.first, body);
    value(st.last, body);
    if (st.step.valid()) uniform_value(st.step, Level::Grid, "the step of a `for`");
    edge(body, fresh(st.variable), {{}, id});
    return loop_body(st.body, body);
  }

  // The condition is evaluated again by the lanes that are still in the loop: in the flow of the
  // body.
  Exits while_loop(const While& st) {
    const Node body = joined(flow_, {st.condition, {}});
    const Node outer = flow_;
    flow_ = body;
    value(st.condition, body);
    flow_ = outer;
    return loop_body(st.body, body);
  }

  Exits loop_body(Block b, Node body) {
    loops_.push_back(body);
    Exits exits = in_block(b, body);
    loops_.pop_back();
    // A return of a function in the body takes lanes out of the loop, like a break.
    for (const auto& [node, origin] : exits.rest) edge(node, body, {{}, origin});
    return Exits{std::move(exits.rest), {}};
  }

  Exits returns(StmtId id, const Return& st) {
    if (!in_fn_) {
      if (st.value.valid()) effects(st.value);
      return {};  // ends the lane: what is left goes on as before
    }
    edge(flow_, result_, {{}, id});
    if (st.value.valid()) value(st.value, result_);
    return Exits{{{flow_, id}}, {}};
  }

  // ---- requirements
  template <class AnyId>
  void need(Code code, Level most, Node node, std::string what, AnyId at) {
    uint64_t site = at.value;
    if constexpr (std::is_same_v<AnyId, StmtId>) site |= uint64_t{1} << 32;
    requirements_.push_back({most, node, code, std::move(what), p_.position_of(at), site, frame_});
  }

  void judge() {
    std::set<std::pair<uint64_t, uint16_t>> reported;
    for (const Requirement& r : requirements_) {
      if (levels_[r.node] <= r.most) continue;
      if (!reported.insert({r.site, static_cast<uint16_t>(r.code)}).second) continue;
      const bool about_value = r.code == Code::ValueNotUniform;
      const std::string_view scope = r.most == Level::Grid        ? "the grid"
                                     : r.most == Level::Workgroup ? "the workgroup"
                                                                  : "the subgroup";
      const std::string_view differs = levels_[r.node] == Level::Lane       ? "lane"
                                       : levels_[r.node] == Level::Subgroup ? "subgroup"
                                                                            : "workgroup";
      Diagnostic& d = s_.d.add(
          r.code, r.at,
          about_value ? fmt::format("{} must be the same in all of {}, but it differs per {}",
                                    r.what, scope, differs)
                      : fmt::format("{} must be reached by all lanes of {} together, but whether "
                                    "it is depends on a value that differs per {}",
                                    r.what, scope, differs),
          fix_for(r));
      explain(d, r.node);
      for (uint32_t frame = r.calls; frame != kNone && d.notes.size() < 8;
           frame = frames_[frame].outer)
        d.notes.push_back(s_.note(frames_[frame].call, "in this call"));
    }
  }

  static std::string fix_for(const Requirement& r) {
    if (r.code == Code::ValueNotUniform)
      return r.most == Level::Grid
                 ? "use a constant, an element of an `in` or `uniform` buffer, or `grid_load`"
                 : "use a uniform value: a constant, `wid`, an element of an `in` buffer, or "
                   "`workgroup_load`";
    if (r.code == Code::SubgroupNotUniform)
      return "move it out of the divergent branch; let lanes that should not take part give a "
             "neutral value";
    return r.most == Level::Grid
               ? "move it out of the `if` or loop, or decide with a value that is the same "
                 "everywhere: `grid_load(b[i])`, `in` data at a uniform index"
               : "move it out of the `if` or loop, or decide with a value that is the same in the "
                 "whole workgroup: `workgroup_load(s[i])`, `wid`";
  }

  // Follows the edges that raised the node back to where the level comes from.
  void explain(Diagnostic& d, Node node) {
    std::string last;
    for (int steps = 0; steps < 32 && reason_[node] != kNone; ++steps) {
      const Edge& e = edges_[reason_[node]];
      const Note note = describe(e);
      if (note.at.known() && note.message != last && d.notes.size() < 5) {
        last = note.message;
        d.notes.push_back(note);
      }
      if (e.from == kNone) return;
      node = e.from;
    }
  }

  Note describe(const Edge& e) const {
    if (e.origin.expr.valid()) {
      const Expr& x = p_[e.origin.expr];
      if (const auto* ref = std::get_if<LocalRef>(&x))
        return s_.note(e.origin.expr, fmt::format("because of `{}`", p_[ref->local].name));
      if (const auto* builtin = std::get_if<BuiltinRef>(&x))
        return s_.note(e.origin.expr,
                       fmt::format("`{}` differs per {}", vyre::ir::name_of(builtin->builtin),
                                   name_of(e.level)));
      if (const auto* load = std::get_if<Load>(&x))
        return s_.note(e.origin.expr,
                       fmt::format("`{}` is loaded by each lane for itself and may change",
                                   name_of(p_, load->memory)));
      if (std::holds_alternative<Atomic>(x))
        return s_.note(e.origin.expr, "the result of an atomic operation differs per lane");
      if (const auto* subgroup = std::get_if<Subgroup>(&x))
        return s_.note(e.origin.expr,
                       fmt::format("the result of `{}` differs per {}",
                                   vyre::ir::name_of(subgroup->op), name_of(e.level)));
      if (std::holds_alternative<UniformLoad>(x))
        return s_.note(e.origin.expr, "this is the same only within a workgroup");
      if (const auto* call = std::get_if<Call>(&x))
        return s_.note(e.origin.expr,
                       fmt::format("because of the result of `{}`", p_[call->fn].name));
      return s_.note(e.origin.expr, "because of this condition");
    }
    const Stmt& st = p_[e.origin.stmt];
    if (std::holds_alternative<Break>(st))
      return s_.note(e.origin.stmt, "this `break` takes some lanes out of the loop");
    if (std::holds_alternative<Continue>(st))
      return s_.note(e.origin.stmt, "this `continue` lets some lanes skip the rest of the body");
    if (std::holds_alternative<Return>(st))
      return s_.note(e.origin.stmt, "this `return` takes some lanes out of the function");
    if (std::holds_alternative<Resume>(st))
      return s_.note(e.origin.stmt, "lanes that waited at this resume missed an assignment");
    if (std::holds_alternative<For>(st))
      return s_.note(e.origin.stmt, "because of the bounds of this loop");
    return s_.note(e.origin.stmt, "it is assigned here, where not all lanes come together");
  }

  void collect_facts() {
    for (const auto& [local, node] : instances_) {
      Level& level = s_.facts.local_levels[local.index()];
      level = std::max(level, levels_[node]);
    }
    for (const auto& [stmt, node] : flow_of_) {
      Level& level = s_.facts.flow_levels[stmt.index()];
      level = std::max(level, levels_[node]);
    }
  }

  struct Pending {
    ExprId id;
    FnId fn;
    Node flow;
    Node result;
    std::vector<std::pair<LocalId, std::pair<Node, ExprId>>> values;
    std::vector<std::pair<LocalId, BufferId>> buffers;
  };

  State& s_;
  const Program& p_;
  std::vector<Level> levels_;     // by Node
  std::vector<uint32_t> reason_;  // by Node: the edge that gave its level
  std::vector<Edge> edges_;
  std::vector<Requirement> requirements_;
  std::vector<Node> nodes_of_;  // by LocalId: the node in the current call
  std::vector<std::pair<LocalId, Node>> instances_;
  std::vector<std::pair<StmtId, Node>> flow_of_;
  std::vector<CallFrame> frames_;
  std::unordered_map<uint32_t, BufferId> bound_;  // buffer parameters of the current call
  std::vector<Pending> pending_;
  std::vector<Node> loops_;  // body flow of the loops around, in the current function
  std::set<uint32_t> called_;
  uint32_t frame_ = kNone;
  Node flow_ = 0;
  Node result_ = 0;
  bool in_fn_ = false;
};

}  // namespace

void check_uniformity(State& s) {
  Uniformity(s).run();
}

}  // namespace vyre::check
