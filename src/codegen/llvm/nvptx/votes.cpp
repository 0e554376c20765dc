// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/nvptx/votes.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace vyre::codegen {

using namespace ir;

// Words of a barrier come in threes that rotate; an index is the number of the first, or that
// plus a round. A three is a vote if all that is done to it is to store 1, to store 0, and to load
// it where the last barrier of the grid stands before it in the same block.
class Votes::Finder {
 public:
  Finder(const Program& program, BufferId words) : p_(program), words_(words) {}

  void run(Votes& votes) {
    for (const Expr& e : p_.exprs)
      if (const auto* call = std::get_if<Call>(&e))
        for (const Arg& arg : p_.arguments(call->args))
          if (const auto* memory = std::get_if<Memory>(&arg); memory != nullptr && is_ours(*memory))
            return;
    block(p_.body);
    for (const Fn& fn : p_.fns) block(fn.body);
    if (lost_) return;
    for (const auto& [first, three] : threes_)
      if (fits(three, votes)) add(three, votes);
  }

 private:
  struct Three {
    bool lost = false;
    std::vector<StmtId> casts, clears;
    std::vector<ExprId> loads;
    std::set<uint32_t> barriers;
  };

  [[nodiscard]] bool is_ours(Memory memory) const {
    return memory.kind == Memory::Kind::Buffer && memory.buffer() == words_;
  }
  [[nodiscard]] std::optional<uint64_t> number(ExprId id) const {
    const auto* literal = std::get_if<IntLiteral>(&p_[id]);
    return literal == nullptr || literal->negative ? std::nullopt
                                                   : std::optional(literal->magnitude);
  }
  Three* three(ExprId index) {
    auto first = number(index);
    if (const auto* sum = std::get_if<Binary>(&p_[index]); sum != nullptr) {
      if (sum->op == BinaryOp::Add) first = number(sum->left);
    }
    lost_ = lost_ || !first;
    return first ? &threes_[*first] : nullptr;
  }

  static bool fits(const Three& three, const Votes& votes) {
    if (three.lost || three.loads.empty() || three.casts.empty()) return false;
    return std::ranges::all_of(three.barriers, [&](uint32_t barrier) {
      return votes.at(StmtId{barrier}).size() < kMostAtOnce;
    });
  }
  static void add(const Three& three, Votes& votes) {
    const uint32_t vote = votes.count_++;
    for (const StmtId id : three.casts) votes.steps_[id.value] = {true, vote};
    for (const StmtId id : three.clears) votes.steps_[id.value] = {false, vote};
    for (const ExprId id : three.loads) votes.outcomes_[id.value] = vote;
    for (const uint32_t id : three.barriers) {
      std::vector<uint32_t>& there = votes.barriers_[id];
      there.push_back(vote);
      votes.most_at_once_ = std::max(votes.most_at_once_, static_cast<uint32_t>(there.size()));
    }
  }

  // ---- statements

  // Whether a barrier of the grid stands in it.
  [[nodiscard]] bool synchronises(StmtId id) const {
    const auto* barrier = std::get_if<Barrier>(&p_[id]);
    bool found = barrier != nullptr && barrier->scope == Scope::Grid;
    for_each_block(p_[id], [&](Block b) {
      for (const StmtId inner : p_.items(b)) found = found || synchronises(inner);
    });
    for_each_operand(p_, p_[id], [&](ExprId e) { found = found || synchronises(e); });
    return found;
  }
  [[nodiscard]] bool synchronises(ExprId id) const {
    const auto* load = std::get_if<UniformLoad>(&p_[id]);
    bool found = load != nullptr && load->scope == Scope::Grid;
    for_each_operand(p_, p_[id], [&](ExprId e) { found = found || synchronises(e); });
    return found;
  }

