// SPDX-License-Identifier: Apache-2.0
#include "conformance/judge.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <regex>
#include <stdexcept>

#include <fmt/format.h>

#include "c_device/c_device.hpp"
#include "check/prints.hpp"
#include "cli/compare.hpp"
#include "cli/strategy.hpp"
#include "codegen/codegen.hpp"
#include "conformance/guard.hpp"
#include "generator/schedules.hpp"
#include "plan/programs.hpp"
#include "run/poison.hpp"
#include "vyre/backend/cpu.hpp"
#include "vyre/check/exact_nans.hpp"
#include "vyre/device/registry.hpp"
#include "vyre/oracle/oracle.hpp"
#include "vyre/run/program.hpp"

namespace vyre::conformance {

using namespace ir;

namespace {

uint64_t alignment_of(const check::BufferFacts& facts) {
  return std::max<uint64_t>(facts.align, device::kLeastAlignment);
}

Error error_of(ErrorCode code, std::string message) {
  return {.code = code, .message = std::move(message), .context = {}, .at = {}, .diagnostics = {}};
}

// What two dispatches have to say alike about an error. What a device or a limit of it says is its
// own affair; what a lane did is not.
std::string said(const Error& error) {
  std::string text(name_of(error.code));
  if (error.code != ErrorCode::Trapped && error.code != ErrorCode::OutOfBounds) return text;
  // Two locals of one name that meet in a segment are called x and x_2 there.
  return fmt::format("{} {} at {}:{}", text,
                     std::regex_replace(error.message, std::regex("`(\\w+?)_\\d+`"), "`$1`"),
                     error.at.line, error.at.column);
}

// Devices that do not promise exact floats cannot be asked for bits.
std::string float_gap(const check::CheckedProgram& checked, const device::Capabilities& can) {
  const bool floats = std::ranges::any_of(
      checked.expr_types, [](const std::optional<Type>& t) { return t && is_float(*t); });
  if (!floats) return "";
  if (!can.strict_f32) return "strict_f32 is false";
  if (!can.f32_subnormals) return "f32_subnormals is false";
  if (!can.exact_fma) return "exact_fma is false";
  if (!can.exact_division) return "exact_division is false";
  if (!can.exact_sqrt) return "exact_sqrt is false";
  if (!can.exact_conversions) return "exact_conversions is false";
  return "";
}

// What a dispatch gave its caller.
struct Given {
  std::vector<Bytes> outputs;  // by output slot
  run::Report report;
};

class Dispatch {
 public:
  Dispatch(const Case& one, const Prepared& prepared, const run::Device& device)
      : one_(one), prepared_(prepared), device_(device) {}

  // What the tuner tries, one strategy in each dispatch, until it has tried all. Empty: each
  // dispatch is as `difference` wants it.
  std::string try_strategies(const std::function<std::string(const Result<Given>&)>& difference) {
    run::DispatchConfig config = this->config();
    // What is measured has no handler; a program without a resume needs none.
    if (std::ranges::none_of(prepared_.checked.program.stmts,
                             [](const Stmt& s) { return std::holds_alternative<Resume>(s); }))
      config.trap_handler.reset();
    config.tune = run::Tune::On;
    auto compiled =
        device_.compile(std::make_shared<const check::CheckedProgram>(prepared_.checked), config);
    if (!compiled) return to_string(compiled.error());
    if (auto ok = make_arguments(std::nullopt); !ok) return to_string(ok.error());
    constexpr int kMostRuns = 200;
    for (int i = 0; i < kMostRuns; ++i) {
      run::Outputs slots;
      auto report = compiled->pipeline.dispatch_into({.inputs = arguments_}, slots);
      const std::string trial = report ? report->trial : "";
      const Result<Given> given =
          report ? Result<Given>(Given{.outputs = std::move(slots), .report = std::move(*report)})
                 : std::unexpected(report.error());
      if (std::string what = difference(given); !what.empty()) return trial + ": " + what;
      const auto tuning = compiled->pipeline.tuning();
      // A dispatch that fails is not measured, nor one that is left out of tuning.
      if (!given || !tuning || tuning->rows.empty()) break;
      if (!tuning->record) continue;
      const check::Axes& grid = given->report.grid;
      const bool runs = uint64_t{grid[0]} * grid[1] * grid[2] != 0;
      const device::BackendInfo& info = device_.info();
      const bool inside = info.capabilities.cooperative_grid_barrier && !one_.checked &&
                          plan::contains_grid_barrier(prepared_.checked);
      const bool has_choice =
          inside ? info.capabilities.host_split && !info.capabilities.whole_programs
                 : info.profile.code_lanes != 0;
      return runs && has_choice && tuning->rows.size() < 2 ? "nothing else was tried" : "";
    }
    return "";
  }

