// SPDX-License-Identifier: Apache-2.0
// Blocks, locals, assignments and control flow.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "text/habits.hpp"
#include "text/parser.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {

namespace {

bool assign_operator(TokenKind kind, std::optional<ir::BinaryOp>& op) {
  switch (kind) {
    case TokenKind::Assign: op = std::nullopt; return true;
    case TokenKind::AddAssign: op = ir::BinaryOp::Add; return true;
    case TokenKind::SubAssign: op = ir::BinaryOp::Sub; return true;
    case TokenKind::MulAssign: op = ir::BinaryOp::Mul; return true;
    case TokenKind::DivAssign: op = ir::BinaryOp::Div; return true;
    case TokenKind::RemAssign: op = ir::BinaryOp::Rem; return true;
    case TokenKind::AndAssign: op = ir::BinaryOp::And; return true;
    case TokenKind::OrAssign: op = ir::BinaryOp::Or; return true;
    case TokenKind::XorAssign: op = ir::BinaryOp::Xor; return true;
    case TokenKind::ShlAssign: op = ir::BinaryOp::Shl; return true;
    case TokenKind::ShrAssign: op = ir::BinaryOp::Shr; return true;
    default: return false;
  }
}

}  // namespace

// ---- blocks

bool Parser::enter_block(const Token& brace) {
  if (blocks_ >= ir::kMaxNesting) {
    if (!std::exchange(blocks_reported_, true))
      report(Code::NestingTooDeep, brace,
             fmt::format("blocks are nested more than {} deep", ir::kMaxNesting),
             "move the inner blocks into a function");
    return false;
  }
  ++blocks_;
  if (!in_function_ && blocks_ > deepest_block_) {
    deepest_block_ = blocks_;
    deepest_brace_ = brace;
  }
  return true;
}

// Blocks that are too deep side by side are one mistake.
void Parser::leave_block() {
  --blocks_;
  if (blocks_ + 1 < ir::kMaxNesting) blocks_reported_ = false;
}

ir::Block Parser::parse_block() {
  if (panicking_) return {};
  if (!at(TokenKind::LBrace)) {
    unexpected("`{`", "add a block, `{ ... }`");
    return {};
  }
  if (!enter_block(tok_)) {
    skip_braces();
    return {};
  }
  open_.push_back({tok_, line_indent_});
  advance();
  scopes_.push();
  Items items;
  parse_statements(items);
  scopes_.pop();
  leave_block();
  if (at(TokenKind::RBrace)) {
    // Indentation shows which brace lacks its partner, should one turn out to be missing.
    if (!suspect_ && tok_.own_line && tok_.column < open_.back().indent)
      suspect_ = open_.back().brace;
    advance();
  } else {
    report_unclosed();
  }
  open_.pop_back();
  return program_.add_block(items);
}

void Parser::parse_statements(Items& items) {
  while (!at(TokenKind::End) && !at(TokenKind::RBrace)) parse_item(items, Place::Block);
}

void Parser::parse_nested(Items& items) {
  const ir::LocId where = loc(tok_);
  const ir::Block body = parse_block();
  items.push_back(program_.add(ir::Stmt{ir::Nested{body}}, where));
}

void Parser::parse_region(Items& items) {
  const ir::LocId where = loc(tok_);
  advance();
  const Token name = parse_new_name("region");
  if (!recover_to_block()) return;
  const ir::Block body = parse_block();
  items.push_back(program_.add(ir::Stmt{ir::Region{std::string(name.text), body}}, where));
}

// ---- locals

