// SPDX-License-Identifier: Apache-2.0
#include "codegen/c/library.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/c/words.hpp"

namespace vyre::codegen::c {

using namespace ir;

namespace {

std::string name_for(std::string_view operation, Type type) {
  return fmt::format("{}_{}", operation, name_of(type));
}

Type unsigned_of(Type type) {
  return bits_of(type) == 64 ? Type::U64 : Type::U32;
}

std::string replaced(std::string_view pattern, std::string_view what, std::string_view with) {
  std::string text(pattern);
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

}  // namespace

void Library::add(const std::string& name, std::string_view text) {
  if (names_.insert(name).second) text_ += text;
}

// In the pattern: @F the name, @T the type of values, @U the unsigned type as wide, @E the type in
// memory, @W the width, @MIN and @MAX the limits of an integer, @S lanes of a subgroup.
void Library::add_filled(const std::string& name, std::string_view pattern, Type type,
                         Filling filling) {
  const bool wide = bits_of(type) == 64;
  const std::string limit = fmt::format("{}{}", is_signed(type) ? "INT" : "UINT", wide ? 64 : 32);
  filling.insert(filling.end(), {{"@F", name},
                                 {"@T", std::string(value_type(type))},
                                 {"@U", std::string(value_type(unsigned_of(type)))},
                                 {"@E", std::string(element_type(type))},
                                 {"@W", fmt::format("{}", bits_of(type))},
                                 {"@MIN", is_signed(type) ? limit + "_MIN" : "0"},
                                 {"@MAX", limit + "_MAX"},
                                 {"@S", fmt::format("{}", subgroup_size_)}});
  std::string text(pattern.substr(pattern.front() == '\n' ? 1 : 0));
  for (const auto& [what, with] : filling) text = replaced(text, what, with);
  add(name, text + "\n");
}

// ---- integers

namespace {

constexpr std::string_view kDivideUnsigned = R"(
static inline @T @F(@T x, @T y) {
  return y == 0 ? @Z : x @O y;
}
)";
constexpr std::string_view kDivideSigned = R"(
static inline @T @F(@T x, @T y) {
  if (y == 0) return @Z;
  return y == -1 ? @L : x @O y;
}
)";

// Of each function the pattern for unsigned and for signed numbers, if they differ.
struct IntegerRow {
  Intrinsic op;
  std::string_view pattern;
  std::string_view signed_pattern = {};
};

constexpr IntegerRow kIntegers[] = {
    {Intrinsic::Min, R"(
static inline @T @F(@T x, @T y) {
  return y < x ? y : x;
}
)"},
    {Intrinsic::Max, R"(
static inline @T @F(@T x, @T y) {
  return x < y ? y : x;
}
)"},
    {Intrinsic::Clamp, R"(
static inline @T @F(@T x, @T low, @T high) {
  const @T y = x < low ? low : x;
  return high < y ? high : y;
}
)"},
    {Intrinsic::Abs, R"(
static inline @T @F(@T x) {
  return x;
}
)",
     R"(
static inline @T @F(@T x) {
  return x < 0 ? (@T)(0 - (@U)x) : x;
}
)"},
    {Intrinsic::AbsDiff, R"(
static inline @T @F(@T x, @T y) {
  return (@T)(x < y ? (@U)y - (@U)x : (@U)x - (@U)y);
}
)"},
    {Intrinsic::Sign, R"(
static inline @T @F(@T x) {
  return x > 0;
}
)",
     R"(
static inline @T @F(@T x) {
  return (x > 0) - (x < 0);
}
)"},
    {Intrinsic::SatAdd, R"(
static inline @T @F(@T x, @T y) {
  return x > @MAX - y ? @MAX : x + y;
}
)",
     R"(
static inline @T @F(@T x, @T y) {
  if (y > 0 && x > @MAX - y) return @MAX;
  if (y < 0 && x < @MIN - y) return @MIN;
  return x + y;
}
)"},
    {Intrinsic::SatSub, R"(
static inline @T @F(@T x, @T y) {
  return x < y ? 0 : x - y;
}
)",
     R"(
