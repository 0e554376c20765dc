// SPDX-License-Identifier: Apache-2.0
// Static parameters and their arguments, heads of functions, and static functions.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "text/layout_spacing.hpp"
#include "text/parser.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {

namespace {

constexpr size_t kMaxStaticParams = 32;
constexpr std::array kClasses =
    std::to_array<std::string_view>({"any", "number", "integer", "float"});
constexpr std::array kStaticFunctions = std::to_array<std::string_view>(
    {"size_of", "is_float", "lowest", "highest", "identity", "exact"});
constexpr std::array kOperators =
    std::to_array<std::string_view>({"", "add", "mul", "min", "max", "and", "or", "xor"});

bool in_class(TypeClass type_class, ir::Type type) {
  const ir::Type wide = ir::widened(type);
  switch (type_class) {
    case TypeClass::Any: return true;
    case TypeClass::Number: return ir::is_number(wide);
    case TypeClass::Integer: return ir::is_integer(wide);
    case TypeClass::Float: return ir::is_float(wide);
  }
  return false;
}

}  // namespace

// ---- heads

// In the first pass: a function with static parameters, or with a function among its parameters, or
// that gives a struct, becomes instances.
void Parser::collect_generic(const Token& name, Lexer& lexer, Token& token) {
  bool generic = token.kind == TokenKind::Less;
  if (!generic && token.kind == TokenKind::LParen) {
    Lexer ahead = lexer;
    Token before = token;
    Token at = ahead.next();
    const auto ends = [&] {
      return at.kind == TokenKind::End || at.kind == TokenKind::RParen ||
             at.kind == TokenKind::LBrace || at.kind == TokenKind::Semicolon;
    };
    while (!ends() && !generic) {
      const bool word = at.kind == TokenKind::Name && at.text == "fn";
      if (word && before.kind != TokenKind::Colon) break;
      generic = word;
      if (at.kind != TokenKind::Comment) before = at;
      at = ahead.next();
    }
    if (!generic && at.kind == TokenKind::RParen) {
      at = ahead.next();
      if (at.kind == TokenKind::Arrow) {
        at = ahead.next();
        const Token after = ahead.next();
        generic = at.kind == TokenKind::Name && !ir::type_from_name(at.text) &&
                  (struct_names_.contains(at.text) || after.kind == TokenKind::Dot);
      }
    }
  }
  if (!generic) {
    collect_fn(name);
    return;
  }
  expands_ = true;
  decl_at_.emplace(name.text.data(), static_cast<uint32_t>(fn_decls_.size()));
  scopes_.declare_global(name.text,
                         {Symbol::Kind::Generic, static_cast<uint32_t>(fn_decls_.size())});
  FnDecl decl;
  decl.name = name;
  fn_decls_.push_back(std::move(decl));
}

uint32_t Parser::plain_decl(ir::FnId fn) {
  if (fn.index() >= fn_tokens_.size()) return kNoIndex;
  const Token& name = fn_tokens_[fn.index()];
  const auto [it, fresh] =
      decl_at_.emplace(name.text.data(), static_cast<uint32_t>(fn_decls_.size()));
  if (!fresh) return it->second;
  FnDecl decl;
  decl.name = name;
  decl.plain = fn.value;
  fn_decls_.push_back(std::move(decl));
  return it->second;
}

FnDecl& Parser::head_of(uint32_t index) {
  FnDecl& decl = fn_decls_[index];
  if (std::exchange(decl.head_read, true)) return decl;
  const Cursor back = here();
  const Frame outer = std::exchange(frame_, Frame{});
  // A plain one says what is wrong with it where it stands.
  const bool muted = std::exchange(muted_, decl.plain != kNoIndex);
  go_to(decl.unit, decl.name);
  advance();
  parse_head(decl);
  decl.broken = decl.broken || panicking_;
  muted_ = muted;
  frame_ = outer;
  go_back(back);
  return decl;
}

