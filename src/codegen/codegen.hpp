// SPDX-License-Identifier: Apache-2.0
// From a plan to what a device loads. The entries of an artifact follow the segments of the plan
// one to one; the code is made per format and is all that a cache keeps.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/device/artifact.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

struct NvptxTarget;

// What code is made for.
struct Target {
  device::Format format = device::Format::Program;
  uint32_t subgroup_size = 0;
  bool checked = false;  // accesses out of bounds stop a lane
  // BackendInfo::architecture. For Ptx: "sm_80"; for Object one of device/kernel.hpp, or nothing.
  std::string architecture = {};
  // For tests: what memory inside of kernels holds that need not be cleared.
  std::optional<std::byte> poison = {};
};
NvptxTarget ptx_target(const Target& target);  // as long as `target` is there

// The format made for a device that takes these, best first.
Result<device::Format> choose_format(const device::FormatSet& formats, std::string_view device);

std::vector<device::Entry> entries_of(const std::shared_ptr<const plan::Plan>& plan,
                                      std::string_view program_name, const Target& target);

// CompileFailed; Unsupported for a target that no generator knows.
Result<std::vector<std::byte>> emit(const Target& target, const plan::Plan& plan);

}  // namespace vyre::codegen
