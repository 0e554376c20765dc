// SPDX-License-Identifier: Apache-2.0
// The maths library as an IR program: it is valid, uses only operations that are exact everywhere,
// and computes the same bits as the C++ functions.
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "check/constants.hpp"
#include "ir/maths.hpp"
#include "ir/maths_samples_test.hpp"
#include "vyre/check/check.hpp"
#include "vyre/ir/builder.hpp"
#include "vyre/text/text.hpp"

namespace vyre::ir {
namespace {

using check::Constant;

const check::CheckedProgram& checked_library() {
  static const check::Checked kChecked = check::check(maths_library().program);
  EXPECT_TRUE(kChecked.program);
  return *kChecked.program;
}

TEST(MathsLibrary, IsAValidProgram) {
  const check::Checked checked = check::check(maths_library().program);
  for (const Diagnostic& d : checked.diagnostics.list()) {
    // Nothing calls the functions: that is what a library is.
    if (d.severity == Severity::Error || d.message.find("never called") == std::string::npos)
      ADD_FAILURE() << d.at.file << ":" << d.at.line << ": " << d.message;
  }
  EXPECT_TRUE(checked.program);
}

TEST(MathsLibrary, SurvivesPrinting) {
  const text::Parsed parsed = text::parse(text::print(maths_library().program), "maths.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors());
  EXPECT_TRUE(parsed.program == maths_library().program);
}

TEST(MathsLibrary, FindsItsFunctions) {
  const MathsLibrary& library = maths_library();
  for (int i = 0; i < kIntrinsicCount; ++i) {
    const auto op = static_cast<Intrinsic>(i);
    EXPECT_EQ(has_maths(op, Type::F32), is_maths(op));
    EXPECT_EQ(has_maths(op, Type::F64), is_maths(op));
    for (const Type type : {Type::F32, Type::F64, Type::U32}) {
      const FnId fn = library.function(op, type);
      ASSERT_EQ(fn.valid(), has_maths(op, type));
      if (!fn.valid()) continue;
      EXPECT_EQ(library.program[fn].name,
                std::string(name_of(op)) + (type == Type::F32 ? "_f32" : "_f64"));
      EXPECT_EQ(library.program[fn].result, type);
      EXPECT_EQ(library.program[fn].params.count, static_cast<uint32_t>(arity_of(op)));
    }
  }
  size_t approximations = 0;
  for (int i = 0; i < kIntrinsicCount; ++i) {
    const auto op = static_cast<Intrinsic>(i);
    const FnId fn = library.approximation(op);
    ASSERT_EQ(fn.valid(), native_approximation(op) != nullptr) << name_of(op);
    if (!fn.valid()) continue;
    EXPECT_EQ(library.program[fn].name, std::string(name_of(op)) + "_approximate_f32");
    ++approximations;
  }
  EXPECT_EQ(library.program.fns.size(), 2 * 24 + approximations);
}

TEST(MathsLibrary, LeavesTheBuilderOfItsCallerAlone) {
  const auto make = [](bool in_between) {
    build::let(build::Value(1.0f));  // misuse that the next finish() reports
    build::ProgramBuilder p("user");
    p.workgroup(64);
    const build::Value x = build::let("x", build::Value(2.0f));
    if (in_between) maths_library();
    build::let("y", x * 3.0f);
    Result<Program> program = p.finish();
    return program ? std::string("finished") : to_string(program.error());
  };
  // Each case is a process of its own under ctest, so the first call builds the library here.
  const std::string with = make(true);
  EXPECT_EQ(with, make(false));
  EXPECT_NE(with.find("no ProgramBuilder"), std::string::npos) << with;
}

// ---- allowed operations

struct Allowed {
  bool wide = false;   // 64 bits
  bool roots = false;  // division and square root, which are rounded correctly everywhere
};

bool is_allowed(const check::CheckedProgram& library, ExprId id, const Allowed& also) {
  const Program& p = library.program;
  const std::optional<Type> type = library.expr_types[id.index()];
  if (!type || (!also.wide && bits_of(*type) == 64) || is_signed(*type)) return false;
  const Expr& expr = p[id];
  if (std::holds_alternative<IntLiteral>(expr) || std::holds_alternative<FloatLiteral>(expr) ||
      std::holds_alternative<LocalRef>(expr) || std::holds_alternative<Bitcast>(expr) ||
      std::holds_alternative<Unary>(expr))
    return true;
  if (const auto* binary = std::get_if<Binary>(&expr))
    return (also.roots || binary->op != BinaryOp::Div) && binary->op != BinaryOp::Rem;
  if (const auto* cast = std::get_if<Cast>(&expr)) {
    // Of words that a shift or mask has made shorter than 24 bits; the samples below find others.
    return cast->type == Type::F32 && library.expr_types[cast->operand.index()] == Type::U32;
  }
  if (const auto* call = std::get_if<IntrinsicCall>(&expr))
    return call->op == Intrinsic::Fma || call->op == Intrinsic::Select ||
           call->op == Intrinsic::MulHi || call->op == Intrinsic::Clz ||
           (also.roots && call->op == Intrinsic::Sqrt);
  return false;
}

void expect_allowed(const check::CheckedProgram& library, ExprId id, const Allowed& also) {
  EXPECT_TRUE(is_allowed(library, id, also)) << text::print_expr(library.program, id);
  for_each_operand(library.program, library.program[id],
                   [&](ExprId operand) { expect_allowed(library, operand, also); });
}

void expect_allowed(const check::CheckedProgram& library, Block block, const Allowed& also) {
  for (const StmtId id : library.program.items(block)) {
    const Stmt& stmt = library.program[id];
    EXPECT_TRUE(std::holds_alternative<Let>(stmt) || std::holds_alternative<Assign>(stmt) ||
                std::holds_alternative<If>(stmt) || std::holds_alternative<Return>(stmt));
    for_each_operand(library.program, stmt,
                     [&](ExprId operand) { expect_allowed(library, operand, also); });
    for_each_block(stmt, [&](Block inner) { expect_allowed(library, inner, also); });
  }
}

TEST(MathsLibrary, UsesOnlyExactOperations) {
  const check::CheckedProgram& library = checked_library();
  for (const Fn& fn : library.program.fns)
    expect_allowed(library, fn.body,
                   {.wide = fn.result == Type::F64,
                    .roots = fn.name.find("approximate") != std::string::npos});
}

// ---- the same bits

// Runs a function of straight-line code and ifs for many arguments at once, operator by operator as
// the checker folds constants.
class Evaluator {
 public:
  using Lanes = std::vector<Constant>;
  Evaluator(const check::CheckedProgram& library, FnId fn, const std::vector<Lanes>& arguments)
      : library_(library), p_(library.program), count_(arguments[0].size()), active_(count_, true) {
    const auto params = p_.params(p_[fn].params);
    locals_.resize(p_.locals.size());
    for (size_t i = 0; i < params.size(); ++i) locals_[params[i].index()] = arguments[i];
    run(p_[fn].body);
  }
  [[nodiscard]] const Lanes& result() const { return result_; }

 private:
  void run(Block block) {
    for (const StmtId id : p_.items(block)) {
      const Stmt& stmt = p_[id];
      if (const auto* let = std::get_if<Let>(&stmt)) {
        locals_[let->local.index()] = value(let->value);
      } else if (const auto* assign = std::get_if<Assign>(&stmt)) {
        const Lanes lanes = value(assign->value);
        for (size_t i = 0; i < count_; ++i)
          if (active_[i]) locals_[assign->local.index()][i] = lanes[i];
      } else if (const auto* branch = std::get_if<If>(&stmt)) {
        const Lanes condition = value(branch->condition);
        std::vector<bool> outer = active_;
        for (size_t i = 0; i < count_; ++i) active_[i] = outer[i] && condition[i].bits != 0;
        run(branch->then_block);
        active_ = outer;
      } else {
        result_ = value(std::get<Return>(stmt).value);
      }
    }
  }

  Lanes value(ExprId id) {
    const Expr& expr = p_[id];
    if (const auto* local = std::get_if<LocalRef>(&expr)) return locals_[local->local.index()];
    if (const auto known = check::evaluate(p_, library_, id)) return Lanes(count_, *known);
    std::vector<Lanes> operands;
    for_each_operand(p_, expr, [&](ExprId operand) { operands.push_back(value(operand)); });
    Lanes lanes(count_);
    for (size_t i = 0; i < count_; ++i) {
      std::array<Constant, 3> in;
      for (size_t k = 0; k < operands.size(); ++k) in[k] = operands[k][i];
      if (const auto* unary = std::get_if<Unary>(&expr))
        lanes[i] = *check::fold(unary->op, in[0]);
      else if (const auto* binary = std::get_if<Binary>(&expr))
        lanes[i] = *check::fold(binary->op, in[0], in[1]);
      else if (const auto* cast = std::get_if<Cast>(&expr))
        lanes[i] = check::convert(in[0], cast->type);
      else if (const auto* bitcast = std::get_if<Bitcast>(&expr))
        lanes[i] = {bitcast->type, in[0].bits};
      else
        lanes[i] = *check::fold(std::get<IntrinsicCall>(expr).op, in);
    }
    return lanes;
  }

  const check::CheckedProgram& library_;
  const Program& p_;
  size_t count_;
  std::vector<Lanes> locals_;
  std::vector<bool> active_;
  Lanes result_;
};

constexpr size_t kBatch = 4096;  // lanes that stay in the cache

// Feeds batches of arguments made by `fill(x, y)` until it returns false.
template <class T, class Fill, class NativeFunction>
void expect_same_bits(Intrinsic op, FnId fn, Fill fill, const NativeFunction& native) {
  using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const Type type = sizeof(T) == 4 ? Type::F32 : Type::F64;
  const auto constant = [&](T x) { return Constant{type, std::bit_cast<Word>(x)}; };
  bool more = true;
  while (more) {
    std::vector<T> x, y;
    T a = 0, b = 0;
    while (x.size() < kBatch && (more = fill(a, b))) {
      x.push_back(a);
      y.push_back(b);
    }
    if (x.empty()) return;
    std::vector<Evaluator::Lanes> arguments(2);
    for (const T each : x) arguments[0].push_back(constant(each));
    for (const T each : y) arguments[1].push_back(constant(each));
    const Evaluator evaluator(checked_library(), fn, arguments);
    for (size_t i = 0; i < x.size(); ++i) {
      const T expected = native(x[i], y[i]);
      const T found = std::bit_cast<T>(static_cast<Word>(evaluator.result()[i].bits));
      if (std::isnan(expected) && std::isnan(found)) continue;
      ASSERT_EQ(std::bit_cast<Word>(found), std::bit_cast<Word>(expected))
          << name_of(op) << "(" << x[i] << ", " << y[i] << ")";
    }
  }
}

// One element after the other of a list that also stands for both arguments.
template <class T>
auto each_of(const std::vector<T>& list) {
  return [&list, next = size_t{0}](T& x, T&) mutable {
    if (next == list.size()) return false;
    x = list[next++];
    return true;
  };
}

class MathsBits : public testing::TestWithParam<Intrinsic> {};

TEST_P(MathsBits, AreThoseOfTheNativeFunction) {
  const Intrinsic op = GetParam();
  const std::vector<float> samples = test::stratified_f32(100'000);
  expect_same_bits<float>(op, maths_library().function(op, Type::F32), each_of(samples),
                          native_maths_f32(op));
}

// D-PIPE.9: what a device computes under a budget is what vyre_verify_maths has measured.
TEST(MathsBitsOfApproximations, AreThoseOfTheNativeFunctions) {
  const std::vector<float> samples = test::stratified_f32(100'000);
  for (int i = 0; i < kIntrinsicCount; ++i) {
    const auto op = static_cast<Intrinsic>(i);
    if (const MathsF32 native = native_approximation(op))
      expect_same_bits<float>(op, maths_library().approximation(op), each_of(samples), native);
  }
}

std::string name_of_param(const testing::TestParamInfo<Intrinsic>& info) {
  return std::string(name_of(info.param));
}
INSTANTIATE_TEST_SUITE_P(F32, MathsBits,
                         testing::Values(Intrinsic::Exp, Intrinsic::Exp2, Intrinsic::Log,
                                         Intrinsic::Log2, Intrinsic::Sin, Intrinsic::Cos,
                                         Intrinsic::Tan, Intrinsic::Asin, Intrinsic::Acos,
                                         Intrinsic::Atan, Intrinsic::Sinh, Intrinsic::Cosh,
                                         Intrinsic::Tanh, Intrinsic::Rsqrt, Intrinsic::Recip,
                                         Intrinsic::Log10, Intrinsic::Log1p, Intrinsic::Expm1,
                                         Intrinsic::Cbrt, Intrinsic::Erf, Intrinsic::Exp10),
                         name_of_param);

// Pairs of special values, every seventh, then any bits and numbers of one size.
template <class T, class Word>
auto pairs_of(const std::vector<T>& special, size_t samples) {
  return [&special, samples, random = test::Random(3), next = size_t{0}](T& x, T& y) mutable {
    const size_t index = next++ * 7;
    if (index < special.size() * special.size()) {
      x = special[index / special.size()];
      y = special[index % special.size()];
      return true;
    }
    x = std::bit_cast<T>(static_cast<Word>(random.next()));
    y = std::bit_cast<T>(static_cast<Word>(random.next()));
    const double factor = random.unit() * 3;
    if (next % 2 == 0) y = static_cast<T>(static_cast<double>(x) * factor);
    return next < samples + special.size() * special.size() / 7;
  };
}

TEST(MathsBitsOfTwo, AreThoseOfTheNativeFunctions) {
  const std::vector<float> special = test::special_f32();
  for (const Intrinsic op : {Intrinsic::Atan2, Intrinsic::Hypot})
    expect_same_bits<float>(op, maths_library().function(op, Type::F32),
                            pairs_of<float, uint32_t>(special, 50'000), native_maths_f32(op));
}

TEST(MathsBitsPow, AreThoseOfTheNativeFunction) {
  const std::vector<float> special = test::special_f32();
  test::Random random(1);
  // A fifth of all pairs of special values, then samples.
  const size_t pairs = special.size() * special.size() / 5;
  size_t next = 0;
  const auto fill = [&](float& x, float& y) {
    if (next < pairs) {
      x = special[next * 5 / special.size()];
      y = special[next * 5 % special.size()];
    } else {
      test::pow_arguments(random, next % 8, x, y);
    }
    return next++ < pairs + 100'000;
  };
  expect_same_bits<float>(Intrinsic::Pow, maths_library().function(Intrinsic::Pow, Type::F32), fill,
                          native_maths_f32(Intrinsic::Pow));
}

class MathsBitsF64 : public testing::TestWithParam<int> {};

TEST_P(MathsBitsF64, AreThoseOfTheNativeFunction) {
  const auto op = static_cast<Intrinsic>(GetParam());
  if (!is_maths(op)) return;
  const FnId fn = maths_library().function(op, Type::F64);
  if (arity_of(op) == 2) {
    const std::vector<double> special = test::special_f64();
    expect_same_bits<double>(op, fn, pairs_of<double, uint64_t>(special, 20'000),
                             native_maths_f64(op));
    return;
  }
  std::vector<double> samples = test::stratified_f64(40'000);
  test::Random random(5);
  for (size_t i = 0; i < 20'000; ++i) samples.push_back((random.unit() - 0.5) * 16);
  expect_same_bits<double>(op, fn, each_of(samples), native_maths_f64(op));
}

INSTANTIATE_TEST_SUITE_P(Functions, MathsBitsF64,
                         testing::Range(static_cast<int>(Intrinsic::Exp), kIntrinsicCount),
                         [](const auto& info) {
                           return std::string(name_of(static_cast<Intrinsic>(info.param)));
                         });

}  // namespace
}  // namespace vyre::ir
