// SPDX-License-Identifier: Apache-2.0
// A backend is one row and one class: docs/adding-a-backend.md promises less than 150 lines.
#include "backend/tiny.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/device/buffer.hpp"

namespace vyre::test {
namespace {

using namespace device;
using testing::HasSubstr;

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Tiny, IsABackendInLessThan150Lines) {
  const std::string source =
      read_text(std::filesystem::path(VYRE_SOURCE_DIR) / "test/backend/tiny.cpp");
  EXPECT_LT(std::ranges::count(source, '\n'), 150);
  EXPECT_GT(std::ranges::count(source, '\n'), 50);  // it is this file that was read
  EXPECT_THAT(source, HasSubstr("do_recover() override"));
}

TEST(Tiny, RunsThroughTheRegistry) {
  auto registry = Registry::make({tiny_descriptor()});
  ASSERT_TRUE(registry) << registry.error().message;
  const auto device = registry->acquire_preferred({.allow_cpu = true});
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ((*device)->info().id, "tiny");

  Artifact artifact;
  artifact.format = Format::Object;
  artifact.entries = {{.name = "double", .bindings = {{.name = "words", .written = true}}}};
  const auto code = (*device)->load(artifact);
  ASSERT_TRUE(code) << code.error().message;
  const Buffer words = *(*device)->allocate(16);
  const Region region = words.whole();
  uint32_t in[4] = {1, 2, 3, 4};
  uint32_t out[4] = {};
  const Step steps[] = {
      Transfer{.device = region, .host = reinterpret_cast<std::byte*>(in)},
      Repeat{.body_steps = 1, .most = 3},
      Launch{.pipeline = code->handle(),
             .arguments = {&region, 1},
             .workgroup = {2, 1, 1},
             .grid = {2, 1, 1}},
      Transfer{.direction = Transfer::Direction::ToHost,
               .device = region,
               .host = reinterpret_cast<std::byte*>(out)},
  };
  const auto ticket = (*device)->submit({.steps = steps});
  ASSERT_TRUE(ticket) << ticket.error().message;
  const auto done = (*device)->wait(*ticket);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(out, testing::ElementsAre(8, 16, 24, 32));
  EXPECT_EQ(done->launches, 3u);
  EXPECT_TRUE(done->timings.device_ns);

  // What it does not promise, it is not asked for.
  artifact.entries[0].name = "triple";
  const auto missing = (*device)->load(artifact);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::CompileFailed);
  artifact.format = Format::Ptx;
  const auto foreign = (*device)->load(artifact);
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().code, ErrorCode::Unsupported);
  ASSERT_TRUE((*device)->recover());
  EXPECT_FALSE(words.check_owner(**device));
}

// The guide names every function a backend has to write, and files that are there.
TEST(Tiny, TheGuideIsComplete) {
  const std::filesystem::path root(VYRE_SOURCE_DIR);
  const std::string guide = read_text(root / "docs/adding-a-backend.md");
  for (const char* function : {"do_allocate", "do_release", "do_transfer", "do_load", "do_submit",
                               "do_wait", "do_recover", "enumerate", "open", "vyre_backend("})
    EXPECT_THAT(guide, HasSubstr(function));
  for (const char* file : {"include/vyre/device/backend.hpp", "include/vyre/device/steps.hpp",
                           "include/vyre/device/registry.hpp", "src/device/host_steps.hpp",
                           "src/device/host_memory.hpp", "src/backend/null/null.cpp",
                           "src/backend/CMakeLists.txt", "test/backend/tiny.cpp"}) {
    EXPECT_THAT(guide, HasSubstr(file));
    EXPECT_TRUE(std::filesystem::exists(root / file)) << file;
  }
}

}  // namespace
}  // namespace vyre::test
