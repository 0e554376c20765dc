// SPDX-License-Identifier: Apache-2.0
// What a program text of 1 MiB costs: parse, check, print, format, encode, decode. The text repeats
// ordinary code (guards, loops, functions, atomics, fixpoints), not one line over and over.
#include <string>

#include <benchmark/benchmark.h>

#include "vyre/check/check.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

namespace {

using namespace vyre;

std::string make_text(size_t bytes) {
  std::string text =
      "program large {\n  workgroup 64;\n  over len(visited);\n  in row : u32[];\n  in col : "
      "u32[];\n  in weight : f32[];\n"
      "  inout visited : u32[];\n  inout rank : f32[];\n  shared tile : u32[64];\n"
      "  require len(row) == len(visited) + 1, \"one more row\";\n"
      "  fn mix(a : u32, b : u32) -> u32 {\n    let h = (a ^ b) * 2654435761;\n    return rotl(h, "
      "13) ^ (h >> 7);\n  }\n";
  for (size_t i = 0; text.size() < bytes; ++i) {
    const std::string n = std::to_string(i);
    text += "  region step" + n +
            " {\n    let v = gid.x;   // this lane's node\n    if v < len(visited) && "
            "atomic_load(visited[v]) == " +
            n +
            " {\n      var sum = 0.0;\n      for e in row[v] .. row[v + 1] {\n        sum += "
            "weight[e] * 0.85;\n"
            "        atomic_max(visited[col[e]], mix(e, " +
            n +
            "));\n      }\n      rank[v] = select(sum > 1.0, 1.0, sum);\n    }\n    tile[lid.x] = "
            "mix(v, lid.x);\n"
            "    barrier workgroup;\n    let other = tile[(lid.x + 1) % 64];\n    if other > 5 { "
            "rank[v] = rank[v] + 1.0; }\n  }\n"
            "  barrier grid;\n";
  }
  return text + "}\n";
}

const std::string& text_of_one_mib() {
  static const std::string text = make_text(size_t{1} << 20);
  return text;
}

const ir::Program& program_of_one_mib() {
  static const ir::Program program = text::parse(text_of_one_mib(), "large.vyre").program;
  return program;
}

void set_rate(benchmark::State& state, size_t bytes) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(bytes));
}

void parse_1mib(benchmark::State& state) {
  for (auto _ : state) {
    const text::Parsed parsed = text::parse(text_of_one_mib(), "large.vyre");
    if (parsed.diagnostics.has_errors()) state.SkipWithError("the text has errors");
  }
  set_rate(state, text_of_one_mib().size());
}
BENCHMARK(parse_1mib)->Unit(benchmark::kMillisecond);

void check_1mib(benchmark::State& state) {
  for (auto _ : state) {
    const check::Checked checked = check::check(program_of_one_mib());
    if (!checked.program) state.SkipWithError("the program has errors");
  }
  set_rate(state, text_of_one_mib().size());
}
BENCHMARK(check_1mib)->Unit(benchmark::kMillisecond);

void print_1mib(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(text::print(program_of_one_mib()));
  set_rate(state, text_of_one_mib().size());
}
BENCHMARK(print_1mib)->Unit(benchmark::kMillisecond);

void parse_check_print_1mib(benchmark::State& state) {
  for (auto _ : state) {
    text::Parsed parsed = text::parse(text_of_one_mib(), "large.vyre");
    check::Checked checked = check::check(std::move(parsed.program));
    if (!checked.program) {
      state.SkipWithError("the program has errors");
      break;
    }
    benchmark::DoNotOptimize(text::print(checked.program->program));
  }
  set_rate(state, text_of_one_mib().size());
}
BENCHMARK(parse_check_print_1mib)->Unit(benchmark::kMillisecond);

void format_1mib(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(text::format(text_of_one_mib(), "large.vyre").text);
  set_rate(state, text_of_one_mib().size());
}
BENCHMARK(format_1mib)->Unit(benchmark::kMillisecond);

void encode_1mib(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(ir::encode(program_of_one_mib()));
}
BENCHMARK(encode_1mib)->Unit(benchmark::kMillisecond);

void decode_1mib(benchmark::State& state) {
  const auto bytes = ir::encode(program_of_one_mib());
  for (auto _ : state) {
    if (!ir::decode(bytes)) state.SkipWithError("the bytes do not decode");
  }
  set_rate(state, bytes.size());
}
BENCHMARK(decode_1mib)->Unit(benchmark::kMillisecond);

}  // namespace
