// SPDX-License-Identifier: Apache-2.0
// Programs made to hurt a device: those that never end are stopped with Timeout in twice the limit,
// those that ask for too much are refused within a second, and the device goes on working.
#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "conformance/suites.hpp"
#include "vyre/run/program.hpp"

namespace vyre::conformance {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLimit{250};
constexpr milliseconds kRefusal{1000};
constexpr int kTries = 3;  // other processes may take the time that a test needs

struct Hostile {
  const char* name;
  std::string text;
  std::optional<check::Axes> grid = {};
  [[nodiscard]] bool has_barriers() const {
    return text.contains("barrier") || text.contains("fixpoint");
  }
};

std::string program(std::string_view body) {
  return fmt::format(
      "program p {{\n  workgroup 64;\n  inout b : u32[];\n  shared s : u32[64];\n{}\n}}\n", body);
}

std::vector<Hostile> endless() {
  // Functions that call two functions that call two functions ...
  std::string nest = "  fn f0(v : buffer u32[]) {\n    atomic_add(v[0], 1);\n  }\n";
  for (int i = 1; i < 12; ++i)
    nest +=
        fmt::format("  fn f{0}(v : buffer u32[]) {{\n    f{1}(v);\n    f{1}(v);\n  }}\n", i, i - 1);
  return {
      {"while_true", program("  while true {\n  }\n  b[0] = s[0];")},
      {"while_true_counts",
       program("  var k = 0;\n  while true {\n    k += 1;\n    s[lid.x] = k;\n  }\n  b[0] = k;")},
      {"while_atomic", program("  while atomic_load(b[0]) == 0 {\n    atomic_add(s[1], 1);\n  }")},
      {"while_one_lane",
       program("  if gid.x == 5 {\n    while b[1] == 0 {\n      b[2] += s[1];\n    }\n  }")},
      {"waits_for_another_lane",
       program(
           "  if lid.x == 0 {\n    while atomic_load(s[0]) == 0 {\n    }\n  }\n  if lid.x == 63 "
           "{\n    while atomic_load(s[1]) == 0 {\n    }\n  }\n  atomic_add(b[0], 1);")},
      {"long_for",
       program(
           "  for i in 0 .. 0xFFFFFFFF {\n    for j in 0 .. 0xFFFFFFFF {\n      b[gid.x] += i ^ "
           "j;\n      s[0] = 1;\n    }\n  }")},
      {"wide_for",
       program("  var x = 0;\n  for i in 0 .. 0x7FFFFFFFFFFFFFFFi64 {\n    x ^= i as u32;\n  }\n  "
               "b[gid.x] = x + s[0];")},
      {"unused_result",
       program("  var x = 1;\n  while x != 0 {\n    x = x * 3 | 1;\n  }\n  b[0] = s[0];")},
      {"many_lanes",
       program(
           "  var x = gid.x;\n  for i in 0 .. 100000 {\n    x = x * 1664525 + b[x & 3];\n  }\n  "
           "b[x & 1023] = s[0];"),
       check::Axes{60'000'000, 1, 1}},
      {"workgroup_barrier",
       program(
           "  while workgroup_load(s[0]) == 0 {\n    s[lid.x | 1] += 1;\n    barrier workgroup;\n  "
           "}\n  b[0] = 1;")},
      {"workgroup_barrier_true",
       program("  while true {\n    s[lid.x] += 1;\n    barrier workgroup;\n    b[gid.x] = s[63 - "
               "lid.x];\n  }")},
      {"grid_barrier",
       program(
           "  while grid_load(b[0]) == 0 {\n    b[gid.x | 1] += 1;\n    barrier grid;\n    s[0] = "
           "1;\n  }")},
      {"grid_barrier_true",
       program("  while true {\n    atomic_add(b[1], 1);\n    barrier grid;\n    s[0] = 1;\n  }"),
       check::Axes{4, 1, 1}},
      {"fixpoint", program("  fixpoint max 4000000000 over (b) {\n    b[gid.x] += s[0] + 1;\n  }")},
      {"call_nest",
       fill(program("$NEST\n  while true {\n    f11(b);\n    s[0] = 1;\n  }"), {{"$NEST", nest}})},
      {"nested_fixpoints",
       program(
           "  fixpoint max 100000 over (b) {\n    fixpoint max 100000 over (b) {\n      b[gid.x] "
           "+= 1;\n    }\n    s[0] = 1;\n  }")},
  };
}

class HostileTest : public testing::Test {
 public:
  explicit HostileTest(const Subject& subject) : subject_(subject) {}