void Parser::parse_head(FnDecl& decl) {
  if (at(TokenKind::Less)) parse_static_params(decl.statics);
  const Token paren = tok_;
  if (!expect(TokenKind::LParen, "and the parameters of the function")) return;
  if (!at(TokenKind::RParen)) {
    do {
      decl.params.push_back(parse_param_head());
    } while (!panicking_ && accept(TokenKind::Comma));
  }
  expect_close(TokenKind::RParen, paren);
  if (!panicking_ && accept(TokenKind::Arrow)) decl.result = parse_type_name();
  if (!panicking_ && !at(TokenKind::LBrace)) unexpected("`{`", "add a block, `{ ... }`");
  decl.body = tok_;
}

ParamHead Parser::parse_param_head() {
  ParamHead param;
  param.name = parse_new_name("parameter");
  expect(TokenKind::Colon, "and a type after the name of a parameter");
  if (panicking_) return param;
  if (at_word("fn")) {
    param.form = ParamHead::Form::Fn;
    advance();
    const Token paren = tok_;
    if (!expect(TokenKind::LParen, "and the types of its parameters")) return param;
    if (!at(TokenKind::RParen)) {
      do {
        param.fn_params.push_back(parse_type_name());
      } while (!panicking_ && accept(TokenKind::Comma));
    }
    expect_close(TokenKind::RParen, paren);
    if (expect(TokenKind::Arrow, "and a type: a function parameter gives a value"))
      param.fn_result = parse_type_name();
    return param;
  }
  if (at_word("buffer") && next_.kind == TokenKind::Name) {
    advance();
    param.form = ParamHead::Form::Buffer;
  }
  param.type = parse_type_name();
  if (!panicking_ && param.form == ParamHead::Form::Buffer) param.rank = parse_rank();
  return param;
}

TypeName Parser::parse_type_name() {
  TypeName type;
  if (panicking_) return type;
  if (!at(TokenKind::Name)) {
    unexpected("a type", "use bool u32 i32 u64 i64 f32 f64, a static parameter or a struct");
    return type;
  }
  type.name = tok_;
  advance();
  if (at(TokenKind::Dot) && next_.kind == TokenKind::Name) {
    type.module = type.name;
    advance();
    type.name = tok_;
    advance();
  }
  return type;
}

// The type that a name stands for here; reports what is none.
std::optional<DeclaredType> Parser::type_of(const TypeName& name, bool storage_allowed) {
  if (name.name.kind != TokenKind::Name) return std::nullopt;
  std::optional<Symbol> symbol;
  if (name.module.kind == TokenKind::Name) {
    symbol = member(name.module, name.name);
    if (!symbol) return std::nullopt;
  } else if (const auto type = ir::type_from_name(name.name.text)) {
    symbol = Symbol{Symbol::Kind::Type, static_cast<uint32_t>(*type)};
  } else if (const Found found = scopes_.find(name.name.text);
             found.where == Found::Where::Visible || found.where == Found::Where::Around) {
    symbol = found.symbol;
  }
  if (symbol && symbol->kind == Symbol::Kind::StructType) return DeclaredType{{}, symbol->index};
  if (!symbol || symbol->kind != Symbol::Kind::Type) {
    report(Code::UnexpectedToken, name.name,
           fmt::format("expected a type, found {}", describe(name.name)),
           "use bool u32 i32 u64 i64 f32 f64, a static parameter or a struct");
    return std::nullopt;
  }
  const auto type = static_cast<ir::Type>(symbol->index);
  if (!storage_allowed && ir::is_storage(type)) {
    report(Code::StorageTypeAsValue, name.name,
           fmt::format("the storage type `{}` is used for a value", ir::name_of(type)),
           fmt::format("use `{}`, the type that a load of `{}` gives",
                       ir::name_of(ir::widened(type)), ir::name_of(type)));
    return DeclaredType{ir::widened(type), kNoIndex};
  }
  return DeclaredType{type, kNoIndex};
}

