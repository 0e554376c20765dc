// SPDX-License-Identifier: Apache-2.0
// What a caller sees of one dispatch, as text: two of them are equal if nothing can be told apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/world.hpp"

namespace vyre::driver_test {

struct Shot {
  std::string_view text;
  std::vector<Words> inputs = {};   // by input slot
  run::DispatchConfig config = {};  // of compile()
};

// Compiles and dispatches: the error, or the report without times, and the outputs.
std::string observe(const run::Device& device, const Shot& shot);
// On a device that runs nothing; `options` says what it can do.
std::string observe(backend::NullOptions options, const Shot& shot);
// By the interpreter, with a launch for each segment.
std::string observe_by_interpreter(const Shot& shot);
// How often the device was asked to do this.
size_t calls_of(const backend::NullBackend& backend, backend::NullCall::Kind kind);

}  // namespace vyre::driver_test
