// SPDX-License-Identifier: Apache-2.0
// `use`, module files, their members, and settings.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "text/builtin_modules.hpp"
#include "text/number.hpp"
#include "text/parser.hpp"
#include "vyre/ir/semantics.hpp"

namespace vyre::text {

namespace {

constexpr size_t kMaxModules = 256;

}  // namespace

// ---- use

void Parser::parse_uses() {
  while (at_word("use") && (next_.kind == TokenKind::String || next_.kind == TokenKind::Name)) {
    parse_use();
    if (panicking_) skip_item();
    panicking_ = false;
  }
}

void Parser::parse_use() {
  advance();
  const Token where = tok_;
  const bool builtin = !at(TokenKind::String);
  std::string path;
  if (builtin) {
    path = tok_.text;
    advance();
    while (at(TokenKind::Dot) && next_.kind == TokenKind::Name) {
      advance();
      path += fmt::format(".{}", tok_.text);
      advance();
    }
  } else {
    path = tok_.bad ? std::string() : unescape(tok_.text);
    advance();
    if (where.bad) panicking_ = true;
  }
  Token alias;
  if (!panicking_ && at_word("as")) {
    advance();
    alias = parse_new_name("module");
  }
  expect_semicolon();
  if (panicking_ || wanted_ == Report::Syntax) return;
  if (!builtin) {
    const auto inside = module_path(where, path);
    if (!inside) return;
    path = *inside;
  }
  const uint32_t index = load_module(where, path, builtin);
  if (index == kNoIndex) return;
  const std::string_view name =
      alias.kind == TokenKind::Name ? alias.text : std::string_view(units_[index]->name);
  if (name.empty()) return;
  if (!units_[unit_]->modules.emplace(name, index).second)
    report(Code::DuplicateName, alias.kind == TokenKind::Name ? alias : where,
           fmt::format("the module name {} is already taken", quoted(name)),
           "name one of the modules with `as`");
}

// The path from the folder of the main file, without `.` and `..`.
std::optional<std::string> Parser::module_path(const Token& where, std::string_view written) {
  std::vector<std::string_view> parts;
  const auto outside = [&]() -> std::optional<std::string> {
    report(Code::ModuleOutside, where,
           fmt::format("the module {} is outside the folder of the main file", quoted(written)),
           "move it into that folder, or below it");
    return std::nullopt;
  };
  if (written.starts_with('/') || written.find('\\') != std::string_view::npos ||
      written.find('\0') != std::string_view::npos)
    return outside();
  const auto take = [&](std::string_view path) {
    size_t start = 0;
    while (start <= path.size()) {
      const size_t end = std::min(path.find('/', start), path.size());
      const std::string_view part = path.substr(start, end - start);
      start = end + 1;
      if (part.empty() || part == ".") continue;
      if (part != "..") {
        parts.push_back(part);
      } else if (parts.empty()) {
        return false;
      } else {
        parts.pop_back();
      }
    }
    return true;
  };
  const std::string_view from = units_[unit_]->path;
  const size_t folder = from.rfind('/');
  if (folder != std::string_view::npos) take(from.substr(0, folder));
  if (!take(written) || parts.empty()) return outside();
  std::string path;
  for (const std::string_view part : parts)
    path += path.empty() ? std::string(part) : fmt::format("/{}", part);
  return path;
}

void Parser::report_missing(const Token& where, std::string_view path, bool builtin) {
  std::string fix = "name a file that exists, relative to this one";
  if (builtin) {
    fix = "the built-in modules are:";
    for (const BuiltinModule& known : builtin_modules()) fix += fmt::format(" {}", known.name);
  } else if (options_ == nullptr || !options_->read_module) {
    fix = "only a program that comes from a file can use other files";
  }
  report(Code::ModuleNotFound, where, fmt::format("the module {} cannot be read", quoted(path)),
         std::move(fix));
}

// The unit of a module, read now if it was not read before; kNoIndex, and a report, if it cannot
// be.
uint32_t Parser::load_module(const Token& where, const std::string& path, bool builtin) {
  const std::string key = builtin ? fmt::format("<{}>", path) : path;
  for (uint32_t i = 1; i < units_.size(); ++i) {
    if (units_[i]->path != key) continue;
    if (!units_[i]->loading) return units_[i]->broken ? kNoIndex : i;
    Diagnostic* const error =
        report(Code::ModuleCycle, where,
               fmt::format("the module {} uses itself, through other modules", quoted(path)),
               "move what both need into a third module");
    if (error != nullptr)
      error->notes.push_back({{units_[units_[i]->used_by]->file, units_[i]->use.line,
                               units_[i]->use.column, units_[i]->use.length},
                              "it is used here first"});
    return kNoIndex;
  }
  ModuleText text;
  if (builtin) {
    for (const BuiltinModule& known : builtin_modules())
      if (known.name == path) text = {ModuleText::Status::Found, std::string(known.text)};
  } else if (options_ != nullptr && options_->read_module) {
    text = options_->read_module(path);
  }
  if (text.status == ModuleText::Status::Outside) {
    report(Code::ModuleOutside, where,
           fmt::format("the module {} leads outside the folder of the main file", quoted(path)),
           "move it into that folder, not a link to it");
    return kNoIndex;
  }
  if (text.status == ModuleText::Status::Missing) {
    report_missing(where, path, builtin);
    return kNoIndex;
  }
  module_bytes_ += text.text.size();
  if (module_bytes_ + source_.size() > kMaxTextBytes || units_.size() > kMaxModules) {
    report(Code::TextTooLong, where,
           fmt::format("the text and its modules have more than {} bytes or {} files",
                       kMaxTextBytes, kMaxModules),
           "use fewer or smaller modules");
    stop();
    return kNoIndex;
  }
  const auto index = static_cast<uint32_t>(units_.size());
  auto made = std::make_unique<Unit>();
  made->path = key;
  made->file = builtin ? key : main_folder_ + path;
  made->text = std::move(text.text);
  made->source = made->text;
  made->file_index = static_cast<uint32_t>(program_.positions.files.size());
  made->loading = true;
  made->use = where;
  made->used_by = unit_;
  program_.positions.files.push_back(made->file);
  units_.push_back(std::move(made));
  expands_ = true;
  const Cursor back = here();
  unit_ = index;
  scopes_.set_unit(index);
  lexer_ = Lexer(units_[index]->source, units_[index]->file, &diagnostics_);
  prev_ = {};
  panicking_ = false;
  nesting_ = 0;
  tok_ = fetch();
  next_ = fetch();
  const size_t errors = diagnostics_.errors();
  std::vector<OpenBrace> outer_open;
  outer_open.swap(open_);
  parse_module_frame();
  open_.swap(outer_open);
  units_[index]->loading = false;
  units_[index]->broken = diagnostics_.errors() != errors;
  go_back(back);
  return units_[index]->broken ? kNoIndex : index;
}

// ---- the file of a module

void Parser::parse_module_frame() {
  parse_uses();
  if (!at_word("module")) {
    report(Code::BadModule, tok_, fmt::format("expected `module`, found {}", describe(tok_)),
           "a file that is used starts with `module name { ... }`");
    return;
  }
  advance();
  const Token name = parse_new_name("module");
  if (panicking_) return;
  units_[unit_]->name = name.text;
  const Token brace = tok_;
  if (!expect(TokenKind::LBrace, "after the name of the module")) return;
  open_.push_back({brace, line_indent_});
  while (!at(TokenKind::End) && !at(TokenKind::RBrace)) {
    const Token start = tok_;
    parse_module_item();
    if (panicking_) synchronize(start, false);
    if (tok_.text.data() == start.text.data() && !at(TokenKind::End) && !at(TokenKind::RBrace))
      advance();
  }
  if (at(TokenKind::End)) {
    report_unclosed();
    return;
  }
  open_.pop_back();
  advance();
  if (!at(TokenKind::End))
    report(Code::BadModule, tok_,
           fmt::format("unexpected {} after the end of the module {}", describe(tok_),
                       quoted(name.text)),
           "write one module per file");
}

void Parser::parse_module_item() {
  if (!count_item(true)) return;
  if (at_word("use")) {
    parse_use();
  } else if (at_word("struct")) {
    parse_struct();
  } else if (at_word("fn")) {
    advance();
    parse_module_fn();
  } else if (at_word("const")) {
    advance();
    parse_module_const(false);
  } else if (at_word("tune") && next_.kind == TokenKind::Name && next_.text == "const") {
    advance();
    advance();
    parse_module_const(true);
  } else {
    report(Code::BadModule, tok_, fmt::format("{} stands in a module", describe(tok_)),
           "a module has `const`, `tune const`, `struct`, `fn` and `use`");
    skip_item();
  }
}

void Parser::parse_module_fn() {
  const Token name = parse_new_name("function");
  if (panicking_) return;
  const auto index = static_cast<uint32_t>(fn_decls_.size());
  FnDecl decl;
  decl.name = name;
  decl.unit = unit_;
  fn_decls_.push_back(std::move(decl));
  declare_member(name, {Symbol::Kind::Generic, index});
  if (wanted_ != Report::Syntax) {
    skip_item();
    return;
  }
  parse_generic_fn(index, name);
}

void Parser::parse_module_const(bool tune) {
  const Token name = parse_new_name("constant");
  if (panicking_) return;
  ConstDecl decl;
  decl.name = name;
  decl.unit = unit_;
  decl.tune = tune;
  if (at(TokenKind::Colon)) {
    // `: T[] = { ... }` is a table.
    const Cursor back = here();
    advance();
    advance();
    decl.table = at(TokenKind::LBracket);
    go_back(back);
  }
  if (tune && decl.table)
    report(Code::BadTune, name, fmt::format("the tune constant {} is a table", quoted(name.text)),
           "only a single value can be tuned");
  declare_member(name, {Symbol::Kind::ModuleConst, static_cast<uint32_t>(module_consts_.size())});
  module_consts_.push_back(decl);
  if (wanted_ != Report::Syntax) {
    skip_item();
    return;
  }
  skip_item();
}

void Parser::declare_member(const Token& name, Symbol symbol) {
  if (scopes_.global(unit_, name.text)) {
    report(Code::DuplicateName, name,
           fmt::format("the name {} is already taken in this module", quoted(name.text)),
           "choose another name");
    return;
  }
  scopes_.declare_global(name.text, symbol);
}

// ---- members

// The unit that a name before a `.` stands for here.
uint32_t Parser::used_module(const Token& name) const {
  const auto& modules = units_[unit_]->modules;
  if (modules.empty() || name.kind != TokenKind::Name) return kNoIndex;
  const auto found = modules.find(name.text);
  if (found == modules.end() || scopes_.find(name.text).where != Found::Where::Nowhere)
    return kNoIndex;
  return found->second;
}

std::optional<Symbol> Parser::member(const Token& module, const Token& name) {
  const uint32_t index = used_module(module);
  const auto symbol = index == kNoIndex ? std::nullopt : scopes_.global(index, name.text);
  if (symbol) return symbol;
  if (wanted_ == Report::Syntax) return std::nullopt;
  std::string fix = "use a name that the module declares";
  if (index != kNoIndex) {
    std::string_view meant;
    for (const FnDecl& decl : fn_decls_)
      if (decl.unit == index && edit_distance(decl.name.text, name.text, 2) <= 2)
        meant = decl.name.text;
    if (!meant.empty()) fix = fmt::format("did you mean `{}.{}`?", module.text, meant);
  }
  report(Code::UnknownMember, name,
         fmt::format("the module {} has no {}", quoted(module.text), quoted(name.text)),
         std::move(fix));
  return std::nullopt;
}

// `m.f(...)`, `m.C`, `m.S { ... }`, at the name of the module.
Parser::Value Parser::parse_member() {
  const Token module = tok_;
  advance();
  advance();
  const Token name = tok_;
  if (!at(TokenKind::Name)) {
    unexpected("a name of the module", "write `module.name`");
    return poison(module);
  }
  advance();
  const auto symbol = member(module, name);
  if (!symbol) {
    if (wanted_ == Report::Syntax && at(TokenKind::Less) && static_list_ahead()) skip_static_list();
    if (wanted_ == Report::Syntax && at(TokenKind::LBrace) && !bare_condition_)
      skip_struct_literal();
    else
      discard_call();
    return poison(name);
  }
  return parse_symbol(name, module, *symbol);
}

// The constant of a module as one of the program, made at its first use.
std::optional<ir::ConstId> Parser::module_const(uint32_t index, const Token& where) {
  ConstDecl& decl = module_consts_[index];
  if (decl.id.valid()) return decl.id;
  if (decl.reading) {
    report(Code::NotConstant, where,
           fmt::format("the constant {} is defined by itself", quoted(decl.name.text)),
           "give it a value of its own");
    return std::nullopt;
  }
  decl.reading = true;
  ir::Const constant{fresh_name(fmt::format("{}__{}", units_[decl.unit]->name, decl.name.text)),
                     ir::Type::U32,
                     decl.table,
                     {}};
  const Cursor back = here();
  const Frame outer = std::exchange(frame_, Frame{});
  const bool outer_static = std::exchange(in_static_, false);
  Items* const sink = std::exchange(sink_, nullptr);
  go_to(decl.unit, decl.name);
  scopes_.enter_function();
  const ir::ConstId id = program_.add(std::move(constant), loc(decl.name));
  decl.id = id;
  note_const(id, decl.name, decl.unit);
  declared_at_[decl.name.text.data()] = id.value;
  parse_const_named(parse_new_name("constant"));
  const Setting* const setting =
      setting_of(fmt::format("{}.{}", units_[decl.unit]->name, decl.name.text));
  if (setting != nullptr) {
    if (decl.tune)
      apply_setting(program_.consts[id.index()], *setting, decl.name);
    else
      report(Code::BadTune, decl.name,
             fmt::format("{} is set, but it is no tune constant", quoted(setting->name)),
             "declare it `tune const`, or leave it");
  }
  scopes_.leave_function();
  in_static_ = outer_static;
  sink_ = sink;
  frame_ = outer;
  go_back(back);
  module_consts_[index].reading = false;
  return id;
}

// ---- settings

const Setting* Parser::setting_of(std::string_view name) {
  if (options_ == nullptr) return nullptr;
  const Setting* found = nullptr;
  settings_used_.resize(options_->settings.size());
  for (size_t i = 0; i < options_->settings.size(); ++i) {
    if (options_->settings[i].name != name) continue;
    settings_used_[i] = true;
    found = &options_->settings[i];
  }
  return found;
}

std::optional<StaticValue> Parser::value_of_setting(const Setting& setting, ir::Type type) {
  std::string_view text = setting.value;
  if (type == ir::Type::Bool) {
    if (text == "true" || text == "false") return StaticValue{type, text == "true" ? 1u : 0u};
    return std::nullopt;
  }
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > 1000 || text.front() < '0' || text.front() > '9')
    return std::nullopt;
  for (const char c : text)
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '.' &&
        c != '_' && c != '+' && c != '-')
      return std::nullopt;
  const auto number = read_number(text);
  if (!number || (number->suffix && *number->suffix != type)) return std::nullopt;
  if (number->decimal && !ir::is_float(type)) return std::nullopt;
  const ir::Expr expr =
      number->decimal ? ir::Expr{ir::FloatLiteral{number->digits, number->exponent, negative, type}}
                      : ir::Expr{ir::IntLiteral{number->magnitude, negative, std::nullopt}};
  return evaluate(program_.add(expr, program_.positions.program), type);
}

