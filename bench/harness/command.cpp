// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <cstdio>
#include <fstream>

#include <CLI/CLI.hpp>

#include "report.hpp"

namespace vyre::bench {

int run_rows(int argc, char** argv, const char* program, const char* about, const char* device_id,
             std::span<const RowGroup> groups, double settle_ns) {
  Options options;
  options.settle_ns = settle_ns;
  options.device = device_id;
  CLI::App app(about, program);
  std::vector<std::string> ids;
  for (const RowGroup& group : groups) ids.emplace_back(group.id);
  app.add_option("--only,--filter", options.only, "rows to measure, by their ids")
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

  Result<Device> device = Device::open(options.device, {.cache_directory = {}});
  if (!device) {
    std::fprintf(stderr, "%s\n", to_string(device.error()).c_str());
    return exit_code_of(device.error().code);
  }
  Bench bench(options, std::move(*device));
  std::fputs(table_head(bench).c_str(), stdout);
  bench.on_row = [](const Row& row) {
    std::fputs(table_line(row).c_str(), stdout);
    std::fflush(stdout);
  };
  for (const RowGroup& group : groups)
    if (bench.includes(group.id)) group.run(bench);

  if (!options.json.empty()) {
    std::ofstream file(options.json);
    file << to_json(bench);
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write %s\n", options.json.c_str());
      return 1;
    }
  }
  return bench.all_good() ? 0 : 1;
}

}  // namespace vyre::bench
