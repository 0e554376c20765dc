// SPDX-License-Identifier: Apache-2.0
#include "pipeline/compile_job.hpp"

#include <filesystem>
#include <fstream>
#include <regex>

#include <gmock/gmock.h>

#include "pipeline/program_image.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

namespace vyre::pipeline {
namespace {

using testing::HasSubstr;

constexpr std::string_view kText = R"(program p {
  workgroup 8;
  over len(a);
  const N : u32 = 4;
  const T : f32[] = { 1.5, -0.25, 1.0e10 };
  require len(a) > 0, "some";
  in a : f32[] @align(16);
  out o : u32[] @count(len(a));
  shared s : u32[16];
  fn f(x : f32, m : buffer f32[]) -> f32 { return m[0] + x; }
  region main {
    var x : f32 = f(a[gid.x], a) + T[lid.x % 3];
    var t : u32[5];
    for i in 0 .. N step 2 { t[i] = i; if i == 2 { break; } }
    s[lid.x] = t[1];
    barrier workgroup;
    if gid.x == 3 { trap(7, s[0]); }
    o[gid.x] = (x as u32) + atomic_add(o[0], 1u32);
  }
}
)";

ir::Program parse(std::string_view text) {
  text::Parsed parsed = text::parse(text, "p.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors())
      << render_text(parsed.diagnostics, {{"p.vyre", text}});
  return std::move(parsed.program);
}

ir::Program image_of(const ir::Program& program) {
  Writer out;
  out(program);
  const std::vector<std::byte> bytes = out.take();
  Reader in(bytes);
  ir::Program copy;
  in(copy);
  EXPECT_TRUE(in.at_end());
  return copy;
}

// The numbers of all nodes, which equality of programs does not look at.
std::string numbers_of(const ir::Program& p) {
  std::string text;
  for (const ir::Expr& e : p.exprs) {
    text += std::to_string(e.index()) + "(";
    ir::for_each_operand(p, e, [&](ir::ExprId id) { text += std::to_string(id.value) + " "; });
    text += ")";
  }
  for (const ir::Stmt& s : p.stmts) {
    text += std::to_string(s.index()) + "[";
    ir::for_each_operand(p, s, [&](ir::ExprId id) { text += std::to_string(id.value) + " "; });
    ir::for_each_block(s, [&](ir::Block b) {
      for (const ir::StmtId id : p.items(b)) text += std::to_string(id.value) + ",";
    });
    text += "]";
  }
  return text;
}

void expect_same(const ir::Program& a, const ir::Program& b) {
  EXPECT_TRUE(a == b);
  EXPECT_EQ(numbers_of(a), numbers_of(b));
  EXPECT_EQ(a.positions.locs.size(), b.positions.locs.size());
  for (uint32_t i = 0; i < a.stmts.size(); ++i)
    EXPECT_EQ(a.position_of(ir::StmtId{i}), b.position_of(ir::StmtId{i}));
  for (uint32_t i = 0; i < a.exprs.size(); ++i)
    EXPECT_EQ(a.position_of(ir::ExprId{i}), b.position_of(ir::ExprId{i}));
}

TEST(ProgramImage, IsExact) {
  const ir::Program program = parse(kText);
  expect_same(program, image_of(program));
}

TEST(ProgramImage, OfEveryExample) {
  size_t count = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(VYRE_SOURCE_DIR) + "/examples")) {
    if (file.path().extension() != ".vyre") continue;
    std::ifstream in(file.path());
    const ir::Program program = parse(std::string{std::istreambuf_iterator<char>(in), {}});
    expect_same(program, image_of(program));
    ++count;
  }
  EXPECT_GE(count, 20U);
}

TEST(ProgramImage, CutOffAnywhereIsSeen) {
  Writer out;
  const ir::Program program = parse(kText);
  out(program);
  const std::vector<std::byte> bytes = out.take();
  for (size_t length = 0; length < bytes.size(); length += 7) {
    Reader in(std::span<const std::byte>(bytes).first(length));
    ir::Program copy;
    in(copy);
    EXPECT_FALSE(in.ok()) << length;
  }
}

