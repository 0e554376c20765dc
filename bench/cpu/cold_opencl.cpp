// SPDX-License-Identifier: Apache-2.0
// One kernel on OpenCL in a process of its own: cold_opencl KERNEL N A B RESULT. The kernel is
// scale_add (N elements) or matmul (N rows); A and B are files, RESULT is written.
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>

#include "api.hpp"

namespace {

using namespace vyre::bench;

std::vector<char> file_bytes(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run(char** arguments) {
  std::string why;
  const std::unique_ptr<Api> api = open_opencl(&why);
  if (api == nullptr) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
  }
  const std::string name = arguments[1];
  const auto n = static_cast<uint32_t>(std::stoul(arguments[2]));
  const std::vector<char> a = file_bytes(arguments[3]);
  const size_t in_a = api->buffer_of(a);
  const size_t in_b = api->buffer_of(file_bytes(arguments[4]));
  const size_t out = api->buffer(a.size());
  Launch launch{api->kernel(name), {in_a, in_b, out}, {n}, {n / 256, 1, 1}, {256, 1, 1}};
  if (name == "matmul") {
    launch.groups = {n / 16, n / 16, 1};
    launch.local = {16, 16, 1};
  }
  api->run(api->record({launch}));
  const std::vector<char> result = api->read_all<char>(out, a.size());
  std::ofstream file(arguments[5], std::ios::binary);
  file.write(result.data(), static_cast<std::streamsize>(result.size()));
  return file.flush() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: cold_opencl KERNEL N A B RESULT\n");
    return 2;
  }
  try {
    return run(argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
