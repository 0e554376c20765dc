// SPDX-License-Identifier: Apache-2.0
// From the checked program to instructions.
//
// A frame is: slot 0 the return address (and how far the caller's frame reaches), slot 1 the
// result, then parameters, locals and intermediate values, allocated like a stack. A called
// function's frame starts at the first slot that its caller does not use at that moment, so a lane
// needs no more slots than its deepest chain of calls.
#include <algorithm>
#include <map>

#include "base/check.hpp"
#include "base/match.hpp"
#include "check/prints.hpp"
#include "ir/properties.hpp"
#include "oracle/emitter.hpp"

namespace vyre::oracle {

using namespace ir;

namespace {

constexpr Slot kResultSlot = 1;
constexpr Slot kFirstParam = 2;

class Compiler : private Emitter {
 public:
  Compiler(const check::CheckedProgram& checked, LocalId live) : Emitter(checked), live_(live) {}

  Code run() {
    declare_memories();
    code_.print_words = check::print_record_words(c_);
    Body main = compile_body(p_.body, {}, false);
    std::vector<Body> fns(p_.fns.size());
    std::vector<Pc> entry(p_.fns.size());
    for (size_t i = 0; i < p_.fns.size(); ++i) {
      entry[i] = here();
      fns[i] = compile_body(p_.fns[i].body, p_.params(p_.fns[i].params), true);
    }
    for (const auto& [pc, fn] : calls_) code_.instrs[pc].target = entry[fn.index()];
    for (const Pc pc : traps_) {
      const auto at = resumes_.find(static_cast<uint16_t>(code_.instrs[pc].b));
      code_.instrs[pc].target = at == resumes_.end() ? kNoTarget : at->second;
    }
    std::vector<std::optional<uint32_t>> need(fns.size());
    code_.frame_slots = frame_need(main, fns, need);
    return std::move(code_);
  }

 private:
  uint32_t frame_need(const Body& body, const std::vector<Body>& fns,
                      std::vector<std::optional<uint32_t>>& need) {
    uint32_t most = body.slots;
    for (const CallSite& call : body.calls) {
      const size_t f = call.fn.index();
      if (!need[f]) need[f] = frame_need(fns[f], fns, need);  // no recursion in a checked program
      most = std::max(most, call.boundary + *need[f]);
    }
    return most;
  }

  // ---- bodies

  Body compile_body(Block block, std::span<const LocalId> params, bool is_fn) {
    body_ = {};
    next_ = is_fn ? kFirstParam : 0;
    in_fn_ = is_fn;
    for (const LocalId param : params) slots_[param.index()] = new_slots();
    compile_block(block);
    if (is_fn)
      emit(Op::Return).a = kNoTarget;
    else
      emit(Op::End);
    return std::move(body_);
  }

  void compile_block(Block block) {
    const Slot mark = next_;
    for (const StmtId id : p_.items(block)) compile_stmt(id);
    next_ = mark;
  }
  // A block that may run any number of times.
  void compile_branch(Block block) {
    ++depth_;
    compile_block(block);
    --depth_;
  }

  // Intermediate values of a statement go when it ends; what it declares stays.
  template <class F>
  auto with_temporaries(F&& f) {
    const Slot mark = next_;
    auto result = f();
    next_ = mark;
    return result;
  }

