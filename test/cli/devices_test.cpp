// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

std::vector<std::string> ids_of(const Json& document) {
  std::vector<std::string> ids;
  for (const Json& device : document["devices"]) ids.push_back(device["id"]);
  return ids;
}

// D-REG.1: the core has these two.
TEST(Devices, ListsEveryBackend) {
  const Outcome outcome = run_vyre({"devices"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("reference: oracle, reference interpreter, whole programs\n"));
  EXPECT_THAT(outcome.out, HasSubstr("reference:5: oracle, reference interpreter, host split\n"));
  EXPECT_THAT(outcome.out, HasSubstr("null: null, null (runs nothing)\n"));
  EXPECT_THAT(outcome.out, HasSubstr("  limits  "));
}

TEST(Devices, Json) {
  const Outcome outcome = run_vyre({"devices", "--json"});
  EXPECT_EQ(outcome.exit_code, 0);
  Json document = outcome.json();
  EXPECT_EQ(document["command"], "devices");
  EXPECT_EQ(document["ok"], true);
  EXPECT_THAT(ids_of(document),
              IsSupersetOf({"reference", "reference:1", "reference:2", "reference:3", "reference:4",
                            "reference:5", "null"}));
  for (const Json& device : document["devices"]) {
    if (device["id"] != "reference:4") continue;
    EXPECT_EQ(device["backend"], "reference");
    EXPECT_EQ(device["kind"], "oracle");
    EXPECT_EQ(device["usable"], true);
    EXPECT_EQ(device["capabilities"]["device_loops"], false);
    EXPECT_EQ(device["capabilities"]["resident_buffers"], true);
    EXPECT_EQ(device["capabilities"]["subgroup_size"], 32);
  }
}

TEST(Devices, OneOfThem) {
  EXPECT_THAT(ids_of(run_vyre({"devices", "reference:2", "--json"}).json()),
              testing::ElementsAre("reference:2"));
  EXPECT_EQ(ids_of(run_vyre({"devices", "reference", "--json"}).json()).size(), 6u);
  const Outcome none = run_vyre({"devices", "referense"});
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("there is no device `referense` in this build"));
  EXPECT_THAT(none.err, HasSubstr("did you mean `reference`? `vyre devices` lists all of them"));
}

}  // namespace
}  // namespace vyre::test
