// SPDX-License-Identifier: Apache-2.0
#include "base/check.hpp"
#include "codegen/llvm/body/values.hpp"

namespace vyre::codegen {

using namespace ir;
namespace in = llvm::Intrinsic;

llvm::Type* type_of(Type type, llvm::LLVMContext& context) {
  switch (type) {
    case Type::Bool: return llvm::Type::getInt1Ty(context);
    case Type::U32:
    case Type::I32: return llvm::Type::getInt32Ty(context);
    case Type::U64:
    case Type::I64: return llvm::Type::getInt64Ty(context);
    case Type::F32: return llvm::Type::getFloatTy(context);
    case Type::F64: return llvm::Type::getDoubleTy(context);
    case Type::U8:
    case Type::I8:
    case Type::U16:
    case Type::I16:
    case Type::F16:
    case Type::BF16: break;
  }
  VYRE_CHECK(!"a storage type is no value");
}

llvm::Value* byte_address(Builder& b, llvm::Value* base, uint64_t offset) {
  return offset == 0 ? base : b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), base, offset);
}

llvm::LoadInst* invariant_load(Builder& b, llvm::Type* type, llvm::Value* base, uint64_t offset) {
  llvm::LoadInst* const load = b.CreateLoad(type, byte_address(b, base, offset));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  return load;
}

llvm::Type* element_type(Type type, llvm::LLVMContext& context) {
  switch (type) {
    case Type::Bool: return llvm::Type::getInt32Ty(context);
    case Type::U8:
    case Type::I8: return llvm::Type::getInt8Ty(context);
    case Type::U16:
    case Type::I16:
    case Type::F16:
    case Type::BF16: return llvm::Type::getInt16Ty(context);
    case Type::U32:
    case Type::I32:
    case Type::U64:
    case Type::I64:
    case Type::F32:
    case Type::F64: return type_of(type, context);
  }
  return nullptr;
}

llvm::Type* with_shape_of(const llvm::Value* like, llvm::Type* scalar) {
  if (const auto* vector = llvm::dyn_cast<llvm::VectorType>(like->getType()))
    return llvm::VectorType::get(scalar, vector->getElementCount());
  return scalar;
}

llvm::Value* Arithmetic::splat(const Val& value) const {
  if (value.varying || lanes_ == 1) return value.v;
  return b_.CreateVectorSplat(lanes_, value.v);
}

bool Arithmetic::align(Val& a, Val& b) const {
  const bool varying = a.varying || b.varying;
  if (varying) {
    a.v = splat(a);
    b.v = splat(b);
  }
  return varying;
}

llvm::Value* Arithmetic::call(in::ID id, std::initializer_list<llvm::Value*> args) {
  llvm::Value* const first = *args.begin();
  return b_.CreateIntrinsic(id, {first->getType()}, llvm::ArrayRef<llvm::Value*>(args));
}

Val Arithmetic::unary(UnaryOp op, Type type, Val x) {
  switch (op) {
    case UnaryOp::Neg: return {is_float(type) ? b_.CreateFNeg(x.v) : b_.CreateNeg(x.v), x.varying};
    case UnaryOp::Not:
    case UnaryOp::BitNot: return {b_.CreateNot(x.v), x.varying};
  }
  return {};
}

llvm::Value* Arithmetic::compare(BinaryOp op, Type type, llvm::Value* x, llvm::Value* y) {
  using P = llvm::CmpInst::Predicate;
  const bool s = is_signed(type);
  P p = P::ICMP_EQ;
  if (is_float(type)) {
    switch (op) {
      case BinaryOp::Eq: p = P::FCMP_OEQ; break;
      case BinaryOp::Ne: p = P::FCMP_UNE; break;
      case BinaryOp::Lt: p = P::FCMP_OLT; break;
      case BinaryOp::Le: p = P::FCMP_OLE; break;
      case BinaryOp::Gt: p = P::FCMP_OGT; break;
      default: p = P::FCMP_OGE; break;
    }
    return b_.CreateFCmp(p, x, y);
  }
  switch (op) {
    case BinaryOp::Eq: p = P::ICMP_EQ; break;
    case BinaryOp::Ne: p = P::ICMP_NE; break;
    case BinaryOp::Lt: p = s ? P::ICMP_SLT : P::ICMP_ULT; break;
    case BinaryOp::Le: p = s ? P::ICMP_SLE : P::ICMP_ULE; break;
    case BinaryOp::Gt: p = s ? P::ICMP_SGT : P::ICMP_UGT; break;
    default: p = s ? P::ICMP_SGE : P::ICMP_UGE; break;
  }
  return b_.CreateICmp(p, x, y);
}

