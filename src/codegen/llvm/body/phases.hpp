// SPDX-License-Identifier: Apache-2.0
// A segment of a plan as phases: stretches in which the lanes of a workgroup need not wait for each
// other. A segment without a workgroup barrier is one phase, the segment itself; any other is cut
// at its barriers (plan::cut_workgroup). Both the generator and the explanation of a stop number
// the places of the source by this.
#pragma once

#include <optional>

#include "codegen/llvm/body/memory_ref.hpp"
#include "vyre/plan/plan.hpp"

namespace vyre::codegen {

class Phases {
 public:
  // `checked`: accesses out of bounds end lanes.
  static Result<Phases> make(const check::CheckedProgram& segment, bool checked);
  // One phase, whatever is in it.
  static Phases whole(const check::CheckedProgram& segment);

  // Null: the segment is one phase.
  [[nodiscard]] const plan::Plan* cut() const { return cut_ ? &*cut_ : nullptr; }
  [[nodiscard]] size_t count() const { return cut_ ? cut_->segments.size() : 1; }
  [[nodiscard]] const check::CheckedProgram& program(size_t phase) const {
    return cut_ ? cut_->segments[phase].program : *segment_;
  }

  // Numbers of places; those of traps in cut segments are rows of plan::Plan::sites instead.
  [[nodiscard]] uint32_t site(size_t phase, SiteRef place) const;
  struct Place {
    size_t phase = 0;
    SiteRef at;
  };
  [[nodiscard]] std::optional<Place> place(uint32_t site) const;

 private:
  const check::CheckedProgram* segment_ = nullptr;
  std::vector<uint32_t> first_site_ = {};  // by phase
  std::optional<plan::Plan> cut_;
};

// Sites of a cut segment that are no places of a phase: its copies (source, then destination) and
// its loops, counted in the order of the plan's steps.
inline constexpr uint32_t kCopySites = 1U << 30;
inline constexpr uint32_t kLoopSites = 1U << 31;
// Between blocks and workgroups.
inline constexpr uint32_t kNoSite = ~uint32_t{0};

// The same for a segment that stays whole, on devices whose lanes can wait for each other.
uint32_t uncut_site(SiteRef place);

// Barriers, loads with barriers and copies of workgroup scope.
bool needs_workgroup(const check::CheckedProgram& program);

}  // namespace vyre::codegen
