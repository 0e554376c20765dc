// SPDX-License-Identifier: Apache-2.0
#include "lsp/queries.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lsp/lsp_test.hpp"
#include "lsp/words.hpp"
#include "vyre/ir/ops.hpp"
#include "vyre/text/text.hpp"

namespace vyre::lsp {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kReach = R"(program reach {
  workgroup 64;
  over len(visited);
  const Limit : u32 = 3 + 4;
  in row : u32[];
  inout visited : u32[];
  fn twice(x : u32, b : buffer u32[]) -> u32 {
    let y = b[x] * 2;
    return y;
  }
  region main {
    let v = gid.x;
    var sum = 0u32;
    for e in 0 .. len(row) {
      sum += row[e];
    }
    if v < len(visited) {
      visited[v] = sum + Limit + twice(v, row);
    }
  }
}
)";

std::string hover_text(std::string_view name, size_t nth = 0) {
  static const auto a = analyse(std::string(kReach), "reach.vyre");
  size_t at = a->text.find(name);
  for (; nth > 0; --nth) at = a->text.find(name, at + 1);
  const auto found = hover(*a, at);
  return found ? found->markdown : "";
}

TEST(Hover, SaysTypeLevelAndProof) {
  EXPECT_THAT(hover_text("v = gid"), HasSubstr("let v : u32"));
  EXPECT_THAT(hover_text("v = gid"), HasSubstr("Level **lane**"));
  EXPECT_THAT(hover_text("sum ="), HasSubstr("Level **grid**"));
  EXPECT_THAT(hover_text("visited[v]"), HasSubstr("In bounds: "));
  EXPECT_THAT(hover_text("visited[v]"), HasSubstr("inout visited : u32[]"));
  EXPECT_THAT(hover_text("b[x]"), HasSubstr("Not proved in bounds"));
  EXPECT_THAT(hover_text("row[e]"), HasSubstr("In bounds: "));
  EXPECT_THAT(hover_text("Limit +"), HasSubstr("Value 7."));
  EXPECT_THAT(hover_text("twice(v"), HasSubstr("fn twice(x : u32, b : buffer u32[]) -> u32"));
  EXPECT_THAT(hover_text("gid.x"), HasSubstr("place in the grid"));
  EXPECT_THAT(hover_text("+ Limit"), HasSubstr("+ : u32"));
  EXPECT_THAT(hover_text("region"), HasSubstr("profiles"));
  EXPECT_EQ(hover_text("{"), "");
}

TEST(Hover, KnowsTypesOfABrokenText) {
  const Marked m("program p { workgroup 1; out o : f32[4]; let $x = o[0] * 2.0; missing; }");
  EXPECT_THAT(hover(*m.analysed(), m.marks[0])->markdown, HasSubstr("let x : f32"));
}

TEST(Words, HaveARowEachForTheBuiltInOnes) {
  for (int i = 0; i < ir::kIntrinsicCount; ++i)
    EXPECT_NE(word(name_of(static_cast<ir::Intrinsic>(i))), nullptr) << i;
  for (int i = 0; i < ir::kAtomicCount; ++i)
    EXPECT_NE(word(name_of(static_cast<ir::AtomicOp>(i))), nullptr) << i;
  for (int i = 0; i < ir::kSubgroupOpCount; ++i)
    EXPECT_NE(word(name_of(static_cast<ir::SubgroupOp>(i))), nullptr) << i;
  for (int i = 0; i < ir::kBuiltinCount; ++i)
    EXPECT_NE(word(name_of(static_cast<ir::Builtin>(i))), nullptr) << i;
  for (int i = 0; i < ir::kTypeCount; ++i)
    EXPECT_NE(word(name_of(static_cast<ir::Type>(i))), nullptr) << i;
}

