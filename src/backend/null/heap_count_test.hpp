// SPDX-License-Identifier: Apache-2.0
// How many allocations this test program has made so far; nothing if a sanitizer has its
// own heap.
#pragma once

#include <cstdint>
#include <optional>

std::optional<uint64_t> heap_allocations();
