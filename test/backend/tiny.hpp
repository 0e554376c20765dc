// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vyre/device/registry.hpp"

namespace vyre::test {

device::BackendDescriptor tiny_descriptor();

}  // namespace vyre::test
