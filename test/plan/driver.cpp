// SPDX-License-Identifier: Apache-2.0
#include "plan/driver.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include <unistd.h>

#include "c_device/c_device.hpp"
#include "generator/schedules.hpp"
#include "vyre/backend/cpu.hpp"
#include "vyre/backend/reference.hpp"
#include "vyre/device/registry.hpp"

namespace vyre::plan_test {

using ir::BufferId;
using ir::BufferKind;
using plan::Route;
using Bytes = std::vector<std::byte>;

run::Device open_device(const DriverDevice& device, const RunOptions& options) {
  backend::ReferenceOptions reference;
  reference.whole_programs = device.whole_programs;
  reference.grid_barrier = device.route == Route::Native || device.route == Route::Persistent;
  reference.resident_buffers = device.route != Route::Host;
  reference.device_loops = device.device_loops;
  if (device.route == Route::Persistent) reference.resident_groups = options.resident_blocks;
  reference.schedule = options.schedule;
  reference.seed = options.seed;
  reference.subgroup_size = options.subgroup_size;
  // Nothing is compiled for it, so that wrong proofs can always be looked for.
  constexpr std::byte kPoison{0xC3};
  return run::Device::over(*backend::open_reference(reference),
                           {.cache_directory = {}, .poison = options.poison.value_or(kPoison)});
}

std::optional<backend::CpuCode> cpu_code_of(std::string_view id) {
  if (id == "cpu:other_shapes") return backend::CpuCode::OtherShapes;
  if (id == "cpu:called_functions") return backend::CpuCode::CalledFunctions;
  if (id == "cpu:cheap") return backend::CpuCode::Cheap;
  return std::nullopt;
}

const run::Device& open_device(const std::string& id, std::optional<std::byte> poison) {
  static std::map<std::pair<std::string, std::optional<std::byte>>, run::Device> devices;
  // Devices of a parent do not work in its child.
  static pid_t process = ::getpid();
  if (std::exchange(process, ::getpid()) != ::getpid()) devices.clear();
  const auto found = devices.find({id, poison});
  if (found != devices.end()) return found->second;
  run::DeviceOptions options;
  options.cache_directory.clear();
  options.poison = poison;
  auto device = [&]() -> Result<run::Device> {
    const auto code = cpu_code_of(id);
    if (!code && id != "c") return run::Device::open(id, std::move(options));
    auto backend = code ? backend::open_cpu({.code = *code}) : test::open_c();
    if (!backend) return std::unexpected(std::move(backend.error()));
    return run::Device::over(std::move(*backend), std::move(options));
  }();
  if (!device) throw std::runtime_error(to_string(device.error()));
  return devices.emplace(std::pair(id, poison), std::move(*device)).first->second;
}

device::Capabilities capabilities_of(const std::string& id) {
  if (const auto code = cpu_code_of(id)) return backend::cpu_info({.code = *code}).capabilities;
  if (id == "c") return test::c_info().capabilities;
  for (const device::BackendDescriptor& row : device::registry().registered_backends())
    for (const device::DeviceFacts& facts : row.enumerate())
      if (facts.id == id) return facts.capabilities;
  throw std::runtime_error("there is no device `" + id + "` in this build");
}

void limit_to(const device::Capabilities& can, generator::GeneratorOptions& options) {
  const auto need = [](bool& option, bool capability) { option = option && capability; };
  need(options.subgroups, can.subgroup_ops && can.subgroup_shuffle);
  need(options.wide, can.i64);
  need(options.doubles, can.f64);
  need(options.wide_atomics, can.i64_atomics);
  need(options.float_atomics, can.f32_atomic_add);
  need(options.storage_types,
       can.storage_8bit && can.storage_16bit && can.f16_storage && can.bf16_storage);
  need(options.persistent, can.resident_buffers);
  need(options.floats, can.strict_f32 && can.f32_subnormals && can.exact_fma &&
                           can.exact_division && can.exact_sqrt && can.exact_conversions);
  need(options.grid_barriers, can.cooperative_grid_barrier || can.host_split);
}

namespace {

class Driven {
 public:
  Driven(const check::CheckedProgram& source, const run::Device& device, const RunOptions& options)
      : source_(source), options_(options), device_(device) {}

