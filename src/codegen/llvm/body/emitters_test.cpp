// SPDX-License-Identifier: Apache-2.0
// Single emitters, with a target that only says what it was called for.
#include "codegen/llvm/body/emitters.hpp"

#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/llvm/body/body_emitter.hpp"
#include "codegen/llvm/code_test.hpp"

namespace vyre::codegen {
namespace {

using testing::HasSubstr;
using testing::Not;

// Lanes 0, 1, 2 ... along x; buffers are arguments of the function in pairs of address and length.
class FakeTarget : public TargetLowering, public RowLowering, public CoreLowering {
 public:
  FakeTarget(Builder& builder, llvm::Function& function, uint32_t lanes)
      : b_(builder), function_(function), lanes_(lanes) {}

  Val builtin(ir::Builtin, uint32_t) override {
    if (lanes_ == 1) return {start(), false, b_.getInt32(0)};
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < lanes_; ++i) numbers.push_back(i);
    return {b_.CreateAdd(b_.CreateVectorSplat(lanes_, start()),
                         llvm::ConstantDataVector::get(b_.getContext(), numbers)),
            true, b_.getInt32(0)};
  }
  MemoryRef buffer(ir::BufferId id) override {
    MemoryRef m;
    m.address = function_.getArg(2 * id.value);
    m.length = function_.getArg(2 * id.value + 1);
    return m;
  }
  Val global_lane() override { return builtin(ir::Builtin::Gid, 0); }
  void trapped(SiteRef, llvm::Value*, llvm::Value*) override { ++traps; }
  void out_of_bounds(SiteRef, const MemoryRef&, llvm::Value*, llvm::Value*) override { ++faults; }
  void poll(SiteRef, uint32_t) override { ++polls; }
  llvm::BasicBlock* lane_end() override { return end; }
  void enter_function() override {}
  void leave_function() override {}
  llvm::Value* start() override { return b_.CreateTrunc(wide_start(), b_.getInt32Ty()); }
  llvm::Value* wide_start() override {
    llvm::Value* const first = function_.getArg(function_.arg_size() - 1);
    return lane_ != nullptr ? b_.CreateAdd(first, lane_) : first;
  }
  bool ensure_below(llvm::Value*, llvm::Value*, bool) override {
    ++guards;
    return true;
  }
  bool ensure_at_least(llvm::Value*, llvm::Value*) override { return false; }
  llvm::Value* row_offset(llvm::Value* offset) override {
    return b_.CreateSExt(offset, b_.getInt64Ty());
  }
  bool streams(ir::BufferId, llvm::Value*) override { return false; }
  void demand_lanes(llvm::Value*, llvm::Value*, bool) override {}
  void enter_lane(llvm::Value* lane) override {
    ++entered;
    lane_ = b_.CreateZExt(lane, b_.getInt64Ty());
    block_ = std::exchange(lanes_, 1);
  }
  void leave_lane() override {
    lane_ = nullptr;
    lanes_ = block_;
  }
  llvm::Value* iterations_left(uint32_t) override { return b_.getInt64(1); }
  void poll_iterations(SiteRef, llvm::Value*, uint32_t) override { ++polls; }

  int traps = 0, faults = 0, polls = 0, guards = 0, entered = 0;
  llvm::BasicBlock* end = nullptr;

 private:
  Builder& b_;
  llvm::Function& function_;
  uint32_t lanes_;
  uint32_t block_ = 1;           // lanes of the block, while one of them is entered
  llvm::Value* lane_ = nullptr;  // that one
};

// A function with the insertion point at its start.
class Body {
 public:
  explicit Body(std::string_view source, BodyOptions options = {})
      : program(checked_program(source)),
        divergence(program, options.shape, {.accesses_end = options.checked}),
        builder(context_),
        module_("test", context_) {
    std::vector<llvm::Type*> arguments;
    for (size_t i = 0; i < program.program.buffers.size(); ++i) {
      arguments.push_back(builder.getPtrTy());
      arguments.push_back(builder.getInt32Ty());
    }
    arguments.push_back(builder.getInt64Ty());
    function_ =
        llvm::Function::Create(llvm::FunctionType::get(builder.getVoidTy(), arguments, false),
                               llvm::GlobalValue::ExternalLinkage, "body", module_);
    builder.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
    target = std::make_unique<FakeTarget>(builder, *function_, options.shape.lanes);
    target->end = llvm::BasicBlock::Create(context_, "end", function_);
    lowering = std::make_unique<Lowering>(
        Lowering{.target = *target, .rows = *target, .core = target.get()});
    x = std::make_unique<BodyContext>(builder, *lowering, program, divergence, options);
    emitters = std::make_unique<Emitters>(*x);
  }

  // The function as text, after LLVM has found nothing wrong with it.
  std::string finished() {
    if (!x->terminated()) builder.CreateBr(target->end);
    builder.SetInsertPoint(target->end);
    builder.CreateRetVoid();
    std::string text;
    llvm::raw_string_ostream out(text);
    EXPECT_FALSE(llvm::verifyModule(module_, &out)) << text;
    function_->print(out);
    return text;
  }

