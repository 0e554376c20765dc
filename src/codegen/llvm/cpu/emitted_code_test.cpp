// SPDX-License-Identifier: Apache-2.0
// What results do not show: promises to LLVM that must never be made, and instructions that have to
// be there for the code to be as fast as it should.
#include <regex>

#include <gmock/gmock.h>

#include "codegen/llvm/code_test.hpp"

namespace vyre::codegen {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// The first line with a match, or "".
std::string line_with(const std::string& text, const std::regex& what) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (std::regex_search(line, what)) return line;
  return {};
}

class EveryProgram : public testing::TestWithParam<std::string_view> {
 protected:
  static void for_each_listing(const std::function<void(const std::string&)>& check) {
    for (const auto& path : programs_in(GetParam())) {
      const std::string source = read_text(path);
      for (const bool checked : {false, true}) {
        SCOPED_TRACE(path.string() + (checked ? ", checked" : ""));
        check(ir_of(source, checked));
      }
    }
  }
};

// Two buffers may lie in one, lanes may race, and a sum has its order: LLVM must not be told
// otherwise. Loops are vectorised here or not at all.
TEST_P(EveryProgram, MakesNoPromiseThatDoesNotHold) {
  const std::regex no_alias_argument(R"(^define .*\bnoalias\b)");
  const std::regex hints(R"(llvm\.loop\.vectorize|parallel_accesses|access\.group|llvm\.assume)");
  const std::regex inexact(
      R"( = (tail )?(f[a-z]+|call|select|phi) (fast|nnan|ninf|nsz|arcp|contract|afn|reassoc)\b)");
  for_each_listing([&](const std::string& listing) {
    EXPECT_THAT(listing, HasSubstr("define void @vyre_entry_0("));
    EXPECT_EQ(line_with(listing, no_alias_argument), "");
    EXPECT_EQ(line_with(listing, hints), "");
    EXPECT_EQ(line_with(listing, inexact), "");
  });
}

INSTANTIATE_TEST_SUITE_P(Of, EveryProgram, testing::Values("examples", "test/conformance/programs"),
                         [](const auto& folder) {
                           return std::string(folder.param.substr(folder.param.rfind('/') + 1));
                         });

constexpr std::string_view kSaxpy = R"(program saxpy {
  workgroup 256;
  uniform a : f32[1];
  in      x : f32[];
  inout   y : f32[];
  over len(y);
  let i = gid.x;
  if i < len(y) {
    y[i] = a[0] * x[i] + y[i];
  }
}
)";

std::string elementwise(std::string_view type, std::string_view value) {
  return "program each {\n  workgroup 256;\n  in x : " + std::string(type) +
         "[];\n  out y : " + std::string(type) +
         "[] @count(len(x));\n  let i = gid.x;\n  y[i] = " + std::string(value) + ";\n}\n";
}

struct Row {
  std::string name;
  std::string source;
  std::vector<std::string> has;
  std::vector<std::string> lacks;

  friend std::ostream& operator<<(std::ostream& out, const Row& row) { return out << row.name; }
};

std::vector<Row> rows() {
  return {
      // Packed, and the product is rounded before it is added to.
      {"saxpy", std::string(kSaxpy), {"vmulps.*%ymm", "vaddps.*%ymm"}, {"vfm", "v(mul|add)ss"}},
      {"fma_where_the_program_says_so",
       elementwise("f32", "fma(x[i], x[i], x[i])"),
       {"vfmadd.*ps.*%ymm"},
       {"call.*fmaf"}},
      {"integers", elementwise("u32", "x[i] + x[i] * x[i]"), {"vpmulld.*%ymm", "vpaddd.*%ymm"}, {}},
      {"bytes", elementwise("u8", "x[i] + 1"), {"vp(add|sub)[bwd].*%[xy]mm"}, {}},
      {"halves", elementwise("f16", "x[i] * 3.0"), {"vcvtph2ps", "vmulps.*%ymm"}, {}},
      {"square_root", elementwise("f32", "sqrt(x[i])"), {"vsqrtps.*%ymm"}, {"call.*sqrt"}},
      {"rounding", elementwise("f32", "floor(x[i])"), {"vroundps.*%ymm"}, {"call.*floor"}},
      {"division", elementwise("f32", "x[i] / 3.0"), {"vdivps.*%ymm"}, {"vrcpps"}},
      // The maths library is inlined and runs in vectors.
      {"exp",
       elementwise("f32", "exp(x[i])"),
       {"vfn?m(add|sub).*ps.*%ymm"},
       {"call.*exp", "v(mul|add|fmadd[0-9]*)ss"}},
      {"heat", example("heat"), {"vaddps.*%ymm", "vmulps.*%ymm"}, {"vfm", "v(mul|add)ss"}},
      {"moving_average", example("moving_average"), {"vaddps.*%ymm"}, {"vfm"}},
      {"life", example("life"), {"vpaddw.*%ymm"}, {}},
      {"matmul", example("matmul"), {"vfmadd.*ps.*%ymm"}, {"vfmadd.*ss"}},
      {"scan", example("scan"), {"vpaddd.*%ymm"}, {"lock"}},
      {"filter", example("filter"), {"vpaddd.*%ymm"}, {}},
      // One operation of the bus for a whole workgroup, none for shared memory.
      {"sum", example("sum"), {"vaddps.*%ymm"}, {"lock"}},
      {"reach", example("reach"), {"lock"}, {}},
      // Nodes are read in vectors, and those that match are serialised.
      {"frontier",
       "program frontier {\n  workgroup 64;\n  uniform level : u32[1];\n  in row : u32[];\n"
       "  in col : u32[];\n  inout depth : u32[];\n  over len(depth);\n"
       "  if atomic_load(depth[gid.x]) == level[0] {\n"
       "    for e in row[gid.x] .. row[gid.x + 1] {\n"
       "      atomic_min(depth[col[e]], level[0] + 1);\n    }\n  }\n}\n",
       {"vpcmpeqd.*%ymm", "lock"},
       {}},
  };
}

