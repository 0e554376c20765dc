// SPDX-License-Identifier: Apache-2.0
#include "plan/extract.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/match.hpp"
#include "ir/properties.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::plan {

using namespace ir;

Extractor::Extractor(const Draft& d, std::string name, bool shared_as_buffers)
    : d_(d),
      shared_as_buffers_(shared_as_buffers),
      uses_(d.p.buffers.size()),
      fns_used_(d.p.fns.size()),
      consts_used_(d.p.consts.size()),
      consts_(d.p.consts.size()),
      buffers_(d.p.buffers.size()),
      fns_(d.p.fns.size()) {
  c_.program.name = std::move(name);
  c_.workgroup = d.c.workgroup;
  c_.workgroup_axes = d.c.workgroup_axes;
  for (const Buffer& b : d.p.buffers) names_.insert(b.name);
  for (const Const& k : d.p.consts) names_.insert(k.name);
  for (const Fn& f : d.p.fns) names_.insert(f.name);
  c_.program.positions.files = d.p.positions.files;
}

std::optional<BufferId> Extractor::buffer(BufferId id) const {
  const BufferId mapped = buffers_[id.index()];
  return mapped.valid() ? std::optional(mapped) : std::nullopt;
}

Extractor::Extracted Extractor::run(const StmtList& items, LocalId live) {
  note_uses(items);
  declare();
  Program& p = c_.program;
  const Block body = block(items);
  p.body = p.add_block(std::vector{p.add(Region{"main", body})});
  // What only the whole program has is not copied: launches are resolved from the source.
  const LocalId kept = live.valid() ? local(live) : LocalId{};
  c_.flow_levels.resize(p.stmts.size(), Level::Lane);
  c_.stmt_proofs.resize(p.stmts.size(), -1);
  c_.expr_types.resize(p.exprs.size());
  c_.expr_proofs.resize(p.exprs.size(), -1);
  c_.axis_proofs.resize(p.exprs.size(), 0);
  for (const StmtId id : p.items(p.body))
    for_each_stmt(p, id, [&](StmtId s) {
      c_.has_grid_barrier |= properties_of(p[s]).synchronises == Scope::Grid;
    });
  for (const Expr& e : p.exprs) c_.has_grid_barrier |= properties_of(e).synchronises == Scope::Grid;
  return {std::move(c_), std::move(arguments_), kept};
}

// ---- what is used, and how

void Extractor::note_memory(Memory m, bool written) {
  if (m.kind != Memory::Kind::Buffer || !m.valid()) return;
  uses_[m.index].used = true;
  uses_[m.index].written |= written;
}

namespace {
// Atomics need a buffer that can be written, also those that only load.
bool needs_write(const MemoryUse& use) {
  return use.atomic || writes(use.access);
}
}  // namespace

bool Extractor::writes_param(FnId fn, size_t param) {
  const uint32_t key = fn.value * 256 + static_cast<uint32_t>(param);
  const auto [it, fresh] = writes_param_.try_emplace(key, false);
  if (!fresh) return it->second;
  bool writes = false;
  const Memory target = Memory::of(d_.p.params(d_.p[fn].params)[param]);
  for (const StmtId id : d_.p.items(d_.p[fn].body)) {
    const auto note = [&](const MemoryUse& use) {
      writes |= use.memory == target && needs_write(use);
    };
    for_each_stmt(d_.p, id, [&](StmtId s) { for_each_memory(d_.p, d_.p[s], note); });
    for_each_expr_below(d_.p, id, [&](ExprId e) {
      const auto* call = std::get_if<Call>(&d_.p[e]);
      if (call == nullptr) return for_each_memory(d_.p, d_.p[e], note);
      const auto args = d_.p.arguments(call->args);
      for (size_t k = 0; k < args.size(); ++k)
        if (const Memory* m = std::get_if<Memory>(&args[k]); m != nullptr && *m == target)
          writes |= writes_param(call->fn, k);
    });
  }
  writes_param_[key] = writes;
  return writes;
}

void Extractor::note_call(const Call& call) {
  const auto args = d_.p.arguments(call.args);
  for (size_t k = 0; k < args.size(); ++k)
    if (const Memory* m = std::get_if<Memory>(&args[k])) {
      note_memory(*m, writes_param(call.fn, k));
      if (m->kind == Memory::Kind::Table) note_const(m->table());
    }
  if (fns_used_[call.fn.index()]) return;
  fns_used_[call.fn.index()] = true;
  for (const StmtId id : d_.p.items(d_.p[call.fn].body)) note_body(id);
}

