// SPDX-License-Identifier: Apache-2.0
// From the text of a program to one that a Device compiles, in one call.
#pragma once

#include <filesystem>
#include <string_view>

#include "vyre/base/result.hpp"
#include "vyre/base/stop.hpp"
#include "vyre/check/check.hpp"
#include "vyre/text/text.hpp"

namespace vyre::run {

// Parses and checks. InvalidProgram carries all diagnostics (render_text prints them); its message
// and position are those of the first error. `file` is only a name, for positions. Timeout, with
// the stage, if it is stopped.
Result<check::CheckedProgram> parse_checked(std::string_view text,
                                            std::string_view file = "<program>",
                                            const StopCondition& stop = {});
// The same with the modules that the text may use, and with values for its static parameters.
Result<check::CheckedProgram> parse_checked(std::string_view text, std::string_view file,
                                            const text::ParseOptions& options,
                                            const StopCondition& stop = {});
// The same for a file that holds a text or an encoded program. InvalidArgument if it cannot be
// read. A text may use the modules beside it.
Result<check::CheckedProgram> load_checked(const std::filesystem::path& path,
                                           const StopCondition& stop = {});
Result<check::CheckedProgram> load_checked(const std::filesystem::path& path,
                                           std::vector<text::Setting> settings,
                                           const StopCondition& stop = {});

}  // namespace vyre::run
