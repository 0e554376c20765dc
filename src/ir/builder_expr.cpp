// SPDX-License-Identifier: Apache-2.0
// Expressions of the builder: values become operands, operands become nodes.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/match.hpp"
#include "ir/builder_core.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::build {

namespace {

using Kind = detail::Handle::Kind;

// Nodes that repeated uses of values may add to one program.
constexpr size_t kMaxCopied = 1'000'000;

}  // namespace

// ---- operands ----

ir::ExprId Core::use(const Operand& operand) {
  const detail::Handle& handle = operand.value().handle();
  const Where& where = operand.where();
  switch (handle.kind) {
    case Kind::Poison: return add_poison(loc(where));
    case Kind::Builtin:
      return add_node(ir::BuiltinRef{static_cast<ir::Builtin>(handle.payload), handle.axis},
                      loc(where));
    case Kind::Bool: return add_node(ir::BoolLiteral{handle.payload != 0}, loc(where));
    case Kind::Int:
      if (!suffix_fits(handle.suffix, false, where)) return add_poison(loc(where));
      return add_node(ir::IntLiteral{handle.payload, handle.negative, handle.suffix}, loc(where));
    case Kind::Float:
    case Kind::Double: return use_real(handle, where);
    case Kind::Empty:
    case Kind::Node:
    case Kind::Local:
    case Kind::Const:
    case Kind::Scalar: break;
  }
  if (!owns(handle.owner, where, "a value")) return add_poison(loc(where));
  if (handle.kind == Kind::Node)
    return use_node(ir::ExprId{static_cast<uint32_t>(handle.payload)}, where);
  if (handle.kind == Kind::Scalar) {
    const ir::ExprId index = add_node(ir::IntLiteral{}, loc(where));
    const ir::BufferId buffer{static_cast<uint32_t>(handle.payload)};
    return add_node(ir::Load{ir::Memory::of(buffer), index}, loc(where));
  }
  if (handle.kind == Kind::Const)
    return add_node(ir::ConstRef{ir::ConstId{static_cast<uint32_t>(handle.payload)}}, loc(where));
  const ir::LocalId local{static_cast<uint32_t>(handle.payload)};
  if (!scope_visible(local_scopes_[local.index()], where, describe(local)))
    return add_poison(loc(where));
  return add_node(ir::LocalRef{local}, loc(where));
}

ir::ExprId Core::use_node(ir::ExprId id, const Where& where) {
  const NodeInfo info = info_[id.index()];
  if (!scope_visible(info.scope, where, "a value with a local in it"))
    return add_poison(loc(where));
  if (info.effect && !take_effect(id, where)) return add_poison(loc(where));
  if (info.use != Use::Free) {
    if (copied_ + info.size > kMaxCopied) {
      if (!std::exchange(too_large_, true))
        report(
            Code::BuilderMisuse, where,
            fmt::format("values that are used several times repeat more than {} nodes", kMaxCopied),
            "name them with let() and use that");
      return add_poison(loc(where));
    }
    copied_ += info.size;
    return copy(id);
  }
  info_[id.index()].use = Use::InExpression;
  info_[id.index()].used_at = loc(where);
  return id;
}

// Only expressions without an effect are copied, and those are at most kMaxExprDepth deep.
ir::ExprId Core::copy(ir::ExprId id) {
  ir::Expr expr = program_[id];
  const auto replace = [&](ir::ExprId& operand) { operand = copy(operand); };
  match(
      expr, [](ir::IntLiteral&) {}, [](ir::FloatLiteral&) {}, [](ir::BoolLiteral&) {},
      [](ir::LocalRef&) {}, [](ir::ConstRef&) {}, [](ir::BuiltinRef&) {}, [](ir::Len&) {},
      [](ir::Poison&) {}, [&](ir::Load& e) { replace(e.index); },
      [&](ir::Unary& e) { replace(e.operand); },
      [&](ir::Binary& e) {
        replace(e.left);
        replace(e.right);
      },
      [&](ir::Cast& e) { replace(e.operand); }, [&](ir::Bitcast& e) { replace(e.operand); },
      [&](ir::IntrinsicCall& e) {
        for (int i = 0; i < ir::arity_of(e.op); ++i) replace(e.args[static_cast<size_t>(i)]);
      },
      [](ir::Atomic&) { VYRE_CHECK(!"an effect is copied"); },
      [](ir::Subgroup&) { VYRE_CHECK(!"an effect is copied"); },
      [](ir::UniformLoad&) { VYRE_CHECK(!"an effect is copied"); },
      [](ir::Call&) { VYRE_CHECK(!"an effect is copied"); },
      [&](ir::AxisIndex& e) {
        std::vector<ir::ExprId> indices;
        for (uint32_t i = 0; i < e.indices.count; ++i)
          indices.push_back(copy(program_.expr_lists[e.indices.first + i]));
        e.indices = program_.add_values(indices);
      },
      [](ir::AxisLen&) {});
  return add_node(std::move(expr), program_.loc(id));
}

