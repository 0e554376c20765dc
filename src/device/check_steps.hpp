// SPDX-License-Identifier: Apache-2.0
// Whether a list of steps is one that a device can follow: loops and branches own steps that are
// there, lengths agree, words are aligned. Cheap, so every submission is checked.
#pragma once

#include <span>

#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::device {

// Internal (the driver made a list that it must not make) or Unsupported (loops on a device without
// them).
Result<void> check_steps(std::span<const Step> steps, const BackendInfo& info);

}  // namespace vyre::device
