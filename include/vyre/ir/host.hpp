// SPDX-License-Identifier: Apache-2.0
// What a running program and its host exchange: traps that lanes report, the handler that
// answers them at a resume, and how often a fixpoint was passed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "vyre/base/reports.hpp"
#include "vyre/base/result.hpp"
#include "vyre/ir/program.hpp"

namespace vyre {

// The memory of the dispatch while a resume handler runs. A span is valid until the handler
// returns.
class HandlerBuffers {
 public:
  virtual ~HandlerBuffers() = default;
  [[nodiscard]] virtual std::span<const std::byte> read(ir::BufferId buffer) const = 0;
  // Empty unless the buffer is `inout`, `out` or `persistent`.
  [[nodiscard]] virtual std::span<std::byte> write(ir::BufferId buffer) = 0;
};

// Called at each resume that has reports, with those reports. An error ends the dispatch.
using TrapHandler = std::function<Result<void>(std::span<const TrapReport>, HandlerBuffers&)>;

}  // namespace vyre
