// SPDX-License-Identifier: Apache-2.0
// Declarations and the end of a program.
#include "vyre/ir/builder.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "ir/builder_core.hpp"
#include "ir/builder_thread.hpp"
#include "ir/message.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::build {

// ---- declarations ----

// Values of the body have no meaning outside of it.
ir::ExprId Core::use_in_declaration(const Operand& operand, std::string_view what) {
  const ir::ExprId id = use(operand);
  taken_.clear();
  if (info_[id.index()].scope == 0) return id;
  report(Code::NotAHostExpression, operand.where(),
         fmt::format("{} uses a local of the program's body", what),
         "use only literals, constants, len() and uniform buffers");
  return add_poison(loc(operand.where()));
}

void Core::header(std::array<ir::ExprId, 3>& ids, ir::LocId& at, Code code, std::string_view what,
                  std::initializer_list<Operand> operands) {
  const Where& where = operands.begin()->where();
  if (at.valid()) {
    report(code, where, fmt::format("{} is given twice", what), "give it once")
        .notes.push_back({program_.position(at), "given here before"});
    return;
  }
  at = loc(where);
  size_t count = 0;
  for (const Operand& operand : operands)
    if (operand.given()) ids[count++] = use_in_declaration(operand, what);
}

void Core::attribute(ir::Buffer& buffer, const Attribute& attribute, uint32_t& seen) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "elements", "@binding", "@align", "@count", "@range", "@live_out", "@locality", "@coalesce"};
  const auto row = static_cast<uint32_t>(attribute.kind);
  const std::string_view name = kNames[row];
  if ((std::exchange(seen, seen | 1u << row) >> row & 1u) != 0) {
    report(Code::BadAttribute, attribute.where,
           fmt::format("{} of the buffer `{}` is given twice", name, buffer.name),
           "keep one of the two");
    return;
  }
  const auto value = [&](const Operand& operand) { return use_in_declaration(operand, name); };
  switch (attribute.kind) {
    case Attribute::Kind::Elements: elements(buffer, attribute); break;
    case Attribute::Kind::Binding: buffer.binding = value(attribute.first); break;
    case Attribute::Kind::Align: buffer.align = value(attribute.first); break;
    case Attribute::Kind::Count: buffer.size = value(attribute.first); break;
    case Attribute::Kind::Range:
      buffer.range_first = value(attribute.first);
      buffer.range_last = value(attribute.last);
      break;
    case Attribute::Kind::LiveOut: buffer.live_out = true; break;
    case Attribute::Kind::Locality: buffer.locality = attribute.locality; break;
    case Attribute::Kind::Coalesce: {
      const detail::Handle& axis = attribute.first.value().handle();
      if (axis.negative || axis.payload > 2)
        report(Code::BadAttribute, attribute.where,
               fmt::format("@coalesce of the buffer `{}` has no such axis", buffer.name),
               "use 0, 1 or 2 for x, y or z");
      else
        buffer.coalesce_axis = static_cast<uint8_t>(axis.payload);
      break;
    }
  }
}

void Core::elements(ir::Buffer& buffer, const Attribute& attribute) {
  const std::string_view what = "the number of elements";
  if (attribute.axes.empty()) {
    buffer.count = use_in_declaration(attribute.first, what);
    return;
  }
  std::vector<ir::ExprId> lengths;
  for (const Operand& axis : attribute.axes) lengths.push_back(use_in_declaration(axis, what));
  buffer.axes = program_.add_values(lengths);
}

MemoryRef Core::buffer(ir::BufferKind kind, const Name& name, ir::Type element,
                       std::span<const Attribute> attributes) {
  ir::Buffer buffer;
  buffer.name = checked_name(name, "buffer", false);
  buffer.kind = kind;
  buffer.element = element;
  uint32_t seen = 0;
  for (const Attribute& one : attributes) attribute(buffer, one, seen);
  const ir::BufferId id = program_.add(std::move(buffer), loc(name.where()));
  return {owner_, ir::Memory::of(id)};
}

