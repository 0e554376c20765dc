// SPDX-License-Identifier: Apache-2.0
// Functions that give a struct or get a private array have no form in the IR: their calls are
// expanded where they stand. A `return` assigns to locals declared before; what follows an `if`
// that returns moves into its other branch. Also `if const`, and memory declared in functions.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "text/parser.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {

Parser::Value Parser::zero(ir::Type type, const Token& where) {
  if (type == ir::Type::Bool) return make(ir::BoolLiteral{false}, where, 1);
  if (ir::is_float(type)) return make(ir::FloatLiteral{"", 0, false, std::nullopt}, where, 1);
  return make(ir::IntLiteral{0, false, std::nullopt}, where, 1);
}

Parser::Value Parser::expand_in_place(const Token& name, const Instance& instance,
                                      const CallTypes& types, const std::vector<RawArg>& args) {
  const FnDecl& decl = fn_decls_[instance.decl];
  if (frame_.depth + 1 > kMaxExpansionDepth) {
    report(
        Code::ExpansionTooDeep, name,
        fmt::format("`{}` is expanded more than {} uses deep", decl.name.text, kMaxExpansionDepth),
        "functions cannot recurse; end the recursion with `if const`, or use a loop");
    return poison(name);
  }
  if (!types.result && !std::exchange(call_is_statement_, false)) {
    report(Code::NoEffect, name, fmt::format("`{}` gives no value", decl.name.text),
           "call it as a statement, or let it return a value");
    return poison(name);
  }
  call_is_statement_ = false;
  expands_ = true;
  Items& sink = *sink_;
  const ir::LocId use = loc(name);
  InPlace in_place;
  in_place.type = types.result;
  in_place.suffix = fmt::format("__{}", ++in_place_count_);
  const auto declare_result = [&](std::string_view field, ir::Type type) {
    const ir::LocalId id = program_.add(
        ir::Local{fresh_name(fmt::format("{}{}{}", decl.name.text, in_place.suffix, field)),
                  ir::Local::Kind::Var,
                  type,
                  {}},
        hidden_loc(name));
    sink.push_back(program_.add(ir::Stmt{ir::Let{id, zero(type, name).id}}, use));
    in_place.result.push_back(id);
  };
  if (types.result && types.result->is_struct()) {
    for (const auto& [field, type] : structs_[types.result->record].fields)
      declare_result(fmt::format("__{}", field), type);
  } else if (types.result) {
    declare_result("", types.result->scalar);
  }
  const Cursor back = here();
  const Frame outer = frame_;
  const bool outer_function = std::exchange(in_function_, true);
  const uint32_t outer_loops = std::exchange(loops_, 0);
  Items items;
  sink_ = &items;
  frame_.use = use;
  ++frame_.depth;
  frame_.key = instance.key;
  frame_.in_place = &in_place;
  scopes_.enter_function();
  go_to(decl.unit, decl.body);
  for (size_t i = 0; i < decl.statics.size(); ++i)
    declare_static(decl.statics[i], instance.statics[i]);
  bind_in_place(decl, types, args, items);
  declare_targets(decl, instance.targets);
  const size_t errors = diagnostics_.errors();
  const Returned returned = parse_tail_block(items);
  const bool failed = panicking_ || diagnostics_.errors() != errors;
  if (types.result && returned != Returned::Everywhere && !failed)
    report(Code::MissingReturn, decl.name,
           fmt::format("a path through `{}` returns no value", decl.name.text),
           "end every path with `return value;`");
  scopes_.leave_function();
  loops_ = outer_loops;
  in_function_ = outer_function;
  frame_ = outer;
  sink_ = &sink;
  go_back(back);
  sink.push_back(program_.add(ir::Stmt{ir::Nested{program_.add_block(items)}}, use));
  expanded_statement_ = true;
  if (!types.result) return {poison(name).id, 1};
  std::vector<ir::ExprId> values;
  for (const ir::LocalId id : in_place.result) values.push_back(make(ir::LocalRef{id}, name, 1).id);
  if (!types.result->is_struct()) return {values.front(), 1};
  return record_value(types.result->record, std::move(values), name, 1);
}

