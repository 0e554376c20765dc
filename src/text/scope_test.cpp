// SPDX-License-Identifier: Apache-2.0
#include "text/scope.hpp"

#include <gtest/gtest.h>

namespace vyre::text {
namespace {

using Kind = Symbol::Kind;
using Where = Found::Where;

TEST(EditDistance, CountsChangesUpToTheLimit) {
  EXPECT_EQ(edit_distance("visited", "visited", 2), 0u);
  EXPECT_EQ(edit_distance("visted", "visited", 2), 1u);
  EXPECT_EQ(edit_distance("vistde", "visited", 2), 2u);
  EXPECT_EQ(edit_distance("whlie", "while", 2), 1u);
  EXPECT_EQ(edit_distance("abc", "xyz", 2), 3u);
  EXPECT_EQ(edit_distance("a", "abcdef", 2), 3u);
  EXPECT_EQ(edit_distance(std::string(1000, 'a'), std::string(1000, 'a'), 2), 3u);
}

TEST(Scopes, InnerNamesHideOuterOnesUntilTheBlockEnds) {
  Scopes scopes;
  scopes.declare_global("x", {Kind::Buffer, 1});
  EXPECT_EQ(scopes.find("x").symbol.kind, Kind::Buffer);
  scopes.push();
  scopes.declare("x", {Kind::Scalar, 2});
  scopes.push();
  scopes.declare("x", {Kind::Array, 3});
  EXPECT_EQ(scopes.find("x").symbol.index, 3u);
  scopes.pop();
  EXPECT_EQ(scopes.find("x").symbol.index, 2u);
  scopes.pop();
  EXPECT_EQ(scopes.find("x").symbol.index, 1u);
  EXPECT_EQ(scopes.find("y").where, Where::Nowhere);
}

TEST(Scopes, FunctionsSeeNeitherBuffersNorLocalsAround) {
  Scopes scopes;
  scopes.declare_global("buffer", {Kind::Buffer, 0});
  scopes.declare_global("constant", {Kind::Const, 0});
  scopes.note_top_local("later");
  scopes.declare("earlier", {Kind::Scalar, 0});
  scopes.enter_function();
  scopes.declare("param", {Kind::Scalar, 1});
  EXPECT_EQ(scopes.find("buffer").where, Where::Hidden);
  EXPECT_EQ(scopes.find("earlier").where, Where::Hidden);
  EXPECT_EQ(scopes.find("later").where, Where::Hidden);
  EXPECT_EQ(scopes.find("constant").where, Where::Visible);
  EXPECT_EQ(scopes.find("param").where, Where::Visible);
  EXPECT_EQ(scopes.nearest("bufer", false), "");
  scopes.leave_function();
  EXPECT_EQ(scopes.find("buffer").where, Where::Visible);
  EXPECT_EQ(scopes.find("earlier").where, Where::Visible);
  EXPECT_EQ(scopes.find("later").where, Where::Nowhere);
  EXPECT_EQ(scopes.find("param").where, Where::Nowhere);
}

TEST(Scopes, SuggestsTheNearestNameOfTheRightKind) {
  Scopes scopes;
  scopes.declare_global("visited", {Kind::Buffer, 0});
  scopes.declare_global("visiter", {Kind::Fn, 0});
  scopes.declare("row", {Kind::Scalar, 0});
  EXPECT_EQ(scopes.nearest("visitd", false), "visited");
  EXPECT_EQ(scopes.nearest("visitd", true), "visiter");
  EXPECT_EQ(scopes.nearest("raw", false), "row");
  EXPECT_EQ(scopes.nearest("xyz", false), "");
  EXPECT_EQ(scopes.nearest("elephant", false), "");
}

TEST(Scopes, SuggestsBuiltins) {
  EXPECT_EQ(nearest_builtin("atomic_ad", true), "atomic_add");
  EXPECT_EQ(nearest_builtin("popcont", true), "popcount");
  EXPECT_EQ(nearest_builtin("subgroup_lan", false), "subgroup_lane");
  EXPECT_EQ(nearest_builtin("elephant", true), "");
}

}  // namespace
}  // namespace vyre::text
