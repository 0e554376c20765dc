// SPDX-License-Identifier: Apache-2.0
// Traps and their resume. The resume is a statement of the block that holds all traps of its tag,
// outside loops of that block; between the first trap and the resume (the span) some lanes wait, so
// what happens there to variables and to control flow is restricted.
#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <unordered_map>

#include <fmt/core.h>

#include "check/state.hpp"

namespace vyre::check {

using namespace ir;

namespace {

class Traps {
 public:
  explicit Traps(State& s)
      : s_(s),
        p_(s.p),
        matched_(p_.stmts.size()),
        hidden_(p_.locals.size()),
        seen_in_(p_.locals.size()) {}

  void run() {
    s_.split_by_resume.assign(p_.locals.size(), {});
    collect(p_.body);
    for (const Fn& fn : p_.fns) collect(fn.body);
    for (const Fn& fn : p_.fns) {
      in_fn_ = true;
      block(fn.body);
    }
    in_fn_ = false;
    block(p_.body);
    for (const auto& [tag, traps] : traps_) {
      const auto resume = resumes_.find(tag);
      if (resume == resumes_.end() || repeated_.contains(tag)) continue;
      for (StmtId trap : traps)
        if (!matched_[trap.index()])
          s_.report(Code::ResumePlace, trap,
                    fmt::format("`resume({})` does not catch this trap", tag),
                    "put the resume after its traps, in a block that contains all of them with no "
                    "loop, fixpoint or function between")
              .notes.push_back(s_.note(resume->second, "the resume stands here"));
    }
    for (const auto& [tag, resume] : resumes_)
      if (!traps_.contains(tag))
        s_.report(Code::ResumePlace, resume,
                  fmt::format("no trap has the tag {} of this resume", tag),
                  "use the tag of a trap, or write `barrier grid;`");
  }

 private:
  struct Span {
    size_t first = 0;   // item that holds the first trap
    size_t resume = 0;  // item that is the resume
    StmtId statement;
  };
  using Found = std::vector<StmtId>;  // traps below a block, not inside its loops

  void collect(Block b) {
    for (StmtId id : p_.items(b)) {
      const Stmt& st = p_[id];
      if (const auto* trap = std::get_if<Trap>(&st)) traps_[trap->tag].push_back(id);
      if (const auto* resume = std::get_if<Resume>(&st)) {
        const auto [it, fresh] = resumes_.emplace(resume->tag, id);
        if (!fresh) repeated_.insert(resume->tag);
        if (!fresh)
          s_.report(Code::ResumeRepeated, id,
                    fmt::format("the tag {} already has a resume", resume->tag),
                    "use another tag for the second one")
              .notes.push_back(s_.note(it->second, "the first resume stands here"));
      }
      for_each_block(st, [&](Block inner) { collect(inner); });
    }
  }

  Found block(Block b) {
    const auto items = p_.items(b);
    Found found;
    std::unordered_map<uint16_t, std::pair<size_t, Found>> open;  // by tag: first item, traps
    std::vector<Span> spans;
    for (size_t i = 0; i < items.size(); ++i) {
      const Stmt& st = p_[items[i]];
      const bool fence = std::holds_alternative<For>(st) || std::holds_alternative<While>(st) ||
                         std::holds_alternative<Fixpoint>(st);
      Found below;
      if (std::holds_alternative<Trap>(st)) below.push_back(items[i]);
      for_each_block(st, [&](Block inner) {
        const Found more = block(inner);
        if (!fence) below.insert(below.end(), more.begin(), more.end());
      });
      for (StmtId trap : below) {
        auto& entry = open.try_emplace(std::get<Trap>(p_[trap]).tag, i, Found()).first->second;
        entry.second.push_back(trap);
      }
      found.insert(found.end(), below.begin(), below.end());
      if (const auto* resume = std::get_if<Resume>(&st);
          resume != nullptr && resumes_.at(resume->tag) == items[i]) {
        const auto it = open.find(resume->tag);
        if (it == open.end()) continue;
        for (StmtId trap : it->second.second) matched_[trap.index()] = true;
        spans.push_back({it->second.first, i, items[i]});
      }
    }
    if (!spans.empty()) {
      hide_locals(items, spans);
      find_jumps(items, spans);
      split_variables(items, spans);
    }
    return found;
  }

