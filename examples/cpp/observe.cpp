// SPDX-License-Identifier: Apache-2.0
// What happened? A program with a barrier over the whole grid on a device that has none is cut in
// two; the report of the dispatch, the counters of the device and a trace all say so.
//
// Prints:
//   route resident: 2 segments, 2 launches, 1 grid barrier
//   vyre_grid_sync_splits_total{device="reference:3"} 1
//   vyre_launches_resident_total{device="reference:3"} 2
//   the trace has compile, dispatch and launch spans
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <vyre/vyre.hpp>

#include "or_exit.hpp"

namespace {

constexpr const char* kReverse = R"(program reverse {
  workgroup 64;
  over len(a);
  inout a : u32[];

  var mine = 0;
  if gid.x < len(a) {
    mine = a[len(a) - 1 - gid.x];
  }
  barrier grid;  // everybody has read: now write
  if gid.x < len(a) {
    a[gid.x] = mine;
  }
}
)";

}  // namespace

int main(int argc, char** argv) {
  vyre::Trace trace;  // outlives the device
  const vyre::Device device = or_exit(vyre::Device::open("reference:3", {.trace = &trace}));
  const auto compiled =
      or_exit(device.compile(or_exit(vyre::parse_checked(kReverse, "reverse.vyre"))));

  const std::vector<uint32_t> a(1000, 5);
  const vyre::Report report = or_exit(compiled.pipeline.dispatch({a})).report;
  std::printf("route %s: %u segments, %zu launches, %zu grid barrier\n",
              name_of(report.route).data(), report.segments, size_t{report.launches},
              size_t{report.grid_barriers.value_or(0)});

  // What a /metrics page of a service would show; here only two of its lines.
  std::istringstream metrics(vyre::to_prometheus(device.telemetry(), device.info().id));
  for (std::string line; std::getline(metrics, line);) {
    if (line.starts_with("vyre_grid_sync_splits_total") ||
        line.starts_with("vyre_launches_resident_total"))
      std::printf("%s\n", line.c_str());
  }

  // Open the file in https://ui.perfetto.dev.
  const std::string json = trace.write_json();
  if (argc > 1) std::ofstream(argv[1]) << json;
  bool complete = true;
  for (const char* category : {"\"compile\"", "\"dispatch\"", "\"launch\""})
    complete = complete && json.contains(category);
  std::printf("the trace %s compile, dispatch and launch spans\n", complete ? "has" : "lacks");
  return complete ? 0 : 1;
}
