// SPDX-License-Identifier: Apache-2.0
// The registry with made-up backends; the numbers D-REG.n are those of the acceptance list.
#include "vyre/device/registry.hpp"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vyre/backend/null.hpp"

namespace vyre::device {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Error broken(std::string message) {
  return {.code = ErrorCode::DispatchFailed,
          .message = std::move(message),
          .context = {},
          .at = {},
          .diagnostics = {}};
}

// A backend with as many devices as facts; notes what is opened.
struct Fake {
  std::string id = "fake";
  Kind kind = Kind::Gpu;
  uint32_t rank = 10;
  uint64_t cost = 5;
  bool dispatches = true;
  std::vector<DeviceFacts> devices = {};
  std::string fails = {};  // opening it
  std::string site = "fake.cpp";
};

class RegistryTest : public testing::Test {
 protected:
  BackendDescriptor row(Fake fake) {
    if (fake.devices.empty()) fake.devices.push_back(facts(fake.id));
    return {.id = fake.id,
            .kind = fake.kind,
            .rank = fake.rank,
            .dispatches = fake.dispatches,
            .features = {},
            .acquisition_cost_us = fake.cost,
            .enumerate =
                [this, fake] {
                  ++enumerated_;
                  return fake.devices;
                },
            .open = [this, fake](uint32_t index) -> Result<std::shared_ptr<Backend>> {
              opened_.push_back(fake.devices[index].id);
              if (!fake.fails.empty()) return std::unexpected(broken(fake.fails));
              backend::NullOptions options;
              options.info.id = fake.devices[index].id;
              return backend::open_null(options);
            },
            .site = fake.site};
  }
  static DeviceFacts facts(std::string id) {
    DeviceFacts facts{.id = std::move(id)};
    facts.profile.name = "Fake 3000";
    return facts;
  }
  static DeviceFacts unusable(std::string id, std::string reason) {
    DeviceFacts facts{.id = std::move(id)};
    facts.unusable = std::move(reason);
    return facts;
  }
  Registry make(const std::vector<Fake>& fakes) {
    std::vector<BackendDescriptor> rows;
    rows.reserve(fakes.size());
    for (const Fake& fake : fakes) rows.push_back(row(fake));
    auto made = Registry::make(std::move(rows));
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }
  static std::string id_of(const Result<std::shared_ptr<Backend>>& device) {
    return device ? (*device)->info().id : to_string(device.error());
  }
  std::string preferred(const std::vector<Fake>& fakes, const SelectionPolicy& policy = {}) {
    return id_of(make(fakes).acquire_preferred(policy, &trace_));
  }

  std::vector<std::string> opened_;
  int enumerated_ = 0;
  Selection trace_;
};

// D-REG.1
TEST_F(RegistryTest, TwoRowsWithOneIdAreRejectedNamingBothSites) {
  const auto made = Registry::make(
      {row({.id = "a", .site = "one.cpp"}), row({.id = "b"}), row({.id = "a", .site = "two.cpp"})});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(made.error().message,
              HasSubstr("backend `a` is registered twice, by one.cpp and by two.cpp. Fix: "));
}

TEST_F(RegistryTest, RowsHaveToBeComplete) {
  for (const char* id : {"", "a:1", "Big", "with space"})
    EXPECT_FALSE(Registry::make({row({.id = id})})) << id;
  BackendDescriptor lame = row({.id = "lame"});
  lame.open = {};
  const auto made = Registry::make({lame});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("the row of backend `lame` (fake.cpp)"));
}

