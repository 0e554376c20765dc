// SPDX-License-Identifier: Apache-2.0
#include "generator/features.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "generator/maker.hpp"
#include "generator/reduce_tree.hpp"
#include "vyre/check/check.hpp"
#include "vyre/ir/evaluation.hpp"

namespace vyre::generator {

using namespace ir;
using check::Level;

namespace {

constexpr std::array<std::string_view, 23> kStatements = {
    "Let",   "DeclareArray", "Assign", "Store",      "Eval",   "If",      "For",      "While",
    "Break", "Continue",     "Return", "Nested",     "Region", "Barrier", "Fixpoint", "AsyncCopy",
    "Wait",  "Trap",         "Resume", "Collective", "Swap",   "Print",   "Assert"};
static_assert(kStatements.size() == std::variant_size_v<Stmt>);
// "" is Poison, which stands for what could not be read.
constexpr std::array<std::string_view, 20> kExpressions = {
    "IntLiteral", "FloatLiteral", "BoolLiteral", "LocalRef", "ConstRef",  "BuiltinRef",    "Len",
    "Load",       "Unary",        "Binary",      "Cast",     "Bitcast",   "IntrinsicCall", "Atomic",
    "Subgroup",   "UniformLoad",  "Call",        "",         "AxisIndex", "AxisLen"};
static_assert(kExpressions.size() == std::variant_size_v<Expr>);

// Shapes that the division of a program into segments has to survive, and some that are easy to get
// wrong.
constexpr std::array<std::string_view, 45> kShapes = {
    "endless loop left by return",
    "uniform loop without barrier that ends lanes",
    "variable changed in a loop with a grid barrier",
    "uniform if with a grid barrier",
    "if of a workgroup with a workgroup barrier",
    "return before a resume",
    "spans of two tags",
    "overlapping spans",
    "uniform load inside a condition of one lane",
    "while with grid_load",
    "while with workgroup_load",
    "while with grid_load and break",
    "grid_load while lanes wait",
    "fixpoint with a resume inside",
    "fixpoint that stores in a loop",
    "fixpoint in a loop",
    "fixpoint in a fixpoint",
    "loop with a grid barrier in a fixpoint",
    "store before a fixpoint",
    "unmatched trap",
    "grid barrier after an unmatched trap",
    "trap in an if of a workgroup",
    "break after a barrier",
    "continue in a loop with a barrier",
    "divergent break",
    "divergent return",
    "function with a grid barrier",
    "function called twice",
    "function that writes a buffer parameter",
    "function that calls a function",
    "copy in a loop",
    "several workgroups",
    "partial subgroup",
    "buffer without elements",
    "loop over a bound that the body changes",
    "subgroup operation in an if of a subgroup",
    "return of whole workgroups",
    "trap of whole workgroups",
    "trap of all lanes",
    "loop at the end of its type",
    "loop whose step does not fit behind its end",
    "partial subgroup of many axes",
    "store in a function that an operand may call",
    "operand that may call inside another one",
    "store under a loop in a function that an operand may call",
};

class Features {
 public:
  explicit Features(const Generated& g)
      : g_(g), checked_(check::check(g.program).program.value()), p_(checked_.program) {}

  std::set<std::string> run() {
    for (const Buffer& b : p_.buffers) {
      add("buffer {}", name_of(b.kind));
      add("element {}", name_of(b.element));
    }
    for (const Const& c : p_.consts) add("const {}", c.table ? "table" : "scalar");
    launch();
    for (const Fn& fn : p_.fns) top(fn.body, true);
    top(p_.body, false);
    for (const auto& [fn, calls] : calls_)
      if (calls > 1) shape("function called twice");
    return std::move(found_);
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    found_.insert(fmt::format(format, std::forward<Args>(args)...));
  }
  void shape(std::string_view name) { found_.insert(fmt::format("shape {}", name)); }

