// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "base/utf8.hpp"
#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/write_file.hpp"
#include "vyre/text/text.hpp"

namespace vyre::cli {
namespace {

struct FileReport {
  std::string name;
  std::optional<Failure> failure;
  Diagnostics diagnostics;
  std::optional<std::string> text;  // the canonical layout
  bool changed = false;
  bool written = false;

  [[nodiscard]] int exit_code() const {
    if (failure) return failure->exit_code;
    return text ? kExitOk : kExitInvalidProgram;
  }
};

FileReport format_file(const App& app, const std::string& path, bool write) {
  FileReport report;
  report.name = path == "-" ? "<stdin>" : path;
  const std::expected<Input, Failure> input = read_input(path);
  if (!input) {
    report.failure = input.error();
    return report;
  }
  if (input->encoded) {
    report.failure =
        Failure{kExitInvalidArgument,
                fmt::format("{} holds an encoded program, which has no layout", report.name),
                fmt::format("vyre print {} --as text", path)};
    return report;
  }
  if (input->too_long) {
    report.diagnostics = too_long(*input);
  } else {
    text::Formatted formatted = text::format(input->bytes, input->name);
    report.text = std::move(formatted.text);
    report.diagnostics = std::move(formatted.diagnostics);
    report.diagnostics.sort();
  }
  if (!report.text) {
    if (!app.json) app.show(report.diagnostics, report.name, input->bytes);
    return report;
  }
  report.changed = *report.text != input->bytes;
  if (write && report.changed) {
    report.failure = write_file(path, *report.text);
    report.written = !report.failure;
  }
  return report;
}

Json json_of(const FileReport& report, bool with_text) {
  Json file;
  file["file"] = report.name;
  file["ok"] = report.exit_code() == kExitOk;
  file["changed"] = report.changed;
  file["written"] = report.written;
  file["diagnostics"] = App::json_of(report.diagnostics);
  file["not_shown"] = report.diagnostics.dropped();
  if (with_text) file["text"] = report.text ? Json(*report.text) : Json();
  if (report.failure) file["error"] = App::json_of(*report.failure);
  return file;
}

std::optional<Failure> misuse(const FmtOptions& options) {
  if (std::optional<Failure> repeated = repeated_stdin(options.files)) return repeated;
  if (!options.write) return std::nullopt;
  for (const std::string& file : options.files) {
    if (file == "-")
      return Failure{kExitUsage, "--write cannot replace stdin",
                     "leave --write out, or name a file"};
    struct stat status{};
    if (::stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
      return Failure{kExitUsage,
                     fmt::format("--write cannot replace {}, which is no regular file", file),
                     "leave --write out"};
  }
  return std::nullopt;
}

}  // namespace

int run_fmt(App& app, const FmtOptions& options) {
  if (const std::optional<Failure> failure = misuse(options)) return app.fail(*failure);

  const bool to_stdout = !options.write && !options.check;
  int exit_code = kExitOk;
  Json files = Json::array();
  for (const std::string& path : options.files) {
    const FileReport report = format_file(app, path, options.write);
    if (report.failure) app.report(*report.failure);
    exit_code = std::max(exit_code, report.exit_code());
    if (options.check && report.changed) exit_code = std::max(exit_code, kExitMismatch);
    if (app.json) {
      files.push_back(json_of(report, to_stdout));
    } else if (to_stdout && report.text) {
      app.put(*report.text);
    } else if (!to_stdout && report.changed && !report.failure) {
      app.put(base::printable_text(report.name) + "\n");
    }
  }
  if (app.json) {
    Json document = app.document(exit_code == kExitOk);
    document["files"] = std::move(files);
    app.put_document(document);
  }
  return exit_code;
}

}  // namespace vyre::cli
