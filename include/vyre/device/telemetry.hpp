// SPDX-License-Identifier: Apache-2.0
// What a device instance did, counted: each open device has one Telemetry, every public path adds
// to it, and any thread may take a snapshot at any time. Counters stop at 2^64-1 rather than start
// again.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "vyre/device/metrics.hpp"

namespace vyre::device {

// X(enumerator, name, kind, help). The only list of the fields: the enumeration, the snapshot, the
// renderings and the tests that walk every field are made from it.
// clang-format off
#define VYRE_TELEMETRY_FIELDS(X)                                                                                  \
  X(Dispatches,           dispatches,            Counter, "calls that ran a program")                             \
  X(Launches,             launches,              Counter, "launches on the device")                               \
  X(InputBytes,           input_bytes,           Counter, "bytes that callers gave to programs")                  \
  X(OutputBytes,          output_bytes,          Counter, "bytes that callers got from programs")                 \
  X(OutputSlots,          output_slots,          Counter, "output slots filled")                                  \
  X(OutputSlotsReused,    output_slots_reused,   Counter, "output slots whose memory sufficed")                   \
  X(OutputSlotsMoved,     output_slots_moved,    Counter, "output slots that got other memory")                   \
  X(OutputSlotsAppended,  output_slots_appended, Counter, "output slots that the caller did not have")            \
  X(OutputBytesIncoming,  output_bytes_incoming, Counter, "bytes put into output slots")                          \
  X(OutputBytesCopied,    output_bytes_copied,   Counter, "bytes put into output slots that were reused")         \
  X(OutputBytesMoved,     output_bytes_moved,    Counter, "bytes put into output slots that got other memory")    \
  X(OutputBytesAppended,  output_bytes_appended, Counter, "bytes put into output slots that were appended")       \
  X(OutputBytesRetained,  output_bytes_retained, Gauge,   "capacity of the output slots filled last")             \
  X(GridSyncSplits,       grid_sync_splits,      Counter, "calls whose program was split at grid barriers")       \
  X(GridSyncSegments,     grid_sync_segments,    Counter, "segments of the programs that were split")             \
  X(GridSyncPoints,       grid_sync_points,      Counter, "grid barriers of the programs that were split")        \
  X(LaunchesNative,       launches_native,       Counter, "launches with the grid barrier inside")                \
  X(LaunchesPersistent,   launches_persistent,   Counter, "launches whose blocks loop over workgroups")            \
  X(LaunchesResident,     launches_resident,     Counter, "launches of segments on buffers of the device")        \
  X(LaunchesHost,         launches_host,         Counter, "launches of segments with buffers through the host")   \
  X(LaunchesWhole,        launches_whole,        Counter, "launches of programs without a grid barrier")          \
  X(FixpointPasses,       fixpoint_passes,       Counter, "passes of repeated programs")                          \
  X(FixpointEarlyExits,   fixpoint_early_exits,  Counter, "repeated programs that settled before their last pass") \
  X(CacheHits,            cache_hits,            Counter, "compilations that the cache answered")                 \
  X(CacheMisses,          cache_misses,          Counter, "compilations that the cache could not answer")         \
  X(CacheUnknown,         cache_unknown,         Counter, "compilations whose entry in the cache was unreadable")  \
  X(CacheCorrupt,         cache_corrupt,         Counter, "cache entries refused as damaged or foreign")          \
  X(CompileNs,            compile_ns,            Counter, "nanoseconds spent in compilation")                     \
  X(Planned,              planned,               Counter, "plans made, none for what the disk cache answered")     \
  X(Generated,            generated,             Counter, "times that code was generated")                        \
  X(StrategiesRevised,    strategies_revised,    Counter, "variants loaded whose residency asked for another one")  \
  X(TuningTrials,         tuning_trials,         Counter, "dispatches measured to find a faster strategy")          \
  X(TuningAdopted,        tuning_adopted,        Counter, "strategies measured faster and used from then on")       \
  X(TuningRecordsRead,    tuning_records_read,   Counter, "records of faster strategies that the cache had")        \
  X(DeviceLost,           device_lost,           Counter, "times that the device was lost")                       \
  X(Recoveries,           recoveries,            Counter, "times that the device was made anew")                  \
  X(Traps,                traps,                 Counter, "calls that ended in a trap")                           \
  X(OutOfBounds,          out_of_bounds,         Counter, "reports of accesses out of bounds")                     \
  X(ClearedBytes,         cleared_bytes,         Counter, "bytes cleared before other owners got them")
// clang-format on

enum class TelemetryField : uint8_t {
#define VYRE_FIELD(enumerator, name, kind, help) enumerator,
  VYRE_TELEMETRY_FIELDS(VYRE_FIELD)
#undef VYRE_FIELD
};
#define VYRE_FIELD(enumerator, name, kind, help) +1
inline constexpr size_t kTelemetryFieldCount = VYRE_TELEMETRY_FIELDS(VYRE_FIELD);
#undef VYRE_FIELD

inline constexpr std::array<TelemetryKind, kTelemetryFieldCount> kTelemetryKinds = {
#define VYRE_FIELD(enumerator, name, kind, help) TelemetryKind::kind,
    VYRE_TELEMETRY_FIELDS(VYRE_FIELD)
#undef VYRE_FIELD
};
constexpr TelemetryKind kind_of(TelemetryField field) {
  return kTelemetryKinds[std::to_underlying(field)];
}

// Each field on its own is exact; fields read while others add need not be of one moment.
struct TelemetrySnapshot {
#define VYRE_FIELD(enumerator, name, kind, help) uint64_t name = 0;
  VYRE_TELEMETRY_FIELDS(VYRE_FIELD)
#undef VYRE_FIELD
  Metrics metrics = {};  // of the backend

