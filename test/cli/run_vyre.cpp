// SPDX-License-Identifier: Apache-2.0
#include "cli/run_vyre.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

namespace vyre::test {
namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

int checked(int result, const char* what) {
  if (result < 0) fail(what);
  return result;
}

// An unnamed file: a child can fill it without anybody reading.
int unnamed_file(std::string_view content = {}) {
  char name[] = "/tmp/vyre_test.XXXXXX";
  const int descriptor = checked(::mkostemp(name, O_CLOEXEC), "mkostemp");
  ::unlink(name);
  while (!content.empty()) {
    const auto written = ::write(descriptor, content.data(), content.size());
    if (written < 0) fail("write");
    content.remove_prefix(static_cast<size_t>(written));
  }
  ::lseek(descriptor, 0, SEEK_SET);
  return descriptor;
}

std::string read_rest(int descriptor) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;  // a terminal ends with EIO
    text.append(buffer, static_cast<size_t>(got));
  }
}

std::string read_from_start(int descriptor) {
  ::lseek(descriptor, 0, SEEK_SET);
  std::string text = read_rest(descriptor);
  ::close(descriptor);
  return text;
}

struct Streams {
  int in = -1;
  int out = -1;  // -1: closed
  int err = -1;
};

int start(const std::string& program, std::vector<std::string> arguments,
          const std::vector<std::string>& environment, Streams streams) {
  std::vector<std::string> variables = {"PATH=" + std::string(std::getenv("PATH")), "TERM=xterm"};
  // The first of two variables of one name counts.
  const auto usual = [&](std::string_view name, std::string_view value) {
    const std::string start = std::string(name) + '=';
    if (std::ranges::none_of(environment, [&](const auto& v) { return v.starts_with(start); }))
      variables.push_back(start + std::string(value));
  };
  usual("LC_ALL", "C");
  usual("HOME", "/dev/null");
  // Nothing is left behind in a cache, unless a test brings its own.
  if (std::ranges::none_of(environment, [](const std::string& variable) {
        return variable.starts_with("VYRE_CACHE_DIR=");
      }))
    variables.emplace_back("VYRE_CACHE_DIR=off");
  variables.insert(variables.end(), environment.begin(), environment.end());
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);

  const int pid = checked(::fork(), "fork");
  if (pid != 0) return pid;
  ::dup2(streams.in, STDIN_FILENO);
  if (streams.out >= 0) {
    ::dup2(streams.out, STDOUT_FILENO);
  } else {
    ::close(STDOUT_FILENO);
  }
  ::dup2(streams.err, STDERR_FILENO);
  ::execvpe(program.c_str(), argv.data(), envp.data());
  ::_exit(127);
}

void collect(int pid, Outcome& outcome) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
}

Outcome run_on_terminal(const std::string& program, std::vector<std::string> arguments,
                        const Surroundings& around) {
  const int master = checked(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "posix_openpt");
  checked(::grantpt(master), "grantpt");
  checked(::unlockpt(master), "unlockpt");
  const int terminal = checked(::open(::ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC), "open");
  termios settings{};
  ::tcgetattr(terminal, &settings);
  settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);  // no carriage returns added
  ::tcsetattr(terminal, TCSANOW, &settings);
  const int in = unnamed_file(around.input);
  const int pid =
      start(program, std::move(arguments), around.environment, {in, terminal, terminal});
  ::close(in);
  ::close(terminal);
  Outcome outcome;
  outcome.out = read_rest(master);
  collect(pid, outcome);
  ::close(master);
  return outcome;
}

}  // namespace

Json Outcome::json() const {
  Json parsed = Json::parse(out, nullptr, false);
  if (parsed.is_discarded()) return {{"not JSON", out}};
  return parsed;
}

Outcome run_program(const std::string& program, std::vector<std::string> arguments,
                    const Surroundings& around) {
  if (around.terminal) return run_on_terminal(program, std::move(arguments), around);
  const int in = unnamed_file(around.input);
  const int err = unnamed_file();
  int out = -1;
  if (!around.stdout_path.empty()) {
    out = checked(::open(around.stdout_path.c_str(), O_WRONLY | O_CLOEXEC), "open stdout");
  } else if (!around.close_stdout) {
    out = unnamed_file();
  }
  Outcome outcome;
  collect(start(program, std::move(arguments), around.environment, {in, out, err}), outcome);
  ::close(in);
  outcome.err = read_from_start(err);
  if (out >= 0 && around.stdout_path.empty()) {
    outcome.out = read_from_start(out);
  } else if (out >= 0) {
    ::close(out);
  }
  return outcome;
}

Outcome run_vyre(std::vector<std::string> arguments, const Surroundings& around) {
  return run_program(VYRE_BINARY, std::move(arguments), around);
}

Outcome run_interrupted(std::vector<std::string> arguments, int after_ms,
                        const Surroundings& around) {
  const int in = checked(::open("/dev/null", O_RDONLY | O_CLOEXEC), "open");
  const int out = unnamed_file();
  const int err = unnamed_file();
  const int pid = start(VYRE_BINARY, std::move(arguments), around.environment, {in, out, err});
  ::usleep(static_cast<unsigned>(after_ms) * 1000);
  ::kill(pid, SIGINT);
  ::close(in);
  Outcome outcome;
  collect(pid, outcome);
  outcome.out = read_from_start(out);
  outcome.err = read_from_start(err);
  return outcome;
}

Outcome run_waiting(std::vector<std::string> arguments, const std::function<void(int pid)>& act) {
  int pipe_ends[2];
  checked(::pipe2(pipe_ends, O_CLOEXEC), "pipe2");
  const int out = unnamed_file();
  const int err = unnamed_file();
  const int pid = start(VYRE_BINARY, std::move(arguments), {}, {pipe_ends[0], out, err});
  // The child has set itself up once it has taken the first bytes.
  (void)!::write(pipe_ends[1], "program", 7);
  for (int left = 1; left != 0;) {
    ::usleep(1000);
    (void)!::ioctl(pipe_ends[0], FIONREAD, &left);
  }
  act(pid);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  Outcome outcome;
  collect(pid, outcome);
  outcome.out = read_from_start(out);
  outcome.err = read_from_start(err);
  return outcome;
}

Outcome run_into_broken_pipe(std::vector<std::string> arguments) {
  int pipe_ends[2];
  checked(::pipe2(pipe_ends, O_CLOEXEC), "pipe2");
  ::close(pipe_ends[0]);
  const int in = unnamed_file();
  const int err = unnamed_file();
  const int pid = start(VYRE_BINARY, std::move(arguments), {}, {in, pipe_ends[1], err});
  ::close(pipe_ends[1]);
  ::close(in);
  Outcome outcome;
  collect(pid, outcome);
  outcome.err = read_from_start(err);
  return outcome;
}

bool is_installed(const std::string& program) {
  return run_program("sh", {"-c", "command -v " + program}).exit_code == 0;
}

Folder::Folder() {
  char name[] = "/tmp/vyre_cli_test.XXXXXX";
  if (::mkdtemp(name) == nullptr) fail("mkdtemp");
  root_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(root_, ignored);
}

std::string Folder::path(std::string_view name) const {
  return root_ + "/" + std::string(name);
}

std::string Folder::write(std::string_view name, std::string_view content) const {
  std::ofstream(path(name), std::ios::binary) << content;
  return path(name);
}

std::string Folder::read(std::string_view name) const {
  std::ifstream file(path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Folder::names() const {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(root_))
    found.push_back(entry.path().filename());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace vyre::test