ir::Memory Core::use(const MemoryRef& memory, const Where& where) {
  if (!owns(memory.owner(), where, "a buffer")) return {};
  const ir::LocalId local = memory.memory().local();
  if (local.valid() && !scope_visible(local_scopes_[local.index()], where, describe(local)))
    return {};
  return memory.memory();
}

ir::Memory Core::use_buffer(const MemoryRef& memory, const Where& where, std::string_view user) {
  const ir::Memory used = use(memory, where);
  const bool array = used.local().valid() && program_[used.local()].kind == ir::Local::Kind::Array;
  if (!used.table().valid() && !array) return used;
  report(Code::WrongKindOfName, where,
         fmt::format("{} takes a buffer, not {}", user,
                     array ? "a private array" : "a constant table"),
         "use a buffer");
  return {};
}

// ---- nodes ----

uint32_t Core::scope_of(ir::Memory memory) const {
  return memory.local().valid() ? local_scopes_[memory.local().index()] : 0;
}

Core::NodeInfo Core::info_for(const ir::Expr& expr, bool effect) const {
  NodeInfo info;
  info.effect = effect;
  if (const auto* e = std::get_if<ir::LocalRef>(&expr))
    info.scope = local_scopes_[e->local.index()];
  if (const auto* e = std::get_if<ir::Len>(&expr)) info.scope = scope_of(e->memory);
  if (const auto* e = std::get_if<ir::AxisLen>(&expr)) info.scope = scope_of(e->memory);
  if (const auto* e = std::get_if<ir::AxisIndex>(&expr)) info.scope = scope_of(e->memory);
  if (const auto* e = std::get_if<ir::Load>(&expr)) info.scope = scope_of(e->memory);
  if (const auto* e = std::get_if<ir::Atomic>(&expr)) info.scope = scope_of(e->memory);
  if (const auto* e = std::get_if<ir::UniformLoad>(&expr)) info.scope = scope_of(e->memory);
  if (const auto* e = std::get_if<ir::Call>(&expr))
    for (const ir::Arg& arg : program_.arguments(e->args))
      if (const auto* memory = std::get_if<ir::Memory>(&arg))
        info.scope = std::max(info.scope, scope_of(*memory));
  ir::for_each_operand(program_, expr, [&](ir::ExprId operand) {
    const NodeInfo& child = info_[operand.index()];
    info.size += child.size;
    info.depth = std::max(info.depth, child.depth + 1);
    info.scope = std::max(info.scope, child.scope);
    info.effect = info.effect || child.effect;
  });
  return info;
}

ir::ExprId Core::add_node(ir::Expr expr, ir::LocId at, bool effect) {
  if (!grow(at)) return add_poison(at);
  info_.push_back(info_for(expr, effect));
  const ir::ExprId id = program_.add(std::move(expr), at);
  return id;
}

// Stands where something was wrong; one for all, because misuse in a loop must not fill the memory.
ir::ExprId Core::add_poison(ir::LocId at) {
  if (!poison_.valid()) {
    info_.push_back({});
    poison_ = program_.add(ir::Expr{ir::Poison{}}, at);
  }
  return poison_;
}

Value Core::dropped() {
  taken_.clear();
  return poison();
}