// x / 0 = x and x % 0 = 0; MIN / -1 = MIN and MIN % -1 = 0. No operand of the division is a select
// of the divisor: LLVM 19 considers the division by each arm of one, and where a lane of a constant
// arm is zero it takes all lanes for undefined.
llvm::Value* Arithmetic::divide(Type type, llvm::Value* x, llvm::Value* y, bool remainder) {
  llvm::Type* const t = x->getType();
  llvm::Value* const divisor = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, y, number(t, 1));
  if (!is_signed(type)) return remainder ? b_.CreateURem(x, divisor) : b_.CreateUDiv(x, divisor);
  llvm::Value* const minus_one = b_.CreateICmpEQ(y, llvm::Constant::getAllOnesValue(t));
  llvm::Value* const harmless = b_.CreateSelect(minus_one, number(t, 0), x);
  if (remainder) return b_.CreateSRem(harmless, divisor);
  return b_.CreateSelect(minus_one, b_.CreateNeg(x), b_.CreateSDiv(harmless, divisor));
}

llvm::Value* Arithmetic::shift_amount(llvm::Type* type, llvm::Value* amount) {
  amount = b_.CreateZExtOrTrunc(amount, type);
  return b_.CreateAnd(amount, number(type, type->getScalarSizeInBits() - 1));
}

Val Arithmetic::binary(BinaryOp op, Type type, Val x, Val y, Type /*right_type*/) {
  // Sums of a lane's number along x and something uniform stay such sums.
  llvm::Value* offset = nullptr;
  if (lanes_ > 1 && bits_of(type) == 32 && is_integer(type)) {
    if (op == BinaryOp::Add && x.offset != nullptr && !y.varying)
      offset = b_.CreateAdd(x.offset, y.v);
    else if (op == BinaryOp::Add && y.offset != nullptr && !x.varying)
      offset = b_.CreateAdd(y.offset, x.v);
    else if (op == BinaryOp::Sub && x.offset != nullptr && !y.varying)
      offset = b_.CreateSub(x.offset, y.v);
  }
  const bool varying = align(x, y);
  const auto made = [&](llvm::Value* v) { return Val{v, varying, offset}; };
  const bool f = is_float(type);
  switch (op) {
    case BinaryOp::LogicalOr:
    case BinaryOp::Or: return made(b_.CreateOr(x.v, y.v));
    case BinaryOp::LogicalAnd:
    case BinaryOp::And: return made(b_.CreateAnd(x.v, y.v));
    case BinaryOp::Xor: return made(b_.CreateXor(x.v, y.v));
    case BinaryOp::Eq:
    case BinaryOp::Ne:
    case BinaryOp::Lt:
    case BinaryOp::Le:
    case BinaryOp::Gt:
    case BinaryOp::Ge: return made(compare(op, type, x.v, y.v));
    case BinaryOp::Shl: return made(b_.CreateShl(x.v, shift_amount(x.v->getType(), y.v)));
    case BinaryOp::Shr: {
      llvm::Value* const amount = shift_amount(x.v->getType(), y.v);
      return made(is_signed(type) ? b_.CreateAShr(x.v, amount) : b_.CreateLShr(x.v, amount));
    }
    case BinaryOp::Add: return made(f ? b_.CreateFAdd(x.v, y.v) : b_.CreateAdd(x.v, y.v));
    case BinaryOp::Sub: return made(f ? b_.CreateFSub(x.v, y.v) : b_.CreateSub(x.v, y.v));
    case BinaryOp::Mul: return made(f ? b_.CreateFMul(x.v, y.v) : b_.CreateMul(x.v, y.v));
    case BinaryOp::Div: return made(f ? b_.CreateFDiv(x.v, y.v) : divide(type, x.v, y.v, false));
    case BinaryOp::Rem: return made(divide(type, x.v, y.v, true));
  }
  return {};
}

