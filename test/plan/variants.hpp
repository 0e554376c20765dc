// SPDX-License-Identifier: Apache-2.0
// Changes to a program that its results must not notice. Each makes a random one of many possible
// changes; none if the program has no place for it.
#pragma once

#include <optional>
#include <random>

#include "vyre/check/check.hpp"
#include "vyre/check/launch.hpp"

namespace vyre::plan_test {

using Random = std::mt19937_64;
using Variant = std::optional<check::CheckedProgram>;

// One more `barrier grid` where all lanes of the grid come by together, but not while a copy is
// under way. The program must end well: a trap that nobody resumes ends the phase it happens in.
Variant with_barrier(const check::CheckedProgram& source, Random& random);
// Other names for everything that has one, many of them such as the planner uses itself.
Variant renamed(const check::CheckedProgram& source, Random& random);
// A region of the top level becomes two.
Variant with_region_split(const check::CheckedProgram& source, Random& random);
// Some statements of a list get a region or a block of their own.
Variant with_region_added(const check::CheckedProgram& source, Random& random);
// A branch that no lane takes, which only the run can tell: a store, an endless loop or a return in
// it.
Variant with_dead_code(const check::CheckedProgram& source, Random& random);
// Other numbers for the bindings.
Variant with_bindings_permuted(const check::CheckedProgram& source, Random& random);

struct OtherSize {
  check::CheckedProgram program;
  check::Axes workgroup;
  check::Axes grid;
};
// The same lanes in workgroups of another size, if that can be without anyone noticing. Ids of and
// in a workgroup are computed from gid.
std::optional<OtherSize> with_other_workgroup(const check::CheckedProgram& source,
                                              const check::LaunchRequest& request, Random& random);

}  // namespace vyre::plan_test
