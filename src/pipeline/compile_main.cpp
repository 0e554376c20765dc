// SPDX-License-Identifier: Apache-2.0
#include "pipeline/compile_main.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "codegen/in_process.hpp"
#include "pipeline/compile_child.hpp"

namespace vyre::pipeline {

namespace {

// LLVM goes deep where values depend on each other in long rows. All of it counts as address space.
constexpr size_t kStackBytes = size_t{64} << 20;

std::optional<uint64_t> number(const char* text) {
  const char* const end = text + std::strlen(text);
  uint64_t value = 0;
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

// At most what the process may have now.
void lower(int which, uint64_t soft, uint64_t hard) {
  rlimit limit{};
  const auto resource = static_cast<__rlimit_resource>(which);
  if (::getrlimit(resource, &limit) != 0) return;
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, hard);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, soft);
  (void)::setrlimit(resource, &limit);
}

// ---- how it ends when it cannot answer; only calls that are safe in a signal handler

[[noreturn]] void end_without_memory() {
  ::_exit(kChildNoMemory);
}

// A stack that cannot grow and memory that is null look like any other crash.
bool address_space_is_used_up() {
  constexpr uint64_t kNear = uint64_t{48} << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  std::array<char, 64> text{};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  const ssize_t got = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  uint64_t pages = 0;
  if (got <= 0 || std::from_chars(text.data(), text.data() + got, pages).ec != std::errc())
    return true;
  const auto used = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return used + kNear >= limit.rlim_cur;
}

void on_crash(int signal) {
  if (address_space_is_used_up()) end_without_memory();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

[[maybe_unused]] void handle_crashes() {
  static std::array<char, size_t{64} << 10> stack;
  const stack_t other{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  (void)::sigaltstack(&other, nullptr);
  struct sigaction action{};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT}) (void)::sigaction(signal, &action, nullptr);
}

void write_answer(const Result<CodeBytes>& answer) {
  const std::vector<std::byte> bytes = encode_answer(answer);
  std::span<const std::byte> left = bytes;
  while (!left.empty()) {
    const ssize_t wrote = ::write(STDOUT_FILENO, left.data(), left.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) ::_exit(kChildCannotStart);
    left = left.subspan(static_cast<size_t>(wrote));
  }
}

[[noreturn]] void end_refused(const char* reason) {
  write_answer(std::unexpected(
      Error{.code = ErrorCode::CompileFailed,
            .message = fmt::format("LLVM refuses to make code: {}. Fix: report this as a bug of "
                                   "Vyre; another device may run the program",
                                   reason),
            .context = {},
            .at = {},
            .diagnostics = {}}));
  ::_exit(0);
}

// ---- the work

std::vector<std::byte> read_all() {
  constexpr size_t kChunk = size_t{1} << 20;
  std::vector<std::byte> bytes;
  for (;;) {
    const size_t have = bytes.size();
    bytes.resize(have + kChunk);
    const ssize_t got = ::read(STDIN_FILENO, bytes.data() + have, kChunk);
    bytes.resize(have + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return bytes;
  }
}

void* work(void*) {
  if constexpr (!base::kSanitized) handle_crashes();
  const auto job = decode_job(read_all());
  write_answer(job ? run(*job) : Result<CodeBytes>(std::unexpected(job.error())));
  return nullptr;
}

}  // namespace

int compile_main(int argc, char** argv) {
  const auto parent = argc == 4 ? number(argv[1]) : std::nullopt;
  const auto bytes = argc == 4 ? number(argv[2]) : std::nullopt;
  const auto seconds = argc == 4 ? number(argv[3]) : std::nullopt;
  if (!parent || !bytes || !seconds) {
    std::fputs("vyre-compile is started by Vyre to compile large programs, and by nobody else.\n",
               stderr);
    return 2;
  }
  // Ends with the thread that started it, which waits for it; and if that is gone already, now.
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (static_cast<uint64_t>(::getppid()) != *parent) return kChildCannotStart;
  ::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the process that waits
  lower(RLIMIT_CORE, 0, 0);
  lower(RLIMIT_CPU, *seconds, *seconds + 1);
  if (*bytes != 0 && !base::kSanitized) lower(RLIMIT_AS, *bytes, *bytes);
  std::set_new_handler(end_without_memory);
  codegen::set_failure_hooks({.no_memory = end_without_memory, .refused = end_refused});

  pthread_attr_t attributes;
  pthread_t thread{};
  if (::pthread_attr_init(&attributes) != 0 ||
      ::pthread_attr_setstacksize(&attributes, kStackBytes) != 0 ||
      ::pthread_create(&thread, &attributes, work, nullptr) != 0)
    end_without_memory();
  (void)::pthread_join(thread, nullptr);
  // What the operating system takes back at once would take long to give back piece by piece.
  ::_exit(0);
}

}  // namespace vyre::pipeline
