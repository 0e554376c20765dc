// SPDX-License-Identifier: Apache-2.0
// A compilation ends at its deadline or when it is cancelled, says in which stage, and leaves the
// device as good as before.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <gmock/gmock.h>

#include "vyre/vyre.hpp"

namespace vyre::driver_test {
namespace {

using namespace std::chrono_literals;
using testing::AnyOf;
using testing::HasSubstr;

constexpr std::string_view kSmall =
    "program p { workgroup 64; over len(b); inout b : u32[]; if gid.x < len(b) { b[gid.x] += 1; } "
    "}";

// Each function calls the one before four times, so that it is much work or too much.
std::string large() {
  std::string text =
      "program p { workgroup 64; over len(b); inout b : u32[];\n"
      "fn f0(x : u32) -> u32 { return x / (x | 1) + x % (x | 5); }\n";
  for (int i = 1; i <= 7; ++i) {
    const std::string f = "f" + std::to_string(i - 1);
    text += "fn f" + std::to_string(i) + "(x : u32) -> u32 { return " + f + "(x) + " + f +
            "(x + 1) ^ " + f + "(x + 2) * " + f + "(x * 3); }\n";
  }
  return text + "b[gid.x] = f7(gid.x); }";
}

class CompileStop : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = Device::open("cpu", {.cache_directory = {}});
    if (!opened) GTEST_SKIP() << to_string(opened.error());
    device_ = std::move(*opened);
    auto parsed = parse_checked(large());
    ASSERT_TRUE(parsed) << to_string(parsed.error());
    large_ = std::make_shared<const CheckedProgram>(std::move(*parsed));
  }
  void expect_works() const {
    auto small = parse_checked(kSmall);
    ASSERT_TRUE(small);
    const auto compiled = device_.compile(std::move(*small));
    ASSERT_TRUE(compiled) << to_string(compiled.error());
    const std::vector<uint32_t> values = {1, 2, 3};
    const auto result = compiled->pipeline.dispatch({values});
    ASSERT_TRUE(result) << to_string(result.error());
    EXPECT_THAT(to_vector<uint32_t>(result->outputs[0]), testing::ElementsAre(2, 3, 4));
  }

  Device device_;
  std::shared_ptr<const CheckedProgram> large_;
};

TEST_F(CompileStop, AtTheDeadline) {
  const auto compiled = device_.compile(large_, {.timeout = 1ns});
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::Timeout);
  EXPECT_THAT(compiled.error().message, HasSubstr("time limit was reached while"));
  EXPECT_THAT(compiled.error().message,
              AnyOf(HasSubstr("planning the program"), HasSubstr("generating code")));
  EXPECT_THAT(to_string(compiled.error()), HasSubstr("compiling program `p`"));
  expect_works();
}

TEST_F(CompileStop, ByTheFlag) {
  std::atomic<bool> cancel = false;
  std::thread later([&] {
    std::this_thread::sleep_for(200ms);
    cancel = true;
  });
  const auto compiled = device_.compile(large_, {.cancel = &cancel});
  later.join();
  // A program that was compiled or refused before that is none to cancel.
  if (!compiled && compiled.error().code == ErrorCode::Timeout) {
    EXPECT_THAT(compiled.error().message, HasSubstr("cancelled while"));
  }
  cancel = true;
  const auto again = device_.compile(large_, {.cancel = &cancel});
  // What is in memory is there at once; nothing else is begun.
  ASSERT_EQ(again.has_value(), compiled.has_value());
  if (!again) {
    EXPECT_EQ(again.error().code, ErrorCode::Timeout);
  }
  expect_works();
}

// Two threads want the same code: one of them waits for the other, but not longer than it may.
TEST_F(CompileStop, WhileAnotherThreadCompilesTheSame) {
  std::atomic<bool> cancel = false;
  std::thread other([&] { (void)device_.compile(large_, {.cancel = &cancel}); });
  std::this_thread::sleep_for(20ms);
  const auto compiled = device_.compile(large_, {.timeout = 1ms});
  cancel = true;
  other.join();
  if (!compiled) {
    EXPECT_EQ(compiled.error().code, ErrorCode::Timeout) << to_string(compiled.error());
  }
  expect_works();
}

TEST_F(CompileStop, ReadingAProgram) {
  const StopCondition past{.deadline = std::chrono::steady_clock::now() - 1s};
  const auto parsed = parse_checked(large(), "p.vyre", past);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, ErrorCode::Timeout);
  EXPECT_THAT(parsed.error().message,
              AnyOf(HasSubstr("parsing the program"), HasSubstr("checking the program")));
  EXPECT_THAT(to_string(parsed.error()), HasSubstr("reading program `p.vyre`"));
  EXPECT_TRUE(parse_checked(large(), "p.vyre", StopCondition{}));
}

// The code of another route, which a dispatch compiles when it needs it.
TEST_F(CompileStop, OfADispatch) {
  auto program = parse_checked(
      "program p { workgroup 4; over len(b); inout b : u32[]; region m { b[gid.x] += 1; } "
      "barrier grid; region n { b[gid.x] += b[0]; } }");
  ASSERT_TRUE(program) << to_string(program.error());
  const auto compiled = device_.compile(std::move(*program));
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  const std::vector<uint32_t> values(64, 1);
  const auto stopped = compiled->pipeline.dispatch({values}, {.timeout = 1ns, .checked = true});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::Timeout);
  EXPECT_TRUE(compiled->pipeline.dispatch({values}, {.checked = true}));
}

TEST_F(CompileStop, UntrustedProgramsRunAsOthersDo) {
  auto small = parse_checked(kSmall);
  ASSERT_TRUE(small);
  const auto compiled = device_.compile(std::move(*small), {.untrusted = true});
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  const std::vector<uint32_t> values = {1, 2, 3};
  const auto result = compiled->pipeline.dispatch({values});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_THAT(to_vector<uint32_t>(result->outputs[0]), testing::ElementsAre(2, 3, 4));
}

}  // namespace
}  // namespace vyre::driver_test
