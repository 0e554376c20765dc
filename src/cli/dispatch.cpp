// SPDX-License-Identifier: Apache-2.0
#include "cli/dispatch.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cli/input.hpp"
#include "cli/nearest.hpp"
#include "cli/values.hpp"
#include "vyre/text/text.hpp"

namespace vyre::cli {

using namespace ir;

namespace {

Failure usage(std::string message, std::string fix) {
  return {kExitUsage, std::move(message), std::move(fix)};
}

// X[,Y[,Z]]; the rest is 1.
std::expected<std::optional<check::Axes>, Failure> parse_axes(std::string_view option,
                                                              const std::string& text) {
  if (text.empty()) return std::nullopt;
  check::Axes axes = {1, 1, 1};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, axes[i]);
    if (error != std::errc() || next == at) break;
    if (next == end) return axes;
    if (*next != ',') break;
    at = next + 1;
  }
  return std::unexpected(
      usage(fmt::format("{} takes one to three whole numbers, not '{}'", option, text),
            fmt::format("{} 64 or {} 16,16", option, option)));
}

std::expected<std::chrono::nanoseconds, Failure> parse_timeout(const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds >= 0) || seconds > 1e9)
    return std::unexpected(usage(fmt::format("--timeout takes seconds, not '{}'", text),
                                 "--timeout 2.5, or --timeout 0 for no limit"));
  // Anything above zero is a limit, however short.
  const double ns = std::ceil(seconds * 1e9);
  return std::chrono::nanoseconds(static_cast<int64_t>(ns));
}

bool takes_input(const check::BufferFacts& facts) {
  return facts.input_slot.has_value();
}

std::string declared_as(const Program& p, BufferId id) {
  const Buffer& b = p[id];
  std::string shape;
  for (const ExprId length : p.values(b.axes))
    shape += (shape.empty() ? "" : ", ") + text::print_expr(p, length);
  return fmt::format("`{} {} : {}{}`", name_of(b.kind), b.name, name_of(b.element),
                     b.scalar ? "" : "[" + shape + "]");
}

// The buffer that a name on the command line means.
std::expected<BufferId, Failure> find_input(const check::CheckedProgram& checked,
                                            const std::string& name) {
  const Program& p = checked.program;
  std::vector<std::string> known;
  for (uint32_t i = 0; i < p.buffers.size(); ++i) {
    if (takes_input(checked.buffers[i])) known.push_back(p.buffers[i].name);
    if (p.buffers[i].name != name) continue;
    if (takes_input(checked.buffers[i])) return BufferId{i};
    return std::unexpected(Failure{kExitInvalidArgument,
                                   fmt::format("`{}` takes no input: the program declares {}", name,
                                               declared_as(p, BufferId{i})),
                                   fmt::format("leave out --in {}=...", name)});
  }
  Failure failure{kExitInvalidArgument,
                  fmt::format("program `{}` has no input named `{}`", p.name, name), ""};
  const std::string meant = nearest(name, known);
  if (!meant.empty())
    failure.fix = fmt::format("did you mean `{}`?", meant);
  else if (known.empty())
    failure.fix = "the program has no inputs";
  else
    failure.fix = fmt::format("its inputs are {}", fmt::join(known, ", "));
  return std::unexpected(std::move(failure));
}