TEST(Navigate, FindsDeclarationsAndReferences) {
  const Marked m(R"(program p {
  workgroup 1;
  out o : u32[4];
  fn f($a : u32) -> u32 { return $a + 1; }
  region one { let $i = gid.x; o[$i] = f($i); }
  region two { let i = gid.x; o[i] = i; }
})");
  const auto a = m.analysed();
  EXPECT_EQ(definition(*a, m.marks[1])->first, m.marks[0]);
  EXPECT_EQ(definition(*a, m.marks[4])->first, m.marks[2]);
  EXPECT_EQ(references(*a, m.marks[2], true).size(), 3U);
  EXPECT_EQ(references(*a, m.marks[3], false).size(), 2U);
  EXPECT_FALSE(definition(*a, 0));
}

TEST(Navigate, LocalsAreSeenFromTheEndOfTheirStatement) {
  const Marked m("program p { workgroup 1; fn f(x : u32) -> u32 { return x; } let $y = $y; }");
  EXPECT_FALSE(definition(*m.analysed(), m.marks[1]));
}

TEST(Navigate, ReadsFormsOfTheSecondEdition) {
  const Marked m(R"(use vyre.$tile;
program p {
  workgroup 1;
  struct $S { a : f32 }
  fn f<type $T : number, const $N : u32 = 4>(x : $T) -> T { return x * N; }
  let s = $S { a: 1.0 };
  $tile.load(o, |$r| $r * 2.0);
  let r = 1;
})");
  const auto a = m.analysed();
  EXPECT_EQ(definition(*a, m.marks[4])->first, m.marks[2]);
  EXPECT_EQ(definition(*a, m.marks[5])->first, m.marks[1]);
  EXPECT_EQ(definition(*a, m.marks[6])->first, m.marks[0]);
  EXPECT_EQ(definition(*a, m.marks[8])->first, m.marks[7]);
}

TEST(Rename, ChangesEveryPlaceAndKeepsTheProgram) {
  const auto a = analyse(std::string(kReach), "reach.vyre");
  const auto edits = rename(*a, a->text.find("visited;"), "seen");
  EXPECT_FALSE(edits);  // a place in `over len(visited)` has no `;`: nothing is here
  const auto done = rename(*a, a->text.find("visited : "), "seen");
  ASSERT_TRUE(done) << done.error();
  const auto after = analyse(edited(a->text, *done), "reach.vyre");
  EXPECT_TRUE(after->complete);
  EXPECT_THAT(after->text, Not(HasSubstr("visited")));
}

TEST(Rename, RefusesNamesThatMeanSomethingElse) {
  const auto a = analyse(std::string(kReach), "reach.vyre");
  const size_t v = a->text.find("v = gid");
  EXPECT_THAT(rename(*a, v, "row").error(), HasSubstr("row"));
  EXPECT_THAT(rename(*a, v, "while").error(), HasSubstr("word of the language"));
  EXPECT_THAT(rename(*a, v, "2x").error(), HasSubstr("no name"));
  EXPECT_THAT(rename(*a, v, "Limit").error(), HasSubstr("Limit"));
  EXPECT_FALSE(rename(*a, 0, "x"));
}

std::vector<std::string> labels(const Marked& m) {
  std::vector<std::string> list;
  for (const Completion& c : complete(*m.analysed(), m.marks[0])) list.push_back(c.label);
  return list;
}

TEST(Complete, OffersWhatMayStandThere) {
  const Marked body("program p { workgroup 1; in a : u32[]; let x = 1; let z = $ let y = 2; }");
  EXPECT_THAT(labels(body), Contains("a"));
  EXPECT_THAT(labels(body), Contains("x"));
  EXPECT_THAT(labels(body), Contains("popcount"));
  EXPECT_THAT(labels(body), Not(Contains("y")));
  EXPECT_THAT(labels(body), Not(Contains("binding")));
  EXPECT_THAT(labels(Marked("program p { in a : $")), Contains("f16"));
  EXPECT_THAT(labels(Marked("program p { in a : $")), Not(Contains("while")));
  EXPECT_THAT(labels(Marked("program p { in a : u32[] @$;")), Contains("binding"));
  EXPECT_THAT(labels(Marked("program p { let x = gid.$;")), ElementsAre("x", "y", "z"));
  EXPECT_THAT(labels(Marked("program p { // co$mment\n }")), IsEmpty());
}

