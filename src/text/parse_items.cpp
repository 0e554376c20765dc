// SPDX-License-Identifier: Apache-2.0
// The file, headers, constants, requirements and functions.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "text/habits.hpp"
#include "text/parser.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {

void Parser::parse_file() {
  parse_uses();
  if (at_word("module") && next_.kind == TokenKind::Name) {
    report(Code::BadModule, tok_, "the file holds a module, not a program",
           "use it from a program, `use \"file.vyre\";`");
    if (wanted_ == Report::Syntax) {
      scopes_.set_unit(0);
      parse_module_frame();
    } else {
      stop();
    }
    return;
  }
  if (at(TokenKind::End)) {
    unexpected("`program`", "start with `program name { ... }`");
    return;
  }
  const bool framed = at_word("program");
  if (framed) {
    advance();
  } else {
    report(Code::UnexpectedToken, tok_, fmt::format("expected `program`, found {}", describe(tok_)),
           "start with `program name { ... }`");
    // The rest is another language as well.
    if (at(TokenKind::Name) &&
        (!statement_of_habit(tok_.text).empty() || declares_in_habit(tok_.text))) {
      stop();
      return;
    }
    // Two words in a row look like `program name` with a slip; an item, like a text without the
    // frame.
    if (at(TokenKind::Name) && next_.kind == TokenKind::Name && !starts_statement(tok_)) {
      advance();
    } else if (!starts_statement(tok_)) {
      return;
    }
  }
  Token name = tok_;
  if (!starts_statement(tok_) || next_.kind == TokenKind::LBrace) {
    name = parse_new_name("program");
    program_.name = name.kind == TokenKind::Name ? name.text : "";
    program_.positions.program = loc(name);
    panicking_ = panicking_ && at(TokenKind::End);
    if (at(TokenKind::Less) && !panicking_) {
      expands_ = true;
      parse_program_statics();
    }
    if (at(TokenKind::LBrace)) open_.push_back({tok_, line_indent_});
    expect(TokenKind::LBrace, "after the name of the program");
    if (at(TokenKind::End) && open_.empty()) return;
    panicking_ = false;
  } else if (framed) {
    report(Code::UnexpectedToken, tok_,
           fmt::format("expected the name of the program, found {}", describe(tok_)),
           "start with `program name { ... }`");
  }
  Items items;
  parse_items(items);
  // A text that breaks off may have had one.
  if (!workgroup_seen_ && !end_reported_) {
    report(Code::WorkgroupHeader, name, "the program has no workgroup size",
           "add a line such as `workgroup 256;`");
  }
  wrap_top_level(items);
}

void Parser::parse_items(Items& items) {
  while (true) {
    while (!at(TokenKind::End) && !at(TokenKind::RBrace)) parse_item(items, Place::Program);
    if (at(TokenKind::End)) {
      if (!open_.empty()) report_unclosed();
      return;
    }
    const Token closing = tok_;
    if (!open_.empty()) open_.pop_back();
    advance();
    if (at(TokenKind::End)) return;
    after_program(closing);
  }
}

// More text after the last brace is one mistake. It is read all the same, as if that brace were not
// there.
void Parser::after_program(const Token& closing) {
  if (!std::exchange(program_closed_, true)) {
    const bool second = at_word("program");
    Diagnostic* const error =
        second ? report(Code::UnexpectedToken, tok_, "a second program in one file",
                        "write one program per file")
               : report(Code::UnexpectedToken, tok_,
                        fmt::format("unexpected {} after the end of the program {}", describe(tok_),
                                    quoted(program_.name)),
                        "remove it, or the `}` that closes the program too early");
    if (error != nullptr) error->notes.push_back({position(closing), "the program ends here"});
    if (second) stop();
  }
}

