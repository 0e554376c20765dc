// SPDX-License-Identifier: Apache-2.0
#include "vyre/pipeline/manifest.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/utf8.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::pipeline {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr std::string_view kKeys[] = {
    "schema",          "backend_id",       "backend_version",   "pipeline_id", "program_digest",
    "dispatch_policy", "device_signature", "compiler_build_id", "variants",    "cache_hit"};
constexpr std::string_view kVariantKeys[] = {"route", "checked", "workgroup", "entries",
                                             "artifact_digest"};
constexpr std::string_view kWhole = "whole";

// Cut and made printable, because it comes from a file.
std::string shown(std::string_view text) {
  return fmt::format("`{}`", base::printable_text(text.substr(0, 80)));
}

bool is_digest(std::string_view text) {
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Json json_of(const ManifestVariant& variant) {
  Json json;
  json["route"] = variant.route;
  json["checked"] = variant.checked;
  json["workgroup"] = variant.workgroup;
  json["entries"] = variant.entries;
  json["artifact_digest"] = variant.artifact_digest;
  return json;
}

// Reads a manifest field by field. The first thing wrong is kept; what follows it is read but not
// looked at.
class Reader {
 public:
  Result<Manifest> read(std::string_view text);

 private:
  void fail(std::string_view what, std::string_view fix) {
    if (error_.empty()) error_ = fmt::format("{}. Fix: {}", what, fix);
  }
  [[nodiscard]] bool ok() const { return error_.empty(); }

  Json parse(std::string_view text);
  bool keys(const Json& json, const std::string& where, std::span<const std::string_view> wanted);
  void schema(const Json& json);
  std::string text(const Json& json, const std::string& where);
  std::string digest(const Json& json, const std::string& where);
  CacheHit cache_hit(const Json& json);
  std::vector<std::pair<std::string, std::string>> policy(const Json& json);
  std::vector<ManifestVariant> variants(const Json& json);
  ManifestVariant variant(const Json& json, const std::string& where);
  std::string route(const Json& json, const std::string& where);
  std::array<uint32_t, 3> workgroup(const Json& json, const std::string& where);
  std::vector<std::string> entries(const Json& json, const std::string& where);

  std::string error_;
};

Json Reader::parse(std::string_view text) {
  if (text.size() > kMaxManifestBytes) {
    fail(fmt::format("the manifest has {} bytes, more than {}", text.size(), kMaxManifestBytes),
         "use a manifest that vyre wrote");
    return nullptr;
  }
  // The library keeps one of two fields of one name without a word.
  std::vector<std::set<std::string>> open;
  const auto watch = [&](int, Json::parse_event_t event, Json& json) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key) {
      const auto& name = json.get_ref<const std::string&>();
      if (!open.back().insert(name).second)
        fail(fmt::format("the manifest has two fields {} in one object", shown(name)),
             "keep one of them");
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    fail(fmt::format("the manifest is not JSON (byte {})", error.byte),
         "use a manifest that vyre wrote, in UTF-8 and whole");
  } catch (const Json::out_of_range&) {
    fail("the manifest has a number that no double holds", "use a manifest that vyre wrote");
  }
  return nullptr;
}

bool Reader::keys(const Json& json, const std::string& where,
                  std::span<const std::string_view> wanted) {
  if (!json.is_object()) {
    fail(fmt::format("{} is not an object", where),
         fmt::format("write an object with the fields {}", fmt::join(wanted, ", ")));
    return false;
  }
  size_t at = 0;
  for (const auto& [key, value] : json.items()) {
    if (at < wanted.size() && key == wanted[at]) {
      ++at;
      continue;
    }
    const bool known = std::ranges::find(wanted, key) != wanted.end();
    fail(known ? fmt::format("{} has the field {} out of order or one before it is missing", where,
                             shown(key))
               : fmt::format("{} has the unknown field {}", where, shown(key)),
         fmt::format("give exactly, in this order: {}", fmt::join(wanted, ", ")));
    return false;
  }
  if (at == wanted.size()) return true;
  fail(fmt::format("{} has no field `{}`", where, wanted[at]),
       fmt::format("give exactly, in this order: {}", fmt::join(wanted, ", ")));
  return false;
}

// Before the other fields: another schema has others.
void Reader::schema(const Json& json) {
  if (!json.is_object() || !json.contains("schema")) return;
  const Json& schema = json["schema"];
  if (schema.is_number_unsigned() && schema == kSchema) return;
  fail(fmt::format("the manifest's schema is not {}", kSchema),
       fmt::format("use a manifest with \"schema\": {}, or the version of vyre that wrote it",
                   kSchema));
}

std::string Reader::text(const Json& json, const std::string& where) {
  if (json.is_string()) return json.get<std::string>();
  fail(fmt::format("{} is not a string", where), "write it as a JSON string");
  return {};
}

std::string Reader::digest(const Json& json, const std::string& where) {
  std::string value = text(json, where);
  if (!is_digest(value))
    fail(fmt::format("{} is not a digest ({})", where, shown(value)),
         "write 64 lowercase hex digits");
  return value;
}

CacheHit Reader::cache_hit(const Json& json) {
  const std::string name = text(json, "cache_hit");
  const std::optional<CacheHit> hit = cache_hit_from_name(name);
  if (!hit) fail(fmt::format("cache_hit is {}", shown(name)), "write no, yes or unknown");
  return hit.value_or(CacheHit::Unknown);
}

