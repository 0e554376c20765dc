// SPDX-License-Identifier: Apache-2.0
// From a checked program to code that is loaded on a device, once: a compiler belongs to an open
// device and answers from memory or disk what it has compiled before.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vyre/base/digest.hpp"
#include "vyre/base/result.hpp"
#include "vyre/base/trace.hpp"
#include "vyre/check/check.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/device/backend.hpp"
#include "vyre/device/buffer.hpp"
#include "vyre/device/telemetry.hpp"
#include "vyre/pipeline/audit.hpp"
#include "vyre/pipeline/compile_limits.hpp"
#include "vyre/pipeline/disk_cache.hpp"
#include "vyre/plan/plan.hpp"
#include "vyre/plan/tuning.hpp"

namespace vyre::pipeline {

// What code is tuned for.
enum class Profile : uint8_t {
  Throughput,  // to run fast
  Latency,     // to be there soon: few passes, one lane after the other
};
std::string_view name_of(Profile profile);
// InvalidArgument, with the names that there are.
Result<Profile> profile_of(std::string_view name);

// Every option that reaches code generation, and nothing else.
struct Policy {
  plan::RouteVariant variant = {.route = plan::Route::Native};
  bool checked = false;
  std::optional<check::Axes> workgroup{};  // instead of the program's
  uint32_t ulp_budget = 0;                 // of maths functions; 0: strict
  Profile profile = Profile::Throughput;
  bool print = false;  // print() writes lines; otherwise there is no code for it
  friend bool operator==(const Policy&, const Policy&) = default;
};
// Those fields that differ from `policy` where the device has no other code for them: the budget
// that the approximations need which are used, Throughput where there is no cheap code. Equal code
// has equal keys.
Policy effective_policy(Policy policy, const check::CheckedProgram& program,
                        const device::BackendInfo& info);
using Fields = std::vector<std::pair<std::string, std::string>>;
// Every field.
Fields describe(const Policy& policy);

// Of all that decides about code: the sources from the language to the backends, and the LLVM that
// is linked or loaded (cmake/CompilerId.cmake). Equal ids give equal code.
std::string_view compiler_build_id();

// A program with the digest of its canonical bytes.
struct Source {
  std::shared_ptr<const check::CheckedProgram> program;
  Digest digest;
};
Source make_source(std::shared_ptr<const check::CheckedProgram> program);

// What the runtime part of a key is made from.
Fields describe_runtime(const device::BackendInfo& info, std::string_view build_id);
CacheKey make_key(const Source& source, const Policy& policy, const device::BackendInfo& info,
                  std::string_view build_id);

// What measurements of strategies are of.
struct Tuned {
  const Source& source;
  Policy policy;  // its variant does not count
  plan::ShapeClass shape;
};
CacheKey make_tuning_key(const Tuned& what, const device::BackendInfo& info,
                         std::string_view build_id);

// The device's limits and features, before anything is generated, in this order: axes and lanes of
// the workgroup, the grid if it is known, shared memory, bindings (LimitExceeded; InvalidArgument
// for an axis of 0), features (Unsupported). The grid of a dispatch is checked there.
Result<void> check_device_limits(const check::CheckedProgram& program,
                                 const std::optional<check::Axes>& workgroup,
                                 const device::BackendInfo& info,
                                 const std::optional<check::Axes>& grid = {});
Result<void> check_grid_limits(const check::Launch& launch, const device::BackendInfo& info);

// The plan that code for a device is made from, and what the planner is asked for.
plan::PlanOptions plan_options(const Policy& policy, const device::Capabilities& capabilities);
Result<plan::Plan> make_plan(const check::CheckedProgram& program, const Policy& policy,
                             const device::Capabilities& capabilities);

class SiteTable;         // pipeline/site_table.hpp
struct DecodedArtifact;  // pipeline/artifact_image.hpp

// A program on one route.
struct Variant {
  Policy policy;
  CacheKey key;
  plan::Schedule schedule;
  Digest plan_digest;                      // of the plan that the code was made from
  std::vector<device::Entry> entries;      // by segment of the schedule
  std::shared_ptr<const SiteTable> sites;  // positions in the source
  Digest code_digest;
  uint64_t code_bytes = 0;
  device::LoadedArtifact loaded;
};
// With the residency that the device found when it loaded the code.
plan::VariantFacts facts_of(const Variant& variant);

struct CompilerOptions {
  size_t memory_entries = 512;
  uint64_t memory_bytes = uint64_t{256} << 20;
  std::shared_ptr<DiskCache> disk{};  // none: only memory
  std::string build_id{};             // empty: compiler_build_id()
  // For tests: what memory inside of kernels holds that need not be cleared. Such code has keys of
  // its own.
  std::optional<std::byte> poison{};
};

class Compiler {
 public:
  Compiler(std::shared_ptr<device::Backend> backend, device::Telemetry& telemetry,
           CompilerOptions options);

