// SPDX-License-Identifier: Apache-2.0
#include "codegen/cost.hpp"

#include <limits>
#include <optional>
#include <vector>

#include "base/stop.hpp"
#include "ir/maths.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

uint64_t add(uint64_t a, uint64_t b) {
  return a > kMost - b ? kMost : a + b;
}
// What a node makes LLVM do for the host, measured; 12 units are about a millisecond in programs of
// a few thousand, and more in larger ones.
constexpr uint64_t kNode = 2;        // an operation on the registers of a block of lanes
constexpr uint64_t kAccess = 40;     // bounds, masks, gathers and scatters
constexpr uint64_t kByLane = 20;     // a loop over lanes: atomics, subgroups
constexpr uint64_t kDivision = 240;  // one lane after the other, written out
constexpr uint64_t kFunction = 150;  // a maths function, which is some thirty operations
constexpr uint64_t kBranch = 30;     // masks and blocks
constexpr uint64_t kLoop = 75;       // and a second body for what bounds checks leave
constexpr uint64_t kDeep = 16;       // loops in loops: LLVM visits each from each around it
constexpr uint64_t kBarrier = 20;    // the end of a phase

class Segment {
 public:
  explicit Segment(const Program& p) : p_(p), fns_(p.fns.size()) {}

  uint64_t run() { return block(p_.body); }

 private:
  uint64_t block(Block b) {
    uint64_t sum = 0;
    for (const StmtId id : p_.items(b)) sum = add(sum, stmt(id));
    return sum;
  }

  uint64_t stmt(StmtId id) {
    poll_stop();
    const Stmt& s = p_[id];
    uint64_t sum = kNode;
    const StmtProperties row = properties_of(s);
    if (row.synchronises) sum = kBarrier;
    if (std::holds_alternative<Store>(s)) sum = kAccess;
    if (std::holds_alternative<If>(s) || std::holds_alternative<Trap>(s)) sum = kBranch;
    for_each_operand(p_, s, [&](ExprId e) { sum = add(sum, expr(e)); });
    depth_ += row.is_loop ? 1 : 0;
    if (row.is_loop) sum = add(sum, kLoop + kLoop * depth_ * depth_ / kDeep);
    for_each_block(s, [&](Block b) { sum = add(sum, block(b)); });
    depth_ -= row.is_loop ? 1 : 0;
    return sum;
  }

  uint64_t expr(ExprId id) {
    const Expr& e = p_[id];
    uint64_t sum = kNode;
    if (std::holds_alternative<Load>(e)) sum = kAccess;
    if (std::holds_alternative<Atomic>(e) || std::holds_alternative<Subgroup>(e)) sum = kByLane;
    if (std::holds_alternative<UniformLoad>(e)) sum = 2 * kBarrier;
    if (const auto* call = std::get_if<IntrinsicCall>(&e); call != nullptr && is_maths(call->op))
      sum = kFunction;
    if (const auto* binary = std::get_if<Binary>(&e);
        binary != nullptr && (binary->op == BinaryOp::Div || binary->op == BinaryOp::Rem))
      sum = kDivision;
    if (const auto* call = std::get_if<Call>(&e)) sum = add(sum, function(call->fn));
    for_each_operand(p_, e, [&](ExprId operand) { sum = add(sum, expr(operand)); });
    return sum;
  }

  // Once, at the depth of the first call: functions do not call themselves.
  uint64_t function(FnId id) {
    std::optional<uint64_t>& known = fns_[id.index()];
    if (!known) {
      const uint64_t cost = block(p_[id].body);
      fns_[id.index()] = cost;
      return cost;
    }
    return *known;
  }

  const Program& p_;
  std::vector<std::optional<uint64_t>> fns_;
  uint64_t depth_ = 0;  // of loops
};

}  // namespace

uint64_t compile_cost(const plan::Plan& plan) {
  uint64_t sum = 0;
  for (const plan::Segment& segment : plan.segments)
    sum = add(sum, Segment(segment.program.program).run());
  return sum;
}

}  // namespace vyre::codegen
