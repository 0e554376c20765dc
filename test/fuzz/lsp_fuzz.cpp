// SPDX-License-Identifier: Apache-2.0
// Any client of the language server: lines are messages, and what begins with a header is a stream.
// The server never fails, each request has one answer, and every answer is JSON.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "lsp/framing.hpp"
#include "lsp/server.hpp"

using namespace vyre;

namespace {

constexpr const char* kHello = R"({"id":0,"method":"initialize","params":{"capabilities":{}}})";
constexpr const char* kOpen =
    R"({"method":"textDocument/didOpen","params":{"textDocument":{"uri":"u","version":1,"text":)"
    R"("program p {\n  workgroup 1;\n  out o : u32[4];\n  region r { let i = gid.x; o[i] = i }\n}\n"}}})";

void check_output(lsp::Server& server) {
  for (const std::string& body : server.take_output()) {
    const nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
    VYRE_CHECK(json.is_object() && json.contains("jsonrpc"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  lsp::Server server("fuzz");
  server.receive(kHello);
  server.receive(kOpen);
  server.work();
  check_output(server);
  if (input.starts_with("Content")) {
    lsp::Framer framer;
    framer.feed(input);
    while (const auto frame = framer.next())
      frame->error.empty() ? server.receive(frame->body) : server.receive_broken(frame->error);
  }
  while (!input.empty()) {
    const size_t end = input.find('\n');
    const std::string_view line = input.substr(0, end);
    server.receive(std::string(line));
    if (line.starts_with(" ")) server.work();
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  }
  server.work();
  check_output(server);
  return 0;
}