static inline @T @F(@T x, @T y) {
  if (y < 0 && x > @MAX + y) return @MAX;
  if (y > 0 && x < @MIN + y) return @MIN;
  return x - y;
}
)"},
    {Intrinsic::SatMul, R"(
static inline @T @F(@T x, @T y) {
  return y != 0 && x > @MAX / y ? @MAX : x * y;
}
)",
     R"(
static inline @T @F(@T x, @T y) {
  if (x == 0 || y == 0) return 0;
  if (x > 0 && y > 0 && x > @MAX / y) return @MAX;
  if (x > 0 && y < 0 && y < @MIN / x) return @MIN;
  if (x < 0 && y > 0 && x < @MIN / y) return @MIN;
  if (x < 0 && y < 0 && y < @MAX / x) return @MAX;
  return x * y;
}
)"},
    {Intrinsic::Rotl, R"(
static inline @T @F(@T x, uint32_t n) {
  n &= @W - 1;
  return (@T)(((@U)x << n) | ((@U)x >> ((@W - n) & (@W - 1))));
}
)"},
    {Intrinsic::Rotr, R"(
static inline @T @F(@T x, uint32_t n) {
  n &= @W - 1;
  return (@T)(((@U)x >> n) | ((@U)x << ((@W - n) & (@W - 1))));
}
)"},
    {Intrinsic::Popcount, R"(
static inline @T @F(@T x) {
  @T count = 0;
  for (@U rest = (@U)x; rest != 0; rest &= rest - 1) ++count;
  return count;
}
)"},
    {Intrinsic::Clz, R"(
static inline @T @F(@T x) {
  @T count = @W;
  for (@U rest = (@U)x; rest != 0; rest >>= 1) --count;
  return count;
}
)"},
    {Intrinsic::Ctz, R"(
static inline @T @F(@T x) {
  @T count = @W;
  for (@U rest = (@U)x; rest != 0; rest <<= 1) --count;
  return count;
}
)"},
    {Intrinsic::ReverseBits, R"(
static inline @T @F(@T x) {
  @U result = 0;
  for (uint32_t i = 0; i < @W; ++i) result |= ((@U)x >> i & 1) << (@W - 1 - i);
  return (@T)result;
}
)"},
};

constexpr std::string_view kMulHi32 = R"(
static inline @T @F(@T x, @T y) {
  return (@T)(((@P)x * y) >> 32);
}
)";
constexpr std::string_view kMulHiU64 = R"(
static inline uint64_t @F(uint64_t x, uint64_t y) {
  const uint64_t xl = (uint32_t)x, xh = x >> 32, yl = (uint32_t)y, yh = y >> 32;
  const uint64_t low = xl * yl, a = xh * yl + (low >> 32), b = xl * yh + (uint32_t)a;
  return xh * yh + (a >> 32) + (b >> 32);
}
)";
constexpr std::string_view kMulHiI64 = R"(
static inline int64_t @F(int64_t x, int64_t y) {
  const uint64_t high = mul_hi_u64((uint64_t)x, (uint64_t)y);
  return (int64_t)(high - (x < 0 ? (uint64_t)y : 0) - (y < 0 ? (uint64_t)x : 0));
}
)";

}  // namespace

std::string Library::divide(BinaryOp op, Type type) {
  const bool div = op == BinaryOp::Div;
  const std::string name = name_for(div ? "div" : "rem", type);
  add_filled(
      name, is_signed(type) ? kDivideSigned : kDivideUnsigned, type,
      {{"@O", div ? "/" : "%"}, {"@Z", div ? "x" : "0"}, {"@L", div ? "(@T)(0 - (@U)x)" : "0"}});
  return name;
}

