// SPDX-License-Identifier: Apache-2.0
#include "vyre/pipeline/compiler.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <new>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/errors.hpp"
#include "base/fork.hpp"
#include "base/stop.hpp"
#include "codegen/codegen.hpp"
#include "codegen/in_process.hpp"
#include "codegen/program_target.hpp"
#include "pipeline/artifact_image.hpp"
#include "pipeline/cache_entry.hpp"
#include "pipeline/digest_of_fields.hpp"
#include "pipeline/generate.hpp"
#include "pipeline/site_table.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::pipeline {

using device::TelemetryField;

Digest digest_of_fields(const Fields& fields) {
  // Lengths keep neighbouring texts apart.
  std::string text;
  for (const auto& [name, value] : fields)
    text += fmt::format("{}:{}={}:{};", name.size(), name, value.size(), value);
  return digest_of(std::as_bytes(std::span(text)));
}

namespace {

std::string axes_text(const std::optional<check::Axes>& axes) {
  return axes ? fmt::format("{}x{}x{}", (*axes)[0], (*axes)[1], (*axes)[2]) : "of the program";
}

const char* bool_text(bool value) {
  return value ? "true" : "false";
}

// A device that refuses code with one of these may take other code of the same program.
bool is_of_code(ErrorCode code) {
  return code == ErrorCode::CompileFailed || code == ErrorCode::Unsupported ||
         code == ErrorCode::InvalidArgument || code == ErrorCode::InvalidProgram ||
         code == ErrorCode::Internal;
}

codegen::Target target_of(const device::BackendInfo& info, const Policy& policy,
                          device::Format format, std::optional<std::byte> poison) {
  return {.format = format,
          .subgroup_size = info.capabilities.subgroup_size,
          .checked = policy.checked,
          .architecture = info.architecture,
          .ulp_budget = policy.ulp_budget,
          .cheap = policy.profile == Profile::Latency,
          .poison = poison,
          .lanes = policy.variant.lanes};
}

}  // namespace

std::string_view compiler_build_id() {
  static const std::string kId =
      fmt::format("{} llvm-{}", compiler_source_id(), codegen::llvm_version());
  return kId;
}

namespace {
const base::CalledAtLoad kBuildId(compiler_build_id);
}

namespace {

constexpr std::array kProfiles = {Profile::Throughput, Profile::Latency};

}  // namespace

std::string_view name_of(Profile profile) {
  switch (profile) {
    case Profile::Throughput: return "throughput";
    case Profile::Latency: return "latency";
  }
  VYRE_CHECK(false && "a Profile outside its enumeration");
}

Result<Profile> profile_of(std::string_view name) {
  std::string names;
  for (const Profile profile : kProfiles) {
    if (name_of(profile) == name) return profile;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(profile));
  }
  return fail(ErrorCode::InvalidArgument,
              fmt::format("there is no profile `{}`. Fix: use one of {}", name, names));
}

Policy effective_policy(Policy policy, const check::CheckedProgram& program,
                        const device::BackendInfo& info) {
  // Every dispatch comes here, and most request nothing.
  if (policy.ulp_budget == 0 && policy.profile == Profile::Throughput) return policy;
  const auto format = codegen::choose_format(info.capabilities.formats, info.id);
  // Without a format there is no code at all, which compile() says.
  const codegen::CodeChoices choices =
      format ? codegen::code_choices(*format, program, policy.ulp_budget) : codegen::CodeChoices{};
  policy.ulp_budget = choices.ulps;
  if (!choices.has_cheap_code) policy.profile = Profile::Throughput;
  return policy;
}

// The bindings name every field, so that a new one has to be described here: without that it would
// not be a part of the key.
Fields describe(const Policy& policy) {
  const auto& [variant, checked, workgroup, ulp_budget, profile, print] = policy;
  const auto& [route, workgroups_per_block, unrolled_iterations, interleave, is_1d, lanes] =
      variant;
  return {{"route", std::string(plan::name_of(route))},
          {"checked", bool_text(checked)},
          {"workgroup", axes_text(workgroup)},
          {"ulp_budget", std::to_string(ulp_budget)},
          {"profile", std::string(name_of(profile))},
          {"workgroups_per_block", std::to_string(workgroups_per_block)},
          {"unrolled_iterations", std::to_string(unrolled_iterations)},
          {"interleave", std::to_string(interleave)},
          {"is_1d", bool_text(is_1d)},
          {"lanes", std::to_string(lanes)},
          {"print", bool_text(print)}};
}

