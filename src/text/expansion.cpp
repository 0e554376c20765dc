// SPDX-License-Identifier: Apache-2.0
// Reading a part of a text again, names of what is expanded, and the queue of instances. Bodies of
// instances are read after the rest of the text, so that reading never nests deeper than the text.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "text/parser.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {

// ---- cursors

Parser::Cursor Parser::here() const {
  return {lexer_, prev_, tok_, next_, line_indent_, unit_, nesting_, panicking_};
}

void Parser::go_back(const Cursor& cursor) {
  lexer_ = cursor.lexer;
  prev_ = cursor.prev;
  tok_ = cursor.tok;
  next_ = cursor.next;
  line_indent_ = cursor.line_indent;
  unit_ = cursor.unit;
  nesting_ = cursor.nesting;
  panicking_ = cursor.panicking;
  scopes_.set_unit(unit_);
  if (!stopped_) return;
  tok_.kind = TokenKind::End;
  next_.kind = TokenKind::End;
}

// To a token that was read before; what the lexer has to say about it was said then.
void Parser::go_to(uint32_t unit, const Token& token) {
  unit_ = unit;
  scopes_.set_unit(unit);
  lexer_ = Lexer(units_[unit]->source, units_[unit]->file, nullptr);
  lexer_.resume_after(token);
  prev_ = token;
  tok_ = token;
  panicking_ = false;
  nesting_ = 0;
  next_ = fetch();
  if (stopped_) tok_.kind = TokenKind::End;
}

// To the end of a declaration that is not read here: its `;`, or its last block.
void Parser::skip_item() {
  while (!at(TokenKind::End) && !at(TokenKind::RBrace)) {
    if (accept(TokenKind::Semicolon)) return;
    if (at(TokenKind::LBrace)) {
      const bool values = prev_.kind == TokenKind::Assign;
      skip_braces();
      if (!values) return;
      continue;
    }
    advance();
  }
}

// Tokens that are read for an expansion; false, and an error, at the limit.
bool Parser::count_reread() {
  if (++reread_ < kMaxExpandedTokens || reread_counts_) return true;
  reread_counts_ = true;
  panicking_ = false;
  muted_ = false;
  report(Code::TooManyStatements, tok_,
         fmt::format("expanding the functions of the text reads more than {} words",
                     kMaxExpandedTokens),
         "use fewer or smaller instances");
  return false;
}

// ---- names

// All names of the text with `__`, which is what names of expanded things have.
void Parser::collect_taken_names() {
  taken_collected_ = true;
  const auto is_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (const auto& unit : units_) {
    const std::string_view text = unit->source;
    for (size_t at = text.find("__"); at != std::string_view::npos; at = text.find("__", at)) {
      size_t first = at;
      while (first > 0 && is_word(text[first - 1])) --first;
      while (at < text.size() && is_word(text[at])) ++at;
      taken_.emplace(text.substr(first, at - first), true);
    }
  }
}

// `base`, or `base__2`, `base__3`, ... where that is taken. `base` has a `__` or names a function
// of the text.
std::string Parser::fresh_name(const std::string& base) {
  if (!taken_collected_) collect_taken_names();
  const std::string shown = base.size() > ir::kMaxNameBytes ? base.substr(0, 200) : base;
  std::string name = shown;
  for (uint32_t k = 2; taken_.contains(name) || name.size() > ir::kMaxNameBytes; ++k)
    name = fmt::format("{}__{}", shown, k);
  taken_.emplace(name, true);
  return name;
}

// A local that the text declares: under its own name, except where its function is expanded in the
// middle of another one.
std::string Parser::local_name(const Token& name) {
  if (frame_.in_place == nullptr || frame_.lambda) return std::string(name.text);
  return fresh_name(fmt::format("{}{}", name.text, frame_.in_place->suffix));
}

// ---- instances

void Parser::parse_instances() {
  while (!queue_.empty() && !stopped_) {
    const Instance instance = std::move(queue_.front());
    queue_.pop_front();
    parse_instance(instance);
  }
}

