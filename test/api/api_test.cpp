// SPDX-License-Identifier: Apache-2.0
// What include/vyre/vyre.hpp adds, and what the public API does with mistakes.
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/vyre.hpp"

namespace vyre::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kTwice = R"(program twice {
  workgroup 64;
  in  a : u32[];
  out b : u32[] @count(len(a));
  let i = gid.x;
  if i < len(b) { b[i] = a[i] * 2; }
}
)";

template <class T>
ErrorCode code_of(const Result<T>& result) {
  return result ? ErrorCode::Unknown : result.error().code;
}

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "vyre_api.XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::filesystem::path write(const char* name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(Bytes, ToVectorAndBack) {
  const std::vector<uint16_t> values = {1, 2, 300};
  EXPECT_EQ(as_bytes(values).size(), 6U);
  EXPECT_EQ(to_vector<uint16_t>(as_bytes(values)), values);
  // What does not fill a value is left out.
  EXPECT_THAT(to_vector<uint32_t>(as_bytes(values)), ElementsAre(0x20001));
  EXPECT_THAT(to_vector<uint64_t>(as_bytes(values)), IsEmpty());
  EXPECT_THAT(to_vector<double>({}), IsEmpty());
  const std::array<float, 2> floats = {1.5F, 2.5F};
  EXPECT_THAT(to_vector<float>(as_bytes(std::span(floats))), ElementsAre(1.5F, 2.5F));
}

TEST(ParseChecked, GivesACheckedProgram) {
  const auto program = parse_checked(kTwice, "twice.vyre");
  ASSERT_TRUE(program) << to_string(program.error());
  EXPECT_EQ(program->program.name, "twice");
  EXPECT_EQ(program->workgroup[0], 64U);
}

TEST(ParseChecked, ReportsAllMistakesOfTextAndChecker) {
  const auto program = parse_checked(R"(program bad {
  workgroup 64;
  out b : u32[4];
  region main {
    b[0] = missing;
    if 1u32 { b[1] = 1; }
  }
}
)",
                                     "bad.vyre");
  ASSERT_FALSE(program);
  const Error& error = program.error();
  EXPECT_EQ(error.code, ErrorCode::InvalidProgram);
  EXPECT_THAT(error.message, HasSubstr("Fix: "));
  EXPECT_EQ(error.at.file, "bad.vyre");
  EXPECT_EQ(error.at.line, 5U);
  ASSERT_EQ(error.diagnostics.size(), 2U);
  EXPECT_EQ(error.diagnostics[0].code, Code::UnknownName);
  EXPECT_EQ(error.diagnostics[1].at.line, 6U);
}

TEST(LoadChecked, ReadsTextAndBytes) {
  const Folder folder;
  const auto text = load_checked(folder.write("twice.vyre", kTwice));
  ASSERT_TRUE(text) << to_string(text.error());
  const std::vector<std::byte> bytes = encode(text->program);
  const auto encoded = load_checked(folder.write(
      "twice.bin", std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size())));
  ASSERT_TRUE(encoded) << to_string(encoded.error());
  EXPECT_EQ(text->program, encoded->program);

  EXPECT_EQ(code_of(load_checked(folder.path() / "none.vyre")), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of(load_checked(folder.path())), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of(load_checked(folder.write("empty.vyre", ""))), ErrorCode::InvalidProgram);
  EXPECT_EQ(code_of(load_checked(folder.write(
                "cut.bin",
                std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size() - 1)))),
            ErrorCode::InvalidProgram);
}

