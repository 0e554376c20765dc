// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/errors.hpp"
#include "cli/commands.hpp"
#include "cli/compare.hpp"
#include "cli/devices.hpp"
#include "cli/open_device.hpp"
#include "vyre/check/exact_nans.hpp"
#include "vyre/oracle/oracle.hpp"
#include "vyre/run/device.hpp"

namespace vyre::cli {

using namespace ir;

namespace {

// What a lane did. Every device has to say the same about it; other errors are about a device.
bool is_of_program(ErrorCode code) {
  return code == ErrorCode::Trapped || code == ErrorCode::OutOfBounds;
}

struct OutputVerdict {
  BufferId buffer;
  uint64_t count = 0;        // elements that the oracle returns
  uint64_t given_count = 0;  // and the device
  uint64_t first_index = 0;  // in the buffer, of the first one returned
  std::optional<Difference> difference;

  [[nodiscard]] uint64_t element() const { return first_index + difference->element; }
};

struct DeviceVerdict {
  std::string id;
  uint32_t subgroup_size = 1;
  std::vector<OutputVerdict> outputs;  // if neither failed
  std::optional<Error> wanted_error;   // of the oracle
  std::optional<Error> error;          // of the device
  bool same_traps = true;

  [[nodiscard]] bool same() const {
    if (wanted_error || error)
      return wanted_error && error && wanted_error->code == error->code &&
             wanted_error->message == error->message && wanted_error->at.line == error->at.line &&
             wanted_error->at.column == error->at.column;
    return same_traps && std::ranges::none_of(outputs, [](const OutputVerdict& o) {
             return o.difference.has_value();
           });
  }
  // A device that could not run it has not given a wrong result.
  [[nodiscard]] bool did_not_run() const { return error && !is_of_program(error->code); }
};

std::vector<std::string> split_ids(const std::string& text) {
  std::vector<std::string> ids;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    ids.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return ids;
}

// Everything usable that is not the oracle itself.
std::expected<std::vector<std::string>, Failure> default_ids() {
  std::vector<std::string> ids;
  std::vector<std::string> reasons;
  for (const SeenDevice& seen : see_devices(device::registry(), "")) {
    if (!seen.row->dispatches || seen.row->kind == device::Kind::Oracle) continue;
    if (seen.facts.unusable.empty())
      ids.push_back(seen.facts.id);
    else
      reasons.push_back(fmt::format("{}: {}", seen.facts.id, seen.facts.unusable));
  }
  if (!ids.empty()) return ids;
  if (reasons.empty()) reasons.emplace_back("no backend of this build has one");
  return std::unexpected(
      Failure{kExitNoDevice,
              fmt::format("there is no usable device to verify, as the oracle is not held against "
                          "itself ({})",
                          fmt::join(reasons, "; ")),
              "--device reference:1,reference:3 verifies how the driver goes through barriers"});
}

class VerifyCommand {
 public:
  VerifyCommand(App& app, const VerifyOptions& options) : app_(app), options_(options) {}

  int run() {
    std::vector<std::string> ids;
    if (options_.devices.empty()) {
      auto all = default_ids();
      if (!all) return app_.fail(all.error());
      ids = std::move(*all);
    } else {
      ids = split_ids(options_.devices);
    }
    for (const std::string& id : ids)
      if (const auto code = refuse(id)) return *code;
    auto prepared = prepare(app_, options_.dispatch);
    if (!prepared) return prepared.error();
    prepared_ = std::move(*prepared);

    std::vector<DeviceVerdict> verdicts;
    const InterruptGuard interrupt;
    for (const std::string& id : ids) {
      auto device = open_device(app_, {.id = id, .options = {.warn = warn}});
      if (!device) return device.error();
      auto verdict = verify(*device);
      app_.device_lost = app_.device_lost || device->is_lost();
      if (InterruptGuard::interrupted()) return kExitInterrupted;
      if (!verdict) return fail(app_, prepared_, verdict.error());
      verdicts.push_back(std::move(*verdict));
    }
    report(verdicts);
    return exit_code(verdicts);
  }

 private:
  std::optional<int> refuse(const std::string& id) {
    if (id.empty())
      return app_.fail(
          {kExitUsage,
           fmt::format("--device takes devices separated by commas, not '{}'", options_.devices),
           "--device reference:1,reference:3"});
    if (const auto code = refuse_device(app_, {.id = id})) return code;
    for (const SeenDevice& seen : see_devices(device::registry(), id))
      if (!seen.row->dispatches)
        return app_.fail({kExitNoDevice, fmt::format("device `{}` does not run programs", id),
                          "`vyre devices` lists those there are"});
    return std::nullopt;
  }

