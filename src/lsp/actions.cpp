// SPDX-License-Identifier: Apache-2.0
// Edits from the "Fix:" of a diagnostic. A table says which sentences are edits and how each is
// made; whatever it gives is then tried on the text, and is offered only if the diagnostic goes and
// no other comes. Sentences that leave something to decide ("declare it before its use") are in no
// row.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "lsp/queries.hpp"
#include "vyre/ir/ops.hpp"

namespace vyre::lsp {

namespace {

using namespace ir;
using text::Token;
using text::TokenKind;

struct Case {
  const Analysis& a;
  const Diagnostic& d;
  Span span;  // of the diagnostic
};
using Candidates = std::vector<Action>;
using Rule = void (*)(const Case&, Candidates&);

// What stands between back quotes, in order.
std::vector<std::string_view> quoted_parts(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t at = text.find('`'); at != std::string_view::npos;) {
    const size_t end = text.find('`', at + 1);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(at + 1, end - at - 1));
    at = text.find('`', end + 1);
  }
  return parts;
}

std::string_view source_of(const Case& c, Span span) {
  return std::string_view(c.a.text).substr(span.first, span.last - span.first);
}

// The end of the token before the place: where something is added that is missing there.
size_t end_before(const Case& c, size_t offset) {
  const uint32_t token = c.a.token_from(offset + 1);
  if (token == 0) return offset;
  const Span before = c.a.span_of(token - 1);
  return before.last <= offset ? before.last : offset;
}

void propose(Candidates& list, std::string title, std::vector<Edit> edits) {
  list.push_back({std::move(title), std::move(edits), 0});
}

// ---- what is missing

// add `;`   add `,` here   write `over` here
void add_token(const Case& c, Candidates& list) {
  const auto parts = quoted_parts(c.d.fix);
  if (parts.size() != 1) return;
  const bool is_word = is_identifier(parts[0]);
  const size_t at = is_word ? c.span.first : end_before(c, c.span.first);
  const std::string text =
      fmt::format("{}{}{}", parts[0] == "{" ? " " : "", parts[0], is_word ? " " : "");
  propose(list, fmt::format("Add `{}`", parts[0]), {{{at, at}, text}});
}

// add a line such as `workgroup 256;`   add `over len(a);`, or `over 16;` if that is meant
void add_line(const Case& c, Candidates& list) {
  for (const std::string_view line : quoted_parts(c.d.fix)) {
    if (!line.ends_with(';')) continue;
    uint32_t after = Declaration::kNone;
    for (uint32_t i = 0; i + 1 < c.a.tokens.size() && after == Declaration::kNone; ++i)
      if (c.a.tokens[i].kind == TokenKind::LBrace) after = i;
    const bool header = line.starts_with("over");
    for (uint32_t i = 0; header && i + 1 < c.a.tokens.size(); ++i) {
      if (c.a.tokens[i].text != "workgroup" || !c.a.tokens[i].own_line) continue;
      while (i + 1 < c.a.tokens.size() && c.a.tokens[i].kind != TokenKind::Semicolon) ++i;
      after = i;
      break;
    }
    if (after == Declaration::kNone) return;
    const size_t at = c.a.span_of(after).last;
    propose(list, fmt::format("Add `{}`", line), {{{at, at}, fmt::format("\n  {}", line)}});
  }
}

// ---- what stands for something else

bool is_one_word(std::string_view text) {
  if (text.empty()) return false;
  if (text.ends_with("()")) return is_identifier(text.substr(0, text.size() - 2));
  const size_t dot = text.find('.');
  if (dot != std::string_view::npos)
    return is_identifier(text.substr(0, dot)) && text.size() == dot + 2;
  const bool symbol = std::ranges::none_of(text, [](char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == ' ' || ch == '.' ||
           ch == '(' || ch == '{' || ch == '[' || ch == ';';
  });
  return symbol || is_identifier(text);
}

// did you mean `x`?   write `f32`   write `gid.x`, `gid.y` or `gid.z`
void replace(const Case& c, Candidates& list) {
  for (const std::string_view part : quoted_parts(c.d.fix))
    if (is_one_word(part) && part != source_of(c, c.span))
      propose(list, fmt::format("Replace by `{}`", part), {{c.span, std::string(part)}});
}

// use `f32`, the type that a load of `f16` gives
void replace_by_first(const Case& c, Candidates& list) {
  const auto parts = quoted_parts(c.d.fix);
  if (parts.empty() || !is_one_word(parts[0])) return;
  propose(list, fmt::format("Replace by `{}`", parts[0]), {{c.span, std::string(parts[0])}});
}

