// SPDX-License-Identifier: Apache-2.0
// The devices of a registry for other programs. docs/cli.md lists the fields. Also a part of the C
// library.
#include <nlohmann/json.hpp>

#include "cli/devices.hpp"

namespace vyre::cli {
namespace {

Json value_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos)
    return std::stoull(text);
  return text;
}

}  // namespace

Json json_of(const device::Description& description) {
  Json object = Json::object();
  for (const auto& [name, value] : description) object[std::string(name)] = value_of(value);
  return object;
}

std::vector<SeenDevice> see_devices(const device::Registry& registry, std::string_view id) {
  std::vector<SeenDevice> devices;
  for (const device::BackendDescriptor& row : registry.registered_backends())
    for (device::DeviceFacts& facts : row.enumerate())
      if (id.empty() || id == row.id || id == facts.id)
        devices.push_back({.row = &row, .facts = std::move(facts)});
  return devices;
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
    one["capabilities"] = json_of(describe(facts.capabilities));
    one["profile"] = json_of(describe(facts.profile));
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace vyre::cli
