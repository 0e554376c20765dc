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
#include "ir/maths_approximate.hpp"
#include "ir/maths_backend.hpp"
#include "ir/maths_exp.hpp"
#include "ir/maths_inverse.hpp"
#include "ir/maths_log.hpp"
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
using DoubleRoots = maths::RootFunctions<B, maths::Double>;

struct RowF32 {
  Intrinsic op;
  MathsF32 native;
  Value (*built)(Value x, Value y);
};
struct RowF64 {
  Intrinsic op;
  MathsF64 native;
  Value (*built)(Value x);
};

#define VYRE_ROW(op, group, function)                                        \
  {Intrinsic::op, [](float x, float) { return group<Native>::function(x); }, \
   [](Value x, Value) { return group<Builder>::function(x); }}
constexpr RowF32 kF32[] = {
    VYRE_ROW(Exp, maths::ExpFunctions, exp),
    VYRE_ROW(Exp2, maths::ExpFunctions, exp2),
    VYRE_ROW(Log, maths::LogFunctions, log),
    VYRE_ROW(Log2, maths::LogFunctions, log2),
    VYRE_ROW(Sin, maths::TrigFunctions, sin),
    VYRE_ROW(Cos, maths::TrigFunctions, cos),
    VYRE_ROW(Tan, maths::TrigFunctions, tan),
    VYRE_ROW(Asin, maths::InverseFunctions, asin),
    VYRE_ROW(Acos, maths::InverseFunctions, acos),
    VYRE_ROW(Atan, maths::InverseFunctions, atan),
    VYRE_ROW(Sinh, maths::ExpFunctions, sinh),
    VYRE_ROW(Cosh, maths::ExpFunctions, cosh),
    VYRE_ROW(Tanh, maths::ExpFunctions, tanh),
    {Intrinsic::Pow, [](float x, float y) { return maths::LogFunctions<Native>::pow(x, y); },
     [](Value x, Value y) { return maths::LogFunctions<Builder>::pow(x, y); }},
    VYRE_ROW(Rsqrt, SingleRoots, rsqrt),
    VYRE_ROW(Recip, SingleRoots, recip),
};

// The same functions with an error.
constexpr RowF32 kApproximations[] = {
    VYRE_ROW(Sin, maths::Approximations, sin),
    VYRE_ROW(Cos, maths::Approximations, cos),
    VYRE_ROW(Rsqrt, maths::Approximations, rsqrt),
    VYRE_ROW(Recip, maths::Approximations, recip),
};
#undef VYRE_ROW

constexpr RowF64 kF64[] = {
    {Intrinsic::Rsqrt, DoubleRoots<Native>::rsqrt, DoubleRoots<Builder>::rsqrt},
    {Intrinsic::Recip, DoubleRoots<Native>::recip, DoubleRoots<Builder>::recip},
};

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
  const auto add = [&](const RowF32& row, std::string_view suffix) {
    const bool binary = arity_of(row.op) == 2;
    std::vector<build::ParamSpec> params = {build::param<build::f32>("x")};
    if (binary) params.push_back(build::param<build::f32>("y"));
    p.fn(fmt::format("{}{}", name_of(row.op), suffix), params, Type::F32,
         [&](const build::Params& given) {
           build::return_(row.built(given.value(0), binary ? given.value(1) : Value()));
         });
    return FnId{count++};
  };
  for (const RowF32& row : kF32)
    library.f32_functions[static_cast<size_t>(row.op)] = add(row, "_f32");
  for (const RowF64& row : kF64) {
    const std::string name = std::string(name_of(row.op)) + "_f64";
    p.fn(name, {build::param<build::f64>("x")}, Type::F64,
         [&](const build::Params& given) { build::return_(row.built(given.value(0))); });
    library.f64_functions[static_cast<size_t>(row.op)] = FnId{count++};
  }
  for (const RowF32& row : kApproximations)
    library.f32_approximations[static_cast<size_t>(row.op)] = add(row, "_approximate_f32");
  Result<Program> program = p.finish();
  VYRE_CHECK(program.has_value());
  library.program = std::move(*program);
  return library;
}

}  // namespace

bool is_maths(Intrinsic op) {
  return op >= Intrinsic::Exp && op <= Intrinsic::Recip;
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
