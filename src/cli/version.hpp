// SPDX-License-Identifier: Apache-2.0
// Which vyre this is.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/app.hpp"

namespace vyre::cli {

std::string version_line();  // ends with a newline
void put_version(Json& json);

}  // namespace vyre::cli
