// SPDX-License-Identifier: Apache-2.0
// The known word that was probably meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vyre::cli {

// The candidate with the fewest typing mistakes (case does not count), the first of equals; empty
// if none is close: more than a third of the longer word would have to change.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

}  // namespace vyre::cli
