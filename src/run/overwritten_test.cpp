// SPDX-License-Identifier: Apache-2.0
// Which outputs are cleared before the program runs: all but those that it overwrites, as far as
// that is sure. Every test looks at what the device was told, or at bytes that were there before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using backend::NullCall;
using testing::Each;
using testing::ElementsAre;

constexpr std::string_view kOwn = R"(program own {
  workgroup 4;
  over len(x);
  in  x : u32[];
  out y : u32[] @count(len(x));
  y[gid.x] = x[gid.x] + 1;
})";

// As many elements as are not known where the program is compiled.
constexpr std::string_view kPicture = R"(program picture {
  workgroup 4, 2;
  over size[0], size[1];
  uniform size : u32[2];
  uniform row  : u32[1];
  out     y    : u32[] @count(size[0] * size[1]);
  y[gid.y * row[0] + gid.x] = 7;
})";

const std::vector<uint32_t> kEight = {0, 1, 2, 3, 4, 5, 6, 7};

class Overwritten : public testing::Test {
 protected:
  // Fills of so many bytes.
  [[nodiscard]] size_t fills(uint64_t bytes) const {
    size_t count = 0;
    for (const NullCall& call : fake_.backend->record())
      if (call.kind == NullCall::Kind::Fill && call.bytes == bytes) ++count;
    return count;
  }
  // Of the 32 bytes of an output.
  size_t cleared(const Pipeline& pipeline, const DispatchConfig& config = {}) {
    fake_.backend->clear_record();
    const auto result = pipeline.dispatch({kEight}, config);
    EXPECT_TRUE(result) << to_string(result.error());
    return fills(32);
  }
  Fake fake_{split_options()};
};

TEST_F(Overwritten, IsNotCleared) {
  const Pipeline own = compile(fake_.device, kOwn);
  EXPECT_EQ(cleared(own), 0U);
  EXPECT_EQ(cleared(own), 0U);  // the same again
}

TEST_F(Overwritten, TheGridDecides) {
  const Pipeline own = compile(fake_.device, kOwn);
  EXPECT_EQ(cleared(own, {.grid = check::Axes{1, 1, 1}}), 1U);
  EXPECT_EQ(cleared(own, {.grid = check::Axes{2, 1, 1}}), 0U);
  EXPECT_EQ(cleared(own, {.grid = check::Axes{0, 1, 1}}), 1U);
  EXPECT_EQ(cleared(own, {.workgroup = check::Axes{8, 1, 1}}), 0U);
}

TEST_F(Overwritten, AGridThatOnlyTheDeviceKnows) {
  const Pipeline own = compile(fake_.device, kOwn);
  const Buffer grid = *fake_.device.upload(bytes_of_words({2, 1, 1}));
  EXPECT_EQ(cleared(own, {.grid_from = GridFrom{&grid, 0}}), 1U);
}

TEST_F(Overwritten, CheckedLanesMayStop) {
  const Pipeline own = compile(fake_.device, kOwn, {.checked = true});
  EXPECT_EQ(cleared(own), 1U);
}

// Whether a pass changed anything is asked of what was there before it.
TEST_F(Overwritten, RepeatedPassesBeginWithZeros) {
  const Pipeline own = compile(fake_.device, kOwn);
  EXPECT_EQ(cleared(own, {.fixpoint_iterations = 3}), 1U);
}

TEST_F(Overwritten, UniformsDecide) {
  const Pipeline picture = compile(fake_.device, kPicture);
  const std::vector<uint32_t> size = {4, 2};
  const auto dispatch = [&](const std::vector<uint32_t>& row, const Buffer* resident) {
    fake_.backend->clear_record();
    std::vector<Argument> inputs = {Argument(size)};
    inputs.push_back(resident != nullptr ? Argument(*resident) : Argument(row));
    const auto result = picture.dispatch({.inputs = inputs});
    EXPECT_TRUE(result) << to_string(result.error());
    return fills(32);
  };
  EXPECT_EQ(dispatch({4}, nullptr), 0U);
  EXPECT_EQ(dispatch({3}, nullptr), 1U);
  EXPECT_EQ(dispatch({4}, nullptr), 0U);
  const Buffer row = *fake_.device.upload(bytes_of_words({4}));
  EXPECT_EQ(dispatch({}, &row), 1U);  // what it holds is not known here
}

