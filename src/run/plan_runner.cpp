// SPDX-License-Identifier: Apache-2.0
#include "run/plan_runner.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/errors.hpp"
#include "base/match.hpp"
#include "pipeline/site_table.hpp"
#include "run/errors.hpp"
#include "vyre/oracle/oracle.hpp"

namespace vyre::run {

using namespace plan;

namespace {

bool tree_has(const Steps& list, bool (*wanted)(const Step&)) {
  return std::ranges::any_of(list, [&](const Step& step) {
    if (wanted(step)) return true;
    if (const auto* x = std::get_if<BranchStep>(&step.node))
      return tree_has(x->then_steps, wanted) || tree_has(x->else_steps, wanted);
    if (const auto* x = std::get_if<LoopStep>(&step.node))
      return tree_has(x->condition, wanted) || tree_has(x->body, wanted);
    if (const auto* x = std::get_if<FixpointStep>(&step.node)) return tree_has(x->body, wanted);
    return false;
  });
}

bool needs_host(const Step& step) {
  return std::holds_alternative<ResumeStep>(step.node) ||
         std::holds_alternative<CollectiveStep>(step.node);
}

bool swaps(const Step& step) {
  return std::holds_alternative<SwapStep>(step.node);
}

bool decides(const Step& step) {
  return std::holds_alternative<BranchStep>(step.node) ||
         std::holds_alternative<LoopStep>(step.node) ||
         std::holds_alternative<FixpointStep>(step.node);
}

}  // namespace

PlanRunner::PlanRunner(const Setup& setup, Memory& memory, Recorder& recorder, Report& report)
    : s_(setup), plan_(setup.variant->schedule), m_(memory), recorder_(recorder), report_(report) {
  decides_ = tree_has(plan_.steps, decides);
  needs_host_ = tree_has(plan_.steps, needs_host);
  swaps_ = tree_has(plan_.steps, swaps);
  may_end_early_ =
      !plan_.sites.empty() || std::ranges::any_of(plan_.segments, &SegmentLaunch::reports_live);
  // How often a recorded loop exchanges memory is not known when launches are given theirs.
  s_.record_loops = s_.record_loops && !needs_host_ && !swaps_;
}

// ---- a pass

bool PlanRunner::deferred() const {
  if (plan_.whole) return !s_.checked;
  if (s_.checked || may_end_early_ || needs_host_ || swaps_) return false;
  return s_.record_loops || !decides_;
}

Result<void> PlanRunner::pass() {
  Result<void> done = run_steps();
  if (!swaps_) return done;
  // Also where a lane has stopped: buffers of the caller hold then what the program left in them.
  m_.return_swapped();
  if (!done)
    if (auto returned = m_.flush(); !returned)
      done.error().context.push_back("returning swapped buffers: " + returned.error().message);
  return done;
}

Result<void> PlanRunner::run_steps() {
  phases_ = 0;
  taken_part_ = 0;
  lane_stop_.reset();
  error_.reset();
  is_fetched_ = false;
  waiting_.assign(plan_.resumes.size(), false);
  m_.reset();
  if (!plan_.whole && can_stop())
    m_.set_hidden_word(*plan_.find_hidden(Hidden::Kind::Control), ControlWords::kStop, kNoLane);
  if (const auto printed = plan_.find_hidden(Hidden::Kind::Print);
      printed && !plan_.resumes.empty())
    m_.set_hidden_word(*printed, PrintWords::kPhase, 0);
  if (s_.launch->workgroups() == 0 && !s_.grid_from) return {};
  if (const auto grid = plan_.find_hidden(Hidden::Kind::Grid))
    for (uint32_t axis = 0; axis < 3; ++axis)
      m_.set_hidden_word(*grid, axis, s_.launch->grid[axis]);
  if (s_.record_loops && decides_) {
    VYRE_TRY(record(plan_.steps));
    if (deferred()) return {};
    VYRE_TRY(m_.flush());
    // Exits have left out whatever would have followed, so the words are fetched on their own.
    if (may_end_early_) {
      VYRE_TRY(m_.refresh());
      is_fetched_ = true;
      if (check_stop() == Signal::Stop) return std::unexpected(std::move(*error_));
    }
    return take_reports();
  }
  const Signal signal = steps(plan_.steps);
  if (signal != Signal::Stop && !plan_.whole && can_stop()) {
    VYRE_TRY(fetch_state());
    if (check_stop() == Signal::Stop) return std::unexpected(std::move(*error_));
  }
  if (signal == Signal::Stop) return std::unexpected(std::move(*error_));
  const bool counted = std::ranges::none_of(plan_.segments, &SegmentLaunch::barriers_inside);
  if (!plan_.whole && counted) report_.grid_barriers = report_.grid_barriers.value_or(0) + phases_;
  return {};
}

Result<void> PlanRunner::take_reports() {
  if (plan_.whole) {
    device::Completion& done = recorder_.completion();
    if (!done.whole) {
      if (!s_.variant->entries[0].barriers_inside) report_.grid_barriers = 0;
      return {};
    }
    report_.grid_barriers = report_.grid_barriers.value_or(0) + done.whole->phases;
    report_.statements = report_.statements.value_or(0) + done.whole->statements;
    std::ranges::move(done.whole->fixpoints, std::back_inserter(report_.fixpoints));
    std::ranges::move(done.whole->resumed, std::back_inserter(report_.resumed));
    return {};
  }
  if (!s_.record_loops || plan_.fixpoints.empty() || !decides_) return {};
  VYRE_TRY(m_.read_driver_words(words_));
  for (uint32_t i = 0; i < plan_.fixpoints.size(); ++i)
    if (words_[DriverWords::total(i)] != 0)
      report_.fixpoints.push_back(
          {words_[DriverWords::result(i)], words_[DriverWords::result(i) + 1] != 0});
  return {};
}

PlanRunner::Signal PlanRunner::fail(Error error) {
  error_ = std::move(error);
  return Signal::Stop;
}

Result<void> PlanRunner::fetch_state() {
  if (is_fetched_) return {};
  VYRE_TRY(m_.refresh());
  is_fetched_ = true;
  return {};
}

Result<uint32_t> PlanRunner::frame(uint32_t word) {
  VYRE_TRY(fetch_state());
  return m_.frame(word);
}

// ---- the tree

PlanRunner::Signal PlanRunner::steps(const Steps& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    Signal signal = step(list[i]);
    if (signal == Signal::Skip) {
      // No lane is live: go on at the resume they wait for, if it comes later in this list.
      size_t next = i + 1;
      while (next < list.size() && !is_target(list[next])) ++next;
      for (size_t k = i + 1; k < next; ++k)
        if (take_part(list[k]) == Signal::Stop) return Signal::Stop;
      if (next == list.size()) return Signal::Skip;
      i = next;
      signal = step(list[i]);
    }
    if (signal == Signal::End)
      for (size_t k = i + 1; k < list.size(); ++k)
        if (take_part(list[k]) == Signal::Stop) return Signal::Stop;
    if (signal != Signal::Go) return signal;
  }
  return Signal::Go;
}

