// SPDX-License-Identifier: Apache-2.0
// What stands behind Device and Pipeline.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/stop.hpp"
#include "run/memory.hpp"
#include "run/plan_runner.hpp"
#include "run/queue.hpp"
#include "run/tuning.hpp"
#include "vyre/run/device.hpp"

namespace vyre::run {

struct DeviceState {
  DeviceState(std::shared_ptr<device::Backend> b, const DeviceOptions& options);
  // Queues finish first: their work uses everything above them.
  std::shared_ptr<device::Backend> backend;
  device::Telemetry telemetry;
  pipeline::Compiler compiler;
  std::atomic<Trace*> trace = nullptr;
  std::atomic<bool> shut_down = false;
  std::atomic<uint64_t> recoveries = 0;
  std::optional<std::byte> poison;             // run/poison.hpp
  const uint64_t owner = device::new_owner();  // of buffers that the caller allocates
  Tuners tuners;
  std::function<uint64_t()> tuning_clock;  // nanoseconds
  bool fresh_tuning = false;               // DeviceOptions
  std::array<Queue, kQueues> queues;

  // PoisonedState after shutdown, the loss of a lost device.
  [[nodiscard]] Result<void> check_usable() const;
  // Kernels run where the host is: no buffers stay on the device.
  [[nodiscard]] bool at_host() const { return !backend->info().capabilities.resident_buffers; }
  // Telemetry of an error that a caller gets to see.
  void count(const Error& error);
};

// Everything that a dispatch of one shape needs, kept for the next one of the same shape: sizes,
// route, code, device memory and the lists that steps are written to.
struct Workspace {
  // ---- the shape
  struct Shape {
    std::vector<uint64_t> input_bytes;  // by input slot
    std::vector<std::byte> uniforms;    // contents that host expressions may read
    std::vector<bool> resident;         // by BufferId
    std::optional<check::Axes> grid;
    pipeline::Policy policy;  // but for its variant
    bool cooperative = false;
    bool repeated = false;
    bool unknown_grid = false;  // it is read on the device
    uint64_t print_bytes = 0;   // 0: nothing is printed
    friend bool operator==(const Shape&, const Shape&) = default;
  };
  Shape shape;
  bool shaped = false;

  check::Launch launch;
  std::shared_ptr<const pipeline::Variant> variant;
  Suggestion suggestion;
  CacheHit cache_hit = CacheHit::Unknown;
  Layout layout;
  device::Buffer arena;
  uint64_t untouched_bytes = 0;  // host memory granted for it that the next dispatch will use

  // ---- of the dispatch that runs
  Shape wanted;
  std::vector<device::Region> resident;              // by BufferId
  std::vector<std::span<const std::byte>> given;     // by BufferId
  std::vector<std::span<const std::byte>> by_input;  // by input slot, for resolve_launch
  std::vector<device::Buffer::Use> uses;             // until the workspace is given back
  std::vector<uint64_t> output_bytes;                // by output slot
  std::vector<uint32_t> words;                       // of the driver, as they were read last
  std::vector<std::byte*> hosts;                     // of transfers that are done again
  Memory memory;
  Recorder recorder;

  // ---- the dispatch before, as far as the next one may be the same
  struct Last {
    bool can_repeat = false;
    DispatchConfig config;
    std::vector<device::Region> inputs;   // by input slot; without a buffer: bytes of the host
    std::vector<device::Region> outputs;  // by output slot; none: it stays where it came in
    Report report;                        // but for times
  };
  Last last;
};

// What the plan of a variant says, of which there may be no code.
struct PlannedVariant {
  pipeline::Policy policy;
  plan::VariantFacts facts;
};

struct PipelineState {
  // What is given back comes from destructors, so its place has to be there.
  PipelineState() { idle.reserve(kMostIdle); }

  std::shared_ptr<DeviceState> device;
  pipeline::Source source;
  plan::BindingPlan bindings;
  DispatchConfig config;
  uint32_t generation = 0;
  std::string id;
  CacheHit compile_hit = CacheHit::Unknown;
  std::vector<bool> host_reads;                // by BufferId: sizes depend on its contents
  const uint64_t owner = device::new_owner();  // of its arenas

