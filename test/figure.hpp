// SPDX-License-Identifier: Apache-2.0
// How often a test does what it does: a small number in every run, that of a variable of the
// environment in long ones. tools/nightly sets them; CONTRIBUTING.md lists them.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace vyre::test {

inline uint64_t figure(const char* variable, uint64_t usual) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return usual;
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  return end != text && *end == '\0' && value > 0 ? value : usual;
}

}  // namespace vyre::test
