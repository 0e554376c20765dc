// SPDX-License-Identifier: Apache-2.0
// The commands, each in a file of its own name: options in, exit code out. Output goes through App.
#pragma once

#include <string>
#include <vector>

#include "cli/app.hpp"

namespace CLI {
class App;
}

namespace vyre::cli {

struct CheckOptions {
  std::vector<std::string> files;
  std::string sarif;  // where to write a SARIF log, "-" for stdout; empty: nowhere
  bool warnings_as_errors = false;
};
int run_check(App& app, const CheckOptions& options);

struct FmtOptions {
  std::vector<std::string> files;
  bool write = false;
  bool check = false;
};
int run_fmt(App& app, const FmtOptions& options);

struct PrintOptions {
  std::string file;
  std::string as = "text";
  std::string output = "-";
};
int run_print(App& app, const PrintOptions& options);

struct ExplainOptions {
  std::string code;  // empty: list all
};
int run_explain(App& app, const ExplainOptions& options);

int run_version(App& app);

struct CompletionOptions {
  std::string shell;
};
// The script for the whole command tree below `root`.
int run_completion(App& app, const CompletionOptions& options, const CLI::App& root);

}  // namespace vyre::cli
