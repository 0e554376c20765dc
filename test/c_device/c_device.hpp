// SPDX-License-Identifier: Apache-2.0
// Device `c`: programs as printed C, compiled by the C compiler of this system and run on one
// thread. It shows that the printed code is right, and how little a target of one's own needs; it
// is no part of the library, which starts no compilers.
#pragma once

#include <memory>
#include <string>

#include "vyre/base/result.hpp"
#include "vyre/device/backend.hpp"

namespace vyre::test {

// What open_c() would open.
device::BackendInfo c_info();

// Why there is no such device here; empty: there is one.
const std::string& why_no_c();

// Unavailable without a compiler. VYRE_CC names another one than `cc`.
Result<std::shared_ptr<device::Backend>> open_c();

}  // namespace vyre::test
