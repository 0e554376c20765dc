// SPDX-License-Identifier: Apache-2.0
// The rows of the table, by id: each function measures the cases of one goal of
// docs/performance/cpu.md.
#pragma once

#include "harness.hpp"

namespace vyre::bench {

void barrier_rows(Bench& bench);   // C1
void stream_rows(Bench& bench);    // C2
void cache_rows(Bench& bench);     // C3
void reduce_rows(Bench& bench);    // C4
void graph_rows(Bench& bench);     // C5
void stencil_rows(Bench& bench);   // C6
void cold_rows(Bench& bench);      // C7
void dispatch_rows(Bench& bench);  // C8
void corpus_rows(Bench& bench);    // C9
void maths_rows(Bench& bench);     // C10
void matmul_rows(Bench& bench);    // C11

}  // namespace vyre::bench
