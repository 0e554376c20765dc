// SPDX-License-Identifier: Apache-2.0
#include "cli/app.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/utf8.hpp"

namespace vyre::cli {

void App::put(std::string_view text) {
  if (write_error_ != 0 || text.empty()) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
    write_error_ = errno != 0 ? errno : EIO;
}

void App::talk(std::string_view text) {
  // Nowhere is left to report a failure of stderr.
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

bool App::colored(int descriptor) const {
  if (color != ColorMode::Auto) return color == ColorMode::Always;
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb") return false;
  return ::isatty(descriptor) == 1;
}

Json App::document(bool ok) const {
  Json document;
  document["schema"] = 1;
  document["command"] = command.empty() ? Json() : Json(command);
  document["ok"] = ok;
  return document;
}

void App::put_document(const Json& document) {
  // File names may hold any bytes; what is not UTF-8 is replaced, not refused.
  put(document.dump(2, ' ', false, Json::error_handler_t::replace));
  put("\n");
}

Json App::json_of(const Diagnostics& diagnostics) {
  return Json::parse(render_json(diagnostics));
}

Json App::json_of(const Failure& failure) {
  Json json;
  json["exit_code"] = failure.exit_code;
  json["message"] = failure.message;
  json["fix"] = failure.fix;
  return json;
}

int App::report(const Failure& failure) const {
  const bool color_on = colored(STDERR_FILENO);
  std::string text = fmt::format("vyre: {}error:{} {}\n", color_on ? "\x1b[1;31m" : "",
                                 color_on ? "\x1b[0m" : "", base::printable_text(failure.message));
  if (!failure.fix.empty()) {
    text += fmt::format("  {}Fix:{} {}\n", color_on ? "\x1b[1;32m" : "", color_on ? "\x1b[0m" : "",
                        base::printable_text(failure.fix));
  }
  talk(text);
  return failure.exit_code;
}

int App::fail(const Failure& failure) {
  report(failure);
  if (json) {
    Json failed = document(false);
    failed["error"] = json_of(failure);
    put_document(failed);
  }
  return failure.exit_code;
}

void App::show(const Diagnostics& diagnostics, std::string_view file, std::string_view text,
               const std::vector<text::ModuleSource>& modules) const {
  std::vector<SourceText> sources = {{std::string(file), text}};
  for (const text::ModuleSource& module : modules) sources.push_back({module.file, module.text});
  talk(render_text(diagnostics, sources, {.color = colored(STDERR_FILENO)}));
}

int App::finish(int exit_code) {
  const int code = checked(exit_code);
  if (!device_lost) return code;
  std::fflush(nullptr);
  ::_exit(code);
}

int App::checked(int exit_code) {
  errno = 0;
  if (std::fflush(stdout) != 0 && write_error_ == 0) write_error_ = errno != 0 ? errno : EIO;
  if (write_error_ == 0) return exit_code;
  return report({kExitInvalidArgument,
                 fmt::format("cannot write to stdout: {}", std::strerror(write_error_)),
                 "give the output a place that can take it"});
}

}  // namespace vyre::cli
