// SPDX-License-Identifier: Apache-2.0
// G8: breadth-first search on a lattice. G9: sums.
#include "cpu/graphs.hpp"
#include "rows.hpp"

namespace vyre::bench {

void graph_rows(Bench& bench) {
  for (const uint32_t side : {1024U, 2048U}) {
    const uint32_t s = bench.size(side, 16U);
    bench.run("G8", "BFS, lattice " + std::to_string(s) + "², a lane per vertex", [&] {
      const auto graph = std::make_shared<Graph>(lattice(s));
      auto ours = std::make_shared<Ours>(bench, "bench/cpu/programs/bfs.vyre");
      ours->input("start", std::vector<uint32_t>{0})
          .input("row", graph->row)
          .input("col", graph->col)
          .input("depth", std::vector<uint32_t>(graph->nodes));
      Case c{.ours = [ours] { ours->run(); }};
      add_peer(c, "host loop", "launch, flag back", Goal::ratio(side == 1024 ? 5 : 4),
               [=](const VyreCudaPeers& p) -> Sides {
                 auto row = std::make_shared<PeerBuffer>(p, graph->row.size() * 4);
                 auto col = std::make_shared<PeerBuffer>(p, graph->col.size() * 4);
                 auto depth = std::make_shared<PeerBuffer>(p, size_t{graph->nodes} * 4);
                 row->upload(graph->row);
                 col->upload(graph->col);
                 return {[=, &p] {
                           p.bfs(row->as<uint32_t>(), col->as<uint32_t>(), depth->as<uint32_t>(),
                                 graph->nodes, 0);
                         },
                         [=] {
                           return equal_values<uint32_t>(ours->read<uint32_t>("depth"),
                                                         depth->read<uint32_t>(graph->nodes));
                         }};
               });
      return c;
    });
  }
}

void reduce_rows(Bench& bench) {
  for (const uint32_t bits : {16U, 20U, 28U}) {
    const uint32_t n = bench.size(1U << bits, 4096U);
    const std::string count = bench.quick() ? "4096" : "2^" + std::to_string(bits);
    bench.run("G9", "sum, u32, " + count, [&] {
      const auto x = random_words(n, bits);
      auto ours = std::make_shared<Ours>(bench, "bench/cpu/programs/sum_items.vyre");
      ours->input("x", x).output("total", 4);
      Case c{.ours = [ours] { ours->run(); }};
      add_peer(c, "CUB", "DeviceReduce::Sum", Goal::ratio(bits == 28 ? 1.0 : 2.0),
               [&](const VyreCudaPeers& p) -> Sides {
                 auto d = std::make_shared<PeerBuffer>(p, uint64_t{n} * 4);
                 auto total = std::make_shared<PeerBuffer>(p, 4);
                 d->upload(x);
                 return {[=, &p] { p.sum(d->as<uint32_t>(), total->as<uint32_t>(), n); },
                         [=] {
                           return equal_values<uint32_t>(ours->read<uint32_t>("total"),
                                                         total->read<uint32_t>(1));
                         }};
               });
      return c;
    });
  }
}

}  // namespace vyre::bench
