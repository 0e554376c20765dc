// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "vyre/base/result.hpp"

namespace vyre::run {

inline std::unexpected<Error> fail(ErrorCode code, std::string message, Position at = {}) {
  return std::unexpected(Error{.code = code,
                               .message = std::move(message),
                               .context = {},
                               .at = std::move(at),
                               .diagnostics = {}});
}

// For std::bad_alloc, which no public function lets out.
inline std::unexpected<Error> no_host_memory(std::string_view doing) {
  return fail(ErrorCode::HostOutOfMemory,
              "the host has no memory left for " + std::string(doing) +
                  ". Fix: use less at once, or keep data on the device");
}
// A handle that was only default-constructed or moved from.
inline std::unexpected<Error> no_device() {
  return fail(ErrorCode::InvalidArgument,
              "this Device is empty. Fix: use one that open() or over() returned");
}
inline std::unexpected<Error> no_pipeline() {
  return fail(ErrorCode::InvalidArgument,
              "this Pipeline is empty. Fix: use one that compile() returned");
}

}  // namespace vyre::run