Value Core::make(ir::Expr expr, const Where& where, bool effect) {
  const std::vector<Effect> taken = std::exchange(taken_, {});
  if (too_large_) return poison();
  const ir::ExprId id = add_node(std::move(expr), loc(where), effect);
  if (info_[id.index()].depth > ir::kMaxExprDepth) {
    report(Code::ExpressionTooDeep, where,
           fmt::format("an expression is more than {} nodes deep", ir::kMaxExprDepth),
           "name parts of it with let()");
    return poison();
  }
  if (info_[id.index()].effect) {
    Effect record{id, UINT64_MAX, 0};
    for (const Effect& part : taken) {
      record.oldest = std::min(record.oldest, part.oldest);
      record.newest = std::max(record.newest, part.newest);
    }
    if (effect) {
      record.newest = ++effects_;
      record.oldest = std::min(record.oldest, record.newest);
    }
    blocks_.back().pending.push_back(record);
  }
  return Value(detail::Handle{.kind = Kind::Node, .owner = owner_, .payload = id.value});
}

Value Core::call(uint64_t owner, ir::FnId fn, std::span<const Argument> args, const Where& where) {
  if (!owns(owner, where, "a function") || !fn.valid()) return poison();
  std::vector<ir::Arg> list;
  for (const Argument& arg : args) {
    if (arg.is_memory()) {
      const ir::Memory memory = use_buffer(arg.memory(), arg.value().where(), "a function");
      if (!memory.valid()) return dropped();
      list.emplace_back(memory);
    } else {
      list.emplace_back(use(arg.value()));
    }
  }
  const ir::Range range = program_.add_args(list);
  return make(ir::Call{fn, range}, where, true);
}

// ---- the public functions ----

namespace detail {

Value unary(ir::UnaryOp op, const Operand& operand) {
  Core* core = Core::current("an operator", operand.where());
  if (core == nullptr) return Core::poison();
  const ir::ExprId id = core->use(operand);
  return core->make(ir::Unary{op, id}, operand.where());
}

Value binary(ir::BinaryOp op, const Operand& left, const Operand& right) {
  Core* core = Core::current("an operator", left.where());
  if (core == nullptr) return Core::poison();
  const ir::ExprId a = core->use(left);
  const ir::ExprId b = core->use(right);
  return core->make(ir::Binary{op, a, b}, left.where());
}

Value cast(ir::Type type, const Operand& operand) {
  Core* core = Core::current("as()", operand.where());
  if (core == nullptr) return Core::poison();
  const ir::ExprId id = core->use(operand);
  return core->make(ir::Cast{type, id}, operand.where());
}

Value bitcast(ir::Type type, const Operand& operand) {
  Core* core = Core::current("bitcast()", operand.where());
  if (core == nullptr) return Core::poison();
  const ir::ExprId id = core->use(operand);
  return core->make(ir::Bitcast{type, id}, operand.where());
}

Value intrinsic(ir::Intrinsic op, const Operand& a, const Operand& b, const Operand& c) {
  Core* core = Core::current(ir::name_of(op), a.where());
  if (core == nullptr) return Core::poison();
  ir::IntrinsicCall call{op, {}};
  const std::array<const Operand*, 3> operands = {&a, &b, &c};
  for (size_t i = 0; i < static_cast<size_t>(ir::arity_of(op)); ++i)
    call.args[i] = core->use(*operands[i]);
  return core->make(call, a.where());
}

Value subgroup(ir::SubgroupOp op, const Operand& value, const Operand& lane) {
  Core* core = Core::current(ir::name_of(op), value.where());
  if (core == nullptr) return Core::poison();
  ir::Subgroup node{op, core->use(value), {}};
  if (ir::arity_of(op) == 2) node.lane = core->use(lane);
  return core->make(node, value.where(), true);
}

Value with_suffix(ir::Type type, Value literal) {
  Handle handle = literal.handle();
  // `true` and `false` have no suffix; as numbers they would.
  if (handle.kind == Handle::Kind::Bool) handle.kind = Handle::Kind::Int;
  handle.suffix = type;
  return Value(handle);
}

Value load(const Element& element, const Where& where) {
  Core* core = Core::current("a load", where);
  if (core == nullptr) return Core::poison();
  const ir::ExprId index = core->use(element.index());
  const ir::Memory memory = core->use(element.memory(), where);
  return memory.valid() ? core->make(ir::Load{memory, index}, where) : core->dropped();
}

Value uniform_load(ir::Scope scope, const Element& element) {
  const Where& where = element.where();
  Core* core = Core::current(scope == ir::Scope::Grid ? "grid_load()" : "workgroup_load()", where);
  if (core == nullptr) return Core::poison();
  const ir::ExprId index = core->use(element.index());
  const ir::Memory memory = core->use(element.memory(), where);
  return memory.valid() ? core->make(ir::UniformLoad{scope, memory, index}, where, true)
                        : core->dropped();
}

Value atomic(ir::AtomicOp op, const Element& element, const Operand& a, const Operand& b,
             ir::MemoryOrder order) {
  const Where& where = element.where();
  Core* core = Core::current(ir::name_of(op), where);
  if (core == nullptr) return Core::poison();
  ir::Atomic node;
  node.op = op;
  node.order = order;
  node.index = core->use(element.index());
  if (ir::arity_of(op) >= 1) node.args[0] = core->use(a);
  if (ir::arity_of(op) >= 2) node.args[1] = core->use(b);
  node.memory = core->use(element.memory(), where);
  return node.memory.valid() ? core->make(node, where, true) : core->dropped();
}

}  // namespace detail