// D-REG.2
TEST_F(RegistryTest, RowsAreSortedByRankAndId) {
  const Registry all = make({{.id = "z", .rank = 1},
                             {.id = "c", .rank = 2, .dispatches = false},
                             {.id = "b", .rank = 2},
                             {.id = "a", .rank = 3}});
  std::vector<std::string> ids;
  for (const BackendDescriptor& row : all.registered_backends()) ids.push_back(row.id);
  EXPECT_THAT(ids, ElementsAre("z", "b", "c", "a"));
  EXPECT_TRUE(all.backend_dispatches("b"));
  EXPECT_FALSE(all.backend_dispatches("c"));
  EXPECT_FALSE(all.backend_dispatches("unknown"));
  EXPECT_EQ(all.backend_precedence("a"), 3u);
  EXPECT_EQ(all.backend_precedence("unknown"), std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(enumerated_, 0);  // listing costs nothing
}

// D-REG.3
TEST_F(RegistryTest, DevicesAreAcquiredByTheirId) {
  const Registry all = make({{.id = "gpu", .devices = {facts("gpu"), facts("gpu:1")}},
                             {.id = "oracle", .kind = Kind::Oracle}});
  EXPECT_EQ(id_of(all.acquire("gpu")), "gpu");
  EXPECT_EQ(id_of(all.acquire("gpu:0")), "gpu");
  EXPECT_EQ(id_of(all.acquire("gpu:1")), "gpu:1");
  EXPECT_EQ(id_of(all.acquire("oracle")), "oracle");
  EXPECT_THAT(id_of(all.acquire("gpu:2")), HasSubstr("backend `gpu` has 2 devices"));
  EXPECT_THAT(id_of(all.acquire("oracle:1")), HasSubstr("has 1 device, so"));
  for (const char* id : {"gpu:", "gpu:x", "gpu:1x", "gpu:-1", "gpu:1:1"})
    EXPECT_THAT(id_of(all.acquire(id)), HasSubstr("does not end in a number")) << id;
}

TEST_F(RegistryTest, UnknownBackendsAreUnavailableAndTheLinkedOnesListed) {
  const auto none = make({{.id = "gpu"}, {.id = "cpu", .rank = 20}}).acquire("tpu:1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(none.error().message,
              HasSubstr("backend `tpu` is not linked into this binary. Fix: "));
  EXPECT_THAT(none.error().message, HasSubstr("(gpu, cpu)"));
  EXPECT_THAT(id_of(make({}).acquire("tpu")), HasSubstr("(none)"));
}

TEST_F(RegistryTest, OpenErrorsPassThroughWithContext) {
  const Registry all = make({{.id = "gpu", .devices = {}, .fails = "no context. Fix: reboot"},
                             {.id = "lib", .devices = {unusable("lib", "libgpu.so is missing")}}});
  const auto failed = all.acquire("gpu");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::DispatchFailed);
  EXPECT_EQ(failed.error().message, "no context. Fix: reboot");
  EXPECT_THAT(failed.error().context, ElementsAre("while opening device `gpu`"));
  const auto missing = all.acquire("lib");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::Unavailable);
  EXPECT_THAT(missing.error().message, HasSubstr("`lib` is not usable: libgpu.so is missing"));
  EXPECT_THAT(opened_, ElementsAre("gpu"));
}

// ---- D-REG.7: what decides, in this order

DeviceFacts strong(std::string id) {
  DeviceFacts facts{.id = std::move(id)};
  facts.capabilities.subgroup_size = 32;
  return facts;
}

TEST_F(RegistryTest, StrongerCapabilitiesWinOverABetterRank) {
  EXPECT_EQ(preferred({{.id = "a", .rank = 1}, {.id = "b", .rank = 9, .devices = {strong("b")}}}),
            "b");
  EXPECT_THAT(opened_, ElementsAre("b"));  // only the winner
}

TEST_F(RegistryTest, ThenTimingThenBandwidth) {
  DeviceFacts timed = facts("b");
  timed.profile.timing_quality = TimingQuality::HostEnqueueWait;
  DeviceFacts fast = facts("c");
  fast.profile.memory_bandwidth_bytes_per_second = 1000;
  DeviceFacts both = timed;
  both.id = "d";
  both.profile.memory_bandwidth_bytes_per_second = 1;
  EXPECT_EQ(
      preferred({{.id = "a"}, {.id = "b", .devices = {timed}}, {.id = "c", .devices = {fast}}}),
      "b");
  EXPECT_EQ(preferred({{.id = "b", .devices = {timed}}, {.id = "d", .devices = {both}}}), "d");
  EXPECT_EQ(preferred({{.id = "a"}, {.id = "c", .rank = 99, .devices = {fast}}}), "c");
}