  void compile_stmt(StmtId id) {
    const StmtId outer = std::exchange(stmt_, id);
    match(
        p_[id], [&](const Let& s) { let(s); },
        [&](const DeclareArray& s) {
          step();
          array(s);
        },
        [&](const Assign& s) {
          step();
          assign(s);
        },
        [&](const Store& s) {
          step();
          store(s);
        },
        [&](const Eval& s) {
          step();
          with_temporaries([&] { return value(s.value); });
        },
        [&](const If& s) { compile_if(s); }, [&](const For& s) { compile_for(s); },
        [&](const While& s) { compile_while(s); },
        [&](const Break&) {
          step();
          breaks_.push_back(emit_jump(Op::Jump));
        },
        [&](const Continue&) {
          step();
          continues_.push_back(emit_jump(Op::Jump));
        },
        [&](const Return& s) { compile_return(s); },
        [&](const Nested& s) { compile_block(s.body); },
        [&](const Region& s) { compile_block(s.body); },
        [&](const Barrier& s) {
          step();
          barrier(s.scope);
        },
        [&](const Fixpoint& s) { fixpoint(s); }, [&](const AsyncCopy& s) { copy_async(s); },
        [&](const Wait& s) {
          step();
          emit(Op::Wait).b = s.tag;
        },
        [&](const Trap& s) {
          step();
          const Slot v = with_temporaries([&] { return value(s.value); });
          traps_.push_back(here());
          Instr& i = emit(Op::Trap);
          i.a = v;
          i.b = s.tag;
        },
        [&](const Resume& s) {
          step();
          resumes_[s.tag] = here();
          emit(Op::Resume).b = s.tag;
        },
        [&](const Collective& s) {
          step();
          CollectiveInfo info{.stmt = id, .op = s.op, .src = row_of(s.src), .dst = 0};
          if (s.dst.valid()) info.dst = row_of(s.dst);
          if (depth_ == 0 && !in_fn_) code_.unconditional_collectives.push_back(here());
          emit(Op::Collective).a = static_cast<uint32_t>(code_.collectives.size());
          code_.collectives.push_back(info);
        },
        [&](const Swap& s) {
          step();
          const MemoryRow first = row_of(s.a);
          const MemoryRow second = row_of(s.b);
          Instr& i = emit(Op::Swap);
          i.a = first;
          i.b = second;
        },
        [&](const Print& s) { printed(Op::Print, {}, s.args); },
        [&](const Assert& s) { printed(Op::Assert, s.condition, s.args); });
    stmt_ = outer;
  }

  // No step of its own: with and without it lanes come to everything else in the same order.
  void printed(Op op, ExprId condition, Range args) {
    with_temporaries([&] {
      quiet_ = true;
      PrintInfo info{.stmt = stmt_, .slots = {}, .types = {}};
      const Slot holds = condition.valid() ? value(condition) : 0;
      for (const ExprId arg : p_.values(args)) {
        info.slots.push_back(value(arg));
        info.types.push_back(*c_.expr_types[arg.index()]);
      }
      quiet_ = false;
      Instr& i = emit(op);
      i.a = static_cast<uint32_t>(code_.prints.size());
      i.b = holds;
      code_.prints.push_back(std::move(info));
      return 0;
    });
  }

  void let(const Let& s) {
    step();
    const Slot slot = new_slots();
    slots_[s.local.index()] = slot;
    copy(slot, with_temporaries([&] { return value(s.value); }));
    retire(s.local);
  }

  void retire(LocalId local) {
    if (live_.valid() && local == live_) emit(Op::Retire).a = slots_[local.index()];
  }

  void array(const DeclareArray& s) {
    const Type element = *c_.local_types[s.local.index()];
    const uint32_t count = c_.array_counts[s.local.index()];
    const uint32_t slots = (count * bytes_of(element) + 7) / 8;
    Instr& i = emit(Op::ZeroArray);
    i.dst = next_;
    i.a = slots;
    arrays_[s.local.index()] = static_cast<MemoryRow>(code_.memories.size());
    code_.memories.push_back({.kind = MemoryInfo::Kind::Array,
                              .element = element,
                              .memory = Memory::of(s.local),
                              .count = count,
                              .offset = next_,
                              .axes = constant_axes(p_[s.local].axes)});
    new_slots(slots);
    uint64_t index = 0;
    for (const ExprId initial : p_.values(p_[s.local].values))
      with_temporaries([&] {
        const Slot at = constant(index++);
        const Slot v = value(initial);
        Instr& stored = emit(Op::Store);
        stored.memory = row_of(Memory::of(s.local));
        stored.a = at;
        stored.b = v;
        return 0;
      });
  }

  void assign(const Assign& s) {
    const Slot slot = slots_[s.local.index()];
    copy(slot, with_temporaries([&] {
           const Slot v = value(s.value);
           return s.op ? scalar(scalar_fn(*s.op, *c_.local_types[s.local.index()]), slot, v) : v;
         }));
    retire(s.local);
  }

  void store(const Store& s) {
    with_temporaries([&] {
      const Slot index = value(s.index);
      const Type type = *c_.expr_types[s.index.index()];
      Slot result = 0;
      if (s.op) {
        const Slot old = load(s.memory, index, type, {});
        const Slot v = value(s.value);
        result = scalar(scalar_fn(*s.op, widened(element_of(s.memory))), old, v);
      } else {
        result = value(s.value);
      }
      Instr& i = emit(Op::Store);
      i.type = type;
      i.memory = row_of(s.memory);
      i.a = index;
      i.b = result;
      return 0;
    });
  }

