// SPDX-License-Identifier: Apache-2.0
// The arguments of a caller, checked and held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "c/handle.hpp"
#include "vyre/base/result.hpp"

namespace vyre::c {

struct CallerArguments {
  const vyre_arg* inputs = nullptr;
  size_t input_count = 0;
  vyre_arg* outputs = nullptr;
  size_t output_count = 0;
};

// Fills in `written` of all outputs. InvalidArgument also for memory that is too small.
Result<std::unique_ptr<vyre_call>> bind(vyre_pipeline& pipeline, const CallerArguments& given,
                                        const vyre_options* options);

// The inputs alone, which keep no handle.
Result<std::vector<run::Argument>> read_inputs(const vyre_pipeline& pipeline,
                                               const vyre_arg* inputs, size_t count);
// Bytes of every output; none if the inputs are such that the dispatch itself refuses them.
std::optional<std::vector<uint64_t>> output_bytes(const vyre_pipeline& pipeline,
                                                  const std::vector<run::Argument>& inputs);
// The results of the host to where the caller has memory for them.
Result<void> copy_out(const vyre_call& call, const run::Outputs& results);

}  // namespace vyre::c
