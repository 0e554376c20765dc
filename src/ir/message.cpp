// SPDX-License-Identifier: Apache-2.0
#include "ir/message.hpp"

#include "base/utf8.hpp"

namespace vyre::ir {

bool is_message(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const base::CodePoint point = base::code_point_at(text, i);
    const bool broken = point.value == base::kReplacement && point.bytes == 1;
    const bool control = (point.value < 0x20 && point.value != '\t' && point.value != '\n') ||
                         (point.value >= 0x7f && point.value < 0xa0);
    if (broken || control) return false;
    i += point.bytes;
  }
  return true;
}

}  // namespace vyre::ir
