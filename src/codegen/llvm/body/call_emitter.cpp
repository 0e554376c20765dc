// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/call_emitter.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "codegen/llvm/body/emitters.hpp"
#include "codegen/llvm/body/maths_functions.hpp"
#include "ir/maths.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// Locals that a function speaks of.
class LocalRange {
 public:
  LocalRange(const Program& p, FnId fn) : p_(p) {
    for (const LocalId param : p.params(p[fn].params)) note(param.value);
    visit(p[fn].body);
  }
  [[nodiscard]] std::pair<size_t, size_t> range() const {
    return first_ > last_ ? std::pair<size_t, size_t>{0, 0}
                          : std::pair<size_t, size_t>{first_, last_ - first_ + 1};
  }

 private:
  void note(uint32_t local) {
    first_ = std::min<size_t>(first_, local);
    last_ = std::max<size_t>(last_, local);
  }
  void note(Memory m) {
    if (m.kind == Memory::Kind::Local) note(m.index);
  }
  void visit(Block block) {
    for (const StmtId id : p_.items(block)) {
      const Stmt& s = p_[id];
      for_each_local(s, [&](LocalId local, LocalAccess) { note(local.value); });
      for_each_memory(p_, s, [&](const MemoryUse& use) { note(use.memory); });
      for_each_operand(p_, s, [&](ExprId e) { visit(e); });
      for_each_block(s, [&](Block b) { visit(b); });
    }
  }
  void visit(ExprId id) {
    const Expr& e = p_[id];
    for_each_local(e, [&](LocalId local, LocalAccess) { note(local.value); });
    for_each_memory(p_, e, [&](const MemoryUse& use) { note(use.memory); });
    for_each_operand(p_, e, [&](ExprId operand) { visit(operand); });
  }

  const Program& p_;
  size_t first_ = ~size_t{0};
  size_t last_ = 0;
};

}  // namespace

Slots CallEmitter::slots_of(const check::CheckedProgram& program, FnId fn) {
  const auto [it, fresh] = fn_locals_.try_emplace({&program, fn.value});
  if (fresh) it->second = LocalRange(program.program, fn).range();
  return {it->second.first, it->second.second};
}

Val CallEmitter::call(const Call& e) {
  if (x_.in_program() && x_.options.size != nullptr && !x_.options.size->called.empty() &&
      x_.options.size->called[e.fn.index()])
    return call_function(e);
  Frame inner;
  inner.c = x_.frame().c;
  inner.d = x_.frame().d;
  inner.slots = slots_of(*x_.frame().c, e.fn);
  const auto params = x_.p().params(x_.p()[e.fn].params);
  const auto args = x_.p().arguments(e.args);
  for (size_t k = 0; k < args.size(); ++k) {
    Slot& slot = inner.slots[params[k].index()];
    if (const ExprId* v = std::get_if<ExprId>(&args[k]))
      slot.value = e_.values.value(*v);
    else {
      const Memory m = std::get<Memory>(args[k]);
      slot.memory = e_.memory.memory(m);
      if (m.kind != Memory::Kind::Local) slot.memory->argument = argument_number(m);
    }
  }
  if (x_.terminated()) return {};
  return inline_body(std::move(inner), e.fn);
}

Val CallEmitter::inline_body(Frame inner, FnId fn) {
  const Fn& f = inner.c->program[fn];
  inner.fn = fn;
  inner.divergent = x_.wide() && inner.d->diverges(fn);
  inner.exit = x_.new_block("returned");
  if (f.result) {
    // A call for nothing but its value has one, also when no lane makes it.
    inner.result_varies = x_.wide() && inner.d->result_varies(fn);
    llvm::Type* const type = x_.shaped(*f.result, inner.result_varies);
    inner.result = x_.new_variable(type);
    b_.CreateStore(llvm::Constant::getNullValue(type), inner.result);
  }
  if (inner.divergent) {
    inner.returned = x_.new_variable(x_.vector(b_.getInt1Ty()));
    b_.CreateStore(x_.no_lanes(), inner.returned);
    ++x_.divergence_depth;
  }
  inner.divergence_depth = x_.divergence_depth;
  llvm::Value* const before = x_.mask;
  llvm::BasicBlock* const exit = inner.exit;
  const bool divergent = inner.divergent;
  const uint64_t trip_count = x_.trip_count;
  const ConditionFacts facts = std::exchange(x_.facts, {});
  x_.frames.push_back(std::move(inner));
  e_.statements.emit_block(f.body);
  x_.branch_to(exit);
  b_.SetInsertPoint(exit);
  x_.trip_count = trip_count;
  x_.facts = facts;
  if (divergent) --x_.divergence_depth;
  x_.mask = before;
  if (x_.wide() && e_.masks.can_end(f.body)) e_.masks.resume_live(before);
  Val result;
  if (f.result) {
    result.varying = x_.frame().result_varies;
    result.v = b_.CreateLoad(x_.shaped(*f.result, result.varying), x_.frame().result);
  }
  x_.frames.pop_back();
  return result;
}

