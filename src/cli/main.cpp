// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include <fcntl.h>
#include <unistd.h>

#include "cli/app.hpp"
#include "cli/command_line.hpp"
#include "codegen/in_process.hpp"

namespace {

constexpr char kBugNote[] =
    "vyre: this is a bug in vyre, not in your program. Fix: report it with the input that showed "
    "it.\n";

// A failed internal check ends in abort(); scripts get the exit code of the contract. Only calls
// that are safe in a signal handler.
void on_abort(int /*signal*/) {
  (void)!::write(STDERR_FILENO, kBugNote, sizeof kBugNote - 1);
  ::_exit(vyre::cli::kExitInternal);
}

constexpr char kNoMemory[] = "vyre: error: out of memory while generating code\n";

// LLVM has no way back from a failed allocation: what is thrown through its frames leaves them as
// they are. Here nothing is lost by ending at once.
void on_no_memory() {
  if (!vyre::codegen::in_llvm()) throw std::bad_alloc();
  (void)!::write(STDERR_FILENO, kNoMemory, sizeof kNoMemory - 1);
  ::_exit(vyre::cli::kExitOutOfMemory);
}

// With a closed stdout the next file opened would become descriptor 1 and get our results.
void keep_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) == -1) (void)!::open("/dev/null", O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_descriptors();
  std::signal(SIGPIPE, SIG_DFL);  // a reader that has seen enough ends us quietly
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of who writes it
  std::signal(SIGABRT, on_abort);
  std::set_new_handler(on_no_memory);
  vyre::codegen::set_failure_hooks({.no_memory = on_no_memory});
  try {
    return vyre::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("vyre: error: out of memory\n", stderr);
    return vyre::cli::kExitOutOfMemory;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vyre: internal bug: %s\n%s", error.what(), kBugNote);
  } catch (...) {
    std::fprintf(stderr, "vyre: internal bug\n%s", kBugNote);
  }
  return vyre::cli::kExitInternal;
}
