// SPDX-License-Identifier: Apache-2.0
// Short ways to say who the peers of a case are.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "harness.hpp"
#include "peers.hpp"

namespace vyre::bench {

inline Peer missing(std::string name, Goal goal, std::string why) {
  Peer peer{.name = std::move(name), .goal = goal};
  peer.unavailable = std::move(why);
  return peer;
}

// One peer per set of flags. `run` takes the table of functions.
template <class Table, class Run>
void add_tables(Case& c, std::string name, Goal goal, std::span<const Table* const> tables, Run run,
                std::function<Agreement()> compare, const char* why) {
  if (tables.empty()) c.peers.push_back(missing(name, goal, why));
  for (const Table* table : tables)
    c.peers.push_back({.name = name,
                       .variant = table->variant,
                       .goal = goal,
                       .run = [table, run] { run(*table); },
                       .compare = compare});
}

template <class Run>
void add_omp(Case& c, Goal goal, Run run, std::function<Agreement()> compare) {
  add_tables(c, "g++ OpenMP", goal, omp_kernels(), run, std::move(compare),
             "no OpenMP when the build was configured");
}
template <class Run>
void add_omp_passes(Case& c, Goal goal, Run run, std::function<Agreement()> compare) {
  add_tables(c, "g++ OpenMP", goal, omp_passes(), run, std::move(compare),
             "no OpenMP when the build was configured");
}
template <class Run>
void add_tbb(Case& c, Goal goal, Run run, std::function<Agreement()> compare) {
  add_tables(c, "oneTBB", goal, tbb_kernels(), run, std::move(compare),
             "no oneTBB when the build was configured (libtbb-dev)");
}

}  // namespace vyre::bench