void Parser::parse_item(Items& items, Place place) {
  const Token start = tok_;
  bool blocks_follow = false;
  const auto handler = at(TokenKind::Name) ? handlers().find(tok_.text) : handlers().end();
  // A reserved word that was declared as a name (and reported there) goes on as that name.
  const bool as_name = at(TokenKind::Name) &&
                       (next_.kind == TokenKind::Assign || next_.kind == TokenKind::LBracket) &&
                       scopes_.find(tok_.text).where == Found::Where::Visible;
  // `scratch` is a word only where it begins a declaration.
  const bool plain_name = at_word("scratch") && next_.kind != TokenKind::Name;
  const bool word_follows = at(TokenKind::Name) && next_.kind == TokenKind::Name;
  if (word_follows && tok_.text == "struct") {
    if (place == Place::Block)
      report(Code::UnexpectedToken, tok_, "`struct` stands inside a block",
             "move it out of all blocks, directly into the program");
    if (!count_item(true)) return;
    parse_struct();
  } else if (word_follows && tok_.text == "tune" && next_.text == "const") {
    report(Code::BadTune, tok_, "`tune const` stands in a program",
           "declare it in a module; a program has `const`, which `--set` changes");
    advance();
    if (!count_item(true)) return;
    parse_const(items);
  } else if (place == Place::Block && in_function_ && word_follows &&
             (tok_.text == "shared" || tok_.text == "scratch")) {
    const ir::BufferKind kind =
        tok_.text == "shared" ? ir::BufferKind::Shared : ir::BufferKind::Scratch;
    if (!count_item(true)) return;
    parse_hoisted(kind);
  } else if (handler != handlers().end() && !as_name && !plain_name) {
    static constexpr std::array kTopOnly = std::to_array<std::string_view>(
        {"workgroup", "over", "const", "require", "fn", "in", "uniform", "inout", "out",
         "writeonly", "shared", "persistent", "scratch"});
    const bool top_only = std::find(kTopOnly.begin(), kTopOnly.end(), tok_.text) != kTopOnly.end();
    if (place == Place::Block && top_only) {
      report(Code::UnexpectedToken, tok_, fmt::format("`{}` stands inside a block", tok_.text),
             "move it out of all blocks, directly into the program");
    }
    if (!count_item(top_only)) return;
    (this->*handler->second)(items);
  } else if (!at(TokenKind::Semicolon) && !count_item(false)) {
    return;
  } else if (at_swap()) {
    parse_swap(items);
  } else if (at(TokenKind::Name)) {
    blocks_follow = next_.kind != TokenKind::Assign && next_.kind != TokenKind::LBracket;
    parse_name_statement(items);
  } else if (at(TokenKind::LBrace)) {
    parse_nested(items);
  } else if (at(TokenKind::Semicolon)) {
    report(Code::UnexpectedToken, tok_, "a `;` without a statement before it", "remove it");
    while (accept(TokenKind::Semicolon)) {
    }
  } else {
    unexpected_in_code("a statement", "remove it, or complete the statement before it");
  }
  if (panicking_) synchronize(start, blocks_follow);
  const bool stuck =
      tok_.text.data() == start.text.data() && !at(TokenKind::End) && !at(TokenKind::RBrace);
  if (stuck) advance();
}

// False once there are more statements or declarations than a program may have.
bool Parser::count_item(bool declaration) {
  uint32_t& count = declaration ? declarations_ : statements_;
  if (++count <= ir::kMaxStatements) return true;
  too_large(tok_,
            fmt::format("{} {}", ir::kMaxStatements, declaration ? "declarations" : "statements"));
  return false;
}

const std::unordered_map<std::string_view, Parser::Handler>& Parser::handlers() {
  static const std::unordered_map<std::string_view, Handler> kHandlers = {
      {"workgroup", &Parser::parse_workgroup},
      {"over", &Parser::parse_over},
      {"const", &Parser::parse_const},
      {"require", &Parser::parse_require},
      {"fn", &Parser::parse_fn},
      {"in", &Parser::parse_buffer},
      {"uniform", &Parser::parse_buffer},
      {"inout", &Parser::parse_buffer},
      {"out", &Parser::parse_buffer},
      {"writeonly", &Parser::parse_buffer},
      {"shared", &Parser::parse_buffer},
      {"persistent", &Parser::parse_buffer},
      {"scratch", &Parser::parse_buffer},
      {"let", &Parser::parse_let},
      {"var", &Parser::parse_let},
      {"if", &Parser::parse_if},
      {"else", &Parser::parse_else},
      {"for", &Parser::parse_for},
      {"while", &Parser::parse_while},
      {"break", &Parser::parse_break},
      {"continue", &Parser::parse_continue},
      {"return", &Parser::parse_return},
      {"region", &Parser::parse_region},
      {"barrier", &Parser::parse_barrier},
      {"fixpoint", &Parser::parse_fixpoint},
      {"async", &Parser::parse_async},
      {"wait", &Parser::parse_wait},
      {"trap", &Parser::parse_trap},
      {"resume", &Parser::parse_resume},
      {"all_reduce", &Parser::parse_collective},
      {"broadcast", &Parser::parse_collective},
      {"all_gather", &Parser::parse_collective},
      {"reduce_scatter", &Parser::parse_collective},
  };
  return kHandlers;
}

