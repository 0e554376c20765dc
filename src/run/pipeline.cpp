// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "run/entry.hpp"
#include "run/errors.hpp"
#include "run/state.hpp"

namespace vyre::run {

using device::Deadline;

const std::string& Pipeline::id() const {
  static const std::string kNone;
  if (!state_) return kNone;
  return state_->id;
}
const check::CheckedProgram& Pipeline::program() const {
  static const check::CheckedProgram kNone;
  if (!state_) return kNone;
  return *state_->source.program;
}
const plan::BindingPlan& Pipeline::bindings() const {
  static const plan::BindingPlan kNone;
  if (!state_) return kNone;
  return state_->bindings;
}

pipeline::Manifest Pipeline::manifest() const {
  if (!state_) return {};
  PipelineState& p = *state_;
  const device::BackendInfo& info = p.device->backend->info();
  pipeline::Manifest manifest;
  manifest.backend_id = info.id;
  manifest.backend_version = info.version;
  manifest.pipeline_id = p.id;
  manifest.program_digest = p.source.digest.hex();
  manifest.dispatch_policy = describe(p.config);
  manifest.device_signature = info.signature;
  manifest.compiler_build_id = p.device->compiler.build_id();
  manifest.cache_hit = p.compile_hit;
  const std::scoped_lock lock(p.mutex);
  for (const auto& variant : p.variants) {
    pipeline::ManifestVariant row;
    row.route = plan::contains_grid_barrier(*p.source.program)
                    ? std::string(plan::name_of(variant->policy.route))
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

Doing dispatching(const check::CheckedProgram& program) {
  return {"dispatching program", program.program.name};
}

}  // namespace

Result<Report> Pipeline::dispatch_into(const Arguments& arguments, Outputs& slots,
                                       const DispatchConfig& over) const {
  if (!state_) return no_pipeline();
  return enter(*state_->device->backend, dispatching(program()), [&]() -> Result<Report> {
    const Merged config(state_->config, over);
    if (auto ok = config.check(); !ok) return std::unexpected(ok.error());
    const auto start = std::chrono::steady_clock::now();
    const Queue::Turn turn(state_->device->queues[(*config).queue.value_or(0)]);
    Dispatch dispatch(*state_, *config, start);
    if (auto ok = dispatch.prepare(arguments); !ok) return std::unexpected(ok.error());
    return dispatch.run(&slots);
  });
}

Result<DispatchResult> Pipeline::dispatch(const Arguments& arguments,
                                          const DispatchConfig& over) const {
  DispatchResult result;
  auto report = dispatch_into(arguments, result.outputs, over);
  if (!report) return std::unexpected(std::move(report.error()));
  result.report = std::move(*report);
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
struct PendingState {
  std::shared_ptr<PipelineState> pipeline;
  std::shared_ptr<const check::CheckedProgram> program;
  DispatchConfig config;
  std::vector<std::vector<std::byte>> inputs;
  std::optional<Dispatch> dispatch;
  std::atomic<bool> cancelled = false;

  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  bool taken = false;
  Outputs outputs;
  std::optional<Result<Report>> report;
};

Result<Pending> Pipeline::dispatch_async(const Arguments& arguments,
                                         const DispatchConfig& over) const {
  if (!state_) return no_pipeline();
  return enter(*state_->device->backend, dispatching(program()),
               [&] { return post(state_, arguments, over); });
}

Result<Pending> Pipeline::post(const std::shared_ptr<PipelineState>& pipeline,
                               const Arguments& arguments, const DispatchConfig& over) {
  auto state = std::make_shared<PendingState>();
  state->pipeline = pipeline;
  state->program = pipeline->source.program;
  state->config = merge(pipeline->config, over);
  if (auto ok = check_config(state->config); !ok) return std::unexpected(ok.error());
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
  state->dispatch.emplace(*pipeline, state->config);
  if (auto ok = state->dispatch->prepare({.inputs = inputs, .outputs = arguments.outputs}); !ok)
    return std::unexpected(ok.error());
  pipeline->device->queues[state->config.queue.value_or(0)].post([state] {
    Result<Report> report = enter(*state->pipeline->device->backend, dispatching(*state->program),
                                  [&] { return state->dispatch->run(&state->outputs); });
    // Who has waited may close the device, which this is not to hold any more.
    state->dispatch.reset();
    state->pipeline.reset();
    {
      const std::scoped_lock lock(state->mutex);
      state->report = std::move(report);
      state->done = true;
    }
    state->changed.notify_all();
  });
  return Pending(std::move(state));
}

bool Pending::is_ready() const {
  if (!state_) return false;
  const std::scoped_lock lock(state_->mutex);
  return state_->done;
}

void Pending::cancel() {
  if (state_) state_->cancelled = true;
}

Result<Report> Pending::wait_into(Outputs& slots, Deadline deadline) {
  if (!state_)
    return fail(ErrorCode::InvalidArgument,
                "this Pending stands for no dispatch. Fix: wait for what dispatch_async returned");
  return enter(dispatching(*state_->program), [&]() -> Result<Report> {
    std::unique_lock lock(state_->mutex);
    const auto done = [&] { return state_->done; };
    if (deadline == device::kNoDeadline)
      state_->changed.wait(lock, done);
    else if (!state_->changed.wait_until(lock, deadline, done))
      return fail(ErrorCode::Timeout,
                  "the dispatch is not done at the deadline. Fix: wait longer, or cancel() it");
    if (state_->taken)
      return fail(ErrorCode::InvalidArgument,
                  "the result of this dispatch has been taken. Fix: wait for it once");
    // Where there is no memory for the caller's list of slots, it can be waited for again.
    if (*state_->report) replace_outputs(slots, std::move(state_->outputs));
    state_->taken = true;
    return std::move(*state_->report);
  });
}

Result<DispatchResult> Pending::wait(Deadline deadline) {
  DispatchResult result;
  auto report = wait_into(result.outputs, deadline);
  if (!report) return std::unexpected(std::move(report.error()));
  result.report = std::move(*report);
  return result;
}

}  // namespace vyre::run
