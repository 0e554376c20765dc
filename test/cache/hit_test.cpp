// SPDX-License-Identifier: Apache-2.0
// What a hit on disk costs and gives: no plan, no code generation, the same results, and errors
// with the positions of the program that was given, not of the one that was stored.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipeline/artifact_image.hpp"
#include "pipeline/cache_test.hpp"
#include "vyre/backend/cpu.hpp"
#include "vyre/backend/null.hpp"
#include "vyre/pipeline/compiler.hpp"
#include "vyre/run/device.hpp"
#include "vyre/text/text.hpp"

namespace vyre::pipeline::test {
namespace {

using run::Device;
using run::DispatchConfig;
using testing::HasSubstr;
using Words = std::vector<uint32_t>;

// Segments, a loop on the host, shared memory and a fixpoint.
constexpr std::string_view kLoops = R"(program loops {
  workgroup 4;
  over len(d);
  inout d : u32[];
  shared s : u32[4];
  s[lid.x] = d[gid.x];
  barrier grid;
  fixpoint max 20 over (d) { region grow { d[gid.x] = min(d[gid.x] + s[lid.x] + 1, 50); } }
  d[gid.x] += fixpoint_passes();
})";

constexpr std::string_view kTrap = R"(program traps {
  workgroup 4;
  over len(d);
  inout d : u32[];
  d[gid.x] += 1;
  if d[gid.x] == 3 { trap(5, d[gid.x]); }
})";

constexpr std::string_view kSplitTrap = R"(program split_trap {
  workgroup 4;
  over len(d);
  inout d : u32[];
  d[gid.x] += 1;
  barrier grid;
  if d[(gid.x + 1) % len(d)] == 3 { trap(5, d[gid.x]); }
  barrier grid;
  d[gid.x] += 1;
})";

constexpr std::string_view kOutside = R"(program outside {
  workgroup 4;
  over 4;
  inout d : u32[];
  barrier grid;
  d[gid.x * 100] = 1;
})";

constexpr std::string_view kEndless = R"(program endless {
  workgroup 4;
  over len(d);
  inout d : u32[];
  while d[gid.x] < 10 {
    atomic_store(d[gid.x], 0);
  }
})";

constexpr std::string_view kResumes = R"(program asks {
  workgroup 4;
  over len(d);
  inout d : u32[];
  if d[gid.x] == 2 { trap(1, d[gid.x]); }
  d[gid.x] += 10;
  resume(1);
  d[gid.x] += 100;
})";

ir::Program program_of(std::string_view text) {
  text::Parsed parsed = text::parse(text, "test.vyre");
  EXPECT_FALSE(parsed.diagnostics.has_errors()) << render_text(parsed.diagnostics, {});
  return std::move(parsed.program);
}

struct Ran {
  CacheHit hit = CacheHit::Unknown;
  uint64_t planned = 0;  // by the compiler
  uint64_t generated = 0;
  std::string outcome;  // results, reports, or the error with its position
};

class Hits : public testing::Test {
 protected:
  void SetUp() override {
    if (*backend::why_no_cpu() != 0) GTEST_SKIP() << backend::why_no_cpu();
  }

  // In a device of its own, as another process would.
  Ran run(std::string_view text, const DispatchConfig& config = {}, bool cached = true) {
    const Device device =
        Device::over(*backend::open_cpu({.workers = 1}),
                     {.cache_directory = cached ? folder_.path() : std::filesystem::path()});
    const auto compiled = device.compile(program_of(text), config);
    EXPECT_TRUE(compiled) << to_string(compiled.error());
    if (!compiled) return {};
    const Words input = {0, 1, 2, 3, 4, 5};
    const auto done = compiled->pipeline.dispatch({std::as_bytes(std::span(input))});
    Ran ran{.hit = compiled->cache_hit,
            .planned = device.telemetry().planned,
            .generated = device.telemetry().generated,
            .outcome = {}};
    if (!done) {
      ran.outcome = fmt::format("{}:{}:{} {}", done.error().at.file, done.error().at.line,
                                done.error().at.column, to_string(done.error()));
    } else {
      for (const auto& output : done->outputs)
        for (const std::byte byte : output)
          ran.outcome += fmt::format("{} ", std::to_integer<int>(byte));
      for (const TrapReport& report : done->report.resumed)
        ran.outcome +=
            fmt::format("trap {} lane {} line {} ", report.tag, report.lane, report.at.line);
    }
    return ran;
  }

  // The text as it is stores the entry; moved down by a few lines it hits, and does what it does
  // without a cache.
  std::string run_moved(std::string_view text, const DispatchConfig& config = {}) {
    const Ran first = run(text, config);
    EXPECT_EQ(first.hit, CacheHit::No);
    EXPECT_GE(first.planned, 1U);
    EXPECT_GE(first.generated, 1U);
    const std::string moved = "\n\n\n   " + std::string(text);
    const Ran again = run(moved, config);
    EXPECT_EQ(again.hit, CacheHit::Yes);
    EXPECT_EQ(again.planned, 0U);
    EXPECT_EQ(again.generated, 0U);
    EXPECT_EQ(again.outcome, run(moved, config, false).outcome);
    return again.outcome;
  }

  Folder folder_;
};

TEST_F(Hits, PlanAndGenerateNothing) {
  EXPECT_FALSE(run_moved(kLoops).empty());
  run_moved(kLoops, {.checked = true});
}