// Constants may refer to others.
void Extractor::note_const(ConstId id) {
  if (consts_used_[id.index()]) return;
  consts_used_[id.index()] = true;
  for (const ExprId value : d_.p.values(d_.p[id].values))
    for_each_expr(d_.p, value, [&](ExprId e) {
      if (const auto* ref = std::get_if<ConstRef>(&d_.p[e])) note_const(ref->constant);
    });
}

// Functions and constants that a statement needs.
void Extractor::note_body(StmtId id) {
  for_each_expr_below(d_.p, id, [&](ExprId e) {
    if (const auto* call = std::get_if<Call>(&d_.p[e])) note_call(*call);
    if (const auto* ref = std::get_if<ConstRef>(&d_.p[e])) note_const(ref->constant);
    if (const auto* load = std::get_if<Load>(&d_.p[e]);
        load != nullptr && load->memory.kind == Memory::Kind::Table)
      note_const(load->memory.table());
  });
}

void Extractor::note_uses(const StmtList& items) {
  for (const StmtId id : items) {
    const auto note = [&](const MemoryUse& use) { note_memory(use.memory, needs_write(use)); };
    for_each_stmt(d_.p, id, [&](StmtId s) { for_each_memory(d_.p, d_.p[s], note); });
    for_each_expr_below(d_.p, id, [&](ExprId e) {
      // note_body() finds out what a call does.
      if (!std::holds_alternative<Call>(d_.p[e])) for_each_memory(d_.p, d_.p[e], note);
    });
    note_body(id);
  }
}

// ---- declarations

void Extractor::declare() {
  Program& p = c_.program;
  for (uint32_t axis = 0; axis < c_.workgroup_axes; ++axis)
    p.workgroup[axis] =
        add(IntLiteral{.magnitude = c_.workgroup[axis], .negative = false, .suffix = {}}, Type::U32,
            {});
  for (uint32_t i = 0; i < d_.p.consts.size(); ++i)
    if (consts_used_[i]) {
      consts_[i] = p.add(d_.p.consts[i], loc(d_.p.loc(ConstId{i})));
      c_.constants.push_back(d_.c.constants[i]);
    }
  for (uint32_t i = 0; i < d_.p.consts.size(); ++i) {
    if (!consts_used_[i]) continue;
    std::vector<ExprId> values;
    for (const ExprId e : d_.p.values(d_.p.consts[i].values)) values.push_back(expr(e));
    p.consts[consts_[i].index()].values = p.add_values(values);
  }

  uint32_t next_binding = 0;
  for (const check::BufferFacts& facts : d_.c.buffers)
    if (facts.binding) next_binding = std::max(next_binding, *facts.binding + 1);
  uint32_t input = 0;
  uint32_t output = 0;
  for (uint32_t i = 0; i < d_.p.buffers.size(); ++i) {
    if (!uses_[i].used) continue;
    const Buffer& from = d_.p.buffers[i];
    Buffer b;
    b.name = from.name;
    b.element = from.element;
    b.locality = from.locality;
    b.coalesce_axis = from.coalesce_axis;
    check::BufferFacts facts;
    const std::optional<uint32_t> count = d_.c.buffers[i].constant_count;
    if (from.kind == BufferKind::Shared && !shared_as_buffers_) {
      b.kind = BufferKind::Shared;
      facts.role = check::Role::Shared;
    } else {
      // `in` says that nothing writes it while this runs, and lets loads of it be uniform.
      b.kind = uses_[i].written                   ? BufferKind::InOut
               : from.kind == BufferKind::Uniform ? BufferKind::Uniform
                                                  : BufferKind::In;
      facts.role = uses_[i].written                   ? check::Role::InputOutput
                   : from.kind == BufferKind::Uniform ? check::Role::Uniform
                                                      : check::Role::Input;
      facts.binding = d_.c.buffers[i].binding;
      if (!facts.binding) facts.binding = next_binding++;
      facts.input_slot = input++;
      if (uses_[i].written) facts.output_slot = output++;
      b.binding = add(IntLiteral{.magnitude = *facts.binding, .negative = false, .suffix = {}},
                      Type::U32, {});
    }
    if (count)
      b.count =
          add(IntLiteral{.magnitude = *count, .negative = false, .suffix = {}}, Type::U32, {});
    facts.constant_count = count;
    // What is kept of shared memory between launches lies anywhere.
    if (from.kind != BufferKind::Shared || b.kind == BufferKind::Shared)
      facts.align = d_.c.buffers[i].align;
    if (facts.align != 0)
      b.align =
          add(IntLiteral{.magnitude = facts.align, .negative = false, .suffix = {}}, Type::U32, {});
    const LocId at = i < d_.p.positions.buffers.size() ? d_.p.positions.buffers[i] : LocId{};
    buffers_[i] = p.add(std::move(b), loc(at));
    c_.buffers.push_back(facts);
    arguments_.push_back(d_.arguments[i]);
  }
  for (uint32_t i = 0; i < d_.p.fns.size(); ++i) {
    if (!fns_used_[i]) continue;
    fns_[i] = p.add(Fn{d_.p.fns[i].name, {}, d_.p.fns[i].result, {}}, loc(d_.p.loc(FnId{i})));
  }
  for (uint32_t i = 0; i < d_.p.fns.size(); ++i) {
    if (!fns_used_[i]) continue;
    std::vector<LocalId> params;
    for (const LocalId l : d_.p.params(d_.p.fns[i].params)) params.push_back(local(l));
    const Range range = p.add_params(params);
    const Block body = block(d_.p.items(d_.p.fns[i].body));
    p.fns[fns_[i].index()].params = range;
    p.fns[fns_[i].index()].body = body;
  }
}

