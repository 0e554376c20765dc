// SPDX-License-Identifier: Apache-2.0
// What a backend counts of itself, beyond what the driver sees of it (vyre/device/telemetry.hpp). A
// backend fills in what it truly has; a value left out is unknown, not 0.
#pragma once

#include <cstdint>
#include <optional>

namespace vyre::device {

// A gauge holds the latest value; a counter only grows as long as its device is open.
enum class TelemetryKind : uint8_t { Counter, Gauge };

// X(name, kind, help). The only list: the struct, its renderings and the tests that walk every
// metric are made from it. Names are an interface: dashboards break when one changes.
// clang-format off
#define VYRE_METRICS(X)                                                                          \
  X(memory_bytes,          Gauge,   "bytes of buffers that are allocated")                       \
  X(memory_peak_bytes,     Gauge,   "most bytes of buffers that were allocated at once")         \
  X(memory_kept_bytes,     Gauge,   "freed bytes that the device keeps for the next buffers")    \
  X(staging_bytes,         Gauge,   "bytes of pinned memory that the backend holds for itself")  \
  X(submissions_in_flight, Gauge,   "submissions that have begun and were not waited for")       \
  X(graphs_built,          Counter, "submissions and loops that were recorded as a graph")       \
  X(graphs_replayed,       Counter, "launches of graphs")                                        \
  X(graphs_patched,        Counter, "times that a graph got other buffers, lengths or values")   \
  X(jit_ns,                Counter, "nanoseconds in the compiler of the driver")                 \
  X(load_ns,               Counter, "nanoseconds that loading of code took")                     \
  X(workers,               Gauge,   "threads that run kernels, with the one that submits")       \
  X(worker_wakes,          Counter, "system calls that woke sleeping threads")
// clang-format on

struct Metrics {
#define VYRE_METRIC(name, kind, help) std::optional<uint64_t> name = {};
  VYRE_METRICS(VYRE_METRIC)
#undef VYRE_METRIC
  friend bool operator==(const Metrics&, const Metrics&) = default;
};

}  // namespace vyre::device