OutOfLine CallEmitter::make_function(const Callee& callee,
                                     llvm::function_ref<Val(llvm::Function&)> body) {
  llvm::Value* const mask = x_.mask;
  const uint32_t depth = x_.divergence_depth;
  llvm::Value* const sink = std::exchange(x_.sink, nullptr);
  std::vector<SplitLoop*> splits = std::exchange(x_.splits, {});
  const std::optional<StrideLoop> stride = std::exchange(x_.stride, std::nullopt);
  // Its calls may stand in loops of many iterations.
  const uint64_t trip_count = std::exchange(x_.trip_count, kIterationsWithoutPoll);
  const uint64_t called = std::exchange(x_.called, 0);
  // Lanes that end in it may leave others behind.
  if (x_.wide()) ++x_.divergence_depth;
  x_.target.enter_function();
  OutOfLine made = make_out_of_line(b_, callee.name, callee.parameters, callee.result,
                                    [&](llvm::Function& f) { return body(f).v; });
  x_.target.leave_function();
  made.instructions = made.function->getInstructionCount() + x_.called;
  x_.called = called;
  x_.trip_count = trip_count;
  x_.stride = stride;
  x_.splits = std::move(splits);
  x_.sink = sink;
  x_.divergence_depth = depth;
  x_.mask = mask;
  return made;
}

Val CallEmitter::call_function(const Call& e) {
  const Fn& fn = x_.p()[e.fn];
  const auto params = x_.p().params(fn.params);
  const auto given = x_.p().arguments(e.args);
  CallKey key{.fn = e.fn.value, .lanes = x_.lanes(), .values = {x_.rows.start(), x_.serial_lane}};
  Callee callee{.name = fmt::format("vyre_{}_{}", fn.name, functions_.size())};
  std::vector<llvm::Value*> args;
  std::vector<std::pair<LocalId, MemoryRef>> memories;
  const auto varies = [&](LocalId param) { return x_.wide() && x_.d().varies(param); };
  for (size_t k = 0; k < given.size(); ++k) {
    if (const ExprId* id = std::get_if<ExprId>(&given[k])) {
      const Val v = e_.values.value(*id);
      if (x_.terminated()) return {};
      args.push_back(varies(params[k]) ? math_.splat(v) : v.v);
      continue;
    }
    const Memory m = std::get<Memory>(given[k]);
    MemoryRef ref = e_.memory.memory(m);
    if (m.kind != Memory::Kind::Local) ref.argument = argument_number(m);
    key.values.push_back(ref.address);
    key.values.push_back(ref.length);
    memories.emplace_back(params[k], ref);
  }
  if (x_.wide()) args.push_back(x_.mask_bits(x_.mask_or_all()));
  for (const llvm::Value* const arg : args) callee.parameters.push_back(arg->getType());
  const bool result_varies = x_.wide() && x_.d().result_varies(e.fn);
  if (fn.result) callee.result = x_.shaped(*fn.result, result_varies);

  auto made = functions_.find(key);
  if (made == functions_.end()) {
    OutOfLine function = make_function(callee, [&](llvm::Function& f) {
      Frame inner;
      inner.c = x_.frame().c;
      inner.d = x_.frame().d;
      inner.slots = slots_of(*inner.c, e.fn);
      unsigned next = 0;
      for (size_t k = 0; k < given.size(); ++k)
        if (std::holds_alternative<ExprId>(given[k]))
          inner.slots[params[k].index()].value = {f.getArg(next++), varies(params[k])};
      for (const auto& [param, ref] : memories) inner.slots[param.index()].memory = ref;
      x_.mask = x_.wide() ? b_.CreateBitCast(f.getArg(next), x_.vector(b_.getInt1Ty())) : nullptr;
      return inline_body(std::move(inner), e.fn);
    });
    made = functions_.emplace(std::move(key), std::move(function)).first;
  }
  x_.called += made->second.instructions;
  const Val result{call_out_of_line(b_, made->second, args), result_varies};
  if (x_.wide() && e_.masks.can_end(fn.body)) {
    e_.masks.resume_live(x_.mask);
    if (x_.divergence_depth == 0) {
      llvm::BasicBlock* const some = x_.new_block("some_live");
      b_.CreateCondBr(x_.any(x_.mask), some, x_.target.lane_end());
      b_.SetInsertPoint(some);
    }
  }
  return result;
}