void Parser::parse_instance(const Instance& instance) {
  const FnDecl& decl = fn_decls_[instance.decl];
  const Cursor back = here();
  const Frame outer = std::exchange(frame_, Frame{});
  frame_.owner = instance.fn;
  frame_.use = instance.use;
  frame_.depth = instance.depth;
  frame_.key = instance.key;
  const bool outer_function = std::exchange(in_function_, true);
  go_to(decl.unit, decl.body);
  scopes_.enter_function();
  for (size_t i = 0; i < decl.statics.size(); ++i)
    declare_static(decl.statics[i], instance.statics[i]);
  std::vector<ir::LocalId> params;
  declare_params(decl, instance, params);
  declare_targets(decl, declare_captures(instance, params));
  const ir::Block body = parse_block();
  ir::Fn& fn = program_.fns[instance.fn.index()];
  fn.params = program_.add_params(params);
  fn.body = body;
  scopes_.leave_function();
  in_function_ = outer_function;
  frame_ = outer;
  go_back(back);
}

void Parser::declare_params(const FnDecl& decl, const Instance&, std::vector<ir::LocalId>& ids) {
  for (const ParamHead& param : decl.params) {
    if (!count_item(true)) return;
    if (param.form == ParamHead::Form::Fn) continue;
    const bool buffer = param.form == ParamHead::Form::Buffer;
    const std::optional<DeclaredType> type = type_of(param.type, buffer);
    if (!type) continue;
    if (type->is_struct()) {
      const uint32_t record =
          declare_record(type->record, param.name.text, param.name, ir::Local::Kind::Param, {});
      scopes_.declare(param.name.text, {Symbol::Kind::Struct, record});
      for (const ir::LocalId id : record_locals_[record].fields) ids.push_back(id);
      continue;
    }
    const auto kind = buffer ? ir::Local::Kind::BufferParam : ir::Local::Kind::Param;
    ir::Local local{std::string(param.name.text), kind, type->scalar, {}};
    local.rank = param.rank;
    const ir::LocalId id = program_.add(std::move(local), loc(param.name));
    scopes_.declare(param.name.text,
                    {buffer ? Symbol::Kind::BufferParam : Symbol::Kind::Scalar, id.value});
    ids.push_back(id);
  }
}

// What lambdas read comes in as parameters behind the others.
std::vector<FnTarget> Parser::declare_captures(const Instance& instance,
                                               std::vector<ir::LocalId>& ids) {
  std::vector<FnTarget> targets = instance.targets;
  for (FnTarget& target : targets) {
    for (Capture& capture : target.captures) {
      const auto kind = capture.buffer ? ir::Local::Kind::BufferParam : ir::Local::Kind::Param;
      ir::Local local{fresh_name(fmt::format("{}__c", capture.name)), kind, capture.type, {}};
      if (capture.buffer) local.rank = static_cast<uint8_t>(ir::rank_of(program_, capture.memory));
      const ir::LocalId id = program_.add(std::move(local), instance.use);
      capture.local = id;
      capture.memory = ir::Memory::of(id);
      ids.push_back(id);
    }
  }
  return targets;
}

void Parser::declare_targets(const FnDecl& decl, const std::vector<FnTarget>& targets) {
  size_t next = 0;
  for (const ParamHead& param : decl.params) {
    if (param.form != ParamHead::Form::Fn || next >= targets.size()) continue;
    scopes_.declare(param.name.text,
                    {Symbol::Kind::Target, static_cast<uint32_t>(targets_.size())});
    targets_.push_back(targets[next++]);
  }
}

// A function with static parameters that nothing uses: its text still has to follow the grammar.
void Parser::check_unused_generics() {
  for (uint32_t i = 0; i < fn_decls_.size() && !stopped_; ++i) {
    if (fn_decls_[i].plain != kNoIndex || fn_decls_[i].used || fn_decls_[i].unit != 0) continue;
    if (!head_of(i).broken) check_generic(i);
  }
}

// Reads the body with some arguments, for mistakes of grammar only.
void Parser::check_generic(uint32_t index) {
  const FnDecl& decl = fn_decls_[index];
  const Report wanted = std::exchange(wanted_, Report::Syntax);
  Instance instance{index, {}, {}, {}, {}, {}, 1};
  instance.fn = program_.add(ir::Fn{std::string(decl.name.text), {}, {}, {}}, loc(decl.name));
  for (const StaticParam& param : decl.statics)
    instance.statics.push_back(Bound{param.is_type, ir::Type::U32, {param.const_type, 1}});
  for (const ParamHead& param : decl.params)
    if (param.form == ParamHead::Form::Fn) instance.targets.emplace_back();
  parse_instance(instance);
  drop_fns_.insert(instance.fn.value);
  wanted_ = wanted;
}

