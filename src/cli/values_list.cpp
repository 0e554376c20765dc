// SPDX-License-Identifier: Apache-2.0
#include "cli/values_list.hpp"

#include <fmt/format.h>

#include "cli/values_number.hpp"

namespace vyre::cli {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kSeparators = ", \t\r\n";

}  // namespace

std::expected<ValueBytes, ListError> parse_list(ir::Type element, std::string_view text) {
  ValueBytes bytes;
  const uint64_t size = ir::bytes_of(element);
  uint64_t index = 0;
  bool comma_allowed = false;  // an element stands before, and no comma since
  size_t at = 0;
  while ((at = text.find_first_not_of(kBlanks, at)) != std::string_view::npos) {
    if (text[at] == ',') {
      if (!comma_allowed) {
        return std::unexpected(ListError{at, index, "a number is missing before the comma",
                                         "write a number there, or remove the comma"});
      }
      comma_allowed = false;
      ++at;
      continue;
    }
    const size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    const auto bits = parse_element(element, text.substr(at, end - at));
    if (!bits) return std::unexpected(ListError{at, index, bits.error().message, bits.error().fix});
    bytes.resize(bytes.size() + size);
    store_element(element, bytes, index++, *bits);
    comma_allowed = true;
    at = end;
  }
  return bytes;
}

ValueResult from_literal(const ValueSpec& spec, std::string_view text) {
  const size_t last = text.find_last_not_of(kBlanks);
  if (last == std::string_view::npos || text[last] != ']') {
    return bad_value(
        fmt::format("the list {} has no closing bracket at its end", quoted_value(text)),
        "close it with `]`, and quote the value for the shell");
  }
  const size_t open = text.find('[');
  auto bytes = parse_list(spec.element, text.substr(open + 1, last - open - 1));
  if (!bytes) {
    return bad_value(fmt::format("element {} of the list for buffer `{}`: {}", bytes.error().index,
                                 spec.name, bytes.error().message),
                     bytes.error().fix);
  }
  if (auto failure = check_count(spec, bytes->size() / ir::bytes_of(spec.element), "the list"))
    return std::unexpected(std::move(*failure));
  return *std::move(bytes);
}

}  // namespace vyre::cli
