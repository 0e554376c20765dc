// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "text/layout.hpp"
#include "vyre/text/text.hpp"

namespace vyre::text {

Formatted format(std::string_view source, std::string_view file) {
  Formatted result;
  result.diagnostics = std::move(parse(source, file).diagnostics);
  // What names and types mean does not matter to the layout; what is a token and a statement does.
  const bool readable = std::all_of(result.diagnostics.list().begin(), result.diagnostics.list().end(),
                                    [](const Diagnostic& d) { return d.code > Code::BadTag; });
  if (readable && !result.diagnostics.full()) result.text = layout(source);
  return result;
}

}  // namespace vyre::text
