// SPDX-License-Identifier: Apache-2.0
// What the conformance tests themselves promise: a wrong device is found, an expected failure that
// passes fails, guard pages guard.
#include <algorithm>
#include <functional>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/guard.hpp"
#include "conformance/judge.hpp"
#include "vyre/backend/null.hpp"
#include "vyre/backend/reference.hpp"

namespace vyre::conformance {
namespace {

using ::testing::HasSubstr;

// Gives another value in another order of lanes: to the oracle, such a device is wrong.
const Case kOrderShows = {.name = "order_shows",
                          .text =
                              "program order_shows {\n  workgroup 4;\n  over 8;\n"
                              "  out o : u32[8];\n  out n : f32[1];\n  shared s : u32[1];\n"
                              "  o[gid.x] = atomic_add(s[0], 1);\n}\n"};

run::Device device_with(const backend::ReferenceOptions& options) {
  return run::Device::over(*backend::open_reference(options), {.cache_directory = {}});
}

TEST(Harness, FindsAWrongDevice) {
  EXPECT_EQ(judge_on(kOrderShows, device_with({})).verdict, Verdict::Pass);
  const Judgement wrong =
      judge_on(kOrderShows, device_with({.schedule = oracle::Schedule::Reversed}));
  EXPECT_EQ(wrong.verdict, Verdict::Fail);
  EXPECT_EQ(wrong.text, "o[0] is 3 instead of 0; 8 elements differ");
}

TEST(Harness, FindsAnErrorOfAnotherLane) {
  Case one = kOrderShows;
  one.text =
      "program p {\n  workgroup 4;\n  over 8;\n  out o : u32[8];\n  shared s : u32[1];\n"
      "  if atomic_add(s[0], 1) == 1 {\n    trap(4, 9);\n  }\n  o[gid.x] = 1;\n}\n";
  one.error = ErrorCode::Trapped;
  EXPECT_EQ(judge_on(one, device_with({})).verdict, Verdict::Pass);
  const Judgement wrong = judge_on(one, device_with({.schedule = oracle::Schedule::Reversed}));
  EXPECT_EQ(wrong.verdict, Verdict::Fail);
  EXPECT_THAT(wrong.text, HasSubstr("expected Trapped"));
}

TEST(Harness, ACaseWhoseOrderShowsIsNoCase) {
  EXPECT_EQ(judge_case(kOrderShows).verdict, Verdict::Fail);
}

TEST(Harness, ABrokenCaseFails) {
  Case one = kOrderShows;
  one.text = "program broken {";
  EXPECT_THAT(judge_on(one, device_with({})).text, HasSubstr("the case is broken"));
  one = kOrderShows;
  one.error = ErrorCode::Trapped;
  EXPECT_THAT(judge_on(one, device_with({})).text, HasSubstr("the oracle ends with success"));
}

TEST(Harness, ExpectedFailures) {
  Case one = kOrderShows;
  one.expected_failures = {{"cuda", "rounds the wrong way"}};
  const Judgement failed{Verdict::Fail, "o[0] is 1 instead of 2"};
  EXPECT_EQ(expect_failure(one, "cpu", failed).verdict, Verdict::Fail);
  EXPECT_EQ(expect_failure(one, "cuda", failed).verdict, Verdict::ExpectedFailure);
  EXPECT_THAT(expect_failure(one, "cuda", failed).text, HasSubstr("rounds the wrong way"));
  const Judgement passed = expect_failure(one, "cuda", {});
  EXPECT_EQ(passed.verdict, Verdict::Fail);
  EXPECT_THAT(passed.text, HasSubstr("passes, although a failure is expected"));
  EXPECT_EQ(expect_failure(one, "cuda", {Verdict::Unsupported, "no f64"}).verdict,
            Verdict::Unsupported);
}

TEST(Harness, UnavailableIsNotPassed) {
  const Subject none{.id = "cuda", .backend = "cuda", .unusable = "no driver library"};
  const Judgement judgement = judge(kOrderShows, none);
  EXPECT_EQ(judgement.verdict, Verdict::Unavailable);
  EXPECT_EQ(judgement.text, "no driver library");
}

run::Device device_without(const std::function<void(device::Capabilities&)>& change) {
  backend::NullOptions options;
  change(options.info.capabilities);
  return run::Device::over(std::make_shared<backend::NullBackend>(std::move(options)),
                           {.cache_directory = {}});
}

TEST(Harness, UnsupportedIsNotPassed) {
  Case one{.name = "wide",
           .text = "program wide {\n  workgroup 4;\n  out o : u64[4];\n  o[gid.x] = 1;\n}\n"};
  const Judgement wide =
      judge_on(one, device_without([](device::Capabilities& can) { can.i64 = false; }));
  EXPECT_EQ(wide.verdict, Verdict::Unsupported);
  EXPECT_THAT(wide.text, HasSubstr("64-bit integers (i64)"));
  one.text = "program real {\n  workgroup 4;\n  out o : f32[4];\n  o[gid.x] = 1.5;\n}\n";
  const Judgement inexact =
      judge_on(one, device_without([](device::Capabilities& can) { can.strict_f32 = false; }));
  EXPECT_EQ(inexact.verdict, Verdict::Unsupported);
  EXPECT_EQ(inexact.text, "strict_f32 is false");
  // A device that runs nothing, and promises all: what was in its memory before is still there.
  const Judgement wrong = judge_on(one, device_without([](device::Capabilities&) {}));
  EXPECT_EQ(wrong.verdict, Verdict::Fail);
  EXPECT_THAT(wrong.text, HasSubstr(" instead of 1.5; 4 elements differ"));
}

TEST(Harness, NamesAreUniqueAndPlain) {
  std::vector<std::string> names;
  for (const Case& one : all_cases()) {
    EXPECT_EQ(one.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                         "0123456789_"),
              std::string::npos)
        << one.name;
    names.push_back(one.name);
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_GE(names.size(), 2000U);
}

TEST(HarnessDeathTest, GuardPagesGuard) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Bytes bytes = bytes_of<uint32_t>({1, 2, 3});
  const auto touch = [](const std::byte* at) {
    return *static_cast<const volatile std::byte*>(at);
  };
  const GuardedBytes end(bytes, Edge::End);
  EXPECT_TRUE(std::ranges::equal(end.bytes(), bytes));
  EXPECT_DEATH((void)touch(end.bytes().data() + end.bytes().size()), "");
  const GuardedBytes start(bytes, Edge::Start);
  EXPECT_TRUE(std::ranges::equal(start.bytes(), bytes));
  EXPECT_DEATH((void)touch(start.bytes().data() - 1), "");
  start.make_read_only();
  EXPECT_DEATH(start.bytes()[0] = std::byte{0}, "");
}

}  // namespace
}  // namespace vyre::conformance
