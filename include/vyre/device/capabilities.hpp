// SPDX-License-Identifier: Apache-2.0
// What a device can do (Capabilities) and how it is built (DeviceProfile), as plain values that a
// backend fills in. A field left out allows the least, so a forgotten field costs speed, never
// correctness. Core code decides by these facts alone and never reads a backend's name.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vyre::device {

using Axes = std::array<uint32_t, 3>;

// What a backend can load: a checked program, object code of the host, PTX, CUDA binaries, SPIR-V,
// C.
enum class Format : uint8_t { Program, Object, Ptx, Cubin, Spirv, C };
inline constexpr int kFormatCount = 6;
std::string_view name_of(Format format);

class FormatSet {
 public:
  constexpr FormatSet() = default;
  constexpr FormatSet(std::initializer_list<Format> formats) {
    for (const Format format : formats) insert(format);
  }
  constexpr void insert(Format format) { bits_ |= bit(format); }
  [[nodiscard]] constexpr bool contains(Format format) const { return (bits_ & bit(format)) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  friend bool operator==(const FormatSet&, const FormatSet&) = default;

 private:
  static constexpr uint32_t bit(Format format) { return uint32_t{1} << std::to_underlying(format); }
  uint32_t bits_ = 0;
};
// "ptx,cubin"; "none" for the empty set.
std::string to_string(const FormatSet& formats);

// How device time is measured, worst first: the value is the rank in the choice of a device.
enum class TimingQuality : uint8_t {
  HostOnly,         // one duration around the whole call
  HostEnqueueWait,  // the host's time to submit and its time to wait
  DeviceTimestamps,
  HardwareCounters,  // timestamps and counters
};
inline constexpr int kTimingQualityCount = 4;
std::string_view name_of(TimingQuality quality);

// X(type, name, default). The only lists of the fields: the structs, describe() and the tests that
// walk every field are made from them.
// clang-format off
#define VYRE_CAPABILITY_FIELDS(X)                                                                    \
  X(bool,      subgroup_ops,                  false)                                                 \
  X(bool,      subgroup_shuffle,              false)                                                 \
  X(bool,      f16_storage,                   false)                                                 \
  X(bool,      bf16_storage,                  false)                                                 \
  X(bool,      storage_8bit,                  false)                                                 \
  X(bool,      storage_16bit,                 false)                                                 \
  X(bool,      i64,                           false)                                                 \
  X(bool,      f64,                           false)                                                 \
  X(bool,      i64_atomics,                   false)                                                 \
  X(bool,      f32_atomic_add,                false)                                                 \
  X(bool,      tensor_cores,                  false)                                                 \
  X(bool,      async_compute,                 false)  /* submit() returns before the work is done */ \
  X(bool,      indirect,                      false)  /* the grid is read from a buffer at launch */ \
  X(bool,      speculation,                   false)                                                 \
  X(bool,      persistent_threads,            false)                                                 \
  X(bool,      cooperative_grid_barrier,      false)                                                 \
  X(bool,      device_loops,                  false)  /* loops are steps of a submission */          \
  X(bool,      whole_programs,                false)  /* runs sources: barriers need no plan */      \
  X(bool,      resident_buffers,              false)                                                 \
  X(bool,      host_split,                    true)   /* the driver may cut at grid barriers */      \
  X(bool,      trap_propagation,              false)  /* a lane that traps is reported */            \
  X(bool,      mul_hi,                        false)                                                 \
  X(bool,      strict_f32,                    false)  /* no contraction, no reassociation */         \
  X(bool,      f32_subnormals,                false)  /* kept, not flushed to zero */                \
  X(bool,      exact_fma,                     false)  /* exact: correctly rounded */                 \
  X(bool,      exact_division,                false)                                                 \
  X(bool,      exact_sqrt,                    false)                                                 \
  X(bool,      exact_conversions,             false)                                                 \
  X(Axes,      max_workgroup_size,            (Axes{1, 1, 1}))                                       \
  X(uint32_t,  max_invocations_per_workgroup, 1)                                                     \
  X(Axes,      max_workgroups,                (Axes{1, 1, 1}))                                       \
  X(uint64_t,  shared_bytes,                  0)      /* per workgroup */                            \
  X(uint64_t,  storage_buffer_bytes,          0)      /* of the largest buffer; 0: unreported */     \
  X(uint32_t,  max_bindings,                  0)                                                     \
  X(uint32_t,  subgroup_size,                 0)                                                     \
  X(FormatSet, formats,                       FormatSet{})

#define VYRE_DEVICE_PROFILE_FIELDS(X)                                                                \
  X(std::string,   name,                              std::string{})                                 \
  X(uint32_t,      compute_units,                     0)                                             \
  X(uint32_t,      registers_per_compute_unit,        0)  /* of 32 bits; 0: unreported */            \
  X(uint32_t,      lanes_per_compute_unit,            0)  /* resident at once; 0: unreported */      \
  X(uint32_t,      barrier_blocks_per_compute_unit,   0)  /* above: a grid barrier costs by blocks */ \
  X(uint64_t,      memory_bandwidth_bytes_per_second, 0)                                             \
  X(TimingQuality, timing_quality,                    TimingQuality::HostOnly)                       \
  X(uint32_t,      preferred_unroll,                  0)  /* iterations at once; 0: the usual */         \
  X(uint32_t,      code_lanes,                        0)  /* sum of the powers of two that           \
                                                             RouteVariant::lanes may be; 0: no choice */
// clang-format on

#define VYRE_FIELD(type, name, initial) type name = initial;

struct Capabilities {
  VYRE_CAPABILITY_FIELDS(VYRE_FIELD)
  friend bool operator==(const Capabilities&, const Capabilities&) = default;
};

// Facts for tuning and for the choice of a device; no result depends on them.
struct DeviceProfile {
  VYRE_DEVICE_PROFILE_FIELDS(VYRE_FIELD)
  friend bool operator==(const DeviceProfile&, const DeviceProfile&) = default;
};

#undef VYRE_FIELD

// Every field with its value as text, in the order above. Equal values, and only those, have equal
// descriptions, so a cache key may be made from one.
using Description = std::vector<std::pair<std::string_view, std::string>>;
Description describe(const Capabilities& capabilities);
Description describe(const DeviceProfile& profile);

// How much a device offers, for choosing among several.
inline constexpr uint32_t kMaxScore = 66;
uint32_t score(const Capabilities& capabilities, const DeviceProfile& profile);

}  // namespace vyre::device