std::optional<Failure> read_inputs(const DispatchOptions& options, Inputs inputs,
                                   Prepared& prepared) {
  const Program& p = prepared.checked.program;
  using Clock = std::chrono::steady_clock;
  ValueContext context{.seed = options.seed, .cancel = &InterruptGuard::interrupted()};
  if (prepared.timeout.count() > 0 && prepared.timeout < Clock::time_point::max() - Clock::now())
    context.deadline = Clock::now() + prepared.timeout;
  std::vector<std::optional<std::string>> values(p.buffers.size());
  bool stdin_used = options.file == "-";
  for (const std::string& text : options.in) {
    const auto assignment = parse_assignment("--in", text);
    if (!assignment) return assignment.error();
    const auto buffer = find_input(prepared.checked, assignment->name);
    if (!buffer) return buffer.error();
    if (values[buffer->index()])
      return usage(fmt::format("--in {} is given twice", assignment->name), "give it once");
    if (reads_stdin(assignment->value) && std::exchange(stdin_used, true))
      return usage("stdin can be read only once", "give one of the inputs as a file");
    values[buffer->index()] = assignment->value;
  }
  for (uint32_t i = 0; i < p.buffers.size(); ++i) {
    const check::BufferFacts& facts = prepared.checked.buffers[i];
    if (!takes_input(facts)) continue;
    const Buffer& buffer = p.buffers[i];
    if (prepared.inputs.size() <= *facts.input_slot) prepared.inputs.resize(*facts.input_slot + 1);
    if (!values[i] && inputs == Inputs::AsGiven) {
      prepared.missing.push_back(BufferId{i});
      continue;
    }
    if (!values[i])
      return Failure{
          kExitInvalidArgument,
          fmt::format("input `{}` is missing: the program declares {}", buffer.name,
                      declared_as(p, BufferId{i})),
          buffer.scalar
              ? fmt::format("give it, for example --in {}=5", buffer.name)
              : fmt::format("give it: --in {}=FILE.npy, or for example --in {}={}", buffer.name,
                            buffer.name,
                            facts.constant_count ? fmt::format("zeros({})", *facts.constant_count)
                                                 : "zeros(1024)")};
    auto bytes = read_value({.name = buffer.name,
                             .element = buffer.element,
                             .count = facts.constant_count,
                             .scalar = buffer.scalar},
                            *values[i], context);
    if (!bytes) return bytes.error();
    prepared.inputs[*facts.input_slot] = std::move(*bytes);
  }
  return std::nullopt;
}

int invalid_program(App& app, const Prepared& prepared, const Diagnostics& diagnostics) {
  app.show(diagnostics, prepared.name, prepared.text, prepared.modules);
  if (app.json) {
    Json document = app.document(false);
    document["diagnostics"] = App::json_of(diagnostics);
    app.put_document(document);
  }
  return kExitInvalidProgram;
}

std::atomic<bool> g_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int /*signal*/) {
  if (g_interrupted.exchange(true)) ::_exit(kExitInterrupted);
}

}  // namespace

std::expected<Prepared, int> prepare(App& app, const DispatchOptions& options, Inputs inputs,
                                     Trace* trace) {
  const auto start = std::chrono::steady_clock::now();
  const auto failed = [&](const Failure& failure) { return std::unexpected(app.fail(failure)); };
  Prepared prepared;
  auto grid = parse_axes("--grid", options.grid);
  if (!grid) return failed(grid.error());
  auto workgroup = parse_axes("--workgroup", options.workgroup);
  if (!workgroup) return failed(workgroup.error());
  const auto timeout = parse_timeout(options.timeout);
  if (!timeout) return failed(timeout.error());
  prepared.grid = *grid;
  prepared.workgroup = *workgroup;
  prepared.timeout = *timeout;

  prepared.stop = StopCondition::after(*timeout, &InterruptGuard::interrupted(), start);
  prepared.untrusted = options.untrusted;
  std::expected<CheckedFile, Failure> read = std::unexpected(Failure{});
  try {
    read = check_program_file(options.file, options.set, trace, &prepared.stop);
  } catch (const Stopped& stopped) {
    prepared.name = options.file == "-" ? "<stdin>" : options.file;
    return std::unexpected(stopped.cancelled ? kExitInterrupted
                                             : fail(app, prepared, error_of(stopped)));
  }
  if (!read) return failed(read.error());
  prepared.name = std::move(read->name);
  prepared.text = std::move(read->text);
  prepared.modules = std::move(read->modules);
  if (!read->program) return std::unexpected(invalid_program(app, prepared, read->diagnostics));
  prepared.checked = std::move(*read->program);
  if (auto failure = read_inputs(options, inputs, prepared)) return failed(*failure);
  return prepared;
}

std::chrono::nanoseconds Prepared::time_left() const {
  if (timeout.count() <= 0) return timeout;
  return std::max<std::chrono::nanoseconds>(stop.deadline - std::chrono::steady_clock::now(),
                                            std::chrono::nanoseconds(1));
}