TEST(EmptyHandles, AreMistakesAndNoCrashes) {
  const Device device;
  EXPECT_FALSE(device.valid());
  EXPECT_FALSE(device.is_lost());
  EXPECT_EQ(device.info().id, "");
  EXPECT_EQ(device.telemetry(), TelemetrySnapshot());
  EXPECT_EQ(device.cache_audit(), CacheAudit());
  device.set_trace(nullptr);
  const Buffer buffer;
  const ErrorCode wrong = ErrorCode::InvalidArgument;
  auto program = parse_checked(kTwice);
  ASSERT_TRUE(program);
  EXPECT_EQ(code_of(device.compile(program->program)), wrong);
  EXPECT_EQ(code_of(device.compile(std::move(*program))), wrong);
  EXPECT_EQ(code_of(device.prewarm(nullptr)), wrong);
  EXPECT_EQ(code_of(device.allocate(4)), wrong);
  EXPECT_EQ(code_of(device.upload({})), wrong);
  EXPECT_EQ(code_of(device.write(buffer, {})), wrong);
  EXPECT_EQ(code_of(device.read(buffer)), wrong);
  EXPECT_EQ(code_of(device.read_ranges({})), wrong);
  EXPECT_EQ(code_of(device.fill(buffer, std::byte{0})), wrong);
  EXPECT_EQ(code_of(device.copy(buffer, buffer)), wrong);
  EXPECT_EQ(code_of(device.run_sequence({}, 1)), wrong);
  EXPECT_EQ(code_of(device.prepare()), wrong);
  EXPECT_EQ(code_of(device.flush()), wrong);
  EXPECT_EQ(code_of(device.shutdown()), wrong);
  EXPECT_EQ(code_of(device.recover()), wrong);

  const Pipeline pipeline;
  EXPECT_FALSE(pipeline.valid());
  EXPECT_EQ(pipeline.id(), "");
  EXPECT_EQ(pipeline.manifest(), Manifest());
  EXPECT_THAT(pipeline.program().buffers, IsEmpty());
  EXPECT_THAT(pipeline.bindings().bindings, IsEmpty());
  Outputs slots;
  std::vector<Outputs> rows;
  const std::array<Arguments, 1> items = {};
  EXPECT_EQ(code_of(pipeline.dispatch({})), wrong);
  EXPECT_EQ(code_of(pipeline.dispatch_into({}, slots)), wrong);
  EXPECT_EQ(code_of(pipeline.dispatch_async({})), wrong);
  EXPECT_EQ(code_of(pipeline.dispatch_batch(items, rows)), wrong);

  Pending pending;
  EXPECT_FALSE(pending.is_ready());
  pending.cancel();
  EXPECT_EQ(code_of(pending.wait()), wrong);
  EXPECT_FALSE(Device::over(nullptr).valid());
}

TEST(EmptyHandles, OnAnOpenDevice) {
  const auto device = Device::open("reference", {.cache_directory = {}});
  ASSERT_TRUE(device) << to_string(device.error());
  EXPECT_EQ(code_of(device->compile(std::shared_ptr<const CheckedProgram>())),
            ErrorCode::InvalidArgument);
  EXPECT_FALSE(device->read(Buffer()));
  EXPECT_FALSE(device->write(Buffer(), as_bytes(std::vector<int>{1})));
  EXPECT_FALSE(device->copy(Buffer(), Buffer()));
  const std::array<ReadRange, 1> nothing = {};
  EXPECT_EQ(code_of(device->read_ranges(nothing)), ErrorCode::InvalidArgument);
  const std::array<SequenceItem, 1> items = {};
  EXPECT_EQ(code_of(device->run_sequence(items, 1)), ErrorCode::StaleHandle);

  auto program = parse_checked(kTwice);
  const auto compiled = device->compile(std::move(*program));
  ASSERT_TRUE(compiled) << to_string(compiled.error());
  const Buffer buffer;
  EXPECT_FALSE(compiled->pipeline.dispatch({buffer}));
  EXPECT_EQ(code_of(compiled->pipeline.dispatch({}, {.grid_from = GridFrom{}})),
            ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of(compiled->pipeline.dispatch({std::vector<uint8_t>{1, 2, 3}})),
            ErrorCode::InvalidArgument);
}

TEST(Names, OfTheUmbrellaHeader) {
  EXPECT_EQ(kVersion, std::to_string(kVersionMajor) + "." + std::to_string(kVersionMinor) + "." +
                          std::to_string(kVersionPatch));
  EXPECT_TRUE(registry().backend_dispatches("reference"));
  EXPECT_EQ(name_of(DeviceKind::Oracle), "oracle");
  EXPECT_EQ(name_of(Route::Resident), "resident");
  EXPECT_EQ(code_of(Device::open("no_such_device")), ErrorCode::Unavailable);
}

}  // namespace
}  // namespace vyre::test