Source make_source(std::shared_ptr<const check::CheckedProgram> program) {
  Source source;
  source.digest = ir::digest_of(program->program);
  source.program = std::move(program);
  return source;
}

Fields describe_runtime(const device::BackendInfo& info, std::string_view build_id) {
  Fields fields = {{"compiler", std::string(build_id)},
                   {"backend", info.id.substr(0, info.id.find(':'))},
                   {"version", info.version},
                   {"kind", std::string(device::name_of(info.kind))},
                   {"signature", info.signature}};
  for (const auto& [name, value] : device::describe(info.capabilities))
    fields.emplace_back(name, value);
  return fields;
}

CacheKey make_key(const Source& source, const Policy& policy, const device::BackendInfo& info,
                  std::string_view build_id) {
  return {.program = source.digest,
          .policy = digest_of_fields(describe(policy)),
          .runtime = digest_of_fields(describe_runtime(info, build_id))};
}

plan::PlanOptions plan_options(const Policy& policy, const device::Capabilities& capabilities) {
  return {.variant = policy.variant,
          .checked = policy.checked,
          .wide_index = capabilities.i64,
          .workgroup = policy.workgroup,
          .print = policy.print};
}

Result<plan::Plan> make_plan(const check::CheckedProgram& program, const Policy& policy,
                             const device::Capabilities& capabilities) {
  const StageScope stage(Stage::Plan);
  poll_stop_now();
  if (policy.variant.route == plan::Route::Native && capabilities.whole_programs)
    return plan::whole_plan(program, plan_options(policy, capabilities));
  return plan::make_plan(program, plan_options(policy, capabilities));
}

plan::VariantFacts facts_of(const Variant& variant) {
  plan::VariantFacts facts = plan::facts_of(variant.policy.variant, variant.schedule);
  facts.is_loaded = true;
  for (uint32_t i = 0; i < variant.entries.size(); ++i)
    facts.resident.push_back(variant.loaded.max_resident_groups(i));
  return facts;
}

Compiler::Compiler(std::shared_ptr<device::Backend> backend, device::Telemetry& telemetry,
                   CompilerOptions options)
    : backend_(std::move(backend)), telemetry_(telemetry), options_(std::move(options)) {
  if (options_.build_id.empty()) options_.build_id = compiler_build_id();
  if (options_.poison)
    options_.build_id += fmt::format(", poison {}", static_cast<unsigned>(*options_.poison));
}

CacheKey Compiler::key(const Source& source, const Policy& policy) const {
  return make_key(source, policy, backend_->info(), options_.build_id);
}

CacheAudit Compiler::audit() const {
  if (backend_->is_of_parent()) return {};
  const std::scoped_lock lock(mutex_);
  return audit_;
}

Compiler::MemoryUse Compiler::memory() const {
  if (backend_->is_of_parent()) return {};
  const std::scoped_lock lock(mutex_);
  return {kept_.size(), kept_bytes_};
}

void Compiler::clear_memory() {
  if (backend_->is_of_parent()) return;
  std::list<Kept> old;  // unloaded outside of the lock
  const std::scoped_lock lock(mutex_);
  old.swap(kept_);
  by_key_.clear();
  kept_bytes_ = 0;
}

std::optional<MissReason> Compiler::why(const CacheKey& key) const {
  if (backend_->is_of_parent()) return MissReason::Empty;
  ClosestEntry closest;
  {
    const std::scoped_lock lock(mutex_);
    if (by_key_.contains(key)) return std::nullopt;
    for (const Kept& kept : kept_)
      closest.add({.program = kept.key.program == key.program,
                   .policy = kept.key.policy == key.policy,
                   .runtime = kept.key.runtime == key.runtime});
  }
  if (options_.disk && options_.disk->state() != CacheState::Off) return options_.disk->why(key);
  return closest.reason();
}

