// SPDX-License-Identifier: Apache-2.0
// Blocks, scopes, effects and the thread's stack of builders.
#include "ir/builder_core.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "ir/builder_thread.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::build {

namespace {

constexpr std::string_view kNameIt = "name the value with let() where it is made and use that";

Position position_of(const Where& where) {
  return {where.file_name(), where.line(), where.column(), 1};
}

}  // namespace

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

Core::Core(const Name& name) {
  static std::atomic<uint64_t> next{1};
  owner_ = next.fetch_add(1, std::memory_order_relaxed);
  thread_state().stack.push_back(this);
  program_.positions.program = loc(name.where());
  program_.name = checked_name(name, "program", false);
  scopes_.push_back({});  // number 0 means "no scope"
  scopes_.push_back({});  // the main body
  blocks_.push_back({.items = {}, .pending = {}, .scope = 1, .depth = 0});
}

Core::~Core() {
  std::erase(thread_state().stack, this);
}

Core* Core::current(std::string_view function, const Where& where) {
  ThreadState& state = thread_state();
  if (!state.stack.empty()) return state.stack.back();
  state.orphans.add(Code::BuilderMisuse, position_of(where),
                    fmt::format("{} is called while there is no ProgramBuilder", function),
                    "call it between the construction and the finish() of a ProgramBuilder");
  return nullptr;
}

bool Core::is_open(std::string_view function, const Where& where) const {
  if (!finished_) return true;
  thread_state().orphans.add(Code::BuilderMisuse, position_of(where),
                             fmt::format("{} is called after finish()", function),
                             "declare everything before finish()");
  return false;
}

Value Core::poison() {
  return Value(detail::Handle{.kind = detail::Handle::Kind::Poison});
}

Diagnostic& Core::report_at(Code code, ir::LocId at, std::string message, std::string fix) {
  return diagnostics_.add(code, program_.position(at), std::move(message), std::move(fix));
}

Diagnostic& Core::report(Code code, const Where& where, std::string message, std::string fix) {
  return report_at(code, loc(where), std::move(message), std::move(fix));
}

ir::LocId Core::loc(const Where& where) {
  if (where.line() == 0) return last_loc_;
  auto& files = program_.positions.files;
  // Nearly always the file of the call before.
  auto file = std::find(files.rbegin(), files.rend(), std::string_view(where.file_name()));
  if (file == files.rend()) {
    files.emplace_back(where.file_name());
    file = files.rbegin();
  }
  const auto index = static_cast<uint32_t>(files.rend() - file - 1);
  if (last_loc_.valid()) {
    const ir::Loc& last = program_.positions.locs[last_loc_.index()];
    if (last.file == index && last.line == where.line() && last.column == where.column())
      return last_loc_;
  }
  last_loc_ = program_.add_loc({index, where.line(), where.column(), 1, {}});
  return last_loc_;
}

// ---- effects ----

// True if the effect of the expression may take place in the node or statement that is being made.
bool Core::take_effect(ir::ExprId id, const Where& where) {
  NodeInfo& info = info_[id.index()];
  std::vector<Effect>& pending = blocks_.back().pending;
  const auto it =
      std::find_if(pending.begin(), pending.end(), [&](const Effect& e) { return e.root == id; });
  if (info.use == Use::Free && it != pending.end()) {
    taken_.push_back(*it);
    pending.erase(it);
    return true;
  }
  const Position made = program_.position_of(id);
  const Position used = program_.position(info.used_at);
  if (info.use == Use::Free) {
    report(Code::BuilderMisuse, where,
           "a value with an effect is used in another function than it is made in",
           "make it where it is used")
        .notes.push_back({made, "made here"});
    return false;
  }
  Diagnostic& error =
      info.use == Use::Emitted
          ? report(Code::BuilderMisuse, where,
                   fmt::format("the value with an effect made at line {} already became a "
                               "statement of its own",
                               made.line),
                   std::string(kNameIt))
          : report(Code::BuilderMisuse, where,
                   fmt::format("the value with an effect made at line {} is used a second time",
                               made.line),
                   std::string(kNameIt));
  error.notes.push_back({made, "made here"});
  if (info.use != Use::Emitted) error.notes.push_back({used, "used here before"});
  return false;
}

// What the statement takes happens in the statement, so nothing that was made later may have to
// come first.
void Core::check_effect_order() {
  for (const Effect& taken : taken_) {
    for (const Effect& other : blocks_.back().pending) {
      if (other.newest < taken.oldest) continue;
      report_at(
          Code::BuilderMisuse, program_.loc(taken.root),
          "a value with an effect is used only after a later effect, so their order would change",
          std::string(kNameIt))
          .notes.push_back({program_.position_of(other.root), "the later effect is made here"});
      break;
    }
  }
  taken_.clear();
}

