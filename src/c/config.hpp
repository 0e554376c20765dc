// SPDX-License-Identifier: Apache-2.0
// vyre_options as a DispatchConfig.
#pragma once

#include <memory>

#include "c/handle.hpp"
#include "vyre/base/result.hpp"
#include "vyre/base/stop.hpp"

namespace vyre::c {

// InvalidArgument for values that no field has, Unsupported for fields of a newer header. NULL: an
// empty config. The source is that of the program whose traps a handler gets.
Result<Config> config_of(const vyre_options* options, std::shared_ptr<const Source> source);
// Of work of the host: timeout and cancel of the config.
StopCondition stop_of(const Config& config);

}  // namespace vyre::c
