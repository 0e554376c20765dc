// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "vyre/base/diagnostic.hpp"

namespace vyre {
namespace {

using Json = nlohmann::ordered_json;

// Names come from files that may hold any bytes; what is not UTF-8 is replaced, not refused.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string_view name_of(Severity severity) {
  return severity == Severity::Error ? "error" : "warning";
}

// Unknown parts are null, so that every object has the same keys.
void put_position(Json& object, const Position& at) {
  object["file"] = at.file.empty() ? Json() : Json(at.file);
  object["line"] = at.known() ? Json(at.line) : Json();
  const bool column = at.known() && at.column != 0;
  object["column"] = column ? Json(at.column) : Json();
  object["length"] = column ? Json(at.length) : Json();
}

Json json_of(const Diagnostic& d) {
  Json object;
  object["code"] = text_of(d.code);
  object["name"] = info_of(d.code).name;
  object["severity"] = name_of(d.severity);
  object["message"] = d.message;
  object["fix"] = d.fix;
  put_position(object, d.at);
  object["notes"] = Json::array();
  for (const Note& note : d.notes) {
    Json entry;
    entry["message"] = note.message;
    put_position(entry, note.at);
    object["notes"].push_back(std::move(entry));
  }
  return object;
}

// A path as a URI reference (RFC 3986): what is not unreserved or a slash is percent-encoded.
std::string uri_of(std::string_view path) {
  constexpr std::string_view kKept =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    if (kKept.find(c) != std::string_view::npos) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

Json sarif_location(const Position& at) {
  Json physical;
  physical["artifactLocation"]["uri"] = uri_of(at.file);
  if (at.known()) {
    Json region;
    region["startLine"] = at.line;
    if (at.column != 0) {
      region["startColumn"] = at.column;
      region["endColumn"] = uint64_t{at.column} + at.length;
    }
    physical["region"] = std::move(region);
  }
  Json location;
  location["physicalLocation"] = std::move(physical);
  return location;
}

Json sarif_rule(Code code) {
  const CodeInfo& info = info_of(code);
  Json rule;
  rule["id"] = text_of(code);
  rule["name"] = info.name;
  rule["shortDescription"]["text"] = info.title;
  rule["help"]["text"] = fmt::format("vyre explain {}", text_of(code));
  rule["defaultConfiguration"]["level"] = name_of(info.severity);
  return rule;
}

Json sarif_result(const Diagnostic& d, size_t rule_index) {
  Json result;
  result["ruleId"] = text_of(d.code);
  result["ruleIndex"] = rule_index;
  result["level"] = name_of(d.severity);
  result["message"]["text"] = d.fix.empty() ? d.message : d.message + "\nFix: " + d.fix;
  result["locations"] = Json::array();
  if (!d.at.file.empty()) result["locations"].push_back(sarif_location(d.at));
  Json related = Json::array();
  for (const Note& note : d.notes) {
    Json location;
    location["id"] = related.size();
    if (!note.at.file.empty()) location.update(sarif_location(note.at));
    location["message"]["text"] = note.message;
    related.push_back(std::move(location));
  }
  if (!related.empty()) result["relatedLocations"] = std::move(related);
  return result;
}

Json sarif_invocation(size_t dropped) {
  Json invocation;
  invocation["executionSuccessful"] = true;
  if (dropped != 0) {
    Json notification;
    notification["level"] = "note";
    notification["message"]["text"] = fmt::format("{} more diagnostics are not listed", dropped);
    invocation["toolExecutionNotifications"] = Json::array({std::move(notification)});
  }
  return invocation;
}

}  // namespace

std::string render_json(const Diagnostics& diagnostics) {
  Json array = Json::array();
  for (const Diagnostic& d : diagnostics.list()) array.push_back(json_of(d));
  return dump(array);
}

std::string render_sarif(std::span<const Diagnostics> lists, std::string_view tool_version) {
  std::map<Code, size_t> rule_indices;
  for (const Diagnostics& list : lists)
    for (const Diagnostic& d : list.list()) rule_indices.emplace(d.code, 0);
  Json rules = Json::array();
  for (auto& [code, index] : rule_indices) {
    index = rules.size();
    rules.push_back(sarif_rule(code));
  }

  Json results = Json::array();
  size_t dropped = 0;
  for (const Diagnostics& list : lists) {
    dropped += list.dropped();
    for (const Diagnostic& d : list.list())
      results.push_back(sarif_result(d, rule_indices.at(d.code)));
  }

  Json run;
  Json& driver = run["tool"]["driver"];
  driver["name"] = "vyre";
  driver["version"] = tool_version;
  driver["rules"] = std::move(rules);
  run["columnKind"] = "unicodeCodePoints";
  run["invocations"] = Json::array({sarif_invocation(dropped)});
  run["results"] = std::move(results);

  Json log;
  log["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  log["version"] = "2.1.0";
  log["runs"] = Json::array({std::move(run)});
  return dump(log);
}

std::string render_sarif(const Diagnostics& diagnostics, std::string_view tool_version) {
  return render_sarif(std::span(&diagnostics, 1), tool_version);
}

}  // namespace vyre