  // With the lines of print(), which are also those of a dispatch that fails.
  Result<Given> run_printing(PrintReport& printed) {
    print_to_ = std::make_shared<const run::PrintFunction>(
        [&](const PrintReport& report) { printed = report; });
    return run(std::nullopt);
  }

  Result<Given> run(std::optional<Edge> edge) {
    const run::DispatchConfig config = this->config();
    auto compiled =
        device_.compile(std::make_shared<const check::CheckedProgram>(prepared_.checked), config);
    if (!compiled) return std::unexpected(compiled.error());
    if (auto ok = make_arguments(edge); !ok) return std::unexpected(ok.error());
    std::vector<const run::Buffer*> outputs;
    for (const run::Buffer& buffer : results_)
      outputs.push_back(buffer.valid() ? &buffer : nullptr);
    run::Outputs slots;
    auto report =
        compiled->pipeline.dispatch_into({.inputs = arguments_, .outputs = outputs}, slots);
    if (!report) return std::unexpected(report.error());
    if (edge)
      if (auto ok = read_results(*edge, slots); !ok) return std::unexpected(ok.error());
    return Given{.outputs = std::move(slots), .report = std::move(*report)};
  }

 private:
  [[nodiscard]] run::DispatchConfig config() const {
    run::DispatchConfig config;
    config.grid = prepared_.grid;
    config.workgroup = prepared_.workgroup;
    config.checked = one_.checked;
    config.fixpoint_iterations = one_.iterations;
    config.timeout = kCaseTimeout;
    if (print_to_) {
      config.print = true;
      config.print_bytes = one_.print_bytes;
      config.print_to = print_to_;
    }
    config.trap_handler = std::make_shared<const TrapHandler>(
        [this](std::span<const TrapReport> reports, HandlerBuffers& buffers) {
          return generator::handle_resume(prepared_.checked.program, reports, buffers);
        });
    return config;
  }

  // With an edge, inputs lie at guard pages and results stay on the device as far as it keeps any.
  Result<void> make_arguments(std::optional<Edge> edge) {
    const bool resident = device_.info().capabilities.resident_buffers;
    const std::vector<bool> host = check::read_by_host(prepared_.checked);
    const auto& facts = prepared_.checked.buffers;
    std::vector<bool> on_device(prepared_.inputs.size());
    std::vector<uint64_t> alignments(prepared_.inputs.size());
    for (size_t i = 0; i < facts.size(); ++i)
      if (facts[i].input_slot) {
        on_device[*facts[i].input_slot] =
            resident && facts[i].role == check::Role::Persistent && !host[i];
        alignments[*facts[i].input_slot] = alignment_of(facts[i]);
      }
    buffers_.reserve(prepared_.inputs.size());
    guarded_.reserve(prepared_.inputs.size());
    for (size_t slot = 0; slot < prepared_.inputs.size(); ++slot) {
      std::span<const std::byte> bytes = prepared_.inputs[slot];
      if (edge) {
        guarded_.emplace_back(bytes, *edge).make_read_only();
        bytes = guarded_.back().bytes();
      }
      if (!on_device[slot]) {
        arguments_.emplace_back(bytes);
        continue;
      }
      auto buffer = device_.upload(bytes, alignments[slot]);
      if (!buffer) return std::unexpected(buffer.error());
      buffers_.push_back(std::move(*buffer));
      arguments_.emplace_back(buffers_.back());
    }
    if (edge && resident) return make_results(host, *edge);
    return {};
  }