// The region rule: statements that cannot stand alone at the top level are wrapped, all in one
// region.
void Parser::wrap_top_level(Items& items) {
  if (!ir::top_level_stands(program_, items)) {
    const auto reported = [](const Diagnostic& d) { return d.code == Code::NestingTooDeep; };
    if (deepest_block_ >= ir::kMaxNesting &&
        std::none_of(diagnostics_.list().begin(), diagnostics_.list().end(), reported)) {
      report(
          Code::NestingTooDeep, deepest_brace_,
          fmt::format(
              "blocks are nested more than {} deep, with the `region main` around the statements",
              ir::kMaxNesting),
          "move the inner blocks into a function");
    }
    const ir::Block body = program_.add_block(items);
    const ir::LocId where = program_.loc(items.front());
    items = {program_.add(ir::Stmt{ir::Region{"main", body}}, where)};
  }
  program_.body = program_.add_block(items);
}

// A name where one is declared. A reserved word is reported and goes on as the name if what follows
// shows that it was meant as one.
Token Parser::parse_new_name(std::string_view what) {
  const bool follows = next_.kind == TokenKind::Assign || next_.kind == TokenKind::Colon ||
                       next_.kind == TokenKind::LParen || next_.kind == TokenKind::LBrace ||
                       next_.kind == TokenKind::Semicolon ||
                       (next_.kind == TokenKind::Name && next_.text == "in");
  const bool reserved = at(TokenKind::Name) && ir::is_reserved(tok_.text);
  if (!follows && type_comes_first()) {
    report_type_first(what);
    panicking_ = true;
    return tok_;
  }
  if (!at(TokenKind::Name) || (reserved && !follows)) {
    unexpected(fmt::format("the name of a {}", what), fmt::format("name the {}", what));
    return tok_;
  }
  if (reserved) {
    report(
        Code::ReservedName, tok_,
        fmt::format("{} is a word of the language and cannot name a {}", quoted(tok_.text), what),
        fmt::format("choose another name, such as `my_{}`", tok_.text));
  } else if (tok_.text.size() > ir::kMaxNameBytes) {
    report(Code::NameTooLong, tok_,
           fmt::format("the name {} has {} bytes, more than {}", quoted(tok_.text),
                       tok_.text.size(), ir::kMaxNameBytes),
           "choose a shorter name");
  }
  advance();
  return prev_;
}

// `int n`, `float* p`, `mut n`
bool Parser::type_comes_first() const {
  return at(TokenKind::Name) && (next_.kind == TokenKind::Name || next_.kind == TokenKind::Star) &&
         (declares_in_habit(tok_.text) || ir::type_from_name(tok_.text));
}

// At a word of another language that stands before the name.
void Parser::report_type_first(std::string_view what) {
  const std::string_view type =
      ir::type_from_name(tok_.text) ? tok_.text : type_of_habit(tok_.text);
  const bool pointer = next_.kind == TokenKind::Star;
  const std::string_view name = pointer ? "x" : next_.text.substr(0, ir::kMaxNameBytes);
  const std::string_view buffer = what == "parameter" && pointer ? "buffer " : "";
  const std::string_view brackets = what == "buffer" || pointer ? "[]" : "";
  report(Code::UnexpectedToken, tok_,
         fmt::format("expected the name of a {}, found {}", what, describe(tok_)),
         type.empty() ? fmt::format("leave it out; what changes is declared `var {} = ...;`", name)
                      : fmt::format("write the type behind the name, `{} : {}{}{}`", name, buffer,
                                    type, brackets));
  if (!pointer) scopes_.declare(next_.text, {});
}

