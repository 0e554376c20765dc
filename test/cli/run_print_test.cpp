// SPDX-License-Identifier: Apache-2.0
// `vyre run --print` as a user meets it.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kLines = R"(program lines {
  workgroup 2;
  over 4;
  inout a : u32[4];
  a[gid.x] += 1;
  print("a = {}", a[gid.x]);
  barrier grid;
  if gid.x == 2 {
    print("two {:.2f}", 0.5);
  }
  assert(a[gid.x] < 9, "a[{}] = {}", gid.x, a[gid.x]);
}
)";

class RunPrint : public ::testing::TestWithParam<std::string> {
 protected:
  Outcome run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"run", file_, "--device", GetParam()});
    return run_vyre(std::move(arguments));
  }
  [[nodiscard]] std::string at(int line, int column, std::string_view text) const {
    return file_ + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " +
           std::string(text) + "\n";
  }

  Folder folder_;
  std::string file_ = folder_.write("lines.vyre", kLines);
};

TEST_P(RunPrint, WritesLinesWithTheirPlaces) {
  const Outcome with = run({"--in", "a=[5,6,7,9]", "--print"});
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_EQ(with.err, at(6, 3, "a = 6") + at(6, 3, "a = 7") + at(6, 3, "a = 8") +
                          at(6, 3, "a = 10") + at(9, 5, "two 0.50"));
  const Outcome without = run({"--in", "a=[5,6,7,9]"});
  EXPECT_EQ(without.err, "");
  EXPECT_EQ(without.out, with.out);
}

TEST_P(RunPrint, JsonHasThem) {
  const Outcome outcome = run({"--in", "a=[5,6,7,9]", "--print", "--json"});
  const Json json = outcome.json();
  ASSERT_EQ(json["printed"].size(), 5U) << outcome.out;
  EXPECT_EQ(json["printed_dropped"], 0);
  const Json& last = json["printed"][4];
  EXPECT_EQ(last["text"], "two 0.50");
  EXPECT_EQ(last["phase"], 1);
  EXPECT_EQ(last["lane"], 2);
  EXPECT_EQ(last["line"], 9);
  EXPECT_EQ(last["column"], 5);
}

TEST_P(RunPrint, AlsoOfARunThatFails) {
  const Outcome outcome = run({"--in", "a=[5,6,7,9]", "--print", "--checked"});
  EXPECT_EQ(outcome.exit_code, 10);
  EXPECT_THAT(outcome.err, StartsWith(at(6, 3, "a = 6")));
  EXPECT_THAT(outcome.err, HasSubstr(at(9, 5, "two 0.50")));
  EXPECT_THAT(outcome.err, HasSubstr("lane 3: the assertion failed: a[3] = 10"));
  const Json json = run({"--in", "a=[5,6,7,9]", "--print", "--checked", "--json"}).json();
  EXPECT_EQ(json["printed"].size(), 5U);
  EXPECT_EQ(json["error"]["name"], "Trapped");
}

TEST_P(RunPrint, SaysHowManyDidNotFit) {
  const std::string many = folder_.write("many.vyre", R"(program many {
    workgroup 64; over 640; out a : u32[1];
    for k in 0 .. 200 { print("k = {}", k); }
    if gid.x == 0 { a[0] = 1; }
  })");
  const Outcome outcome = run_vyre({"run", many, "--device", GetParam(), "--print"});
  EXPECT_EQ(outcome.exit_code, 0);
  // 1 MiB of lines with four words each.
  EXPECT_THAT(outcome.err, HasSubstr("\n62464 more lines of print() did not fit\n"));
}

INSTANTIATE_TEST_SUITE_P(Devices, RunPrint,
                         ::testing::Values("reference", "reference:1", "reference:5", "cpu"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace vyre::test
