// SPDX-License-Identifier: Apache-2.0
#include "vyre/device/registry.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/errors.hpp"

namespace vyre::device {

namespace {

using Candidate = Selection::Candidate;

bool is_word(std::string_view id) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !id.empty() && id.find_first_not_of(kLetters) == std::string_view::npos;
}

bool may_be_preferred(const BackendDescriptor& row) {
  return row.dispatches && (row.kind == Kind::Gpu || row.kind == Kind::Cpu);
}

// Smaller is better.
auto key(const Candidate& c) {
  const auto most = std::numeric_limits<uint64_t>::max();
  return std::tuple(c.kind == Kind::Cpu, kMaxScore - std::min(c.score, kMaxScore),
                    kTimingQualityCount - static_cast<int>(c.facts.profile.timing_quality),
                    most - c.facts.profile.memory_bandwidth_bytes_per_second, c.rank,
                    c.acquisition_cost_us, std::string_view(c.facts.id));
}

std::string why_nothing(const Selection& selection, std::span<const BackendDescriptor> rows) {
  std::vector<std::string> failures;
  failures.reserve(selection.candidates.size());
  for (const Candidate& c : selection.candidates)
    failures.push_back(fmt::format("{}: {}", c.facts.id, c.failure));
  if (!failures.empty()) return fmt::format("{}", fmt::join(failures, "; "));
  std::vector<std::string_view> oracles;
  for (const BackendDescriptor& row : rows)
    if (row.kind == Kind::Oracle) oracles.push_back(row.id);
  if (!oracles.empty())
    return fmt::format("only reference oracle backend(s) were available: {}",
                       fmt::join(oracles, ", "));
  return "no dispatch-capable backend is linked into this binary";
}

}  // namespace

std::string to_string(const Selection& selection) {
  std::string text = selection.winner.empty() ? std::string("no device was chosen\n")
                                              : fmt::format("chosen: {}\n", selection.winner);
  for (const Candidate& c : selection.candidates) {
    text += fmt::format(
        "  {}: {} `{}`, score {} of {}, timing {}, {} bytes/s, rank {}, acquisition {} us{}{}\n",
        c.facts.id, name_of(c.kind), c.facts.profile.name, c.score, kMaxScore,
        name_of(c.facts.profile.timing_quality), c.facts.profile.memory_bandwidth_bytes_per_second,
        c.rank, c.acquisition_cost_us, c.failure.empty() ? "" : "; not taken: ", c.failure);
  }
  return text;
}

Result<Registry> Registry::make(std::vector<BackendDescriptor> rows) {
  std::ranges::sort(rows, {}, [](const BackendDescriptor& row) {
    return std::tuple(std::string_view(row.id), std::string_view(row.site));
  });
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i - 1].id == rows[i].id)
      return std::unexpected(
          error(ErrorCode::InvalidArgument,
                fmt::format("backend `{}` is registered twice, by {} and by {}. Fix: give one of "
                            "them another id",
                            rows[i].id, rows[i - 1].site, rows[i].site)));
    if (!is_word(rows[i].id) || !rows[i].enumerate || !rows[i].open)
      return std::unexpected(
          error(ErrorCode::InvalidArgument,
                fmt::format("the row of backend `{}` ({}) is not complete. Fix: give it an id of "
                            "small letters, digits and `_`, `enumerate` and `open`",
                            rows[i].id, rows[i].site)));
  }
  std::ranges::sort(rows, {}, [](const BackendDescriptor& row) {
    return std::tuple(row.rank, std::string_view(row.id));
  });
  Registry registry;
  registry.rows_ = std::move(rows);
  return registry;
}

const BackendDescriptor* Registry::find(std::string_view id) const {
  const auto row = std::ranges::find(rows_, id, &BackendDescriptor::id);
  return row == rows_.end() ? nullptr : &*row;
}

bool Registry::backend_dispatches(std::string_view id) const {
  const BackendDescriptor* const row = find(id);
  return row != nullptr && row->dispatches;
}