  // Memory that held something before, another thing for each edge.
  Result<void> make_results(const std::vector<bool>& host, Edge edge) {
    const std::vector<std::span<const std::byte>> spans(prepared_.inputs.begin(),
                                                        prepared_.inputs.end());
    const auto launch = check::resolve_launch(
        prepared_.checked,
        {.inputs = spans, .grid = prepared_.grid, .workgroup = prepared_.workgroup});
    if (!launch) return {};  // the dispatch says so itself
    const auto& facts = prepared_.checked.buffers;
    for (size_t i = 0; i < facts.size(); ++i) {
      if (!facts[i].output_slot) continue;
      run::Buffer buffer;
      const uint64_t bytes =
          launch->counts[i] * bytes_of(prepared_.checked.program.buffers[i].element);
      if (facts[i].role == check::Role::Output && !host[i] && !facts[i].range_bytes &&
          !facts[i].input_slot && bytes > 0) {
        auto made = device_.allocate(bytes, device::Contents::Zeros, alignment_of(facts[i]));
        if (!made) return std::unexpected(made.error());
        const std::byte old{edge == Edge::End ? uint8_t{0xA5} : uint8_t{0x5A}};
        if (auto ok = device_.fill(*made, old); !ok) return ok;
        buffer = std::move(*made);
      }
      results_.push_back(std::move(buffer));
    }
    return {};
  }

  Result<void> read_results(Edge edge, run::Outputs& slots) {
    for (size_t slot = 0; slot < results_.size(); ++slot) {
      if (!results_[slot].valid()) continue;
      const GuardedBytes to(Bytes(results_[slot].bytes()), edge);
      if (auto ok = device_.read_range(results_[slot], 0, to.bytes()); !ok) return ok;
      slots[slot].assign(to.bytes().begin(), to.bytes().end());
    }
    return {};
  }

