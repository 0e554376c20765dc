// SPDX-License-Identifier: Apache-2.0
// The editor grammar knows exactly the words of the language, and its patterns match numbers and
// names the way the lexer reads them.
#include <regex>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "golden/golden.hpp"
#include "golden/words.hpp"
#include "vyre/ir/ops.hpp"

namespace vyre::golden {
namespace {

using Json = nlohmann::json;

std::filesystem::path editor_dir() {
  return source_dir() / "editors" / "vscode";
}
Json grammar() {
  return Json::parse(read_file(editor_dir() / "syntaxes" / "vyre.tmLanguage.json"));
}

// Every pattern, with the scope it gives.
struct Pattern {
  std::string scope;
  std::string regex;
};
void collect_patterns(const Json& node, std::vector<Pattern>& patterns) {
  if (node.is_array())
    for (const Json& child : node) collect_patterns(child, patterns);
  if (!node.is_object()) return;
  for (const char* key : {"match", "begin"})
    if (node.contains(key))
      patterns.push_back({node.value("name", ""), node[key].get<std::string>()});
  for (const auto& [key, child] : node.items()) collect_patterns(child, patterns);
}
std::vector<Pattern> patterns() {
  std::vector<Pattern> all;
  collect_patterns(grammar(), all);
  return all;
}

// The words of all groups such as (let|var).
std::set<std::string> words_of_the_grammar() {
  static const std::regex kGroup(R"(\(([a-z0-9_]+(\|[a-z0-9_]+)*)\))");
  std::set<std::string> words;
  for (const Pattern& pattern : patterns())
    for (std::sregex_iterator it(pattern.regex.begin(), pattern.regex.end(), kGroup), end;
         it != end; ++it) {
      std::istringstream group((*it)[1].str());
      for (std::string word; std::getline(group, word, '|');) words.insert(word);
    }
  return words;
}

TEST(EditorGrammar, FilesAreJson) {
  for (const char* file :
       {"package.json", "language-configuration.json", "syntaxes/vyre.tmLanguage.json",
        "syntaxes/vyre-markdown.tmLanguage.json"})
    EXPECT_TRUE(Json::accept(read_file(editor_dir() / file))) << file;
}

TEST(EditorGrammar, IsTheOneThatThePackageNames) {
  const Json package = Json::parse(read_file(editor_dir() / "package.json"));
  for (const Json& entry : package["contributes"]["grammars"]) {
    const Json named = Json::parse(read_file(editor_dir() / entry["path"].get<std::string>()));
    EXPECT_EQ(named["scopeName"], entry["scopeName"]);
  }
}

TEST(EditorGrammar, PatternsAreRegularExpressions) {
  for (const Pattern& pattern : patterns())
    EXPECT_NO_THROW(std::regex(pattern.regex)) << pattern.regex;
}

TEST(EditorGrammar, KnowsEveryWord) {
  const std::set<std::string> known = words_of_the_grammar();
  for (const std::string& word : words_of_the_language()) EXPECT_TRUE(known.contains(word)) << word;
}

TEST(EditorGrammar, KnowsNoOtherWord) {
  std::set<std::string> unknown = words_of_the_grammar();
  for (const std::string& word : words_of_the_language()) unknown.erase(word);
  EXPECT_EQ(unknown, (std::set<std::string>{"x", "y", "z"}));  // axes
}

// A word is not only listed: the first pattern that takes it whole is more than "some name".
TEST(EditorGrammar, HighlightsEveryReservedWord) {
  for (const std::string& word : reserved_words()) {
    bool matched = false;
    for (const Pattern& pattern : patterns())
      matched =
          matched || (!pattern.scope.empty() && std::regex_match(word, std::regex(pattern.regex)));
    matched = matched || word == "max";  // a function, except after `fixpoint`
    EXPECT_TRUE(matched) << word;
  }
}

TEST(EditorGrammar, IncludesExist) {
  const Json document = grammar();
  for (const Json& pattern : document["patterns"]) {
    const std::string name = pattern["include"].get<std::string>().substr(1);
    EXPECT_TRUE(document["repository"].contains(name)) << name;
  }
  for (const auto& [name, rule] : document["repository"].items()) {
    const Json reference = {{"include", "#" + name}};
    EXPECT_NE(std::find(document["patterns"].begin(), document["patterns"].end(), reference),
              document["patterns"].end())
        << name;
  }
}

bool is_number(const std::string& text) {
  for (const Pattern& pattern : patterns())
    if (pattern.scope.starts_with("constant.numeric") &&
        std::regex_match(text, std::regex(pattern.regex)))
      return true;
  return false;
}

TEST(EditorGrammar, TakesNumbersWhole) {
  for (const char* number : {"0", "42", "1_000_000", "7u32", "7i64", "1f32", "0xFF_ff", "0x10u64",
                             "0b1010", "0b1_0i32", "0.5", "1.0e-3", "1.5E+10f64", "3.25f32"})
    EXPECT_TRUE(is_number(number)) << number;
}

TEST(EditorGrammar, DoesNotTakeWhatIsNoNumber) {
  for (const char* text :
       {"1_", "_1", "1__0", "0x", "0b2", "1.", ".5", "0.5f", "1.5u32", "1u8", "12abc", "1e5"})
    EXPECT_FALSE(is_number(text)) << text;
}

TEST(ReservedWords, AreReserved) {
  for (const std::string& word : reserved_words()) EXPECT_TRUE(ir::is_reserved(word)) << word;
}

// words.cpp lists the keywords by hand; the strings in the file that reserves them say whether one
// is missing.
TEST(ReservedWords, AreComplete) {
  const std::string source = read_file(source_dir() / "src" / "ir" / "ops.cpp");
  const std::vector<std::string> listed = reserved_words();
  static const std::regex kString(R"re("([a-z][a-z0-9_]*)")re");
  size_t seen = 0;
  for (std::sregex_iterator it(source.begin(), source.end(), kString), end; it != end; ++it) {
    const std::string word = (*it)[1].str();
    if (!ir::is_reserved(word)) continue;
    ++seen;
    EXPECT_NE(std::find(listed.begin(), listed.end(), word), listed.end()) << word;
  }
  EXPECT_GT(seen, 30U);
}

}  // namespace
}  // namespace vyre::golden
