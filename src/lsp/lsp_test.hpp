// SPDX-License-Identifier: Apache-2.0
// A text with marks, and a client that speaks to a server without a process.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "lsp/document.hpp"
#include "lsp/server.hpp"

namespace vyre::lsp {

// "a ^b": the text without its marks, and where they stood.
struct Marked {
  std::string text;
  std::vector<size_t> marks;

  explicit Marked(std::string_view source) {
    for (const char c : source) {
      if (c == '$')
        marks.push_back(text.size());
      else
        text += c;
    }
  }
  [[nodiscard]] std::unique_ptr<Analysis> analysed() const { return analyse(text, "t.vyre"); }
};

using TestJson = nlohmann::json;

class Client {
 public:
  Client() : server("1.2.3") {}

  // What came back, as messages.
  std::vector<TestJson> say(const TestJson& message) { return say_text(message.dump()); }
  std::vector<TestJson> say_text(const std::string& text) {
    server.receive(text);
    return work();
  }
  std::vector<TestJson> work() {
    server.work();
    std::vector<TestJson> messages;
    for (const std::string& body : server.take_output()) messages.push_back(TestJson::parse(body));
    return messages;
  }
  static TestJson request(const TestJson& id, const std::string& method, TestJson params) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
  }
  static TestJson notification(const std::string& method, TestJson params) {
    return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
  }
  // The first answer, or null.
  TestJson request_one(const std::string& method, TestJson params) {
    const auto got = say(request(++id_, method, std::move(params)));
    return got.empty() ? TestJson() : got.front();
  }
  void start(TestJson capabilities = TestJson::object()) {
    request_one("initialize", {{"capabilities", std::move(capabilities)}});
    say(notification("initialized", TestJson::object()));
  }
  std::vector<TestJson> open(const std::string& text) {
    return say(
        notification("textDocument/didOpen",
                     {{"textDocument",
                       {{"uri", kUri}, {"languageId", "vyre"}, {"version", 1}, {"text", text}}}}));
  }
  static TestJson document() { return {{"uri", kUri}}; }
  static TestJson at(uint64_t line, uint64_t character) {
    return {{"textDocument", document()}, {"position", {{"line", line}, {"character", character}}}};
  }

  static constexpr const char* kUri = "file:///work/t.vyre";
  Server server;

 private:
  int id_ = 100;
};

}  // namespace vyre::lsp