// remove it
void remove(const Case& c, Candidates& list) {
  if (source_of(c, c.span) == ";") propose(list, "Remove it", {{c.span, ""}});
}

// write `x as f32`, at the type of `(f32)x`
void cast_behind(const Case& c, Candidates& list) {
  const uint32_t token = c.a.token_from(c.span.first + 1);
  if (token == 0 || token + 2 >= c.a.tokens.size()) return;
  const bool framed = c.a.tokens[token - 1].kind == TokenKind::LParen &&
                      c.a.tokens[token + 1].kind == TokenKind::RParen;
  const auto parts = quoted_parts(c.d.fix);
  const size_t as = parts.empty() ? std::string_view::npos : parts[0].find(" as ");
  if (!framed || as == std::string_view::npos) return;
  // One operand: a name or number, or what stands in parentheses behind it.
  uint32_t last = token + 2;
  int depth = 0;
  const auto opens = [&](uint32_t i) {
    return c.a.tokens[i].kind == TokenKind::LParen || c.a.tokens[i].kind == TokenKind::LBracket;
  };
  for (; last + 1 < c.a.tokens.size(); ++last) {
    if (opens(last)) ++depth;
    if (c.a.tokens[last].kind == TokenKind::RParen || c.a.tokens[last].kind == TokenKind::RBracket)
      --depth;
    if (depth == 0 && !opens(last + 1)) break;
  }
  const size_t end = c.a.span_of(last).last;
  propose(list, fmt::format("Convert with `{}`", parts[0].substr(as + 1)),
          {{{c.a.span_of(token - 1).first, c.a.span_of(token + 2).first}, "("},
           {{end, end}, fmt::format("{})", parts[0].substr(as))}});
}

// ---- whole expressions

// The tokens of the expression at the place of the diagnostic.
struct Extent {
  uint32_t first = 0, last = 0;
  bool is_atom = false;  // binds tighter than any operator around it
};

class Extents {
 public:
  explicit Extents(const Analysis& a) : a_(a) {
    for (const auto& [token, expr] : a.expr_tokens) token_of_.emplace(expr.value, token);
  }

  std::optional<Extent> of(uint32_t token) const {
    const std::vector<ExprId> ids = a_.exprs_at(token);
    if (ids.empty()) return std::nullopt;
    const ExprId whole = ids.back();  // an index that is not written stands there, too
    Extent extent{token, token, true};
    if (!grow(whole, extent)) return std::nullopt;
    const Program& p = a_.facts.program;
    extent.is_atom =
        !std::holds_alternative<Binary>(p[whole]) && !std::holds_alternative<Unary>(p[whole]);
    return balanced(extent);
  }

 private:
  bool grow(ExprId id, Extent& extent) const {
    const auto found = token_of_.find(id.value);
    if (found == token_of_.end()) return false;
    const uint32_t token = found->second;
    extent.first = std::min(extent.first, token);
    extent.last = std::max(extent.last, end_of_own(token));
    bool known = true;
    for_each_operand(a_.facts.program, a_.facts.program[id],
                     [&](const ExprId& child) { known = known && grow(child, extent); });
    return known;
  }

  // A call, an element, an axis or a conversion goes on behind its token.
  [[nodiscard]] uint32_t end_of_own(uint32_t token) const {
    const TokenKind next = a_.tokens[token + 1].kind;
    if (a_.tokens[token].text == "as") return token + 1;
    if (a_.tokens[token].kind == TokenKind::Minus &&
        (next == TokenKind::Int || next == TokenKind::Float))
      return token + 1;
    if (a_.tokens[token].kind != TokenKind::Name) return token;
    if (next == TokenKind::Dot) return token + 2;
    if (next == TokenKind::Less && a_.tokens[token].text == "bitcast") return token + 4;
    return next == TokenKind::LParen || next == TokenKind::LBracket ? token + 1 : token;
  }

  // Takes in the brackets that the tokens open or close.
  [[nodiscard]] std::optional<Extent> balanced(Extent e) const {
    const auto step = [&](uint32_t i) {
      switch (a_.tokens[i].kind) {
        case TokenKind::LParen:
        case TokenKind::LBracket: return 1;
        case TokenKind::RParen:
        case TokenKind::RBracket: return -1;
        default: return 0;
      }
    };
    int depth = 0;
    int lowest = 0;
    for (uint32_t i = e.first; i <= e.last; ++i) lowest = std::min(lowest, depth += step(i));
    for (; lowest < 0; --e.first, lowest += step(e.first), depth += step(e.first))
      if (e.first == 0) return std::nullopt;
    for (; depth > 0; ++e.last, depth += step(e.last))
      if (e.last + 2 >= a_.tokens.size()) return std::nullopt;
    return e;
  }

