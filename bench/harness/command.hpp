// SPDX-License-Identifier: Apache-2.0
// The command line that all programs of rows have: one markdown table on stdout, what is being done
// on stderr, the same rows as JSON with --json.
#pragma once

#include <span>

#include "harness.hpp"

namespace vyre::bench {

struct RowGroup {
  const char* id;
  void (*run)(Bench&);
};

// The exit code: 1 if a case failed or results differ, that of the error if there is no device.
int run_rows(int argc, char** argv, const char* program, const char* about, const char* device,
             std::span<const RowGroup> groups, double settle_ns = Options{}.settle_ns);

}  // namespace vyre::bench
