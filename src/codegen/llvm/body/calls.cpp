// SPDX-License-Identifier: Apache-2.0
// Functions that are not inlined. One is made for each function, block of lanes and memories that
// it is called with; all lanes that a call is for come as a mask. What a function does to lanes
// other than to give them a value (they stop, or the whole launch is given up) is in memory of the
// kernel, or a jump out of the function.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "codegen/llvm/body/lane_code.hpp"
#include "codegen/llvm/body/maths_functions.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;

namespace {

// Locals that a function speaks of.
class LocalRange {
 public:
  LocalRange(const Program& p, FnId fn) : p_(p) {
    for (const LocalId param : p.params(p[fn].params)) note(param.value);
    look(p[fn].body);
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
  void look(Block block) {
    for (const StmtId id : p_.items(block)) {
      const Stmt& s = p_[id];
      for_each_local(s, [&](LocalId local, LocalAccess) { note(local.value); });
      for_each_memory(p_, s, [&](const MemoryUse& use) { note(use.memory); });
      for_each_operand(p_, s, [&](ExprId e) { look(e); });
      for_each_block(s, [&](Block b) { look(b); });
    }
  }
  void look(ExprId id) {
    const Expr& e = p_[id];
    for_each_local(e, [&](LocalId local, LocalAccess) { note(local.value); });
    for_each_memory(p_, e, [&](const MemoryUse& use) { note(use.memory); });
    for_each_operand(p_, e, [&](ExprId operand) { look(operand); });
  }

  const Program& p_;
  size_t first_ = ~size_t{0};
  size_t last_ = 0;
};

}  // namespace

LaneCode::Slots LaneCode::slots_of(const check::CheckedProgram& program, FnId fn) {
  const auto [it, fresh] = fn_locals_.try_emplace({&program, fn.value});
  if (fresh) it->second = LocalRange(program.program, fn).range();
  return {it->second.first, it->second.second};
}

struct LaneCode::Callee {
  std::string name;
  std::vector<llvm::Type*> parameters = {};
  llvm::Type* result = nullptr;
};

OutOfLine LaneCode::own_function(const Callee& callee,
                                 llvm::function_ref<Val(llvm::Function&)> body) {
  llvm::Value* const mask = mask_;
  const uint32_t parted = parted_;
  llvm::Value* const sink = std::exchange(sink_, nullptr);
  std::vector<SplitLoop*> splits = std::exchange(splits_, {});
  const std::optional<Walk> walk = std::exchange(walk_, std::nullopt);
  // Whoever calls it may do so in loops of many trips.
  const uint64_t trips = std::exchange(trips_, kTripsWithoutPoll);
  const uint64_t called = std::exchange(called_, 0);
  // Lanes that end in it may leave others behind.
  if (wide()) ++parted_;
  env_.enter_function();
  OutOfLine made = make_out_of_line(b_, callee.name, callee.parameters, callee.result,
                                    [&](llvm::Function& f) { return body(f).v; });
  env_.leave_function();
  made.instructions = made.function->getInstructionCount() + called_;
  called_ = called;
  trips_ = trips;
  walk_ = walk;
  splits_ = std::move(splits);
  sink_ = sink;
  parted_ = parted;
  mask_ = mask;
  return made;
}

Val LaneCode::call_function(const Call& e) {
  const Fn& fn = p()[e.fn];
  const auto params = p().params(fn.params);
  const auto given = p().arguments(e.args);
  CallKey key{.fn = e.fn.value, .lanes = lanes(), .values = {env_.start(), turn_}};
  Callee callee{.name = fmt::format("vyre_{}_{}", fn.name, functions_.size())};
  std::vector<llvm::Value*> args;
  std::vector<std::pair<LocalId, MemoryRef>> memories;
  const auto varies = [&](LocalId param) { return wide() && d().varies(param); };
  for (size_t k = 0; k < given.size(); ++k) {
    if (const ExprId* id = std::get_if<ExprId>(&given[k])) {
      const Val v = value(*id);
      if (terminated()) return {};
      args.push_back(varies(params[k]) ? math_.splat(v) : v.v);
      continue;
    }
    const Memory m = std::get<Memory>(given[k]);
    MemoryRef ref = memory(m);
    if (m.kind != Memory::Kind::Local) ref.argument = argument_number(m);
    key.values.push_back(ref.address);
    key.values.push_back(ref.length);
    memories.emplace_back(params[k], ref);
  }
  if (wide()) args.push_back(mask_bits(mask_or_all()));
  for (const llvm::Value* const arg : args) callee.parameters.push_back(arg->getType());
  const bool result_varies = wide() && d().result_varies(e.fn);
  if (fn.result) callee.result = shaped(*fn.result, result_varies);

  auto made = functions_.find(key);
  if (made == functions_.end()) {
    OutOfLine function = own_function(callee, [&](llvm::Function& f) {
      Frame inner;
      inner.c = frame().c;
      inner.d = frame().d;
      inner.slots = slots_of(*inner.c, e.fn);
      unsigned next = 0;
      for (size_t k = 0; k < given.size(); ++k)
        if (std::holds_alternative<ExprId>(given[k]))
          inner.slots[params[k].index()].value = {f.getArg(next++), varies(params[k])};
      for (const auto& [param, ref] : memories) inner.slots[param.index()].memory = ref;
      mask_ = wide() ? b_.CreateBitCast(f.getArg(next), vector(b_.getInt1Ty())) : nullptr;
      return call_body(std::move(inner), e.fn);
    });
    made = functions_.emplace(std::move(key), std::move(function)).first;
  }
  called_ += made->second.instructions;
  const Val result{call_out_of_line(b_, made->second, args), result_varies};
  if (wide() && can_end(fn.body)) {
    llvm::Value* const live = b_.CreateLoad(vector(b_.getInt1Ty()), live_);
    mask_ = mask_ != nullptr ? b_.CreateAnd(mask_, live) : live;
    if (parted_ == 0) {
      llvm::BasicBlock* const some = new_block("some_live");
      b_.CreateCondBr(any(mask_), some, env_.lane_end());
      b_.SetInsertPoint(some);
    }
  }
  return result;
}

// Nobody sees what they do but by their value, so lanes that are not meant need not be told apart,
// and all kernels of a module have the same ones.
Val LaneCode::call_maths(Frame inner, FnId fn, std::span<const Val> args, bool varying) {
  const check::CheckedProgram& library = *inner.c;
  const Fn& f = library.program[fn];
  Callee callee{.name = fmt::format("vyre_maths_{}_{}", f.name, varying ? lanes() : 1)};
  std::vector<llvm::Value*> values;
  for (const Val& arg : args) values.push_back(varying ? math_.splat(arg) : arg.v);
  for (const llvm::Value* const v : values) callee.parameters.push_back(v->getType());
  callee.result = shaped(*f.result, wide() && inner.d->result_varies(fn));
  OutOfLine made;
  made.function = b_.GetInsertBlock()->getModule()->getFunction(callee.name);
  if (made.function == nullptr) {
    made = own_function(callee, [&](llvm::Function& function) {
      const auto params = library.program.params(f.params);
      for (unsigned k = 0; k < values.size(); ++k)
        inner.slots[params[k].index()].value = {function.getArg(k), varying};
      mask_ = nullptr;
      // It accesses no memory, so no lane ends in it, in checked mode neither.
      llvm::Value* const live = std::exchange(live_, nullptr);
      const bool checked = std::exchange(options_.checked, false);
      const Val result = call_body(std::move(inner), fn);
      options_.checked = checked;
      live_ = live;
      return result;
    });
    VYRE_CHECK(made.captured.empty() && made.exits.empty());
    made.function->setDoesNotAccessMemory();
    made.function->setWillReturn();
  }
  called_ += made.function->getInstructionCount();
  return {call_out_of_line(b_, made, values), callee.result->isVectorTy()};
}

}  // namespace vyre::codegen
