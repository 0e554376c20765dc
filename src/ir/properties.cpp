// SPDX-License-Identifier: Apache-2.0
#include "ir/properties.hpp"

#include <type_traits>
#include <vector>

#include "base/match.hpp"

namespace vyre::ir {

std::optional<Scope> uniform_over(Builtin builtin) {
  switch (builtin) {
    case Builtin::Gid:
    case Builtin::Lid:
    case Builtin::SubgroupLane: return std::nullopt;
    case Builtin::SubgroupId: return Scope::Subgroup;
    case Builtin::Wid: return Scope::Workgroup;
    case Builtin::NumWorkgroups:
    case Builtin::WorkgroupSize:
    case Builtin::SubgroupSize:
    case Builtin::FixpointPasses:
    case Builtin::FixpointConverged: return Scope::Grid;
  }
  return std::nullopt;
}

std::optional<Scope> uniform_over(SubgroupOp op) {
  switch (op) {
    case SubgroupOp::Ballot:
    case SubgroupOp::Broadcast:
    case SubgroupOp::Add:
    case SubgroupOp::Mul:
    case SubgroupOp::Min:
    case SubgroupOp::Max:
    case SubgroupOp::And:
    case SubgroupOp::Or:
    case SubgroupOp::Xor:
    case SubgroupOp::Any:
    case SubgroupOp::All: return Scope::Subgroup;
    case SubgroupOp::Shuffle:
    case SubgroupOp::ShuffleXor:
    case SubgroupOp::ShuffleUp:
    case SubgroupOp::ShuffleDown:
    case SubgroupOp::ExclusiveAdd:
    case SubgroupOp::InclusiveAdd: return std::nullopt;
  }
  return std::nullopt;
}

bool reads_scalar(const Program& program, const Expr& expr) {
  const auto* load = std::get_if<Load>(&expr);
  return load != nullptr && load->memory.buffer().valid() && program[load->memory.buffer()].scalar;
}

ExprProperties properties_of(const Expr& expr) {
  return std::visit(ExprRows{}, expr);
}
StmtProperties properties_of(const Stmt& stmt) {
  return std::visit(StmtRows{}, stmt);
}

// ---- the memories and locals that nodes name: one list for those who read and those who replace

namespace {

// `Kind` with the constness of `Node`.
template <class Node, class Kind>
using As = std::conditional_t<std::is_const_v<Node>, const Kind, Kind>;

// Copies of a call share its list of arguments, those of an AxisIndex its indices; the one that
// changes gets a list of its own.
void own_arguments(Program& program, Expr& expr) {
  if (auto* at = std::get_if<AxisIndex>(&expr)) {
    for (Range* const range : {&at->indices, &at->lengths}) {
      const auto shared = program.values(*range);
      *range = program.add_values(std::vector<ExprId>(shared.begin(), shared.end()));
    }
  }
  auto* call = std::get_if<Call>(&expr);
  if (call == nullptr) return;
  const auto shared = program.arguments(call->args);
  call->args = program.add_args(std::vector<Arg>(shared.begin(), shared.end()));
}
void own_arguments(Program& program, Stmt& stmt) {
  const auto own = [&](Range& args) {
    const auto shared = program.values(args);
    args = program.add_values(std::vector<ExprId>(shared.begin(), shared.end()));
  };
  if (auto* print = std::get_if<Print>(&stmt)) own(print->args);
  if (auto* assertion = std::get_if<Assert>(&stmt)) own(assertion->args);
}

// The walkers hand out the fields of a node, which here is the caller's to change.
template <class Node>
void replace_by_walker(Program& program, Node& node, FunctionRef<ExprId(ExprId)> replace) {
  std::vector<ExprId> next;
  for_each_operand(program, node, [&](ExprId id) { next.push_back(replace(id)); });
  own_arguments(program, node);
  auto value = next.begin();
  for_each_operand(program, node, [&](const ExprId& at) { const_cast<ExprId&>(at) = *value++; });
}

template <class Visit>
void visit_passed(const Program& program, const Call& call, Visit&& visit) {
  for (const Arg& arg : program.arguments(call.args))
    if (const Memory* memory = std::get_if<Memory>(&arg)) visit(*memory);
}
template <class Visit>
void visit_passed(Program& program, Call& call, Visit&& visit) {
  const auto shared = program.arguments(call.args);
  std::vector<Arg> own(shared.begin(), shared.end());
  for (Arg& arg : own)
    if (Memory* memory = std::get_if<Memory>(&arg)) visit(*memory);
  call.args = program.add_args(own);
}

template <class Visit>
void visit_compared(const Program& program, const Fixpoint& fixpoint, Visit&& visit) {
  for (const Memory& memory : program.memories(fixpoint.buffers)) visit(memory);
}
template <class Visit>
void visit_compared(Program& program, Fixpoint& fixpoint, Visit&& visit) {
  const auto shared = program.memories(fixpoint.buffers);
  std::vector<Memory> own(shared.begin(), shared.end());
  for (Memory& memory : own) visit(memory);
  fixpoint.buffers = program.add_memories(own);
}

// visit(memory, access, index, atomic); Node: Expr or const Expr, with a Program of the same
// constness.
template <class AnyProgram, class Node, class Visit>
void visit_expr_memories(AnyProgram& program, Node& expr, Visit&& visit) {
  match(
      expr, [](As<Node, IntLiteral>&) {}, [](As<Node, FloatLiteral>&) {},
      [](As<Node, BoolLiteral>&) {}, [](As<Node, LocalRef>&) {}, [](As<Node, ConstRef>&) {},
      [](As<Node, BuiltinRef>&) {},
      [&](As<Node, Len>& e) { visit(e.memory, Access::Length, ExprId{}, false); },
      [&](As<Node, Load>& e) { visit(e.memory, Access::Read, e.index, false); },
      [](As<Node, Unary>&) {}, [](As<Node, Binary>&) {}, [](As<Node, Cast>&) {},
      [](As<Node, Bitcast>&) {}, [](As<Node, IntrinsicCall>&) {},
      [&](As<Node, Atomic>& e) { visit(e.memory, access_of(e.op), e.index, true); },
      [](As<Node, Subgroup>&) {},
      [&](As<Node, UniformLoad>& e) { visit(e.memory, Access::Read, e.index, false); },
      [&](As<Node, Call>& e) {
        visit_passed(program, e, [&](As<Node, Memory>& memory) {
          visit(memory, Access::Update, ExprId{}, false);
        });
      },
      [](As<Node, Poison>&) {},
      [&](As<Node, AxisIndex>& e) { visit(e.memory, Access::Length, ExprId{}, false); },
      [&](As<Node, AxisLen>& e) { visit(e.memory, Access::Length, ExprId{}, false); });
}

constexpr Access access_of_source(CollectiveOp op) {
  return op == CollectiveOp::AllReduce || op == CollectiveOp::Broadcast ? Access::Update
                                                                        : Access::Read;
}

template <class AnyProgram, class Node, class Visit>
void visit_stmt_memories(AnyProgram& program, Node& stmt, Visit&& visit) {
  match(
      stmt, [](As<Node, Let>&) {}, [](As<Node, DeclareArray>&) {}, [](As<Node, Assign>&) {},
      [&](As<Node, Store>& s) {
        visit(s.memory, s.op ? Access::Update : Access::Write, s.index, false);
      },
      [](As<Node, Eval>&) {}, [](As<Node, If>&) {}, [](As<Node, For>&) {}, [](As<Node, While>&) {},
      [](As<Node, Break>&) {}, [](As<Node, Continue>&) {}, [](As<Node, Return>&) {},
      [](As<Node, Nested>&) {}, [](As<Node, Region>&) {}, [](As<Node, Barrier>&) {},
      [&](As<Node, Fixpoint>& s) {
        visit_compared(program, s, [&](As<Node, Memory>& memory) {
          visit(memory, Access::Read, ExprId{}, false);
        });
      },
      [&](As<Node, AsyncCopy>& s) {
        visit(s.dst, Access::Write, s.dst_index, false);
        visit(s.src, Access::Read, s.src_index, false);
      },
      [](As<Node, Wait>&) {}, [](As<Node, Trap>&) {}, [](As<Node, Resume>&) {},
      [&](As<Node, Collective>& s) {
        visit(s.src, access_of_source(s.op), ExprId{}, false);
        if (s.dst.valid()) visit(s.dst, Access::Write, ExprId{}, false);
      },
      [&](As<Node, Swap>& s) {
        visit(s.a, Access::Update, ExprId{}, false);
        visit(s.b, Access::Update, ExprId{}, false);
      },
      [](As<Node, Print>&) {}, [](As<Node, Assert>&) {});
}

template <class Node, class Visit>
void visit_expr_locals(Node& expr, Visit&& visit) {
  match(
      expr, [](As<Node, IntLiteral>&) {}, [](As<Node, FloatLiteral>&) {},
      [](As<Node, BoolLiteral>&) {},
      [&](As<Node, LocalRef>& e) { visit(e.local, LocalAccess::Read); }, [](As<Node, ConstRef>&) {},
      [](As<Node, BuiltinRef>&) {}, [](As<Node, Len>&) {}, [](As<Node, Load>&) {},
      [](As<Node, Unary>&) {}, [](As<Node, Binary>&) {}, [](As<Node, Cast>&) {},
      [](As<Node, Bitcast>&) {}, [](As<Node, IntrinsicCall>&) {}, [](As<Node, Atomic>&) {},
      [](As<Node, Subgroup>&) {}, [](As<Node, UniformLoad>&) {}, [](As<Node, Call>&) {},
      [](As<Node, Poison>&) {}, [](As<Node, AxisIndex>&) {}, [](As<Node, AxisLen>&) {});
}

template <class Node, class Visit>
void visit_stmt_locals(Node& stmt, Visit&& visit) {
  match(
      stmt, [&](As<Node, Let>& s) { visit(s.local, LocalAccess::Declare); },
      [&](As<Node, DeclareArray>& s) { visit(s.local, LocalAccess::Declare); },
      [&](As<Node, Assign>& s) { visit(s.local, LocalAccess::Assign); }, [](As<Node, Store>&) {},
      [](As<Node, Eval>&) {}, [](As<Node, If>&) {},
      [&](As<Node, For>& s) { visit(s.variable, LocalAccess::Iterate); }, [](As<Node, While>&) {},
      [](As<Node, Break>&) {}, [](As<Node, Continue>&) {}, [](As<Node, Return>&) {},
      [](As<Node, Nested>&) {}, [](As<Node, Region>&) {}, [](As<Node, Barrier>&) {},
      [](As<Node, Fixpoint>&) {}, [](As<Node, AsyncCopy>&) {}, [](As<Node, Wait>&) {},
      [](As<Node, Trap>&) {}, [](As<Node, Resume>&) {}, [](As<Node, Collective>&) {},
      [](As<Node, Swap>&) {}, [](As<Node, Print>&) {}, [](As<Node, Assert>&) {});
}

}  // namespace

void replace_operands(Program& program, Expr& expr, FunctionRef<ExprId(ExprId)> replace) {
  replace_by_walker(program, expr, replace);
}
void replace_operands(Program& program, Stmt& stmt, FunctionRef<ExprId(ExprId)> replace) {
  replace_by_walker(program, stmt, replace);
}
void replace_blocks(Stmt& stmt, FunctionRef<Block(Block)> replace) {
  for_each_block(stmt, [&](const Block& at) { const_cast<Block&>(at) = replace(at); });
}

void for_each_memory(const Program& program, const Expr& expr,
                     FunctionRef<void(const MemoryUse&)> visit) {
  visit_expr_memories(program, expr, [&](Memory memory, Access access, ExprId index, bool atomic) {
    visit(MemoryUse{memory, access, index, atomic});
  });
}
void for_each_memory(const Program& program, const Stmt& stmt,
                     FunctionRef<void(const MemoryUse&)> visit) {
  visit_stmt_memories(program, stmt, [&](Memory memory, Access access, ExprId index, bool atomic) {
    visit(MemoryUse{memory, access, index, atomic});
  });
}
void replace_memories(Program& program, Expr& expr, FunctionRef<Memory(Memory)> replace) {
  visit_expr_memories(program, expr,
                      [&](Memory& memory, Access, ExprId, bool) { memory = replace(memory); });
}
void replace_memories(Program& program, Stmt& stmt, FunctionRef<Memory(Memory)> replace) {
  visit_stmt_memories(program, stmt,
                      [&](Memory& memory, Access, ExprId, bool) { memory = replace(memory); });
}

void for_each_local(const Expr& expr, FunctionRef<void(LocalId, LocalAccess)> visit) {
  visit_expr_locals(expr, visit);
}
void for_each_local(const Stmt& stmt, FunctionRef<void(LocalId, LocalAccess)> visit) {
  visit_stmt_locals(stmt, visit);
}
void replace_locals(Expr& expr, FunctionRef<LocalId(LocalId)> replace) {
  visit_expr_locals(expr, [&](LocalId& at, LocalAccess) { at = replace(at); });
}
void replace_locals(Stmt& stmt, FunctionRef<LocalId(LocalId)> replace) {
  visit_stmt_locals(stmt, [&](LocalId& at, LocalAccess) { at = replace(at); });
}

std::optional<uint16_t> step_trap_tag(const Program& program) {
  std::vector<bool> taken(size_t{1} << 16);
  const auto visit = [&](const auto& self, Block block) -> void {
    for (const StmtId id : program.items(block)) {
      const Stmt& s = program[id];
      if (const auto* trap = std::get_if<Trap>(&s)) taken[trap->tag] = true;
      if (const auto* resume = std::get_if<Resume>(&s)) taken[resume->tag] = true;
      for_each_block(s, [&](Block inner) { self(self, inner); });
    }
  };
  for (const Fn& fn : program.fns) visit(visit, fn.body);
  visit(visit, program.body);
  for (size_t tag = taken.size(); tag-- > 0;)
    if (!taken[tag]) return static_cast<uint16_t>(tag);
  return std::nullopt;
}

}  // namespace vyre::ir
