// SPDX-License-Identifier: Apache-2.0
// The server on two file descriptors, until it is told to end or the stream ends.
#pragma once

#include <string>

namespace vyre::lsp {

// The exit code of the process.
int serve(int input, int output, const std::string& version);

}  // namespace vyre::lsp