  const Case& one_;
  const Prepared& prepared_;
  const run::Device& device_;
  std::vector<GuardedBytes> guarded_;
  std::vector<run::Buffer> buffers_;  // of persistent inputs
  std::vector<run::Buffer> results_;  // by output slot; not valid: comes back as bytes
  std::vector<run::Argument> arguments_;
  std::shared_ptr<const run::PrintFunction> print_to_;
};

oracle::Options oracle_options(const Case& one, const Prepared& prepared, uint32_t subgroup_size) {
  oracle::Options options;
  options.subgroup_size = std::max(subgroup_size, 1U);
  options.checked = one.checked;
  options.iterations = one.iterations;
  options.grid = prepared.grid;
  options.workgroup = prepared.workgroup;
  options.timeout = kCaseTimeout;
  options.on_resume = [&](std::span<const TrapReport> reports, HandlerBuffers& buffers) {
    return generator::handle_resume(prepared.checked.program, reports, buffers);
  };
  return options;
}

Result<oracle::Outcome> run_oracle(const Prepared& prepared, const oracle::Options& options) {
  const std::vector<std::span<const std::byte>> inputs(prepared.inputs.begin(),
                                                       prepared.inputs.end());
  return oracle::run(prepared.checked, inputs, options);
}

// What differs in the outputs; empty if nothing does.
std::string compare_outputs(const Case& one, const check::CheckedProgram& checked,
                            std::span<const std::span<const std::byte>> wanted,
                            std::span<const Bytes> given) {
  const std::vector<bool> exact = check::exact_nans(checked);
  for (size_t i = 0; i < checked.buffers.size(); ++i) {
    const auto slot = checked.buffers[i].output_slot;
    if (!slot) continue;
    const Buffer& buffer = checked.program.buffers[i];
    if (one.exact_nans && !exact[i])
      return fmt::format("the case is broken: arithmetic may reach `{}`", buffer.name);
    if (*slot >= given.size()) return fmt::format("output `{}` is missing", buffer.name);
    const auto d = cli::find_difference(buffer.element, wanted[*slot], given[*slot],
                                        exact[i] ? cli::Nans::Exact : cli::Nans::AllEqual);
    if (!d) continue;
    if (wanted[*slot].size() != given[*slot].size())
      return fmt::format("{} has {} bytes instead of {}", buffer.name, given[*slot].size(),
                         wanted[*slot].size());
    return fmt::format("{}[{}] is {} instead of {}; {} elements differ", buffer.name, d->element,
                       d->given, d->wanted, d->count);
  }
  return "";
}

std::string compare(const Case& one, const check::CheckedProgram& checked,
                    const Result<oracle::Outcome>& wanted, const Result<Given>& given) {
  if (!wanted || !given) {
    const std::string want = wanted ? "success" : said(wanted.error());
    const std::string got = given ? "success" : said(given.error());
    if (want == got) return "";
    return fmt::format("expected {}, got {}{}", want, got,
                       given ? "" : "\n" + to_string(given.error()));
  }
  std::string what = compare_outputs(one, checked, wanted->outputs(checked), given->outputs);
  if (!what.empty()) return what;
  const run::Report& report = given->report;
  if (report.resumed != wanted->resumed)
    return fmt::format("{} reports of traps instead of {}, or other ones", report.resumed.size(),
                       wanted->resumed.size());
  if (one.iterations > 1 &&
      (report.iterations != wanted->iterations || report.converged != wanted->converged))
    return fmt::format("{} passes instead of {}", report.iterations, wanted->iterations);
  // A device that goes through barriers on its own tells neither of them.
  if (!one.passes_vary && report.grid_barriers && report.fixpoints != wanted->fixpoints)
    return "the fixpoints ended differently";
  return "";
}

// By this time each run takes longer than the one before it, so that a candidate is given up after
// its third run.
std::function<uint64_t()> clock_without_patience() {
  return [now = std::make_shared<std::atomic<uint64_t>>(0),
          step = std::make_shared<std::atomic<uint64_t>>(1)] {
    constexpr uint64_t kLongest = uint64_t{1} << 40;
    const uint64_t last = step->load();
    *step = last > kLongest ? 1 : 3 * last;
    return now->fetch_add(*step);
  };
}

// What `vyre plan` and `vyre compile` show of the case has to be what ran (D-GRID.13). Empty: it
// is.
std::string compare_plans(const Case& one, const Prepared& prepared, const run::Device& device,
                          const run::Report& report, bool prints = false) {
  const std::vector<std::span<const std::byte>> inputs(prepared.inputs.begin(),
                                                       prepared.inputs.end());
  const auto launch = check::resolve_launch(
      prepared.checked, {.inputs = inputs, .grid = prepared.grid, .workgroup = prepared.workgroup});
  if (!launch) return "the launch is known to the device alone";
  const device::BackendInfo& info = device.info();
  const auto shown = cli::strategy_of({.program = prepared.checked,
                                       .workgroup = prepared.workgroup,
                                       .launch = &*launch,
                                       .device = {.id = info.id,
                                                  .capabilities = info.capabilities,
                                                  .profile = info.profile,
                                                  .architecture = info.architecture},
                                       .opened = &device,
                                       .checked = one.checked,
                                       .print = prints});
  if (!shown) return "no plan can be shown: " + to_string(shown.error());
  if (shown->strategy.is_estimate())
    return fmt::format("the strategy that is shown is an estimate: {}", to_string(shown->strategy));
  if (shown->strategy.variant != report.variant)
    return fmt::format("shown is {}, and what ran is on route {}", to_string(shown->strategy),
                       plan::name_of(report.variant.route));
  if (shown->digest != report.plan)
    return fmt::format("shown is the plan {}, and what ran is {}", shown->digest.hex(),
                       report.plan.hex());
  return "";
}

// All lines, unless some had no room: which ones those are is left open.
std::string compare_lines(const PrintReport& wanted, const PrintReport& given) {
  if (given.dropped != wanted.dropped || given.lines.size() != wanted.lines.size())
    return fmt::format("{} lines and {} dropped instead of {} and {}", given.lines.size(),
                       given.dropped, wanted.lines.size(), wanted.dropped);
  for (size_t i = 0; i < wanted.lines.size() && wanted.dropped == 0; ++i) {
    const PrintLine& want = wanted.lines[i];
    const PrintLine& got = given.lines[i];
    if (got != want)
      return fmt::format(
          "line {} is `{}` (phase {}, lane {}, {}:{}) instead of `{}` (phase {}, "
          "lane {}, {}:{})",
          i, got.text, got.phase, got.lane, got.at.line, got.at.column, want.text, want.phase,
          want.lane, want.at.line, want.at.column);
  }
  return "";
}

// The same with the lines of print(): they are those of the oracle, and nothing else changes.
std::string compare_prints(const Case& one, const Prepared& prepared, const run::Device& device) {
  PrintReport wanted_lines;
  oracle::Options options = oracle_options(one, prepared, device.info().capabilities.subgroup_size);
  options.print_bytes = one.print_bytes;
  options.printed = &wanted_lines;
  const auto wanted = run_oracle(prepared, options);
  PrintReport lines;
  const auto given = Dispatch(one, prepared, device).run_printing(lines);
  std::string what = compare(one, prepared.checked, wanted, given);
  if (what.empty()) what = compare_lines(wanted_lines, lines);
  if (what.empty() && given && given->report.printed != lines)
    what = "the report has other lines than the callback";
  if (what.empty() && given) what = compare_plans(one, prepared, device, given->report, true);
  return what.empty() ? "" : "with print: " + what;
}

}  // namespace

bool tries_strategies() {
  static const bool kTries = std::getenv("VYRE_CONFORMANCE_TUNE") != nullptr;
  return kTries;
}

Judgement judge_on(const Case& one, const run::Device& device) {
  const auto failed = [](std::string what) { return Judgement{Verdict::Fail, std::move(what)}; };
  const auto prepared = prepare(one);
  if (!prepared) return failed("the case is broken: " + to_string(prepared.error()));
  const device::BackendInfo& info = device.info();
  Dispatch plain(one, *prepared, device);
  if (const auto can = pipeline::check_device_limits(prepared->checked, prepared->workgroup, info);
      !can) {
    // It has to say so itself.
    const auto given = plain.run(std::nullopt);
    if (!given && given.error().code == can.error().code)
      return {Verdict::Unsupported, can.error().message};
    return failed("should have been refused: " + can.error().message);
  }
  if (std::string gap = float_gap(prepared->checked, info.capabilities); !gap.empty())
    return {Verdict::Unsupported, std::move(gap)};
  if (!info.capabilities.resident_buffers &&
      std::ranges::any_of(prepared->checked.buffers, [](const check::BufferFacts& facts) {
        return facts.role == check::Role::Persistent;
      }))
    return {Verdict::Unsupported, "resident_buffers is false, and a buffer is persistent"};

  const auto wanted =
      run_oracle(*prepared, oracle_options(one, *prepared, info.capabilities.subgroup_size));
  const auto ended = wanted ? std::nullopt : std::optional(wanted.error().code);
  if (ended != one.error)
    return failed(fmt::format("the case is broken: the oracle ends with {}",
                              wanted ? "success" : to_string(wanted.error())));
  const auto given = plain.run(std::nullopt);
  std::string what = compare(one, prepared->checked, wanted, given);
  if (what.empty() && given) what = compare_plans(one, *prepared, device, given->report);
  if (what.empty() && check::has_kept(prepared->checked, {.prints = true}))
    what = compare_prints(one, *prepared, device);
  if (!what.empty()) return failed(std::move(what));
  if (tries_strategies()) {
    what = Dispatch(one, *prepared, device).try_strategies([&](const Result<Given>& tried) {
      return compare(one, prepared->checked, wanted, tried);
    });
    if (!what.empty()) return failed("with another strategy: " + what);
  }
  if (!one.guarded) return {};
  for (const Edge edge : {Edge::End, Edge::Start}) {
    what = compare(one, prepared->checked, wanted, Dispatch(one, *prepared, device).run(edge));
    if (!what.empty()) return failed("with guard pages: " + what);
  }
  return {};
}

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  const bool everything = std::getenv("VYRE_CONFORMANCE_ALL") != nullptr;
  for (const device::BackendDescriptor& row : device::registry().registered_backends()) {
    if (!row.dispatches) continue;
    bool first = true;
    for (const device::DeviceFacts& facts : row.enumerate()) {
      const bool oracle = row.kind == device::Kind::Oracle;
      std::string unusable = facts.unusable;
      if (unusable.empty())
        if (const auto format = codegen::choose_format(facts.capabilities.formats, facts.id);
            !format)
          unusable = format.error().message;
      all.push_back({.id = facts.id,
                     .backend = row.id,
                     .oracle = oracle,
                     .every_case = !oracle || first || everything,
                     .unusable = std::move(unusable)});
      first = false;
    }
  }
  // Code that other processors get is not left to machines that have them.
  const auto cpu_with = [&](const char* id, backend::CpuCode code) {
    all.push_back({.id = id,
                   .backend = "cpu",
                   .every_case = everything,
                   .unusable = backend::why_no_cpu(),
                   .open = [code] { return backend::open_cpu({.code = code}); }});
  };
  cpu_with("cpu:other_shapes", backend::CpuCode::OtherShapes);
  // Nor is that of large programs left to these: random programs are small.
  cpu_with("cpu:called_functions", backend::CpuCode::CalledFunctions);
  cpu_with("cpu:cheap", backend::CpuCode::Cheap);
  // Each case is compiled by another program, which takes long.
  all.push_back({.id = "c",
                 .backend = "c",
                 .every_case = everything,
                 .unusable = test::why_no_c(),
                 .open = test::open_c});
  return all;
}

