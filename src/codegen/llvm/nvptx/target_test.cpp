// SPDX-License-Identifier: Apache-2.0
// PTX is held against what it may not contain and given to ptxas, where there is one; that it
// computes the right bytes is for a device to say.
#include "codegen/llvm/nvptx/target.hpp"

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
#include "device/gpu_kernel.hpp"
#include "ir/maths.hpp"
#include "vyre/text/text.hpp"

namespace vyre::codegen {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::array<std::string_view, 3> kArchitectures = {"sm_75", "sm_80", "sm_90"};

plan::Plan plan_of(std::string_view source, plan::Route route = plan::Route::Resident,
                   bool accesses_checked = false) {
  text::Parsed parsed = text::parse(source, "test");
  EXPECT_FALSE(parsed.diagnostics.has_errors()) << source;
  auto checked = check::check_valid(std::move(parsed.program));
  if (!checked) {
    ADD_FAILURE() << source << to_string(checked.error());
    return {};
  }
  auto plan = plan::make_plan(*checked, {.variant = {.route = route}, .checked = accesses_checked});
  EXPECT_TRUE(plan.has_value()) << source;
  return std::move(*plan);
}

Result<std::string> ptx_of(const plan::Plan& plan, const NvptxTarget& target = {},
                           NvptxListing listing = NvptxListing::Ptx) {
  const auto code = nvptx_code(plan, target, listing);
  if (!code) return std::unexpected(code.error());
  return std::string(reinterpret_cast<const char*>(code->data()), code->size());
}

std::string ptx(std::string_view source, std::string_view architecture = "sm_90",
                plan::Route route = plan::Route::Resident) {
  const auto code = ptx_of(plan_of(source, route), {.architecture = architecture});
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
std::map<std::string, std::string> memory_programs() {
  return {
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
  };
}

std::map<std::string, std::string> other_programs() {
  return {
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
      {"subgroups", R"(program subgroups { workgroup 64; inout a : u32[]; inout f : f64[];
         let x = a[gid.x];
         a[gid.x] = subgroup_add(x) + subgroup_inclusive_add(x) + subgroup_shuffle(x, 3)
                  + subgroup_shuffle_up(x, 1) + subgroup_ballot(x > 3);
         if subgroup_any(x == 7) { f[gid.x] = subgroup_min(f[gid.x]); }
         barrier subgroup; f[gid.x] = subgroup_exclusive_add(f[gid.x]); })"},
      {"subgroups_that_end", R"(program subgroups_that_end { workgroup 40; inout a : i64[];
         if a[gid.x] == 7 { return; }
         a[gid.x] = subgroup_mul(a[gid.x]) + subgroup_inclusive_add(a[gid.x]); })"},
      {"ordered", R"(program ordered { workgroup 64; inout a : u32[]; shared s : u32[1];
         atomic_add(a[0], 1, release); a[gid.x] = atomic_load(a[0], acquire);
         a[1] = atomic_cas(a[0], 1, 2, acq_rel); atomic_store(s[0], 1, release); })"},
      {"copies", R"(program copies { workgroup 64; inout a : u32[]; in from : i64[];
         shared s : u32[64];
         async copy(1, s, 0, a, wid.x * 64, 64); wait(1); a[gid.x] = s[63 - lid.x];
         barrier workgroup; async copy(2, a, from[0], a, from[1], from[2]); wait(2); })"},
      {"grid", R"(program synchronising { workgroup 64; inout a : u32[]; shared s : u32[64];
         if a[gid.x] == 7 { return; }
         s[lid.x] = a[gid.x]; barrier workgroup; s[lid.x] += s[63]; barrier grid;
         a[gid.x] = s[lid.x];
         fixpoint max 9 over (a) { atomic_min(a[gid.x], a[gid.x + 1]); } })"},
      {"traps", R"(program traps { workgroup 64; inout a : u32[];
         if a[gid.x] == 7 { trap(3, a[gid.x]); } barrier grid; a[gid.x] += 1; resume(3); })"},
      {"endless", R"(program endless { workgroup 64; inout a : u32[];
         while a[gid.x] != 3 { a[gid.x] = a[gid.x] * 5 + 1; } })"},
  };
}