class Assembly : public testing::TestWithParam<Row> {};

TEST_P(Assembly, HasTheInstructionsThatItShould) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "code is generated for x86-64 only";
#endif
  const std::string listing = assembly_of(GetParam().source);
  for (const std::string& what : GetParam().has)
    EXPECT_NE(line_with(listing, std::regex(what)), "") << "no " << what << "\n" << listing;
  for (const std::string& what : GetParam().lacks)
    EXPECT_EQ(line_with(listing, std::regex(what)), "") << listing;
}

INSTANTIATE_TEST_SUITE_P(Of, Assembly, testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.name; });

TEST(WideVectors, AreRequested) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "code is generated for x86-64 only";
#endif
  const std::string listing = assembly_of(kSaxpy, "x86-64-v4");
  EXPECT_THAT(listing, ContainsRegex("vmulps.*%zmm"));
  EXPECT_THAT(listing, Not(HasSubstr("vfm")));
}

// Complete blocks inside of all bounds come without masks; the rest shares one block with them.
TEST(Bounds, AFastBlockAndARaggedOne) {
  const std::string listing = ir_of(kSaxpy);
  EXPECT_THAT(listing, HasSubstr("load <32 x float>"));
  EXPECT_THAT(listing, HasSubstr("store <32 x float>"));
  EXPECT_THAT(listing, HasSubstr("@llvm.masked.load.v"));
  EXPECT_THAT(listing, HasSubstr("@llvm.masked.store.v"));
}

TEST(Bounds, WhatIsProvedIsNotMasked) {
  const std::string listing = ir_of(
      "program p {\n  workgroup 64;\n  over 64;\n  in x : u32[64];\n  out y : u32[64];\n"
      "  y[lid.x] = x[63 - lid.x] + x[lid.x];\n}\n");
  EXPECT_THAT(listing, Not(HasSubstr("@llvm.masked.store")));
}

// Atomics of shared memory are plain: one thread runs a workgroup.
TEST(Atomics, SharedMemoryNeedsNone) {
  const std::string source = R"(program p {
  workgroup 64;
  over len(x);
  in x : u32[];
  inout total : u32[1];
  shared s : u32[8];
  atomic_add(s[x[gid.x] & 7], 1);
  barrier workgroup;
  if lid.x < 8 {
    $ = s[lid.x];
  }
}
)";
  const auto with = [&](std::string_view sink) {
    std::string text = source;
    text.replace(text.find('$'), 1, sink);
    return ir_of(text);
  };
  EXPECT_THAT(with("total[0]"), Not(ContainsRegex("atomicrmw|cmpxchg|load atomic")));
}

TEST(Atomics, OfBuffersAreAtomic) {
  EXPECT_THAT(ir_of("program p {\n  workgroup 64;\n  over len(x);\n  in x : u32[];\n"
                    "  inout n : u32[8];\n  let old = atomic_add(n[x[gid.x] & 7], 1);\n"
                    "  if old == 5 { atomic_max(n[0], old); }\n}\n"),
              ContainsRegex("atomicrmw add .*monotonic"));
}

// D-PIPE.9: without a budget one over x is computed, with one it is divided.
TEST(Budget, PermitsDivisionsAndRoots) {
  const std::string source = elementwise("f32", "recip(x[i]) + rsqrt(x[i])");
  const std::string strict = assembly_of(source);
  EXPECT_THAT(strict, Not(ContainsRegex("vdivps|vsqrtps")));
  const std::string one = assembly_of(source, "x86-64-v3", {.ulp_budget = 1});
  EXPECT_THAT(one, ContainsRegex("vdivps.*%ymm"));
  EXPECT_THAT(one, Not(HasSubstr("vsqrtps"))) << "rsqrt needs two";
  EXPECT_THAT(assembly_of(source, "x86-64-v3", {.ulp_budget = 2}), ContainsRegex("vsqrtps.*%ymm"));
}

// Rows that are stored, then releases in the next phase of the same kernel.
std::string with_hint(std::string_view hint) {
  return "program each {\n  workgroup 256;\n  in x : f32[];\n  inout y : f32[] " +
         std::string(hint) +
         ";\n  inout flag : u32[];\n  y[gid.x] = x[gid.x] * 2.0;\n  barrier workgroup;\n"
         "  if lid.x == 0 {\n    atomic_store(flag[1], 1, release);\n"
         "    let seen = atomic_add(flag[2], 1, acq_rel);\n"
         "    if seen == 99 { atomic_add(flag[3], 1); }\n  }\n}\n";
}