Result<run::Device> open_subject(const Subject& subject) {
  static std::map<std::string, run::Device> devices;
  const auto found = devices.find(subject.id);
  if (found != devices.end()) return found->second;
  run::DeviceOptions options;
  options.cache_directory.clear();
  auto poison = run::poison_of_environment();  // also for those that are not of the registry
  if (!poison) return std::unexpected(std::move(poison.error()));
  options.poison = *poison;
  if (tries_strategies()) options.tuning_clock = clock_without_patience();
  Result<run::Device> device = [&]() -> Result<run::Device> {
    if (!subject.open) return run::Device::open(subject.id, std::move(options));
    auto backend = subject.open();
    if (!backend) return std::unexpected(std::move(backend.error()));
    return run::Device::over(std::move(*backend), std::move(options));
  }();
  if (device) devices.emplace(subject.id, *device);
  return device;
}

Result<Prepared> prepare(const Case& one) {
  auto checked = run::parse_checked(one.text, one.name + ".vyre");
  if (!checked) {
    Error error = checked.error();
    for (const Diagnostic& d : error.diagnostics)
      error.context.push_back(fmt::format("line {}: {}", d.at.line, d.message));
    return std::unexpected(std::move(error));
  }
  Prepared prepared{
      .checked = std::move(*checked), .inputs = {}, .grid = one.grid, .workgroup = one.workgroup};
  std::vector<std::optional<Bytes>> slots;
  for (size_t i = 0; i < prepared.checked.buffers.size(); ++i) {
    const auto slot = prepared.checked.buffers[i].input_slot;
    if (!slot) continue;
    if (slots.size() <= *slot) slots.resize(*slot + 1);
    for (const Input& input : one.inputs)
      if (input.name == prepared.checked.program.buffers[i].name) slots[*slot] = input.bytes;
  }
  try {
    const plan_test::RunLine line = plan_test::read_run_line(prepared.checked, one.run_line, slots);
    if (line.grid) prepared.grid = line.grid;
    prepared.inputs = line.inputs;
  } catch (const std::runtime_error& e) {
    return std::unexpected(error_of(ErrorCode::InvalidArgument, e.what()));
  }
  return prepared;
}

