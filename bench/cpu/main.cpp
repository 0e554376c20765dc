// SPDX-License-Identifier: Apache-2.0
// Vyre on the CPU against its peers: one markdown table on stdout, the same as JSON with --json.
// docs/performance.md says what the rows mean.
#include <cstdio>
#include <fstream>

#include <CLI/CLI.hpp>

#include "report.hpp"
#include "rows.hpp"

namespace {

using vyre::bench::Bench;

constexpr struct {
  const char* id;
  void (*run)(Bench&);
} kRows[] = {
    {"C1", vyre::bench::barrier_rows}, {"C2", vyre::bench::stream_rows},
    {"C3", vyre::bench::cache_rows},   {"C4", vyre::bench::reduce_rows},
    {"C5", vyre::bench::graph_rows},   {"C6", vyre::bench::stencil_rows},
    {"C7", vyre::bench::cold_rows},    {"C8", vyre::bench::dispatch_rows},
    {"C9", vyre::bench::corpus_rows},  {"C10", vyre::bench::maths_rows},
    {"C11", vyre::bench::matmul_rows},
};

}  // namespace

int main(int argc, char** argv) {
  vyre::bench::Options options;
  CLI::App app("Vyre on the CPU against its peers (docs/performance.md)", "bench_cpu");
  std::vector<std::string> ids;
  for (const auto& row : kRows) ids.emplace_back(row.id);
  app.add_option("--only", options.only, "rows to measure: C1 to C11")
      ->delimiter(',')
      ->check(CLI::IsMember(ids));
  app.add_flag("--quick", options.quick, "tiny sizes, three repetitions: whether it all runs");
  app.add_flag("--peers-only", options.peers_only, "measure the peers alone, ours is not run");
  app.add_option("--device", options.device, "the device under test")->capture_default_str();
  app.add_option("--json", options.json, "also write the rows to this file");
  app.add_option("--repetitions", options.repetitions, "samples per side")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  vyre::Result<vyre::Device> device = vyre::Device::open(options.device, {.cache_directory = {}});
  if (!device) {
    std::fprintf(stderr, "%s\n", to_string(device.error()).c_str());
    return vyre::exit_code_of(device.error().code);
  }
  Bench bench(options, std::move(*device));
  std::fputs(vyre::bench::table_head(bench).c_str(), stdout);
  bench.on_row = [](const vyre::bench::Row& row) {
    std::fputs(vyre::bench::table_line(row).c_str(), stdout);
    std::fflush(stdout);
  };
  for (const auto& row : kRows)
    if (bench.wants(row.id)) row.run(bench);

  if (!options.json.empty()) {
    std::ofstream file(options.json);
    file << vyre::bench::to_json(bench);
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write %s\n", options.json.c_str());
      return 1;
    }
  }
  return bench.all_good() ? 0 : 1;
}
