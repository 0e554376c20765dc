// SPDX-License-Identifier: Apache-2.0
// One launch on the interpreter: a whole program, a segment of a plan, or a segment whose
// workgroups are shared out among a few blocks.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "oracle/code.hpp"
#include "vyre/backend/reference.hpp"
#include "vyre/base/result.hpp"
#include "vyre/device/artifact.hpp"
#include "vyre/device/interpreted.hpp"
#include "vyre/device/steps.hpp"

namespace vyre::backend {

struct Kernel {
  device::Entry entry;
  std::shared_ptr<const device::InterpretedProgram> source;
  oracle::Code code;
};

struct LaunchRequest {
  const Kernel& kernel;
  const device::Launch& launch;
  device::Axes grid;
  std::vector<std::span<std::byte>> arguments;  // as long as the launch says
  const device::Submission& submission;
  const ReferenceOptions& options;
};

// Adds to Completion::whole and lane_stop. Errors: Internal for arguments that do not fit the
// program, Timeout, those of a whole program, and what HostServices::resume returns.
Result<void> run_launch(const LaunchRequest& request, device::Completion& completion);

}  // namespace vyre::backend
