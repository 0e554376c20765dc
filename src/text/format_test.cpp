// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/layout.hpp"
#include "text/text_test.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::text {
namespace {

using testing::ElementsAre;

// The layout of a text; checks what must hold for every text.
std::string formatted(std::string_view source) {
  const Formatted once = format(source, "t");
  EXPECT_TRUE(once.text) << (once.diagnostics.list().empty() ? ""
                                                             : once.diagnostics.list()[0].message);
  if (!once.text) return {};
  EXPECT_EQ(format(*once.text, "t").text, once.text) << "not the same twice";
  const Parsed before = parse(source, "t");
  const Parsed after = parse(*once.text, "t");
  if (!before.diagnostics.has_errors()) {
    EXPECT_TRUE(before.program == after.program) << *once.text;
  } else {
    EXPECT_EQ(before.diagnostics.errors(), after.diagnostics.errors());
  }
  return *once.text;
}

std::string statements(std::string_view source) {
  const std::string text = formatted(fmt::format("program p {{\nworkgroup 1;\n{}\n}}\n", source));
  const std::string head = "program p {\n  workgroup 1;\n";
  EXPECT_TRUE(text.starts_with(head)) << text;
  return text.size() > head.size() + 2 ? text.substr(head.size(), text.size() - head.size() - 2)
                                       : text;
}

TEST(Format, TheExampleOfTheLanguagePage) {
  const std::string_view expected =
      R"(// Which nodes can the seeds reach? CSR graph; on the device until nothing changes.
program reach {
  workgroup 256;
  over len(visited);
  in    row     : u32[];  // node v's edges: col[row[v] .. row[v+1]]
  in    col     : u32[];
  inout visited : u32[];  // 1 at the seeds

  require len(row) == len(visited) + 1, "row needs one entry more than there are nodes";

  fixpoint max 100000 over (visited) {
    region expand {
      let v = gid.x;
      if v < len(visited) && atomic_load(visited[v]) == 1 {
        for e in row[v] .. row[v + 1] {
          atomic_max(visited[col[e]], 1);
        }
      }
    }
  }
}
)";
  EXPECT_EQ(formatted(expected), expected);
  std::string squeezed(expected);
  for (size_t i = 0; (i = squeezed.find("  ", i)) != std::string::npos;)
    squeezed.replace(i, 2, " ");
  EXPECT_EQ(formatted(squeezed), expected);
}

TEST(Format, Spaces) {
  EXPECT_EQ(statements("let x:u32=-1+2*(3-4)/len (a)as u32;in a:u32[ ];"),
            "  let x : u32 = -1 + 2 * (3 - 4) / len(a) as u32;\n  in a : u32[];\n");
  EXPECT_EQ(statements("let x=! ( true&&false )||~ 1==- ( 2 );"),
            "  let x = !(true && false) || ~1 == -(2);\n");
  EXPECT_EQ(statements("let x=bitcast < u32 > ( 1 )>>2;let y=1<2;"),
            "  let x = bitcast<u32>(1) >> 2;\n  let y = 1 < 2;\n");
  EXPECT_EQ(statements("let x = gid . x - - 1; if(x>1){return;}while(true){ }"),
            "  let x = gid.x - -1;\n  if (x > 1) {\n    return;\n  }\n  while (true) {\n  }\n");
  EXPECT_EQ(statements("for i in(0)..-1 step(2)@unroll{}"),
            "  for i in (0) .. -1 step (2) @unroll {\n  }\n");
  EXPECT_EQ(statements("out b:u32[4]@range(0..8)@live_out @align( 4 );b[0]+=1;b[ 1 ]<<=max(1,2);"),
            "  out b : u32[4] @range(0 .. 8) @live_out @align(4);\n  b[0] += 1;\n  b[1] <<= max(1, "
            "2);\n");
  EXPECT_EQ(statements("fn f( x:u32 , m:buffer u8 [ ] )->u32{return(x);}"),
            "  fn f(x : u32, m : buffer u8[]) -> u32 {\n    return (x);\n  }\n");
  EXPECT_EQ(statements("fixpoint max(3)over(b){}inout b:u32[];fixpoint max -3 over(b){}"),
            "  fixpoint max (3) over (b) {\n  }\n  inout b : u32[];\n  fixpoint max -3 over (b) "
            "{\n  }\n");
  EXPECT_EQ(statements("const T:i32[]={1,-2};const U:u32[]={0x1F,1_000};async  copy ( 1,s,0,s,0,T "
                       "[0] );wait ( 1 );shared s:u32[4];"),
            "  const T : i32[] = { 1, -2 };\n  const U : u32[] = { 0x1F, 1_000 };\n  async copy(1, "
            "s, 0, s, 0, T[0]);\n  wait(1);\n  shared s : u32[4];\n");
}