  void block(Block b) {
    StmtId barrier;
    for (const StmtId id : p_.items(b)) {
      if (const auto* here = std::get_if<Barrier>(&p_[id]);
          here != nullptr && here->scope == Scope::Grid) {
        barrier = id;
        continue;
      }
      statement(id, barrier);
      if (synchronises(id)) barrier = {};
    }
  }

  // What is stored there, if that is all the statement does.
  std::optional<uint64_t> stored(StmtId id, Three*& to) {
    const auto* eval = std::get_if<Eval>(&p_[id]);
    const auto* atomic = eval != nullptr ? std::get_if<Atomic>(&p_[eval->value]) : nullptr;
    if (atomic == nullptr || !is_ours(atomic->memory)) return std::nullopt;
    to = three(atomic->index);
    if (atomic->op != AtomicOp::Store || atomic->order != MemoryOrder::Relaxed) return std::nullopt;
    return number(atomic->args[0]);
  }

  // `if word == 0 { word = 1; }`
  bool tests_first(StmtId id) {
    const auto* test = std::get_if<If>(&p_[id]);
    if (test == nullptr || !test->else_block.empty() || test->then_block.count != 1) return false;
    const auto* equal = std::get_if<Binary>(&p_[test->condition]);
    if (equal == nullptr || equal->op != BinaryOp::Eq || number(equal->right) != 0) return false;
    const auto* load = std::get_if<Load>(&p_[equal->left]);
    if (load == nullptr || !is_ours(load->memory)) return false;
    Three* to = nullptr;
    if (stored(p_.items(test->then_block)[0], to) != 1 || to == nullptr || to != three(load->index))
      return false;
    to->casts.push_back(id);
    return true;
  }

  // `barrier`: the last one, if it stands before the statement in its block.
  void statement(StmtId id, StmtId barrier) {
    if (tests_first(id)) return;
    Three* to = nullptr;
    if (const auto what = stored(id, to); what && *what <= 1 && to != nullptr) {
      (*what == 1 ? to->casts : to->clears).push_back(id);
      return;
    }
    if (const auto* store = std::get_if<Store>(&p_[id])) lost_ = lost_ || is_ours(store->memory);
    // Conditions are evaluated again after barriers of the loop.
    if (std::holds_alternative<While>(p_[id])) barrier = {};
    for_each_operand(p_, p_[id], [&](ExprId e) { expression(e, barrier); });
    for_each_block(p_[id], [&](Block b) { block(b); });
  }

  void expression(ExprId id, StmtId barrier) {
    if (const auto* load = std::get_if<Load>(&p_[id]); load != nullptr && is_ours(load->memory)) {
      if (Three* const from = three(load->index)) {
        from->loads.push_back(id);
        from->lost = from->lost || !barrier.valid();
        if (barrier.valid()) from->barriers.insert(barrier.value);
      }
    } else if (const auto* atomic = std::get_if<Atomic>(&p_[id]);
               atomic != nullptr && is_ours(atomic->memory)) {
      if (Three* const at = three(atomic->index)) at->lost = true;
    } else if (const auto* wait = std::get_if<UniformLoad>(&p_[id]);
               wait != nullptr && is_ours(wait->memory)) {
      lost_ = true;
    }
    for_each_operand(p_, p_[id], [&](ExprId e) { expression(e, barrier); });
  }

  const Program& p_;
  const BufferId words_;
  std::map<uint64_t, Three> threes_;  // by number of the first word
  bool lost_ = false;                 // at an unknown place
};

Votes::Votes(const plan::Plan& plan, const plan::Segment& segment) {
  if (!segment.barriers_inside) return;
  for (uint32_t i = 0; i < segment.arguments.size(); ++i) {
    const plan::Argument& argument = segment.arguments[i];
    if (argument.kind != plan::Argument::Kind::Source && argument.index < plan.hidden.size() &&
        plan.hidden[argument.index].kind == plan::Hidden::Kind::Votes)
      Finder(segment.program.program, BufferId{i}).run(*this);
  }
}

}  // namespace vyre::codegen
