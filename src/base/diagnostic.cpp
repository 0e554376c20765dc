// SPDX-License-Identifier: Apache-2.0
#include "vyre/base/diagnostic.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace vyre {

Diagnostic& Diagnostics::add(Code code, Position at, std::string message, std::string fix) {
  const Severity severity = info_of(code).severity;
  const bool error = severity == Severity::Error;
  ++(error ? errors_ : warnings_);
  Diagnostic diagnostic{code, severity, std::move(at), std::move(message), std::move(fix), {}};
  for (const Position& use : diagnostic.at.used_at)
    diagnostic.notes.push_back({use, "expanded for this use"});
  if (!full()) return list_.emplace_back(std::move(diagnostic));

  ++dropped_;
  if (error) {
    // A hundred warnings must not hide the error that makes the program invalid.
    const auto last_warning = std::find_if(list_.rbegin(), list_.rend(), [](const Diagnostic& d) {
      return d.severity == Severity::Warning;
    });
    if (last_warning != list_.rend()) return *last_warning = std::move(diagnostic);
  }
  return overflow_ = std::move(diagnostic);
}

void Diagnostics::append(Diagnostics other) {
  size_t errors_in_list = 0;
  size_t warnings_in_list = 0;
  for (Diagnostic& d : other.list_) {
    ++(info_of(d.code).severity == Severity::Error ? errors_in_list : warnings_in_list);
    add(d.code, std::move(d.at), std::move(d.message), std::move(d.fix)).notes = std::move(d.notes);
  }
  errors_ += other.errors_ - errors_in_list;
  warnings_ += other.warnings_ - warnings_in_list;
  dropped_ += other.dropped_;
}

void Diagnostics::set_file(std::string_view file) {
  for (Diagnostic& d : list_)
    if (d.at.file.empty()) d.at.file = file;
}

void Diagnostics::sort() {
  // Sorted by way of indices, which also break ties: stable, and without std::stable_sort, whose
  // temporary buffer clang reports as deprecated in libstdc++ 12.
  std::vector<size_t> order(list_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto key = [this](const size_t& index) {
    const Diagnostic& d = list_[index];
    return std::tie(d.at.file, d.at.line, d.at.column, d.code, index);
  };
  std::sort(order.begin(), order.end(),
            [&](const size_t& a, const size_t& b) { return key(a) < key(b); });
  std::vector<Diagnostic> sorted;
  sorted.reserve(list_.size());
  for (const size_t index : order) {
    Diagnostic& d = list_[index];
    // One mistake in a text that is expanded for several uses is shown for the first of them.
    const bool again = !sorted.empty() && !d.at.used_at.empty() && sorted.back().code == d.code &&
                       sorted.back().message == d.message && sorted.back().at.file == d.at.file &&
                       sorted.back().at.line == d.at.line && sorted.back().at.column == d.at.column;
    if (!again) {
      sorted.push_back(std::move(d));
    } else {
      --(d.severity == Severity::Error ? errors_ : warnings_);
    }
  }
  list_ = std::move(sorted);
}

}  // namespace vyre
