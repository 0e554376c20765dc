// SPDX-License-Identifier: Apache-2.0
// A main for fuzz targets outside libFuzzer: runs every file of the given directories (or the
// given files) once, in name order. Fails when there is nothing to run, so that a target cannot
// lose its corpus unnoticed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> collect(const std::vector<fs::path>& roots) {
  std::vector<fs::path> files;
  for (const fs::path& root : roots) {
    if (fs::is_regular_file(root)) {
      files.push_back(root);
    } else if (fs::is_directory(root)) {
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<fs::path> files = collect({argv + 1, argv + argc});
  for (const fs::path& file : files) {
    // Named before the run: after a crash the last line says which input did it.
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    std::ifstream stream(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  }
  if (files.empty()) {
    std::fprintf(stderr, "no inputs. Fix: commit some under test/fuzz/corpus/<target>/\n");
    return 1;
  }
  std::printf("%zu inputs\n", files.size());
  return 0;
}