// The same in another file, with the names of that file.
std::optional<DeclaredType> Parser::type_in(uint32_t unit, const TypeName& name) {
  const uint32_t outer = std::exchange(unit_, unit);
  scopes_.set_unit(unit);
  scopes_.enter_function();
  const bool muted = std::exchange(muted_, true);
  const auto type = type_of(name, true);
  muted_ = muted;
  scopes_.leave_function();
  unit_ = outer;
  scopes_.set_unit(outer);
  return type;
}

// ---- static parameters

void Parser::parse_static_params(std::vector<StaticParam>& params) {
  advance();
  do {
    parse_static_param(params);
  } while (!panicking_ && accept(TokenKind::Comma));
  expect(TokenKind::Greater, "after the static parameters");
  if (panicking_ || params.size() <= kMaxStaticParams) return;
  report(Code::BadStaticArgument, prev_,
         fmt::format("{} static parameters, more than {}", params.size(), kMaxStaticParams),
         "use fewer of them");
  panicking_ = true;
}

void Parser::parse_static_param(std::vector<StaticParam>& params) {
  StaticParam param;
  param.is_type = at_word("type");
  if (!param.is_type && !at_word("const")) {
    unexpected("`type` or `const`", "write `<type T : number, const N : u32 = 4>`");
    return;
  }
  advance();
  param.name = parse_new_name("static parameter");
  if (param.is_type) {
    if (accept(TokenKind::Colon)) {
      const auto* const row = std::find(kClasses.begin(), kClasses.end(), tok_.text);
      if (!at(TokenKind::Name) || row == kClasses.end()) {
        unexpected("a class of types", "use any, number, integer or float");
        return;
      }
      param.type_class = static_cast<TypeClass>(row - kClasses.begin());
      advance();
    }
  } else {
    expect(TokenKind::Colon, "and a type after the name of a static constant");
    if (const auto type = parse_type(false)) param.const_type = *type;
  }
  if (!panicking_ && accept(TokenKind::Assign)) {
    param.fallback = tok_;
    if (param.is_type) {
      parse_type_name();
    } else {
      const bool outer = std::exchange(in_static_, true);
      parse_binary(ir::precedence_of(ir::BinaryOp::Shl) + 1);
      in_static_ = outer;
    }
  }
  params.push_back(param);
}

void Parser::declare_static(const StaticParam& param, const Bound& bound) {
  if (bound.is_type) {
    scopes_.declare(param.name.text, {Symbol::Kind::Type, static_cast<uint32_t>(bound.type)});
    return;
  }
  scopes_.declare(param.name.text,
                  {Symbol::Kind::Static, static_cast<uint32_t>(static_values_.size())});
  static_values_.push_back(bound.value);
}

bool Parser::fits_class(const StaticParam& param, ir::Type type, const Token& where) {
  if (in_class(param.type_class, type)) return true;
  report(Code::TypeOutsideClass, where,
         fmt::format("the type `{}` is no `{}`, which `{}` has to be", ir::name_of(type),
                     kClasses[static_cast<size_t>(param.type_class)], param.name.text),
         "pass values of another type, or widen the class of the parameter");
  return false;
}

// ---- static arguments

// A value that is known here, of a type; the errors of the expression are its own.
std::optional<StaticValue> Parser::parse_static_value(ir::Type type, std::string_view what) {
  const Token first = tok_;
  const bool outer = std::exchange(in_static_, true);
  const size_t errors = diagnostics_.errors();
  const Value value = parse_binary(ir::precedence_of(ir::BinaryOp::Shl) + 1);
  in_static_ = outer;
  if (panicking_) return std::nullopt;
  const auto known = evaluate(value.id, type);
  if (known && known->type == type) return known;
  if (diagnostics_.errors() != errors) return std::nullopt;
  report(known ? Code::BadStaticArgument : Code::NotStatic, first,
         known ? fmt::format("{} has the type `{}`, not `{}`", what, ir::name_of(known->type),
                             ir::name_of(type))
               : fmt::format("{} is not known while the text is expanded", what),
         known ? fmt::format("convert it, `(...) as {}`", ir::name_of(type))
               : std::string("use literals, constants and static parameters"));
  return std::nullopt;
}

