// SPDX-License-Identifier: Apache-2.0
// Writing a file so that a reader sees the old content or the new one, never a part.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/app.hpp"

namespace vyre::cli {

// Replaces a regular file (also through a symbolic link) or makes a new one, by way of a temporary
// file in the same directory; mode and, where allowed, owner stay. Devices and pipes are written
// directly. A Failure has exit code 11, and the old content is then untouched.
std::optional<Failure> write_file(const std::string& path, std::string_view content);

// True if both paths lead to one existing file.
bool same_file(const std::string& a, const std::string& b);

}  // namespace vyre::cli
