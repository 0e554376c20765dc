// SPDX-License-Identifier: Apache-2.0
// `vyre run` and `vyre check --races` as a user meets them.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kScale = R"(program scale {
  workgroup 64;
  over len(a);
  in a : f32[];
  uniform k : f32[1];
  out b : f32[] @count(len(a));
  require len(a) < 1000, "at most 999 elements";
  if gid.x < len(b) {
    b[gid.x] = a[gid.x] * k[0];
  }
}
)";

class Run : public ::testing::Test {
 protected:
  Outcome run(std::vector<std::string> arguments, const Surroundings& around = {}) const {
    arguments.insert(arguments.begin(), {"run", scale_, "--device", "reference"});
    return run_vyre(std::move(arguments), around);
  }
  // The failure of a program that is given with its arguments.
  static Outcome run_text(const Folder& folder, std::string_view text,
                          std::vector<std::string> arguments = {}) {
    const std::string file = folder.write("program.vyre", text);
    arguments.insert(arguments.begin(), {"run", file, "--device", "reference"});
    return run_vyre(std::move(arguments));
  }

  Folder folder_;
  std::string scale_ = folder_.write("scale.vyre", kScale);
};

TEST_F(Run, PrintsOutputs) {
  const Outcome outcome = run({"--in", "a=[1,2,3.5]", "--in", "k=[2]"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("b : f32[3], digest "), HasSubstr("\n  [2, 4, 7]\n")));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Run, LongOutputsAreShortened) {
  const Outcome outcome = run({"--in", "a=iota(100)", "--in", "k=[1]"});
  EXPECT_THAT(outcome.out, HasSubstr("[0, 1, 2, 3, 4, … 95, 96, 97, 98, 99]"));
}

TEST_F(Run, FilesInAndOut) {
  const std::string npy = folder_.path("b.npy");
  ASSERT_EQ(run({"--in", "a=iota(4)", "--in", "k=[0.5]", "--out", "b=" + npy}).exit_code, 0);
  const Outcome again = run({"--in", "a=" + npy, "--in", "k=[4]", "--out", "b=-"});
  EXPECT_EQ(again.out, "0\n2\n4\n6\n");
  const std::string csv = folder_.path("b.csv");
  ASSERT_EQ(run({"--in", "a=iota(6)", "--in", "k=[1]", "--out", "b=" + csv, "--shape", "b=2,3"})
                .exit_code,
            0);
  EXPECT_EQ(folder_.read("b.csv"), "0,1,2\n3,4,5\n");
  const std::string png = folder_.path("b.png");
  ASSERT_EQ(run({"--in", "a=iota(6)", "--in", "k=[0.2]", "--out", "b=" + png, "--shape", "b=2,3"})
                .exit_code,
            0);
  const Outcome read = run({"--in", "a=" + png, "--in", "k=[5]"});
  EXPECT_THAT(read.out, HasSubstr("[0, 1, 2, 3, 4, 5]"));
  const Outcome raw =
      run({"--in", "a=@-", "--in", "k=[2]"}, {.input = std::string("\0\0\x80\x3f", 4)});
  EXPECT_THAT(raw.out, HasSubstr("[2]"));
}

TEST_F(Run, Json) {
  const Outcome outcome = run({"--in", "a=[1,2]", "--in", "k=[inf]", "--json"});
  ASSERT_EQ(outcome.exit_code, 0);
  const Json json = outcome.json();
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["command"], "run");
  EXPECT_EQ(json["device"], "reference");
  EXPECT_EQ(json["route"], "whole");
  EXPECT_EQ(json["segments"], 1);
  EXPECT_EQ(json["launches"], 1);
  EXPECT_EQ(json["iterations"], 1);
  EXPECT_EQ(json["repeats"], 1);
  EXPECT_EQ(json["wall_ns_of_all"]["median"], json["wall_ns"]);
  EXPECT_EQ(json["grid_barriers"], 0);
  EXPECT_GT(json["statements"], 0);
  EXPECT_GT(json["device_ns"], 0);
  EXPECT_TRUE(json["enqueue_ns"].is_null());
  EXPECT_TRUE(json["wait_ns"].is_null());
  EXPECT_TRUE(json["cache_hit"].is_null());
  EXPECT_GT(json["wall_ns"], 0);
  const Json& b = json["outputs"][0];
  EXPECT_EQ(b["name"], "b");
  EXPECT_EQ(b["type"], "f32");
  EXPECT_EQ(b["count"], 2);
  EXPECT_EQ(b["digest"].get<std::string>().size(), 64U);
  EXPECT_EQ(b["values"], Json::array({"inf", "inf"}));
  const Json many = run({"--in", "a=[1]", "--in", "k=[2]", "--json", "--fixpoint", "3"}).json();
  EXPECT_EQ(many["iterations"], 2);  // the second pass changes nothing
}

