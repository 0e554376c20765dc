# SPDX-License-Identifier: Apache-2.0
# cmake -DFOLDER=docs/explain -DCODES=V001,V002, -DOUT=explain_pages.cpp -P write_explain_pages.cmake
#
# Each line of a page becomes one ordinary string literal: no raw-string delimiter can clash with
# the text, and no single literal grows long.
cmake_minimum_required(VERSION 3.25)
string(REGEX MATCHALL "[^,]+" codes "${CODES}")

set(rows "")
foreach(code IN LISTS codes)
  file(READ "${FOLDER}/${code}.md" text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\r" "" text "${text}")
  string(REPLACE "\t" "\\t" text "${text}")
  string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
  string(APPEND rows "    {\"${code}\",\n     \"${text}\"},\n")
endforeach()

list(LENGTH codes count)
set(body "  return {};\n")
if(count GREATER 0)
  set(body "  static constexpr ExplainPage kPages[] = {\n${rows}  };\n  return kPages;\n")
endif()
file(WRITE "${OUT}"
"// Generated from docs/explain.
#include \"cli/explain_pages.hpp\"

namespace vyre {

std::span<const ExplainPage> explain_pages() {
${body}}

}  // namespace vyre
")
