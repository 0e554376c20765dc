// SPDX-License-Identifier: Apache-2.0
#include "vyre/run/program.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>
#include <string>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "ir/binary_format.hpp"
#include "run/entry.hpp"
#include "run/errors.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

namespace vyre::run {

namespace {

std::unexpected<Error> invalid(Diagnostics diagnostics) {
  diagnostics.sort();
  Error error;
  error.code = ErrorCode::InvalidProgram;
  for (const Diagnostic& d : diagnostics.list()) {
    if (d.severity != Severity::Error) continue;
    error.message = d.message + ". Fix: " + d.fix;
    error.at = d.at;
    break;
  }
  error.diagnostics = diagnostics.list();
  return std::unexpected(std::move(error));
}

}  // namespace

Result<check::CheckedProgram> parse_checked(std::string_view text, std::string_view file,
                                            const StopCondition& stop) {
  return parse_checked(text, file, text::ParseOptions{}, stop);
}

Result<check::CheckedProgram> parse_checked(std::string_view text, std::string_view file,
                                            const text::ParseOptions& options,
                                            const StopCondition& stop) {
  return enter({"reading program", file}, [&]() -> Result<check::CheckedProgram> {
    const StopScope scope(stop);
    text::Parsed parsed = text::parse(text, file, options);
    const bool broken = parsed.diagnostics.has_errors();
    // The checker reports what it can of a broken text, so that one run reports everything.
    check::Checked checked = check::check(std::move(parsed.program), broken);
    if (checked.program && !broken) return std::move(*checked.program);
    Diagnostics all = std::move(parsed.diagnostics);
    all.append(std::move(checked.diagnostics));
    return invalid(std::move(all));
  });
}

Result<check::CheckedProgram> load_checked(const std::filesystem::path& path,
                                           const StopCondition& stop) {
  return load_checked(path, std::vector<text::Setting>{}, stop);
}

Result<check::CheckedProgram> load_checked(const std::filesystem::path& path,
                                           std::vector<text::Setting> settings,
                                           const StopCondition& stop) {
  return enter({"reading a program"}, [&]() -> Result<check::CheckedProgram> {
    const StopScope scope(stop);
    std::ifstream file(path, std::ios::binary);
    std::string bytes;
    // One byte more than a program may have is enough to see that it is too long.
    constexpr size_t kMost = std::max(text::kMaxTextBytes, ir::binary::kMaxBytes) + 1;
    constexpr size_t kChunk = size_t{64} << 10;
    while (file && bytes.size() < kMost) {
      const size_t have = bytes.size();
      bytes.resize(std::min(kMost, have + kChunk));
      file.read(bytes.data() + have, static_cast<std::streamsize>(bytes.size() - have));
      bytes.resize(have + static_cast<size_t>(file.gcount()));
    }
    // A folder opens, and fails when it is read.
    if (!file.is_open() || file.bad() || (file.fail() && !file.eof()))
      return fail(ErrorCode::InvalidArgument,
                  fmt::format("cannot read the program {}: {}. Fix: name a file that can be read",
                              path.string(), std::strerror(errno)));
    const auto encoded = std::as_bytes(std::span(bytes));
    if (!ir::is_encoded(encoded)) {
      const text::ParseOptions options{text::modules_beside(path.string()), std::move(settings)};
      return parse_checked(bytes, path.string(), options);
    }
    if (!settings.empty())
      return fail(ErrorCode::InvalidArgument,
                  "settings are for program texts. Fix: set the values where the bytes are made");
    VYRE_TRY_ASSIGN(auto program, ir::decode(encoded));
    return check::check_valid(std::move(program));
  });
}

}  // namespace vyre::run