CompileJob job_of(device::Format format, std::string listing = {}) {
  CompileJob job;
  job.program = parse(kText);
  job.policy.workgroup = {4, 4, 1};
  job.policy.ulp_budget = 2;
  job.policy.profile = Profile::Latency;
  job.wide_index = true;
  job.target = {.format = format,
                .subgroup_size = 32,
                .checked = true,
                .architecture = "",
                .ulp_budget = 2,
                .cheap = true};
  job.listing = std::move(listing);
  return job;
}

TEST(CompileJob, ThereAndBack) {
  const CompileJob job = job_of(device::Format::Object, "asm");
  const auto back = decode_job(encode(job));
  ASSERT_TRUE(back) << to_string(back.error());
  expect_same(back->program, job.program);
  EXPECT_EQ(back->policy, job.policy);
  EXPECT_EQ(back->wide_index, job.wide_index);
  EXPECT_EQ(back->target.format, job.target.format);
  EXPECT_EQ(back->target.subgroup_size, 32U);
  EXPECT_TRUE(back->target.checked);
  EXPECT_EQ(back->target.ulp_budget, 2U);
  EXPECT_TRUE(back->target.cheap);
  EXPECT_EQ(back->listing, job.listing);
}

TEST(CompileJob, OfAnotherBuildIsRefused) {
  std::vector<std::byte> bytes = encode(job_of(device::Format::Object));
  bytes[12] ^= std::byte{1};
  for (const auto& wrong : {bytes, std::vector<std::byte>(), std::vector<std::byte>(100)}) {
    const auto job = decode_job(wrong);
    ASSERT_FALSE(job);
    EXPECT_EQ(job.error().code, ErrorCode::CompileFailed);
    EXPECT_THAT(job.error().message, HasSubstr("another build"));
    EXPECT_THAT(job.error().message, HasSubstr("Fix:"));
  }
}

TEST(CompileJob, AnswersComeThroughWhole) {
  const CodeBytes code = {std::byte{1}, std::byte{2}, std::byte{3}};
  const auto bytes = encode_answer(code);
  const auto answer = decode_answer(bytes);
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ(**answer, code);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode_answer(std::span(bytes).first(length))) << length;

  Error error;
  error.code = ErrorCode::Unsupported;
  error.message = "no. Fix: yes";
  error.context = {"while", "testing"};
  error.at = {"p.vyre", 3, 4, 5};
  const auto refused = decode_answer(encode_answer(std::unexpected(error)));
  ASSERT_TRUE(refused && !*refused);
  EXPECT_EQ(refused->error().code, error.code);
  EXPECT_EQ(refused->error().message, error.message);
  EXPECT_EQ(refused->error().context, error.context);
  EXPECT_EQ(refused->error().at, error.at);
  error.code = static_cast<ErrorCode>(7);
  EXPECT_FALSE(decode_answer(encode_answer(std::unexpected(error))));
}

// Who has the plan and who makes it again from the job get the same bytes.
TEST(CompileJob, GivesTheCodeOfThePlan) {
  for (const auto format : {device::Format::Object, device::Format::Ptx}) {
    CompileJob job = job_of(format);
    job.policy.variant.route = plan::Route::Resident;
    job.policy.workgroup.reset();
    job.target.checked = false;
    const auto checked = check::check_valid(job.program);
    ASSERT_TRUE(checked) << to_string(checked.error());
    device::Capabilities capabilities;
    capabilities.i64 = true;
    const auto plan = make_plan(*checked, job.policy, capabilities);
    ASSERT_TRUE(plan) << to_string(plan.error());
    const auto direct = make_code(job.target, {}, *plan);
    ASSERT_TRUE(direct) << to_string(direct.error());
    const auto decoded = decode_job(encode(job));
    ASSERT_TRUE(decoded);
    const auto again = run(*decoded);
    ASSERT_TRUE(again) << to_string(again.error());
    const auto text_of = [](const CodeBytes& code) {
      // LLVM numbers the calls of a process in comments.
      return std::regex_replace(
          std::string(reinterpret_cast<const char*>(code.data()), code.size()),
          std::regex("// callseq [0-9]+"), "");
    };
    EXPECT_EQ(text_of(*direct), text_of(*again));
  }
}

}  // namespace
}  // namespace vyre::pipeline