std::string Library::intrinsic(Intrinsic op, Type type) {
  const std::string name = name_for(name_of(op), type);
  if (contains(name)) return name;
  if (is_float(type)) return float_function(op, type, name);
  if (op == Intrinsic::MulHi) {
    if (type == Type::I64) intrinsic(op, Type::U64);
    add_filled(name,
               bits_of(type) == 32 ? kMulHi32
               : type == Type::U64 ? kMulHiU64
                                   : kMulHiI64,
               type, {{"@P", type == Type::I32 ? "int64_t" : "uint64_t"}});
    return name;
  }
  const auto* const row = std::ranges::find(kIntegers, op, &IntegerRow::op);
  const bool other = is_signed(type) && !row->signed_pattern.empty();
  add_filled(name, other ? row->signed_pattern : row->pattern, type);
  return name;
}

// ---- floats

namespace {

constexpr std::string_view kMinFloat = R"(
static inline @T @F(@T x, @T y) {
  if (isnan(x)) return y;
  if (isnan(y)) return x;
  if (x == y) return signbit(x) ? @A : @B;
  return x @O y ? x : y;
}
)";
constexpr std::string_view kClampFloat = R"(
static inline @T @F(@T x, @T low, @T high) {
  return @L(@H(x, low), high);
}
)";
constexpr std::string_view kSignFloat = R"(
static inline @T @F(@T x) {
  return isnan(x) || x == 0 ? x : signbit(x) ? -1 : 1;
}
)";
constexpr std::string_view kFloatToInt = R"(
static inline @T @F(@X x) {
  if (isnan(x)) return 0;
  if (x <= (@X)@MIN) return @MIN;
  if (x >= @B) return @MAX;
  return (@T)x;
}
)";
constexpr std::string_view kBitsOf = R"(
static inline @U @F(@T x) {
  @U bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
)";
constexpr std::string_view kFromBits = R"(
static inline @T @F(@U bits) {
  @T x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
)";
// The exponent moves by a multiplication, which is exact also for subnormal numbers.
constexpr std::string_view kHalfToFloat = R"(
static inline float @F(uint16_t half) {
  const uint32_t magnitude = half & 0x7FFFu, sign = (half & 0x8000u) << 16;
  if (magnitude >= 0x7C00u) return f32_of_bits(sign | 0x7F800000u | magnitude << 13);
  return f32_of_bits(sign | bits_of_f32(f32_of_bits(magnitude << 13) * 0x1p+112f));
}
)";
constexpr std::string_view kHalfFromFloat = R"(
static inline uint16_t @F(float x) {
  const uint32_t bits = bits_of_f32(x), magnitude = bits & 0x7FFFFFFFu;
  uint32_t half;
  if (magnitude > 0x7F800000u) {
    half = bits >> 13 & 0x7FFFu;
    if ((half & 0x3FFu) == 0) half |= 0x200u;
  } else if (magnitude >= 0x47800000u) {
    half = 0x7C00u;
  } else if (magnitude < 0x38800000u) {
    half = bits_of_f32(f32_of_bits(magnitude) + 0.5f) - 0x3F000000u;
  } else {
    half = (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
  }
  return (uint16_t)(half | (bits >> 16 & 0x8000u));
}
)";
constexpr std::string_view kBfloatFromFloat = R"(
static inline uint16_t @F(float x) {
  const uint32_t bits = bits_of_f32(x), high = bits >> 16;
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
    return (uint16_t)((high & 0x7Fu) == 0 ? high | 0x40u : high);
  return (uint16_t)((bits + 0x7FFFu + (high & 1u)) >> 16);
}
)";

}  // namespace

std::string Library::float_function(Intrinsic op, Type type, const std::string& name) {
  if (op == Intrinsic::Min)
    add_filled(name, kMinFloat, type, {{"@A", "x"}, {"@B", "y"}, {"@O", "<"}});
  else if (op == Intrinsic::Max)
    add_filled(name, kMinFloat, type, {{"@A", "y"}, {"@B", "x"}, {"@O", ">"}});
  else if (op == Intrinsic::Clamp)
    add_filled(name, kClampFloat, type,
               {{"@L", intrinsic(Intrinsic::Min, type)}, {"@H", intrinsic(Intrinsic::Max, type)}});
  else
    add_filled(name, kSignFloat, type);
  return name;
}

