// SPDX-License-Identifier: Apache-2.0
#include "pipeline/cache_test.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using pipeline::entry_name;
using pipeline::test::key_of;
using pipeline::test::payload_of;
using testing::HasSubstr;

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    pipeline::test::Opened opened(folder_.path());
    for (uint64_t i = 1; i <= 3; ++i)
      opened.cache.store(key_of(i), payload_of(i, 1000 - pipeline::kMinHeaderBytes - 12),
                         "reach on cpu");
  }
  void spoil(uint64_t number) {
    const auto file = folder_.path() / entry_name(key_of(number));
    pipeline::test::Bytes bytes = pipeline::test::read_raw(file);
    bytes.back() ^= std::byte{1};
    pipeline::test::write_raw(file, bytes);
  }
  // As with VYRE_CACHE_DIR.
  Outcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "cache");
    return run_vyre(std::move(arguments), {.environment = {"VYRE_CACHE_DIR=" + directory_}});
  }

  pipeline::test::Folder folder_;
  const std::string directory_ = folder_.path().string();
};

TEST_F(Cache, Stat) {
  const Outcome outcome = run({"stat"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, HasSubstr("directory  " + directory_ + "\n"));
  EXPECT_THAT(outcome.out, HasSubstr("state      on\n"));
  EXPECT_THAT(outcome.out, HasSubstr("entries    3\n"));
  EXPECT_THAT(outcome.out, HasSubstr("bytes      3000\n"));
  EXPECT_THAT(outcome.out, HasSubstr("reach on cpu\n"));
  Json json = run({"stat", "--json"}).json();
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["command"], "cache");
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["action"], "stat");
  EXPECT_EQ(json["directory"], directory_);
  EXPECT_EQ(json["state"], "on");
  EXPECT_EQ(json["reason"], nullptr);
  EXPECT_EQ(json["entries"], 3);
  EXPECT_EQ(json["bytes"], 3000);
  EXPECT_EQ(json["temps"], 0);
  ASSERT_EQ(json["list"].size(), 3U);
  EXPECT_EQ(json["list"][0]["about"], "reach on cpu");
  EXPECT_EQ(json["list"][0]["bytes"], 1000);
  EXPECT_EQ(json["list"][0]["policy"], key_of(1).policy.hex());
  EXPECT_GT(json["list"][0]["used"].get<int64_t>(), 1'700'000'000);
}

TEST_F(Cache, VerifyRemovesWhatIsBad) {
  const Outcome good = run({"verify"});
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_EQ(good.out, "3 entries checked, 0 bad\n");
  spoil(2);
  const Outcome bad = run({"verify"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_EQ(bad.out,
            entry_name(key_of(2)) + ": its checksum is wrong, removed\n3 entries checked, 1 bad\n");
  EXPECT_EQ(run({"verify"}).exit_code, 0);
  spoil(3);
  const Outcome outcome = run({"verify", "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  Json json = outcome.json();
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["checked"], 2);
  EXPECT_EQ(json["bad"][0]["file"], entry_name(key_of(3)));
  EXPECT_EQ(json["bad"][0]["reason"], "its checksum is wrong");
  EXPECT_EQ(json["bad"][0]["removed"], true);
}

TEST_F(Cache, GcAndClear) {
  EXPECT_EQ(run({"gc"}).out,
            "removed 0 entries (0 bytes) and 0 files left behind; 3 entries (3000 bytes) left\n");
  pipeline::test::write_raw(folder_.path() / pipeline::temp_name(), {});
  EXPECT_EQ(run({"gc", "--max-bytes", "2999"}).out,
            "removed 1 entry (1000 bytes) and 1 file left behind; 2 entries (2000 bytes) left\n");
  const Outcome outcome = run({"clear", "--json"});
  EXPECT_EQ(outcome.exit_code, 0);
  Json json = outcome.json();
  EXPECT_EQ(json["action"], "clear");
  EXPECT_EQ(json["removed"]["entries"], 2);
  EXPECT_EQ(json["removed"]["bytes"], 2000);
  EXPECT_EQ(json["entries"], 0);
  EXPECT_THAT(pipeline::test::names_in(folder_.path()), testing::ElementsAre("key"));
}

TEST_F(Cache, DirWinsOverTheEnvironment) {
  const Outcome outcome = run({"stat", "--json", "--dir", folder_.path("none").string()});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.json()["entries"], 0);
  EXPECT_EQ(outcome.json()["state"], "off");
  EXPECT_EQ(outcome.json()["reason"], "there is no such directory yet");
  EXPECT_FALSE(std::filesystem::exists(folder_.path("none"))) << "to look makes nothing";
  for (const char* action : {"verify", "gc", "clear"})
    EXPECT_EQ(run({action, "--dir", folder_.path("none").string()}).exit_code, 0) << action;
}

TEST_F(Cache, SwitchedOff) {
  const Outcome outcome = run_vyre({"cache", "stat"}, {.environment = {"VYRE_CACHE_DIR=off"}});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("state      off: it is switched off"));
  EXPECT_EQ(run_vyre({"cache", "clear"}).exit_code, 0) << "no home";
}

TEST_F(Cache, ADirectoryThatIsNotTrusted) {
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  const Outcome stat = run({"stat"});
  EXPECT_EQ(stat.exit_code, 0) << "it says so";
  EXPECT_THAT(stat.out, HasSubstr("state      off: "));
  EXPECT_THAT(stat.out, HasSubstr("can be written by others (mode 0777)"));
  for (const char* action : {"verify", "gc", "clear"}) {
    const Outcome outcome = run({action, "--json"});
    EXPECT_EQ(outcome.exit_code, 11) << action;
    EXPECT_THAT(outcome.err, HasSubstr("can be written by others (mode 0777)\n  Fix: look at"));
    EXPECT_EQ(outcome.json()["error"]["exit_code"], 11);
  }
  EXPECT_EQ(pipeline::test::names_in(folder_.path()).size(), 4U);
}

TEST_F(Cache, AReadOnlyDirectory) {
  ASSERT_EQ(::chmod(directory_.c_str(), 0500), 0);
  EXPECT_EQ(run({"verify"}).exit_code, 0);
  EXPECT_EQ(run({"clear"}).exit_code, 11);
  EXPECT_EQ(run({"stat", "--json"}).json()["state"], "read-only");
}

TEST_F(Cache, WhatCannotBeRemovedIsSaid) {
  std::filesystem::create_directory(folder_.path() / entry_name(key_of(9)));
  const Outcome outcome = run({"clear"});
  EXPECT_EQ(outcome.exit_code, 11);
  EXPECT_THAT(outcome.err, HasSubstr("1 file in " + directory_ + " could not be removed"));
}

TEST_F(Cache, Usage) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"empty"},
                                                    {"stat", "more"},
                                                    {"gc", "--max-bytes", "-1"},
                                                    {"gc", "--max-bytes", "many"},
                                                    {"clear", "--max-bytes", "1"}})
    EXPECT_EQ(run(arguments).exit_code, 2) << testing::PrintToString(arguments);
}

// Names that people gave may hold anything; a terminal must not act on it.
TEST_F(Cache, TextForPeopleIsPrintable) {
  {
    pipeline::test::Opened opened(folder_.path());
    opened.cache.store(key_of(4), {}, "\x1b[2J on cpu");
  }
  EXPECT_THAT(run({"stat"}).out, testing::Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace vyre::test
