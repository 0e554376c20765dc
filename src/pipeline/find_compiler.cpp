// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/compile_child.hpp"

namespace vyre::pipeline {

namespace fs = std::filesystem;

namespace {

// Of the file that this function is in: libvyre.so, or the program that libvyre.a is part of.
fs::path own_folder() {
  Dl_info info{};
  std::error_code error;
  if (::dladdr(reinterpret_cast<const void*>(&find_compiler), &info) != 0 &&
      info.dli_fname != nullptr) {
    // The name of the program itself is what the shell was given, which may be anything.
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    const fs::path named = fs::canonical(info.dli_fname, error);
    if (!error && named.filename().string().find(".so") != std::string::npos)
      return named.parent_path();
    if (!program.empty()) return program.parent_path();
  }
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

bool can_be_trusted(const fs::path& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return false;
  if (file.st_uid != 0 && file.st_uid != ::geteuid()) return false;
  return (file.st_mode & S_IWOTH) == 0 && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

CompilerFile find_compiler() {
  CompilerFile found;
  // Not for programs with more rights than who runs them.
  if (const char* given = ::secure_getenv(kCompilerVariable); given != nullptr && *given != '\0') {
    found.in_process = given == kInProcess;
    if (found.in_process) return found;
    found.tried.emplace_back(given);
    if (::access(given, X_OK) == 0 && !fs::is_directory(given)) found.path = given;
    return found;
  }
  const fs::path own = own_folder();
  if (!own.empty())
    // Beside a program; in bin beside a build's libraries and test programs; from lib and
    // lib/<machine> to bin.
    for (const char* way : {".", "bin", "../bin", "../../bin"})
      found.tried.push_back((own / way / kCompilerName).lexically_normal());
  found.tried.push_back(fs::path(VYRE_INSTALLED_BIN) / kCompilerName);
  const auto there = std::ranges::find_if(found.tried, can_be_trusted);
  if (there != found.tried.end()) found.path = *there;
  return found;
}

}  // namespace vyre::pipeline