ir::FnId Core::function(const Name& name, const std::vector<ParamSpec>& params,
                        std::optional<ir::Type> result,
                        const std::function<void(const Params&)>& body) {
  ir::Fn fn;
  fn.name = checked_name(name, "function", false);
  fn.result = result;
  const ir::FnId id = program_.add(std::move(fn), loc(name.where()));
  OpenScope scope(*this, 1, ++frames_);
  std::vector<ir::LocalId> locals;
  Params handles;
  for (const ParamSpec& spec : params) {
    const auto kind = spec.buffer ? ir::Local::Kind::BufferParam : ir::Local::Kind::Param;
    const ir::LocalId local = declare(kind, spec.name, spec.type, spec.name.where());
    program_.locals[local.index()].rank = spec.rank;
    locals.push_back(local);
    handles.values_.push_back(spec.buffer ? Value() : local_value(local));
    handles.buffers_.push_back(spec.buffer ? MemoryRef(owner_, ir::Memory::of(local))
                                           : MemoryRef());
  }
  const ir::Range range = program_.add_params(locals);
  if (body) body(handles);
  const ir::Block block = scope.close();
  program_.fns[id.index()].params = range;
  program_.fns[id.index()].body = block;
  return id;
}

// ---- the end ----

// Names for locals without one, which nothing else in the program has.
void Core::name_locals() {
  std::unordered_set<std::string> names;
  for (const ir::Const& constant : program_.consts) names.insert(constant.name);
  for (const ir::Buffer& buffer : program_.buffers) names.insert(buffer.name);
  for (const ir::Fn& fn : program_.fns) names.insert(fn.name);
  for (const ir::Local& local : program_.locals) names.insert(local.name);
  size_t number = 0;
  for (ir::Local& local : program_.locals) {
    if (!local.name.empty()) continue;
    do {
      local.name = fmt::format("t{}", ++number);
    } while (!names.insert(local.name).second);
  }
}

void Core::wrap_top_level() {
  std::vector<ir::StmtId>& items = blocks_.front().items;
  if (!ir::top_level_stands(program_, items)) {
    if (deepest_.valid())
      report_at(
          Code::NestingTooDeep, deepest_,
          fmt::format(
              "blocks are nested more than {} deep, with the `region main` around the statements",
              ir::kMaxNesting),
          "move the inner blocks into a function");
    const ir::Block body = program_.add_block(items);
    const ir::LocId at = program_.loc(items.front());
    items = {program_.add(ir::Stmt{ir::Region{"main", body}}, at)};
  }
  program_.body = program_.add_block(items);
}

Result<ir::Program> Core::finish(const Where& where) {
  ThreadState& state = thread_state();
  std::erase(state.stack, this);
  if (std::exchange(finished_, true)) {
    diagnostics_ = {};
    report(Code::BuilderMisuse, where, "finish() is called a second time",
           "keep the program of the first call");
  } else {
    if (blocks_.size() != 1)
      report(Code::BuilderMisuse, where, "finish() is called inside a block",
             "call it after all blocks");
    else
      flush_effects();
    if (left_by_exception_)
      report(Code::BuilderMisuse, where,
             "a block was left by an exception, so the program is not complete",
             "build the program again");
    if (!program_.positions.workgroup.valid())
      report_at(Code::WorkgroupHeader, program_.positions.program,
                fmt::format("the program `{}` has no workgroup size", program_.name),
                "call workgroup(), for example with 256");
    diagnostics_.append(std::exchange(state.orphans, {}));
    if (blocks_.size() == 1) wrap_top_level();
    name_locals();
  }
  if (!diagnostics_.has_errors()) {
    last_loc_ = {};  // it is a place in the program that goes away
    return std::exchange(program_, {});
  }
  diagnostics_.sort();
  const Diagnostic& first = diagnostics_.list().front();
  Error error;
  error.code = ErrorCode::InvalidProgram;
  error.message = fmt::format("the program `{}` cannot be built ({} errors): {}. Fix: {}",
                              program_.name, diagnostics_.errors(), first.message, first.fix);
  error.at = first.at;
  error.diagnostics = diagnostics_.list();
  return std::unexpected(std::move(error));
}

// ---- ProgramBuilder ----

ProgramBuilder::ProgramBuilder(const Name& name) : core_(std::make_unique<Core>(name)) {}
ProgramBuilder::~ProgramBuilder() = default;

