// SPDX-License-Identifier: Apache-2.0
// D-PIPE.6
#include "vyre/pipeline/audit.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace vyre::pipeline {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

std::optional<uint32_t> rate(uint64_t hits, uint64_t misses, uint64_t unknowns = 0) {
  return CacheAudit{.hits = hits, .misses = misses, .unknowns = unknowns}.rate_basis_points();
}

TEST(CacheAudit, TheExampleOfTheSpecification) {
  CacheAudit audit;
  for (const CacheHit hit : {CacheHit::Yes, CacheHit::No, CacheHit::Unknown, CacheHit::Yes})
    audit.add(hit);
  EXPECT_EQ(audit, (CacheAudit{.hits = 2, .misses = 1, .unknowns = 1}));
  EXPECT_EQ(audit.rate_basis_points(), 6666U);
  EXPECT_TRUE(audit.alarm(7000));
}

TEST(CacheAudit, NoAlarmWithoutData) {
  EXPECT_EQ(rate(0, 0), std::nullopt);
  EXPECT_EQ(rate(0, 0, 9), std::nullopt) << "unknown is no data";
  EXPECT_FALSE(CacheAudit{}.alarm(10000));
  EXPECT_FALSE(CacheAudit{.unknowns = 9}.alarm(10000));
}

TEST(CacheAudit, ThresholdZeroNeverAlarms) {
  EXPECT_FALSE((CacheAudit{.misses = 5}.alarm(0)));
  EXPECT_TRUE((CacheAudit{.misses = 5}.alarm(1)));
}

TEST(CacheAudit, TheAlarmIsBelowTheThresholdOnly) {
  const CacheAudit half{.hits = 1, .misses = 1};
  EXPECT_FALSE(half.alarm(4999));
  EXPECT_FALSE(half.alarm(5000));
  EXPECT_TRUE(half.alarm(5001));
  EXPECT_FALSE((CacheAudit{.hits = 3}.alarm(10000)));
}

TEST(CacheAudit, RatesRoundDown) {
  EXPECT_EQ(rate(0, 3), 0U);
  EXPECT_EQ(rate(3, 0), 10000U);
  EXPECT_EQ(rate(9999, 1), 9999U);
  EXPECT_EQ(rate(99999, 1), 9999U);
  EXPECT_EQ(rate(1, 10000), 0U);
}

TEST(CacheAudit, LargeCountsDoNotOverflow) {
  EXPECT_EQ(rate(kMax, kMax), 5000U);
  EXPECT_EQ(rate(kMax, 0), 10000U);
  EXPECT_EQ(rate(kMax, 1), 9999U);
  EXPECT_EQ(rate(1, kMax), 0U);
  EXPECT_EQ(rate(kMax / 2, kMax), 3333U);
  CacheAudit full{.hits = kMax, .misses = kMax, .unknowns = kMax};
  const CacheAudit before = full;
  for (const CacheHit hit : {CacheHit::Yes, CacheHit::No, CacheHit::Unknown}) full.add(hit);
  EXPECT_EQ(full, before);
}

TEST(CacheHit, NamesThereAndBack) {
  EXPECT_EQ(name_of(CacheHit::No), "no");
  EXPECT_EQ(name_of(CacheHit::Yes), "yes");
  EXPECT_EQ(name_of(CacheHit::Unknown), "unknown");
  for (const CacheHit hit : {CacheHit::No, CacheHit::Yes, CacheHit::Unknown})
    EXPECT_EQ(cache_hit_from_name(name_of(hit)), hit);
  for (const char* name : {"", "Yes", "true", "yes "})
    EXPECT_EQ(cache_hit_from_name(name), std::nullopt) << name;
}

}  // namespace
}  // namespace vyre::pipeline
