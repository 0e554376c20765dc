// SPDX-License-Identifier: Apache-2.0
#include "text/parser.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/stop.hpp"
#include "text/habits.hpp"

namespace vyre::text {

namespace {

std::string_view spelling_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::LBrace: return "`{`";
    case TokenKind::RBrace: return "`}`";
    case TokenKind::LParen: return "`(`";
    case TokenKind::RParen: return "`)`";
    case TokenKind::LBracket: return "`[`";
    case TokenKind::RBracket: return "`]`";
    case TokenKind::Comma: return "`,`";
    case TokenKind::Colon: return "`:`";
    case TokenKind::Dot: return "`.`";
    case TokenKind::DotDot: return "`..`";
    case TokenKind::Assign: return "`=`";
    case TokenKind::Less: return "`<`";
    case TokenKind::Greater: return "`>`";
    case TokenKind::String: return "a string";
    default: return "another token";
  }
}

bool declares_local(const Token& token) {
  return token.kind == TokenKind::Name && (token.text == "let" || token.text == "var" ||
                                           token.text == "const" || token.text == "fn");
}

}  // namespace

Parser::Parser(std::string_view source, std::string_view file, Report wanted,
               const ParseOptions* options)
    : source_(source),
      file_(file),
      wanted_(wanted),
      options_(options),
      lexer_(source_, file_, &diagnostics_) {
  auto main = std::make_unique<Unit>();
  main->file = file_;
  main->source = source_;
  const size_t slash = file_.rfind('/');
  if (slash != std::string::npos) {
    main->path = file_.substr(slash + 1);
    main_folder_ = file_.substr(0, slash + 1);
  } else {
    main->path = file_;
  }
  units_.push_back(std::move(main));
}

Parsed Parser::run() {
  program_.positions.files.push_back(file_);
  if (source_.size() > kMaxTextBytes) {
    diagnostics_.add(
        Code::TextTooLong, {file_, 1, 1, 1},
        fmt::format("the text has {} bytes, more than {}", source_.size(), kMaxTextBytes),
        "split the program, or pass large tables as buffers");
  } else {
    collect_declarations();
    tok_ = fetch();
    next_ = fetch();
    parse_file();
    if (expands_) finish_expansion();
    finish_declarations();
    if (expands_) drop_static_constants();
    report_settings();
  }
  diagnostics_.sort();
  Parsed parsed{std::move(program_), std::move(diagnostics_), {}};
  for (size_t i = 1; i < units_.size(); ++i)
    parsed.modules.push_back({units_[i]->file, std::move(units_[i]->text)});
  return parsed;
}

// ---- tokens

Token Parser::fetch() {
  Token token = lexer_.next();
  while (token.kind == TokenKind::Comment) token = lexer_.next();
  if (frame_.use.valid() && !stopped_ && !count_reread()) stop();
  // What is not shown need not be read.
  if (diagnostics_.full() && !stopped_) {
    stopped_ = true;
    end_reported_ = true;
  }
  if (stopped_) token.kind = TokenKind::End;
  return token;
}

void Parser::stop() {
  stopped_ = true;
  end_reported_ = true;
  tok_.kind = TokenKind::End;
  next_.kind = TokenKind::End;
}

void Parser::too_large(const Token& token, std::string_view what) {
  panicking_ = false;
  report(Code::TooManyStatements, token, fmt::format("the text has more than {}", what),
         "split the program, use loops and functions, and pass tables as buffers");
  stop();
}

void Parser::advance() {
  poll_stop();
  prev_ = tok_;
  tok_ = next_;
  if (next_.kind != TokenKind::End) next_ = fetch();
  if (tok_.own_line) line_indent_ = tok_.column;
}

bool Parser::accept(TokenKind kind) {
  if (!at(kind)) return false;
  advance();
  return true;
}

bool Parser::expect(TokenKind kind, std::string_view where) {
  if (panicking_) return false;
  if (accept(kind)) return true;
  unexpected(fmt::format("{} {}", spelling_of(kind), where),
             fmt::format("add {} here", spelling_of(kind)));
  return false;
}

