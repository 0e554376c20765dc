// SPDX-License-Identifier: Apache-2.0
// PTX is held against what it may not contain and given to ptxas, where there is one; that it
// computes the right bytes is for a device to say.
#include "codegen/llvm/nvptx.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "codegen/llvm/llvm_ir.hpp"
#include "codegen/llvm/machine_code.hpp"
#include "ir/maths.hpp"
#include "vyre/text/text.hpp"

namespace vyre::codegen {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::array<std::string_view, 3> kArchitectures = {"sm_75", "sm_80", "sm_90"};

plan::Plan plan_of(std::string_view source) {
  text::Parsed parsed = text::parse(source, "test");
  EXPECT_FALSE(parsed.diagnostics.has_errors()) << source;
  auto checked = check::check_valid(std::move(parsed.program));
  if (!checked) {
    ADD_FAILURE() << source << to_string(checked.error());
    return {};
  }
  auto plan = plan::make_plan(*checked, {.route = plan::Route::Resident});
  EXPECT_TRUE(plan.has_value()) << source;
  return std::move(*plan);
}

Result<std::string> ptx_of(const plan::Plan& plan, const NvptxTarget& target = {},
                           NvptxListing listing = NvptxListing::Ptx) {
  const auto code = nvptx_code(plan, target, listing);
  if (!code) return std::unexpected(code.error());
  return std::string(reinterpret_cast<const char*>(code->data()), code->size());
}

std::string ptx(std::string_view source, std::string_view architecture = "sm_90") {
  const auto code = ptx_of(plan_of(source), {.architecture = architecture});
  EXPECT_TRUE(code.has_value()) << source << to_string(code.error());
  return code.value_or("");
}

size_t count(std::string_view text, std::string_view word) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; at += word.size()) ++n;
  return n;
}

std::string ptxas() {
  for (const char* path : {"/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"})
    if (::access(path, X_OK) == 0) return path;
  return {};
}

// What ptxas has to say against it; empty: nothing.
std::string refused_by_ptxas(const std::string& code, std::string_view architecture) {
  static int files = 0;
  const std::string file = fmt::format(
      "{}/vyre_{}_{}.ptx", std::filesystem::temp_directory_path().string(), ::getpid(), files++);
  std::ofstream(file) << code;
  FILE* const pipe = ::popen(
      fmt::format("{} -arch={} -o /dev/null {} 2>&1", ptxas(), architecture, file).c_str(), "r");
  std::string said;
  std::array<char, 512> part = {};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) said += part.data();
  const int status = ::pclose(pipe);
  std::filesystem::remove(file);
  return status == 0 ? "" : said + fmt::format("(status {})", status);
}

constexpr const char* kSaxpy = R"(program saxpy {
  workgroup 256; over len(y);
  in x : f32[]; in a : f32[]; inout y : f32[];
  let i = gid.x;
  if i < len(y) { y[i] = a[0] * x[i] + y[i]; }
})";

constexpr const char* kReverse = R"(program reverse {
  workgroup 256; over len(a);
  inout a : u32[]; shared s : u32[256];
  s[lid.x] = a[gid.x];
  barrier workgroup;
  a[gid.x] = s[255 - lid.x];
})";

constexpr const char* kTree = R"(program tree {
  workgroup 256; over len(a);
  in a : u32[]; out sums : u32[] @count((len(a) + 255) / 256);
  shared s : u32[256];
  s[lid.x] = a[gid.x];
  var half = 128;
  while half > 0 {
    barrier workgroup;
    if lid.x < half { s[lid.x] = s[lid.x] + s[lid.x + half]; }
    half = half / 2;
  }
  if lid.x == 0 { sums[wid.x] = s[0]; }
})";

