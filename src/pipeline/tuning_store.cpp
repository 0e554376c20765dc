// SPDX-License-Identifier: Apache-2.0
// Measured strategies beside the code: under which key a compiler finds and keeps them.
#include <new>

#include <fmt/format.h>

#include "pipeline/digest_of_fields.hpp"
#include "pipeline/tuning_record.hpp"
#include "vyre/pipeline/compiler.hpp"

namespace vyre::pipeline {

using device::TelemetryField;

CacheKey make_tuning_key(const Tuned& what, const device::BackendInfo& info,
                         std::string_view build_id) {
  Policy policy = what.policy;
  policy.variant = {};
  Fields fields = describe(policy);
  fields.emplace_back("part", "tuning");
  fields.emplace_back("shape", to_string(what.shape));
  fields.emplace_back("is_1d", what.shape.is_1d ? "true" : "false");
  return {.program = what.source.digest,
          .policy = digest_of_fields(fields),
          .runtime = digest_of_fields(describe_runtime(info, build_id))};
}

CacheKey Compiler::tuning_key(const Tuned& what) const {
  return make_tuning_key(what, backend_->info(), options_.build_id);
}

std::optional<plan::TuningRecord> Compiler::find_tuning(const CacheKey& key) {
  DiskCache* const disk = options_.disk.get();
  if (disk == nullptr || disk->state() == CacheState::Off) return std::nullopt;
  DiskCache::Finding finding{};
  const auto bytes = disk->find(key, finding);
  if (finding == DiskCache::Finding::Corrupt) telemetry_.add(TelemetryField::CacheCorrupt);
  if (!bytes) return std::nullopt;
  auto record = decode_tuning_record(*bytes);
  telemetry_.add(record ? TelemetryField::TuningRecordsRead : TelemetryField::CacheCorrupt);
  return record;
}

void Compiler::store_tuning(const CacheKey& key, const plan::TuningRecord& record,
                            std::string_view program) {
  if (options_.disk == nullptr) return;
  try {
    options_.disk->store(key, encode(record),
                         fmt::format("tuning of {} on {}", program, backend_->info().id));
  } catch (const std::bad_alloc&) {
    // It is measured again next time.
  }
}

}  // namespace vyre::pipeline