void ProgramBuilder::workgroup(const Operand& x, const Operand& y, const Operand& z) {
  if (!core_->is_open("workgroup()", x.where())) return;
  ir::Program& p = core_->program();
  core_->header(p.workgroup, p.positions.workgroup, Code::WorkgroupHeader, "the workgroup size",
                {x, y, z});
}

void ProgramBuilder::over(const Operand& x, const Operand& y, const Operand& z) {
  if (!core_->is_open("over()", x.where())) return;
  ir::Program& p = core_->program();
  core_->header(p.over, p.positions.over, Code::OverHeader, "the over clause", {x, y, z});
}

void ProgramBuilder::require(const Operand& condition, std::string_view message) {
  if (!core_->is_open("require()", condition.where())) return;
  ir::Program& p = core_->program();
  const ir::ExprId id = core_->use_in_declaration(condition, "a requirement");
  if (!ir::is_message(message))
    core_->report(Code::BadString, condition.where(),
                  "the message of a requirement is not plain UTF-8 text",
                  "use UTF-8 without control characters other than \\n and \\t");
  p.add(ir::Require{id, std::string(message), static_cast<uint32_t>(p.buffers.size())},
        core_->loc(condition.where()));
}

Value ProgramBuilder::constant(const Name& name, ir::Type type, const Operand& value) {
  if (!core_->is_open("constant()", name.where())) return Core::poison();
  ir::Program& p = core_->program();
  const ir::ExprId id = core_->use_in_declaration(value, "a constant");
  const ir::Range values = p.add_values(std::array{id});
  const ir::ConstId constant =
      p.add(ir::Const{core_->checked_name(name, "constant", false), type, false, values},
            core_->loc(name.where()));
  return Value(detail::Handle{
      .kind = detail::Handle::Kind::Const, .owner = core_->owner(), .payload = constant.value});
}

MemoryRef ProgramBuilder::table(const Name& name, ir::Type type, std::span<const Operand> values) {
  if (!core_->is_open("table()", name.where())) return {};
  ir::Program& p = core_->program();
  std::vector<ir::ExprId> ids;
  for (const Operand& value : values) ids.push_back(core_->use_in_declaration(value, "a table"));
  if (ids.empty())
    core_->report(Code::BadCount, name.where(),
                  fmt::format("the table `{}` has no values", name.text()),
                  "give at least one value");
  const ir::Range range = p.add_values(ids);
  const ir::ConstId table =
      p.add(ir::Const{core_->checked_name(name, "table", false), type, true, range},
            core_->loc(name.where()));
  return {core_->owner(), ir::Memory::of(table)};
}

MemoryRef ProgramBuilder::buffer(ir::BufferKind kind, const Name& name, ir::Type element,
                                 std::span<const Attribute> attributes) {
  if (!core_->is_open("the declaration of a buffer", name.where())) return {};
  return core_->buffer(kind, name, element, attributes);
}

Value ProgramBuilder::scalar(const Name& name, ir::Type type) {
  if (!core_->is_open("the declaration of a scalar", name.where())) return Core::poison();
  const ir::Memory memory = core_->buffer(ir::BufferKind::Uniform, name, type, {}).memory();
  ir::Program& p = core_->program();
  p.buffers[memory.index].scalar = true;
  return Value(detail::Handle{
      .kind = detail::Handle::Kind::Scalar, .owner = core_->owner(), .payload = memory.index});
}

Function ProgramBuilder::fn(const Name& name, const std::vector<ParamSpec>& params,
                            std::optional<ir::Type> result,
                            const std::function<void(const Params&)>& body) {
  if (!core_->is_open("fn()", name.where())) return {0, {}};
  if (thread_state().stack.empty() || thread_state().stack.back() != core_.get()) {
    core_->report(Code::BuilderMisuse, name.where(),
                  "a function is defined with a ProgramBuilder that is not current",
                  "finish the other ProgramBuilder first");
    return {core_->owner(), {}};
  }
  return {core_->owner(), core_->function(name, params, result, body)};
}

void ProgramBuilder::too_many_names(const Name& function, size_t names, size_t params) {
  core_->report(Code::BuilderMisuse, function.where(),
                fmt::format("the function `{}` has {} parameters but {} names", function.text(),
                            params, names),
                "give one name per parameter");
}

Result<ir::Program> ProgramBuilder::finish(Where where) {
  return core_->finish(where);
}

}  // namespace vyre::build
