// SPDX-License-Identifier: Apache-2.0
#include "cli/devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "cli/nearest.hpp"

namespace vyre::cli {
namespace {

// "  can  a, b, c" with what is too long for a line below it.
std::string paragraph(std::string_view head, const std::vector<std::string>& words) {
  constexpr size_t kColumns = 96;
  if (words.empty()) return "";
  std::string text;
  std::string line = fmt::format("  {:<7}", head);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? "," : "");
    if (line.size() + 1 + word.size() > kColumns) {
      text += line + "\n";
      line = std::string(9, ' ');
    }
    line += " " + word;
  }
  return text + line + "\n";
}

}  // namespace

std::expected<device::DeviceFacts, Failure> usable_device(const std::string& id,
                                                          std::string_view or_else) {
  for (SeenDevice& seen : see_devices(device::registry(), id)) {
    if (seen.facts.id != id) continue;
    if (seen.facts.unusable.empty()) return std::move(seen.facts);
    return std::unexpected(
        Failure{kExitNoDevice,
                fmt::format("device `{}` is not usable: {}", seen.facts.id, seen.facts.unusable),
                fmt::format("`vyre devices` lists those that are{}", or_else)});
  }
  return std::unexpected(Failure{kExitNoDevice,
                                 fmt::format("there is no device `{}` in this build", id),
                                 fmt::format("`vyre devices` lists those there are{}", or_else)});
}

std::string devices_text(const std::vector<SeenDevice>& devices) {
  std::string text;
  for (const auto& [row, facts] : devices) {
    text += fmt::format("{}: {}{}{}\n", facts.id, name_of(row->kind),
                        facts.profile.name.empty() ? "" : ", ", facts.profile.name);
    if (!facts.unusable.empty()) {
      text += fmt::format("  not usable: {}\n", facts.unusable);
      continue;
    }
    std::vector<std::string> can;
    std::vector<std::string> cannot;
    std::vector<std::string> limits;
    std::vector<std::string> built;
    for (const auto& [name, value] : describe(facts.capabilities)) {
      if (value == "true" || value == "false")
        (value == "true" ? can : cannot).emplace_back(name);
      else
        limits.push_back(fmt::format("{} {}", name, value));
    }
    for (const auto& [name, value] : describe(facts.profile))
      if (name != "name" && value != "0") built.push_back(fmt::format("{} {}", name, value));
    text += paragraph("can", can) + paragraph("cannot", cannot) + paragraph("limits", limits) +
            paragraph("built", built);
  }
  return text;
}

int run_devices(App& app, const DevicesOptions& options) {
  const device::Registry& registry = device::registry();
  const std::vector<SeenDevice> devices = see_devices(registry, options.id);
  if (devices.empty() && !options.id.empty()) {
    Failure failure{kExitNoDevice, fmt::format("there is no device `{}` in this build", options.id),
                    ""};
    std::vector<std::string> known;
    for (const SeenDevice& d : see_devices(registry, "")) known.push_back(d.facts.id);
    const std::string meant = nearest(options.id, known);
    if (!meant.empty()) failure.fix = fmt::format("did you mean `{}`? ", meant);
    failure.fix += "`vyre devices` lists all of them";
    return app.fail(failure);
  }
  if (app.json) {
    Json document = app.document(true);
    document["devices"] = devices_json(devices);
    app.put_document(document);
  } else {
    app.put(devices_text(devices));
  }
  return kExitOk;
}

}  // namespace vyre::cli