  void compile_if(const If& s) {
    step();
    const Slot condition = with_temporaries([&] { return value(s.condition); });
    const Pc skip = emit_jump(Op::JumpUnless, condition);
    compile_branch(s.then_block);
    if (s.else_block.empty()) {
      land(skip);
      return;
    }
    const Pc out = emit_jump(Op::Jump);
    land(skip);
    compile_branch(s.else_block);
    land(out);
  }

  // Compiles the body of a loop; the jumps of its `continue`s land right after it, those of its
  // `break`s are returned.
  std::vector<Pc> loop_body(Block body) {
    const std::vector<Pc> outer_breaks = std::exchange(breaks_, {});
    const std::vector<Pc> outer_continues = std::exchange(continues_, {});
    compile_branch(body);
    for (const Pc jump : continues_) land(jump);
    continues_ = outer_continues;
    return std::exchange(breaks_, outer_breaks);
  }

  void compile_while(const While& s) {
    const Pc top = here();
    step();
    const Slot condition = with_temporaries([&] { return value(s.condition); });
    const Pc out = emit_jump(Op::JumpUnless, condition);
    const std::vector<Pc> breaks = loop_body(s.body);
    emit(Op::Jump).target = top;
    land(out);
    for (const Pc jump : breaks) land(jump);
  }

  void compile_for(const For& s) {
    step();
    const Slot mark = next_;
    const Slot variable = new_slots();
    const Slot last = new_slots();
    slots_[s.variable.index()] = variable;
    const Type type = *c_.local_types[s.variable.index()];
    const Slot by = new_slots();
    const Slot first = new_slots();
    const Slot out_condition = with_temporaries([&] {
      copy(first, value(s.first));
      copy(last, value(s.last));
      copy(by, s.step.valid() ? value(s.step) : constant(1));
      return scalar(scalar_fn(BinaryOp::Lt, type), first, last);
    });
    const Pc out = emit_jump(Op::JumpUnless, out_condition);
    if (s.step.valid() && !check::evaluate_constant(c_, s.step)) trap_unless_positive(s, type, by);
    copy(variable, first);
    const auto counting = [&](Op op, Slot end) -> Instr& {
      Instr& i = emit(op);
      i.type = type;
      i.a = variable;
      i.b = end;
      i.c = by;
      return i;
    };
    if (s.reversed) counting(Op::ForLast, last);
    const Pc top = here();
    const std::vector<Pc> breaks = loop_body(s.body);
    step();
    counting(s.reversed ? Op::ForPrev : Op::ForNext, s.reversed ? first : last).target = top;
    land(out);
    for (const Pc jump : breaks) land(jump);
    next_ = mark;
  }

  void trap_unless_positive(const For& s, Type type, Slot by) {
    const Slot wrong =
        with_temporaries([&] { return scalar(scalar_fn(BinaryOp::Le, type), by, constant(0)); });
    const Pc fine = emit_jump(Op::JumpUnless, wrong);
    traps_.push_back(here());
    Instr& i = emit(Op::Trap, s.step);
    i.a = by;
    i.b = *step_trap_tag(p_);
    land(fine);
  }

  void compile_return(const Return& s) {
    step();
    if (!in_fn_) {
      emit(Op::End);
      return;
    }
    const Slot result =
        s.value.valid() ? with_temporaries([&] { return value(s.value); }) : kNoTarget;
    emit(Op::Return).a = result;
  }

  void fixpoint(const Fixpoint& s) {
    step();
    const uint32_t row = static_cast<uint32_t>(code_.fixpoints.size());
    FixpointInfo info;
    for (const Memory m : p_.memories(s.buffers)) info.buffers.push_back(row_of(m));
    code_.fixpoints.push_back(std::move(info));
    const Slot most = with_temporaries([&] { return value(s.max_passes); });
    Instr& enter = emit(Op::FixpointEnter);
    enter.a = most;
    enter.b = row;
    const Pc top = here();
    const StmtId at = stmt_;
    // break and continue do not cross the body: the checker made sure.
    compile_branch(s.body);
    stmt_ = at;
    step();
    Instr& pass = emit(Op::FixpointPass);
    pass.b = row;
    pass.target = top;
  }