TEST_F(RegistryTest, ThenTheLowerRankThenTheLowerCostThenTheId) {
  EXPECT_EQ(preferred({{.id = "a", .rank = 2, .cost = 1}, {.id = "b", .rank = 1, .cost = 9}}), "b");
  EXPECT_EQ(preferred({{.id = "a", .cost = 2}, {.id = "b", .cost = 1}}), "b");
  EXPECT_EQ(preferred({{.id = "b"}, {.id = "a"}}), "a");
  EXPECT_EQ(preferred({{.id = "b", .devices = {facts("b"), strong("b:1")}}}), "b:1");
}

// D-REG.4: the whole order. One device for every combination of better and worse in the six facts;
// ranked as the bits say, the first fact being the highest, whatever order they are listed in. The
// ids go the other way, so that they decide nothing.
TEST_F(RegistryTest, EachFactDecidesBeforeAllThatComeAfterIt) {
  constexpr uint32_t kFacts = 6;
  std::vector<std::string> expected;
  std::vector<Fake> fakes;
  for (uint32_t bits = 0; bits < 1U << kFacts; ++bits) {
    const auto worse = [&](uint32_t fact) { return (bits >> (kFacts - 1 - fact) & 1) != 0; };
    Fake fake;
    fake.id = "d" + std::to_string(99 - bits);
    fake.kind = worse(0) ? Kind::Cpu : Kind::Gpu;
    DeviceFacts device = facts(fake.id);
    device.capabilities.subgroup_size = worse(1) ? 0 : 32;
    device.profile.timing_quality =
        worse(2) ? TimingQuality::HostOnly : TimingQuality::HostEnqueueWait;
    device.profile.memory_bandwidth_bytes_per_second = worse(3) ? 1 : 2;
    fake.rank = worse(4) ? 2 : 1;
    fake.cost = worse(5) ? 2 : 1;
    fake.devices = {device};
    expected.push_back(fake.id);
    fakes.push_back(fake);
  }
  const auto ranked = [&] {
    std::vector<std::string> ids;
    for (const auto& c : trace_.candidates) ids.push_back(c.facts.id);
    return ids;
  };
  for (uint32_t shift = 0; shift < fakes.size(); shift += 13) {
    std::ranges::rotate(fakes, fakes.begin() + 13);
    opened_.clear();
    EXPECT_EQ(preferred(fakes, {.allow_cpu = true}), expected[0]);
    EXPECT_EQ(ranked(), expected);
    EXPECT_THAT(opened_, ElementsAre(expected[0])) << "only the winner is opened";
  }
  // All facts are traced, as they were seen.
  for (uint32_t bits = 0; bits < expected.size(); ++bits) {
    const auto& c = trace_.candidates[bits];
    const auto fake = std::ranges::find(fakes, expected[bits], &Fake::id);
    EXPECT_EQ(c.backend, fake->id);
    EXPECT_EQ(c.kind, fake->kind);
    EXPECT_EQ(c.facts.capabilities, fake->devices[0].capabilities);
    EXPECT_EQ(c.facts.profile, fake->devices[0].profile);
    EXPECT_EQ(c.score, score(c.facts.capabilities, c.facts.profile));
    EXPECT_EQ(c.rank, fake->rank);
    EXPECT_EQ(c.acquisition_cost_us, fake->cost);
    EXPECT_THAT(c.failure, IsEmpty());
  }
  // The winners fail one after the other, down to the last CPU.
  for (Fake& fake : fakes)
    if (fake.id != expected.back()) fake.fails = "it burns";
  opened_.clear();
  EXPECT_EQ(preferred(fakes, {.allow_cpu = true}), expected.back());
  EXPECT_EQ(opened_, expected);
  for (const auto& c : trace_.candidates)
    EXPECT_EQ(c.failure, c.facts.id == expected.back() ? "" : "it burns");
  // Where none is allowed, no CPU is opened, whatever the GPUs do.
  opened_.clear();
  EXPECT_THAT(preferred(fakes), HasSubstr("Unavailable"));
  EXPECT_EQ(opened_, std::vector<std::string>(expected.begin(), expected.begin() + 32));
  EXPECT_EQ(trace_.winner, "");
  EXPECT_EQ(trace_.candidates.back().failure, "a CPU, which is not allowed here");
}