const std::map<std::string, std::string>& programs() {
  static const std::map<std::string, std::string> kAll = [] {
    std::map<std::string, std::string> all = memory_programs();
    all.merge(other_programs());
    return all;
  }();
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
  const std::string reverse = ptx(kReverse);
  EXPECT_EQ(count(reverse, "bar.sync"), 1U) << reverse;
  EXPECT_THAT(reverse, AllOf(HasSubstr("ld.shared"), HasSubstr("st.shared"),
                             HasSubstr(".extern .shared .align 16 .b8 vyre_shared[]")));
  // One after shared memory is zeroed. The trip count of a loop that is not long is known, and each
  // has its barrier.
  EXPECT_EQ(count(ptx(kTree), "bar.sync"), 9U);
  // After zeroing; two each around the loads of the condition and of the body.
  EXPECT_EQ(count(ptx(programs().at("uniform_load")), "bar.sync"), 5U);
}

// Lanes that have left are not waited for, but those that are leaving are part of their warp, which
// bar.sync needs as a whole. With barriers of the grid inside no lane leaves alone.
TEST(Nvptx, BarriersDoNotNeedWholeWarpsWhereLanesEnd) {
  const char* const source = R"(program p { workgroup 64; inout a : u32[]; shared s : u32[64];
    s[lid.x] = a[gid.x]; if s[lid.x] == 7 { return; } barrier workgroup;
    a[gid.x] = s[63 - lid.x]; })";
  const std::string code = ptx(source);
  EXPECT_EQ(count(code, "barrier.sync"), 2U) << code;
  EXPECT_EQ(count(code, "bar.sync"), 0U) << code;
  const auto checked = ptx_of(plan_of(kReverse, plan::Route::Resident, true), {.checked = true});
  ASSERT_TRUE(checked.has_value()) << to_string(checked.error());
  EXPECT_EQ(count(*checked, "barrier.sync"), 2U) << *checked;
  EXPECT_THAT(ptx(programs().at("grid"), "sm_90", plan::Route::Native),
              Not(HasSubstr("barrier.sync")));
}

// A mask names no lane that there never was.
TEST(Nvptx, OperationsOfSubgroupsNameTheLanesOfTheWarp) {
  const auto ballot = [](uint32_t lanes) {
    return ptx(
        fmt::format("program p {{ workgroup {}; over len(a); inout a : u32[]; "
                    "a[gid.x] = subgroup_ballot(a[gid.x] == 1); }}",
                    lanes));
  };
  EXPECT_THAT(ballot(64), ContainsRegex("vote.sync.ballot.b32 .*, -1;"));
  EXPECT_THAT(ballot(8), ContainsRegex("vote.sync.ballot.b32 .*, 255;"));
  const std::string some = ballot(40);
  EXPECT_THAT(some, AllOf(ContainsRegex("selp.b32 .*, -1, 255,"), HasSubstr("vote.sync.ballot")));
}

TEST(Nvptx, OnlyFmaIsFused) {
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
      for (const plan::Route route : {plan::Route::Native, plan::Route::Resident})
        EXPECT_EQ(refused_by_ptxas(ptx(source, architecture, route), architecture), "")
            << name << " for " << architecture << ", " << plan::name_of(route);
}

// Lanes of a thread, and of a block.
std::pair<uint32_t, uint32_t> shape_of(std::string_view body, std::string_view buffers = {}) {
  const plan::Plan plan = plan_of(fmt::format(
      "program p {{ workgroup 64; in a : u32[]; in b : f64[]; in c : u8[]; inout o : u32[]; {}\n"
      "let i = gid.x; {} }}",
      buffers, body));
  const ThreadShape shape = thread_shape(plan.segments[0].program, false);
  for (const std::string_view architecture : kArchitectures) {
    const auto code = ptx_of(plan, {.architecture = architecture});
    EXPECT_TRUE(code.has_value()) << body << to_string(code.error());
    if (code && !ptxas().empty()) {
      EXPECT_EQ(refused_by_ptxas(*code, architecture), "") << body;
    }
  }
  return {shape.lanes, shape.threads};
}

