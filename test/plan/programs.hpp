// SPDX-License-Identifier: Apache-2.0
// The directed programs of test/plan/programs: one shape of barriers, fixpoints, ended lanes or
// traps per file, small and race-free, with a result that tells whether the shape was understood.
//
// The first line of a file says what it is about. One line `// run: --in a=[1,2] --grid 3` has the
// inputs and, if they are not what the program says, the workgroups. `// error: Trapped` names the
// error with which the dispatch ends.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/check/check.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/ir/program.hpp"

namespace vyre::plan_test {

struct Directed {
  std::string name;
  ir::Program program;
  std::vector<std::vector<std::byte>> inputs;  // by input slot
  std::optional<check::Axes> grid;
  std::string error;  // name of the expected error's code; empty: the dispatch succeeds
};

// What a run line says. Inputs that `given` has by input slot are taken from there.
struct RunLine {
  std::vector<std::vector<std::byte>> inputs;  // by input slot
  std::optional<check::Axes> grid;
};
// Throws std::runtime_error, with what is wrong; an input that nobody gives is wrong.
RunLine read_run_line(const check::CheckedProgram& checked, const std::string& line,
                      std::vector<std::optional<std::vector<std::byte>>> given = {});
// What stands after `mark` in the one line that begins with it; nothing if there is no such line.
// Throws std::runtime_error if there are two.
std::optional<std::string> line_after(const std::string& text, std::string_view mark);

std::filesystem::path programs_dir();
// Names of the files without ending, sorted.
std::vector<std::string> directed_names();
// Throws std::runtime_error, with what is wrong, for a file that does not check or has no `// run:`
// line that gives every input.
Directed load_directed(const std::string& name);
// All of them, in the order of directed_names().
std::vector<Directed> load_directed();

}  // namespace vyre::plan_test
