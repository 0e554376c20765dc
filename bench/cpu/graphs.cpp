// SPDX-License-Identifier: Apache-2.0
#include "graphs.hpp"

#include <numeric>

#include "host.hpp"

namespace vyre::bench {
namespace {

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

// Sorts by counting: millions of edges take a moment only.
Graph from_pairs(uint32_t nodes, const Pairs& pairs) {
  Graph graph;
  graph.nodes = nodes;
  graph.row.assign(nodes + size_t{1}, 0);
  for (const auto& [a, b] : pairs) {
    ++graph.row[a + size_t{1}];
    ++graph.row[b + size_t{1}];
  }
  std::partial_sum(graph.row.begin(), graph.row.end(), graph.row.begin());
  graph.col.resize(pairs.size() * 2);
  std::vector<uint32_t> at(graph.row.begin(), graph.row.end() - 1);
  for (const auto& [a, b] : pairs) {
    graph.col[at[a]++] = b;
    graph.col[at[b]++] = a;
  }
  graph.to = graph.col;
  graph.from.resize(graph.col.size());
  for (uint32_t v = 0; v < nodes; ++v)
    for (uint32_t e = graph.row[v]; e < graph.row[v + 1]; ++e) graph.from[e] = v;
  return graph;
}

}  // namespace

Graph lattice(uint32_t side) {
  Pairs pairs;
  for (uint32_t y = 0; y < side; ++y)
    for (uint32_t x = 0; x < side; ++x) {
      const uint32_t v = y * side + x;
      if (x + 1 < side) pairs.emplace_back(v, v + 1);
      if (y + 1 < side) pairs.emplace_back(v, v + side);
    }
  return from_pairs(side * side, pairs);
}

Graph rmat(uint32_t scale, uint32_t degree) {
  const uint32_t nodes = 1u << scale;
  Random random(11);
  std::vector<uint32_t> name(nodes);
  std::iota(name.begin(), name.end(), 0);
  for (uint32_t i = nodes; i > 1; --i) std::swap(name[i - 1], name[random.below(i)]);
  Pairs pairs(size_t{nodes} * degree / 2);
  for (auto& [a, b] : pairs) {
    a = b = 0;
    for (uint32_t bit = 0; bit < scale; ++bit) {
      // The quadrants' shares of Graph500: 57, 19, 19, 5 of a hundred.
      const uint32_t pick = random.below(100);
      a = a << 1 | (pick >= 76 ? 1u : 0u);
      b = b << 1 | ((pick >= 57 && pick < 76) || pick >= 95 ? 1u : 0u);
    }
    a = name[a];
    b = name[b];
  }
  return from_pairs(nodes, pairs);
}

}  // namespace vyre::bench
