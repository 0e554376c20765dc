// SPDX-License-Identifier: Apache-2.0
// D-RES.7: a prefix, a repeated part and a suffix; results into slots that are kept; each step
// counts what a dispatch of its own would.
#include <atomic>
#include <list>
#include <map>

#include <gmock/gmock.h>

#include "run/driver_test.hpp"
#include "run/same_telemetry_test.hpp"

namespace vyre::run {
namespace {

using backend::NullCall;
using backend::ReferenceOptions;
using device::TelemetrySnapshot;
using testing::ElementsAre;
using testing::HasSubstr;

// a[0] = a[0] * 10 + digit[0]: the order of steps can be read off.
constexpr std::string_view kDigit = R"(program digit {
  workgroup 1;
  over 1;
  in digit : u32[];
  inout a : u32[];
  a[0] = a[0] * 10 + digit[0];
})";
constexpr std::string_view kSplit = R"(program split {
  workgroup 4;
  over len(a);
  inout a : u32[];
  let x = a[len(a) - 1 - gid.x];
  barrier grid;
  a[gid.x] = x + 1;
})";
constexpr std::string_view kFixpoint = R"(program settles {
  workgroup 4;
  over len(a);
  inout a : u32[];
  fixpoint max 10 over (a) { a[gid.x] = min(a[gid.x] | 1, 3); }
})";
constexpr std::string_view kBranches = R"(program branches {
  workgroup 1;
  over 1;
  inout a : u32[];
  a[0] = a[0] + 1;
  if grid_load(a[0]) % 2 == 0 { barrier grid; a[0] = a[0] + 1; barrier grid; a[0] = a[0] + 1; }
})";

// Of one device: pipelines, buffers and the items of a sequence, all of them kept.
class Steps {
 public:
  explicit Steps(Device device) : device_(std::move(device)) {}
  const Device& device() const { return device_; }

  const Buffer& buffer(const std::vector<uint32_t>& words) {
    return buffers_.emplace_back(*device_.upload(bytes_of_words(words)));
  }
  SequenceItem item(std::string_view text, std::vector<Argument> inputs,
                    const DispatchConfig& config = {}) {
    auto known = pipelines_.find(text);
    if (known == pipelines_.end()) known = pipelines_.emplace(text, compile(device_, text)).first;
    const auto& kept = inputs_.emplace_back(std::move(inputs));
    return {known->second, {.inputs = kept}, config};
  }
  SequenceItem digit(uint32_t digit, const Buffer& a, const DispatchConfig& config = {}) {
    return item(kDigit, {digits_.emplace_back(1, digit), a}, config);
  }

 private:
  Device device_;
  std::list<Buffer> buffers_;
  std::list<std::vector<Argument>> inputs_;
  std::list<std::vector<uint32_t>> digits_;
  std::map<std::string_view, Pipeline> pipelines_;
};

// ---- order

TEST(Sequence, PrefixRepeatedPartAndSuffix) {
  for (const bool device_loops : {true, false}) {
    Steps s(reference({.device_loops = device_loops}));
    const Buffer& a = s.buffer({0, 0});
    const std::vector<SequenceItem> prefix = {s.digit(1, a), s.digit(2, a)};
    const std::vector<SequenceItem> repeated = {s.digit(3, a), s.digit(4, a)};
    const std::vector<SequenceItem> suffix = {s.digit(5, a)};
    const auto run = [&](const Sequence& sequence) {
      EXPECT_TRUE(s.device().fill(a, std::byte{0}));
      const auto report = s.device().run_sequence(sequence);
      EXPECT_TRUE(report) << to_string(report.error());
      if (!report) return std::pair<uint32_t, std::vector<uint64_t>>();
      EXPECT_LE(report->submissions, 1U) << "nothing of it needs the host";
      std::vector<uint64_t> dispatches;
      for (const SequenceItemReport& item : report->items) {
        dispatches.push_back(item.dispatches);
        EXPECT_EQ(item.launches, item.dispatches);
      }
      return std::pair(words(*s.device().read(a))[0], dispatches);
    };
    using Dispatches = std::vector<uint64_t>;
    EXPECT_EQ(run({.prefix = prefix, .repeated = repeated, .repeats = 3, .suffix = suffix}),
              std::pair(123434345U, Dispatches({1, 1, 3, 3, 1})));
    EXPECT_EQ(run({.prefix = prefix, .repeated = repeated, .repeats = 0, .suffix = suffix}),
              std::pair(125U, Dispatches({1, 1, 0, 0, 1})));
    EXPECT_EQ(run({.prefix = prefix, .repeats = 7, .suffix = suffix}),
              std::pair(125U, Dispatches({1, 1, 1})));
    EXPECT_EQ(run({.repeated = repeated}), std::pair(34U, Dispatches({1, 1})));
    EXPECT_EQ(run({}), std::pair(0U, Dispatches()));
  }
}