  friend bool operator==(const TelemetrySnapshot&, const TelemetrySnapshot&) = default;
  // What came since: counters by their difference (0 where they went down), gauges as they are in
  // `later`; metrics likewise, those that `later` has.
  friend TelemetrySnapshot operator-(const TelemetrySnapshot& later,
                                     const TelemetrySnapshot& earlier);
};

inline constexpr uint64_t kFull = std::numeric_limits<uint64_t>::max();
constexpr uint64_t saturating_add(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum < a ? kFull : sum;
}

class Telemetry {
 public:
  Telemetry() = default;
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // From any thread; a few nanoseconds, no lock, no allocation.
  void add(TelemetryField field, uint64_t amount = 1) noexcept {
    std::atomic<uint64_t>& at = place_of(field);
    const uint64_t old = at.fetch_add(amount, std::memory_order_relaxed);
    // Full is full: the thread that passes the end puts it back there.
    if (saturating_add(old, amount) == kFull) [[unlikely]]
      at.store(kFull, std::memory_order_relaxed);
  }
  // Gauges only.
  void set(TelemetryField field, uint64_t value) noexcept;

  // Without the metrics, which the backend has.
  [[nodiscard]] TelemetrySnapshot snapshot() const;

 private:
  // Threads add to one of a few shards, each on cache lines of its own; a snapshot sums them.
  static constexpr size_t kShards = 8;
  static constexpr size_t kCacheLine = 64;
  struct alignas(kCacheLine) Shard {
    std::array<std::atomic<uint64_t>, kTelemetryFieldCount> values = {};
  };

  static size_t shard_of_thread() noexcept {
    static std::atomic<size_t> next = 0;
    thread_local const size_t kMine = next.fetch_add(1, std::memory_order_relaxed) % kShards;
    return kMine;
  }
  std::atomic<uint64_t>& place_of(TelemetryField field) noexcept {
    const size_t shard = kind_of(field) == TelemetryKind::Gauge ? 0 : shard_of_thread();
    return shards_[shard].values[std::to_underlying(field)];
  }
  [[nodiscard]] uint64_t sum_of(TelemetryField field) const;

  std::array<Shard, kShards> shards_;
};

struct DeviceTelemetry {
  std::string device;  // "cuda:1"
  TelemetrySnapshot snapshot = {};
};

// The text format of Prometheus: vyre_<name>_total for counters, vyre_<name> for gauges, with the
// prefix vyre_backend_ for metrics, each with the label device. Several devices go into one text,
// because a name may be described only once in it.
std::string to_prometheus(std::span<const DeviceTelemetry> devices);
std::string to_prometheus(const TelemetrySnapshot& snapshot, std::string_view device);
// {"schema": 1, "kind": "telemetry", "device": ..., "counters": {...}, "gauges": {...},
// "backend": {"counters": {...}, "gauges": {...}}}, each field under its name, in their order.
std::string to_json(const TelemetrySnapshot& snapshot, std::string_view device);

}  // namespace vyre::device