void Parser::parse_let(Items& items) {
  const Token keyword = tok_;
  const bool is_var = keyword.text == "var";
  advance();
  if (at(TokenKind::Less)) {
    unexpected("the name of a local",
               "write `shared s : f32[64];` for memory of a workgroup, `inout x : f32[];` for a "
               "buffer");
    return;
  }
  const Token name = parse_new_name("local");
  if (panicking_) return;
  std::optional<ir::Type> type;
  if (accept(TokenKind::Colon)) {
    if (at_struct_type()) {
      parse_struct_let(items, keyword, name, parse_type_name());
      return;
    }
    const bool known = ir::type_from_name(tok_.text).has_value() ||
                       scopes_.find(tok_.text).symbol.kind == Symbol::Kind::Type;
    type = parse_type(false);
    if (type && at(TokenKind::LBracket)) {
      parse_array(items, keyword, name, *type);
      return;
    }
    if (!known) type.reset();  // reported: the value says what was meant
  }
  ir::ExprId value;
  if (!panicking_ && !at(TokenKind::Assign)) {
    unexpected("`=` and a value",
               fmt::format("give {} a value, as in `{} {} = 0;`", quoted(name.text), keyword.text,
                           name.text.substr(0, 60)));
  }
  if (!panicking_) {
    advance();
    sink_ = &items;
    const Value whole = parse_whole(name);
    if (whole.record != kNoIndex && !type) {
      finish_struct_let(items, keyword, name, whole, records_[whole.record].type);
      return;
    }
    value = whole.id;
  }
  // Declared also after an error, so that its uses are not reported as well.
  if (!value.valid()) value = poison(name).id;
  ir::Local local{local_name(name), is_var ? ir::Local::Kind::Var : ir::Local::Kind::Let, type, {}};
  const ir::LocalId id = program_.add(std::move(local), loc(name));
  scopes_.declare(name.text, {Symbol::Kind::Scalar, id.value});
  note_let(id, value, {});
  items.push_back(program_.add(ir::Stmt{ir::Let{id, value}}, loc(keyword)));
}

// The value of a statement and its `;`. What goes on as no expression does says nothing about its
// type.
ir::ExprId Parser::parse_whole_value(const Token& name) {
  return parse_whole(name).id;
}

// The same, of which a call that is expanded in place may be the whole.
Parser::Value Parser::parse_whole(const Token& name) {
  whole_start_ = tok_.text.data();
  const Value value = parse_expression();
  whole_start_ = nullptr;
  expect_semicolon();
  return panicking_ ? poison(name) : value;
}

void Parser::parse_array(Items& items, const Token& keyword, const Token& name, ir::Type type) {
  if (keyword.text != "var") {
    report(Code::UnexpectedToken, keyword,
           fmt::format("the array {} is declared with `let`", quoted(name.text)),
           "declare arrays with `var`");
  }
  const Token bracket = tok_;
  advance();
  ir::Local array{local_name(name), ir::Local::Kind::Array, type, {}};
  parse_lengths(bracket, array.count, array.axes);
  expect_close(TokenKind::RBracket, bracket);
  if (!panicking_ && accept(TokenKind::Assign)) {
    if (at(TokenKind::LBrace))
      array.values = parse_table_values();
    else
      unexpected("`{`",
                 "write the first values in braces, as in `= {1, 2}`; others start as zeros");
  }
  const ir::LocalId id = program_.add(std::move(array), loc(name));
  scopes_.declare(name.text, {Symbol::Kind::Array, id.value});
  items.push_back(program_.add(ir::Stmt{ir::DeclareArray{id}}, loc(keyword)));
  expect_semicolon();
}

// ---- assignments and calls