std::optional<ir::Type> Parser::parse_type(bool storage_allowed) {
  if (panicking_) return std::nullopt;
  auto type = at(TokenKind::Name) ? ir::type_from_name(tok_.text) : std::nullopt;
  if (!type && expands_ && at(TokenKind::Name)) {
    const Found found = scopes_.find(tok_.text);
    if (found.symbol.kind == Symbol::Kind::Type &&
        (found.where == Found::Where::Visible || found.where == Found::Where::Around))
      type = static_cast<ir::Type>(found.symbol.index);
    if (found.where == Found::Where::Visible && found.symbol.kind == Symbol::Kind::StructType) {
      report(Code::BadStructUse, tok_,
             fmt::format("the struct {} stands where a scalar type belongs", quoted(tok_.text)),
             "buffers and conversions have scalar types");
      type = ir::Type::U32;
    }
  }
  if (!type && wanted_ == Report::Syntax && at(TokenKind::Name) &&
      (next_.kind == TokenKind::Dot || type_of_habit(tok_.text).empty())) {
    // A struct, perhaps of another file.
    parse_type_name();
    return ir::Type::U32;
  }
  const std::string_view meant = type ? std::string_view() : type_of_habit(tok_.text);
  if (!meant.empty()) {
    report(Code::UnexpectedToken, tok_, fmt::format("expected a type, found {}", describe(tok_)),
           fmt::format("write `{}`", meant));
    type = ir::type_from_name(meant);
    // Its width is reported already.
    if (!storage_allowed && ir::is_storage(*type)) type = ir::widened(*type);
  }
  if (!type) {
    const std::string_view advice =
        at(TokenKind::Name) ? habit_of_name(tok_.text) : std::string_view();
    const std::string_view types = storage_allowed
                                       ? "use bool u32 i32 u64 i64 f32 f64 u8 i8 u16 i16 f16 bf16"
                                       : "use bool u32 i32 u64 i64 f32 f64";
    unexpected("a type", std::string(advice.empty() ? types : advice));
    return std::nullopt;
  }
  const Token name = tok_;
  advance();
  if (!ir::is_storage(*type) || storage_allowed) return type;
  const ir::Type wide = ir::widened(*type);
  report(Code::StorageTypeAsValue, name,
         fmt::format("the storage type `{}` is used for a value", ir::name_of(*type)),
         fmt::format("use `{}`, the type that a load of `{}` gives", ir::name_of(wide),
                     ir::name_of(*type)));
  return wide;
}

// ---- headers

void Parser::parse_axes(std::array<ir::ExprId, 3>& axes, Code code, std::string_view what) {
  size_t count = 0;
  do {
    const Token first = tok_;
    const ir::ExprId size = parse_expr();
    if (count < axes.size()) {
      axes[count] = size;
    } else if (count == axes.size()) {
      report(code, first, fmt::format("`{}` has more than 3 axes", what),
             "give at most three: x, y, z");
    }
    ++count;
  } while (!panicking_ && accept(TokenKind::Comma));
  expect_semicolon();
}

void Parser::parse_workgroup(Items&) {
  const Token keyword = tok_;
  advance();
  std::array<ir::ExprId, 3> axes;
  const bool repeated = std::exchange(workgroup_seen_, true);
  if (repeated) {
    Diagnostic* const error =
        report(Code::WorkgroupHeader, keyword, "the workgroup size is given twice",
               "keep one `workgroup` line");
    if (error != nullptr)
      error->notes.push_back(
          {program_.position(program_.positions.workgroup), "given here before"});
  }
  parse_axes(axes, Code::WorkgroupHeader, "workgroup");
  if (repeated) return;
  program_.workgroup = axes;
  program_.positions.workgroup = loc(keyword);
}

void Parser::parse_over(Items&) {
  const Token keyword = tok_;
  advance();
  std::array<ir::ExprId, 3> axes;
  const bool repeated = std::exchange(over_seen_, true);
  if (repeated) {
    Diagnostic* const error = report(Code::OverHeader, keyword, "the `over` clause is given twice",
                                     "keep one `over` line");
    if (error != nullptr)
      error->notes.push_back({program_.position(program_.positions.over), "given here before"});
  }
  parse_axes(axes, Code::OverHeader, "over");
  if (repeated) return;
  program_.over = axes;
  program_.positions.over = loc(keyword);
}

// ---- constants and requirements

void Parser::parse_const(Items&) {
  advance();
  parse_const_named(parse_new_name("constant"));
}

