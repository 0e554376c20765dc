// SPDX-License-Identifier: Apache-2.0
#include "pipeline/check_schedule.hpp"

#include <algorithm>
#include <bit>

#include "base/match.hpp"
#include "check/prints.hpp"
#include "vyre/check/launch.hpp"

namespace vyre::pipeline {

namespace {

using device::Entry;
using device::EntryBinding;
using plan::Hidden;
using plan::Schedule;

class ScheduleCheck {
 public:
  ScheduleCheck(const Schedule& schedule, const std::vector<Entry>& entries, size_t buffers)
      : s_(schedule), entries_(entries), buffers_(buffers) {}

  [[nodiscard]] bool run() const {
    return std::ranges::all_of(s_.hidden, [&](const Hidden& h) { return hidden(h); }) &&
           segments() && words() &&
           std::ranges::all_of(s_.fixpoints,
                               [&](const auto& fixpoint) { return this->fixpoint(fixpoint); }) &&
           steps(s_.steps);
  }

 private:
  [[nodiscard]] bool is_source(ir::BufferId buffer) const { return buffer.index() < buffers_; }

  [[nodiscard]] bool hidden(const Hidden& h) const {
    return h.extent != Hidden::Extent::LikeBuffer || is_source(h.like);
  }

  // Words of the dispatch, which the host reads and writes.
  [[nodiscard]] bool has_words(Hidden::Kind kind, uint64_t count) const {
    const auto row = s_.find_hidden(kind);
    return row && s_.hidden[*row].extent == Hidden::Extent::Once &&
           s_.hidden[*row].element == ir::Type::U32 && s_.hidden[*row].count >= count;
  }
  [[nodiscard]] bool words() const {
    constexpr uint64_t kFixpointWords = 2;
    constexpr uint64_t kGridWords = 3;
    const auto fits = [&](Hidden::Kind kind, uint64_t count) {
      return !s_.find_hidden(kind) || has_words(kind, count);
    };
    if (s_.control.fixpoints != s_.fixpoints.size() || s_.control.resumes != s_.resumes.size())
      return false;
    return (s_.whole || has_words(Hidden::Kind::Control, uint64_t{s_.control.count()})) &&
           fits(Hidden::Kind::Frame, s_.frame_words) && printed() &&
           fits(Hidden::Kind::Fixpoint, kFixpointWords) && fits(Hidden::Kind::Grid, kGridWords) &&
           (s_.resumes.empty() || s_.find_hidden(Hidden::Kind::Mask));
  }

  // The host reads as many words of a record as its row says.
  [[nodiscard]] bool printed() const {
    const auto row = s_.find_hidden(Hidden::Kind::Print);
    if (row.has_value() != (s_.print_words != 0)) return false;
    if (row && (s_.hidden[*row].extent != Hidden::Extent::Once ||
                s_.hidden[*row].element != ir::Type::U32))
      return false;
    const auto fits = [](const plan::PrintSite& site, uint64_t most) {
      uint64_t words = 0;
      for (const ir::Type type : site.types) words += check::print_words(type);
      return words <= most;
    };
    const auto areas = static_cast<uint64_t>(std::ranges::count_if(s_.hidden, [](const Hidden& h) {
      return h.kind == Hidden::Kind::Asserted && h.extent == Hidden::Extent::PerLane &&
             h.element == ir::Type::U32 && h.count == 1;
    }));
    return std::ranges::all_of(
               s_.prints,
               [&](const plan::PrintSite& site) {
                 return fits(site, s_.print_words -
                                       std::min<uint64_t>(s_.print_words, check::kPrintRecordHead));
               }) &&
           std::ranges::all_of(s_.asserts,
                               [&](const plan::PrintSite& site) { return fits(site, areas); });
  }

  static bool binding(const EntryBinding& b) {
    return std::has_single_bit(b.element_bytes) && b.element_bytes <= 8;
  }
  [[nodiscard]] bool segment(const plan::SegmentLaunch& segment, const Entry& entry) const {
    const auto& group = entry.workgroup;
    if (segment.arguments.size() != entry.bindings.size() ||
        !std::ranges::all_of(entry.bindings, binding) || entry.threads == 0 ||
        entry.lanes_per_thread == 0 || std::ranges::find(group, 0U) != group.end() ||
        entry.whole != s_.whole)
      return false;
    const auto argument = [&](const plan::Argument& a) {
      return a.index < (a.kind == plan::Argument::Kind::Source ? buffers_ : s_.hidden.size());
    };
    const auto shared = [&](const plan::SharedUse& use) {
      return use.buffer.index() < segment.arguments.size() && use.hidden < s_.hidden.size();
    };
    return std::ranges::all_of(segment.arguments, argument) &&
           std::ranges::all_of(segment.shared, shared);
  }
  [[nodiscard]] bool segments() const {
    if (s_.segments.empty() || s_.segments.size() != entries_.size()) return false;
    for (size_t i = 0; i < s_.segments.size(); ++i)
      if (!segment(s_.segments[i], entries_[i])) return false;
    return true;
  }

  [[nodiscard]] bool fixpoint(const plan::FixpointInfo& info) const {
    return std::ranges::all_of(info.buffers, [&](const plan::FixpointBuffer& b) {
      if (!is_source(b.buffer)) return false;
      if (!b.snapshot) return true;
      return *b.snapshot < s_.hidden.size() && s_.hidden[*b.snapshot].like == b.buffer &&
             s_.hidden[*b.snapshot].extent == Hidden::Extent::LikeBuffer;
    });
  }

  [[nodiscard]] bool steps(const plan::Steps& list) const {
    return std::ranges::all_of(list, [&](const plan::Step& step) { return this->step(step); });
  }
  [[nodiscard]] bool step(const plan::Step& step) const {
    const auto decides_on = [&](uint32_t word) {
      return has_words(Hidden::Kind::Frame, uint64_t{word} + 1);
    };
    return match(
        step.node, [&](const plan::LaunchStep& x) { return x.segment < s_.segments.size(); },
        [](const plan::PhaseStep&) { return true; },
        [&](const plan::BranchStep& x) {
          return decides_on(x.word) && steps(x.then_steps) && steps(x.else_steps);
        },
        [&](const plan::LoopStep& x) {
          return decides_on(x.word) && steps(x.condition) && steps(x.body);
        },
        [&](const plan::FixpointStep& x) {
          return !s_.whole && x.fixpoint < s_.fixpoints.size() &&
                 (x.most.has_value() || decides_on(x.word)) && steps(x.body);
        },
        [&](const plan::ResumeStep& x) { return x.resume < s_.resumes.size(); },
        [&](const plan::CollectiveStep& x) {
          return is_source(x.src) && (!x.dst.valid() || is_source(x.dst));
        },
        [](const plan::CopyStep&) { return false; },
        [&](const plan::SwapStep& x) { return is_source(x.a) && is_source(x.b) && x.a != x.b; });
  }

  const Schedule& s_;
  const std::vector<Entry>& entries_;
  size_t buffers_;
};

}  // namespace

bool is_consistent(const Schedule& schedule, const std::vector<Entry>& entries, size_t buffers) {
  return ScheduleCheck(schedule, entries, buffers).run();
}

}  // namespace vyre::pipeline
