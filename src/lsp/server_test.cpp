// SPDX-License-Identifier: Apache-2.0
#include "lsp/server.hpp"

#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lsp/framing.hpp"
#include "lsp/lsp_test.hpp"

namespace vyre::lsp {
namespace {

constexpr const char* kText =
    "program p {\n  workgroup 1;\n  out o : u32[4];\n  region r {\n    o[0] = missing;\n  }\n}\n";

int error_of(const TestJson& message) {
  return message.contains("error") ? message["error"]["code"].get<int>() : 0;
}

TEST(Server, ReportsWhatItCanAndEndsAsTheProtocolSays) {
  Client client;
  const TestJson hello =
      client.request_one("initialize", {{"processId", 42}, {"capabilities", {}}});
  EXPECT_EQ(hello["result"]["capabilities"]["positionEncoding"], "utf-16");
  EXPECT_EQ(hello["result"]["serverInfo"]["version"], "1.2.3");
  EXPECT_EQ(client.server.client_process(), 42);
  EXPECT_TRUE(client.request_one("shutdown", nullptr)["result"].is_null());
  EXPECT_EQ(error_of(client.request_one("textDocument/hover", Client::at(0, 0))), -32600);
  EXPECT_FALSE(client.server.exit_code());
  client.say(Client::notification("exit", nullptr));
  EXPECT_EQ(client.server.exit_code(), 0);
  Client rude;
  rude.start();
  rude.say(Client::notification("exit", nullptr));
  EXPECT_EQ(rude.server.exit_code(), 1);
  EXPECT_EQ(Client().server.code_of_end(), 1);
}

TEST(Server, RefusesWhatIsNoMessage) {
  Client client;
  EXPECT_EQ(error_of(client.say_text("{")[0]), -32700);
  EXPECT_EQ(error_of(client.say_text("")[0]), -32700);
  EXPECT_EQ(error_of(client.say_text("\"\xff\"")[0]), -32700);
  EXPECT_EQ(error_of(client.say_text("[]")[0]), -32600);
  EXPECT_EQ(error_of(client.say_text("7")[0]), -32600);
  EXPECT_EQ(error_of(client.say_text("{\"id\": 1}")[0]), -32600);
  EXPECT_EQ(error_of(client.say_text("{\"id\": 1.5, \"method\": \"x\"}")[0]), -32600);
  EXPECT_EQ(error_of(client.say_text("{\"id\": [1], \"method\": \"x\"}")[0]), -32600);
  EXPECT_EQ(error_of(client.say_text("{\"id\": true, \"method\": \"x\"}")[0]), -32600);
  EXPECT_EQ(error_of(client.say_text("{\"id\": 1, \"method\": 5}")[0]), -32600);
  EXPECT_TRUE(client.say_text("{\"id\": 1, \"result\": null}").empty());
  EXPECT_TRUE(client.say_text("{\"method\": \"nothing\"}").empty());
  std::string deep(200000, '[');
  EXPECT_EQ(error_of(client.say_text(deep)[0]), -32700);
  deep += std::string(200000, ']');
  EXPECT_EQ(error_of(client.say_text(R"({"id": 1, "method": "x", "params": )" + deep + "}")[0]),
            -32002);
}

TEST(Server, GivesBackTheIdAsItCame) {
  Client client;
  for (const TestJson& id : {TestJson(0), TestJson(-5), TestJson(UINT64_MAX), TestJson("a b"),
                             TestJson(""), TestJson(nullptr)}) {
    const auto got = client.say(Client::request(id, "what/ever", {}));
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0]["id"], id);
    EXPECT_EQ(error_of(got[0]), -32002);
  }
  client.start();
  EXPECT_EQ(error_of(client.request_one("what/ever", {})), -32601);
  EXPECT_EQ(error_of(client.request_one("initialize", {})), -32600);
}

TEST(Server, RefusesParametersThatDoNotFit) {
  Client client;
  client.start();
  client.open(kText);
  for (const char* method :
       {"textDocument/hover", "textDocument/definition", "textDocument/references",
        "textDocument/documentHighlight", "textDocument/prepareRename", "textDocument/rename",
        "textDocument/completion", "textDocument/formatting", "textDocument/codeAction",
        "textDocument/inlayHint", "textDocument/documentSymbol"}) {
    for (const TestJson& params :
         {TestJson(), TestJson(7), TestJson("x"), TestJson::array({1, 2}),
          TestJson{{"textDocument", 5}}, TestJson{{"textDocument", {{"uri", 5}}}},
          TestJson{{"textDocument", {{"uri", "file:///other"}}}}})
      EXPECT_EQ(error_of(client.request_one(method, params)), -32602) << method << params;
  }
  TestJson at = Client::at(0, 0);
  at["position"]["line"] = -1;
  EXPECT_EQ(error_of(client.request_one("textDocument/hover", at)), -32602);
  at["position"]["line"] = 1e300;
  EXPECT_EQ(error_of(client.request_one("textDocument/hover", at)), -32602);
  at["position"]["line"] = UINT64_MAX;
  EXPECT_EQ(error_of(client.request_one("textDocument/hover", at)), 0);
}

