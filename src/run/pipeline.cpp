// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/fork.hpp"
#include "run/entry.hpp"
#include "run/errors.hpp"
#include "run/state.hpp"

namespace vyre::run {

using device::Deadline;

namespace {

// What a handle without a pipeline answers. Not in the functions: a thread that is constructing a
// local static when another one forks holds its guard for ever in the child.
const std::string kNoId;
const check::CheckedProgram kNoProgram;
const plan::BindingPlan kNoBindings;

}  // namespace

const std::string& Pipeline::id() const {
  return state_ ? state_->id : kNoId;
}
const check::CheckedProgram& Pipeline::program() const {
  return state_ ? *state_->source.program : kNoProgram;
}
const plan::BindingPlan& Pipeline::bindings() const {
  return state_ ? state_->bindings : kNoBindings;
}

plan::Strategy Pipeline::strategy() const {
  if (!state_ || state_->device->backend->is_of_parent()) return {};
  const std::scoped_lock lock(state_->mutex);
  return state_->strategy;
}

pipeline::Manifest Pipeline::manifest() const {
  if (!state_ || state_->device->backend->is_of_parent()) return {};
  PipelineState& p = *state_;
  const device::BackendInfo& info = p.device->backend->info();
  pipeline::Manifest manifest;
  manifest.backend_id = info.id;
  manifest.backend_version = info.version;
  manifest.pipeline_id = p.id;
  manifest.program_digest = p.source.digest.hex();
  manifest.device_signature = info.signature;
  manifest.compiler_build_id = p.device->compiler.build_id();
  manifest.cache_hit = p.compile_hit;
  const std::scoped_lock lock(p.mutex);
  pipeline::Policy policy = policy_of(p.config, *p.source.program, info);
  policy.variant = p.strategy.variant;
  manifest.dispatch_policy = describe(policy);
  for (const auto& variant : p.variants) {
    pipeline::ManifestVariant row;
    row.route = plan::contains_grid_barrier(*p.source.program)
                    ? std::string(plan::name_of(variant->schedule.route))
                    : "whole";
    row.checked = variant->policy.checked;
    row.workgroup = variant->policy.workgroup.value_or(p.source.program->workgroup);
    for (const device::Entry& entry : variant->entries) row.entries.push_back(entry.name);
    row.artifact_digest = variant->code_digest.hex();
    manifest.variants.push_back(std::move(row));
  }
  return manifest;
}

namespace {

// The config of a call, merged only if there is something to merge.
class Merged {
 public:
  Merged(const DispatchConfig& base, const DispatchConfig& over) : config_(&base) {
    static const DispatchConfig kNothing;
    if (over == kNothing) return;
    config_ = &own_.emplace(merge(base, over));
  }
  Merged(const Merged&) = delete;
  Merged& operator=(const Merged&) = delete;
  const DispatchConfig& operator*() const { return *config_; }
  [[nodiscard]] Result<void> check() const { return own_ ? check_config(*own_) : Result<void>(); }

