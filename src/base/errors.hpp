// SPDX-License-Identifier: Apache-2.0
// Making errors and passing them on.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "vyre/base/result.hpp"

namespace vyre {

inline Error error(ErrorCode code, std::string message, Position at = {}) {
  return {.code = code,
          .message = std::move(message),
          .context = {},
          .at = std::move(at),
          .diagnostics = {}};
}
// The same, to be returned from a function that gives a Result.
inline std::unexpected<Error> fail(ErrorCode code, std::string message, Position at = {}) {
  return std::unexpected(error(code, std::move(message), std::move(at)));
}

}  // namespace vyre

#define VYRE_JOIN_(a, b) a##b
#define VYRE_JOIN(a, b) VYRE_JOIN_(a, b)

// VYRE_TRY(save(file)); returns the error of a Result from the function around it, if it has one.
// The value is not used.
#define VYRE_TRY(...)                                         \
  do {                                                        \
    if (auto vyre_result = (__VA_ARGS__); !vyre_result)       \
      return std::unexpected(std::move(vyre_result).error()); \
  } while (false)

// VYRE_TRY_ASSIGN(const auto bytes, read(file)); does the same and declares what the value becomes.
// These are several statements: the macro stands in a block, not alone under an `if`.
#define VYRE_TRY_ASSIGN(declaration, ...)                                         \
  auto VYRE_JOIN(vyre_result_, __LINE__) = (__VA_ARGS__);                         \
  if (!VYRE_JOIN(vyre_result_, __LINE__))                                         \
    return std::unexpected(std::move(VYRE_JOIN(vyre_result_, __LINE__)).error()); \
  declaration = *std::move(VYRE_JOIN(vyre_result_, __LINE__))