bool PlanRunner::is_target(const Step& step) const {
  const auto* resume = std::get_if<ResumeStep>(&step.node);
  return resume != nullptr && resume->resume == skip_to_;
}

// Collectives that are unconditional take part without lanes: other ranks wait for them.
PlanRunner::Signal PlanRunner::take_part(const Step& step) {
  const auto* x = std::get_if<CollectiveStep>(&step.node);
  if (x == nullptr || !x->unconditional) return Signal::Go;
  ++phases_;
  ++taken_part_;
  return collective(*x);
}

PlanRunner::Signal PlanRunner::step(const Step& step) {
  return match(
      step.node, [&](const LaunchStep& x) { return launch(x.segment); },
      [&](const PhaseStep&) {
        if (Signal s = check_stop(); s != Signal::Go) return s;
        ++phases_;
        return Signal::Go;
      },
      [&](const BranchStep& x) {
        const auto word = frame(x.word);
        if (!word) return fail(word.error());
        return steps(*word != 0 ? x.then_steps : x.else_steps);
      },
      [&](const LoopStep& x) {
        for (;;) {
          if (Signal s = steps(x.condition); s != Signal::Go) return s;
          const auto word = frame(x.word);
          if (!word) return fail(word.error());
          if (*word == 0) return Signal::Go;
          if (Signal s = steps(x.body); s != Signal::Go) return s;
        }
      },
      [&](const FixpointStep& x) { return fixpoint(x); },
      [&](const ResumeStep& x) { return resume_step(x); },
      [&](const CollectiveStep& x) {
        if (Signal s = check_stop(); s != Signal::Go) return s;
        ++phases_;
        return collective(x);
      },
      [&](const SwapStep& x) {
        m_.swap_buffers(x.a, x.b);
        return Signal::Go;
      },
      [&](const CopyStep&) {
        return fail(vyre::fail(ErrorCode::Internal,
                               "a plan of the grid holds a copy of a workgroup. Fix: report this "
                               "program as a bug")
                        .error());
      });
}

