// SPDX-License-Identifier: Apache-2.0
// Does the cache of compiled programs do its work? Answers are counted here, and a rate below a
// threshold is an alarm.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace vyre::pipeline {

enum class CacheHit : uint8_t { No, Yes, Unknown };
// "no", "yes", "unknown"
std::string_view name_of(CacheHit hit);
std::optional<CacheHit> cache_hit_from_name(std::string_view name);

struct CacheAudit {
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t unknowns = 0;  // in no rate

  void add(CacheHit hit);
  // Hits of 10000 answers, rounded down; none without a hit or miss.
  [[nodiscard]] std::optional<uint32_t> rate_basis_points() const;
  // Never without data or with threshold 0.
  [[nodiscard]] bool alarm(uint32_t threshold_basis_points) const;
  friend bool operator==(const CacheAudit&, const CacheAudit&) = default;
};

}  // namespace vyre::pipeline
