// SPDX-License-Identifier: Apache-2.0
// Many passes over data with OpenMP: one parallel region with a barrier after each pass, or a
// region per pass (heat_fork, life_fork). Compiled once per set
// of flags, as peers_omp.cpp is.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include <omp.h>

#include "peers.hpp"

namespace vyre::bench {
namespace {

using u32 = uint32_t;

void barriers(u32 passes) {
#pragma omp parallel
  for (u32 k = 0; k < passes; ++k) {
#pragma omp barrier
  }
}

void heat_row(const float* __restrict a, float* __restrict b, size_t w, size_t y) {
  const float* here = a + y * w;
  float* to = b + y * w;
  for (size_t x = 1; x < w - 1; ++x)
    to[x] = 0.25f * ((here[x - w] + here[x + w]) + (here[x - 1] + here[x + 1]));
}

void heat(float* a, float* b, size_t w, size_t h, u32 steps) {
#pragma omp parallel
  for (u32 t = 0; t < steps; ++t) {
    const float* from = t % 2 == 0 ? a : b;
    float* to = t % 2 == 0 ? b : a;
#pragma omp for schedule(static)
    for (size_t y = 1; y < h - 1; ++y) heat_row(from, to, w, y);
  }
}

void heat_fork(float* a, float* b, size_t w, size_t h, u32 steps) {
  for (u32 t = 0; t < steps; ++t) {
#pragma omp parallel for schedule(static)
    for (size_t y = 1; y < h - 1; ++y) heat_row(a, b, w, y);
    std::swap(a, b);
  }
}

// A torus: the inner columns are one loop without wrapping.
void life_row(const uint8_t* __restrict a, uint8_t* __restrict b, size_t w, size_t h, size_t y) {
  const uint8_t* up = a + (y == 0 ? h - 1 : y - 1) * w;
  const uint8_t* here = a + y * w;
  const uint8_t* down = a + (y == h - 1 ? 0 : y + 1) * w;
  uint8_t* to = b + y * w;
  const auto cell = [&](size_t l, size_t x, size_t r) {
    const auto n = static_cast<uint8_t>(up[l] + up[x] + up[r] + here[l] + here[r] + down[l] +
                                        down[x] + down[r]);
    to[x] = static_cast<uint8_t>((n == 3) | ((n == 2) & here[x]));
  };
  cell(w - 1, 0, 1);
  for (size_t x = 1; x < w - 1; ++x) cell(x - 1, x, x + 1);
  cell(w - 2, w - 1, 0);
}

void life(uint8_t* a, uint8_t* b, size_t w, size_t h, u32 steps) {
#pragma omp parallel
  for (u32 t = 0; t < steps; ++t) {
    const uint8_t* from = t % 2 == 0 ? a : b;
    uint8_t* to = t % 2 == 0 ? b : a;
#pragma omp for schedule(static)
    for (size_t y = 0; y < h; ++y) life_row(from, to, w, h, y);
  }
}

void life_fork(uint8_t* a, uint8_t* b, size_t w, size_t h, u32 steps) {
  for (u32 t = 0; t < steps; ++t) {
#pragma omp parallel for schedule(static)
    for (size_t y = 0; y < h; ++y) life_row(a, b, w, h, y);
    std::swap(a, b);
  }
}

u32 load(const u32& place) {
  return std::atomic_ref<u32>(const_cast<u32&>(place)).load(std::memory_order_relaxed);
}

// The usual atomic minimum: nothing is written where it would change nothing.
bool lower(u32& place, u32 value) {
  std::atomic_ref<u32> ref(place);
  u32 old = ref.load(std::memory_order_relaxed);
  while (value < old)
    if (ref.compare_exchange_weak(old, value, std::memory_order_relaxed)) return true;
  return false;
}

// Static blocks are better where all nodes are alike; where some have many edges, small blocks are
// dealt out as threads become free.
void choose(Deal deal, int chunk) {
  if (deal == Deal::Static)
    omp_set_schedule(omp_sched_static, 0);
  else
    omp_set_schedule(omp_sched_dynamic, chunk);
}

// Level by level, a node looks at its neighbours when its level comes: all nodes every time, as the
// program does.
void bfs(const CsrGraph& graph, u32 start, u32* depth, Deal deal) {
  choose(deal, 4096);
  constexpr u32 kUnseen = ~u32{0};
  bool changed[2] = {true, false};
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (u32 v = 0; v < graph.nodes; ++v) depth[v] = v == start ? 0 : kUnseen;
    for (u32 level = 0;; ++level) {
      if (!std::atomic_ref<bool>(changed[level % 2]).load(std::memory_order_relaxed)) break;
#pragma omp barrier
#pragma omp master
      changed[level % 2] = false;
      bool mine = false;
#pragma omp for schedule(runtime) nowait
      for (u32 v = 0; v < graph.nodes; ++v) {
        if (load(depth[v]) != level) continue;
        for (u32 e = graph.row[v]; e < graph.row[v + 1]; ++e) {
          u32& next = depth[graph.col[e]];
          if (load(next) != kUnseen) continue;
          std::atomic_ref<u32>(next).store(level + 1, std::memory_order_relaxed);
          mine = true;
        }
      }
      if (mine)
        std::atomic_ref<bool>(changed[(level + 1) % 2]).store(true, std::memory_order_relaxed);
#pragma omp barrier
    }
  }
}

// Hooking and pointer jumping until nothing falls any more, as examples/components.vyre.
void components(const EdgeList& graph, u32* label) {
  bool changed[2] = {true, false};
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (u32 v = 0; v < graph.nodes; ++v) label[v] = v;
    for (u32 pass = 0;; ++pass) {
      if (!std::atomic_ref<bool>(changed[pass % 2]).load(std::memory_order_relaxed)) break;
#pragma omp barrier
#pragma omp master
      changed[pass % 2] = false;
      bool mine = false;
#pragma omp for schedule(static) nowait
      for (size_t e = 0; e < graph.count; ++e) {
        const u32 a = load(label[graph.from[e]]);
        const u32 b = load(label[graph.to[e]]);
        mine |= lower(label[std::max(a, b)], std::min(a, b));
      }
#pragma omp for schedule(static) nowait
      for (u32 v = 0; v < graph.nodes; ++v) mine |= lower(label[v], load(label[load(label[v])]));
      if (mine)
        std::atomic_ref<bool>(changed[(pass + 1) % 2]).store(true, std::memory_order_relaxed);
#pragma omp barrier
    }
  }
}