// One for each thing that is lowered in its own way.
const std::map<std::string, std::string>& programs() {
  static const std::map<std::string, std::string> kAll = {
      {"saxpy", kSaxpy},
      {"reverse", kReverse},
      {"tree", kTree},
      {"axes", R"(program axes { workgroup 8, 4, 2; inout a : u32[]; shared s : u32[64];
         let l = (lid.z * workgroup_size.y + lid.y) * workgroup_size.x + lid.x;
         s[l] = gid.x ^ gid.y ^ gid.z ^ wid.y; barrier workgroup;
         a[(wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x] = s[63 - l];
         a[l] = subgroup_lane + subgroup_id * subgroup_size; })"},
      {"ended", R"(program ended { workgroup 64; inout a : u32[]; shared s : u32[64];
         if a[gid.x] == 7 { return; }
         s[lid.x] = a[gid.x]; barrier workgroup;
         a[gid.x] = s[(lid.x + 1) % 64]; })"},
      {"uniform_load", R"(program uniform_load { workgroup 64; inout a : u32[]; shared s : u32[2];
         while workgroup_load(s[0]) < 3 {
           if lid.x == 0 { s[0] = s[0] + 1; }
           let now = workgroup_load(s[0]);
           a[gid.x] += now;
         } })"},
      {"atomics", R"(program atomics { workgroup 64;
         inout a : u32[]; inout b : i64[]; inout f : f32[]; shared s : u32[4]; shared g : f32[1];
         let i = gid.x & 3;
         atomic_add(a[i], 1); atomic_sub(a[i], 2); atomic_min(a[i], 3); atomic_max(a[i], 4);
         atomic_and(a[i], 5); atomic_or(a[i], 6); atomic_xor(a[i], 7); atomic_nand(a[i], 8);
         a[8] = atomic_exchange(a[i], 9) + atomic_cas(a[i], 1, 2) + atomic_load(a[i]);
         atomic_store(a[i], 3); atomic_min(b[i], 5); atomic_add(b[i], 5); atomic_nand(b[i], 1);
         atomic_add(f[i], 1.5); atomic_exchange(f[i], 2.5); f[9] = atomic_load(f[i]);
         atomic_add(s[i], 1); atomic_max(s[i], 4); atomic_cas(s[i], 1, 2); atomic_add(g[0], 1.5);
         barrier workgroup; a[gid.x] = s[i]; f[gid.x] = g[0]; })"},
      {"storage", R"(program storage { workgroup 64;
         inout a : u8[]; inout b : i16[]; inout h : f16[]; inout e : bf16[]; inout c : bool[];
         a[gid.x] = a[gid.x] + 1; b[gid.x] = b[gid.x] - 1; h[gid.x] = h[gid.x] * 2.0;
         e[gid.x] = e[gid.x] * 2.0; c[gid.x] = !c[gid.x]; })"},
      {"arrays", R"(program arrays { workgroup 64; inout a : u32[]; in b : u32[];
         const table : u32[] = { 3, 1, 4, 1 };
         var p : u32[16];
         for i in 0 .. 16 { p[i] = b[gid.x + i] * table[i & 3]; }
         a[gid.x] = p[b[gid.x] & 15] + p[a[gid.x]] + table[gid.x]; })"},
      {"wide", R"(program wide { workgroup 64; inout a : u64[]; inout d : f64[]; inout i : i64[];
         in by : i64[];
         let x = a[gid.x];
         a[gid.x] = mul_hi(x, x) + x / (x & 7) + rotl(x, 3) + sat_mul(x, 5);
         i[gid.x] = i[gid.x] % by[0] + sat_mul(i[gid.x], 5) + (d[gid.x] as i64);
         d[gid.x] = sqrt(d[gid.x]) / (by[0] as f64) + min(d[gid.x], 1.0); })"},
      {"maths", R"(program maths { workgroup 64; inout a : f32[];
         let x = a[gid.x];
         a[gid.x] = sin(x) + exp(x) * log(x) + pow(x, 1.5) + tanh(x) + rsqrt(x) + atan(x)
                  + fma(x, x, 1.0) + round(x) + floor(x) + sign(x) + max(x, 2.0); })"},
      {"integers", R"(program integers { workgroup 64; inout a : i32[]; inout f : f32[];
         in by : i32[];
         let x = a[gid.x];
         a[gid.x] = popcount(x) + clz(x) + ctz(x) + reverse_bits(x) + abs_diff(x, 5) + x / by[0]
                  + sat_add(x, 5) + sat_sub(x, 7) + mul_hi(x, x) + (f[gid.x] as i32);
         f[gid.x] = (x as f32) / 3.0; })"},
  };
  return kAll;
}

TEST(Nvptx, OneThreadIsOneLane) {
  const std::string code = ptx(kSaxpy);
  EXPECT_THAT(code,
              AllOf(HasSubstr(".visible .entry vyre_entry_0("), HasSubstr(".reqntid 256, 1, 1"),
                    HasSubstr(".target sm_90"), HasSubstr("mul.rn.f32"), HasSubstr("add.rn.f32"),
                    HasSubstr("ld.global"), HasSubstr("st.global.f32"), Not(HasSubstr("fma")),
                    Not(HasSubstr(".ftz")), Not(HasSubstr(".local")), Not(HasSubstr("bar.sync"))));
}