  // A local declared inside a span does not exist for the lanes that waited.
  void hide_locals(std::span<const StmtId> items, const std::vector<Span>& spans) {
    std::vector<std::pair<size_t, LocalId>> in_reach;  // declared so far, by item
    std::vector<LocalId> marked;
    size_t next = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      check_uses(items[i]);
      const Stmt& st = p_[items[i]];
      if (const auto* let = std::get_if<Let>(&st)) in_reach.emplace_back(i, let->local);
      if (const auto* array = std::get_if<DeclareArray>(&st))
        in_reach.emplace_back(i, array->local);
      for (; next < spans.size() && spans[next].resume == i; ++next)
        for (; !in_reach.empty() && in_reach.back().first > spans[next].first;
             in_reach.pop_back()) {
          hidden_[in_reach.back().second.index()] = spans[next].statement;
          marked.push_back(in_reach.back().second);
        }
    }
    // The block around walks these statements again for its own spans.
    for (LocalId local : marked) hidden_[local.index()] = {};
  }

  void check_uses(StmtId id) {
    const Stmt& st = p_[id];
    for_each_operand(p_, st, [&](ExprId child) { check_uses(child); });
    if (const auto* assign = std::get_if<Assign>(&st)) check_use(assign->local, p_.position_of(id));
    if (const auto* store = std::get_if<Store>(&st);
        store != nullptr && store->memory.kind == Memory::Kind::Local)
      check_use(store->memory.local(), p_.position_of(id));
    for_each_block(st, [&](Block inner) {
      for (StmtId item : p_.items(inner)) check_uses(item);
    });
  }
  void check_uses(ExprId id) {
    const Expr& e = p_[id];
    for_each_operand(p_, e, [&](ExprId child) { check_uses(child); });
    if (const auto* ref = std::get_if<LocalRef>(&e)) check_use(ref->local, p_.position_of(id));
    if (const auto* load = std::get_if<Load>(&e);
        load != nullptr && load->memory.kind == Memory::Kind::Local)
      check_use(load->memory.local(), p_.position_of(id));
  }
  void check_use(LocalId local, Position at) {
    const StmtId resume = hidden_[local.index()];
    if (!resume.valid()) return;
    hidden_[local.index()] = {};  // once is enough
    Diagnostic& d = s_.d.add(Code::LostAtResume, std::move(at),
                             fmt::format("lanes that waited at `resume({})` never had `{}`",
                                         std::get<Resume>(p_[resume]).tag, p_[local].name),
                             "declare it before the first trap of that tag, or after the resume");
    d.notes.push_back(s_.note(local, "it is declared between the trap and the resume"));
    d.notes.push_back(s_.note(resume, "the lanes join here"));
  }

