// SPDX-License-Identifier: Apache-2.0
#include "vyre/base/result.hpp"

#include <fmt/format.h>

#include "base/check.hpp"

namespace vyre {
namespace {

struct Row {
  std::string_view name;
  int exit_code;
};

// No default: a new code must say what it is called and how the tool ends.
Row row_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::DeviceOutOfMemory: return {"DeviceOutOfMemory", 7};
    case ErrorCode::Unsupported: return {"Unsupported", 4};
    case ErrorCode::PoisonedState: return {"PoisonedState", 6};
    case ErrorCode::CompileFailed: return {"CompileFailed", 5};
    case ErrorCode::DispatchFailed: return {"DispatchFailed", 6};
    case ErrorCode::InvalidProgram: return {"InvalidProgram", 3};
    case ErrorCode::CooperativeResidencyExceeded: return {"CooperativeResidencyExceeded", 4};
    case ErrorCode::InvalidArgument: return {"InvalidArgument", 11};
    case ErrorCode::Timeout: return {"Timeout", 8};
    case ErrorCode::DeviceLost: return {"DeviceLost", 6};
    case ErrorCode::Trapped: return {"Trapped", 10};
    case ErrorCode::OutOfBounds: return {"OutOfBounds", 10};
    case ErrorCode::StaleHandle: return {"StaleHandle", 6};
    case ErrorCode::Unavailable: return {"Unavailable", 4};
    case ErrorCode::LimitExceeded: return {"LimitExceeded", 8};
    case ErrorCode::HostOutOfMemory: return {"HostOutOfMemory", 7};
    case ErrorCode::Internal: return {"Internal", 9};
    case ErrorCode::Unknown: return {"Unknown", 9};
  }
  VYRE_CHECK(false && "an ErrorCode outside its enumeration");
}

}  // namespace

std::string_view name_of(ErrorCode code) {
  return row_of(code).name;
}

int exit_code_of(ErrorCode code) {
  return row_of(code).exit_code;
}

std::string to_string(const Error& error) {
  std::string text = fmt::format("{} ({}): {}", name_of(error.code),
                                 static_cast<unsigned>(error.code), error.message);
  if (error.at.known()) {
    text += fmt::format("\n  at {}{}{}:{}", error.at.file, error.at.file.empty() ? "" : ":",
                        error.at.line, error.at.column);
  }
  for (const std::string& line : error.context) text += "\n  " + line;
  return text;
}

}  // namespace vyre
