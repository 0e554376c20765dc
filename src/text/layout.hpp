// SPDX-License-Identifier: Apache-2.0
// The one layout of program texts: indentation, spaces, line breaks, aligned declarations and
// comments. It depends only on the tokens, on which of them start a line with a comment, and on
// where blank lines stand, so laying out twice changes nothing. It never changes the tokens
// themselves.
#pragma once

#include <string>
#include <string_view>

namespace vyre::text {

inline constexpr uint32_t kMaxColumns = 100;

// A whole program text without syntax errors.
std::string layout(std::string_view source);

// The tokens of one expression or statement, on a single line however long, without a line end.
std::string layout_line(std::string_view source);

}  // namespace vyre::text