  struct Found {
    std::shared_ptr<const Variant> variant;
    CacheHit hit = CacheHit::Unknown;
  };
  // Several threads that request one key at once compile it once. What stops the caller's thread
  // (base/stop.hpp) stops this, by an exception.
  Result<Found> get(const Source& source, const Policy& policy, Trace* trace = nullptr,
                    const CompileLimits& limits = {});

  // The schedule alone, for a decision that comes before code. The disk keeps it, too.
  Result<plan::Schedule> schedule(const Source& source, const Policy& policy,
                                  Trace* trace = nullptr, const CompileLimits& limits = {});

  // Records of measured strategies, on disk only; damaged and foreign ones are not there.
  [[nodiscard]] CacheKey tuning_key(const Tuned& what) const;
  std::optional<plan::TuningRecord> find_tuning(const CacheKey& key);
  void store_tuning(const CacheKey& key, const plan::TuningRecord& record,
                    std::string_view program);

  [[nodiscard]] CacheKey key(const Source& source, const Policy& policy) const;
  [[nodiscard]] std::string_view build_id() const { return options_.build_id; }
  [[nodiscard]] CacheAudit audit() const;
  // Why a key is not in memory or on disk; nothing if it is.
  [[nodiscard]] std::optional<MissReason> why(const CacheKey& key) const;
  struct MemoryUse {
    size_t entries = 0;
    uint64_t bytes = 0;
  };
  [[nodiscard]] MemoryUse memory() const;
  // Forgets what is in memory, after a recovery.
  void clear_memory();

 private:
  struct Kept {
    CacheKey key;
    std::shared_ptr<const Variant> variant;
  };

  std::shared_ptr<const Variant> find_in_memory(const CacheKey& key);
  void keep(const std::shared_ptr<const Variant>& variant);
  struct Request;
  Result<Found> make(const Request& request);
  // One compilation on its way from a key to a loaded variant.
  struct Making;
  Result<std::shared_ptr<const plan::Plan>> plan(const Source& source, const Policy& policy,
                                                 Trace* trace);
  Result<void> plan(Making& m);
  // `readable`: false if the system could not say whether there is an entry.
  std::optional<DecodedArtifact> find_on_disk(const Source& source, const CacheKey& key,
                                              Trace* trace, bool& readable);
  bool find_on_disk(Making& m);
  Result<void> generate_code(Making& m);
  Result<void> load(Making& m);
  void store(const Making& m);

  std::shared_ptr<device::Backend> backend_;
  device::Telemetry& telemetry_;
  CompilerOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable compiled_;
  std::set<CacheKey> compiling_;
  std::list<Kept> kept_;  // most recently used first
  std::map<CacheKey, std::list<Kept>::iterator> by_key_;
  uint64_t kept_bytes_ = 0;
  CacheAudit audit_;
};

}  // namespace vyre::pipeline