  void copy_async(const AsyncCopy& s) {
    step();
    with_temporaries([&] {
      CopyInfo info{.stmt = stmt_, .tag = s.tag, .dst = row_of(s.dst), .src = row_of(s.src)};
      info.dst_index = value(s.dst_index);
      info.src_index = value(s.src_index);
      info.count = value(s.count);
      info.dst_type = *c_.expr_types[s.dst_index.index()];
      info.src_type = *c_.expr_types[s.src_index.index()];
      info.count_type = *c_.expr_types[s.count.index()];
      emit(Op::CopyAsync).a = static_cast<uint32_t>(code_.copies.size());
      code_.copies.push_back(info);
      return 0;
    });
  }

  // ---- expressions: the slot that holds the value afterwards

  Slot value(ExprId id) {
    const auto literal = [&](const auto&) {
      return constant(check::literal_in_type(p_[id], *c_.expr_types[id.index()])->bits);
    };
    const auto type_of = [&](ExprId e) { return *c_.expr_types[e.index()]; };
    return match(
        p_[id], [&](const IntLiteral& e) { return literal(e); },
        [&](const FloatLiteral& e) { return literal(e); },
        [&](const BoolLiteral& e) { return literal(e); },
        [&](const LocalRef& e) { return slots_[e.local.index()]; },
        [&](const ConstRef& e) { return constant(c_.constants[e.constant.index()].front().bits); },
        [&](const BuiltinRef& e) {
          const Slot dst = new_slots();
          Instr& i = emit(Op::Builtin);
          i.dst = dst;
          i.a = static_cast<uint32_t>(e.builtin);
          i.b = e.axis;
          return dst;
        },
        [&](const Len& e) {
          const Slot dst = new_slots();
          Instr& i = emit(Op::Length);
          i.dst = dst;
          i.memory = row_of(e.memory);
          return dst;
        },
        [&](const Load& e) { return load(e.memory, value(e.index), type_of(e.index), id); },
        [&](const Unary& e) {
          return scalar(scalar_fn(e.op, type_of(e.operand)), value(e.operand));
        },
        [&](const Binary& e) { return binary(e); },
        [&](const Cast& e) {
          return scalar(conversion(type_of(e.operand), e.type), value(e.operand));
        },
        [&](const Bitcast& e) { return value(e.operand); },
        [&](const IntrinsicCall& e) { return intrinsic(e); },
        [&](const Atomic& e) { return atomic(id, e); },
        [&](const Subgroup& e) { return subgroup(e); },
        [&](const UniformLoad& e) {
          const Slot index = value(e.index);
          barrier(e.scope);
          const Slot result = load(e.memory, index, type_of(e.index), id);
          barrier(e.scope);
          return result;
        },
        [&](const Call& e) { return call(id, e); },
        [&](const Poison&) -> Slot { VYRE_CHECK(!"a checked program has no poison"); },
        [&](const AxisIndex& e) { return axis_index(e); },
        [&](const AxisLen& e) {
          const Slot dst = new_slots();
          Instr& i = emit(rank_of(p_, e.memory) == 1 ? Op::Length : Op::AxisLength);
          i.dst = dst;
          i.memory = row_of(e.memory);
          i.imm = e.axis;
          return dst;
        });
  }

  Slot axis_index(const AxisIndex& e) {
    std::vector<Slot> indices;
    for (const ExprId index : p_.values(e.indices)) indices.push_back(value(index));
    std::vector<Slot> lengths;
    for (const ExprId length : p_.values(e.lengths)) lengths.push_back(value(length));
    Slot at = constant(0);
    for (uint32_t axis = 0; axis < e.indices.count; ++axis) {
      const Slot dst = new_slots();
      Instr& i = emit(Op::AxisStep);
      i.type = *c_.expr_types[p_.values(e.indices)[axis].index()];
      i.memory = row_of(e.memory);
      i.dst = dst;
      i.a = at;
      i.b = indices[axis];
      i.imm = axis;
      i.what = lengths.empty() ? 0 : 1;
      i.c = lengths.empty() ? 0 : lengths[axis];
      at = dst;
    }
    return at;
  }

