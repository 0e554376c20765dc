// SPDX-License-Identifier: Apache-2.0
// The text of a caller as a checked program.
#pragma once

#include <memory>
#include <string_view>

#include "c/handle.hpp"
#include "vyre/base/stop.hpp"

namespace vyre::c {

struct Text {
  std::string_view text;
  const char* file = nullptr;  // NULL: it has no name
};

// An error has carets into the text.
vyre_error* parse(const Text& text, const StopCondition& stop,
                  std::shared_ptr<const Source>& to) noexcept;

}  // namespace vyre::c
