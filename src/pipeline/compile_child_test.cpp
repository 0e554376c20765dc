// SPDX-License-Identifier: Apache-2.0
// The other process, played by shell scripts that end in every way there is, and the real one.
#include "pipeline/compile_child.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizers.hpp"
#include "base/stop.hpp"
#include "pipeline/cache_test.hpp"
#include "pipeline/generate.hpp"
#include "vyre/text/text.hpp"

namespace vyre::pipeline {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// For a loaded machine.
constexpr milliseconds kLong{60'000};

class CompileChild : public testing::Test {
 protected:
  std::filesystem::path script(const std::string& body) {
    std::filesystem::create_directories(folder_.path("."));
    const auto path = folder_.path("compiler" + std::to_string(count_++));
    std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  Result<CodeBytes> compile(const std::string& body, ChildLimits limits = {.time = kLong}) {
    const std::vector<std::byte> job(100'000, std::byte{'j'});
    return compile_in_child(script(body), job, limits);
  }
  // Writes the answer to a file that a script can print.
  std::string answer_file(const Result<CodeBytes>& answer) {
    const auto path = folder_.path("answer");
    const auto bytes = encode_answer(answer);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path.string();
  }
  static void expect_no_child() {
    errno = 0;
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

  test::Folder folder_{test::Folder::Where::Disk};  // where files may be run
  int count_ = 0;
};

TEST_F(CompileChild, Answers) {
  const CodeBytes code(3'000'000, std::byte{5});
  const auto file = answer_file(code);
  const auto got = compile("cat > " + folder_.path("job").string() + "; cat " + file);
  ASSERT_TRUE(got) << to_string(got.error());
  EXPECT_EQ(*got, code);
  EXPECT_EQ(std::filesystem::file_size(folder_.path("job")), 100'000U);
  expect_no_child();
}

TEST_F(CompileChild, AnErrorIsAnAnswer) {
  Error error;
  error.code = ErrorCode::Unsupported;
  error.message = "no. Fix: no";
  const auto file = answer_file(std::unexpected(error));
  const auto got = compile("cat " + file);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::Unsupported);
}

// D-… out of memory inside of LLVM, whatever it looks like from outside.
TEST_F(CompileChild, OutOfMemory) {
  for (const char* body : {"exit 7", "kill -KILL $$", "head -c 20 /dev/zero; exit 7"}) {
    const auto got = compile(body, {.time = kLong, .bytes = uint64_t{3} << 20});
    ASSERT_FALSE(got) << body;
    EXPECT_EQ(got.error().code, ErrorCode::HostOutOfMemory) << body;
    EXPECT_THAT(got.error().message, HasSubstr("(3 MiB)"));
    EXPECT_THAT(got.error().message, HasSubstr("Fix:"));
  }
  expect_no_child();
}

TEST_F(CompileChild, Crashes) {
  const auto by_signal = compile("kill -SEGV $$");
  ASSERT_FALSE(by_signal);
  EXPECT_EQ(by_signal.error().code, ErrorCode::CompileFailed);
  EXPECT_THAT(by_signal.error().message, HasSubstr("by signal 11"));
  const auto by_code = compile("echo nonsense; exit 5");
  ASSERT_FALSE(by_code);
  EXPECT_EQ(by_code.error().code, ErrorCode::CompileFailed);
  EXPECT_THAT(by_code.error().message, HasSubstr("exit code 5"));
  EXPECT_THAT(by_code.error().message, HasSubstr("Fix:"));
  const auto cpu = compile("kill -XCPU $$");
  ASSERT_FALSE(cpu);
  EXPECT_EQ(cpu.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(cpu.error().message, HasSubstr("processor time"));
}

TEST_F(CompileChild, TimeLimit) {
  const auto got = compile("sleep 1000", {.time = milliseconds(50)});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(got.error().message, HasSubstr("(50 ms)"));
  expect_no_child();
}

TEST_F(CompileChild, IsStopped) {
  std::atomic<bool> cancel = false;
  const StopScope scope({.cancel = &cancel});
  const StageScope stage(Stage::Generate);
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(100));
    cancel = true;
  });
  bool stopped = false;
  try {
    (void)compile("exec sleep 1000");
  } catch (const Stopped& s) {
    stopped = true;
    EXPECT_TRUE(s.cancelled);
    EXPECT_EQ(s.stage, Stage::Generate);
  }
  later.join();
  EXPECT_TRUE(stopped);
  expect_no_child();
}

TEST_F(CompileChild, IsNotThere) {
  const auto got = compile_in_child("/nonexistent/vyre-compile", {}, {.time = kLong});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::CompileFailed);
  EXPECT_THAT(got.error().message, HasSubstr("/nonexistent/vyre-compile"));
  EXPECT_THAT(got.error().message, HasSubstr(kCompilerVariable));
}

TEST_F(CompileChild, InheritsNothing) {
  const auto secret = folder_.path("secret");
  std::ofstream(secret) << "of the caller";
  const int leaked = ::open(secret.c_str(), O_RDONLY);  // without O_CLOEXEC
  ASSERT_GE(leaked, 0);
  const auto file = answer_file(CodeBytes());
  const auto list = folder_.path("descriptors");
  ASSERT_TRUE(compile("ls -l /proc/$$/fd > " + list.string() + "; cat " + file));
  ::close(leaked);
  std::ifstream in(list);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text, HasSubstr("/dev/null"));  // its stderr
  EXPECT_THAT(text, testing::Not(HasSubstr("secret")));
}

// Hosts may let the kernel collect children, or collect any child themselves.
TEST_F(CompileChild, AnotherThreadCollectsIt) {
  const auto old = std::signal(SIGCHLD, SIG_IGN);
  const CodeBytes code = {std::byte{9}};
  const auto got = compile("cat " + answer_file(code));
  const auto crashed = compile("exit 5");
  std::signal(SIGCHLD, old);
  ASSERT_TRUE(got) << to_string(got.error());
  EXPECT_EQ(*got, code);
  EXPECT_FALSE(crashed);
}

// ---- the real one

class Generate : public testing::Test {
 protected:
  void SetUp() override {
    ::unsetenv(kCompilerVariable);
    if (find_compiler().path.empty()) GTEST_SKIP() << "vyre-compile is not built";
    text::Parsed parsed = text::parse(
        "program p { workgroup 64; inout b : u32[]; if gid.x < len(b) { b[gid.x] += 1; } }", "p");
    auto checked = check::check_valid(std::move(parsed.program));
    ASSERT_TRUE(checked);
    checked_ = std::move(*checked);
    device::Capabilities capabilities;
    capabilities.i64 = true;
    auto plan = make_plan(checked_, policy_, capabilities);
    ASSERT_TRUE(plan);
    plan_ = std::move(*plan);
    target_.format = device::Format::Object;
  }
  void TearDown() override { ::unsetenv(kCompilerVariable); }
  [[nodiscard]] GenerateRequest request() const {
    return {.program = checked_,
            .policy = policy_,
            .plan = plan_,
            .target = target_,
            .wide_index = true};
  }

