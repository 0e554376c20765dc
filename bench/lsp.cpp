// SPDX-License-Identifier: Apache-2.0
// What an editor waits for after a keystroke in a program of 2,000 lines: the change, the
// diagnostics of the new text, and the questions that editors ask then. The goal is 50 ms.
#include <string>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include "lsp/server.hpp"

namespace {

using namespace vyre;
using Json = nlohmann::json;

constexpr const char* kUri = "file:///large.vyre";
constexpr int kLines = 2000;

std::string make_text() {
  std::string text =
      "program large {\n  workgroup 64;\n  over len(visited);\n  in row : u32[];\n  in col : "
      "u32[];\n  in weight : f32[];\n  inout visited : u32[];\n  inout rank : f32[];\n"
      "  require len(row) == len(visited) + 1, \"one more row\";\n";
  for (int line = 9, i = 0; line + 13 < kLines; line += 13, ++i) {
    const std::string n = std::to_string(i);
    text += "  region step" + n +
            " {\n    let v = gid.x;   // this lane's node\n    if v < len(visited) && "
            "atomic_load(visited[v]) == " +
            n +
            " {\n      var sum = 0.0;\n      for e in row[v] .. row[v + 1] {\n        sum += "
            "weight[e] * 0.85;\n        atomic_max(visited[col[e]], e ^ " +
            n +
            ");\n      }\n      rank[v] = select(sum > 1.0, 1.0, sum);\n    }\n    // next\n  }\n"
            "  barrier grid;\n";
  }
  return text + "}\n";
}

// One that is open in an editor.
struct Session {
  lsp::Server server{"bench"};
  int64_t version = 1;

  Session() {
    send({{"id", 0}, {"method", "initialize"}, {"params", {{"capabilities", Json::object()}}}});
    send({{"method", "textDocument/didOpen"},
          {"params",
           {{"textDocument", {{"uri", kUri}, {"version", version}, {"text", make_text()}}}}}});
    work();
  }
  void send(const Json& message) { server.receive(message.dump()); }
  void work() {
    server.work();
    benchmark::DoNotOptimize(server.take_output());
  }
  // A letter more or less in the middle of the text.
  void type(bool more) {
    const Json start{{"line", 1001}, {"character", 4}};
    const Json end{{"line", 1001}, {"character", more ? 4 : 5}};
    send({{"method", "textDocument/didChange"},
          {"params",
           {{"textDocument", {{"uri", kUri}, {"version", ++version}}},
            {"contentChanges",
             {{{"range", {{"start", start}, {"end", end}}}, {"text", more ? "x" : ""}}}}}}});
  }
  void query(const char* method) {
    send({{"id", version},
          {"method", method},
          {"params",
           {{"textDocument", {{"uri", kUri}}},
            {"position", {{"line", 1001}, {"character", 6}}},
            {"range",
             {{"start", {{"line", 950}, {"character", 0}}},
              {"end", {{"line", 1050}, {"character", 0}}}}}}}});
  }
};

void keystroke_2000_lines(benchmark::State& state) {
  Session session;
  bool more = false;
  for (auto _ : state) {
    session.type(more = !more);
    session.work();
  }
}
BENCHMARK(keystroke_2000_lines)->Unit(benchmark::kMillisecond);

// As an editor does that completes while typing and shows hints.
void keystroke_and_questions_2000_lines(benchmark::State& state) {
  Session session;
  bool more = false;
  for (auto _ : state) {
    session.type(more = !more);
    session.query("textDocument/completion");
    session.query("textDocument/hover");
    session.query("textDocument/inlayHint");
    session.query("textDocument/codeAction");
    session.work();
  }
}
BENCHMARK(keystroke_and_questions_2000_lines)->Unit(benchmark::kMillisecond);

}  // namespace
