// SPDX-License-Identifier: Apache-2.0
// The tree of commands and options: one place that help, parsing and completion all come from.
#pragma once

namespace vyre::cli {

// Parses the arguments, runs the command, flushes stdout. The exit code of the process.
int run(int argc, const char* const* argv);

}  // namespace vyre::cli
