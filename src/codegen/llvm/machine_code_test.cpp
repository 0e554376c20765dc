// SPDX-License-Identifier: Apache-2.0
// What LLVM refuses is an error of its caller, never the end of the process.
#include "codegen/llvm/machine_code.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/Support/ErrorHandling.h>

#include "base/sanitizers.hpp"
#include "base/stop.hpp"
#include "codegen/in_process.hpp"
#include "codegen/llvm/llvm_ir.hpp"

#if VYRE_ADDRESS_SANITIZER
// Where LLVM would end the process it does not clean up what it has.
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:llvm::Twine::str\nleak:llvm::raw_ostream::write\n";
}
#endif

namespace vyre::codegen {
namespace {

using ::testing::HasSubstr;

llvm::Function& add_function(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Function* const function =
      llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getInt32Ty(context), false),
                             llvm::GlobalValue::ExternalLinkage, "f", module);
  llvm::BasicBlock::Create(context, "entry", function);
  return *function;
}

Result<void> give_seven(llvm::Module& module) {
  llvm::IRBuilder<> b(&add_function(module).getEntryBlock());
  b.CreateRet(b.getInt32(7));
  return {};
}

void expect_works() {
  EXPECT_TRUE(make_code(Machine::host(), Output::Object, give_seven).has_value());
}

TEST(MachineCode, EachForm) {
  const auto object = make_code(Machine::host(), Output::Object, give_seven);
  ASSERT_TRUE(object.has_value());
  ASSERT_GE(object->size(), 4U);
  EXPECT_EQ((*object)[1], std::byte{'E'});
  for (const Output output : {Output::Assembly, Output::Ir}) {
    const auto text = make_code(Machine::host(), output, give_seven);
    ASSERT_TRUE(text.has_value());
    EXPECT_THAT(std::string(reinterpret_cast<const char*>(text->data()), text->size()),
                HasSubstr(output == Output::Ir ? "ret i32 7" : "$7, %eax"));
  }
}

TEST(MachineCode, TheSameBytesEveryTime) {
  EXPECT_EQ(make_code(Machine::host(), Output::Object, give_seven).value(),
            make_code(Machine::host(), Output::Object, give_seven).value());
}

TEST(MachineCode, AnErrorOfTheGeneratorComesThrough) {
  const auto code = make_code(Machine::host(), Output::Object, [](llvm::Module&) -> Result<void> {
    return std::unexpected(Error{.code = ErrorCode::LimitExceeded,
                                 .message = "too long",
                                 .context = {},
                                 .at = {},
                                 .diagnostics = {}});
  });
  ASSERT_FALSE(code.has_value());
  EXPECT_EQ(code.error().code, ErrorCode::LimitExceeded);
  EXPECT_EQ(code.error().message, "too long");
}

TEST(MachineCode, AnUnknownMachine) {
  Machine machine = Machine::host();
  machine.triple = "z80-unknown-cpm";
  const auto code = make_code(machine, Output::Object, give_seven);
  ASSERT_FALSE(code.has_value());
  EXPECT_EQ(code.error().code, ErrorCode::CompileFailed);
  EXPECT_THAT(code.error().message, HasSubstr("LLVM makes no code for z80-unknown-cpm"));
  EXPECT_THAT(code.error().message, HasSubstr("Fix: "));
}

TEST(MachineCode, AModuleThatDoesNotVerify) {
  const auto code = make_code(Machine::host(), Output::Object, [](llvm::Module& module) {
    add_function(module);  // its block has no end
    return Result<void>();
  });
  ASSERT_FALSE(code.has_value());
  EXPECT_EQ(code.error().code, ErrorCode::Internal);
  EXPECT_THAT(code.error().message, HasSubstr("invalid LLVM IR"));
  expect_works();
}