TEST(Complete, AFunctionSeesNoBuffers) {
  const Marked m("program p { in a : u32[]; const C : u32 = 1; fn f(b : u32) { $ } }");
  EXPECT_THAT(labels(m), Contains("b"));
  EXPECT_THAT(labels(m), Contains("C"));
  EXPECT_THAT(labels(m), Not(Contains("a")));
}

TEST(Hints, ShowTheLevelOfEachLocal) {
  const auto a = analyse(std::string(kReach), "reach.vyre");
  std::vector<std::string> list;
  for (const Hint& hint : hints(*a, {0, a->text.size()})) list.push_back(hint.label);
  EXPECT_THAT(list, Contains("lane"));
  EXPECT_THAT(list, Contains("grid"));
  EXPECT_EQ(list.size(), 4U);
  EXPECT_THAT(hints(*a, {0, 10}), IsEmpty());
}

// ---- actions

// The text after the first action.
std::string mended(const std::string& text, size_t nth = 0) {
  const auto a = analyse(text, "t.vyre");
  const auto list = actions(*a, {0, text.size()});
  return list.size() > nth ? edited(text, list[nth].edits) : "no action";
}

std::string body(std::string_view statements) {
  return "program p {\n  workgroup 1;\n  out o : f32[4];\n  in n : u32[];\n  region r {\n" +
         std::string(statements) + "\n  }\n}\n";
}

TEST(Actions, DoWhatTheFixSays) {
  EXPECT_EQ(mended(body("    o[0] = 1.0")), body("    o[0] = 1.0;"));
  EXPECT_EQ(mended(body("    o[0] = n[0];")), body("    o[0] = n[0] as f32;"));
  EXPECT_EQ(mended(body("    o[0] = n[0] + n[1];")), body("    o[0] = (n[0] + n[1]) as f32;"));
  EXPECT_EQ(mended(body("    o[0] = -(n[0]);")), body("    o[0] = (-(n[0])) as f32;"));
  EXPECT_EQ(mended(body("    if n[0] { o[0] = 1.0; }")), body("    if n[0] != 0 { o[0] = 1.0; }"));
  EXPECT_EQ(mended(body("    let value = 1.0; o[0] = valeu;")),
            body("    let value = 1.0; o[0] = value;"));
  EXPECT_EQ(mended(body("    let x = 1.0; o[0] = (f32)n[0]; o[1] = x;")),
            body("    let x = 1.0; o[0] = (n[0] as f32); o[1] = x;"));
  EXPECT_EQ(mended(body("    let a = 1;\n    o[0] = 1.0;")), body("    o[0] = 1.0;"));
  EXPECT_EQ(mended(body("    let a = 1; o[0] = 1.0;"), 1), body("    let _a = 1; o[0] = 1.0;"));
}

TEST(Actions, OfferEveryAxis) {
  const auto a = analyse(body("    if gid < 4 { o[0] = 1.0; }"), "t.vyre");
  std::vector<std::string> titles;
  for (const Action& action : actions(*a, {0, a->text.size()})) titles.push_back(action.title);
  EXPECT_THAT(titles,
              ElementsAre("Replace by `gid.x`", "Replace by `gid.y`", "Replace by `gid.z`"));
}

TEST(Actions, LeaveEffectsAlone) {
  const std::string text =
      "program p {\n  workgroup 1;\n  inout o : u32[];\n  region r {\n"
      "    let old = atomic_add(o[0], 1);\n  }\n}\n";
  const auto a = analyse(text, "t.vyre");
  for (const Action& action : actions(*a, {0, text.size()}))
    EXPECT_EQ(action.title, "Call it `_old`");
}

