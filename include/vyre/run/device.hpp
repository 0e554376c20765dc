// SPDX-License-Identifier: Apache-2.0
// The driver as a C++ user sees it: open a Device, compile a program to a Pipeline, dispatch it on
// bytes or on buffers that stay on the device. Every form of dispatch is the same path with other
// fields; all of it may be used from several threads at once.
//
// Nothing here throws or aborts for what a caller does wrong: it is an Error. An empty handle (made
// by a default constructor) is one of these mistakes: calls that give a Result say InvalidArgument,
// others give something empty. Memory that the host does not have (std::bad_alloc) is
// HostOutOfMemory, except in the few calls that give no Result. What a caller hands in to be called
// must not throw.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/base/trace.hpp"
#include "vyre/check/check.hpp"
#include "vyre/device/buffer.hpp"
#include "vyre/device/registry.hpp"
#include "vyre/device/telemetry.hpp"
#include "vyre/ir/host.hpp"
#include "vyre/pipeline/compiler.hpp"
#include "vyre/pipeline/manifest.hpp"
#include "vyre/plan/bindings.hpp"
#include "vyre/plan/plan.hpp"
#include "vyre/plan/tuning.hpp"
#include "vyre/run/breakdown.hpp"
#include "vyre/run/config.hpp"
#include "vyre/run/outputs.hpp"

namespace vyre::run {

using device::Buffer;
using pipeline::CacheHit;

// Bytes of the host or a buffer of the device. Both must outlive the call; a dispatch_async copies
// bytes and keeps buffers from being freed.
class Argument {
 public:
  Argument(std::span<const std::byte> bytes)
      : bytes_(bytes) {}                                // NOLINT(google-explicit-constructor)
  Argument(const Buffer& buffer) : buffer_(&buffer) {}  // NOLINT(google-explicit-constructor)
  template <std::ranges::contiguous_range R>
    requires std::is_trivially_copyable_v<std::ranges::range_value_t<R>> &&
             (!std::convertible_to<const R&, std::span<const std::byte>>)
  Argument(const R& values)  // NOLINT(google-explicit-constructor)
      : bytes_(std::as_bytes(std::span(std::ranges::data(values), std::ranges::size(values)))) {}
  // For a scalar uniform, or a buffer of one element. The argument holds the value.
  template <class T>
    requires std::is_arithmetic_v<T>
  Argument(T value) {  // NOLINT(google-explicit-constructor)
    if constexpr (std::same_as<T, bool>)
      hold(static_cast<uint32_t>(value));
    else
      hold(value);
  }

  [[nodiscard]] const Buffer* buffer() const { return buffer_; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return value_bytes_ != 0 ? std::span(value_).first(value_bytes_) : bytes_;
  }

 private:
  template <class T>
  void hold(T value) {
    static_assert(sizeof(T) <= 8);
    std::memcpy(value_.data(), &value, sizeof(T));
    value_bytes_ = sizeof(T);
  }