std::string Library::float_to_int(Type from, Type to) {
  const std::string name = fmt::format("{}_of_{}", name_of(to), name_of(from));
  add_filled(name, kFloatToInt, to,
             {{"@X", std::string(value_type(from))},
              {"@B", fmt::format("0x1p+{}{}", bits_of(to) - (is_signed(to) ? 1 : 0),
                                 from == Type::F32 ? "f" : "")}});
  return name;
}

std::string Library::to_bits(Type type) {
  const std::string name = name_for("bits_of", type);
  add_filled(name, kBitsOf, type);
  return name;
}

std::string Library::from_bits(Type type) {
  const std::string name = fmt::format("{}_of_bits", name_of(type));
  add_filled(name, kFromBits, type);
  return name;
}

std::string Library::half_to_float() {
  to_bits(Type::F32);
  from_bits(Type::F32);
  add_filled("f32_of_f16", kHalfToFloat, Type::F32);
  return "f32_of_f16";
}

std::string Library::half_from_float() {
  to_bits(Type::F32);
  from_bits(Type::F32);
  add_filled("f16_of_f32", kHalfFromFloat, Type::F32);
  return "f16_of_f32";
}

std::string Library::bfloat_from_float() {
  to_bits(Type::F32);
  add_filled("bf16_of_f32", kBfloatFromFloat, Type::F32);
  return "bf16_of_f32";
}

// ---- memory

namespace {

// A racing load gives one value: it is never done a second time.
constexpr std::string_view kLoad = R"(
static inline @T @F(const volatile @E *p, uint64_t n, uint64_t i) {
  return i < n ? @V : 0;
}
)";
constexpr std::string_view kStore = R"(
static inline void @F(volatile @E *p, uint64_t n, uint64_t i, @T x) {
  if (i < n) p[i] = @V;
}
)";

constexpr std::string_view kFetch = R"(
static inline @T @F(volatile @E *p, uint64_t n, uint64_t i, @T x, memory_order order) {
  return i < n ? atomic_fetch_@O_explicit((volatile _Atomic(@E) *)(p + i), (@E)x, order) : 0;
}
)";
constexpr std::string_view kExchange = R"(
static inline @T @F(volatile @E *p, uint64_t n, uint64_t i, @T x, memory_order order) {
  if (i >= n) return 0;
  volatile _Atomic(@A) *const at = (volatile _Atomic(@A) *)(p + i);
  @A old = atomic_load_explicit(at, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(at, &old, @V, order, memory_order_relaxed)) {
  }
  return @R;
}
)";
// min and max of floats: in the order of their bits, those of negative ones turned round. @B is 31
// or 63, @I infinity.
constexpr std::string_view kOrderFloats = R"(
static inline @U @F_place(@U bits) {
  return bits >> @B != 0 ? ~bits : bits | (@U)1 << @B;
}
static inline @T @F(volatile @E *p, uint64_t n, uint64_t i, @T x, memory_order order) {
  if (i >= n) return 0;
  volatile _Atomic(@U) *const at = (volatile _Atomic(@U) *)(p + i);
  const @U given = @G;
  const @U most = ((@U)1 << @B) - 1;
  const bool acquires = order == memory_order_acquire || order == memory_order_acq_rel;
  const memory_order failed = acquires ? memory_order_acquire : memory_order_relaxed;
  @U old = atomic_load_explicit(at, failed);
  while ((given & most) <= @I &&
         ((old & most) > @I || @F_place(given) @O @F_place(old))) {
    if (atomic_compare_exchange_weak_explicit(at, &old, given, order, failed)) break;
  }
  return @R;
}
)";
constexpr std::string_view kCompareExchange = R"(
static inline @T @F(volatile @T *p, uint64_t n, uint64_t i, @T expected, @T x, memory_order order) {
  if (i >= n) return 0;
  const bool acquires = order == memory_order_acquire || order == memory_order_acq_rel;
  @T old = expected;
  atomic_compare_exchange_strong_explicit((volatile _Atomic(@T) *)(p + i), &old, x, order,
                                          acquires ? memory_order_acquire : memory_order_relaxed);
  return old;
}
)";
constexpr std::string_view kAtomicLoad = R"(
static inline @T @F(volatile @E *p, uint64_t n, uint64_t i, memory_order order) {
  if (i >= n) return 0;
  const @A old = atomic_load_explicit((volatile _Atomic(@A) *)(p + i), order);
  return @R;
}
)";
constexpr std::string_view kAtomicStore = R"(
static inline void @F(volatile @E *p, uint64_t n, uint64_t i, @T x, memory_order order) {
  if (i < n) atomic_store_explicit((volatile _Atomic(@A) *)(p + i), @V, order);
}
)";

}  // namespace