// D-PIPE.10: what the program calls streaming goes past the caches whatever its size is. x86-64
// lets such stores be seen after a release, so each one is fenced; the worker fences its last ones
// itself.
TEST(Locality, StreamingStoresGoPastTheCaches) {
  const std::string store =
      "program each {\n  workgroup 256;\n  in x : f32[];\n  inout y : f32[] $;"
      "\n  y[gid.x] = x[gid.x] * 2.0 + y[gid.x];\n}\n";
  const auto with = [&](std::string_view hint) {
    std::string text = store;
    text.replace(text.find('$'), 1, hint);
    return text;
  };
  EXPECT_THAT(assembly_of(with("@locality(streaming)")), ContainsRegex("vmovntps.*%ymm"));
  EXPECT_THAT(assembly_of(with("")), Not(HasSubstr("vmovnt")));
  const HostTarget once{.runs_once = true};
  const std::string written = elementwise("f32", "x[i] * 2.0");
  EXPECT_THAT(assembly_of(written, "x86-64-v3", once), HasSubstr("vmovnt")) << "if it is large";
  std::string kept = written;
  kept.replace(kept.find("@count"), 0, "@locality(temporal) ");
  EXPECT_THAT(assembly_of(kept, "x86-64-v3", once), Not(HasSubstr("vmovnt")));
}

// What a workgroup shares is read by all of it, soon.
TEST(Locality, SharedMemoryStaysInTheCaches) {
  const std::string listing = ir_of(
      "program p {\n  workgroup 256;\n  in x : f32[];\n  inout y : f32[];\n"
      "  shared s : f32[256] @locality(streaming);\n  s[lid.x] = x[gid.x];\n  barrier workgroup;\n"
      "  y[gid.x] = s[255 - lid.x];\n  if lid.x == 0 { atomic_store(y[0], 1.0, release); }\n}\n");
  EXPECT_THAT(listing, Not(HasSubstr("!nontemporal")));
  EXPECT_THAT(listing, Not(HasSubstr("sfence")));
}

TEST(Locality, AReleaseIsBehindStreamingStores) {
  const std::string fenced = ir_of(with_hint("@locality(streaming)"));
  const std::regex fence(R"(call void @llvm\.x86\.sse\.sfence)");
  const auto fences = std::distance(std::sregex_iterator(fenced.begin(), fenced.end(), fence), {});
  EXPECT_GE(fences, 2) << fenced;
  const size_t release = fenced.find("store atomic i32 1");
  ASSERT_NE(release, std::string::npos);
  EXPECT_NE(fenced.rfind("sfence", release), std::string::npos);
  EXPECT_LT(fenced.find("!nontemporal"), release) << "otherwise there is nothing to fence";
  EXPECT_THAT(ir_of(with_hint("")), Not(HasSubstr("sfence")));
}

// D-PIPE.10: lanes of a block lie along the axis in which neighbours touch neighbouring elements.
TEST(Coalesce, DecidesAlongWhichAxisABlockLies) {
  const auto with = [](std::string_view hint) {
    return "program transposed {\n  workgroup 16, 16;\n  uniform n : u32[2];\n  in a : f32[];\n"
           "  inout o : f32[] " +
           std::string(hint) +
           ";\n  over n[0], n[1];\n  let i = gid.x * 4096 + gid.y;\n  o[i] = a[i] + 1.0;\n}\n";
  };
  const std::string along_x = ir_of(with(""));
  EXPECT_THAT(along_x, HasSubstr("@llvm.masked.gather"));
  EXPECT_THAT(along_x, Not(HasSubstr("load <16 x float>")));
  const std::string along_y = ir_of(with("@coalesce(y)"));
  EXPECT_THAT(along_y, Not(HasSubstr("@llvm.masked.gather")));
  EXPECT_THAT(along_y, HasSubstr("load <16 x float>"));
  EXPECT_THAT(along_y, HasSubstr("store <16 x float>"));
  EXPECT_EQ(ir_of(with("@coalesce(x)")), along_x);
  EXPECT_EQ(ir_of(with("@coalesce(z)")), along_x) << "a workgroup has one lane along z";
}

// D-PIPE.10
TEST(Alignment, IsSaidOfPointers) {
  const auto with = [](std::string_view hint) {
    return "program p {\n  workgroup 64;\n  inout a : u32[] " + std::string(hint) +
           ";\n  a[gid.x] = 1;\n}\n";
  };
  EXPECT_THAT(ir_of(with("@align(4096)")), ContainsRegex("= !\\{i64 4096\\}"));
  EXPECT_THAT(ir_of(with("@align(64)")), ContainsRegex("= !\\{i64 256\\}"));
  EXPECT_THAT(ir_of(with("@align(64)")), Not(ContainsRegex("= !\\{i64 64\\}")));
}

}  // namespace
}  // namespace vyre::codegen
