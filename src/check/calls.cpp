// SPDX-License-Identifier: Apache-2.0
// The call graph: no recursion, and bounds on what the program becomes when functions are inlined.
// Works callees first without recursing over calls, so a chain of a million functions is no danger.
#include <algorithm>

#include <fmt/core.h>

#include "check/state.hpp"
#include "ir/properties.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::check {

using namespace ir;

namespace {

// Expressions after inlining: a short text must not blow up to gigabytes through functions.
constexpr uint64_t kMaxInlinedNodes = 2'000'000;

class Calls {
 public:
  explicit Calls(State& s) : s_(s), p_(s.p) {}

  bool run() {
    s_.fns.assign(p_.fns.size(), {});
    std::vector<uint32_t> order;
    if (!callees_first(order)) return false;
    for (uint32_t fn : order) s_.fns[fn] = measure(p_.fns[fn].body);
    const FnInfo whole = measure(p_.body);
    s_.facts.has_grid_barrier = whole.grid_barrier;
    s_.facts.statements_inlined =
        static_cast<uint32_t>(std::min<uint64_t>(whole.statements, UINT32_MAX));
    if (!fits_) return false;
    // The innermost function that is too large is the one to report; what calls it is too large
    // because of it.
    for (uint32_t fn : order)
      if (!within(s_.fns[fn], p_.position_of(FnId{fn}), p_.fns[fn].name)) return false;
    return within(whole, p_.position(p_.positions.program), p_.name);
  }

 private:
  bool within(const FnInfo& info, Position at, const std::string& name) {
    const bool statements = info.statements > kMaxStatements;
    if (!statements && info.nodes <= kMaxInlinedNodes) return true;
    if (s_.text_had_errors) return false;  // the parser counts, too, and says so
    s_.d.add(Code::TooManyStatements, std::move(at),
             fmt::format("`{}` has {} {} after inlining", name,
                         statements ? info.statements : info.nodes,
                         statements ? "statements" : "expressions"),
             fmt::format("stay within {}: use loops instead of repeated calls",
                         statements ? kMaxStatements : kMaxInlinedNodes));
    return false;
  }

  template <class Visit>
  void each_call(ExprId id, const Visit& visit) {
    for_each_operand(p_, p_[id], [&](ExprId child) { each_call(child, visit); });
    if (const auto* call = std::get_if<Call>(&p_[id])) visit(id, *call);
  }
  template <class Visit>
  void each_call(Block b, const Visit& visit) {
    for (StmtId id : p_.items(b)) {
      for_each_operand(p_, p_[id], [&](ExprId child) { each_call(child, visit); });
      for_each_block(p_[id], [&](Block inner) { each_call(inner, visit); });
    }
  }

  // Functions in an order in which callees come first; false and a report if some call themselves.
  bool callees_first(std::vector<uint32_t>& order) {
    const uint32_t count = static_cast<uint32_t>(p_.fns.size());
    std::vector<std::vector<uint32_t>> callers(count);
    std::vector<uint32_t> waiting(count);
    for (uint32_t i = 0; i < count; ++i)
      each_call(p_.fns[i].body, [&](ExprId, const Call& call) {
        callers[call.fn.index()].push_back(i);
        ++waiting[i];
      });
    for (uint32_t i = 0; i < count; ++i)
      if (waiting[i] == 0) order.push_back(i);
    for (size_t next = 0; next < order.size(); ++next)
      for (uint32_t caller : callers[order[next]])
        if (--waiting[caller] == 0) order.push_back(caller);
    if (order.size() == count) return true;
    report_circle(waiting);
    return false;
  }

