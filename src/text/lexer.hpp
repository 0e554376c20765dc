// SPDX-License-Identifier: Apache-2.0
// Source text to tokens, one at a time, so that a hostile text costs no memory. Comments are tokens
// too: the parser passes over them, the layout keeps them. What is wrong with letters, numbers and
// strings is reported here, and the token is marked bad so that it is reported once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "vyre/base/diagnostic.hpp"

namespace vyre::text {

enum class TokenKind : uint8_t {
  End,
  Name,
  Int,
  Float,
  String,
  Comment,
  LBrace,
  RBrace,
  LParen,
  RParen,
  LBracket,
  RBracket,
  Comma,
  Semicolon,
  Colon,
  Dot,
  DotDot,
  At,
  Arrow,
  Assign,
  AddAssign,
  SubAssign,
  MulAssign,
  DivAssign,
  RemAssign,
  AndAssign,
  OrAssign,
  XorAssign,
  ShlAssign,
  ShrAssign,
  OrOr,
  AndAnd,
  EqEq,
  NotEq,
  Less,
  LessEq,
  Greater,
  GreaterEq,
  Or,
  Xor,
  And,
  Shl,
  Shr,
  Plus,
  Minus,
  Star,
  Slash,
  Percent,
  Not,
  Tilde,
};

struct Token {
  TokenKind kind = TokenKind::End;
  bool bad = false;           // a number or string that was already reported
  bool after_bad = false;     // characters before it were reported and left out
  bool own_line = false;      // the first thing on its line
  bool blank_before = false;  // an empty line stands between it and the token before
  uint32_t line = 1;
  uint32_t column = 1;    // code points, from 1
  uint32_t length = 0;    // code points
  std::string_view text;  // the spelling, a part of the source
};

class Lexer {
 public:
  // Reports to `diagnostics` if there is one. Both views must outlive the tokens.
  Lexer(std::string_view source, std::string_view file, Diagnostics* diagnostics);
  Token next();
  // A fast way through a text for a caller that needs a few words only: passes over numbers,
  // operators and names that `wanted` does not want, up to a comment, a string or a bad character.
  // `depth` goes up and down with the braces on the way, `lowest` is the least it has been.
  void skip_unwanted(bool (*wanted)(std::string_view), int64_t& depth, int64_t& lowest);
  // Goes on behind a token of this text that was read before.
  void resume_after(const Token& token);

  // While a text of another language is skipped, which is reported as a whole.
  void set_silent(bool silent) { silent_ = silent; }

 private:
  void skip_to_token();
  void skip_bad_run();
  void skip_foreign(char start);
  void skip_c_comment();
  void report_bad(size_t first, size_t last, uint32_t column);
  Token start_token() const;
  void finish(Token& token, TokenKind kind, size_t bytes);
  void lex_name(Token& token);
  void lex_number(Token& token);
  void lex_string(Token& token);
  void lex_comment(Token& token);
  void check_letters(size_t first, size_t last, uint32_t column);
  [[nodiscard]] char peek(size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  [[nodiscard]] bool reporting() const {
    return diagnostics_ != nullptr && !silent_ && !diagnostics_->full();
  }
  [[nodiscard]] Position here(uint32_t column, uint32_t length) const;

  std::string_view source_;
  std::string_view file_;
  Diagnostics* diagnostics_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  uint32_t column_ = 1;
  uint32_t newlines_ = 0;  // since the last token
  bool first_ = true;
  bool after_bad_ = false;
  bool silent_ = false;
  TokenKind previous_ = TokenKind::End;
};

// What a token is called in a message: "`;`", "the number `5`", "the end of the file".
std::string describe(const Token& token);
// A name between back quotes, cut where it is too long to read.
std::string quoted(std::string_view name);
// The text that a string token without errors stands for, and back.
std::string unescape(std::string_view literal);
std::string escape(std::string_view text);

}  // namespace vyre::text
