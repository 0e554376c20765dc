// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::HasSubstr;

TEST(Print, TextAndBytesSayTheSame) {
  const Folder folder;
  const std::string path = folder.write("good.vyre", kGood);
  const Outcome text = run_vyre({"print", path});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("program double_all {\n")) << text.out;
  EXPECT_EQ(run_vyre({"print", path, "--as", "text"}).out, text.out);

  const Outcome bytes = run_vyre({"print", path, "--as", "bytes"});
  EXPECT_EQ(bytes.exit_code, 0) << bytes.err;
  const std::string encoded = folder.write("good.bytes", bytes.out);
  EXPECT_EQ(run_vyre({"print", encoded}).out, text.out);
  EXPECT_EQ(run_vyre({"print", encoded, "--as", "bytes"}).out, bytes.out);
  EXPECT_EQ(run_vyre({"print", "-"}, {.input = bytes.out}).out, text.out);
}

TEST(Print, JsonFormIsJson) {
  const Outcome outcome = run_vyre({"print", "-", "--as", "json"}, {.input = std::string(kGood)});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(outcome.json().is_object()) << outcome.out;
  EXPECT_FALSE(outcome.json().contains("not JSON"));
}

TEST(Print, ToAFile) {
  const Folder folder;
  const std::string path = folder.write("good.vyre", kGood);
  const Outcome outcome = run_vyre({"print", path, "-o", folder.path("copy.vyre")});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(folder.read("copy.vyre"), run_vyre({"print", path}).out);
  EXPECT_THAT(folder.names(), testing::ElementsAre("copy.vyre", "good.vyre"));
}

TEST(Print, RefusesToOverwriteItsInput) {
  const Folder folder;
  const std::string path = folder.write("good.vyre", kGood);
  const Outcome outcome = run_vyre({"print", path, "--as", "bytes", "-o", path});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(folder.read("good.vyre"), kGood);
}

TEST(Print, BytesDoNotGoToATerminal) {
  const Folder folder;
  const std::string path = folder.write("good.vyre", kGood);
  const Outcome outcome = run_vyre({"print", path, "--as", "bytes"}, {.terminal = true});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.out, HasSubstr("bytes are not written to a terminal"));
  EXPECT_THAT(outcome.out, HasSubstr("-o FILE"));
  EXPECT_EQ(run_vyre({"print", path}, {.terminal = true}).exit_code, 0);
}

TEST(Print, ErrorsExit3WithoutOutput) {
  const Folder folder;
  const std::string path = folder.write("bad.vyre", kBad);
  const Outcome outcome = run_vyre({"print", path, "-o", folder.path("out")});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(":6:12: error[V020]"));
  EXPECT_THAT(folder.names(), testing::ElementsAre("bad.vyre"));
}

TEST(Print, PlacesThatCannotBeReadOrWritten) {
  const Folder folder;
  const std::string path = folder.write("good.vyre", kGood);
  EXPECT_EQ(run_vyre({"print", folder.path("none")}).exit_code, 11);
  EXPECT_EQ(run_vyre({"print", path, "-o", folder.path("none/out")}).exit_code, 11);
  EXPECT_EQ(run_vyre({"print", path, "-o", folder.path("")}).exit_code, 11);
  const Outcome full = run_vyre({"print", path, "-o", "/dev/full"});
  EXPECT_EQ(full.exit_code, 11);
  EXPECT_THAT(full.err, HasSubstr("No space left"));
  EXPECT_EQ(run_vyre({"print", path, "-o", "/dev/null"}).exit_code, 0);
}

TEST(Print, Json) {
  const Folder folder;
  const std::string path = folder.write("good.vyre", kGood);
  Json text = run_vyre({"print", path, "--json"}).json();
  EXPECT_EQ(text["schema"], 1);
  EXPECT_EQ(text["command"], "print");
  EXPECT_EQ(text["ok"], true);
  EXPECT_EQ(text["as"], "text");
  EXPECT_EQ(text["text"], run_vyre({"print", path}).out);
  EXPECT_EQ(text["digest"].get<std::string>().size(), 64U);
  Json bytes = run_vyre({"print", path, "--json", "--as", "bytes"}).json();
  EXPECT_EQ(bytes["bytes"].get<std::string>().size(),
            2 * run_vyre({"print", path, "--as", "bytes"}).out.size());
  EXPECT_TRUE(run_vyre({"print", path, "--json", "--as", "json"}).json()["program"].is_object());
  Json file = run_vyre({"print", path, "--json", "-o", folder.path("out")}).json();
  EXPECT_EQ(file["output"], folder.path("out"));
  EXPECT_FALSE(file.contains("text"));

  const Outcome bad = run_vyre({"print", "-", "--json"}, {.input = std::string(kBad)});
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_EQ(bad.err, "");
  EXPECT_EQ(bad.json()["ok"], false);
  EXPECT_EQ(bad.json()["diagnostics"][0]["code"], "V020");
  EXPECT_EQ(run_vyre({"print", "/none", "--json"}).json()["error"]["exit_code"], 11);
}

}  // namespace
}  // namespace vyre::test