// One NaN is ignored, and -0 is below +0: of two equal numbers the sign bits are joined.
llvm::Value* Arithmetic::minimum(Type type, llvm::Value* x, llvm::Value* y) {
  if (!is_float(type)) return call(is_signed(type) ? in::smin : in::umin, {x, y});
  llvm::Type* const bits =
      with_shape_of(x, b_.getIntNTy(static_cast<unsigned>(x->getType()->getScalarSizeInBits())));
  llvm::Value* const joined = b_.CreateBitCast(
      b_.CreateOr(b_.CreateBitCast(x, bits), b_.CreateBitCast(y, bits)), x->getType());
  llvm::Value* const smaller = b_.CreateSelect(b_.CreateFCmpOLT(y, x), y, x);
  llvm::Value* const result = b_.CreateSelect(b_.CreateFCmpOEQ(x, y), joined, smaller);
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), y, result);
}

llvm::Value* Arithmetic::maximum(Type type, llvm::Value* x, llvm::Value* y) {
  if (!is_float(type)) return call(is_signed(type) ? in::smax : in::umax, {x, y});
  llvm::Type* const bits =
      with_shape_of(x, b_.getIntNTy(static_cast<unsigned>(x->getType()->getScalarSizeInBits())));
  llvm::Value* const joined = b_.CreateBitCast(
      b_.CreateAnd(b_.CreateBitCast(x, bits), b_.CreateBitCast(y, bits)), x->getType());
  llvm::Value* const larger = b_.CreateSelect(b_.CreateFCmpOLT(x, y), y, x);
  llvm::Value* const result = b_.CreateSelect(b_.CreateFCmpOEQ(x, y), joined, larger);
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), y, result);
}

llvm::Value* Arithmetic::high_product(Type type, llvm::Value* x, llvm::Value* y) {
  const auto width = static_cast<unsigned>(x->getType()->getScalarSizeInBits());
  llvm::Type* const wide = with_shape_of(x, b_.getIntNTy(width * 2));
  const auto extend = [&](llvm::Value* v) {
    return is_signed(type) ? b_.CreateSExt(v, wide) : b_.CreateZExt(v, wide);
  };
  llvm::Value* const product = b_.CreateMul(extend(x), extend(y));
  return b_.CreateTrunc(b_.CreateLShr(product, number(wide, width)), x->getType());
}

llvm::Value* Arithmetic::saturated_product(Type type, llvm::Value* x, llvm::Value* y) {
  llvm::Type* const t = x->getType();
  const auto width = static_cast<unsigned>(t->getScalarSizeInBits());
  llvm::Value* const low = b_.CreateMul(x, y);
  llvm::Value* const high = high_product(type, x, y);
  if (!is_signed(type))
    return b_.CreateSelect(b_.CreateICmpEQ(high, number(t, 0)), low,
                           llvm::Constant::getAllOnesValue(t));
  // It fits if the upper half only repeats the sign of the lower one.
  llvm::Value* const fits = b_.CreateICmpEQ(high, b_.CreateAShr(low, number(t, width - 1)));
  llvm::Value* const negative = b_.CreateICmpSLT(high, number(t, 0));
  llvm::Constant* const most = llvm::ConstantInt::get(t, llvm::APInt::getSignedMaxValue(width));
  llvm::Constant* const least = llvm::ConstantInt::get(t, llvm::APInt::getSignedMinValue(width));
  return b_.CreateSelect(fits, low, b_.CreateSelect(negative, least, most));
}

llvm::Value* Arithmetic::sign(Type type, llvm::Value* x) {
  llvm::Type* const t = x->getType();
  if (is_float(type)) {
    llvm::Value* const one = llvm::ConstantFP::get(t, 1.0);
    // Unordered or equal to zero: x itself.
    llvm::Value* const self = b_.CreateFCmpUEQ(x, llvm::ConstantFP::get(t, 0.0));
    return b_.CreateSelect(self, x, call(in::copysign, {one, x}));
  }
  llvm::Value* const positive = b_.CreateZExt(
      is_signed(type) ? b_.CreateICmpSGT(x, number(t, 0)) : b_.CreateICmpNE(x, number(t, 0)), t);
  if (!is_signed(type)) return positive;
  return b_.CreateSub(positive, b_.CreateZExt(b_.CreateICmpSLT(x, number(t, 0)), t));
}

