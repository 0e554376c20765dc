// SPDX-License-Identifier: Apache-2.0
#include "vyre/base/version.hpp"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/build_info.hpp"
#include "cli/commands.hpp"
#include "cli/version.hpp"
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

bool commit_known() {
  return build_commit() != "unknown";
}

}  // namespace

std::string version_line() {
  std::string line = fmt::format("vyre {} (", kVersion);
  if (commit_known()) line += fmt::format("commit {}, ", build_commit());
  return line + fmt::format("{}, {} build, binary format {})\n", compiler(), VYRE_BUILD_TYPE,
                            ir::kBinaryVersion);
}

void put_version(Json& json) {
  json["version"] = kVersion;
  json["commit"] = commit_known() ? Json(build_commit()) : Json();
  json["compiler"] = compiler();
  json["build_type"] = VYRE_BUILD_TYPE;
  json["binary_format"] = ir::kBinaryVersion;
}

int run_version(App& app) {
  if (app.json) {
    Json document = app.document(true);
    put_version(document);
    app.put_document(document);
    return kExitOk;
  }
  app.put(version_line());
  return kExitOk;
}

}  // namespace vyre::cli
