// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/errors.hpp"
#include "cli/commands.hpp"
#include "cli/devices.hpp"
#include "cli/plan_launch.hpp"
#include "cli/strategy.hpp"
#include "cli/write_file.hpp"
#include "codegen/codegen.hpp"
#include "pipeline/generate.hpp"
#include "vyre/device/buffer.hpp"
#include "vyre/device/registry.hpp"
#include "vyre/pipeline/compiler.hpp"

namespace vyre::cli {
namespace {

// Made by the driver of a GPU, not by a target.
constexpr device::Format kDriverForm = device::Format::Cubin;

struct Listed {
  std::string code;
  device::Format format = device::Format::Program;
  plan::Strategy strategy;
  Digest plan;
  size_t segments = 0;
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What the driver of a GPU makes of its code: the only form that needs the device itself.
Result<std::string> binary_of(const std::string& device, const pipeline::GenerateRequest& request,
                              const pipeline::CompileLimits& limits) {
  VYRE_TRY_ASSIGN(auto backend, device::registry().acquire(device));
  const codegen::Target& target = request.target;
  VYRE_TRY_ASSIGN(auto code, pipeline::generate(request, limits));
  VYRE_TRY(pipeline::check_driver_text(code, target.format, limits));
  const StageScope stage(Stage::Load);
  poll_stop_now();
  VYRE_TRY_ASSIGN(const auto loaded,
                  backend->load({.format = target.format,
                                 .code = std::move(code),
                                 .entries = codegen::entries_of(
                                     request.plan, request.program.program.name, target)}));
  return text_of(loaded.native());
}

Result<std::string> listing_of(const pipeline::GenerateRequest& request,
                               const pipeline::CompileLimits& limits) {
  VYRE_TRY_ASSIGN(const auto code, pipeline::generate(request, limits));
  return text_of(code);
}

// From the facts that the registry has: what else is listed needs no device.
Result<Listed> list(const CompileOptions& options, const Prepared& prepared,
                    const device::DeviceFacts& facts) {
  // Refuses a workgroup that the program does not allow.
  VYRE_TRY_ASSIGN(const auto known, resolve_known(prepared));
  const device::Capabilities& can = facts.capabilities;
  device::BackendInfo info;
  info.id = facts.id;
  info.capabilities = can;
  VYRE_TRY(pipeline::check_device_limits(prepared.checked, prepared.workgroup, info));
  const pipeline::CompileLimits limits = limits_of(prepared);
  VYRE_TRY(pipeline::check_program_limits(prepared.checked, limits));
  VYRE_TRY_ASSIGN(const auto format,
                  options.architecture.empty()
                      ? codegen::choose_format(can.formats, facts.id)
                      : Result<device::Format>(codegen::architecture_target().format));
  // An architecture is no device: nothing of it can be loaded.
  device::DeviceFacts device = facts;
  if (!options.architecture.empty()) device.id.clear();
  VYRE_TRY_ASSIGN(const auto shown,
                  strategy_of({.program = prepared.checked,
                               .workgroup = prepared.workgroup,
                               .launch = known.launch_if_known(),
                               .device = std::move(device),
                               .route = options.route,
                               .limits = limits,
                               .code = options.code,
                               .checked = options.checked,
                               .print = options.print,
                               .read_tuning = reads_tuning(options.tune, options.route, known)}));
  const codegen::Target target{
      .format = codegen::listing_format(options.emit, format),
      .subgroup_size = can.subgroup_size,
      .checked = options.checked,
      .architecture = options.architecture.empty() ? facts.architecture : options.architecture,
      .ulp_budget = shown.policy.ulp_budget,
      .cheap = shown.policy.profile == pipeline::Profile::Latency,
      .lanes = shown.policy.variant.lanes};
  const bool binary = options.emit == name_of(kDriverForm) && !options.device.empty() &&
                      can.formats.contains(kDriverForm);
  pipeline::GenerateRequest request{.program = prepared.checked,
                                    .policy = shown.policy,
                                    .plan = shown.plan,
                                    .target = target,
                                    .wide_index = can.i64};
  if (!binary) request.listing = options.emit;
  VYRE_TRY_ASSIGN(auto code,
                  binary ? binary_of(facts.id, request, limits) : listing_of(request, limits));
  return Listed{.code = std::move(code),
                .format = target.format,
                .strategy = shown.strategy,
                .plan = shown.digest,
                .segments = shown.plan.segments.size()};
}

std::optional<Failure> misuse(const App& app, const CompileOptions& options) {
  const bool to_stdout = options.output == "-";
  if (options.device.empty() == options.architecture.empty())
    return Failure{kExitUsage, "compile makes code for one device or for one architecture",
                   fmt::format("give --device ID, or --arch {} for PTX",
                               codegen::architecture_target().default_architecture)};
  if (options.emit == name_of(kDriverForm) && to_stdout &&
      (app.json || ::isatty(STDOUT_FILENO) == 1))
    return Failure{
        kExitUsage,
        fmt::format("a cubin is not written {}", app.json ? "into a document" : "to a terminal"),
        fmt::format("vyre compile {} --device {} --emit cubin -o FILE", options.dispatch.file,
                    options.device)};
  if (!to_stdout && options.dispatch.file != "-" &&
      same_file(options.dispatch.file, options.output))
    return Failure{kExitUsage,
                   fmt::format("-o would overwrite the program {}", options.dispatch.file),
                   "name another file"};
  return std::nullopt;
}

}  // namespace

int run_compile(App& app, const CompileOptions& given) {
  CompileOptions options = given;
  if (options.device.empty() && options.architecture.empty())
    options.device = codegen::listing_device(options.emit);
  if (const auto failure = misuse(app, options)) return app.fail(*failure);
  const auto facts =
      options.architecture.empty()
          ? usable_device(options.device)
          : device::DeviceFacts{
                .id = options.architecture,
                .capabilities = codegen::architecture_target().architecture_capabilities()};
  if (!facts) return app.fail(facts.error());
  const auto prepared = prepare(app, options.dispatch, Inputs::AsGiven);
  if (!prepared) return prepared.error();
  auto listed = stoppable(*prepared, [&] { return list(options, *prepared, *facts); });
  if (!listed && InterruptGuard::interrupted()) return kExitInterrupted;
  if (!listed) {
    listed.error().context.push_back(fmt::format("while compiling program `{}` for device `{}`",
                                                 prepared->checked.program.name, facts->id));
    return fail(app, *prepared, listed.error());
  }
  const bool to_stdout = options.output == "-";
  if (!to_stdout)
    if (const auto failure = write_file(options.output, listed->code)) return app.fail(*failure);
  if (app.json) {
    Json document = app.document(true);
    document["file"] = prepared->name;
    document["device"] = facts->id;
    document["format"] = device::name_of(listed->format);
    document["route"] = plan::name_of(listed->strategy.route());
    document["strategy"] = json_of(listed->strategy.variant);
    document["why"] = listed->strategy.why;
    document["estimated"] = listed->strategy.is_estimate();
    document["tuned"] = listed->strategy.tuned;
    document["plan_digest"] = listed->plan.hex();
    document["segments"] = listed->segments;
    document["emit"] = options.emit;
    document["output"] = to_stdout ? Json() : Json(options.output);
    if (to_stdout) document["code"] = listed->code;
    app.put_document(document);
  } else if (to_stdout) {
    app.put(listed->code);
  }
  return kExitOk;
}

}  // namespace vyre::cli