  void launch() {
    const uint64_t groups = uint64_t{g_.grid[0]} * g_.grid[1] * g_.grid[2];
    const uint32_t lanes = checked_.workgroup[0] * checked_.workgroup[1] * checked_.workgroup[2];
    if (groups > 1) shape("several workgroups");
    if (lanes % 4 != 0 && lanes > 4) {
      shape("partial subgroup");
      if (checked_.workgroup_axes > 1) shape("partial subgroup of many axes");
    }
    for (size_t i = 0; i < p_.buffers.size(); ++i)
      if (checked_.buffers[i].constant_count == 0U) shape("buffer without elements");
    for (const auto& input : g_.inputs)
      if (input.empty()) shape("buffer without elements");
    add("axes {}", checked_.workgroup_axes);
  }

  [[nodiscard]] Level flow(StmtId id) const { return checked_.flow_levels[id.index()]; }

  void top(Block body, bool fn) {
    in_fn_ = fn;
    Around around;
    block(body, around);
    for (const StmtId id : below(body))
      if (fn && is_grid_barrier(id)) shape("function with a grid barrier");
  }

  // All statements of a block, at any depth.
  std::vector<StmtId> below(Block body) const {
    std::vector<StmtId> all;
    const std::function<void(Block)> walk = [&](Block b) {
      for (const StmtId id : p_.items(b)) {
        all.push_back(id);
        for_each_block(p_[id], walk);
      }
    };
    walk(body);
    return all;
  }
  template <class Kind>
  bool holds(Block body) const {
    const auto all = below(body);
    return std::any_of(all.begin(), all.end(),
                       [&](StmtId id) { return std::holds_alternative<Kind>(p_[id]); });
  }
  bool is_grid_barrier(StmtId id) const {
    const auto* barrier = std::get_if<Barrier>(&p_[id]);
    return barrier != nullptr && barrier->scope == Scope::Grid;
  }
  bool has_barrier(Block body, std::optional<Scope> scope = {}) const {
    const auto all = below(body);
    return std::any_of(all.begin(), all.end(), [&](StmtId id) {
      const auto* barrier = std::get_if<Barrier>(&p_[id]);
      return barrier != nullptr && (!scope || barrier->scope == *scope);
    });
  }
  std::optional<Scope> uniform_load_in(ExprId id) const {
    std::optional<Scope> found;
    const std::function<void(ExprId)> walk = [&](ExprId e) {
      if (const auto* load = std::get_if<UniformLoad>(&p_[e])) found = load->scope;
      for_each_operand(p_, p_[e], walk);
    };
    walk(id);
    return found;
  }

  struct Around {
    bool loop = false;
    bool fixpoint = false;
    std::optional<StmtId> nearest;  // the loop that a jump leaves
    bool barrier_before = false;    // in the same list
  };

