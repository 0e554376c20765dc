// SPDX-License-Identifier: Apache-2.0
// Structs. A local of a struct is a local per field, a private array of structs an array per field,
// a parameter a parameter per field; nothing of them is left in the program.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/properties.hpp"
#include "text/parser.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {

// Where a local stands that the text does not name: the checker does not say that it is unused.
ir::LocId Parser::hidden_loc(const Token& token) {
  return program_.add_loc({units_[unit_]->file_index, token.line, token.column,
                           std::max(token.length, 1u),
                           frame_.use.valid() ? frame_.use : loc(token)});
}

// ---- declarations

void Parser::collect_struct(const Token& name) {
  const auto [it, fresh] =
      struct_at_.emplace(name.text.data(), static_cast<uint32_t>(structs_.size()));
  if (!fresh) return;
  StructType type;
  type.name = name;
  type.full_name = name.text;
  type.file = units_[unit_]->file;
  if (unit_ != 0) type.full_name = fmt::format("{}.{}", units_[unit_]->name, name.text);
  scopes_.declare_global(name.text, {Symbol::Kind::StructType, it->second});
  structs_.push_back(std::move(type));
  expands_ = true;
}

// At `struct`. The fields that the first pass found stay: values of the struct have as many.
void Parser::parse_struct() {
  advance();
  const Token name = parse_new_name("struct");
  if (panicking_) return;
  collect_struct(name);
  std::vector<std::pair<std::string_view, ir::Type>> fields;
  parse_fields(name, fields);
  StructType& type = structs_[struct_at_.at(name.text.data())];
  if (type.fields.empty()) type.fields = std::move(fields);
  if (type.fields.empty()) type.fields.emplace_back("x", ir::Type::U32);
  if (type.fields.size() > kMaxFields) type.fields.resize(kMaxFields);
}

void Parser::parse_fields(const Token& name,
                          std::vector<std::pair<std::string_view, ir::Type>>& fields) {
  const Token brace = tok_;
  if (!expect(TokenKind::LBrace, "before the fields of a struct")) return;
  while (!panicking_ && !at(TokenKind::RBrace)) {
    if (type_comes_first()) {
      // `float x; float y;`: the whole struct is another language.
      report_type_first("field");
      while (!at(TokenKind::RBrace) && !at(TokenKind::End)) advance();
      accept(TokenKind::RBrace);
      accept(TokenKind::Semicolon);
      return;
    }
    const Token field = parse_new_name("field");
    expect(TokenKind::Colon, "and a type after the name of a field");
    if (panicking_) return;
    const auto scalar = ir::type_from_name(tok_.text);
    if (!at(TokenKind::Name) || !scalar || ir::is_storage(*scalar)) {
      report(Code::BadStruct, tok_,
             fmt::format("the field `{}` of the struct `{}` is no scalar", field.text, name.text),
             "use bool u32 i32 u64 i64 f32 f64");
      skip_expression();
    } else {
      advance();
    }
    const auto same = [&](const auto& other) { return other.first == field.text; };
    if (std::any_of(fields.begin(), fields.end(), same))
      report(Code::BadStruct, field,
             fmt::format("the struct `{}` has two fields `{}`", name.text, field.text),
             "choose another name");
    else if (fields.size() <= kMaxFields)
      fields.emplace_back(field.text, scalar ? ir::widened(*scalar) : ir::Type::U32);
    if (!accept(TokenKind::Comma)) break;
  }
  expect_close(TokenKind::RBrace, brace);
  if (panicking_) return;
  if (fields.empty() || fields.size() > kMaxFields)
    report(Code::BadStruct, name,
           fmt::format("the struct `{}` has {} fields", name.text,
                       fields.empty() ? "no" : "more than 16"),
           "give it 1 to 16 fields");
}

bool Parser::at_struct_type() {
  if (!at(TokenKind::Name) || (structs_.empty() && units_.size() == 1)) return false;
  if (next_.kind == TokenKind::Dot) return used_module(tok_) != kNoIndex;
  const Found found = scopes_.find(tok_.text);
  return found.where == Found::Where::Visible && found.symbol.kind == Symbol::Kind::StructType;
}

