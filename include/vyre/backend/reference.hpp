// SPDX-License-Identifier: Apache-2.0
// The reference interpreter as a device. It defines what programs mean and is slow; no caller gets
// it without asking for it by name. What it can do is an option, so that every route of the driver
// can be run, and compared, without hardware.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::backend {

struct ReferenceOptions {
  std::string id = "reference";
  std::string name = "reference interpreter";
  bool whole_programs = true;  // sources as they are: nothing is planned
  bool grid_barrier = true;
  bool resident_buffers = true;  // false: memory is overwritten after every submission
  bool host_split = true;
  bool device_loops = true;
  uint64_t resident_groups = ~uint64_t{0};  // workgroups that a barrier can hold at once
  oracle::Schedule schedule = oracle::Schedule::Forward;
  uint64_t seed = 0;                          // of Schedule::Random
  uint32_t subgroup_size = 32;                // 1, 4, 8, 16 or 32
  uint64_t memory_limit = uint64_t{4} << 30;  // of buffers; of lanes that wait as well
};

// The devices of this backend, by index: one for each route through a grid barrier.
//   reference    whole programs, as the source has them
//   reference:1  barriers over the grid in one launch
//   reference:2  the same with two resident blocks, so grids are shared out among them
//   reference:3  no barriers: one launch for each segment, loops on the device
//   reference:4  the same with loops run by the host
//   reference:5  no memory of its own between submissions
std::span<const ReferenceOptions> reference_devices();

// What open_reference() would open.
device::BackendInfo reference_info(const ReferenceOptions& options = {});

// InvalidArgument for a subgroup size that there is not. Work is done when submit returns; what
// goes wrong in it is reported by wait.
Result<std::shared_ptr<device::Backend>> open_reference(ReferenceOptions options = {});

}  // namespace vyre::backend