TEST(Format, KeepsSpellingAndParentheses) {
  EXPECT_EQ(statements("let x = ((0xFF)) + 1_0.50e+1;"), "  let x = ((0xFF)) + 1_0.50e+1;\n");
}

TEST(Format, BlankLines) {
  EXPECT_EQ(
      formatted("\n\n\nprogram p {\n\n\nworkgroup 1;\n\n\n\nregion a {\n\n}\n\n}\n\n\n// end\n\n"),
      "program p {\n  workgroup 1;\n\n  region a {\n  }\n}\n\n// end\n");
  EXPECT_EQ(statements("let x = 1 +\n\n\n2;\n// c\n\n// d\n\nlet y = 1;"),
            "  let x = 1 + 2;\n  // c\n\n  // d\n\n  let y = 1;\n");
}

TEST(Format, Branches) {
  EXPECT_EQ(statements("if true { return; }\nelse if false { }\n\nelse { }"),
            "  if true {\n    return;\n  } else if false {\n  } else {\n  }\n");
}

TEST(Format, CommentsStayWhereTheyStand) {
  EXPECT_EQ(formatted("// first\nprogram p { // name\n// inside\nworkgroup 1; // size\n// before "
                      "the end\n} // after\n// last"),
            "// first\nprogram p {  // name\n  // inside\n  workgroup 1;  // size\n  // before the "
            "end\n}  // after\n// last\n");
  EXPECT_EQ(statements("if true { // why\n} // done\n// else\nelse // or\n{ // open\n// inner\n}"),
            "  if true {  // why\n  }  // done\n  // else\n  else  // or\n      {  // open\n    // "
            "inner\n  }\n");
  EXPECT_EQ(statements("let x = 1 // one\n+ 2 // two\n// three\n+ 3; // four"),
            "  let x = 1  // one\n      + 2  // two\n      // three\n      + 3;  // four\n");
  EXPECT_EQ(statements("g( // a\n1, // b\n2 // c\n);\nfn g(x : u32, y : u32) { }"),
            "  g(  // a\n      1,  // b\n      2   // c\n      );\n  fn g(x : u32, y : u32) "
            "{\n  }\n");
  EXPECT_EQ(statements("{ // a\n}\n// b\n\n// c\nreturn;"),
            "  {  // a\n  }\n  // b\n\n  // c\n  return;\n");
}

TEST(Format, AlignsTrailingCommentsOfConsecutiveLines) {
  EXPECT_EQ(statements("let x = 1; // a\nlet yy = 22; //b\nlet z = 3;\nlet w = 4;   //   c  "),
            "  let x = 1;    // a\n  let yy = 22;  //b\n  let z = 3;\n  let w = 4;  //   c\n");
  EXPECT_EQ(statements("let x = 1; // a\n\nlet yy = 22; // b"),
            "  let x = 1;  // a\n\n  let yy = 22;  // b\n");
}

TEST(Format, AlignsBuffersInARow) {
  EXPECT_EQ(statements("in a:u32[];\npersistent long_name:f32[] @align(4);// c\nout b:u8[3];\n\nin "
                       "c:u32[];\n// split\nuniform d:u32[];\nlet x = 1;\nin e:u32[];"),
            "  in         a         : u32[];\n  persistent long_name : f32[] @align(4);  // c\n  "
            "out        b         : u8[3];\n\n"
            "  in c : u32[];\n  // split\n  uniform d : u32[];\n  let x = 1;\n  in e : u32[];\n");
}

