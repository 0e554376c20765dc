// SPDX-License-Identifier: Apache-2.0
// What the library exports, and programs of other languages that call it.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "c_test.hpp"

namespace vyre::c_test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = VYRE_SOURCE_DIR;
const fs::path kLibrary = VYRE_C_LIBRARY;

struct Ran {
  int status = -1;
  std::string text;
};
Ran run(const std::string& command) {
  Ran ran;
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> chunk{};
  while (const size_t got = std::fread(chunk.data(), 1, chunk.size(), pipe))
    ran.text.append(chunk.data(), got);
  ran.status = ::pclose(pipe);
  return ran;
}
bool there_is(const std::string& command) {
  return run("command -v " + command).status == 0;
}

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}
std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Lines may be added to the list, never taken away: programs that are compiled call them.
TEST(Abi, ExportsWhatTheListHas) {
  const Ran ran =
      run(std::string(VYRE_NM) + " -D --defined-only --with-symbol-versions " + kLibrary.string());
  ASSERT_EQ(ran.status, 0) << ran.text;
  std::set<std::string> exported;
  std::istringstream text(ran.text);
  for (const std::string& line : lines_of(text)) {
    const std::string name = line.substr(line.rfind(' ') + 1);
    if (name != "VYRE_1" && !name.starts_with("VYRE_1@")) exported.insert(name);
  }
  std::ifstream file(kRoot / "abi/libvyre_c.symbols");
  const std::vector<std::string> list = lines_of(file);
  EXPECT_EQ(exported, std::set<std::string>(list.begin(), list.end()))
      << "Fix: write new functions into abi/libvyre_c.symbols; none may go away";
  EXPECT_LE(exported.size(), 64U);
  const std::string header = content_of(kRoot / "include/vyre/vyre.h");
  for (const std::string& name : exported)
    EXPECT_NE(header.find(name.substr(0, name.find('@')) + "("), std::string::npos) << name;
}

TEST(Abi, TypesAreThoseOfTheList) {
  if (!there_is("abidiff")) GTEST_SKIP() << "unavailable: abidiff (Debian: abigail-tools)";
  const fs::path list = kRoot / "abi/libvyre_c.abi";
  if (!fs::exists(list)) GTEST_SKIP() << "unavailable: " << list << " has not been written";
  const Ran ran =
      run("abidiff --no-added-syms --headers-dir2 " + (kRoot / "include/vyre").string() + " " +
          list.string() + " " + kLibrary.string());
  EXPECT_EQ(ran.status, 0) << ran.text;
}

// The lines after `Prints:` in the source of an example.
std::string expected_of(const fs::path& source, const std::string& comment) {
  std::ifstream file(source);
  std::string text;
  bool inside = false;
  for (const std::string& line : lines_of(file)) {
    if (inside && !line.starts_with(comment + "   ")) break;
    if (inside) text += line.substr(comment.size() + 3) + "\n";
    inside = inside || line == comment + " Prints:";
  }
  return text;
}

#ifndef VYRE_C_SANITIZED
TEST(Abi, PythonCallsIt) {
  if (!there_is("python3")) GTEST_SKIP() << "unavailable: python3";
  const fs::path source = kRoot / "examples/ctypes/hello.py";
  const Ran ran = run("VYRE_C_LIBRARY=" + kLibrary.string() + " python3 " + source.string());
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.text, expected_of(source, "#"));
}

TEST(Abi, RustCallsIt) {
  if (!there_is("rustc")) GTEST_SKIP() << "unavailable: rustc";
  const fs::path source = kRoot / "examples/rust/hello.rs";
  const fs::path program = fs::temp_directory_path() / ("vyre_rust_" + std::to_string(::getpid()));
  const std::string folder = kLibrary.parent_path().string();
  const Ran built =
      run("rustc --edition 2021 -D warnings -L " + folder + " -C link-arg=-Wl,-rpath," + folder +
          " -o " + program.string() + " " + source.string());
  ASSERT_EQ(built.status, 0) << built.text;
  const Ran ran = run(program.string());
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.text, expected_of(source, "//"));
  fs::remove(program);
}
#endif

}  // namespace
}  // namespace vyre::c_test
