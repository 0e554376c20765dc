// SPDX-License-Identifier: Apache-2.0
// Graphs to search: a lattice with thousands of levels, and R-MAT with a few levels and very uneven
// degrees.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace vyre::bench {

// Undirected: every edge stands in both directions.
struct Graph {
  uint32_t nodes = 0;
  std::vector<uint32_t> from, to;  // sorted by `from`
  std::vector<uint32_t> row, col;  // the same as CSR
};

Graph lattice(uint32_t side);
// 2^scale nodes with about `degree` edges each; numbers are shuffled, so that hubs lie anywhere.
Graph rmat(uint32_t scale, uint32_t degree);

}  // namespace vyre::bench