void Core::flush_effects() {
  std::vector<Effect> effects = std::exchange(blocks_.back().pending, {});
  std::sort(effects.begin(), effects.end(),
            [](const Effect& a, const Effect& b) { return a.oldest < b.oldest; });
  for (size_t i = 0; i < effects.size(); ++i) {
    if (i != 0 && effects[i].oldest < effects[i - 1].newest)
      report_at(Code::BuilderMisuse, program_.loc(effects[i].root),
                "a value with an effect is made between the parts of another one",
                std::string(kNameIt))
          .notes.push_back(
              {program_.position_of(effects[i - 1].root), "the other one is made here"});
    emit_effect(effects[i]);
  }
}

void Core::emit_effect(const Effect& effect) {
  NodeInfo& info = info_[effect.root.index()];
  info.use = Use::Emitted;
  info.used_at = program_.loc(effect.root);
  const ir::Expr& expr = program_[effect.root];
  if (!std::holds_alternative<ir::Call>(expr) && !std::holds_alternative<ir::Atomic>(expr) &&
      !std::holds_alternative<ir::Subgroup>(expr) &&
      !std::holds_alternative<ir::UniformLoad>(expr)) {
    report_at(Code::BuilderMisuse, info.used_at,
              "an expression with an effect inside is made but never used",
              "use it, name it with let(), or make only the part with the effect");
    return;
  }
  if (!grow(info.used_at)) return;
  const ir::StmtId id = program_.add(ir::Stmt{ir::Eval{effect.root}}, info.used_at);
  blocks_.back().items.push_back(id);
}

// ---- statements ----

// One more node or statement; the first that is too many is reported, the rest silently dropped.
bool Core::grow(ir::LocId at) {
  if (too_large_) return false;
  if (program_.stmts.size() >= ir::kMaxStatements) {
    too_large_ = true;
    report_at(Code::TooManyStatements, at,
              fmt::format("the program has more than {} statements", ir::kMaxStatements),
              "write loops and functions instead of repeating statements");
  } else if (program_.exprs.size() + program_.stmts.size() >= ir::kMaxNodes) {
    too_large_ = true;
    report_at(Code::BuilderMisuse, at,
              fmt::format("the program has more than {} nodes", ir::kMaxNodes),
              "split the program, or read the data from a buffer");
  }
  return !too_large_;
}

ir::StmtId Core::emit(ir::Stmt stmt, const Where& where) {
  const ir::LocId at = loc(where);
  check_effect_order();
  flush_effects();
  if (!grow(at)) return {};
  const ir::StmtId id = program_.add(std::move(stmt), at);
  blocks_.back().items.push_back(id);
  return id;
}

void Core::assign(uint64_t owner, ir::LocalId local, std::optional<ir::BinaryOp> op,
                  const Operand& value) {
  const ir::ExprId source = use(value);
  const bool fits = owns(owner, value.where(), "a variable") && local.valid() &&
                    scope_visible(local_scopes_[local.index()], value.where(), describe(local));
  if (!fits) {
    taken_.clear();
    return;
  }
  emit(ir::Assign{local, op, source}, value.where());
}

ir::LocalId Core::declare(ir::Local::Kind kind, const Name& name, std::optional<ir::Type> type,
                          const Where& where) {
  ir::Local local;
  local.kind = kind;
  local.name = checked_name(name, "local", true);
  local.type = type;
  const ir::LocalId id = program_.add(std::move(local), loc(where));
  local_scopes_.push_back(blocks_.back().scope);
  return id;
}

Value Core::local_value(ir::LocalId id) const {
  return Value(
      detail::Handle{.kind = detail::Handle::Kind::Local, .owner = owner_, .payload = id.value});
}

bool Core::tag_fits(int tag, const Where& where) {
  if (tag >= 0 && static_cast<uint32_t>(tag) <= ir::kMaxTag) return true;
  report(Code::BadTag, where, fmt::format("the tag {} is not between 0 and {}", tag, ir::kMaxTag),
         "use a small whole number");
  return false;
}

// ---- blocks ----

Core::OpenScope::OpenScope(Core& core, uint32_t depth, uint32_t frame)
    : core_(core), outer_frame_(std::exchange(core.frame_, frame)) {
  const auto scope = static_cast<uint32_t>(core.scopes_.size());
  core.scopes_.push_back({frame, true});
  core.blocks_.push_back({.items = {}, .pending = {}, .scope = scope, .depth = depth});
}

ir::Block Core::OpenScope::close() {
  core_.flush_effects();
  closed_ = true;
  return core_.program_.add_block(core_.blocks_.back().items);
}