TEST(Server, SaysWhatIsWrongWithAText) {
  Client client;
  client.start();
  auto got = client.open(kText);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0]["method"], "textDocument/publishDiagnostics");
  EXPECT_EQ(got[0]["params"]["version"], 1);
  const TestJson& d = got[0]["params"]["diagnostics"][0];
  EXPECT_EQ(d["code"], "V020");
  EXPECT_EQ(d["range"]["start"]["line"], 4);
  EXPECT_EQ(d["range"]["start"]["character"], 11);
  EXPECT_EQ(d["range"]["end"]["character"], 18);
  EXPECT_NE(d["message"].get<std::string>().find("Fix: "), std::string::npos);
  got = client.say(
      Client::notification("textDocument/didClose", {{"textDocument", Client::document()}}));
  EXPECT_TRUE(got[0]["params"]["diagnostics"].empty());
}

// Modules that are built in are there for every text, files only beside a file.
TEST(Server, FindsTheModulesOfAText) {
  Client client;
  client.start();
  const auto got = client.open("use \"no_such_file.vyre\";\n" + std::string(kText));
  bool found = false;
  for (const TestJson& d : got[0]["params"]["diagnostics"])
    found = found || d["message"].get<std::string>().find("no_such_file") != std::string::npos;
  EXPECT_TRUE(found) << got[0];
}

TestJson change(uint64_t l0, uint64_t c0, uint64_t l1, uint64_t c1, const char* text) {
  return {
      {"range",
       {{"start", {{"line", l0}, {"character", c0}}}, {"end", {{"line", l1}, {"character", c1}}}}},
      {"text", text}};
}

TEST(Server, FollowsChangesOfParts) {
  for (const bool utf8 : {false, true}) {
    Client client;
    client.start(utf8 ? TestJson{{"general", {{"positionEncodings", {"utf-16", "utf-8"}}}}}
                      : TestJson::object());
    client.open("// \U0001F600 x\n" + std::string(kText));
    const auto say = [&](TestJson changes) {
      return client.say(Client::notification(
          "textDocument/didChange", {{"textDocument", {{"uri", Client::kUri}, {"version", 7}}},
                                     {"contentChanges", std::move(changes)}}));
    };
    // Behind the smiley, which has 2 units or 4 bytes.
    const uint64_t x = utf8 ? 8 : 6;
    auto got = say({change(0, x, 0, x + 1, "y\n"), change(6, 11, 6, 18, "1")});
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0]["params"]["version"], 7);
    EXPECT_TRUE(got[0]["params"]["diagnostics"].empty()) << got[0];
    got = say({{{"text", "program q {"}}});
    EXPECT_EQ(got[0]["params"]["diagnostics"][0]["code"], "V005");
    // No numbers lead out of the text.
    got = say({change(UINT64_MAX, 1, 0, UINT64_MAX, "}"), {{"range", 5}, {"text", 5}}, 7});
    EXPECT_EQ(got.size(), 1U);
  }
}

TEST(Server, ChecksOnlyTheLastOfManyChanges) {
  Client client;
  client.start();
  client.open(kText);
  for (int i = 0; i < 10; ++i)
    client.server.receive(
        Client::notification("textDocument/didChange",
                             {{"textDocument", {{"uri", Client::kUri}, {"version", i}}},
                              {"contentChanges", {{{"text", kText}}}}})
            .dump());
  const auto got = client.work();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0]["params"]["version"], 9);
}

TEST(Server, CancelsWhatStillWaits) {
  Client client;
  client.start();
  client.open(kText);
  client.server.receive(Client::request("h", "textDocument/hover", Client::at(0, 1)).dump());
  client.server.receive(Client::request(1, "textDocument/hover", Client::at(0, 1)).dump());
  client.server.receive(Client::notification("$/cancelRequest", {{"id", "h"}}).dump());
  client.server.receive(Client::notification("$/cancelRequest", {{"id", {1}}}).dump());
  const auto got = client.work();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(error_of(got[0]), -32800);
  EXPECT_EQ(error_of(got[1]), 0);
}

