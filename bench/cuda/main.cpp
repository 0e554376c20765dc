// SPDX-License-Identifier: Apache-2.0
// Vyre on a GPU against CUDA C++. docs/performance/cuda.md says what the rows mean.
#include <cstdlib>
#include <string_view>

#include "command.hpp"
#include "rows.hpp"

int main(int argc, char** argv) {
  using namespace vyre::bench;
  // The driver would keep what it has compiled, and nothing would be cold.
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  if (argc > 1 && std::string_view(argv[1]) == kChildFlag) return run_child(argc, argv);
  constexpr RowGroup kRows[] = {
      {"G1", pass_rows},     {"G2", stream_rows}, {"G3", corpus_rows}, {"G4", dispatch_rows},
      {"G5", sequence_rows}, {"G6", cold_rows},   {"G7", cached_rows}, {"G8", graph_rows},
      {"G9", reduce_rows},   {"G10", phase_rows},
  };
  // No peer has threads that go on after a call.
  constexpr double kSettleNs = 5e5;
  return run_rows(argc, argv, "bench_cuda",
                  "Vyre on a GPU against its peers (docs/performance/cuda.md)", "cuda", kRows,
                  kSettleNs);
}