  void block(Block body, Around around) {
    const auto items = p_.items(body);
    std::map<uint16_t, size_t> open;  // first trap of a tag, by item
    bool unmatched = false;
    for (size_t i = 0; i < items.size(); ++i) {
      const Stmt& st = p_[items[i]];
      spans(items, i, open);
      if (unmatched && is_grid_barrier(items[i])) shape("grid barrier after an unmatched trap");
      if (const auto* branch = std::get_if<If>(&st))
        for (const StmtId id : below(branch->then_block))
          if (const auto* trap = std::get_if<Trap>(&p_[id]); trap && trap->tag >= 60'000)
            unmatched = true;
      if (std::holds_alternative<Fixpoint>(st) && i != 0 &&
          std::holds_alternative<Store>(p_[items[i - 1]]))
        shape("store before a fixpoint");
      statement(items[i], around);
      around.barrier_before = around.barrier_before || std::holds_alternative<Barrier>(st);
    }
  }

  void spans(std::span<const StmtId> items, size_t i, std::map<uint16_t, size_t>& open) {
    const Stmt& st = p_[items[i]];
    if (const auto* resume = std::get_if<Resume>(&st)) {
      const auto mine = open.find(resume->tag);
      for (const auto& [tag, first] : open) {
        if (tag == resume->tag || mine == open.end()) continue;
        shape("spans of two tags");
        if (first > mine->second && resumed_later(items, i, tag)) shape("overlapping spans");
      }
      if (i != 0 && std::holds_alternative<Return>(p_[items[i - 1]]))
        shape("return before a resume");
      if (mine != open.end()) open.erase(mine);
      return;
    }
    if (const auto* loop = std::get_if<While>(&st);
        !open.empty() && loop != nullptr && uniform_load_in(loop->condition) == Scope::Grid)
      shape("grid_load while lanes wait");
    if (const auto* let = std::get_if<Let>(&st);
        !open.empty() && let != nullptr && uniform_load_in(let->value) == Scope::Grid)
      shape("grid_load while lanes wait");
    const auto* branch = std::get_if<If>(&st);
    if (branch == nullptr) return;
    for (const StmtId id : below(branch->then_block))
      if (const auto* trap = std::get_if<Trap>(&p_[id]); trap != nullptr && trap->tag < 60'000)
        open.emplace(trap->tag, i);
  }
  bool resumed_later(std::span<const StmtId> items, size_t i, uint16_t tag) const {
    return std::any_of(items.begin() + static_cast<ptrdiff_t>(i) + 1, items.end(), [&](StmtId id) {
      const auto* resume = std::get_if<Resume>(&p_[id]);
      return resume != nullptr && resume->tag == tag;
    });
  }

  void loop_shapes(Block body, ExprId condition) {
    const Level inside = p_.items(body).empty() ? Level::Lane : flow(p_.items(body).front());
    if (inside == Level::Grid && !in_fn_ && holds<Return>(body) && !has_barrier(body))
      shape("uniform loop without barrier that ends lanes");
    if (has_barrier(body, Scope::Grid) && holds<Assign>(body))
      shape("variable changed in a loop with a grid barrier");
    if (holds<Fixpoint>(body)) shape("fixpoint in a loop");
    if (holds<AsyncCopy>(body)) shape("copy in a loop");
    if (!condition.valid()) return;
    if (const auto* always = std::get_if<BoolLiteral>(&p_[condition]); always && always->value)
      shape("endless loop left by return");
    const auto load = uniform_load_in(condition);
    if (load == Scope::Grid) shape("while with grid_load");
    if (load == Scope::Workgroup) shape("while with workgroup_load");
    if (load == Scope::Grid && holds<Break>(body)) shape("while with grid_load and break");
  }

  void statement(StmtId id, Around around) {
    const Stmt& st = p_[id];
    add("statement {}", kStatements[st.index()]);
    for_each_operand(p_, st, [&](ExprId e) { expression(e, id); });
    if (const auto* barrier = std::get_if<Barrier>(&st))
      add("barrier {}", name_of(barrier->scope));
    else if (const auto* collective = std::get_if<Collective>(&st))
      add("collective {}", name_of(collective->op));
    else if (const auto* trap = std::get_if<Trap>(&st))
      traps(id, *trap);
    else if (const auto* assign = std::get_if<Assign>(&st); assign && assign->op)
      add("assignment {}=", spelling_of(*assign->op));
    else if (const auto* store = std::get_if<Store>(&st))
      stores(*store);
    else if (const auto* branch = std::get_if<If>(&st))
      branches(*branch);
    else if (const auto* fix = std::get_if<Fixpoint>(&st))
      fixpoints(*fix, around);
    else if (const auto* loop = std::get_if<For>(&st)) {
      loop_shapes(loop->body, {});
      bounds(*loop);
      if (loop->step.valid())
        add("for {}", check::evaluate_constant(checked_, loop->step) ? "step" : "run-time step");
      if (loop->reversed) add("for {}", "rev");
      if (loop->unroll) add("for {}", "unroll");
    } else if (const auto* loop_while = std::get_if<While>(&st))
      loop_shapes(loop_while->body, loop_while->condition);
    jumps(id, around);
    Around inner = around;
    if (std::holds_alternative<For>(st) || std::holds_alternative<While>(st)) {
      inner.loop = true;
      inner.nearest = id;
      inner.barrier_before = false;
    }
    if (std::holds_alternative<Fixpoint>(st)) inner.fixpoint = true;
    for_each_block(st, [&](Block b) { block(b, inner); });
  }

  void traps(StmtId id, const Trap& trap) {
    if (trap.tag >= 60'000) shape("unmatched trap");
    if (trap.tag < 60'000 && flow(id) == Level::Grid) shape("trap of all lanes");
  }

  void stores(const Store& store) {
    const auto* kind = store.memory.kind == Memory::Kind::Buffer ? "buffer" : "local";
    add("store {}", kind);
    if (store.memory.kind == Memory::Kind::Local &&
        p_[store.memory.local()].kind == Local::Kind::BufferParam)
      shape("function that writes a buffer parameter");
  }

  void branches(const If& branch) {
    const auto items = p_.items(branch.then_block);
    if (items.empty()) return;
    const Level inside = flow(items.front());
    add("if of level {}", check::name_of(inside));
    if (inside == Level::Grid && has_barrier(branch.then_block, Scope::Grid))
      shape("uniform if with a grid barrier");
    if (inside == Level::Workgroup && has_barrier(branch.then_block, Scope::Workgroup))
      shape("if of a workgroup with a workgroup barrier");
    if (inside == Level::Workgroup && holds<Trap>(branch.then_block))
      shape("trap in an if of a workgroup");
    if (inside == Level::Workgroup && !in_fn_ && std::holds_alternative<Return>(p_[items.front()]))
      shape("return of whole workgroups");
    if (inside == Level::Workgroup && std::holds_alternative<Trap>(p_[items.front()]))
      shape("trap of whole workgroups");
    if (inside == Level::Lane && uniform_load_in(branch.condition))
      shape("uniform load inside a condition of one lane");
    if (inside == Level::Lane && in_fn_ && holds<Return>(branch.then_block))
      shape("divergent return");
  }

  void fixpoints(const Fixpoint& fix, const Around& around) {
    if (holds<Resume>(fix.body)) shape("fixpoint with a resume inside");
    if (around.fixpoint) shape("fixpoint in a fixpoint");
    for (const StmtId id : below(fix.body)) {
      const bool loop =
          std::holds_alternative<For>(p_[id]) || std::holds_alternative<While>(p_[id]);
      if (!loop) continue;
      for_each_block(p_[id], [&](Block b) {
        if (holds<Store>(b)) shape("fixpoint that stores in a loop");
        if (has_barrier(b, Scope::Grid)) shape("loop with a grid barrier in a fixpoint");
      });
    }
  }

  void jumps(StmtId id, const Around& around) {
    const bool leaves = std::holds_alternative<Break>(p_[id]);
    if ((!leaves && !std::holds_alternative<Continue>(p_[id])) || !around.nearest) return;
    bool barrier = false;
    for_each_block(p_[*around.nearest], [&](Block b) { barrier = barrier || has_barrier(b); });
    if (flow(id) == Level::Lane && leaves) shape("divergent break");
    if (leaves && around.barrier_before) shape("break after a barrier");
    if (!leaves && barrier) shape("continue in a loop with a barrier");
  }

  // Constant bounds near the highest value of the type.
  void extremes(const For& loop) {
    const auto last = check::evaluate_constant(checked_, loop.last);
    if (!last) return;
    const uint64_t left = highest_value(last->type) - last->bits;
    if (last->bits > highest_value(last->type) || left > 8) return;
    shape("loop at the end of its type");
    const auto step =
        loop.step.valid() ? check::evaluate_constant(checked_, loop.step) : std::nullopt;
    if (step && step->bits > left) shape("loop whose step does not fit behind its end");
  }

  void bounds(const For& loop) {
    extremes(loop);
    std::set<uint32_t> used;
    const std::function<void(ExprId)> walk = [&](ExprId e) {
      if (const auto* ref = std::get_if<LocalRef>(&p_[e])) used.insert(ref->local.value);
      for_each_operand(p_, p_[e], walk);
    };
    walk(loop.last);
    for (const StmtId id : below(loop.body))
      if (const auto* assign = std::get_if<Assign>(&p_[id]);
          assign && used.contains(assign->local.value))
        shape("loop over a bound that the body changes");
  }

  // Calls in an operand that may not be evaluated.
  void lazy(const LazyOperand& lazy) {
    const std::function<void(ExprId)> walk = [&](ExprId id) {
      if (const auto* call = std::get_if<Call>(&p_[id])) lazy_call(p_[call->fn].body);
      for_each_evaluated(p_, p_[id], walk, [&](const LazyOperand& inner) {
        if (calls(inner.operand)) shape("operand that may call inside another one");
        walk(inner.operand);
      });
    };
    walk(lazy.operand);
  }
  [[nodiscard]] bool calls(ExprId id) const {
    bool found = std::holds_alternative<Call>(p_[id]);
    for_each_operand(p_, p_[id], [&](ExprId e) { found = found || calls(e); });
    return found;
  }
  void lazy_call(Block body) {
    for (const StmtId id : below(body)) {
      const Stmt& s = p_[id];
      if (std::holds_alternative<Store>(s)) shape("store in a function that an operand may call");
      if (!std::holds_alternative<For>(s) && !std::holds_alternative<While>(s)) continue;
      for_each_block(s, [&](Block b) {
        if (holds<Store>(b)) shape("store under a loop in a function that an operand may call");
      });
    }
  }

  void expression(ExprId id, StmtId at) {
    const Expr& e = p_[id];
    if (const auto operand = lazy_operand(e)) lazy(*operand);
    add("expression {}", kExpressions[e.index()]);
    if (const auto* x = std::get_if<Unary>(&e)) add("unary {}", spelling_of(x->op));
    if (const auto* x = std::get_if<Binary>(&e)) add("operator {}", spelling_of(x->op));
    if (const auto* x = std::get_if<IntrinsicCall>(&e)) add("intrinsic {}", name_of(x->op));
    if (const auto* x = std::get_if<BuiltinRef>(&e)) add("builtin {}", name_of(x->builtin));
    if (const auto* x = std::get_if<Cast>(&e)) add("cast {}", name_of(x->type));
    if (const auto* x = std::get_if<Bitcast>(&e)) add("bitcast {}", name_of(x->type));
    if (const auto* x = std::get_if<UniformLoad>(&e)) add("load for the {}", name_of(x->scope));
    if (const auto* x = std::get_if<Subgroup>(&e)) {
      add("subgroup {}", name_of(x->op));
      if (flow(at) == Level::Subgroup) shape("subgroup operation in an if of a subgroup");
    }
    if (const auto* x = std::get_if<Atomic>(&e)) {
      const BufferId buffer = x->memory.buffer();
      const bool shared = buffer.valid() && p_[buffer].kind == BufferKind::Shared;
      add("atomic {} {}", name_of(x->op), shared ? "shared" : "buffer");
      add("order {}", name_of(x->order));
      const auto value = checked_.expr_types[id.index()];
      if (value) add("atomic on {}", name_of(*value));
      if (value == Type::F32) add("f32 {}", name_of(x->op));
      if (buffer.valid() && p_[buffer].element != value && x->op != AtomicOp::Store)
        add("atomic on {}", name_of(p_[buffer].element));
    }
    if (const auto* x = std::get_if<Call>(&e)) {
      ++calls_[x->fn.value];
      if (in_fn_) shape("function that calls a function");
    }
    if (const auto type = checked_.expr_types[id.index()]) add("value {}", name_of(*type));
    for_each_operand(p_, e, [&](ExprId operand) { expression(operand, at); });
  }

  const Generated& g_;
  check::CheckedProgram checked_;
  const Program& p_;
  std::set<std::string> found_;
  std::map<uint32_t, uint64_t> calls_;
  bool in_fn_ = false;
};

}  // namespace

std::set<std::string> features_of(const Generated& generated) {
  return Features(generated).run();
}

std::vector<std::string> all_features() {
  std::vector<std::string> all;
  const auto add = [&](std::string_view group, std::string_view name) {
    all.push_back(fmt::format("{} {}", group, name));
  };
  // Prints are added on request (add_prints), and asserts of random values would end most programs.
  for (const auto name : kStatements)
    if (name != "Print" && name != "Assert") add("statement", name);
  for (const auto name : kExpressions)
    if (!name.empty()) add("expression", name);
  for (const auto name : kShapes) add("shape", name);
  for (int i = 0; i < 3; ++i) add("unary", spelling_of(static_cast<UnaryOp>(i)));
  for (int i = 0; i <= static_cast<int>(BinaryOp::Rem); ++i) {
    add("operator", spelling_of(static_cast<BinaryOp>(i)));
    if (i >= static_cast<int>(BinaryOp::Or))
      all.push_back(fmt::format("assignment {}=", spelling_of(static_cast<BinaryOp>(i))));
  }
  for (int i = 0; i < kIntrinsicCount; ++i) add("intrinsic", name_of(static_cast<Intrinsic>(i)));
  for (int i = 0; i < kAtomicCount; ++i)
    for (const auto* where : {"shared", "buffer"})
      all.push_back(fmt::format("atomic {} {}", name_of(static_cast<AtomicOp>(i)), where));
  for (const Type type : {Type::U32, Type::I32, Type::U64, Type::I64, Type::F32, Type::F64,
                          Type::U8, Type::I8, Type::U16, Type::I16})
    all.push_back(fmt::format("atomic on {}", name_of(type)));
  for (const auto* kind : {"step", "run-time step", "rev", "unroll"}) add("for", kind);
  for (const AtomicOp op :
       {AtomicOp::Add, AtomicOp::Min, AtomicOp::Max, AtomicOp::Exchange, AtomicOp::Load})
    add("f32", name_of(op));
  for (int i = 0; i < 4; ++i) add("order", name_of(static_cast<MemoryOrder>(i)));
  for (int i = 0; i < kSubgroupOpCount; ++i) add("subgroup", name_of(static_cast<SubgroupOp>(i)));
  for (int i = 0; i < kBuiltinCount; ++i) add("builtin", name_of(static_cast<Builtin>(i)));
  for (int i = 0; i < kBufferKindCount; ++i) add("buffer", name_of(static_cast<BufferKind>(i)));
  for (int i = 0; i < kTypeCount; ++i) {
    const Type type = static_cast<Type>(i);
    add("element", name_of(type));
    if (is_storage(type)) continue;
    add("value", name_of(type));
    add("cast", name_of(type));
    if (type != Type::Bool) add("bitcast", name_of(type));
  }
  for (int i = 0; i < 3; ++i) add("barrier", name_of(static_cast<Scope>(i)));
  for (int i = 0; i < 4; ++i) add("collective", name_of(static_cast<CollectiveOp>(i)));
  for (const auto level : {Level::Grid, Level::Workgroup, Level::Subgroup, Level::Lane})
    add("if of level", check::name_of(level));
  for (const auto* name :
       {"load for the grid", "load for the workgroup", "const table", "const scalar", "for step",
        "for unroll", "store buffer", "store local", "axes 1", "axes 2", "axes 3"})
    all.emplace_back(name);
  return all;
}

}  // namespace vyre::generator
