// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "text/layout.hpp"
#include "text/parser.hpp"
#include "vyre/text/text.hpp"

namespace vyre::text {

Formatted format(std::string_view source, std::string_view file) {
  Formatted result;
  result.diagnostics = Parser(source, file, Parser::Report::Syntax).run().diagnostics;
  if (!result.diagnostics.has_errors()) result.text = layout(source);
  return result;
}

}  // namespace vyre::text
