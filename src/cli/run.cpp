// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/nearest.hpp"
#include "cli/values.hpp"
#include "vyre/base/digest.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::cli {

using namespace ir;

namespace {

// What the caller gets back, in the order of the output slots.
struct Output {
  BufferId buffer;
  std::optional<Shape> shape;
  std::string path;  // empty: print it
};

constexpr uint64_t kMaxJsonValues = 1024;

std::vector<Output> outputs_of(const check::CheckedProgram& checked) {
  std::vector<Output> outputs;
  for (uint32_t i = 0; i < checked.buffers.size(); ++i)
    if (checked.buffers[i].output_slot) outputs.push_back({BufferId{i}, {}, {}});
  return outputs;
}

// The output a name of --out or --shape means.
std::expected<Output*, Failure> find_output(std::vector<Output>& outputs, const Program& p,
                                            std::string_view option, const std::string& name) {
  std::vector<std::string> known;
  for (Output& output : outputs) {
    if (p[output.buffer].name == name) return &output;
    known.push_back(p[output.buffer].name);
  }
  Failure failure{kExitInvalidArgument,
                  fmt::format("{}: program `{}` has no output named `{}`", option, p.name, name),
                  ""};
  const std::string meant = nearest(name, known);
  if (!meant.empty())
    failure.fix = fmt::format("did you mean `{}`?", meant);
  else if (known.empty())
    failure.fix = "the program has no outputs";
  else
    failure.fix = fmt::format("its outputs are {}", fmt::join(known, ", "));
  return std::unexpected(std::move(failure));
}

std::expected<std::vector<Output>, Failure> parse_outputs(const RunOptions& options,
                                                          const check::CheckedProgram& checked) {
  const Program& p = checked.program;
  std::vector<Output> outputs = outputs_of(checked);
  for (const std::string& text : options.shape) {
    const auto named = parse_shape(text);
    if (!named) return std::unexpected(named.error());
    const auto output = find_output(outputs, p, "--shape", named->name);
    if (!output) return std::unexpected(output.error());
    (*output)->shape = named->shape;
  }
  for (const std::string& text : options.out) {
    const auto assignment = parse_assignment("--out", text);
    if (!assignment) return std::unexpected(assignment.error());
    const auto output = find_output(outputs, p, "--out", assignment->name);
    if (!output) return std::unexpected(output.error());
    if (!(*output)->path.empty())
      return std::unexpected(Failure{
          kExitUsage, fmt::format("--out {} is given twice", assignment->name), "give it once"});
    (*output)->path = assignment->value;
  }
  for (const Output& output : outputs) {
    if (output.path.empty()) continue;
    const auto& facts = checked.buffers[output.buffer.index()];
    if (auto failure =
            check_output({.name = p[output.buffer].name,
                          .element = p[output.buffer].element,
                          .count = facts.range_bytes ? std::nullopt : facts.constant_count},
                         output.shape, output.path))
      return std::unexpected(*failure);
  }
  return outputs;
}

std::optional<Failure> check_device(const std::string& device) {
  if (device == "reference") return std::nullopt;
  if (device == "auto")
    return Failure{kExitNoDevice,
                   "no usable device: this build has no dispatching backend, and the reference "
                   "interpreter is never picked by itself",
                   "--device reference"};
  return Failure{kExitNoDevice, fmt::format("there is no device `{}` in this build", device),
                 "--device reference"};
}

std::string digest_text(std::span<const std::byte> bytes) {
  return digest_of(bytes).hex();
}

void print_output(App& app, const ArrayView& array) {
  app.put(fmt::format("{} : {}[{}], digest {}\n  {}\n", array.name, name_of(array.element),
                      array.count(), digest_text(array.bytes).substr(0, 16), preview(array)));
}

// Numbers as numbers where JSON has them, else as text.
Json json_values(const ArrayView& array) {
  Json values = Json::array();
  for (uint64_t i = 0; i < array.count(); ++i) {
    const std::string text = element_text(array.element, array.bytes, i);
    Json value = Json::parse(text, nullptr, false);
    values.push_back(value.is_discarded() ? Json(text) : std::move(value));
  }
  return values;
}

Json json_of(const ArrayView& array, const Output& output) {
  Json json;
  json["name"] = array.name;
  json["type"] = name_of(array.element);
  json["count"] = array.count();
  json["digest"] = digest_text(array.bytes);
  if (array.count() <= kMaxJsonValues) json["values"] = json_values(array);
  if (!output.path.empty()) json["file"] = output.path;
  return json;
}

Json json_of(const oracle::TrapReport& report) {
  Json json;
  json["tag"] = report.tag;
  json["value"] = report.value;
  json["lane"] = report.lane;
  json["line"] = report.at.line;
  return json;
}

Json json_of(const Prepared& prepared, const oracle::Outcome& outcome, uint64_t wall_ns) {
  Json json;
  json["program"] = prepared.checked.program.name;
  json["digest"] = digest_of(prepared.checked.program).hex();
  json["device"] = "reference";
  json["route"] = "reference";
  json["segments"] = 1;
  json["grid"] = outcome.launch.grid;
  json["workgroup"] = outcome.launch.workgroup;
  json["grid_barriers"] = outcome.phases;
  json["fixpoints"] = Json::array();
  for (const oracle::FixpointReport& fixpoint : outcome.fixpoints) {
    Json row;
    row["passes"] = fixpoint.passes;
    row["converged"] = fixpoint.converged;
    json["fixpoints"].push_back(std::move(row));
  }
  json["iterations"] = outcome.iterations;
  json["statements"] = outcome.statements;
  json["traps"] = Json::array();
  for (const oracle::TrapReport& report : outcome.resumed) json["traps"].push_back(json_of(report));
  json["wall_ns"] = wall_ns;
  json["device_ns"] = nullptr;
  json["cache_hit"] = nullptr;
  return json;
}

int finish(App& app, const Prepared& prepared, const std::vector<Output>& outputs,
           const oracle::Outcome& outcome, uint64_t wall_ns) {
  const Program& p = prepared.checked.program;
  const auto results = outcome.outputs(prepared.checked);
  Json document = app.json ? app.document(true) : Json();
  if (app.json) {
    document.update(json_of(prepared, outcome, wall_ns));
    document["outputs"] = Json::array();
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = outputs[i];
    const ArrayView array{.name = p[output.buffer].name,
                          .element = p[output.buffer].element,
                          .bytes = results[i],
                          .shape = output.shape};
    if (!output.path.empty()) {
      if (const auto failure = write_value(app, array, output.path)) return app.fail(*failure);
    } else if (!app.json) {
      print_output(app, array);
    }
    if (app.json) document["outputs"].push_back(json_of(array, output));
  }
  if (app.json) {
    app.put_document(document);
    return kExitOk;
  }
  for (const oracle::TrapReport& report : outcome.resumed)
    App::talk(fmt::format("trap: tag {}, value {}, lane {}, line {}; resumed\n", report.tag,
                          report.value, report.lane, report.at.line));
  return kExitOk;
}

}  // namespace