Operand::Operand(const Var& variable, Where where) : value_(variable.value()), where_(where) {}
Operand::Operand(const Element& element, Where where)
    : value_(detail::load(element, where)), where_(where) {}

Value Var::value() const {
  return Value(detail::Handle{.kind = Kind::Local, .owner = owner_, .payload = local_.value});
}

Value len(const MemoryRef& memory, Where where) {
  Core* core = Core::current("len()", where);
  if (core == nullptr) return Core::poison();
  const ir::Memory used = core->use_buffer(memory, where, "len()");
  return used.valid() ? core->make(ir::Len{used}, where) : Core::poison();
}

Value len(const MemoryRef& memory, int axis, Where where) {
  Core* core = Core::current("len()", where);
  if (core == nullptr) return Core::poison();
  const ir::Memory used = core->use(memory, where);
  if (!used.valid()) return Core::poison();
  if (axis >= 0 && static_cast<uint32_t>(axis) < ir::kMaxAxes)
    return core->make(ir::AxisLen{used, static_cast<uint8_t>(axis)}, where);
  core->report(Code::BadShape, where, fmt::format("len() of the axis {}", axis),
               fmt::format("use an axis from 0 to {}", ir::kMaxAxes - 1));
  return Core::poison();
}

Element MemoryRef::at(std::initializer_list<Operand> indices) const {
  const Where& where = indices.begin()->where();
  Core* core = Core::current("an element", where);
  if (core == nullptr) return {*this, Operand(Core::poison(), where)};
  std::vector<ir::ExprId> ids;
  for (const Operand& index : indices) ids.push_back(core->use(index));
  const ir::Memory memory = core->use(*this, where);
  if (!memory.valid()) return {*this, Operand(core->dropped(), where)};
  return {*this, Operand(core->make(ir::AxisIndex{memory, core->program().add_values(ids)}, where),
                         where)};
}

Value whole(uint64_t magnitude, bool negative, std::optional<ir::Type> suffix) {
  return Value(detail::Handle{
      .kind = Kind::Int, .negative = negative, .suffix = suffix, .payload = magnitude});
}

Value decimal(std::string_view text, std::optional<ir::Type> suffix, Where where) {
  Core* core = Core::current("decimal()", where);
  return core == nullptr ? Core::poison() : core->decimal(text, suffix, where);
}

Value Function::call(std::initializer_list<Argument> args, const Where& where) const {
  Core* core = Core::current("a function", where);
  if (core == nullptr) return Core::poison();
  return core->call(owner_, fn_, std::span(args.begin(), args.size()), where);
}

}  // namespace vyre::build
