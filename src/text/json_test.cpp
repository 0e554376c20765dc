// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "text/text_test.hpp"

namespace vyre::text {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(std::string_view source) {
  const Parsed parsed = parse(source, "t");
  EXPECT_TRUE(parsed.diagnostics.list().empty())
      << (parsed.diagnostics.list().empty() ? "" : parsed.diagnostics.list()[0].message);
  return Json::parse(to_json(parsed.program));
}

TEST(Json, Declarations) {
  const Json json = json_of(
      "program p { workgroup 8, 4; over len(a); const N : u32 = 3; const T : f32[] = { 1.5 }; in a "
      ": u8[N] @binding(1) @align(4) @count(2) @range(0 .. 4) "
      "@live_out @locality(random) @coalesce(y); require N < 4, \"m\"; fn f(x : f32, m : buffer "
      "u8[]) -> u32 { return 1; } }");
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["name"], "p");
  EXPECT_EQ(json["workgroup"].size(), 2u);
  EXPECT_EQ(json["over"][0], Json::parse(R"({"kind":"len","memory":{"buffer":"a"}})"));
  EXPECT_EQ(
      json["consts"][0],
      Json::parse(
          R"({"name":"N","type":"u32","table":false,"values":[{"kind":"int","value":"3","suffix":null}]})"));
  EXPECT_EQ(json["consts"][1]["values"][0],
            Json::parse(R"({"kind":"float","value":"1.5","suffix":null})"));
  const Json& buffer = json["buffers"][0];
  EXPECT_EQ(buffer["kind"], "in");
  EXPECT_EQ(buffer["element"], "u8");
  EXPECT_EQ(buffer["count"]["name"], "N");
  EXPECT_EQ(buffer["attributes"].size(), 7u);
  EXPECT_EQ(buffer["attributes"]["coalesce"], "y");
  EXPECT_EQ(json["requires"][0]["message"], "m");
  EXPECT_EQ(json["requires"][0]["buffers_before"], 1);
  EXPECT_EQ(json["functions"][0]["params"][1]["kind"], "buffer_param");
  EXPECT_EQ(json["functions"][0]["result"], "u32");
}

TEST(Json, StatementsAndExpressions) {
  const Json body =
      json_of(around("region r { let x = -1 as i32; s[x] += min(x, 2u64); atomic_add(s[0], 1, "
                     "acquire); f(1, a);\n if true { } else { return; } }"))["body"][0]["body"];
  EXPECT_EQ(body[0]["value"]["kind"], "cast");
  EXPECT_EQ(body[0]["value"]["operand"]["value"], "-1");
  EXPECT_EQ(body[1]["op"], "+");
  EXPECT_EQ(body[1]["memory"]["buffer"], "s");
  EXPECT_EQ(body[1]["value"]["args"][1]["suffix"], "u64");
  EXPECT_EQ(body[2]["value"]["order"], "acquire");
  EXPECT_EQ(body[3]["value"]["args"][1]["buffer"], "a");
  EXPECT_EQ(body[4]["else"][0]["kind"], "return");
  EXPECT_EQ(body[4]["line"], 3);
}

TEST(Json, IsValidWhateverTheNames) {
  ir::Program program;
  program.name = "not \xff utf-8";
  EXPECT_TRUE(nlohmann::json::accept(to_json(program)));
}

}  // namespace
}  // namespace vyre::text
