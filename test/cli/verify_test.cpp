// SPDX-License-Identifier: Apache-2.0
// `vyre verify`: devices against the oracle. reference:2 shares a grid out among two blocks, so it
// gives tickets in another order than the oracle does: for this command it is a wrong device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kTickets = R"(program tickets {
  workgroup 2;
  over 10;
  out o : u32[10];
  out f : f32[10] @range(8 .. 32);
  inout c : u32[1];

  region count {
    atomic_add(c[0], 5);
  }
  barrier grid;
  region draw {
    let i = gid.x;
    o[i] = atomic_add(c[0], 1);
    f[i] = o[i] as f32 / 3.0;
  }
}
)";

constexpr std::string_view kTraps = R"(program traps {
  workgroup 4;
  over len(a);
  in a : u32[];
  out o : u32[4];

  region main {
    o[gid.x] = a[gid.x];
    if a[gid.x] == 2 {
      trap(3, 9);
    }
  }
}
)";

class Verify : public ::testing::Test {
 protected:
  Outcome verify(const std::string& devices, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"verify", tickets_, "--in", "c=[0]", "--device", devices});
    return run_vyre(std::move(more));
  }
  Folder folder_;
  std::string tickets_ = folder_.write("tickets.vyre", kTickets);
  std::string traps_ = folder_.write("traps.vyre", kTraps);
};

TEST_F(Verify, SameBytes) {
  const Outcome outcome = verify("reference:1,reference:3,reference");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            "reference:1: same as the oracle: 3 outputs, 17 elements\n"
            "reference:3: same as the oracle: 3 outputs, 17 elements\n"
            "reference: same as the oracle: 3 outputs, 17 elements\n");
}

TEST_F(Verify, TheFirstDifference) {
  const Outcome outcome = verify("reference:3,reference:2");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out,
            "reference:3: same as the oracle: 3 outputs, 17 elements\n"
            "reference:2: differs\n"
            "  o[1] is 52, the oracle has 51 (lane 1)\n"
            "    9 of 10 elements differ\n"
            "  f[2] is 18, the oracle has 17.333334, 349525 ULP apart (lane 2)\n"
            "    6 of 6 elements differ, at most 349526 ULP\n");
  EXPECT_THAT(outcome.err, HasSubstr("vyre check FILE --races"));
}

TEST_F(Verify, Json) {
  const Outcome outcome = verify("reference:1,reference:2", {"--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const Json document = outcome.json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["command"], "verify");
  EXPECT_EQ(document["ok"], false);
  EXPECT_EQ(document["program"], "tickets");
  ASSERT_EQ(document["devices"].size(), 2U);
  EXPECT_EQ(document["devices"][0]["id"], "reference:1");
  EXPECT_EQ(document["devices"][0]["same"], true);
  const Json& wrong = document["devices"][1];
  EXPECT_EQ(wrong["same"], false);
  EXPECT_EQ(wrong["ran"], true);
  EXPECT_EQ(wrong["subgroup_size"], 32);
  EXPECT_TRUE(wrong["error"].is_null());
  const Json& o = wrong["outputs"][0];
  EXPECT_EQ(o["name"], "o");
  EXPECT_EQ(o["type"], "u32");
  EXPECT_EQ(o["differing"], 9);
  EXPECT_EQ(o["first"]["element"], 1);
  EXPECT_EQ(o["first"]["lane"], 1);
  EXPECT_EQ(o["first"]["device"], "52");
  EXPECT_EQ(o["first"]["oracle"], "51");
  EXPECT_TRUE(o["first"]["ulps"].is_null());
  EXPECT_EQ(wrong["outputs"][1]["first"]["element"], 2);
  EXPECT_EQ(wrong["outputs"][1]["first"]["ulps"], 349525);
  EXPECT_EQ(wrong["outputs"][2]["same"], true);
}

TEST_F(Verify, ErrorsOfLanesAreComparedToo) {
  const Outcome trapped =
      run_vyre({"verify", traps_, "--in", "a=[5,2,2,7]", "--device", "reference:4"});
  EXPECT_EQ(trapped.exit_code, 0);
  EXPECT_EQ(trapped.out,
            "reference:4: same as the oracle: both end with Trapped, lane 1 trapped with tag 3 and "
            "value 9, and the program has no resume(3)\n");
  const Outcome checked = run_vyre(
      {"verify", traps_, "--in", "a=fill(8,9)", "--device", "reference:5", "--checked", "--json"});
  EXPECT_EQ(checked.exit_code, 0);
  EXPECT_EQ(checked.json()["devices"][0]["error"]["name"], "OutOfBounds");
  EXPECT_EQ(checked.json()["devices"][0]["oracle_error"]["name"], "OutOfBounds");
}

TEST_F(Verify, WhatNoDeviceRunsIsNoMismatch) {
  EXPECT_EQ(run_vyre({"verify", traps_, "--device", "reference"}).exit_code, 11);  // no input
  const std::string bad = folder_.write("bad.vyre", kBad);
  EXPECT_EQ(run_vyre({"verify", bad, "--device", "reference"}).exit_code, 3);
  const std::string kept = folder_.write(
      "kept.vyre",
      "program kept {\n  workgroup 4;\n  persistent p : u32[];\n  p[gid.x] += 1;\n}\n");
  EXPECT_EQ(run_vyre({"verify", kept, "--in", "p=iota(9)", "--device", "reference:3"}).exit_code,
            0);
  const Outcome outcome =
      run_vyre({"verify", kept, "--in", "p=iota(9)", "--device", "reference:5"});
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("reference:5: did not run"), HasSubstr("Unsupported")));
}

TEST_F(Verify, Devices) {
  const Outcome none = run_vyre({"verify", tickets_, "--in", "c=[0]"});
  if (none.out.empty()) {
    EXPECT_EQ(none.exit_code, 4);
    EXPECT_THAT(none.err, HasSubstr("there is no usable device to verify"));
    EXPECT_THAT(none.err, HasSubstr("Fix: --device reference:1,reference:3"));
  } else {
    EXPECT_THAT(none.out, Not(HasSubstr("reference:")));
  }
  EXPECT_EQ(verify("reference,nothing").exit_code, 4);
  const Outcome null = verify("null");
  EXPECT_EQ(null.exit_code, 4);
  EXPECT_THAT(null.err, HasSubstr("device `null` does not run programs"));
}

TEST_F(Verify, AnEndlessProgramEnds) {
  const std::string file =
      folder_.write("endless.vyre",
                    "program endless {\n  workgroup 1;\n  out o : u32[1];\n  while true {\n"
                    "    o[0] += 1;\n  }\n}\n");
  EXPECT_EQ(run_vyre({"verify", file, "--device", "reference", "--timeout", "0.2"}).exit_code, 8);
}

}  // namespace
}  // namespace vyre::test
