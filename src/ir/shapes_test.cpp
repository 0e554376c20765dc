// SPDX-License-Identifier: Apache-2.0
// Scalars, scratch and axes in all forms of a program: text, bytes and builder.
#include <gtest/gtest.h>

#include "vyre/ir/binary.hpp"
#include "vyre/ir/builder.hpp"
#include "vyre/text/text.hpp"

namespace vyre::ir {
namespace {

constexpr std::string_view kShapes = R"(program shapes {
  workgroup 4, 4;
  over w, h;
  const Side : u32 = 4;
  uniform h : u32;
  uniform w : u32 @binding(3);
  in a : f32[h, w] @align(64);
  require h > 1, "rows";
  out b : f32[w, h * 2];
  scratch t : f32[len(a, 1)];
  scratch u : u8[2, 3, h, w] @locality(random);
  shared tile : f32[Side, Side + 1];
  fn f(p : buffer f32[,], q : buffer u8[,,,], y : u32) -> f32 {
    return p[y, 0] + p[y] + q[1, y, 0, 2] as f32 + len(p, 0) as f32;
  }
  region main {
    var own : f32[2, Side];
    own[lid.x & 1, 1] += a[gid.y, gid.x];
    tile[lid.y, lid.x] = own[1, 1] + t[0];
    b[gid.x, gid.y] = f(a, u, h) + tile[0] + len(own, 1) as f32;
    u[0, 1, 2, w] = h;
  }
})";

Program parsed(std::string_view text) {
  text::Parsed result = text::parse(text, "test.vyre");
  EXPECT_FALSE(result.diagnostics.has_errors()) << render_text(result.diagnostics, {});
  return std::move(result.program);
}

TEST(Shapes, TextAndBytesKeepThem) {
  const Program program = parsed(kShapes);
  const std::vector<std::byte> bytes = encode(program);
  EXPECT_EQ(bytes[8], std::byte{2});
  const Result<Program> decoded = decode(bytes);
  ASSERT_TRUE(decoded) << to_string(decoded.error());
  EXPECT_EQ(*decoded, program);
  const std::string printed = text::print(*decoded);
  EXPECT_EQ(parsed(printed), program) << printed;
  EXPECT_EQ(text::print(parsed(printed)), printed);
}

TEST(Shapes, ProgramsWithoutThemHaveTheFirstVersion) {
  const auto bytes =
      encode(parsed("program p { workgroup 1; uniform n : u32[1]; in a : u32[n[0]]; "
                    "out b : u32[4]; b[0] = a[n[0]]; }"));
  EXPECT_EQ(bytes[8], std::byte{1});
}

TEST(Shapes, DamagedBytesAreErrorsOrCanonical) {
  std::vector<std::byte> bytes = encode(parsed(kShapes));
  for (size_t i = 16; i < bytes.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      bytes[i] ^= std::byte{1} << bit;
      const Result<Program> decoded = decode(bytes);
      EXPECT_TRUE(!decoded || encode(*decoded) == bytes) << "byte " << i << ", bit " << bit;
      bytes[i] ^= std::byte{1} << bit;
    }
}

TEST(Shapes, TheBuilderMakesThem) {
  using namespace build;  // NOLINT(google-build-using-namespace)
  ProgramBuilder p("shapes");
  p.workgroup(4, 4);
  const auto side = p.constant<u32>("Side", 4);
  const auto h = p.scalar<u32>("h");
  const auto w = p.scalar<u32>("w");
  p.over(w, h);
  const auto a = p.in<f32>("a", elements(h, w), align(64));
  p.require(h > 1, "rows");
  const auto b = p.out<f32>("b", elements(w, h * 2));
  const auto t = p.scratch<f32>("t", elements(len(a, 1)));
  const auto u = p.scratch<u8>("u", elements(2, 3, h, w));
  const auto tile = p.shared<f32>("tile", elements(side, side + 1));
  const auto f = p.fn<f32>(
      "f", {"p", "q", "y"}, [](BufferParam<f32, 2> from, BufferParam<u8, 4> q, Param<u32> y) {
        return_(from(y, 0) + from[y] + as<f32>(q(1, y, 0, 2)) + as<f32>(len(from, 0)));
      });
  const auto own = private_array<f32>("own", {2, side});
  own(lid.x & 1, 1) += a(gid.y, gid.x);
  tile(lid.y, lid.x) = own(1, 1) + t[0];
  b(gid.x, gid.y) = f(a, u, h) + tile[0] + as<f32>(len(own, 1));
  u(0, 1, 2, w) = h;
  const Result<Program> program = p.finish();
  ASSERT_TRUE(program) << to_string(program.error());
  std::string text(kShapes);
  for (const std::string_view attribute : {" @binding(3)", " @locality(random)"})
    text.erase(text.find(attribute), attribute.size());
  EXPECT_EQ(text::print(*program), text::print(parsed(text)));
}

TEST(Shapes, TheBuilderReportsMisuse) {
  using namespace build;  // NOLINT(google-build-using-namespace)
  ProgramBuilder p("shapes");
  p.workgroup(1);
  const auto a = p.in<f32>("a", elements(2, 3));
  let("n", len(a, 4));
  const Result<Program> program = p.finish();
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().diagnostics.front().code, Code::BadShape);
}

}  // namespace
}  // namespace vyre::ir
