// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <deque>
#include <numeric>
#include <queue>

#include <gtest/gtest.h>

#include "examples/example.hpp"

namespace vyre::test {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

struct Edge {
  uint32_t to = 0;
  uint32_t number = 0;
};
using Graph = std::vector<std::vector<Edge>>;  // edges by the node they leave

Graph graph_of(uint32_t nodes, const std::vector<uint32_t>& from, const std::vector<uint32_t>& to) {
  Graph graph(nodes);
  for (uint32_t e = 0; e < from.size(); ++e) graph[from[e]].push_back({to[e], e});
  return graph;
}

// Distances in edges; kNone where there is no path.
std::vector<uint32_t> breadth_first(const Graph& graph, const std::vector<uint32_t>& starts) {
  std::vector<uint32_t> depth(graph.size(), kNone);
  std::deque<uint32_t> queue(starts.begin(), starts.end());
  for (const uint32_t start : starts) depth[start] = 0;
  while (!queue.empty()) {
    const uint32_t v = queue.front();
    queue.pop_front();
    for (const Edge& edge : graph[v]) {
      if (depth[edge.to] != kNone) continue;
      depth[edge.to] = depth[v] + 1;
      queue.push_back(edge.to);
    }
  }
  return depth;
}

Values random_edges(const std::string& sizes, const std::vector<uint32_t>& size, size_t edges,
                    uint32_t seed) {
  Values in;
  in.set(sizes, size);
  in.set("from", some_numbers(edges, 0, size[0], seed));
  in.set("to", some_numbers(edges, 0, size[0], seed + 100));
  return in;
}

Values reach(const Values& in) {
  const auto row = in.get("row");
  const auto col = in.get("col");
  auto visited = in.get("visited");
  Graph graph(visited.size());
  std::vector<uint32_t> seeds;
  for (uint32_t v = 0; v < visited.size(); ++v) {
    for (uint32_t e = row[v]; e < row[v + 1]; ++e) graph[v].push_back({col[e], e});
    if (visited[v] == 1) seeds.push_back(v);
  }
  const auto depth = breadth_first(graph, seeds);
  for (size_t v = 0; v < depth.size(); ++v)
    if (depth[v] != kNone) visited[v] = 1;
  return Values().set("visited", visited);
}

TEST(Example, Reach) {
  // A chain over more than one workgroup, and a second seed in a circle.
  constexpr uint32_t kChain = 300;
  std::vector<uint32_t> row(kChain + 1);
  std::iota(row.begin(), row.end(), 0);
  std::vector<uint32_t> col(kChain);
  for (uint32_t v = 0; v < kChain; ++v) col[v] = v < 200 ? v + 1 : (v + 1 - 200) % 100 + 200;
  std::vector<uint32_t> visited(kChain);
  visited[150] = visited[280] = 1;
  expect_example("reach", reach,
                 {Values().set("row", {0}).set("col", {}).set("visited", {}),
                  Values().set("row", {0, 0, 0}).set("col", {}).set("visited", {0, 0}),
                  Values().set("row", row).set("col", col).set("visited", visited)});
}

TEST(Example, ReachRefusesAMissingRow) {
  const auto outcome =
      Example("reach").run(Values().set("row", {0, 0}).set("col", {}).set("visited", {1, 0}));
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::InvalidArgument);
}

