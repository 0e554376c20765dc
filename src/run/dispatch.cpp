// SPDX-License-Identifier: Apache-2.0
// One dispatch: the single path that blocking, timed, into, batched, resident and asynchronous
// dispatches take.
#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/free_memory.hpp"
#include "base/stop.hpp"
#include "check/prints.hpp"
#include "pipeline/site_table.hpp"
#include "run/break_down.hpp"
#include "run/errors.hpp"
#include "run/state.hpp"
#include "vyre/check/overwritten.hpp"

namespace vyre::run {

using device::Buffer;
using device::Region;
using device::TelemetryField;
using ir::BufferId;
using plan::Route;

namespace {

check::PrintsKept kept_by(const pipeline::Policy& policy) {
  return {.prints = policy.print, .asserts = policy.checked};
}

template <class T>
const T* get(const std::optional<std::shared_ptr<const T>>& shared) {
  return shared ? shared->get() : nullptr;
}

}  // namespace

// ---- what can be refused

Result<void> Dispatch::prepare(const Arguments& arguments) {
  repeats_ = is_like_last(arguments);
  if (repeats_) {
    use_again(arguments);
    return {};
  }
  Workspace& w = *lease_;
  w.last.can_repeat = false;
  VYRE_TRY(take_arguments(arguments));
  VYRE_TRY(check_forced(config_, device_.backend->info()));
  remember(arguments);
  w.wanted.grid = config_.grid;
  w.wanted.policy = policy_of(config_, *p_.source.program, device_.backend->info());
  w.wanted.print_bytes = w.wanted.policy.print ? config_.print_bytes.value_or(kPrintBytes) : 0;
  w.wanted.cooperative = config_.cooperative == Cooperative::Require;
  w.wanted.repeated = iterations_of(config_) > 1;
  w.wanted.unknown_grid = false;
  if (!config_.grid_from) return shape();
  const GridFrom& from = *config_.grid_from;
  VYRE_TRY(from.buffer->check_owner(*device_.backend));
  VYRE_TRY(from.buffer->region(from.offset, 12));
  w.uses.emplace_back(*from.buffer);
  if (!device_.backend->info().capabilities.indirect ||
      plan::contains_grid_barrier(*p_.source.program) ||
      check::has_kept(*p_.source.program, kept_by(w.wanted.policy)))
    return {};  // read under the queue lock of the dispatch, and shaped then
  grid_from_ = device::Word{from.buffer->handle(), from.offset};
  w.wanted.unknown_grid = true;
  w.wanted.grid = check::Axes{1, 1, 1};
  return shape();
}

// The device cannot read its grid itself, or the memory of the plan depends on it.
Result<void> Dispatch::read_grid() {
  Workspace& w = *lease_;
  check::Axes grid = {};
  const device::Transfer transfer{
      device::Transfer::Direction::ToHost,
      {config_.grid_from->buffer->handle(), config_.grid_from->offset, 12},
      reinterpret_cast<std::byte*>(grid.data())};
  device_.queues[config_.queue.value_or(0)].finish_started();
  VYRE_TRY(device_.backend->transfer({&transfer, 1}));
  w.wanted.grid = grid;
  return shape();
}

// ---- shape

namespace {

Result<void> find_launch(const PipelineState& p, Workspace& w) {
  const check::CheckedProgram& program = *p.source.program;
  VYRE_TRY_ASSIGN(auto launch,
                  check::resolve_launch(program, {.inputs = w.by_input,
                                                  .grid = w.wanted.grid,
                                                  .workgroup = w.wanted.policy.workgroup}));
  w.launch = std::move(launch);
  const device::BackendInfo& info = p.device->backend->info();
  VYRE_TRY(pipeline::check_grid_limits(w.launch, info));
  if (!w.wanted.policy.workgroup) return {};
  return pipeline::check_device_limits(program, w.wanted.policy.workgroup, info);
}

// LimitExceeded: the state saved across grid barriers is more than that.
Result<void> check_state(const PipelineState& p, const Workspace& w, uint64_t most) {
  const auto bytes = plan::state_bytes(w.variant->schedule, *p.source.program, w.launch);
  if (!bytes) return std::unexpected(bytes.error());
  if (bytes->total <= most) return {};
  // The error names values of the source and a barrier, which only the plan knows.
  const auto plan = w.variant->sites->plan();
  if (!plan) return std::unexpected(plan.error());
  return plan::check_state(**plan, *p.source.program, w.launch, most);
}

Result<void> make_arena(const PipelineState& p, Workspace& w) {
  device::Backend& backend = *p.device->backend;
  const bool is_foreign = w.arena.valid() && !w.arena.check_owner(backend);
  if (w.layout.total <= w.arena.bytes() && w.layout.alignment <= w.arena.alignment() && !is_foreign)
    return {};
  w.arena.free();
  const uint64_t granted = granted_memory_bytes();
  auto arena = backend.allocate({.bytes = w.layout.total,
                                 .owner = p.owner,
                                 .contents = device::Contents::Uninitialised,
                                 .alignment = w.layout.alignment});
  w.untouched_bytes = (granted_memory_bytes() - granted) * (p.device->at_host() ? 2 : 1);
  if (!arena) {
    Error error = arena.error();
    if (error.code != ErrorCode::DeviceLost)  // of which all get the same error
      error.context.push_back(
          fmt::format("allocating {} bytes for the buffers and the state of program `{}`",
                      w.layout.total, p.source.program->program.name));
    return std::unexpected(std::move(error));
  }
  w.arena = std::move(*arena);
  return {};
}

}  // namespace

Result<void> Dispatch::shape() {
  Workspace& w = *lease_;
  const bool same = w.shaped && w.shape == w.wanted && w.variant &&
                    w.variant->loaded.check_owner(*device_.backend).has_value() &&
                    (w.layout.total == 0 || w.arena.check_owner(*device_.backend).has_value());
  std::optional<plan::TunedVariant> tuned;
  if (same) tuned = tuning_.choose();
  const bool current = same && tuned == w.suggestion.tuned && !tuning_.needs_candidates();
  if (!current) {
    w.shaped = false;
    const StopScope stop(stop_condition(config_, start_));
    if (!same) {
      VYRE_TRY(find_launch(p_, w));
      w.suggestion = {};
      tuned = tuning_.choose();
    }
    VYRE_TRY(make_shape(tuned));
  } else if (config_.max_state_bytes) {
    VYRE_TRY(check_state(p_, w, *config_.max_state_bytes));
  }
  tuning_.check_code();
  // An output that stays on the device must fit there.
  for (size_t i = 0; i < w.layout.source_bytes.size(); ++i) {
    if (!w.wanted.resident[i]) continue;
    const uint64_t needed = w.layout.source_bytes[i];
    if (w.resident[i].bytes < needed)
      return fail(
          ErrorCode::InvalidArgument,
          fmt::format("the buffer for `{}` expected {} bytes, received {}. Fix: allocate a "
                      "buffer that is large enough",
                      p_.source.program->program.buffers[i].name, needed, w.resident[i].bytes));
    w.resident[i].bytes = needed;
  }
  return check_output_bytes();
}

// Whatever stands in the way of a suggested variant, the default is used: it is not compiled in
// time, refused, or too large.
Result<void> Dispatch::make_shape(const std::optional<plan::TunedVariant>& tuned) {
  if (!tuned) return make_shape_with(tuned);
  std::string refused;
  try {
    const StopScope stop(tuning_.compile_stop());
    const auto made = make_shape_with(tuned);
    if (made) return {};
    refused = made.error().message;
  } catch (const Stopped& stopped) {
    if (stopped.cancelled) throw;
    refused = "it takes too long to compile";
  }
  tuning_.refuse(std::move(refused));
  VYRE_TRY(make_shape_with(std::nullopt));
  // It is not requested again for this shape.
  lease_->suggestion.tuned = tuned;
  return {};
}

Result<void> Dispatch::make_shape_with(const std::optional<plan::TunedVariant>& tuned) {
  Workspace& w = *lease_;
  VYRE_TRY(settle_strategy(tuned));
  if (!w.wanted.unknown_grid)
    VYRE_TRY(check_state(p_, w, config_.max_state_bytes.value_or(~uint64_t{0})));
  w.layout = make_layout(w.variant->schedule, *p_.source.program, w.launch,
                         {.resident = w.wanted.resident,
                          .repeated = w.wanted.repeated,
                          .print_bytes = w.wanted.print_bytes});
  if (one_pass())
    w.layout.overwritten = check::overwritten(
        *check::kept_program(p_.source.program, kept_by(w.wanted.policy)), w.launch, w.given);
  VYRE_TRY(make_arena(p_, w));
  w.suggestion.tuned = tuned;
  w.shape = w.wanted;
  w.shaped = true;
  return {};
}

// A known grid in which every lane goes its way, once. Repeated passes compare what they wrote with
// what was there before; a checked lane may stop at any access; and at the host bytes are needed to
// send, whatever they are.
bool Dispatch::one_pass() const {
  const Workspace::Shape& wanted = lease_->wanted;
  return !wanted.policy.checked && !wanted.repeated && !wanted.unknown_grid && !device_.at_host();
}

Result<void> Dispatch::check_output_bytes() {
  Workspace& w = *lease_;
  uint64_t total = 0;
  w.output_bytes.clear();
  for (const uint32_t binding : p_.bindings.output_slots) {
    const BufferId buffer = p_.bindings.bindings[binding].buffer_index;
    const bool stays = w.wanted.resident[buffer.index()];
    w.output_bytes.push_back(stays ? 0
                                   : check::returned_range(*p_.source.program, buffer,
                                                           w.layout.source_bytes[buffer.index()])
                                         .bytes);
    total += w.output_bytes.back();
  }
  if (!config_.max_output_bytes || total <= *config_.max_output_bytes) return {};
  return fail(ErrorCode::LimitExceeded,
              fmt::format("the outputs of program `{}` have {} bytes, more than max_output_bytes = "
                          "{}. Fix: keep outputs on the device, return a @range of them, or raise "
                          "the limit",
                          p_.source.program->program.name, total, *config_.max_output_bytes));
}

// ---- the work

device::Deadline deadline_of(const DispatchConfig& config, Dispatch::Time start) {
  if (!config.timeout || config.timeout->count() <= 0) return device::kNoDeadline;
  return *config.timeout < device::kNoDeadline - start ? start + *config.timeout
                                                       : device::kNoDeadline;
}

SubmitOptions Dispatch::submit_options() const {
  SubmitOptions options;
  options.queue = config_.queue.value_or(0);
  options.checked = lease_->wanted.policy.checked;
  options.cancel = config_.cancel.value_or(nullptr);
  options.trace = device_.trace.load(std::memory_order_relaxed);
  options.deadline = deadline_of(config_, start_);
  options.timing = timing_of(config_);
  return options;
}

PlanRunner::Setup Dispatch::runner_setup() const {
  const Workspace& w = *lease_;
  PlanRunner::Setup setup;
  setup.variant = w.variant.get();
  setup.source = p_.source.program.get();
  setup.launch = &w.launch;
  setup.record_loops = device_.backend->info().capabilities.device_loops && !device_.at_host() &&
                       !w.wanted.policy.checked;
  setup.checked = w.wanted.policy.checked;
  setup.trap_handler = get(config_.trap_handler);
  setup.progress = get(config_.progress);
  setup.communicator = config_.communicator.value_or(nullptr);
  setup.grid_from = grid_from_;
  setup.print_bytes = w.wanted.print_bytes;
  return setup;
}

void Dispatch::setup_memory(Recorder& recorder) {
  Workspace& w = *lease_;
  Memory::Setup setup;
  setup.plan = &w.variant->schedule;
  setup.source = p_.source.program.get();
  setup.layout = &w.layout;
  setup.at_host = device_.at_host();
  setup.arena = w.arena.handle();
  setup.resident = w.resident;
  setup.given = w.given;
  setup.poison = device_.poison;
  w.memory.begin(setup, recorder);
}

Result<void> Dispatch::passes(PlanRunner& runner, Report& report) {
  Memory& memory = lease_->memory;
  if (iterations_of(config_) == 1) return runner.pass();
  if (runner.deferred() && runner.records_loops()) return recorded_passes(runner, report);
  report.iterations = 0;
  while (report.iterations < iterations_of(config_) && !report.converged) {
    memory.take_snapshots();
    VYRE_TRY(runner.pass());
    ++report.iterations;
    memory.compare_snapshots();
    VYRE_TRY_ASSIGN(const auto differs, memory.read_driver_word(DriverWords::kDiffers));
    report.converged = differs == 0;
    if (runner.deferred()) VYRE_TRY(runner.take_reports());
  }
  return {};
}

// All passes without a return to the host.
Result<void> Dispatch::recorded_passes(PlanRunner& runner, Report& report) {
  Memory& memory = lease_->memory;
  Recorder& recorder = lease_->recorder;
  device::Repeat repeat;
  repeat.most = iterations_of(config_);
  repeat.until_zero = memory.driver_word(DriverWords::kDiffers);
  repeat.result = memory.driver_word(DriverWords::kIterations);
  const uint32_t at = recorder.size();
  recorder.add(repeat);
  memory.take_snapshots();
  VYRE_TRY(runner.pass());
  memory.compare_snapshots();
  std::get<device::Repeat>(recorder.step(at)).body_steps = recorder.size() - at - 1;
  std::vector<uint32_t>& words = lease_->words;
  VYRE_TRY(memory.read_driver_words(words));
  report.iterations = words[DriverWords::kIterations];
  report.converged = words[DriverWords::kIterations + 1] != 0;
  return {};
}

Error Dispatch::with_context(Error error, uint32_t segment) const {
  const Workspace& w = *lease_;
  std::vector<std::string> lines;
  if (w.variant)
    lines.push_back(fmt::format("segment {} of {}", segment, w.variant->schedule.segments.size()));
  lines.push_back(fmt::format(
      "while running program `{}`{} on device `{}`", p_.source.program->program.name,
      config_.label ? fmt::format(" ({})", *config_.label) : "", device_.backend->info().id));
  // The loss is described where it was seen first; everybody then gets the same error. A dispatch
  // whose time is over gets Timeout, also where that has cost the device.
  if (device_.backend->is_lost()) device_.backend->describe_loss(lines);
  if (error.code == ErrorCode::DeviceLost)
    if (auto lost = device_.backend->check_usable(); !lost) return lost.error();
  error.context.insert(error.context.end(), lines.begin(), lines.end());
  return error;
}

// Results, together with the arena if that is new: on a device that is the host, both are about to
// be used. At the host the arena has a copy there.
Result<void> Dispatch::check_growth(const Outputs& slots) {
  Workspace& w = *lease_;
  uint64_t bytes = 0;
  for (size_t i = 0; i < w.output_bytes.size(); ++i)
    if (i >= slots.size() || slots[i].capacity() < w.output_bytes[i]) bytes += w.output_bytes[i];
  const uint64_t untouched = std::exchange(w.untouched_bytes, 0);
  if ((bytes == 0 && !device_.at_host()) || bytes + untouched < kCheckedGrowth) return {};
  return check_memory_growth(bytes + untouched,
                             fmt::format("the memory of program `{}` (results of {} bytes)",
                                         p_.source.program->program.name, bytes));
}

void Dispatch::read_outputs(Outputs& slots, OutputStats& stats) {
  Workspace& w = *lease_;
  stats = prepare_outputs(slots, w.output_bytes);
  for (size_t slot = 0; slot < w.output_bytes.size(); ++slot) {
    const BufferId buffer = p_.bindings.bindings[p_.bindings.output_slots[slot]].buffer_index;
    const auto range =
        check::returned_range(*p_.source.program, buffer, w.layout.source_bytes[buffer.index()]);
    if (w.output_bytes[slot] != 0) w.memory.read_back(buffer, range.offset, slots[slot]);
  }
}

std::unexpected<Error> Dispatch::failed(const Error& error, uint32_t segment) {
  Error whole = with_context(error, lease_->recorder.failed_segment().value_or(segment));
  device_.count(whole);
  return std::unexpected(std::move(whole));
}

Result<void> Dispatch::record_work(Outputs* slots) {
  Workspace& w = *lease_;
  report_ = {};
  stats_ = {};
  // A recovery may have come between prepare() and this work.
  VYRE_TRY(p_.check_generation());
  count(1, 0, 0);
  if (repeats_) return record_again(slots);
  span_.emplace(device_.trace.load(std::memory_order_relaxed), TraceCategory::Dispatch,
                p_.source.program->program.name);
  w.recorder.begin(*device_.backend, submit_options());
  if (config_.grid_from && !grid_from_)
    if (auto ok = read_grid(); !ok) return failed(ok.error(), 0);
  setup_memory(w.recorder);
  report_.route = w.variant->schedule.route;
  report_.variant = w.variant->policy.variant;
  report_.tuned = w.suggestion.taken && w.suggestion.by_record;
  report_.plan = w.variant->plan_digest;
  report_.segments = static_cast<uint32_t>(w.variant->schedule.segments.size());
  if (!grid_from_) report_.grid = w.launch.grid;
  report_.workgroup = w.launch.workgroup;
  report_.cache_hit = p_.compile_hit;
  if (slots != nullptr)
    if (auto ok = check_growth(*slots); !ok) return failed(ok.error(), 0);
  runner_.emplace(runner_setup(), w.memory, w.recorder, report_);
  if (auto ok = clear_prints(*device_.backend, w); !ok) return failed(ok.error(), 0);
  prints_ready_ = w.wanted.policy.print;
  w.recorder.set_host(&*runner_);

  w.memory.upload_inputs();
  w.memory.zero_outputs();
  if (auto ok = passes(*runner_, report_); !ok) return failed(ok.error(), runner_->segment());
  if (slots != nullptr) read_outputs(*slots, stats_);
  reports_left_ = runner_->deferred() && !w.recorder.empty();
  return {};
}

// What the last submission has come to.
Result<Report> Dispatch::take(Result<void> done) {
  Workspace& w = *lease_;
  const uint32_t segment = runner_ ? runner_->segment() : 0;
  if (done && !repeats_ && reports_left_) done = runner_->take_reports();
  if (!done) {
    w.last.can_repeat = false;
    return failed(done.error(), segment);
  }
  if (!repeats_) {
    w.recorder.set_host(nullptr);
    note_repeatable(*runner_, report_);
  }
  VYRE_TRY(finish(report_, stats_));
  if (span_ && *span_) {
    span_->arg("route", plan::name_of(report_.route));
    span_->arg("workgroups_per_block", report_.variant.workgroups_per_block);
    span_->arg("launches", report_.launches);
    if (const std::string* const trial = tuning_.trial()) span_->arg("trial", *trial);
  }
  span_.reset();
  return std::move(report_);
}

Result<Report> Dispatch::run(Outputs* slots) {
  prints_ready_ = false;
  auto report = tuning_.measured([&]() -> Result<Report> {
    VYRE_TRY(record_work(slots));
    Recorder& recorder = lease_->recorder;
    return take(repeats_ ? recorder.flush_again(submit_options()) : recorder.flush());
  });
  if (prints_ready_ && !device_.backend->is_lost())
    deliver(fetch_prints(*device_.backend, *lease_, *runner_), config_, report);
  return report;
}

bool Dispatch::can_start() const {
  if (!device_.backend->info().capabilities.async_compute ||
      device_.trace.load(std::memory_order_relaxed) != nullptr)
    return false;
  return repeats_ || (deferrable() && !config_.communicator);
}

Result<void> Dispatch::start(Outputs* slots) {
  VYRE_TRY(record_work(slots));
  Recorder& recorder = lease_->recorder;
  auto started = repeats_ ? recorder.start_again(submit_options()) : recorder.start();
  if (started) return started;
  lease_->last.can_repeat = false;
  return failed(started.error(), runner_ ? runner_->segment() : 0);
}

Result<Report> Dispatch::end() {
  return take(lease_->recorder.finish());
}

void count_outputs(device::Telemetry& telemetry, const OutputStats& stats) {
  telemetry.add(TelemetryField::OutputBytes, stats.bytes_incoming);
  record(telemetry, stats);
}

bool returns_outputs(const PipelineState& pipeline, const Workspace& workspace) {
  const plan::BindingPlan& plan = pipeline.bindings;
  return std::ranges::any_of(plan.output_slots, [&](uint32_t binding) {
    return !workspace.wanted.resident[plan.bindings[binding].buffer_index.index()];
  });
}

Result<void> Dispatch::finish(Report& report, const OutputStats& stats) const {
  const Workspace& w = *lease_;
  report.launches = w.recorder.launches();
  report.timings = w.recorder.timings();
  device::Telemetry& t = device_.telemetry;
  count(0, 1, report.launches);
  // Slots of results that stayed on the device are not filled.
  if (stats.slots != 0 && results_.slots == Slots::Callers && returns_outputs(p_, w))
    count_outputs(t, stats);
  if (!report.resumed.empty()) t.add(TelemetryField::Traps, report.resumed.size());
  if (iterations_of(config_) > 1) {
    t.add(TelemetryField::FixpointPasses, report.iterations);
    if (report.converged && report.iterations < iterations_of(config_))
      t.add(TelemetryField::FixpointEarlyExits);
  }
  const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - start_;
  report.wall_ns = static_cast<uint64_t>(wall.count());
  if (results_.reports == Reports::All && timing_of(config_) >= Timing::Segments) {
    // Behind the wall time, which it is no part of.
    VYRE_TRY_ASSIGN(report.breakdown, break_down(totals_of(w), *w.variant, timing_of(config_),
                                                 passes_of(report.fixpoints)));
  }
  return {};
}

PartTotals totals_of(const Workspace& workspace) {
  const std::span<const PartTotals> parts = workspace.recorder.parts();
  return parts.empty() ? PartTotals() : parts[0];
}

void Dispatch::count(uint64_t begun, uint64_t done, uint64_t launches) const {
  device::Telemetry& t = device_.telemetry;
  t.add(TelemetryField::Dispatches, begun);
  if (host_input_bytes_ != 0) t.add(TelemetryField::InputBytes, begun * host_input_bytes_);
  if (done == 0) return;  // there may be no variant yet
  const plan::Schedule& plan = lease_->variant->schedule;
  const Route route = plan.route;
  t.add(TelemetryField::Launches, launches);
  const bool barriers = plan::contains_grid_barrier(*p_.source.program);
  TelemetryField field = TelemetryField::LaunchesWhole;
  if (barriers) {
    switch (route) {
      case Route::Native: field = TelemetryField::LaunchesNative; break;
      case Route::Persistent: field = TelemetryField::LaunchesPersistent; break;
      case Route::Resident: field = TelemetryField::LaunchesResident; break;
      case Route::Host: field = TelemetryField::LaunchesHost; break;
    }
  }
  t.add(field, launches);
  if (barriers && (route == Route::Resident || route == Route::Host)) {
    t.add(TelemetryField::GridSyncSplits, done);
    t.add(TelemetryField::GridSyncSegments, done * plan.segments.size());
    t.add(TelemetryField::GridSyncPoints, done * plan.barriers);
  }
}

// ---- sequences

bool Dispatch::deferrable() const {
  Report unused;
  if (iterations_of(config_) > 1 || config_.grid_from || config_.trap_handler || config_.progress ||
      device_.at_host() || lease_->wanted.policy.print)
    return false;
  // deferred() reads the plan and the setup only.
  return PlanRunner(runner_setup(), lease_->memory, lease_->recorder, unused).deferred();
}

void Dispatch::record_inputs(Recorder& recorder) {
  setup_memory(recorder);
  lease_->memory.upload_inputs();
}

Result<void> Dispatch::record_pass(Recorder& recorder, Report& report) {
  lease_->memory.zero_outputs();
  PlanRunner runner(runner_setup(), lease_->memory, recorder, report);
  return runner.pass();
}

}  // namespace vyre::run
