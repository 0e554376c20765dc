// SPDX-License-Identifier: Apache-2.0
// Programs made to hurt: each ends with a typed answer and within 256 MiB. The time each takes is
// printed, not judged; the aim is one second.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizers.hpp"

namespace {

constexpr size_t kTextLimit = size_t{16} << 20;
constexpr int64_t kMemoryLimitKib = 256 * 1024;

std::string repeat(std::string_view piece, size_t bytes) {
  std::string text;
  text.reserve(bytes + piece.size());
  while (text.size() + piece.size() <= bytes) text += piece;
  return text;
}

std::string numbered(int count, const std::function<std::string(const std::string&)>& piece) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece(std::to_string(i));
  return text;
}

std::string program(const std::string& items) {
  return "program p { workgroup 64; in d : u32[]; inout b : u32[]; shared s : u32[64];\n" + items +
         "\n}";
}

struct Case {
  const char* name;
  std::string (*text)();
  int exit_code;  // 3: invalid, 0: only large
};

const Case kCases[] = {
    {"braces", [] { return program(repeat("{", kTextLimit - 100)); }, 3},
    {"parentheses", [] { return program("let x = " + repeat("(", kTextLimit - 200)); }, 3},
    {"minus_signs", [] { return program("let x = " + repeat("- ", kTextLimit - 200)); }, 3},
    {"sum", [] { return program("let x = 1" + repeat("+1", kTextLimit - 200) + ";"); }, 3},
    {"semicolons", [] { return program(repeat(";", kTextLimit - 200)); }, 3},
    {"words", [] { return program(repeat("x ", kTextLimit - 200)); }, 3},
    {"long_name", [] { return program("let " + repeat("x", kTextLimit - 200) + " = 1;"); }, 3},
    {"long_number", [] { return program("let x = 1" + repeat("0", kTextLimit - 200) + ";"); }, 3},
    {"long_decimal",
     [] { return program("b[0] = (0." + repeat("1", kTextLimit - 200) + " as u32);"); }, 0},
    {"open_string", [] { return program("require true, \"" + repeat("x", kTextLimit - 200)); }, 3},
    {"comment",
     [] { return "//" + repeat("x", kTextLimit - 200) + "\n" + program("b[0] = d[0] + s[0];"); },
     0},
    {"non_ascii", [] { return program(repeat("\xc3\xa9", kTextLimit - 200)); }, 3},
    {"invalid_utf8", [] { return program(repeat("\xff\xc0", kTextLimit - 200)); }, 3},
    {"too_long", [] { return repeat(" ", kTextLimit + 1); }, 3},
    {"else_if_chain",
     [] { return program("if true { } " + repeat("else if true { } ", kTextLimit / 2)); }, 3},
    {"function_bomb",
     [] {
       return program("fn f0() { b0(); b0(); } fn b0() { } " +
                      numbered(60,
                               [](const std::string& n) {
                                 const std::string callee =
                                     n == "0" ? "f0" : "g" + std::to_string(std::stoi(n) - 1);
                                 return "fn g" + n + "() { " + callee + "(); " + callee + "(); } ";
                               }) +
                      "g59();");
     },
     3},
    {"function_chain",
     [] {
       return program("fn g0() { } " +
                      numbered(50'000,
                               [](const std::string& n) {
                                 return "fn h" + n + "() { " +
                                        (n == "0" ? std::string("g0")
                                                  : "h" + std::to_string(std::stoi(n) - 1)) +
                                        "(); } ";
                               }) +
                      "h49999();");
     },
     3},
    {"recursion_circle",
     [] {
       return program(numbered(50'000,
                               [](const std::string& n) {
                                 return "fn h" + n + "() { h" +
                                        std::to_string((std::stoi(n) + 1) % 50'000) + "(); } ";
                               }) +
                      "h0();");
     },
     3},
    {"constant_chain",
     [] {
       return program(numbered(90'000,
                               [](const std::string& n) {
                                 return "const c" + n + " : u32 = " +
                                        (n == "0" ? std::string("1")
                                                  : "c" + std::to_string(std::stoi(n) - 1)) +
                                        "; ";
                               }) +
                      "b[0] = c89999 + d[0] + s[0];");
     },
     0},
    {"constant_circle",
     [] {
       return program(numbered(90'000, [](const std::string& n) {
         return "const c" + n + " : u32 = c" + std::to_string((std::stoi(n) + 1) % 90'000) + "; ";
       }));
     },
     3},
    {"many_guards",
     [] {
       return program("let i = gid.x; b[i] = d[i] + s[0]; " +
                      numbered(30'000, [](const std::string&) {
                        return std::string("if i >= len(b) { return; } b[i] = i; ");
                      }));
     },
     0},
    {"variable_chain",
     [] {
       return program(
           numbered(20'000, [](const std::string& n) { return "var v" + n + " = d[0] + s[0]; "; }) +
           "for i in 0 .. 9 { " +
           numbered(20'000,
                    [](const std::string& n) {
                      return "v" + n + " = " +
                             (n == "19999" ? std::string("gid.x")
                                           : "v" + std::to_string(std::stoi(n) + 1)) +
                             "; ";
                    }) +
           "} b[0] = v0;");
     },
     0},
    {"many_traps",
     [] {
       return program("b[0] = d[0] + s[0]; " +
                      numbered(15'000,
                               [](const std::string& n) {
                                 return "if gid.x == " + n + " { trap(" + n + ", 0); } var v" + n +
                                        " = 0; v" + n + " = " + n + "; b[v" + n + "] = 1; ";
                               }) +
                      numbered(15'000, [](const std::string& n) { return "resume(" + n + "); "; }));
     },
     0},
    {"many_copies",
     [] {
       return program(
           "b[0] = s[0]; " +
           numbered(30'000,
                    [](const std::string& n) { return "async copy(" + n + ", s, 0, d, 0, 1); "; }) +
           numbered(30'000, [](const std::string& n) { return "wait(" + n + "); "; }));
     },
     0},
    {"many_breaks",
     [] {
       return program("while b[0] == 1 { " +
                      numbered(20'000,
                               [](const std::string&) {
                                 return std::string(
                                     "if d[gid.x] == 1 { continue; } if s[0] == 1 { break; } ");
                               }) +
                      "}");
     },
     0},
    {"nested_loops",
     [] {
       std::string text = "b[0] = d[0] + s[0]; var k = 0; ";
       for (int i = 0; i < 60; ++i) text += "while k < 9 { ";
       text += numbered(30'000, [](const std::string&) { return std::string("k += 1; "); });
       for (int i = 0; i < 60; ++i) text += "}";
       return program(text + " b[1] = k;");
     },
     0},
    {"large_table",
     [] {
       return program("const T : u32[] = { " + repeat("1, ", 5'000'000) +
                      "1 }; b[0] = T[gid.x] + d[0] + s[0];");
     },
     0},
    {"lazy_chain",
     [] {
       return program(numbered(700, [](const std::string& n) {
         return "if d[0] == " + n + repeat(" && gid.x < len(b)", 18 * 120) +
                " { b[gid.x] = s[0]; } ";
       }));
     },
     0},
};

class Hostile : public testing::TestWithParam<Case> {};

TEST_P(Hostile, EndsWithATypedAnswer) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      ("vyre_hostile_" + std::to_string(getpid()) + "_" + GetParam().name + ".vyre");
  std::ofstream(file, std::ios::binary) << GetParam().text();
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // What it says is not of interest here, and may be long.
    if (freopen("/dev/null", "w", stdout) == nullptr ||
        freopen("/dev/null", "w", stderr) == nullptr)
      _exit(126);
    execl(VYRE_BINARY, VYRE_BINARY, "check", file.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  ASSERT_EQ(wait4(child, &status, 0, &usage), child);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  std::filesystem::remove(file);
  std::printf("%-18s %6lld ms %6ld MiB\n", GetParam().name, static_cast<long long>(took.count()),
              usage.ru_maxrss / 1024);
  ASSERT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), GetParam().exit_code);
  if (!vyre::base::kSanitized) {
    EXPECT_LE(usage.ru_maxrss, kMemoryLimitKib);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, Hostile, testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
