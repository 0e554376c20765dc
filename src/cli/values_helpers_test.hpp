// SPDX-License-Identifier: Apache-2.0
// Short forms for the tests of values.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "cli/values.hpp"
#include "cli/values_forms.hpp"

namespace vyre::cli {

inline std::vector<std::byte> bytes_from(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<size_t>(b) >> 4];
    text += kDigits[std::to_integer<size_t>(b) & 15];
  }
  return text;
}

// "[1, 2]", or "message | fix" of the failure.
inline std::string shown(ir::Type element, const ValueResult& result) {
  if (!result) return result.error().message + " | " + result.error().fix;
  std::string text = "[";
  const ArrayView array{"a", element, *result, {}};
  for (uint64_t i = 0; i < array.count(); ++i)
    text += (i == 0 ? "" : ", ") + element_text(element, *result, i);
  return text + "]";
}

inline std::string read_shown(ir::Type element, std::string_view text,
                              std::optional<uint64_t> count = {}, uint64_t seed = 0) {
  return shown(element, read_value({"a", element, count}, text, {seed}));
}

// A folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "vyre-values-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path(std::string_view name) const { return path_ / name; }
  std::string add(std::string_view name, std::string_view content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  [[nodiscard]] std::string content(std::string_view name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace vyre::cli
