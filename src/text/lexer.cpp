// SPDX-License-Identifier: Apache-2.0
#include "text/lexer.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/utf8.hpp"
#include "text/habits.hpp"
#include "text/number.hpp"

namespace vyre::text {

namespace {

enum class Class : uint8_t { Bad, Space, Newline, Letter, Digit, Quote, Punctuation };

constexpr std::array<Class, 256> kClasses = [] {
  std::array<Class, 256> classes{};
  const auto set = [&](std::string_view letters, Class value) {
    for (const char c : letters) classes[static_cast<unsigned char>(c)] = value;
  };
  set(" \t\r", Class::Space);
  set("\n", Class::Newline);
  set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", Class::Letter);
  set("0123456789", Class::Digit);
  set("\"", Class::Quote);
  set("{}()[],;:.@-=+*/%&|^<>!~", Class::Punctuation);
  return classes;
}();

Class class_of(char c) {
  return kClasses[static_cast<unsigned char>(c)];
}
bool is_digit(char c) {
  return class_of(c) == Class::Digit;
}
bool is_word(char c) {
  return class_of(c) == Class::Letter || class_of(c) == Class::Digit;
}
bool is_printable_ascii(char c) {
  return c >= ' ' && c <= '~';
}

// As the renderer counts: a byte that is not UTF-8 is one of its own.
uint32_t code_points(std::string_view bytes) {
  uint32_t count = 0;
  for (size_t i = 0; i < bytes.size(); i += base::code_point_at(bytes, i).bytes) ++count;
  return count;
}

bool is_broken(base::CodePoint point) {
  return point.value == base::kReplacement && point.bytes == 1;
}
bool is_control(char32_t value) {
  return (value < 0x20 && value != '\t') || (value >= 0x7f && value < 0xA0);
}

// The longest operator or bracket at the start of the three letters (0 where the text ends).
struct Punctuation {
  TokenKind kind;
  size_t bytes;
};

Punctuation with_equals(char second, TokenKind plain, TokenKind assign) {
  return second == '=' ? Punctuation{assign, 2} : Punctuation{plain, 1};
}

Punctuation shift_or_compare(char sign, char second, char third) {
  const bool left = sign == '<';
  if (second == '=') return {left ? TokenKind::LessEq : TokenKind::GreaterEq, 2};
  if (second != sign) return {left ? TokenKind::Less : TokenKind::Greater, 1};
  if (third == '=') return {left ? TokenKind::ShlAssign : TokenKind::ShrAssign, 3};
  return {left ? TokenKind::Shl : TokenKind::Shr, 2};
}

Punctuation punctuation(char first, char second, char third) {
  switch (first) {
    case '{': return {TokenKind::LBrace, 1};
    case '}': return {TokenKind::RBrace, 1};
    case '(': return {TokenKind::LParen, 1};
    case ')': return {TokenKind::RParen, 1};
    case '[': return {TokenKind::LBracket, 1};
    case ']': return {TokenKind::RBracket, 1};
    case ',': return {TokenKind::Comma, 1};
    case ';': return {TokenKind::Semicolon, 1};
    case ':': return {TokenKind::Colon, 1};
    case '@': return {TokenKind::At, 1};
    case '~': return {TokenKind::Tilde, 1};
    case '.':
      return second == '.' ? Punctuation{TokenKind::DotDot, 2} : Punctuation{TokenKind::Dot, 1};
    case '-':
      return second == '>' ? Punctuation{TokenKind::Arrow, 2}
                           : with_equals(second, TokenKind::Minus, TokenKind::SubAssign);
    case '&':
      return second == '&' ? Punctuation{TokenKind::AndAnd, 2}
                           : with_equals(second, TokenKind::And, TokenKind::AndAssign);
    case '|':
      return second == '|' ? Punctuation{TokenKind::OrOr, 2}
                           : with_equals(second, TokenKind::Or, TokenKind::OrAssign);
    case '=': return with_equals(second, TokenKind::Assign, TokenKind::EqEq);
    case '!': return with_equals(second, TokenKind::Not, TokenKind::NotEq);
    case '+': return with_equals(second, TokenKind::Plus, TokenKind::AddAssign);
    case '*': return with_equals(second, TokenKind::Star, TokenKind::MulAssign);
    case '/': return with_equals(second, TokenKind::Slash, TokenKind::DivAssign);
    case '%': return with_equals(second, TokenKind::Percent, TokenKind::RemAssign);
    case '^': return with_equals(second, TokenKind::Xor, TokenKind::XorAssign);
    default: return shift_or_compare(first, second, third);
  }
}

}  // namespace

Lexer::Lexer(std::string_view source, std::string_view file, Diagnostics* diagnostics)
    : source_(source), file_(file), diagnostics_(diagnostics) {}

Position Lexer::here(uint32_t column, uint32_t length) const {
  return {std::string(file_), line_, column, std::max(length, 1u)};
}

void Lexer::resume_after(const Token& token) {
  at_ = static_cast<size_t>(token.text.data() - source_.data()) + token.text.size();
  line_ = token.line;
  column_ = token.column + token.length;
  newlines_ = 0;
  first_ = false;
  after_bad_ = false;
  previous_ = token.kind;
}

void Lexer::skip_unwanted(bool (*wanted)(std::string_view), int64_t& depth, int64_t& lowest) {
  while (at_ < source_.size()) {
    const char c = source_[at_];
    size_t bytes = 1;
    switch (class_of(c)) {
      case Class::Bad:
      case Class::Quote: return;
      case Class::Newline:
        ++line_;
        column_ = 1;
        ++at_;
        continue;
      case Class::Letter:
      case Class::Digit:
        while (is_word(peek(bytes))) ++bytes;
        if (class_of(c) == Class::Letter && wanted(source_.substr(at_, bytes))) return;
        break;
      case Class::Punctuation:
        if (c == '/' && (peek(1) == '/' || peek(1) == '*')) return;
        if (c == '{') ++depth;
        if (c == '}') lowest = std::min(lowest, --depth);
        break;
      case Class::Space: break;
    }
    at_ += bytes;
    column_ += static_cast<uint32_t>(bytes);
  }
}

Token Lexer::next() {
  skip_to_token();
  Token token = start_token();
  if (at_ < source_.size()) {
    const char c = source_[at_];
    switch (class_of(c)) {
      case Class::Letter: lex_name(token); break;
      case Class::Digit: lex_number(token); break;
      case Class::Quote: lex_string(token); break;
      default:
        if (c == '/' && peek(1) == '/') {
          lex_comment(token);
        } else if (c == '.' && is_digit(peek(1)) && previous_ != TokenKind::Name) {
          lex_number(token);
        } else {
          const Punctuation found = punctuation(c, peek(1), peek(2));
          finish(token, found.kind, found.bytes);
        }
    }
  }
  newlines_ = 0;
  first_ = false;
  after_bad_ = false;
  previous_ = token.kind;
  return token;
}

void Lexer::skip_to_token() {
  while (at_ < source_.size()) {
    switch (class_of(source_[at_])) {
      case Class::Newline:
        ++line_;
        ++newlines_;
        column_ = 1;
        ++at_;
        break;
      case Class::Space:
        ++column_;
        ++at_;
        break;
      case Class::Bad: skip_bad_run(); break;
      case Class::Punctuation:
        if (source_[at_] != '/' || peek(1) != '*') return;
        skip_c_comment();
        break;
      default: return;
    }
  }
}

void Lexer::skip_bad_run() {
  if (source_[at_] == '#' || source_[at_] == '\'') {
    skip_foreign(source_[at_]);
    return;
  }
  const size_t first = at_;
  while (at_ < source_.size() && class_of(source_[at_]) == Class::Bad) ++at_;
  report_bad(first, at_, column_);
  after_bad_ = true;
  column_ += code_points(source_.substr(first, at_ - first));
}

// A comment or directive from `#` to the end of its line, or what stands in single quotes.
void Lexer::skip_foreign(char start) {
  const size_t line_end = std::min(source_.find('\n', at_), source_.size());
  size_t end = line_end;
  if (start == '\'') {
    const size_t closing = source_.substr(0, line_end).find('\'', at_ + 1);
    end = closing == std::string_view::npos ? at_ + 1 : closing + 1;
  } else if (end > at_ && source_[end - 1] == '\r') {
    --end;
  }
  report_bad(at_, at_ + 1, column_);
  after_bad_ = start == '\'';
  column_ += code_points(source_.substr(at_, end - at_));
  at_ = end;
}

void Lexer::skip_c_comment() {
  if (reporting())
    diagnostics_->add(Code::BadCharacter, here(column_, 2),
                      "a comment between `/*` and `*/` has no place in a program",
                      "begin each line of it with `//`");
  const size_t closing = source_.find("*/", at_ + 2);
  const size_t end = closing == std::string_view::npos ? source_.size() : closing + 2;
  while (at_ < end) {
    const size_t newline = source_.substr(0, end).find('\n', at_);
    if (newline == std::string_view::npos) {
      column_ += code_points(source_.substr(at_, end - at_));
      at_ = end;
    } else {
      ++line_;
      ++newlines_;
      column_ = 1;
      at_ = newline + 1;
    }
  }
}

void Lexer::report_bad(size_t first, size_t last, uint32_t column) {
  if (!reporting()) return;
  const base::CodePoint point = base::code_point_at(source_, first);
  const std::string_view run = source_.substr(first, last - first);
  const auto value = static_cast<uint32_t>(point.value);
  std::string what;
  if (is_broken(point)) {
    what =
        fmt::format("the byte 0x{:02x} is not UTF-8", static_cast<unsigned char>(source_[first]));
  } else if (is_control(point.value) || base::printable(point.value) != point.value) {
    what = fmt::format("the control character U+{:04X} has no place in a program", value);
  } else {
    what = fmt::format("the character `{}` (U+{:04X}) has no place in a program",
                       run.substr(0, point.bytes), value);
  }
  const std::string_view advice = character_of_habit(source_[first]);
  diagnostics_->add(
      Code::BadCharacter, here(column, code_points(run)), what,
      std::string(advice.empty()
                      ? "remove it; letters outside ASCII stand only in comments and strings"
                      : advice));
}

Token Lexer::start_token() const {
  Token token;
  token.after_bad = after_bad_;
  token.own_line = first_ || newlines_ > 0;
  token.blank_before = newlines_ > 1;
  token.line = line_;
  token.column = column_;
  token.text = source_.substr(at_, 0);
  return token;
}

void Lexer::finish(Token& token, TokenKind kind, size_t bytes) {
  token.kind = kind;
  token.text = source_.substr(at_, bytes);
  // Only strings and comments hold more than ASCII.
  const bool ascii = kind != TokenKind::String && kind != TokenKind::Comment;
  token.length = ascii ? static_cast<uint32_t>(bytes) : code_points(token.text);
  at_ += bytes;
  column_ += token.length;
}

void Lexer::lex_name(Token& token) {
  size_t end = at_ + 1;
  while (end < source_.size() && is_word(source_[end])) ++end;
  finish(token, TokenKind::Name, end - at_);
}

// Takes everything that is glued to the number, so that `1x5` is one mistake and not two tokens.
void Lexer::lex_number(Token& token) {
  size_t bytes = 0;
  bool plain = true;  // digits and `_`
  bool digits = true;
  for (; is_word(peek(bytes)); ++bytes) {
    digits = digits && is_digit(peek(bytes));
    plain = plain && (is_digit(peek(bytes)) || peek(bytes) == '_');
  }
  TokenKind kind = TokenKind::Int;
  if (plain && peek(bytes) == '.' && peek(bytes + 1) != '.') {
    kind = TokenKind::Float;
    ++bytes;
    char last = '\0';
    for (; is_word(peek(bytes)); ++bytes) last = peek(bytes);
    if ((last == 'e' || last == 'E') && (peek(bytes) == '+' || peek(bytes) == '-') &&
        is_digit(peek(bytes + 1))) {
      ++bytes;
      while (is_word(peek(bytes))) ++bytes;
    }
  }
  finish(token, kind, bytes);
  static constexpr size_t kAlwaysFits = 19;  // digits below 2^64
  if (!reporting() || (digits && kind == TokenKind::Int && bytes <= kAlwaysFits)) return;
  if (const auto number = read_number(token.text); !number) {
    token.bad = true;
    diagnostics_->add(Code::BadNumber, here(token.column, token.length), number.error().message,
                      number.error().fix);
  }
}

void Lexer::lex_string(Token& token) {
  size_t bytes = 1;
  bool closed = false;
  while (at_ + bytes < source_.size() && peek(bytes) != '\n') {
    const char c = peek(bytes);
    if (c == '"') {
      closed = true;
      ++bytes;
      break;
    }
    if (c == '\\' && at_ + bytes + 1 < source_.size() && peek(bytes + 1) != '\n' &&
        peek(bytes + 1) != '\r') {
      const char escaped = peek(bytes + 1);
      if (escaped != '"' && escaped != '\\' && escaped != 'n') {
        token.bad = true;
        if (reporting()) {
          const std::string shown =
              is_printable_ascii(escaped) ? fmt::format(" `\\{}`", escaped) : "";
          diagnostics_->add(
              Code::BadString, here(column_ + code_points(source_.substr(at_, bytes)), 2),
              fmt::format("unknown escape{} in a string", shown), "use \\\", \\\\ or \\n");
        }
        ++bytes;
        continue;
      }
      ++bytes;
    }
    ++bytes;
  }
  while (!closed && source_[at_ + bytes - 1] == '\r') --bytes;
  check_letters(at_, at_ + bytes, column_);
  finish(token, TokenKind::String, bytes);
  if (closed) return;
  token.bad = true;
  if (reporting()) {
    diagnostics_->add(Code::BadString, here(token.column, token.length),
                      "the string is not closed on its line",
                      "end it with `\"`; a new line inside a string is written \\n");
  }
}

void Lexer::lex_comment(Token& token) {
  size_t last = std::min(source_.find('\n', at_), source_.size());
  const size_t whole = last - at_;
  while (last > at_ &&
         (source_[last - 1] == '\r' || source_[last - 1] == ' ' || source_[last - 1] == '\t'))
    --last;
  check_letters(at_, last, column_);
  const size_t bytes = last - at_;
  finish(token, TokenKind::Comment, bytes);
  at_ += whole - bytes;
}

// Inside comments and strings: any UTF-8 but control characters.
void Lexer::check_letters(size_t first, size_t last, uint32_t column) {
  if (!reporting()) return;
  for (size_t i = first; i < last;) {
    const size_t start = i;
    for (; i < last; ++i) {
      const base::CodePoint point = base::code_point_at(source_, i);
      if (!is_broken(point) && !is_control(point.value)) break;
      i += point.bytes - 1;
    }
    if (i > start) {
      report_bad(start, i, column);
      column += code_points(source_.substr(start, i - start));
    } else {
      i += base::code_point_at(source_, i).bytes;
      ++column;
    }
  }
}

std::string quoted(std::string_view name) {
  static constexpr size_t kShown = 60;
  if (name.size() <= kShown) return fmt::format("`{}`", name);
  return fmt::format("`{}...`", name.substr(0, kShown));
}

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::End: return "the end of the file";
    case TokenKind::Int:
    case TokenKind::Float: return "the number " + quoted(token.text);
    case TokenKind::String: return "a string";
    case TokenKind::Comment: return "a comment";
    default: return quoted(token.text);
  }
}

std::string unescape(std::string_view literal) {
  std::string text;
  for (size_t i = 1; i + 1 < literal.size(); ++i) {
    if (literal[i] == '\\') {
      ++i;
      text += literal[i] == 'n' ? '\n' : literal[i];
    } else {
      text += literal[i];
    }
  }
  return text;
}

std::string escape(std::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    if (c == '\n') {
      literal += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') literal += '\\';
    literal += c;
  }
  return literal + '"';
}

}  // namespace vyre::text
