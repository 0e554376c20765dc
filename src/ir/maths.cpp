// SPDX-License-Identifier: Apache-2.0
// The two lives of the maths functions: C++ functions and an IR program.
#include "ir/maths.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "ir/builder_thread.hpp"
#include "ir/maths_angles.hpp"
#include "ir/maths_approximate.hpp"
#include "ir/maths_arcs.hpp"
#include "ir/maths_backend.hpp"
#include "ir/maths_exp.hpp"
#include "ir/maths_inverse.hpp"
#include "ir/maths_log.hpp"
#include "ir/maths_logarithms.hpp"
#include "ir/maths_other.hpp"
#include "ir/maths_powers.hpp"
#include "ir/maths_root.hpp"
#include "ir/maths_trig.hpp"

namespace vyre::ir {

namespace {

using build::Value;
using maths::Builder;
using maths::Native;

template <class B>
using SingleRoots = maths::RootFunctions<B, maths::Single>;
template <class B>
using SinglePowers = maths::PowerFunctions<B, maths::Single>;
template <class B>
using SingleLogarithms = maths::LogarithmFunctions<B, maths::Single>;
template <class B>
using SingleArcs = maths::ArcFunctions<B, maths::Single>;
template <class B>
using SingleOthers = maths::OtherFunctions<B, maths::Single>;
template <class B>
using DoubleRoots = maths::RootFunctions<B, maths::Double>;
template <class B>
using DoublePowers = maths::PowerFunctions<B, maths::Double>;
template <class B>
using DoubleLogarithms = maths::LogarithmFunctions<B, maths::Double>;
template <class B>
using DoubleArcs = maths::ArcFunctions<B, maths::Double>;
template <class B>
using DoubleOthers = maths::OtherFunctions<B, maths::Double>;

template <class Function>
struct Row {
  Intrinsic op;
  Function native;
  Value (*built)(Value x, Value y);
};
using RowF32 = Row<MathsF32>;
using RowF64 = Row<MathsF64>;

#define VYRE_ROW(op, real, group, function)                                \
  {Intrinsic::op, [](real x, real) { return group<Native>::function(x); }, \
   [](Value x, Value) -> Value { return group<Builder>::function(x); }}
#define VYRE_ROW_2(op, real, group, function)                                   \
  {Intrinsic::op, [](real x, real y) { return group<Native>::function(x, y); }, \
   [](Value x, Value y) -> Value { return group<Builder>::function(x, y); }}
constexpr RowF32 kF32[] = {
    VYRE_ROW(Exp, float, maths::ExpFunctions, exp),
    VYRE_ROW(Exp2, float, maths::ExpFunctions, exp2),
    VYRE_ROW(Log, float, maths::LogFunctions, log),
    VYRE_ROW(Log2, float, maths::LogFunctions, log2),
    VYRE_ROW(Sin, float, maths::TrigFunctions, sin),
    VYRE_ROW(Cos, float, maths::TrigFunctions, cos),
    VYRE_ROW(Tan, float, maths::TrigFunctions, tan),
    VYRE_ROW(Asin, float, maths::InverseFunctions, asin),
    VYRE_ROW(Acos, float, maths::InverseFunctions, acos),
    VYRE_ROW(Atan, float, maths::InverseFunctions, atan),
    VYRE_ROW(Sinh, float, maths::ExpFunctions, sinh),
    VYRE_ROW(Cosh, float, maths::ExpFunctions, cosh),
    VYRE_ROW(Tanh, float, maths::ExpFunctions, tanh),
    VYRE_ROW_2(Pow, float, maths::LogFunctions, pow),
    VYRE_ROW(Rsqrt, float, SingleRoots, rsqrt),
    VYRE_ROW(Recip, float, SingleRoots, recip),
    VYRE_ROW_2(Atan2, float, SingleArcs, atan2),
    VYRE_ROW_2(Hypot, float, SingleOthers, hypot),
    VYRE_ROW(Log10, float, SingleLogarithms, log10),
    VYRE_ROW(Log1p, float, SingleLogarithms, log1p),
    VYRE_ROW(Expm1, float, SinglePowers, expm1),
    VYRE_ROW(Cbrt, float, SingleOthers, cbrt),
    VYRE_ROW(Erf, float, SingleOthers, erf),
    VYRE_ROW(Exp10, float, SinglePowers, exp10),
};

constexpr RowF64 kF64[] = {
    VYRE_ROW(Exp, double, DoublePowers, exp),
    VYRE_ROW(Exp2, double, DoublePowers, exp2),
    VYRE_ROW(Log, double, DoubleLogarithms, log),
    VYRE_ROW(Log2, double, DoubleLogarithms, log2),
    VYRE_ROW(Sin, double, maths::AngleFunctions, sin),
    VYRE_ROW(Cos, double, maths::AngleFunctions, cos),
    VYRE_ROW(Tan, double, maths::AngleFunctions, tan),
    VYRE_ROW(Asin, double, DoubleArcs, asin),
    VYRE_ROW(Acos, double, DoubleArcs, acos),
    VYRE_ROW(Atan, double, DoubleArcs, atan),
    VYRE_ROW(Sinh, double, DoublePowers, sinh),
    VYRE_ROW(Cosh, double, DoublePowers, cosh),
    VYRE_ROW(Tanh, double, DoublePowers, tanh),
    VYRE_ROW_2(Pow, double, DoubleLogarithms, pow),
    VYRE_ROW(Rsqrt, double, DoubleRoots, rsqrt),
    VYRE_ROW(Recip, double, DoubleRoots, recip),
    VYRE_ROW_2(Atan2, double, DoubleArcs, atan2),
    VYRE_ROW_2(Hypot, double, DoubleOthers, hypot),
    VYRE_ROW(Log10, double, DoubleLogarithms, log10),
    VYRE_ROW(Log1p, double, DoubleLogarithms, log1p),
    VYRE_ROW(Expm1, double, DoublePowers, expm1),
    VYRE_ROW(Cbrt, double, DoubleOthers, cbrt),
    VYRE_ROW(Erf, double, DoubleOthers, erf),
    VYRE_ROW(Exp10, double, DoublePowers, exp10),
};

// The same functions with an error.
constexpr RowF32 kApproximations[] = {
    VYRE_ROW(Sin, float, maths::Approximations, sin),
    VYRE_ROW(Cos, float, maths::Approximations, cos),
    VYRE_ROW(Rsqrt, float, maths::Approximations, rsqrt),
    VYRE_ROW(Recip, float, maths::Approximations, recip),
};
#undef VYRE_ROW
#undef VYRE_ROW_2

template <class Rows>
const auto* find(const Rows& rows, Intrinsic op) {
  const auto* row = std::find_if(std::begin(rows), std::end(rows),
                                 [&](const auto& each) { return each.op == op; });
  return row == std::end(rows) ? nullptr : row;
}

// A thread's builders and their misuse, put aside while the library is built: the caller may be in
// the middle of a program of his own.
class OwnBuilders {
 public:
  OwnBuilders() : callers_(std::exchange(build::thread_state(), {})) {}
  ~OwnBuilders() { build::thread_state() = std::move(callers_); }
  OwnBuilders(const OwnBuilders&) = delete;
  OwnBuilders& operator=(const OwnBuilders&) = delete;

