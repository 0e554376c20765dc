// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "lsp/queries.hpp"

namespace vyre::lsp {

std::string_view meaning_of(check::Level level) {
  switch (level) {
    case check::Level::Grid: return "the same in the whole grid";
    case check::Level::Workgroup: return "the same in a whole workgroup";
    case check::Level::Subgroup: return "the same in a whole subgroup";
    case check::Level::Lane: return "may differ from lane to lane";
  }
  return "";
}

std::vector<Hint> hints(const Analysis& a, Span range) {
  std::vector<Hint> list;
  if (!a.complete) return list;  // a part that was not read could change levels
  for (const Declaration& d : a.names.declarations) {
    const bool is_local = d.kind == Declaration::Kind::Let || d.kind == Declaration::Kind::Var ||
                          d.kind == Declaration::Kind::For;
    const Span span = a.span_of(d.token);
    if (!is_local || span.last < range.first || span.first > range.last) continue;
    std::optional<check::Level> worst;
    for (const ir::LocalId id : a.locals_at(d.token))
      if (!worst || *worst < a.facts.local_levels[id.index()])
        worst = a.facts.local_levels[id.index()];
    if (worst)
      list.push_back({span.last, std::string(check::name_of(*worst)),
                      fmt::format("`{}` is {}", d.name, meaning_of(*worst))});
  }
  return list;
}

}  // namespace vyre::lsp