TEST(Nvptx, BarriersStayWhereTheyAre) {
  // One after shared memory is zeroed, one of the source.
  const std::string reverse = ptx(kReverse);
  EXPECT_EQ(count(reverse, "bar.sync"), 2U) << reverse;
  EXPECT_THAT(reverse, AllOf(HasSubstr("ld.shared"), HasSubstr("st.shared"),
                             HasSubstr(".shared .align 16 .b8 vyre_shared_0[1024]")));
  // The trips of a loop that is not long are known, and each has its barrier.
  EXPECT_EQ(count(ptx(kTree), "bar.sync"), 9U);
  // After zeroing; two each around the loads of the condition and of the body.
  EXPECT_EQ(count(ptx(programs().at("uniform_load")), "bar.sync"), 5U);
}

TEST(Nvptx, OnlyWhatIsAskedForIsFused) {
  EXPECT_THAT(ptx("program p { workgroup 1; inout a : f32[]; a[0] = fma(a[0], a[1], a[2]); }"),
              HasSubstr("fma.rn.f32"));
  for (const auto& [name, source] : programs()) {
    const std::string code = ptx(source);
    EXPECT_THAT(code, Not(HasSubstr(".ftz"))) << name;
    EXPECT_THAT(code, Not(HasSubstr("approx"))) << name;
    if (name != "maths") {
      EXPECT_THAT(code, Not(HasSubstr("fma"))) << name;
    }
  }
}

// atom.global.add.f32 flushes subnormal numbers.
TEST(Nvptx, AtomicSumsKeepSubnormals) {
  const std::string code = ptx(programs().at("atomics"));
  EXPECT_THAT(code, AllOf(Not(HasSubstr("atom.global.add.f32")), HasSubstr("atom.shared.add.f32"),
                          HasSubstr("atom.global.cas.b32"), HasSubstr("atom.global.add.u32")));
}

TEST(Nvptx, PtxasTakesThePrograms) {
  if (ptxas().empty()) GTEST_SKIP() << "unavailable: ptxas is not installed";
  for (const std::string_view architecture : kArchitectures)
    for (const auto& [name, source] : programs())
      EXPECT_EQ(refused_by_ptxas(ptx(source, architecture), architecture), "")
          << name << " for " << architecture;
}

bool asks_for_fma(const plan::Plan& plan) {
  for (const plan::Segment& segment : plan.segments)
    for (const ir::Expr& e : segment.program.program.exprs)
      if (const auto* call = std::get_if<ir::IntrinsicCall>(&e);
          call != nullptr && (call->op == ir::Intrinsic::Fma || is_maths(call->op)))
        return true;
  return false;
}

// Segments of programs with barriers of the grid, too. What is refused is said here, so that
// nothing is lost unseen.
TEST(Nvptx, Examples) {
  std::map<std::string, std::string> refused;
  size_t made = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(VYRE_SOURCE_DIR) + "/examples")) {
    if (file.path().extension() != ".vyre") continue;
    const std::string name = file.path().stem();
    std::ifstream in(file.path());
    const std::string source{std::istreambuf_iterator<char>(in), {}};
    const plan::Plan plan = plan_of(source);
    for (const std::string_view architecture : kArchitectures) {
      const auto code = ptx_of(plan, {.architecture = architecture});
      if (!code) {
        EXPECT_EQ(code.error().code, ErrorCode::Unsupported) << to_string(code.error());
        refused[name] = code.error().message;
        continue;
      }
      ++made;
      EXPECT_THAT(*code, Not(HasSubstr(".ftz"))) << name;
      if (!asks_for_fma(plan)) {
        EXPECT_THAT(*code, Not(HasSubstr("fma"))) << name;
      }
      if (!ptxas().empty()) {
        EXPECT_EQ(refused_by_ptxas(*code, architecture), "") << name << " for " << architecture;
      }
    }
  }
  const auto has = [](const char* name, const char* why) {
    return ::testing::Pair(name, HasSubstr(why));
  };
  EXPECT_THAT(refused, ::testing::ElementsAre(has("filter", "subgroup operation"),
                                              has("moving_average", "asynchronous copy")));
  EXPECT_GT(made, 40U);
  if (ptxas().empty()) GTEST_SKIP() << "unavailable: ptxas is not installed";
}