// `int x = 0;`, `switch (x) { ... }`: a statement or declaration of another language, with its
// blocks. False: it is none, and nothing was read.
bool Parser::skip_foreign_statement() {
  if (scopes_.find(tok_.text).where != Found::Where::Nowhere) return false;
  const std::string_view type =
      ir::type_from_name(tok_.text) ? tok_.text : type_of_habit(tok_.text);
  const bool pointer = !type.empty() && next_.kind == TokenKind::Star;
  const bool declaration = !type.empty() && (pointer || next_.kind == TokenKind::Name);
  const std::string_view advice = statement_of_habit(tok_.text);
  const bool used_as_name = next_.kind == TokenKind::Assign || next_.kind == TokenKind::Dot ||
                            next_.kind == TokenKind::LBracket;
  if (!declaration && (advice.empty() || used_as_name)) return false;
  const Token word = tok_;
  advance();
  if (declaration) {
    // `unsigned int x`, `long long x`
    while (at(TokenKind::Name) && next_.kind == TokenKind::Name && declares_in_habit(tok_.text))
      advance();
    const bool array = next_.kind == TokenKind::LBracket;
    const std::string_view name = tok_.text.substr(0, ir::kMaxNameBytes);
    report(Code::UnexpectedToken, word,
           fmt::format("expected a statement, found {}", describe(word)),
           pointer ? std::string("there are no pointers; use a buffer and an index, `b[i]`")
           : array ? fmt::format("write `var {} : {}[8];`", name, type)
                   : fmt::format("write `let {0} : {1} = ...;`, or `var {0} : {1} = ...;` if it "
                                 "changes",
                                 name, type));
  } else {
    report(Code::UnexpectedToken, word,
           fmt::format("expected a statement, found {}", describe(word)), std::string(advice));
  }
  lexer_.set_silent(true);
  skip_foreign_rest(word);
  lexer_.set_silent(false);
  return true;
}

// To the end of a statement that is not read: a `;`, or its last block.
// The name that it declares is not reported where it is used.
void Parser::skip_foreign_rest(const Token& word) {
  static constexpr std::array kFollow = std::to_array<std::string_view>(
      {"elif", "else", "catch", "except", "finally", "case", "default"});
  bool declares = true;
  while (!at(TokenKind::End) && !at(TokenKind::RBrace)) {
    const bool names_end = next_.kind == TokenKind::Assign || next_.kind == TokenKind::LBracket ||
                           next_.kind == TokenKind::Semicolon;
    if (declares && at(TokenKind::Name) && names_end) {
      scopes_.declare(tok_.text, {});
      declares = false;
    }
    if (accept(TokenKind::Semicolon)) return;
    if (at(TokenKind::LBrace)) {
      skip_braces();
      if ((word.text == "do" || word.text == "repeat") && !at(TokenKind::End)) {
        advance();  // the word before its condition
        continue;
      }
      if (at(TokenKind::Semicolon)) advance();
      if (at(TokenKind::Name) && std::ranges::find(kFollow, tok_.text) != kFollow.end()) continue;
      return;
    }
    if (tok_.own_line && starts_statement(tok_) && tok_.column <= word.column) return;
    advance();
  }
}

