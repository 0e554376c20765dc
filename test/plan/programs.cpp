// SPDX-License-Identifier: Apache-2.0
#include "plan/programs.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "cli/input.hpp"
#include "cli/values.hpp"
#include "vyre/base/diagnostic.hpp"

namespace vyre::plan_test {
namespace {

constexpr std::string_view kRunMark = "// run:";
constexpr std::string_view kErrorMark = "// error:";

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream rest(line);
  std::vector<std::string> words;
  for (std::string word; rest >> word;) words.push_back(word);
  return words;
}

// X[,Y[,Z]]; the rest is 1.
check::Axes read_grid(const std::string& text) {
  check::Axes axes = {1, 1, 1};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (uint32_t& axis : axes) {
    const auto [next, error] = std::from_chars(at, end, axis);
    if (error != std::errc()) break;
    if (next == end) return axes;
    if (*next != ',') break;
    at = next + 1;
  }
  throw std::runtime_error("--grid takes one to three numbers, not '" + text + "'");
}

void read_input(const check::CheckedProgram& checked, const std::string& text,
                std::vector<std::optional<std::vector<std::byte>>>& slots) {
  const auto given = cli::parse_assignment("--in", text);
  if (!given) throw std::runtime_error(given.error().message);
  for (size_t b = 0; b < checked.buffers.size(); ++b) {
    const ir::Buffer& buffer = checked.program.buffers[b];
    const check::BufferFacts& facts = checked.buffers[b];
    if (buffer.name != given->name || !facts.input_slot) continue;
    auto bytes = cli::read_value({.name = buffer.name,
                                  .element = buffer.element,
                                  .count = facts.constant_count,
                                  .scalar = buffer.scalar},
                                 given->value, {});
    if (!bytes) throw std::runtime_error(bytes.error().message);
    slots.at(*facts.input_slot) = std::move(*bytes);
    return;
  }
  throw std::runtime_error("there is no input named `" + given->name + "`");
}

}  // namespace

std::optional<std::string> line_after(const std::string& text, std::string_view mark) {
  std::istringstream lines(text);
  std::optional<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(mark)) continue;
    if (found) throw std::runtime_error("two lines begin with `" + std::string(mark) + "`");
    found = line.substr(mark.size());
  }
  return found;
}

RunLine read_run_line(const check::CheckedProgram& checked, const std::string& line,
                      std::vector<std::optional<std::vector<std::byte>>> given) {
  RunLine into;
  const auto takes_input = [](const check::BufferFacts& b) { return b.input_slot.has_value(); };
  given.resize(static_cast<size_t>(std::ranges::count_if(checked.buffers, takes_input)));
  const std::vector<std::string> words = words_of(line);
  if (words.size() % 2 != 0) throw std::runtime_error("an option of the run line has no value");
  for (size_t i = 0; i < words.size(); i += 2) {
    if (words[i] == "--in")
      read_input(checked, words[i + 1], given);
    else if (words[i] == "--grid")
      into.grid = read_grid(words[i + 1]);
    else
      throw std::runtime_error("the run line knows --in and --grid, not " + words[i]);
  }
  for (auto& slot : given) {
    if (!slot) throw std::runtime_error("the run line does not give every input");
    into.inputs.push_back(std::move(*slot));
  }
  return into;
}

std::filesystem::path programs_dir() {
  return std::filesystem::path(VYRE_SOURCE_DIR) / "test" / "plan" / "programs";
}

std::vector<std::string> directed_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(programs_dir()))
    if (entry.path().extension() == ".vyre") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

Directed load_directed(const std::string& name) {
  const auto file = cli::check_program_file((programs_dir() / (name + ".vyre")).string());
  if (!file) throw std::runtime_error(name + ": " + file.error().message);
  if (!file->program)
    throw std::runtime_error(render_text(file->diagnostics, {{file->name, file->text}}, {}));
  Directed directed;
  directed.name = name;
  directed.program = file->program->program;
  try {
    const auto run = line_after(file->text, kRunMark);
    if (!run) throw std::runtime_error("no line begins with `" + std::string(kRunMark) + "`");
    RunLine line = read_run_line(*file->program, *run);
    directed.inputs = std::move(line.inputs);
    directed.grid = line.grid;
    if (const auto error = line_after(file->text, kErrorMark)) {
      const std::vector<std::string> words = words_of(*error);
      if (words.size() != 1) throw std::runtime_error("one error is expected at most");
      directed.error = words.front();
    }
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(name + ": " + e.what());
  }
  return directed;
}

std::vector<Directed> load_directed() {
  std::vector<Directed> all;
  for (const std::string& name : directed_names()) all.push_back(load_directed(name));
  return all;
}

}  // namespace vyre::plan_test
