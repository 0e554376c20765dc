// SPDX-License-Identifier: Apache-2.0
// What a pipeline did and would do, in the JSON of the tool.
#pragma once

#include <vector>

#include "c/boundary.hpp"
#include "c/handle.hpp"

namespace vyre::c {

Json report_json(const vyre_pipeline& pipeline, run::Report report);
Json report_json(const run::SequenceReport& report);
// `inputs` empty: not known.
Result<Json> plan_json(const vyre_pipeline& pipeline, const std::vector<run::Argument>& inputs,
                       const Config& config);

}  // namespace vyre::c