// Parameters become locals with the values of the arguments, or other names of their memory.
void Parser::bind_in_place(const FnDecl& decl, const CallTypes& types,
                           const std::vector<RawArg>& args, Items& items) {
  for (size_t i = 0; i < args.size(); ++i) {
    const ParamHead& param = decl.params[i];
    const RawArg& arg = args[i];
    if (param.form == ParamHead::Form::Fn) continue;
    if (param.form == ParamHead::Form::Buffer) {
      const ir::Memory memory = arg.memory;
      const Symbol symbol = memory.buffer().valid() ? Symbol{Symbol::Kind::Buffer, memory.index}
                            : is_private(memory)    ? Symbol{Symbol::Kind::Array, memory.index}
                                                 : Symbol{Symbol::Kind::BufferParam, memory.index};
      scopes_.declare(param.name.text, symbol);
      continue;
    }
    const DeclaredType& type = types.params[i].type;
    if (type.is_struct()) {
      const uint32_t record =
          declare_record(type.record, param.name.text, param.name, ir::Local::Kind::Let, {});
      scopes_.declare(param.name.text, {Symbol::Kind::Struct, record});
      for (size_t k = 0; k < record_locals_[record].fields.size(); ++k)
        items.push_back(program_.add(
            ir::Stmt{ir::Let{record_locals_[record].fields[k], records_[arg.record].fields[k]}},
            loc(param.name)));
      continue;
    }
    const ir::LocalId id =
        program_.add(ir::Local{local_name(param.name), ir::Local::Kind::Let, type.scalar, {}},
                     hidden_loc(param.name));
    scopes_.declare(param.name.text, {Symbol::Kind::Scalar, id.value});
    items.push_back(program_.add(ir::Stmt{ir::Let{id, arg.value}}, loc(param.name)));
  }
}

// A block whose end is the end of the function, and on which paths through it there was a `return`.
Parser::Returned Parser::parse_tail_block(Items& items) {
  if (!at(TokenKind::LBrace)) {
    unexpected("`{`", "add a block, `{ ... }`");
    return Returned::Nowhere;
  }
  if (!enter_block(tok_)) {
    skip_braces();
    return Returned::Nowhere;
  }
  open_.push_back({tok_, line_indent_});
  advance();
  scopes_.push();
  const Returned returned = parse_tail_statements(items);
  scopes_.pop();
  leave_block();
  if (!accept(TokenKind::RBrace)) report_unclosed();
  open_.pop_back();
  return returned;
}

Parser::Returned Parser::parse_tail_statements(Items& items) {
  Returned returned = Returned::Nowhere;
  while (!at(TokenKind::End) && !at(TokenKind::RBrace)) {
    if (returned == Returned::Somewhere) {
      report(Code::NotInPlace, tok_,
             "statements follow where some lanes have returned and others have not, in a function "
             "that is expanded in place",
             "return at the end, or in an `if` that everything after it can be the `else` of");
      returned = Returned::Nowhere;
    }
    if (returned == Returned::Everywhere) {
      report(Code::NotInPlace, tok_, "a statement follows a `return` that ends the function",
             "remove it, or put it into the `else` of the `if const` before it");
      skip_item();
      continue;
    }
    sink_ = &items;
    const Token start = tok_;
    if (at_word("return")) {
      if (!count_item(false)) return Returned::Nowhere;
      parse_in_place_return();
      returned = Returned::Everywhere;
    } else if (at_word("if") && next_.kind == TokenKind::Name && next_.text == "const") {
      if (!count_item(false)) return Returned::Nowhere;
      Items kept;
      const Cursor before = here();
      returned = parse_static_branches(kept, true);
      keep_items(items, kept, loc(before.tok));
    } else if (at_word("if")) {
      if (!count_item(false)) return Returned::Nowhere;
      returned = parse_tail_if(items);
    } else if (at(TokenKind::LBrace)) {
      if (!count_item(false)) return Returned::Nowhere;
      const ir::LocId where = loc(tok_);
      Items inner;
      returned = parse_tail_block(inner);
      items.push_back(program_.add(ir::Stmt{ir::Nested{program_.add_block(inner)}}, where));
    } else {
      parse_item(items, Place::Block);
    }
    if (panicking_) synchronize(start, true);
  }
  return returned;
}

