// SPDX-License-Identifier: Apache-2.0
#include "cli/input.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/stop.hpp"
#include "cli/descriptor.hpp"
#include "cli/dispatch.hpp"
#include "ir/binary_format.hpp"
#include "vyre/ir/binary.hpp"
#include "vyre/text/text.hpp"

namespace vyre::cli {
namespace {

Failure cannot_read(const std::string& path, int error) {
  Failure failure{kExitInvalidArgument,
                  fmt::format("cannot read {}: {}", path, std::strerror(error)),
                  "name a file that exists and can be read, or - for stdin"};
  const std::string with_suffix = path + ".vyre";
  if (error == ENOENT && ::access(with_suffix.c_str(), R_OK) == 0)
    failure.fix = fmt::format("write {}", with_suffix);
  return failure;
}

// Reads until `bytes` has `limit` of them or the input ends; errno on failure.
int read_up_to(int descriptor, size_t limit, std::string& bytes) {
  constexpr size_t kChunk = size_t{256} << 10;
  while (bytes.size() < limit) {
    const size_t have = bytes.size();
    bytes.resize(std::min(limit, have + kChunk));
    const ssize_t got = ::read(descriptor, bytes.data() + have, bytes.size() - have);
    bytes.resize(have + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return 0;
    if (got < 0 && errno != EINTR) return errno;
  }
  return 0;
}

// Encoded programs carry no positions. Their canonical text has the same content, so its lines are
// where the diagnostics point.
bool give_positions(const std::string& name, ir::Program& program, std::string& canonical) {
  std::string printed = text::print(program);
  text::Parsed parsed = text::parse(printed, name);
  if (parsed.diagnostics.has_errors() || !(parsed.program == program)) return false;
  program = std::move(parsed.program);
  canonical = std::move(printed);
  return true;
}

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

std::expected<Input, Failure> read_input(const std::string& path) {
  const bool from_stdin = path == "-";
  const Descriptor file(from_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0) return std::unexpected(cannot_read(path, errno));
  struct stat status{};
  if (::fstat(file.value(), &status) == 0 && S_ISDIR(status.st_mode))
    return std::unexpected(cannot_read(path, EISDIR));

  Input input;
  input.name = from_stdin ? "<stdin>" : path;
  int error = read_up_to(file.value(), ir::binary::kHeaderBytes, input.bytes);
  input.encoded = ir::is_encoded(as_bytes(input.bytes));
  const size_t limit = input.encoded ? ir::binary::kMaxBytes : text::kMaxTextBytes;
  if (error == 0) error = read_up_to(file.value(), limit + 1, input.bytes);
  if (error != 0) return std::unexpected(cannot_read(input.name, error));
  input.too_long = !input.encoded && input.bytes.size() > limit;
  return input;
}

std::optional<Failure> repeated_stdin(const std::vector<std::string>& paths) {
  if (std::count(paths.begin(), paths.end(), "-") < 2) return std::nullopt;
  return Failure{kExitUsage, "stdin (-) is named more than once", "name it once"};
}

Diagnostics too_long(const Input& input) {
  Diagnostics diagnostics;
  diagnostics.add(Code::TextTooLong, {input.name, 0, 0, 1},
                  fmt::format("the text is longer than {} bytes (16 MiB)", text::kMaxTextBytes),
                  "split the program, or keep large tables in buffers");
  return diagnostics;
}

std::expected<Loaded, Failure> load(const Input& input, const std::vector<std::string>& set) {
  Loaded loaded;
  text::ParseOptions options;
  for (const std::string& setting : set) {
    const size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos)
      return std::unexpected(Failure{kExitUsage, fmt::format("--set {} has no NAME=VALUE", setting),
                                     "write a name and a value, as in --set Size=512"});
    options.settings.push_back({setting.substr(0, equals), setting.substr(equals + 1)});
  }
  if (input.too_long) {
    loaded.diagnostics = too_long(input);
    loaded.partial = loaded.empty = true;
    return loaded;
  }
  if (!input.encoded) {
    options.read_module = text::modules_beside(input.name);
    text::Parsed parsed = text::parse(input.bytes, input.name, options);
    for (const Diagnostic& d : parsed.diagnostics.list())
      if (d.code == Code::BadSetting)
        return std::unexpected(Failure{kExitUsage, fmt::format("--set: {}", d.message), d.fix});
    loaded.program = std::move(parsed.program);
    loaded.diagnostics = std::move(parsed.diagnostics);
    loaded.modules = std::move(parsed.modules);
    loaded.partial = loaded.diagnostics.has_errors();
    return loaded;
  }
  if (!set.empty())
    return std::unexpected(Failure{kExitUsage,
                                   "--set needs a program text; bytes have no names to set",
                                   "set the values where the bytes are made, with vyre print"});
  Result<ir::Program> decoded = ir::decode(as_bytes(input.bytes));
  if (decoded) {
    loaded.program = std::move(*decoded);
    return loaded;
  }
  loaded.partial = loaded.empty = true;
  for (Diagnostic& d : decoded.error().diagnostics)
    loaded.diagnostics.add(d.code, std::move(d.at), std::move(d.message), std::move(d.fix)).notes =
        std::move(d.notes);
  loaded.diagnostics.set_file(input.name);
  return loaded;
}

std::expected<CheckedFile, Failure> check_program_file(const std::string& path,
                                                       const std::vector<std::string>& set,
                                                       Trace* trace, const StopCondition* stop) {
  TraceSpan parse_span(trace, TraceCategory::Parse, path);
  std::expected<Input, Failure> input = read_input(path);
  if (!input) return std::unexpected(std::move(input.error()));
  parse_span.arg("bytes", input->bytes.size());
  // Not before: a read that waits ends with the process.
  std::optional<StoppableScope> stoppable;
  if (stop != nullptr) stoppable.emplace(*stop);
  CheckedFile file;
  file.name = input->name;
  std::expected<Loaded, Failure> read = load(*input, set);
  if (!read) return std::unexpected(std::move(read.error()));
  Loaded loaded = std::move(*read);
  file.diagnostics = std::move(loaded.diagnostics);
  file.modules = std::move(loaded.modules);
  if (!loaded.empty) {
    if (input->encoded && !give_positions(input->name, loaded.program, input->bytes))
      input->bytes.clear();
    parse_span.end();
    const TraceSpan check_span(trace, TraceCategory::Check, loaded.program.name);
    check::Checked checked = check::check(std::move(loaded.program), loaded.partial);
    file.diagnostics.append(std::move(checked.diagnostics));
    if (!file.diagnostics.has_errors()) file.program = std::move(checked.program);
  }
  file.diagnostics.set_file(input->name);
  file.diagnostics.sort();
  file.text = std::move(input->bytes);
  poll_stop_now();
  return file;
}

}  // namespace vyre::cli
