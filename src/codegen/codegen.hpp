// SPDX-License-Identifier: Apache-2.0
// From a plan to what a device loads. The entries of an artifact follow the segments of the plan
// one to one; the code is made per format and is all that a cache keeps.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/device/artifact.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

// The format made for a device that takes these, best first.
Result<device::Format> choose_format(const device::FormatSet& formats, std::string_view device);

std::vector<device::Entry> entries_of(const std::shared_ptr<const plan::Plan>& plan,
                                      std::string_view program_name);

Result<std::vector<std::byte>> emit(device::Format format, const plan::Plan& plan);

}  // namespace vyre::codegen