Core::OpenScope::~OpenScope() {
  core_.scopes_[core_.blocks_.back().scope].open = false;
  core_.blocks_.pop_back();
  core_.frame_ = outer_frame_;
  core_.taken_.clear();
  if (!closed_) core_.left_by_exception_ = true;
}

bool Core::nesting_fits(uint32_t depth, const Where& where) {
  if (frame_ == 0 && depth == ir::kMaxNesting && !deepest_.valid()) deepest_ = loc(where);
  if (depth <= ir::kMaxNesting) return true;
  report(Code::NestingTooDeep, where,
         fmt::format("blocks are nested more than {} deep", ir::kMaxNesting),
         "move the inner blocks into a function");
  return false;
}

ir::Block Core::run_block(uint32_t depth, const Where& where, const Body& body,
                          ir::LocalId variable) {
  // Running the body would only go deeper, and a body that nests without end would overflow the
  // stack.
  if (!nesting_fits(depth, where)) return {};
  OpenScope scope(*this, depth, frame_);
  if (variable.valid()) local_scopes_[variable.index()] = blocks_.back().scope;
  if (body) body();
  return scope.close();
}

ir::Block Core::block(const Where& where, const Body& body, ir::LocalId variable) {
  return run_block(blocks_.back().depth + 1, where, body, variable);
}

ir::Block Core::block_at(uint32_t depth, const Where& where, const Body& body) {
  return run_block(blocks_.back().depth + 1 + depth, where, body, {});
}

bool Core::else_fits(uint64_t owner, ir::StmtId outer, ir::StmtId inner, const Where& where) {
  if (!outer.valid()) return false;  // the `if` was dropped with a report
  const OpenBlock& open = blocks_.back();
  const bool follows =
      owner == owner_ && !open.items.empty() && open.items.back() == outer && open.pending.empty();
  if (follows && std::get<ir::If>(program_[inner]).else_block.empty()) return true;
  report(Code::BuilderMisuse, where, "an else does not directly follow its if_()",
         "write if_(...).else_if_(...).else_(...) as one expression");
  return false;
}

ir::StmtId Core::add_else_if(ir::StmtId inner, ir::ExprId condition, const Where& where) {
  taken_.clear();
  if (!grow(loc(where))) return {};
  const ir::StmtId id = program_.add(ir::Stmt{ir::If{condition, {}, {}}}, loc(where));
  const ir::Block block = program_.add_block(std::array{id});
  std::get<ir::If>(program_.stmts[inner.index()]).else_block = block;
  return id;
}

// ---- names ----

bool Core::owns(uint64_t owner, const Where& where, std::string_view what) {
  if (owner == owner_) return true;
  report(Code::BuilderMisuse, where,
         owner == 0 ? fmt::format("{} that was never made is used", what)
                    : fmt::format("{} of another ProgramBuilder is used", what),
         "use only what was made with the current ProgramBuilder, before its finish()");
  return false;
}

bool Core::scope_visible(uint32_t scope, const Where& where, std::string_view what) {
  if (scope == 0) return true;
  if (!scopes_[scope].open) {
    report(Code::BuilderMisuse, where,
           fmt::format("{} is used outside the block that declares it", what),
           "declare a var() before the block and assign to it inside");
    return false;
  }
  if (scopes_[scope].frame == frame_) return true;
  report(Code::BufferNotPassed, where,
         fmt::format("{} is used in a function that does not declare it", what),
         "pass it as a parameter");
  return false;
}

std::string Core::describe(ir::LocalId id) const {
  const std::string& name = program_[id].name;
  return name.empty() ? "a local" : fmt::format("the local `{}`", name);
}

std::string Core::checked_name(const Name& name, std::string_view what, bool may_be_empty) {
  const std::string_view text = name.text();
  if (text.empty() && may_be_empty) return {};
  if (text.size() > ir::kMaxNameBytes) {
    report(Code::NameTooLong, name.where(),
           fmt::format("the name of a {} has {} bytes", what, text.size()),
           fmt::format("use at most {} bytes", ir::kMaxNameBytes));
  } else if (!ir::is_identifier(text)) {
    report(Code::InvalidName, name.where(), fmt::format("`{}` cannot name a {}", text, what),
           "use letters, digits and _, and no digit first");
  } else if (ir::is_reserved(text)) {
    report(Code::ReservedName, name.where(),
           fmt::format("`{}` is a word of the language and cannot name a {}", text, what),
           fmt::format("choose another name, such as `my_{}`", text));
  } else {
    return std::string(text);
  }
  return {};
}

}  // namespace vyre::build