  std::array<std::byte, 8> value_ = {};
  uint32_t value_bytes_ = 0;
  std::span<const std::byte> bytes_;
  const Buffer* buffer_ = nullptr;
};

struct Arguments {
  std::span<const Argument> inputs = {};  // by input slot
  // By output slot: where a result stays on the device; a null pointer, or no list at all: it comes
  // back as bytes. An `inout` that came in as a buffer stays in it anyway.
  std::span<const Buffer* const> outputs = {};
};

// What a dispatch did.
struct Report {
  plan::Route route = plan::Route::Native;
  plan::RouteVariant variant{};  // of the code; Pipeline::strategy() says why
  bool tuned = false;            // by a record of measurements
  std::string trial{};           // "trial 3 of 92: interleave 4": this dispatch was measured
  Digest plan{};                 // of the plan that the code was made from, as `vyre plan` shows it
  uint32_t segments = 1;
  uint64_t launches = 0;
  check::Axes grid = {0, 0, 0};  // zeros: the device alone has read it
  check::Axes workgroup = {1, 1, 1};
  uint32_t iterations = 1;  // passes over the whole program
  bool converged = false;   // the last of several changed nothing
  // Not known where the device went through barriers on its own.
  std::optional<uint64_t> grid_barriers{};
  // Executed, over all lanes; an interpreter that takes whole programs counts them.
  std::optional<uint64_t> statements{};
  std::vector<FixpointReport> fixpoints;  // as far as the driver saw them end
  std::vector<TrapReport> resumed;
  PrintReport printed;  // with `print` of the config
  uint64_t wall_ns = 0;
  device::Timings timings;  // of all launches; absent as soon as one is
  Breakdown breakdown;      // where they went, as far as `timing` of the config asks for it
  CacheHit cache_hit = CacheHit::Unknown;
};

struct DispatchResult {
  Outputs outputs;  // by output slot; empty where the result stayed on the device
  Report report;
};

// What a tuner knows of one program, shape class and device (docs/design/tuning.md).
struct TuningView {
  struct Row {
    plan::RouteVariant variant;
    std::string what;                      // it has that the default, the first row, lacks
    uint32_t pairs = 0;                    // of runs, one of the default and one of this
    std::optional<uint64_t> default_ns{};  // medians over those pairs
    std::optional<uint64_t> own_ns{};
    std::string dropped{};  // why it is measured no more; empty: it is
  };
  std::vector<Row> rows;                     // those that this process has measured
  std::optional<plan::TuningRecord> record;  // nothing: the measurements are not over
  uint32_t runs = 0;                         // dispatches measured
  uint32_t most_runs = 0;                    // a bound of `runs`
};

struct DeviceState;
struct PipelineState;
struct PendingState;

// A dispatch that may still run. Dropping it lets the work finish on its own.
class Pending {
 public:
  Pending() = default;
  [[nodiscard]] bool is_ready() const;
  // Timeout at the deadline leaves the dispatch as it is. The result can be taken once.
  Result<DispatchResult> wait(device::Deadline deadline = device::kNoDeadline);
  // Keeps the caller's slots, as Pipeline::dispatch_into does.
  Result<Report> wait_into(Outputs& slots, device::Deadline deadline = device::kNoDeadline);
  // The dispatch ends soon, with Timeout. A flag given as `cancel` in the config takes the place of
  // this call.
  void cancel();

 private:
  friend class Pipeline;
  explicit Pending(std::shared_ptr<PendingState> state) : state_(std::move(state)) {}
  std::shared_ptr<PendingState> state_;  // also held by the queue until the work is done
};

// A compiled program on a device. Cheap to copy; valid until the device is recovered.
class Pipeline {
 public:
  Pipeline() = default;

  [[nodiscard]] bool valid() const { return state_ != nullptr; }
  [[nodiscard]] const std::string& id() const;  // "<backend>:<digest>"
  [[nodiscard]] pipeline::Manifest manifest() const;
  [[nodiscard]] const check::CheckedProgram& program() const;
  [[nodiscard]] const plan::BindingPlan& bindings() const;
  // How the dispatch runs whose shape was new last; before the first one, what compile() chose.
  [[nodiscard]] plan::Strategy strategy() const;
  // Of the dispatch with `tune` whose shape was new last; nothing: there was none.
  [[nodiscard]] std::optional<TuningView> tuning() const;

  // `over` overrides the config given at compile time, field by field.
  Result<DispatchResult> dispatch(const Arguments& arguments,
                                  const DispatchConfig& over = {}) const;
  Result<DispatchResult> dispatch(std::initializer_list<Argument> inputs,
                                  const DispatchConfig& over = {}) const;
  // Results go into the caller's slots, which are kept where their capacity suffices. After an
  // error slots may have changed.
  Result<Report> dispatch_into(const Arguments& arguments, Outputs& slots,
                               const DispatchConfig& over = {}) const;
  // Errors of the arguments come now, errors of the device when it is waited for.
  Result<Pending> dispatch_async(const Arguments& arguments, const DispatchConfig& over = {}) const;
  // One row per item, in order. Stops at the first error, which says the item.
  Result<std::vector<Report>> dispatch_batch(std::span<const Arguments> items,
                                             std::vector<Outputs>& rows,
                                             const DispatchConfig& over = {}) const;

