// SPDX-License-Identifier: Apache-2.0
// The sanitizers make the interpreter some ten times slower: tests then run fewer programs.
#pragma once

namespace vyre::generator {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace vyre::generator