// Its shape is not known before it starts, and it never does.
TEST(Sequence, AnItemThatNeverRunsHasNoTimes) {
  auto options = split_options();
  options.info.capabilities.indirect = false;
  Fake fake(options);
  const Buffer a = *fake.device.allocate(12);
  const std::vector<Argument> inputs = {a};
  const std::vector<SequenceItem> items = {
      {compile(fake.device, kSplit),
       {.inputs = inputs},
       {.grid_from = GridFrom{&a, 0}, .timing = Timing::Regions}}};
  const auto report = fake.device.run_sequence(items, 0);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->items.at(0).dispatches, 0U);
  EXPECT_EQ(report->items.at(0).breakdown, Breakdown());
}

TEST(Sequence, ErrorsNumberTheItemsThrough) {
  Steps s(reference());
  const Buffer& a = s.buffer({0});
  const std::vector<SequenceItem> prefix = {s.digit(1, a)};
  const std::vector<SequenceItem> suffix = {s.digit(1, a, {.fixpoint_iterations = 0})};
  const auto refused =
      s.device().run_sequence({.prefix = prefix, .repeated = prefix, .suffix = suffix});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().context, testing::Contains("item 2 of 3 of the sequence"));
}

// ---- results

TEST(Sequence, ResultsKeepTheirSlots) {
  Steps s(reference());
  const Buffer& a = s.buffer({1, 2, 3, 4});
  const std::vector<ReadRange> ranges = {{&a, 0, 4}, {&a, 8, 8}, {&a, 8, 4}};
  Outputs results(2);
  results[0].reserve(8);
  results[1].resize(1);
  const std::byte* const first = results[0].data();
  const TelemetrySnapshot before = s.device().telemetry();
  ASSERT_TRUE(s.device().run_sequence({.ranges = ranges}, &results));
  const TelemetrySnapshot d = s.device().telemetry() - before;
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0].data(), first);
  EXPECT_THAT(words(results[0]), ElementsAre(1));
  EXPECT_THAT(words(results[1]), ElementsAre(3, 4));
  EXPECT_THAT(words(results[2]), ElementsAre(3));
  EXPECT_EQ(d.output_slots, 3U);
  EXPECT_EQ(d.output_slots_reused, 1U);
  EXPECT_EQ(d.output_slots_moved, 1U);
  EXPECT_EQ(d.output_slots_appended, 1U);
  EXPECT_EQ(d.output_bytes, 16U);
  EXPECT_EQ(d.output_bytes_incoming, 16U);
  EXPECT_EQ(d.output_bytes_copied, 4U);
  EXPECT_EQ(d.output_bytes_moved, 8U);
  EXPECT_EQ(d.output_bytes_appended, 4U);
  EXPECT_EQ(d.output_bytes_retained,
            results[0].capacity() + results[1].capacity() + results[2].capacity());
  // Once more: all of it stays where it is.
  const std::vector<const std::byte*> places = {results[0].data(), results[1].data(),
                                                results[2].data()};
  ASSERT_TRUE(s.device().run_sequence({.ranges = ranges}, &results));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(results[i].data(), places[i]);
  ASSERT_TRUE(s.device().run_sequence({.ranges = std::span(ranges).first(1)}, &results));
  EXPECT_EQ(results.size(), 1U);
}

