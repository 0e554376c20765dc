// SPDX-License-Identifier: Apache-2.0
// Whether a schedule that comes from outside can be executed without looking at anything that is
// not there.
#pragma once

#include <cstddef>
#include <vector>

#include "vyre/device/artifact.hpp"
#include "vyre/plan/schedule.hpp"

namespace vyre::pipeline {

// `buffers`: of the source program.
bool is_consistent(const plan::Schedule& schedule, const std::vector<device::Entry>& entries,
                   size_t buffers);

}  // namespace vyre::pipeline
