// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Doctor, AReportToPaste) {
  const Outcome outcome = run_vyre({"doctor"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith("vyre "), HasSubstr("MiB of memory\n"), HasSubstr("\n  cpu: cpu, "),
                    HasSubstr("\n  reference:2: oracle, "), HasSubstr("self-test passed in "),
                    HasSubstr("\n  null: null, "), HasSubstr("so there is no self-test"),
                    HasSubstr("\ncache\n    directory none\n    state off")));
}

TEST(Doctor, Json) {
  const Folder folder;
  const Outcome outcome =
      run_vyre({"doctor", "--json"}, {.environment = {"VYRE_CACHE_DIR=" + folder.path("none")}});
  EXPECT_EQ(outcome.exit_code, 0);
  const Json json = outcome.json();
  EXPECT_EQ(json["command"], "doctor");
  EXPECT_EQ(json["ok"], true);
  EXPECT_TRUE(json["vyre"]["version"].is_string());
  EXPECT_TRUE(json["vyre"]["compiler_build_id"].is_string());
  EXPECT_TRUE(json["system"]["cpu"].is_string());
  EXPECT_EQ(json["cache"]["directory"], folder.path("none"));
  EXPECT_EQ(json["cache"]["state"], "off");
  EXPECT_TRUE(folder.names().empty());  // a look makes nothing
  size_t tested = 0;
  for (const Json& device : json["devices"]) {
    if (device["kind"] == "null") {
      EXPECT_TRUE(device["self_test"].is_null());
    }
    if (device["backend"] != "reference" && device["id"] != "cpu") continue;
    EXPECT_EQ(device["self_test"]["ok"], true) << device;
    EXPECT_LT(device["self_test"]["ns"], 1'000'000'000U);
    ++tested;
  }
  EXPECT_EQ(tested, 7U);
}

}  // namespace
}  // namespace vyre::test
