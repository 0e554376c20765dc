// SPDX-License-Identifier: Apache-2.0
// Bits of NaNs in the code that is made: kept where a program can see them, and without cost where
// arithmetic makes or takes the value. That the bytes are right is for the conformance tests.
#include "codegen/llvm/nan_bits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/llvm/code_test.hpp"
#include "codegen/llvm/nvptx/target.hpp"

namespace vyre::codegen {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string each(std::string_view from, std::string_view to, std::string_view statements) {
  return "program each {\n  workgroup 256;\n  in x : " + std::string(from) +
         "[];\n  in w : u32[];\n  out y : " + std::string(to) +
         "[] @count(len(x));\n  let i = gid.x;\n  " + std::string(statements) + "\n}\n";
}

std::string ptx_of(const std::string& source) {
  return text_of_code(nvptx_code(plan_of(source), {.architecture = "sm_90"}, NvptxListing::Ptx));
}

// A select beside a conversion.
constexpr const char* kVectorTest = "vcmp(un|)ord";
constexpr const char* kThreadTest = "setp\\.(nan|num)\\.f32";

TEST(NanBits, CopiesTestForThem) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "code is generated for x86-64 only";
#endif
  for (const std::string& source :
       {each("f16", "f32", "y[i] = x[i];"), each("f32", "f16", "y[i] = x[i];"),
        each("f16", "u32", "y[i] = bitcast<u32>(x[i]);"),
        each("f16", "f32", "var v = x[i]; if w[i] > 3 { v = v * 2.0; } y[i] = v;"),
        each("f16", "f32", "y[i] = select(w[i] > 3, x[i], 1.0);")}) {
    EXPECT_THAT(assembly_of(source), ContainsRegex(kVectorTest)) << source;
    EXPECT_THAT(ptx_of(source), ContainsRegex(kThreadTest)) << source;
  }
}

TEST(NanBits, ArithmeticDoesNot) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "code is generated for x86-64 only";
#endif
  for (const std::string& source :
       {each("f16", "f16", "y[i] = x[i] * 3.0;"), each("f16", "f32", "y[i] = x[i] + 1.0;"),
        each("f16", "f16", "y[i] = fma(x[i], -x[i], sqrt(abs(x[i])));"),
        each("f32", "f16", "var s = 0.0; for k in 0 .. 9 { s += x[i + k]; } y[i] = s;"),
        each("f16", "u32", "y[i] = (x[i] / 3.0) as u32;")}) {
    EXPECT_THAT(assembly_of(source), AllOf(HasSubstr("vcvtp"), Not(ContainsRegex(kVectorTest))))
        << source;
    EXPECT_THAT(ptx_of(source), AllOf(HasSubstr("cvt."), Not(ContainsRegex(kThreadTest))))
        << source;
  }
}

TEST(NanBits, ACopyIsNoConversionAtAll) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "code is generated for x86-64 only";
#endif
  for (const char* const type : {"f16", "bf16"}) {
    const std::string source = each(type, type, "let v = x[i]; y[i] = v;");
    EXPECT_THAT(assembly_of(source), Not(ContainsRegex("vcvtp|vcmp(un|)ord|vpslld"))) << type;
    EXPECT_THAT(ptx_of(source), Not(ContainsRegex("cvt\\.(rn\\.f16|f32)|setp\\.nan"))) << type;
  }
}

// neg.f32, abs.f32 and copysign.f32 of PTX leave open which NaN they give.
TEST(NanBits, SignsThatAProgramSeesAreChangedInIntegers) {
  constexpr const char* kSigns = "(neg|abs|copysign)\\.f(32|64)";
  for (const std::string& source :
       {each("f32", "f32", "y[i] = bitcast<f32>(bitcast<u32>(x[i]) ^ 0x80000000);"),
        each("f32", "f32", "y[i] = bitcast<f32>(bitcast<u32>(x[i]) & 0x7fffffff);"),
        each("f32", "f32", "y[i] = bitcast<f32>(bitcast<u32>(x[i]) | 0x80000000);"),
        each("f32", "f32",
             "y[i] = bitcast<f32>((bitcast<u32>(x[i]) & 0x7fffffff) | (w[i] & 0x80000000));"),
        each("f64", "f64", "y[i] = bitcast<f64>(bitcast<u64>(x[i]) ^ (1u64 << 63));")})
    EXPECT_THAT(ptx_of(source), Not(ContainsRegex(kSigns))) << source;
  // In arithmetic they cost nothing.
  EXPECT_THAT(ptx_of(each("f32", "f32", "y[i] = fma(-x[i], x[i], 1.0);")),
              ContainsRegex("neg\\.f32"));
}

}  // namespace
}  // namespace vyre::codegen
