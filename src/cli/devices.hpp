// SPDX-License-Identifier: Apache-2.0
// What `vyre devices` says about the devices of a registry; nothing is opened.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/app.hpp"
#include "vyre/device/registry.hpp"

namespace vyre::cli {

struct SeenDevice {
  const device::BackendDescriptor* row = nullptr;
  device::DeviceFacts facts;
};

// Of all backends, in the order of the registry; or of one ("cuda"), or one device ("cuda:1").
std::vector<SeenDevice> see_devices(const device::Registry& registry, std::string_view id);

// One that can be used, by its id; nothing is opened. `or_else` ends the advice of a failure.
std::expected<device::DeviceFacts, Failure> usable_device(const std::string& id,
                                                          std::string_view or_else = "");

std::string devices_text(const std::vector<SeenDevice>& devices);
Json devices_json(const std::vector<SeenDevice>& devices);
// Fields under their names; numbers and booleans as such.
Json json_of(const device::Description& description);

}  // namespace vyre::cli