std::string Library::load(Type element) {
  std::string value = "p[i]";
  if (element == Type::Bool) value = "p[i] != 0";
  if (element == Type::F16) value = half_to_float() + "(p[i])";
  if (element == Type::BF16) value = from_bits(Type::F32) + "((uint32_t)p[i] << 16)";
  const std::string name = name_for("load", element);
  add_filled(name, kLoad, element, {{"@V", value}});
  return name;
}

std::string Library::store(Type element) {
  std::string value = "x";
  if (bits_of(element) < 32 && element != Type::Bool) value = "(@E)x";
  if (element == Type::F16) value = half_from_float() + "(x)";
  if (element == Type::BF16) value = bfloat_from_float() + "(x)";
  const std::string name = name_for("store", element);
  add_filled(name, kStore, element, {{"@V", value}});
  return name;
}

std::string Library::atomic(AtomicOp op, Type type) {
  const std::string name = name_for(name_of(op), type);
  if (contains(name)) return name;
  const bool real = is_float(type);
  // Floats are exchanged as bits.
  const std::string given = real ? to_bits(type) + "(x)" : "(@E)x";
  const std::string taken = real ? from_bits(type) + "(old)" : "old";
  Filling filling = {{"@R", taken}, {"@A", std::string(real ? "@U" : "@E")}};
  switch (op) {
    case AtomicOp::Add:
    case AtomicOp::Sub:
    case AtomicOp::And:
    case AtomicOp::Or:
    case AtomicOp::Xor:
      if (real) {
        filling.emplace_back("@V", fmt::format("{}({} {} x)", to_bits(type), taken,
                                               op == AtomicOp::Add ? "+" : "-"));
        add_filled(name, kExchange, type, filling);
      } else {
        add_filled(name, kFetch, type, {{"@O", std::string(name_of(op).substr(7))}});
      }
      break;
    case AtomicOp::Min:
    case AtomicOp::Max:
      if (real) {
        filling.emplace_back("@B", type == Type::F64 ? "63" : "31");
        filling.emplace_back("@I", type == Type::F64 ? "0x7FF0000000000000" : "0x7F800000");
        filling.emplace_back("@G", given);
        filling.emplace_back("@O", op == AtomicOp::Min ? "<" : ">");
        add_filled(name, kOrderFloats, type, filling);
        break;
      }
      filling.emplace_back(
          "@V",
          intrinsic(op == AtomicOp::Min ? Intrinsic::Min : Intrinsic::Max, type) + "(old, x)");
      add_filled(name, kExchange, type, filling);
      break;
    case AtomicOp::Nand:
      filling.emplace_back("@V", "~(old & x)");
      add_filled(name, kExchange, type, filling);
      break;
    case AtomicOp::Exchange:
      filling.emplace_back("@V", given);
      add_filled(name, kExchange, type, filling);
      break;
    case AtomicOp::Cas: add_filled(name, kCompareExchange, type); break;
    case AtomicOp::Load: add_filled(name, kAtomicLoad, type, filling); break;
    case AtomicOp::Store:
      filling.emplace_back("@V", given);
      add_filled(name, kAtomicStore, type, filling);
      break;
  }
  return name;
}

