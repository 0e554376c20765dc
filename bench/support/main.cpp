// SPDX-License-Identifier: Apache-2.0
// The main program of every benchmark: one markdown table on stdout. --benchmark_out=FILE also
// writes the library's JSON.
#include <cstdio>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

// Rates as people read them: 12.3 M/s.
std::string rate(double per_second) {
  const struct {
    double unit;
    const char* name;
  } units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};
  char text[64];
  for (const auto& [unit, name] : units) {
    if (per_second < unit && unit > 1) continue;
    std::snprintf(text, sizeof text, "%.3g %s/s", per_second / unit, name);
    break;
  }
  return text;
}

class MarkdownReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override {
    std::printf("%d cores, %.0f MHz\n\n", context.cpu_info.num_cpus,
                context.cpu_info.cycles_per_second / 1e6);
    std::printf("| benchmark | time | runs | rate |\n|---|---|---|---|\n");
    return true;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) {
        std::printf("| %s | failed: %s | | |\n", run.benchmark_name().c_str(),
                    run.error_message.c_str());
        failed = true;
        continue;
      }
      std::string rates;
      for (const auto& [name, counter] : run.counters) {
        if (!rates.empty()) rates += ", ";
        rates += (counter.flags & benchmark::Counter::kIsRate) != 0
                     ? rate(counter.value) + " " + name
                     : std::to_string(counter.value) + " " + name;
      }
      std::printf("| %s | %.4g %s | %lld | %s |\n", run.benchmark_name().c_str(),
                  run.GetAdjustedRealTime(), benchmark::GetTimeUnitString(run.time_unit),
                  static_cast<long long>(run.iterations), rates.c_str());
    }
    std::fflush(stdout);
  }

  bool failed = false;
};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  MarkdownReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.failed ? 1 : 0;
}