// Ranges that touch are one transfer, and one that is all of it comes right into its slot.
TEST(Sequence, RangesAreReadOnce) {
  Fake fake{{}};
  const Buffer a = *fake.device.upload(bytes_of_words({1, 2, 3, 4}));
  const std::vector<ReadRange> ranges = {{&a, 0, 8}, {&a, 4, 8}, {&a, 0, 0}, {&a, 0, 8}};
  Outputs results;
  fake.backend->clear_record();
  ASSERT_TRUE(fake.device.run_sequence({.ranges = ranges}, &results));
  EXPECT_EQ(std::ranges::count(fake.backend->record(), NullCall::Kind::Read, &NullCall::kind), 1);
  EXPECT_THAT(words(results[0]), ElementsAre(1, 2));
  EXPECT_THAT(words(results[1]), ElementsAre(2, 3));
  EXPECT_TRUE(results[2].empty());
  EXPECT_THAT(words(results[3]), ElementsAre(1, 2));
}

// ---- telemetry

// Items with and without grid barriers, of one and of several workgroups, with bytes of the host,
// and with loops and branches that the device decides on.
struct Work {
  std::vector<SequenceItem> prefix, repeated, suffix;
  explicit Work(Steps& s, const DispatchConfig& last = {}) {
    const Buffer& a = s.buffer({1, 2, 3, 4, 5, 6, 7, 8});
    const Buffer& b = s.buffer({1});
    prefix = {s.item(kSplit, {a}), s.digit(7, b)};
    repeated = {s.item(kFixpoint, {a}), s.item(kBranches, {b}),
                s.item(kSplit, {b}, {.grid = check::Axes{1, 1, 1}}), s.digit(3, a)};
    suffix = {s.digit(2, b), s.item(kBranches, {b}), s.item(kSplit, {a}, last)};
  }
  [[nodiscard]] Sequence sequence() const {
    return {.prefix = prefix, .repeated = repeated, .repeats = 5, .suffix = suffix};
  }
};

TelemetrySnapshot compare(const ReferenceOptions& options, const DispatchConfig& last = {}) {
  Steps s(reference(options));
  Steps single(reference(options));
  const Work work(s, last);
  const Work singly(single, last);
  return expect_same_telemetry({.device = s.device(),
                                .other = single.device(),
                                .sequence = work.sequence(),
                                .single = singly.sequence()});
}

const std::atomic<bool> kNever = false;

TEST(SequenceTelemetry, IsThatOfSingleDispatches) {
  const std::vector<std::pair<std::string, ReferenceOptions>> devices = {
      {"whole", {}},
      {"barriers inside", {.whole_programs = false}},
      {"two resident blocks", {.whole_programs = false, .resident_groups = 2}},
      {"loops on the device", {.whole_programs = false, .grid_barrier = false}},
      {"loops by the host",
       {.whole_programs = false, .grid_barrier = false, .device_loops = false}}};
  for (const auto& [name, options] : devices) {
    for (const auto& [path, last] : {std::pair<std::string, DispatchConfig>{"deferred", {}},
                                     {"item by item", {.cancel = &kNever}},
                                     {"several queues", {.queue = 3}},
                                     {"repeated", {.fixpoint_iterations = 3}},
                                     {"measured", {.timing = Timing::Regions}}}) {
      SCOPED_TRACE(testing::Message() << name << ", " << path);
      const TelemetrySnapshot counted = compare(options, last);
      EXPECT_EQ(counted.dispatches, 2U + 5 * 4 + 3);
      EXPECT_EQ(counted.input_bytes, 4U * (1 + 5 + 1));
      if (options.grid_barrier) continue;
      EXPECT_EQ(counted.grid_sync_splits, 1U + 5 * 3 + 2);
      EXPECT_EQ(counted.launches, counted.launches_whole + counted.launches_resident);
      EXPECT_GE(counted.launches_whole, 7U);
    }
  }
}