// `if c { return a; } rest` becomes `if c { a } else { rest }`.
Parser::Returned Parser::parse_tail_if(Items& items) {
  const Token keyword = tok_;
  advance();
  ir::If statement;
  statement.condition = parse_condition();
  if (!recover_to_block()) return Returned::Nowhere;
  Items then_items;
  Items else_items;
  const Returned then_returned = parse_tail_block(then_items);
  Returned else_returned = Returned::Nowhere;
  if (!panicking_ && at_word("else")) {
    advance();
    if (!at_word("if")) {
      else_returned = parse_tail_block(else_items);
    } else if (count_item(false) && enter_block(tok_)) {
      const bool is_static = next_.kind == TokenKind::Name && next_.text == "const";
      else_returned =
          is_static ? parse_static_branches(else_items, true) : parse_tail_if(else_items);
      leave_block();
    }
  }
  Returned returned = then_returned == else_returned ? then_returned : Returned::Somewhere;
  const bool one_side =
      (then_returned == Returned::Everywhere && else_returned == Returned::Nowhere) ||
      (then_returned == Returned::Nowhere && else_returned == Returned::Everywhere);
  if (one_side && !at(TokenKind::RBrace) && !at(TokenKind::End) && enter_block(tok_)) {
    // What follows is for the lanes that have not returned.
    const bool in_else = then_returned == Returned::Everywhere;
    if (parse_tail_statements(in_else ? else_items : then_items) == Returned::Everywhere)
      returned = Returned::Everywhere;
    leave_block();
  }
  sink_ = &items;
  statement.then_block = program_.add_block(then_items);
  statement.else_block = program_.add_block(else_items);
  items.push_back(program_.add(ir::Stmt{statement}, loc(keyword)));
  return returned;
}

void Parser::parse_in_place_return() {
  const Token keyword = tok_;
  InPlace& in_place = *frame_.in_place;
  Items& items = *sink_;
  advance();
  if (at(TokenKind::Semicolon)) {
    if (in_place.type)
      report(Code::BadReturn, keyword, "a `return` without a value in a function that gives one",
             "write `return value;`");
    expect_semicolon();
    return;
  }
  whole_start_ = tok_.text.data();
  const Value value = parse_expression();
  expect_semicolon();
  if (panicking_) return;
  if (!in_place.type) {
    if (value.record != kNoIndex) records_[value.record].taken = true;
    report(Code::BadReturn, keyword, "a `return` with a value in a function that gives none",
           "leave the value out, or write `-> T` before the body");
    return;
  }
  if (in_place.type->is_struct()) {
    assign_record(items, {in_place.type->record, in_place.result}, value, keyword);
    return;
  }
  items.push_back(program_.add(
      ir::Stmt{ir::Assign{in_place.result.front(), std::nullopt, value.id}}, loc(keyword)));
}

// ---- if const

void Parser::parse_static_if(Items& items) {
  const ir::LocId where = loc(tok_);
  Items kept;
  parse_static_branches(kept, false);
  keep_items(items, kept, where);
}

// Statements of the branch that stays: as they are, or in a block of their own if they declare
// names.
void Parser::keep_items(Items& items, const Items& kept, ir::LocId where) {
  const bool declares = std::any_of(kept.begin(), kept.end(), [&](ir::StmtId id) {
    return std::holds_alternative<ir::Let>(program_[id]) ||
           std::holds_alternative<ir::DeclareArray>(program_[id]);
  });
  if (declares) {
    items.push_back(program_.add(ir::Stmt{ir::Nested{program_.add_block(kept)}}, where));
  } else {
    items.insert(items.end(), kept.begin(), kept.end());
  }
}

// At `if`. In the tail of a function that is expanded in place the result says whether it returned.
Parser::Returned Parser::parse_static_branches(Items& kept, bool tail) {
  expands_ = true;
  advance();
  advance();
  const Token first = tok_;
  const bool outer = std::exchange(in_static_, true);
  const size_t errors = diagnostics_.errors();
  const ir::ExprId condition = parse_condition();
  in_static_ = outer;
  if (!recover_to_block()) return Returned::Nowhere;
  const auto value = evaluate(condition, ir::Type::Bool);
  const bool known = value && value->type == ir::Type::Bool;
  if (!known && diagnostics_.errors() == errors)
    report(value ? Code::ConditionNotBool : Code::NotStatic, first,
           value
               ? std::string("the condition of `if const` is not bool")
               : std::string("the condition of `if const` is not known while the text is expanded"),
           value ? "compare it, as in `n > 0`" : "use literals, constants and static parameters");
  const bool both = wanted_ == Report::Syntax;
  const bool first_stays = both || (known && value->bits != 0);
  const bool second_stays = both || (known && value->bits == 0);
  const Returned returned = parse_branch(kept, tail, first_stays);
  if (panicking_ || !at_word("else")) return returned;
  advance();
  const Returned other = parse_branch(kept, tail, second_stays);
  return second_stays ? other : returned;
}

