// SPDX-License-Identifier: Apache-2.0
// G1: what a pass of a fixpoint costs. G4: what a dispatch costs.
#include "rows.hpp"

namespace vyre::bench {

void pass_rows(Bench& bench) {
  const uint32_t passes = bench.size<uint32_t>(2000, 20);
  for (const uint32_t blocks : {132U, 264U, 528U}) {
    const uint32_t groups = bench.size(blocks, 4U);
    bench.run("G1", "pass of a fixpoint, " + std::to_string(groups) + " × 256 lanes", [&] {
      auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/passes.vyre");
      ours->uniform("most", {passes}).input("x", std::vector<uint32_t>(1)).grid(groups);
      Case c{.per = static_cast<double>(passes), .ours = [ours] { ours->run(); }};
      const auto counted = [ours, passes] {
        const auto x = ours->read<uint32_t>("x");
        return Agreement{x[0] == passes, x[0] == passes ? "passes counted" : "passes differ"};
      };
      add_peer(c, "cooperative groups", "barrier alone", Goal::ratio(blocks < 528 ? 1.05 : 1.02),
               [=](const VyreCudaPeers& p) -> Sides {
                 return {[&p, groups, passes] { p.barriers(groups, 256, passes); }, counted};
               });
      add_peer(c, "host loop", "launch, flag back", Goal::ratio(10),
               [=](const VyreCudaPeers& p) -> Sides {
                 return {[&p, groups, passes] { p.host_passes(groups, 256, passes); }, counted};
               });
      return c;
    });
  }
}

void dispatch_rows(Bench& bench) {
  bench.run("G4", "warm dispatch and wait, resident argument", [&] {
    auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/small.vyre");
    ours->input("d", std::vector<uint32_t>(64)).grid(1);
    Case c{.ours = [ours] { ours->run(); }};
    add_peer(c, "CUDA runtime", "launch and synchronize", Goal::ratio(1 / 0.95),
             [](const VyreCudaPeers& p) -> Sides {
               auto d = std::make_shared<PeerBuffer>(p, 256);
               return {[&p, d] { p.launch(d->as<uint32_t>()); }, nullptr};
             });
    return c;
  });
}

}  // namespace vyre::bench