void Parser::finish_expansion() {
  // A plain function that all calls expand in place is not in the program.
  parse_instances();
  check_unused_generics();
  for (const uint32_t fn : expanded_fns_)
    if (!called_fns_.contains(fn)) drop_fns_.insert(fn);
  hand_hoisted_on();
  check_purity();
  finish_records();
}

// Where only the grammar is read, what a name stands for may be in another file: any value may be a
// struct.
void Parser::skip_fields() {
  if (wanted_ != Report::Syntax || panicking_) return;
  while (at(TokenKind::Dot) && next_.kind == TokenKind::Name) {
    advance();
    advance();
  }
}

// `{ a: 1, b: 2 }` of a struct that is not known.
void Parser::skip_struct_literal() {
  const Token brace = tok_;
  advance();
  while (!panicking_ && !at(TokenKind::RBrace)) {
    if (!accept(TokenKind::Name)) {
      unexpected("the name of a field", "write `name: value`");
      return;
    }
    expect(TokenKind::Colon, "and a value after the name of a field");
    parse_expression();
    if (!accept(TokenKind::Comma)) break;
  }
  expect_close(TokenKind::RBrace, brace);
}

void Parser::take_all_records(size_t first) {
  for (size_t i = first; i < records_.size(); ++i) records_[i].taken = true;
}

// At the `<` of a list whose function is not known.
void Parser::skip_static_list() {
  advance();
  do {
    if (at(TokenKind::Name) &&
        (next_.kind == TokenKind::Comma || next_.kind == TokenKind::Greater)) {
      advance();
      continue;
    }
    parse_binary(ir::precedence_of(ir::BinaryOp::Shl) + 1);
  } while (!panicking_ && accept(TokenKind::Comma));
  expect(TokenKind::Greater, "after the static arguments");
}

// Arguments of a call that is not known: functions and lambdas may be among them.
void Parser::discard_call() {
  if (panicking_ || !at(TokenKind::LParen) || wanted_ != Report::Syntax) {
    discard_postfix();
    return;
  }
  const Nesting nesting(*this);
  if (!nesting.fits) {
    too_deep(tok_);
    return;
  }
  const Token paren = tok_;
  advance();
  if (accept(TokenKind::RParen)) return;
  const bool bare = std::exchange(bare_condition_, false);
  do {
    const bool alone =
        at(TokenKind::Name) && (next_.kind == TokenKind::Comma || next_.kind == TokenKind::RParen);
    if (alone) {
      advance();
      continue;
    }
    if (accept(TokenKind::Or)) {
      while (at(TokenKind::Name) || at(TokenKind::Comma)) advance();
      expect(TokenKind::Or, "after the parameters of a lambda");
    } else {
      accept(TokenKind::OrOr);
    }
    parse_expression();
  } while (!panicking_ && accept(TokenKind::Comma));
  bare_condition_ = bare;
  expect_close(TokenKind::RParen, paren);
}

// ---- memory declared in functions