Val Arithmetic::select(Val condition, Val yes, Val no) {
  const bool varying = condition.varying || yes.varying || no.varying;
  if (varying) {
    yes.v = splat(yes);
    no.v = splat(no);
  }
  return {b_.CreateSelect(condition.v, yes.v, no.v), varying};
}

Val Arithmetic::intrinsic(Intrinsic op, Type type, const std::array<Val, 3>& args,
                          const std::array<Type, 3>& /*types*/) {
  if (op == Intrinsic::Select) return select(args[0], args[1], args[2]);
  std::array<Val, 3> a = args;
  bool varying = false;
  const auto count = static_cast<size_t>(arity_of(op));
  for (size_t i = 0; i < count; ++i) varying = varying || a[i].varying;
  if (varying)
    for (size_t i = 0; i < count; ++i) a[i].v = splat(a[i]);
  llvm::Value* const x = a[0].v;
  llvm::Value* const y = a[1].v;
  llvm::Value* const z = a[2].v;
  const auto made = [&](llvm::Value* v) { return Val{v, varying}; };
  const bool s = is_signed(type);
  const bool f = is_float(type);
  switch (op) {
    case Intrinsic::Min: return made(minimum(type, x, y));
    case Intrinsic::Max: return made(maximum(type, x, y));
    case Intrinsic::Clamp: return made(minimum(type, maximum(type, x, y), z));
    case Intrinsic::Abs:
      if (f) return made(call(in::fabs, {x}));
      return made(s ? b_.CreateIntrinsic(in::abs, {x->getType()}, {x, b_.getFalse()}) : x);
    case Intrinsic::AbsDiff:
      return made(b_.CreateSelect(s ? b_.CreateICmpSLT(x, y) : b_.CreateICmpULT(x, y),
                                  b_.CreateSub(y, x), b_.CreateSub(x, y)));
    case Intrinsic::Sign: return made(sign(type, x));
    case Intrinsic::SatAdd: return made(call(s ? in::sadd_sat : in::uadd_sat, {x, y}));
    case Intrinsic::SatSub: return made(call(s ? in::ssub_sat : in::usub_sat, {x, y}));
    case Intrinsic::SatMul: return made(saturated_product(type, x, y));
    case Intrinsic::MulHi: return made(high_product(type, x, y));
    case Intrinsic::Rotl: return made(call(in::fshl, {x, x, shift_amount(x->getType(), y)}));
    case Intrinsic::Rotr: return made(call(in::fshr, {x, x, shift_amount(x->getType(), y)}));
    case Intrinsic::Popcount: return made(call(in::ctpop, {x}));
    case Intrinsic::Clz:
      return made(b_.CreateIntrinsic(in::ctlz, {x->getType()}, {x, b_.getFalse()}));
    case Intrinsic::Ctz:
      return made(b_.CreateIntrinsic(in::cttz, {x->getType()}, {x, b_.getFalse()}));
    case Intrinsic::ReverseBits: return made(call(in::bitreverse, {x}));
    case Intrinsic::Fma: return made(call(in::fma, {x, y, z}));
    case Intrinsic::Sqrt: return made(call(in::sqrt, {x}));
    case Intrinsic::Floor: return made(call(in::floor, {x}));
    case Intrinsic::Ceil: return made(call(in::ceil, {x}));
    case Intrinsic::Trunc: return made(call(in::trunc, {x}));
    case Intrinsic::Round: return made(call(in::roundeven, {x}));
    case Intrinsic::RoundAway: return made(call(in::round, {x}));
    case Intrinsic::IsNan: return made(b_.CreateFCmpUNO(x, x));
    case Intrinsic::IsInf:
      return made(
          b_.CreateFCmpOEQ(call(in::fabs, {x}), llvm::ConstantFP::getInfinity(x->getType())));
    case Intrinsic::IsFinite:
      return made(
          b_.CreateFCmpOLT(call(in::fabs, {x}), llvm::ConstantFP::getInfinity(x->getType())));
    default: break;
  }
  VYRE_CHECK(!"a function of the maths library");
}

