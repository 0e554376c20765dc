// SPDX-License-Identifier: Apache-2.0
#include "generator/schedules.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "ir/scalar.hpp"
#include "vyre/check/exact_nans.hpp"

namespace vyre::generator {

using namespace ir;

Result<void> handle_resume(const Program& program, std::span<const oracle::TrapReport> reports,
                           oracle::HandlerBuffers& buffers) {
  for (uint32_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& b = program.buffers[i];
    if (b.element != Type::U32 || (b.kind != BufferKind::InOut && b.kind != BufferKind::Out))
      continue;
    const std::span<std::byte> bytes = buffers.write(BufferId{i});
    const size_t count = bytes.size() / 4;
    if (count == 0) continue;
    for (const oracle::TrapReport& report : reports) {
      std::byte* const at = bytes.data() + report.lane % count * 4;
      store_element(Type::U32, at, load_element(Type::U32, at) * 3 + report.value + report.tag + 1);
    }
    break;
  }
  return {};
}

Result<oracle::Outcome> run(const check::CheckedProgram& checked, const Generated& generated,
                            oracle::Options options) {
  const std::vector<std::span<const std::byte>> inputs(generated.inputs.begin(),
                                                       generated.inputs.end());
  options.grid = generated.grid;
  if (options.timeout.count() == 0) options.timeout = std::chrono::seconds(20);
  if (!options.on_resume)
    options.on_resume = [&](std::span<const oracle::TrapReport> reports,
                            oracle::HandlerBuffers& buffers) {
      return handle_resume(checked.program, reports, buffers);
    };
  return oracle::run(checked, inputs, options);
}

namespace {

bool is_nan(Type element, Bits bits) {
  if (widened(element) == Type::F32)
    return std::isnan(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return element == Type::F64 && std::isnan(std::bit_cast<double>(bits));
}

}  // namespace

std::string difference(const Program& program, const Result<oracle::Outcome>& a,
                       const Result<oracle::Outcome>& b) {
  const auto said = [](const Result<oracle::Outcome>& r) {
    return r ? std::string("it succeeds")
             : fmt::format("{} (line {})", to_string(r.error()), r.error().at.line);
  };
  if (!a || !b) {
    const std::string first = said(a);
    const std::string second = said(b);
    return first == second ? "" : fmt::format("{} / {}", first, second);
  }
  std::optional<std::vector<bool>> exact;  // found out when a NaN asks for it
  const auto is_exact = [&](size_t buffer) {
    if (!exact) {
      const auto checked = check::check_valid(program);
      exact = checked ? check::exact_nans(*checked) : std::vector<bool>(program.buffers.size());
    }
    return (*exact)[buffer];
  };
  for (size_t i = 0; i < a->buffers.size(); ++i) {
    const Buffer& buffer = program.buffers[i];
    if (a->buffers[i] == b->buffers[i]) continue;
    // A driver does not show it.
    if (buffer.kind == BufferKind::Scratch && (a->buffers[i].empty() || b->buffers[i].empty()))
      continue;
    if (a->buffers[i].size() != b->buffers[i].size())
      return fmt::format("{} has {} / {} bytes", buffer.name, a->buffers[i].size(),
                         b->buffers[i].size());
    const uint32_t size = bytes_of(buffer.element);
    for (size_t k = 0; k * size < a->buffers[i].size(); ++k) {
      const Bits x = load_element(buffer.element, a->buffers[i].data() + k * size);
      const Bits y = load_element(buffer.element, b->buffers[i].data() + k * size);
      if (x == y) continue;
      if (is_nan(buffer.element, x) && is_nan(buffer.element, y) && !is_exact(i)) continue;
      return fmt::format("{}[{}] is {:#x} / {:#x}", buffer.name, k, x, y);
    }
  }
  if (a->resumed != b->resumed)
    return fmt::format("{} / {} reports of traps, or other ones", a->resumed.size(),
                       b->resumed.size());
  if (a->phases != b->phases) return fmt::format("{} / {} phases", a->phases, b->phases);
  const auto same = [](const oracle::FixpointReport& x, const oracle::FixpointReport& y) {
    return x.passes == y.passes && x.converged == y.converged;
  };
  if (!std::equal(a->fixpoints.begin(), a->fixpoints.end(), b->fixpoints.begin(),
                  b->fixpoints.end(), same))
    return "the fixpoints ended differently";
  return "";
}

ScheduleReport check_schedules(const Generated& generated, const ScheduleOptions& options) {
  ScheduleReport report;
  check::Checked checked = check::check(generated.program);
  if (!checked.program) {
    report.fault = Fault::Invalid;
    report.message = render_text(checked.diagnostics, {});
    return report;
  }
  std::vector<oracle::Options> runs = {{.schedule = oracle::Schedule::Forward},
                                       {.schedule = oracle::Schedule::Reversed}};
  for (uint32_t i = 0; i < options.random; ++i)
    runs.push_back({.schedule = oracle::Schedule::Random, .seed = options.seed + i});
  std::optional<Result<oracle::Outcome>> first;
  for (size_t i = 0; i < runs.size(); ++i) {
    oracle::Options& o = runs[i];
    o.subgroup_size = options.subgroup_size;
    o.races = options.races && i != 1;  // it costs as much as the run, and three will do
    Result<oracle::Outcome> outcome = run(*checked.program, generated, o);
    const std::string schedule = fmt::format("{} {}", name_of(o.schedule), o.seed);
    if (!outcome && outcome.error().code == ErrorCode::Timeout) {
      report.fault = Fault::Timeout;
      report.message = schedule + ": " + to_string(outcome.error());
      return report;
    }
    if (outcome && !outcome->races.empty()) {
      report.fault = Fault::Race;
      report.message = schedule + ": " + to_string(outcome->races.front());
      return report;
    }
    if (!first) {
      report.failed = !outcome.has_value();
      if (outcome) report.statements = outcome->statements;
      first = std::move(outcome);
      continue;
    }
    const std::string differs = difference(generated.program, *first, outcome);
    if (differs.empty()) continue;
    report.fault = Fault::Mismatch;
    report.message = fmt::format("forward / {}: {}", schedule, differs);
    return report;
  }
  return report;
}

}  // namespace vyre::generator
