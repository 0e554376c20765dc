// SPDX-License-Identifier: Apache-2.0
#include "pipeline/compile_child.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/errors.hpp"
#include "base/stop.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace vyre::pipeline {

namespace {

using Clock = std::chrono::steady_clock;

std::unexpected<Error> cannot_start(const std::filesystem::path& compiler, int error) {
  if (error == ENOMEM || error == EAGAIN)
    return fail(ErrorCode::HostOutOfMemory,
                fmt::format("{} cannot be started: {}. Fix: free memory, or run fewer processes",
                            compiler.string(), std::strerror(error)));
  return fail(ErrorCode::CompileFailed,
              fmt::format("{} cannot be started: {}. Fix: install Vyre again, or name another "
                          "file in {}",
                          compiler.string(), std::strerror(error), kCompilerVariable));
}

class File {
 public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { reset(); }
  [[nodiscard]] int get() const { return descriptor_; }
  void reset(int descriptor = -1) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = descriptor;
  }

 private:
  int descriptor_;
};

// Open descriptors 0, 1 and 2 of the child would close each other if ours were among them.
bool above_standard(File& file) {
  if (file.get() > STDERR_FILENO) return true;
  const int moved = ::fcntl(file.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (moved < 0) return false;
  file.reset(moved);
  return true;
}

// 0, or errno.
int make_job_file(File& file, std::span<const std::byte> job) {
  file.reset(static_cast<int>(::memfd_create("vyre-compile", MFD_CLOEXEC)));
  if (file.get() < 0 || !above_standard(file)) return errno;
  while (!job.empty()) {
    const ssize_t wrote = ::write(file.get(), job.data(), job.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno == ENOSPC ? ENOMEM : errno;
    job = job.subspan(static_cast<size_t>(wrote));
  }
  return ::lseek(file.get(), 0, SEEK_SET) < 0 ? errno : 0;
}

// The process, which is ended and collected at the latest by the destructor.
class Child {
 public:
  Child() = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  // 0, or errno.
  int start(const std::filesystem::path& compiler, int job, int answer, const ChildLimits& limits);
  void kill() const {
    // By the descriptor where there is one: another thread may have collected the process, and then
    // its number may be that of another one.
    if (handle_.get() >= 0)
      ::syscall(SYS_pidfd_send_signal, handle_.get(), SIGKILL, nullptr, 0);
    else if (process_ > 0)
      ::kill(process_, SIGKILL);
  }
  // As of waitpid; none if another thread has collected it.
  std::optional<int> end() {
    if (process_ <= 0) return std::nullopt;
    kill();
    int status = 0;
    pid_t collected = -1;
    do collected = ::waitpid(process_, &status, 0);
    while (collected < 0 && errno == EINTR);
    const bool known = collected == process_;
    process_ = -1;
    return known ? std::optional(status) : std::nullopt;
  }
  // Gives a process that has closed its pipe the time to end by itself, so that its own status is
  // seen.
  std::optional<int> finish() {
    constexpr int kSoonMs = 5000;
    for (int waited = 0; waited < kSoonMs; ++waited) {
      siginfo_t ended{};
      if (::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          ended.si_pid != 0)
        break;
      (void)::poll(nullptr, 0, 1);
    }
    return end();
  }

 private:
  pid_t process_ = -1;
  File handle_;
};

int Child::start(const std::filesystem::path& compiler, int job, int answer,
                 const ChildLimits& limits) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  if (const int error = ::posix_spawn_file_actions_init(&files); error != 0) return error;
  if (const int error = ::posix_spawnattr_init(&attributes); error != 0) {
    ::posix_spawn_file_actions_destroy(&files);
    return error;
  }
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  const std::string parent = std::to_string(::getpid());
  const std::string bytes = std::to_string(limits.bytes);
  const std::string seconds = std::to_string(limits.processor.count());
  std::string name = compiler.string();
  std::array<char*, 5> arguments = {name.data(), const_cast<char*>(parent.c_str()),
                                    const_cast<char*>(bytes.c_str()),
                                    const_cast<char*>(seconds.c_str()), nullptr};
  int error = 0;
  const auto also = [&](int result) { error = error != 0 ? error : result; };
  also(::posix_spawn_file_actions_adddup2(&files, job, STDIN_FILENO));
  also(::posix_spawn_file_actions_adddup2(&files, answer, STDOUT_FILENO));
  also(::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0));
  also(::posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1));
  also(::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  also(::posix_spawnattr_setsigmask(&attributes, &none));
  also(::posix_spawnattr_setsigdefault(&attributes, &all));
  if (error == 0)
    error = ::posix_spawn(&process_, name.c_str(), &files, &attributes, arguments.data(), environ);
  if (error != 0) process_ = -1;
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (error == 0) handle_.reset(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  return error;
}

// Reads until the process closes its end. False: the time is up.
bool read_answer(int pipe, Clock::time_point until, CodeBytes& answer) {
  constexpr std::chrono::milliseconds kPoll{10};
  constexpr size_t kChunk = size_t{1} << 20;
  CodeBytes chunk(kChunk);
  for (;;) {
    poll_stop_now();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    pollfd input{pipe, POLLIN, 0};
    if (::poll(&input, 1, static_cast<int>(std::min(left, kPoll).count())) <= 0) continue;
    const ssize_t got = ::read(pipe, chunk.data(), chunk.size());
    if (got == 0) return true;
    if (got < 0 && errno != EINTR && errno != EAGAIN) return true;
    if (got > 0) answer.insert(answer.end(), chunk.begin(), chunk.begin() + got);
  }
}

// A limit that the caller itself is under counts for the child, too.
bool address_space_is_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

std::unexpected<Error> no_memory(const ChildLimits& limits) {
  return fail(ErrorCode::HostOutOfMemory,
              fmt::format("compiling the program takes more memory than it is allowed ({} MiB) or "
                          "than there is. Fix: make the program smaller, or split it",
                          limits.bytes >> 20));
}

std::unexpected<Error> too_long(const ChildLimits& limits) {
  return fail(ErrorCode::LimitExceeded,
              fmt::format("compiling the program takes longer than it is allowed ({} ms). Fix: "
                          "make the program smaller, or split it",
                          limits.time.count()));
}

std::unexpected<Error> too_much_work(const ChildLimits& limits) {
  return fail(ErrorCode::LimitExceeded,
              fmt::format("compiling the program takes more processor time than it is allowed ({} "
                          "s). Fix: make the program smaller, or split it",
                          limits.processor.count()));
}

std::unexpected<Error> ended_badly(std::optional<int> status, const ChildLimits& limits) {
  if (status && WIFEXITED(*status) && WEXITSTATUS(*status) == kChildNoMemory)
    return no_memory(limits);
  if (status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGXCPU) return too_much_work(limits);
  // This process sends no SIGKILL before the pipe is closed, so the kernel was out of memory.
  if (status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL) return no_memory(limits);
  if (address_space_is_limited()) return no_memory(limits);
  const std::string how = !status ? std::string("in a way that nobody saw")
                          : WIFSIGNALED(*status)
                              ? fmt::format("by signal {}", WTERMSIG(*status))
                              : fmt::format("with exit code {}", WEXITSTATUS(*status));
  return fail(ErrorCode::CompileFailed,
              fmt::format("vyre-compile ended {} without an answer. Fix: report the program as a "
                          "bug of Vyre; another device may run it",
                          how));
}

}  // namespace

Result<CodeBytes> compile_in_child(const std::filesystem::path& compiler,
                                   std::span<const std::byte> job, const ChildLimits& limits) {
  File job_file;
  if (const int error = make_job_file(job_file, job); error != 0)
    return cannot_start(compiler, error);
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return cannot_start(compiler, errno);
  const File answer_end(ends[0]);
  File child_end(ends[1]);
  if (!above_standard(child_end)) return cannot_start(compiler, errno);
  const Clock::time_point until = Clock::now() + limits.time;
  Child child;
  if (const int error = child.start(compiler, job_file.get(), child_end.get(), limits); error != 0)
    return cannot_start(compiler, error);
  child_end.reset();
  job_file.reset();
  CodeBytes bytes;
  if (!read_answer(answer_end.get(), until, bytes)) return too_long(limits);
  const std::optional<int> status = child.finish();
  if (auto answer = decode_answer(bytes)) return std::move(*answer);
  poll_stop_now();  // whatever ended the process may have been for the caller, as Ctrl-C is
  return ended_badly(status, limits);
}

}  // namespace vyre::pipeline
