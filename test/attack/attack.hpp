// SPDX-License-Identifier: Apache-2.0
// Attacks by random programs: each takes a seed and finds a fault or none. The same seed is the
// same attack everywhere.
#pragma once

#include <cstdint>
#include <string>

namespace vyre::attack {

struct Settings {
  std::string device = "cpu";
  uint32_t size = 0;       // statements of a program; 0: each attack's own
  std::string vyre;        // the program, for attacks on it
  uint32_t rewrites = 10;  // of each program
};

struct Finding {
  std::string fault;   // empty: none
  uint64_t cases = 1;  // how many things were compared
};

// ulp_budget: no result of a maths function is further from the strict one than that, in numbers of
// its type that lie between.
Finding ulp(uint64_t seed, const Settings& settings);
// Rewrites that keep the meaning: added barrier, other names, regions, bindings and workgroups,
// dead code.
Finding rewrites(uint64_t seed, const Settings& settings);
// Grid barriers: the program whole, split into launches, and with 1, 2, 7 and 64 blocks that share
// the grid.
Finding blocks(uint64_t seed, const Settings& settings);
// Text that was changed at random and that the checker accepts still: every backend compiles it.
Finding accepted(uint64_t seed, const Settings& settings);
// Accesses far outside of every kind of memory, by an index that is known at run time only.
Finding bounds(uint64_t seed, const Settings& settings);
// Programs made to cost much: `vyre check` ends with a typed answer, in 256 MiB.
Finding hostile(uint64_t seed, const Settings& settings);

}  // namespace vyre::attack
