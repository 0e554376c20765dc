// SPDX-License-Identifier: Apache-2.0
// The commands, each in a file of its own name: options in, exit code out. Output goes through App.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/dispatch.hpp"

namespace CLI {
class App;
}

namespace vyre::cli {

struct CheckOptions {
  std::vector<std::string> files;
  std::string sarif;  // where to write a SARIF log, "-" for stdout; empty: nowhere
  bool warnings_as_errors = false;
  bool races = false;
  bool bounds = false;
  DispatchOptions dispatch;  // with races
};
int run_check(App& app, const CheckOptions& options);
// One program, run under several schedules.
int run_check_races(App& app, const CheckOptions& options);

struct RunOptions {
  DispatchOptions dispatch;
  std::vector<std::string> out;    // name=FILE
  std::vector<std::string> shape;  // name=H,W
  std::string device = "auto";
  bool no_fallback = false;             // auto: a GPU or nothing
  std::optional<std::string> schedule;  // of the reference interpreter
  std::optional<uint32_t> subgroup_size;
  CodeOptions code;
  uint32_t iterations = 1;
  bool checked = false;
  bool print = false;  // print() writes lines
  std::string tune = "read";
  uint32_t repeat = 1;
  bool time = false;
  bool no_cache = false;
  std::string trace;  // files to write; empty: none
  std::string metrics;
};
int run_run(App& app, const RunOptions& options);

struct ProfileOptions {
  DispatchOptions dispatch;
  std::string device = "auto";
  uint32_t iterations = 1;
  bool checked = false;
  std::string tune = "read";
  CodeOptions code;
  uint32_t repeat = 5;
  bool no_cache = false;
  std::string as = "text";
  std::string output = "-";
};
int run_profile(App& app, const ProfileOptions& options);

struct TuneOptions {
  DispatchOptions dispatch;
  std::string device = "auto";
  std::string budget = "30";  // seconds
  CodeOptions code;
  uint32_t iterations = 1;
  bool checked = false;
};
int run_tune(App& app, const TuneOptions& options);

struct FmtOptions {
  std::vector<std::string> files;
  bool write = false;
  bool check = false;
};
int run_fmt(App& app, const FmtOptions& options);

struct PrintOptions {
  std::string file;
  std::vector<std::string> set;  // NAME=VALUE
  std::string as = "text";
  std::string output = "-";
};
int run_print(App& app, const PrintOptions& options);

struct PlanOptions {
  DispatchOptions dispatch;
  std::string route;   // empty: chosen
  std::string device;  // empty: none named
  std::optional<int64_t> resident;
  std::string tune = "read";
  CodeOptions code;
  bool checked = false;
  bool print = false;
  bool segments = false;
  std::string dump_after;  // a pass of the planner, or all; empty: the plan itself
  std::string as = "text";
  std::string output = "-";
};
int run_plan(App& app, const PlanOptions& options);

struct CompileOptions {
  DispatchOptions dispatch;  // the program and --workgroup
  std::string device;        // or
  std::string architecture;  // of GPUs: sm_75 and later
  std::string emit;          // one of codegen::listing_names()
  std::string route;         // empty: that of a grid that fits
  std::string tune = "read";
  CodeOptions code;
  bool checked = false;
  bool print = false;
  std::string output = "-";
};
int run_compile(App& app, const CompileOptions& options);

struct VerifyOptions {
  DispatchOptions dispatch;
  std::string devices;  // separated by commas; empty: all usable ones
  uint32_t iterations = 1;
  bool checked = false;
};
int run_verify(App& app, const VerifyOptions& options);

struct CacheOptions {
  std::string action;                    // stat, verify, gc, clear or why
  std::optional<std::string> directory;  // else the one that is used
  std::optional<int64_t> max_bytes;      // of gc
  // Of why: the dispatch in question.
  std::string file;
  std::string device = "auto";
  std::string workgroup;
  bool checked = false;
  CodeOptions code;
  bool print = false;
};
int run_cache(App& app, const CacheOptions& options);
int run_cache_why(App& app, const CacheOptions& options);

struct ExplainOptions {
  std::string code;  // empty: list all
};
int run_explain(App& app, const ExplainOptions& options);

struct DevicesOptions {
  std::string id;  // of a backend or a device; empty: list all
};
int run_devices(App& app, const DevicesOptions& options);

int run_doctor(App& app);

int run_lsp(App& app);

int run_version(App& app);

struct CompletionOptions {
  std::string shell;
};
// The script for the whole command tree below `root`.
int run_completion(App& app, const CompletionOptions& options, const CLI::App& root);

}  // namespace vyre::cli
