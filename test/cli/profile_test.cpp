// SPDX-License-Identifier: Apache-2.0
// `vyre profile`: the table, the document and the page.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kTwoRegions = R"(program steps {
  workgroup 64;
  over len(a);
  in a : f32[];
  out b : f32[] @count(len(a));
  inout left : u32[];

  region scale {
    let i = gid.x;
    if i < len(a) {
      b[i] = a[i] * 2.0;
    }
  }
  barrier grid;
  fixpoint max 10 over (left) {
    region count {
      if gid.x == 0 && left[0] > 0 {
        left[0] -= 1;
      }
    }
  }
}
)";

class Profile : public testing::Test {
 protected:
  Outcome profile(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"profile", file_,      "--in",      "a=ones(1000)",
                                          "--in",    "left=[3]", "--no-cache"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_vyre(arguments);
  }

  Folder folder_;
  std::string file_ = folder_.write("steps.vyre", kTwoRegions);
};

TEST_F(Profile, ShowsSegmentsRegionsAndFixpoints) {
  const Outcome outcome = profile({"--device", "cpu", "--repeat", "3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("steps on cpu"));
  EXPECT_THAT(outcome.out, HasSubstr("7.81 KiB"));  // 1000 elements read and written
  EXPECT_THAT(outcome.out, HasSubstr("median of 3 repetitions"));
  EXPECT_THAT(outcome.out, HasSubstr("does not report the bandwidth"));
  EXPECT_THAT(outcome.out, HasSubstr("line 15"));
}

TEST_F(Profile, GivesTheSameAsADocument) {
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"--as", "json"}, std::vector<std::string>{"--json"}}) {
    std::vector<std::string> arguments = {"--device", "cpu", "--repeat", "2"};
    arguments.insert(arguments.end(), how.begin(), how.end());
    const Outcome outcome = profile(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json json = outcome.json();
    EXPECT_EQ(json["command"], "profile");
    EXPECT_EQ(json["repeats"], 2);
    ASSERT_FALSE(json["segments"].empty());
    const auto scale = std::ranges::find_if(
        json["regions"], [](const Json& region) { return region["name"] == "scale"; });
    ASSERT_NE(scale, json["regions"].end());
    EXPECT_EQ((*scale)["bytes"], 8000);
    EXPECT_EQ((*scale)["bytes_exact"], true);
    EXPECT_EQ((*scale)["lanes_active"], 1000);
    EXPECT_EQ((*scale)["lanes"], 1024);
    EXPECT_EQ(json["fixpoints"][0]["passes"], 4);
    EXPECT_TRUE(json["peak_bytes_per_second"].is_null());
    EXPECT_LE(json["device_ns"]["min"], json["device_ns"]["median"]);
  }
}

// Well formed as far as a reader of tags can tell, and nothing comes from elsewhere.
TEST_F(Profile, MakesAPageOfItsOwn) {
  const std::string page = folder_.path("p.html");
  const Outcome outcome = profile({"--device", "cpu", "--as", "html", "-o", page});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  const std::string html = folder_.read("p.html");
  for (const char* part : {"<!DOCTYPE html>", "Profile of steps", "Timeline", "<svg", "scale",
                           "Fixpoints", "Plan", "</html>"})
    EXPECT_THAT(html, HasSubstr(part));
  for (const char* foreign : {"<script", "<link", "<img", "@import", "url(", "src="})
    EXPECT_THAT(html, Not(HasSubstr(foreign)));
  for (size_t at = html.find("http"); at != std::string::npos; at = html.find("http", at + 1))
    EXPECT_TRUE(html.substr(at).starts_with("http://www.w3.org/2000/svg")) << html.substr(at, 60);
}

TEST_F(Profile, SaysWhatADeviceDoesNotReport) {
  const Outcome outcome = profile({"--device", "reference", "--repeat", "1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("unknown"));
}

TEST_F(Profile, RefusesWhatMakesNoSense) {
  EXPECT_EQ(profile({"--repeat", "0"}).exit_code, 2);
  EXPECT_EQ(profile({"-o", file_}).exit_code, 2);
  EXPECT_EQ(profile({"--as", "pdf"}).exit_code, 2);
  EXPECT_EQ(run_vyre({"profile", file_}).exit_code, 11);
}

}  // namespace
}  // namespace vyre::test