TEST(Nvptx, Refusals) {
  const std::map<std::string, std::string> kRefused = {
      {"it has a subgroup operation", "a[gid.x] = subgroup_add(a[gid.x]);"},
      {"it has a barrier of subgroups", "barrier subgroup;"},
      {"it has an atomic operation with an order", "atomic_add(a[0], 1, acquire);"},
      {"it has a trap", "if a[0] == 1 { trap(3, a[1]); }"},
      {"it has an asynchronous copy", "async copy(1, s, 0, a, 0, 4); wait(1);"},
      {"it has a subgroup operation", "if a[0] == 1 { a[1] = f(a[0]); }"},
  };
  for (const auto& [why, statements] : kRefused) {
    const auto code = ptx_of(
        plan_of(fmt::format("program p {{ workgroup 32; inout a : u32[]; shared s : u32[4];\n"
                            "fn f(x : u32) -> u32 {{ return subgroup_add(x); }}\n"
                            "a[0] = s[0];\n{} }}",
                            statements)));
    ASSERT_FALSE(code.has_value()) << statements;
    EXPECT_EQ(code.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(code.error().message, AllOf(HasSubstr("no PTX is made for program `p`"),
                                            HasSubstr(why), HasSubstr("Fix: ")));
    EXPECT_NE(code.error().at.line, 0U) << statements;
  }
  const std::map<std::string, std::string> kLimits = {
      {"axis z of its workgroup (128) is longer than that of a block (64)",
       "program p { workgroup 1, 1, 128; inout a : u32[]; a[0] = 1; }"},
      {"its shared memory (65536 bytes) is more than a kernel declares (49152)",
       "program p { workgroup 1; inout a : u32[]; shared s : u32[16384]; a[0] = s[1]; }"},
      {"shared buffer `s` lives across a barrier of the grid in a program with barriers of "
       "workgroups whose lanes end early",
       "program p { workgroup 4; inout a : u32[]; shared s : u32[4]; if a[gid.x] == 1 { return; }"
       "s[lid.x] = a[gid.x]; barrier workgroup; s[lid.x] += s[3]; barrier grid; a[gid.x] = "
       "s[lid.x]; }"},
  };
  for (const auto& [why, source] : kLimits) {
    const auto code = ptx_of(plan_of(source));
    ASSERT_FALSE(code.has_value()) << source;
    EXPECT_EQ(code.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(code.error().message, HasSubstr(why));
  }
}

TEST(Nvptx, Targets) {
  const plan::Plan plan = plan_of(kSaxpy);
  for (const std::string_view name : {"sm_70", "sm_100", "sm_90a", "volta", ""}) {
    const auto code = ptx_of(plan, {.architecture = name});
    ASSERT_FALSE(code.has_value()) << name;
    EXPECT_EQ(code.error().code, ErrorCode::Unsupported);
    EXPECT_THAT(code.error().message, HasSubstr("use one of sm_75, sm_80"));
  }
  const auto checked = ptx_of(plan, {.checked = true});
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().code, ErrorCode::Unsupported);
  const auto llvm = ptx_of(plan, {}, NvptxListing::Llvm);
  ASSERT_TRUE(llvm.has_value());
  EXPECT_THAT(
      *llvm, AllOf(HasSubstr("define ptx_kernel void @vyre_entry_0"), Not(HasSubstr(" noalias "))));
}

// For what it cannot select LLVM would end the process.
TEST(Nvptx, WhatLlvmRefusesIsAnError) {
  for (int i = 0; i < 2; ++i) {
    const auto code =
        make_code(Machine::nvptx("sm_90"), Output::Assembly, [](llvm::Module& module) {
          llvm::IRBuilder<> b(module.getContext());
          llvm::Type* const real = b.getFloatTy();
          llvm::Function* const f =
              llvm::Function::Create(llvm::FunctionType::get(real, {real}, false),
                                     llvm::GlobalValue::ExternalLinkage, "f", module);
          b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", f));
          b.CreateRet(b.CreateUnaryIntrinsic(llvm::Intrinsic::sin, f->getArg(0)));
          return Result<void>{};
        });
    ASSERT_FALSE(code.has_value());
    EXPECT_EQ(code.error().code, ErrorCode::CompileFailed);
  }
  EXPECT_TRUE(ptx_of(plan_of(kSaxpy)).has_value());
}

}  // namespace
}  // namespace vyre::codegen