 protected:
  // False: skipped or failed already.
  bool open() {
    if (!subject_.unusable.empty()) {
      skip(subject_.unusable);
      return false;
    }
    auto device = open_subject(subject_);
    if (device) device_ = *device;
    if (!device) ADD_FAILURE() << to_string(device.error());
    return device.has_value();
  }
  static void skip(const std::string& why) { GTEST_SKIP() << "unavailable: " << why; }

  void expect_usable() {
    const auto program = run::parse_checked(
        "program fine {\n  workgroup 32;\n  in a : u32[];\n  out o : u32[] @count(len(a));\n"
        "  o[gid.x] = a[gid.x] * 3;\n}\n");
    ASSERT_TRUE(program.has_value());
    auto compiled = device_.compile(check::CheckedProgram(*program));
    ASSERT_TRUE(compiled.has_value()) << to_string(compiled.error());
    const std::vector<uint32_t> a = {1, 2, 3, 4, 5};
    const auto ran = compiled->pipeline.dispatch({a});
    ASSERT_TRUE(ran.has_value()) << to_string(ran.error());
    EXPECT_EQ(ran->outputs.at(0), bytes_of<uint32_t>({3, 6, 9, 12, 15}));
  }

  const Subject& subject_;
  run::Device device_;
};

class EndlessTest : public HostileTest {
 public:
  EndlessTest(const Subject& subject, Hostile hostile)
      : HostileTest(subject), hostile_(std::move(hostile)) {}

  void TestBody() override {
    if (!open()) return;
    const auto program = run::parse_checked(hostile_.text, "hostile.vyre");
    ASSERT_TRUE(program.has_value()) << to_string(program.error()) << hostile_.text;
    if (const auto can = pipeline::check_device_limits(*program, {}, device_.info()); !can)
      GTEST_SKIP() << "unsupported: " << can.error().message;
    run::DispatchConfig config;
    config.grid = hostile_.grid;
    auto compiled = device_.compile(check::CheckedProgram(*program), config);
    ASSERT_TRUE(compiled.has_value()) << to_string(compiled.error());
    const std::vector<uint32_t> b(1024);
    milliseconds least{1'000'000};
    for (int k = 0; k < kTries && least > 2 * kLimit; ++k) {
      const auto start = Clock::now();
      const auto ran = compiled->pipeline.dispatch({b}, {.timeout = kLimit});
      least = std::min(least, std::chrono::duration_cast<milliseconds>(Clock::now() - start));
      ASSERT_FALSE(ran.has_value());
      ASSERT_EQ(ran.error().code, ErrorCode::Timeout) << to_string(ran.error());
    }
    EXPECT_LE(least, 2 * kLimit);
    expect_usable();
  }

 private:
  Hostile hostile_;
};

struct Excessive {
  const char* name;
  std::string text;
  std::optional<check::Axes> grid = {};
  ErrorCode code = ErrorCode::LimitExceeded;
};

std::string nested_loops(int depth, std::string_view inner) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += fmt::format("for i{} in 0 .. 100 @unroll {{ ", i);
  text += inner;
  for (int i = 0; i < depth; ++i) text += " }";
  return text;
}