// Locals for the fields of a new struct or array of structs.
uint32_t Parser::declare_record(uint32_t type, std::string_view name, const Token& where,
                                ir::Local::Kind kind, ir::ExprId count) {
  RecordLocal record{type, {}};
  const std::string suffix =
      frame_.in_place != nullptr && !frame_.lambda ? frame_.in_place->suffix : std::string();
  if (!taken_collected_) collect_taken_names();
  bool first = true;
  for (const auto& [field, scalar] : structs_[type].fields) {
    const std::string base = fmt::format("{}{}__{}", name, suffix, field);
    std::string chosen = base.substr(0, ir::kMaxNameBytes);
    const auto clash = taken_.find(chosen);
    if (chosen.size() != base.size() || (clash != taken_.end() && clash->second))
      chosen = fresh_name(base);
    else
      taken_.emplace(chosen, false);
    const ir::ExprId size = !count.valid() || first ? count : clone(count).value_or(count);
    record.fields.push_back(
        program_.add(ir::Local{std::move(chosen), kind, scalar, size}, hidden_loc(where)));
    first = false;
  }
  record_locals_.push_back(std::move(record));
  return static_cast<uint32_t>(record_locals_.size() - 1);
}

// ---- values

Parser::Value Parser::record_value(uint32_t type, std::vector<ir::ExprId> fields,
                                   const Token& where, uint32_t depth) {
  const auto index = static_cast<uint32_t>(records_.size());
  records_.push_back(
      {type, std::move(fields), where, unit_, frame_.use, wanted_ == Report::Syntax || panicking_});
  return {poison(where).id, depth, index};
}

// The fields of a value that has to be of this struct.
const Record* Parser::take_record(const Value& value, uint32_t type, const Token& where) {
  if (value.record == kNoIndex) {
    if (!std::holds_alternative<ir::Poison>(program_[value.id]))
      report(Code::BadStructUse, where,
             fmt::format("a scalar stands where a value of the struct `{}` belongs",
                         structs_[type].full_name),
             fmt::format("write `{} {{ ... }}`", structs_[type].full_name));
    return nullptr;
  }
  Record& record = records_[value.record];
  record.taken = true;
  if (record.type == type) return &record;
  report(Code::BadStructUse, where,
         fmt::format("a value of the struct `{}` stands where one of `{}` belongs",
                     structs_[record.type].full_name, structs_[type].full_name),
         "use a value of that struct");
  return nullptr;
}

// At `.`: the index of the field.
std::optional<size_t> Parser::parse_field(uint32_t type) {
  advance();
  if (!at(TokenKind::Name)) {
    unexpected("the name of a field", "write `.` and the name of a field");
    return std::nullopt;
  }
  const Token name = tok_;
  advance();
  const auto& fields = structs_[type].fields;
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].first == name.text) return i;
  std::string_view meant;
  for (const auto& [field, scalar] : fields)
    if (meant.empty() && edit_distance(name.text, field, 2) <= 2) meant = field;
  std::string all;
  for (const auto& [field, scalar] : fields) all += fmt::format(" {}", field);
  note_declaration(report(Code::UnknownField, name,
                          fmt::format("the struct `{}` has no field {}", structs_[type].full_name,
                                      quoted(name.text)),
                          meant.empty() ? fmt::format("use one of:{}", all)
                                        : fmt::format("did you mean `{}`?", meant)),
                   {Symbol::Kind::StructType, type});
  return std::nullopt;
}

