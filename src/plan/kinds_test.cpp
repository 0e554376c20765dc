// SPDX-License-Identifier: Apache-2.0
// What the planner takes every kind of expression for. A kind that is added to the language needs a
// line here: a wrong answer of this sort is a wrong program, not a slow one.
#include <array>
#include <string_view>

#include <gtest/gtest.h>

#include "plan/persistent/analyse.hpp"
#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

using namespace ir;

constexpr std::string_view kSource = R"(program p {
  workgroup 4; inout a : u32[]; const three : u32 = 3;
  fn twice(k : u32) -> u32 { return k * 2; }
  let x = 1u32;
  a[gid.x] = twice(x) + three;
})";

// A node of every kind in its default form, over the names and a literal of the program above.
template <size_t Kind>
ExprId add_kind(Draft& d, ExprId literal, LocalId local) {
  Expr e(std::in_place_index<Kind>);
  if (auto* call = std::get_if<Call>(&e)) {
    call->fn = FnId{0};
    call->args = d.p.add_args(std::array{Arg(literal)});
  }
  if (auto* ref = std::get_if<ConstRef>(&e)) ref->constant = ConstId{0};
  if (auto* op = std::get_if<Subgroup>(&e)) op->op = SubgroupOp::InclusiveAdd;
  replace_operands(d.p, e, [&](ExprId) { return literal; });
  replace_locals(e, [&](LocalId) { return local; });
  replace_memories(d.p, e, [](Memory) { return Memory::of(BufferId{0}); });
  return d.p.add(std::move(e));
}
template <size_t... Kind>
std::vector<ExprId> add_kinds(Draft& d, std::index_sequence<Kind...>) {
  const ExprId literal = d.p.add(IntLiteral{});
  LocalId local;
  for (uint32_t i = 0; i < d.p.locals.size(); ++i)
    if (d.p.locals[i].name == "x") local = LocalId{i};
  return {add_kind<Kind>(d, literal, local)...};
}

struct Expectation {
  std::string_view kind;
  Level level;
  bool stable;
  bool same;         // in all virtual workgroups, where locals, memory and functions are
  bool same_itself;  // where they are not
};
constexpr std::array<Expectation, std::variant_size_v<Expr>> kKinds = {{
    {"IntLiteral", Level::Grid, true, true, true},
    {"FloatLiteral", Level::Grid, true, true, true},
    {"BoolLiteral", Level::Grid, true, true, true},
    {"LocalRef", Level::Grid, true, true, false},
    {"ConstRef", Level::Grid, true, true, true},
    {"BuiltinRef", Level::Lane, true, false, false},
    {"Len", Level::Grid, true, true, true},
    {"Load", Level::Lane, false, true, false},
    {"Unary", Level::Grid, true, true, true},
    {"Binary", Level::Grid, true, true, true},
    {"Cast", Level::Grid, true, true, true},
    {"Bitcast", Level::Grid, true, true, true},
    {"IntrinsicCall", Level::Grid, true, true, true},
    {"Atomic", Level::Lane, false, false, false},
    {"Subgroup", Level::Lane, false, false, false},
    {"UniformLoad", Level::Grid, false, false, false},
    {"Call", Level::Grid, false, true, false},
    {"Poison", Level::Grid, false, true, true},
    {"AxisIndex", Level::Grid, true, true, true},
    {"AxisLen", Level::Grid, true, true, true},
}};

TEST(Kinds, LevelAndStability) {
  Draft d = draft_of(kSource);
  const auto ids = add_kinds(d, std::make_index_sequence<std::variant_size_v<Expr>>());
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(d.level_of(ids[i]), kKinds[i].level) << kKinds[i].kind;
    EXPECT_EQ(is_stable(d, ids[i]), kKinds[i].stable) << kKinds[i].kind;
  }
}

// Decides for is_uniform() and reads_once() of persistent kernels.
TEST(Kinds, SameInAllVirtualWorkgroups) {
  Draft d = draft_of(kSource);
  const auto ids = add_kinds(d, std::make_index_sequence<std::variant_size_v<Expr>>());
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto same = [&](bool named) {
      return persistent::is_same_in_workgroups(
          d.p, d.p[ids[i]], [&](LocalId) { return named; }, [&](Memory) { return named; },
          [&] { return named; });
    };
    EXPECT_EQ(same(true), kKinds[i].same) << kKinds[i].kind;
    EXPECT_EQ(same(false), kKinds[i].same_itself) << kKinds[i].kind;
  }
}

// Of the built-in values, only the sizes of a launch are the same in all virtual workgroups.
TEST(Kinds, BuiltinsInVirtualWorkgroups) {
  const Program p;
  for (int i = 0; i < kBuiltinCount; ++i) {
    const auto builtin = static_cast<Builtin>(i);
    const auto yes = [](auto...) { return true; };
    EXPECT_EQ(persistent::is_same_in_workgroups(p, BuiltinRef{builtin, 0}, yes, yes, yes),
              builtin == Builtin::NumWorkgroups || builtin == Builtin::WorkgroupSize)
        << name_of(builtin);
  }
}

// In checked mode a second evaluation of any access might report a second fault.
TEST(Kinds, AccessesAreNotStableWhenChecked) {
  Draft d = draft_of(R"(program p {
    workgroup 4; in a : u32[]; out b : u32[8]; const t : u32[] = { 1, 2 };
    b[gid.x] = a[0] + t[1];
  })");
  const auto stable_loads = [&] {
    size_t count = 0;
    for (uint32_t i = 0; i < d.p.exprs.size(); ++i)
      count += std::holds_alternative<Load>(d.p.exprs[i]) && is_stable(d, ExprId{i}) ? 1 : 0;
    return count;
  };
  EXPECT_EQ(stable_loads(), 2U);
  d.checked = true;
  EXPECT_EQ(stable_loads(), 0U);
}

}  // namespace
}  // namespace vyre::plan