// ---- subgroups: `on` says which lanes take part

namespace {

// A butterfly. The lower lane is the left operand on both sides, so that all lanes agree.
constexpr std::string_view kReduce = R"(
static @T @F(const @T v[@S], const bool on[@S]) {
  @T x[@S], before[@S];
  bool has[@S], had[@S];
  for (uint32_t l = 0; l < @S; ++l) {
    has[l] = on[l];
    x[l] = on[l] ? v[l] : 0;
  }
  for (uint32_t d = 1; d < @S; d *= 2) {
    memcpy(before, x, sizeof x);
    memcpy(had, has, sizeof has);
    for (uint32_t l = 0; l < @S; ++l) {
      if (!had[l ^ d]) continue;
      const @T a = before[l & ~d], b = before[l | d];
      x[l] = had[l] ? @C : before[l ^ d];
      has[l] = true;
    }
  }
  return has[0] ? x[0] : 0;
}
)";
constexpr std::string_view kScan = R"(
static void @F(@T out[@S], const @T v[@S], const bool on[@S]) {
  @T x[@S], before[@S];
  bool has[@S], had[@S];
  for (uint32_t l = 0; l < @S; ++l) {
    has[l] = on[l];
    x[l] = on[l] ? v[l] : 0;
  }
  for (uint32_t d = 1; d < @S; d *= 2) {
    memcpy(before, x, sizeof x);
    memcpy(had, has, sizeof has);
    for (uint32_t l = d; l < @S; ++l) {
      if (!had[l - d]) continue;
      const @T a = before[l - d], b = before[l];
      x[l] = had[l] ? @C : a;
      has[l] = true;
    }
  }
  for (uint32_t l = 0; l < @S; ++l)
    if (on[l]) out[l] = @R;
}
)";
constexpr std::string_view kShuffle = R"(
static void @F(@T out[@S], const @T v[@S], const uint64_t lane[@S], const bool on[@S]) {
  for (uint32_t l = 0; l < @S; ++l) {
    if (!on[l]) continue;
    const uint64_t from = @L;
    out[l] = from < @S && on[from] ? v[from] : 0;
  }
}
)";
constexpr std::string_view kBallot = R"(
static uint32_t @F(const bool v[@S], const bool on[@S]) {
  uint32_t bits = 0;
  for (uint32_t l = 0; l < @S; ++l)
    if (on[l] && v[l]) bits |= 1u << l;
  return bits;
}
)";
constexpr std::string_view kVote = R"(
static bool @F(const bool v[@S], const bool on[@S]) {
  for (uint32_t l = 0; l < @S; ++l)
    if (on[l] && v[l] == @V) return @V;
  return !@V;
}
)";
constexpr std::string_view kFirstLive = R"(
static uint32_t @F(const bool on[@S]) {
  uint32_t l = 0;
  while (l < @S && !on[l]) ++l;
  return l;
}
)";

}  // namespace

std::string Library::combined(SubgroupOp op, Type type) {
  const auto wrapped = [&](char sign) {
    return is_signed(type) ? fmt::format("(@T)((@U)a {} (@U)b)", sign)
                           : fmt::format("a {} b", sign);
  };
  if (op == SubgroupOp::Mul) return wrapped('*');
  if (op == SubgroupOp::Min) return intrinsic(Intrinsic::Min, type) + "(a, b)";
  if (op == SubgroupOp::Max) return intrinsic(Intrinsic::Max, type) + "(a, b)";
  if (op == SubgroupOp::And) return "a & b";
  if (op == SubgroupOp::Or) return "a | b";
  if (op == SubgroupOp::Xor) return "a ^ b";
  return wrapped('+');  // of sums and scans
}

