// SPDX-License-Identifier: Apache-2.0
// What is kept of measurements, and for whom (D-MODE.3).
#include "pipeline/tuning_record.hpp"

#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "pipeline/cache_test.hpp"
#include "vyre/backend/null.hpp"
#include "vyre/pipeline/compiler.hpp"
#include "vyre/text/text.hpp"

namespace vyre::pipeline {
namespace {

plan::TuningRecord sample() {
  return {.adopted = plan::RouteVariant{.route = plan::Route::Persistent,
                                        .workgroups_per_block = 4,
                                        .unrolled_iterations = 2,
                                        .interleave = 8,
                                        .is_1d = true,
                                        .lanes = 0x1234'5678},
          .default_ns = 0x1'2345'6789,
          .adopted_ns = 99,
          .runs = 77,
          .candidates = 6};
}

TEST(TuningRecord, ComesBack) {
  plan::TuningRecord nothing{.default_ns = 5, .runs = 40, .candidates = 3};
  for (const plan::TuningRecord& record : {sample(), nothing, plan::TuningRecord()}) {
    const auto back = decode_tuning_record(encode(record));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, record);
  }
}

TEST(TuningRecord, OtherBytesAreNone) {
  const std::vector<std::byte> bytes = encode(sample());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode_tuning_record(std::span(bytes).first(length))) << length;
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_tuning_record(longer));
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> other = bytes;
    for (uint32_t k = 0; k < 1 + random() % 3; ++k)
      other[random() % other.size()] = static_cast<std::byte>(random());
    // Whatever is read can be written, and has the properties of a measurement.
    if (const auto record = decode_tuning_record(other)) {
      EXPECT_EQ(encode(*record), other);
      if (record->adopted) {
        EXPECT_LT(record->adopted_ns, record->default_ns);
      }
    }
  }
}

TEST(TuningRecord, WhatIsSlowerIsNotAdopted) {
  plan::TuningRecord slower = sample();
  slower.adopted_ns = slower.default_ns;
  EXPECT_FALSE(decode_tuning_record(encode(slower)));
}

std::shared_ptr<const check::CheckedProgram> program(std::string_view body) {
  auto checked = check::check_valid(
      text::parse("program p { workgroup 4; inout a : u32[]; " + std::string(body) + " }", "p.vyre")
          .program);
  EXPECT_TRUE(checked);
  return std::make_shared<const check::CheckedProgram>(std::move(*checked));
}

struct Described {
  Source source = make_source(program("a[gid.x] = 1;"));
  Policy policy = {};
  plan::ShapeClass shape = {
      .workgroup = {4, 1, 1}, .is_1d = true, .workgroups_log2 = 5, .bytes_log2 = 9};
  device::BackendInfo info = backend::null_info();
  std::string build = "build";

  [[nodiscard]] CacheKey key() const {
    return make_tuning_key({.source = source, .policy = policy, .shape = shape}, info, build);
  }
};

TEST(TuningRecord, IsForOneProgramShapeDeviceAndCompiler) {
  const CacheKey key = Described().key();
  EXPECT_EQ(key, Described().key());
  const std::vector<std::function<void(Described&)>> changes = {
      [](Described& x) { x.source = make_source(program("a[gid.x] = 2;")); },
      [](Described& x) { x.policy.checked = true; },
      [](Described& x) { x.policy.workgroup = check::Axes{8, 1, 1}; },
      [](Described& x) { x.policy.ulp_budget = 1; },
      [](Described& x) { x.policy.profile = Profile::Latency; },
      [](Described& x) { x.shape.workgroup = {8, 1, 1}; },
      [](Described& x) { x.shape.is_1d = false; },
      [](Described& x) { x.shape.workgroups_log2 = 6; },
      [](Described& x) { x.shape.bytes_log2 = 10; },
      [](Described& x) { x.info.signature = "another device"; },
      [](Described& x) { x.info.version = "2"; },
      [](Described& x) { x.info.id = "other"; },
      [](Described& x) { x.info.capabilities.i64 = false; },
      [](Described& x) { x.build = "another build"; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Described changed;
    changes[i](changed);
    EXPECT_NE(changed.key(), key) << i;
  }
  // The variant is what the record is about.
  Described variant;
  variant.policy.variant.lanes = 8;
  EXPECT_EQ(variant.key(), key);
  // Code of the same policy is kept under another key.
  const Described same;
  EXPECT_NE(make_key(same.source, same.policy, same.info, same.build), key);
}

class Kept : public testing::Test {
 protected:
  std::unique_ptr<Compiler> compiler() {
    return std::make_unique<Compiler>(
        backend::open_null(), telemetry_,
        CompilerOptions{
            .disk = std::make_shared<DiskCache>(DiskCache::open({.directory = folder_.path()}))});
  }
  test::Folder folder_;
  device::Telemetry telemetry_;
  const Described what_;
};

TEST_F(Kept, IsFoundByOthers) {
  const Tuned tuned{.source = what_.source, .policy = what_.policy, .shape = what_.shape};
  const auto first = compiler();
  const CacheKey key = first->tuning_key(tuned);
  EXPECT_FALSE(first->find_tuning(key));
  first->store_tuning(key, sample(), "p");
  EXPECT_EQ(first->find_tuning(key), sample());
  const auto second = compiler();
  EXPECT_EQ(second->tuning_key(tuned), key);
  EXPECT_EQ(second->find_tuning(key), sample());
  EXPECT_EQ(telemetry_.snapshot().tuning_records_read, 2u);
  // Measured again, it is replaced.
  plan::TuningRecord again = sample();
  again.adopted.reset();
  again.adopted_ns = 0;
  second->store_tuning(key, again, "p");
  EXPECT_EQ(first->find_tuning(key), again);
}

TEST_F(Kept, DamagedAndForeignEntriesAreMissing) {
  const auto first = compiler();
  const CacheKey key = first->tuning_key({what_.source, what_.policy, what_.shape});
  first->store_tuning(key, sample(), "p");
  size_t damaged = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    if (file.path().extension() != ".entry") continue;
    auto bytes = test::read_raw(file.path());
    bytes.back() ^= std::byte{1};
    test::write_raw(file.path(), bytes);
    ++damaged;
  }
  EXPECT_EQ(damaged, 1u);
  EXPECT_FALSE(first->find_tuning(key));
  EXPECT_EQ(telemetry_.snapshot().cache_corrupt, 1u);
  // Sealed by this user, and yet no record.
  DiskCache::open({.directory = folder_.path()}).store(key, encode(sample()), "p");
  EXPECT_TRUE(first->find_tuning(key));
  DiskCache::open({.directory = folder_.path()}).store(key, test::payload_of(1, 100), "p");
  EXPECT_FALSE(first->find_tuning(key));
  EXPECT_EQ(telemetry_.snapshot().cache_corrupt, 2u);
}

}  // namespace
}  // namespace vyre::pipeline
