// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>

#include "base/errors.hpp"
#include "vyre/base/result.hpp"

namespace vyre::run {

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
