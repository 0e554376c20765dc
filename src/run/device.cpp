// SPDX-License-Identifier: Apache-2.0
#include "vyre/run/device.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "base/fork.hpp"
#include "check/prints.hpp"
#include "pipeline/choose_strategy.hpp"
#include "run/entry.hpp"
#include "run/errors.hpp"
#include "run/poison.hpp"
#include "run/state.hpp"

namespace vyre::run {

using device::TelemetryField;

// ---- state

namespace {

pipeline::CompilerOptions compiler_options(const DeviceOptions& options) {
  pipeline::CompilerOptions compiler;
  compiler.memory_entries = options.memory_cache_entries;
  compiler.memory_bytes = options.memory_cache_bytes;
  compiler.build_id = options.compiler_build_id;
  compiler.poison = options.poison;
  if (!options.cache_directory.empty()) {
    pipeline::DiskCacheOptions disk;
    disk.directory = options.cache_directory;
    disk.warn = options.warn;
    compiler.disk =
        std::make_shared<pipeline::DiskCache>(pipeline::DiskCache::open(std::move(disk)));
  }
  return compiler;
}

}  // namespace

DeviceState::DeviceState(std::shared_ptr<device::Backend> b, const DeviceOptions& options)
    : backend(std::move(b)), compiler(backend, telemetry, compiler_options(options)) {
  trace = options.trace;
  poison = options.poison;
  fresh_tuning = options.fresh_tuning;
  tuning_clock = options.tuning_clock ? options.tuning_clock : [] {
    const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(now.count());
  };
}

Result<void> DeviceState::check_usable() const {
  if (shut_down.load(std::memory_order_acquire))
    return fail(
        ErrorCode::PoisonedState,
        fmt::format("device `{}` has been shut down. Fix: open it again", backend->info().id));
  return backend->check_usable();
}

void DeviceState::count(const Error& error) {
  if (error.code == ErrorCode::Trapped) telemetry.add(TelemetryField::Traps);
  if (error.code == ErrorCode::OutOfBounds) telemetry.add(TelemetryField::OutOfBounds);
}

std::unique_ptr<Workspace> PipelineState::lease() {
  {
    const std::scoped_lock lock(mutex);
    if (!idle.empty()) {
      std::unique_ptr<Workspace> workspace = std::move(idle.back());
      idle.pop_back();
      return workspace;
    }
  }
  return std::make_unique<Workspace>();
}

void PipelineState::give_back(std::unique_ptr<Workspace> workspace) {
  if (device->backend->is_of_parent()) return base::abandon(workspace.release());
  workspace->uses.clear();
  const std::scoped_lock lock(mutex);
  const auto has_arena = [](const std::unique_ptr<Workspace>& w) { return w->arena.valid(); };
  const bool fits =
      idle.size() < kMostIdle &&
      (!has_arena(workspace) || std::ranges::count_if(idle, has_arena) < kMostIdleArenas);
  if (fits) idle.push_back(std::move(workspace));
}

pipeline::Policy policy_of(const DispatchConfig& config, const check::CheckedProgram& program,
                           const device::BackendInfo& info) {
  pipeline::Policy policy;
  policy.checked = config.checked.value_or(false);
  policy.workgroup = config.workgroup;
  policy.ulp_budget = config.ulp_budget.value_or(0);
  // check_config() has refused other names.
  if (config.profile)
    policy.profile = pipeline::profile_of(*config.profile).value_or(pipeline::Profile::Throughput);
  policy.print = config.print.value_or(false) && check::print_record_words(program) != 0;
  return effective_policy(std::move(policy), program, info);
}

pipeline::CompileLimits compile_limits(const DispatchConfig& config) {
  return config.untrusted.value_or(false) ? pipeline::CompileLimits::untrusted()
                                          : pipeline::CompileLimits();
}

StopCondition stop_condition(const DispatchConfig& config,
                             std::chrono::steady_clock::time_point start) {
  return StopCondition::after(config.timeout.value_or(std::chrono::nanoseconds(0)),
                              config.cancel.value_or(nullptr), start);
}

// ---- opening

namespace {

Result<void> take_poison(DeviceOptions& options) {
  if (options.poison) return {};
  VYRE_TRY_ASSIGN(auto pattern, poison_of_environment());
  options.poison = pattern;
  return {};
}

}  // namespace

Result<Device> Device::open(std::string_view id, DeviceOptions options) {
  return enter({"opening device", id}, [&]() -> Result<Device> {
    VYRE_TRY(take_poison(options));
    VYRE_TRY_ASSIGN(auto backend, device::registry().acquire(id));
    return over(std::move(backend), std::move(options));
  });
}

Result<Device> Device::open_preferred(const device::SelectionPolicy& policy, DeviceOptions options,
                                      device::Selection* selection) {
  return enter({"opening a device"}, [&]() -> Result<Device> {
    VYRE_TRY(take_poison(options));
    TraceSpan span(options.trace, TraceCategory::Select, "choose a device");
    device::Selection chosen;
    if (selection == nullptr) selection = &chosen;
    auto backend = device::registry().acquire_preferred(policy, selection);
    if (span) span.arg("selection", to_string(*selection));
    if (!backend) return std::unexpected(backend.error());
    span.arg("device", (*backend)->info().id);
    return over(std::move(*backend), std::move(options));
  });
}

Device Device::over(std::shared_ptr<device::Backend> backend, DeviceOptions options) {
  if (!backend) return {};
  // Its destructor waits for threads, which a child of fork() does not have.
  const auto close = [](DeviceState* state) {
    if (state->backend->is_of_parent())
      base::abandon(state);
    else
      delete state;
  };
  return Device(std::shared_ptr<DeviceState>(new DeviceState(std::move(backend), options), close));
}

const device::BackendInfo& Device::info() const {
  static const device::BackendInfo kNone;
  if (!state_) return kNone;
  return state_->backend->info();
}
device::Backend& Device::backend() const {
  VYRE_CHECK(valid());
  return *state_->backend;
}
pipeline::Compiler& Device::compiler() const {
  VYRE_CHECK(valid());
  return state_->compiler;
}
pipeline::CacheAudit Device::cache_audit() const {
  return state_ && !state_->backend->is_of_parent() ? state_->compiler.audit()
                                                    : pipeline::CacheAudit();
}
void Device::set_trace(Trace* trace) const {
  if (state_) state_->trace = trace;
}

device::TelemetrySnapshot Device::telemetry() const {
  if (!state_ || state_->backend->is_of_parent()) return {};
  device::TelemetrySnapshot snapshot = state_->telemetry.snapshot();
  snapshot.device_lost = state_->backend->losses();
  snapshot.recoveries = state_->recoveries.load();
  snapshot.cleared_bytes = state_->backend->cleared_bytes();
  snapshot.metrics = state_->backend->metrics();
  return snapshot;
}

// ---- compiling

Result<void> check_forced(const DispatchConfig& config, const device::BackendInfo& info) {
  const auto refuse = [&](std::string_view feature) {
    return fail(ErrorCode::Unsupported,
                fmt::format("{} is forced, and device `{}` does not have it. Fix: use `auto`, or "
                            "another device",
                            feature, info.id));
  };
  if (config.speculation == Choice::Force && !info.capabilities.speculation)
    return refuse("speculation");
  if (config.persistent_thread == Choice::Force && !info.capabilities.persistent_threads)
    return refuse("persistent_thread");
  if (config.cooperative == Cooperative::Require && !info.capabilities.cooperative_grid_barrier)
    return refuse("a cooperative launch");
  return {};
}

namespace {

// As far as the config says it: what decides about routes is the grid.
std::optional<check::Launch> launch_of(const check::CheckedProgram& program,
                                       const DispatchConfig& config) {
  if (!config.grid) return std::nullopt;
  return check::Launch{.workgroup = config.workgroup.value_or(program.workgroup),
                       .grid = *config.grid,
                       .counts = {}};
}

}  // namespace

Result<CompileResult> Device::compile(const ir::Program& program,
                                      const DispatchConfig& config) const {
  return enter({"copying program", program.name},
               [&] { return compile(ir::Program(program), config); });
}

Result<CompileResult> Device::compile(ir::Program&& program, const DispatchConfig& config) const {
  if (!state_) return no_device();
  VYRE_TRY(state_->check_usable());
  return enter({"checking a program"}, [&]() -> Result<CompileResult> {
    const StopScope stop(stop_condition(config, std::chrono::steady_clock::now()));
    TraceSpan span(state_->trace.load(), TraceCategory::Check, program.name);
    auto checked = check::check_valid(std::move(program));
    span.end();
    if (!checked) return std::unexpected(checked.error());
    return compile(std::move(*checked), config);
  });
}

Result<CompileResult> Device::compile(check::CheckedProgram&& program,
                                      const DispatchConfig& config) const {
  return enter({"compiling a program"}, [&] {
    return compile(std::make_shared<const check::CheckedProgram>(std::move(program)), config);
  });
}

Result<CompileResult> Device::compile(std::shared_ptr<const check::CheckedProgram> program,
                                      const DispatchConfig& config) const {
  if (!state_) return no_device();
  if (!program)
    return fail(ErrorCode::InvalidArgument,
                "no program is given to compile. Fix: pass one that check_valid() returned");
  return enter(*state_->backend, {"compiling program", program->program.name},
               [&] { return compile_source(pipeline::make_source(program), config); });
}

Result<CompileResult> Device::compile_source(pipeline::Source source,
                                             const DispatchConfig& config) const {
  DeviceState& device = *state_;
  VYRE_TRY(device.check_usable());
  VYRE_TRY(check_config(config));
  const StopScope stop(stop_condition(config, std::chrono::steady_clock::now()));
  const device::BackendInfo& info = device.backend->info();
  const check::CheckedProgram& program = *source.program;
  VYRE_TRY(pipeline::check_device_limits(program, config.workgroup, info, config.grid));
  VYRE_TRY(check_forced(config, info));
  if (plan::contains_grid_barrier(program) && !info.capabilities.cooperative_grid_barrier &&
      !info.capabilities.host_split)
    return fail(
        ErrorCode::Unsupported,
        fmt::format("program `{}` has a barrier over the grid, and device `{}` has none and "
                    "does not allow to split the program. Fix: use another device",
                    program.program.name, info.id));

  auto state = std::make_shared<PipelineState>();
  VYRE_TRY_ASSIGN(auto bindings, plan::plan_bindings(program));
  state->bindings = std::move(bindings);
  state->generation = device.backend->generation();
  const auto launch = launch_of(program, config);
  plan::DeviceModel model{.capabilities = info.capabilities, .profile = info.profile};
  pipeline::LoadedFacts facts({.compiler = device.compiler,
                               .source = source,
                               .policy = policy_of(config, program, info),
                               .limits = compile_limits(config),
                               .trace = device.trace.load()});
  VYRE_TRY_ASSIGN(auto chosen, pipeline::choose_strategy({.program = program,
                                                          .launch = launch ? &*launch : nullptr,
                                                          .request = strategy_request(config)},
                                                         model, facts));
  VYRE_TRY_ASSIGN(auto found, facts.get(chosen.strategy.variant));
  device.telemetry.add(device::TelemetryField::StrategiesRevised, chosen.rejected);
  state->device = state_;
  state->host_reads = check::read_by_host(program);
  state->source = std::move(source);
  state->config = config;
  state->id = fmt::format("{}:{}", info.id, found.variant->key.combined().hex().substr(0, 32));
  state->compile_hit = found.hit;
  state->strategy = std::move(chosen.strategy);
  for (auto& loaded : facts.take_loaded()) state->variants.push_back(std::move(loaded.variant));
  CompileResult result;
  result.cache_hit = found.hit;
  result.pipeline = Pipeline(std::move(state));
  result.manifest = result.pipeline.manifest();
  return result;
}

Result<Prewarmed> Device::prewarm(std::shared_ptr<const check::CheckedProgram> program,
                                  const DispatchConfig& config) const {
  return enter({"compiling a program"}, [&]() -> Result<Prewarmed> {
    VYRE_TRY_ASSIGN(auto compiled, compile(std::move(program), config));
    return Prewarmed{compiled.pipeline.id(), compiled.cache_hit, std::move(compiled.manifest)};
  });
}

CacheLookup Device::cache_lookup(std::shared_ptr<const check::CheckedProgram> program,
                                 const DispatchConfig& config) const {
  const pipeline::Source source = pipeline::make_source(std::move(program));
  const device::BackendInfo& info = this->info();
  const auto launch = launch_of(*source.program, config);
  plan::DeviceModel model{.capabilities = info.capabilities, .profile = info.profile};
  pipeline::Policy policy = policy_of(config, *source.program, info);
  pipeline::PlannedFacts facts(*source.program, policy, info.capabilities, std::nullopt);
  const auto chosen = pipeline::choose_strategy({.program = *source.program,
                                                 .launch = launch ? &*launch : nullptr,
                                                 .request = strategy_request(config)},
                                                model, facts);
  // A program that compile() refuses has no code to look for: any key is a miss.
  if (chosen) policy.variant = chosen->strategy.variant;
  return {.key = compiler().key(source, policy), .policy = std::move(policy)};
}

// ---- life

Result<void> Device::prepare() const {
  if (!state_) return no_device();
  return enter({"preparing a device"}, [&] { return echo(); });
}

Result<void> Device::echo() const {
  VYRE_TRY(state_->check_usable());
  // A buffer of a few bytes there and back.
  constexpr std::array<std::byte, 4> kSent = {std::byte{1}, std::byte{2}, std::byte{3},
                                              std::byte{4}};
  if (!info().capabilities.resident_buffers) return {};
  VYRE_TRY_ASSIGN(auto buffer, upload(kSent));
  VYRE_TRY_ASSIGN(const auto back, read(buffer));
  if (std::ranges::equal(back, kSent)) return {};
  return fail(ErrorCode::DispatchFailed,
              fmt::format("device `{}` does not give back the bytes it was given. Fix: check the "
                          "device and its driver",
                          info().id));
}

Result<void> Device::flush() const {
  if (!state_) return no_device();
  VYRE_TRY(state_->backend->check_process());
  for (Queue& queue : state_->queues) queue.drain();
  return enter({"flushing a device"}, [&] { return state_->check_usable(); });
}

Result<void> Device::shutdown() const {
  if (!state_) return no_device();
  VYRE_TRY(state_->backend->check_process());
  state_->shut_down.store(true, std::memory_order_release);
  for (Queue& queue : state_->queues) queue.drain();
  state_->compiler.clear_memory();
  return {};
}

bool Device::is_lost() const {
  return state_ && state_->backend->is_lost();
}

Result<void> Device::recover() const {
  if (!state_) return no_device();
  return enter(*state_->backend, {"recovering a device"}, [&]() -> Result<void> {
    VYRE_TRY(state_->backend->check_process());
    if (state_->shut_down.load())
      return fail(ErrorCode::PoisonedState,
                  fmt::format("device `{}` has been shut down. Fix: open it again", info().id));
    // The locks of all queues: work that began meanwhile would use handles of both lives.
    std::array<std::optional<Queue::Lock>, kQueues> locks;
    for (size_t i = 0; i < kQueues; ++i) locks[i].emplace(state_->queues[i]);
    for (Queue& queue : state_->queues) queue.finish_started();
    // Of a device that was lost before, what keeps it from coming back is no part of that loss.
    const bool was_lost = state_->backend->is_lost();
    if (auto ok = state_->backend->recover(); !ok) {
      if (was_lost)
        ok.error().context.push_back(
            fmt::format("while recovering the context on device `{}`", info().id));
      return ok;
    }
    state_->compiler.clear_memory();
    state_->recoveries.fetch_add(1);
    return {};
  });
}

}  // namespace vyre::run
