// SPDX-License-Identifier: Apache-2.0
// Programs made to cost much: shapes that grow, nested in each other, of random size up to what the
// text may have. `vyre check` must end with an answer of its own, in bounded memory and time.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/attack.hpp"
#include "base/sanitizers.hpp"

namespace vyre::attack {
namespace {

using Random = std::mt19937_64;

constexpr size_t kTextBytes = size_t{16} << 20;
constexpr long kMemoryKib = 256 * 1024;
// Of the processor, so that other programs on the machine do not count; what takes far longer than
// a second does not end.
constexpr rlim_t kSeconds = 30;

std::string repeated(std::string_view part, size_t count) {
  std::string text;
  text.reserve(part.size() * count);
  for (size_t i = 0; i < count; ++i) text += part;
  return text;
}

// Up to a million, small numbers as often as large ones.
size_t any_count(Random& random) {
  return size_t{1} << random() % 20;
}

std::string expression(Random& random, size_t budget) {
  const size_t n = std::min(any_count(random), std::max<size_t>(budget / 16, 1));
  switch (random() % 7) {
    case 0: return "gid.x" + repeated(" + 1", n);
    case 1: return repeated("(", n) + "gid.x" + repeated(")", n);
    case 2: return repeated("~", n) + "gid.x";
    case 3: return "d[" + repeated("d[", n) + "0" + repeated("]", n) + "]";
    case 4:
      return "select(true, " + repeated("select(false, 1, ", n) + "2" + repeated(")", n) + ", 3)";
    case 5: return std::string(n, '9');
    default: return "min(gid.x, " + repeated("max(1, ", n) + "2" + repeated(")", n) + ")";
  }
}

std::string statements(Random& random, size_t budget, int depth);

std::string wrapped(Random& random, size_t budget, int depth, const char* head) {
  const size_t n = std::min(any_count(random), std::max<size_t>(budget / 64, 1));
  return repeated(head, n) + statements(random, budget / 2, depth + 1) + repeated(" }", n);
}

std::string functions(Random& random) {
  const size_t n = 1 + any_count(random) % 20'000;
  const size_t calls = 1 + random() % 4;
  std::string text = "fn h0() { } ";
  for (size_t i = 1; i < n; ++i)
    text += fmt::format("fn h{}() {{ {}}} ", i, repeated(fmt::format("h{}(); ", i - 1), calls));
  return text + fmt::format("h{}(); ", n - 1);
}

std::string statements(Random& random, size_t budget, int depth) {
  const size_t n = std::min(any_count(random), std::max<size_t>(budget / 64, 1));
  const std::string tag = std::to_string(random() % 1000);
  switch (random() % (depth < 3 ? 14 : 9)) {
    case 0: return repeated("b[gid.x] += 1; ", n);
    case 1: return "b[0] = " + expression(random, budget) + "; ";
    case 2:
      return "let v" + tag + std::to_string(random()) + " = " + expression(random, budget) + "; ";
    case 3: return repeated("barrier workgroup; ", n);
    case 4: return repeated("barrier grid; b[gid.x] = 1; ", n);
    case 5: return repeated("if gid.x == 1 { trap(1, 0); } ", n);
    case 6: return repeated("atomic_add(b[gid.x], 1); ", n);
    case 7: return repeated("s[lid.x] = b[gid.x]; ", n);
    case 8: return repeated("{ ", n) + repeated("} ", n + random() % 2);
    case 9: return wrapped(random, budget, depth, "if gid.x < 5 { ");
    case 10: return wrapped(random, budget, depth, "while b[0] == 1 { ");
    case 11: return wrapped(random, budget, depth, "for i in 0 .. 9 @unroll { ");
    case 12: return wrapped(random, budget, depth, "fixpoint max 9 over (b) { ");
    default:
      return statements(random, budget / 2, depth + 1) + statements(random, budget / 2, depth + 1);
  }
}

std::string hostile_text(Random& random) {
  const size_t budget = size_t{1} << (10 + random() % 14);
  std::string text =
      "program p {\n  workgroup 64;\n  in d : u32[];\n  inout b : u32[];\n  shared s : u32[64];\n";
  if (random() % 4 == 0) text += functions(random);
  if (random() % 6 == 0)
    text += "const T : u32[] = { " + repeated("1, ", any_count(random) * 2) + "1 }; ";
  const size_t parts = 1 + random() % 4;
  for (size_t i = 0; i < parts; ++i) text += statements(random, budget, 0) + "\n";
  text += random() % 8 == 0 ? "" : "b[1] = d[0] + s[0];\n}\n";
  return text.substr(0, kTextBytes);
}

}  // namespace

Finding hostile(uint64_t seed, const Settings& settings) {
  if (settings.vyre.empty())
    return {.fault = "give the path of the program with --vyre", .cases = 0};
  Random random(seed);
  const std::filesystem::path file = std::filesystem::temp_directory_path() /
                                     fmt::format("vyre_attack_{}_{}.vyre", ::getpid(), seed);
  std::ofstream(file, std::ios::binary) << hostile_text(random);
  const pid_t child = ::fork();
  if (child < 0) return {.fault = "fork failed", .cases = 0};
  if (child == 0) {
    const rlimit most{kSeconds, kSeconds};
    ::setrlimit(RLIMIT_CPU, &most);
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::execl(settings.vyre.c_str(), "vyre", "check", file.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  rusage usage{};
  if (::wait4(child, &status, 0, &usage) != child)
    return {.fault = "the child is lost", .cases = 0};
  std::filesystem::remove(file);
  if (!WIFEXITED(status))
    return {.fault = fmt::format("ended by signal {}{}", WTERMSIG(status),
                                 WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGXCPU
                                     ? fmt::format(", after {} s of the processor", kSeconds)
                                     : "")};
  if (const int code = WEXITSTATUS(status); code != 0 && code != 3)
    return {.fault = fmt::format("exit code {} of `vyre check`", code)};
  if (!base::kSanitized && usage.ru_maxrss > kMemoryKib)
    return {.fault =
                fmt::format("{} MiB, more than {}", usage.ru_maxrss / 1024, kMemoryKib / 1024)};
  return {};
}

}  // namespace vyre::attack