 private:
  friend class Device;
  explicit Pipeline(std::shared_ptr<PipelineState> state) : state_(std::move(state)) {}
  static Result<Pending> post(const std::shared_ptr<PipelineState>& pipeline,
                              const Arguments& arguments, const DispatchConfig& over);
  std::shared_ptr<PipelineState> state_;
};

struct CompileResult {
  Pipeline pipeline;
  CacheHit cache_hit = CacheHit::Unknown;
  pipeline::Manifest manifest;
};
struct Prewarmed {
  std::string pipeline_id;
  CacheHit cache_hit = CacheHit::Unknown;
  pipeline::Manifest manifest;
};

// What a compile() finds in the cache.
struct CacheLookup {
  pipeline::CacheKey key;
  pipeline::Policy policy;  // with the variant that compile() loads first
};

struct Write {
  const Buffer* buffer = nullptr;
  uint64_t offset = 0;
  std::span<const std::byte> bytes = {};
};
struct ReadRange {
  const Buffer* buffer = nullptr;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// One dispatch of a sequence. All its data is on the device, but for small inputs that are uploaded
// once before the first pass.
struct SequenceItem {
  Pipeline pipeline;
  Arguments arguments;
  DispatchConfig config{};
};
// The prefix once, the repeated items so often, the suffix once; then the ranges are read.
struct Sequence {
  std::span<const SequenceItem> prefix = {};
  std::span<const SequenceItem> repeated = {};
  uint32_t repeats = 1;
  std::span<const SequenceItem> suffix = {};
  std::span<const ReadRange> ranges = {};
};
// Of all dispatches of an item.
struct SequenceItemReport {
  uint64_t dispatches = 0;
  uint64_t launches = 0;
  Breakdown breakdown;  // as far as `timing` of its config asks for it
};
struct SequenceReport {
  uint64_t launches = 0;
  uint64_t submissions = 0;  // 1: without a single return to the host
  uint64_t wall_ns = 0;
  device::Timings timings;
  std::vector<SequenceItemReport> items;  // prefix, repeated, suffix
};

struct DeviceOptions {
  // Where compiled code is kept; empty: nowhere.
  std::filesystem::path cache_directory = pipeline::DiskCache::default_directory();
  size_t memory_cache_entries = 512;
  uint64_t memory_cache_bytes = uint64_t{256} << 20;
  std::string compiler_build_id{};               // empty: of this library
  Trace* trace = nullptr;                        // must outlive the device
  std::function<void(std::string_view)> warn{};  // about the cache; at most once
  // Records of measured strategies on disk are replaced instead of read.
  bool fresh_tuning = false;
  // For tests: the time in nanoseconds by which dispatches are measured; none: that of the host.
  std::function<uint64_t()> tuning_clock{};
  // For tests: what memory holds that is not cleared, because its contents are never read.
  // Otherwise VYRE_POISON says it.
  std::optional<std::byte> poison{};
};

class Device {
 public:
  Device() = default;

  // "reference", "cuda:1". Unavailable if there is no such device.
  static Result<Device> open(std::string_view id, DeviceOptions options = {});
  // The best device by facts; never an oracle. docs/driver.md has the rules.
  static Result<Device> open_preferred(const device::SelectionPolicy& policy = {},
                                       DeviceOptions options = {},
                                       device::Selection* selection = nullptr);
  // A device that the caller has opened; without one the result is empty.
  static Device over(std::shared_ptr<device::Backend> backend, DeviceOptions options = {});

  [[nodiscard]] bool valid() const { return state_ != nullptr; }
  [[nodiscard]] const device::BackendInfo& info() const;
  [[nodiscard]] device::Backend& backend() const;  // needs valid()