std::shared_ptr<const Variant> Compiler::find_in_memory(const CacheKey& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  if (!found->second->variant->loaded.check_owner(*backend_)) {
    // From before a recovery.
    kept_bytes_ -= found->second->variant->code_bytes;
    kept_.erase(found->second);
    by_key_.erase(found);
    return nullptr;
  }
  kept_.splice(kept_.begin(), kept_, found->second);
  return found->second->variant;
}

void Compiler::keep(const std::shared_ptr<const Variant>& variant) {
  std::list<Kept> row;  // on its own until both places are sure
  row.push_front({variant->key, variant});
  by_key_[variant->key] = row.begin();
  kept_.splice(kept_.begin(), row);
  kept_bytes_ += variant->code_bytes;
  while (kept_.size() > 1 &&
         (kept_.size() > options_.memory_entries || kept_bytes_ > options_.memory_bytes)) {
    kept_bytes_ -= kept_.back().variant->code_bytes;
    by_key_.erase(kept_.back().key);
    kept_.pop_back();
  }
}

namespace {

TelemetryField field_of(CacheHit hit) {
  switch (hit) {
    case CacheHit::No: return TelemetryField::CacheMisses;
    case CacheHit::Yes: return TelemetryField::CacheHits;
    case CacheHit::Unknown: return TelemetryField::CacheUnknown;
  }
  VYRE_CHECK(false && "a CacheHit outside its enumeration");
}

}  // namespace

struct Compiler::Request {
  const Source& source;
  const Policy& policy;
  const CacheKey& key;
  Trace* trace;
  const CompileLimits& limits;

  [[nodiscard]] const std::string& name() const { return source.program->program.name; }
};

Result<Compiler::Found> Compiler::get(const Source& source, const Policy& policy, Trace* trace,
                                      const CompileLimits& limits) {
  VYRE_TRY(backend_->check_process());
  VYRE_TRY(check_program_limits(*source.program, limits));
  const CacheKey key = this->key(source, policy);
  std::unique_lock lock(mutex_);
  for (;;) {
    if (auto variant = find_in_memory(key)) {
      audit_.add(CacheHit::Yes);
      telemetry_.add(TelemetryField::CacheHits);
      return Found{std::move(variant), CacheHit::Yes};
    }
    if (!compiling_.contains(key)) break;
    constexpr std::chrono::milliseconds kPoll{10};
    if (StopScope::active())
      compiled_.wait_for(lock, kPoll);
    else
      compiled_.wait(lock);
    const StageScope stage(Stage::Generate);
    poll_stop_now();
  }
  compiling_.insert(key);
  lock.unlock();

  // The threads that wait for this key go on, however this ends.
  struct Done {
    Compiler& compiler;
    const CacheKey& key;
    ~Done() {
      {
        const std::scoped_lock again(compiler.mutex_);
        compiler.compiling_.erase(key);
      }
      compiler.compiled_.notify_all();
    }
  } const done{*this, key};

  const auto start = std::chrono::steady_clock::now();
  Result<Found> found = make({source, policy, key, trace, limits});
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - start;
  telemetry_.add(TelemetryField::CompileNs, static_cast<uint64_t>(took.count()));
  if (!found) return found;
  telemetry_.add(field_of(found->hit));
  // Not `lock`: Done comes before it when there is no memory to keep the variant.
  const std::scoped_lock again(mutex_);
  keep(found->variant);
  audit_.add(found->hit);
  return found;
}

struct Compiler::Making {
  const Request& request;
  device::Format format;  // of what is generated
  std::shared_ptr<Variant> variant;
  std::shared_ptr<const plan::Plan> plan = {};  // null as long as the disk has the answer
  device::Artifact artifact = {};
  CacheHit hit = CacheHit::No;
  bool is_cache_readable = true;
};