TEST_F(Overwritten, InSequences) {
  const Pipeline own = compile(fake_.device, kOwn);
  const Buffer x = *fake_.device.upload(bytes_of_words(kEight));
  const Buffer y = *fake_.device.allocate(32);
  const std::vector<Argument> inputs = {Argument(x)};
  const std::vector<const Buffer*> outputs = {&y};
  std::vector<SequenceItem> items(2);
  for (SequenceItem& item : items) {
    item.pipeline = own;
    item.arguments = {.inputs = inputs, .outputs = outputs};
  }
  items[1].config.grid = check::Axes{1, 1, 1};
  fake_.backend->clear_record();
  const auto report = fake_.device.run_sequence(items, 2);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(fills(32), 2U);
}

// A device that keeps nothing gets bytes with each launch, and these have to be somewhere.
TEST(OverwrittenAtHost, BytesAreThere) {
  const Device device = reference({.whole_programs = false, .resident_buffers = false});
  const auto result = compile(device, kOwn).dispatch({kEight});
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_THAT(words(result->outputs[0]), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

// What a resident buffer held shows nowhere, on any route, and what lies behind the output stays.
TEST(OverwrittenBytes, ContentsAreUnobservable) {
  const std::vector<std::string_view> programs = {
      kOwn,
      "program part { workgroup 4; over len(x); in x : u32[]; out y : u32[] @count(len(x)); "
      "if x[gid.x] % 2 == 1 { y[gid.x] = x[gid.x]; } }",
      "program short { workgroup 4; over 4; in x : u32[]; out y : u32[] @count(len(x)); "
      "y[gid.x] = x[gid.x]; }",
      "program later { workgroup 4; over len(x); in x : u32[]; out y : u32[] @count(len(x)); "
      "y[gid.x] = x[gid.x]; barrier grid; let z = y[7 - gid.x]; barrier grid; y[gid.x] = z; }",
      "program early { workgroup 4; over len(x); in x : u32[]; out y : u32[] @count(len(x)); "
      "let z = y[7 - gid.x]; barrier grid; y[gid.x] = z; }",
      "program strides { workgroup 2; over 2; in x : u32[]; out y : u32[] @count(len(x)); "
      "for i in gid.x .. len(y) step 2 { y[i] = x[i]; } }",
      "program added { workgroup 4; over len(x); in x : u32[]; out y : u32[] @count(len(x)); "
      "atomic_add(y[gid.x / 2], x[gid.x]); }",
      "program ended { workgroup 4; over len(x); in x : u32[]; out y : u32[] @count(len(x)); "
      "if x[gid.x] == 3 { return; } y[gid.x] = x[gid.x]; }",
      "program settles { workgroup 4; over len(x); in x : u32[]; out y : u32[] @count(len(x)); "
      "y[gid.x] = x[gid.x]; fixpoint max 20 over (y) { atomic_max(y[gid.x / 2], x[gid.x]); } }",
  };
  for (const std::string_view text : programs) {
    SCOPED_TRACE(text.substr(0, 20));
    const auto expected = compile(reference(), text).dispatch({kEight});
    ASSERT_TRUE(expected) << to_string(expected.error());
    for (const backend::ReferenceOptions& options : backend::reference_devices()) {
      if (!options.resident_buffers) continue;
      SCOPED_TRACE(options.id);
      const Device device = reference(options);
      const Buffer y = *device.allocate(48);
      ASSERT_TRUE(device.fill(y, std::byte{0xA5}));
      const std::vector<Argument> inputs = {Argument(kEight)};
      const std::vector<const Buffer*> outputs = {&y};
      const Pipeline pipeline = compile(device, text);
      for (int n = 0; n < 2; ++n) {
        const auto result = pipeline.dispatch({.inputs = inputs, .outputs = outputs});
        ASSERT_TRUE(result) << to_string(result.error());
        std::vector<uint32_t> held = words(*device.read(y));
        EXPECT_THAT(std::vector(held.begin() + 8, held.end()), Each(0xA5A5'A5A5));
        held.resize(8);
        EXPECT_EQ(held, words(expected->outputs[0]));
        ASSERT_TRUE(device.fill(y, std::byte{0xA5}));
      }
    }
  }
}

}  // namespace
}  // namespace vyre::run