// `S { a: 1.0, b: 2 }`, the name read.
Parser::Value Parser::parse_struct_literal(const Token& name, uint32_t type) {
  const Nesting nesting(*this);
  if (!nesting.fits) return too_deep(name);
  const Token brace = tok_;
  advance();
  const auto& fields = structs_[type].fields;
  std::vector<ir::ExprId> values(fields.size());
  bool complete = true;
  bool in_order = true;
  bool effects = false;
  size_t last = 0;
  uint32_t depth = 1;
  const bool bare = std::exchange(bare_condition_, false);
  while (!panicking_ && !at(TokenKind::RBrace)) {
    const Token field = tok_;
    size_t index = fields.size();
    for (size_t i = 0; i < fields.size(); ++i)
      if (at(TokenKind::Name) && fields[i].first == tok_.text) index = i;
    if (!at(TokenKind::Name)) {
      unexpected("the name of a field", "write `name: value`");
      break;
    }
    advance();
    expect(TokenKind::Colon, "and a value after the name of a field");
    const Value value = parse_expression();
    depth = std::max(depth, value.depth);
    if (index == fields.size() || values[index].valid()) {
      complete = false;
      report(index == fields.size() ? Code::UnknownField : Code::BadStructUse, field,
             index == fields.size() ? fmt::format("the struct `{}` has no field {}",
                                                  structs_[type].full_name, quoted(field.text))
                                    : fmt::format("the field `{}` is given twice", field.text),
             "give every field once");
    } else {
      in_order = in_order && index >= last;
      last = index;
      effects = effects || has_effect(value.id);
      values[index] = value.id;
    }
    if (!accept(TokenKind::Comma)) break;
  }
  bare_condition_ = bare;
  expect_close(TokenKind::RBrace, brace);
  if (panicking_) return poison(name);
  for (size_t i = 0; i < fields.size(); ++i) {
    if (values[i].valid()) continue;
    if (std::exchange(complete, false))
      report(Code::BadStructUse, name,
             fmt::format("the field `{}` of the struct `{}` has no value", fields[i].first,
                         structs_[type].full_name),
             "give every field once");
    values[i] = poison(name).id;
  }
  if (effects && !in_order)
    report(Code::BadStructUse, name,
           "fields whose values have effects are not in the order of the struct",
           "write the fields in the order of the struct");
  return record_value(type, std::move(values), name, depth);
}

// A struct, an array of structs or the name of a struct type, its name read.
Parser::Value Parser::parse_struct_symbol(const Token& name, Symbol symbol) {
  if (symbol.kind == Symbol::Kind::StructType) {
    if (at(TokenKind::LBrace) && !bare_condition_) return parse_struct_literal(name, symbol.index);
    report(Code::WrongKindOfName, name,
           fmt::format("{} is a struct and cannot be used as a value", quoted(name.text)),
           at(TokenKind::LBrace) ? "put the value in parentheses"
                                 : fmt::format("write a value, `{} {{ ... }}`", name.text));
    discard_postfix();
    return poison(name);
  }
  const RecordLocal record = record_locals_[symbol.index];
  if (symbol.kind == Symbol::Kind::Struct) {
    if (at(TokenKind::Dot)) {
      const auto field = parse_field(record.type);
      if (!field) return poison(name);
      return make(ir::LocalRef{record.fields[*field]}, name, 1);
    }
    if (at(TokenKind::LParen) || at(TokenKind::LBracket)) {
      report(Code::WrongKindOfName, name,
             fmt::format("{} is a struct and cannot be {}", quoted(name.text),
                         at(TokenKind::LParen) ? "called" : "indexed"),
             "use one of its fields");
      discard_postfix();
      return poison(name);
    }
    std::vector<ir::ExprId> fields;
    for (const ir::LocalId id : record.fields) fields.push_back(make(ir::LocalRef{id}, name, 1).id);
    return record_value(record.type, std::move(fields), name, 1);
  }
  if (!at(TokenKind::LBracket)) {
    report(
        Code::WrongKindOfName, name,
        fmt::format("{} is an array of structs and cannot be used as a value", quoted(name.text)),
        fmt::format("use an element, `{}[i]`", name.text.substr(0, 60)));
    discard_postfix();
    return poison(name);
  }
  const Token bracket = tok_;
  advance();
  const Nesting nesting(*this);
  const bool bare = std::exchange(bare_condition_, false);
  const Value index = nesting.fits ? parse_expression() : too_deep(name);
  bare_condition_ = bare;
  expect_close(TokenKind::RBracket, bracket);
  if (panicking_) return poison(name);
  if (at(TokenKind::Dot)) {
    const auto field = parse_field(record.type);
    if (!field) return poison(name);
    return make(ir::Load{ir::Memory::of(record.fields[*field]), index.id}, name, index.depth + 1);
  }
  std::vector<ir::ExprId> fields;
  for (size_t i = 0; i < record.fields.size(); ++i) {
    const auto copy = i == 0 ? std::optional(index.id) : clone(index.id);
    if (!copy) {
      report(Code::BadStructUse, name,
             "the index of a whole struct is evaluated once for each field",
             "give the index a name with `let`");
      return poison(name);
    }
    fields.push_back(
        make(ir::Load{ir::Memory::of(record.fields[i]), *copy}, name, index.depth + 1).id);
  }
  return record_value(record.type, std::move(fields), name, index.depth + 1);
}

