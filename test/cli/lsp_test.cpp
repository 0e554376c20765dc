// SPDX-License-Identifier: Apache-2.0
// `vyre lsp` as a process: with a scripted client for the stream and the exit codes, and with
// Neovim as an editor that people use.
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

std::string message(const std::string& body) {
  return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}
constexpr const char* kInitialize = R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})";
constexpr const char* kShutdown = R"({"jsonrpc":"2.0","id":2,"method":"shutdown"})";
constexpr const char* kExit = R"({"jsonrpc":"2.0","method":"exit"})";

Outcome talk(const std::string& stream) {
  return run_vyre({"lsp"}, {.input = stream});
}

TEST(Lsp, EndsWithTheCodesOfTheProtocol) {
  const Outcome polite = talk(message(kInitialize) + message(kShutdown) + message(kExit));
  EXPECT_EQ(polite.exit_code, 0);
  EXPECT_EQ(polite.err, "");
  EXPECT_NE(polite.out.find(R"("id":2,"jsonrpc":"2.0","result":null)"), std::string::npos);
  EXPECT_EQ(talk(message(kInitialize) + message(kExit)).exit_code, 1);
  EXPECT_EQ(talk(message(kInitialize)).exit_code, 1);
  EXPECT_EQ(talk(message(kInitialize) + message(kShutdown)).exit_code, 0);
  EXPECT_EQ(talk("").exit_code, 1);
}

TEST(Lsp, SurvivesAStreamThatIsNone) {
  const std::string good = message(kInitialize) + message(kShutdown) + message(kExit);
  for (const std::string& broken : {std::string("Content-Length: 99999999999999999999\r\n\r\n"),
                                    std::string("GET / HTTP/1.1\n\n"), std::string(100000, '\0'),
                                    message("{"), message("\xff\xfe"), message("[[[[")}) {
    const Outcome outcome = talk(broken + good);
    EXPECT_EQ(outcome.exit_code, 0) << broken.substr(0, 40);
    EXPECT_NE(outcome.out.find("-32700"), std::string::npos) << broken.substr(0, 40);
  }
}

TEST(Lsp, RefusesAJsonDocument) {
  EXPECT_EQ(run_vyre({"--json", "lsp"}, {.input = ""}).exit_code, 2);
}

constexpr const char* kProgram = R"(program demo {
  workgroup 64;
  in n : u32[];
  out o : f32[] @count(len(n));
  region main {
    let i = gid.x;
    if i < len(o) { o[i] = n[i]; }
  }
}
)";

TEST(Lsp, WorksWithNeovim) {
  if (!is_installed("nvim"))
    GTEST_SKIP() << "unavailable: Neovim is not installed (apt-get install neovim)";
  const Folder folder;
  const std::string file = folder.write("demo.vyre", kProgram);
  const std::string out = folder.path("seen.json");
  const Outcome editor = run_program(
      "nvim",
      {"--headless", "-u", "NONE", "-i", "NONE", "--noplugin", "-n", "-c",
       std::string("luafile ") + VYRE_SOURCE_DIR + "/test/cli/neovim_client.lua"},
      {.environment = {"VYRE=" VYRE_BINARY, "FILE=" + file, "OUT=" + out, "HOME=" + folder.path(""),
                       "XDG_STATE_HOME=" + folder.path(""), "XDG_DATA_HOME=" + folder.path(""),
                       "XDG_CONFIG_HOME=" + folder.path(""), "LC_ALL=C.UTF-8"}});
  EXPECT_EQ(editor.exit_code, 0) << editor.err;
  const Json seen = Json::parse(folder.read("seen.json"), nullptr, false);
  ASSERT_TRUE(seen.is_object()) << editor.err;
  SCOPED_TRACE(seen.dump(2));
  EXPECT_FALSE(seen.contains("failed"));
  ASSERT_EQ(seen["first"].size(), 1U);
  EXPECT_EQ(seen["first"][0]["code"], "V030");
  EXPECT_EQ(seen["first"][0]["line"], 6);
  EXPECT_EQ(seen["actions"][0], "Convert with `as f32`");
  EXPECT_TRUE(seen["mended"].empty());
  ASSERT_FALSE(seen["typed"].empty());
  EXPECT_TRUE(seen["typed_back"].empty());
  EXPECT_NE(seen["hover"]["value"].get<std::string>().find("let i : u32"), std::string::npos);
  EXPECT_EQ(seen["references"], 4);
  EXPECT_EQ(seen["definition"]["start"]["line"], 6);
  EXPECT_EQ(seen["definition"]["start"]["character"], 8);
  EXPECT_TRUE(seen["completion"]["own"]);
  EXPECT_TRUE(seen["completion"]["built_in"]);
  EXPECT_NE(seen["text"].get<std::string>().find("      o[place] = n[place] as f32;"),
            std::string::npos);
  EXPECT_EQ(seen["exit_code"], 0);
}

// With stand-ins for VS Code and its language client.
TEST(Lsp, IsStartedByTheExtension) {
  if (!is_installed("node")) GTEST_SKIP() << "unavailable: Node.js is not installed";
  const std::string root = VYRE_SOURCE_DIR;
  const Outcome outcome = run_program(
      "node", {root + "/test/cli/vscode_client.js", root + "/editors/vscode/extension.js"});
  EXPECT_EQ(outcome.err, "");
  const Json seen = Json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(seen.is_array()) << outcome.out;
  SCOPED_TRACE(seen.dump(2));
  ASSERT_EQ(seen.size(), 6U);
  EXPECT_EQ(seen[0], "start /opt/vyre lsp for vyre");
  EXPECT_EQ(seen[1], "stop");
  EXPECT_EQ(seen[2], "start /opt/vyre lsp for vyre");
  EXPECT_EQ(seen[3], "stop");
  EXPECT_NE(seen[4].get<std::string>().find("'missing lsp' does not start"), std::string::npos);
  EXPECT_NE(seen[5].get<std::string>().find("npm install"), std::string::npos);
  const Json package = Json::parse(std::ifstream(root + "/editors/vscode/package.json"));
  EXPECT_EQ(package["main"], "./extension.js");
  EXPECT_TRUE(package["contributes"]["configuration"]["properties"].contains("vyre.path"));
}

}  // namespace
}  // namespace vyre::test