  // A Program is checked first; a moved one is not copied.
  Result<CompileResult> compile(const ir::Program& program,
                                const DispatchConfig& config = {}) const;
  Result<CompileResult> compile(ir::Program&& program, const DispatchConfig& config = {}) const;
  Result<CompileResult> compile(check::CheckedProgram&& program,
                                const DispatchConfig& config = {}) const;
  Result<CompileResult> compile(std::shared_ptr<const check::CheckedProgram> program,
                                const DispatchConfig& config = {}) const;
  // Compiles and loads, so that a later compile is a hit; runs nothing.
  Result<Prewarmed> prewarm(std::shared_ptr<const check::CheckedProgram> program,
                            const DispatchConfig& config = {}) const;
  // Nothing is compiled or looked up; compiler().why(key) says whether it would be a hit.
  [[nodiscard]] CacheLookup cache_lookup(std::shared_ptr<const check::CheckedProgram> program,
                                         const DispatchConfig& config = {}) const;

  // ---- data that stays on the device
  // Zeros, or on request uninitialised: anything but what pipelines, other devices, other handles
  // of this device or other processes left there. `alignment`: for a buffer with a larger @align, a
  // power of two up to device::kMostAlignment.
  [[nodiscard]] Result<Buffer> allocate(uint64_t bytes,
                                        device::Contents contents = device::Contents::Zeros,
                                        uint64_t alignment = device::kLeastAlignment) const;
  [[nodiscard]] Result<Buffer> upload(std::span<const std::byte> bytes,
                                      uint64_t alignment = device::kLeastAlignment) const;
  Result<void> write(const Buffer& buffer, std::span<const std::byte> bytes,
                     uint64_t offset = 0) const;
  Result<void> write_many(std::span<const Write> writes) const;  // one batch, in order
  [[nodiscard]] Result<std::vector<std::byte>> read(const Buffer& buffer) const;
  Result<void> read_range(const Buffer& buffer, uint64_t offset, std::span<std::byte> to) const;
  // One result per range. Overlapping and adjacent ranges of a buffer are one transfer.
  [[nodiscard]] Result<std::vector<std::vector<std::byte>>> read_ranges(
      std::span<const ReadRange> ranges) const;
  Result<void> fill(const Buffer& buffer, std::byte value) const;
  Result<void> copy(const Buffer& from, const Buffer& to) const;  // the length of `from`

  // Where no item needs the host to decide and all are in one queue, all items are one submission.
  // Telemetry is that of as many single dispatches. Each range has a slot in `results`, which is
  // kept where its capacity suffices, as those of Pipeline::dispatch_into are; without `results`
  // nothing is read. After an error slots may have changed.
  Result<SequenceReport> run_sequence(const Sequence& sequence, Outputs* results = nullptr) const;
  // No prefix, no suffix, nothing read.
  Result<SequenceReport> run_sequence(std::span<const SequenceItem> items, uint32_t repeats) const;

  // ---- life
  Result<void> prepare() const;  // whether the device answers at all
  Result<void> flush() const;    // waits for everything dispatched so far
  // Waits for the work in flight; later calls are PoisonedState.
  Result<void> shutdown() const;
  [[nodiscard]] bool is_lost() const;
  // After a loss, or at any time: a new life of the device. Buffers and pipelines of the old one
  // are stale. Waits for the work in flight.
  Result<void> recover() const;

  [[nodiscard]] device::TelemetrySnapshot telemetry() const;
  [[nodiscard]] pipeline::CacheAudit cache_audit() const;
  [[nodiscard]] pipeline::Compiler& compiler() const;  // needs valid()
  void set_trace(Trace* trace) const;

 private:
  explicit Device(std::shared_ptr<DeviceState> state) : state_(std::move(state)) {}
  Result<CompileResult> compile_source(pipeline::Source source, const DispatchConfig& config) const;
  Result<void> echo() const;
  std::shared_ptr<DeviceState> state_;  // shared with the pipelines, which may outlive this handle
};

}  // namespace vyre::run