std::optional<Bound> Parser::parse_static_arg(const StaticParam& param) {
  if (!param.is_type) {
    const auto value =
        parse_static_value(param.const_type, fmt::format("the argument for `{}`", param.name.text));
    if (!value) return std::nullopt;
    return Bound{false, {}, *value};
  }
  const Token where = tok_;
  const auto type = type_of(parse_type_name(), true);
  if (!type) return std::nullopt;
  if (type->is_struct()) {
    report(Code::TypeOutsideClass, where,
           fmt::format("`{}` stands for a scalar type, not for a struct", param.name.text),
           "pass a scalar type");
    return std::nullopt;
  }
  if (!fits_class(param, type->scalar, where)) return std::nullopt;
  return Bound{true, type->scalar, {}};
}

bool Parser::parse_static_args(std::vector<std::optional<Bound>>& given, const FnDecl& decl) {
  const Token opener = tok_;
  advance();
  bool complete = true;
  size_t count = 0;
  do {
    if (count < decl.statics.size()) {
      given.push_back(parse_static_arg(decl.statics[count]));
      complete = complete && given.back().has_value();
    } else {
      parse_binary(ir::precedence_of(ir::BinaryOp::Shl) + 1);
    }
    ++count;
  } while (!panicking_ && accept(TokenKind::Comma));
  expect(TokenKind::Greater, "after the static arguments");
  if (panicking_) return false;
  if (count == decl.statics.size()) return complete;
  report(Code::BadStaticArgument, opener,
         fmt::format("`{}` has {} static parameter{}, {} given", decl.name.text,
                     decl.statics.size(), decl.statics.size() == 1 ? "" : "s", count),
         "write all of them, or leave the list out where the arguments decide");
  return false;
}

std::optional<Bound> Parser::deduced(const FnDecl& decl, const StaticParam& param,
                                     const std::vector<RawArg>& args) {
  if (!param.is_type) return std::nullopt;
  for (size_t i = 0; i < args.size() && i < decl.params.size(); ++i) {
    const ParamHead& head = decl.params[i];
    const bool named =
        head.type.module.kind != TokenKind::Name && head.type.name.text == param.name.text;
    if (head.form == ParamHead::Form::Fn || !named) continue;
    std::optional<ir::Type> type;
    if (args[i].form == RawArg::Form::Value) type = infer(args[i].value);
    if (args[i].form == RawArg::Form::Memory) {
      const ir::Memory memory = args[i].memory;
      type = memory.buffer().valid() ? std::optional(program_[memory.buffer()].element)
                                     : program_[memory.local()].type;
    }
    if (type) return Bound{true, *type, {}};
  }
  return std::nullopt;
}

// Fills in what was not written: deduced, or the default, in the file and after the static
// parameters before it.
bool Parser::bind_statics(const Token& name, FnDecl& decl, std::vector<std::optional<Bound>>& given,
                          const std::vector<RawArg>& args) {
  given.resize(decl.statics.size());
  for (size_t i = 0; i < decl.statics.size(); ++i) {
    const StaticParam& param = decl.statics[i];
    if (given[i]) continue;
    given[i] = deduced(decl, param, args);
    if (given[i]) {
      if (!fits_class(param, given[i]->type, name)) return false;
      continue;
    }
    if (param.fallback.kind == TokenKind::End) {
      report(Code::CannotDeduce, name,
             fmt::format("no argument decides the static parameter `{}` of `{}`", param.name.text,
                         decl.name.text),
             fmt::format("write it, `{}<...>(...)`; literals do not decide", name.text));
      return false;
    }
    const Cursor back = here();
    scopes_.enter_function();
    for (size_t k = 0; k < i; ++k) declare_static(decl.statics[k], *given[k]);
    go_to(decl.unit, param.fallback);
    given[i] = parse_static_arg(param);
    scopes_.leave_function();
    go_back(back);
    if (!given[i]) return false;
  }
  return true;
}

