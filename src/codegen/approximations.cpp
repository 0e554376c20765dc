// SPDX-License-Identifier: Apache-2.0
#include "codegen/approximations.hpp"

#include <algorithm>
#include <variant>

namespace vyre::codegen {

using namespace ir;

uint32_t ulps_of(std::span<const Approximation> table, const check::CheckedProgram& program,
                 uint32_t ulp_budget) {
  uint32_t ulps = 0;
  if (ulp_budget == 0 || table.empty()) return ulps;
  const Program& p = program.program;
  for (size_t i = 0; i < p.exprs.size(); ++i) {
    const auto* const call = std::get_if<IntrinsicCall>(&p.exprs[i]);
    if (call == nullptr || !program.expr_types[i]) continue;
    if (const auto* const row =
            find_approximation(table, call->op, *program.expr_types[i], ulp_budget))
      ulps = std::max(ulps, row->ulps);
  }
  return ulps;
}

}  // namespace vyre::codegen
