// SPDX-License-Identifier: Apache-2.0
// What compiling one program may take.
#pragma once

#include <chrono>
#include <cstdint>

namespace vyre::pipeline {

// Small programs are compiled in the process, larger ones by the executable `vyre-compile`, which
// can be stopped at any time and has limits of its own (docs/design/driver.md).
struct CompileLimits {
  // codegen::compile_cost() of what is compiled in the process; 0: nothing is.
  uint64_t in_process_cost = 15'000;
  // Of vyre-compile. The deadline of the call counts, too.
  std::chrono::seconds time{120};
  uint64_t bytes = uint64_t{2} << 30;
  // Of the text that a driver's own compiler is given.
  uint64_t driver_text_bytes = uint64_t{4} << 20;
  // Statements after inlining; more is refused before anything is planned.
  uint32_t statements = 100'000;
  bool store = true;  // keep code on disk

  // Of programs from people one does not trust.
  static constexpr CompileLimits untrusted() {
    return {.in_process_cost = 0,
            .time = std::chrono::seconds(10),
            .bytes = uint64_t{1} << 30,
            .driver_text_bytes = uint64_t{1} << 20,
            .statements = 20'000,
            .store = false};
  }
  friend bool operator==(const CompileLimits&, const CompileLimits&) = default;
};

}  // namespace vyre::pipeline