TEST(Nvptx, ThreadsOfSeveralLanes) {
  const std::pair<uint32_t, uint32_t> four{4, 256};
  const std::pair<uint32_t, uint32_t> one{1, 64};
  EXPECT_EQ(shape_of("o[i] = a[i] * 2;"), four);
  EXPECT_EQ(shape_of("if i < len(o) { o[i] = a[i] + 1; }"), four);
  EXPECT_EQ(shape_of("if i >= len(o) { return; } o[i] = a[i + 3] + a[i] + a[0];"), four);
  EXPECT_EQ(shape_of("o[i] = c[i] as u32;"), four);
  EXPECT_EQ(shape_of("o[i] = b[i] as u32;"), std::pair(2U, 256U));  // sixteen bytes
  EXPECT_EQ(shape_of("o[i] = a[a[i] & 255];"), four);               // gathers
  EXPECT_EQ(shape_of("if a[i] > 3 { o[i] = 1; } else { o[i] = a[i] * 7; }"), four);
  EXPECT_EQ(shape_of("var s = 0; for k in 0 .. 9 { s += a[i + k]; } o[i] = s;"), four);
  // Lanes that wait, share, change one element, part, or would own more than sixteen bytes.
  EXPECT_EQ(shape_of("o[i] = lid.x;"), one);
  EXPECT_EQ(shape_of("s[lid.x] = a[i]; barrier workgroup; o[i] = s[0];", "shared s : u32[64];"),
            one);
  EXPECT_EQ(shape_of("o[i] = subgroup_add(a[i]);"), one);
  EXPECT_EQ(shape_of("atomic_add(o[a[i]], 1);"), one);
  EXPECT_EQ(shape_of("o[i] = a[i]; o[0] = 1;"), one);
  EXPECT_EQ(shape_of("o[i] = a[i]; o[a[0]] = 1;"), one);
  EXPECT_EQ(shape_of("o[i] = a[i * 4] + a[i * 4 + 1];"), one);
  EXPECT_EQ(shape_of("o[i] = c[a[i]] as u32;"), one);
  EXPECT_EQ(shape_of("var k = 0; while k < a[i] { k += 1; } o[i] = k;"), one);
  EXPECT_EQ(shape_of("for k in 0 .. a[i] { o[i] += k; }"), one);
}

// One test for all accesses, sixteen bytes at a time, neighbours loaded once.
TEST(Nvptx, AccessesOfSixteenBytes) {
  const std::string plain =
      ptx("program p { workgroup 256; over len(o); in a : u32[]; in b : u32[]; inout o : u32[];"
          " let i = gid.x; if i < len(o) { o[i] = a[i] * 2 + b[i]; } }");
  EXPECT_EQ(count(plain, "ld.global.nc.v4.u32"), 2U) << plain;
  EXPECT_EQ(count(plain, "st.global.v4.u32"), 1U);
  const std::string stencil =
      ptx("program p { workgroup 256; over size[0], size[1]; uniform size : u32[2]; in a : f32[];"
          " inout o : f32[]; let x = gid.x; let y = gid.y; let w = size[0];"
          " if x > 0 && x < w - 1 && y > 0 && y < size[1] - 1 { let i = y * w + x;"
          " o[i] = 0.25 * ((a[i - w] + a[i + w]) + (a[i - 1] + a[i + 1])); } }");
  EXPECT_EQ(count(stencil, "ld.global.nc.v4.f32"), 3U) << stencil;
  EXPECT_EQ(count(stencil, "st.global.v4.f32"), 1U);
  const std::string bytes =
      ptx("program p { workgroup 256; over len(o); in a : u8[]; inout o : u32[]; let i = gid.x;"
          " if i < len(o) { o[i] = a[i]; } }");
  EXPECT_THAT(bytes, HasSubstr("ld.global.nc.u32"));
}

TEST(Nvptx, GridBarriersAreInside) {
  constexpr const char* kPlain = R"(program p { workgroup 64; inout a : u32[];
    a[gid.x] = 1; barrier grid; a[gid.x + 1] += 1; barrier grid; a[gid.x] += 1; })";
  std::string code = ptx(kPlain, "sm_90", plan::Route::Native);
  EXPECT_THAT(code, AllOf(HasSubstr("atom.add.acq_rel.gpu.global.u32"),
                          HasSubstr("ld.acquire.gpu.global.u32"), HasSubstr("nanosleep.u32"),
                          HasSubstr("vyre_wait"), Not(HasSubstr("bar.red"))));
  // All threads read whether the launch is given up, after the barrier at which the leader says so.
  size_t barriers = count(code, "atom.add.acq_rel.gpu");
  EXPECT_EQ(barriers, 2U) << code;
  EXPECT_EQ(count(code, "ld.volatile.shared.u32"), barriers) << code;
  EXPECT_EQ(count(code, "st.volatile.shared.u32"), barriers + 1) << code;
  // With votes it always says something, and the first one may say that it was not begun.
  code = ptx(programs().at("grid"), "sm_90", plan::Route::Native);
  barriers = count(code, "atom.add.acq_rel.gpu");
  EXPECT_EQ(barriers, 3U) << code;
  EXPECT_EQ(count(code, "ld.volatile.shared.u64"), barriers) << code;
  EXPECT_EQ(count(code, "st.volatile.shared.u64"), barriers + 1) << code;
  EXPECT_EQ(count(code, ".entry "), 1U);
  // Without one there is nothing of it, and as many kernels as segments.
  const std::string split = ptx(programs().at("grid"));
  EXPECT_THAT(split, Not(HasSubstr("acquire")));
  EXPECT_GT(count(split, ".entry "), 1U);
}

