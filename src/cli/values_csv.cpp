// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "cli/values_forms.hpp"
#include "cli/values_list.hpp"

namespace vyre::cli {

ValueResult from_csv(const ValueSpec& spec, const std::string& path, std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // as spreadsheets write it
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  auto bytes = parse_list(spec.element, text);
  if (!bytes) {
    // What stands before the place on its line has been read, so that it is plain ASCII.
    const std::string_view before = text.substr(0, bytes.error().offset);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
    return bad_value(fmt::format("{}:{}:{}: {}", path, line, column, bytes.error().message),
                     bytes.error().fix);
  }
  if (auto failure =
          check_count(spec, bytes->size() / ir::bytes_of(spec.element), fmt::format("`{}`", path)))
    return std::unexpected(std::move(*failure));
  return *std::move(bytes);
}

std::string to_csv(const ArrayView& array) {
  const uint64_t width = array.shape ? array.shape->width : 1;
  std::string text;
  for (uint64_t i = 0; i < array.count(); ++i) {
    text += element_text(array.element, array.bytes, i);
    text += (i + 1) % width == 0 ? '\n' : ',';
  }
  return text;
}

}  // namespace vyre::cli