  const Analysis& a_;
  std::map<uint32_t, uint32_t> token_of_;
};

// The expression with something behind it, in parentheses where an operator around it would take
// its place.
std::optional<std::vector<Edit>> wrapped(const Case& c, std::string_view behind, bool is_operator) {
  const auto token = c.a.token_of(c.d.at);
  const auto extent = token ? Extents(c.a).of(*token) : std::nullopt;
  if (!extent) return std::nullopt;
  const auto is_end = [&](TokenKind kind) {
    return kind == TokenKind::Comma || kind == TokenKind::RParen || kind == TokenKind::Semicolon ||
           kind == TokenKind::RBracket || kind == TokenKind::LBrace || kind == TokenKind::DotDot;
  };
  const TokenKind before =
      extent->first > 0 ? c.a.tokens[extent->first - 1].kind : TokenKind::Semicolon;
  const bool after_sign =
      before == TokenKind::Minus || before == TokenKind::Not || before == TokenKind::Tilde;
  const bool outer =
      is_operator ? !is_end(c.a.tokens[extent->last + 1].kind) || after_sign : after_sign;
  const size_t first = c.a.span_of(extent->first).first;
  const size_t last = c.a.span_of(extent->last).last;
  const bool inner = !extent->is_atom;
  return std::vector<Edit>{
      {{first, first}, fmt::format("{}{}", outer ? "(" : "", inner ? "(" : "")},
      {{last, last}, fmt::format("{}{}{}", inner ? ")" : "", behind, outer ? ")" : "")}};
}

// convert it: `(…) as u32`   convert the integer: `(…) as f32`
void convert(const Case& c, Candidates& list) {
  const auto parts = quoted_parts(c.d.fix);
  if (parts.empty()) return;
  const size_t as = parts[0].find(" as ");
  if (as == std::string_view::npos) return;
  if (auto edits = wrapped(c, parts[0].substr(as), false))
    propose(list, fmt::format("Convert with `{}`", parts[0].substr(as + 1)), std::move(*edits));
}

// compare it with something: `… != 0`
void compare(const Case& c, Candidates& list) {
  if (auto edits = wrapped(c, " != 0", true))
    propose(list, "Compare with `!= 0`", std::move(*edits));
}

// ---- declarations

std::optional<uint32_t> declaration_of(const Case& c, std::string_view name) {
  const auto token = c.a.token_of(c.d.at);
  if (token)
    if (const auto found = c.a.names.declared_by(*token);
        found && c.a.names.declarations[*found].name == name)
      return found;
  for (const Note& note : c.d.notes)
    if (const auto at = c.a.token_of(note.at))
      if (const auto found = c.a.names.declared_by(*at);
          found && c.a.names.declarations[*found].name == name)
        return found;
  std::optional<uint32_t> only;
  for (uint32_t i = 0; i < c.a.names.declarations.size(); ++i)
    if (c.a.names.declarations[i].name == name) {
      if (only) return std::nullopt;
      only = i;
    }
  return only;
}

// declare it as `inout x`   declare it with `var a = …`
void change_keyword(const Case& c, Candidates& list) {
  const auto parts = quoted_parts(c.d.fix);
  if (parts.size() != 1) return;
  const size_t space = parts[0].find(' ');
  if (space == std::string_view::npos) return;
  const std::string_view keyword = parts[0].substr(0, space);
  const std::string_view rest = parts[0].substr(space + 1);
  const std::string_view name = rest.substr(0, rest.find(' '));
  const auto found = declaration_of(c, name);
  if (!found || c.a.names.declarations[*found].token == 0) return;
  propose(list, fmt::format("Declare `{}` with `{}`", name, keyword),
          {{c.a.span_of(c.a.names.declarations[*found].token - 1), std::string(keyword)}});
}

// True if the statement of the `let` does nothing but give a value to a name.
bool is_plain_let(const Case& c, uint32_t token) {
  for (const StmtId id : c.a.stmts_at(token - 1))
    if (const Let* let = std::get_if<Let>(&c.a.facts.program[id])) {
      bool pure = true;
      const auto walk = [&](auto&& self, ExprId e) -> void {
        const Expr& expr = c.a.facts.program[e];
        pure = pure && !std::holds_alternative<Atomic>(expr) &&
               !std::holds_alternative<Subgroup>(expr) &&
               !std::holds_alternative<UniformLoad>(expr) && !std::holds_alternative<Call>(expr);
        for_each_operand(c.a.facts.program, expr, [&](const ExprId& child) { self(self, child); });
      };
      walk(walk, let->value);
      return pure;
    }
  return false;
}

