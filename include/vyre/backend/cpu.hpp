// SPDX-License-Identifier: Apache-2.0
// The cores of this machine as a device: runs object code of the host, which the code generator
// makes for exactly this processor.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::backend {

// Number of consecutive lanes of a workgroup that are one vector of the compiled code.
inline constexpr uint32_t kCpuSubgroupSize = 32;

// Which code programs get. All but the first are for tests: the shapes that processors of the other
// kind get, those with vectors of 512 bits or those without, since no machine has both; functions
// that are called wherever they can be; and that with as little effort as for the largest programs.
enum class CpuCode : uint8_t { Plain, OtherShapes, CalledFunctions, Cheap };

struct CpuOptions {
  // Threads that run kernels, with the caller's. 0: as many as there are cores to use; more than
  // that are good for tests only.
  uint32_t workers = 0;
  std::chrono::nanoseconds spin = std::chrono::microseconds(80);  // of a helper, before it sleeps
  uint64_t memory_limit = 0;  // of buffers; 0: most of what is available now
  // What new memory holds that need not be zeros; nothing: zeros, or what its owner left.
  std::optional<std::byte> fresh_fill{};
  CpuCode code = CpuCode::Plain;
};

// What open_cpu() would open.
device::BackendInfo cpu_info(const CpuOptions& options = {});

// Why this machine cannot run compiled code; empty: it can.
const char* why_no_cpu();

// Unavailable on a processor that there is no code for. Work is done when submit returns; what goes
// wrong in it is reported by wait.
Result<std::shared_ptr<device::Backend>> open_cpu(CpuOptions options = {});

}  // namespace vyre::backend