Val CallEmitter::maths(Intrinsic op, Type type, std::span<const Val> args) {
  bool varying = false;
  for (const Val& arg : args) varying = varying || arg.varying;
  const Approximation* const approximation =
      find_approximation(x_.options.approximations, op, type, x_.options.ulp_budget);
  if (approximation != nullptr && approximation->kind == Approximation::Kind::Instruction)
    return instruction(op, args, varying);
  const MathsFunctions& library = maths_functions();
  Frame inner;
  inner.c = &library.program;
  inner.d = varying ? &library.varying(x_.options.shape) : &library.uniform;
  const FnId fn = approximation != nullptr ? maths_library().approximation(op)
                                           : maths_library().function(op, type);
  VYRE_CHECK(fn.valid());
  inner.slots = slots_of(*inner.c, fn);
  if (x_.options.size != nullptr && x_.options.size->maths_called)
    return call_maths(std::move(inner), fn, args, varying);
  const auto params = inner.c->program.params(inner.c->program[fn].params);
  for (size_t k = 0; k < args.size(); ++k)
    inner.slots[params[k].index()].value = {varying ? math_.splat(args[k]) : args[k].v, varying};
  return inline_body(std::move(inner), fn);
}

Val CallEmitter::instruction(Intrinsic op, std::span<const Val> args, bool varying) {
  if (!varying || !x_.wide()) return {x_.threads().approximate(op, args[0].v), varying};
  // Lanes of a thread that are still side by side.
  llvm::Value* result = llvm::PoisonValue::get(x_.vector(b_.getFloatTy()));
  for (uint32_t lane = 0; lane < x_.lanes(); ++lane)
    result = b_.CreateInsertElement(
        result, x_.threads().approximate(op, b_.CreateExtractElement(args[0].v, lane)), lane);
  return {result, true};
}

// They have no effect but their value, so lanes that are not meant need no mask, and all
// kernels of a module have the same ones.
Val CallEmitter::call_maths(Frame inner, FnId fn, std::span<const Val> args, bool varying) {
  const check::CheckedProgram& library = *inner.c;
  const Fn& f = library.program[fn];
  Callee callee{.name = fmt::format("vyre_maths_{}_{}", f.name, varying ? x_.lanes() : 1)};
  std::vector<llvm::Value*> values;
  for (const Val& arg : args) values.push_back(varying ? math_.splat(arg) : arg.v);
  for (const llvm::Value* const v : values) callee.parameters.push_back(v->getType());
  callee.result = x_.shaped(*f.result, x_.wide() && inner.d->result_varies(fn));
  OutOfLine made;
  made.function = b_.GetInsertBlock()->getModule()->getFunction(callee.name);
  if (made.function == nullptr) {
    made = make_function(callee, [&](llvm::Function& function) {
      const auto params = library.program.params(f.params);
      for (unsigned k = 0; k < values.size(); ++k)
        inner.slots[params[k].index()].value = {function.getArg(k), varying};
      x_.mask = nullptr;
      // It accesses no memory, so no lane ends in it, in checked mode neither.
      llvm::Value* const live = std::exchange(x_.live, nullptr);
      const bool checked = std::exchange(x_.options.checked, false);
      const Val result = inline_body(std::move(inner), fn);
      x_.options.checked = checked;
      x_.live = live;
      return result;
    });
    VYRE_CHECK(made.captured.empty() && made.exits.empty());
    made.function->setDoesNotAccessMemory();
    made.function->setWillReturn();
  }
  x_.called += made.function->getInstructionCount();
  return {call_out_of_line(b_, made, values), callee.result->isVectorTy()};
}

}  // namespace vyre::codegen
