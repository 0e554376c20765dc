// SPDX-License-Identifier: Apache-2.0
// C5: fixpoints on graphs, against the same algorithms written by hand for OpenMP.
#include "graphs.hpp"
#include "host.hpp"
#include "rows.hpp"
#include "sides.hpp"

namespace vyre::bench {
namespace {

struct Input {
  std::string name;
  Graph graph;
  double goal;
  uint32_t start = 0;
};

// The better of two ways to share out nodes is the peer.
template <class Run>
void add_deals(Case& c, Goal goal, Run run, const std::function<Agreement()>& compare) {
  for (const Deal deal : {Deal::Static, Deal::Dynamic}) {
    const size_t first = c.peers.size();
    add_omp_passes(c, goal, [run, deal](const OmpPasses& peer) { run(peer, deal); }, compare);
    for (size_t i = first; i < c.peers.size(); ++i)
      c.peers[i].variant += deal == Deal::Static ? ", static" : ", dynamic";
  }
}

CsrGraph csr(const Graph& graph) {
  return {graph.nodes, graph.row.data(), graph.col.data()};
}

void bfs_row(Bench& bench, const std::shared_ptr<const Input>& input) {
  bench.run("C5", "BFS, " + input->name, [&] {
    auto ours = std::make_shared<Ours>(bench, "bench/cpu/programs/bfs.vyre");
    auto depth = std::make_shared<HostArray<uint32_t>>(input->graph.nodes);
    ours->input("start", std::vector<uint32_t>{input->start})
        .input("row", input->graph.row)
        .input("col", input->graph.col)
        .input("depth", depth->span());
    Case c{.ours = [ours] { ours->run(); }};
    add_deals(
        c, Goal::ratio(input->goal),
        [=](const OmpPasses& peer, Deal deal) {
          peer.bfs(csr(input->graph), input->start, depth->data(), deal);
        },
        [=] { return equal_values<uint32_t>(ours->read<uint32_t>("depth"), depth->span()); });
    return c;
  });
}

void components_row(Bench& bench, const std::shared_ptr<const Input>& input) {
  bench.run("C5", "connected components, examples/components.vyre, " + input->name, [&] {
    const Graph& graph = input->graph;
    auto ours = std::make_shared<Ours>(bench, "examples/components.vyre");
    auto label = std::make_shared<HostArray<uint32_t>>(graph.nodes);
    ours->uniform("nodes", {graph.nodes})
        .input("from", graph.from)
        .input("to", graph.to)
        .output("label", graph.nodes * uint64_t{4});
    Case c{.ours = [ours] { ours->run(); }};
    add_omp_passes(
        c, Goal::ratio(input->goal),
        [=](const OmpPasses& peer) {
          const Graph& g = input->graph;
          peer.components({g.nodes, g.from.size(), g.from.data(), g.to.data()}, label->data());
        },
        [=] { return equal_values<uint32_t>(ours->read<uint32_t>("label"), label->span()); });
    return c;
  });
}

void pagerank_row(Bench& bench, const std::shared_ptr<const Input>& input, uint32_t limit) {
  const std::string what = "PageRank, " + std::to_string(limit) + " passes, ";
  bench.run("C5", what + input->name, [&] {
    struct Data {
      Ours ours;
      HostArray<float> rank, next;
      HostArray<uint32_t> links;
    };
    const Graph& graph = input->graph;
    auto data = std::make_shared<Data>(
        Data{Ours(bench, "bench/cpu/programs/pagerank.vyre"), HostArray<float>(graph.nodes),
             HostArray<float>(graph.nodes), HostArray<uint32_t>(graph.nodes)});
    data->ours.input("limits", std::vector<uint32_t>{limit})
        .input("close", std::vector<float>{0})
        .input("row", graph.row)
        .input("col", graph.col)
        .output("rank", graph.nodes * uint64_t{4})
        .output("links", graph.nodes * uint64_t{4})
        .output("moved", 4);
    Case c{.ours = [data] { data->ours.run(); }};
    add_deals(
        c, Goal::ratio(input->goal),
        [=](const OmpPasses& peer, Deal deal) {
          peer.pagerank(csr(input->graph), data->rank.data(), data->links.data(), data->next.data(),
                        limit, deal);
        },
        [=] { return equal_values<float>(data->ours.read<float>("rank"), data->rank.span()); });
    return c;
  });
}

}  // namespace

void graph_rows(Bench& bench) {
  std::vector<std::function<Input()>> makes;
  if (bench.quick()) {
    makes.push_back([] { return Input{"lattice 12²", lattice(12), 1.0}; });
    makes.push_back([] { return Input{"R-MAT scale 8", rmat(8, 16), 1.3}; });
  } else {
    makes.push_back([] { return Input{"lattice 1024²", lattice(1024), 1.0}; });
    for (const uint32_t scale : {18u, 20u})
      makes.push_back([scale] {
        return Input{"R-MAT scale " + std::to_string(scale) + ", degree 16", rmat(scale, 16), 1.3};
      });
  }
  for (const auto& make : makes) {
    auto input = std::make_shared<Input>(make());
    // A node that has edges.
    while (input->graph.row[input->start] == input->graph.row[input->start + 1]) ++input->start;
    bfs_row(bench, input);
    components_row(bench, input);
    pagerank_row(bench, input, bench.size<uint32_t>(20, 3));
  }
}

}  // namespace vyre::bench