std::vector<Excessive> excessive() {
  std::string calls = "fn g0(v : buffer u32[]) { v[0] += 1; } ";
  for (int i = 1; i < 40; ++i)
    calls += fmt::format("fn g{0}(v : buffer u32[]) {{ g{1}(v); g{1}(v); }} ", i, i - 1);
  return {
      {"too_many_lanes", program("  b[gid.x] = s[0];"), check::Axes{0x7FFF'FFFF, 2, 1}},
      {"too_many_groups", program("  b[gid.x] = s[0];"), check::Axes{0x8000'0000, 1, 1}},
      {"over_too_much",
       "program p { workgroup 64; over 0xFFFFFFFFu64 * 1024; inout b : u32[]; b[0] = 1; }"},
      {"huge_output",
       "program p { workgroup 64; in b : u32[]; out o : u32[] @count(len(b) as u64 << 40); o[0] = "
       "b[0]; }"},
      {"call_bomb",
       "program p { workgroup 64; inout b : u32[]; " + calls + "g39(b); }",
       {},
       ErrorCode::InvalidProgram},
      {"deep_blocks",
       "program p { workgroup 64; inout b : u32[]; " + std::string(200, '{') + " b[0] = 1; " +
           std::string(200, '}') + " }",
       {},
       ErrorCode::InvalidProgram},
      {"huge_shared",
       "program p { workgroup 64; inout b : u32[]; shared s : u64[400000000]; b[0] = s[1] as u32; "
       "}"},
  };
}

// What can be refused is, and unrolling is only a wish.
class ExcessiveTest : public HostileTest {
 public:
  ExcessiveTest(const Subject& subject, Excessive what)
      : HostileTest(subject), what_(std::move(what)) {}

  void TestBody() override {
    if (!open()) return;
    milliseconds least{1'000'000};
    for (int k = 0; k < kTries && least > kRefusal; ++k) {
      const auto start = Clock::now();
      const auto ran = run();
      least = std::min(least, std::chrono::duration_cast<milliseconds>(Clock::now() - start));
      ASSERT_FALSE(ran.has_value());
      if (what_.code == ErrorCode::LimitExceeded && ran.error().code == ErrorCode::InvalidProgram)
        continue;  // the checker knows already
      ASSERT_EQ(ran.error().code, what_.code) << to_string(ran.error());
    }
    EXPECT_LE(least, kRefusal);
    expect_usable();
  }

 private:
  Result<run::DispatchResult> run() {
    auto program = run::parse_checked(what_.text, "hostile.vyre");
    if (!program) return std::unexpected(program.error());
    run::DispatchConfig config;
    config.grid = what_.grid;
    config.timeout = std::chrono::seconds(10);
    auto compiled = device_.compile(std::move(*program), config);
    if (!compiled) return std::unexpected(compiled.error());
    const std::vector<uint32_t> b(1024);
    return compiled->pipeline.dispatch({b});
  }
  Excessive what_;
};

// Asked to unroll 10^10 statements, a compiler may not try.
class UnrollTest : public HostileTest {
 public:
  using HostileTest::HostileTest;

  void TestBody() override {
    if (!open()) return;
    const auto start = Clock::now();
    auto program = run::parse_checked(program_text());
    if (program) {
      auto compiled = device_.compile(std::move(*program));
      if (compiled) {
        const std::vector<uint32_t> b(64);
        const auto ran = compiled->pipeline.dispatch({b}, {.timeout = kLimit});
        ASSERT_FALSE(ran.has_value());
        EXPECT_EQ(ran.error().code, ErrorCode::Timeout) << to_string(ran.error());
      } else {
        EXPECT_EQ(compiled.error().code, ErrorCode::LimitExceeded) << to_string(compiled.error());
      }
    } else {
      EXPECT_EQ(program.error().code, ErrorCode::InvalidProgram);
    }
    EXPECT_LE(Clock::now() - start, kTries * kRefusal);
    expect_usable();
  }

 private:
  static std::string program_text() {
    return program("  " + nested_loops(5, "b[gid.x] += i0 * i1 + s[0];"));
  }
};

template <class Test, class... Arguments>
void add(const Subject& subject, const std::string& name, Arguments... arguments) {
  testing::RegisterTest(
      suite_name(subject).c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
      [&subject, arguments...]() -> testing::Test* { return new Test(subject, arguments...); });
}

}  // namespace

void register_hostile(const std::vector<Subject>& devices) {
  for (const Subject& subject : devices) {
    for (const Hostile& hostile : endless())
      if (subject.every_case || hostile.has_barriers())
        add<EndlessTest>(subject, fmt::format("hostile_endless_{}", hostile.name), hostile);
    if (!subject.every_case) continue;
    for (const Excessive& what : excessive())
      add<ExcessiveTest>(subject, fmt::format("hostile_{}", what.name), what);
    add<UnrollTest>(subject, "hostile_unroll");
  }
}

}  // namespace vyre::conformance
