// SPDX-License-Identifier: Apache-2.0
// How often this test program has asked the heap for memory so far.
#pragma once

#include <cstdint>

uint64_t heap_allocations();
