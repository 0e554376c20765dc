// SPDX-License-Identifier: Apache-2.0
// Statements of the builder. What a statement with blocks takes is used before the blocks run; the
// statement is in its place first and gets its blocks when they are complete.
#include "vyre/ir/builder_statements.hpp"

#include <utility>

#include "ir/builder_core.hpp"

namespace vyre::build {

// ---- locals ----

namespace detail {

namespace {

// A local without a name of its own stands where its value stands.
const Where& place(const Name& name, const Operand& value) {
  return name.where().line() != 0 ? name.where() : value.where();
}

}  // namespace

Value let(const Name& name, std::optional<ir::Type> type, const Operand& value) {
  const Where& where = place(name, value);
  Core* core = Core::current("let()", where);
  if (core == nullptr) return Core::poison();
  const ir::ExprId id = core->use(value);
  const ir::LocalId local = core->declare(ir::Local::Kind::Let, name, type, where);
  core->emit(ir::Let{local, id}, where);
  return core->local_value(local);
}

Var var(const Name& name, std::optional<ir::Type> type, const Operand& value) {
  const Where& where = place(name, value);
  Core* core = Core::current("var()", where);
  if (core == nullptr) return {0, {}};
  const ir::ExprId id = core->use(value);
  const ir::LocalId local = core->declare(ir::Local::Kind::Var, name, type, where);
  core->emit(ir::Let{local, id}, where);
  return {core->owner(), local};
}

MemoryRef private_array(const Name& name, ir::Type type, const Operand& count,
                        std::initializer_list<Operand> values) {
  const Where& where = place(name, count);
  Core* core = Core::current("private_array()", where);
  if (core == nullptr) return {};
  const ir::ExprId id = core->use(count);
  std::vector<ir::ExprId> ids;
  for (const Operand& value : values) ids.push_back(core->use(value));
  const ir::LocalId local = core->declare(ir::Local::Kind::Array, name, type, where);
  core->program().locals[local.index()].count = id;
  core->program().locals[local.index()].values = core->program().add_values(ids);
  core->emit(ir::DeclareArray{local}, where);
  return {core->owner(), ir::Memory::of(local)};
}

MemoryRef private_array(const Name& name, ir::Type type, std::initializer_list<Operand> axes) {
  Core* core = Core::current("private_array()", name.where());
  if (core == nullptr) return {};
  std::vector<ir::ExprId> lengths;
  for (const Operand& axis : axes) lengths.push_back(core->use(axis));
  const ir::LocalId local = core->declare(ir::Local::Kind::Array, name, type, name.where());
  const ir::Range range = core->program().add_values(lengths);
  core->program().locals[local.index()].axes = range;
  core->emit(ir::DeclareArray{local}, name.where());
  return {core->owner(), ir::Memory::of(local)};
}

}  // namespace detail

Var& Var::assign(std::optional<ir::BinaryOp> op, const Operand& value) {
  if (Core* core = Core::current("an assignment", value.where()))
    core->assign(owner_, local_, op, value);
  return *this;
}

Element& Element::store(std::optional<ir::BinaryOp> op, const Operand& value) {
  Core* core = Core::current("a store", where());
  if (core == nullptr) return *this;
  const ir::ExprId index = core->use(index_);
  const ir::ExprId source = core->use(value);
  const ir::Memory memory = core->use(memory_, where());
  if (memory.valid())
    core->emit(ir::Store{memory, index, op, source}, where());
  else
    core->dropped();
  return *this;
}

// ---- control flow ----

IfChain if_(const Operand& condition, const Body& body) {
  const Where& where = condition.where();
  Core* core = Core::current("if_()", where);
  if (core == nullptr) return {0, {}, {}, 0};
  const ir::ExprId id = core->use(condition);
  const ir::StmtId stmt = core->emit(ir::If{id, {}, {}}, where);
  if (stmt.valid()) {
    const ir::Block block = core->block(where, body);
    std::get<ir::If>(core->program().stmts[stmt.index()]).then_block = block;
  }
  return {core->owner(), stmt, stmt, 0};
}

IfChain IfChain::else_if_(const Operand& condition, const Body& body) const {
  const Where& where = condition.where();
  Core* core = Core::current("else_if_()", where);
  if (core == nullptr) return *this;
  const ir::ExprId id = core->use(condition);
  if (!core->else_fits(owner_, outer_, inner_, where)) {
    core->dropped();
    return *this;
  }
  const ir::StmtId stmt = core->add_else_if(inner_, id, where);
  if (!stmt.valid()) return *this;
  const ir::Block block = core->block_at(depth_ + 1, where, body);
  std::get<ir::If>(core->program().stmts[stmt.index()]).then_block = block;
  return {owner_, outer_, stmt, depth_ + 1};
}

void IfChain::else_(const Body& body, Where where) const {
  Core* core = Core::current("else_()", where);
  if (core == nullptr || !core->else_fits(owner_, outer_, inner_, where)) return;
  const ir::Block block = core->block_at(depth_, where, body);
  std::get<ir::If>(core->program().stmts[inner_.index()]).else_block = block;
}

void for_(const Name& name, const Operand& first, const Operand& last, const LoopBody& body,
          const ForOptions& options) {
  const Where& where = name.where().line() != 0 ? name.where() : first.where();
  Core* core = Core::current("for_()", where);
  if (core == nullptr) return;
  ir::For loop;
  loop.first = core->use(first);
  loop.last = core->use(last);
  loop.step = core->use_optional(options.step);
  loop.unroll = options.unroll;
  loop.reversed = options.reversed;
  loop.variable = core->declare(ir::Local::Kind::For, name, {}, where);
  const ir::LocalId variable = loop.variable;
  const ir::StmtId stmt = core->emit(loop, where);
  if (!stmt.valid()) return;
  const ir::Block block = core->block(where, [&] { body(core->local_value(variable)); }, variable);
  std::get<ir::For>(core->program().stmts[stmt.index()]).body = block;
}

void for_(const Operand& first, const Operand& last, const LoopBody& body,
          const ForOptions& options) {
  for_(Name("", first.where()), first, last, body, options);
}

void while_(const Operand& condition, const Body& body) {
  const Where& where = condition.where();
  Core* core = Core::current("while_()", where);
  if (core == nullptr) return;
  const ir::ExprId id = core->use(condition);
  const ir::StmtId stmt = core->emit(ir::While{id, {}}, where);
  if (!stmt.valid()) return;
  const ir::Block block = core->block(where, body);
  std::get<ir::While>(core->program().stmts[stmt.index()]).body = block;
}

void fixpoint_(const Operand& max_passes, std::initializer_list<MemoryRef> buffers,
               const Body& body) {
  const Where& where = max_passes.where();
  Core* core = Core::current("fixpoint_()", where);
  if (core == nullptr) return;
  ir::Fixpoint loop;
  loop.max_passes = core->use(max_passes);
  std::vector<ir::Memory> list;
  for (const MemoryRef& buffer : buffers)
    if (const ir::Memory memory = core->use(buffer, where); memory.valid()) list.push_back(memory);
  if (buffers.size() == 0)
    core->report(Code::BadFixpointList, where, "a fixpoint_() has no buffers to watch",
                 "list the buffers that must stop changing");
  loop.buffers = core->program().add_memories(list);
  const ir::StmtId stmt = core->emit(loop, where);
  if (!stmt.valid()) return;
  const ir::Block block = core->block(where, body);
  std::get<ir::Fixpoint>(core->program().stmts[stmt.index()]).body = block;
}

void region_(const Name& name, const Body& body) {
  Core* core = Core::current("region_()", name.where());
  if (core == nullptr) return;
  const ir::StmtId stmt =
      core->emit(ir::Region{core->checked_name(name, "region", false), {}}, name.where());
  if (!stmt.valid()) return;
  const ir::Block block = core->block(name.where(), body);
  std::get<ir::Region>(core->program().stmts[stmt.index()]).body = block;
}

void block_(const Body& body, Where where) {
  Core* core = Core::current("block_()", where);
  if (core == nullptr) return;
  const ir::StmtId stmt = core->emit(ir::Nested{}, where);
  if (!stmt.valid()) return;
  const ir::Block block = core->block(where, body);
  std::get<ir::Nested>(core->program().stmts[stmt.index()]).body = block;
}

void break_(Where where) {
  if (Core* core = Core::current("break_()", where)) core->emit(ir::Break{}, where);
}

void continue_(Where where) {
  if (Core* core = Core::current("continue_()", where)) core->emit(ir::Continue{}, where);
}

void return_(Where where) {
  if (Core* core = Core::current("return_()", where)) core->emit(ir::Return{}, where);
}

void return_(const Operand& value) {
  Core* core = Core::current("return_()", value.where());
  if (core == nullptr) return;
  const ir::ExprId id = core->use(value);
  core->emit(ir::Return{id}, value.where());
}

// ---- barriers, copies, traps, collectives ----

void barrier(ir::Scope scope, Where where) {
  if (Core* core = Core::current("barrier()", where)) core->emit(ir::Barrier{scope}, where);
}

void async_copy(int tag, const MemoryRef& dst, const Operand& dst_index, const MemoryRef& src,
                const Operand& src_index, const Operand& count) {
  const Where& where = count.where();
  Core* core = Core::current("async_copy()", where);
  if (core == nullptr) return;
  ir::AsyncCopy copy;
  copy.dst_index = core->use(dst_index);
  copy.src_index = core->use(src_index);
  copy.count = core->use(count);
  copy.dst = core->use(dst, where);
  copy.src = core->use(src, where);
  if (!core->tag_fits(tag, where) || !copy.dst.valid() || !copy.src.valid()) {
    core->dropped();
    return;
  }
  copy.tag = static_cast<uint16_t>(tag);
  core->emit(copy, where);
}

void wait(int tag, Where where) {
  Core* core = Core::current("wait()", where);
  if (core != nullptr && core->tag_fits(tag, where))
    core->emit(ir::Wait{static_cast<uint16_t>(tag)}, where);
}

void trap(int tag, const Operand& value) {
  Core* core = Core::current("trap()", value.where());
  if (core == nullptr) return;
  const ir::ExprId id = core->use(value);
  if (core->tag_fits(tag, value.where()))
    core->emit(ir::Trap{static_cast<uint16_t>(tag), id}, value.where());
  else
    core->dropped();
}

void resume(int tag, Where where) {
  Core* core = Core::current("resume()", where);
  if (core != nullptr && core->tag_fits(tag, where))
    core->emit(ir::Resume{static_cast<uint16_t>(tag)}, where);
}

namespace detail {

namespace {

ir::Range use_all(Core& core, std::span<const Operand> args) {
  std::vector<ir::ExprId> ids;
  for (const Operand& arg : args) ids.push_back(core.use(arg));
  return core.program().add_values(ids);
}

}  // namespace

void print(const Name& format, std::span<const Operand> args) {
  Core* core = Core::current("print()", format.where());
  if (core == nullptr) return;
  const ir::Range list = use_all(*core, args);
  core->emit(ir::Print{std::string(format.text()), list}, format.where());
}

void assert_that(const Operand& condition, const Name& format, std::span<const Operand> args) {
  Core* core = Core::current("assert_()", format.where());
  if (core == nullptr) return;
  const ir::ExprId id = core->use(condition);
  const ir::Range list = use_all(*core, args);
  core->emit(ir::Assert{id, std::string(format.text()), list}, format.where());
}

}  // namespace detail

namespace {

struct CollectiveCall {
  ir::CollectiveOp op;
  const MemoryRef* src;
  const MemoryRef* dst = nullptr;
  ir::ReduceOp reduce = ir::ReduceOp::Add;
  const Operand* root = nullptr;
  const Operand* group = nullptr;
};

void collective(const CollectiveCall& call, const Where& where) {
  Core* core = Core::current(ir::name_of(call.op), where);
  if (core == nullptr) return;
  ir::Collective node;
  node.op = call.op;
  node.reduce = call.reduce;
  if (call.root != nullptr) node.root = core->use(*call.root);
  node.group = core->use_optional(*call.group);
  node.src = core->use(*call.src, where);
  if (call.dst != nullptr) node.dst = core->use(*call.dst, where);
  if (node.src.valid() && (call.dst == nullptr || node.dst.valid()))
    core->emit(node, where);
  else
    core->dropped();
}

}  // namespace

void all_reduce(const MemoryRef& memory, ir::ReduceOp op, const Operand& group, Where where) {
  collective({.op = ir::CollectiveOp::AllReduce, .src = &memory, .reduce = op, .group = &group},
             where);
}

void broadcast(const MemoryRef& memory, const Operand& root, const Operand& group) {
  collective({.op = ir::CollectiveOp::Broadcast, .src = &memory, .root = &root, .group = &group},
             root.where());
}

void all_gather(const MemoryRef& src, const MemoryRef& dst, const Operand& group, Where where) {
  collective({.op = ir::CollectiveOp::AllGather, .src = &src, .dst = &dst, .group = &group}, where);
}

void reduce_scatter(const MemoryRef& src, const MemoryRef& dst, ir::ReduceOp op,
                    const Operand& group, Where where) {
  collective({.op = ir::CollectiveOp::ReduceScatter,
              .src = &src,
              .dst = &dst,
              .reduce = op,
              .group = &group},
             where);
}

void swap_(const MemoryRef& a, const MemoryRef& b, Where where) {
  Core* core = Core::current("swap_()", where);
  if (core == nullptr) return;
  const ir::Memory first = core->use(a, where);
  const ir::Memory second = core->use(b, where);
  if (first.valid() && second.valid())
    core->emit(ir::Swap{first, second}, where);
  else
    core->dropped();
}

}  // namespace vyre::build
