// SPDX-License-Identifier: Apache-2.0
// The identity of the compiler covers all that decides about code: one other byte is another id,
// and the cache misses.
#include <array>
#include <cstdio>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "pipeline/cache_test.hpp"
#include "pipeline/generate.hpp"
#include "vyre/backend/null.hpp"
#include "vyre/pipeline/compiler.hpp"
#include "vyre/text/text.hpp"

namespace vyre::pipeline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

std::string id_of(const fs::path& root, std::string_view llvm = VYRE_LLVM_IDENTITY) {
  const std::string command =
      fmt::format("'{}' '-DSOURCE_DIR={}' -DVERSION=0.1.0 '-DLLVM={}' -P '{}'", VYRE_CMAKE,
                  root.string(), llvm, VYRE_SOURCE_DIR "/cmake/write_compiler_id.cmake");
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  std::array<char, 256> line{};
  EXPECT_NE(pipe, nullptr);
  EXPECT_NE(std::fgets(line.data(), line.size(), pipe), nullptr) << command;
  EXPECT_EQ(::pclose(pipe), 0) << command;
  std::string id = line.data();
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

class CompilerId : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_);
    for (const char* const folder : {"include", "src", "cmake"})
      fs::copy(VYRE_SOURCE_DIR + std::string("/") + folder, root_ / folder,
               fs::copy_options::recursive);
  }
  void flip_byte(const fs::path& name) {
    std::fstream file(root_ / name, std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file) << name;
    file.seekg(40);
    const int byte = file.get();
    file.seekp(40);
    file.put(static_cast<char>(byte ^ 1));
  }

  test::Folder folder_;
  fs::path root_ = folder_.path("tree");
};

TEST_F(CompilerId, EveryByteThatDecidesAboutCodeCounts) {
  const std::string before = id_of(root_);
  EXPECT_THAT(before, MatchesRegex("0\\.1\\.0-[0-9a-f]+"));
  EXPECT_EQ(before, id_of(VYRE_SOURCE_DIR)) << "it does not depend on where the sources lie";

  // Each is put back, so that every id differs for its own reason.
  std::set<std::string> seen = {before};
  for (const char* const name : {
           "src/device/kernel.hpp",            // the ABI of host kernels
           "src/device/gpu_kernel.hpp",        // the ABI of GPU kernels
           "src/device/gpu_kernel.cpp",        // what that code can do
           "src/pipeline/compiler.cpp",        // the policy
           "src/pipeline/limits.cpp",          //
           "src/pipeline/artifact_image.cpp",  // how the cache stores it
           "src/codegen/codegen.cpp",          //
           "src/codegen/llvm/machine_code.cpp",
           "src/plan/plan.cpp",
           "src/check/check.cpp",
           "src/ir/program.cpp",
           "src/backend/cuda/code.cpp",  // turns PTX into what the cache keeps
           "include/vyre/device/artifact.hpp",
           "include/vyre/pipeline/compiler.hpp",
       }) {
    flip_byte(name);
    EXPECT_TRUE(seen.insert(id_of(root_)).second) << name;
    flip_byte(name);
  }
  EXPECT_EQ(id_of(root_), before);

  // LLVM's version, and the flags that reach it.
  const std::string llvm = VYRE_LLVM_IDENTITY;
  for (size_t i = 0; i < llvm.size(); i += 7) {
    std::string other = llvm;
    other[i] = other[i] == '1' ? '2' : '1';
    EXPECT_TRUE(seen.insert(id_of(root_, other)).second) << other;
  }

  // A file more is another compiler, a test more is not.
  std::ofstream(root_ / "src/plan/more_test.cpp") << "// a test\n";
  EXPECT_EQ(id_of(root_), before);
  std::ofstream(root_ / "src/plan/more.cpp") << "// a pass\n";
  EXPECT_TRUE(seen.insert(id_of(root_)).second);
}

TEST_F(CompilerId, AnotherIdIsAMiss) {
  const auto checked = check::check_valid(
      text::parse("program p { workgroup 4; inout a : u32[]; a[gid.x] += 1; }", "p").program);
  ASSERT_TRUE(checked);
  const Source source = make_source(std::make_shared<const check::CheckedProgram>(*checked));
  const auto hit_with = [&](const std::string& id) {
    device::Telemetry telemetry;
    auto disk = std::make_shared<DiskCache>(DiskCache::open({.directory = folder_.path()}));
    Compiler compiler(backend::open_null(), telemetry, {.disk = disk, .build_id = id});
    const auto found = compiler.get(source, {});
    EXPECT_TRUE(found);
    return found->hit;
  };
  const std::string id = id_of(root_);
  EXPECT_EQ(hit_with(id), CacheHit::No);
  EXPECT_EQ(hit_with(id), CacheHit::Yes);
  flip_byte("src/device/gpu_kernel.hpp");
  EXPECT_EQ(hit_with(id_of(root_)), CacheHit::No);
  flip_byte("src/device/gpu_kernel.hpp");
  flip_byte("src/pipeline/compiler.cpp");
  EXPECT_EQ(hit_with(id_of(root_)), CacheHit::No);
  flip_byte("src/pipeline/compiler.cpp");
  EXPECT_EQ(hit_with(id_of(root_, "20.1.0")), CacheHit::No);
  EXPECT_EQ(hit_with(id_of(root_)), CacheHit::Yes);
}

// The id of this build: that of its sources, and the LLVM that runs in this process.
TEST(CompilerBuildId, NamesSourcesAndLlvm) {
  EXPECT_EQ(compiler_source_id(), id_of(VYRE_SOURCE_DIR));
  EXPECT_THAT(std::string(compiler_build_id()), StartsWith(std::string(compiler_source_id())));
  EXPECT_THAT(std::string(compiler_build_id()), HasSubstr(" llvm-19."));
}

}  // namespace
}  // namespace vyre::pipeline
