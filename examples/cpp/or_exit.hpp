// SPDX-License-Identifier: Apache-2.0
// For short programs: the value of a Result, or the end with its error on stderr and an exit code
// that tells what kind of error it was.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <vyre/vyre.hpp>

template <class T>
T or_exit(vyre::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", to_string(result.error()).c_str());
    std::exit(exit_code_of(result.error().code));
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}