// Whether to begin at all: at once, or, not to wait for the answer, at the first barrier of the
// grid.
TEST(Nvptx, BlocksPollFirst) {
  const std::string alone = ptx(programs().at("endless"));
  EXPECT_THAT(alone, ContainsRegex("ld.volatile.global.u32 \t(%r[0-9]+), [^\n]*\n\tsetp.eq"));
  const std::string loop = " while a[gid.x] != 3 { a[gid.x] = a[gid.x] * 5 + 1; } ";
  const std::string synchronised =
      ptx("program p { workgroup 64; inout a : u32[];" + loop + "barrier grid;" + loop + "}",
          "sm_90", plan::Route::Native);
  // The first load of all, and its value is not used before the barrier.
  const size_t poll = synchronised.find("ld.volatile.global.u32 \t");
  ASSERT_NE(poll, std::string::npos);
  EXPECT_LT(poll, synchronised.find("ld.global.u32")) << synchronised;
  const size_t name = synchronised.find("%r", poll);
  const std::string answer = synchronised.substr(name, synchronised.find(',', name) - name) + ",";
  EXPECT_GT(synchronised.find(answer, name + answer.size()), synchronised.find("bar.sync"))
      << synchronised;
  // In a loop each barrier would test it.
  const std::string in_loop =
      ptx("program p { workgroup 64; inout a : u32[]; for i in 0 .. num_workgroups.x {" + loop +
              "barrier grid; } }",
          "sm_90", plan::Route::Native);
  EXPECT_THAT(in_loop, ContainsRegex("ld.volatile.global.u32 \t(%r[0-9]+), [^\n]*\n\tsetp.eq"));
  EXPECT_EQ(count(in_loop, "st.volatile.shared.u32"), 2U) << in_loop;
}

TEST(Nvptx, UnreadZerosAreNotWritten) {
  const auto clears = [](std::string_view body) {
    const std::string code = ptx("program p { workgroup 64; inout a : u32[]; shared s : u32[64]; " +
                                 std::string(body) + " }");
    EXPECT_THAT(code, HasSubstr("st.shared"));
    return count(code, "st.shared.v4.u32") != 0;
  };
  const std::string use = " barrier workgroup; a[gid.x] = s[63 - lid.x];";
  EXPECT_FALSE(clears("s[lid.x] = a[gid.x];" + use));
  EXPECT_FALSE(clears("let lane = lid.x; barrier workgroup; s[lane] = a[gid.x];" + use));
  EXPECT_FALSE(clears("for i in 0 .. num_workgroups.x { s[lid.x] = a[gid.x + i];" + use +
                      " barrier workgroup; }"));
  // Read before, or by others before the barrier; not by all lanes; not all of it; after a loop
  // that may have no iteration.
  EXPECT_TRUE(clears("a[gid.x] = s[lid.x]; s[lid.x] = 1;" + use));
  EXPECT_TRUE(clears("s[lid.x] = a[gid.x]; a[gid.x] = s[63 - lid.x];"));
  EXPECT_TRUE(clears("if a[gid.x] == 1 { s[lid.x] = a[gid.x]; }" + use));
  EXPECT_TRUE(clears("if a[gid.x] == 1 { return; } s[lid.x] = a[gid.x];" + use));
  EXPECT_TRUE(clears("s[lid.x / 2] = a[gid.x];" + use));
  EXPECT_TRUE(clears("s[lid.x] += a[gid.x];" + use));
  EXPECT_TRUE(clears("var lane = lid.x; lane = a[3]; s[lane] = a[gid.x];" + use));
  EXPECT_TRUE(clears(
      "for i in 0 .. num_workgroups.x { s[lid.x] = a[gid.x + i]; barrier workgroup; }" + use));
  EXPECT_TRUE(
      clears("while num_workgroups.x == 1 { s[lid.x] = a[gid.x]; barrier workgroup; }" + use));
  EXPECT_TRUE(clears("let c = lid.x < 3 && s[lid.x] == 1; s[lid.x] = a[gid.x];" + use));
  EXPECT_TRUE(
      clears("fn w(b : buffer u32[], i : u32) -> bool { b[i] = 1; return true; } "
             "let c = lid.x < 3 && w(s, lid.x);" +
             use));
}

