// SPDX-License-Identifier: Apache-2.0
// Reading what a command was given: a path or "-" (stdin), text or encoded bytes. Never more than
// the limit of the form is read.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "vyre/base/stop.hpp"
#include "vyre/base/trace.hpp"
#include "vyre/check/check.hpp"
#include "vyre/ir/program.hpp"
#include "vyre/text/text.hpp"

namespace vyre::cli {

struct Input {
  std::string name;       // for people: the path, or "<stdin>"
  std::string bytes;      // cut off one byte past the limit
  bool encoded = false;   // bytes of ir::encode, not text
  bool too_long = false;  // a text over 16 MiB
};

// A path that cannot be read is a Failure with exit code 11.
std::expected<Input, Failure> read_input(const std::string& path);

// "-" more than once: the second would find nothing.
std::optional<Failure> repeated_stdin(const std::vector<std::string>& paths);

// A program as far as it can be read. With errors it is partial, or empty.
struct Loaded {
  ir::Program program;
  Diagnostics diagnostics;
  bool partial = false;  // `program` is fit for the checker only, because the text has errors
  bool empty = false;    // nothing could be read
  std::vector<text::ModuleSource> modules;
};
// `set`: NAME=VALUE each. A Failure of usage if one does not fit the program.
std::expected<Loaded, Failure> load(const Input& input, const std::vector<std::string>& set = {});

// A program that has been through the checker, and what was said about it.
struct CheckedFile {
  std::string name;                         // for people
  std::string text;                         // what the positions point into
  std::vector<text::ModuleSource> modules;  // and the files that it uses
  Diagnostics diagnostics;
  std::optional<check::CheckedProgram> program;  // only without errors
};
// A path that cannot be read is a Failure; an invalid program is not. With `stop`, Ctrl-C stops it,
// too, once the file is read: it then throws Stopped.
std::expected<CheckedFile, Failure> check_program_file(const std::string& path,
                                                       const std::vector<std::string>& set = {},
                                                       Trace* trace = nullptr,
                                                       const StopCondition* stop = nullptr);

// V006 for the input; no other stage sees a text that long.
Diagnostics too_long(const Input& input);

}  // namespace vyre::cli
