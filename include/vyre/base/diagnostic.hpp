// SPDX-License-Identifier: Apache-2.0
// Diagnostics: what a stage found wrong with a program, where, why, and what to do about it.
// Stages append to a Diagnostics list and go on, so that one run reports everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/codes.hpp"

namespace vyre {

// A place in a source text. Lines and columns count from 1, columns in code points; 0 means
// unknown.
struct Position {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 1;  // code points to underline, all on `line`
  // Where the text at this place was expanded for: the innermost use first. Empty for what stands
  // once. Diagnostics show it as notes.
  std::vector<Position> used_at = {};

  [[nodiscard]] bool known() const { return line != 0; }
  friend bool operator==(const Position&, const Position&) = default;
};

struct Note {
  Position at;  // may be unknown
  std::string message;
  friend bool operator==(const Note&, const Note&) = default;
};

struct Diagnostic {
  Code code = Code::UnexpectedToken;
  Severity severity = Severity::Error;
  Position at;
  std::string message;  // lower case, one sentence, names the object and the value
  std::string fix;      // what to write instead, without the word "Fix:"
  std::vector<Note> notes;
  friend bool operator==(const Diagnostic&, const Diagnostic&) = default;
};

// A growing list with a cap: after kMaxDiagnostics further ones are only counted.
class Diagnostics {
 public:
  static constexpr size_t kMaxDiagnostics = 100;

  Diagnostic& add(Code code, Position at, std::string message, std::string fix);
  void append(Diagnostics other);
  // Names the file of diagnostics that have none, for programs that carry no positions.
  void set_file(std::string_view file);

  [[nodiscard]] const std::vector<Diagnostic>& list() const { return list_; }
  [[nodiscard]] size_t errors() const { return errors_; }
  [[nodiscard]] size_t warnings() const { return warnings_; }
  [[nodiscard]] size_t dropped() const { return dropped_; }
  [[nodiscard]] bool full() const { return list_.size() >= kMaxDiagnostics; }
  [[nodiscard]] bool has_errors() const { return errors_ != 0; }

  // By file, line, column, then code; stages run one after another but people read from the top.
  void sort();

 private:
  std::vector<Diagnostic> list_;
  Diagnostic overflow_;  // what add() hands out once the list is full
  size_t errors_ = 0;
  size_t warnings_ = 0;
  size_t dropped_ = 0;
};

// The texts that positions point into, for carets. A file that is not here is printed without its
// line.
struct SourceText {
  std::string file;
  std::string_view text;
};

struct RenderOptions {
  bool color = false;
};

// "file:line:col: error[V070]: message", the line with a caret, notes, "Fix: ...". Ends with a
// newline.
std::string render_text(const Diagnostics& diagnostics, const std::vector<SourceText>& sources,
                        RenderOptions options = {});
// The same shape for what is found while a program runs, which no code of the language names.
struct Finding {
  std::string label;  // "error[Trapped 1011]", "race"
  Position at;
  std::string message;
  std::string fix;
  std::vector<Note> notes;
};
// One after the other, without a count at the end.
std::string render_findings(std::span<const Finding> findings,
                            const std::vector<SourceText>& sources, RenderOptions options = {});
// One JSON array of the diagnostics (the command line tool wraps it in its document).
std::string render_json(const Diagnostics& diagnostics);
// A SARIF 2.1.0 log; the lists of several files become one run.
std::string render_sarif(const Diagnostics& diagnostics, std::string_view tool_version);
std::string render_sarif(std::span<const Diagnostics> lists, std::string_view tool_version);

}  // namespace vyre