  // An Error: there is nothing to compare with, because the oracle refuses the dispatch, too.
  Result<DeviceVerdict> verify(const run::Device& device) {
    DeviceVerdict verdict;
    verdict.id = device.info().id;
    verdict.subgroup_size = std::max(device.info().capabilities.subgroup_size, 1U);
    const Result<oracle::Outcome>& wanted = run_oracle(verdict.subgroup_size);
    if (!wanted && !is_of_program(wanted.error().code)) return std::unexpected(wanted.error());
    run::Outputs given;
    const auto report = dispatch(device, given);
    if (!wanted) verdict.wanted_error = wanted.error();
    if (!report) verdict.error = report.error();
    if (!wanted || !report) return verdict;
    verdict.same_traps = report->resumed == wanted->resumed;
    const auto outputs = wanted->outputs(prepared_.checked);
    const std::vector<bool> exact = check::exact_nans(prepared_.checked);
    for (uint32_t i = 0; i < prepared_.checked.buffers.size(); ++i) {
      const auto slot = prepared_.checked.buffers[i].output_slot;
      if (!slot) continue;
      const Type element = prepared_.checked.program.buffers[i].element;
      OutputVerdict output;
      output.buffer = BufferId{i};
      output.count = outputs[*slot].size() / bytes_of(element);
      output.given_count = given[*slot].size() / bytes_of(element);
      output.first_index =
          check::returned_range(prepared_.checked, output.buffer, wanted->buffers[i].size())
              .offset /
          bytes_of(element);
      output.difference = find_difference(element, outputs[*slot], given[*slot],
                                          exact[i] ? Nans::Exact : Nans::AllEqual);
      verdict.outputs.push_back(std::move(output));
    }
    return verdict;
  }

  // Results may depend on the size of subgroups, and on nothing else of a device.
  const Result<oracle::Outcome>& run_oracle(uint32_t subgroup_size) {
    const auto known = oracle_.find(subgroup_size);
    if (known != oracle_.end()) return known->second;
    ProgressBar bar(prepared_.checked.program.name);
    oracle::Options options;
    options.subgroup_size = subgroup_size;
    options.checked = options_.checked;
    options.iterations = options_.iterations;
    options.grid = prepared_.grid;
    options.workgroup = prepared_.workgroup;
    options.timeout = prepared_.timeout;
    options.cancel = &InterruptGuard::interrupted();
    options.on_progress = [&](const oracle::Progress& p) { bar.show(p); };
    return oracle_
        .emplace(subgroup_size, oracle::run(prepared_.checked, prepared_.input_views(), options))
        .first->second;
  }

  Result<run::Report> dispatch(const run::Device& device, run::Outputs& given) {
    run::DispatchConfig config;
    config.grid = prepared_.grid;
    config.workgroup = prepared_.workgroup;
    config.fixpoint_iterations = options_.iterations;
    config.checked = options_.checked;
    config.timeout = prepared_.timeout;
    config.cancel = &InterruptGuard::interrupted();
    config.untrusted = prepared_.untrusted;
    const auto compiled =
        device.compile(std::make_shared<const check::CheckedProgram>(prepared_.checked), config);
    if (!compiled) return std::unexpected(compiled.error());
    VYRE_TRY_ASSIGN(const auto inputs, make_arguments(prepared_, device));
    return compiled->pipeline.dispatch_into({.inputs = inputs.arguments, .outputs = {}}, given);
  }

  static int exit_code(const std::vector<DeviceVerdict>& verdicts) {
    int code = kExitOk;
    for (const DeviceVerdict& v : verdicts) {
      if (v.same()) continue;
      if (!v.did_not_run()) return kExitMismatch;
      code = std::max(code, exit_code_of(v.error->code));
    }
    return code;
  }

  void report(const std::vector<DeviceVerdict>& verdicts) {
    if (!app_.json) {
      for (const DeviceVerdict& verdict : verdicts) app_.put(text_of(verdict));
      if (exit_code(verdicts) == kExitMismatch)
        App::talk(
            "vyre: `vyre check FILE --races` says whether the program itself has several "
            "results\n");
      return;
    }
    Json document = app_.document(std::ranges::all_of(verdicts, &DeviceVerdict::same));
    document["file"] = prepared_.name;
    document["program"] = prepared_.checked.program.name;
    document["devices"] = Json::array();
    for (const DeviceVerdict& verdict : verdicts) document["devices"].push_back(json_of(verdict));
    app_.put_document(document);
  }