void Parser::apply_setting(ir::Const& constant, const Setting& setting, const Token& where) {
  const auto value = value_of_setting(setting, constant.type);
  if (constant.table || !value) {
    report(Code::BadSetting, where,
           constant.table
               ? fmt::format("the table {} cannot be set", quoted(where.text))
               : fmt::format("{} is set to {}, which is no value of the type `{}`",
                             quoted(where.text), quoted(setting.value), ir::name_of(constant.type)),
           constant.table ? "pass it as a buffer" : "set it to a value of its type");
    return;
  }
  ir::Expr expr = literal(*value);
  if (auto* whole = std::get_if<ir::IntLiteral>(&expr)) whole->suffix.reset();
  if (auto* real = std::get_if<ir::FloatLiteral>(&expr)) real->suffix.reset();
  constant.values = program_.add_values(std::array{program_.add(std::move(expr), loc(where))});
}

// A setting that nothing reads is a slip of the pen.
void Parser::report_settings() {
  if (options_ == nullptr || stopped_ || diagnostics_.has_errors()) return;
  settings_used_.resize(options_->settings.size());
  for (size_t i = 0; i < settings_used_.size(); ++i) {
    if (settings_used_[i]) continue;
    const std::string& name = options_->settings[i].name;
    std::string_view nearest;
    std::string modules;
    size_t best = 3;
    const auto consider = [&](std::string_view candidate) {
      const size_t distance = edit_distance(name, candidate, 2);
      if (distance < best) {
        best = distance;
        nearest = candidate;
      }
    };
    for (const std::string& known : settable_) consider(known);
    for (const ir::Const& constant : program_.consts)
      if (!constant.table) consider(constant.name);
    diagnostics_.add(
        Code::BadSetting, program_.position(program_.positions.program),
        fmt::format("the program has no constant or static parameter {} to set", quoted(name)),
        nearest.empty() ? std::string("set a `const` or a static parameter of the "
                                      "program, or a `tune const` that it uses")
                        : fmt::format("did you mean `{}`?", nearest));
  }
}

}  // namespace vyre::text