// A copy of an expression that gives the same value however often it is evaluated.
std::optional<ir::ExprId> Parser::clone(ir::ExprId id) {
  const ir::Expr e = program_[id];
  if (ir::properties_of(e).rematerialise != ir::Rematerialise::Always) return std::nullopt;
  if (program_.exprs.size() >= ir::kMaxNodes) return std::nullopt;
  std::optional<ir::Expr> copy;
  const auto child = [&](ir::ExprId operand) { return clone(operand); };
  if (const auto* unary = std::get_if<ir::Unary>(&e)) {
    if (const auto x = child(unary->operand)) copy = ir::Unary{unary->op, *x};
  } else if (const auto* cast = std::get_if<ir::Cast>(&e)) {
    if (const auto x = child(cast->operand)) copy = ir::Cast{cast->type, *x};
  } else if (const auto* bits = std::get_if<ir::Bitcast>(&e)) {
    if (const auto x = child(bits->operand)) copy = ir::Bitcast{bits->type, *x};
  } else if (const auto* binary = std::get_if<ir::Binary>(&e)) {
    const auto left = child(binary->left);
    const auto right = left ? child(binary->right) : std::nullopt;
    if (right) copy = ir::Binary{binary->op, *left, *right};
  } else if (const auto* load = std::get_if<ir::Load>(&e)) {
    if (const auto index = child(load->index)) copy = ir::Load{load->memory, *index};
  } else if (const auto* call = std::get_if<ir::IntrinsicCall>(&e)) {
    ir::IntrinsicCall same{call->op, {}};
    bool all = true;
    for (size_t i = 0; i < static_cast<size_t>(ir::arity_of(call->op)) && all; ++i) {
      const auto arg = child(call->args[i]);
      all = arg.has_value();
      if (arg) same.args[i] = *arg;
    }
    if (all) copy = same;
  } else {
    copy = e;
  }
  if (!copy) return std::nullopt;
  return program_.add(std::move(*copy), program_.loc(id));
}

bool Parser::has_effect(ir::ExprId id) const {
  const ir::Expr& e = program_[id];
  if (ir::properties_of(e).has_effect) return true;
  bool found = false;
  ir::for_each_operand(program_, e,
                       [&](const ir::ExprId& child) { found = found || has_effect(child); });
  return found;
}

// `a == b`: all fields are equal.
Parser::Value Parser::compare_records(const Token& sign, ir::BinaryOp op, const Value& left,
                                      const Value& right) {
  const uint32_t known = left.record != kNoIndex ? left.record : right.record;
  const uint32_t type = records_[known].type;
  const Record* const a = take_record(left, type, sign);
  const std::vector<ir::ExprId> lefts = a != nullptr ? a->fields : std::vector<ir::ExprId>();
  const Record* const b = take_record(right, type, sign);
  if (a == nullptr || b == nullptr) return poison(sign);
  const std::vector<ir::ExprId> rights = b->fields;
  const bool equal = op == ir::BinaryOp::Eq;
  uint32_t depth = std::max(left.depth, right.depth) + 1;
  Value all = make(ir::Binary{op, lefts[0], rights[0]}, sign, depth);
  for (size_t i = 1; i < lefts.size(); ++i) {
    const Value one = make(ir::Binary{op, lefts[i], rights[i]}, sign, depth);
    // Both sides are evaluated: `&` and `|` of bool, so that effects do not depend on fields.
    all = make(ir::Binary{equal ? ir::BinaryOp::And : ir::BinaryOp::Or, all.id, one.id}, sign,
               std::max(all.depth, one.depth) + 1);
  }
  return all;
}

