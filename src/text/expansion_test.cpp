// SPDX-License-Identifier: Apache-2.0
// Modules, static parameters, lambdas and structs: what they expand to, and that a program written
// by hand is the same one.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "text/text_test.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

namespace vyre::text {
namespace {

using testing::HasSubstr;
using Files = std::map<std::string, std::string, std::less<>>;

ParseOptions with(const Files& files, std::vector<Setting> settings = {}) {
  return {[files](std::string_view path) -> ModuleText {
            const auto found = files.find(path);
            if (found == files.end()) return {};
            return {ModuleText::Status::Found, found->second};
          },
          std::move(settings)};
}

std::string messages(const Parsed& parsed) {
  return render_text(parsed.diagnostics, {});
}

std::string expanded(std::string_view text, const Files& files = {},
                     std::vector<Setting> settings = {}) {
  const Parsed parsed = parse(text, "main.vyre", with(files, std::move(settings)));
  EXPECT_FALSE(parsed.diagnostics.has_errors()) << messages(parsed);
  if (parsed.diagnostics.has_errors()) return {};
  const std::string printed = print(parsed.program);
  const Parsed again = parse(printed, "printed.vyre");
  EXPECT_FALSE(again.diagnostics.has_errors()) << messages(again) << printed;
  EXPECT_TRUE(again.program == parsed.program) << printed;
  return printed;
}

std::vector<std::string> codes(std::string_view text, const Files& files = {},
                               std::vector<Setting> settings = {}) {
  const Parsed parsed = parse(text, "main.vyre", with(files, std::move(settings)));
  std::vector<std::string> found;
  for (const Diagnostic& d : parsed.diagnostics.list()) found.emplace_back(text_of(d.code));
  return found;
}

std::string framed(std::string_view body) {
  return "program p { workgroup 64; inout x : f32[]; inout n : u32[]; " + std::string(body) + " }";
}

void expect_same(std::string_view text, std::string_view by_hand, const Files& files = {}) {
  const Parsed a = parse(text, "main.vyre", with(files));
  const Parsed b = parse(by_hand, "hand.vyre");
  ASSERT_FALSE(a.diagnostics.has_errors()) << messages(a);
  ASSERT_FALSE(b.diagnostics.has_errors()) << messages(b);
  EXPECT_EQ(print(a.program), print(b.program));
  EXPECT_EQ(ir::digest_of(a.program).hex(), ir::digest_of(b.program).hex());
}

TEST(Expansion, AModuleWrittenOutByHandIsTheSameProgram) {
  expect_same(
      "use \"a/m.vyre\"; program p { workgroup 64; inout x : f32[]; x[gid.x] = m.half(x[0]) * m.C; "
      "}",
      "program p { workgroup 64; const m__C : f32 = 2.0; inout x : f32[]; fn m__half(v : f32) -> "
      "f32 { return v * 0.5; } x[gid.x] = m__half(x[0]) * m__C; }",
      {{"a/m.vyre",
        "module m { const C : f32 = 2.0; fn half(v : f32) -> f32 { return v * 0.5; } }"}});
}

TEST(Expansion, ModulesUseModulesRelativeToThemselves) {
  const Files files = {{"a/m.vyre",
                        "use \"../b/n.vyre\" as other; module m { fn f(v : f32) -> f32 "
                        "{ return other.g(v); } }"},
                       {"b/n.vyre", "module n { fn g(v : f32) -> f32 { return v + 1.0; } }"}};
  EXPECT_THAT(expanded("use \"a/m.vyre\"; program p { workgroup 1; inout x : f32[1]; x[0] = "
                       "m.f(x[0]); }",
                       files),
              HasSubstr("return n__g(v);"));
}

TEST(Expansion, AStructWrittenOutByHandIsTheSameProgram) {
  expect_same(
      framed("struct S { a : f32, b : u32 } fn f(s : S) -> f32 { return s.a; } let i = "
             "gid.x; var s = S { a: x[i], b: i }; s.a += 1.0; x[i] = f(s);"),
      framed("fn f(s__a : f32, s__b : u32) -> f32 { return s__a; } let i = gid.x; var s__a : "
             "f32 = x[i]; var s__b : u32 = i; s__a += 1.0; x[i] = f(s__a, s__b);"));
}

TEST(Expansion, StructsAreExchangedThroughNewLocals) {
  const std::string text = expanded(
      framed("struct S { a : f32, b : f32 } var s = S { a: x[0], b: x[1] }; s = S { a: s.b, b: s.a "
             "}; x[gid.x] = s.a - s.b;"));
  EXPECT_THAT(text, HasSubstr("let s__b__new : f32 = s__a;"));
}

TEST(Expansion, InstancesAreSharedByUsesWithTheSameArguments) {
  const std::string text = expanded(
      framed("fn f<type T : number, const N : u32 = 4>(v : T) -> T { return v * (N as T); } "
             "x[gid.x] = f(x[0]) + f<f32, 2 + 2>(x[1]); n[gid.x] = f(n[0]) + f<u32, 5>(1);"));
  EXPECT_THAT(text, HasSubstr("fn f__f32_4(v : f32)"));
  EXPECT_THAT(text, HasSubstr("fn f__u32_4(v : u32)"));
  EXPECT_THAT(text, HasSubstr("fn f__u32_5(v : u32)"));
  EXPECT_EQ(text.find("f__f32_4__2"), std::string::npos);
}

TEST(Expansion, NamesThatAreTakenGetANumber) {
  EXPECT_THAT(expanded(framed("fn f<type T>(v : T) -> T { return v; } let f__f32 = x[0]; x[gid.x] "
                              "= f(f__f32);")),
              HasSubstr("fn f__f32__2(v : f32)"));
}

TEST(Expansion, LambdasTakeWhatTheyReadAsParameters) {
  const std::string text = expanded(
      "program p { workgroup 64; in t : f32[]; inout x : f32[]; fn g(v : f32, op : fn(f32) -> f32) "
      "-> f32 { return op(v); } fn f(v : f32, op : fn(f32) -> f32) -> f32 { return g(v, op) + g(v, "
      "|w| op(w) * 2.0); } let k = x[1]; x[gid.x] = f(x[0], |v| v * k + t[0]); }");
  EXPECT_THAT(text, HasSubstr("k__c : f32"));
  EXPECT_THAT(text, HasSubstr("t__c : buffer f32[]"));
}

TEST(Expansion, ScalarUniformsAreValuesForFunctionsAndLambdas) {
  const std::string text = expanded(
      "program p { workgroup 64; uniform k : f32; inout x : f32[]; fn g(v : f32, op : fn(f32) -> "
      "f32) "
      "-> f32 { return op(v); } fn h(v : f32) -> f32 { return v; } x[gid.x] = g(x[0], |v| v * k) + "
      "h(k); }");
  EXPECT_THAT(text, HasSubstr("k__c : f32"));
  EXPECT_THAT(text, HasSubstr("h(k)"));
}

TEST(Expansion, AFunctionWithoutAResultGivesNoValue) {
  EXPECT_THAT(
      codes(framed("fn fill(b : buffer f32[], v : f32) { b[0] = v; } var a : f32[4]; let w = "
                   "fill(a, 1.0); x[gid.x] = w;")),
      testing::ElementsAre("V044"));
}

TEST(Expansion, LambdasInsideFunctionsThatAreExpandedInPlace) {
  const std::string text = expanded(
      "program p { workgroup 64; in t : f32[]; inout x : f32[]; fn g(v : f32, op : fn(f32) -> f32) "
      "-> f32 { return op(v); } fn fill(b : buffer f32[], op : fn(f32) -> f32) { b[0] = g(b[1], "
      "|w| "
      "op(w) + t0()); } fn t0() -> f32 { return 1.0; } var a : f32[2]; fill(a, |v| v * t[0]); "
      "x[gid.x] = a[0]; }");
  EXPECT_THAT(text, HasSubstr("t__c"));
}

TEST(Expansion, TheOtherBranchOfIfConstIsNotEvenRead) {
  const std::string text =
      expanded(framed("const Fast : bool = true; if const Fast { x[0] = 1.0; } else { x[0] = "
                      "nothing_of_the_kind(y[0]); }"));
  EXPECT_EQ(text.find("Fast"), std::string::npos) << "a constant that only decides is not kept";
  EXPECT_THAT(text, HasSubstr("x[0] = 1.0;"));
}

TEST(Expansion, StaticFunctionsAreValues) {
  const auto value = [](const std::string& call) {
    const std::string text = expanded(framed("n[0] = select(" + call + ", 1, 2);"));
    return text.find("true") != std::string::npos;
  };
  EXPECT_TRUE(value("is_float(f64)"));
  EXPECT_FALSE(value("is_float(u8)"));
  EXPECT_TRUE(value("exact(max, f32)"));
  EXPECT_FALSE(value("exact(add, f32)"));
  EXPECT_THAT(expanded(framed("x[0] = lowest(f32) + identity(mul, f32);")),
              HasSubstr("bitcast<f32>"));
  EXPECT_THAT(expanded(framed("n[0] = size_of(f16) + identity(min, u32) + highest(u32);")),
              HasSubstr("n[0] = 2u32 + 4294967295u32 + 4294967295u32;"));
  // A function of the program with that name wins.
  EXPECT_THAT(expanded(framed("fn size_of(v : u32) -> u32 { return v; } n[0] = size_of(3);")),
              HasSubstr("size_of(3)"));
}

TEST(Expansion, SharedMemoryOfFunctionsIsHandedDown) {
  const std::string text = expanded(framed(
      "fn inner(v : f32) -> f32 { shared t : f32[64]; t[lid.x] = v; barrier workgroup; return "
      "t[63 - lid.x]; } fn outer(v : f32) -> f32 { let r = inner(v); return r; } let a = "
      "outer(x[0]); let b = inner(x[1]); x[gid.x] = a + b;"));
  EXPECT_THAT(text, HasSubstr("shared inner__t : f32[64];"));
  EXPECT_THAT(
      expanded(framed("fn g<type T, const N : u32>(v : T) -> T { shared t : T[N]; t[lid.x] = v; "
                      "return t[0]; } x[gid.x] = g<f32, 64>(x[0]);")),
      HasSubstr("shared g__f32_64__t : f32[64u32];"));
  EXPECT_THAT(text, HasSubstr("let a = outer(x[0], inner__t);"));
  EXPECT_THAT(text, HasSubstr("let r = inner(v, inner__t);"));
}

TEST(Expansion, PrivateArraysGoToBufferParameters) {
  const std::string text = expanded(
      framed("fn fill(b : buffer f32[], v : f32) { for k in 0 .. len(b) { b[k] = v; } } var a : "
             "f32[4]; fill(a, x[0]); fill(x, 2.0); x[gid.x] = a[3];"));
  EXPECT_THAT(text, HasSubstr("a[k__1] = v__1;"));
  EXPECT_THAT(text, HasSubstr("fill(x, 2.0);"));
}

TEST(Expansion, SettingsReachProgramsConstantsAndTuning) {
  const Files files = {{"m.vyre",
                        "module m { tune const Items : u32 = 4; const C : u32 = 1; fn f() "
                        "-> u32 { return Items + C; } }"}};
  const std::string text =
      "use \"m.vyre\"; program p<type K : number = u32, const N : u32 = 2> { workgroup 64; const "
      "Size "
      ": i32 = 8; inout y : K[]; y[0] = (N + m.f()) as K + Size as K; }";
  const std::string set =
      expanded(text, files, {{"K", "f32"}, {"N", "7"}, {"Size", "-3"}, {"m.Items", "16"}});
  EXPECT_THAT(set, HasSubstr("inout y : f32[];"));
  EXPECT_THAT(set, HasSubstr("7u32"));
  EXPECT_THAT(set, HasSubstr("const Size : i32 = -3;"));
  EXPECT_THAT(set, HasSubstr("const m__Items : u32 = 16;"));
  EXPECT_THAT(codes(text, files, {{"Sise", "1"}}), testing::ElementsAre("V119"));
  EXPECT_THAT(codes(text, files, {{"m.C", "1"}}), testing::ElementsAre("V118"));
  EXPECT_THAT(codes(text, files, {{"N", "-1"}}), testing::ElementsAre("V119"));
  EXPECT_THAT(codes(text, files, {{"K", "bool"}}), testing::ElementsAre("V107"));
}

TEST(Expansion, PathsStayInTheFolder) {
  for (const char* path : {"../m.vyre", "a/../../m.vyre", "/etc/passwd", "a\\\\m.vyre", "..", "."})
    EXPECT_THAT(codes("use \"" + std::string(path) + "\"; " + framed("x[0] = 1.0;")),
                testing::ElementsAre("V101"))
        << path;
  EXPECT_THAT(codes("use \"a/./m.vyre\"; " + framed("x[0] = 1.0;")), testing::ElementsAre("V100"));
}

TEST(ModulesIn, ReadsBelowTheFolderAndFollowsNoLinkOutOfIt) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / fmt::format("vyre_modules_{}", ::getpid());
  fs::create_directories(root / "in" / "deep");
  std::ofstream(root / "in" / "deep" / "m.vyre") << "module m {}";
  std::ofstream(root / "secret.vyre") << "module secret {}";
  fs::create_symlink("../secret.vyre", root / "in" / "link.vyre");
  fs::create_directory_symlink("..", root / "in" / "up");
  fs::create_symlink("deep/m.vyre", root / "in" / "inside.vyre");
  fs::create_symlink("loop.vyre", root / "in" / "loop.vyre");
  const ModuleReader read = modules_in((root / "in").string());
  using Status = ModuleText::Status;
  EXPECT_EQ(read("deep/m.vyre").text, "module m {}");
  EXPECT_EQ(read("inside.vyre").status, Status::Found);
  EXPECT_EQ(read("link.vyre").status, Status::Outside);
  EXPECT_EQ(read("up/secret.vyre").status, Status::Outside);
  EXPECT_EQ(read("loop.vyre").status, Status::Missing);
  EXPECT_EQ(read("deep").status, Status::Missing);
  EXPECT_EQ(read("none.vyre").status, Status::Missing);
  fs::remove_all(root);
}

TEST(Expansion, ErrorsInInstancesSayWhatTheyAreFor) {
  const Parsed parsed =
      parse(framed("fn g<type T>(v : T) -> T { return w; } fn f<type T>(v : T) -> T "
                   "{ return g(v); } x[0] = f(x[1]); n[0] = f(n[1]);"),
            "main.vyre");
  ASSERT_EQ(parsed.diagnostics.list().size(), 1U) << messages(parsed);
  const Diagnostic& d = parsed.diagnostics.list().front();
  EXPECT_EQ(d.code, Code::UnknownName);
  ASSERT_EQ(d.notes.size(), 2U);
  EXPECT_EQ(d.notes[0].message, "expanded for this use");
  EXPECT_LT(d.notes[0].at.column, d.notes[1].at.column) << "innermost first";
}

// Bombs: each is a short text that asks for far more than a program may have.
TEST(Expansion, BombsAreRefusedQuickly) {
  std::vector<std::string> bombs = {
      framed(
          "fn f<const N : u32>(v : f32) -> f32 { if const N == 0 { return v; } else { return f<N - "
          "1>(v) + f<N - 1>(v); } } x[0] = f<60>(x[0]);"),
      framed(
          "fn f<const N : u32, const K : u64>(v : f32) -> f32 { if const N == 0 { return v; } else "
          "{ return f<N - 1, K * 2>(v) + f<N - 1, K * 2 + 1>(v); } } x[0] = f<60, 1u64>(x[0]);"),
      framed("fn f<const N : u32>(v : f32) -> f32 { return f<N + 1>(v); } x[0] = f<0>(x[0]);"),
      framed("struct S { a : f32, b : f32 } fn f<const N : u32>(s : S) -> S { if const N == 0 { "
             "return "
             "s; } let a = f<N - 1>(s); let b = f<N - 1>(a); return b; } var s = S { a: 1.0, b: "
             "2.0 }; "
             "s = f<60>(s); x[0] = s.a + s.b;"),
      framed("struct S { a : f32, b : f32 } fn f(s : S) -> S { let t = f(s); return t; } var s = S "
             "{ a: "
             "1.0, b: 2.0 }; s = f(s); x[0] = s.a + s.b;"),
      framed(
          "fn g(v : f32, op : fn(f32) -> f32) -> f32 { return op(v); } fn f<const N : u32>(v : "
          "f32, "
          "op : fn(f32) -> f32) -> f32 { return f<N + 1>(v, |w| op(w) + f<N + 1>(w, op)); } x[0] = "
          "f<0>(x[0], |v| v);"),
      framed(
          "fn f<const N : u32>(v : f32) -> f32 { shared t : f32[64]; if const N == 0 { return v; } "
          "else { let a = f<N - 1>(v); let b = f<N / 2>(v); t[0] = a + b; return a; } } let a = "
          "f<62>(x[0]); x[0] = a;"),
  };
  for (const std::string& bomb : bombs) {
    const auto start = std::chrono::steady_clock::now();
    const Parsed parsed = parse(bomb, "bomb.vyre");
    const auto taken = std::chrono::steady_clock::now() - start;
    // Ten times the limit: the machine may be busy.
    EXPECT_LT(std::chrono::duration<double>(taken).count(), 10.0) << bomb;
    EXPECT_LT(parsed.program.exprs.size(), 3'000'000U);
    EXPECT_LE(parsed.program.fns.size(), 3000U);
  }
}

// Every prefix of a text with everything in it, and the text without each of its words.
TEST(Expansion, BrokenTextsAreReportedAndNothingElse) {
  const std::string text =
      "use vyre.tile; use \"m.vyre\" as q; program p<type K : number = u32> { workgroup 64; struct "
      "S { a "
      ": f32, b : u32 } inout x : f32[]; fn f<type T : number, const N : u32 = 2>(b : buffer T[], "
      "op : "
      "fn(T, T) -> T) -> T { shared s : T[N]; if const N > 1 { return op(b[0], b[N]); } else { "
      "return "
      "identity(op, T); } } fn g(s : S) -> S { if s.b == 1 { return s; } return S { a: s.a, b: 2 "
      "}; } "
      "var s = S { a: 1.0, b: 2 }; var v : S[4]; s = g(s); v[1] = s; let w = f<f32, 4>(x, |a, b| a "
      "+ "
      "b); let u = q.h(w); x[gid.x] = tile.reduce<64, f32>(u + v[1].a + f(x, max), add); }";
  const Files files = {{"m.vyre", "module m { fn h(v : f32) -> f32 { return v; } }"}};
  const ParseOptions options = with(files);
  for (size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    const Parsed parsed = parse(cut, "cut.vyre", options);
    EXPECT_TRUE(parsed.diagnostics.has_errors()) << cut;
    (void)format(cut, "cut.vyre");
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string left_out = text.substr(0, at) + text.substr(std::min(end + 1, text.size()));
    const Parsed parsed = parse(left_out, "word.vyre", options);
    if (!parsed.diagnostics.has_errors()) {
      EXPECT_FALSE(print(parsed.program).empty());
    }
    (void)format(left_out, "word.vyre");
    at = end + 1;
  }
}

TEST(Expansion, TheLayoutKeepsWhatIsExpanded) {
  const std::string text =
      "use vyre.tile;\n"
      "use \"m.vyre\" as q;\n"
      "\n"
      "program p<type K : number = u32> {\n"
      "  workgroup 64;\n"
      "  struct S { a : f32, b : u32 }\n"
      "  inout x : f32[];\n"
      "  fn f<type T : number, const N : u32 = 2>(b : buffer T[], op : fn(T, T) -> T) -> T {\n"
      "    if const N > 1 {\n"
      "      return op(b[0], b[N]);\n"
      "    } else {\n"
      "      return identity(op, T);\n"
      "    }\n"
      "  }\n"
      "  var s = S { a: 1.0, b: 2 };\n"
      "  let w = f<f32, (1 << 2)>(x, |a, b| a + b);\n"
      "  let c = q.Size < 4 && x[0] < w;\n"
      "  if s == (S { a: 2.0, b: 3 }) {\n"
      "    x[gid.x] = q.half<2>(s.a) + w;\n"
      "  }\n"
      "}\n";
  const Formatted formatted = format(text, "main.vyre");
  ASSERT_TRUE(formatted.text) << render_text(formatted.diagnostics, {{"main.vyre", text}});
  EXPECT_EQ(*formatted.text, text);
  std::string narrow;
  for (const char c : text)
    if (c != '\n') narrow += c;
  const Formatted again = format(narrow, "main.vyre");
  ASSERT_TRUE(again.text);
  const Formatted third = format(*again.text, "main.vyre");
  EXPECT_EQ(*third.text, *again.text);
}

}  // namespace
}  // namespace vyre::text
