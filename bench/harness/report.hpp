// SPDX-License-Identifier: Apache-2.0
// Rows as lines of a markdown table, which appear as they are measured, and all of them as JSON.
#pragma once

#include <string>

#include "harness.hpp"

namespace vyre::bench {

std::string table_head(const Bench& bench);
std::string table_line(const Row& row);
std::string to_json(const Bench& bench);

}  // namespace vyre::bench
