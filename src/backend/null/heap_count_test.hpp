// SPDX-License-Identifier: Apache-2.0
// How often this test program has asked the heap for memory so far; nothing if a sanitizer has its
// own heap.
#pragma once

#include <cstdint>
#include <optional>

std::optional<uint64_t> heap_allocations();