// ---- statements

// `let s : S = ...;`, `var a : S[8];`, at the type.
void Parser::parse_struct_let(Items& items, const Token& keyword, const Token& name,
                              const TypeName& written) {
  const auto type = type_of(written, false);
  if (!type || !type->is_struct()) {
    if (type)
      report(Code::BadStructUse, written.name, "the type is no struct",
             "write a struct or a scalar");
    skip_item();
    scopes_.declare(name.text, {});
    return;
  }
  if (at(TokenKind::LBracket)) {
    const Token bracket = tok_;
    if (keyword.text != "var")
      report(Code::UnexpectedToken, keyword,
             fmt::format("the array {} is declared with `let`", quoted(name.text)),
             "declare arrays with `var`");
    advance();
    const ir::ExprId count = parse_expr();
    expect_close(TokenKind::RBracket, bracket);
    const uint32_t record =
        declare_record(type->record, name.text, name, ir::Local::Kind::Array, count);
    scopes_.declare(name.text, {Symbol::Kind::StructArray, record});
    for (const ir::LocalId id : record_locals_[record].fields)
      items.push_back(program_.add(ir::Stmt{ir::DeclareArray{id}}, loc(keyword)));
    expect_semicolon();
    return;
  }
  if (!expect(TokenKind::Assign, "and a value")) {
    scopes_.declare(name.text, {});
    return;
  }
  sink_ = &items;
  whole_start_ = tok_.text.data();
  const Value value = parse_expression();
  expect_semicolon();
  finish_struct_let(items, keyword, name, value, type->record);
}

void Parser::finish_struct_let(Items& items, const Token& keyword, const Token& name,
                               const Value& value, uint32_t type) {
  const Record* const taken = panicking_ ? nullptr : take_record(value, type, name);
  const std::vector<ir::ExprId> fields =
      taken != nullptr ? taken->fields : std::vector<ir::ExprId>();
  const auto kind = keyword.text == "var" ? ir::Local::Kind::Var : ir::Local::Kind::Let;
  const uint32_t record = declare_record(type, name.text, name, kind, {});
  scopes_.declare(name.text, {Symbol::Kind::Struct, record});
  for (size_t i = 0; i < record_locals_[record].fields.size(); ++i) {
    const ir::ExprId field = i < fields.size() ? fields[i] : poison(name).id;
    items.push_back(
        program_.add(ir::Stmt{ir::Let{record_locals_[record].fields[i], field}}, loc(keyword)));
  }
}

// All fields are evaluated before the first one changes, unless each reads no other.
void Parser::assign_record(Items& items, const RecordLocal& target, const Value& value,
                           const Token& where) {
  const Record* const taken = take_record(value, target.type, where);
  if (taken == nullptr) return;
  const std::vector<ir::ExprId> fields = taken->fields;
  const auto reads = [&](const auto& self, ir::ExprId id, size_t until) -> bool {
    if (const auto* ref = std::get_if<ir::LocalRef>(&program_[id]))
      for (size_t i = 0; i < until; ++i)
        if (target.fields[i] == ref->local) return true;
    bool found = false;
    ir::for_each_operand(program_, program_[id], [&](const ir::ExprId& child) {
      found = found || self(self, child, until);
    });
    return found;
  };
  bool crossed = false;
  for (size_t i = 1; i < fields.size(); ++i) crossed = crossed || reads(reads, fields[i], i);
  Items inner;
  std::vector<ir::ExprId> values = fields;
  for (size_t i = 0; crossed && i < fields.size(); ++i) {
    const ir::LocalId local =
        program_.add(ir::Local{fresh_name(fmt::format("{}__new", program_[target.fields[i]].name)),
                               ir::Local::Kind::Let,
                               program_[target.fields[i]].type,
                               {}},
                     hidden_loc(where));
    inner.push_back(program_.add(ir::Stmt{ir::Let{local, fields[i]}}, loc(where)));
    values[i] = make(ir::LocalRef{local}, where, 1).id;
  }
  for (size_t i = 0; i < values.size(); ++i)
    inner.push_back(
        program_.add(ir::Stmt{ir::Assign{target.fields[i], std::nullopt, values[i]}}, loc(where)));
  if (crossed) {
    items.push_back(program_.add(ir::Stmt{ir::Nested{program_.add_block(inner)}}, loc(where)));
  } else {
    items.insert(items.end(), inner.begin(), inner.end());
  }
}

