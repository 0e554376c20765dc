// SPDX-License-Identifier: Apache-2.0
// D-RES.7: what a sequence counts is what the same dispatches count one by one.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "vyre/run/device.hpp"

namespace vyre::run {

inline void expect_same(const device::TelemetrySnapshot& sequence,
                        const device::TelemetrySnapshot& single) {
#define VYRE_SAME(enumerator, name, kind, help) EXPECT_EQ(sequence.name, single.name) << #name;
  VYRE_TELEMETRY_FIELDS(VYRE_SAME)
#undef VYRE_SAME
}

// The sequence on one device, its dispatches on another one, which is opened alike. A first round
// allocates and compiles. Returns what the sequence counted.
struct Both {
  Device device, other;
  Sequence sequence, single;  // of the same shape, with the pipelines and buffers of each device
};
inline device::TelemetrySnapshot expect_same_telemetry(const Both& both) {
  const auto sequence = [&] { return both.device.run_sequence(both.sequence); };
  const auto dispatches = [&](std::span<const SequenceItem> items) {
    for (const SequenceItem& item : items) {
      Outputs slots;
      const auto done = item.pipeline.dispatch_into(item.arguments, slots, item.config);
      EXPECT_TRUE(done) << (done ? "" : to_string(done.error()));
    }
  };
  const auto singly = [&] {
    dispatches(both.single.prefix);
    for (uint32_t i = 0; i < both.single.repeats; ++i) dispatches(both.single.repeated);
    dispatches(both.single.suffix);
  };
  const auto first = sequence();
  EXPECT_TRUE(first) << (first ? "" : to_string(first.error()));
  singly();
  const auto before = both.device.telemetry();
  const auto other_before = both.other.telemetry();
  const auto report = sequence();
  EXPECT_TRUE(report) << (report ? "" : to_string(report.error()));
  singly();
  const auto counted = both.device.telemetry() - before;
  expect_same(counted, both.other.telemetry() - other_before);
  if (report) {
    EXPECT_EQ(report->launches, counted.launches);
    uint64_t launches = 0;
    uint64_t dispatched = 0;
    for (const SequenceItemReport& item : report->items) {
      launches += item.launches;
      dispatched += item.dispatches;
    }
    EXPECT_EQ(launches, counted.launches);
    EXPECT_EQ(dispatched, counted.dispatches);
  }
  return counted;
}

}  // namespace vyre::run
