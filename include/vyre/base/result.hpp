// SPDX-License-Identifier: Apache-2.0
// Errors as values. A Result<T> holds a T or an Error; nothing throws across stages.
// Error codes are append-only numbers that scripts may rely on.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/base/diagnostic.hpp"

namespace vyre {

enum class ErrorCode : uint16_t {
  DeviceOutOfMemory = 1001,
  Unsupported = 1002,
  PoisonedState = 1003,
  CompileFailed = 1004,
  DispatchFailed = 1005,
  InvalidProgram = 1006,
  CooperativeResidencyExceeded = 1007,
  InvalidArgument = 1008,
  Timeout = 1009,
  DeviceLost = 1010,
  Trapped = 1011,
  OutOfBounds = 1012,
  StaleHandle = 1013,
  Unavailable = 1014,
  LimitExceeded = 1015,
  HostOutOfMemory = 1016,
  Internal = 1017,
  Unknown = 1999,
};

// "InvalidProgram" for 1006 and so on.
std::string_view name_of(ErrorCode code);

// The exit code of the command line tool for an error (spec: docs/cli.md).
int exit_code_of(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::Unknown;
  std::string message;               // what failed, values in parentheses; ends with a "Fix:" part
  std::vector<std::string> context;  // "while ..." lines, innermost first
  Position at;                       // where in the program, when there is such a place
  std::vector<Diagnostic> diagnostics;  // all that was found, for InvalidProgram
};

// Code name and number, message, context lines; no trailing newline.
std::string to_string(const Error& error);

template <class T>
using Result = std::expected<T, Error>;

}  // namespace vyre