// Union-find.
Values components(const Values& in) {
  const auto from = in.get("from");
  const auto to = in.get("to");
  std::vector<uint32_t> parent(in.get("nodes")[0]);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](uint32_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  for (size_t e = 0; e < from.size(); ++e) {
    const uint32_t a = root(from[e]);
    const uint32_t b = root(to[e]);
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::vector<uint32_t> label(parent.size());
  for (uint32_t v = 0; v < label.size(); ++v) label[v] = root(v);
  return Values().set("label", label);
}

TEST(Example, Components) {
  // A path that is numbered from both ends to the middle.
  Values path;
  std::vector<uint32_t> order(150);
  for (uint32_t v = 0; v < order.size(); ++v) order[v] = v % 2 == 0 ? v : 150 - v;
  path.set("nodes", {151});
  path.set("from", std::vector<uint32_t>(order.begin(), order.end() - 1));
  path.set("to", std::vector<uint32_t>(order.begin() + 1, order.end()));
  expect_example("components", components,
                 {Values().set("nodes", {0}).set("from", {}).set("to", {}),
                  Values().set("nodes", {3}).set("from", {}).set("to", {}),
                  Values().set("nodes", {1}).set("from", {0}).set("to", {0}), path,
                  random_edges("nodes", {130}, 90, 7)});
}

// Dijkstra.
Values shortest_paths(const Values& in) {
  const uint32_t nodes = in.get("graph")[0];
  const uint32_t start = in.get("graph")[1];
  const auto from = in.get("from");
  const auto to = in.get("to");
  const auto cost = in.get("cost");
  const Graph graph = graph_of(nodes, from, to);
  std::vector<uint32_t> dist(nodes, kNone);
  using Entry = std::pair<uint32_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  dist[start] = 0;
  queue.emplace(0, start);
  while (!queue.empty()) {
    const auto [d, v] = queue.top();
    queue.pop();
    if (d != dist[v]) continue;
    for (const Edge& edge : graph[v]) {
      if (d + cost[edge.number] >= dist[edge.to]) continue;
      dist[edge.to] = d + cost[edge.number];
      queue.emplace(dist[edge.to], edge.to);
    }
  }
  std::vector<uint32_t> via(nodes, kNone);
  for (uint32_t e = 0; e < from.size(); ++e)
    if (dist[from[e]] != kNone && dist[from[e]] + cost[e] == dist[to[e]])
      via[to[e]] = std::min(via[to[e]], e);
  return Values().set("dist", dist).set("via", via);
}

TEST(Example, ShortestPaths) {
  const Values alone = Values().set("graph", {1, 0}).set("from", {}).set("to", {}).set("cost", {});
  Values random = random_edges("graph", {140, 139}, 500, 3);
  random.set("cost", some_numbers(500, 1, 20));
  Values chain;  // the longest possible path, edges in the wrong order
  std::vector<uint32_t> from;
  std::vector<uint32_t> to;
  for (uint32_t v = 60; v-- > 0;) {
    from.push_back(v);
    to.push_back(v + 1);
  }
  chain.set("graph", {61, 0}).set("from", from).set("to", to);
  chain.set("cost", some_numbers(60, 1, 1000));
  expect_example("shortest_paths", shortest_paths, {alone, random, chain});
}

Values bfs(const Values& in) {
  const uint32_t nodes = in.get("graph")[0];
  const auto depth =
      breadth_first(graph_of(nodes, in.get("from"), in.get("to")), {in.get("graph")[1]});
  std::vector<uint32_t> found(nodes + 1);
  for (const uint32_t d : depth)
    if (d != kNone) ++found[d];
  return Values().set("depth", depth).set("found", found);
}

TEST(Example, Bfs) {
  expect_example("bfs", bfs,
                 {Values().set("graph", {1, 0}).set("from", {}).set("to", {}),
                  Values().set("graph", {2, 0}).set("from", {0, 1}).set("to", {1, 0}),
                  random_edges("graph", {150, 149}, 260, 11)});
}

Values pagerank(const Values& in) {
  const auto row = in.get("row");
  const auto col = in.get("col");
  const size_t pages = row.size() - 1;
  std::vector<uint32_t> links(pages);
  for (const uint32_t page : col) ++links[page];
  std::vector<float> rank(pages, 1.0F / static_cast<float>(pages));
  uint32_t passes = 0;
  for (float moved = 1; passes < in.get("limits")[0] && moved > 0.000001F; ++passes) {
    std::vector<float> next(pages);
    moved = 0;
    for (size_t v = 0; v < pages; ++v) {
      for (uint32_t e = row[v]; e < row[v + 1]; ++e)
        next[v] += rank[col[e]] / static_cast<float>(links[col[e]]);
      next[v] = (1.0F - 0.85F) / static_cast<float>(pages) + 0.85F * next[v];
      moved = std::max(moved, std::fabs(next[v] - rank[v]));
    }
    rank = std::move(next);
  }
  return Values().set("rank", rank).set("links", links).set("passes", {passes});
}

TEST(Example, Pagerank) {
  // Three links to each of 100 pages.
  std::vector<uint32_t> row;
  for (uint32_t v = 0; v <= 100; ++v) row.push_back(3 * v);
  Values random;
  random.set("limits", {30}).set("row", row).set("col", some_numbers(300, 0, 100));
  Values alone;
  alone.set("limits", {5}).set("row", {0, 1}).set("col", {0});
  Values no_pass = alone;
  no_pass.set("limits", {0});
  expect_example("pagerank", pagerank, {random, alone, no_pass});
}

Values closure(const Values& in) {
  const uint32_t nodes = in.get("nodes")[0];
  const uint32_t words = (nodes + 31) / 32;
  const Graph graph = graph_of(nodes, in.get("from"), in.get("to"));
  std::vector<uint32_t> bits(size_t{nodes} * words);
  for (uint32_t v = 0; v < nodes; ++v) {
    // A node reaches itself only on a circle: start from its successors.
    std::vector<uint32_t> starts;
    for (const Edge& edge : graph[v]) starts.push_back(edge.to);
    const auto depth = breadth_first(graph, starts);
    for (uint32_t w = 0; w < nodes; ++w)
      if (depth[w] != kNone) bits[size_t{v} * words + w / 32] |= 1U << (w % 32);
  }
  return Values().set("reach", bits);
}

TEST(Example, Closure) {
  Values chain;
  std::vector<uint32_t> from(69);
  std::iota(from.begin(), from.end(), 0);
  std::vector<uint32_t> to(69);
  std::iota(to.begin(), to.end(), 1);
  chain.set("nodes", {70}).set("from", from).set("to", to);
  expect_example("closure", closure,
                 {Values().set("nodes", {0}).set("from", {}).set("to", {}),
                  Values().set("nodes", {1}).set("from", {0}).set("to", {0}),
                  Values().set("nodes", {33}).set("from", {}).set("to", {}), chain,
                  random_edges("nodes", {40}, 50, 5)});
}

}  // namespace
}  // namespace vyre::test
