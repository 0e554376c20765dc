// SPDX-License-Identifier: Apache-2.0
// What was compiled, for what and by what: the record beside a compiled pipeline. As JSON it has
// exactly the fields below, under their names and in their order, after "schema": 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/pipeline/audit.hpp"

namespace vyre::pipeline {

// One piece of compiled code.
struct ManifestVariant {
  std::string route = "whole";  // or the name of a plan::Route
  bool checked = false;
  std::array<uint32_t, 3> workgroup = {1, 1, 1};
  std::vector<std::string> entries = {};  // names of its entry points
  std::string artifact_digest = {};       // 64 lowercase hex digits
  friend bool operator==(const ManifestVariant&, const ManifestVariant&) = default;
};

struct Manifest {
  std::string backend_id = {};
  std::string backend_version = {};
  std::string pipeline_id = {};     // begins with "<backend_id>:"
  std::string program_digest = {};  // 64 lowercase hex digits
  // Every option that reached code generation, each once; an object in JSON.
  std::vector<std::pair<std::string, std::string>> dispatch_policy = {};
  std::string device_signature = {};
  std::string compiler_build_id = {};
  std::vector<ManifestVariant> variants = {};
  CacheHit cache_hit = CacheHit::Unknown;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Equal manifests have equal texts.
std::string to_json(const Manifest& manifest);

// InvalidArgument for whatever to_json would not have written, blanks between tokens aside.
inline constexpr size_t kMaxManifestBytes = size_t{1} << 20;
Result<Manifest> manifest_from_json(std::string_view text);

}  // namespace vyre::pipeline
