// SPDX-License-Identifier: Apache-2.0
// Lines of C with their indentation.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace vyre::codegen::c {

class Writer {
 public:
  explicit Writer(int depth = 0) : depth_(depth) {}

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<size_t>(depth_) * 2, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  // A line that ends with an opening brace.
  template <class... Args>
  void open(fmt::format_string<Args...> format, Args&&... args) {
    line(format, std::forward<Args>(args)...);
    ++depth_;
  }
  void close(std::string_view end = "}") {
    --depth_;
    line("{}", end);
  }
  // After close("} else {").
  void reopen() { ++depth_; }
  // A label stands beside the block that it is in.
  void label(std::string_view name) {
    --depth_;
    line("{}:;", name);
    ++depth_;
  }
  void blank() { text_ += '\n'; }
  void append(std::string_view lines) { text_ += lines; }

  [[nodiscard]] int depth() const { return depth_; }
  [[nodiscard]] std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
  int depth_;
};

}  // namespace vyre::codegen::c
