// SPDX-License-Identifier: Apache-2.0
// Programs made to keep a compiler busy: small texts that become large code, and large ones. Each
// ends with a result, with the limit that it exceeds, or with Timeout soon after --timeout, which
// names the stage that was stopped (reliability.md 1.5, row 13, for compile and run). Times are
// printed; only what does not end at all fails.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

// What a process that does not end is given; a machine may run many tests at once.
constexpr std::chrono::seconds kHung{180};
// vyre-compile's own limit, and what the planner may take beside it.
constexpr int64_t kMemoryLimitKib = int64_t{2304} * 1024;

std::string times(int count, const std::function<std::string(const std::string&)>& piece) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece(std::to_string(i));
  return text;
}

std::string program(const std::string& body) {
  return "program p { workgroup 64; in d : u32[]; inout b : u32[]; shared s : u32[64];\n"
         "b[0] = d[0] + s[0]; var x = gid.x;\n" +
         body + "\nb[gid.x] = x; }";
}

// Each function calls the one before four times.
std::string calls(int levels, const std::string& leaf) {
  std::string text =
      "program p { workgroup 64; in d : u32[]; inout b : u32[];\n"
      "fn f0(x : u32) -> u32 { return " +
      leaf + "; }\n";
  for (int i = 1; i <= levels; ++i) {
    const std::string f = "f" + std::to_string(i - 1);
    text += "fn f" + std::to_string(i) + "(x : u32) -> u32 { return " + f + "(x) + " + f +
            "(x + 1) ^ " + f + "(x + 2) * " + f + "(x * 3); }\n";
  }
  return text + "b[gid.x] = f" + std::to_string(levels) + "(d[gid.x]); }";
}

struct Bomb {
  const char* name;
  std::string (*text)();
};