  [[nodiscard]] std::string text_of(const DeviceVerdict& v) const {
    if (v.same() && v.error)
      return fmt::format("{}: same as the oracle: both end with {}, {}\n", v.id,
                         name_of(v.error->code),
                         cli::json_of(*v.error)["message"].get<std::string>());
    if (v.same()) {
      uint64_t elements = 0;
      for (const OutputVerdict& output : v.outputs) elements += output.count;
      return fmt::format("{}: same as the oracle: {} output{}, {} element{}\n", v.id,
                         v.outputs.size(), v.outputs.size() == 1 ? "" : "s", elements,
                         elements == 1 ? "" : "s");
    }
    if (v.error || v.wanted_error) {
      const auto said = [](const std::optional<Error>& e) {
        return e ? to_string(*e) : std::string("no error");
      };
      return fmt::format("{}: {}\n  device: {}\n  oracle: {}\n", v.id,
                         v.did_not_run() ? "did not run" : "differs", said(v.error),
                         said(v.wanted_error));
    }
    std::string text = fmt::format("{}: differs\n", v.id);
    for (const OutputVerdict& output : v.outputs)
      if (output.difference) text += text_of(output);
    if (!v.same_traps) text += "  other lanes trapped, or with other values\n";
    return text;
  }

  [[nodiscard]] std::string text_of(const OutputVerdict& output) const {
    const Buffer& buffer = prepared_.checked.program[output.buffer];
    const Difference& d = *output.difference;
    if (output.count != output.given_count)
      return fmt::format("  {} has {} elements, the oracle {}\n", buffer.name, output.given_count,
                         output.count);
    std::string text = fmt::format("  {}[{}] is {}, the oracle has {}", buffer.name,
                                   output.element(), d.given, d.wanted);
    if (d.ulps) text += fmt::format(", {} ULP apart", *d.ulps);
    if (const auto lane = writer_of(prepared_.checked, output.buffer, output.element()))
      text += fmt::format(" (lane {})", *lane);
    text += fmt::format("\n    {} of {} elements differ", d.count, output.count);
    if (d.most_ulps) text += fmt::format(", at most {} ULP", *d.most_ulps);
    return text + "\n";
  }

  [[nodiscard]] Json json_of(const DeviceVerdict& v) const {
    Json json;
    json["id"] = v.id;
    json["same"] = v.same();
    json["ran"] = !v.did_not_run();
    json["subgroup_size"] = v.subgroup_size;
    json["error"] = v.error ? cli::json_of(*v.error) : Json();
    json["oracle_error"] = v.wanted_error ? cli::json_of(*v.wanted_error) : Json();
    json["same_traps"] = v.same_traps;
    json["outputs"] = Json::array();
    for (const OutputVerdict& output : v.outputs) json["outputs"].push_back(json_of(output));
    return json;
  }

  [[nodiscard]] Json json_of(const OutputVerdict& output) const {
    const auto number = [](const std::optional<uint64_t>& n) { return n ? Json(*n) : Json(); };
    Json json;
    json["name"] = prepared_.checked.program[output.buffer].name;
    json["type"] = name_of(prepared_.checked.program[output.buffer].element);
    json["count"] = output.given_count;
    json["oracle_count"] = output.count;
    json["same"] = !output.difference;
    json["differing"] = output.difference ? output.difference->count : 0;
    if (!output.difference || output.difference->count == 0) return json;
    Json first;
    first["element"] = output.element();
    first["lane"] = number(writer_of(prepared_.checked, output.buffer, output.element()));
    first["device"] = output.difference->given;
    first["oracle"] = output.difference->wanted;
    first["ulps"] = number(output.difference->ulps);
    json["first"] = std::move(first);
    json["most_ulps"] = number(output.difference->most_ulps);
    return json;
  }

  App& app_;
  const VerifyOptions& options_;
  Prepared prepared_;
  std::map<uint32_t, Result<oracle::Outcome>> oracle_;  // by size of subgroups
};

}  // namespace

int run_verify(App& app, const VerifyOptions& options) {
  if (options.iterations == 0)
    return app.fail({kExitUsage, "--fixpoint takes how many passes there may be, from 1 on, not 0",
                     "leave it out to run the program once"});
  return VerifyCommand(app, options).run();
}

}  // namespace vyre::cli