  std::mutex mutex;
  std::vector<std::shared_ptr<const pipeline::Variant>> variants;  // in order of their first use
  std::vector<PlannedVariant> planned;
  plan::Strategy strategy;       // of the dispatch that was shaped last, or of compile()
  std::shared_ptr<Tuner> tuner;  // of that dispatch
  std::vector<std::unique_ptr<Workspace>> idle;    // the last one was used last
  static constexpr size_t kMostIdle = 128;         // as many as a sequence may have
  static constexpr ptrdiff_t kMostIdleArenas = 8;  // with memory of the device

  // StaleHandle after a recovery of the device.
  [[nodiscard]] Result<void> check_generation() const;
  // The device, with what is known of the variants of this program.
  [[nodiscard]] plan::DeviceModel device_model(const pipeline::Policy& wanted);
  void keep_facts(const plan::DeviceModel& model, const pipeline::Policy& of);
  // Two dispatches that come to one variant at once keep one of them.
  std::shared_ptr<const pipeline::Variant> keep_variant(
      const std::shared_ptr<const pipeline::Variant>& variant);
  std::unique_ptr<Workspace> lease();
  void give_back(std::unique_ptr<Workspace> workspace);
};

// Into the caller's slots; what touches or overlaps in a buffer is one transfer. Takes the lock of
// queue 0.
Result<OutputStats> read_into(DeviceState& device, std::span<const ReadRange> ranges,
                              Outputs& slots);

// What the config says about code, as far as the device has other code for it; the variant is that
// of a strategy.
pipeline::Policy policy_of(const DispatchConfig& config, const check::CheckedProgram& program,
                           const device::BackendInfo& info);
plan::StrategyRequest strategy_request(const DispatchConfig& config);
pipeline::CompileLimits compile_limits(const DispatchConfig& config);
// Unsupported: what the config forces or requires and the device does not have. Of compile() and of
// every dispatch, since each call has a config of its own.
Result<void> check_forced(const DispatchConfig& config, const device::BackendInfo& info);
// Passes of the dispatch at most.
inline uint32_t iterations_of(const DispatchConfig& config) {
  return config.fixpoint_iterations.value_or(1);
}
inline Timing timing_of(const DispatchConfig& config) {
  return config.timing.value_or(Timing::None);
}
// Of the only part of the last run.
PartTotals totals_of(const Workspace& workspace);
// When the time of a call is over that came in at `start`.
device::Deadline deadline_of(const DispatchConfig& config,
                             std::chrono::steady_clock::time_point start);
// That, or its cancel.
StopCondition stop_condition(const DispatchConfig& config,
                             std::chrono::steady_clock::time_point start);

// Whether some outputs of the dispatch that uses the workspace do not stay on the device.
bool returns_outputs(const PipelineState& pipeline, const Workspace& workspace);
// Telemetry of results that a caller has got in slots.
void count_outputs(device::Telemetry& telemetry, const OutputStats& stats);

// ---- what print() has written (prints.cpp)

// Before anything runs: should the submission fail at once, the records of the dispatch before are
// not those of this one.
Result<void> clear_prints(device::Backend& backend, const Workspace& workspace);
// By record, or of a device that runs the program itself what it has reported.
Result<PrintReport> fetch_prints(device::Backend& backend, Workspace& workspace,
                                 PlanRunner& runner);
// To whom the config says, and into the report.
void deliver(Result<PrintReport> printed, const DispatchConfig& config, Result<Report>& report);

// Returned to its pipeline when the dispatch is over.
class Lease {
 public:
  explicit Lease(PipelineState& pipeline) : pipeline_(&pipeline), workspace_(pipeline.lease()) {}
  Lease(Lease&& other) noexcept
      : pipeline_(other.pipeline_), workspace_(std::move(other.workspace_)) {}
  Lease& operator=(Lease&&) = delete;
  ~Lease() {
    if (workspace_) pipeline_->give_back(std::move(workspace_));
  }
  Workspace& operator*() const { return *workspace_; }
  Workspace* operator->() const { return workspace_.get(); }

