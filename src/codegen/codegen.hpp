// SPDX-License-Identifier: Apache-2.0
// From a plan to what a device loads. The entries of an artifact follow the segments of the plan
// one to one and are plain data; the code is made per format.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/device/artifact.hpp"
#include "vyre/device/interpreted.hpp"
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

// What a device needs to launch the code of a plan: the same whether the code is made now or
// comes from a cache.
std::vector<device::Entry> entries_of(const plan::Plan& plan, std::string_view program_name,
                                      const Target& target);
// Format::Program: what an interpreter runs. Shares the plan.
std::vector<std::shared_ptr<const device::InterpretedProgram>> programs_of(
    const std::shared_ptr<const plan::Plan>& plan);

// What a stop means that code of this format reports, with its position in the source.
Error explain(const plan::Plan& plan, device::Format format, bool checked, uint32_t entry,
              const device::KernelStop& stop);

// CompileFailed; Unsupported for a target that no generator knows.
Result<std::vector<std::byte>> emit(const Target& target, const plan::Plan& plan);

}  // namespace vyre::codegen
