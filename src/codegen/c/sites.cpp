// SPDX-License-Identifier: Apache-2.0
#include "codegen/c/sites.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::codegen::c {

using device::KernelStop;

namespace {

Error timeout(const Position& at) {
  return error(ErrorCode::Timeout,
               fmt::format("the dispatch ran longer than its time limit, or was cancelled, in {}. "
                           "Fix: look whether the loop ends, use smaller inputs, or allow more "
                           "time",
                           at.known() ? fmt::format("the loop at line {}", at.line) : "a loop"),
               at);
}

}  // namespace

uint16_t Sites::memory(const std::string& name) {
  const auto found = std::ranges::find(memories_, name);
  const auto number = static_cast<uint16_t>(found - memories_.begin() + 1);
  if (found == memories_.end()) memories_.push_back(name);
  return number;
}

Error Sites::explain(const KernelStop& stop) const {
  if (stop.kind == KernelStop::Kind::Loop && stop.site == kNoSite) return timeout({});
  const bool known = stop.site < sites_.size() && stop.memory <= memories_.size();
  if (known) {
    const Site& site = sites_[stop.site];
    switch (stop.kind) {
      case KernelStop::Kind::None: break;
      case KernelStop::Kind::Loop: return timeout(site.at);
      case KernelStop::Kind::Trap:
        return oracle::trapped_error(
            {.tag = site.tag, .value = stop.value, .lane = stop.lane, .at = site.at});
      case KernelStop::Kind::OutOfBounds: {
        const auto index = static_cast<int64_t>(stop.index);
        const bool negative = index < 0 && site.index_type != ir::Type::U64;
        return oracle::out_of_bounds_error(
            stop.lane, stop.memory != 0 ? memories_[stop.memory - 1U] : site.memory,
            negative ? fmt::format("{}", index) : fmt::format("{}", stop.index), stop.value,
            site.at);
      }
    }
  }
  return error(ErrorCode::Internal,
               "printed code stopped at a place that its program does not have. Fix: report this "
               "as a bug of Vyre");
}

}  // namespace vyre::codegen::c
