// Printed by vyre. Compile with -std=c17 -ffp-contract=off.
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// ---- how a caller runs a segment

struct vyre_binding {
  void *address;
  uint32_t length;  // elements
  uint32_t zero;
};
struct vyre_args {
  uint32_t grid[3];  // workgroups
  uint32_t zero;
  uint64_t reserved[2];
  struct vyre_binding bindings[];
};
// Why the smallest lane that stopped did so.
struct vyre_stop {
  uint16_t kind;    // 0: none, 1: trap, 2: out of bounds
  uint16_t memory;
  uint32_t site;
  uint32_t lane;    // UINT32_MAX before the first
  uint32_t value;
  uint64_t index;
};
struct vyre_worker {
  unsigned char *scratch;
  uint32_t (*poll)(struct vyre_worker *worker, uint32_t site);  // not 0: give up
  struct vyre_stop stop;
  uint64_t reserved[2];
};
struct vyre_info {
  uint64_t scratch_bytes;
  uint32_t cost;
  uint32_t flags;
};

// ---- the workgroup that runs

struct vyre_group {
  struct vyre_worker *worker;
  uint32_t grid[3], wid[3];
  uint32_t first_lane;  // its number in the grid
  uint32_t ticks;
  bool ended;    // the lane, in a function that it called
  bool gave_up;  // the whole launch
};

static inline struct vyre_group vyre_start(const struct vyre_args *args,
                                           struct vyre_worker *worker) {
  const struct vyre_group g = {.worker = worker,
                               .grid = {args->grid[0], args->grid[1], args->grid[2]}};
  return g;
}

static inline void vyre_enter_workgroup(struct vyre_group *g, uint64_t n, uint32_t lanes) {
  g->wid[0] = (uint32_t)(n % g->grid[0]);
  g->wid[1] = (uint32_t)(n / g->grid[0] % g->grid[1]);
  g->wid[2] = (uint32_t)(n / g->grid[0] / g->grid[1]);
  g->first_lane = (uint32_t)n * lanes;
}

static inline void vyre_stop_lane(struct vyre_group *g, uint16_t kind, uint32_t site, uint32_t lane,
                                  uint32_t value, uint64_t index, uint16_t memory) {
  struct vyre_stop *const stop = &g->worker->stop;
  if (lane >= stop->lane) return;
  *stop = (struct vyre_stop){kind, memory, site, lane, value, index};
}

static inline bool vyre_tick(struct vyre_group *g, uint32_t site, uint32_t statements) {
  if ((g->ticks += statements) < 16384) return false;
  g->ticks = 0;
  if (g->worker->poll(g->worker, site) == 0) return false;
  return g->ended = g->gave_up = true;
}

// ---- operations

static inline void store_u32(volatile uint32_t *p, uint64_t n, uint64_t i, uint32_t x) {
  if (i < n) p[i] = x;
}

static inline uint32_t load_u32(const volatile uint32_t *p, uint64_t n, uint64_t i) {
  return i < n ? p[i] : 0;
}

static inline void atomic_store_u32(volatile uint32_t *p, uint64_t n, uint64_t i, uint32_t x, memory_order order) {
  if (i < n) atomic_store_explicit((volatile _Atomic(uint32_t) *)(p + i), (uint32_t)x, order);
}

static inline uint32_t div_u32(uint32_t x, uint32_t y) {
  return y == 0 ? x : x / y;
}

static inline uint32_t clamp_u32(uint32_t x, uint32_t low, uint32_t high) {
  const uint32_t y = x < low ? low : x;
  return high < y ? high : y;
}

static inline uint32_t atomic_add_u32(volatile uint32_t *p, uint64_t n, uint64_t i, uint32_t x, memory_order order) {
  return i < n ? atomic_fetch_add_explicit((volatile _Atomic(uint32_t) *)(p + i), (uint32_t)x, order) : 0;
}

// ---- segment 0: main, 64 lanes in a workgroup

struct buffers_0 {
  const uint32_t *range_b0; uint32_t range_n0;
  const uint32_t *reading_b1; uint32_t reading_n1;
  uint32_t *control_b2; uint32_t control_n2;
  uint32_t *mask_b3; uint32_t mask_n3;
  uint32_t *trap_value_b4; uint32_t trap_value_n4;
  uint32_t *trap_site_b5; uint32_t trap_site_n5;
};

