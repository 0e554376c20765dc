// SPDX-License-Identifier: Apache-2.0
// Vyre on a GPU against CUDA C++: one markdown table on stdout, the same as JSON with --json.
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
    {"G1", vyre::bench::pass_rows},     {"G2", vyre::bench::stream_rows},
    {"G4", vyre::bench::dispatch_rows}, {"G8", vyre::bench::graph_rows},
    {"G9", vyre::bench::reduce_rows},
};

}  // namespace

int main(int argc, char** argv) {
  vyre::bench::Options options;
  options.device = "cuda";
  CLI::App app("Vyre on a GPU against its peers (docs/performance.md)", "bench_cuda");
  std::vector<std::string> ids;
  for (const auto& row : kRows) ids.emplace_back(row.id);
  app.add_option("--only", options.only, "rows to measure")
      ->delimiter(',')
      ->check(CLI::IsMember(ids));
  app.add_flag("--quick", options.quick, "tiny sizes, three repetitions: whether it all runs");
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