// `program sort<type K = u32, const N : u32 = 4>`: set by whoever runs it, or the defaults.
void Parser::parse_program_statics() {
  std::vector<StaticParam> params;
  parse_static_params(params);
  if (panicking_) return;
  for (const StaticParam& param : params) {
    settable_.emplace_back(param.name.text);
    std::optional<Bound> bound;
    if (const Setting* setting = setting_of(param.name.text)) {
      if (param.is_type) {
        const auto type = ir::type_from_name(setting->value);
        if (type && fits_class(param, *type, param.name)) bound = Bound{true, *type, {}};
        if (!type)
          report(Code::BadSetting, param.name,
                 fmt::format("`{}` is set to {}, which is no type", param.name.text,
                             quoted(setting->value)),
                 "set it to one of bool u32 i32 u64 i64 f32 f64 u8 i8 u16 i16 f16 bf16");
      } else if (const auto value = value_of_setting(*setting, param.const_type)) {
        bound = Bound{false, {}, *value};
      } else {
        report(Code::BadSetting, param.name,
               fmt::format("`{}` is set to {}, which is no value of the type `{}`", param.name.text,
                           quoted(setting->value), ir::name_of(param.const_type)),
               "set it to a number or to true or false, as its type says");
      }
      if (!bound) bound = Bound{param.is_type, ir::Type::U32, {param.const_type, 1}};
    } else if (param.fallback.kind != TokenKind::End) {
      const Cursor back = here();
      go_to(unit_, param.fallback);
      bound = parse_static_arg(param);
      go_back(back);
    } else {
      report(Code::CannotDeduce, param.name,
             fmt::format("the static parameter `{}` of the program has no value", param.name.text),
             fmt::format("give it a default, or set it, `--set {}=...`", param.name.text));
    }
    if (!bound) bound = Bound{param.is_type, ir::Type::U32, {param.const_type, 1}};
    if (bound->is_type) {
      scopes_.declare_global(param.name.text,
                             {Symbol::Kind::Type, static_cast<uint32_t>(bound->type)});
    } else {
      scopes_.declare_global(param.name.text,
                             {Symbol::Kind::Static, static_cast<uint32_t>(static_values_.size())});
      static_values_.push_back(bound->value);
    }
  }
}

// ---- static functions

bool Parser::is_static_function(const Token& name) const {
  return next_.kind == TokenKind::LParen &&
         std::find(kStaticFunctions.begin(), kStaticFunctions.end(), name.text) !=
             kStaticFunctions.end() &&
         scopes_.find(name.text).where == Found::Where::Nowhere;
}

std::optional<FnTarget::Op> Parser::parse_operator_name() {
  const Found found = scopes_.find(tok_.text);
  if (found.symbol.kind == Symbol::Kind::Target && found.where != Found::Where::Nowhere) {
    advance();
    return targets_[found.symbol.index].op;
  }
  const auto* const row = std::find(kOperators.begin() + 1, kOperators.end(), tok_.text);
  if (!at(TokenKind::Name) || row == kOperators.end()) return std::nullopt;
  advance();
  return static_cast<FnTarget::Op>(row - kOperators.begin());
}