// What is not cleared holds the pattern; what is cleared stays so.
TEST(Nvptx, PoisonInSharedMemory) {
  const auto code = [](std::string_view first, std::byte poison) {
    const std::string source = "program p { workgroup 64; inout a : u32[]; shared s : u32[64]; " +
                               std::string(first) +
                               " barrier workgroup; a[gid.x] = s[63 - lid.x]; }";
    return ptx_of(plan_of(source, plan::Route::Resident), {.poison = poison}).value();
  };
  EXPECT_THAT(code("s[lid.x] = 1;", std::byte{0x5A}), HasSubstr("1515870810"));
  EXPECT_THAT(code("s[lid.x] = 1;", std::byte{0x25}), HasSubstr("623191333"));
  EXPECT_THAT(code("s[lid.x / 2] = 1;", std::byte{0x5A}), Not(HasSubstr("1515870810")));
}

TEST(Nvptx, ConditionsSettleBounds) {
  const auto tests = [](std::string_view body) {
    const std::string code =
        ptx("program p { workgroup 64; inout a : u32[]; in by : u32[]; shared s : u32[64]; "
            "s[lid.x] = lid.x; barrier workgroup; var d = by[0]; " +
            std::string(body) + " a[gid.x] = d; }");
    return count(code, ", 63;") + count(code, ", 64;");
  };
  EXPECT_EQ(tests("if lid.x >= d { d = 7 + s[lid.x - by[1]]; }"), 1U);
  EXPECT_EQ(tests("let k = by[1]; if lid.x >= k { d = s[lid.x - k]; }"), 0U);
  EXPECT_EQ(tests("let k = by[1]; if lid.x > k && d > 3 { d = s[lid.x - k]; }"), 0U);
  EXPECT_EQ(tests("let k = by[1]; if k > lid.x { d = 9; } else { d = s[lid.x - k]; }"), 0U);
  // The other way round, or with something that has changed since.
  EXPECT_EQ(tests("let k = by[1]; if lid.x <= k { d = s[lid.x - k]; }"), 1U);
  EXPECT_EQ(tests("if lid.x >= d { d += by[2]; d = s[lid.x - d]; }"), 1U);
  EXPECT_EQ(tests("let k = by[1]; if lid.x >= k || d > 3 { d = s[lid.x - k]; }"), 1U);
}

// Inactive lanes that execute uniform code do not come to subgroup operations, which would wait for
// them.
TEST(Nvptx, EndedLanesRuleOutSubgroups) {
  const char* const source = R"(program p { workgroup 64; inout a : u32[];
    if a[gid.x] == 7 { return; }
    barrier grid; a[gid.x] = subgroup_add(a[gid.x]); })";
  const plan::Plan inside = plan_of(source, plan::Route::Native);
  ASSERT_EQ(inside.segments.size(), 1U);
  EXPECT_FALSE(is_launchable(inside.segments[0]));
  EXPECT_THAT(ptx(source, "sm_90", plan::Route::Native), Not(HasSubstr("vote")));
  EXPECT_THAT(ptx(source), HasSubstr("vote.sync.ballot"));
  const plan::Plan all = plan_of(
      "program p { workgroup 64; inout a : u32[]; barrier grid; a[gid.x] = subgroup_add(a[gid.x]); "
      "}",
      plan::Route::Native);
  EXPECT_TRUE(is_launchable(all.segments[0]));
}

std::string ptx_with_budget(std::string_view source, uint32_t ulps) {
  const auto code = ptx_of(plan_of(source), {.ulp_budget = ulps});
  EXPECT_TRUE(code.has_value()) << source;
  if (code && !ptxas().empty()) {
    EXPECT_EQ(refused_by_ptxas(*code, "sm_90"), "");
  }
  return code.value_or("");
}

