// SPDX-License-Identifier: Apache-2.0
// Inputs that are too much for the machine or for the time, and files that may not grow.
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/sanitizers.hpp"
#include "cli/run_vyre.hpp"

namespace vyre::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kBytes = R"(program bytes {
  workgroup 64;
  over 1;
  in a : u8[];
  out b : u32[1];
  b[0] = len(a);
}
)";

class Limits : public testing::Test {
 protected:
  // A system on which so much is free.
  void have_free(uint64_t kib) {
    namespace fs = std::filesystem;
    fs::create_directories(folder_.path("system/proc/self"));
    (void)folder_.write("system/proc/meminfo",
                        "MemTotal: 9999999 kB\nMemAvailable: " + std::to_string(kib) + " kB\n");
    around_.environment = {"VYRE_MEMORY_ROOT=" + folder_.path("system"), "VYRE_CACHE_DIR=off"};
  }
  Outcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"run", file_, "--device", "reference"});
    return run_vyre(std::move(arguments), around_);
  }

  Folder folder_;
  const std::string file_ = folder_.write("bytes.vyre", kBytes);
  Surroundings around_{.environment = {"VYRE_CACHE_DIR=off"}};
};

TEST_F(Limits, GeneratorsNeedMemoryThatIsFree) {
  have_free(8 << 10);
  for (const char* const value :
       {"zeros(8000000)", "ones(8000000)", "fill(8000000,7)", "random(8000000,0,9)"}) {
    const Outcome outcome = run({"--in", std::string("a=") + value});
    EXPECT_EQ(outcome.exit_code, 7) << value;
    EXPECT_THAT(outcome.err, HasSubstr("input `a` needs 8000000 bytes of host memory, but 8388608 "
                                       "bytes are free (MemAvailable of the system)"))
        << value;
    EXPECT_THAT(outcome.err, HasSubstr("Fix: "));
  }
  have_free(64 << 10);
  const Outcome outcome = run({"--in", "a=zeros(8000000)"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(Limits, FilesNeedMemoryThatIsFree) {
  have_free(8 << 10);
  const std::string large = folder_.write("large.bin", std::string(9'000'000, 'x'));
  const Outcome outcome = run({"--in", "a=" + large});
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_THAT(outcome.err, HasSubstr("8388608 bytes are free"));
  // Of a pipe nobody knows the size.
  around_.input = std::string(9'000'000, 'x');
  const Outcome piped = run({"--in", "a=@-"});
  EXPECT_EQ(piped.exit_code, 7);
  EXPECT_THAT(piped.err, HasSubstr("8388608 bytes are free"));
}

// The dispatch itself: the input fits, and what the device needs on top does not.
TEST_F(Limits, DispatchesNeedMemoryThatIsFree) {
  have_free(16 << 10);
  const std::string doubled = folder_.write("doubled.vyre",
                                            "program doubled { workgroup 64; over 1;\n"
                                            "in a : u8[]; out b : u64[] @count(len(a));\n"
                                            "b[0] = 1; }\n");
  for (const char* const device : {"reference", "cpu"}) {
    const Outcome outcome =
        run_vyre({"run", doubled, "--device", device, "--in", "a=zeros(4000000)"}, around_);
    EXPECT_EQ(outcome.exit_code, 7) << device;
    EXPECT_THAT(outcome.err, HasSubstr("16777216 bytes are free")) << device;
  }
}

// They would take minutes.
TEST_F(Limits, GeneratorsObeyTheTimeout) {
  for (const char* const value : {"random(3000000000,0,9)", "fill(3000000000,7)"}) {
    const Outcome outcome = run({"--timeout", "0.01", "--in", std::string("a=") + value});
    // A machine with less than 4 GB free refuses it before the time is up.
    if (outcome.exit_code == 7) GTEST_SKIP() << outcome.err;
    EXPECT_EQ(outcome.exit_code, 8) << value << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("the time is up, and the values of `a` are not all there"));
    EXPECT_THAT(outcome.err, HasSubstr("--timeout"));
  }
}

TEST_F(Limits, GeneratorsCanBeInterrupted) {
  const Outcome outcome = run_interrupted(
      {"run", file_, "--device", "reference", "--timeout", "0", "--in", "a=random(3000000000,0,9)"},
      300);
  if (outcome.exit_code == 7) GTEST_SKIP() << outcome.err;
  // By the signal itself, or as an answer to it.
  EXPECT_TRUE(outcome.signal == 2 || outcome.exit_code == 130) << outcome.exit_code;
}

// A limit of file sizes, of 512 bytes or 1 KiB: neither the cache nor a result ends the process.
TEST_F(Limits, FilesThatMayNotGrow) {
  if (base::kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer keeps its state in files";
  const std::string cache = folder_.path("cache");
  const std::string large = folder_.write("large.vyre",
                                          "program large { workgroup 64; over 1; in a : u8[];\n"
                                          "out b : u32[4096]; b[0] = len(a); }\n");
  const std::string vyre = VYRE_BINARY;
  const auto limited = [&](const std::string& file, const std::string& arguments) {
    return run_program(
        "/bin/sh",
        {"-c", "ulimit -f 1; exec \"$0\" run \"$1\" --in 'a=zeros(5)' " + arguments, vyre, file},
        {.environment = {"VYRE_CACHE_DIR=" + cache}});
  };
  const Outcome kept = limited(file_, "--device cpu");
  EXPECT_EQ(kept.signal, 0);
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("[5]"));
  EXPECT_THAT(kept.err, HasSubstr("File too large. Fix: raise the limit of file sizes"));
  const Outcome written =
      limited(large, "--device reference --out 'b=" + folder_.path("b.npy") + "'");
  EXPECT_EQ(written.signal, 0);
  EXPECT_EQ(written.exit_code, 11) << written.err;
  EXPECT_THAT(written.err, HasSubstr("File too large"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path(".")))
    EXPECT_THAT(entry.path().string(), Not(testing::AnyOf(HasSubstr("tmp-"), HasSubstr("b.npy"))));
}

}  // namespace
}  // namespace vyre::test
