// SPDX-License-Identifier: Apache-2.0
#include "ir/properties.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace vyre::ir {
namespace {

// ---- a kind without a row does not compile

struct NewKind {};
template <class Variant>
struct WithNewKind;
template <class... Kinds>
struct WithNewKind<std::variant<Kinds...>> {
  using Type = std::variant<Kinds..., NewKind>;
};
static_assert(has_row_per_kind<ExprRows, Expr>);
static_assert(has_row_per_kind<StmtRows, Stmt>);
static_assert(!has_row_per_kind<ExprRows, WithNewKind<Expr>::Type>);
static_assert(!has_row_per_kind<StmtRows, WithNewKind<Stmt>::Type>);

// ---- every kind by its index, as its defaults make it

template <class Variant, size_t... Index>
std::vector<Variant> each_kind(std::index_sequence<Index...>) {
  return {Variant(std::in_place_index<Index>)...};
}
template <class Variant>
std::vector<Variant> each_kind() {
  return each_kind<Variant>(std::make_index_sequence<std::variant_size_v<Variant>>());
}

struct ExprExpectation {
  std::string_view kind;
  UniformityRule uniformity;
  std::optional<Scope> uniform_over;
  Rematerialise rematerialise;
  std::optional<Scope> synchronises;
  bool has_effect, may_trap, may_end_lane;
};
constexpr auto kPer = std::nullopt;
constexpr auto kOperands = UniformityRule::Operands;
constexpr auto kGiven = UniformityRule::Given;
constexpr auto kAlways = Rematerialise::Always;
constexpr auto kNever = Rematerialise::Never;
// In the order of the variant: a new kind shifts or lengthens it, and needs a line of its own.
constexpr std::array<ExprExpectation, std::variant_size_v<Expr>> kExprs = {{
    {"IntLiteral", kOperands, kPer, kAlways, {}, false, false, false},
    {"FloatLiteral", kOperands, kPer, kAlways, {}, false, false, false},
    {"BoolLiteral", kOperands, kPer, kAlways, {}, false, false, false},
    {"LocalRef", UniformityRule::Local, kPer, kAlways, {}, false, false, false},
    {"ConstRef", kOperands, kPer, kAlways, {}, false, false, false},
    {"BuiltinRef", kGiven, kPer, kAlways, {}, false, false, false},
    {"Len", kOperands, kPer, kAlways, {}, false, false, false},
    {"Load",
     UniformityRule::Memory,
     kPer,
     Rematerialise::WhileMemoryUnchanged,
     {},
     false,
     true,
     false},
    {"Unary", kOperands, kPer, kAlways, {}, false, false, false},
    {"Binary", kOperands, kPer, kAlways, {}, false, false, false},
    {"Cast", kOperands, kPer, kAlways, {}, false, false, false},
    {"Bitcast", kOperands, kPer, kAlways, {}, false, false, false},
    {"IntrinsicCall", kOperands, kPer, kAlways, {}, false, false, false},
    {"Atomic", kGiven, kPer, kNever, {}, true, true, false},
    {"Subgroup", kGiven, Scope::Subgroup, kNever, Scope::Subgroup, true, false, false},
    {"UniformLoad", kGiven, Scope::Grid, kNever, Scope::Grid, true, true, false},
    {"Call", UniformityRule::Function, kPer, kNever, {}, true, true, true},
    {"Poison", kOperands, kPer, kNever, {}, false, false, false},
    {"AxisIndex", kOperands, kPer, kAlways, {}, false, false, false},
    {"AxisLen", kOperands, kPer, kAlways, {}, false, false, false},
}};

TEST(Properties, EveryKindOfExpression) {
  const auto kinds = each_kind<Expr>();
  ASSERT_EQ(kinds.size(), kExprs.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    const ExprExpectation& x = kExprs[i];
    const ExprProperties wanted = {x.uniformity, x.uniform_over, x.rematerialise, x.synchronises,
                                   x.has_effect, x.may_trap,     x.may_end_lane};
    EXPECT_TRUE(properties_of(kinds[i]) == wanted) << x.kind;
  }
}

struct StmtExpectation {
  std::string_view kind;
  Exit exit;
  std::optional<Scope> synchronises;
  bool is_loop, top_level, has_effect, may_trap, may_end_lane;
};
constexpr auto kStay = Exit::None;
constexpr std::array<StmtExpectation, std::variant_size_v<Stmt>> kStmts = {{
    {"Let", kStay, {}, false, false, true, false, false},
    {"DeclareArray", kStay, {}, false, false, true, false, false},
    {"Assign", kStay, {}, false, false, true, false, false},
    {"Store", kStay, {}, false, false, true, true, false},
    {"Eval", kStay, {}, false, false, false, false, false},
    {"If", kStay, {}, false, false, false, false, false},
    {"For", kStay, {}, true, false, false, false, false},
    {"While", kStay, {}, true, false, false, false, false},
    {"Break", Exit::Break, {}, false, false, true, false, false},
    {"Continue", Exit::Continue, {}, false, false, true, false, false},
    {"Return", Exit::Return, {}, false, false, true, false, true},
    {"Nested", kStay, {}, false, false, false, false, false},
    {"Region", kStay, {}, false, true, false, false, false},
    {"Barrier", kStay, Scope::Workgroup, false, true, true, false, false},
    {"Fixpoint", kStay, Scope::Grid, false, true, true, false, false},
    {"AsyncCopy", kStay, Scope::Workgroup, false, false, true, true, false},
    {"Wait", kStay, Scope::Workgroup, false, false, true, false, false},
    {"Trap", Exit::Trap, {}, false, false, true, true, true},
    {"Resume", kStay, Scope::Grid, false, false, true, false, false},
    {"Collective", kStay, Scope::Grid, false, true, true, false, false},
    {"Swap", kStay, Scope::Grid, false, true, true, false, false},
    {"Print", kStay, std::nullopt, false, false, true, false, false},
    {"Assert", kStay, std::nullopt, false, false, true, true, false},
}};

TEST(Properties, EveryKindOfStatement) {
  const auto kinds = each_kind<Stmt>();
  ASSERT_EQ(kinds.size(), kStmts.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    const StmtExpectation& x = kStmts[i];
    const StmtProperties wanted = {x.exit,       x.synchronises, x.is_loop,     x.top_level,
                                   x.has_effect, x.may_trap,     x.may_end_lane};
    EXPECT_TRUE(properties_of(kinds[i]) == wanted) << x.kind;
  }
}

// ---- rows that depend on the node's fields

TEST(Properties, FieldsDecide) {
  const auto over = [](Builtin b) { return properties_of(Expr(BuiltinRef{b, 0})).uniform_over; };
  EXPECT_EQ(over(Builtin::Lid), std::nullopt);
  EXPECT_EQ(over(Builtin::SubgroupId), Scope::Subgroup);
  EXPECT_EQ(over(Builtin::Wid), Scope::Workgroup);
  EXPECT_EQ(over(Builtin::NumWorkgroups), Scope::Grid);
  EXPECT_EQ(properties_of(Expr(BuiltinRef{Builtin::FixpointPasses, 0})).rematerialise,
            Rematerialise::Never);
  Atomic load;
  load.op = AtomicOp::Load;
  EXPECT_FALSE(properties_of(Expr(load)).has_effect);
  Subgroup scan;
  scan.op = SubgroupOp::InclusiveAdd;
  EXPECT_EQ(properties_of(Expr(scan)).uniform_over, std::nullopt);
  EXPECT_EQ(properties_of(Stmt(Barrier{Scope::Subgroup})).synchronises, Scope::Subgroup);
  Load table;
  table.memory = Memory::of(ConstId{0});
  EXPECT_EQ(properties_of(Expr(table)).rematerialise, Rematerialise::Always);
}

// ---- what nodes name

TEST(Properties, MemoriesOfExpressions) {
  Program p;
  const Memory a = Memory::of(BufferId{0});
  const Memory b = Memory::of(BufferId{1});
  const ExprId index = p.add(IntLiteral{});
  const auto uses = [&](const Expr& e) {
    std::vector<MemoryUse> list;
    for_each_memory(p, e, [&](const MemoryUse& use) { list.push_back(use); });
    return list;
  };
  EXPECT_EQ(uses(Len{a}).at(0).access, Access::Length);
  EXPECT_EQ(uses(Load{a, index}).at(0).index, index);
  Atomic add;
  add.memory = a;
  EXPECT_EQ(uses(add).at(0).access, Access::Update);
  EXPECT_TRUE(uses(add).at(0).atomic);
  add.op = AtomicOp::Load;
  EXPECT_EQ(uses(add).at(0).access, Access::Read);
  EXPECT_EQ(uses(UniformLoad{Scope::Grid, a, index}).at(0).access, Access::Read);
  const std::array<Arg, 3> args = {Arg(a), Arg(index), Arg(b)};
  const auto passed = uses(Call{FnId{0}, p.add_args(args)});
  ASSERT_EQ(passed.size(), 2U);
  EXPECT_TRUE(passed[1].memory == b && reads(passed[1].access) && writes(passed[1].access));
}

TEST(Properties, MemoriesOfStatements) {
  Program p;
  const Memory a = Memory::of(BufferId{0});
  const Memory b = Memory::of(BufferId{1});
  const auto accesses = [&](const Stmt& s) {
    std::vector<Access> list;
    for_each_memory(p, s, [&](const MemoryUse& use) { list.push_back(use.access); });
    return list;
  };
  using List = std::vector<Access>;
  Store store;
  store.memory = a;
  EXPECT_EQ(accesses(store), List{Access::Write});
  store.op = BinaryOp::Add;
  EXPECT_EQ(accesses(store), List{Access::Update});
  AsyncCopy copy;
  EXPECT_EQ(accesses(copy), (List{Access::Write, Access::Read}));
  Collective collective;
  collective.src = a;
  EXPECT_EQ(accesses(collective), List{Access::Update});
  collective.op = CollectiveOp::AllGather;
  collective.dst = b;
  EXPECT_EQ(accesses(collective), (List{Access::Read, Access::Write}));
  Fixpoint fixpoint;
  fixpoint.buffers = p.add_memories(std::array{a, b});
  EXPECT_EQ(accesses(fixpoint), (List{Access::Read, Access::Read}));
}

TEST(Properties, ReplacesInACopyOnly) {
  Program p;
  const ExprId one = p.add(IntLiteral{});
  const ExprId two = p.add(IntLiteral{});
  const Memory a = Memory::of(BufferId{0});
  const Memory b = Memory::of(BufferId{1});
  const std::array<Arg, 2> args = {Arg(one), Arg(a)};
  const Call call{FnId{0}, p.add_args(args)};
  Expr copy = call;
  replace_operands(p, copy, [&](ExprId) { return two; });
  replace_memories(p, copy, [&](Memory) { return b; });
  const auto changed = p.arguments(std::get<Call>(copy).args);
  EXPECT_EQ(std::get<ExprId>(changed[0]), two);
  EXPECT_TRUE(std::get<Memory>(changed[1]) == b);
  const auto kept = p.arguments(call.args);
  EXPECT_EQ(std::get<ExprId>(kept[0]), one);
  EXPECT_TRUE(std::get<Memory>(kept[1]) == a);

  Stmt loop = For{LocalId{0}, one, one, {}, false, {}};
  replace_operands(p, loop, [&](ExprId) { return two; });
  replace_locals(loop, [](LocalId) { return LocalId{7}; });
  replace_blocks(loop, [](Block) { return Block{3, 4}; });
  const For& changed_loop = std::get<For>(loop);
  EXPECT_TRUE(changed_loop.first == two && changed_loop.last == two && !changed_loop.step.valid());
  EXPECT_EQ(changed_loop.variable, LocalId{7});
  EXPECT_EQ(changed_loop.body.count, 4U);
}

}  // namespace
}  // namespace vyre::ir