void Parser::parse_const_named(const Token& name) {
  if (panicking_) return;
  const uint32_t index = declared_index(name);
  if (index != ir::ExprId::kNone && const_read_[index]) {
    // Read before, where its value was asked for.
    skip_item();
    return;
  }
  if (at(TokenKind::Assign)) {
    unexpected("`:` and a type", fmt::format("write the type, as in `const {} : u32 = ...`",
                                             name.text.substr(0, ir::kMaxNameBytes)));
    return;
  }
  expect(TokenKind::Colon, "and a type after the name of a constant");
  const std::optional<ir::Type> type = parse_type(false);
  const bool table = !panicking_ && at(TokenKind::LBracket);
  if (table) {
    const Token bracket = tok_;
    advance();
    if (!at(TokenKind::RBracket)) {
      syntax_error(
          Code::UnexpectedToken, tok_,
          fmt::format("a size for the table {}, found {}", quoted(name.text), describe(tok_)),
          "leave the brackets empty; a table has as many elements as values");
    }
    expect_close(TokenKind::RBracket, bracket);
  }
  expect(TokenKind::Assign, "and a value");
  if (panicking_) return;
  if (!table && at(TokenKind::LBrace)) {
    unexpected("a value", "write `[]` after the type to declare a table");
    return;
  }
  const Token first = tok_;
  ir::Range values;
  if (table) {
    values = parse_table_values();
  } else {
    const std::array value = {parse_expr()};
    values = program_.add_values(value);
  }
  if (values.empty()) values = program_.add_values(std::array{poison(first).id});
  if (index != ir::ExprId::kNone) {
    ir::Const& constant = program_.consts[index];
    if (type) constant.type = *type;
    constant.table = table;
    constant.values = values;
    const_read_[index] = true;
    if (unit_ == 0 && options_ != nullptr && !options_->settings.empty()) {
      settable_.push_back(constant.name);
      if (const Setting* const setting = setting_of(constant.name))
        apply_setting(program_.consts[index], *setting, name);
    }
  }
  expect_semicolon();
}

ir::Range Parser::parse_table_values() {
  const Token brace = tok_;
  if (!expect(TokenKind::LBrace, "before the values of a table")) return {};
  std::vector<ir::ExprId> values;
  do {
    values.push_back(parse_expr());
  } while (!panicking_ && accept(TokenKind::Comma));
  expect_close(TokenKind::RBrace, brace);
  if (panicking_) {
    // The brace of the table is not the one of a block: recovery must not stop at it.
    while (!at(TokenKind::End) && !at(TokenKind::RBrace) && !at(TokenKind::Semicolon) &&
           !(tok_.own_line && starts_statement(tok_)))
      advance();
    accept(TokenKind::RBrace);
  }
  return program_.add_values(values);
}

void Parser::parse_require(Items&) {
  const Token keyword = tok_;
  advance();
  ir::Require require;
  require.condition = parse_expr();
  require.buffers_before = std::min(buffers_seen_, static_cast<uint32_t>(program_.buffers.size()));
  expect(TokenKind::Comma, "and a message after the condition");
  if (!panicking_ && expect(TokenKind::String, "that says what is required") && !prev_.bad)
    require.message = unescape(prev_.text);
  expect_semicolon();
  program_.add(std::move(require), loc(keyword));
}

// ---- functions

void Parser::parse_fn(Items&) {
  advance();
  const Token name = parse_new_name("function");
  if (const auto generic = decl_at_.find(name.text.data());
      !panicking_ && generic != decl_at_.end() && fn_decls_[generic->second].plain == kNoIndex) {
    parse_generic_fn(generic->second, name);
    return;
  }
  if (panicking_ && (at(TokenKind::LParen) || next_.kind == TokenKind::LParen)) {
    if (!at(TokenKind::LParen)) advance();
    panicking_ = false;
  }
  const uint32_t index = declared_index(name);
  const bool outer = std::exchange(in_function_, true);
  const Frame outer_frame = std::exchange(frame_, Frame{});
  if (index != ir::ExprId::kNone) frame_.owner = ir::FnId{index};
  scopes_.enter_function();
  const std::vector<ir::LocalId> params = parse_params();
  // A mistake among the parameters must not lose the result type: every `return` would be wrong.
  while (panicking_ && !at(TokenKind::Arrow) && !at(TokenKind::LBrace) && !at(TokenKind::RBrace) &&
         !at(TokenKind::Semicolon) && !at(TokenKind::End))
    advance();
  if (at(TokenKind::Arrow)) panicking_ = false;
  std::optional<ir::Type> result;
  if (!panicking_ && accept(TokenKind::Arrow)) result = parse_type(false);
  if (recover_to_block()) {
    const ir::Block body = parse_block();
    if (index != ir::ExprId::kNone) {
      ir::Fn& fn = program_.fns[index];
      fn.params = program_.add_params(params);
      fn.result = result;
      fn.body = body;
    }
  }
  scopes_.leave_function();
  frame_ = outer_frame;
  in_function_ = outer;
}

