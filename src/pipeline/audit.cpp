// SPDX-License-Identifier: Apache-2.0
#include "vyre/pipeline/audit.hpp"

#include <limits>

#include "base/check.hpp"

namespace vyre::pipeline {

std::string_view name_of(CacheHit hit) {
  switch (hit) {
    case CacheHit::No: return "no";
    case CacheHit::Yes: return "yes";
    case CacheHit::Unknown: return "unknown";
  }
  VYRE_CHECK(false && "a CacheHit outside its enumeration");
}

std::optional<CacheHit> cache_hit_from_name(std::string_view name) {
  for (const CacheHit hit : {CacheHit::No, CacheHit::Yes, CacheHit::Unknown})
    if (name_of(hit) == name) return hit;
  return std::nullopt;
}

void CacheAudit::add(CacheHit hit) {
  uint64_t& count = hit == CacheHit::Yes ? hits : hit == CacheHit::No ? misses : unknowns;
  if (count != std::numeric_limits<uint64_t>::max()) ++count;
}

std::optional<uint32_t> CacheAudit::rate_basis_points() const {
  const unsigned __int128 answers = static_cast<unsigned __int128>(hits) + misses;
  if (answers == 0) return std::nullopt;
  return static_cast<uint32_t>(static_cast<unsigned __int128>(hits) * 10000 / answers);
}

bool CacheAudit::alarm(uint32_t threshold_basis_points) const {
  const std::optional<uint32_t> rate = rate_basis_points();
  return rate && *rate < threshold_basis_points;
}

}  // namespace vyre::pipeline