 private:
  std::optional<DispatchConfig> own_;
  const DispatchConfig* config_;
};

Queue::Patience patience_of(const DispatchConfig& config,
                            std::chrono::steady_clock::time_point start) {
  return {.deadline = deadline_of(config, start), .cancel = config.cancel.value_or(nullptr)};
}

std::unexpected<Error> queued_too_long(const Queue::Patience& patience) {
  if (patience.cancel != nullptr && patience.cancel->load(std::memory_order_relaxed))
    return fail(ErrorCode::Timeout, "the dispatch was cancelled. Fix: run it again");
  return fail(
      ErrorCode::Timeout,
      "the dispatch waited for work before it in its queue until its time limit. Fix: allow "
      "more time, use another queue, or limit the time of the work before it");
}

Doing dispatching(const check::CheckedProgram& program) {
  return {"dispatching program", program.program.name};
}

}  // namespace

Result<Report> Pipeline::dispatch_into(const Arguments& arguments, Outputs& slots,
                                       const DispatchConfig& over) const {
  if (!state_) return no_pipeline();
  return enter(*state_->device->backend, dispatching(program()), [&]() -> Result<Report> {
    VYRE_TRY(state_->device->backend->check_process());
    const Merged config(state_->config, over);
    VYRE_TRY(config.check());
    const auto start = std::chrono::steady_clock::now();
    Queue& queue = state_->device->queues[(*config).queue.value_or(0)];
    const Queue::Patience patience = patience_of(*config, start);
    const Queue::Lock lock(queue, patience);
    if (!lock.is_held() || (patience.is_limited() && !queue.finish_started(patience)))
      return queued_too_long(patience);
    Dispatch dispatch(*state_, *config, start);
    dispatch.tuning().allow_trials();
    VYRE_TRY(dispatch.prepare(arguments));
    return dispatch.run(&slots);
  });
}

Result<DispatchResult> Pipeline::dispatch(const Arguments& arguments,
                                          const DispatchConfig& over) const {
  DispatchResult result;
  VYRE_TRY_ASSIGN(auto report, dispatch_into(arguments, result.outputs, over));
  result.report = std::move(report);
  return result;
}

Result<DispatchResult> Pipeline::dispatch(std::initializer_list<Argument> inputs,
                                          const DispatchConfig& over) const {
  return dispatch(Arguments{.inputs = {inputs.begin(), inputs.size()}}, over);
}

Result<std::vector<Report>> Pipeline::dispatch_batch(std::span<const Arguments> items,
                                                     std::vector<Outputs>& rows,
                                                     const DispatchConfig& over) const {
  return enter(dispatching(program()), [&]() -> Result<std::vector<Report>> {
    prepare_rows(rows, items.size());
    std::vector<Report> reports;
    reports.reserve(items.size());
    for (size_t i = 0; i < items.size(); ++i) {
      auto report = dispatch_into(items[i], rows[i], over);
      if (!report) {
        Error error = report.error();
        error.context.push_back(fmt::format("item {} of {} of the batch", i, items.size()));
        return std::unexpected(std::move(error));
      }
      reports.push_back(std::move(*report));
    }
    return reports;
  });
}

// ---- asynchronous

// Owned by the caller's handle and, until it is done, by the queue (shared, since either may be the
// last). Until then it keeps pipeline and device alive, too.
struct PendingState final : Queue::Started {
  std::shared_ptr<PipelineState> pipeline;
  std::weak_ptr<DeviceState> device;  // to count what the caller gets
  std::shared_ptr<const check::CheckedProgram> program;
  const uint32_t fork_epoch = base::fork_epoch();
  DispatchConfig config;
  std::vector<std::vector<std::byte>> inputs;
  std::optional<Dispatch> dispatch;
  std::atomic<bool> cancelled = false;

  // The device has it; a thread waits for the device; there is a result.
  enum class Stage : uint8_t { Posted, Started, Finishing, Finished };
  std::mutex mutex;
  std::condition_variable changed;
  Stage stage = Stage::Posted;
  bool taken = false;
  Outputs outputs;
  bool returns_outputs = false;
  std::optional<Result<Report>> report;

  [[nodiscard]] Queue& queue() const { return pipeline->device->queues[config.queue.value_or(0)]; }
  // Under the queue lock. The work is over afterwards, or started.
  static void run(const std::shared_ptr<PendingState>& state, By by);
  bool is_done() override;
  void finish(By by) override;
  bool is_finished() override {
    const std::scoped_lock lock(mutex);
    return stage == Stage::Finished;
  }
  // Until there is a result. False: the deadline came first.
  bool wait_until(Deadline deadline);

 private:
  template <class Work>
  std::invoke_result_t<Work> in_dispatch(Work&& work) {
    return enter(*pipeline->device->backend, dispatching(*program), std::forward<Work>(work));
  }
  void set_stage(Stage next) {
    {
      const std::scoped_lock lock(mutex);
      stage = next;
    }
    changed.notify_all();
  }
  void end_with(Result<Report> result, By by);
};

void PendingState::run(const std::shared_ptr<PendingState>& state, By by) {
  PendingState& s = *state;
  if (!s.dispatch->can_start())
    return s.end_with(s.in_dispatch([&] { return s.dispatch->run(&s.outputs); }), by);
  Queue& queue = s.queue();
  queue.make_room();
  auto started = s.in_dispatch([&]() -> Result<void> {
    queue.started(state);
    return s.dispatch->start(&s.outputs);
  });
  if (!started) return s.end_with(std::unexpected(std::move(started.error())), by);
  // From here on it may be finished, and the device closed, at any time.
  s.set_stage(Stage::Started);
}

bool PendingState::is_done() {
  const std::scoped_lock lock(mutex);
  return stage == Stage::Finished || (stage == Stage::Started && dispatch->is_done());
}

void PendingState::finish(By by) {
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return stage != Stage::Posted && stage != Stage::Finishing; });
    if (stage == Stage::Finished) return;
    stage = Stage::Finishing;
  }
  end_with(in_dispatch([&] { return dispatch->end(); }), by);
}

void PendingState::end_with(Result<Report> result, By by) {
  report = std::move(result);
  dispatch.reset();
  // Who has waited may close the device, which the thread is not to hold any more then. A caller
  // may be the last to hold it, and then the thread has to end, which may be waiting for this.
  std::shared_ptr<PipelineState> last = std::move(pipeline);
  if (by == By::Thread) last.reset();
  set_stage(Stage::Finished);
}

