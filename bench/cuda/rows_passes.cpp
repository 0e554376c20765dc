// SPDX-License-Identifier: Apache-2.0
// G1: what a barrier of the grid and a pass of a fixpoint cost. G10: more workgroups than fit at
// once.
#include "rows.hpp"

namespace vyre::bench {
namespace {

constexpr uint32_t kThreads = 256;

// Where results are passes that somebody counted.
std::function<Agreement()> counted(const std::shared_ptr<Ours>& ours, const PeerMemory& x,
                                   uint32_t passes) {
  return [=] {
    const bool good = ours->read<uint32_t>("x")[0] == passes && x->read<uint32_t>(1)[0] == passes;
    return Agreement{good, good ? "passes counted" : "passes differ"};
  };
}

void barrier_row(Bench& bench, uint32_t blocks, uint32_t passes) {
  bench.run("G1", "grid barrier, " + std::to_string(blocks) + " × 256 lanes", [&] {
    auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/barriers.vyre");
    ours->uniform("passes", {passes}).input("x", std::vector<uint32_t>(1)).grid(blocks);
    Case c = case_of(ours);
    c.per = passes;
    const PeerMemory x = peer_room(4);
    add_peer(c, "cooperative groups", "grid.sync", Goal::ratio(blocks < 528 ? 1.05 : 1.02),
             {"barriers", {x}, {blocks, kThreads, passes}}, counted(ours, x, passes));
    return c;
  });
}

void fixpoint_row(Bench& bench, uint32_t blocks, uint32_t passes) {
  bench.run("G1", "pass of a fixpoint, " + std::to_string(blocks) + " × 256 lanes", [&] {
    auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/passes.vyre");
    ours->uniform("most", {passes}).input("x", std::vector<uint32_t>(1)).grid(blocks);
    Case c = case_of(ours);
    c.per = passes;
    const PeerMemory x = peer_room(4);
    const auto equal = counted(ours, x, passes);
    const std::vector<uint32_t> numbers = {blocks, kThreads, passes};
    add_peer(c, "cooperative groups, barrier alone", "grid.sync",
             Goal::ratio(blocks < 528 ? 1.05 : 1.02), {"barriers", {x}, numbers}, equal);
    constexpr const char* kByHand = "cooperative groups, same pass";
    add_peer(c, kByHand, "all read the flag", Goal::ratio(1.05), {"fixpoint", {x}, numbers}, equal);
    add_peer(c, kByHand, "one of a block reads the flag", Goal::ratio(1.05),
             {"fixpoint_one", {x}, numbers}, equal);
    add_peer(c, "graph with a WHILE node", "pass, decision", Goal::ratio(5),
             {"while_passes", {x}, numbers}, equal);
    add_peer(c, "host loop", "launch, flag back", Goal::ratio(10), {"host_passes", {x}, numbers},
             equal);
    if (blocks == 132) add_absolute(c, Goal::at_most(920));
    return c;
  });
}

void state_row(Bench& bench, uint32_t blocks, uint32_t phases, double goal) {
  const std::string mib = std::to_string(uint64_t{blocks} * kThreads * 16 >> 20);
  bench.run(
      "G10",
      "phase with 4 words of state, " + std::to_string(blocks) + " × 256 lanes (" + mib + " MiB)",
      [&] {
        const size_t lanes = size_t{blocks} * kThreads;
        const auto x = random_words(lanes, 3);
        auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/state.vyre");
        ours->uniform("phases", {phases})
            .input("x", x)
            .input("mail", std::vector<uint32_t>(size_t{2} * blocks))
            .input("y", std::vector<uint32_t>(lanes))
            .grid(blocks);
        Case c = case_of(ours);
        c.per = phases;
        const PeerMemory y = peer_room(lanes * 4);
        add_peer(c, "graph of split launches", "state in memory", Goal::ratio(goal),
                 {"state_phases",
                  {peer_data(x), y, peer_room(lanes * 16), peer_room(size_t{blocks} * 8)},
                  {blocks, phases}},
                 same<uint32_t>(ours, "y", y, lanes));
        return c;
      });
}

}  // namespace

void pass_rows(Bench& bench) {
  const uint32_t passes = bench.size<uint32_t>(2000, 20);
  if (bench.quick()) {
    barrier_row(bench, 4, passes);
    fixpoint_row(bench, 4, passes);
    return;
  }
  for (const uint32_t blocks : {132U, 264U, 528U}) barrier_row(bench, blocks, passes);
  for (const uint32_t blocks : {132U, 264U, 528U}) fixpoint_row(bench, blocks, passes);
}

void phase_rows(Bench& bench) {
  if (bench.quick()) return state_row(bench, 6, 5, 1);
  for (const uint32_t blocks : {1056U, 2112U, 4224U}) state_row(bench, blocks, 100, 3);
  state_row(bench, 8192, 100, 1.15);
  state_row(bench, 65536, 100, 1);
}

}  // namespace vyre::bench
