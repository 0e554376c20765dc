// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies: on every path each copy is followed by exactly one wait of its tag in the
// same block, and nothing between them may end a lane, leave the block or synchronise the grid.
#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "check/state.hpp"

namespace vyre::check {

using namespace ir;

namespace {

class Async {
 public:
  explicit Async(State& s) : s_(s), p_(s.p) {}

  void run() {
    for (const Fn& fn : p_.fns) block(fn.body);
    block(p_.body);
  }

 private:
  void block(Block b) {
    std::map<uint16_t, StmtId> open;  // of this block
    const int outer_base = loop_base_;
    for (StmtId id : p_.items(b)) {
      const Stmt& st = p_[id];
      if (const auto* copy = std::get_if<AsyncCopy>(&st)) {
        start(id, copy->tag, open);
      } else if (const auto* wait = std::get_if<Wait>(&st)) {
        if (open.erase(wait->tag) != 0)
          open_.erase(wait->tag);
        else
          not_open(id, *wait);
        if (open.empty()) loop_base_ = outer_base;
      } else {
        if (!open_.empty()) inside_span(id);
        const bool loop = std::holds_alternative<For>(st) || std::holds_alternative<While>(st);
        loops_ += loop ? 1 : 0;
        for_each_block(st, [&](Block inner) { block(inner); });
        loops_ -= loop ? 1 : 0;
      }
    }
    loop_base_ = outer_base;
    for (const auto& [tag, copy] : open) {
      open_.erase(tag);
      if (s_.text_had_errors) continue;
      s_.report(Code::CopyWithoutWait, copy,
                fmt::format("no `wait({})` follows this copy in its block", tag),
                fmt::format("add `wait({});` in the same block, before its end", tag));
    }
  }

  void start(StmtId id, uint16_t tag, std::map<uint16_t, StmtId>& open) {
    if (open_.contains(tag)) {
      between(id, "a second copy of the same tag");
      return;
    }
    open.emplace(tag, id);
    open_.emplace(tag, id);
    loop_base_ = loops_;
  }

  void not_open(StmtId id, const Wait& wait) {
    if (s_.text_had_errors) return;  // the copy may be what could not be read
    const auto outer = open_.find(wait.tag);
    Diagnostic& d = s_.report(
        Code::CopyWithoutWait, id,
        outer == open_.end()
            ? fmt::format("no copy with the tag {} is under way in this block", wait.tag)
            : fmt::format("the copy with the tag {} was started in another block", wait.tag),
        "put each copy and its wait in one block");
    if (outer != open_.end()) d.notes.push_back(s_.note(outer->second, "the copy starts here"));
  }

  void between(StmtId id, std::string_view what) {
    Diagnostic& d =
        s_.report(Code::BetweenCopyAndWait, id,
                  fmt::format("{} stands between an asynchronous copy and its wait", what),
                  "wait for the copy first");
    d.notes.push_back(s_.note(open_.begin()->second, "the copy starts here"));
  }

  // What a statement does by itself; its blocks are walked by block().
  void inside_span(StmtId id) {
    const Stmt& st = p_[id];
    if (std::holds_alternative<Fixpoint>(st))
      between(id, "a `fixpoint`");
    else if (const auto* barrier = std::get_if<Barrier>(&st);
             barrier != nullptr && barrier->scope == Scope::Grid)
      between(id, "a grid barrier");
    else if (std::holds_alternative<Resume>(st))
      between(id, "a `resume`");
    else if (std::holds_alternative<Collective>(st))
      between(id, "a collective");
    else if (std::holds_alternative<Swap>(st))
      between(id, "a `swap`");
    else if (std::holds_alternative<Return>(st))
      between(id, "a `return`");
    else if (std::holds_alternative<Trap>(st))
      between(id, "a `trap`");
    else if (may_stop_at_step(s_, st))
      between(id, "a `for` whose step is known at run time only");
    else if (std::holds_alternative<Break>(st) && loops_ <= loop_base_)
      between(id, "a `break` that leaves the block");
    else if (std::holds_alternative<Continue>(st) && loops_ <= loop_base_)
      between(id, "a `continue` that leaves the block");
    for_each_operand(p_, st, [&](ExprId child) { expr(child, id); });
  }

  void expr(ExprId id, StmtId statement) {
    const Expr& e = p_[id];
    if (const auto* load = std::get_if<UniformLoad>(&e);
        load != nullptr && load->scope == Scope::Grid)
      between(statement, "a `grid_load`");
    if (const auto* call = std::get_if<Call>(&e);
        call != nullptr && call->fn.index() < s_.fns.size()) {
      const FnInfo& fn = s_.fns[call->fn.index()];
      const bool same_tag = std::any_of(fn.copies.begin(), fn.copies.end(),
                                        [&](uint16_t tag) { return open_.contains(tag); });
      if (fn.grid_barrier)
        between(statement,
                fmt::format("a call of `{}`, which meets the whole grid,", p_[call->fn].name));
      else if (fn.ends_lane)
        between(statement, fmt::format("a call of `{}`, which can trap,", p_[call->fn].name));
      else if (same_tag)
        between(statement,
                fmt::format("a call of `{}`, which copies with the same tag,", p_[call->fn].name));
    }
    for_each_operand(p_, e, [&](ExprId child) { expr(child, statement); });
  }

  State& s_;
  const Program& p_;
  std::map<uint16_t, StmtId> open_;  // of this block and those around it
  int loops_ = 0;                    // around the current statement
  int loop_base_ =
      0;  // around the innermost block with an open copy: a jump out of these leaves it
};

}  // namespace

void check_async(State& s) {
  Async(s).run();
}

}  // namespace vyre::check
