// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_dump.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "plan/dump.hpp"
#include "vyre/text/text.hpp"

namespace vyre::cli {

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const plan::PassInfo& pass : plan::passes()) names.emplace_back(pass.name);
  names.emplace_back("all");
  return names;
}

Result<std::vector<PassDump>> dump_passes(const check::CheckedProgram& program,
                                          const pipeline::Policy& policy,
                                          const device::Capabilities& capabilities,
                                          const std::string& pass) {
  std::vector<PassDump> dumps;
  if (policy.variant.route == plan::Route::Native && capabilities.whole_programs) return dumps;
  const std::string first = pass_names().front();
  const auto keep = [&](const plan::AfterPass& after) {
    // The passes start over where a program cannot be made persistent.
    if (after.pass.name == first) dumps.clear();
    if (pass != "all" && pass != after.pass.name) return;
    PassDump dump{std::string(after.pass.name), std::string(after.pass.reason), std::nullopt,
                  plan::dump(after, text::print)};
    if (after.segment != nullptr) dump.segment = after.number;
    dumps.push_back(std::move(dump));
  };
  VYRE_TRY(plan::make_plan(program, pipeline::plan_options(policy, capabilities), keep));
  return dumps;
}

std::string text_of(const std::vector<PassDump>& dumps, const std::string& pass,
                    const std::string& route) {
  if (dumps.empty())
    return pass == "all" ? "// No pass runs: the program is launched as it is.\n"
                         : fmt::format("// {} does not run for the route {}.\n", pass, route);
  std::string text;
  const PassDump* before = nullptr;
  for (const PassDump& dump : dumps) {
    const bool changed = before == nullptr || before->text != dump.text;
    const std::string segment = dump.segment ? fmt::format(", segment {}", *dump.segment) : "";
    text += fmt::format("{}// After {}{}: {}.\n{}", text.empty() ? "" : "\n", dump.pass, segment,
                        dump.reason, changed ? dump.text : "// Nothing changed.\n");
    before = &dump;
  }
  return text;
}

Json json_of(const std::vector<PassDump>& dumps) {
  Json list = Json::array();
  for (const PassDump& dump : dumps) {
    Json entry;
    entry["pass"] = dump.pass;
    entry["reason"] = dump.reason;
    entry["segment"] = dump.segment ? Json(*dump.segment) : Json();
    entry["text"] = dump.text;
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace vyre::cli