void Parser::parse_name_statement(Items& items) {
  if (at_print()) return parse_print(items);
  if (skip_foreign_statement()) return;
  const Token name = tok_;
  std::optional<ir::BinaryOp> op;
  const bool member =
      next_.kind == TokenKind::Dot &&
      (used_module(name) != kNoIndex ||
       (wanted_ == Report::Syntax && scopes_.find(name.text).where == Found::Where::Nowhere &&
        !ir::builtin_from_name(name.text)));
  const bool generic =
      next_.kind == TokenKind::Less && scopes_.find(name.text).symbol.kind == Symbol::Kind::Generic;
  if (next_.kind == TokenKind::LParen || member || generic ||
      (name.text == "bitcast" && next_.kind == TokenKind::Less)) {
    sink_ = &items;
    whole_start_ = name.text.data();
    expanded_statement_ = false;
    call_is_statement_ = true;
    const Value value = parse_primary();
    call_is_statement_ = false;
    whole_start_ = nullptr;
    if (value.record != kNoIndex && expanded_statement_) records_[value.record].taken = true;
    if (!std::exchange(expanded_statement_, false))
      items.push_back(program_.add(ir::Stmt{ir::Eval{value.id}}, loc(name)));
    expect_semicolon();
  } else if (expands_ && parse_struct_assignment(items, name)) {
    return;
  } else if (wanted_ == Report::Syntax && next_.kind == TokenKind::Dot &&
             !ir::builtin_from_name(name.text)) {
    // A field of a struct that another file may declare.
    advance();
    skip_fields();
    if (parse_assign_operator(op)) parse_whole(name);
  } else if (next_.kind == TokenKind::LBracket || assign_operator(next_.kind, op)) {
    parse_assignment(items, name);
  } else if (const auto builtin = ir::builtin_from_name(name.text);
             builtin && next_.kind == TokenKind::Dot) {
    syntax_error(Code::AssignToImmutable, name,
                 fmt::format("{} cannot be assigned", quoted(name.text)),
                 "assign to a `var` of your own");
  } else {
    std::string_view meant;
    for (const auto& [word, handler] : handlers())
      if (edit_distance(name.text, word, 2) <= 2 && word.size() > 3 &&
          (meant.empty() || word < meant))
        meant = word;
    std::string fix = meant.empty() ? std::string("write an assignment, a call or a statement")
                                    : fmt::format("did you mean `{}`?", meant);
    if (scopes_.find(name.text).where == Found::Where::Visible) {
      advance();
      unexpected_in_code(fmt::format("`=`, `[` or `(` after {}", quoted(name.text)),
                         "assign to it, or use its value in a statement");
    } else {
      if (const std::string_view advice = habit_of_name(name.text); !advice.empty()) fix = advice;
      if (next_.kind == TokenKind::Colon) advance();  // `i := 0`, `std::sort(...)`
      if (habit_of_name(name.text).empty()) {
        unexpected_in_code("a statement", std::move(fix));
      } else {
        syntax_error(Code::UnexpectedToken, name,
                     fmt::format("expected a statement, found {}", describe(name)), std::move(fix));
      }
    }
  }
}

bool Parser::parse_assign_operator(std::optional<ir::BinaryOp>& op) {
  if (panicking_) return false;
  if (assign_operator(tok_.kind, op)) {
    advance();
    return true;
  }
  unexpected_in_code("`=` or an operator such as `+=`",
                     "assign a value; an element alone is no statement");
  return false;
}

void Parser::parse_assignment(Items& items, const Token& name) {
  std::optional<ir::BinaryOp> op;
  if (next_.kind == TokenKind::LBracket) {
    const Element element = parse_element("an assignment");
    skip_fields();
    if (!parse_assign_operator(op)) return;
    sink_ = &items;
    const ir::ExprId value = parse_whole_value(name);
    if (element.memory.valid())
      items.push_back(
          program_.add(ir::Stmt{ir::Store{element.memory, element.index, op, value}}, loc(name)));
  } else {
    const std::optional<ir::LocalId> local = assignable(name);
    advance();
    if (!parse_assign_operator(op)) return;
    sink_ = &items;
    const ir::ExprId value = parse_whole_value(name);
    if (local) items.push_back(program_.add(ir::Stmt{ir::Assign{*local, op, value}}, loc(name)));
  }
}

// The local that `name = e` assigns to; reports what cannot be assigned as a whole.
std::optional<ir::LocalId> Parser::assignable(const Token& name) {
  const Symbol symbol = resolve(name, false);
  Diagnostic* error = nullptr;
  switch (symbol.kind) {
    case Symbol::Kind::Unknown: return std::nullopt;
    case Symbol::Kind::Scalar: return ir::LocalId{symbol.index};
    case Symbol::Kind::Const:
      error = report(Code::AssignToImmutable, name,
                     fmt::format("the constant {} cannot be assigned", quoted(name.text)),
                     "use a `var`");
      break;
    case Symbol::Kind::ModuleConst:
    case Symbol::Kind::Static:
    case Symbol::Kind::Struct:
    case Symbol::Kind::StructArray:
    case Symbol::Kind::StructType:
    case Symbol::Kind::Type:
      error =
          report(Code::AssignToImmutable, name,
                 fmt::format("{} is {} and cannot be assigned", quoted(name.text), kind_of(symbol)),
                 "use a `var`");
      break;
    case Symbol::Kind::Generic:
    case Symbol::Kind::Target:
    case Symbol::Kind::Fn:
      error = report(Code::WrongKindOfName, name,
                     fmt::format("{} is a function and cannot be assigned", quoted(name.text)),
                     "assign to a `var`");
      break;
    case Symbol::Kind::Array:
    case Symbol::Kind::BufferParam:
    case Symbol::Kind::Table:
    case Symbol::Kind::Buffer:
      error = report(Code::WrongKindOfName, name,
                     fmt::format("{} is {} and cannot be assigned as a whole", quoted(name.text),
                                 kind_of(symbol)),
                     fmt::format("assign to an element, `{}[i] = ...`", name.text.substr(0, 60)));
      break;
  }
  note_declaration(error, symbol);
  return std::nullopt;
}

