// SPDX-License-Identifier: Apache-2.0
// A compilation in a process of its own, which has limits on memory and time and can be ended at
// any moment. It is started by posix_spawn: the caller may have other threads and signal handlers.
// The job goes to it as a file in memory, the answer comes through a pipe; no descriptor of the
// caller is inherited, no process is left behind, and it ends when the caller does.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "pipeline/compile_job.hpp"

namespace vyre::pipeline {

// The environment variable that names another executable, or kInProcess.
inline constexpr const char* kCompilerVariable = "VYRE_COMPILE";
inline constexpr std::string_view kInProcess = "in-process";
inline constexpr std::string_view kCompilerName = "vyre-compile";

// Exit codes by which vyre-compile says how it ended where it could not answer.
inline constexpr int kChildNoMemory = 7;
inline constexpr int kChildCannotStart = 3;

struct CompilerFile {
  std::filesystem::path path;                // empty: there is none
  std::vector<std::filesystem::path> tried;  // where it would have been
  bool in_process = false;                   // everything is to be compiled in the process
};
// Beside the library or executable that this code is part of, or where it was installed. A file
// that others may write, or that belongs to another user, is not taken.
CompilerFile find_compiler();

struct ChildLimits {
  std::chrono::milliseconds time{0};     // of its life; above 0
  std::chrono::seconds processor{3600};  // of processor time
  uint64_t bytes = 0;                    // of its address space; 0: none
};

// Polls the StopScope of the thread while it waits: throws Stopped, after the process has ended.
// LimitExceeded at the time limit, HostOutOfMemory if it ran out of memory, CompileFailed if it
// cannot be started or crashes; else what it answers.
Result<CodeBytes> compile_in_child(const std::filesystem::path& compiler,
                                   std::span<const std::byte> job, const ChildLimits& limits);

}  // namespace vyre::pipeline
