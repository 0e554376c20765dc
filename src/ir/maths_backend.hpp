// SPDX-License-Identifier: Apache-2.0
// What the maths functions are written in. Their source is a template over a number backend B that
// names the types of values and the operations that are not C++ operators; + - * comparisons and
// the bit operations of unsigned words are written as operators.
//
// Division and square root are rounded correctly everywhere, but devices without an instruction
// for them are slow: only the approximations (maths_approximate.hpp) use them.
//
// With Native the templates compute; with Builder they append statements to the current
// ProgramBuilder. A value that is used more than once goes through let(): an expression of the
// builder would otherwise be repeated. Bit operations are on words only, never on signed numbers;
// conversions between words and numbers are only made where they are exact.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "vyre/ir/builder.hpp"

namespace vyre::ir::maths {

struct Native {
  using F32 = float;
  using F64 = double;
  using U32 = uint32_t;
  using U64 = uint64_t;
  using Bool = bool;

  template <class T>
  static T let(T value) {
    return value;
  }
  template <class T>
  static T var(T value) {
    return value;
  }
  template <class T>
  static T get(T variable) {
    return variable;
  }
  template <class Body>
  static void when(bool condition, const Body& body) {
    if (condition) body();
  }

  static float sqrt(float x) { return std::sqrt(x); }
  // By zero as IEEE-754 says, to which sanitizers object.
  __attribute__((no_sanitize("float-divide-by-zero"))) static float divide(float a, float b) {
    return a / b;
  }
  static float fma(float a, float b, float c) { return std::fma(a, b, c); }
  static double fma(double a, double b, double c) { return std::fma(a, b, c); }
  template <class T>
  static T select(bool condition, T yes, T no) {
    return condition ? yes : no;
  }
  // Without the laziness of && and ||.
  static bool both(bool a, bool b) { return a && b; }
  static bool either(bool a, bool b) { return a || b; }
  static bool same(bool a, bool b) { return a == b; }

  static uint32_t bits32(float x) { return std::bit_cast<uint32_t>(x); }
  static uint64_t bits64(double x) { return std::bit_cast<uint64_t>(x); }
  static float real32(uint32_t bits) { return std::bit_cast<float>(bits); }
  static double real64(uint64_t bits) { return std::bit_cast<double>(bits); }
  // Of a word below 2^24.
  static float number(uint32_t word) { return static_cast<float>(word); }
  static uint32_t mul_hi(uint32_t a, uint32_t b) {
    return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
  }
  static uint32_t clz(uint32_t word) { return static_cast<uint32_t>(std::countl_zero(word)); }
};

struct Builder {
  using Value = build::Value;
  using Operand = build::Operand;
  // Numbers of C++ take their type from their place, and are u32 or f32 where it leaves that open,
  // as in a select between two of them. So those of 64 bits are literals with a suffix.
  template <class T>
  class Wide : public Value {
   public:
    constexpr Wide() = default;
    constexpr Wide(const Value& value) : Value(value) {}
    template <build::Number N>
    Wide(N number) : Value(build::lit<T>(number)) {}
  };
  using F32 = Value;
  using F64 = Wide<build::f64>;
  using U32 = Value;
  using U64 = Wide<build::u64>;
  using Bool = Value;

  static Value let(const Operand& value) { return build::let(value); }
  static build::Var var(const Operand& value) { return build::var(value); }
  static Value get(const build::Var& variable) { return variable.value(); }
  template <class Body>
  static void when(const Operand& condition, const Body& body) {
    build::if_(condition, body);
  }

  static Value sqrt(const Operand& x) { return build::sqrt(x); }
  static Value divide(const Operand& a, const Operand& b) { return a / b; }
  static Value fma(const Operand& a, const Operand& b, const Operand& c) {
    return build::fma(a, b, c);
  }
  static Value select(const Operand& condition, const Operand& yes, const Operand& no) {
    return build::select(condition, yes, no);
  }
  static Value both(const Operand& a, const Operand& b) { return a & b; }
  static Value either(const Operand& a, const Operand& b) { return a | b; }
  static Value same(const Operand& a, const Operand& b) { return a == b; }

  static Value bits32(const Operand& x) { return build::bitcast<build::u32>(x); }
  static Value bits64(const Operand& x) { return build::bitcast<build::u64>(x); }
  static Value real32(const Operand& bits) { return build::bitcast<build::f32>(bits); }
  static Value real64(const Operand& bits) { return build::bitcast<build::f64>(bits); }
  static Value number(const Operand& word) { return build::as<build::f32>(word); }
  static Value mul_hi(const Operand& a, const Operand& b) { return build::mul_hi(a, b); }
  static Value clz(const Operand& word) { return build::clz(word); }
};

}  // namespace vyre::ir::maths