namespace {

// "what. Fix: how" of an Error, apart.
std::pair<std::string, std::string> split_fix(const std::string& message) {
  constexpr std::string_view kMark = ". Fix: ";
  const size_t at = message.rfind(kMark);
  if (at == std::string::npos) return {message, ""};
  return {message.substr(0, at), message.substr(at + kMark.size())};
}

std::string bar_of(uint64_t done, uint64_t of) {
  constexpr uint64_t kWidth = 24;
  const uint64_t full = of == 0 ? 0 : std::min(done, of) * kWidth / of;
  return fmt::format(" [{:#<{}}{:.<{}}] {} of {} workgroups", "", full, "", kWidth - full, done,
                     of);
}

}  // namespace

Json json_of(const Error& error) {
  const auto [message, fix] = split_fix(error.message);
  Json json;
  json["exit_code"] = exit_code_of(error.code);
  json["code"] = static_cast<unsigned>(error.code);
  json["name"] = name_of(error.code);
  json["message"] = message;
  json["fix"] = fix;
  if (error.at.known()) {
    json["file"] = error.at.file;
    json["line"] = error.at.line;
    json["column"] = error.at.column;
  }
  if (!error.context.empty()) json["context"] = error.context;
  return json;
}

int fail(App& app, const Prepared& prepared, const Error& error, const Json* more) {
  const auto [message, fix] = split_fix(error.message);
  Finding finding{
      .label = fmt::format("error[{} {}]", name_of(error.code), static_cast<unsigned>(error.code)),
      .at = error.at,
      .message = message,
      .fix = fix,
      .notes = {}};
  if (finding.at.file.empty()) finding.at.file = prepared.name;
  for (const std::string& line : error.context) finding.notes.push_back({{}, line});
  App::talk(render_findings(std::span(&finding, 1), prepared.sources(),
                            {.color = app.colored(STDERR_FILENO)}));
  if (app.json) {
    Json document = app.document(false);
    document["error"] = json_of(error);
    if (more != nullptr) document.update(*more);
    app.put_document(document);
  }
  return exit_code_of(error.code);
}

int fail(App& app, const Error& error) {
  const auto [message, fix] = split_fix(error.message);
  Failure failure{exit_code_of(error.code), message, fix};
  for (const std::string& line : error.context) failure.message += fmt::format(" ({})", line);
  app.report(failure);
  if (app.json) {
    Json document = app.document(false);
    document["error"] = json_of(error);
    app.put_document(document);
  }
  return failure.exit_code;
}

InterruptGuard::InterruptGuard() {
  g_interrupted = false;
  std::signal(SIGINT, on_interrupt);
}
InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
}
const std::atomic<bool>& InterruptGuard::interrupted() {
  return g_interrupted;
}

ProgressBar::ProgressBar(std::string name)
    : name_(std::move(name)),
      start_(std::chrono::steady_clock::now()),
      terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  clear();
}

void ProgressBar::clear() {
  if (std::exchange(shown_, false)) App::talk("\r\x1b[K");
}

std::string ProgressBar::begin_line() {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  if (!terminal_ || elapsed.count() < 0.5) return "";
  shown_ = true;
  return fmt::format("\r\x1b[K{} {:.1f} s", name_, elapsed.count());
}

void ProgressBar::show(const oracle::Progress& progress) {
  std::string line = begin_line();
  if (line.empty()) return;
  if (progress.phase == 0 && progress.workgroups > 1)
    line += bar_of(progress.workgroups_done, progress.workgroups);
  else
    line += fmt::format(", {} grid barriers", progress.phase);
  line +=
      fmt::format(", {:.1f} million statements", static_cast<double>(progress.statements) / 1e6);
  App::talk(line);
}

void ProgressBar::show(uint64_t workgroups_done, uint64_t workgroups) {
  // Fewer than before are of the next launch.
  if (workgroups_done < std::exchange(last_done_, workgroups_done)) ++launches_;
  std::string line = begin_line();
  if (line.empty()) return;
  // The one that runs counts, so a bar of one would always be full.
  line += workgroups > 1 ? bar_of(workgroups_done, workgroups) : ", 1 workgroup";
  if (launches_ > 1) line += fmt::format(", launch {} or later", launches_);
  App::talk(line);
}

}  // namespace vyre::cli
