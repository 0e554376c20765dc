// SPDX-License-Identifier: Apache-2.0
// D-OUT.1; the rows of D-PIPE.8
#include "vyre/run/outputs.hpp"

#include <limits>
#include <random>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vyre::run {
namespace {

using Slot = std::vector<std::byte>;

Slot slot_of(size_t capacity, size_t length = 0) {
  Slot slot;
  slot.reserve(capacity);
  slot.resize(length, std::byte{0xEE});
  EXPECT_EQ(slot.capacity(), capacity);
  return slot;
}

Outputs slots_of(std::initializer_list<size_t> capacities) {
  Outputs slots;
  slots.reserve(capacities.size());
  for (const size_t capacity : capacities) slots.push_back(slot_of(capacity));
  return slots;
}

// Different bytes in each.
Outputs incoming_of(std::span<const uint64_t> lengths) {
  Outputs incoming;
  incoming.reserve(lengths.size());
  for (const uint64_t length : lengths) {
    const auto first = static_cast<uint8_t>(incoming.size() * 16);
    Slot& slot = incoming.emplace_back(length);
    for (size_t i = 0; i < length; ++i) slot[i] = static_cast<std::byte>(first + i);
  }
  return incoming;
}

std::vector<const std::byte*> places_of(const Outputs& outputs) {
  std::vector<const std::byte*> places;
  places.reserve(outputs.size());
  for (const Slot& slot : outputs) places.push_back(slot.data());
  return places;
}

constexpr OutputStats kSpecExample = {.slots = 3,
                                      .reused = 1,
                                      .moved = 1,
                                      .appended = 1,
                                      .bytes_incoming = 5,
                                      .bytes_copied = 2,
                                      .bytes_moved = 2,
                                      .bytes_appended = 1,
                                      .bytes_retained = 11};

TEST(ReplaceOutputs, TheExampleOfTheSpecification) {
  Outputs slots = slots_of({8, 1});
  slots.reserve(3);
  const Outputs* outer = &slots;
  const Slot* first_slot = slots.data();
  const std::byte* kept = slots[0].data();
  const std::vector<uint64_t> lengths = {2, 2, 1};
  const Outputs expected = incoming_of(lengths);
  Outputs incoming = expected;
  const std::byte* moved = incoming[1].data();
  const std::byte* appended = incoming[2].data();

  EXPECT_EQ(replace_outputs(slots, std::move(incoming)), kSpecExample);
  EXPECT_EQ(slots, expected);
  EXPECT_EQ(&slots, outer);
  EXPECT_EQ(slots.data(), first_slot);
  EXPECT_EQ(slots.capacity(), 3U);
  EXPECT_EQ(slots[0].data(), kept);
  EXPECT_EQ(slots[0].capacity(), 8U);
  EXPECT_EQ(slots[1].data(), moved) << "the allocation moves in, no byte is copied";
  EXPECT_EQ(slots[2].data(), appended);
}

TEST(PrepareOutputs, TheExampleOfTheSpecification) {
  Outputs slots = slots_of({8, 1});
  slots.reserve(3);
  const Slot* first_slot = slots.data();
  const std::byte* kept = slots[0].data();
  const std::vector<uint64_t> lengths = {2, 2, 1};
  EXPECT_EQ(prepare_outputs(slots, lengths), kSpecExample);
  ASSERT_EQ(slots.size(), 3U);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(slots[i].size(), lengths[i]);
  EXPECT_EQ(slots.data(), first_slot);
  EXPECT_EQ(slots[0].data(), kept);
  EXPECT_EQ(slots[0].capacity(), 8U);
}

TEST(ReplaceOutputs, SurplusSlotsGoAwayAndTheOuterVectorStays) {
  Outputs slots = slots_of({4, 4, 4});
  const Slot* first_slot = slots.data();
  const size_t capacity = slots.capacity();
  const std::vector<uint64_t> lengths = {4};
  EXPECT_EQ(
      replace_outputs(slots, incoming_of(lengths)),
      (OutputStats{
          .slots = 1, .reused = 1, .bytes_incoming = 4, .bytes_copied = 4, .bytes_retained = 4}));
  EXPECT_EQ(slots, incoming_of(lengths));
  EXPECT_EQ(slots.data(), first_slot);
  EXPECT_EQ(slots.capacity(), capacity);
  EXPECT_EQ(replace_outputs(slots, {}), OutputStats{});
  EXPECT_TRUE(slots.empty());
  EXPECT_EQ(slots.capacity(), capacity);
}

TEST(ReplaceOutputs, AnEmptyOutputFitsAnySlot) {
  Outputs slots = slots_of({0, 8});
  const std::byte* kept = slots[1].data();
  const OutputStats stats = replace_outputs(slots, Outputs(2));
  EXPECT_EQ(stats, (OutputStats{.slots = 2, .reused = 2, .bytes_retained = 8}));
  EXPECT_EQ(slots, Outputs(2));
  EXPECT_EQ(slots[1].data(), kept);
}

TEST(ReplaceOutputs, RetainedIsTheCapacityThatMovedIn) {
  Outputs slots = slots_of({1});
  Outputs incoming;
  incoming.push_back(slot_of(100, 2));
  EXPECT_EQ(replace_outputs(slots, std::move(incoming)).bytes_retained, 100U);
  EXPECT_EQ(slots[0].size(), 2U);
}

TEST(ReplaceOutputsDeathTest, NotByThemselves) {
  Outputs slots = slots_of({1});
  Outputs& same = slots;
  EXPECT_DEATH(replace_outputs(slots, std::move(same)), "internal bug");
}

// Both ways count alike, keep what they can, and do nothing to memory the second time.
TEST(Outputs, ReplacingAndPreparingAgreeAndSettle) {
  std::mt19937 random(7);
  const auto below = [&](uint32_t n) { return random() % n; };
  for (int round = 0; round < 500; ++round) {
    Outputs replaced;
    Outputs prepared;
    for (size_t i = below(5); i > 0; --i) {
      const size_t capacity = below(12);
      const size_t length = below(static_cast<uint32_t>(capacity) + 1);
      replaced.push_back(slot_of(capacity, length));
      prepared.push_back(slot_of(capacity, length));
    }
    std::vector<uint64_t> lengths(below(5));
    for (uint64_t& length : lengths) length = below(12);
    const std::vector<const std::byte*> before = places_of(prepared);
    std::vector<size_t> capacities;
    capacities.reserve(prepared.size());
    for (const Slot& slot : prepared) capacities.push_back(slot.capacity());

    const OutputStats stats = replace_outputs(replaced, incoming_of(lengths));
    EXPECT_EQ(prepare_outputs(prepared, lengths), stats);
    EXPECT_EQ(replaced, incoming_of(lengths));
    EXPECT_EQ(stats.slots, stats.reused + stats.moved + stats.appended);
    EXPECT_EQ(stats.bytes_incoming, stats.bytes_copied + stats.bytes_moved + stats.bytes_appended);
    ASSERT_EQ(prepared.size(), lengths.size());
    for (size_t i = 0; i < lengths.size(); ++i) {
      EXPECT_EQ(prepared[i].size(), lengths[i]);
      if (i < before.size() && capacities[i] >= lengths[i]) {
        EXPECT_EQ(prepared[i].data(), before[i]);
        EXPECT_EQ(prepared[i].capacity(), capacities[i]);
      }
    }

    for (Outputs* outputs : {&replaced, &prepared}) {
      const Slot* outer = outputs->data();
      const std::vector<const std::byte*> places = places_of(*outputs);
      const OutputStats again = outputs == &prepared
                                    ? prepare_outputs(*outputs, lengths)
                                    : replace_outputs(*outputs, incoming_of(lengths));
      EXPECT_EQ(again.reused, lengths.size());
      EXPECT_EQ(again.bytes_retained, stats.bytes_retained);
      EXPECT_EQ(outputs->data(), outer);
      EXPECT_EQ(places_of(*outputs), places);
    }
  }
}

// The entry points turn these into HostOutOfMemory; the slots stay usable.
TEST(PrepareOutputs, ALengthThatNoMemoryHasIsAnException) {
  Outputs slots = slots_of({4, 4});
  const std::vector<uint64_t> lengths = {4, std::numeric_limits<uint64_t>::max()};
  EXPECT_THROW((void)prepare_outputs(slots, lengths), std::length_error);
  ASSERT_EQ(slots.size(), 2U);
  EXPECT_EQ(slots[0].size(), 4U);
}

TEST(PrepareRows, SurplusRowsGoAwayAndTheOthersStay) {
  std::vector<Outputs> rows(3);
  for (Outputs& row : rows) row = slots_of({8});
  const Outputs* outer = rows.data();
  const Slot* slot = rows[1].data();
  const std::byte* bytes = rows[1][0].data();
  prepare_rows(rows, 2);
  ASSERT_EQ(rows.size(), 2U);
  prepare_rows(rows, 3);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_TRUE(rows[2].empty());
  EXPECT_EQ(rows.data(), outer);
  EXPECT_EQ(rows[1].data(), slot);
  EXPECT_EQ(rows[1][0].data(), bytes);
  prepare_rows(rows, 0);
  EXPECT_TRUE(rows.empty());
  EXPECT_GE(rows.capacity(), 3U);
}

// D-OBS.1: each number in its own field.
TEST(RecordOutputs, OneForOne) {
  device::Telemetry telemetry;
  const OutputStats stats = {.slots = 1,
                             .reused = 2,
                             .moved = 3,
                             .appended = 4,
                             .bytes_incoming = 5,
                             .bytes_copied = 6,
                             .bytes_moved = 7,
                             .bytes_appended = 8,
                             .bytes_retained = 9};
  record(telemetry, stats);
  device::TelemetrySnapshot expected;
  expected.output_slots = 1;
  expected.output_slots_reused = 2;
  expected.output_slots_moved = 3;
  expected.output_slots_appended = 4;
  expected.output_bytes_incoming = 5;
  expected.output_bytes_copied = 6;
  expected.output_bytes_moved = 7;
  expected.output_bytes_appended = 8;
  expected.output_bytes_retained = 9;
  EXPECT_EQ(telemetry.snapshot(), expected);
  record(telemetry, stats);
  EXPECT_EQ(telemetry.snapshot().output_slots, 2U);
  EXPECT_EQ(telemetry.snapshot().output_bytes_retained, 9U) << "a state, not a sum";
}

}  // namespace
}  // namespace vyre::run