Result<Compiler::Found> Compiler::make(const Request& request) {
  const device::BackendInfo& info = backend_->info();
  VYRE_TRY_ASSIGN(const auto format, codegen::choose_format(info.capabilities.formats, info.id));
  Making m{.request = request, .format = format, .variant = std::make_shared<Variant>()};
  m.variant->policy = request.policy;
  m.variant->key = request.key;
  m.artifact.key = request.key.combined();
  // An interpreter runs the programs of the plan themselves.
  if (codegen::is_interpreted(format)) VYRE_TRY(plan(m));

  DiskCache::Lock one_compiler;
  if (DiskCache* const disk = options_.disk.get();
      disk != nullptr && disk->state() != CacheState::Off && !find_on_disk(m)) {
    one_compiler = disk->lock(request.key);
    if (one_compiler.held()) (void)find_on_disk(m);
  }
  if (m.hit == CacheHit::No) VYRE_TRY(generate_code(m));
  auto loaded = load(m);
  // Code from the disk that the device refuses is replaced, like an entry that is broken.
  if (!loaded && m.hit == CacheHit::Yes && is_of_code(loaded.error().code)) {
    telemetry_.add(TelemetryField::CacheCorrupt);
    loaded = generate_code(m);
    if (loaded) loaded = load(m);
  }
  if (!loaded) return std::unexpected(loaded.error());
  if (m.hit == CacheHit::No && request.limits.store) store(m);
  m.variant->entries = std::move(m.artifact.entries);
  const bool unknown = m.hit == CacheHit::No && !m.is_cache_readable;
  return Found{std::move(m.variant), unknown ? CacheHit::Unknown : m.hit};
}

Result<std::shared_ptr<const plan::Plan>> Compiler::plan(const Source& source, const Policy& policy,
                                                         Trace* trace) {
  TraceSpan span(trace, TraceCategory::Plan, source.program->program.name);
  span.arg("route", plan::name_of(policy.variant.route));
  VYRE_TRY_ASSIGN(auto planned, make_plan(*source.program, policy, backend_->info().capabilities));
  span.arg("segments", planned.segments.size());
  telemetry_.add(TelemetryField::Planned);
  return std::make_shared<const plan::Plan>(std::move(planned));
}

Result<void> Compiler::plan(Making& m) {
  const Request& request = m.request;
  VYRE_TRY_ASSIGN(m.plan, plan(request.source, request.policy, request.trace));
  m.variant->schedule = plan::schedule_of(*m.plan);
  m.variant->plan_digest = plan_digest(*m.plan);
  m.artifact.entries =
      codegen::entries_of(*m.plan, request.name(),
                          target_of(backend_->info(), request.policy, m.format, options_.poison));
  if (codegen::is_interpreted(m.format)) m.artifact.programs = codegen::programs_of(m.plan);
  return {};
}

Result<plan::Schedule> Compiler::schedule(const Source& source, const Policy& policy, Trace* trace,
                                          const CompileLimits& limits) {
  // A key of its own: where that of the code is found, there is code.
  Fields fields = describe(policy);
  fields.emplace_back("part", "schedule");
  CacheKey key = this->key(source, policy);
  key.policy = digest_of_fields(fields);
  bool readable = true;
  if (auto found = find_on_disk(source, key, trace, readable)) return std::move(found->schedule);
  const auto planned = plan(source, policy, trace);
  if (!planned) return std::unexpected(planned.error());
  plan::Schedule schedule = plan::schedule_of(**planned);
  if (options_.disk == nullptr || !limits.store) return schedule;
  const device::BackendInfo& info = backend_->info();
  const std::string& name = source.program->program.name;
  const auto target = target_of(info, policy, device::Format::Program, options_.poison);
  try {
    const auto entries = codegen::entries_of(**planned, name, target);
    options_.disk->store(
        key, encode({.entries = entries, .schedule = schedule, .plan = plan_digest(**planned)}),
        fmt::format("schedule of {} on {}, {}", name, info.id,
                    plan::name_of(policy.variant.route)));
  } catch (const std::bad_alloc&) {
    // It is planned again next time.
  }
  return schedule;
}

std::optional<DecodedArtifact> Compiler::find_on_disk(const Source& source, const CacheKey& key,
                                                      Trace* trace, bool& readable) {
  using Finding = DiskCache::Finding;
  readable = true;
  DiskCache* const disk = options_.disk.get();
  if (disk == nullptr || disk->state() == CacheState::Off) return std::nullopt;
  const TraceSpan span(trace, TraceCategory::Cache, "look up on disk");
  Finding finding{};
  const auto bytes = disk->find(key, finding);
  readable = finding != Finding::Unreadable;
  if (finding == Finding::Corrupt) telemetry_.add(TelemetryField::CacheCorrupt);
  if (!bytes) return std::nullopt;
  auto found = decode_artifact(*bytes, source.program->program.buffers.size());
  if (!found) telemetry_.add(TelemetryField::CacheCorrupt);
  return found;
}