// Each by its own route, which may be another one for each item.
TEST(SequenceTelemetry, LaunchesCountByTheRouteOfTheirItem) {
  const ReferenceOptions options = {.whole_programs = false, .resident_groups = 1};
  Steps s(reference(options));
  const Buffer& a = s.buffer({1, 2, 3, 4, 5, 6, 7, 8});
  const Buffer& b = s.buffer({1});
  const std::vector<SequenceItem> items = {s.item(kSplit, {a}), s.digit(1, b), s.item(kSplit, {b})};
  const auto report = s.device().run_sequence(items, 4);
  ASSERT_TRUE(report) << to_string(report.error());
  EXPECT_EQ(report->submissions, 1U);
  const TelemetrySnapshot counted = s.device().telemetry();
  EXPECT_EQ(counted.launches_whole, 4U);
  EXPECT_EQ(counted.launches_native + counted.launches_persistent, 8U);
  EXPECT_EQ(counted.launches_native, 4U);
}

// A submission that fails: what ended before counts in full, what failed as begun.
TEST(SequenceTelemetry, OfASequenceThatFails) {
  for (const bool device_loops : {true, false}) {
    auto options = split_options();
    options.info.capabilities.device_loops = device_loops;
    for (uint64_t launch = 0; launch < 9; ++launch) {
      SCOPED_TRACE(testing::Message() << device_loops << ", launch " << launch);
      const auto run = [&](bool sequence) {
        Fake fake(options);
        const Pipeline two = compile(fake.device, kTwoSegments);
        const Pipeline digit = compile(fake.device, kDigit);
        const Buffer a = *fake.device.allocate(4);
        const std::vector<uint32_t> one = {1};
        const std::vector<Argument> inputs = {a};
        const std::vector<Argument> digits = {one, a};
        const std::vector<SequenceItem> repeated = {{two, {.inputs = inputs}},
                                                    {digit, {.inputs = digits}}};
        const std::vector<SequenceItem> suffix = {{two, {.inputs = inputs}}};
        const auto before = fake.device.telemetry();
        fake.backend->fail_calls_like(NullCall::Kind::Launch, launch,
                                      Error{.code = ErrorCode::DispatchFailed,
                                            .message = "no. Fix: none",
                                            .context = {},
                                            .at = {},
                                            .diagnostics = {}});
        bool failed = false;
        if (sequence) {
          failed =
              !fake.device.run_sequence({.repeated = repeated, .repeats = 3, .suffix = suffix});
        } else {
          Outputs slots;
          for (size_t i = 0; i < 7 && !failed; ++i) {
            const SequenceItem& item = i < 6 ? repeated[i % 2] : suffix[0];
            failed = !item.pipeline.dispatch_into(item.arguments, slots);
          }
        }
        EXPECT_TRUE(failed);
        return fake.device.telemetry() - before;
      };
      auto sequence = run(true);
      auto single = run(false);
      sequence.compile_ns = single.compile_ns = 0;  // of code for these shapes
      expect_same(sequence, single);
    }
  }
}

// A trap of a whole program ends a sequence as it ends a dispatch.
TEST(SequenceTelemetry, TrapsAreCounted) {
  Steps s(reference());
  const Buffer& a = s.buffer({1});
  const std::vector<SequenceItem> items = {s.item(R"(program traps {
    workgroup 1;
    over 1;
    inout a : u32[];
    if a[0] == 1 { trap(3, 4); }
  })",
                                                  {a})};
  const auto report = s.device().run_sequence(items, 1);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Trapped);
  EXPECT_EQ(s.device().telemetry().traps, 1U);
}

}  // namespace
}  // namespace vyre::run