uint32_t Registry::backend_precedence(std::string_view id) const {
  const BackendDescriptor* const row = find(id);
  return row == nullptr ? std::numeric_limits<uint32_t>::max() : row->rank;
}

Result<std::shared_ptr<Backend>> Registry::acquire(std::string_view id) const {
  const auto unavailable = [](std::string message) {
    return std::unexpected(error(ErrorCode::Unavailable, std::move(message)));
  };
  const size_t colon = id.find(':');
  const std::string_view name = id.substr(0, colon);
  const BackendDescriptor* const row = find(name);
  if (row == nullptr) {
    std::vector<std::string_view> linked;
    linked.reserve(rows_.size());
    for (const BackendDescriptor& r : rows_) linked.push_back(r.id);
    return unavailable(fmt::format(
        "backend `{}` is not linked into this binary. Fix: use one that is ({}), or build with it",
        name, linked.empty() ? std::string("none") : fmt::format("{}", fmt::join(linked, ", "))));
  }
  uint32_t index = 0;
  if (colon != std::string_view::npos) {
    const std::string_view digits = id.substr(colon + 1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size())
      return std::unexpected(error(
          ErrorCode::InvalidArgument,
          fmt::format("device `{}` does not end in a number. Fix: write `{}:1` for the second one",
                      id, name)));
  }
  const std::vector<DeviceFacts> devices = row->enumerate();
  if (index >= devices.size())
    return unavailable(
        fmt::format("backend `{}` has {} device{}, so there is no `{}`. Fix: see "
                    "`vyre devices` for those there are",
                    name, devices.size(), devices.size() == 1 ? "" : "s", id));
  if (!devices[index].unusable.empty())
    return unavailable(
        fmt::format("device `{}` is not usable: {}. Fix: use another device, or "
                    "install what is missing",
                    devices[index].id, devices[index].unusable));
  auto device = row->open(index);
  if (!device)
    device.error().context.push_back(fmt::format("while opening device `{}`", devices[index].id));
  return device;
}

Selection Registry::rank_devices(const SelectionPolicy& policy) const {
  Selection selection;
  for (const BackendDescriptor& row : rows_) {
    if (!may_be_preferred(row)) continue;
    uint32_t index = 0;
    for (DeviceFacts& facts : row.enumerate()) {
      Candidate c{.facts = std::move(facts),
                  .backend = row.id,
                  .index = index++,
                  .kind = row.kind,
                  .rank = row.rank,
                  .acquisition_cost_us = row.acquisition_cost_us,
                  .failure = {}};
      c.score = score(c.facts.capabilities, c.facts.profile);
      if (!c.facts.unusable.empty())
        c.failure = c.facts.unusable;
      else if (row.kind == Kind::Cpu && !policy.allow_cpu)
        c.failure = "a CPU, which is not allowed here";
      selection.candidates.push_back(std::move(c));
    }
  }
  std::ranges::sort(selection.candidates, {}, key);
  return selection;
}

Result<std::shared_ptr<Backend>> Registry::acquire_preferred(const SelectionPolicy& policy,
                                                             Selection* trace) const {
  Selection selection = rank_devices(policy);
  std::shared_ptr<Backend> device;
  for (Candidate& c : selection.candidates) {
    if (!c.failure.empty()) continue;
    auto opened = find(c.backend)->open(c.index);
    if (!opened) {
      c.failure = opened.error().message;
      continue;
    }
    selection.winner = c.facts.id;
    device = std::move(*opened);
    break;
  }
  const std::string reason = device ? std::string() : why_nothing(selection, rows_);
  if (trace != nullptr) *trace = std::move(selection);
  if (device) return device;
  return std::unexpected(
      error(ErrorCode::Unavailable,
            fmt::format("no usable GPU dispatch backend is available ({}). Fix: install a driver, "
                        "allow a CPU, or name a device; the reference backend is conformance "
                        "infrastructure only",
                        reason)));
}

}  // namespace vyre::device
