// SPDX-License-Identifier: Apache-2.0
#include "text/lexer.hpp"

#include <gtest/gtest.h>

#include "text/text_test.hpp"

namespace vyre::text {
namespace {

struct Lexed {
  std::vector<Token> tokens;
  std::vector<std::string> errors;
};

Lexed lex(std::string_view source) {
  Diagnostics diagnostics;
  Lexer lexer(source, "t", &diagnostics);
  Lexed lexed;
  do {
    lexed.tokens.push_back(lexer.next());
  } while (lexed.tokens.back().kind != TokenKind::End);
  lexed.errors = lines_of(diagnostics);
  return lexed;
}

std::string spellings(std::string_view source) {
  std::string joined;
  for (const Token& token : lex(source).tokens) joined += std::string(token.text) + "|";
  return joined;
}

TEST(Lexer, TakesTheLongestOperator) {
  EXPECT_EQ(spellings("<<= >>= << >> <= >="), "<<=|>>=|<<|>>|<=|>=||");
  EXPECT_EQ(spellings("== != && -> .. !~"), "==|!=|&&|->|..|!|~||");
  EXPECT_EQ(spellings("a||b"), "a||||b||");
  EXPECT_EQ(spellings("a<-b"), "a|<|-|b||");
  EXPECT_EQ(spellings("+= -= *= /= %= &= |= ^="), "+=|-=|*=|/=|%=|&=||=|^=||");
  EXPECT_EQ(spellings("--5"), "-|-|5||");
}

TEST(Lexer, KeepsRangesApartFromDecimals) {
  EXPECT_EQ(spellings("0..n"), "0|..|n||");
  EXPECT_EQ(spellings("1.5..2"), "1.5|..|2||");
  EXPECT_EQ(spellings("0 ..5"), "0|..|5||");
  EXPECT_EQ(spellings("gid.x"), "gid|.|x||");
  EXPECT_EQ(spellings("1.0e+5+2"), "1.0e+5|+|2||");
  EXPECT_EQ(spellings("1.0e-x"), "1.0e|-|x||");
}

TEST(Lexer, CountsColumnsInCodePoints) {
  const Lexed lexed = lex("x \"é\u4e16\" y // ü\n  z");
  ASSERT_EQ(lexed.tokens.size(), 6u);
  EXPECT_EQ(lexed.tokens[1].column, 3u);
  EXPECT_EQ(lexed.tokens[1].length, 4u);
  EXPECT_EQ(lexed.tokens[2].column, 8u);
  EXPECT_EQ(lexed.tokens[3].kind, TokenKind::Comment);
  EXPECT_EQ(lexed.tokens[3].length, 4u);
  EXPECT_EQ(lexed.tokens[4].line, 2u);
  EXPECT_EQ(lexed.tokens[4].column, 3u);
  EXPECT_TRUE(lexed.errors.empty());
}

TEST(Lexer, MarksLineStartsAndBlankLines) {
  const Lexed lexed = lex("a b\nc\n\n\nd // e\n");
  ASSERT_EQ(lexed.tokens.size(), 6u);
  EXPECT_TRUE(lexed.tokens[0].own_line);
  EXPECT_FALSE(lexed.tokens[1].own_line);
  EXPECT_TRUE(lexed.tokens[2].own_line && !lexed.tokens[2].blank_before);
  EXPECT_TRUE(lexed.tokens[3].own_line && lexed.tokens[3].blank_before);
  EXPECT_FALSE(lexed.tokens[4].own_line);
}

TEST(Lexer, AcceptsCarriageReturns) {
  const Lexed lexed = lex("a // c \r\nb\r\n\r\n\"s\"\r\n");
  ASSERT_EQ(lexed.tokens.size(), 5u);
  EXPECT_EQ(lexed.tokens[1].text, "// c");
  EXPECT_EQ(lexed.tokens[2].line, 2u);
  EXPECT_TRUE(lexed.tokens[3].blank_before);
  EXPECT_TRUE(lexed.errors.empty());
}

TEST(Lexer, ReportsOneRunOfBadCharactersOnce) {
  EXPECT_EQ(
      lex("a \u00e9\u00e8 b").errors,
      std::vector<std::string>{"V002 1:3 the character `é` (U+00E9) has no place in a program"});
  EXPECT_EQ(
      lex("a $$# b # c").errors,
      (std::vector<std::string>{"V002 1:3 the character `$` (U+0024) has no place in a program",
                                "V002 1:9 the character `#` (U+0023) has no place in a program"}));
  EXPECT_EQ(
      lex(std::string_view("a\0b", 3)).errors,
      std::vector<std::string>{"V002 1:2 the control character U+0000 has no place in a program"});
  EXPECT_EQ(lex("\xff\xfe x").errors,
            std::vector<std::string>{"V002 1:1 the byte 0xff is not UTF-8"});
  EXPECT_EQ(
      lex("\xef\xbb\xbfprogram").errors,
      std::vector<std::string>{"V002 1:1 the control character U+FEFF has no place in a program"});
}

TEST(Lexer, ChecksLettersInCommentsAndStrings) {
  EXPECT_TRUE(lex("// \u00e9\t\u4e16\n\"\u00e9\t\"").errors.empty());
  EXPECT_EQ(lex("// \u00e9\xff\xff!\x80 x").errors,
            (std::vector<std::string>{"V002 1:5 the byte 0xff is not UTF-8",
                                      "V002 1:8 the byte 0x80 is not UTF-8"}));
  EXPECT_EQ(
      lex("\"a\x01\"").errors,
      std::vector<std::string>{"V002 1:3 the control character U+0001 has no place in a program"});
}

TEST(Lexer, ReportsBrokenStrings) {
  EXPECT_EQ(lex("x = \"abc\ny").errors,
            std::vector<std::string>{"V004 1:5 the string is not closed on its line"});
  EXPECT_EQ(lex("\"").errors,
            std::vector<std::string>{"V004 1:1 the string is not closed on its line"});
  EXPECT_EQ(lex("\"a\\").errors,
            std::vector<std::string>{"V004 1:1 the string is not closed on its line"});
  EXPECT_EQ(lex("\"a\\tb\\q\"").errors,
            (std::vector<std::string>{"V004 1:3 unknown escape `\\t` in a string",
                                      "V004 1:6 unknown escape `\\q` in a string"}));
  const Lexed good = lex(R"("a \" \\ \n")");
  EXPECT_TRUE(good.errors.empty());
  EXPECT_FALSE(good.tokens[0].bad);
  EXPECT_EQ(unescape(good.tokens[0].text), "a \" \\ \n");
}

TEST(Lexer, EscapesWhatItUnescapes) {
  for (const std::string text : {"", "plain", "\"", "\\", "\n", "\\n", "a\"b\\c\nd é"}) {
    EXPECT_EQ(unescape(escape(text)), text);
    EXPECT_TRUE(lex(escape(text)).errors.empty()) << text;
  }
}

TEST(Lexer, MarksBadNumbers) {
  const Lexed lexed = lex("12ab 3");
  EXPECT_TRUE(lexed.tokens[0].bad);
  EXPECT_FALSE(lexed.tokens[1].bad);
  EXPECT_EQ(lexed.errors.size(), 1u);
}

}  // namespace
}  // namespace vyre::text
