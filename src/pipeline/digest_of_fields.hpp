// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vyre/base/digest.hpp"
#include "vyre/pipeline/compiler.hpp"

namespace vyre::pipeline {

// Different fields have different digests, also where names and values run into each other.
Digest digest_of_fields(const Fields& fields);

}  // namespace vyre::pipeline