TEST(Actions, ComeOnlyForTheRange) {
  const auto a = analyse(body("    o[0] = n[0];"), "t.vyre");
  EXPECT_THAT(actions(*a, {0, 3}), IsEmpty());
}

std::vector<std::filesystem::path> programs(const char* folder) {
  std::vector<std::filesystem::path> files;
  const auto root = std::filesystem::path(VYRE_SOURCE_DIR) / "test/golden" / folder;
  for (const auto& entry : std::filesystem::directory_iterator(root))
    if (entry.path().extension() == ".vyre") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::string read(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The names of a valid program are those that its parser resolved: renaming any of them to
// something new is possible, and only positions and that name differ afterwards.
TEST(Rename, WorksForEveryNameOfValidPrograms) {
  size_t renamed = 0;
  for (const char* folder : {"valid", "plan"})
    for (const auto& path : programs(folder)) {
      const auto a = analyse(read(path), "t.vyre");
      if (!a->complete) continue;
      for (const Declaration& d : a->names.declarations) {
        const auto edits = rename(*a, a->span_of(d.token).first, "zz_renamed");
        ASSERT_TRUE(edits) << path << ": " << d.name << ": " << edits.error();
        const auto after = analyse(edited(a->text, *edits), "t.vyre");
        ASSERT_TRUE(after->complete) << path << ": " << d.name;
        const auto back = rename(*after, after->span_of(d.token).first, std::string(d.name));
        if (back) {
          EXPECT_EQ(edited(after->text, *back), a->text) << path << ": " << d.name;
        }
        ++renamed;
      }
    }
  EXPECT_GT(renamed, 100U);
}

// Whatever is wrong with a text, every question has an answer and no action makes it worse.
TEST(Queries, AnswerForEveryPlaceOfBrokenPrograms) {
  size_t offered = 0;
  for (const char* folder : {"errors", "habits"})
    for (const auto& path : programs(folder)) {
      const auto a = analyse(read(path), "t.vyre");
      for (size_t at = 0; at <= a->text.size(); at += 7) {
        (void)hover(*a, at);
        (void)definition(*a, at);
        (void)complete(*a, at);
      }
      (void)hints(*a, {0, a->text.size()});
      (void)symbols(*a);
      for (const Action& action : actions(*a, {0, a->text.size()})) {
        const auto after = analyse(edited(a->text, action.edits), "t.vyre");
        EXPECT_LE(after->diagnostics.errors(), a->diagnostics.errors()) << path;
        ++offered;
      }
    }
  EXPECT_GT(offered, 80U);
  RecordProperty("offered", static_cast<int>(offered));
}

TEST(Lines, GoThereAndBack) {
  const std::string text = "a\u00e9\U0001F600b\r\nsecond\rthird\n";
  const Lines lines(text);
  for (const Encoding encoding : {Encoding::Utf8, Encoding::Utf16})
    for (const size_t at : {size_t{0}, size_t{1}, size_t{3}, size_t{7}, size_t{10}, text.size()})
      EXPECT_EQ(lines.offset_of(lines.place_of(at, encoding), encoding), at);
  EXPECT_EQ(lines.place_of(7, Encoding::Utf16), (Place{0, 4}));
  EXPECT_EQ(lines.place_of(7, Encoding::Utf8), (Place{0, 7}));
  EXPECT_EQ(lines.place_of(text.find("third"), Encoding::Utf8), (Place{2, 0}));
  EXPECT_EQ(lines.offset_of({0, 3}, Encoding::Utf16), 3U);  // the middle of a character
  EXPECT_EQ(lines.offset_of({0, 1000}, Encoding::Utf16), 8U);
  EXPECT_EQ(lines.offset_of({UINT64_MAX, UINT64_MAX}, Encoding::Utf8), text.size());
  EXPECT_EQ(lines.span_of({"", 1, 2, 2}), (Span{1, 7}));
  EXPECT_EQ(lines.span_of({"", 99, 2, 2}), (Span{}));
}

}  // namespace
}  // namespace vyre::lsp
