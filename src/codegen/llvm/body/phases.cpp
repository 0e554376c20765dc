// SPDX-License-Identifier: Apache-2.0
#include "codegen/llvm/body/phases.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "ir/properties.hpp"

namespace vyre::codegen {

using namespace ir;

bool needs_workgroup(const check::CheckedProgram& checked) {
  const Program& p = checked.program;
  const auto synchronises = [](const auto& node) {
    const auto scope = properties_of(node).synchronises;
    return scope && *scope != Scope::Subgroup;
  };
  return std::ranges::any_of(p.stmts, synchronises) || std::ranges::any_of(p.exprs, synchronises);
}

Phases Phases::whole(const check::CheckedProgram& segment) {
  Phases phases;
  phases.segment_ = &segment;
  return phases;
}

Result<Phases> Phases::make(const check::CheckedProgram& segment, bool checked) {
  Phases phases = whole(segment);
  if (!needs_workgroup(segment)) return phases;
  VYRE_TRY_ASSIGN(auto cut, plan::cut_workgroup(segment, checked));
  phases.cut_ = std::move(cut);
  uint32_t base = 0;
  for (size_t i = 0; i < phases.count(); ++i) {
    const Program& p = phases.program(i).program;
    phases.first_site_.push_back(base);
    base += 2 * static_cast<uint32_t>(std::max(p.exprs.size(), p.stmts.size()));
  }
  return phases;
}

uint32_t Phases::site(size_t phase, SiteRef place) const {
  const uint32_t base = first_site_.empty() ? 0 : first_site_[phase];
  return base + uncut_site(place);
}

uint32_t uncut_site(SiteRef place) {
  return place.expr.valid() ? 2 * place.expr.value : 2 * place.stmt.value + 1;
}

std::optional<Phases::Place> Phases::place(uint32_t site) const {
  for (size_t i = 0; i < count(); ++i) {
    const Program& p = program(i).program;
    const auto size = 2 * static_cast<uint32_t>(std::max(p.exprs.size(), p.stmts.size()));
    if (site < size) {
      Place place{i, {}};
      if (site % 2 == 0)
        place.at.expr = ExprId{site / 2};
      else
        place.at.stmt = StmtId{site / 2};
      return place;
    }
    site -= size;
  }
  return std::nullopt;
}

}  // namespace vyre::codegen
