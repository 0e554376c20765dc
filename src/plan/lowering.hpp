// SPDX-License-Identifier: Apache-2.0
// A program on its way to a plan: the value that the passes of lower.cpp take and return. Each part
// is empty until the pass that makes it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "plan/native/native.hpp"
#include "plan/spill.hpp"

namespace vyre::plan {

// What a program is lowered for.
enum class Target : uint8_t {
  Split,       // a launch for each segment: the resident and the host route
  Native,      // barriers inside the launch
  Persistent,  // the same for blocks that iterate over virtual workgroups
  Phases,      // a workgroup whose lanes run one after the other between its barriers
};

enum class Refusal : uint8_t {
  TooLarge,       // for any memory
  NotPersistent,  // the program cannot be made persistent
};

struct Lowering {
  Lowering(const check::CheckedProgram& checked, const PlanOptions& how, Target to);

  [[nodiscard]] bool stays_in_launch() const {
    return target == Target::Native || target == Target::Persistent;
  }

  PlanOptions options;
  Target target;
  CutPoints cuts;
  Draft d;
  ir::BufferId control;               // the control words
  std::optional<NativeState> native;  // of a route with barriers inside launches
  Tree tree;
  std::optional<Storage> storage;
  HiddenBuffers hidden;
  std::map<uint16_t, uint32_t> resumes;  // by tag: row of Plan::resumes
  std::vector<uint32_t> segment_of;      // by segment
  Plan plan;
  std::optional<Refusal> refusal;  // no pass runs after one that refuses
};

}  // namespace vyre::plan
