// SPDX-License-Identifier: Apache-2.0
// Programs that are files: the examples, the directed programs about barriers of test/plan, and the
// kernels of this folder.
//
// A file says in a line `// run: --in a=[1,2] --grid 3` what it is run on, in `// error: Trapped`
// how it ends, and in `// mode: checked` how it runs
// (`racy`: it has races that do not show); `// print: 100` gives the lines of print() so many
// bytes.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "conformance/case.hpp"
#include "plan/programs.hpp"

namespace vyre::conformance {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Without --out and --shape, which say where results go.
std::string inputs_of(const std::string& line) {
  std::istringstream rest(line);
  std::string kept;
  for (std::string option, value; rest >> option >> value;)
    if (option == "--in" || option == "--grid") kept += option + " " + value + " ";
  return kept;
}

std::optional<ErrorCode> error_named(const std::optional<std::string>& line) {
  if (!line) return std::nullopt;
  const std::string name = line->substr(line->find_first_not_of(' '));
  for (uint16_t code = 1001; code <= 1017; ++code)
    if (name_of(static_cast<ErrorCode>(code)) == name) return static_cast<ErrorCode>(code);
  throw std::runtime_error("there is no error " + name);
}

std::vector<Case> cases_in(const std::string& folder, const std::string& prefix) {
  std::vector<Case> cases;
  const auto root = std::filesystem::path(VYRE_SOURCE_DIR) / folder;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.path().extension() != ".vyre") continue;
    Case one;
    one.name = prefix + entry.path().stem().string();
    one.text = read(entry.path());
    one.run_line = inputs_of(plan_test::line_after(one.text, "// run:").value_or(""));
    one.error = error_named(plan_test::line_after(one.text, "// error:"));
    const std::string mode = plan_test::line_after(one.text, "// mode:").value_or("");
    one.checked = mode == " checked";
    if (const auto bytes = plan_test::line_after(one.text, "// print:"))
      one.print_bytes = std::stoull(*bytes);
    one.racy = mode == " racy";
    cases.push_back(std::move(one));
  }
  std::ranges::sort(cases, {}, &Case::name);
  return cases;
}

}  // namespace

std::vector<Case> file_cases() {
  std::vector<Case> cases = cases_in("examples", "example_");
  // These take seconds on an interpreter.
  const auto large = [](const Case& one) {
    return one.name == "example_heat" || one.name == "example_life" ||
           one.name == "example_mandelbrot";
  };
  for (Case& one : cases) {
    one.guarded = one.passes_vary = true;
    one.every_route = !large(one);
  }
  for (Case& one : cases_in("test/conformance/programs", "kernel_")) {
    one.every_route = true;
    cases.push_back(std::move(one));
  }
  // The driver tests run these on every route.
  for (Case& one : cases_in("test/plan/programs", "barrier_")) cases.push_back(std::move(one));
  return cases;
}

}  // namespace vyre::conformance