TEST(Format, BreaksLongLinesAtTheOuterLevelFirst) {
  const std::string call = "let value = select(" + std::string(40, 'a') + " < 1, " +
                           std::string(28, 'b') + " + 1, max(" + std::string(20, 'c') + ", 2));";
  EXPECT_EQ(layout("program p { " + call + " }"),
            "program p {\n  let value = select(" + std::string(40, 'a') + " < 1, " +
                std::string(28, 'b') + " + 1,\n      max(" + std::string(20, 'c') + ", 2));\n}\n");
  const std::string sum =
      "let v = " + std::string(45, 'a') + " * 2 + " + std::string(45, 'b') + " * 3 && true;";
  EXPECT_EQ(layout("program p { " + sum + " }"), "program p {\n  let v = " + std::string(45, 'a') +
                                                     " * 2 +\n      " + std::string(45, 'b') +
                                                     " * 3 && true;\n}\n");
}

TEST(Format, LongLinesStayWithinTheColumns) {
  std::string table = "const T : u32[] = {";
  for (int i = 0; i < 200; ++i) table += std::to_string(i * 12345) + ",";
  std::string sum = "let x = 1";
  for (int i = 0; i < 100; ++i) sum += " + T[" + std::to_string(i) + "]";
  const std::string text = statements(table + "1};\n" + sum + ";");
  for (size_t i = 0; i < text.size();) {
    const size_t end = text.find('\n', i);
    EXPECT_LE(end - i, kMaxColumns) << text.substr(i, end - i);
    i = end + 1;
  }
  EXPECT_EQ(statements("require true, \"" + std::string(200, 'x') + "\"; // c"),
            "  require true,\n      \"" + std::string(200, 'x') + "\";  // c\n");
}

TEST(Format, ManyCommentsInOddPlaces) {
  // A comment after every token: the hardest text that parses.
  const std::string_view source =
      "program p { workgroup 64 , 2 ; const T : u32 [ ] = { 1 , - 2 } ; in a : u32 [ 4 ] @ align ( "
      "4 ) ; fn f ( m : buffer u8 [ ] ) -> u32 { return m [ 0 ] ; } "
      "if gid . x < 3 { f ( a ) ; } else if true { } else { a [ 0 ] += bitcast < u32 > ( 1.0 ) ; } "
      "require true , \"m\" ; }";
  for (const std::string_view comment : {"// c\n", "\n// c\n", "\n\n// c\n\n", "// c\n// d\n"}) {
    std::string text;
    for (const char c : source) text += c == ' ' ? " " + std::string(comment) : std::string(1, c);
    const std::string result = formatted(text);
    EXPECT_EQ(std::count(result.begin(), result.end(), 'c') >= 50, true);
  }
}

TEST(Format, NamesAndTypesDoNotMatter) {
  EXPECT_EQ(statements("let x : u8 = unknown( 1 );const max:u32 = 1;"),
            "  let x : u8 = unknown(1);\n  const max : u32 = 1;\n");
  std::string many = "program p {\n";
  for (int i = 0; i < 300; ++i) many += "  a = q" + std::to_string(i) + ";\n";
  EXPECT_EQ(formatted(many + "}\n"), many + "}\n");
}

TEST(Format, RefusesTextsWithSyntaxErrors) {
  for (const std::string_view bad : {"let x = ;", "let x = 1", "let x = 1x;", "let x = \"a;",
                                     "wait(q);", "let x = 1 < 2 < 3;", "if true {", "$"}) {
    const Formatted result = format(around(bad), "t");
    EXPECT_FALSE(result.text) << bad;
    EXPECT_TRUE(result.diagnostics.has_errors()) << bad;
  }
  EXPECT_THAT(lines_of(format("program p { let x = q +; }", "t").diagnostics),
              ElementsAre("V001 1:24 expected an expression, found `;`"));
}

TEST(Format, UnixLineEnds) {
  EXPECT_EQ(formatted("program p {\r\n  workgroup 1; // c\r\n\r\n  return;\r\n}\r\n"),
            "program p {\n  workgroup 1;  // c\n\n  return;\n}\n");
}

}  // namespace
}  // namespace vyre::text
