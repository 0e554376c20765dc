// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vyre/device/registry.hpp"

namespace vyre::test {

device::BackendRow tiny_row();

}  // namespace vyre::test