bool Parser::expect_close(TokenKind kind, const Token& opener) {
  if (panicking_) return false;
  if (accept(kind)) return true;
  Diagnostic* const error =
      unexpected_in_code(fmt::format("an operator, `,` or {}", spelling_of(kind)),
                         fmt::format("close it with {}", spelling_of(kind)));
  if (error != nullptr)
    error->notes.push_back(
        {position(opener), fmt::format("{} is opened here", quoted(opener.text))});
  return false;
}

bool Parser::expect_word(std::string_view word, std::string_view where) {
  if (panicking_) return false;
  if (at_word(word)) {
    advance();
    return true;
  }
  unexpected(fmt::format("`{}` {}", word, where), fmt::format("write `{}` here", word));
  return false;
}

void Parser::expect_semicolon() {
  if (panicking_ || accept(TokenKind::Semicolon)) return;
  // A string without its closing quote took the rest of its line, the `;` with it.
  if (prev_.kind == TokenKind::String && prev_.bad && (tok_.own_line || at(TokenKind::End))) return;
  if (!tok_.own_line && !at(TokenKind::RBrace) && !at(TokenKind::End)) {
    unexpected_in_code("an operator or `;`",
                       "end the statement with `;`, or complete the expression");
    return;
  }
  if (at(TokenKind::End)) {
    unexpected("`;`", "add `;`");
    return;
  }
  Token end = prev_;
  end.column += prev_.length;
  end.length = 1;
  report(Code::UnexpectedToken, end, fmt::format("expected `;` after {}", describe(prev_)),
         "add `;`");
}

// ---- errors

Position Parser::position(const Token& token) const {
  Position position{units_[unit_]->file, token.line, token.column, std::max(token.length, 1u)};
  if (!frame_.use.valid()) return position;
  position.used_at.push_back(program_.position(frame_.use));
  std::vector<Position> outer = std::move(position.used_at.front().used_at);
  position.used_at.front().used_at.clear();
  position.used_at.insert(position.used_at.end(), outer.begin(), outer.end());
  return position;
}

ir::LocId Parser::loc(const Token& token) {
  return program_.add_loc({units_[unit_]->file_index, token.line, token.column,
                           std::max(token.length, 1u), frame_.use});
}

Diagnostic* Parser::report(Code code, const Token& token, std::string message, std::string fix) {
  if (panicking_ || stopped_ || muted_) return nullptr;
  // A broken attribute may hold anything, also what does not survive a change of spaces.
  if (wanted_ == Report::Syntax && code > Code::BadTag && code != Code::BadAttribute &&
      code != Code::TooManyStatements)
    return nullptr;
  return &diagnostics_.add(code, position(token), std::move(message), std::move(fix));
}

Diagnostic* Parser::syntax_error(Code code, const Token& token, std::string message,
                                 std::string fix) {
  Diagnostic* error = nullptr;
  if (token.kind == TokenKind::End && !open_.empty()) {
    // A text that breaks off is one mistake, whatever was expected next.
    if (!panicking_) report_unclosed();
  } else if (!token.after_bad) {
    // Otherwise what is missing here is what the lexer could not read.
    error = report(code, token, std::move(message), std::move(fix));
  }
  panicking_ = true;
  return error;
}

Diagnostic* Parser::unexpected(std::string_view expected, std::string fix) {
  return syntax_error(Code::UnexpectedToken, tok_,
                      fmt::format("expected {}, found {}", expected, describe(tok_)),
                      std::move(fix));
}

// Among expressions and statements, where people write what they know from other languages.
Diagnostic* Parser::unexpected_in_code(std::string_view expected, std::string fix) {
  const std::string_view advice = syntax_of_habit(prev_, tok_, next_);
  return unexpected(expected, advice.empty() ? std::move(fix) : std::string(advice));
}

void Parser::report_unclosed() {
  if (end_reported_ || stopped_) return;
  end_reported_ = true;
  const Token& brace = suspect_ ? *suspect_ : open_.back().brace;
  Diagnostic& error =
      diagnostics_.add(Code::UnclosedBlock, position(tok_),
                       "the text ends inside a block that is not closed", "close it with `}`");
  error.notes.push_back({position(brace), suspect_
                                              ? "perhaps this `{`: a `}` further left closed it"
                                              : "this `{` is not closed"});
}