  // Jumps out of the block, per item: a break or continue of an outer loop, or a function's return.
  void find_jumps(std::span<const StmtId> items, const std::vector<Span>& spans) {
    std::vector<std::pair<size_t, StmtId>> jumps;
    for (size_t i = 0; i < items.size(); ++i) collect_jumps(items[i], i, true, jumps);
    for (const Span& span : spans) {
      const auto it =
          std::lower_bound(jumps.begin(), jumps.end(), span.first,
                           [](const auto& jump, size_t first) { return jump.first < first; });
      if (it == jumps.end() || it->first >= span.resume) continue;
      s_.report(Code::JumpOverResume, it->second,
                "this jump leaves the block before its resume, where lanes wait",
                "move the jump after the resume, or before the first trap")
          .notes.push_back(s_.note(span.statement, "lanes wait at this resume"));
    }
  }
  void collect_jumps(StmtId id, size_t item, bool own_loops,
                     std::vector<std::pair<size_t, StmtId>>& jumps) {
    const Stmt& st = p_[id];
    const bool loop_jump =
        std::holds_alternative<Break>(st) || std::holds_alternative<Continue>(st);
    if ((loop_jump && own_loops) || (in_fn_ && std::holds_alternative<Return>(st)))
      jumps.emplace_back(item, id);
    const bool fence = std::holds_alternative<For>(st) || std::holds_alternative<While>(st) ||
                       std::holds_alternative<Fixpoint>(st);
    for_each_block(st, [&](Block inner) {
      for (StmtId below : p_.items(inner)) collect_jumps(below, item, own_loops && !fence, jumps);
    });
  }

  // Variables from before the first trap that are assigned in the span: waiting lanes miss the
  // assignment.
  void split_variables(std::span<const StmtId> items, const std::vector<Span>& spans) {
    // Locals of this block by item; any other local that an item assigns comes from further out.
    std::unordered_map<uint32_t, size_t> declared_at;
    for (size_t i = 0; i < items.size(); ++i) {
      if (const auto* let = std::get_if<Let>(&p_[items[i]])) declared_at[let->local.value] = i;
      if (const auto* array = std::get_if<DeclareArray>(&p_[items[i]]))
        declared_at[array->local.value] = i;
    }
    std::vector<Span> by_start = spans;
    std::sort(by_start.begin(), by_start.end(),
              [](const Span& x, const Span& y) { return x.first < y.first; });
    // Spans around the current item, the latest start on top. Those that ended are dropped when
    // they come up: only the top counts, since it can split all that the others can.
    std::priority_queue<std::pair<size_t, size_t>> active;  // first, resume
    size_t next = 0;
    for (size_t i = 0; i < items.size(); ++i) {
      for (; next < by_start.size() && by_start[next].first == i; ++next)
        active.emplace(by_start[next].first, by_start[next].resume);
      while (!active.empty() && active.top().second <= i) active.pop();
      if (active.empty()) continue;
      const auto [first, resume] = active.top();
      ++stamp_;
      split_assigned(items[i], items[resume], [&declared_at, first = first](LocalId local) {
        const auto it = declared_at.find(local.value);
        return it == declared_at.end() || it->second < first;
      });
    }
  }
  template <class Before>
  void split_assigned(StmtId id, StmtId resume, const Before& before) {
    const Stmt& st = p_[id];
    if (const auto* let = std::get_if<Let>(&st)) seen_in_[let->local.index()] = stamp_;
    if (const auto* array = std::get_if<DeclareArray>(&st)) seen_in_[array->local.index()] = stamp_;
    const auto split = [&](LocalId local) {
      if (seen_in_[local.index()] == stamp_) return;  // declared inside this very item
      if (before(local)) s_.split_by_resume[local.index()] = resume;
    };
    if (const auto* assign = std::get_if<Assign>(&st)) split(assign->local);
    if (const auto* store = std::get_if<Store>(&st);
        store != nullptr && store->memory.kind == Memory::Kind::Local)
      split(store->memory.local());
    for_each_block(st, [&](Block inner) {
      for (StmtId below : p_.items(inner)) split_assigned(below, resume, before);
    });
  }
  State& s_;
  const Program& p_;
  std::map<uint16_t, Found> traps_;
  std::map<uint16_t, StmtId> resumes_;
  std::set<uint16_t> repeated_;  // tags with two resumes: reported, and no trap can be judged
  std::vector<bool> matched_;
  std::vector<StmtId> hidden_;
  std::vector<uint64_t> seen_in_;
  uint64_t stamp_ = 0;
  bool in_fn_ = false;
};

}  // namespace

void check_traps(State& s) {
  Traps(s).run();
}

}  // namespace vyre::check