std::vector<std::pair<std::string, std::string>> Reader::policy(const Json& json) {
  std::vector<std::pair<std::string, std::string>> result;
  if (!json.is_object()) {
    fail("dispatch_policy is not an object", "write an object of strings");
    return result;
  }
  for (const auto& [key, value] : json.items())
    result.emplace_back(key, text(value, fmt::format("dispatch_policy field {}", shown(key))));
  return result;
}

std::vector<ManifestVariant> Reader::variants(const Json& json) {
  std::vector<ManifestVariant> result;
  if (!json.is_array()) {
    fail("variants is not an array", "write an array of objects");
    return result;
  }
  for (const Json& each : json) {
    result.push_back(variant(each, fmt::format("variants[{}]", result.size())));
    if (!ok()) break;
  }
  return result;
}

ManifestVariant Reader::variant(const Json& json, const std::string& where) {
  ManifestVariant result;
  if (!keys(json, where, kVariantKeys)) return result;
  result.route = route(json["route"], where + ".route");
  if (json["checked"].is_boolean()) {
    result.checked = json["checked"].get<bool>();
  } else {
    fail(where + ".checked is not a bool", "write true or false");
  }
  result.workgroup = workgroup(json["workgroup"], where + ".workgroup");
  result.entries = entries(json["entries"], where + ".entries");
  result.artifact_digest = digest(json["artifact_digest"], where + ".artifact_digest");
  return result;
}

std::string Reader::route(const Json& json, const std::string& where) {
  std::string name = text(json, where);
  if (name != kWhole && !plan::route_from_name(name))
    fail(fmt::format("{} is no route ({})", where, shown(name)),
         "write whole, native, virtual, resident or host");
  return name;
}

std::array<uint32_t, 3> Reader::workgroup(const Json& json, const std::string& where) {
  std::array<uint32_t, 3> result = {1, 1, 1};
  bool good = json.is_array() && json.size() == result.size();
  for (size_t i = 0; good && i < result.size(); ++i) {
    const uint64_t size = json[i].is_number_unsigned() ? json[i].get<uint64_t>() : 0;
    good = size >= 1 && size <= std::numeric_limits<uint32_t>::max();
    result[i] = static_cast<uint32_t>(size);
  }
  if (!good) fail(where + " is no workgroup size", "write three integers from 1 to 4294967295");
  return result;
}

std::vector<std::string> Reader::entries(const Json& json, const std::string& where) {
  std::vector<std::string> result;
  if (!json.is_array()) {
    fail(where + " is not an array", "write an array of strings");
    return result;
  }
  for (const Json& each : json)
    result.push_back(text(each, fmt::format("{}[{}]", where, result.size())));
  return result;
}

Result<Manifest> Reader::read(std::string_view text_of_all) {
  Manifest manifest;
  const Json json = parse(text_of_all);
  if (ok()) schema(json);
  if (ok() && keys(json, "the manifest", kKeys)) {
    manifest.backend_id = text(json["backend_id"], "backend_id");
    manifest.backend_version = text(json["backend_version"], "backend_version");
    manifest.pipeline_id = text(json["pipeline_id"], "pipeline_id");
    manifest.program_digest = digest(json["program_digest"], "program_digest");
    manifest.dispatch_policy = policy(json["dispatch_policy"]);
    manifest.device_signature = text(json["device_signature"], "device_signature");
    manifest.compiler_build_id = text(json["compiler_build_id"], "compiler_build_id");
    manifest.variants = variants(json["variants"]);
    manifest.cache_hit = cache_hit(json["cache_hit"]);
    if (!manifest.pipeline_id.starts_with(manifest.backend_id + ":"))
      fail(fmt::format("pipeline_id {} is not one of the backend {}", shown(manifest.pipeline_id),
                       shown(manifest.backend_id)),
           "let it begin with the backend_id and a colon");
  }
  if (ok()) return manifest;
  return std::unexpected(Error{.code = ErrorCode::InvalidArgument,
                               .message = error_,
                               .context = {"while reading a manifest"},
                               .at = {},
                               .diagnostics = {}});
}

}  // namespace

std::string to_json(const Manifest& manifest) {
  Json policy = Json::object();
  for (const auto& [key, value] : manifest.dispatch_policy) {
    VYRE_CHECK(!policy.contains(key));
    policy[key] = value;
  }
  Json variants = Json::array();
  for (const ManifestVariant& variant : manifest.variants) variants.push_back(json_of(variant));

  Json json;
  json["schema"] = kSchema;
  json["backend_id"] = manifest.backend_id;
  json["backend_version"] = manifest.backend_version;
  json["pipeline_id"] = manifest.pipeline_id;
  json["program_digest"] = manifest.program_digest;
  json["dispatch_policy"] = std::move(policy);
  json["device_signature"] = manifest.device_signature;
  json["compiler_build_id"] = manifest.compiler_build_id;
  json["variants"] = std::move(variants);
  json["cache_hit"] = name_of(manifest.cache_hit);
  // Names of devices come from drivers; what is not UTF-8 is replaced.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Result<Manifest> manifest_from_json(std::string_view text) {
  return Reader().read(text);
}

}  // namespace vyre::pipeline