std::string Library::reduce(SubgroupOp op, Type type) {
  const std::string name = name_for(name_of(op), type);
  if (contains(name)) return name;
  add_filled(name, kReduce, type, {{"@C", combined(op, type)}});
  return name;
}

std::string Library::scan(SubgroupOp op, Type type) {
  const std::string name = name_for(name_of(op), type);
  // What changes no float when added.
  const std::string nothing = type == Type::F32   ? "(-0x0p+0f)"
                              : type == Type::F64 ? "(-0x0p+0)"
                                                  : "0";
  add_filled(name, kScan, type,
             {{"@C", combined(op, type)},
              {"@R", op == SubgroupOp::InclusiveAdd
                         ? "x[l]"
                         : fmt::format("l != 0 && has[l - 1] ? x[l - 1] : {}", nothing)}});
  return name;
}

std::string Library::shuffle(SubgroupOp op, Type type) {
  const std::string name = name_for(name_of(op), type);
  const std::string from = op == SubgroupOp::ShuffleXor    ? "l ^ lane[l]"
                           : op == SubgroupOp::ShuffleUp   ? "lane[l] <= l ? l - lane[l] : @S"
                           : op == SubgroupOp::ShuffleDown ? "lane[l] < @S ? l + lane[l] : @S"
                                                           : "lane[l]";
  add_filled(name, kShuffle, type, {{"@L", from}});
  return name;
}

std::string Library::vote(SubgroupOp op) {
  const std::string name(name_of(op));
  add_filled(name, op == SubgroupOp::Ballot ? kBallot : kVote, Type::Bool,
             {{"@V", op == SubgroupOp::Any ? "true" : "false"}});
  return name;
}

std::string Library::first_live() {
  add_filled("first_live", kFirstLive, Type::U32);
  return "first_live";
}

// ---- asynchronous copies

namespace {

// Elements that the source does not have are zeros, those that the destination does not have are
// dropped. `to`, `from` and `count` are numbers of 64 bits; negative ones are marked as such.
// Within one memory, what is still to be read is not written over.
constexpr std::string_view kCopy = R"(
static void @F(unsigned char *dst, uint64_t dst_n, uint64_t to, bool to_negative,
               const unsigned char *src, uint64_t src_n, uint64_t from, bool from_negative,
               uint64_t count, uint64_t size) {
  uint64_t first = to_negative ? 0 - to : 0;
  uint64_t last = to_negative || to < dst_n ? (to_negative ? first + dst_n : dst_n - to) : 0;
  if (last > count) last = count;
  const bool backwards = dst == src && (to_negative == from_negative ? to > from : from_negative);
  while (first < last) {
    const uint64_t k = backwards ? --last : first++;
    const uint64_t s = from + k;
    const bool inside = s < src_n && (from_negative || s >= from);
    static const unsigned char zeros[8] = {0};
    memmove(dst + (to + k) * size, inside ? src + s * size : zeros, size);
  }
}
)";
constexpr std::string_view kOutsideCopy = R"(
static bool @F(uint64_t *index, bool negative, uint64_t count, uint64_t n) {
  if (count == 0 || (!negative && *index <= n && count <= n - *index)) return false;
  if (!negative && *index < n) *index = n;
  return true;
}
)";

}  // namespace

std::string Library::copy() {
  add_filled("copy_elements", kCopy, Type::U32);
  return "copy_elements";
}

std::string Library::outside_copy() {
  add_filled("outside_copy", kOutsideCopy, Type::U32);
  return "outside_copy";
}

namespace {

// The element so far and an index on one more axis. What is outside of an axis stays outside.
constexpr std::string_view kOnAxis = R"(
static inline uint32_t @F(uint32_t element, uint64_t index, uint32_t length) {
  if (element == UINT32_MAX || index >= length) return UINT32_MAX;
  return element * length + (uint32_t)index;
}
)";

}  // namespace

std::string Library::on_axis() {
  add_filled("on_axis", kOnAxis, Type::U32);
  return "on_axis";
}

}  // namespace vyre::codegen::c
