// SPDX-License-Identifier: Apache-2.0
// The pages of docs/explain, embedded at build time so that the binary explains its diagnostics
// without files beside it.
#pragma once

#include <span>
#include <string_view>

namespace vyre {

struct ExplainPage {
  std::string_view code;  // "V012": the page's file name without ".md"
  std::string_view text;  // the whole page, Markdown
};

// Sorted by code, for the life of the process.
std::span<const ExplainPage> explain_pages();

}  // namespace vyre
