// SPDX-License-Identifier: Apache-2.0
// D-PIPE.10: a buffer lies at a multiple of its @align wherever the driver allocates it, and one of
// the caller's that does not is refused.
#include <array>

#include <gmock/gmock.h>

#include "run/driver_test.hpp"

namespace vyre::run {
namespace {

using testing::HasSubstr;

// Three alignments, hidden buffers between them, and a barrier that splits the program.
constexpr std::string_view kAligned = R"(program aligned {
  workgroup 4;
  over len(b);
  in    a : u32[] @align(512);
  inout b : u32[] @align(65536);
  out   c : u32[3] @align(4096);
  out   d : u32[5];
  let x = a[gid.x];
  b[gid.x] = x;
  barrier grid;
  c[0] = b[0];
  d[0] = x;
})";
constexpr std::array<uint64_t, 4> kWanted = {512, 65536, 4096, 256};

struct Seen {
  std::vector<std::array<uint64_t, 4>> addresses;  // of a, b, c, d in each launch; 0: not bound
};

Fake fake_that_records(Seen& seen, bool resident, bool split) {
  backend::NullOptions options;
  options.info.capabilities.resident_buffers = resident;
  options.info.capabilities.cooperative_grid_barrier = !split;
  options.info.capabilities.device_loops = false;
  options.on_launch = [&seen](const backend::NullLaunch& launch) -> Result<void> {
    std::array<uint64_t, 4> all = {};
    for (size_t i = 0; i < launch.arguments.size(); ++i) {
      const std::string& name = launch.entry.bindings[i].name;
      if (name.size() == 1 && name[0] >= 'a' && name[0] <= 'd')
        all[static_cast<size_t>(name[0] - 'a')] =
            reinterpret_cast<uint64_t>(launch.arguments[i].data());
    }
    seen.addresses.push_back(all);
    return {};
  };
  return Fake(options);
}

TEST(Alignment, OfWhatTheDriverAllocates) {
  for (const bool resident : {false, true})
    for (const bool split : {false, true}) {
      SCOPED_TRACE(testing::Message()
                   << (resident ? "resident" : "at host") << ", " << (split ? "split" : "whole"));
      Seen seen;
      const Fake fake = fake_that_records(seen, resident, split);
      const Pipeline pipeline = compile(fake.device, kAligned);
      const std::vector<uint32_t> words(37, 1);
      for (int n = 0; n < 3; ++n) {
        const auto done = pipeline.dispatch({words, words});
        ASSERT_TRUE(done) << to_string(done.error());
      }
      ASSERT_EQ(seen.addresses.size(), split ? 6U : 3U);
      std::array<int, 4> bound = {};
      for (const auto& launch : seen.addresses)
        for (size_t i = 0; i < launch.size(); ++i) {
          EXPECT_EQ(launch[i] % kWanted[i], 0U) << static_cast<char>('a' + i);
          if (launch[i] != 0) ++bound[i];
        }
      for (const int times : bound) EXPECT_GE(times, 3);
    }
}

// A workspace that is used again has an arena for all that may lie in it.
TEST(Alignment, OfAnArenaThatHadLessBefore) {
  Seen seen;
  const Fake fake = fake_that_records(seen, true, false);
  const Pipeline pipeline = compile(fake.device, kAligned);
  const std::vector<uint32_t> words(37, 1);
  const Buffer b = *fake.device.upload(bytes_of_words(words), 65536);
  const Buffer c = *fake.device.allocate(12, device::Contents::Zeros, 4096);
  // The arena of this one is larger than what the next needs, and less aligned.
  const std::vector<uint32_t> many(uint64_t{1} << 18, 1);
  const std::array<Argument, 2> inputs = {Argument(many), Argument(b)};
  const std::array<const Buffer*, 3> kept = {&b, &c, nullptr};
  ASSERT_TRUE(pipeline.dispatch({.inputs = inputs, .outputs = kept}));
  ASSERT_TRUE(pipeline.dispatch({words, words}));
  ASSERT_EQ(seen.addresses.size(), 2U);
  for (const auto& launch : seen.addresses)
    for (size_t i = 0; i < launch.size(); ++i) EXPECT_EQ(launch[i] % kWanted[i], 0U) << i;
}