static void phase_0(struct vyre_group *g, const struct buffers_0 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = (((((g->wid[2] * g->grid[1]) + g->wid[1]) * g->grid[0]) + g->wid[0]) * 64u) + lane;
    {  // region main
      const uint32_t i_v1 = g->wid[0] * 64u + lane;
      if (i_v1 >= m->reading_n1) {
        store_u32(m->mask_b3, m->mask_n3, lane_v0, 1u);
        return;
      }
      if ((load_u32(m->reading_b1, m->reading_n1, i_v1) < load_u32(m->range_b0, m->range_n0, 0u)) || (load_u32(m->reading_b1, m->reading_n1, i_v1) > load_u32(m->range_b0, m->range_n0, 1u))) {
        store_u32(m->trap_value_b4, m->trap_value_n4, lane_v0, load_u32(m->reading_b1, m->reading_n1, i_v1));
        store_u32(m->trap_site_b5, m->trap_site_n5, lane_v0, 0u);
        store_u32(m->mask_b3, m->mask_n3, lane_v0, 2u);
        atomic_store_u32(m->control_b2, m->control_n2, 3u, 1u, memory_order_relaxed);
        return;
      }
    }
    atomic_store_u32(m->control_b2, m->control_n2, 0u, 1u, memory_order_relaxed);
  }
}

void vyre_entry_0(const struct vyre_args *args, struct vyre_worker *worker, uint64_t first_group,
               uint64_t count) {
  struct vyre_group group = vyre_start(args, worker), *const g = &group;
  const struct buffers_0 buffers = {
    .range_b0 = args->bindings[0].address, .range_n0 = args->bindings[0].length,
    .reading_b1 = args->bindings[1].address, .reading_n1 = args->bindings[1].length,
    .control_b2 = args->bindings[2].address, .control_n2 = args->bindings[2].length,
    .mask_b3 = args->bindings[3].address, .mask_n3 = args->bindings[3].length,
    .trap_value_b4 = args->bindings[4].address, .trap_value_n4 = args->bindings[4].length,
    .trap_site_b5 = args->bindings[5].address, .trap_site_n5 = args->bindings[5].length,
  };
  for (uint64_t n = first_group; n < first_group + count; ++n) {
    vyre_enter_workgroup(g, n, 64u);
    for (uint32_t lane = 0; lane < 64; ++lane) {
      phase_0(g, &buffers, lane);
      if (g->gave_up) return;
    }
    if (vyre_tick(g, 0xffffffffu, 64)) return;
  }
}

// ---- segment 1: main, 64 lanes in a workgroup

struct buffers_1 {
  const uint32_t *range_b0; uint32_t range_n0;
  const uint32_t *reading_b1; uint32_t reading_n1;
  uint32_t *broken_b2; uint32_t broken_n2;
  uint32_t *control_b3; uint32_t control_n3;
  uint32_t *slot_0_b4; uint32_t slot_0_n4;
  const uint32_t *mask_b5; uint32_t mask_n5;
};

static void phase_1(struct vyre_group *g, const struct buffers_1 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = (((((g->wid[2] * g->grid[1]) + g->wid[1]) * g->grid[0]) + g->wid[0]) * 64u) + lane;
    if (load_u32(m->mask_b5, m->mask_n5, lane_v0) != 0u) {
      return;
    }
    const uint32_t i_v1 = g->wid[0] * 64u + lane;
    uint32_t value_v2 = 0u;
    {  // region main
      const bool bad_v3 = (load_u32(m->reading_b1, m->reading_n1, i_v1) < load_u32(m->range_b0, m->range_n0, 0u)) || (load_u32(m->reading_b1, m->reading_n1, i_v1) > load_u32(m->range_b0, m->range_n0, 1u));
      value_v2 = load_u32(m->reading_b1, m->reading_n1, i_v1);
      if (bad_v3) {
        uint32_t low_v4 = i_v1;
        while ((low_v4 > 0u) && ((load_u32(m->reading_b1, m->reading_n1, low_v4) < load_u32(m->range_b0, m->range_n0, 0u)) || (load_u32(m->reading_b1, m->reading_n1, low_v4) > load_u32(m->range_b0, m->range_n0, 1u)))) {
          if (vyre_tick(g, 0, 1)) return;
          low_v4 = low_v4 - 1u;
        }
        uint32_t high_v5 = i_v1;
        while (((high_v5 + 1u) < m->reading_n1) && ((load_u32(m->reading_b1, m->reading_n1, high_v5) < load_u32(m->range_b0, m->range_n0, 0u)) || (load_u32(m->reading_b1, m->reading_n1, high_v5) > load_u32(m->range_b0, m->range_n0, 1u)))) {
          if (vyre_tick(g, 1, 1)) return;
          high_v5 = high_v5 + 1u;
        }
        value_v2 = clamp_u32(div_u32(load_u32(m->reading_b1, m->reading_n1, low_v4) + load_u32(m->reading_b1, m->reading_n1, high_v5), 2u), load_u32(m->range_b0, m->range_n0, 0u), load_u32(m->range_b0, m->range_n0, 1u));
        atomic_add_u32(m->broken_b2, m->broken_n2, 0u, 1u, memory_order_relaxed);
      }
    }
    store_u32(m->slot_0_b4, m->slot_0_n4, lane_v0, value_v2);
    atomic_store_u32(m->control_b3, m->control_n3, 0u, 1u, memory_order_relaxed);
  }
}