void Parser::note_declaration(Diagnostic* diagnostic, Symbol symbol) {
  if (diagnostic == nullptr) return;
  Position where;
  switch (symbol.kind) {
    case Symbol::Kind::Scalar:
    case Symbol::Kind::Array:
    case Symbol::Kind::BufferParam: where = program_.position_of(ir::LocalId{symbol.index}); break;
    case Symbol::Kind::Const:
    case Symbol::Kind::Table: where = program_.position_of(ir::ConstId{symbol.index}); break;
    case Symbol::Kind::Buffer: where = program_.position_of(ir::BufferId{symbol.index}); break;
    case Symbol::Kind::Fn: where = program_.position_of(ir::FnId{symbol.index}); break;
    case Symbol::Kind::Generic: {
      const FnDecl& decl = fn_decls_[symbol.index];
      where = {units_[decl.unit]->file, decl.name.line, decl.name.column, decl.name.length};
      break;
    }
    case Symbol::Kind::StructType: {
      const StructType& type = structs_[symbol.index];
      where = {type.file, type.name.line, type.name.column, type.name.length};
      break;
    }
    case Symbol::Kind::Struct:
    case Symbol::Kind::StructArray:
      where = program_.position_of(record_locals_[symbol.index].fields.front());
      where.used_at.clear();
      break;
    case Symbol::Kind::ModuleConst:
    case Symbol::Kind::Type:
    case Symbol::Kind::Static:
    case Symbol::Kind::Target:
    case Symbol::Kind::Unknown: return;
  }
  diagnostic->notes.push_back({std::move(where), "declared here"});
}

// ---- recovery

bool Parser::starts_statement(const Token& token) {
  return token.kind == TokenKind::Name && handlers().contains(token.text);
}

// Skips to where the next statement starts. `blocks_follow`: a `{` on the way starts a block to be
// read, because the broken statement may have been one with a block.
void Parser::synchronize(const Token& start, bool blocks_follow) {
  panicking_ = false;
  while (!at(TokenKind::End) && !at(TokenKind::RBrace)) {
    if (accept(TokenKind::Semicolon)) return;
    if (at(TokenKind::LBrace)) {
      if (blocks_follow && prev_.kind != TokenKind::Assign) return;
      skip_braces();
      continue;
    }
    if (tok_.text.data() != start.text.data()) {
      if (declares_local(tok_)) return;
      if (tok_.own_line && at(TokenKind::Name) &&
          (starts_statement(tok_) || tok_.column <= start.column))
        return;
    }
    advance();
  }
}

// After an error in the head of a statement with a block: goes to the block, if it is still to
// come.
bool Parser::recover_to_block() {
  if (!panicking_) return true;
  while (!at(TokenKind::End) && !at(TokenKind::RBrace) && !at(TokenKind::Semicolon) &&
         !at(TokenKind::LBrace)) {
    if (tok_.own_line && starts_statement(tok_)) return false;
    advance();
  }
  if (!at(TokenKind::LBrace)) return false;
  panicking_ = false;
  return true;
}

void Parser::skip_braces() {
  size_t depth = 0;
  do {
    if (at(TokenKind::LBrace)) ++depth;
    if (at(TokenKind::RBrace)) --depth;
    advance();
  } while (depth > 0 && !at(TokenKind::End));
}

// To the end of the innermost brackets around the token, or of the expression.
void Parser::skip_expression() {
  size_t brackets = 0;
  while (!at(TokenKind::End) && !at(TokenKind::Semicolon) && !at(TokenKind::LBrace) &&
         !at(TokenKind::RBrace)) {
    if (at(TokenKind::LParen) || at(TokenKind::LBracket)) ++brackets;
    if (at(TokenKind::RParen) || at(TokenKind::RBracket)) {
      if (brackets == 0) return;
      --brackets;
    }
    if (brackets == 0) {
      if (at(TokenKind::Comma) || at(TokenKind::DotDot) || at(TokenKind::At) ||
          at(TokenKind::Assign))
        return;
      if (at_word("step") || at_word("over") || starts_statement(tok_)) return;
    }
    advance();
  }
}

Parsed parse(std::string_view source, std::string_view file) {
  return parse(source, file, ParseOptions{});
}

Parsed parse(std::string_view source, std::string_view file, const ParseOptions& options) {
  const StageScope stage(Stage::Parse);
  return Parser(source, file, Parser::Report::All, &options).run();
}

}  // namespace vyre::text