namespace {

ir::Bits infinity(ir::Type type, bool negative) {
  if (type == ir::Type::F32) return negative ? 0xff800000u : 0x7f800000u;
  return negative ? 0xfff0000000000000u : 0x7ff0000000000000u;
}

ir::Bits extreme(ir::Type type, bool least) {
  if (ir::is_float(type)) return infinity(type, least);
  const uint32_t width = ir::bits_of(type);
  const ir::Bits all = width >= 64 ? ~ir::Bits{0} : (ir::Bits{1} << width) - 1;
  const ir::Bits top = ir::Bits{1} << (width - 1);
  if (!ir::is_signed(type)) return least ? 0 : all;
  return least ? top : all & ~top;
}

std::optional<ir::Bits> identity_of(FnTarget::Op op, ir::Type type) {
  using Op = FnTarget::Op;
  const bool real = ir::is_float(type);
  const bool truth = type == ir::Type::Bool;
  const bool narrow = type == ir::Type::F32;
  switch (op) {
    case Op::None: return std::nullopt;
    case Op::Add:
      if (truth) return std::nullopt;
      if (!real) return 0;
      return narrow ? 0x80000000u : 0x8000000000000000u;
    case Op::Mul:
      if (truth) return std::nullopt;
      if (!real) return 1;
      return narrow ? 0x3f800000u : 0x3ff0000000000000u;
    case Op::Min:
    case Op::Max:
      if (truth) return std::nullopt;
      if (!real) return extreme(type, op == Op::Max);
      return narrow ? 0x7fc00000u : 0x7ff8000000000000u;
    case Op::And:
      if (real) return std::nullopt;
      return truth ? 1 : extreme(type, false) | (ir::is_signed(type) ? extreme(type, true) : 0);
    case Op::Or:
    case Op::Xor: return real ? std::nullopt : std::optional<ir::Bits>(0);
  }
  return std::nullopt;
}

}  // namespace

Parser::Value Parser::parse_static_function() {
  const Token name = tok_;
  advance();
  const Token paren = tok_;
  advance();
  const bool of_operator = name.text == "identity" || name.text == "exact";
  std::optional<FnTarget::Op> op;
  if (of_operator) {
    op = parse_operator_name();
    if (!op) {
      unexpected("an operation", "use add mul min max and or xor, or a function parameter");
      return poison(name);
    }
    expect(TokenKind::Comma, "and a type");
  }
  const Token where = tok_;
  const TypeName written = parse_type_name();
  expect_close(TokenKind::RParen, paren);
  if (panicking_) return poison(name);
  const auto type = type_of(written, true);
  if (!type) return poison(name);
  const ir::Type wide = ir::widened(type->scalar);
  std::optional<StaticValue> value;
  if (!type->is_struct()) {
    const bool exact = op && (*op == FnTarget::Op::Min || *op == FnTarget::Op::Max ||
                              (*op != FnTarget::Op::None && !ir::is_float(wide)));
    if (name.text == "size_of")
      value = StaticValue{ir::Type::U32, ir::bytes_of(type->scalar)};
    else if (name.text == "is_float")
      value = StaticValue{ir::Type::Bool, ir::is_float(wide) ? 1u : 0u};
    else if (name.text == "exact")
      value = StaticValue{ir::Type::Bool, exact ? 1u : 0u};
    else if (ir::is_storage(type->scalar))
      value = std::nullopt;
    else if (name.text == "identity")
      value = [&]() -> std::optional<StaticValue> {
        const auto bits = identity_of(*op, wide);
        return bits ? std::optional(StaticValue{wide, *bits}) : std::nullopt;
      }();
    else if (wide != ir::Type::Bool)
      value = StaticValue{wide, extreme(wide, name.text == "lowest")};
  }
  if (value) return static_literal(*value, name);
  const std::string shown =
      type->is_struct() ? structs_[type->record].full_name : std::string(ir::name_of(type->scalar));
  report(Code::NoStaticValue, where,
         fmt::format("`{}` has no value for `{}`{}", name.text, shown,
                     op && *op == FnTarget::Op::None ? " and a function of the program" : ""),
         "test for it with `if const`, or narrow the class of the static parameter");
  return poison(name);
}

// At a `<` behind a member of a module that is not read: whether it opens a list.
bool Parser::static_list_ahead() const {
  Lexer ahead = lexer_;
  return closes_static_list(ahead, next_);
}

}  // namespace vyre::text