// A branch of `if const`. One that is dropped is read for its grammar only: no name in it counts.
Parser::Returned Parser::parse_branch(Items& kept, bool tail, bool stays) {
  Items dropped;
  Items& items = stays ? kept : dropped;
  Items* const sink = sink_;
  const Report wanted = wanted_;
  if (!stays) {
    wanted_ = Report::Syntax;
    tail = false;
  }
  Returned returned = Returned::Nowhere;
  if (at_word("if") && next_.kind == TokenKind::Name && next_.text == "const") {
    returned = parse_static_branches(items, tail);
  } else if (at_word("if")) {
    if (count_item(false)) {
      if (tail)
        returned = parse_tail_if(items);
      else
        parse_if(items);
    }
  } else {
    returned = parse_kept_block(items, tail);
  }
  wanted_ = wanted;
  sink_ = sink;
  return stays ? returned : Returned::Nowhere;
}

Parser::Returned Parser::parse_kept_block(Items& kept, bool tail) {
  if (tail) return parse_tail_block(kept);
  if (!at(TokenKind::LBrace)) {
    unexpected("`{`", "add a block, `{ ... }`");
    return Returned::Nowhere;
  }
  if (!enter_block(tok_)) {
    skip_braces();
    return Returned::Nowhere;
  }
  open_.push_back({tok_, line_indent_});
  advance();
  scopes_.push();
  parse_statements(kept);
  scopes_.pop();
  leave_block();
  if (!accept(TokenKind::RBrace)) report_unclosed();
  open_.pop_back();
  return Returned::Nowhere;
}

// ---- memory declared in functions

// What a function has in the place of a buffer of the program.
ir::Local Parser::parameter_of(ir::BufferId id) const {
  const ir::Buffer& buffer = program_[id];
  ir::Local local{buffer.name, ir::Local::Kind::BufferParam, buffer.element, {}};
  local.rank = static_cast<uint8_t>(ir::rank_of(program_, ir::Memory::of(id)));
  return local;
}

// `shared t : f32[64];` in a function: a buffer of the program, one for each instance.
void Parser::parse_hoisted(ir::BufferKind kind) {
  expands_ = true;
  const Token keyword = tok_;
  advance();
  const Token name = parse_new_name("buffer");
  if (panicking_) return;
  ir::Buffer buffer;
  buffer.kind = kind;
  buffer.name = name.text;
  parse_buffer_rest(buffer);
  if (panicking_) return;
  if (frame_.lambda) {
    report(Code::BadLambda, keyword, "a lambda declares memory", "declare it outside the lambda");
    return;
  }
  const std::string owner = frame_.key.empty() && frame_.owner.valid()
                                ? fmt::format("plain{}", frame_.owner.value)
                                : frame_.key;
  const std::string key = fmt::format("{}|{}", owner, name.text);
  auto known = hoisted_buffers_.find(key);
  if (known == hoisted_buffers_.end() || wanted_ == Report::Syntax) {
    const std::string base =
        frame_.owner.valid() && frame_.in_place == nullptr
            ? fmt::format("{}__{}", program_.fns[frame_.owner.index()].name, name.text)
            : fmt::format("{}{}", name.text,
                          frame_.in_place != nullptr ? frame_.in_place->suffix : "__");
    const ir::Type element = buffer.element;
    buffer.name = fresh_name(base);
    if (wanted_ == Report::Syntax) {
      ir::Local local{std::string(name.text), ir::Local::Kind::BufferParam, element, {}};
      local.rank = static_cast<uint8_t>(std::max(buffer.axes.count, 1U));
      const ir::LocalId id = program_.add(std::move(local), loc(name));
      scopes_.declare(name.text, {Symbol::Kind::BufferParam, id.value});
      return;
    }
    known = hoisted_buffers_.emplace(key, program_.add(std::move(buffer), hidden_loc(name))).first;
  }
  if (!frame_.owner.valid()) {
    scopes_.declare(name.text, {Symbol::Kind::Buffer, known->second.value});
    return;
  }
  std::vector<Hoisted>& own = hoisted_[frame_.owner.value];
  const auto same = std::find_if(own.begin(), own.end(),
                                 [&](const Hoisted& h) { return h.buffer == known->second; });
  ir::LocalId param;
  if (same != own.end()) {
    param = same->param;
  } else {
    param = program_.add(parameter_of(known->second), hidden_loc(name));
    own.push_back({known->second, param});
  }
  scopes_.declare(name.text, {Symbol::Kind::BufferParam, param.value});
}

}  // namespace vyre::text
