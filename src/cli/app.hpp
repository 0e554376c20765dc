// SPDX-License-Identifier: Apache-2.0
// What every command shares: the exit codes, where results and talk go, colour, and the JSON
// document. Results go to stdout through App::put, which remembers a failed write so that a full
// disk is not taken for success; everything else goes to stderr.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "vyre/base/diagnostic.hpp"
#include "vyre/text/text.hpp"

namespace vyre::cli {

// The codes of docs/cli.md that this tool can end with.
inline constexpr int kExitOk = 0;
inline constexpr int kExitMismatch = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInvalidProgram = 3;
inline constexpr int kExitNoDevice = 4;
inline constexpr int kExitOutOfMemory = 7;
inline constexpr int kExitInternal = 9;
inline constexpr int kExitInvalidArgument = 11;

using Json = nlohmann::ordered_json;

// Why a command could not do its work.
struct Failure {
  int exit_code = kExitInvalidArgument;
  std::string message;  // lower case, one sentence
  std::string fix;      // without the word "Fix:"
};

enum class ColorMode : uint8_t { Auto, Always, Never };

class App {
 public:
  bool json = false;
  ColorMode color = ColorMode::Auto;
  std::string command;  // "check"; empty until one is known
  // A device of this run is lost. A kernel may still run on it, and nothing is to wait for that:
  // the process ends without the end of other libraries.
  bool device_lost = false;

  void put(std::string_view text);
  static void talk(std::string_view text);
  // Whether what goes to this descriptor (1 or 2) is coloured.
  [[nodiscard]] bool colored(int descriptor) const;

  // {"schema": 1, "command": ..., "ok": ...}, for the command to fill in.
  [[nodiscard]] Json document(bool ok) const;
  void put_document(const Json& document);
  static Json json_of(const Diagnostics& diagnostics);
  static Json json_of(const Failure& failure);

  // The failure on stderr; returns its exit code.
  int report(const Failure& failure) const;
  // The same, and with --json a document that says so; for commands that end here.
  int fail(const Failure& failure);
  // Diagnostics as text on stderr.
  void show(const Diagnostics& diagnostics, std::string_view file, std::string_view text,
            const std::vector<text::ModuleSource>& modules = {}) const;

  // Flushes stdout; the exit code of the process, which ends here if a device is lost.
  int finish(int exit_code);

 private:
  int checked(int exit_code);

  int write_error_ = 0;  // errno of the first failed write to stdout
};

}  // namespace vyre::cli
