// SPDX-License-Identifier: Apache-2.0
#include "vyre/base/result.hpp"

#include <optional>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/error_codes.hpp"

namespace vyre {
namespace {

struct Row {
  std::string_view name;
  int exit_code;
};

// No default: a new code must say what it is called and how the tool ends.
std::optional<Row> find_row(ErrorCode code) {
  switch (code) {
    case ErrorCode::DeviceOutOfMemory: return Row{"DeviceOutOfMemory", 7};
    case ErrorCode::Unsupported: return Row{"Unsupported", 4};
    case ErrorCode::PoisonedState: return Row{"PoisonedState", 6};
    case ErrorCode::CompileFailed: return Row{"CompileFailed", 5};
    case ErrorCode::DispatchFailed: return Row{"DispatchFailed", 6};
    case ErrorCode::InvalidProgram: return Row{"InvalidProgram", 3};
    case ErrorCode::CooperativeResidencyExceeded: return Row{"CooperativeResidencyExceeded", 4};
    case ErrorCode::InvalidArgument: return Row{"InvalidArgument", 11};
    case ErrorCode::Timeout: return Row{"Timeout", 8};
    case ErrorCode::DeviceLost: return Row{"DeviceLost", 6};
    case ErrorCode::Trapped: return Row{"Trapped", 10};
    case ErrorCode::OutOfBounds: return Row{"OutOfBounds", 10};
    case ErrorCode::StaleHandle: return Row{"StaleHandle", 6};
    case ErrorCode::Unavailable: return Row{"Unavailable", 4};
    case ErrorCode::LimitExceeded: return Row{"LimitExceeded", 8};
    case ErrorCode::HostOutOfMemory: return Row{"HostOutOfMemory", 7};
    case ErrorCode::Internal: return Row{"Internal", 9};
    case ErrorCode::Unknown: return Row{"Unknown", 9};
  }
  return std::nullopt;
}

Row row_of(ErrorCode code) {
  const std::optional<Row> row = find_row(code);
  VYRE_CHECK(row && "an ErrorCode outside its enumeration");
  return *row;
}

}  // namespace

bool is_known(ErrorCode code) {
  return find_row(code).has_value();
}

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
