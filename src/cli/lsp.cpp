// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <unistd.h>

#include "cli/commands.hpp"
#include "lsp/serve.hpp"
#include "vyre/base/version.hpp"

namespace vyre::cli {

int run_lsp(App& app) {
  if (app.json)
    return app.fail({kExitUsage, "--json and the messages of the protocol both claim stdout",
                     "leave --json out"});
  return lsp::serve(STDIN_FILENO, STDOUT_FILENO, std::string(kVersion));
}

}  // namespace vyre::cli