// Deep inside of LLVM's code generator, which knows no other way out than to end the process.
TEST(MachineCode, WhatCannotBeSelected) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "code is generated for x86-64 only";
#endif
  const auto code = make_code(Machine::host(), Output::Object, [](llvm::Module& module) {
    llvm::IRBuilder<> b(&add_function(module).getEntryBlock());
    const auto other = module.getOrInsertFunction("llvm.nvvm.read.ptx.sreg.tid.x", b.getInt32Ty());
    b.CreateRet(b.CreateCall(other));
    return Result<void>();
  });
  ASSERT_FALSE(code.has_value());
  EXPECT_EQ(code.error().code, ErrorCode::CompileFailed);
  EXPECT_THAT(code.error().message, HasSubstr("LLVM refuses to make code for"));
  EXPECT_THAT(code.error().message, HasSubstr("Cannot select"));
  EXPECT_THAT(code.error().message, HasSubstr("Fix: "));
  expect_works();
}

TEST(MachineCode, AFatalErrorOfLlvm) {
  const auto code = make_code(Machine::host(), Output::Object, [](llvm::Module&) -> Result<void> {
    llvm::report_fatal_error("out of luck");
  });
  ASSERT_FALSE(code.has_value());
  EXPECT_EQ(code.error().code, ErrorCode::CompileFailed);
  EXPECT_THAT(code.error().message, HasSubstr("out of luck"));
  expect_works();
}

// What LLVM worked on is never touched again, and the next one works.
TEST(MachineCode, AFailedAllocationOfLlvm) {
  EXPECT_THROW((void)make_code(Machine::host(), Output::Object,
                               [](llvm::Module& module) -> Result<void> {
                                 add_function(module);
                                 llvm::report_bad_alloc_error("no memory");
                               }),
               std::bad_alloc);
  EXPECT_TRUE(llvm_was_interrupted());
  EXPECT_FALSE(in_llvm());
  expect_works();
}

TEST(MachineCode, KnowsWhereItIs) {
  bool inside = false;
  EXPECT_FALSE(in_llvm());
  const auto code = make_code(Machine::host(), Output::Object, [&](llvm::Module& module) {
    inside = in_llvm();
    return give_seven(module);
  });
  EXPECT_TRUE(code);
  EXPECT_TRUE(inside);
  EXPECT_FALSE(in_llvm());
}

// Sums of blocks of lanes, each of the one before.
Result<void> give_sums(llvm::Module& module, int count) {
  llvm::IRBuilder<> b(&add_function(module).getEntryBlock());
  llvm::Value* const first =
      b.CreateAlloca(llvm::FixedVectorType::get(b.getInt32Ty(), 32), nullptr, "lanes");
  llvm::Value* sum = b.CreateLoad(llvm::FixedVectorType::get(b.getInt32Ty(), 32), first, true);
  for (int i = 0; i < count; ++i) sum = b.CreateAdd(b.CreateMul(sum, sum), sum);
  b.CreateRet(b.CreateExtractElement(sum, uint64_t{0}));
  return {};
}

TEST(MachineCode, HeavyModulesAreLeftAlone) {
  const auto make = [](int count) {
    return if_light(1000, [count] {
      return make_code(Machine::host(), Output::Object,
                       [count](llvm::Module& module) { return give_sums(module, count); });
    });
  };
  const auto light = make(10);
  ASSERT_TRUE(light);
  EXPECT_TRUE(*light);
  EXPECT_FALSE(make(1000));
  // The limit is gone with its scope.
  EXPECT_TRUE(make_code(Machine::host(), Output::Object,
                        [](llvm::Module& module) { return give_sums(module, 200); }));
}

TEST(MachineCode, StopsBetweenPasses) {
  std::atomic<bool> cancel = false;
  const StopScope scope({.cancel = &cancel});
  EXPECT_TRUE(make_code(Machine::host(), Output::Object, give_seven));
  EXPECT_THROW((void)make_code(Machine::host(), Output::Object,
                               [&](llvm::Module& module) {
                                 cancel = true;
                                 return give_seven(module);
                               }),
               Stopped);
  cancel = false;
  expect_works();
}

TEST(MachineCode, Ptx) {
  const auto code = make_code(Machine::nvptx("sm_70"), Output::Assembly, give_seven);
  ASSERT_TRUE(code.has_value());
  EXPECT_THAT(std::string(reinterpret_cast<const char*>(code->data()), code->size()),
              HasSubstr(".target sm_70"));
}

}  // namespace
}  // namespace vyre::codegen
