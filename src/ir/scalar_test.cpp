// SPDX-License-Identifier: Apache-2.0
#include "ir/scalar.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace vyre::ir {
namespace {

constexpr Bits kMin32 = 0x8000'0000;
constexpr Bits kMinus1 = 0xFFFF'FFFF;
constexpr Bits kMin64 = Bits{1} << 63;
constexpr Bits kMinus1Of64 = ~Bits{0};

Bits run(BinaryOp op, Type type, Bits a, Bits b) {
  return scalar_fn(op, type)(a, b, 0);
}
Bits run(UnaryOp op, Type type, Bits a) {
  return scalar_fn(op, type)(a, 0, 0);
}
Bits run(Intrinsic op, Type type, Bits a, Bits b = 0, Bits c = 0) {
  return scalar_fn(op, type)(a, b, c);
}
Bits cast(Type from, Type to, Bits a) {
  return conversion(from, to)(a, 0, 0);
}
Bits f(float x) {
  return std::bit_cast<uint32_t>(x);
}
Bits d(double x) {
  return std::bit_cast<uint64_t>(x);
}
float to_float(Bits bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Scalar, IntegersWrap) {
  EXPECT_EQ(run(BinaryOp::Add, Type::U32, kMinus1, 2), 1U);
  EXPECT_EQ(run(BinaryOp::Add, Type::I32, 0x7FFF'FFFF, 1), kMin32);
  EXPECT_EQ(run(BinaryOp::Sub, Type::U64, 0, 1), kMinus1Of64);
  EXPECT_EQ(run(BinaryOp::Mul, Type::I32, 0x10000, 0x10000), 0U);
  EXPECT_EQ(run(BinaryOp::Mul, Type::I64, kMin64, kMinus1Of64), kMin64);
  EXPECT_EQ(run(UnaryOp::Neg, Type::U32, 1), kMinus1);
  EXPECT_EQ(run(UnaryOp::Neg, Type::I32, kMin32), kMin32);
  EXPECT_EQ(run(UnaryOp::BitNot, Type::I32, 0), kMinus1);
  EXPECT_EQ(run(UnaryOp::Not, Type::Bool, 1), 0U);
}

TEST(Scalar, DivisionByZeroAndOverflow) {
  for (const Type t : {Type::U32, Type::I32, Type::U64, Type::I64}) {
    EXPECT_EQ(run(BinaryOp::Div, t, 7, 0), 7U);
    EXPECT_EQ(run(BinaryOp::Rem, t, 7, 0), 0U);
  }
  EXPECT_EQ(run(BinaryOp::Div, Type::I32, kMin32, kMinus1), kMin32);
  EXPECT_EQ(run(BinaryOp::Rem, Type::I32, kMin32, kMinus1), 0U);
  EXPECT_EQ(run(BinaryOp::Div, Type::I64, kMin64, kMinus1Of64), kMin64);
  EXPECT_EQ(run(BinaryOp::Rem, Type::I64, kMin64, kMinus1Of64), 0U);
  // Toward zero; the remainder has the sign of the dividend.
  EXPECT_EQ(run(BinaryOp::Div, Type::I32, kMinus1 - 6, 2), kMinus1 - 2);
  EXPECT_EQ(run(BinaryOp::Rem, Type::I32, kMinus1 - 6, 2), kMinus1);
  EXPECT_EQ(run(BinaryOp::Rem, Type::I32, 7, kMinus1 - 1), 1U);
}

TEST(Scalar, ShiftsAndRotatesUseTheLowBitsOfTheAmount) {
  EXPECT_EQ(run(BinaryOp::Shl, Type::U32, 1, 33), 2U);
  EXPECT_EQ(run(BinaryOp::Shl, Type::U64, 1, 65), 2U);
  EXPECT_EQ(run(BinaryOp::Shl, Type::U32, 1, kMinus1Of64), kMin32);  // an amount of -1
  EXPECT_EQ(run(BinaryOp::Shr, Type::U32, kMin32, 32 + 31), 1U);
  EXPECT_EQ(run(BinaryOp::Shr, Type::I32, kMin32, 31), kMinus1);
  EXPECT_EQ(run(BinaryOp::Shr, Type::I64, kMin64, 63), kMinus1Of64);
  EXPECT_EQ(run(Intrinsic::Rotl, Type::U32, 0x8000'0001, 33), 3U);
  EXPECT_EQ(run(Intrinsic::Rotr, Type::I32, 1, 1), kMin32);
  EXPECT_EQ(run(Intrinsic::Rotr, Type::U64, 5, 64), 5U);
}

TEST(Scalar, Comparisons) {
  EXPECT_EQ(run(BinaryOp::Lt, Type::U32, 1, kMinus1), 1U);
  EXPECT_EQ(run(BinaryOp::Lt, Type::I32, 1, kMinus1), 0U);
  EXPECT_EQ(run(BinaryOp::Eq, Type::F32, f(0.0F), f(-0.0F)), 1U);
  for (const BinaryOp op : {BinaryOp::Eq, BinaryOp::Lt, BinaryOp::Le, BinaryOp::Gt, BinaryOp::Ge})
    EXPECT_EQ(run(op, Type::F32, f(kNan), f(kNan)), 0U);
  EXPECT_EQ(run(BinaryOp::Ne, Type::F32, f(kNan), f(1.0F)), 1U);
}

TEST(Scalar, IntegerFunctions) {
  EXPECT_EQ(run(Intrinsic::Abs, Type::I32, kMin32), kMin32);
  EXPECT_EQ(run(Intrinsic::Abs, Type::I32, kMinus1), 1U);
  EXPECT_EQ(run(Intrinsic::AbsDiff, Type::I32, kMin32, 0x7FFF'FFFF), kMinus1);  // modulo 2^32
  EXPECT_EQ(run(Intrinsic::AbsDiff, Type::U32, 3, 10), 7U);
  EXPECT_EQ(run(Intrinsic::Sign, Type::I64, kMin64), kMinus1Of64);
  EXPECT_EQ(run(Intrinsic::SatAdd, Type::U32, kMinus1, 1), kMinus1);
  EXPECT_EQ(run(Intrinsic::SatAdd, Type::I32, kMin32, kMinus1), kMin32);
  EXPECT_EQ(run(Intrinsic::SatAdd, Type::U64, kMinus1Of64, 1), kMinus1Of64);
  EXPECT_EQ(run(Intrinsic::SatSub, Type::U32, 1, 2), 0U);
  EXPECT_EQ(run(Intrinsic::SatSub, Type::I64, 0, kMin64), kMin64 - 1);
  EXPECT_EQ(run(Intrinsic::SatMul, Type::U64, kMin64, 2), kMinus1Of64);
  EXPECT_EQ(run(Intrinsic::SatMul, Type::I64, kMin64, kMinus1Of64), kMin64 - 1);
  EXPECT_EQ(run(Intrinsic::MulHi, Type::U32, kMinus1, kMinus1), kMinus1 - 1);
  EXPECT_EQ(run(Intrinsic::MulHi, Type::I32, kMinus1, kMinus1), 0U);
  EXPECT_EQ(run(Intrinsic::MulHi, Type::U64, kMinus1Of64, kMinus1Of64), kMinus1Of64 - 1);
  EXPECT_EQ(run(Intrinsic::MulHi, Type::I64, kMin64, 2), kMinus1Of64);
  EXPECT_EQ(run(Intrinsic::Clz, Type::U32, 0), 32U);
  EXPECT_EQ(run(Intrinsic::Ctz, Type::I64, 0), 64U);
  EXPECT_EQ(run(Intrinsic::Clz, Type::U32, 1), 31U);
  EXPECT_EQ(run(Intrinsic::Popcount, Type::I64, kMinus1Of64), 64U);
  EXPECT_EQ(run(Intrinsic::ReverseBits, Type::U32, 1), kMin32);
  EXPECT_EQ(run(Intrinsic::Clamp, Type::I32, 5, 7, 6), 6U);  // min(max(x, lo), hi)
  EXPECT_EQ(run(Intrinsic::Select, Type::F64, 0, 1, 2), 2U);
}

TEST(Scalar, FloatFunctions) {
  EXPECT_EQ(run(Intrinsic::Min, Type::F32, f(0.0F), f(-0.0F)), f(-0.0F));
  EXPECT_EQ(run(Intrinsic::Min, Type::F32, f(-0.0F), f(0.0F)), f(-0.0F));
  EXPECT_EQ(run(Intrinsic::Max, Type::F32, f(-0.0F), f(0.0F)), f(0.0F));
  EXPECT_EQ(run(Intrinsic::Min, Type::F32, f(kNan), f(2.0F)), f(2.0F));
  EXPECT_EQ(run(Intrinsic::Max, Type::F64, d(2.0), d(std::nan(""))), d(2.0));
  EXPECT_EQ(run(Intrinsic::Round, Type::F32, f(2.5F)), f(2.0F));
  EXPECT_EQ(run(Intrinsic::Round, Type::F32, f(-0.5F)), f(-0.0F));
  EXPECT_EQ(run(Intrinsic::RoundAway, Type::F32, f(2.5F)), f(3.0F));
  EXPECT_EQ(run(Intrinsic::RoundAway, Type::F32, f(-0.5F)), f(-1.0F));
  EXPECT_EQ(run(Intrinsic::RoundAway, Type::F32, f(0x1.fffffep-2F)), f(0.0F));
  EXPECT_EQ(run(Intrinsic::RoundAway, Type::F32, f(-0.25F)), f(-0.0F));
  EXPECT_EQ(run(Intrinsic::RoundAway, Type::F32, f(8388609.0F)), f(8388609.0F));
  EXPECT_EQ(run(Intrinsic::Trunc, Type::F32, f(-0.9F)), f(-0.0F));
  EXPECT_EQ(run(Intrinsic::Ceil, Type::F64, d(-0.5)), d(-0.0));
  EXPECT_EQ(run(Intrinsic::Sign, Type::F32, f(-0.0F)), f(-0.0F));
  EXPECT_EQ(run(Intrinsic::Sign, Type::F32, f(-kInf)), f(-1.0F));
  EXPECT_EQ(run(Intrinsic::Abs, Type::F32, f(-0.0F)), f(0.0F));
  EXPECT_EQ(run(Intrinsic::Abs, Type::F32, 0xFFC0'1234), 0x7FC0'1234U);  // a NaN keeps its bits
  EXPECT_EQ(run(UnaryOp::Neg, Type::F32, 0x7FC0'1234), 0xFFC0'1234U);
  EXPECT_EQ(run(Intrinsic::IsNan, Type::F32, f(kNan)), 1U);
  EXPECT_EQ(run(Intrinsic::IsInf, Type::F32, f(-kInf)), 1U);
  EXPECT_EQ(run(Intrinsic::IsFinite, Type::F32, f(kInf)), 0U);
  EXPECT_EQ(run(BinaryOp::Div, Type::F32, f(1.0F), f(0.0F)), f(kInf));
  EXPECT_EQ(run(BinaryOp::Div, Type::F32, f(-1.0F), f(0.0F)), f(-kInf));
  EXPECT_TRUE(std::isnan(to_float(run(BinaryOp::Div, Type::F32, f(0.0F), f(0.0F)))));
  // Subnormals are kept.
  EXPECT_EQ(run(BinaryOp::Mul, Type::F32, 1, f(1.0F)), 1U);
  EXPECT_EQ(run(BinaryOp::Sub, Type::F32, 0x0080'0001, 0x0080'0000), 1U);
  // One rounding: fma keeps what the product alone would lose.
  const float x = 1.0F + 0x1p-12F;
  EXPECT_EQ(run(Intrinsic::Fma, Type::F32, f(x), f(x), f(-1.0F)), f(0x1p-11F + 0x1p-24F));
  EXPECT_EQ(run(BinaryOp::Sub, Type::F32, run(BinaryOp::Mul, Type::F32, f(x), f(x)), f(1.0F)),
            f(0x1p-11F));
}

TEST(Scalar, NullWhereAnOperatorIsNotDefined) {
  EXPECT_EQ(scalar_fn(BinaryOp::Rem, Type::F32), nullptr);
  EXPECT_EQ(scalar_fn(BinaryOp::Add, Type::Bool), nullptr);
  EXPECT_EQ(scalar_fn(BinaryOp::Add, Type::U8), nullptr);
  EXPECT_EQ(scalar_fn(Intrinsic::Exp, Type::U64), nullptr);
  EXPECT_EQ(scalar_fn(Intrinsic::Popcount, Type::F32), nullptr);
  EXPECT_EQ(scalar_fn(Intrinsic::Sqrt, Type::U32), nullptr);
  EXPECT_NE(scalar_fn(Intrinsic::Exp, Type::F32), nullptr);
  EXPECT_NE(scalar_fn(Intrinsic::Exp, Type::F64), nullptr);
  EXPECT_NE(scalar_fn(Intrinsic::Recip, Type::F64), nullptr);
}

TEST(Scalar, Conversions) {
  EXPECT_EQ(cast(Type::F32, Type::U32, f(-1.0F)), 0U);
  EXPECT_EQ(cast(Type::F32, Type::U32, f(4294967296.0F)), kMinus1);
  EXPECT_EQ(cast(Type::F32, Type::U32, f(4294967040.0F)), 4294967040U);
  EXPECT_EQ(cast(Type::F32, Type::I32, f(-3.9F)), kMinus1 - 2);
  EXPECT_EQ(cast(Type::F32, Type::I32, f(2147483648.0F)), 0x7FFF'FFFFU);
  EXPECT_EQ(cast(Type::F32, Type::I32, f(-kInf)), kMin32);
  EXPECT_EQ(cast(Type::F32, Type::I64, f(kNan)), 0U);
  EXPECT_EQ(cast(Type::F64, Type::U64, d(18446744073709551616.0)), kMinus1Of64);
  EXPECT_EQ(cast(Type::F64, Type::I64, d(-9223372036854775808.0)), kMin64);
  EXPECT_EQ(cast(Type::I32, Type::U64, kMinus1), kMinus1Of64);  // the sign is extended
  EXPECT_EQ(cast(Type::U32, Type::I64, kMinus1), kMinus1);
  EXPECT_EQ(cast(Type::I64, Type::U32, kMinus1Of64), kMinus1);
  EXPECT_EQ(cast(Type::F32, Type::Bool, f(kNan)), 1U);
  EXPECT_EQ(cast(Type::F32, Type::Bool, f(-0.0F)), 0U);
  EXPECT_EQ(cast(Type::Bool, Type::F64, 1), d(1.0));
  // 2^24 + 1 and 2^53 + 1 round to even; a 64-bit integer goes straight to f32.
  EXPECT_EQ(cast(Type::U32, Type::F32, 16777217), f(16777216.0F));
  EXPECT_EQ(cast(Type::U64, Type::F64, (Bits{1} << 53) + 1), d(0x1p53));
  EXPECT_EQ(cast(Type::U64, Type::F32, 0x8000'0080'0000'0001), f(0x1.000002p63F));
  EXPECT_EQ(cast(Type::F64, Type::F32, d(1.0 + 0x1p-24)), f(1.0F));
}

TEST(Scalar, HalfAndBfloatRoundToNearestEven) {
  // Every half widens and comes back.
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float wide = float_from_half(static_cast<uint16_t>(bits));
    ASSERT_EQ(half_from_float(wide), bits);
    const float wide_b = float_from_bfloat(static_cast<uint16_t>(bits));
    ASSERT_EQ(bfloat_from_float(wide_b), bits);
  }
  EXPECT_EQ(half_from_float(1.0F + 0x1p-11F), 0x3C00);             // tie: to even
  EXPECT_EQ(half_from_float(1.0F + 0x1p-11F + 0x1p-20F), 0x3C01);  // just above
  EXPECT_EQ(half_from_float(1.0F + 3 * 0x1p-11F), 0x3C02);
  EXPECT_EQ(half_from_float(65519.0F), 0x7BFF);
  EXPECT_EQ(half_from_float(65520.0F), 0x7C00);  // infinity
  EXPECT_EQ(half_from_float(0x1p-25F), 0x0000);  // tie with zero
  EXPECT_EQ(half_from_float(0x1.8p-25F), 0x0001);
  EXPECT_EQ(half_from_float(-0x1p-24F), 0x8001);
  EXPECT_EQ(half_from_float(0x1.ffcp-15F), 0x0400);  // rounds up to the first normal
  EXPECT_EQ(bfloat_from_float(1.0F + 0x1p-8F), 0x3F80);
  EXPECT_EQ(bfloat_from_float(1.0F + 3 * 0x1p-8F), 0x3F82);
  EXPECT_EQ(bfloat_from_float(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_TRUE(std::isnan(float_from_bfloat(bfloat_from_float(to_float(0x7F80'0001)))));
}

TEST(Scalar, NansOfStorageTypesKeepSignAndPayload) {
  const auto wide = [](float value) { return f(value); };
  // A load shifts the payload, signalling or not.
  EXPECT_EQ(wide(float_from_half(0x7C01)), 0x7F80'2000U);
  EXPECT_EQ(wide(float_from_half(0xFD55)), 0xFFAA'A000U);
  EXPECT_EQ(wide(float_from_half(0x7E01)), 0x7FC0'2000U);
  EXPECT_EQ(wide(float_from_bfloat(0xFF81)), 0xFF81'0000U);
  // A store keeps the top of it.
  EXPECT_EQ(half_from_float(to_float(0x7F80'2000)), 0x7C01);
  EXPECT_EQ(half_from_float(to_float(0xFFAA'BFFF)), 0xFD55);
  EXPECT_EQ(half_from_float(to_float(0x7FFF'FFFF)), 0x7FFF);
  EXPECT_EQ(bfloat_from_float(to_float(0xFF81'FFFF)), 0xFF81);
  EXPECT_EQ(bfloat_from_float(to_float(0x7FFF'FFFF)), 0x7FFF);
  // Nothing is left of it: it becomes quiet, because else it would be infinite.
  EXPECT_EQ(half_from_float(to_float(0x7F80'0001)), 0x7E00);
  EXPECT_EQ(half_from_float(to_float(0xFF80'1FFF)), 0xFE00);
  EXPECT_EQ(bfloat_from_float(to_float(0x7F80'0001)), 0x7FC0);
  EXPECT_EQ(bfloat_from_float(to_float(0xFF80'FFFF)), 0xFFC0);
}

TEST(Scalar, HalfIsTheNearestOfAllHalves) {
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    // Exponents around the range of a half.
    const uint32_t exponent = 96 + random() % 52;
    const float x = to_float((exponent << 23) | (random() & 0x7F'FFFF));
    const uint16_t got = half_from_float(x);
    if (got == 0x7C00) {
      EXPECT_GE(x, 65520.0F);
      continue;
    }
    const double error =
        std::abs(static_cast<double>(float_from_half(got)) - static_cast<double>(x));
    for (const int step : {-1, 1}) {
      if (got == 0 && step < 0) continue;
      const float other = float_from_half(static_cast<uint16_t>(got + step));
      if (std::isinf(other)) continue;
      const double distance = std::abs(static_cast<double>(other) - static_cast<double>(x));
      ASSERT_LE(error, distance) << x;
      if (error == distance) {
        ASSERT_EQ(got & 1, 0) << x;
      }
    }
  }
}

TEST(Scalar, ElementsInMemory) {
  std::byte memory[8] = {};
  store_element(Type::U8, memory + 1, 0x1FF);
  EXPECT_EQ(load_element(Type::U8, memory + 1), 0xFFU);
  EXPECT_EQ(load_element(Type::I8, memory + 1), kMinus1);
  EXPECT_EQ(memory[0], std::byte{0});
  EXPECT_EQ(memory[2], std::byte{0});
  store_element(Type::I16, memory + 3, kMin32 | 0x8000);
  EXPECT_EQ(load_element(Type::I16, memory + 3), 0xFFFF'8000U);
  EXPECT_EQ(load_element(Type::U16, memory + 3), 0x8000U);
  store_element(Type::Bool, memory, 1);
  EXPECT_EQ(std::to_integer<int>(memory[0]), 1);
  memory[0] = std::byte{0};
  memory[3] = std::byte{4};
  EXPECT_EQ(load_element(Type::Bool, memory), 1U);  // any nonzero word
  store_element(Type::F16, memory, f(-2.0F));
  EXPECT_EQ(load_element(Type::F16, memory), f(-2.0F));
  store_element(Type::BF16, memory, f(3.0F));
  EXPECT_EQ(load_element(Type::BF16, memory), f(3.0F));
}

}  // namespace
}  // namespace vyre::ir
