// SPDX-License-Identifier: Apache-2.0
#include "cli/devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "cli/nearest.hpp"

namespace vyre::cli {
namespace {

using device::Description;

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

Json value_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos)
    return std::stoull(text);
  return text;
}

Json object_of(const Description& description) {
  Json object = Json::object();
  for (const auto& [name, value] : description) object[std::string(name)] = value_of(value);
  return object;
}

}  // namespace

std::vector<SeenDevice> see_devices(const device::Registry& registry, std::string_view id) {
  std::vector<SeenDevice> devices;
  for (const device::BackendDescriptor& row : registry.registered_backends())
    for (device::DeviceFacts& facts : row.enumerate())
      if (id.empty() || id == row.id || id == facts.id)
        devices.push_back({.row = &row, .facts = std::move(facts)});
  return devices;
}

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

Json devices_json(const std::vector<SeenDevice>& devices) {
  Json list = Json::array();
  for (const auto& [row, facts] : devices) {
    Json one;
    one["id"] = facts.id;
    one["backend"] = row->id;
    one["kind"] = name_of(row->kind);
    one["name"] = facts.profile.name.empty() ? Json() : Json(facts.profile.name);
    one["usable"] = facts.unusable.empty();
    one["reason"] = facts.unusable.empty() ? Json() : Json(facts.unusable);
    one["rank"] = row->rank;
    one["dispatches"] = row->dispatches;
    one["features"] = row->features;
    one["score"] = score(facts.capabilities, facts.profile);
    one["capabilities"] = object_of(describe(facts.capabilities));
    one["profile"] = object_of(describe(facts.profile));
    list.push_back(std::move(one));
  }
  return list;
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
