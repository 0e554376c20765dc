// SPDX-License-Identifier: Apache-2.0
// Where the places that code and schedules speak of by number are in the source. Code from the
// cache comes without a plan; the first question then plans the program again, which gives the same
// numbers. That is rare: it takes a lane that traps, a dispatch out of time, or another failure.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "device/kernel.hpp"
#include "vyre/pipeline/compiler.hpp"

namespace vyre::pipeline {

class SiteTable {
 public:
  struct Origin {
    std::shared_ptr<const check::CheckedProgram> program;
    Policy policy;
    device::Capabilities capabilities;
    device::Format format = device::Format::Program;  // of the code as it was generated
  };
  // `plan`: of the origin; null if it is not made yet.
  SiteTable(Origin origin, std::shared_ptr<const plan::Plan> plan)
      : origin_(std::move(origin)), plan_(std::move(plan)) {}

  // May be called by several threads at once.
  [[nodiscard]] Result<std::shared_ptr<const plan::Plan>> plan() const;
  // Of Plan::sites. Unknown if there is no such site, or the program has no positions.
  [[nodiscard]] Position print(uint32_t number) const;
  [[nodiscard]] Position site(uint32_t number) const;
  // Of a collective step in the tree of a schedule of this program.
  [[nodiscard]] Position collective(const plan::Schedule& schedule,
                                    const plan::CollectiveStep& step) const;
  // device::StopExplainer.
  [[nodiscard]] Error explain(uint32_t entry, const device::KernelStop& stop) const;

 private:
  Origin origin_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const plan::Plan> plan_;
};

}  // namespace vyre::pipeline
