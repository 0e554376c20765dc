// SPDX-License-Identifier: Apache-2.0
// cache why: would this program have to be compiled, and what has changed if so?
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utf8.hpp"
#include "cli/commands.hpp"
#include "cli/open_device.hpp"
#include "vyre/pipeline/disk_cache.hpp"

namespace vyre::cli {
namespace {

using pipeline::DiskCache;
using pipeline::MissReason;

std::string_view explain(MissReason reason) {
  switch (reason) {
    case MissReason::Empty: return "nothing is cached";
    case MissReason::Program: return "the program has changed";
    case MissReason::Policy: return "it was compiled with other options";
    case MissReason::Runtime: return "it was compiled for another device, driver or compiler";
    case MissReason::Absent: return "it was never compiled, or was removed since";
  }
  return "";
}

std::string fields_text(const pipeline::Fields& fields) {
  std::string text;
  for (const auto& [name, value] : fields)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value.empty() ? "-" : value);
  return text;
}

}  // namespace

int run_cache_why(App& app, const CacheOptions& options) {
  DeviceChoice choice;
  choice.id = options.device;
  choice.options.cache_directory.clear();  // looked at below, and not made
  if (const auto code = refuse_device(app, choice)) return *code;
  DispatchOptions dispatch;
  dispatch.file = options.file;
  dispatch.workgroup = options.workgroup;
  const auto prepared = prepare(app, dispatch, Inputs::AsGiven);
  if (!prepared) return prepared.error();
  const auto device = open_device(app, std::move(choice));
  if (!device) return device.error();

  run::DispatchConfig config{
      .workgroup = prepared->workgroup, .checked = options.checked, .print = options.print};
  set(config, options.code);
  const run::CacheLookup lookup = device->cache_lookup(
      std::make_shared<const check::CheckedProgram>(prepared->checked), config);
  const std::filesystem::path directory = options.directory
                                              ? std::filesystem::path(*options.directory)
                                              : DiskCache::default_directory();
  const DiskCache cache = DiskCache::open({.directory = directory, .create = false});
  const pipeline::CacheStat stat = cache.stat();
  const std::optional<MissReason> miss =
      stat.state == pipeline::CacheState::Off ? MissReason::Empty : cache.why(lookup.key);

  if (app.json) {
    Json json = app.document(true);
    json["action"] = "why";
    json["directory"] = directory.empty() ? Json() : Json(directory.string());
    json["state"] = name_of(stat.state);
    json["reason"] = stat.reason.empty() ? Json() : Json(stat.reason);
    json["file"] = prepared->name;
    json["device"] = device->info().id;
    json["hit"] = !miss;
    json["miss"] = miss ? Json(name_of(*miss)) : Json();
    json["program"] = lookup.key.program.hex();
    json["policy"] = lookup.key.policy.hex();
    json["runtime"] = lookup.key.runtime.hex();
    json["options"] = Json::object();
    for (const auto& [name, value] : describe(lookup.policy)) json["options"][name] = value;
    app.put_document(json);
    return kExitOk;
  }
  app.put(miss ? fmt::format("miss: {} ({})\n", name_of(*miss), explain(*miss)) : "hit\n");
  const auto line = [&](std::string_view name, const std::string& value) {
    app.put(fmt::format("{:<10} {}\n", name, base::printable_text(value)));
  };
  line("device", device->info().id);
  line("program", lookup.key.program.hex());
  line("policy", lookup.key.policy.hex());
  line("", fields_text(describe(lookup.policy)));
  line("runtime", lookup.key.runtime.hex());
  if (!stat.reason.empty()) line("cache", fmt::format("{}: {}", name_of(stat.state), stat.reason));
  return kExitOk;
}

}  // namespace vyre::cli