  // Among functions that wait for each other: follow calls until one comes up twice, and show that
  // circle.
  void report_circle(const std::vector<uint32_t>& waiting) {
    uint32_t fn = static_cast<uint32_t>(
        std::find_if(waiting.begin(), waiting.end(), [](uint32_t n) { return n != 0; }) -
        waiting.begin());
    std::vector<int64_t> step_of(p_.fns.size(), -1);
    std::vector<ExprId> path;
    while (step_of[fn] < 0) {
      step_of[fn] = static_cast<int64_t>(path.size());
      ExprId found;
      each_call(p_.fns[fn].body, [&](ExprId id, const Call& call) {
        if (!found.valid() && waiting[call.fn.index()] != 0) found = id;
      });
      path.push_back(found);
      fn = std::get<Call>(p_[found]).fn.value;
    }
    const auto circle = std::span(path).subspan(static_cast<size_t>(step_of[fn]));
    Diagnostic& d = s_.report(
        Code::Recursion, circle.front(), fmt::format("`{}` calls itself", p_.fns[fn].name),
        "functions cannot recurse: use a loop, or a `fixpoint` over a worklist buffer");
    for (size_t i = 1; i < std::min<size_t>(circle.size(), 8); ++i)
      d.notes.push_back(s_.note(circle[i], fmt::format("through this call of `{}`",
                                                       p_[std::get<Call>(p_[circle[i]]).fn].name)));
  }

  FnInfo measure(Block b) {
    FnInfo info;
    info.depth = measure_block(b, info, 1);
    std::sort(info.copies.begin(), info.copies.end());
    info.copies.erase(std::unique(info.copies.begin(), info.copies.end()), info.copies.end());
    return info;
  }

  uint32_t measure_block(Block b, FnInfo& info, uint32_t level) {
    uint32_t deepest = level;
    for (StmtId id : p_.items(b)) {
      const Stmt& st = p_[id];
      info.statements += 1;
      const StmtProperties row = properties_of(st);
      info.note_synchronisation(row.synchronises);
      info.ends_lane = info.ends_lane || row.exit == Exit::Trap || may_stop_at_step(s_, st);
      if (const auto* copy = std::get_if<AsyncCopy>(&st)) info.copies.push_back(copy->tag);
      for_each_operand(p_, st, [&](ExprId child) {
        deepest = std::max(deepest, measure_expr(child, info, level));
      });
      for_each_block(st, [&](Block inner) {
        deepest = std::max(deepest, measure_block(inner, info, level + 1));
      });
    }
    return deepest;
  }

  uint32_t measure_expr(ExprId id, FnInfo& info, uint32_t level) {
    uint32_t deepest = level;
    info.nodes += 1;
    for_each_operand(p_, p_[id], [&](ExprId child) {
      deepest = std::max(deepest, measure_expr(child, info, level));
    });
    info.note_synchronisation(properties_of(p_[id]).synchronises);
    const auto* call = std::get_if<Call>(&p_[id]);
    if (call == nullptr) return deepest;
    const FnInfo& callee = s_.fns[call->fn.index()];
    info.statements = std::min(info.statements + callee.statements, uint64_t{1} << 40);
    info.nodes = std::min(info.nodes + callee.nodes, uint64_t{1} << 40);
    info.barrier = info.barrier || callee.barrier;
    info.grid_barrier = info.grid_barrier || callee.grid_barrier;
    info.ends_lane = info.ends_lane || callee.ends_lane;
    // Past the limit the program is refused anyway; going on would only cost time.
    if (info.statements <= kMaxStatements)
      info.copies.insert(info.copies.end(), callee.copies.begin(), callee.copies.end());
    const uint32_t total = level + callee.depth;
    if (total > kMaxNesting + 1 && fits_) {
      fits_ = false;
      if (s_.text_had_errors) return deepest;  // perhaps expanded too deep, which is reported
      s_.report(
          Code::NestingTooDeep, id,
          fmt::format("with `{}` inlined here blocks are nested {} deep", p_[call->fn].name,
                      total - 1),
          fmt::format("stay within {}: call fewer functions from inside each other", kMaxNesting));
    }
    return std::max(deepest, std::min(total, kMaxNesting + 2));
  }

  State& s_;
  const Program& p_;
  bool fits_ = true;
};

}  // namespace

bool check_calls(State& s) {
  return Calls(s).run();
}

}  // namespace vyre::check
