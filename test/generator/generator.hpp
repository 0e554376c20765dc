// SPDX-License-Identifier: Apache-2.0
// Random programs that are valid, free of races and give the same result under every schedule, with
// inputs to run them on. Whatever two runs of one of them disagree about is a fault of whoever ran
// it. The same seed and options give the same program on every platform.
//
// How freedom from races comes about: every memory that can be written has a role between two
// barriers (roles.cpp), and roles change only at a barrier of sufficient scope. Atomics whose old
// value is used touch elements of one lane only, or hand out tickets that nobody can tell apart.
// No bits of a NaN made by arithmetic reach an integer or the comparison of a fixpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/check/launch.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::generator {

// What a program may contain. A backend that lacks something switches it off.
struct GeneratorOptions {
  uint32_t size = 60;  // about how many statements
  bool grid_barriers = true;
  bool workgroup_barriers = true;
  bool shared = true;
  bool subgroups =
      true;  // operations, barriers and ids; without them no result depends on the size
  bool fixpoints = true;  // these, traps and collectives only with grid_barriers
  bool traps = true;
  bool unmatched_traps = true;  // some programs fail, identically under every schedule
  bool collectives = true;
  bool functions = true;
  bool atomics = true;
  bool wide_atomics = true;   // on u64 and i64
  bool float_atomics = true;  // atomic_add on f32; load, store and exchange are always there
  bool async = true;
  bool floats = true;
  bool transcendental = true;
  bool wide = true;  // u64 and i64
  bool doubles = true;
  bool storage_types = true;
  bool returns = true;    // lanes that end early
  bool many_axes = true;  // two- and three-dimensional workgroups
  bool persistent = true;
  bool swaps = true;   // only with grid_barriers
  bool shapes = true;  // axes, scalars and scratch
  uint32_t max_lanes = 200;
  // Puts one race into the program.
  bool plant_race = false;
};

// The race that plant_race put there. One statement can race with itself in another lane.
struct Planted {
  std::string shape;
  std::string buffer;
  uint32_t first_line = 0;  // in the printed text
  uint32_t second_line = 0;
  uint32_t subgroup_size = 4;  // one under which it is a race
};

struct Generated {
  ir::Program program;                         // with the positions of its printed text
  std::vector<std::vector<std::byte>> inputs;  // by input slot
  check::Axes grid = {1, 1, 1};                // workgroups per axis; also what `over` says, if any
  std::optional<Planted> planted;
};

Generated generate(uint64_t seed, const GeneratorOptions& options = {});

// Puts a print() before some of the statements: lines that are the same under every schedule,
// unless how often a statement is executed depends on it.
void add_prints(ir::Program& program, uint64_t seed);

// The names of all switches of the options, for tools, and one of them by its name.
std::vector<std::string_view> switch_names();
bool* find_switch(GeneratorOptions& options, std::string_view name);

}  // namespace vyre::generator
