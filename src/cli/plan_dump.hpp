// SPDX-License-Identifier: Apache-2.0
// The program after passes of the planner: `vyre plan --dump-after`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/strategy.hpp"

namespace vyre::cli {

struct PassDump {
  std::string pass, reason;
  std::optional<uint32_t> segment;  // of a pass over one segment
  std::string text;
};

// All that --dump-after takes: the passes of all routes in their order, then "all".
std::vector<std::string> pass_names();

// Plans once more and keeps what is there after the pass, or after all of them. Empty: the route
// has no such pass, or no pass runs because the program is launched as it is.
Result<std::vector<PassDump>> dump_passes(const check::CheckedProgram& program,
                                          const pipeline::Policy& policy,
                                          const device::Capabilities& capabilities,
                                          const std::string& pass);

std::string text_of(const std::vector<PassDump>& dumps, const std::string& pass,
                    const std::string& route);
Json json_of(const std::vector<PassDump>& dumps);

}  // namespace vyre::cli
