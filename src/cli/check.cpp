// SPDX-License-Identifier: Apache-2.0
#include "vyre/check/check.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/utf8.hpp"
#include "cli/check_bounds.hpp"
#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/write_file.hpp"
#include "ir/properties.hpp"
#include "vyre/base/version.hpp"
#include "vyre/ir/binary.hpp"

namespace vyre::cli {
namespace {

// What there is to say about a valid program.
struct Facts {
  std::string program;
  std::string digest;
  size_t buffers = 0;
  std::vector<uint32_t> workgroup;
  bool grid_barrier = false;
  size_t accesses = 0;
  size_t proved = 0;  // of the accesses, never out of bounds
};

struct FileReport {
  std::string name;
  std::string text;                         // what the positions point into
  std::vector<text::ModuleSource> modules;  // and the files that it uses
  std::optional<Failure> failure;
  Diagnostics diagnostics;
  std::optional<Facts> facts;
  std::optional<std::vector<AccessBounds>> bounds;  // with --bounds
  bool ok = false;

  [[nodiscard]] int exit_code() const {
    if (failure) return failure->exit_code;
    return ok ? kExitOk : kExitInvalidProgram;
  }
};

Facts facts_of(const check::CheckedProgram& checked) {
  Facts facts;
  facts.program = checked.program.name;
  facts.digest = ir::digest_of(checked.program).hex();
  facts.buffers = checked.program.buffers.size();
  facts.workgroup.assign(checked.workgroup.begin(),
                         checked.workgroup.begin() + checked.workgroup_axes);
  facts.grid_barrier = checked.has_grid_barrier;
  facts.accesses = checked.access_count;
  const auto proved = [](const std::vector<int32_t>& proofs) {
    return static_cast<size_t>(
        std::count_if(proofs.begin(), proofs.end(), [](int32_t proof) { return proof >= 0; }));
  };
  facts.proved = proved(checked.expr_proofs) + proved(checked.stmt_proofs);
  // The read of a scalar is no access that could go wrong.
  for (uint32_t i = 0; i < checked.expr_proofs.size(); ++i)
    if (checked.expr_proofs[i] >= 0 && ir::reads_scalar(checked.program, checked.program.exprs[i]))
      --facts.proved;
  return facts;
}

FileReport check_file(const std::string& path, const CheckOptions& options) {
  FileReport report;
  report.name = path == "-" ? "<stdin>" : path;
  std::expected<CheckedFile, Failure> file = check_program_file(path, options.dispatch.set);
  if (!file) {
    report.failure = std::move(file.error());
    return report;
  }
  report.diagnostics = std::move(file->diagnostics);
  report.text = std::move(file->text);
  report.modules = std::move(file->modules);
  report.ok = !report.diagnostics.has_errors() &&
              !(options.warnings_as_errors && report.diagnostics.warnings() != 0);
  if (report.ok && file->program) {
    report.facts = facts_of(*file->program);
    if (options.bounds) report.bounds = bounds_of(*file->program);
  }
  return report;
}

std::string ok_line(const FileReport& report) {
  const Facts& facts = *report.facts;
  std::string line = fmt::format("{}: ok ({} buffer{}", base::printable_text(report.name),
                                 facts.buffers, facts.buffers == 1 ? "" : "s");
  if (facts.grid_barrier) line += ", grid barriers";
  if (facts.accesses != 0)
    line += fmt::format(", {} of {} accesses proved in bounds", facts.proved, facts.accesses);
  return line + fmt::format(", digest {})\n", facts.digest.substr(0, 16));
}

std::string bounds_text(const std::vector<AccessBounds>& bounds) {
  size_t width = 0;
  for (const AccessBounds& access : bounds) width = std::max(width, access.access.size());
  width = std::min<size_t>(width, 40);
  std::string text;
  for (const AccessBounds& access : bounds) {
    const std::string place =
        access.at.known() ? fmt::format("{}:{}", access.at.line, access.at.column) : "";
    text += fmt::format("  {:<8} {:<{}}  {}: {}\n", place, access.access, width,
                        access.proved ? "proved" : "tested", access.reason);
    for (const std::string& condition : access.requirements)
      text += fmt::format("  {:<8} {:<{}}  would be proved by: require {}, \"...\";\n", "", "",
                          width, condition);
  }
  return text;
}

void show_text(App& app, const FileReport& report) {
  if (report.failure) {
    app.report(*report.failure);
    return;
  }
  app.show(report.diagnostics, report.name, report.text, report.modules);
  if (!report.ok && !report.diagnostics.has_errors())
    App::talk("warnings count as errors (--warnings-as-errors)\n");
}

Json json_of(const FileReport& report) {
  Json file;
  file["file"] = report.name;
  file["ok"] = report.exit_code() == kExitOk;
  file["digest"] = report.facts ? Json(report.facts->digest) : Json();
  file["program"] = Json();
  if (report.facts) {
    Json program;
    program["name"] = report.facts->program;
    program["workgroup"] = report.facts->workgroup;
    program["buffers"] = report.facts->buffers;
    program["grid_barriers"] = report.facts->grid_barrier;
    program["accesses"] = report.facts->accesses;
    program["accesses_in_bounds"] = report.facts->proved;
    file["program"] = std::move(program);
  }
  if (report.bounds) {
    file["bounds"] = Json::array();
    for (const AccessBounds& access : *report.bounds)
      file["bounds"].push_back({{"line", access.at.known() ? Json(access.at.line) : Json()},
                                {"column", access.at.known() ? Json(access.at.column) : Json()},
                                {"access", access.access},
                                {"proved", access.proved},
                                {"reason", access.reason},
                                {"requirements", access.requirements}});
  }
  file["diagnostics"] = App::json_of(report.diagnostics);
  file["not_shown"] = report.diagnostics.dropped();
  if (report.failure) file["error"] = App::json_of(*report.failure);
  return file;
}

std::optional<Failure> misuse(const App& app, const CheckOptions& options) {
  if (std::optional<Failure> repeated = repeated_stdin(options.files)) return repeated;
  if (options.bounds && options.sarif == "-")
    return Failure{kExitUsage, "--bounds and --sarif - both claim stdout",
                   "write the log to a file: --sarif log.sarif"};
  if (!options.dispatch.in.empty() || !options.dispatch.grid.empty() ||
      !options.dispatch.workgroup.empty())
    return Failure{kExitUsage, "--in, --grid and --workgroup need --races: nothing runs without it",
                   "add --races, or leave them out"};
  if (options.sarif == "-" && app.json)
    return Failure{kExitUsage, "--json and --sarif - both claim stdout",
                   "write the log to a file: --sarif log.sarif"};
  for (const std::string& file : options.files) {
    if (file == "-" || !same_file(file, options.sarif)) continue;
    return Failure{kExitUsage, fmt::format("--sarif would overwrite the program {}", file),
                   "name another file for the log"};
  }
  return std::nullopt;
}

int write_sarif(App& app, const std::string& path, const std::vector<FileReport>& reports) {
  std::vector<Diagnostics> lists;
  for (const FileReport& report : reports) lists.push_back(report.diagnostics);
  const std::string log = render_sarif(lists, kVersion) + "\n";
  if (path == "-") {
    app.put(log);
    return kExitOk;
  }
  const std::optional<Failure> failure = write_file(path, log);
  return failure ? app.report(*failure) : kExitOk;
}

}  // namespace

int run_check(App& app, const CheckOptions& options) {
  if (options.races) return run_check_races(app, options);
  if (const std::optional<Failure> failure = misuse(app, options)) return app.fail(*failure);

  const bool text = !app.json && options.sarif != "-";
  int exit_code = kExitOk;
  std::vector<FileReport> reports;
  for (const std::string& path : options.files) {
    FileReport report = check_file(path, options);
    exit_code = std::max(exit_code, report.exit_code());
    if (text || report.failure) show_text(app, report);
    if (text && report.facts) app.put(ok_line(report));
    if (text && report.bounds) app.put(bounds_text(*report.bounds));
    report.text = std::string();  // only the text output needs it
    reports.push_back(std::move(report));
  }
  if (!options.sarif.empty())
    exit_code = std::max(exit_code, write_sarif(app, options.sarif, reports));
  if (app.json) {
    Json document = app.document(exit_code == kExitOk);
    document["files"] = Json::array();
    for (const FileReport& report : reports) document["files"].push_back(json_of(report));
    app.put_document(document);
  }
  return exit_code;
}

}  // namespace vyre::cli
