// SPDX-License-Identifier: Apache-2.0
// Programs, pipelines and what they say of themselves.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "c_test.hpp"

namespace vyre::c_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Program parse(std::string_view text, const char* file = "test.vyre") {
  vyre_program* program = nullptr;
  must(vyre_program_parse(text.data(), text.size(), file, nullptr, &program));
  return Program(program);
}

TEST(Programs, TextBytesAndDigestGoAround) {
  const Program program = parse(kAdd);
  vyre_data* data = nullptr;
  must(vyre_program_text(program.get(), &data));
  const std::string text = text_of(data);
  EXPECT_THAT(text, StartsWith("program add {"));
  must(vyre_program_bytes(program.get(), &data));
  const std::string bytes = text_of(data);
  vyre_program* decoded = nullptr;
  must(vyre_program_decode(bytes.data(), bytes.size(), &decoded));
  const Program again(decoded);
  const Program printed = parse(text);
  std::array<uint8_t, 32> digests[3];
  must(vyre_program_digest(program.get(), digests[0].data()));
  must(vyre_program_digest(decoded, digests[1].data()));
  must(vyre_program_digest(printed.get(), digests[2].data()));
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_EQ(digests[0], digests[2]);
}

TEST(Programs, HostileBytesAndTexts) {
  vyre_program* program = nullptr;
  expect_error(vyre_program_decode("garbage", 7, &program), VYRE_INVALID_PROGRAM, "V086");
  expect_error(vyre_program_decode(nullptr, 0, &program), VYRE_INVALID_PROGRAM);
  expect_error(vyre_program_decode(nullptr, 7, &program), VYRE_INVALID_ARGUMENT);
  expect_error(vyre_program_decode("x", SIZE_MAX, &program), VYRE_INVALID_ARGUMENT);
  expect_error(vyre_program_parse(nullptr, 0, nullptr, nullptr, &program), VYRE_INVALID_PROGRAM);
  expect_error(vyre_program_parse("x", SIZE_MAX, nullptr, nullptr, &program),
               VYRE_INVALID_ARGUMENT);
  // A name of a file that is no UTF-8, and a text with a NUL inside.
  constexpr std::string_view kNul("program p { \0 }", 15);
  vyre_error* const error =
      vyre_program_parse(kNul.data(), kNul.size(), "a\xff.vyre", nullptr, &program);
  EXPECT_THAT(vyre_error_json(error), HasSubstr("\xEF\xBF\xBD.vyre"));
  expect_error(error, VYRE_INVALID_PROGRAM);
  EXPECT_EQ(program, nullptr);
}

TEST(Programs, ErrorsHaveAllDiagnostics) {
  constexpr std::string_view kBad =
      "program bad {\n  workgroup 64;\n  over 1;\n  inout a : u32[];\n  a[0] = 1.5;\n  a[0] = "
      "b;\n}\n";
  vyre_program* program = nullptr;
  const Error error(vyre_program_parse(kBad.data(), kBad.size(), "bad.vyre", nullptr, &program));
  ASSERT_NE(error, nullptr);
  EXPECT_THAT(vyre_error_text(error.get()),
              AllOf(HasSubstr("bad.vyre:5:10: error[V030]"), HasSubstr("    5 |   a[0] = 1.5;\n"),
                    HasSubstr("^^^"), HasSubstr("bad.vyre:6:10: error[V020]"), HasSubstr("Fix: ")));
  EXPECT_THAT(vyre_error_json(error.get()),
              AllOf(StartsWith(R"({"code":1006,"name":"InvalidProgram",)"),
                    HasSubstr(R"("file":"bad.vyre","line":5,"column":10,"length":3)"),
                    HasSubstr(R"("diagnostics":[{)"), HasSubstr("V020")));
}

TEST(Programs, WarningsAndBuffers) {
  const Program program = parse(
      "program p { workgroup 4; over len(y); in x : f16[8] @binding(3); shared s : u32[4]; out y : "
      "f32[] @count(len(x)); let unused = 1; y[gid.x % len(y)] = x[0]; }");
  vyre_data* data = nullptr;
  must(vyre_program_diagnostics(program.get(), &data));
  EXPECT_THAT(text_of(data), HasSubstr("V090"));
  must(vyre_program_buffers(program.get(), &data));
  EXPECT_THAT(
      text_of(data),
      AllOf(HasSubstr(R"({"name":"x","kind":"in","type":"f16","element_bytes":2,"count":8,)"
                      R"("input":0,"output":null,"binding":3,"align":0,"written":false})"),
            HasSubstr(R"({"name":"y","kind":"out","type":"f32","element_bytes":4,"count":null,)"
                      R"("input":null,"output":0,)")));
}