TEST_F(Run, BadDataIsExplained) {
  const auto fails = [&](std::vector<std::string> arguments, std::string_view message,
                         int code = 11) {
    const Outcome outcome = run(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, code) << message;
    EXPECT_THAT(outcome.err, HasSubstr(std::string(message)));
    EXPECT_THAT(outcome.err, HasSubstr("Fix: "));
    EXPECT_EQ(outcome.out, "");
  };
  fails({"--in", "k=[1]"}, "input `a` is missing: the program declares `in a : f32[]`");
  fails({"--in", "a=[1]", "--in", "kk=[1]"}, "program `scale` has no input named `kk`");
  fails({"--in", "a=[1]", "--in", "b=[1]", "--in", "k=[1]"}, "`b` takes no input");
  fails({"--in", "a=[1]", "--in", "k=[1,2]"}, "k");
  fails({"--in", "a=[x]", "--in", "k=[1]"}, "x");
  fails({"--in", "a=iota(1000)", "--in", "k=[1]"}, "the program requires: at most 999 elements");
  fails({"--in", "a=nothing.npy", "--in", "k=[1]"}, "nothing.npy");
  fails({"--in", "a=[1]", "--in", "k=[1]", "--out", "c=x.npy"}, "no output named `c`");
  fails({"--in", "a=[1]", "--in", "k=[1]", "--out", "b=x.png"}, "--shape");
  fails({"--in", "a"}, "--in", 2);
  fails({"--in", "a=[1]", "--in", "a=[2]", "--in", "k=[1]"}, "--in a is given twice", 2);
  fails({"--in", "a=@-", "--in", "k=@-"}, "stdin can be read only once", 2);
  fails({"--grid", "x"}, "--grid takes one to three whole numbers", 2);
  fails({"--timeout", "-1"}, "--timeout takes seconds", 2);
  fails({"--seed", "abc"}, "--seed takes a whole number, not 'abc'", 2);
  EXPECT_THAT(run({"--in", "a=[1]", "--in", "kk=[1]"}).err, HasSubstr("did you mean `k`?"));
}

TEST_F(Run, AWrongTypeInAFileNamesBoth) {
  const std::string program = folder_.write(
      "u.vyre", "program u { workgroup 1; in a : u32[]; out o : u32[1]; o[0] = a[0]; }\n");
  const std::string npy = folder_.path("f.npy");
  ASSERT_EQ(run({"--in", "a=iota(4)", "--in", "k=[0.5]", "--out", "b=" + npy}).exit_code, 0);
  const Outcome outcome = run_vyre({"run", program, "--device", "reference", "--in", "a=" + npy});
  EXPECT_EQ(outcome.exit_code, 11);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("float32"), HasSubstr("u32")));
}

TEST_F(Run, InvalidProgramsAreDiagnosed) {
  const Outcome outcome = run_text(folder_, "program p { workgroup 1; missing[0] = 1; }\n");
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("error[V020]"));
  EXPECT_EQ(run_vyre({"run", "no-such-file.vyre", "--device", "reference"}).exit_code, 11);
}

TEST_F(Run, CheckedModeTrapsAndTimeouts) {
  constexpr std::string_view kBeyond =
      "program p {\n  workgroup 4;\n  out o : u32[3];\n  o[gid.x] = 1;\n}\n";
  EXPECT_EQ(run_text(folder_, kBeyond).exit_code, 0);
  const Outcome bounds = run_text(folder_, kBeyond, {"--checked"});
  EXPECT_EQ(bounds.exit_code, 10);
  EXPECT_THAT(bounds.err, HasSubstr("program.vyre:4:3: error[OutOfBounds 1012]: lane 3 accesses "
                                    "`o`[3], which has 3 elements"));
  EXPECT_THAT(bounds.err, HasSubstr("    4 |   o[gid.x] = 1;\n"));

  const Outcome trapped = run_text(
      folder_, "program p { workgroup 4; out o : u32[3]; o[0] = 1; trap(5, gid.x + 40); }\n",
      {"--json"});
  EXPECT_EQ(trapped.exit_code, 10);
  const Json error = trapped.json()["error"];
  EXPECT_EQ(error["code"], 1011);
  EXPECT_EQ(error["name"], "Trapped");
  EXPECT_EQ(error["line"], 1);
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("tag 5 and value 40"));

  const Outcome endless =
      run_text(folder_, "program p { workgroup 1; out o : u32[1]; while true { o[0] += 1; } }\n",
               {"--timeout", "0.05"});
  EXPECT_EQ(endless.exit_code, 8);
  EXPECT_THAT(endless.err, HasSubstr("error[Timeout 1009]"));
}

TEST_F(Run, ResumedTrapsAreReported) {
  const Outcome outcome = run_text(folder_,
                                   "program p { workgroup 2; out o : u32[2]; if gid.x == 1 { "
                                   "trap(3, 9); } resume(3); o[gid.x] = 1; }\n");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("[1, 1]"));
  EXPECT_THAT(outcome.err, HasSubstr("trap: tag 3, value 9, lane 1, line 1; resumed"));
}