const Bomb kBombs[] = {
    {"barriers_2048",
     [] {
       return program(times(1024, [](const std::string& n) {
         return "s[lid.x] = x + " + n +
                "; barrier workgroup; x = s[63 - lid.x]; barrier workgroup; ";
       }));
     }},
    {"grid_barriers_2048",
     [] {
       return "program p { workgroup 64; in d : u32[]; inout b : u32[]; region m { b[0] = d[0]; }" +
              times(2048,
                    [](const std::string& n) {
                      return "barrier grid; region r" + n + " { b[gid.x] += " + n + "; } ";
                    }) +
              "}";
     }},
    {"live_across_barriers",
     [] {
       return program(
           times(200,
                 [](const std::string& n) { return "var v" + n + " = d[" + n + " + gid.x]; "; }) +
           times(200, [](const std::string& n) {
             return "barrier workgroup; s[lid.x] = v" + n + "; v" + n +
                    " = s[63 - lid.x] + x; x += v" + n + "; ";
           }));
     }},
    {"traps_800",
     [] {
       return program(times(800, [](const std::string& n) {
         return "if d[x] == " + n + " { trap(" + n + ", x); } ";
       }));
     }},
    {"statements_100000",
     [] {
       return program(
           times(99'900, [](const std::string& n) { return "x = x * 3 + " + n + "; "; }));
     }},
    {"stores_30000",
     [] {
       return program(times(
           30'000, [](const std::string& n) { return "b[x + " + n + "] = d[x ^ " + n + "]; "; }));
     }},
    {"loops_5000",
     [] {
       return program(times(5000, [](const std::string& n) {
         return "for i in 0 .. d[" + n + "] { x += d[i] ^ " + n + "; } ";
       }));
     }},
    {"loops_nested_60",
     [] {
       return program(times(60,
                            [](const std::string& n) {
                              return "for q" + n + " in 0 .. d[" + n + "] { x += d[q" + n + "]; ";
                            }) +
                      std::string(60, '}'));
     }},
    {"maths_3000",
     [] {
       return program("var y = (x as f32); " +
                      times(3000,
                            [](const std::string& n) {
                              const char* const names[] = {"sin", "exp", "log", "tanh"};
                              return "y = " + std::string(names[std::stoi(n) % 4]) + "(y) + " + n +
                                     ".5; ";
                            }) +
                      "x = (y as u32);");
     }},
    {"divisions_5000",
     [] {
       return program(times(
           5000, [](const std::string& n) { return "x = x / (d[" + n + "] | 1) + " + n + "; "; }));
     }},
    {"atomics_5000",
     [] {
       return program(times(
           5000, [](const std::string& n) { return "x ^= atomic_add(b[d[x] + " + n + "], 1); "; }));
     }},
    {"branches_5000",
     [] {
       return program(times(5000, [](const std::string& n) {
         return "if d[x] > " + n + " { x += " + n + "; } else { x *= 3; } ";
       }));
     }},
    // Less than a thousand bytes each.
    {"calls_of_divisions", [] { return calls(7, "x / (x | 1) + 1"); }},
    {"calls_of_maths", [] { return calls(6, "(sin((x as f32)) as u32)"); }},
    {"calls_of_remainders", [] { return calls(6, "x % (x + 1) / (x | 3) + x % 7"); }},
};

struct Ended {
  int exit_code = -1;
  int signal = 0;
  std::string err;
  int64_t most_kib = 0;
  std::chrono::milliseconds took{0};
};

struct Start {
  std::vector<std::string> arguments;
  std::vector<std::string> environment{};
  uint64_t address_space = 0;              // a limit in bytes; 0: none
  std::function<void(pid_t)> meanwhile{};  // with the running process
};

Ended run_limited(const Folder& folder, const Start& start) {
  const std::string err = folder.path("stderr");
  // A small process sets the limit: one that has more than that already cannot start another.
  const std::string kib = std::to_string(start.address_space >> 10);
  std::vector<char*> words;
  if (start.address_space != 0)
    for (const char* word : {"/bin/sh", "-c", "ulimit -v $0; exec \"$@\"", kib.c_str()})
      words.push_back(const_cast<char*>(word));
  words.push_back(const_cast<char*>(VYRE_BINARY));
  for (const std::string& argument : start.arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const auto begin = std::chrono::steady_clock::now();
  const pid_t process = fork();
  if (process == 0) {
    const int nowhere = open("/dev/null", O_WRONLY);
    const int file = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(nowhere, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    setenv("VYRE_CACHE_DIR", "off", 1);
    for (const std::string& variable : start.environment)
      putenv(const_cast<char*>(variable.c_str()));
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    execv(words.front(), words.data());
    _exit(126);
  }
  if (start.meanwhile) start.meanwhile(process);
  Ended ended;
  int status = 0;
  rusage usage{};
  while (wait4(process, &status, WNOHANG, &usage) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (std::chrono::steady_clock::now() - begin > kHung) kill(process, SIGKILL);
  }
  ended.took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin);
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ended.most_kib = usage.ru_maxrss;  // of the process and those that it waited for
  ended.err = folder.read("stderr");
  return ended;
}

// vyre-compile is told who started it.
int children_of(pid_t parent) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline");
    std::string name;
    std::string first;
    if (std::getline(in, name, '\0') && std::getline(in, first, '\0') &&
        name.ends_with("/vyre-compile") && first == std::to_string(parent))
      ++count;
  }
  return count;
}

bool wait_for(const std::function<bool()>& what) {
  for (int i = 0; i < 6000 && !what(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return what();
}

class Bombs : public testing::TestWithParam<Bomb> {
 protected:
  void expect_typed(const char* what, const std::vector<std::string>& arguments) const {
    const Ended ended = run_limited(folder_, {.arguments = arguments});
    std::printf("%-22s %-8s %6lld ms %6lld MiB, exit code %d\n", GetParam().name, what,
                static_cast<long long>(ended.took.count()),
                static_cast<long long>(ended.most_kib / 1024), ended.exit_code);
    ASSERT_EQ(ended.signal, 0) << ended.err;
    // Done, or stopped by a trap of its own; out of memory; out of time or over a limit, and which.
    ASSERT_THAT(ended.exit_code, AnyOf(0, 7, 8, 10)) << ended.err;
    if (ended.exit_code != 0) {
      EXPECT_THAT(ended.err, HasSubstr("Fix:"));
      EXPECT_THAT(ended.err, Not(HasSubstr("bug")));
    }
    if (ended.err.find("Timeout") != std::string::npos) {
      EXPECT_THAT(ended.err, AnyOf(HasSubstr("while parsing"), HasSubstr("while checking"),
                                   HasSubstr("while planning"), HasSubstr("while generating"),
                                   HasSubstr("while running"), HasSubstr("while dispatching")));
    }
    if (!base::kSanitized) {
      EXPECT_LE(ended.most_kib, kMemoryLimitKib);
    }
  }

  Folder folder_;
};

TEST_P(Bombs, CompileEndsWithATypedAnswer) {
  const std::string file = folder_.write("bomb.vyre", GetParam().text());
  expect_typed("compile", {"compile", file, "--device", "cpu", "--emit", "asm", "--timeout", "3"});
}

TEST_P(Bombs, PtxEndsWithATypedAnswer) {
  const std::string file = folder_.write("bomb.vyre", GetParam().text());
  expect_typed("ptx", {"compile", file, "--arch", "sm_90", "--emit", "ptx", "--timeout", "3"});
}

TEST_P(Bombs, RunEndsWithATypedAnswer) {
  const std::string file = folder_.write("bomb.vyre", GetParam().text());
  expect_typed("run", {"run", file, "--device", "cpu", "--in", "d=zeros(64)", "--in", "b=zeros(64)",
                       "--grid", "1", "--timeout", "3", "--untrusted"});
}

INSTANTIATE_TEST_SUITE_P(Programs, Bombs, testing::ValuesIn(kBombs),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- what stops a compilation

// Minutes of work for LLVM, or refused: for what has to be caught while it compiles.
std::string endless() {
  return calls(7, "x / (x | 1) + x % (x | 5)");
}

TEST(Compilation, TheTimeoutNamesTheStage) {
  const Folder folder;
  const std::string file = folder.write("p.vyre", endless());
  const Ended ended =
      run_limited(folder, {.arguments = {"compile", file, "--device", "cpu", "--emit", "asm",
                                         "--timeout", "0.000001"}});
  EXPECT_EQ(ended.exit_code, 8);
  EXPECT_THAT(ended.err, HasSubstr("time limit was reached while"));
  EXPECT_THAT(ended.err, AnyOf(HasSubstr("parsing the program"), HasSubstr("checking the program"),
                               HasSubstr("planning the program"), HasSubstr("generating code")));
  EXPECT_THAT(ended.err, Not(HasSubstr("loop")));
}

TEST(Compilation, AProcessOfItsOwnEndsWithTheOneThatStartedIt) {
  const Folder folder;
  const std::string file = folder.write("p.vyre", endless());
  for (const int signal : {SIGINT, SIGKILL}) {
    pid_t parent = -1;
    bool started = false;
    const Ended ended = run_limited(
        folder,
        {.arguments = {"compile", file, "--device", "cpu", "--emit", "asm", "--timeout", "100"},
         .meanwhile = [&](pid_t process) {
           parent = process;
           started = wait_for([&] {
             return children_of(process) != 0 || waitid(P_PID, static_cast<id_t>(process), nullptr,
                                                        WEXITED | WNOHANG | WNOWAIT) != 0;
           });
           kill(process, signal);
         }});
    if (!started) GTEST_SKIP() << "the program is no work any more";
    if (signal == SIGINT) {
      EXPECT_EQ(ended.exit_code, 130) << ended.err;
    }
    EXPECT_TRUE(wait_for([&] { return children_of(parent) == 0; }));
  }
}

TEST(Compilation, WithoutVyreCompileLargeProgramsAreRefused) {
  const Folder folder;
  const std::string large = folder.write("large.vyre", endless());
  const std::string small = folder.write("small.vyre", kGood);
  const std::string nowhere = "VYRE_COMPILE=/nonexistent/vyre-compile";
  const Ended refused =
      run_limited(folder, {.arguments = {"compile", large, "--device", "cpu", "--emit", "asm"},
                           .environment = {nowhere}});
  EXPECT_EQ(refused.exit_code, 8);
  EXPECT_THAT(refused.err, HasSubstr("LimitExceeded"));
  EXPECT_THAT(refused.err, HasSubstr("/nonexistent/vyre-compile"));
  const Ended made =
      run_limited(folder, {.arguments = {"compile", small, "--device", "cpu", "--emit", "asm"},
                           .environment = {nowhere}});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const Ended untrusted = run_limited(
      folder, {.arguments = {"compile", small, "--device", "cpu", "--emit", "asm", "--untrusted"},
               .environment = {nowhere}});
  EXPECT_EQ(untrusted.exit_code, 8);
}

TEST(Compilation, UntrustedProgramsHaveTheSameResultsAndLowerLimits) {
  const Folder folder;
  const std::string good = folder.write("good.vyre", kGood);
  const std::vector<std::string> trusted = {"run",  good,        "--device",  "cpu",
                                            "--in", "a=[1,2,3]", "--no-cache"};
  std::vector<std::string> untrusted = trusted;
  untrusted.emplace_back("--untrusted");
  const Outcome first = run_vyre(trusted);
  const Outcome second = run_vyre(untrusted);
  EXPECT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(first.out, second.out);

  const std::string many = folder.write(
      "many.vyre", program(times(25'000, [](const std::string& n) { return "x += " + n + "; "; })));
  const Outcome refused =
      run_vyre({"compile", many, "--device", "cpu", "--emit", "asm", "--untrusted"});
  EXPECT_EQ(refused.exit_code, 8) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("20000 are allowed"));
}

// ---- out of memory while LLVM works: exit code 7, wherever it happens

class AddressSpace : public testing::TestWithParam<const char*> {};

TEST_P(AddressSpace, TooLittleIsOutOfMemory) {
  if (base::kSanitized) GTEST_SKIP() << "sanitizers need more address space than any limit leaves";
  const Folder folder;
  const std::string file = folder.write("p.vyre", kGood);
  int failed = 0;
  int done = 0;
  // From where the program can be loaded at all, in small steps: what it needs beyond that is not
  // much.
  uint64_t step = 16;
  for (uint64_t mib = 60; mib <= 2000 && done < 5; mib += step) {
    Start start{.arguments = {"run", file, "--device", "cpu", "--in", "a=[1,2,3]", "--no-cache"},
                .address_space = mib << 20};
    if (*GetParam() != '\0') start.environment.push_back(GetParam());
    const Ended ended = run_limited(folder, start);
    // 126 and 127: not even the program could be loaded.
    // Before `main`, constructors of LLVM's library may find no memory, and nothing of ours runs
    // yet: below the first limit at which the program itself reports it.
    if (ended.signal == SIGABRT && failed == 0 && done == 0) continue;
    EXPECT_THAT(ended.exit_code, AnyOf(0, 7, 126, 127))
        << mib << " MiB, signal " << ended.signal << ": " << ended.err;
    if (step > 1 && (ended.exit_code == 0 || ended.exit_code == 7)) {
      mib -= std::min<uint64_t>(mib, 2 * step);
      step = 1;
      done = failed = 0;
      continue;
    }
    failed += ended.exit_code == 7 ? 1 : 0;
    done += ended.exit_code == 0 ? 1 : 0;
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(done, 0);
}

INSTANTIATE_TEST_SUITE_P(Either, AddressSpace, testing::Values("", "VYRE_COMPILE=in-process"),
                         [](const auto& info) {
                           return std::string(*info.param == '\0' ? "OwnProcess" : "InProcess");
                         });

}  // namespace
}  // namespace vyre::test
