// SPDX-License-Identifier: Apache-2.0
// Numbers one after the other, as they stand in `[1, 2, 3]` and in csv files.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "cli/values_forms.hpp"

namespace vyre::cli {

struct ListError {
  size_t offset = 0;   // where in the text
  uint64_t index = 0;  // of the element
  std::string message;
  std::string fix;
};

// Elements separated by a comma, by blanks and line feeds, or by both. A comma may end the text,
// but two of them with nothing between, or one before everything, is an error.
std::expected<ValueBytes, ListError> parse_list(ir::Type element, std::string_view text);

}  // namespace vyre::cli
