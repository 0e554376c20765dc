// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 in memory, f32 in registers.
//
// NaNs go by their bits, which conversion instructions do not keep: x86 makes signalling NaNs quiet
// and PTX gives one canonical NaN. So NaNs are converted in integers and chosen by a select; where
// arithmetic makes or takes the value, whose NaNs have no particular bits, the pass NanBits removes
// the select again.
#include <llvm/IR/PatternMatch.h>

#include "codegen/llvm/body/values.hpp"
#include "codegen/llvm/nan_bits.hpp"

namespace vyre::codegen {

namespace {

// The bits that a value was loaded from, if it comes straight from half_to_float(), or is bf16 bits
// moved up. Narrowing undoes widening for every pattern, so a copy needs neither.
llvm::Value* loaded_half(llvm::Value* value) {
  const auto* const select = llvm::dyn_cast<llvm::SelectInst>(value);
  const auto* const wide =
      select != nullptr ? llvm::dyn_cast<llvm::FPExtInst>(select->getFalseValue()) : nullptr;
  const auto* const half =
      wide != nullptr ? llvm::dyn_cast<llvm::BitCastInst>(wide->getOperand(0)) : nullptr;
  if (half == nullptr || !half->getSrcTy()->getScalarType()->isIntegerTy(16)) return nullptr;
  return half->getOperand(0);
}

llvm::Value* loaded_bfloat(llvm::Value* value) {
  using namespace llvm::PatternMatch;
  llvm::Value* bits = nullptr;
  const bool is = match(value, m_BitCast(m_Shl(m_ZExt(m_Value(bits)), m_SpecificInt(16))));
  return is && bits->getType()->getScalarType()->isIntegerTy(16) ? bits : nullptr;
}

}  // namespace

// `bits` as an f32 if it is a NaN. Of anything else the exponent is not that of a NaN either, so
// the result is a NaN exactly if `bits` is one.
llvm::Value* Arithmetic::nan_of_half(llvm::Value* bits) {
  llvm::Type* const word = with_shape_of(bits, b_.getInt32Ty());
  // Copies of the sign lie where the exponent has three bits more.
  llvm::Value* const shifted = b_.CreateShl(b_.CreateSExt(bits, word), number(word, 13));
  return b_.CreateBitCast(b_.CreateOr(shifted, number(word, 0x7000'0000)),
                          with_shape_of(bits, b_.getFloatTy()));
}

llvm::Value* Arithmetic::half_to_float(llvm::Value* bits) {
  llvm::Type* const real = with_shape_of(bits, b_.getFloatTy());
  if (half_conversions_) {
    llvm::Value* const nan = nan_of_half(bits);
    llvm::Value* const converted =
        b_.CreateFPExt(b_.CreateBitCast(bits, with_shape_of(bits, b_.getHalfTy())), real);
    return b_.CreateSelect(b_.CreateFCmpUNO(nan, nan), nan, converted);
  }
  // The exponent moves by a multiplication, which is exact also for subnormal numbers.
  llvm::Type* const word = with_shape_of(bits, b_.getInt32Ty());
  llvm::Value* const w = b_.CreateZExt(bits, word);
  llvm::Value* const sign = b_.CreateShl(b_.CreateAnd(w, number(word, 0x8000)), number(word, 16));
  llvm::Value* const magnitude = b_.CreateAnd(w, number(word, 0x7FFF));
  llvm::Value* const shifted = b_.CreateShl(magnitude, number(word, 13));
  llvm::Value* const scaled = b_.CreateBitCast(
      b_.CreateFMul(b_.CreateBitCast(shifted, real), llvm::ConstantFP::get(real, 0x1p112)), word);
  llvm::Value* const special =
      b_.CreateOr(shifted, number(word, 0x7F80'0000));  // infinities and NaNs
  llvm::Value* const result =
      b_.CreateSelect(b_.CreateICmpUGE(magnitude, number(word, 0x7C00)), special, scaled);
  return b_.CreateBitCast(b_.CreateOr(result, sign), real);
}

// `kept` has the bits that are left of a NaN; those of `payload` must not all be zero, because that
// would be an infinity.
llvm::Value* Arithmetic::kept_nan(llvm::Value* kept, uint64_t payload, uint64_t quiet) {
  llvm::Type* const t = kept->getType();
  llvm::Value* const none = b_.CreateICmpEQ(b_.CreateAnd(kept, number(t, payload)), number(t, 0));
  return b_.CreateOr(kept, b_.CreateSelect(none, number(t, quiet), number(t, 0)));
}

llvm::Value* Arithmetic::float_to_half(llvm::Value* value) {
  if (llvm::Value* const bits = loaded_half(value)) return bits;
  llvm::Type* const out = with_shape_of(value, b_.getInt16Ty());
  llvm::Type* const word = with_shape_of(value, b_.getInt32Ty());
  llvm::Type* const real = value->getType();
  llvm::Value* const w = b_.CreateBitCast(value, word);
  llvm::Value* const sign = b_.CreateAnd(b_.CreateLShr(w, number(word, 16)), number(word, 0x8000));
  // Of a NaN: all ones in the exponent and the top of the payload.
  llvm::Value* const kept = b_.CreateAnd(b_.CreateLShr(w, number(word, 13)), number(word, 0x7FFF));
  llvm::Value* const nan = kept_nan(kept, 0x3FF, 0x200);
  if (half_conversions_) {
    llvm::Value* const converted =
        b_.CreateBitCast(b_.CreateFPTrunc(value, with_shape_of(value, b_.getHalfTy())), out);
    return b_.CreateSelect(b_.CreateFCmpUNO(value, value),
                           b_.CreateTrunc(b_.CreateOr(nan, sign), out), converted);
  }
  llvm::Value* const magnitude = b_.CreateAnd(w, number(word, 0x7FFF'FFFF));
  // Normal results: round the 13 bits that go. A carry into the exponent is right, up to infinity.
  llvm::Value* const odd =
      b_.CreateAnd(b_.CreateLShr(magnitude, number(word, 13)), number(word, 1));
  llvm::Value* const rounded = b_.CreateAdd(
      b_.CreateAdd(b_.CreateSub(magnitude, number(word, 0x3800'0000)), number(word, 0xFFF)), odd);
  llvm::Value* const normal = b_.CreateLShr(rounded, number(word, 13));
  // Small results: adding 0.5 leaves units of 2^-24 in the lowest bits, rounded by the addition.
  llvm::Value* const sum =
      b_.CreateFAdd(b_.CreateBitCast(magnitude, real), llvm::ConstantFP::get(real, 0.5));
  llvm::Value* const small = b_.CreateSub(b_.CreateBitCast(sum, word), number(word, 0x3F00'0000));
  llvm::Value* r =
      b_.CreateSelect(b_.CreateICmpULT(magnitude, number(word, 0x3880'0000)), small, normal);
  r = b_.CreateSelect(b_.CreateICmpUGE(magnitude, number(word, 0x4780'0000)), number(word, 0x7C00),
                      r);
  r = b_.CreateSelect(b_.CreateICmpUGT(magnitude, number(word, 0x7F80'0000)), nan, r);
  return b_.CreateTrunc(b_.CreateOr(r, sign), out);
}

// In integers: the instruction that some processors have flushes subnormal numbers.
llvm::Value* Arithmetic::float_to_bfloat(llvm::Value* value) {
  if (llvm::Value* const bits = loaded_bfloat(value)) return bits;
  llvm::Type* const word = with_shape_of(value, b_.getInt32Ty());
  llvm::Value* const w = b_.CreateBitCast(value, word);
  llvm::Value* const high = b_.CreateLShr(w, number(word, 16));
  llvm::Value* const rounded = b_.CreateLShr(
      b_.CreateAdd(b_.CreateAdd(w, number(word, 0x7FFF)), b_.CreateAnd(high, number(word, 1))),
      number(word, 16));
  llvm::Value* const is_nan =
      b_.CreateICmpUGT(b_.CreateAnd(w, number(word, 0x7FFF'FFFF)), number(word, 0x7F80'0000));
  llvm::Value* const nan = is_made_by_arithmetic(value) ? b_.CreateOr(high, number(word, 0x40))
                                                        : kept_nan(high, 0x7F, 0x40);
  return b_.CreateTrunc(b_.CreateSelect(is_nan, nan, rounded),
                        with_shape_of(value, b_.getInt16Ty()));
}

}  // namespace vyre::codegen