// ---- nodes

LocId Extractor::loc(LocId id) {
  if (!id.valid()) return {};
  if (const auto known = locs_.find(id.value); known != locs_.end()) return known->second;
  Loc copy = d_.p.positions.locs[id.index()];
  copy.inlined_at = loc(copy.inlined_at);
  return locs_[id.value] = c_.program.add_loc(copy);
}

Memory Extractor::memory(Memory m) {
  if (!m.valid()) return m;
  switch (m.kind) {
    case Memory::Kind::Buffer: return Memory::of(buffers_[m.index]);
    case Memory::Kind::Table: return Memory::of(consts_[m.index]);
    case Memory::Kind::Local: return Memory::of(local(m.local()));
  }
  return m;
}

LocalId Extractor::local(LocalId id) {
  const auto [it, fresh] = locals_.try_emplace(id.value, LocalId{});
  if (!fresh) return it->second;
  Local l = d_.p[id];
  l.type = d_.type_of(id);
  // The name it has in the source, if no other local of this segment has it.
  l.name = d_.source_names[id.index()];
  for (uint32_t n = 2; !names_.insert(l.name).second; ++n)
    l.name = fmt::format("{}_{}", d_.source_names[id.index()].substr(0, kMaxNameBytes - 11), n);
  const uint32_t count = d_.c.array_counts[id.index()];
  l.axes = {};
  l.rank = 1;
  if (l.kind == Local::Kind::Array)
    l.count = add(IntLiteral{.magnitude = count, .negative = false, .suffix = {}}, Type::U32, {});
  l.values = {};  // core_forms() made stores of them
  const LocalId copy = c_.program.add(std::move(l), loc(d_.p.loc(id)));
  c_.local_types.push_back(d_.type_of(id));
  c_.array_counts.push_back(count);
  c_.local_levels.push_back(d_.level_of(id));
  locals_[id.value] = copy;
  return copy;
}

ExprId Extractor::add(Expr e, std::optional<Type> type, LocId at) {
  const ExprId id = c_.program.add(std::move(e), at);
  c_.expr_types.resize(c_.program.exprs.size());
  c_.expr_types[id.index()] = type;
  c_.expr_proofs.resize(c_.program.exprs.size(), -1);
  c_.axis_proofs.resize(c_.program.exprs.size(), 0);
  return id;
}

ExprId Extractor::expr(ExprId id) {
  Expr e = d_.p[id];
  match(
      e, [](IntLiteral&) {}, [](FloatLiteral&) {}, [](BoolLiteral&) {},
      [&](LocalRef& x) { x.local = local(x.local); },
      [&](ConstRef& x) { x.constant = consts_[x.constant.index()]; }, [](BuiltinRef&) {},
      [&](Len& x) { x.memory = memory(x.memory); },
      [&](Load& x) {
        x.memory = memory(x.memory);
        x.index = expr(x.index);
      },
      [&](Unary& x) { x.operand = expr(x.operand); },
      [&](Binary& x) {
        x.left = expr(x.left);
        x.right = expr(x.right);
      },
      [&](Cast& x) { x.operand = expr(x.operand); },
      [&](Bitcast& x) { x.operand = expr(x.operand); },
      [&](IntrinsicCall& x) {
        for (int i = 0; i < arity_of(x.op); ++i)
          x.args[static_cast<size_t>(i)] = expr(x.args[static_cast<size_t>(i)]);
      },
      [&](Atomic& x) {
        x.memory = memory(x.memory);
        x.index = expr(x.index);
        for (int i = 0; i < arity_of(x.op); ++i)
          x.args[static_cast<size_t>(i)] = expr(x.args[static_cast<size_t>(i)]);
      },
      [&](Subgroup& x) {
        x.value = expr(x.value);
        if (x.lane.valid()) x.lane = expr(x.lane);
      },
      [&](UniformLoad& x) {
        x.memory = memory(x.memory);
        x.index = expr(x.index);
      },
      [&](Call& x) {
        std::vector<Arg> args;
        for (const Arg& arg : d_.p.arguments(x.args)) {
          if (const ExprId* value = std::get_if<ExprId>(&arg))
            args.emplace_back(expr(*value));
          else
            args.emplace_back(memory(std::get<Memory>(arg)));
        }
        x.fn = fns_[x.fn.index()];
        x.args = c_.program.add_args(args);
      },
      [](Poison&) {},
      [&](AxisIndex& x) {
        x.memory = memory(x.memory);
        for (Range* const range : {&x.indices, &x.lengths}) {
          std::vector<ExprId> list;
          for (const ExprId e_id : d_.p.values(*range)) list.push_back(expr(e_id));
          *range = c_.program.add_values(list);
        }
      },
      [&](AxisLen& x) { x.memory = memory(x.memory); });
  const ExprId copy = add(std::move(e), d_.c.expr_types[id.index()], loc(d_.p.loc(id)));
  c_.axis_proofs[copy.index()] = d_.c.axis_proofs[id.index()];
  if (const int32_t proof = d_.c.expr_proofs[id.index()]; proof >= 0) {
    c_.proofs.push_back(d_.c.proofs[static_cast<size_t>(proof)]);
    c_.expr_proofs[copy.index()] = static_cast<int32_t>(c_.proofs.size()) - 1;
  }
  return copy;
}

