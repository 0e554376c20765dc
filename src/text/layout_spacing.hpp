// SPDX-License-Identifier: Apache-2.0
// Which tokens have a space between them, and after which ones a long line may be broken.
// Tokens go in one by one, in the order of the text, comments left out.
#pragma once

#include <cstdint>

#include "text/lexer.hpp"

namespace vyre::text {

class Spacing {
 public:
  struct Joint {
    bool space = false;       // before the token
    uint32_t break_rank = 0;  // 0: never break after it; otherwise the lower, the better
    bool in_table = false;    // a brace or comma of a constant table
  };
  Joint next(const Token& token);

 private:
  enum class Role : uint8_t { None, Unary, Binary, TypeBracket };
  [[nodiscard]] bool after_value() const;
  [[nodiscard]] Role role_of(const Token& token) const;
  [[nodiscard]] bool space_before(const Token& token, Role role) const;

  Token previous_, before_previous_;
  Role previous_role_ = Role::None;
  bool first_ = true;
  bool in_bitcast_ = false;
  uint32_t brackets_ = 0;
  uint32_t tables_ = 0;
};

}  // namespace vyre::text
