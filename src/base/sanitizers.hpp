// SPDX-License-Identifier: Apache-2.0
// Which sanitizer a file is compiled with: g++ defines a macro, clang answers __has_feature.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define VYRE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VYRE_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef VYRE_ADDRESS_SANITIZER
#define VYRE_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__)
#define VYRE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VYRE_THREAD_SANITIZER 1
#endif
#endif
#ifndef VYRE_THREAD_SANITIZER
#define VYRE_THREAD_SANITIZER 0
#endif

namespace vyre::base {

inline constexpr bool kAddressSanitizer = VYRE_ADDRESS_SANITIZER != 0;
inline constexpr bool kThreadSanitizer = VYRE_THREAD_SANITIZER != 0;
// Either makes everything slower, reserves terabytes of addresses and ends the process where an
// allocation fails.
inline constexpr bool kSanitized = kAddressSanitizer || kThreadSanitizer;

}  // namespace vyre::base