// As programs/pagerank.vyre: the same sums in the same order, the same end.
void pagerank(const CsrGraph& incoming, float* rank, u32* links, float* next, u32 limit,
              Deal deal) {
  choose(deal, 1024);
  constexpr float kDamping = 0.85f;
  constexpr float kClose = 0;
  const auto pages = static_cast<float>(incoming.nodes);
  float moved = 0;
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (u32 v = 0; v < incoming.nodes; ++v) {
      rank[v] = 1.0f / pages;
      links[v] = 0;
    }
#pragma omp for schedule(runtime)
    for (u32 v = 0; v < incoming.nodes; ++v)
      for (u32 e = incoming.row[v]; e < incoming.row[v + 1]; ++e)
        std::atomic_ref<u32>(links[incoming.col[e]]).fetch_add(1, std::memory_order_relaxed);
    for (u32 pass = 0; pass < limit; ++pass) {
#pragma omp single
      moved = 0;
#pragma omp for schedule(runtime) reduction(max : moved)
      for (u32 v = 0; v < incoming.nodes; ++v) {
        float total = 0;
        for (u32 e = incoming.row[v]; e < incoming.row[v + 1]; ++e)
          total += rank[incoming.col[e]] / static_cast<float>(links[incoming.col[e]]);
        next[v] = (1.0f - kDamping) / pages + kDamping * total;
        moved = std::max(moved, std::abs(next[v] - rank[v]));
      }
#pragma omp for schedule(static)
      for (u32 v = 0; v < incoming.nodes; ++v) rank[v] = next[v];
      if (moved <= kClose) break;  // the same for all: the loop above ended with a barrier
#pragma omp barrier
    }
  }
}

}  // namespace

extern const OmpPasses VYRE_PEER_TABLE;
const OmpPasses VYRE_PEER_TABLE = {VYRE_PEER_FLAGS, barriers, heat,       heat_fork, life,
                                   life_fork,       bfs,      components, pagerank};

}  // namespace vyre::bench