// D-REG.4
TEST_F(RegistryTest, GpusComeBeforeCpusAndCpusOnlyWhenAllowed) {
  const std::vector<Fake> both = {{.id = "cpu", .kind = Kind::Cpu, .devices = {strong("cpu")}},
                                  {.id = "gpu"}};
  EXPECT_EQ(preferred(both), "gpu");
  EXPECT_EQ(preferred(both, {.allow_cpu = true}), "gpu");
  EXPECT_EQ(preferred({both[0]}, {.allow_cpu = true}), "cpu");
  opened_.clear();
  EXPECT_THAT(preferred({both[0]}), HasSubstr("(cpu: a CPU, which is not allowed here)"));
  EXPECT_THAT(opened_, IsEmpty());
}

TEST_F(RegistryTest, OraclesNullsAndThoseThatRunNothingAreNeverPreferred) {
  EXPECT_THAT(preferred({{.id = "o", .kind = Kind::Oracle},
                         {.id = "n", .kind = Kind::Null},
                         {.id = "g", .dispatches = false}},
                        {.allow_cpu = true}),
              HasSubstr("Unavailable"));
  EXPECT_THAT(opened_, IsEmpty());
}

TEST_F(RegistryTest, TheNextOneIsOpenedWhenTheWinnerFails) {
  EXPECT_EQ(preferred({{.id = "a", .devices = {strong("a")}, .fails = "it burns. Fix: water"},
                       {.id = "b", .devices = {unusable("b", "no driver")}},
                       {.id = "c"},
                       {.id = "d"}}),
            "c");
  EXPECT_THAT(opened_, ElementsAre("a", "c"));
  // The choice is traced: winner, all facts, every failure.
  EXPECT_EQ(trace_.winner, "c");
  std::vector<std::string> ids;
  ids.reserve(trace_.candidates.size());
  for (const auto& c : trace_.candidates) ids.push_back(c.facts.id + "|" + c.failure);
  EXPECT_THAT(ids, ElementsAre("a|it burns. Fix: water", "b|no driver", "c|", "d|"));
  EXPECT_EQ(to_string(trace_),
            "chosen: c\n"
            "  a: gpu ``, score 8 of 66, timing host_only, 0 bytes/s, rank 10, acquisition 5 us; "
            "not taken: it burns. Fix: water\n"
            "  b: gpu ``, score 0 of 66, timing host_only, 0 bytes/s, rank 10, acquisition 5 us; "
            "not taken: no driver\n"
            "  c: gpu `Fake 3000`, score 0 of 66, timing host_only, 0 bytes/s, rank 10, "
            "acquisition 5 us\n"
            "  d: gpu `Fake 3000`, score 0 of 66, timing host_only, 0 bytes/s, rank 10, "
            "acquisition 5 us\n");
}

// D-REG.6
TEST_F(RegistryTest, NothingUsableSaysWhy) {
  const auto message = [&](const std::vector<Fake>& fakes) {
    const auto none = make(fakes).acquire_preferred({}, &trace_);
    EXPECT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::Unavailable);
    EXPECT_THAT(none.error().message,
                HasSubstr("the reference backend is conformance infrastructure only"));
    return none.error().message.substr(0, none.error().message.find(" Fix: install"));
  };
  const Fake oracle{.id = "reference", .kind = Kind::Oracle};
  EXPECT_EQ(message({{.id = "a", .devices = {unusable("a", "no driver")}},
                     {.id = "b", .fails = "it burns"},
                     oracle}),
            "no usable GPU dispatch backend is available (a: no driver; b: it burns).");
  EXPECT_EQ(message({oracle, {.id = "null", .kind = Kind::Null}}),
            "no usable GPU dispatch backend is available (only reference oracle backend(s) were "
            "available: reference).");
  EXPECT_EQ(message({{.id = "null", .kind = Kind::Null}}),
            "no usable GPU dispatch backend is available (no dispatch-capable backend is linked "
            "into this binary).");
  EXPECT_THAT(trace_.candidates, IsEmpty());
  EXPECT_EQ(to_string(trace_), "no device was chosen\n");
}

}  // namespace
}  // namespace vyre::device
