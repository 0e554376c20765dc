// SPDX-License-Identifier: Apache-2.0
#include "cli/compare.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "vyre/run/program.hpp"

namespace vyre::cli {
namespace {

using ir::Type;

template <class T>
std::vector<std::byte> bytes(std::vector<T> values) {
  std::vector<std::byte> all(values.size() * sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), values.data(), all.size());
  return all;
}

TEST(Compare, UlpsAreCountedOverZero) {
  const auto ulps = [](float a, float b) {
    return ulp_distance(Type::F32, bytes<float>({a}), bytes<float>({b}));
  };
  EXPECT_EQ(ulps(1.0F, 1.0F), 0U);
  EXPECT_EQ(ulps(1.0F, std::nextafter(1.0F, 2.0F)), 1U);
  EXPECT_EQ(ulps(-1.0F, std::nextafter(-1.0F, -2.0F)), 1U);
  EXPECT_EQ(ulps(0.0F, -0.0F), 1U);
  EXPECT_EQ(ulps(1e-45F, -1e-45F), 3U);
  EXPECT_EQ(ulps(std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()), 1U);
  EXPECT_EQ(ulps(std::nanf(""), 1.0F), std::nullopt);
  EXPECT_EQ(ulp_distance(Type::F64, bytes<double>({1.0}), bytes<double>({std::nextafter(1.0, 0)})),
            1U);
  EXPECT_EQ(ulp_distance(Type::F16, bytes<uint16_t>({0x3C00}), bytes<uint16_t>({0x3C05})), 5U);
  EXPECT_EQ(ulp_distance(Type::BF16, bytes<uint16_t>({0x8001}), bytes<uint16_t>({0x0001})), 3U);
  EXPECT_EQ(ulp_distance(Type::U32, bytes<uint32_t>({1}), bytes<uint32_t>({2})), std::nullopt);
}

TEST(Compare, AllNansAreEqual) {
  const auto a = bytes<uint32_t>({0x7FC0'0000, 0x3F80'0000});
  const auto b = bytes<uint32_t>({0xFFC1'2345, 0x3F80'0000});
  EXPECT_FALSE(find_difference(Type::F32, a, b));
  EXPECT_EQ(find_difference(Type::U32, a, b)->element, 0U);
  EXPECT_FALSE(find_difference(Type::F16, bytes<uint16_t>({0x7E00}), bytes<uint16_t>({0xFE01})));
  EXPECT_TRUE(find_difference(Type::F32, a, bytes<uint32_t>({0x7F80'0000, 0x3F80'0000})));
}

TEST(Compare, NansOfCopiesGoByTheirBits) {
  const auto differ = [](Type type, auto a, auto b) {
    return find_difference(type, bytes(a), bytes(b), Nans::Exact);
  };
  using Words = std::vector<uint32_t>;
  using Halves = std::vector<uint16_t>;
  const auto d = differ(Type::F32, Words{0x7FC0'0000}, Words{0x7FA0'0000});
  ASSERT_TRUE(d.has_value());
  EXPECT_EQ(d->wanted, "nan (0x7fc00000)");
  EXPECT_EQ(d->given, "nan (0x7fa00000)");
  EXPECT_EQ(d->ulps, std::nullopt);
  EXPECT_TRUE(differ(Type::F16, Halves{0x7D01}, Halves{0x7F01}));
  EXPECT_TRUE(differ(Type::BF16, Halves{0x7F81}, Halves{0x7FC1}));
  EXPECT_FALSE(differ(Type::F16, Halves{0x7D01}, Halves{0x7D01}));
}

TEST(Compare, TheFirstDifferenceAndTheLargest) {
  const auto wanted = bytes<float>({1.0F, 2.0F, 3.0F, 4.0F});
  const auto given = bytes<float>({1.0F, std::nextafter(2.0F, 3.0F), 3.0F, 5.0F});
  const auto d = find_difference(Type::F32, wanted, given);
  ASSERT_TRUE(d.has_value());
  EXPECT_EQ(d->count, 2U);
  EXPECT_EQ(d->element, 1U);
  EXPECT_EQ(d->wanted, "2");
  EXPECT_EQ(d->given, "2.0000002");
  EXPECT_EQ(d->ulps, 1U);
  EXPECT_EQ(d->most_ulps, uint64_t{1} << 21);
}

TEST(Compare, LengthsAndSimilarBits) {
  const auto longer = find_difference(Type::U32, bytes<uint32_t>({1, 2}), bytes<uint32_t>({1}));
  ASSERT_TRUE(longer.has_value());
  EXPECT_EQ(longer->count, 0U);
  // Any nonzero bool is true, but a store writes 1.
  const auto odd = find_difference(Type::Bool, bytes<uint32_t>({1}), bytes<uint32_t>({2}));
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->wanted, "true (0x1)");
  EXPECT_EQ(odd->given, "true (0x2)");
}

TEST(Compare, TheLaneThatWrote) {
  const auto lane = [](std::string_view body) {
    const auto checked = run::parse_checked("program p {\n  workgroup 4;\n  inout o : u32[];\n" +
                                            std::string(body) + "\n}\n");
    EXPECT_TRUE(checked.has_value()) << (checked ? "" : to_string(checked.error()));
    return writer_of(*checked, ir::BufferId{0}, 7);
  };
  EXPECT_EQ(lane("o[gid.x] = 1;"), 7U);
  EXPECT_EQ(lane("let i = gid.x;\nif i < 3 {\n  o[i] += 2;\n}"), 7U);
  EXPECT_EQ(lane("o[gid.x + 1] = 1;"), std::nullopt);
  EXPECT_EQ(lane("o[gid.x] = 1;\no[0] = 2;"), std::nullopt);
  EXPECT_EQ(lane("var i = gid.x;\ni += 1;\no[i] = 1;"), std::nullopt);
  EXPECT_EQ(lane("o[gid.x] = 1;\natomic_add(o[3], 1);"), std::nullopt);
  EXPECT_EQ(lane("o[lid.x] = 1;"), std::nullopt);
}

}  // namespace
}  // namespace vyre::cli
