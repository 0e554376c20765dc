// SPDX-License-Identifier: Apache-2.0
#include "pipeline/cache_entry.hpp"

#include <cstring>

#include <gtest/gtest.h>

#include "pipeline/cache_test.hpp"

namespace vyre::pipeline {
namespace {

using test::key_of;

TEST(CacheEntry, NamesSayWhatAFileIs) {
  const CacheKey key = key_of(1);
  const std::string name = entry_name(key);
  EXPECT_EQ(name.size(), 83U + 6U);
  EXPECT_EQ(kind_of(name), FileKind::Entry);
  EXPECT_EQ(kind_of(lock_name(key)), FileKind::Lock);
  EXPECT_EQ(kind_of(temp_name()), FileKind::Temp);
  EXPECT_EQ(kind_of("key"), FileKind::Secret);
  EXPECT_EQ(kind_of("key.lock"), FileKind::Lock);
  std::string upper = name;
  upper[0] = 'A';
  std::string shifted = name;
  std::swap(shifted[16], shifted[17]);
  for (const std::string& other :
       {upper, shifted, name.substr(1), name + "~", std::string("thesis.tex"),
        std::string(".entry"), std::string("key2"), std::string(".."), std::string("tm")})
    EXPECT_EQ(kind_of(other), FileKind::Other) << other;
}

TEST(CacheEntry, TempNamesDiffer) {
  EXPECT_NE(temp_name(), temp_name());
}

TEST(CacheEntry, NamesAgreeByPart) {
  const CacheKey key = key_of(1);
  CacheKey other = key;
  other.policy.bytes[0] ^= 1;
  const PartsEqual equal = parts_equal(entry_name(other), key);
  EXPECT_TRUE(equal.program);
  EXPECT_FALSE(equal.policy);
  EXPECT_TRUE(equal.runtime);
}

// Every bit of every part counts, and so does which part it is.
TEST(CacheKey, CombinedDependsOnEveryBit) {
  const CacheKey key = key_of(1);
  for (Digest CacheKey::* part : {&CacheKey::program, &CacheKey::policy, &CacheKey::runtime}) {
    for (size_t bit = 0; bit < 256; ++bit) {
      CacheKey other = key;
      (other.*part).bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      EXPECT_NE(other.combined(), key.combined());
      EXPECT_NE(entry_name(other), entry_name(key));
    }
  }
  EXPECT_NE((CacheKey{key.policy, key.program, key.runtime}.combined()), key.combined());
}

TEST(CacheEntry, HeaderHasTheWrittenLayout) {
  const CacheKey key = key_of(1);
  const test::Bytes payload(3, std::byte{7});
  const Secret secret{};
  const test::Bytes header = header_of(key, payload, "ab", 0x0102, secret);
  ASSERT_EQ(header.size(), 166U);
  EXPECT_EQ(std::memcmp(header.data(), "VYRECACH\1\0\0\0\xA6\0\0\0\3\0\0\0\0\0\0\0", 24), 0);
  EXPECT_EQ(std::memcmp(header.data() + 24, key.program.bytes.data(), 32), 0);
  EXPECT_EQ(std::memcmp(header.data() + 56, key.policy.bytes.data(), 32), 0);
  EXPECT_EQ(std::memcmp(header.data() + 88, key.runtime.bytes.data(), 32), 0);
  EXPECT_EQ(std::memcmp(header.data() + 120, "\2\1\0\0\0\0\0\0\2\0\0\0ab", 14), 0);
  Secret other = secret;
  other[31] = 1;
  EXPECT_NE(header_of(key, payload, "ab", 0x0102, other), header) << "the checksum is not keyed";
  EXPECT_EQ(header_of(key, payload, std::string(10'000, 'x'), 0, secret).size(),
            kMinHeaderBytes + kMaxAboutBytes);
}

}  // namespace
}  // namespace vyre::pipeline