PlanRunner::Signal PlanRunner::fixpoint(const FixpointStep& x) {
  const FixpointInfo& info = plan_.fixpoints[x.fixpoint];
  uint32_t most = x.most.value_or(0);
  if (!x.most) {
    const auto word = frame(x.word);
    if (!word) return fail(word.error());
    most = *word;
  }
  const uint32_t control = *plan_.find_hidden(Hidden::Kind::Control);
  const uint32_t changed_word = plan_.control.changed(x.fixpoint);
  uint32_t passes = 0;
  bool changed = true;
  while (changed && passes < most) {
    for (const FixpointBuffer& b : info.buffers)
      if (b.snapshot) m_.take_snapshot(*b.snapshot, b.buffer);
    m_.set_hidden_word(control, changed_word, 0);
    is_fetched_ = false;
    if (Signal s = steps(x.body); s != Signal::Go) return s;
    ++passes;
    for (const FixpointBuffer& b : info.buffers)
      if (b.snapshot) {
        m_.compare_snapshot(*b.snapshot, b.buffer, changed_word);
        is_fetched_ = false;
      }
    if (auto ok = fetch_state(); !ok) return fail(ok.error());
    changed = m_.control(changed_word) != 0;
  }
  if (const auto row = plan_.find_hidden(Hidden::Kind::Fixpoint)) {
    m_.set_hidden_word(*row, 0, passes);
    m_.set_hidden_word(*row, 1, changed ? 0 : 1);
  }
  recorder_.add_passes(x.fixpoint, passes);
  constexpr size_t kMostReports = 1024;
  if (report_.fixpoints.size() == kMostReports) report_.fixpoints.erase(report_.fixpoints.begin());
  report_.fixpoints.push_back({passes, !changed});
  return Signal::Go;
}

// ---- launches

Result<void> PlanRunner::add_launch(uint32_t index) {
  const SegmentLaunch& segment = plan_.segments[index];
  if (!plan_.whole) {
    const uint32_t control = *plan_.find_hidden(Hidden::Kind::Control);
    if (segment.reports_live) m_.set_hidden_word(control, ControlWords::kLive, 0);
    for (uint32_t r = 0; r < plan_.resumes.size(); ++r)
      m_.set_hidden_word(control, plan_.control.parked(r), 0);
    if (const auto votes = plan_.find_hidden(Hidden::Kind::Votes)) m_.zero(*votes);
  }
  const device::Entry& entry = s_.variant->entries[index];
  device::Launch launch;
  launch.pipeline = s_.variant->loaded.handle();
  launch.entry = index;
  launch.workgroup = s_.launch->workgroup;
  launch.grid = s_.launch->grid;
  launch.grid_from = s_.grid_from;
  launch.segment = index;
  launch.cooperative = entry.barriers_inside || plan_.route == Route::Persistent;
  const uint64_t resident = s_.variant->loaded.max_resident_groups(index);
  if (segment.workgroups_per_block != 0) {
    launch.workgroup = entry.workgroup;
    launch.grid = {
        static_cast<uint32_t>(plan::blocks_of(segment, s_.launch->workgroups(), resident)), 1, 1};
  } else if (plan_.route == Route::Persistent && resident < s_.launch->workgroups()) {
    launch.blocks = resident;
  }
  segment_ = index;
  is_fetched_ = false;
  return m_.launch(segment, launch, entry);
}