TEST_F(Hits, ErrorsHaveThePositionsOfTheProgramThatRan) {
  EXPECT_THAT(run_moved(kTrap), HasSubstr("test.vyre:9:"));
  EXPECT_THAT(run_moved(kSplitTrap), HasSubstr("test.vyre:10:"));
  EXPECT_THAT(run_moved(kOutside, {.checked = true}), HasSubstr("test.vyre:9:"));
  EXPECT_THAT(run_moved(kEndless, {.timeout = std::chrono::milliseconds(300)}),
              HasSubstr("in the loop at line 8"));
  EXPECT_THAT(run_moved(kResumes), HasSubstr("line 8"));
}

TEST_F(Hits, ALimitOnTheStateIsExplained) {
  EXPECT_THAT(run_moved(kSplitTrap, {.max_state_bytes = 1}), HasSubstr("max_state_bytes = 1"));
}

// A large grid on a GPU: the choice of a persistent kernel needs a schedule, which is on disk, too.
TEST_F(Hits, TheChoiceOfARouteIsNotPlannedAgain) {
  constexpr std::string_view kPasses = R"(program passes {
    workgroup 64;
    inout a : u32[];
    for i in 0 .. 3 { a[gid.x] += a[0]; barrier grid; }
  })";
  backend::NullOptions options;
  options.info.kind = device::Kind::Gpu;
  options.info.profile.compute_units = 4;
  options.info.profile.barrier_blocks_per_compute_unit = 2;
  options.info.capabilities.formats = {device::Format::Ptx};
  options.resident_groups = 1000;
  const auto dispatch = [&](uint32_t groups) {
    const Device device =
        Device::over(backend::open_null(options), {.cache_directory = folder_.path()});
    const auto compiled = device.compile(program_of(kPasses));
    EXPECT_TRUE(compiled) << to_string(compiled.error());
    const Words input(8192, 1);
    const auto done = compiled->pipeline.dispatch({std::as_bytes(std::span(input))},
                                                  {.grid = check::Axes{groups, 1, 1}});
    EXPECT_TRUE(done) << to_string(done.error());
    EXPECT_EQ(done->report.route, plan::Route::Persistent);
    return device.telemetry();
  };
  EXPECT_EQ(dispatch(128).generated, 2U);
  const auto again = dispatch(128);
  EXPECT_EQ(again.planned, 0U);
  EXPECT_EQ(again.generated, 0U);
  EXPECT_EQ(again.cache_hits, 2U);
  // Without state, the iterations do not matter to the code: another grid has another wish, whose
  // schedule is made, and the same code.
  const auto other = dispatch(64);
  EXPECT_LE(other.planned, 2U);
  EXPECT_EQ(dispatch(64).planned, 0U);
}

// Bytes that the cache vouches for and that are no artifact: a miss, counted, and replaced.
TEST_F(Hits, GarbageIsAMiss) {
  ASSERT_EQ(run(kLoops).hit, CacheHit::No);
  const std::string good = run(kLoops).outcome;
  std::vector<std::vector<std::byte>> payloads = {{}, {std::byte{1}}, payload_of(1, 5000)};
  DiskCache cache = DiskCache::open({.directory = folder_.path()});
  const auto entries = cache.entries();
  ASSERT_EQ(entries.size(), 1U);
  auto stored = cache.find(entries[0].key);
  ASSERT_TRUE(stored);
  for (const size_t size : {stored->size() / 2, stored->size() - 1})
    payloads.emplace_back(stored->begin(), stored->begin() + static_cast<std::ptrdiff_t>(size));
  for (const auto& payload : payloads) {
    cache.store(entries[0].key, payload, "garbage");
    const Ran ran = run(kLoops);
    EXPECT_EQ(ran.hit, CacheHit::No) << payload.size();
    EXPECT_EQ(ran.outcome, good);
    EXPECT_EQ(run(kLoops).hit, CacheHit::Yes) << "it was stored again";
  }
}

// Every byte of an entry, with a checksum that fits: the device runs it only if the decoder and the
// loader take it, and nothing crashes on the way.
TEST_F(Hits, EveryByteOfAnEntryMayBeAnything) {
  backend::NullOptions options;
  options.info.capabilities.formats = {device::Format::Object};
  options.info.capabilities.cooperative_grid_barrier = false;
  options.record = false;
  const auto hit = [&](DiskCache* cache, CacheKey* key, std::span<const std::byte> payload) {
    if (cache != nullptr) cache->store(*key, payload, "changed");
    const Device device =
        Device::over(backend::open_null(options), {.cache_directory = folder_.path()});
    const auto compiled = device.compile(program_of(kLoops));
    EXPECT_TRUE(compiled) << to_string(compiled.error());
    if (compiled->cache_hit == CacheHit::Yes) {
      const Words input = {0, 1, 2, 3};
      (void)compiled->pipeline.dispatch({std::as_bytes(std::span(input))},
                                        {.timeout = std::chrono::milliseconds(50)});
    }
    return compiled->cache_hit;
  };
  ASSERT_EQ(hit(nullptr, nullptr, {}), CacheHit::No);
  DiskCache cache = DiskCache::open({.directory = folder_.path()});
  CacheKey key = cache.entries().at(0).key;
  const auto good = cache.find(key);
  ASSERT_TRUE(good);
  ASSERT_EQ(hit(&cache, &key, *good), CacheHit::Yes);
  const auto image = decode_artifact(*good, 2);
  ASSERT_TRUE(image);
  const size_t head = good->size() - image->code.size();  // what is not code
  size_t misses = 0;
  for (size_t at = 0; at < head; at += 7) {
    auto bytes = *good;
    bytes[at] ^= std::byte{0xFF};
    misses += hit(&cache, &key, bytes) == CacheHit::No ? 1 : 0;
  }
  EXPECT_GT(misses, head / 14);
}

}  // namespace
}  // namespace vyre::pipeline::test
