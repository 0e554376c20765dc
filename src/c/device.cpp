// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/fork.hpp"
#include "c/boundary.hpp"
#include "cli/devices.hpp"
#include "vyre/base/version.hpp"
#include "vyre/device/registry.hpp"
#include "vyre/device/telemetry.hpp"

namespace vyre::c {

namespace {

Result<run::DeviceOptions> options_of(const vyre_device_options* given) {
  run::DeviceOptions options;
  if (given == nullptr) return options;
  VYRE_TRY(require_struct(given->struct_size, sizeof(vyre_device_options), "vyre_device_options"));
  if (given->reserved != 0 || given->fresh_tuning > 1)
    return fail(
        ErrorCode::InvalidArgument,
        "a field of vyre_device_options is out of its range. Fix: begin with zeros, and set "
        "`fresh_tuning` to 0 or 1");
  if (given->cache_directory != nullptr) options.cache_directory = given->cache_directory;
  if (given->memory_cache_entries != 0) options.memory_cache_entries = given->memory_cache_entries;
  if (given->memory_cache_bytes != 0) options.memory_cache_bytes = given->memory_cache_bytes;
  options.fresh_tuning = given->fresh_tuning == 1;
  if (given->warn != nullptr)
    options.warn = [warn = given->warn, user = given->warn_user](std::string_view text) {
      warn(text.data(), text.size(), user);
    };
  return options;
}

Result<void> with(vyre_device* device, Result<void> (run::Device::*work)() const) {
  VYRE_TRY(require(device, "device"));
  return (device->device.*work)();
}

}  // namespace

}  // namespace vyre::c

using vyre::Result;
using vyre::c::guarded;
using vyre::c::require;

vyre_device::~vyre_device() {
  if (!has_left_work) return;
  // Work that still runs may write to them.
  for (vyre::c::Ref<vyre_trace>& trace : traces) vyre::base::abandon(vyre::c::retain(trace.get()));
}

uint32_t vyre_abi_version(void) {
  return VYRE_ABI_VERSION;
}
const char* vyre_version(void) {
  return vyre::kVersion.data();  // a literal
}

vyre_error* vyre_devices(vyre_data** json) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(json, "json"));
    vyre::c::give(json,
                  vyre::cli::devices_json(vyre::cli::see_devices(vyre::device::registry(), "")));
    return {};
  });
}

vyre_error* vyre_device_open(const char* id, const vyre_device_options* options,
                             vyre_device** device) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(device, "device"));
    VYRE_TRY_ASSIGN(auto wanted, vyre::c::options_of(options));
    auto made = std::make_unique<vyre_device>();
    if (id != nullptr) {
      VYRE_TRY_ASSIGN(made->device, vyre::run::Device::open(id, std::move(wanted)));
    } else {
      VYRE_TRY_ASSIGN(made->device,
                      vyre::run::Device::open_preferred({.allow_cpu = true}, std::move(wanted)));
    }
    *device = made.release();
    return {};
  });
}

const char* vyre_device_id(const vyre_device* device) {
  return device == nullptr ? "" : device->device.info().id.c_str();
}

vyre_error* vyre_device_info(vyre_device* device, vyre_data** json) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(device, "device"));
    VYRE_TRY(require(json, "json"));
    const vyre::device::BackendInfo& info = device->device.info();
    vyre::c::Json document;
    document["id"] = info.id;
    document["kind"] = name_of(info.kind);
    document["version"] = info.version;
    document["signature"] = info.signature;
    document["architecture"] = info.architecture;
    document["lost"] = device->device.is_lost();
    document["capabilities"] = vyre::cli::json_of(describe(info.capabilities));
    document["profile"] = vyre::cli::json_of(describe(info.profile));
    vyre::c::give(json, document);
    return {};
  });
}

vyre_error* vyre_device_telemetry(vyre_device* device, vyre_data** json) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(device, "device"));
    VYRE_TRY(require(json, "json"));
    vyre::c::give(json,
                  vyre::device::to_json(device->device.telemetry(), device->device.info().id));
    return {};
  });
}

vyre_error* vyre_device_set_trace(vyre_device* device, vyre_trace* trace) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(device, "device"));
    VYRE_TRY(device->device.backend().check_process());  // before the lock
    if (trace == nullptr) {
      device->device.set_trace(nullptr);
      return {};
    }
    {
      const std::scoped_lock lock(device->mutex);
      // Work that began while another one was set may still write to that.
      if (std::ranges::find(device->traces, trace, &vyre::c::Ref<vyre_trace>::get) ==
          device->traces.end())
        device->traces.emplace_back(trace);
    }
    device->device.set_trace(&trace->trace);
    return {};
  });
}

vyre_error* vyre_device_flush(vyre_device* device) {
  return guarded([&] { return vyre::c::with(device, &vyre::run::Device::flush); });
}
vyre_error* vyre_device_recover(vyre_device* device) {
  return guarded([&] { return vyre::c::with(device, &vyre::run::Device::recover); });
}
vyre_error* vyre_device_shutdown(vyre_device* device) {
  return guarded([&] { return vyre::c::with(device, &vyre::run::Device::shutdown); });
}

vyre_device* vyre_device_retain(vyre_device* device) {
  return vyre::c::retain(device);
}
void vyre_device_release(vyre_device* device) {
  vyre::c::release(device);
}

vyre_error* vyre_trace_new(uint64_t max_events, vyre_trace** trace) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(trace, "trace"));
    *trace = new vyre_trace(max_events == 0 ? vyre::Trace::kMaxEvents : max_events);
    return {};
  });
}
vyre_error* vyre_trace_json(vyre_trace* trace, vyre_data** json) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(trace, "trace"));
    VYRE_TRY(require(json, "json"));
    vyre::c::give(json, trace->trace.write_json());
    return {};
  });
}
void vyre_trace_release(vyre_trace* trace) {
  vyre::c::release(trace);
}