Block Extractor::block(std::span<const StmtId> items) {
  std::vector<StmtId> list;
  for (const StmtId id : items) list.push_back(stmt(id));
  return c_.program.add_block(list);
}

StmtId Extractor::stmt(StmtId id) {
  Stmt s = d_.p[id];
  const auto body = [&](Block b) { return block(d_.p.items(b)); };
  match(
      s,
      [&](Let& x) {
        x.value = expr(x.value);
        x.local = local(x.local);
      },
      [&](DeclareArray& x) { x.local = local(x.local); },
      [&](Assign& x) {
        x.local = local(x.local);
        x.value = expr(x.value);
      },
      [&](Store& x) {
        x.memory = memory(x.memory);
        x.index = expr(x.index);
        x.value = expr(x.value);
      },
      [&](Eval& x) { x.value = expr(x.value); },
      [&](If& x) {
        x.condition = expr(x.condition);
        x.then_block = body(x.then_block);
        x.else_block = body(x.else_block);
      },
      [&](For& x) {
        x.first = expr(x.first);
        x.last = expr(x.last);
        if (x.step.valid()) x.step = expr(x.step);
        x.variable = local(x.variable);
        x.body = body(x.body);
      },
      [&](While& x) {
        x.condition = expr(x.condition);
        x.body = body(x.body);
      },
      [](Break&) {}, [](Continue&) {},
      [&](Return& x) {
        if (x.value.valid()) x.value = expr(x.value);
      },
      [&](Nested& x) { x.body = body(x.body); }, [&](Region& x) { x.body = body(x.body); },
      [](Barrier&) {},
      [&](Fixpoint& x) {
        x.max_passes = expr(x.max_passes);
        std::vector<Memory> list;
        for (const Memory m : d_.p.memories(x.buffers)) list.push_back(memory(m));
        x.buffers = c_.program.add_memories(list);
        x.body = body(x.body);
      },
      [&](AsyncCopy& x) {
        x.dst = memory(x.dst);
        x.dst_index = expr(x.dst_index);
        x.src = memory(x.src);
        x.src_index = expr(x.src_index);
        x.count = expr(x.count);
      },
      [](Wait&) {}, [&](Trap& x) { x.value = expr(x.value); }, [](Resume&) {},
      [&](Collective& x) {
        x.src = memory(x.src);
        x.dst = memory(x.dst);
        if (x.root.valid()) x.root = expr(x.root);
        if (x.group.valid()) x.group = expr(x.group);
      },
      [&](Swap& x) {
        x.a = memory(x.a);
        x.b = memory(x.b);
      },
      [](Print&) { VYRE_CHECK(!"lower-prints left a print"); },
      [](Assert&) { VYRE_CHECK(!"lower-prints left an assert"); });
  const StmtId copy = c_.program.add(std::move(s), loc(d_.p.loc(id)));
  c_.flow_levels.resize(c_.program.stmts.size(), Level::Lane);
  c_.flow_levels[copy.index()] = d_.c.flow_levels[id.index()];
  c_.stmt_proofs.resize(c_.program.stmts.size(), -1);
  if (const int32_t proof = d_.c.stmt_proofs[id.index()]; proof >= 0) {
    c_.proofs.push_back(d_.c.proofs[static_cast<size_t>(proof)]);
    c_.stmt_proofs[copy.index()] = static_cast<int32_t>(c_.proofs.size()) - 1;
  }
  return copy;
}

}  // namespace vyre::plan