// D-PIPE.9: instructions whose documented error is within the budget; flushed to zero never.
TEST(Nvptx, ABudgetPermitsInstructions) {
  const std::string source =
      R"(program p { workgroup 256; over len(o); in a : f32[]; inout o : f32[];
      let x = a[gid.x]; o[gid.x] = recip(x) + rsqrt(x) + exp2(x) + log2(x) + sin(x); })";
  const std::string strict = ptx_with_budget(source, 0);
  EXPECT_THAT(strict, Not(ContainsRegex("(rcp|rsqrt|ex2|lg2|sin)\\.approx")));
  EXPECT_EQ(ptx_with_budget(source, 1), strict);
  const std::string two = ptx_with_budget(source, 2);
  EXPECT_EQ(count(two, "rcp.approx.f32"), count(two, "rcp.approx"));
  EXPECT_GT(count(two, "rcp.approx.f32"), 0U);
  EXPECT_THAT(two, Not(ContainsRegex("(rsqrt|ex2|lg2|sin)\\.approx")));
  EXPECT_LT(two.size(), strict.size()) << "sin is shorter, too";
  const std::string three = ptx_with_budget(source, 3);
  EXPECT_GT(count(three, "rsqrt.approx.f32"), 0U);
  EXPECT_GT(count(three, "ex2.approx.f32"), 0U);
  EXPECT_THAT(three, Not(ContainsRegex("(lg2|sin|cos)\\.approx")))
      << "their error has no bound in ULP";
  EXPECT_THAT(three, Not(HasSubstr("approx.ftz")));
  EXPECT_EQ(ptx_with_budget(source, 1'000'000), three);
}

// D-PIPE.9: the profile `latency`.
TEST(Nvptx, CheapCodeRunsOneLaneInAThread) {
  const plan::Plan plan = plan_of(kSaxpy);
  const Target cheap{.format = device::Format::Ptx, .architecture = "sm_90", .cheap = true};
  const auto code = kNvptxTarget.emit(cheap, plan);
  ASSERT_TRUE(code);
  const std::string text(reinterpret_cast<const char*>(code->data()), code->size());
  EXPECT_THAT(text, Not(HasSubstr(".v4.")));
  device::Entry entry;
  kNvptxTarget.describe_entry(cheap, plan.segments[0], entry);
  EXPECT_EQ(entry.lanes_per_thread, 1U);
  EXPECT_EQ(entry.threads, 256U);
  EXPECT_THAT(ptx(kSaxpy), HasSubstr(".v4."));
  if (!ptxas().empty()) {
    EXPECT_EQ(refused_by_ptxas(text, "sm_90"), "");
  }
}

// D-PIPE.10: accesses that the caches give up first, as wide as without the hint.
TEST(Nvptx, StreamingAccessesAreEvictedFirst) {
  const auto with = [](std::string_view hint, std::string_view type = "u32") {
    const std::string code =
        ptx(fmt::format("program p {{ workgroup 256; over len(o); in a : {0}[] {1}; in b : {0}[]; "
                        "inout o : {0}[] {1};"
                        " let i = gid.x; if i < len(o) {{ o[i] = a[i] + b[i]; }} }}",
                        type, hint));
    if (!ptxas().empty()) {
      EXPECT_EQ(refused_by_ptxas(code, "sm_90"), "") << code;
    }
    return code;
  };
  const std::string plain = with("");
  EXPECT_THAT(plain, Not(HasSubstr(".cs")));
  EXPECT_EQ(with("@locality(temporal)"), plain);
  EXPECT_EQ(with("@locality(random)"), plain);
  const std::string streamed = with("@locality(streaming)");
  EXPECT_EQ(count(streamed, "ld.global.cs.v4.b32"), 1U) << streamed;
  EXPECT_EQ(count(streamed, "st.global.cs.v4.b32"), 1U) << streamed;
  EXPECT_EQ(count(streamed, "ld.global.nc.v4.u32"), 1U) << "b as ever";
  EXPECT_THAT(streamed, Not(HasSubstr("st.global.v4")));
  for (const std::string_view type : {"u8", "i16", "f16", "f32", "u64", "f64"})
    EXPECT_THAT(with("@locality(streaming)", type),
                AllOf(HasSubstr("ld.global.cs"), HasSubstr("st.global.cs")))
        << type;
}

// D-PIPE.10: threads are numbered along the axis whose neighbours touch neighbouring elements.
TEST(Nvptx, CoalesceDecidesTheOrderOfThreads) {
  const auto with = [](std::string_view hint, std::string_view more = "") {
    return ptx(
        fmt::format("program p {{ workgroup 8, 32; inout o : u32[] {}; o[gid.x * 4096 + gid.y]"
                    " = 1; {} }}",
                    hint, more));
  };
  const std::string along_x = with("");
  const std::string along_y = with("@coalesce(y)");
  EXPECT_EQ(with("@coalesce(x)"), along_x);
  // y is tid / 8, or tid % 32.
  EXPECT_THAT(along_x, AllOf(ContainsRegex("shr\\.u32[^;]*, 3;"),
                             Not(ContainsRegex("and\\.b32[^;]*, 31;"))));
  EXPECT_THAT(along_y, AllOf(Not(ContainsRegex("shr\\.u32[^;]*, 3;")),
                             ContainsRegex("and\\.b32[^;]*, 31;")));
  const std::string subgroups = "o[0] = subgroup_add(gid.x);";
  EXPECT_EQ(with("@coalesce(y)", subgroups), with("", subgroups))
      << "lanes are those of the language";
}

