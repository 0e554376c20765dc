// SPDX-License-Identifier: Apache-2.0
// What the disk cache keeps of measured strategies.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "vyre/plan/tuning.hpp"

namespace vyre::pipeline {

// Integers are little-endian, whatever the machine.
std::vector<std::byte> encode(const plan::TuningRecord& record);
// Nothing if the bytes are not such an image, or say what no measurement can have come to. A
// variant from here is a suggestion: decide() takes it only where it is sound.
std::optional<plan::TuningRecord> decode_tuning_record(std::span<const std::byte> bytes);

}  // namespace vyre::pipeline
