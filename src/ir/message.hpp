// SPDX-License-Identifier: Apache-2.0
// Strings of a program, as in `require`.
#pragma once

#include <string_view>

namespace vyre::ir {

// True if the text form can hold it: UTF-8 without control characters other than tab and line feed.
bool is_message(std::string_view text);

}  // namespace vyre::ir