TEST(Programs, PipelinesOutliveWhatTheyAreMadeOf) {
  Device device = open();
  Program program = parse(kTwice);
  vyre_pipeline* made = nullptr;
  must(vyre_compile(device.get(), program.get(), nullptr, &made));
  Pipeline pipeline(made);
  program.reset();
  device.reset();
  uint32_t a = 21;
  vyre_arg inout = VYRE_MEMORY(&a, 4);
  must(vyre_dispatch(pipeline.get(), &inout, 1, &inout, 1, nullptr, nullptr));
  EXPECT_EQ(a, 42U);
  vyre_call* bound = nullptr;
  must(vyre_bind(pipeline.get(), &inout, 1, &inout, 1, nullptr, &bound));
  pipeline.reset();
  must(vyre_call_run(bound, nullptr));
  EXPECT_EQ(a, 84U);
  vyre_call_release(bound);
}

TEST(Programs, CountsOfHandles) {
  const Device device = open();
  EXPECT_EQ(vyre_device_retain(device.get()), device.get());
  vyre_device_release(device.get());
  EXPECT_STREQ(vyre_device_id(device.get()), "cpu");
  const Program program = parse(kAdd);
  EXPECT_EQ(vyre_program_retain(program.get()), program.get());
  vyre_program_release(program.get());
  const Pipeline pipeline = compile(device, kAdd);
  EXPECT_EQ(vyre_pipeline_retain(pipeline.get()), pipeline.get());
  vyre_pipeline_release(pipeline.get());
  const Buffer buffer = upload(device, "abcd", 4);
  EXPECT_EQ(vyre_buffer_retain(buffer.get()), buffer.get());
  vyre_buffer_release(buffer.get());
  EXPECT_EQ(vyre_buffer_size(buffer.get()), 4U);
}

TEST(Programs, PlansWithAndWithoutInputs) {
  const Device device = open();
  const Pipeline add = compile(device, kAdd);
  vyre_data* data = nullptr;
  must(vyre_pipeline_plan(add.get(), nullptr, 0, nullptr, &data));
  EXPECT_THAT(text_of(data), AllOf(HasSubstr(R"("program":"add")"), HasSubstr(R"("grid":null)")));
  std::array<uint32_t, 100> values{};
  std::array<vyre_arg, 2> in = {
      {{values.data(), sizeof values, nullptr, 0}, {values.data(), sizeof values, nullptr, 0}}};
  must(vyre_pipeline_plan(add.get(), in.data(), 2, nullptr, &data));
  EXPECT_THAT(text_of(data), HasSubstr(R"("grid":[2,1,1])"));
  // A buffer of the device counts as its bytes.
  const Buffer buffer = upload(device, values.data(), sizeof values);
  in[1] = VYRE_RESIDENT(buffer.get());
  must(vyre_pipeline_plan(add.get(), in.data(), 2, nullptr, &data));
  EXPECT_THAT(text_of(data), HasSubstr(R"("grid":[2,1,1])"));
  expect_error(vyre_pipeline_plan(add.get(), in.data(), 1, nullptr, &data), VYRE_INVALID_ARGUMENT);
  must(vyre_pipeline_manifest(add.get(), &data));
  EXPECT_THAT(text_of(data), HasSubstr(R"("backend_id": "cpu")"));
}

TEST(Programs, DevicesAndVersions) {
  vyre_data* data = nullptr;
  must(vyre_devices(&data));
  EXPECT_THAT(text_of(data), AllOf(HasSubstr(R"("id":"cpu")"), HasSubstr(R"("id":"reference")")));
  vyre_device* best = nullptr;
  must(vyre_device_open(nullptr, nullptr, &best));
  const Device device(best);
  must(vyre_device_info(best, &data));
  EXPECT_THAT(text_of(data), AllOf(HasSubstr(R"("lost":false)"), HasSubstr(R"("signature":")"),
                                   HasSubstr(R"("f64":true)")));
  EXPECT_EQ(vyre_abi_version(), static_cast<uint32_t>(VYRE_ABI_VERSION));
  EXPECT_THAT(vyre_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace vyre::c_test