// ---- control flow

std::string Parser::fix_of_condition() const {
  if (at(TokenKind::Assign)) return "compare with `==`";
  if (at(TokenKind::Colon)) return "blocks stand in braces, `{ ... }`";
  if (at(TokenKind::Name) && !tok_.own_line)
    if (const std::string_view advice = operator_of_habit(tok_.text); !advice.empty())
      return std::string(advice);
  return "add a block, `{ ... }`";
}

// What is no condition followed by a block says nothing about its type.
ir::ExprId Parser::parse_condition() {
  const Token start = tok_;
  const bool outer = std::exchange(bare_condition_, true);
  const ir::ExprId condition = parse_expr();
  bare_condition_ = outer;
  if (panicking_) return poison(start).id;
  if (at(TokenKind::LBrace)) return condition;
  syntax_error(Code::UnexpectedToken, tok_, fmt::format("expected `{{`, found {}", describe(tok_)),
               fix_of_condition());
  return poison(start).id;
}

void Parser::parse_if(Items& items) {
  if (next_.kind == TokenKind::Name && next_.text == "const") {
    parse_static_if(items);
    return;
  }
  if (const ir::StmtId chain = parse_if_chain(); chain.valid()) items.push_back(chain);
}

ir::StmtId Parser::parse_if_chain() {
  const Token keyword = tok_;
  advance();
  ir::If statement;
  statement.condition = parse_condition();
  if (!recover_to_block()) return {};
  statement.then_block = parse_block();
  if (!panicking_ && at_word("else")) {
    advance();
    if (!at_word("if")) {
      statement.else_block = parse_block();
    } else if (!count_item(false)) {
      return {};
    } else if (enter_block(tok_)) {
      // An `else if` is an else block with one statement, and as deep as that.
      if (next_.kind == TokenKind::Name && next_.text == "const") {
        Items kept;
        parse_static_if(kept);
        statement.else_block = program_.add_block(kept);
      } else if (const ir::StmtId rest = parse_if_chain(); rest.valid())
        statement.else_block = program_.add_block(std::array{rest});
      leave_block();
    } else {
      while (!at(TokenKind::End) && !at(TokenKind::RBrace) && !at(TokenKind::Semicolon)) {
        if (!at(TokenKind::LBrace)) {
          advance();
          continue;
        }
        skip_braces();
        if (!at_word("else")) break;
      }
    }
  }
  return program_.add(ir::Stmt{statement}, loc(keyword));
}

void Parser::parse_else(Items& items) {
  report(Code::UnexpectedToken, tok_, "an `else` without an `if` before it",
         "remove it, or the statement between it and the block of its `if`");
  advance();
  if (at_word("if")) {
    parse_if(items);
  } else {
    parse_nested(items);
  }
}

// `for (i = 0; i < n; i += 1) { ... }`: the whole loop is skipped, since its variable means nothing
// here.
void Parser::skip_c_style_for() {
  report(Code::UnexpectedToken, tok_, "expected a loop variable, found `(`",
         "write `for i in 0 .. n { ... }`");
  size_t depth = 0;
  do {
    if (at(TokenKind::LParen)) ++depth;
    if (at(TokenKind::RParen)) --depth;
    advance();
  } while (depth > 0 && !at(TokenKind::LBrace) && !at(TokenKind::RBrace) && !at(TokenKind::End));
  if (at(TokenKind::LBrace)) skip_braces();
}

