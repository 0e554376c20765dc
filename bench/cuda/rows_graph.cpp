// SPDX-License-Identifier: Apache-2.0
// G8: breadth-first search on a lattice, which has thousands of levels with little in each. Ours is
// one dispatch; the peers run the same body, or one that looks before it writes, if that is faster.
// A run is long enough for the wall clock alone.
#include "cpu/graphs.hpp"
#include "rows.hpp"

namespace vyre::bench {
namespace {

struct Lattice {
  uint32_t side;
  Graph graph;
  PeerMemory row, col, from, to;

  explicit Lattice(uint32_t n)
      : side(n),
        graph(lattice(n)),
        row(peer_data(graph.row)),
        col(peer_data(graph.col)),
        from(peer_data(graph.from)),
        to(peer_data(graph.to)) {}
  [[nodiscard]] std::string text() const { return "BFS, lattice " + std::to_string(side) + "², "; }
};

// Long enough for fewer samples.
uint32_t samples(const Bench& bench, const Lattice& l) {
  return std::min(l.side > 1024 ? 5U : 9U, bench.options().repetitions);
}

void relaxed_row(Bench& bench, const Lattice& l, bool edges) {
  const bool small = l.side <= 1024;
  const double host_goal = edges ? (small ? 7 : 5.5) : (small ? 5 : 4);
  bench.run("G8", l.text() + (edges ? "a lane per edge" : "a lane per vertex"), [&] {
    const uint32_t nodes = l.graph.nodes;
    auto ours = std::make_shared<Ours>(
        bench, edges ? "bench/cuda/programs/bfs_edges.vyre" : "bench/cpu/programs/bfs.vyre");
    ours->input("start", std::vector<uint32_t>{0}).input("depth", std::vector<uint32_t>(nodes));
    if (edges)
      ours->input("from", l.graph.from).input("to", l.graph.to);
    else
      ours->input("row", l.graph.row).input("col", l.graph.col);
    Case c{.ours = [ours] { ours->run(); }, .repetitions = samples(bench, l)};
    const auto lanes = edges ? static_cast<uint32_t>(l.graph.from.size()) : nodes;
    const auto add = [&](const char* name, const char* variant, double goal, const char* function) {
      const PeerMemory depth = peer_room(size_t{nodes} * 4);
      add_peer(c, name, variant, Goal::ratio(goal),
               {function,
                {edges ? l.from : l.row, edges ? l.to : l.col, depth},
                {lanes, nodes, 0},
                false},
               same<uint32_t>(ours, "depth", depth, nodes));
    };
    constexpr const char* kHost = "host loop, launch, flag back";
    constexpr const char* kWhile = "graph with a WHILE node";
    add(kHost, "same body", host_goal, edges ? "bfs_edge_host" : "bfs_vertex_host");
    add(kHost, "looks first", host_goal, edges ? "bfs_edge_host_look" : "bfs_vertex_host_look");
    add(kWhile, "same body", 2, edges ? "bfs_edge_while" : "bfs_vertex_while");
    add(kWhile, "looks first", 2, edges ? "bfs_edge_while_look" : "bfs_vertex_while_look");
    return c;
  });
}

void queue_row(Bench& bench, const Lattice& l, bool four) {
  const bool small = l.side <= 1024;
  const double host_goal = four ? (small ? 7 : 5.5) : (small ? 5 : 4);
  const uint32_t blocks = bench.size(132U, 4U);
  const std::string lanes = four ? "a queue, four lanes per vertex" : "a queue, a lane per vertex";
  bench.run("G8", l.text() + lanes, [&] {
    const uint32_t nodes = l.graph.nodes;
    auto ours = std::make_shared<Ours>(
        bench, four ? "bench/cuda/programs/bfs_queue4.vyre" : "bench/cuda/programs/bfs_queue.vyre");
    ours->input("start", std::vector<uint32_t>{0})
        .input("row", l.graph.row)
        .input("col", l.graph.col)
        .input("depth", std::vector<uint32_t>(nodes))
        .input("queue", std::vector<uint32_t>(nodes))
        .input("tail", std::vector<uint32_t>(1))
        .grid(blocks);
    Case c{.ours = [ours] { ours->run(); }, .repetitions = samples(bench, l)};
    const auto add = [&](const char* name, double goal, const char* function) {
      const PeerMemory depth = peer_room(size_t{nodes} * 4);
      add_peer(c, name, "same body", Goal::ratio(goal),
               {function,
                {l.row, l.col, depth, peer_room(size_t{nodes} * 4)},
                {blocks, nodes, 0},
                false},
               same<uint32_t>(ours, "depth", depth, nodes));
    };
    add("host loop, launch, length back", host_goal, four ? "bfs_queue4_host" : "bfs_queue_host");
    add("graph with a WHILE node", 2, four ? "bfs_queue4_while" : "bfs_queue_while");
    return c;
  });
}

}  // namespace

void graph_rows(Bench& bench) {
  for (const uint32_t side : {1024U, 2048U}) {
    if (bench.quick() && side > 1024) continue;
    const Lattice l(bench.size(side, 16U));
    relaxed_row(bench, l, false);
    relaxed_row(bench, l, true);
    queue_row(bench, l, false);
    queue_row(bench, l, true);
  }
}

}  // namespace vyre::bench