  [[nodiscard]] llvm::Value* argument(unsigned i) const { return function_->getArg(i); }

 private:
  llvm::LLVMContext context_;

 public:
  check::CheckedProgram program;
  Divergence divergence;
  Builder builder;
  std::unique_ptr<FakeTarget> target;
  std::unique_ptr<Lowering> lowering;
  std::unique_ptr<BodyContext> x;
  std::unique_ptr<Emitters> emitters;

 private:
  llvm::Module module_;
  llvm::Function* function_ = nullptr;
};

constexpr std::string_view kStore = "program p { workgroup 64; inout b : u32[]; b[gid.x] = 7; }";
// The ifs of a program, none of them in another, in their order.
std::vector<ir::StmtId> ifs_of(const ir::Program& p) {
  std::vector<ir::StmtId> found;
  for (uint32_t i = 0; i < p.stmts.size(); ++i)
    if (std::holds_alternative<ir::If>(p.stmts[i])) found.push_back(ir::StmtId{i});
  return found;
}

constexpr BlockShape kEight = {.lanes = 8};

std::string emitted(Body& body, llvm::Value* mask = nullptr) {
  body.x->mask = mask;
  body.emitters->statements.emit_program();
  return body.finished();
}

// One lane tests its access; a row with a guard does not; a masked row stores under its mask.
TEST(MemoryEmitter, TestsWhatNoGuardDoes) {
  Body one(kStore);
  EXPECT_THAT(emitted(one), HasSubstr("icmp ult"));
  Body row(kStore, {.shape = kEight});
  const std::string guarded = emitted(row);
  EXPECT_EQ(row.target->guards, 1);
  EXPECT_THAT(guarded, HasSubstr("store <8 x i32>"));
  EXPECT_THAT(guarded, Not(HasSubstr("icmp")));
  Body masked(kStore, {.shape = kEight});
  llvm::Value* const some = masked.builder.CreateICmpEQ(
      masked.target->builtin(ir::Builtin::Gid, 0).v,
      llvm::ConstantInt::get(llvm::FixedVectorType::get(masked.builder.getInt32Ty(), 8), 3));
  EXPECT_THAT(emitted(masked, some), HasSubstr("@llvm.masked.store"));
  EXPECT_EQ(masked.target->guards, 0);
}

TEST(MemoryEmitter, CheckedAccessesStopTheLane) {
  Body body(kStore, {.checked = true});
  emitted(body);
  EXPECT_EQ(body.target->faults, 1);
}

TEST(MaskEmitter, MergesTheMaskOfASkippedSide) {
  Body body(kStore, {.shape = kEight});
  BodyContext& x = *body.x;
  llvm::Value* const mask =
      body.builder.CreateICmpEQ(body.target->builtin(ir::Builtin::Gid, 0).v,
                                llvm::ConstantInt::get(x.vector(body.builder.getInt32Ty()), 3));
  // What leaves the mask alone keeps it; what changes it has to say so where no lane came by.
  EXPECT_EQ(body.emitters->masks.under_mask(mask, [] {}), mask);
  llvm::Value* const left =
      body.emitters->masks.under_mask(mask, [&] { x.mask = body.builder.CreateNot(mask); });
  EXPECT_TRUE(llvm::isa<llvm::PHINode>(left));
  body.finished();
}

TEST(MaskEmitter, KnowsWhatLanesMayLeave) {
  Body body(
      "program p { workgroup 64; inout b : u32[];\n"
      "  if b[0] == 1 { b[1] = 2; }\n  if gid.x == 1 { return; }\n  b[2] = 3; }",
      {.shape = kEight});
  const ir::Program& p = body.program.program;
  const MaskEmitter& masks = body.emitters->masks;
  const auto then_block = [&](size_t i) { return std::get<ir::If>(p[ifs_of(p)[i]]).then_block; };
  EXPECT_FALSE(masks.jumps_out(then_block(0)));
  EXPECT_TRUE(masks.jumps_out(then_block(1)));
  // Without a variable for them, no lane ends on its own.
  EXPECT_FALSE(masks.can_end(then_block(1)));
}

TEST(LoopEmitter, PollsWhatMayTakeLong) {
  const auto polls = [](std::string_view loop) {
    Body body("program p { workgroup 64; in n : u32[]; inout b : u32[];\n" + std::string(loop) +
              " }");
    emitted(body);
    return body.target->polls;
  };
  EXPECT_EQ(polls("for i in 0 .. 10 { b[i] = i; }"), 0);
  EXPECT_EQ(polls("for i in 0 .. 1000000 { b[i] = i; }"), 1);
  EXPECT_EQ(polls("for i in 0 .. n[0] { b[i] = i; }"), 1);
  EXPECT_EQ(polls("while b[0] < 5 { b[0] += 1; }"), 1);
  EXPECT_EQ(polls("for i in 0 .. 1000 { for j in 0 .. 1000 { b[j] = i; } }"), 1);
}

TEST(LaneSerialiser, RunsEachLaneAsABlockOfOne) {
  Body body("program p { workgroup 64; inout b : u32[]; if b[gid.x] == 3 { b[b[gid.x]] = 1; } }",
            {.shape = kEight});
  const ir::Program& p = body.program.program;
  std::vector<bool> serialised(p.stmts.size());
  serialised[ifs_of(p)[0].index()] = true;
  body.x->options.serialised = &serialised;
  const std::string text = emitted(body);
  EXPECT_EQ(body.target->entered, 1);
  EXPECT_THAT(text, HasSubstr("@llvm.cttz.i8"));
  EXPECT_FALSE(body.x->options.shape.lanes == 1) << "the block is whole again";
  EXPECT_EQ(body.x->serial_lane, nullptr);
}

TEST(AtomicEmitter, CombinesLanesThatNeedNoResult) {
  Body sum("program p { workgroup 64; inout b : u32[]; atomic_add(b[0], gid.x); }",
           {.shape = kEight});
  EXPECT_THAT(emitted(sum), HasSubstr("@llvm.vector.reduce.add.v8i32"));
  Body used("program p { workgroup 64; inout b : u32[]; b[gid.x + 1] = atomic_add(b[0], gid.x); }",
            {.shape = kEight});
  EXPECT_THAT(emitted(used), HasSubstr("@llvm.cttz.i8"));
}

TEST(SubgroupEmitter, IdentitiesChangeNothing) {
  Body body(kStore, {.shape = {.lanes = 32, .packed = true}});
  SubgroupEmitter& subgroups = body.emitters->subgroups;
  using ir::SubgroupOp;
  using ir::Type;
  EXPECT_TRUE(subgroups.identity(SubgroupOp::Add, Type::U32)->isNullValue());
  EXPECT_TRUE(subgroups.identity(SubgroupOp::And, Type::U32)->isAllOnesValue());
  EXPECT_TRUE(subgroups.identity(SubgroupOp::Min, Type::U32)->isAllOnesValue());
  EXPECT_TRUE(subgroups.identity(SubgroupOp::Max, Type::U64)->isNullValue());
  // The sum with -0.0 is the other number, also if that is -0.0.
  EXPECT_TRUE(subgroups.identity(SubgroupOp::Add, Type::F32)->isNegativeZeroValue());
  EXPECT_TRUE(subgroups.identity(SubgroupOp::Min, Type::F64)->isNaN());
}

TEST(MemoryRefs, NeutralOperands) {
  llvm::LLVMContext context;
  llvm::Type* const word = llvm::Type::getInt32Ty(context);
  const auto of = [&](ir::AtomicOp op, ir::Type type) { return neutral_operand(op, type, word); };
  EXPECT_TRUE(of(ir::AtomicOp::Add, ir::Type::U32)->isNullValue());
  EXPECT_TRUE(of(ir::AtomicOp::And, ir::Type::U32)->isAllOnesValue());
  EXPECT_TRUE(of(ir::AtomicOp::Min, ir::Type::U32)->isAllOnesValue());
  EXPECT_TRUE(of(ir::AtomicOp::Max, ir::Type::I32)->isMinSignedValue());
  EXPECT_EQ(of(ir::AtomicOp::Exchange, ir::Type::U32), nullptr);
  EXPECT_EQ(of(ir::AtomicOp::Add, ir::Type::F32), nullptr);
}

// Only conditions behind which a difference cannot wrap are remembered, and only in their block.
TEST(ConditionFacts, OrderOfTwoValues) {
  const check::CheckedProgram c = checked_program(
      "program p { workgroup 64; inout b : u32[];\n"
      "  let n = b[0];\n"
      "  if gid.x >= n && n > lid.x { b[1] = gid.x - n; }\n"
      "  var m = b[2];\n"
      "  if gid.x >= m { m = 3; } }");
  const ir::Program& p = c.program;
  const auto& first = std::get<ir::If>(p[ifs_of(p)[0]]);
  const auto& both = std::get<ir::Binary>(p[first.condition]);
  const auto& left = std::get<ir::Binary>(p[both.left]);
  const auto& right = std::get<ir::Binary>(p[both.right]);
  ConditionFacts facts;
  facts.learn(c, first.condition, true, first.then_block);
  EXPECT_TRUE(facts.at_least(p, left.left, left.right));
  EXPECT_FALSE(facts.at_least(p, left.right, left.left));
  EXPECT_TRUE(facts.at_least(p, right.left, right.right));
  facts.forget_from(0);
  EXPECT_FALSE(facts.at_least(p, left.left, left.right));
  // Of `a && b` that does not hold nothing is known.
  facts.learn(c, first.condition, false, first.else_block);
  EXPECT_EQ(facts.count(), 0U);
  facts.learn(c, both.left, false, first.else_block);
  EXPECT_TRUE(facts.at_least(p, left.right, left.left)) << "less the other way round";
  facts.forget_from(0);
  const auto& assigned = std::get<ir::If>(p[ifs_of(p)[1]]);
  facts.learn(c, assigned.condition, true, assigned.then_block);
  EXPECT_EQ(facts.count(), 0U) << "the block assigns one of them";
}

}  // namespace
}  // namespace vyre::codegen
