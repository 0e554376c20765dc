// SPDX-License-Identifier: Apache-2.0
// Modules as files: read when a text uses them, from below the folder of the main file.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "vyre/text/text.hpp"

namespace vyre::text {

ModuleReader modules_in(std::string_view folder) {
  return [root = std::string(folder)](std::string_view path) -> ModuleText {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path base = fs::canonical(root.empty() ? fs::path(".") : fs::path(root), error);
    if (error) return {};
    const fs::path file = fs::canonical(base / fs::path(path), error);
    if (error || !fs::is_regular_file(file, error)) return {};
    // Links are resolved: what they lead to has to lie in the folder as well.
    const auto [rest, end] = std::mismatch(base.begin(), base.end(), file.begin(), file.end());
    if (rest != base.end()) return {ModuleText::Status::Outside, {}};
    std::ifstream in(file, std::ios::binary);
    ModuleText text{ModuleText::Status::Found, {}};
    constexpr size_t kChunk = size_t{64} << 10;
    // One byte more than a text may have is enough to see that it is too long.
    while (in && text.text.size() <= kMaxTextBytes) {
      const size_t have = text.text.size();
      text.text.resize(have + kChunk);
      in.read(text.text.data() + have, static_cast<std::streamsize>(kChunk));
      text.text.resize(have + static_cast<size_t>(in.gcount()));
    }
    if (in.bad()) return {};
    return text;
  };
}

ModuleReader modules_beside(std::string_view file) {
  if (file.empty() || file.front() == '<') return {};
  const size_t slash = file.rfind('/');
  if (slash == std::string_view::npos) return modules_in("");
  return modules_in(file.substr(0, slash + 1));
}

}  // namespace vyre::text
