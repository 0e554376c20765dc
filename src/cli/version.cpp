// SPDX-License-Identifier: Apache-2.0
#include "vyre/base/version.hpp"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/build_info.hpp"
#include "cli/commands.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::cli {
namespace {

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

int run_version(App& app) {
  const bool commit_known = build_commit() != "unknown";
  if (app.json) {
    Json document = app.document(true);
    document["version"] = kVersion;
    document["commit"] = commit_known ? Json(build_commit()) : Json();
    document["compiler"] = compiler();
    document["build_type"] = VYRE_BUILD_TYPE;
    document["binary_format"] = ir::kBinaryVersion;
    app.put_document(document);
    return kExitOk;
  }
  std::string line = fmt::format("vyre {} (", kVersion);
  if (commit_known) line += fmt::format("commit {}, ", build_commit());
  line += fmt::format("{}, {} build, binary format {})\n", compiler(), VYRE_BUILD_TYPE,
                      ir::kBinaryVersion);
  app.put(line);
  return kExitOk;
}

}  // namespace vyre::cli