// One that becomes instances: skipped here, and read where it is used.
void Parser::parse_generic_fn(uint32_t decl, const Token& name) {
  if (fn_decls_[decl].name.text.data() != name.text.data()) return;
  if (wanted_ == Report::Syntax) {
    head_of(decl);
    if (!fn_decls_[decl].broken) {
      fn_decls_[decl].used = false;
      check_generic(decl);
    } else {
      panicking_ = true;
    }
  }
  skip_item();
}

std::vector<ir::LocalId> Parser::parse_params() {
  std::vector<ir::LocalId> params;
  const Token paren = tok_;
  if (!expect(TokenKind::LParen, "and the parameters of the function")) return params;
  if (accept(TokenKind::RParen)) return params;
  do {
    parse_param(params);
  } while (!panicking_ && accept(TokenKind::Comma));
  expect_close(TokenKind::RParen, paren);
  return params;
}

// `float x`, `float* p`: the parameter is known, so its uses are no mistakes.
void Parser::parse_param_type_first(std::vector<ir::LocalId>& params) {
  report_type_first("parameter");
  const auto type =
      ir::type_from_name(ir::type_from_name(tok_.text) ? tok_.text : type_of_habit(tok_.text));
  while (at(TokenKind::Name) && next_.kind == TokenKind::Name) advance();
  const bool buffer = next_.kind == TokenKind::Star;
  if (buffer) advance();
  while (accept(TokenKind::Star)) {
  }
  ir::Local local{std::string(tok_.text), ir::Local::Kind::Param, type, {}};
  if (buffer) local.kind = ir::Local::Kind::BufferParam;
  if (!buffer && type && ir::is_storage(*type)) local.type = ir::widened(*type);
  const ir::LocalId id = program_.add(std::move(local), loc(tok_));
  scopes_.declare(tok_.text, {buffer ? Symbol::Kind::BufferParam : Symbol::Kind::Scalar, id.value});
  params.push_back(id);
  accept(TokenKind::Name);
}

// `[]`, `[,]`: the number of axes of a buffer parameter.
uint8_t Parser::parse_rank() {
  const Token bracket = tok_;
  if (!expect(TokenKind::LBracket, "after the element type")) return 1;
  const Token first = tok_;
  uint32_t rank = 1;
  while (accept(TokenKind::Comma)) ++rank;
  if (rank > ir::kMaxAxes) {
    report(Code::BadShape, first, fmt::format("a parameter of {} axes", rank),
           fmt::format("use at most {} axes", ir::kMaxAxes));
    rank = ir::kMaxAxes;
  }
  expect_close(TokenKind::RBracket, bracket);
  return static_cast<uint8_t>(rank);
}

void Parser::parse_param(std::vector<ir::LocalId>& params) {
  if (type_comes_first()) {
    parse_param_type_first(params);
    return;
  }
  const Token name = parse_new_name("parameter");
  if (panicking_) return;
  ir::Local local{std::string(name.text), ir::Local::Kind::Param, ir::Type::U32, {}};
  expect(TokenKind::Colon, "and a type after the name of a parameter");
  if (at_word("buffer") && !panicking_) {
    advance();
    local.kind = ir::Local::Kind::BufferParam;
  }
  const bool buffer = local.kind == ir::Local::Kind::BufferParam;
  if (!buffer && !panicking_ && at_struct_type()) {
    const auto type = type_of(parse_type_name(), false);
    if (!type || !type->is_struct()) return;
    const uint32_t record =
        declare_record(type->record, name.text, name, ir::Local::Kind::Param, {});
    scopes_.declare(name.text, {Symbol::Kind::Struct, record});
    for (const ir::LocalId id : record_locals_[record].fields) params.push_back(id);
    return;
  }
  if (const auto type = parse_type(buffer)) local.type = type;
  if (!panicking_ && !buffer && at(TokenKind::LBracket)) {
    unexpected("`,` or `)`", "write `buffer` before the type to pass a buffer");
    local.kind = ir::Local::Kind::BufferParam;
  }
  if (!panicking_ && buffer) local.rank = parse_rank();
  const auto kind =
      local.kind == ir::Local::Kind::BufferParam ? Symbol::Kind::BufferParam : Symbol::Kind::Scalar;
  const ir::LocalId id = program_.add(std::move(local), loc(name));
  scopes_.declare(name.text, {kind, id.value});
  params.push_back(id);
}

}  // namespace vyre::text