  Slot load(Memory memory, Slot index, Type index_type, ExprId id) {
    const Slot dst = new_slots();
    Instr& i = emit(Op::Load, id);
    i.type = index_type;
    i.what = quiet_ ? 1 : 0;
    i.memory = row_of(memory);
    i.dst = dst;
    i.a = index;
    return dst;
  }

  Slot binary(const Binary& e) {
    const Type type = *c_.expr_types[e.left.index()];
    if (!is_lazy(e.op)) {
      const Slot left = value(e.left);
      const Slot right = value(e.right);
      return scalar(scalar_fn(e.op, type), left, right);
    }
    const Slot dst = new_slots();
    copy(dst, value(e.left));
    const Pc skip = emit_jump(e.op == BinaryOp::LogicalOr ? Op::JumpIf : Op::JumpUnless, dst);
    copy(dst, value(e.right));
    land(skip);
    return dst;
  }

  Slot intrinsic(const IntrinsicCall& e) {
    std::array<Slot, 3> args = {};
    for (int i = 0; i < arity_of(e.op); ++i)
      args[static_cast<size_t>(i)] = value(e.args[static_cast<size_t>(i)]);
    const ExprId typed = e.op == Intrinsic::Select ? e.args[1] : e.args[0];
    return scalar(scalar_fn(e.op, *c_.expr_types[typed.index()]), args[0], args[1], args[2]);
  }

  Slot atomic(ExprId id, const Atomic& e) {
    const Slot index = value(e.index);
    std::array<Slot, 2> args = {};
    for (int i = 0; i < arity_of(e.op); ++i)
      args[static_cast<size_t>(i)] = value(e.args[static_cast<size_t>(i)]);
    const Slot dst = new_slots();
    Instr& i = emit(Op::Atomic, id);
    i.type = *c_.expr_types[e.index.index()];
    i.what = static_cast<uint8_t>(e.op);
    i.order = static_cast<uint8_t>(e.order);
    i.memory = row_of(e.memory);
    i.dst = dst;
    i.a = index;
    i.b = args[0];
    i.c = args[1];
    code_.ordered_atomics |= e.order != MemoryOrder::Relaxed;
    return dst;
  }

  Slot subgroup(const Subgroup& e) {
    const Slot v = value(e.value);
    const Slot lane = e.lane.valid() ? value(e.lane) : 0;
    const Slot dst = new_slots();
    Instr& i = emit(Op::Subgroup);
    i.type = *c_.expr_types[e.value.index()];
    i.what = static_cast<uint8_t>(e.op);
    i.scope = Scope::Subgroup;
    i.dst = dst;
    i.a = v;
    i.b = lane;
    return dst;
  }

  Slot call(ExprId id, const Call& e) {
    std::vector<Slot> args;  // a memory argument is its row, as a constant or from our parameter
    for (const Arg& arg : p_.arguments(e.args)) {
      if (const ExprId* v = std::get_if<ExprId>(&arg)) {
        args.push_back(value(*v));
        continue;
      }
      const MemoryRow row = row_of(std::get<Memory>(arg));
      args.push_back((row & kParam) != 0 ? row & ~kParam : constant(row));
    }
    const Slot dst = new_slots();
    const Slot boundary = next_;
    const Slot mark = next_;
    new_slots(kFirstParam + static_cast<uint32_t>(args.size()));
    for (size_t k = 0; k < args.size(); ++k)
      copy(boundary + kFirstParam + static_cast<Slot>(k), args[k]);
    next_ = mark;
    calls_.emplace_back(here(), e.fn);
    body_.calls.push_back({e.fn, boundary});
    emit(Op::Call, id).dst = boundary;
    copy(dst, boundary + kResultSlot);
    return dst;
  }

  LocalId live_;
  bool in_fn_ = false;
  bool quiet_ = false;  // loads neither stop nor race
  int depth_ = 0;       // branches, loops and fixpoints around the current statement
  std::vector<Pc> breaks_, continues_;
  std::vector<std::pair<Pc, FnId>> calls_;
  std::vector<Pc> traps_;
  std::map<uint16_t, Pc> resumes_;
};

}  // namespace

Code compile(const check::CheckedProgram& checked, LocalId live) {
  return Compiler(checked, live).run();
}

}  // namespace vyre::oracle
