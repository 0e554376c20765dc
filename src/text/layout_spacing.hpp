// SPDX-License-Identifier: Apache-2.0
// Which tokens have a space between them, and after which ones a long line may be broken.
// Tokens go in one by one, in the order of the text, comments left out.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/lexer.hpp"

namespace vyre::text {

// Names behind which a `<` opens a list of static arguments.
struct StaticNames {
  std::unordered_set<std::string_view> functions;
  std::unordered_set<const char*> members;  // the `<` behind `module.name`, in the text
};
StaticNames static_names_of(std::string_view source);
// Whether what stands behind a `<` is a list of static arguments: a comparison is not followed by
// `>` and a parenthesis, since comparisons do not chain. `token`: the first one behind the `<`.
bool closes_static_list(Lexer& lexer, Token token);

class Spacing {
 public:
  // `names` outlives it; without them only declarations have static lists.
  explicit Spacing(const StaticNames* names = nullptr) : names_(names) {}
  struct Joint {
    bool space = false;       // before the token
    uint32_t break_rank = 0;  // 0: never break after it; otherwise the lower, the better
    bool in_table = false;    // a brace of a constant table or of a struct
    bool ends_line = false;   // the brace that closes the declaration of a struct
  };
  Joint next(const Token& token);

 private:
  enum class Role : uint8_t { None, Unary, Binary, TypeBracket, LambdaOpen, LambdaClose };
  enum class Brace : uint8_t { Block, Table, Struct, Literal };
  [[nodiscard]] bool after_value() const;
  [[nodiscard]] Role role_of(const Token& token) const;
  [[nodiscard]] bool opens_static_list(const Token& token) const;
  [[nodiscard]] Brace brace_of() const;
  [[nodiscard]] bool space_before(const Token& token, Role role) const;

  Token previous_, before_previous_;
  Role previous_role_ = Role::None;
  bool first_ = true;
  const StaticNames* names_ = nullptr;
  std::string_view head_;  // the word that the statement begins with
  bool statement_ended_ = false;
  bool in_lambda_ = false;  // between the bars
  uint32_t brackets_ = 0;
  std::vector<uint32_t> lists_;  // brackets around each open static list
  std::vector<Brace> braces_;    // those that stand in a line
};

}  // namespace vyre::text
