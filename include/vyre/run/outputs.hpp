// SPDX-License-Identifier: Apache-2.0
// The caller's output slots: one vector of bytes per output of a program, filled again by each
// dispatch. Memory that suffices is kept, so a loop of dispatches stops allocating and pointers
// into the slots stay good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vyre/device/telemetry.hpp"

namespace vyre::run {

using Outputs = std::vector<std::vector<std::byte>>;

struct OutputStats {
  uint64_t slots = 0;     // filled: reused + moved + appended
  uint64_t reused = 0;    // their capacity sufficed
  uint64_t moved = 0;     // they got other memory
  uint64_t appended = 0;  // the caller did not have them
  uint64_t bytes_incoming = 0;
  uint64_t bytes_copied = 0;  // into reused slots
  uint64_t bytes_moved = 0;
  uint64_t bytes_appended = 0;
  uint64_t bytes_retained = 0;  // capacity of all slots afterwards
  friend bool operator==(const OutputStats&, const OutputStats&) = default;
};

// Gives `slots` the bytes of `incoming`: copied where the capacity of a slot suffices, else the
// allocation moves in. Slots beyond `incoming` go away. `incoming` is another vector; afterwards it
// is only good for being filled again.
OutputStats replace_outputs(Outputs& slots, Outputs&& incoming);

// Gives `slots` these lengths, for someone who then writes every byte of them; what they hold until
// then is unspecified. The result is that of replace_outputs with outputs of these lengths.
OutputStats prepare_outputs(Outputs& slots, std::span<const uint64_t> lengths);

// One row per item of a batch: surplus rows go away, rows that stay keep their place and slots.
void prepare_rows(std::vector<Outputs>& rows, size_t items);

// Adds to the nine output_slots* and output_bytes_* fields, one for one. output_bytes is not among
// them: it also counts what reaches the caller without a slot.
void record(device::Telemetry& telemetry, const OutputStats& stats);

}  // namespace vyre::run