int run_run(App& app, const RunOptions& options) {
  if (const auto failure = check_device(options.device)) return app.fail(*failure);
  const auto prepared = prepare(app, options.dispatch);
  if (!prepared) return prepared.error();
  const auto outputs = parse_outputs(options, prepared->checked);
  if (!outputs) return app.fail(outputs.error());
  if (app.json && std::ranges::any_of(*outputs, [](const Output& o) { return o.path == "-"; }))
    return app.fail({kExitUsage, "--json and --out NAME=- both claim stdout",
                     "write the output to a file; the document holds small ones anyway"});

  const std::map<std::string, oracle::Schedule> schedules = {
      {"forward", oracle::Schedule::Forward},
      {"reversed", oracle::Schedule::Reversed},
      {"random", oracle::Schedule::Random}};
  ProgressBar bar(prepared->checked.program.name);
  oracle::Options oracle_options{.schedule = schedules.at(options.schedule),
                                 .seed = options.dispatch.seed,
                                 .subgroup_size = options.subgroup_size,
                                 .checked = options.checked,
                                 .iterations = options.iterations,
                                 .grid = prepared->grid,
                                 .workgroup = prepared->workgroup,
                                 .timeout = prepared->timeout,
                                 .cancel = &InterruptGuard::interrupted(),
                                 .on_progress = [&](const oracle::Progress& p) { bar.show(p); }};
  const auto start = std::chrono::steady_clock::now();
  const InterruptGuard interrupt;
  const Result<oracle::Outcome> outcome =
      oracle::run(prepared->checked, prepared->input_views(), oracle_options);
  const std::chrono::nanoseconds wall = std::chrono::steady_clock::now() - start;
  bar.clear();
  if (!outcome && InterruptGuard::interrupted()) return kExitInterrupted;
  if (!outcome) return fail(app, *prepared, outcome.error());
  return finish(app, *prepared, *outputs, *outcome, static_cast<uint64_t>(wall.count()));
}

}  // namespace vyre::cli
