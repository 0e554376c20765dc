// SPDX-License-Identifier: Apache-2.0
// Vyre on a GPU against CUDA C++. docs/performance.md says what the rows mean.
#include "command.hpp"
#include "rows.hpp"

int main(int argc, char** argv) {
  using namespace vyre::bench;
  constexpr RowGroup kRows[] = {
      {"G1", pass_rows},  {"G2", stream_rows}, {"G4", dispatch_rows},
      {"G8", graph_rows}, {"G9", reduce_rows},
  };
  return run_rows(argc, argv, "bench_cuda", "Vyre on a GPU against its peers (docs/performance.md)",
                  "cuda", kRows);
}
