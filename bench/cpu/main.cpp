// SPDX-License-Identifier: Apache-2.0
// Vyre on the CPU against its peers. docs/performance/cpu.md says what the rows mean.
#include "command.hpp"
#include "rows.hpp"

int main(int argc, char** argv) {
  using namespace vyre::bench;
  constexpr RowGroup kRows[] = {
      {"C1", barrier_rows}, {"C2", stream_rows},  {"C3", cache_rows},   {"C4", reduce_rows},
      {"C5", graph_rows},   {"C6", stencil_rows}, {"C7", cold_rows},    {"C8", dispatch_rows},
      {"C9", corpus_rows},  {"C10", maths_rows},  {"C11", matmul_rows},
  };
  return run_rows(argc, argv, "bench_cpu",
                  "Vyre on the CPU against its peers (docs/performance/cpu.md)", "cpu", kRows);
}
