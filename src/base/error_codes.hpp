// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vyre/base/result.hpp"

namespace vyre {

// Whether a number that came from outside of the process is one of the codes. name_of(),
// exit_code_of() and to_string() require one that is.
bool is_known(ErrorCode code);

}  // namespace vyre