TEST(Server, AnswersWithRangesAndEdits) {
  Client client;
  client.start();
  client.open(
      "program p {\n  workgroup 1;\n out o : u32[4];\n  region r { let i = gid.x; o[i] = i; "
      "}\n}\n");
  const TestJson hover = client.request_one("textDocument/hover", Client::at(3, 17))["result"];
  EXPECT_NE(hover["contents"]["value"].get<std::string>().find("let i : u32"), std::string::npos);
  const TestJson where = client.request_one("textDocument/definition", Client::at(3, 30))["result"];
  EXPECT_EQ(where["range"]["start"], (TestJson{{"line", 3}, {"character", 17}}));
  TestJson rename = Client::at(3, 17);
  rename["newName"] = "k";
  const TestJson edits = client.request_one("textDocument/rename", rename)["result"];
  EXPECT_EQ(edits["changes"][Client::kUri].size(), 3U);
  rename["newName"] = "o";
  EXPECT_EQ(error_of(client.request_one("textDocument/rename", rename)), -32803);
  const TestJson layout = client.request_one("textDocument/formatting",
                                             {{"textDocument", Client::document()}})["result"];
  ASSERT_EQ(layout.size(), 1U);
  EXPECT_EQ(layout[0]["range"]["start"]["line"], 2);
  EXPECT_EQ(layout[0]["range"]["end"]["line"], 4);
  TestJson range{
      {"textDocument", Client::document()},
      {"range",
       {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 9}, {"character", 0}}}}}};
  EXPECT_EQ(client.request_one("textDocument/inlayHint", range)["result"][0]["label"], "lane");
  EXPECT_EQ(client.request_one("textDocument/documentSymbol", range)["result"].size(), 3U);
  EXPECT_FALSE(
      client.request_one("textDocument/completion", Client::at(3, 27))["result"]["items"].empty());
}

// Messages with changed bytes and swapped parts: each request has one answer, and that is JSON.
TEST(Server, SurvivesChangedMessages) {
  TestJson rename = Client::at(3, 11);
  rename["newName"] = "k";
  const TestJson whole{
      {"textDocument", Client::document()},
      {"range",
       {{"start", {{"line", 0}, {"character", 0}}}, {"end", {{"line", 9}, {"character", 0}}}}}};
  const std::vector<std::string> seeds = {
      Client::request(1, "textDocument/hover", Client::at(4, 5)).dump(),
      Client::request("a", "textDocument/rename", rename).dump(),
      Client::request(2, "textDocument/codeAction", whole).dump(),
      Client::request(3, "textDocument/completion", Client::at(4, 9)).dump(),
      Client::request(4, "textDocument/inlayHint", whole).dump(),
      Client::notification("textDocument/didChange",
                           {{"textDocument", {{"uri", Client::kUri}, {"version", 2}}},
                            {"contentChanges", {change(1, 0, 4, 6, "let x = gid.x; // {")}}})
          .dump()};
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  Client client;
  client.start();
  client.open(kText);
  for (int round = 0; round < 3000; ++round) {
    std::string text = seeds[below(seeds.size())];
    for (size_t changes = below(4); changes > 0; --changes) {
      const size_t at = below(text.size());
      switch (below(4)) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, below(12)); break;
        case 2: text.insert(at, std::to_string(random())); break;
        default: {
          const std::string& other = seeds[below(seeds.size())];
          const size_t from = below(other.size());
          text.insert(at, other.substr(from, below(40)));
        }
      }
    }
    client.server.receive(text);
    for (const TestJson& message : client.work())  // parses each
      ASSERT_EQ(message["jsonrpc"], "2.0") << text;
  }
  EXPECT_FALSE(client.server.exit_code());
  EXPECT_EQ(error_of(client.request_one("textDocument/hover", Client::at(0, 0))), 0);
}

// ---- the stream

std::vector<std::string> frames(std::string_view bytes, size_t step) {
  Framer framer;
  std::vector<std::string> all;
  for (size_t i = 0; i < bytes.size(); i += step) {
    framer.feed(bytes.substr(i, step));
    while (const auto frame = framer.next())
      all.push_back(frame->error.empty() ? frame->body : "error");
  }
  return all;
}

TEST(Framer, FindsMessagesHoweverTheyAreCut) {
  const std::string stream = framed("{}") +
                             "content-length: 3\r\nContent-Type: x; charset=utf-8\r\n\r\nabc" +
                             "Content-Length: 0\n\n" + framed("last");
  for (const size_t step : {size_t{1}, size_t{2}, size_t{7}, stream.size()})
    EXPECT_EQ(frames(stream, step), (std::vector<std::string>{"{}", "abc", "", "last"})) << step;
}

TEST(Framer, GoesOnBehindWhatIsBroken) {
  for (const std::string_view broken :
       {"Content-Length: -1\r\n\r\n", "Content-Length: 1x\r\n\r\n", "Content-Length:\r\n\r\n",
        "Content-Length: 99999999999999999999999\r\n\r\n", "Foo: 1\r\n\r\n", "nonsense\r\n\r\n{}",
        "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "\r\n\r\n"}) {
    const std::string stream = std::string(broken) + framed("good");
    for (const size_t step : {size_t{1}, stream.size()})
      EXPECT_EQ(frames(stream, step), (std::vector<std::string>{"error", "good"})) << broken;
  }
  const std::string flood = std::string(100000, 'x') + framed("good");
  EXPECT_EQ(frames(flood, 4096), (std::vector<std::string>{"error", "good"}));
}

TEST(Framer, DoesNotKeepAMessageThatIsTooLong) {
  Framer framer;
  framer.feed(fmt::format("Content-Length: {}\r\n\r\n", uint64_t{1} << 62));
  EXPECT_FALSE(framer.next()->error.empty());
  framer.feed(std::string(1000, 'x'));
  EXPECT_FALSE(framer.next());
}

}  // namespace
}  // namespace vyre::lsp