// `s = e;`, `s.a += e;`, `a[i] = s;`, `a[i].x = e;`, at the name. False: it is no struct.
bool Parser::parse_struct_assignment(Items& items, const Token& name) {
  const Found found = scopes_.find(name.text);
  const Symbol symbol = found.symbol;
  const bool array = symbol.kind == Symbol::Kind::StructArray;
  if (found.where != Found::Where::Visible || (!array && symbol.kind != Symbol::Kind::Struct))
    return false;
  const RecordLocal target = record_locals_[symbol.index];
  advance();
  ir::ExprId index;
  if (array) {
    const Token bracket = tok_;
    if (!expect(TokenKind::LBracket, "after the name of an array")) return true;
    index = parse_expr();
    if (!expect_close(TokenKind::RBracket, bracket)) return true;
  }
  std::optional<size_t> field;
  const bool whole = !at(TokenKind::Dot);
  if (!whole) {
    field = parse_field(target.type);
    if (panicking_) return true;
  }
  std::optional<ir::BinaryOp> op;
  if (!parse_assign_operator(op)) return true;
  if (whole && op) {
    report(Code::BadStructUse, name, "an operator cannot change a whole struct",
           "assign to its fields");
    panicking_ = true;
    return true;
  }
  sink_ = &items;
  whole_start_ = whole ? tok_.text.data() : nullptr;
  const Value value = parse_expression();
  expect_semicolon();
  if (panicking_) return true;
  if (!whole) {
    if (value.record != kNoIndex || !field) return true;
    const ir::LocalId local = target.fields[*field];
    if (array)
      items.push_back(
          program_.add(ir::Stmt{ir::Store{ir::Memory::of(local), index, op, value.id}}, loc(name)));
    else
      items.push_back(program_.add(ir::Stmt{ir::Assign{local, op, value.id}}, loc(name)));
  } else if (array) {
    store_record(items, target, index, value, name);
  } else {
    assign_record(items, target, value, name);
  }
  return true;
}

void Parser::store_record(Items& items, const RecordLocal& target, ir::ExprId index,
                          const Value& value, const Token& where) {
  const Record* const taken = take_record(value, target.type, where);
  if (taken == nullptr) return;
  const std::vector<ir::ExprId> fields = taken->fields;
  // The fields are evaluated before the first store: they may read the array.
  Items inner;
  std::vector<ir::ExprId> values;
  for (size_t i = 0; i < fields.size(); ++i) {
    const ir::LocalId local =
        program_.add(ir::Local{fresh_name(fmt::format("{}__new", program_[target.fields[i]].name)),
                               ir::Local::Kind::Let,
                               program_[target.fields[i]].type,
                               {}},
                     hidden_loc(where));
    inner.push_back(program_.add(ir::Stmt{ir::Let{local, fields[i]}}, loc(where)));
    values.push_back(make(ir::LocalRef{local}, where, 1).id);
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto copy = clone(index);
    if (!copy) {
      report(Code::BadStructUse, where,
             "the index of a whole struct is evaluated once for each field",
             "give the index a name with `let`");
      return;
    }
    inner.push_back(program_.add(
        ir::Stmt{ir::Store{ir::Memory::of(target.fields[i]), *copy, std::nullopt, values[i]}},
        loc(where)));
  }
  items.push_back(program_.add(ir::Stmt{ir::Nested{program_.add_block(inner)}}, loc(where)));
}

}  // namespace vyre::text