// D-PIPE.10
TEST(Nvptx, AlignmentOfSharedMemory) {
  const plan::Plan plan = plan_of(
      "program p { workgroup 64; inout a : u32[] @align(4096); shared s : u8[3]; shared t : "
      "u32[64] "
      "@align(512); shared u : u32[4]; s[0] = 1; t[lid.x] = a[gid.x]; u[0] = 2; barrier workgroup; "
      "a[gid.x] = t[63 - lid.x] + s[0] + u[0]; }");
  const SharedLayout layout = shared_layout(plan.segments[0].program);
  EXPECT_EQ(layout.alignment, 512U);
  EXPECT_THAT(layout.at, testing::ElementsAre(0, 16, 512, 768));
  EXPECT_EQ(layout.bytes, 784U);
  const auto code = ptx_of(plan);
  ASSERT_TRUE(code);
  EXPECT_THAT(*code, HasSubstr(".extern .shared .align 512 .b8 vyre_shared[]"));
  if (!ptxas().empty()) {
    EXPECT_EQ(refused_by_ptxas(*code, "sm_90"), "");
  }
  const auto ir = ptx_of(plan, {}, NvptxListing::Llvm);
  ASSERT_TRUE(ir);
  EXPECT_THAT(*ir, ContainsRegex("= !\\{i64 4096\\}"));
}

TEST(Nvptx, OrdersAreFences) {
  const std::string code = ptx(programs().at("ordered"));
  // Before, after, both, before.
  EXPECT_EQ(count(code, "fence.acq_rel.gpu"), 5U) << code;
  EXPECT_THAT(ptx(programs().at("atomics")), Not(HasSubstr("fence")));
}

// Only loops without a known end poll, and only checked mode reports accesses. All lanes of a GPU
// may stop at once, so they read what is there before they take the lock.
TEST(Nvptx, StopsAreRecorded) {
  EXPECT_THAT(ptx(programs().at("endless")), HasSubstr("vyre_stop"));
  EXPECT_THAT(ptx(kSaxpy), Not(HasSubstr("vyre_stop")));
  const char* const source = "program p { workgroup 64; inout a : u32[]; a[gid.x * 2] = 1; }";
  const auto checked = ptx_of(plan_of(source, plan::Route::Resident, true), {.checked = true});
  ASSERT_TRUE(checked.has_value()) << to_string(checked.error());
  EXPECT_THAT(*checked, HasSubstr("vyre_stop"));
  EXPECT_LT(checked->find("ld.acquire.gpu"), checked->find("atom.global.exch"));
  if (!ptxas().empty()) {
    EXPECT_EQ(refused_by_ptxas(*checked, "sm_90"), "");
  }
}

// Inner loops know nothing of it: LLVM does eight iterations at once, and what is left one at a
// time.
TEST(Nvptx, LoopsPollOutside) {
  const std::string sum =
      ptx("program p { workgroup 64; in x : f32[]; out o : f32[64]; var s = 0.0;"
          " for i in gid.x .. len(x) step 64 { s += x[i]; } o[lid.x] = s; }");
  EXPECT_EQ(count(sum, "ld.global.nc.f32"), 9U) << sum;
  const size_t first = sum.find("ld.global.nc.f32");
  size_t eighth = first;
  for (int i = 0; i < 7; ++i) eighth = sum.find("ld.global.nc.f32", eighth + 1);
  const std::string iterations = sum.substr(first, eighth - first);
  EXPECT_THAT(iterations, AllOf(Not(HasSubstr("setp")), Not(HasSubstr("bra")))) << sum;
  EXPECT_EQ(count(sum, "ld.volatile.global.u16"), 1U);

  const std::string steps =
      ptx("program p { workgroup 64; inout a : u32[]; var x = gid.x; var n = 0;"
          " while x != 1 { x = x * 5 + 3; n += 1; } a[gid.x] = n; }");
  EXPECT_EQ(count(steps, "mad.lo.s32"), 8U + 2U) << steps;
  EXPECT_EQ(count(steps, "ld.volatile.global.u16"), 1U);
}