PlanRunner::Signal PlanRunner::launch(uint32_t index) {
  const SegmentLaunch& segment = plan_.segments[index];
  if (auto ok = add_launch(index); !ok) return fail(ok.error());
  if (plan_.whole) {
    if (deferred()) return Signal::Go;
    if (auto ok = m_.flush(); !ok) return fail(ok.error());
    if (auto& stop = recorder_.completion().lane_stop) return fail(std::move(stop->error));
    if (auto ok = take_reports(); !ok) return fail(ok.error());
    return Signal::Go;
  }
  const bool needs_state = segment.reports_live || can_stop() || !plan_.resumes.empty();
  bool live = true;
  bool newly_parked = false;
  if (needs_state) {
    if (auto ok = fetch_state(); !ok) return fail(ok.error());
    if (auto& stop = recorder_.completion().lane_stop;
        stop && (!lane_stop_ || stop->lane < lane_stop_->lane))
      lane_stop_ = std::move(*stop);
    if (m_.control(ControlWords::kStopped) != 0) return check_stop();
    live = !segment.reports_live || m_.control(ControlWords::kLive) != 0;
    for (uint32_t r = 0; r < plan_.resumes.size(); ++r) {
      if (m_.control(plan_.control.parked(r)) == 0) continue;
      newly_parked = true;
      waiting_[r] = true;
    }
  }
  // A lane that wrote the other half has either gone on or begun to wait.
  if (live || newly_parked) {
    if (segment.swaps_frame) m_.swap(Hidden::Kind::Frame);
    if (segment.swaps_group_frame) m_.swap(Hidden::Kind::GroupFrame);
  }
  if (segment.ends_phase || !live)
    if (Signal s = check_stop(); s != Signal::Go) return s;
  if (!live) {
    const auto first = std::ranges::find(waiting_, true);
    if (first == waiting_.end()) return Signal::End;
    skip_to_ = static_cast<uint32_t>(first - waiting_.begin());
    return Signal::Skip;
  }
  if (segment.ends_phase) ++phases_;
  return Signal::Go;
}

// ---- stops

// At the end of a phase: the smallest lane that stopped decides. What it reported is on the host
// since the last launch.
PlanRunner::Signal PlanRunner::check_stop() {
  if (!can_stop()) return Signal::Go;
  if (auto ok = fetch_state(); !ok) return fail(ok.error());
  const uint32_t trapped = m_.control(ControlWords::kStop);
  if (lane_stop_ && lane_stop_->lane < trapped) return fail(std::move(lane_stop_->error));
  if (trapped == kNoLane) return Signal::Go;
  return stop_of_lane(trapped);
}

Result<std::vector<uint32_t>> PlanRunner::report_words(Hidden::Kind kind) {
  std::vector<uint32_t> words;
  const auto row = plan_.find_hidden(kind);
  if (!row) return words;
  VYRE_TRY_ASSIGN(const auto bytes, m_.fetch_hidden(*row));
  words.resize(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

PlanRunner::Signal PlanRunner::stop_of_lane(uint32_t lane) {
  const auto sites = report_words(Hidden::Kind::ReportSite);
  if (!sites) return fail(sites.error());
  const auto values = report_words(Hidden::Kind::ReportValue);
  if (!values) return fail(values.error());
  const auto report = report_of(lane, *sites, *values);
  if (!report) return fail(report.error());
  const Site& site = report->site;
  if (site.assertion) return failed_assertion(lane, report->value, site.at);
  return fail(site.zero_passes ? oracle::zero_passes_error(lane, site.at)
                               : oracle::trapped_error({site.tag, report->value, lane, site.at}));
}

Result<PlanRunner::LaneReport> PlanRunner::report_of(uint32_t lane,
                                                     const std::vector<uint32_t>& sites,
                                                     const std::vector<uint32_t>& values) const {
  if (lane >= sites.size() || lane >= values.size() || sites[lane] >= plan_.sites.size())
    return vyre::fail(ErrorCode::Internal,
                      fmt::format("lane {} stopped at a site that its program does not have. Fix: "
                                  "report this as a bug of Vyre",
                                  lane));
  LaneReport report{.site = plan_.sites[sites[lane]], .value = values[lane]};
  report.site.at = s_.variant->sites->site(sites[lane]);
  return report;
}

}  // namespace vyre::run