void Parser::parse_for(Items& items) {
  const Token keyword = tok_;
  advance();
  if (at(TokenKind::LParen)) {
    skip_c_style_for();
    return;
  }
  ir::For statement;
  const Token name = parse_new_name("loop variable");
  expect_word("in", "after the loop variable");
  if (!panicking_ && at_word("rev") && scopes_.find("rev").where != Found::Where::Visible) {
    statement.reversed = true;
    advance();
  }
  const bool bare = std::exchange(bare_condition_, true);
  statement.first = parse_expr();
  expect(TokenKind::DotDot, "between the bounds of the loop");
  statement.last = parse_expr();
  if (!panicking_ && at_word("step")) {
    advance();
    statement.step = parse_expr();
  }
  bare_condition_ = bare;
  if (!panicking_ && accept(TokenKind::At)) {
    statement.unroll = at_word("unroll");
    if (!statement.unroll)
      report(Code::BadAttribute, tok_, fmt::format("a loop has no attribute {}", describe(tok_)),
             "use `@unroll`, or remove it");
    accept(TokenKind::Name);
  }
  if (!recover_to_block()) return;
  scopes_.push();
  const bool named = name.kind == TokenKind::Name;
  statement.variable = program_.add(
      ir::Local{named ? local_name(name) : std::string("i"), ir::Local::Kind::For, {}, {}},
      loc(name));
  if (named) scopes_.declare(name.text, {Symbol::Kind::Scalar, statement.variable.value});
  note_let(statement.variable, statement.first, statement.last);
  ++loops_;
  statement.body = parse_block();
  --loops_;
  scopes_.pop();
  items.push_back(program_.add(ir::Stmt{statement}, loc(keyword)));
}

void Parser::parse_while(Items& items) {
  const Token keyword = tok_;
  advance();
  const ir::ExprId condition = parse_condition();
  if (!recover_to_block()) return;
  ++loops_;
  const ir::Block body = parse_block();
  --loops_;
  items.push_back(program_.add(ir::Stmt{ir::While{condition, body}}, loc(keyword)));
}

// In a function that is expanded in place the loop around its call is not its own.
void Parser::check_loop_control() {
  if (frame_.in_place != nullptr && loops_ == 0)
    report(Code::LoopControl, tok_, fmt::format("a `{}` outside a loop", tok_.text),
           "use it in a loop of the same function");
}

void Parser::parse_break(Items& items) {
  check_loop_control();
  items.push_back(program_.add(ir::Stmt{ir::Break{}}, loc(tok_)));
  advance();
  expect_semicolon();
}

void Parser::parse_continue(Items& items) {
  check_loop_control();
  items.push_back(program_.add(ir::Stmt{ir::Continue{}}, loc(tok_)));
  advance();
  expect_semicolon();
}

void Parser::parse_return(Items& items) {
  if (frame_.in_place != nullptr)
    report(Code::NotInPlace, tok_,
           "a `return` from within a loop or a block, in a function that is expanded in place",
           "return at the end, or in an `if` that everything after it can be the `else` of");
  const ir::LocId where = loc(tok_);
  const size_t records_before = records_.size();
  advance();
  ir::ExprId value;
  const bool ends = at(TokenKind::Semicolon) || at(TokenKind::RBrace) ||
                    (tok_.own_line && starts_statement(tok_));
  if (!ends) {
    sink_ = &items;
    whole_start_ = tok_.text.data();
    value = parse_expr();
    whole_start_ = nullptr;
  }
  if (frame_.in_place != nullptr) {
    take_all_records(records_before);
    expect_semicolon();
    return;
  }
  items.push_back(program_.add(ir::Stmt{ir::Return{value}}, where));
  expect_semicolon();
}

}  // namespace vyre::text
