// SPDX-License-Identifier: Apache-2.0
// Bytes in bulk: what one thread does well when there are few, and several when there are many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/pool.hpp"

namespace vyre::backend::cpu {

// About how long one thread takes for `bytes` bytes.
constexpr uint64_t bulk_ns(uint64_t bytes) {
  return bytes / 16;
}

// With `pool`, which the caller owns, on several threads; null: on this one. Lengths are the same.
void bulk_fill(Pool* pool, std::span<std::byte> to, std::byte value);
void bulk_copy(Pool* pool, std::span<std::byte> to, std::span<const std::byte> from);
bool bulk_differ(Pool* pool, std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace vyre::backend::cpu
