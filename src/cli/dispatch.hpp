// SPDX-License-Identifier: Apache-2.0
// What the commands that run a program share: reading and checking it, the data of its inputs, and
// telling what went wrong while it ran.
#pragma once

#include <atomic>
#include <chrono>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/stop.hpp"
#include "cli/app.hpp"
#include "vyre/base/result.hpp"
#include "vyre/base/trace.hpp"
#include "vyre/check/check.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::cli {

// What code may be, beyond the program: DispatchConfig has the fields.
struct CodeOptions {
  uint32_t ulp_budget = 0;  // 0: strict
  std::string profile = "throughput";
};

// Options with the same meaning for every such command.
struct DispatchOptions {
  std::string file;
  std::vector<std::string> in;   // name=VALUE
  std::vector<std::string> set;  // NAME=VALUE, of static parameters and constants
  std::string grid;              // X[,Y[,Z]]; empty: from the program
  std::string workgroup;
  std::string timeout = "60";  // seconds; 0: none
  bool untrusted = false;      // limits for programs from people one does not trust
  uint64_t seed = 0;           // of random() inputs and of the random schedule
};

// A checked program with its inputs.
struct Prepared {
  std::string name;                         // of the file, for people
  std::string text;                         // what positions point into
  std::vector<text::ModuleSource> modules;  // and the files that it uses
  check::CheckedProgram checked;
  std::vector<std::vector<std::byte>> inputs;  // by input slot; empty where one is missing
  std::vector<ir::BufferId> missing;           // with Inputs::AsGiven
  std::optional<check::Axes> grid, workgroup;
  std::chrono::nanoseconds timeout{0};
  StopCondition stop{};  // of the command: the time from its start, and Ctrl-C
  bool untrusted = false;

  // For the lines that findings show.
  [[nodiscard]] std::vector<SourceText> sources() const {
    std::vector<SourceText> all = {{name, text}};
    for (const text::ModuleSource& module : modules) all.push_back({module.file, module.text});
    return all;
  }
  // Of `timeout`: never nothing, which is no limit.
  [[nodiscard]] std::chrono::nanoseconds time_left() const;
  [[nodiscard]] std::vector<std::span<const std::byte>> input_views() const {
    return {inputs.begin(), inputs.end()};
  }
};

// Whether every input must be given.
enum class Inputs : uint8_t { All, AsGiven };

// Diagnostics and failures are shown (with --json also as a document); the exit code is then what
// is left.
std::expected<Prepared, int> prepare(App& app, const DispatchOptions& options,
                                     Inputs inputs = Inputs::All, Trace* trace = nullptr);

// An error of a dispatch: on stderr with the place in the program, with --json also as a document.
// `more` goes into the document as well. The exit code.
int fail(App& app, const Prepared& prepared, const Error& error, const Json* more = nullptr);
// An error that has nothing to do with the text of a program.
int fail(App& app, const Error& error);
// A JSON object: code, name, message, fix, and the position if there is one.
Json json_of(const Error& error);

// Set while a command runs: Ctrl-C requests a stop, a second one ends the process.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  static const std::atomic<bool>& interrupted();
};
inline constexpr int kExitInterrupted = 130;

// Work of the host that a time limit and Ctrl-C stop (base/stop.hpp).
class StoppableScope {
 public:
  explicit StoppableScope(const StopCondition& stop) : scope_(stop) {}

 private:
  InterruptGuard interrupt_;
  StopScope scope_;
};
// What `work` gives; Timeout if it was stopped.
template <class Work>
auto stoppable(const Prepared& prepared, const Work& work) -> decltype(work()) {
  try {
    const StoppableScope scope(prepared.stop);
    return work();
  } catch (const Stopped& stopped) {
    return std::unexpected(error_of(stopped));
  }
}

// A line on a terminal that says how far a dispatch is, from half a second of work on. Nothing
// elsewhere.
class ProgressBar {
 public:
  explicit ProgressBar(std::string name);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(const oracle::Progress& progress);
  void show(uint64_t workgroups_done, uint64_t workgroups);  // of the launch that runs
  void clear();

 private:
  std::string name_;
  std::chrono::steady_clock::time_point start_;
  bool terminal_ = false;
  bool shown_ = false;
  uint64_t launches_ = 1;
  uint64_t last_done_ = 0;

  // The start of a line, if it is time for one.
  std::string begin_line();
};

}  // namespace vyre::cli