TEST(Alignment, BuffersOfTheCallerAreChecked) {
  Seen seen;
  const Fake fake = fake_that_records(seen, true, false);
  const Device& device = fake.device;
  const Pipeline pipeline = compile(device, kAligned);
  const std::vector<uint32_t> words(37, 1);
  const Buffer plain = *device.upload(bytes_of_words(words));
  const Buffer less = *device.upload(bytes_of_words(words), 32768);
  const Buffer enough = *device.upload(bytes_of_words(words), 65536);
  const Buffer more = *device.upload(bytes_of_words(words), device::kMostAlignment);
  EXPECT_EQ(plain.alignment(), 256U);
  EXPECT_EQ(more.alignment(), uint64_t{2} << 20);
  const auto refused = [&](const Buffer& buffer, std::string_view numbers) {
    const auto done = pipeline.dispatch({words, buffer});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::InvalidArgument);
    EXPECT_THAT(done.error().message, HasSubstr(std::string(numbers)));
    EXPECT_THAT(done.error().message,
                HasSubstr("Fix: allocate or upload it with an alignment of 65536"));
  };
  refused(plain,
          "`b` requires a multiple of 65536 bytes (@align), and the buffer given for it was "
          "allocated at a multiple of 256");
  refused(less, "at a multiple of 32768");
  EXPECT_TRUE(seen.addresses.empty()) << "nothing was launched";
  for (const Buffer* const buffer : {&enough, &more}) {
    const auto done = pipeline.dispatch({words, *buffer});
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_EQ(seen.addresses.back()[1] % 65536, 0U);
  }
  // An output that stays on the device, too.
  const Buffer output = *device.allocate(12);
  const std::array<Argument, 2> inputs = {Argument(words), Argument(enough)};
  const std::array<const Buffer*, 3> outputs = {nullptr, &output, nullptr};
  const auto kept = pipeline.dispatch({.inputs = inputs, .outputs = outputs});
  ASSERT_FALSE(kept);
  EXPECT_THAT(kept.error().message, HasSubstr("`c` requires a multiple of 4096"));
  // Of no bytes nothing is addressed.
  const Pipeline empty = compile(device,
                                 "program e { workgroup 1; over 1; inout b : u32[] "
                                 "@align(65536); if len(b) > 0 { b[0] = 1; } }");
  EXPECT_TRUE(empty.dispatch({*device.allocate(0)}));
}

TEST(Alignment, BeyondAHugePageIsRefused) {
  const Fake fake{{}};
  const auto compiled = [&](std::string_view buffer) {
    return fake.device.compile(program("program p { workgroup 64; " + std::string(buffer) +
                                       " inout a : u32[]; a[gid.x] = 1; }"));
  };
  EXPECT_TRUE(compiled("in b : u32[] @align(2097152);"));
  const auto refused = compiled("in b : u32[] @align(4194304);");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::LimitExceeded);
  EXPECT_THAT(refused.error().message,
              HasSubstr("the @align of `b` (4194304) is more than device `null` allows (2097152)"));
  EXPECT_TRUE(compiled("shared s : u32[4] @align(1024);"));
  const auto shared = compiled("shared s : u32[4] @align(2048);");
  ASSERT_FALSE(shared);
  EXPECT_THAT(shared.error().message,
              HasSubstr("the @align of `s` (2048) is more than device `null` allows (1024)"));
  for (const uint64_t odd : {0, 1, 128, 384, 4 << 20}) {
    const auto none = fake.device.allocate(16, device::Contents::Zeros, odd);
    ASSERT_FALSE(none) << odd;
    EXPECT_EQ(none.error().code, ErrorCode::InvalidArgument);
    EXPECT_THAT(none.error().message, HasSubstr("Fix: use a power of two from 256 to 2097152"));
  }
}

}  // namespace
}  // namespace vyre::run