 private:
  PipelineState* pipeline_;
  std::unique_ptr<Workspace> workspace_;
};

// One dispatch, in two parts: everything that can be refused, and the work.
class Dispatch {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Of the caller, or of the driver: then who hands the results over counts them.
  enum class Slots : uint8_t { Callers, Staged };
  // A sequence makes the breakdown of an item from the totals_of() all its runs.
  enum class Reports : uint8_t { All, NoBreakdown };
  struct Results {
    Slots slots;
    Reports reports;
  };
  // `start` is when the call came in: its timeout and its wall time count the wait for the queue.
  Dispatch(PipelineState& pipeline, const DispatchConfig& config, Time start,
           Results results = {Slots::Callers, Reports::All})
      : p_(pipeline),
        device_(*pipeline.device),
        config_(config),
        start_(start),
        results_(results),
        lease_(pipeline),
        tuning_(pipeline, config, start, *lease_) {}

  DispatchTuning& tuning() { return tuning_; }
  // Arguments, launch, route, code, memory.
  Result<void> prepare(const Arguments& arguments);
  // The work, under the lock of its queue; results into `slots`, if there are any.
  Result<Report> run(Outputs* slots);
  // The same in two parts, where the device does not need the host in between. A thread that waits
  // for the lock need not wait for the end.
  [[nodiscard]] bool can_start() const;
  Result<void> start(Outputs* slots);
  [[nodiscard]] bool is_done() const { return lease_->recorder.is_done(); }
  Result<Report> end();

  // For sequences: everything but the flush, if the plan allows.
  [[nodiscard]] bool deferrable() const;
  void record_inputs(Recorder& recorder);
  Result<void> record_pass(Recorder& recorder, Report& report);
  [[nodiscard]] const Workspace& workspace() const { return *lease_; }
  Error with_context(Error error, uint32_t segment) const;
  // Telemetry of dispatches: those that begin, and those that are done, with their launches.
  void count(uint64_t begun, uint64_t done, uint64_t launches) const;

 private:
  Result<void> take_arguments(const Arguments& arguments);
  Result<void> read_grid();
  Result<void> shape();
  [[nodiscard]] bool one_pass() const;
  Result<std::shared_ptr<const pipeline::Variant>> variant(const pipeline::Policy& policy);
  // How this dispatch runs, and its code.
  Result<void> settle_strategy(const std::optional<plan::TunedVariant>& tuned);
  // All that follows from the launch: with a suggested variant, or without it if that cannot be
  // had.
  Result<void> make_shape(const std::optional<plan::TunedVariant>& tuned);
  Result<void> make_shape_with(const std::optional<plan::TunedVariant>& tuned);
  Result<void> passes(PlanRunner& runner, Report& report);
  Result<void> recorded_passes(PlanRunner& runner, Report& report);
  [[nodiscard]] PlanRunner::Setup runner_setup() const;
  [[nodiscard]] SubmitOptions submit_options() const;
  void setup_memory(Recorder& recorder);
  Result<void> check_output_bytes();
  Result<void> check_growth(const Outputs& slots);
  void read_outputs(Outputs& slots, OutputStats& stats);
  [[nodiscard]] Result<void> finish(Report& report, const OutputStats& stats) const;
  // ---- repeating the last dispatch (repeat.cpp)
  [[nodiscard]] bool is_like_last(const Arguments& arguments) const;
  void use_again(const Arguments& arguments);
  void remember(const Arguments& arguments);
  void note_repeatable(const PlanRunner& runner, const Report& report);
  void rebind(Outputs& slots);
  Result<void> record_again(Outputs* slots);
  // Everything but the last submission.
  Result<void> record_work(Outputs* slots);
  Result<Report> take(Result<void> done);
  std::unexpected<Error> failed(const Error& error, uint32_t segment);

  PipelineState& p_;
  DeviceState& device_;
  const DispatchConfig& config_;
  Time start_;
  Results results_;
  Lease lease_;
  DispatchTuning tuning_;
  std::optional<device::Word> grid_from_;
  uint64_t host_input_bytes_ = 0;
  bool repeats_ = false;  // the last dispatch of this workspace

  // ---- while it runs
  std::optional<TraceSpan> span_;
  std::optional<PlanRunner> runner_;
  bool reports_left_ = false;
  bool prints_ready_ = false;  // their memory is that of this dispatch
  Report report_;
  OutputStats stats_;
  Outputs unwanted_;  // what a repeated dispatch reads back without a request
};

}  // namespace vyre::run