TEST_F(Run, GridWorkgroupSeedAndSchedule) {
  constexpr std::string_view kCount =
      "program p { workgroup 8; over 5; out o : u32[2]; atomic_add(o[0], 1); o[1] = 7; }\n";
  EXPECT_THAT(run_text(folder_, kCount, {"--grid", "3"}).out, HasSubstr("[24, 7]"));
  EXPECT_THAT(run_text(folder_, kCount, {"--workgroup", "2"}).out, HasSubstr("[6, 7]"));
  EXPECT_THAT(run_text(folder_, kCount, {"--grid", "0"}).out, HasSubstr("[0, 0]"));
  EXPECT_THAT(run_text(folder_, kCount, {"--subgroup-size", "3"}).err,
              HasSubstr("a subgroup of 3"));
  for (const char* schedule : {"forward", "reversed", "random"})
    EXPECT_EQ(run_text(folder_, kCount, {"--schedule", schedule}).exit_code, 0);
  const auto with_seed = [&](const char* seed) {
    return run({"--in", "a=random(8,0,1)", "--in", "k=[1]", "--seed", seed}).out;
  };
  EXPECT_EQ(with_seed("1"), with_seed("1"));
  EXPECT_NE(with_seed("1"), with_seed("2"));
}

TEST_F(Run, ProgramsInBytes) {
  const std::string bytes = folder_.path("scale.bin");
  ASSERT_EQ(run_vyre({"print", scale_, "--as", "bytes", "-o", bytes}).exit_code, 0);
  const Outcome outcome =
      run_vyre({"run", bytes, "--device", "reference", "--in", "a=[3]", "--in", "k=[3]"});
  EXPECT_THAT(outcome.out, HasSubstr("[9]"));
}

TEST_F(Run, ABarOnATerminalAndNowhereElse) {
  constexpr std::string_view kLong =
      "program p { workgroup 1; out o : u32[1]; for i in 0 .. 4000000000 { o[0] += i; } }\n";
  const std::string file = folder_.write("long.vyre", kLong);
  const Outcome outcome =
      run_vyre({"run", file, "--device", "reference", "--timeout", "3"}, {.terminal = true});
  EXPECT_EQ(outcome.exit_code, 8);
  EXPECT_THAT(outcome.out, HasSubstr(" s, 1 workgroup"));
  const Outcome quiet = run_vyre({"run", file, "--device", "reference", "--timeout", "0.8"});
  EXPECT_THAT(quiet.err, Not(HasSubstr("1 workgroup")));
}

TEST_F(Run, Races) {
  const std::string racy =
      folder_.write("racy.vyre",
                    "program racy {\n  workgroup 8;\n  shared s : u32[8];\n  out o : u32[8];\n"
                    "  s[lid.x] = 1;\n  o[lid.x] = s[7 - lid.x];\n}\n");
  const Outcome outcome = run_vyre({"check", "--races", racy});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("racy.vyre:5:3"), HasSubstr("racy.vyre:6:14"),
                                 HasSubstr("race: "), HasSubstr("1 race under 6 schedules")));
  const Json json = run_vyre({"check", "--races", racy, "--json"}).json();
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["races"].size(), 1U);
  EXPECT_EQ(json["races"][0]["memory"], "s");

  const Outcome fine =
      run_vyre({"check", "--races", scale_, "--in", "a=iota(100)", "--in", "k=[1]"});
  EXPECT_EQ(fine.exit_code, 0);
  EXPECT_THAT(fine.out, HasSubstr("no race under 6 schedules, all with the same result"));
  const std::string tickets = folder_.write("tickets.vyre",
                                            "program t { workgroup 8; inout c : u32[1]; out o : "
                                            "u32[8]; o[gid.x] = atomic_add(c[0], 1); }\n");
  EXPECT_THAT(run_vyre({"check", "--races", tickets, "--in", "c=[0]"}).out,
              HasSubstr("the result depends on the order of atomics"));
  EXPECT_EQ(run_vyre({"check", scale_, "--in", "a=[1]"}).exit_code, 2);
  EXPECT_EQ(run_vyre({"check", scale_, scale_, "--races"}).exit_code, 2);
}

TEST_F(Run, CtrlC) {
  const std::string file = folder_.write(
      "endless.vyre",
      "program p { workgroup 1; in a : u32[1]; out o : u32[1]; while true { o[0] += a[0]; } }\n");
  const Outcome outcome = run_interrupted(
      {"run", file, "--device", "reference", "--in", "a=[1]", "--timeout", "20"}, 1000);
  EXPECT_EQ(outcome.exit_code, 130);
  EXPECT_EQ(outcome.out, "");
}

}  // namespace
}  // namespace vyre::test