// Hands hoisted memory down from the program to the functions that declare it: a parameter for each
// function on the way, an argument for each call.
void Parser::hand_hoisted_on() {
  if (hoisted_.empty() || stopped_) return;
  std::map<uint32_t, std::vector<size_t>> calls_of;  // owner -> its calls
  for (size_t i = 0; i < calls_.size(); ++i)
    if (calls_[i].owner.valid()) calls_of[calls_[i].owner.value].push_back(i);
  // Until no function needs more: at most as many passes as the calls are deep.
  size_t total = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [owner, indices] : calls_of) {
      for (const size_t index : indices) {
        const ir::FnId callee = std::get<ir::Call>(program_[calls_[index].call]).fn;
        const auto needed = hoisted_.find(callee.value);
        if (needed == hoisted_.end() || callee.value == owner) continue;
        const std::vector<Hoisted> wanted = needed->second;
        std::vector<Hoisted>& have = hoisted_[owner];
        for (const Hoisted& memory : wanted) {
          const auto same = [&](const Hoisted& h) { return h.buffer == memory.buffer; };
          if (std::any_of(have.begin(), have.end(), same)) continue;
          if (++total > kMaxHidden) {
            too_large(tok_, fmt::format("{} arguments of hoisted memory", kMaxHidden));
            return;
          }
          const ir::LocalId param =
              program_.add(parameter_of(memory.buffer), program_.loc(memory.buffer));
          have.push_back({memory.buffer, param});
          changed = true;
        }
      }
    }
  }
  for (auto& [fn, memories] : hoisted_) {
    const auto before = program_.params(program_.fns[fn].params);
    std::vector<ir::LocalId> params(before.begin(), before.end());
    for (const Hoisted& memory : memories) params.push_back(memory.param);
    program_.fns[fn].params = program_.add_params(params);
  }
  for (const CallSite& site : calls_) {
    ir::Call call = std::get<ir::Call>(program_[site.call]);
    const auto needed = hoisted_.find(call.fn.value);
    if (needed == hoisted_.end()) continue;
    const auto before = program_.arguments(call.args);
    std::vector<ir::Arg> args(before.begin(), before.end());
    for (const Hoisted& memory : needed->second) {
      ir::Memory passed = ir::Memory::of(memory.buffer);
      if (site.owner.valid())
        for (const Hoisted& own : hoisted_[site.owner.value])
          if (own.buffer == memory.buffer) passed = ir::Memory::of(own.param);
      args.emplace_back(passed);
    }
    call.args = program_.add_args(args);
    program_.exprs[site.call.index()] = call;
  }
}

// ---- what only the expansion needed

// Constants that only `if const` and static arguments read, and functions that were only expanded
// in place, are not in the program.
void Parser::drop_static_constants() {
  std::unordered_set<uint32_t> consts;
  for (uint32_t i = 0; i < program_.consts.size(); ++i)
    if (i < const_uses_.size() && const_static_uses_[i] && const_uses_[i] == 0) consts.insert(i);
  if (consts.empty() && drop_fns_.empty()) return;
  std::vector<uint32_t> new_const(program_.consts.size());
  std::vector<uint32_t> new_fn(program_.fns.size());
  uint32_t next = 0;
  for (uint32_t i = 0; i < new_const.size(); ++i)
    new_const[i] = consts.contains(i) ? kNoIndex : next++;
  next = 0;
  for (uint32_t i = 0; i < new_fn.size(); ++i)
    new_fn[i] = drop_fns_.contains(i) ? kNoIndex : next++;
  for (ir::Expr& expr : program_.exprs) {
    bool gone = false;
    if (auto* ref = std::get_if<ir::ConstRef>(&expr)) {
      ref->constant.value = new_const[ref->constant.index()];
      gone = !ref->constant.valid();
    } else if (auto* call = std::get_if<ir::Call>(&expr)) {
      call->fn.value = new_fn[call->fn.index()];
      gone = !call->fn.valid();
    } else if (auto* load = std::get_if<ir::Load>(&expr);
               load != nullptr && load->memory.kind == ir::Memory::Kind::Table) {
      load->memory.index = new_const[load->memory.index];
      gone = !load->memory.valid();
    }
    if (gone) expr = ir::Poison{};
  }
  for (size_t i = program_.consts.size(); i-- > 0;) {
    if (new_const[i] != kNoIndex) continue;
    program_.consts.erase(program_.consts.begin() + static_cast<std::ptrdiff_t>(i));
    program_.positions.consts.erase(program_.positions.consts.begin() +
                                    static_cast<std::ptrdiff_t>(i));
  }
  for (size_t i = program_.fns.size(); i-- > 0;) {
    if (new_fn[i] != kNoIndex) continue;
    program_.fns.erase(program_.fns.begin() + static_cast<std::ptrdiff_t>(i));
    program_.positions.fns.erase(program_.positions.fns.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// A struct that stands where a scalar belongs: everything that takes structs says so.
void Parser::finish_records() {
  for (const Record& record : records_) {
    if (record.taken || stopped_) continue;
    frame_.use = record.use;
    unit_ = record.unit;
    panicking_ = false;
    report(Code::BadStructUse, record.where,
           fmt::format("a value of the struct `{}` stands where a scalar belongs",
                       structs_[record.type].full_name),
           fmt::format("use one of its fields, such as `.{}`",
                       structs_[record.type].fields.empty()
                           ? std::string_view("x")
                           : structs_[record.type].fields.front().first));
  }
  frame_.use = {};
  unit_ = 0;
}

}  // namespace vyre::text