  check::CheckedProgram checked_;
  Policy policy_;
  plan::Plan plan_;
  codegen::Target target_;
};

TEST_F(Generate, TheSameBytesInEitherProcess) {
  const auto here = generate(request(), {});
  ASSERT_TRUE(here) << to_string(here.error());
  const auto there = generate(request(), CompileLimits::untrusted());
  ASSERT_TRUE(there) << to_string(there.error());
  EXPECT_EQ(*here, *there);
}

// A small program starts no other process: C7 and G6 leave no time for one.
TEST_F(Generate, SmallProgramsCompileHere) {
  ::setenv(kCompilerVariable, "/bin/false", 1);
  EXPECT_TRUE(generate(request(), {}));
  EXPECT_FALSE(generate(request(), CompileLimits::untrusted()));
}

TEST_F(Generate, WithoutTheOtherProgramLargeOnesAreRefused) {
  ::setenv(kCompilerVariable, "/nonexistent/vyre-compile", 1);
  CompileLimits limits;
  limits.in_process_cost = 1;
  const auto got = generate(request(), limits);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(got.error().message, HasSubstr("/nonexistent/vyre-compile"));
  EXPECT_THAT(got.error().message, HasSubstr("limit 1"));
  EXPECT_THAT(got.error().message, HasSubstr("Fix:"));
  // Only who says so gets the old way, and never for programs that are not trusted.
  ::setenv(kCompilerVariable, std::string(kInProcess).c_str(), 1);
  EXPECT_TRUE(generate(request(), limits));
  EXPECT_FALSE(generate(request(), CompileLimits::untrusted()));
}

TEST_F(Generate, MemoryLimit) {
  if (base::kSanitized) GTEST_SKIP() << "sanitizers need more address space than any limit leaves";
  CompileLimits limits = CompileLimits::untrusted();
  // From too little to start to just enough.
  bool failed = false;
  for (uint64_t mib = 80; mib <= 1024; mib += mib / 8) {
    limits.bytes = mib << 20;
    const auto got = generate(request(), limits);
    if (got) continue;
    failed = true;
    EXPECT_EQ(got.error().code, ErrorCode::HostOutOfMemory)
        << mib << " MiB: " << to_string(got.error());
  }
  EXPECT_TRUE(failed);
  EXPECT_TRUE(generate(request(), CompileLimits::untrusted()));
}

TEST_F(Generate, ADeadlineThatHasPassed) {
  const StopScope scope({.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1)});
  EXPECT_THROW((void)generate(request(), {}), Stopped);
}

TEST(ProgramLimits, Statements) {
  check::CheckedProgram program;
  program.statements_inlined = 20'001;
  EXPECT_TRUE(check_program_limits(program, {}));
  const auto refused = check_program_limits(program, CompileLimits::untrusted());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(refused.error().message, HasSubstr("20001"));
  EXPECT_THAT(refused.error().message, HasSubstr("20000"));
}

TEST(DriverText, IsBounded) {
  CompileLimits limits;
  limits.driver_text_bytes = 10;
  EXPECT_TRUE(check_driver_text(CodeBytes(10), device::Format::Ptx, limits));
  EXPECT_TRUE(check_driver_text(CodeBytes(11), device::Format::Object, limits));
  const auto refused = check_driver_text(CodeBytes(11), device::Format::Ptx, limits);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(refused.error().message, HasSubstr("11 bytes of PTX, and 10 are allowed"));
}

}  // namespace
}  // namespace vyre::pipeline