Judgement expect_failure(const Case& one, std::string_view backend, Judgement judgement) {
  const auto expected =
      std::ranges::find(one.expected_failures, backend, &ExpectedFailure::backend);
  if (expected == one.expected_failures.end()) return judgement;
  if (judgement.verdict == Verdict::Fail)
    return {Verdict::ExpectedFailure, expected->reason + "\n" + judgement.text};
  if (judgement.verdict == Verdict::Pass)
    return {Verdict::Fail, "passes, although a failure is expected: " + expected->reason +
                               ". Fix: take the expectation out of the case"};
  return judgement;
}

Judgement judge_case(const Case& one) {
  const auto prepared = prepare(one);
  if (!prepared) return {Verdict::Fail, to_string(prepared.error())};
  std::optional<Result<oracle::Outcome>> first;
  for (const oracle::Schedule schedule :
       {oracle::Schedule::Forward, oracle::Schedule::Reversed, oracle::Schedule::Random}) {
    oracle::Options options = oracle_options(one, *prepared, 32);
    options.schedule = schedule;
    options.seed = 1;
    options.races = !one.racy && schedule == oracle::Schedule::Forward;
    Result<oracle::Outcome> outcome = run_oracle(*prepared, options);
    if (outcome && !outcome->races.empty())
      return {Verdict::Fail, to_string(outcome->races.front())};
    if (outcome && one.passes_vary) {
      outcome->phases = 0;
      outcome->fixpoints.clear();
    }
    if (!first) {
      first = std::move(outcome);
      continue;
    }
    std::string what = generator::difference(prepared->checked.program, *first, outcome);
    if (!what.empty()) return {Verdict::Fail, fmt::format("{}: {}", name_of(schedule), what)};
  }
  return {};
}

Judgement judge(const Case& one, const Subject& subject) {
  if (!subject.unusable.empty()) return {Verdict::Unavailable, subject.unusable};
  const auto device = open_subject(subject);
  if (!device) return {Verdict::Fail, "cannot be opened: " + to_string(device.error())};
  return expect_failure(one, subject.backend, judge_on(one, *device));
}

}  // namespace vyre::conformance
