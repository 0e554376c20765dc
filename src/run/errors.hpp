// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>

#include "vyre/base/result.hpp"

namespace vyre::run {

inline std::unexpected<Error> fail(ErrorCode code, std::string message, Position at = {}) {
  return std::unexpected(Error{.code = code,
                               .message = std::move(message),
                               .context = {},
                               .at = std::move(at),
                               .diagnostics = {}});
}

}  // namespace vyre::run