void vyre_entry_1(const struct vyre_args *args, struct vyre_worker *worker, uint64_t first_group,
               uint64_t count) {
  struct vyre_group group = vyre_start(args, worker), *const g = &group;
  const struct buffers_1 buffers = {
    .range_b0 = args->bindings[0].address, .range_n0 = args->bindings[0].length,
    .reading_b1 = args->bindings[1].address, .reading_n1 = args->bindings[1].length,
    .broken_b2 = args->bindings[2].address, .broken_n2 = args->bindings[2].length,
    .control_b3 = args->bindings[3].address, .control_n3 = args->bindings[3].length,
    .slot_0_b4 = args->bindings[4].address, .slot_0_n4 = args->bindings[4].length,
    .mask_b5 = args->bindings[5].address, .mask_n5 = args->bindings[5].length,
  };
  for (uint64_t n = first_group; n < first_group + count; ++n) {
    vyre_enter_workgroup(g, n, 64u);
    for (uint32_t lane = 0; lane < 64; ++lane) {
      phase_1(g, &buffers, lane);
      if (g->gave_up) return;
    }
    if (vyre_tick(g, 0xffffffffu, 64)) return;
  }
}

// ---- segment 2: main, 64 lanes in a workgroup

struct buffers_2 {
  uint32_t *reading_b0; uint32_t reading_n0;
  uint32_t *control_b1; uint32_t control_n1;
  const uint32_t *slot_0_b2; uint32_t slot_0_n2;
  const uint32_t *mask_b3; uint32_t mask_n3;
};

static void phase_2(struct vyre_group *g, const struct buffers_2 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = (((((g->wid[2] * g->grid[1]) + g->wid[1]) * g->grid[0]) + g->wid[0]) * 64u) + lane;
    if (load_u32(m->mask_b3, m->mask_n3, lane_v0) != 0u) {
      return;
    }
    const uint32_t i_v1 = g->wid[0] * 64u + lane;
    uint32_t value_v2 = load_u32(m->slot_0_b2, m->slot_0_n2, lane_v0);
    {  // region main
      store_u32(m->reading_b0, m->reading_n0, i_v1, value_v2);
    }
    atomic_store_u32(m->control_b1, m->control_n1, 0u, 1u, memory_order_relaxed);
  }
}

void vyre_entry_2(const struct vyre_args *args, struct vyre_worker *worker, uint64_t first_group,
               uint64_t count) {
  struct vyre_group group = vyre_start(args, worker), *const g = &group;
  const struct buffers_2 buffers = {
    .reading_b0 = args->bindings[0].address, .reading_n0 = args->bindings[0].length,
    .control_b1 = args->bindings[1].address, .control_n1 = args->bindings[1].length,
    .slot_0_b2 = args->bindings[2].address, .slot_0_n2 = args->bindings[2].length,
    .mask_b3 = args->bindings[3].address, .mask_n3 = args->bindings[3].length,
  };
  for (uint64_t n = first_group; n < first_group + count; ++n) {
    vyre_enter_workgroup(g, n, 64u);
    for (uint32_t lane = 0; lane < 64; ++lane) {
      phase_2(g, &buffers, lane);
      if (g->gave_up) return;
    }
    if (vyre_tick(g, 0xffffffffu, 64)) return;
  }
}

// ---- what a caller has to know of each segment

const struct vyre_info vyre_info[3] = {
    {0, 100, 4},
    {0, 100, 4},
    {0, 100, 4},
};
