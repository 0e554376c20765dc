// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utf8.hpp"
#include "cli/commands.hpp"
#include "vyre/pipeline/disk_cache.hpp"

namespace vyre::cli {
namespace {

using pipeline::CacheEntry;
using pipeline::CacheRemoval;
using pipeline::CacheStat;
using pipeline::CacheState;
using pipeline::CacheVerification;
using pipeline::DiskCache;

constexpr size_t kEntriesShown = 10;

std::string counted(uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string entries_of(uint64_t count) {
  return counted(count, "entry", "entries");
}

class CacheCommand {
 public:
  CacheCommand(App& app, const CacheOptions& options)
      : app_(app),
        options_(options),
        directory_(options.directory ? std::filesystem::path(*options.directory)
                                     : DiskCache::default_directory()),
        cache_(DiskCache::open({.directory = directory_, .create = false})),
        stat_(cache_.stat()) {}

  int run() {
    if (const auto failure = misuse()) return app_.fail(*failure);
    if (options_.action == "why") return run_cache_why(app_, options_);
    if (options_.max_bytes && options_.action != "gc")
      return app_.fail({kExitUsage,
                        fmt::format("--max-bytes does not go with `cache {}`", options_.action),
                        "`vyre cache --help` shows the usage"});
    if (options_.max_bytes.value_or(0) < 0)
      return app_.fail(
          {kExitUsage,
           fmt::format("--max-bytes takes a whole number, not '{}'", *options_.max_bytes),
           "give it a number of bytes from 0 on"});
    if (is_unused()) stat_.reason = unused_reason();
    if (options_.action == "stat") return show();
    if (std::optional<Failure> failure = refusal()) return app_.fail(*failure);
    if (options_.action == "verify") return verify();
    return remove();
  }

 private:
  // What is said of a program goes with `why` and with nothing else.
  [[nodiscard]] std::optional<Failure> misuse() const {
    const bool of_program = !options_.file.empty() || options_.checked || options_.print ||
                            options_.device != "auto" || !options_.workgroup.empty();
    if (options_.action == "why" && options_.file.empty())
      return Failure{kExitUsage, "`cache why` needs a program", "vyre cache why FILE"};
    if (options_.action != "why" && of_program)
      return Failure{
          kExitUsage,
          fmt::format("`cache {}` takes no program and nothing about one", options_.action),
          "`vyre cache --help` shows the usage"};
    return std::nullopt;
  }

  // Switched off, or nothing was ever stored: there is nothing to do, and nothing wrong.
  [[nodiscard]] bool is_unused() const {
    if (stat_.state != CacheState::Off) return false;
    std::error_code error;
    return directory_.empty() || std::filesystem::symlink_status(directory_, error).type() ==
                                     std::filesystem::file_type::not_found;
  }
  [[nodiscard]] std::string unused_reason() const {
    return directory_.empty() ? "it is switched off, or there is no home directory"
                              : "there is no such directory yet";
  }

  [[nodiscard]] std::optional<Failure> refusal() const {
    const bool removes = options_.action != "verify";
    if (stat_.state == CacheState::On || is_unused()) return std::nullopt;
    if (stat_.state == CacheState::ReadOnly && !removes) return std::nullopt;
    const size_t fix = stat_.reason.find(". Fix: ");
    return Failure{kExitInvalidArgument, "the cache cannot be used: " + stat_.reason.substr(0, fix),
                   fix == std::string::npos ? "" : stat_.reason.substr(fix + 7)};
  }

  Json document(bool ok) const {
    Json json = app_.document(ok);
    json["action"] = options_.action;
    json["directory"] = directory_.empty() ? Json() : Json(directory_.string());
    json["state"] = name_of(stat_.state);
    json["reason"] = stat_.reason.empty() ? Json() : Json(stat_.reason);
    return json;
  }

  int show() {
    const std::vector<CacheEntry> entries = cache_.entries();
    if (app_.json) {
      Json json = document(true);
      json["entries"] = stat_.entries;
      json["bytes"] = stat_.bytes;
      json["temps"] = stat_.temps;
      json["locks"] = stat_.locks;
      json["list"] = Json::array();
      for (const CacheEntry& entry : entries) json["list"].push_back(json_of(entry));
      app_.put_document(json);
      return kExitOk;
    }
    line("directory", directory_.empty() ? "none" : directory_.string());
    line("state", stat_.reason.empty() ? std::string(name_of(stat_.state))
                                       : fmt::format("{}: {}", name_of(stat_.state), stat_.reason));
    line("entries", fmt::format("{}", stat_.entries));
    line("bytes", fmt::format("{}", stat_.bytes));
    line("temps", fmt::format("{}", stat_.temps));
    if (entries.empty()) return kExitOk;
    app_.put("\nlast used (UTC)      bytes       about\n");
    for (size_t i = 0; i < std::min(entries.size(), kEntriesShown); ++i)
      app_.put(fmt::format("{:%Y-%m-%d %H:%M}  {:>10}       {}\n", entries[i].used,
                           entries[i].bytes, base::printable_text(entries[i].about)));
    if (entries.size() > kEntriesShown)
      app_.put(fmt::format("and {} more\n", entries.size() - kEntriesShown));
    return kExitOk;
  }

  static Json json_of(const CacheEntry& entry) {
    Json json;
    json["program"] = entry.key.program.hex();
    json["policy"] = entry.key.policy.hex();
    json["runtime"] = entry.key.runtime.hex();
    json["about"] = entry.about;
    json["bytes"] = entry.bytes;
    json["created"] = entry.created.time_since_epoch().count();
    json["used"] = entry.used.time_since_epoch().count();
    return json;
  }

  int verify() {
    const CacheVerification found = cache_.verify();
    const bool ok = found.bad.empty();
    if (app_.json) {
      Json json = document(ok);
      json["checked"] = found.checked;
      json["bytes"] = found.bytes;
      json["bad"] = Json::array();
      for (const CacheVerification::Bad& bad : found.bad) {
        Json row;
        row["file"] = bad.file;
        row["reason"] = bad.reason;
        row["removed"] = bad.removed;
        json["bad"].push_back(std::move(row));
      }
      app_.put_document(json);
    } else {
      for (const CacheVerification::Bad& bad : found.bad)
        app_.put(fmt::format("{}: {}{}\n", bad.file, bad.reason,
                             bad.removed ? ", removed" : ", not removed"));
      app_.put(fmt::format("{} checked, {} bad\n", entries_of(found.checked), found.bad.size()));
    }
    return ok ? kExitOk : kExitMismatch;
  }

  int remove() {
    const CacheRemoval removal =
        options_.action == "clear"
            ? cache_.clear()
            : cache_.gc(options_.max_bytes ? static_cast<uint64_t>(*options_.max_bytes)
                                           : pipeline::DiskCacheOptions().max_bytes);
    Failure failure{kExitInvalidArgument,
                    fmt::format("{} in {} could not be removed",
                                counted(removal.failed, "file", "files"), directory_.string()),
                    "look at what they are, and remove them by hand"};
    if (app_.json) {
      Json json = document(removal.failed == 0);
      json["removed"] = {{"entries", removal.entries},
                         {"bytes", removal.bytes},
                         {"temps", removal.temps},
                         {"locks", removal.locks}};
      json["entries"] = removal.entries_left;
      json["bytes"] = removal.bytes_left;
      if (removal.failed != 0) json["error"] = App::json_of(failure);
      app_.put_document(json);
    } else {
      app_.put(fmt::format("removed {} ({}) and {} left behind; {} ({}) left\n",
                           entries_of(removal.entries), counted(removal.bytes, "byte", "bytes"),
                           counted(removal.temps + removal.locks, "file", "files"),
                           entries_of(removal.entries_left),
                           counted(removal.bytes_left, "byte", "bytes")));
    }
    return removal.failed == 0 ? kExitOk : app_.report(failure);
  }

  void line(std::string_view name, const std::string& value) {
    app_.put(fmt::format("{:<10} {}\n", name, base::printable_text(value)));
  }

  App& app_;
  const CacheOptions& options_;
  std::filesystem::path directory_;
  DiskCache cache_;
  CacheStat stat_;
};

}  // namespace

int run_cache(App& app, const CacheOptions& options) {
  return CacheCommand(app, options).run();
}

}  // namespace vyre::cli