bool Compiler::find_on_disk(Making& m) {
  auto found = find_on_disk(m.request.source, m.request.key, m.request.trace, m.is_cache_readable);
  if (!found) return false;
  m.artifact.format = found->format;
  m.artifact.code = std::move(found->code);
  if (m.plan == nullptr) {
    m.artifact.entries = std::move(found->entries);
    m.variant->schedule = std::move(found->schedule);
    m.variant->plan_digest = found->plan;
  }
  m.hit = CacheHit::Yes;
  return true;
}

Result<void> Compiler::generate_code(Making& m) {
  const Request& request = m.request;
  m.hit = CacheHit::No;
  if (m.plan == nullptr) VYRE_TRY(plan(m));
  const device::BackendInfo& info = backend_->info();
  const TraceSpan span(request.trace, TraceCategory::Compile, request.name());
  if (base::ForkSensitive::is_locked())
    return std::unexpected(
        Error{.code = ErrorCode::PoisonedState,
              .message = "another thread was compiling when this process was forked, so that the "
                         "compiler may be locked for ever. Fix: fork before programs are "
                         "compiled, or compile in a program of its own (exec)",
              .context = {},
              .at = {},
              .diagnostics = {}});
  const base::ForkSensitive guard;
  telemetry_.add(TelemetryField::Generated);
  VYRE_TRY_ASSIGN(auto code,
                  generate({.program = *request.source.program,
                            .policy = request.policy,
                            .plan = *m.plan,
                            .target = target_of(info, request.policy, m.format, options_.poison),
                            .wide_index = info.capabilities.i64},
                           request.limits));
  m.artifact.format = m.format;
  m.artifact.code = std::move(code);
  return {};
}

Result<void> Compiler::load(Making& m) {
  const Request& request = m.request;
  Variant& variant = *m.variant;
  variant.code_digest = digest_of(m.artifact.code);
  variant.code_bytes = m.artifact.code.size();
  variant.sites = std::make_shared<const SiteTable>(
      SiteTable::Origin{.program = request.source.program,
                        .policy = request.policy,
                        .capabilities = backend_->info().capabilities,
                        .format = m.format},
      m.plan);
  if (!codegen::is_interpreted(m.format))
    m.artifact.explain = [sites = variant.sites](uint32_t entry, const device::KernelStop& stop) {
      return sites->explain(entry, stop);
    };
  const StageScope stage(Stage::Load);
  poll_stop_now();
  VYRE_TRY(check_driver_text(m.artifact.code, m.artifact.format, request.limits));
  TraceSpan span(request.trace, TraceCategory::Compile, "load " + request.name());
  span.arg("bytes", m.artifact.code.size());
  VYRE_TRY_ASSIGN(auto loaded, backend_->load(m.artifact));
  variant.loaded = std::move(loaded);
  return {};
}

// The program is compiled by now, so nothing that goes wrong here may stop it.
void Compiler::store(const Making& m) {
  if (options_.disk == nullptr) return;
  const Request& request = m.request;
  const TraceSpan span(request.trace, TraceCategory::Cache, "store on disk");
  const auto native = m.variant->loaded.native();
  const bool better = !native.empty();
  try {
    const std::vector<std::byte> payload =
        encode({.format = better ? m.variant->loaded.native_format() : m.artifact.format,
                .code = better ? native : std::span<const std::byte>(m.artifact.code),
                .entries = m.artifact.entries,
                .schedule = m.variant->schedule,
                .plan = m.variant->plan_digest});
    options_.disk->store(request.key, payload,
                         fmt::format("{} on {}, {}", request.name(), backend_->info().id,
                                     plan::name_of(request.policy.variant.route)));
  } catch (const std::bad_alloc&) {
    // It is compiled again next time.
  }
}

}  // namespace vyre::pipeline
