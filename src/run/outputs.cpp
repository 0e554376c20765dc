// SPDX-License-Identifier: Apache-2.0
#include "vyre/run/outputs.hpp"

#include <utility>

#include "base/check.hpp"

namespace vyre::run {
namespace {

using Slot = std::vector<std::byte>;

// The one place that decides and counts. reuse(slot, i) fills a slot whose capacity suffices;
// fresh(i) makes one.
template <class LengthOf, class Reuse, class Fresh>
OutputStats fill(Outputs& slots, size_t count, const LengthOf& length_of, const Reuse& reuse,
                 const Fresh& fresh) {
  OutputStats stats;
  stats.slots = count;
  if (slots.size() > count) slots.resize(count);
  slots.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t length = length_of(i);
    stats.bytes_incoming += length;
    if (i == slots.size()) {
      slots.push_back(fresh(i));
      ++stats.appended;
      stats.bytes_appended += length;
    } else if (slots[i].capacity() >= length) {
      reuse(slots[i], i);
      ++stats.reused;
      stats.bytes_copied += length;
    } else {
      slots[i] = Slot();  // not both allocations at once
      slots[i] = fresh(i);
      ++stats.moved;
      stats.bytes_moved += length;
    }
    stats.bytes_retained += slots[i].capacity();
  }
  return stats;
}

}  // namespace

OutputStats replace_outputs(Outputs& slots, Outputs&& incoming) {
  VYRE_CHECK(&slots != &incoming);
  return fill(
      slots, incoming.size(), [&](size_t i) { return incoming[i].size(); },
      [&](Slot& slot, size_t i) { slot.assign(incoming[i].begin(), incoming[i].end()); },
      [&](size_t i) { return std::move(incoming[i]); });
}

OutputStats prepare_outputs(Outputs& slots, std::span<const uint64_t> lengths) {
  return fill(
      slots, lengths.size(), [&](size_t i) { return lengths[i]; },
      [&](Slot& slot, size_t i) { slot.resize(lengths[i]); },
      [&](size_t i) { return Slot(lengths[i]); });
}

void prepare_rows(std::vector<Outputs>& rows, size_t items) {
  rows.resize(items);
}

void record(device::Telemetry& telemetry, const OutputStats& stats) {
  using Field = device::TelemetryField;
  telemetry.add(Field::OutputSlots, stats.slots);
  telemetry.add(Field::OutputSlotsReused, stats.reused);
  telemetry.add(Field::OutputSlotsMoved, stats.moved);
  telemetry.add(Field::OutputSlotsAppended, stats.appended);
  telemetry.add(Field::OutputBytesIncoming, stats.bytes_incoming);
  telemetry.add(Field::OutputBytesCopied, stats.bytes_copied);
  telemetry.add(Field::OutputBytesMoved, stats.bytes_moved);
  telemetry.add(Field::OutputBytesAppended, stats.bytes_appended);
  telemetry.set(Field::OutputBytesRetained, stats.bytes_retained);
}

}  // namespace vyre::run
