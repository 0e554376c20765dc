// SPDX-License-Identifier: Apache-2.0
// Barriers, many of them, with data that has to come across each.
#include "gpu/soak.hpp"

namespace vyre::soak {
namespace {

void many(Soak& soak, Rounds::Extra extra, uint32_t slow_unless) {
  const uint32_t rounds = soak.times(1'000'000, 40);
  for (const Form form : kForms) {
    const Rounds program(soak.device, form, extra);
    for (const uint32_t grid : program.grids(soak)) {
      if (grid == 1) continue;
      const Clock::time_point start = Clock::now();
      must(program.run({.grid = grid, .rounds = rounds, .slow_unless = slow_unless}),
           fmt::format("{}, {} workgroups", name_of(form), grid));
      soak.note +=
          fmt::format("{}{} {} x {} barriers {:.2f} us each", soak.note.empty() ? "" : ", ",
                      name_of(form), grid, rounds, ms_since(start) * 1000 / rounds);
    }
  }
}

}  // namespace

void check_barriers(Soak& soak) {
  many(soak, Rounds::Extra::None, 0);
}

// Every 64th round, and every round for a while.
void check_slow_blocks(Soak& soak) {
  many(soak, Rounds::Extra::Slow, 63);
  const uint32_t rounds = soak.times(10'000, 8);
  for (const Form form : kForms) {
    const Rounds program(soak.device, form, Rounds::Extra::Slow);
    for (const uint32_t grid : program.grids(soak))
      must(program.run({.grid = grid, .rounds = rounds}), "slow in every round");
  }
}

}  // namespace vyre::soak
