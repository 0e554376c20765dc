// SPDX-License-Identifier: Apache-2.0
// Errors that no program text can hold, or only one too large to keep as a file.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "vyre/base/diagnostic.hpp"

namespace vyre::golden {

struct Planted {
  Code code;
  std::string what;  // letters, digits and underscores
  std::function<Diagnostics()> provoke;

  friend std::ostream& operator<<(std::ostream& out, const Planted& planted) {
    return out << planted.what;
  }
};
std::vector<Planted> planted_in_code();

// True for a code that nothing gives any more: it keeps its number and its page, which says so.
bool is_retired(Code code);

// What finish(), decode() or the checker said about the C++ block of a page; `right` blocks give
// none.
struct PageSnippet {
  Code code;
  bool right = false;
  std::function<Diagnostics()> run;
};
std::vector<PageSnippet> page_snippets();

}  // namespace vyre::golden
