// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "c/arguments.hpp"
#include "c/boundary.hpp"
#include "c/config.hpp"
#include "c/program.hpp"
#include "c/show.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/pipeline/manifest.hpp"

namespace vyre::c {

namespace {

// Buffers by the slots that the facts give them.
void fill_slots(const check::CheckedProgram& checked, vyre_pipeline& to) {
  for (uint32_t i = 0; i < checked.buffers.size(); ++i) {
    if (checked.buffers[i].input_slot) to.inputs.push_back(ir::BufferId{i});
    if (checked.buffers[i].output_slot) to.outputs.push_back(ir::BufferId{i});
  }
}

Result<void> compile(vyre_device& device, std::shared_ptr<const Source> source, Config config,
                     vyre_pipeline** to) {
  auto made = std::make_unique<vyre_pipeline>();
  made->device = Ref<vyre_device>(&device);
  made->source = std::move(source);
  made->config = std::move(config);
  VYRE_TRY_ASSIGN(auto compiled,
                  device.device.compile(made->source->checked, made->config.dispatch));
  made->pipeline = std::move(compiled.pipeline);
  made->host_reads = check::read_by_host(*made->source->checked);
  made->idle.reserve(vyre_pipeline::kMostIdle);
  fill_slots(*made->source->checked, *made);
  *to = made.release();
  return {};
}

}  // namespace

}  // namespace vyre::c

using vyre::ErrorCode;
using vyre::fail;
using vyre::Result;
using vyre::c::guarded;
using vyre::c::require;

vyre_error* vyre_compile(vyre_device* device, vyre_program* program, const vyre_options* options,
                         vyre_pipeline** pipeline) {
  const vyre::c::Source* const source = program == nullptr ? nullptr : program->source.get();
  return guarded(source, [&]() -> Result<void> {
    VYRE_TRY(require(device, "device"));
    VYRE_TRY(require(program, "program"));
    VYRE_TRY(require(pipeline, "pipeline"));
    VYRE_TRY_ASSIGN(auto config, vyre::c::config_of(options, program->source));
    return vyre::c::compile(*device, program->source, std::move(config), pipeline);
  });
}

vyre_error* vyre_compile_text(vyre_device* device, const char* text, size_t size, const char* file,
                              const vyre_options* options, vyre_pipeline** pipeline) {
  vyre_error* error = guarded([&]() -> Result<void> {
    VYRE_TRY(require(device, "device"));
    return require(pipeline, "pipeline");
  });
  if (error != nullptr) return error;
  vyre_program* program = nullptr;
  error = vyre_program_parse(text, size, file, options, &program);
  if (error != nullptr) return error;
  error = vyre_compile(device, program, options, pipeline);
  vyre_program_release(program);
  return error;
}

vyre_error* vyre_pipeline_manifest(vyre_pipeline* pipeline, vyre_data** json) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(pipeline, "pipeline"));
    VYRE_TRY(require(json, "json"));
    VYRE_TRY(pipeline->device->device.backend().check_process());
    vyre::c::give(json, vyre::pipeline::to_json(pipeline->pipeline.manifest()));
    return {};
  });
}

vyre_error* vyre_pipeline_plan(vyre_pipeline* pipeline, const vyre_arg* inputs, size_t input_count,
                               const vyre_options* options, vyre_data** json) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(pipeline, "pipeline"));
    VYRE_TRY(require(json, "json"));
    VYRE_TRY_ASSIGN(const auto config, vyre::c::config_of(options, pipeline->source));
    std::vector<vyre::run::Argument> given;
    if (inputs != nullptr || input_count != 0) {
      VYRE_TRY_ASSIGN(given, vyre::c::read_inputs(*pipeline, inputs, input_count));
    }
    const vyre::StopScope scope(vyre::c::stop_of(config));
    VYRE_TRY_ASSIGN(const auto plan, vyre::c::plan_json(*pipeline, given, config));
    vyre::c::give(json, plan);
    return {};
  });
}

vyre_error* vyre_output_sizes(vyre_pipeline* pipeline, const vyre_arg* inputs, size_t input_count,
                              uint64_t* sizes, size_t output_count) {
  return guarded([&]() -> Result<void> {
    VYRE_TRY(require(pipeline, "pipeline"));
    VYRE_TRY_ASSIGN(const auto given, vyre::c::read_inputs(*pipeline, inputs, input_count));
    if (output_count != pipeline->outputs.size())
      return fail(ErrorCode::InvalidArgument,
                  "there are not as many sizes as the program has outputs. Fix: give one for each "
                  "output");
    if (output_count != 0) VYRE_TRY(require(sizes, "sizes"));
    const auto lengths = vyre::c::output_bytes(*pipeline, given);
    if (!lengths)
      return fail(
          ErrorCode::InvalidArgument,
          "these inputs give no sizes: a length, a `require` or a buffer on the device that "
          "decides about sizes does not fit. Fix: vyre_dispatch() with them says which");
    std::ranges::copy(*lengths, sizes);
    return {};
  });
}

vyre_pipeline* vyre_pipeline_retain(vyre_pipeline* pipeline) {
  return vyre::c::retain(pipeline);
}
void vyre_pipeline_release(vyre_pipeline* pipeline) {
  vyre::c::release(pipeline);
}