// remove it, or call it `_x` if that is meant
void unused(const Case& c, Candidates& list) {
  const auto parts = quoted_parts(c.d.fix);
  const auto token = c.a.token_of(c.d.at);
  const auto found = token ? c.a.names.declared_by(*token) : std::nullopt;
  if (parts.size() != 1 || !found || *token == 0) return;
  const Declaration& d = c.a.names.declarations[*found];
  const bool removable = d.kind == Declaration::Kind::Const ||
                         (d.kind == Declaration::Kind::Let && is_plain_let(c, *token));
  if (removable) {
    uint32_t last = *token;
    while (last + 1 < c.a.tokens.size() && c.a.tokens[last].kind != TokenKind::Semicolon) ++last;
    Span span{c.a.span_of(*token - 1).first, c.a.span_of(last).last};
    // The whole line, if nothing else stands on it.
    size_t start = span.first;
    while (start > 0 && (c.a.text[start - 1] == ' ' || c.a.text[start - 1] == '\t')) --start;
    const bool alone =
        (start == 0 || c.a.text[start - 1] == '\n') && c.a.text.compare(span.last, 1, "\n") == 0;
    if (alone) span = {start, span.last + 1};
    propose(list, fmt::format("Remove `{}`", d.name), {{span, ""}});
  }
  // The name of a buffer is what the caller knows it by.
  if (d.kind == Declaration::Kind::Buffer) return;
  if (auto edits = rename(c.a, c.span.first, std::string(parts[0])))
    propose(list, fmt::format("Call it `{}`", parts[0]), std::move(*edits));
}

// ---- the table

struct Row {
  std::string_view start;  // of the sentence
  std::string_view end;
  Rule rule;
};

constexpr std::array kRules = std::to_array<Row>({
    {"add `", "`", add_token},
    {"add `", "` here", add_token},
    {"write `", "` here", add_token},
    {"add a line such as `", "`", add_line},
    {"add `over ", "if that is meant", add_line},
    {"did you mean `", "`?", replace},
    {"write `", "`", replace},
    {"use `", " gives", replace_by_first},
    {"remove it", "remove it", remove},
    {"write `x as ", "`", cast_behind},
    {"convert a value with `x as ", "`", cast_behind},
    {"convert it: `", "`", convert},
    {"convert the integer: `", "`", convert},
    {"convert the argument: `", "", convert},
    {"convert one of them, for example `", "`", convert},
    {"compare it with something: `", "`", compare},
    {"declare it as `", "`", change_keyword},
    {"declare it with `", "`", change_keyword},
    {"remove it, or call it `", "", unused},
});

// Whether the edits mend the diagnostic and nothing else breaks.
bool mends(const Analysis& a, const Diagnostic& wanted, const std::vector<Edit>& edits) {
  const auto after = analyse(edited(a.text, edits), a.file);
  if (after->stopped || after->diagnostics.dropped() != 0) return false;
  std::map<std::pair<Code, std::string>, int> left;
  for (const Diagnostic& d : a.diagnostics.list()) ++left[{d.code, d.message}];
  --left[{wanted.code, wanted.message}];
  const bool had_errors = a.diagnostics.has_errors();
  for (const Diagnostic& d : after->diagnostics.list()) {
    // Errors keep later stages from looking: what they find then was there before.
    const bool hidden_before = had_errors && d.severity == Severity::Warning;
    if (!hidden_before && --left[{d.code, d.message}] < 0) return false;
  }
  return true;
}

}  // namespace

std::vector<Action> actions(const Analysis& a, Span range) {
  static constexpr size_t kMost = 16;  // each is tried on the whole text
  std::vector<Action> list;
  if (a.tokens.empty()) return list;
  for (size_t i = 0; i < a.diagnostics.list().size(); ++i) {
    const Diagnostic& d = a.diagnostics.list()[i];
    const Span span = a.lines.span_of(d.at);
    if (span.last < range.first || span.first > range.last) continue;
    Candidates candidates;
    for (const Row& row : kRules)
      if (d.fix.starts_with(row.start) && d.fix.ends_with(row.end))
        row.rule({a, d, span}, candidates);
    for (Action& action : candidates) {
      if (list.size() >= kMost || !mends(a, d, action.edits)) continue;
      action.diagnostic = i;
      list.push_back(std::move(action));
    }
  }
  return list;
}

}  // namespace vyre::lsp