  Ran run(std::span<const Bytes> inputs) {
    Ran ran;
    if (auto ok = run_into(inputs, ran); !ok) {
      ran.error = ok.error();
      // The oracle knows nothing of devices and segments.
      ran.error->context.clear();
    }
    return ran;
  }

 private:
  [[nodiscard]] bool resident() const { return device_.info().capabilities.resident_buffers; }

  Result<void> run_into(std::span<const Bytes> inputs, Ran& ran) {
    const std::vector<std::span<const std::byte>> spans(inputs.begin(), inputs.end());
    const auto launch = check::resolve_launch(
        source_, {.inputs = spans, .grid = options_.grid, .workgroup = options_.workgroup});
    if (!launch) return std::unexpected(launch.error());
    run::DispatchConfig config;
    config.checked = options_.checked;
    config.timeout = options_.timeout;
    config.grid = options_.grid;
    config.workgroup = options_.workgroup;
    config.trap_handler = std::make_shared<const TrapHandler>(
        [this](std::span<const TrapReport> reports, HandlerBuffers& buffers) {
          return generator::handle_resume(source_.program, reports, buffers);
        });
    auto compiled = device_.compile(std::make_shared<check::CheckedProgram>(source_), config);
    if (!compiled) return std::unexpected(compiled.error());

    const std::vector<bool> host = check::read_by_host(source_);
    const size_t count = source_.program.buffers.size();
    std::vector<device::Buffer> buffers(count);
    std::vector<run::Argument> arguments;
    std::vector<const device::Buffer*> outputs;
    for (size_t i = 0; i < count; ++i) {
      const check::BufferFacts& facts = source_.buffers[i];
      const BufferKind kind = source_.program.buffers[i].kind;
      // Nobody sees a scratch buffer of a dispatch: it has no slot, and what it holds is left open.
      if (kind == BufferKind::Shared || kind == BufferKind::Scratch) continue;
      const uint64_t alignment = std::max<uint64_t>(facts.align, device::kLeastAlignment);
      const uint64_t bytes = launch->counts[i] * bytes_of(source_.program.buffers[i].element);
      // Of some uniforms the driver knows what they hold.
      const bool known = facts.role == check::Role::Uniform && i % 2 == 1;
      if (resident() && !host[i] && !known) {
        auto buffer = facts.input_slot
                          ? device_.upload(inputs[*facts.input_slot], alignment)
                          : device_.allocate(bytes, device::Contents::Zeros, alignment);
        if (!buffer) return std::unexpected(buffer.error());
        buffers[i] = std::move(*buffer);
        // What was there before must not matter.
        if (!facts.input_slot)
          if (auto ok = device_.fill(buffers[i], std::byte{0xA5}); !ok) return ok;
      }
      if (facts.input_slot)
        arguments.push_back(buffers[i].valid() ? run::Argument(buffers[i])
                                               : run::Argument(inputs[*facts.input_slot]));
      if (facts.output_slot) outputs.push_back(buffers[i].valid() ? &buffers[i] : nullptr);
    }
    run::Outputs slots;
    const auto report =
        compiled->pipeline.dispatch_into({.inputs = arguments, .outputs = outputs}, slots);
    ran.buffers.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const check::BufferFacts& facts = source_.buffers[i];
      if (buffers[i].valid()) {
        auto bytes = device_.read(buffers[i]);
        if (!bytes) return std::unexpected(bytes.error());
        ran.buffers[i] = std::move(*bytes);
      } else if (report && facts.output_slot) {
        ran.buffers[i] = slots[*facts.output_slot];
      } else if (facts.input_slot) {
        ran.buffers[i] = inputs[*facts.input_slot];
      }
    }
    if (!report) return std::unexpected(report.error());
    ran.launches = report->launches;
    ran.counted = report->grid_barriers.has_value();
    ran.phases = report->grid_barriers.value_or(0);
    ran.fixpoints = report->fixpoints;
    ran.resumed = report->resumed;
    return {};
  }

  const check::CheckedProgram& source_;
  const RunOptions& options_;
  const run::Device& device_;
};

}  // namespace

Ran drive(const check::CheckedProgram& source, const run::Device& device,
          std::span<const Bytes> inputs, const RunOptions& options) {
  return Driven(source, device, options).run(inputs);
}

}  // namespace vyre::plan_test
