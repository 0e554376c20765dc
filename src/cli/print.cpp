// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/write_file.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

namespace vyre::cli {
namespace {

std::string bytes_of(const ir::Program& program) {
  const std::vector<std::byte> bytes = ir::encode(program);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

std::string content_of(const ir::Program& program, const std::string& as) {
  if (as == "bytes") return bytes_of(program);
  std::string text = as == "json" ? text::to_json(program) : text::print(program);
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::optional<Failure> misuse(const App& app, const PrintOptions& options) {
  const bool to_stdout = options.output == "-";
  if (options.as == "bytes" && to_stdout && !app.json && ::isatty(STDOUT_FILENO) == 1)
    return Failure{kExitUsage, "bytes are not written to a terminal",
                   fmt::format("vyre print {} --as bytes -o FILE", options.file)};
  if (!to_stdout && options.file != "-" && same_file(options.file, options.output))
    return Failure{kExitUsage, fmt::format("-o would overwrite the input {}", options.file),
                   "name another file; `vyre fmt --write` replaces a text by its canonical layout"};
  return std::nullopt;
}

void put_content(Json& document, const std::string& as, const std::string& content) {
  if (as == "bytes") {
    document["bytes"] = hex_of(content);
  } else if (as == "json") {
    document["program"] = Json::parse(content);
  } else {
    document["text"] = content;
  }
}

}  // namespace

int run_print(App& app, const PrintOptions& options) {
  if (const std::optional<Failure> failure = misuse(app, options)) return app.fail(*failure);
  const std::expected<Input, Failure> input = read_input(options.file);
  if (!input) return app.fail(input.error());

  std::expected<Loaded, Failure> read = load(*input, options.set);
  if (!read) return app.fail(read.error());
  Loaded loaded = std::move(*read);
  const bool ok = !loaded.diagnostics.has_errors();
  loaded.diagnostics.sort();
  if (!ok && !app.json) app.show(loaded.diagnostics, input->name, input->bytes, loaded.modules);

  const std::string content = ok ? content_of(loaded.program, options.as) : "";
  if (ok && options.output != "-") {
    if (const auto failure = write_file(options.output, content)) return app.fail(*failure);
  }
  if (app.json) {
    Json document = app.document(ok);
    document["file"] = input->name;
    document["as"] = options.as;
    document["digest"] = ok ? Json(ir::digest_of(loaded.program).hex()) : Json();
    document["diagnostics"] = App::json_of(loaded.diagnostics);
    document["not_shown"] = loaded.diagnostics.dropped();
    document["output"] = options.output == "-" ? Json() : Json(options.output);
    if (ok && options.output == "-") put_content(document, options.as, content);
    app.put_document(document);
  } else if (options.output == "-") {
    app.put(content);
  }
  return ok ? kExitOk : kExitInvalidProgram;
}

}  // namespace vyre::cli
