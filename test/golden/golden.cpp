// SPDX-License-Identifier: Apache-2.0
#include "golden/golden.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "cli/input.hpp"
#include "vyre/text/text.hpp"

namespace vyre::golden {

std::filesystem::path source_dir() {
  return VYRE_SOURCE_DIR;
}
std::filesystem::path golden_dir() {
  return source_dir() / "test" / "golden";
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> stems_in(const std::filesystem::path& folder, std::string_view extension) {
  std::vector<std::string> stems;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == extension) stems.push_back(entry.path().stem().string());
  std::sort(stems.begin(), stems.end());
  return stems;
}

Judged judge(std::string text, const std::string& name) {
  cli::Input input;
  input.name = name;
  input.too_long = text.size() > text::kMaxTextBytes;
  input.bytes = std::move(text);
  cli::Loaded loaded = std::move(*cli::load(input));
  Judged judged;
  judged.diagnostics = std::move(loaded.diagnostics);
  if (!loaded.empty) {
    check::Checked checked = check::check(std::move(loaded.program), loaded.partial);
    judged.diagnostics.append(std::move(checked.diagnostics));
    judged.checked = std::move(checked.program);
  }
  judged.diagnostics.sort();
  return judged;
}

std::string describe(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics.list()) {
    text += fmt::format("{} {}:{} {}\n", text_of(d.code), d.at.line, d.at.column, d.message);
    for (const Note& note : d.notes)
      text += fmt::format("  note {}:{} {}\n", note.at.line, note.at.column, note.message);
  }
  return text;
}

std::vector<Fence> fences_of(std::string_view markdown) {
  static constexpr std::string_view kFence = "```";
  std::vector<Fence> fences;
  std::string section;
  bool inside = false;
  size_t number = 0;
  while (!markdown.empty()) {
    const size_t end = std::min(markdown.find('\n'), markdown.size());
    const std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    ++number;
    if (line.starts_with(kFence)) {
      inside = !inside;
      if (inside)
        fences.push_back({std::string(line.substr(kFence.size())), "", number + 1, section});
    } else if (inside) {
      fences.back().text.append(line).push_back('\n');
    } else if (line.starts_with('#')) {
      section = line.substr(std::min(line.find_first_not_of("# "), line.size()));
    }
  }
  return fences;
}

}  // namespace vyre::golden
