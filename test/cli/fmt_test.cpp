// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::HasSubstr;

// The text with its line breaks and indentation lost.
std::string ruined() {
  std::string text(kGood);
  const size_t at = text.find("  workgroup 64;");
  return text.replace(at, 15, "workgroup      64   ;");
}

struct stat status_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status;
}

TEST(Fmt, CanonicalTextToStdout) {
  const Folder folder;
  const std::string path = folder.write("f.vyre", ruined());
  const Outcome outcome = run_vyre({"fmt", path});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("  workgroup 64;\n"));
  EXPECT_THAT(outcome.out, HasSubstr("// doubles every element\n"));
  EXPECT_EQ(folder.read("f.vyre"), ruined()) << "the file stays";
  EXPECT_EQ(run_vyre({"fmt", "-"}, {.input = ruined()}).out, outcome.out);
  EXPECT_EQ(run_vyre({"fmt", "-"}, {.input = outcome.out}).out, outcome.out);
}

TEST(Fmt, WriteReplacesOnlyWhatChanges) {
  const Folder folder;
  const std::string path = folder.write("f.vyre", ruined());
  const std::string canonical = run_vyre({"fmt", path}).out;
  const std::string same = folder.write("same.vyre", canonical);
  ::chmod(path.c_str(), 0640);
  const struct stat same_before = status_of(same);

  const Outcome outcome = run_vyre({"fmt", "--write", path, same});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, path + "\n");
  EXPECT_EQ(folder.read("f.vyre"), canonical);
  EXPECT_EQ(status_of(path).st_mode & 07777U, 0640U);
  EXPECT_EQ(status_of(same).st_ino, same_before.st_ino) << "an unchanged file is not rewritten";
  EXPECT_THAT(folder.names(), testing::ElementsAre("f.vyre", "same.vyre"));
  EXPECT_EQ(run_vyre({"fmt", "--write", path}).out, "");
}

TEST(Fmt, WriteIsByRenameAndFollowsLinks) {
  const Folder folder;
  const std::string path = folder.write("f.vyre", ruined());
  ASSERT_EQ(::symlink("f.vyre", folder.path("link.vyre").c_str()), 0);
  const ino_t before = status_of(path).st_ino;
  EXPECT_EQ(run_vyre({"fmt", "--write", folder.path("link.vyre")}).exit_code, 0);
  EXPECT_NE(status_of(path).st_ino, before) << "a new file took the place of the old one";
  struct stat link{};
  ASSERT_EQ(::lstat(folder.path("link.vyre").c_str(), &link), 0);
  EXPECT_TRUE(S_ISLNK(link.st_mode));
  EXPECT_NE(folder.read("f.vyre"), ruined());
}

TEST(Fmt, AFailedWriteLeavesTheFileAlone) {
  const Folder folder;
  const std::string path = folder.write("f.vyre", ruined());
  ::chmod(path.c_str(), 0666);
  ::chmod(folder.path("").c_str(), 0555);
  Outcome outcome;
  if (::geteuid() != 0) {
    outcome = run_vyre({"fmt", "--write", path});
  } else {
    // Root may write everywhere, so somebody else has to try.
    outcome = run_program(
        "setpriv", {"--reuid=65534", "--clear-groups", "--", VYRE_BINARY, "fmt", "--write", path});
    if (outcome.exit_code == 127) GTEST_SKIP() << "cannot run as another user: " << outcome.err;
  }
  ::chmod(folder.path("").c_str(), 0700);
  EXPECT_EQ(outcome.exit_code, 11);
  EXPECT_THAT(outcome.err, HasSubstr("cannot write " + path + ": Permission denied"));
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(folder.read("f.vyre"), ruined());
}

TEST(Fmt, CheckListsAndWritesNothing) {
  const Folder folder;
  const std::string path = folder.write("f.vyre", ruined());
  const std::string same = folder.write("same.vyre", run_vyre({"fmt", path}).out);
  const Outcome outcome = run_vyre({"fmt", "--check", same, path});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.out, path + "\n");
  EXPECT_EQ(folder.read("f.vyre"), ruined());
  const Outcome clean = run_vyre({"fmt", "--check", same});
  EXPECT_EQ(clean.exit_code, 0);
  EXPECT_EQ(clean.out, "");
}

TEST(Fmt, SyntaxErrorsExit3AndChangeNothing) {
  const Folder folder;
  const std::string broken = "program p { workgroup 64 }";
  const std::string path = folder.write("f.vyre", broken);
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"fmt", path},
                                                    {"fmt", "--write", path},
                                                    {"fmt", "--check", path}}) {
    const Outcome outcome = run_vyre(arguments);
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(path + ":1:"));
  }
  EXPECT_EQ(folder.read("f.vyre"), broken);
}

TEST(Fmt, LaysOutProgramsThatAreOnlyInvalid) {
  const Outcome outcome = run_vyre({"fmt", "-"}, {.input = std::string(kBad)});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST(Fmt, RefusesWhatItCannotReplace) {
  EXPECT_EQ(run_vyre({"fmt", "--write", "-"}).exit_code, 2);
  EXPECT_EQ(run_vyre({"fmt", "--write", "/dev/null"}).exit_code, 2);
  EXPECT_EQ(run_vyre({"fmt", "/nonexistent.vyre"}).exit_code, 11);
  const Folder folder;
  const std::string bytes = folder.path("good.bytes");
  ASSERT_EQ(
      run_vyre({"print", folder.write("good.vyre", kGood), "--as", "bytes", "-o", bytes}).exit_code,
      0);
  const Outcome outcome = run_vyre({"fmt", bytes});
  EXPECT_EQ(outcome.exit_code, 11);
  EXPECT_THAT(outcome.err, HasSubstr("Fix: vyre print"));
}

TEST(Fmt, TextOverTheLimitIsV006) {
  const Outcome outcome = run_vyre({"fmt", "/dev/zero"});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_THAT(outcome.err, HasSubstr("error[V006]"));
}

TEST(Fmt, Json) {
  const Folder folder;
  const std::string path = folder.write("f.vyre", ruined());
  const std::string broken = folder.write("broken.vyre", "program");
  const Outcome outcome = run_vyre({"fmt", "--json", path, broken});
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.err, "");
  Json document = outcome.json();
  EXPECT_EQ(document["schema"], 1);
  EXPECT_EQ(document["command"], "fmt");
  EXPECT_EQ(document["files"][0]["changed"], true);
  EXPECT_EQ(document["files"][0]["written"], false);
  EXPECT_EQ(document["files"][0]["text"], run_vyre({"fmt", path}).out);
  EXPECT_EQ(document["files"][1]["ok"], false);
  EXPECT_FALSE(document["files"][1]["diagnostics"].empty());
  EXPECT_EQ(run_vyre({"fmt", "--check", "--json", path}).exit_code, 1);
  Json written = run_vyre({"fmt", "--write", "--json", path}).json();
  EXPECT_EQ(written["files"][0]["written"], true);
  EXPECT_FALSE(written["files"][0].contains("text"));
}

}  // namespace
}  // namespace vyre::test