 private:
  build::ThreadState callers_;
};

MathsLibrary build_library() {
  const OwnBuilders aside;
  build::ProgramBuilder p("maths");
  p.workgroup(1);
  // Functions are numbered in the order of their declaration.
  uint32_t count = 0;
  MathsLibrary library;
  const auto add = [&](const auto& row, Type type, std::string_view suffix) {
    const bool binary = arity_of(row.op) == 2;
    const auto param = [&](std::string_view name) {
      return type == Type::F32 ? build::param<build::f32>(name) : build::param<build::f64>(name);
    };
    std::vector<build::ParamSpec> params = {param("x")};
    if (binary) params.push_back(param("y"));
    p.fn(fmt::format("{}{}", name_of(row.op), suffix), params, type,
         [&](const build::Params& given) {
           build::return_(row.built(given.value(0), binary ? given.value(1) : Value()));
         });
    return FnId{count++};
  };
  for (const RowF32& row : kF32)
    library.f32_functions[static_cast<size_t>(row.op)] = add(row, Type::F32, "_f32");
  for (const RowF64& row : kF64)
    library.f64_functions[static_cast<size_t>(row.op)] = add(row, Type::F64, "_f64");
  for (const RowF32& row : kApproximations)
    library.f32_approximations[static_cast<size_t>(row.op)] =
        add(row, Type::F32, "_approximate_f32");
  Result<Program> program = p.finish();
  VYRE_CHECK(program.has_value());
  library.program = std::move(*program);
  return library;
}

}  // namespace

bool is_maths(Intrinsic op) {
  return op >= Intrinsic::Exp && op <= Intrinsic::Exp10;
}

bool has_maths(Intrinsic op, Type type) {
  return type == Type::F32 ? find(kF32, op) != nullptr
                           : type == Type::F64 && find(kF64, op) != nullptr;
}

MathsF32 native_maths_f32(Intrinsic op) {
  const RowF32* row = find(kF32, op);
  VYRE_CHECK(row != nullptr);
  return row->native;
}

MathsF64 native_maths_f64(Intrinsic op) {
  const RowF64* row = find(kF64, op);
  VYRE_CHECK(row != nullptr);
  return row->native;
}

MathsF32 native_approximation(Intrinsic op) {
  const RowF32* row = find(kApproximations, op);
  return row == nullptr ? nullptr : row->native;
}

FnId MathsLibrary::approximation(Intrinsic op) const {
  return f32_approximations[static_cast<size_t>(op)];
}

FnId MathsLibrary::function(Intrinsic op, Type type) const {
  if (!has_maths(op, type)) return {};
  return (type == Type::F32 ? f32_functions : f64_functions)[static_cast<size_t>(op)];
}

const MathsLibrary& maths_library() {
  static const MathsLibrary kLibrary = build_library();
  return kLibrary;
}

}  // namespace vyre::ir
