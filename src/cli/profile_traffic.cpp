// SPDX-License-Identifier: Apache-2.0
// Goes through the program once, in order, with the guards that a lane has passed on its way
// (check/lane_values.hpp). How many lanes certainly pass them is a product over the axes of the
// grid; how often the loops around certainly repeat is a product as well.
#include "cli/profile_traffic.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/match.hpp"
#include "check/lane_values.hpp"
#include "ir/properties.hpp"

namespace vyre::cli {

using namespace ir;
using check::cover::Form;
using check::cover::Guard;
using check::cover::Wide;

namespace {

// Numbers of executions; they are cut off rather than overflow.
using Count = uint64_t;
constexpr Count kMost = Count{1} << 62;

Count times(Count a, Count b) {
  Count product = 0;
  return __builtin_mul_overflow(a, b, &product) || product > kMost ? kMost : product;
}

// Integers from first to before last.
struct Interval {
  Wide first = 0;
  Wide last = 0;
  [[nodiscard]] Wide length() const { return std::max<Wide>(last - first, 0); }
};

Wide floor_div(Wide a, Wide b) {
  const Wide q = a / b;
  return q - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

// The values of one unknown for which factor * x + offset lies between low and high.
void narrow(Interval& interval, Wide factor, const Guard& guard) {
  Wide low = guard.low - guard.form.offset;
  Wide high = guard.high - guard.form.offset;
  if (factor < 0) {
    std::swap(low, high);
    low = -low;
    high = -high;
    factor = -factor;
  }
  interval.first = std::max(interval.first, -floor_div(-low, factor));
  interval.last = std::min(interval.last, floor_div(high, factor) + 1);
}

// A way out of the loop with this body that is not its end.
bool leaves_loop(const Program& p, Block body, bool inner = false) {
  return std::ranges::any_of(p.items(body), [&](StmtId id) {
    const StmtProperties row = properties_of(p[id]);
    if (row.may_end_lane) return true;
    if (row.exit != Exit::None) return !inner;
    bool found = false;
    for_each_block(p[id],
                   [&](Block b) { found = found || leaves_loop(p, b, inner || row.is_loop); });
    return found;
  });
}

bool always_leaves(const Program& p, Block block) {
  return std::ranges::any_of(p.items(block), [&](StmtId id) {
    const Stmt& s = p[id];
    if (std::holds_alternative<Return>(s)) return true;
    if (const auto* x = std::get_if<Nested>(&s)) return always_leaves(p, x->body);
    if (const auto* x = std::get_if<Region>(&s)) return always_leaves(p, x->body);
    return false;
  });
}

// The ids of a lane and the iterations of the loops around, each with its range.
using Box = std::vector<Interval>;

// Whether the form lies inside the guard wherever in the box it is.
bool always_passes(const Guard& guard, const Box& box) {
  Wide low = guard.form.offset;
  Wide high = guard.form.offset;
  for (size_t u = 0; u < guard.form.factors.size(); ++u) {
    const Wide factor = guard.form.factors[u];
    if (factor == 0) continue;
    if (u >= box.size() || box[u].length() == 0) return false;
    const Wide a = factor * box[u].first;
    const Wide b = factor * (box[u].last - 1);
    low += std::min(a, b);
    high += std::max(a, b);
  }
  return guard.low <= low && high <= guard.high;
}

class Walk {
 public:
  Walk(const check::CheckedProgram& checked, const check::Launch& launch,
       std::span<const std::span<const std::byte>> given)
      : c_(checked), p_(checked.program), launch_(launch), values_(checked, launch, given) {
    traffic_.lanes = times(launch.workgroups(), launch.lanes_per_workgroup());
    box_.resize(check::cover::kFirstIteration);
    for (uint32_t axis = 0; axis < 3; ++axis) {
      const Wide size = launch.workgroup[axis];
      const Wide groups = launch.grid[axis];
      box_[check::cover::kGid + axis] = {0, size * groups};
      box_[check::cover::kLid + axis] = {0, size};
      box_[check::cover::kWid + axis] = {0, groups};
    }
  }

  Traffic run() {
    block(p_.body);
    if (left_ == 0) traffic_.exact = false;
    return traffic_;
  }

 private:
  // What is enough for any program that is worth it, so that no report waits long.
  static constexpr uint32_t kMostStatements = 20'000;

  // ---- lanes

  // Lanes that certainly pass all guards: as many as the box has that the guards leave. A guard on
  // several ids, or on both the lane's and the workgroup's, is one that nobody passes for certain.
  [[nodiscard]] Count passing() const {
    using namespace check::cover;
    if (!certain_) return 0;
    Box box = box_;
    for (const Guard& guard : values_.guards) {
      if (always_passes(guard, box_)) continue;
      std::optional<uint32_t> only;
      for (uint32_t u = 0; u < guard.form.factors.size(); ++u) {
        if (guard.form.factors[u] == 0) continue;
        if (only || u >= kFirstIteration) return 0;
        only = u;
      }
      if (!only) return 0;
      narrow(box[*only], guard.form.factor(*only), guard);
    }
    Count lanes = 1;
    for (uint32_t axis = 0; axis < 3; ++axis) {
      const auto length = [&](uint32_t first) { return box[first + axis].length(); };
      const auto whole = [&](uint32_t first) { return box_[first + axis].length(); };
      const bool parts = length(kLid) != whole(kLid) || length(kWid) != whole(kWid);
      if (parts && length(kGid) != whole(kGid)) return 0;
      const Wide count = parts ? length(kLid) * length(kWid) : length(kGid);
      lanes = times(lanes, static_cast<Count>(std::min<Wide>(count, kMost)));
    }
    return lanes;
  }

  // Lanes that also have the number there; they are left as they were.
  [[nodiscard]] Count passing_with(const Form& form, Wide low, Wide high) {
    values_.guards.push_back({form, low, high});
    const Count lanes = passing();
    values_.guards.pop_back();
    return lanes;
  }

  // Lanes that come here and stay inside the buffer; `known`: there are no others.
  Count inside_buffer(BufferId buffer, ExprId index, bool& known) {
    const size_t guards = values_.guards.size();
    const Count all = passing();
    const auto form = values_.value(index);
    Count lanes = 0;
    known = false;
    if (form) {
      const Wide count = launch_.counts[buffer.index()];
      lanes = passing_with(*form, 0, count - 1);
      const Count others = passing_with(*form, count, check::cover::kHuge) +
                           passing_with(*form, -check::cover::kHuge, -1);
      known = lanes + others == all;
    }
    values_.guards.resize(guards);
    return lanes;
  }

  struct Reach {
    Memory memory;
    ExprId index;
    bool proved = false;
    Count times = 1;  // 2: read and written
  };
  void access(const Reach& a) {
    const BufferId buffer = values_.resolve(a.memory);
    if (!buffer.valid()) {
      // A table, a private array, or a parameter whose buffer is not known.
      const bool parameter = a.memory.kind == Memory::Kind::Local &&
                             p_[a.memory.local()].kind == Local::Kind::BufferParam;
      if (parameter) traffic_.exact = false;
      return;
    }
    if (p_[buffer].kind == BufferKind::Shared) return;
    bool known = a.proved;
    const Count lanes = repeats_ == 0 ? 0
                        : a.proved    ? passing()
                                      : inside_buffer(buffer, a.index, known);
    const Count each = times(bytes_of(p_[buffer].element), a.times);
    traffic_.at_least = std::min(kMost, traffic_.at_least + times(times(lanes, repeats_), each));
    traffic_.active_lanes = std::max(traffic_.active_lanes, lanes);
    if (!known || !certain_ || !exact_) traffic_.exact = false;
  }

  // ---- expressions

  void visit(ExprId id) {
    const Expr& e = p_[id];
    for_each_evaluated(
        p_, e, [&](ExprId operand) { visit(operand); },
        [&](const LazyOperand& lazy) {
          under(lazy.condition, lazy.truth, [&] { visit(lazy.operand); });
        });
    if (const auto* x = std::get_if<Call>(&e)) return call(*x);
    const auto* atomic = std::get_if<Atomic>(&e);
    const bool changes =
        atomic != nullptr && atomic->op != AtomicOp::Load && atomic->op != AtomicOp::Store;
    for_each_memory(p_, e, [&](const MemoryUse& use) {
      if (use.access != Access::Length)
        access({use.memory, use.index, c_.expr_proofs[id.index()] >= 0, changes ? 2U : 1U});
    });
  }

  void call(const Call& e) {
    if (left_ == 0) return;
    const Fn& fn = p_[e.fn];
    const auto params = p_.params(fn.params);
    const auto arguments = p_.arguments(e.args);
    std::vector<std::optional<Form>> values;
    std::vector<BufferId> memories;
    for (const Arg& arg : arguments) {
      const auto* x = std::get_if<ExprId>(&arg);
      values.push_back(x != nullptr ? values_.value(*x) : std::nullopt);
      memories.push_back(x != nullptr ? BufferId{} : values_.resolve(std::get<Memory>(arg)));
    }
    for (size_t i = 0; i < params.size() && i < values.size(); ++i) {
      values_.define(params[i], std::move(values[i]));
      values_.define(params[i], memories[i]);
    }
    const uint32_t left_before = left_lanes_;
    const uint32_t traps_before = traps_;
    inside([&] { block(fn.body); });
    left_lanes_ = left_before;  // who leaves the function goes on behind the call
    if (traps_ == traps_before) return;
    ++left_lanes_;
    certain_ = false;
  }

  // ---- statements

  // Guards and what is certain are at the end what they were.
  template <class Body>
  void inside(const Body& body) {
    const size_t guards = values_.guards.size();
    const bool certain = certain_;
    const bool exact = exact_;
    const Count repeats = repeats_;
    body();
    values_.guards.resize(guards);
    certain_ = certain;
    exact_ = exact;
    repeats_ = repeats;
  }

  // Whether it is known for every lane that is here what the condition is: of a comparison, the two
  // sides together have all of them.
  bool understood(ExprId condition) {
    const Expr& e = p_[condition];
    if (const auto* x = std::get_if<Unary>(&e); x != nullptr && x->op == UnaryOp::Not)
      return understood(x->operand);
    if (const auto* x = std::get_if<Binary>(&e); x != nullptr && is_lazy(x->op)) {
      if (!understood(x->left)) return false;
      bool right = false;
      inside([&] {
        values_.assume(x->left, x->op == BinaryOp::LogicalAnd);
        right = understood(x->right);
      });
      return right;
    }
    const Count before = passing();
    Count sides = 0;
    for (const bool truth : {false, true})
      inside([&] {
        values_.assume(condition, truth);
        sides += passing();
      });
    return sides == before;
  }
  // Whether the lanes of that side are a conjunction of guards.
  bool is_conjunction(ExprId condition, bool truth) {
    const Expr& e = p_[condition];
    if (const auto* x = std::get_if<Unary>(&e); x != nullptr && x->op == UnaryOp::Not)
      return is_conjunction(x->operand, !truth);
    if (const auto* x = std::get_if<Binary>(&e); x != nullptr && is_lazy(x->op))
      return truth == (x->op == BinaryOp::LogicalAnd) && is_conjunction(x->left, truth) &&
             is_conjunction(x->right, truth);
    return true;
  }

  // Lanes for which the condition is something else stay behind.
  void go_on(ExprId condition, bool truth) {
    if (!is_conjunction(condition, truth) || !understood(condition)) exact_ = false;
    values_.assume(condition, truth);
  }

  template <class Body>
  void under(ExprId condition, bool truth, const Body& body) {
    inside([&] {
      go_on(condition, truth);
      body();
    });
  }

  void block(Block b) {
    for (const StmtId id : p_.items(b)) statement(id);
  }

  void statement(StmtId id) {
    if (left_ == 0) return;
    --left_;
    const Stmt& s = p_[id];
    // A run that is profiled prints nothing and tests no assert: there is no code for them.
    const bool own_operands = std::holds_alternative<While>(s) ||
                              std::holds_alternative<Print>(s) || std::holds_alternative<Assert>(s);
    if (!own_operands) for_each_operand(p_, s, [&](ExprId e) { visit(e); });
    match(
        s, [&](const Let& x) { values_.define(x); }, [](const DeclareArray&) {},
        [](const Assign&) {},
        [&](const Store& x) {
          access({x.memory, x.index, c_.stmt_proofs[id.index()] >= 0, x.op ? 2U : 1U});
        },
        [](const Eval&) {}, [&](const If& x) { branch(x); }, [&](const For& x) { loop(x); },
        [&](const While& x) {
          visit(x.condition);  // once at least
          some_times(x.body, 0);
        },
        [](const Break&) {}, [](const Continue&) {}, [&](const Return&) { leave(); },
        [&](const Nested& x) { block(x.body); }, [&](const Region& x) { block(x.body); },
        [](const Barrier&) {}, [&](const Fixpoint& x) { some_times(x.body, 1); },
        [&](const AsyncCopy&) { traffic_.exact = false; }, [](const Wait&) {},
        [&](const Trap&) {
          leave();
          ++traps_;
        },
        [](const Resume&) {}, [&](const Collective&) { traffic_.exact = false; },
        [](const Swap&) {}, [](const Print&) {}, [](const Assert&) {});
  }

  // Nobody comes to what stands behind it.
  void leave() {
    ++left_lanes_;
    certain_ = false;
  }

  void branch(const If& x) {
    const auto leaves = [&](Block b, bool truth) {
      const uint32_t before = left_lanes_;
      under(x.condition, truth, [&] { block(b); });
      return left_lanes_ != before;
    };
    const bool then_left = leaves(x.then_block, true);
    const bool else_left = leaves(x.else_block, false);
    if (!then_left && !else_left) return;
    // Who goes on: to say it, all lanes of one side and none of the other must have left.
    if (then_left && !else_left && always_leaves(p_, x.then_block))
      go_on(x.condition, false);
    else if (else_left && !then_left && always_leaves(p_, x.else_block))
      go_on(x.condition, true);
    else
      certain_ = false;
  }

  void loop(const For& x) {
    const auto first = values_.value(x.first);
    const auto last = values_.value(x.last);
    const auto step = x.step.valid() ? values_.value(x.step) : Form::of(1);
    const bool counted = first && last && last->constant() && step && step->constant() &&
                         step->offset > 0 && !leaves_loop(p_, x.body);
    if (!counted) {
      some_times(x.body, 0, x.variable);
      // A step that is not positive is a trap.
      if (!step || !step->constant() || step->offset <= 0) leave();
      return;
    }
    // The lane that begins last has the fewest iterations, the one that begins first the most.
    Interval begin{first->offset, first->offset};
    for (size_t u = 0; u < first->factors.size(); ++u) {
      const Wide factor = first->factors[u];
      if (u >= box_.size() || box_[u].length() == 0) return some_times(x.body, 0, x.variable);
      begin.first += std::min(factor * box_[u].first, factor * (box_[u].last - 1));
      begin.last += std::max(factor * box_[u].first, factor * (box_[u].last - 1));
    }
    const auto iterations = [&](Wide from) {
      return std::max<Wide>(0, floor_div(last->offset - from + step->offset - 1, step->offset));
    };
    const Wide fewest = iterations(begin.last);
    inside([&] {
      repeats_ = times(repeats_, static_cast<Count>(std::min<Wide>(fewest, kMost)));
      exact_ = exact_ && fewest == iterations(begin.first);
      box_.push_back({0, iterations(begin.first)});
      const auto unknown = static_cast<uint32_t>(box_.size() - 1);
      values_.define(x.variable,
                     check::cover::add(*first, Form::of_unknown(unknown), step->offset));
      if (iterations(begin.first) > 0) block(x.body);
      box_.pop_back();
    });
  }

  // At least so often, and nobody knows how often.
  void some_times(Block body, Count least, LocalId variable = {}) {
    const uint32_t before = left_lanes_;
    inside([&] {
      repeats_ = times(repeats_, least);
      exact_ = false;
      if (variable.valid()) values_.define(variable, std::optional<Form>());
      block(body);
    });
    if (left_lanes_ != before) certain_ = false;
  }

  const check::CheckedProgram& c_;
  const Program& p_;
  const check::Launch& launch_;
  check::LaneValues values_;
  Traffic traffic_;
  Box box_;
  Count repeats_ = 1;        // of the loops around, at least
  bool exact_ = true;        // what is around was understood
  bool certain_ = true;      // all lanes that pass the guards come along
  uint32_t left_lanes_ = 0;  // statements seen so far at which lanes leave
  uint32_t traps_ = 0;       // those of them that are traps
  uint32_t left_ = kMostStatements;
};

}  // namespace

Traffic traffic_of(const check::CheckedProgram& program, const check::Launch& launch,
                   std::span<const std::span<const std::byte>> given) {
  return Walk(program, launch, given).run();
}

}  // namespace vyre::cli