Val Arithmetic::cast(Type from, Type to, Val x) {
  if (from == to) return x;
  llvm::Type* const t = with_shape_of(x.v, type_of(to, b_.getContext()));
  const auto made = [&](llvm::Value* v) { return Val{v, x.varying}; };
  if (to == Type::Bool) {
    if (is_float(from))
      return made(b_.CreateFCmpUNE(x.v, llvm::ConstantFP::get(x.v->getType(), 0.0)));
    return made(b_.CreateICmpNE(x.v, number(x.v->getType(), 0)));
  }
  if (is_float(from)) {
    if (is_float(to)) return made(b_.CreateFPCast(x.v, t));
    return made(b_.CreateIntrinsic(is_signed(to) ? in::fptosi_sat : in::fptoui_sat,
                                   {t, x.v->getType()}, {x.v}));
  }
  const bool s = is_signed(from);
  if (is_float(to)) return made(s ? b_.CreateSIToFP(x.v, t) : b_.CreateUIToFP(x.v, t));
  if (bits_of(from) == 32 && bits_of(to) == 32) return x;  // also the offset
  return made(s ? b_.CreateSExtOrTrunc(x.v, t) : b_.CreateZExtOrTrunc(x.v, t));
}

Val Arithmetic::bitcast(Type to, Val x) {
  return {b_.CreateBitCast(x.v, with_shape_of(x.v, type_of(to, b_.getContext()))), x.varying,
          is_integer(to) ? x.offset : nullptr};
}

llvm::Value* Arithmetic::widen(Type element, llvm::Value* raw) {
  llvm::Type* const word = with_shape_of(raw, b_.getInt32Ty());
  switch (element) {
    case Type::Bool: return b_.CreateICmpNE(raw, number(raw->getType(), 0));
    case Type::U8:
    case Type::U16: return b_.CreateZExt(raw, word);
    case Type::I8:
    case Type::I16: return b_.CreateSExt(raw, word);
    case Type::F16: return half_to_float(raw);
    case Type::BF16:
      return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(raw, word), number(word, 16)),
                              with_shape_of(raw, b_.getFloatTy()));
    case Type::U32:
    case Type::I32:
    case Type::U64:
    case Type::I64:
    case Type::F32:
    case Type::F64: return raw;
  }
  return raw;
}

llvm::Value* Arithmetic::narrow(Type element, llvm::Value* value) {
  switch (element) {
    case Type::Bool: return b_.CreateZExt(value, with_shape_of(value, b_.getInt32Ty()));
    case Type::U8:
    case Type::I8: return b_.CreateTrunc(value, with_shape_of(value, b_.getInt8Ty()));
    case Type::U16:
    case Type::I16: return b_.CreateTrunc(value, with_shape_of(value, b_.getInt16Ty()));
    case Type::F16: return float_to_half(value);
    case Type::BF16: return float_to_bfloat(value);
    case Type::U32:
    case Type::I32:
    case Type::U64:
    case Type::I64:
    case Type::F32:
    case Type::F64: return value;
  }
  return value;
}

llvm::Value* Arithmetic::combine(AtomicOp op, Type type, llvm::Value* old, llvm::Value* operand) {
  switch (op) {
    case AtomicOp::Add:
      return is_float(type) ? b_.CreateFAdd(old, operand) : b_.CreateAdd(old, operand);
    case AtomicOp::Sub: return b_.CreateSub(old, operand);
    case AtomicOp::Min: return minimum(type, old, operand);
    case AtomicOp::Max: return maximum(type, old, operand);
    case AtomicOp::And: return b_.CreateAnd(old, operand);
    case AtomicOp::Or: return b_.CreateOr(old, operand);
    case AtomicOp::Xor: return b_.CreateXor(old, operand);
    case AtomicOp::Nand: return b_.CreateNot(b_.CreateAnd(old, operand));
    case AtomicOp::Exchange:
    case AtomicOp::Store: return operand;
    case AtomicOp::Cas:
    case AtomicOp::Load: break;
  }
  return old;
}

}  // namespace vyre::codegen