// A loop that ends before it has polled leaves that to the one around it, even if that one is known
// to end.
TEST(Nvptx, LoopsAroundLoopsPoll) {
  const auto places = [](std::string_view loops) {
    return count(ptx(fmt::format("program p {{ workgroup 64; inout a : u32[]; var x = gid.x; {} "
                                 "a[gid.x] = x; }}",
                                 loops)),
                 "ld.volatile.global.u16");
  };
  EXPECT_EQ(places("while x != 1 { x = x * 5 + 3; }"), 1U);
  EXPECT_EQ(places("while x != 1 { while x > 7 { x = x * 5 + 3; } x += 2; }"), 2U);
  EXPECT_EQ(places("for i in 0 .. len(a) { while x > 7 { x = x * 5 + 3; } x += i; }"), 2U);
  EXPECT_EQ(places("for i in 0 .. 5000 { while x > 7 { x = x * 5 + 3; } x += i; }"), 2U);
  EXPECT_EQ(places("for i in 0 .. 5000 { x = x * 5 + 3; }"), 0U);
}

// As many blocks at once as there are places for threads: whether a grid barrier is possible
// depends on it.
TEST(Nvptx, KernelsThatWaitLeaveRegistersToOthers) {
  const std::string_view synchronising = programs().at("grid");
  EXPECT_THAT(ptx(synchronising, "sm_90", plan::Route::Native), HasSubstr(".minnctapersm 32"));
  EXPECT_THAT(ptx(synchronising, "sm_89", plan::Route::Native), HasSubstr(".minnctapersm 24"));
  EXPECT_THAT(ptx(synchronising, "sm_75", plan::Route::Native), HasSubstr(".minnctapersm 16"));
  EXPECT_THAT(ptx(kReverse), HasSubstr(".minnctapersm"));
  EXPECT_THAT(ptx(kSaxpy), Not(HasSubstr(".minnctapersm")));
  EXPECT_THAT(ptx("program p { workgroup 64; inout a : u32[]; shared s : u32[64]; var t : u32[8];"
                  " t[a[gid.x] & 7] = 1; s[lid.x] = t[3]; barrier workgroup; a[gid.x] = s[0]; }"),
              Not(HasSubstr(".minnctapersm")));
}

bool uses_fma(const plan::Plan& plan) {
  for (const plan::Segment& segment : plan.segments)
    for (const ir::Expr& e : segment.program.program.exprs)
      if (const auto* call = std::get_if<ir::IntrinsicCall>(&e);
          call != nullptr && (call->op == ir::Intrinsic::Fma || is_maths(call->op)))
        return true;
  return false;
}

// All programs that there are, in all ways through grid barriers.
void make_all(const char* folder, size_t least) {
  size_t made = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(VYRE_SOURCE_DIR) + folder)) {
    if (file.path().extension() != ".vyre") continue;
    const std::string name = file.path().stem();
    std::ifstream in(file.path());
    const std::string source{std::istreambuf_iterator<char>(in), {}};
    for (const plan::Route route :
         {plan::Route::Native, plan::Route::Persistent, plan::Route::Resident}) {
      const plan::Plan plan = plan_of(source, route);
      // Only programs with barriers have several ways.
      if (route == plan::Route::Persistent && plan.whole) continue;
      for (const std::string_view architecture : kArchitectures) {
        const auto code = ptx_of(plan, {.architecture = architecture});
        ASSERT_TRUE(code.has_value()) << name << to_string(code.error());
        ++made;
        EXPECT_THAT(*code, Not(HasSubstr(".ftz"))) << name;
        if (!uses_fma(plan)) {
          EXPECT_THAT(*code, Not(HasSubstr("fma"))) << name;
        }
        if (!ptxas().empty()) {
          EXPECT_EQ(refused_by_ptxas(*code, architecture), "") << name << " for " << architecture;
        }
      }
    }
  }
  EXPECT_GE(made, least);
  if (ptxas().empty()) GTEST_SKIP() << "unavailable: ptxas is not installed";
}

TEST(Nvptx, Examples) {
  make_all("/examples", 150);
}
TEST(Nvptx, ConformancePrograms) {
  make_all("/test/conformance/programs", 300);
}

TEST(Nvptx, Refusals) {
  const std::map<std::string, std::string> kLimits = {
      {"its workgroup has more lanes (2048) than a block has threads (1024)",
       "program p { workgroup 2048; inout a : u32[]; a[0] = 1; }"},
      {"its shared memory (262144 bytes) is more than a block has (232432)",
       "program p { workgroup 1; inout a : u32[]; shared s : u32[65536]; a[0] = s[1]; }"},
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
