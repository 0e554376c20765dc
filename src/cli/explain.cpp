// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/explain_pages.hpp"
#include "cli/nearest.hpp"
#include "vyre/base/codes.hpp"

namespace vyre::cli {
namespace {

std::string_view severity_of(const CodeInfo& info) {
  return info.severity == Severity::Error ? "error" : "warning";
}

std::optional<std::string_view> page_of(Code code) {
  for (const ExplainPage& page : explain_pages())
    if (page.code == text_of(code)) return page.text;
  return std::nullopt;
}

void put_row(Json& object, const CodeInfo& info) {
  object["code"] = text_of(info.code);
  object["name"] = info.name;
  object["severity"] = severity_of(info);
  object["title"] = info.title;
}

int list_all(App& app) {
  if (app.json) {
    Json document = app.document(true);
    document["codes"] = Json::array();
    for (const CodeInfo& info : all_codes()) {
      Json row;
      put_row(row, info);
      document["codes"].push_back(std::move(row));
    }
    app.put_document(document);
    return kExitOk;
  }
  for (const CodeInfo& info : all_codes())
    app.put(fmt::format("{}  {:<7}  {}\n", text_of(info.code), severity_of(info), info.title));
  return kExitOk;
}

// The code that was meant: by number for V079, by spelling for a name.
std::string meant_by(std::string_view text) {
  const bool has_v = text.starts_with('V') || text.starts_with('v');
  const std::string_view digits = text.substr(has_v ? 1 : 0);
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error == std::errc() && end == digits.data() + digits.size() && number >= 0) {
    const std::span<const CodeInfo> codes = all_codes();
    const auto gap = [&](const CodeInfo& info) {
      return std::abs(static_cast<int>(info.code) - number);
    };
    return std::string(text_of(std::ranges::min_element(codes, {}, gap)->code));
  }
  std::vector<std::string> known;
  for (const CodeInfo& info : all_codes()) known.emplace_back(text_of(info.code));
  for (const CodeInfo& info : all_codes()) known.emplace_back(info.name);
  return nearest(text, known);
}

Failure unknown_code(const std::string& text) {
  Failure failure{kExitUsage, fmt::format("'{}' is not the code of a diagnostic", text), ""};
  const std::string meant = meant_by(text);
  if (!meant.empty()) failure.fix = fmt::format("did you mean `vyre explain {}`? ", meant);
  failure.fix += "`vyre explain` lists all codes";
  return failure;
}

}  // namespace

int run_explain(App& app, const ExplainOptions& options) {
  if (options.code.empty()) return list_all(app);
  const std::optional<Code> code = code_from_text(options.code);
  if (!code) return app.fail(unknown_code(options.code));

  const CodeInfo& info = info_of(*code);
  const std::optional<std::string_view> page = page_of(*code);
  if (app.json) {
    Json document = app.document(true);
    put_row(document, info);
    document["page"] = page ? Json(*page) : Json();
    app.put_document(document);
    return kExitOk;
  }
  if (page) {
    app.put(*page);
    if (!page->ends_with('\n')) app.put("\n");
  } else {
    app.put(fmt::format("{} {}: {}\n", text_of(info.code), info.name, info.title));
  }
  return kExitOk;
}

}  // namespace vyre::cli