bool PendingState::wait_until(Deadline deadline) {
  constexpr std::chrono::microseconds kPollInterval{20};
  std::unique_lock lock(mutex);
  while (stage != Stage::Finished) {
    const bool started = stage == Stage::Started;
    if (deadline == device::kNoDeadline && started) {
      lock.unlock();
      finish(By::Caller);
      lock.lock();
    } else if (deadline == device::kNoDeadline) {
      changed.wait(lock);
    } else if (std::chrono::steady_clock::now() >= deadline) {
      return false;
    } else if (started && dispatch->is_done()) {
      lock.unlock();
      finish(By::Caller);
      lock.lock();
    } else {
      changed.wait_until(
          lock, started ? std::min(deadline, std::chrono::steady_clock::now() + kPollInterval)
                        : deadline);
    }
  }
  return true;
}

Result<Pending> Pipeline::dispatch_async(const Arguments& arguments,
                                         const DispatchConfig& over) const {
  if (!state_) return no_pipeline();
  return enter(*state_->device->backend, dispatching(program()),
               [&] { return post(state_, arguments, over); });
}

Result<Pending> Pipeline::post(const std::shared_ptr<PipelineState>& pipeline,
                               const Arguments& arguments, const DispatchConfig& over) {
  VYRE_TRY(pipeline->device->backend->check_process());
  auto state = std::make_shared<PendingState>();
  state->pipeline = pipeline;
  state->device = pipeline->device;
  state->program = pipeline->source.program;
  state->config = merge(pipeline->config, over);
  VYRE_TRY(check_config(state->config));
  // The caller's bytes may be gone before the work begins.
  std::vector<Argument> inputs;
  state->inputs.reserve(arguments.inputs.size());
  for (const Argument& argument : arguments.inputs) {
    if (argument.buffer() != nullptr) {
      inputs.push_back(argument);
      continue;
    }
    state->inputs.emplace_back(argument.bytes().begin(), argument.bytes().end());
    inputs.emplace_back(std::span<const std::byte>(state->inputs.back()));
  }
  if (!state->config.cancel) state->config.cancel = &state->cancelled;
  state->dispatch.emplace(*pipeline, state->config, std::chrono::steady_clock::now(),
                          Dispatch::Results{Dispatch::Slots::Staged, Dispatch::Reports::All});
  VYRE_TRY(state->dispatch->prepare({.inputs = inputs, .outputs = arguments.outputs}));
  state->returns_outputs = returns_outputs(*pipeline, state->dispatch->workspace());
  Queue& queue = state->queue();
  if (state->dispatch->can_start() && queue.can_start()) {
    const Queue::Lock lock(queue);
    PendingState::run(state, PendingState::By::Caller);
  } else {
    queue.post([state] { PendingState::run(state, PendingState::By::Thread); });
  }
  return Pending(std::move(state));
}

bool Pending::is_ready() const {
  // In a child of fork() there is nothing to wait for but the error.
  return state_ && (base::is_forked_since(state_->fork_epoch) || state_->is_done());
}

void Pending::cancel() {
  if (state_) state_->cancelled = true;
}

Result<Report> Pending::wait_into(Outputs& slots, Deadline deadline) {
  if (!state_)
    return fail(ErrorCode::InvalidArgument,
                "this Pending stands for no dispatch. Fix: wait for what dispatch_async returned");
  return enter(dispatching(*state_->program), [&]() -> Result<Report> {
    if (base::is_forked_since(state_->fork_epoch))
      return fail(
          ErrorCode::PoisonedState,
          "the dispatch was started before this process was forked, and runs in the parent. "
          "Fix: wait for it there, or dispatch on a device opened in the child");
    if (!state_->wait_until(deadline))
      return fail(ErrorCode::Timeout,
                  "the dispatch is not done at the deadline. Fix: wait longer, or cancel() it");
    // The last one to hold it waits for threads that want the lock below.
    const std::shared_ptr<DeviceState> device = state_->device.lock();
    const std::scoped_lock lock(state_->mutex);
    if (state_->taken)
      return fail(ErrorCode::InvalidArgument,
                  "the result of this dispatch has been taken. Fix: wait for it once");
    // Where there is no memory for the caller's list of slots, it can be waited for again.
    if (*state_->report) {
      const OutputStats stats = replace_outputs(slots, std::move(state_->outputs));
      if (device && state_->returns_outputs) count_outputs(device->telemetry, stats);
    }
    state_->taken = true;
    return std::move(*state_->report);
  });
}

Result<DispatchResult> Pending::wait(Deadline deadline) {
  DispatchResult result;
  VYRE_TRY_ASSIGN(auto report, wait_into(result.outputs, deadline));
  result.report = std::move(report);
  return result;
}

}  // namespace vyre::run
