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

static inline uint32_t load_u32(const volatile uint32_t *p, uint64_t n, uint64_t i) {
  return i < n ? p[i] : 0;
}

static inline void store_u32(volatile uint32_t *p, uint64_t n, uint64_t i, uint32_t x) {
  if (i < n) p[i] = x;
}

static inline void atomic_store_u32(volatile uint32_t *p, uint64_t n, uint64_t i, uint32_t x, memory_order order) {
  if (i < n) atomic_store_explicit((volatile _Atomic(uint32_t) *)(p + i), (uint32_t)x, order);
}

// ---- segment 0: main, 256 lanes in a workgroup

struct buffers_0_0 {
  const uint32_t *x_b0; uint32_t x_n0;
  uint32_t *s_b1; uint32_t s_n1;
  uint32_t *slot_0_2_b2; uint32_t slot_0_2_n2;
};

static void phase_0_0(struct vyre_group *g, const struct buffers_0_0 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = lane;
    uint32_t sum_v1 = 0u;
    {  // region main
      const uint32_t lane_2_v2 = (((((g->wid[2] * g->grid[1]) + g->wid[1]) * g->grid[0]) + g->wid[0]) * 256u) + lane;
      uint32_t within_v3 = 0u;
      {  // region main
        const uint32_t i_v4 = g->wid[0] * 256u + lane;
        uint32_t element_v5 = 0u;
        if (i_v4 < m->x_n0) {
          element_v5 = load_u32(m->x_b0, m->x_n0, i_v4);
        }
        const uint32_t lane_2_2_v6 = lane;
        const uint32_t value_v7 = element_v5;
        uint32_t scan_workgroup_2_v8 = 0u;
        sum_v1 = value_v7;
        store_u32(m->s_b1, m->s_n1, lane_2_2_v6, sum_v1);
      }
    }
    store_u32(m->slot_0_2_b2, m->slot_0_2_n2, lane_v0, sum_v1);
  }
}

struct buffers_0_1 {
  uint32_t *next_frame_b0; uint32_t next_frame_n0;
};

static void phase_0_1(struct vyre_group *g, const struct buffers_0_1 *m, uint32_t lane) {
  {  // region main
    uint32_t distance_v0 = 0u;
    {  // region main
      {  // region main
        distance_v0 = 1u;
      }
    }
    atomic_store_u32(m->next_frame_b0, m->next_frame_n0, 0u, distance_v0, memory_order_relaxed);
  }
}

struct buffers_0_2 {
  const uint32_t *frame_b0; uint32_t frame_n0;
  uint32_t *next_frame_b1; uint32_t next_frame_n1;
};

static void phase_0_2(struct vyre_group *g, const struct buffers_0_2 *m, uint32_t lane) {
  {  // region main
    uint32_t distance_v0 = load_u32(m->frame_b0, m->frame_n0, 0u);
    bool again_v1 = false;
    {  // region main
      {  // region main
        again_v1 = distance_v0 < 256u;
      }
    }
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 0u, distance_v0, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 1u, (uint32_t)again_v1, memory_order_relaxed);
  }
}

struct buffers_0_3 {
  const uint32_t *s_b0; uint32_t s_n0;
  const uint32_t *frame_b1; uint32_t frame_n1;
  uint32_t *slot_0_2_b2; uint32_t slot_0_2_n2;
};

static void phase_0_3(struct vyre_group *g, const struct buffers_0_3 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = lane;
    const uint32_t lane_2_v1 = lane;
    uint32_t sum_v2 = load_u32(m->slot_0_2_b2, m->slot_0_2_n2, lane_v0);
    uint32_t distance_v3 = load_u32(m->frame_b1, m->frame_n1, 0u);
    {  // region main
      {  // region main
        if (lane_2_v1 >= distance_v3) {
          sum_v2 = sum_v2 + load_u32(m->s_b0, m->s_n0, lane_2_v1 - distance_v3);
        }
      }
    }
    store_u32(m->slot_0_2_b2, m->slot_0_2_n2, lane_v0, sum_v2);
  }
}

struct buffers_0_4 {
  uint32_t *s_b0; uint32_t s_n0;
  const uint32_t *slot_0_2_b1; uint32_t slot_0_2_n1;
};

static void phase_0_4(struct vyre_group *g, const struct buffers_0_4 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = lane;
    const uint32_t lane_2_v1 = lane;
    uint32_t sum_v2 = load_u32(m->slot_0_2_b1, m->slot_0_2_n1, lane_v0);
    {  // region main
      {  // region main
        store_u32(m->s_b0, m->s_n0, lane_2_v1, sum_v2);
      }
    }
  }
}

struct buffers_0_5 {
  const uint32_t *frame_b0; uint32_t frame_n0;
  uint32_t *next_frame_b1; uint32_t next_frame_n1;
};

static void phase_0_5(struct vyre_group *g, const struct buffers_0_5 *m, uint32_t lane) {
  {  // region main
    uint32_t distance_v0 = load_u32(m->frame_b0, m->frame_n0, 0u);
    {  // region main
      {  // region main
        distance_v0 = distance_v0 * 2u;
      }
    }
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 0u, distance_v0, memory_order_relaxed);
  }
}

struct buffers_0_6 {
  uint32_t *blocks_b0; uint32_t blocks_n0;
  uint32_t *slot_0_b1; uint32_t slot_0_n1;
  const uint32_t *slot_0_2_b2; uint32_t slot_0_2_n2;
};

static void phase_0_6(struct vyre_group *g, const struct buffers_0_6 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = lane;
    const uint32_t lane_2_v1 = (((((g->wid[2] * g->grid[1]) + g->wid[1]) * g->grid[0]) + g->wid[0]) * 256u) + lane;
    uint32_t sum_v2 = load_u32(m->slot_0_2_b2, m->slot_0_2_n2, lane_v0);
    uint32_t scan_workgroup_2_v3 = 0u;
    uint32_t within_v4 = 0u;
    {  // region main
      {  // region main
        scan_workgroup_2_v3 = sum_v2;
        within_v4 = scan_workgroup_2_v3;
        if (lane == (256u - 1u)) {
          store_u32(m->blocks_b0, m->blocks_n0, g->wid[0], within_v4);
        }
      }
      store_u32(m->slot_0_b1, m->slot_0_n1, lane_2_v1, within_v4);
    }
  }
}

// All memory of a workgroup: buffers, and what lives across its barriers.
struct state_0 {
  const uint32_t *x_b0; uint32_t x_n0;
  uint32_t *blocks_b1; uint32_t blocks_n1;
  uint32_t *s_b2; uint32_t s_n2;
  uint32_t *slot_0_b3; uint32_t slot_0_n3;
  uint32_t *control_h0;  // control
  uint32_t *frame_h1[2];  // frame
  uint32_t *slot_0_2_h2;  // slot
  unsigned half;  // of what has two: phases read one and write the other
};

// The phases of a workgroup, in their order.
static void steps_0(struct vyre_group *g, struct state_0 *s) {
  {
    const struct buffers_0_0 buffers = {
      .x_b0 = s->x_b0, .x_n0 = s->x_n0,
      .s_b1 = s->s_b2, .s_n1 = s->s_n2,
      .slot_0_2_b2 = s->slot_0_2_h2, .slot_0_2_n2 = 256,
    };
    for (uint32_t lane = 0; lane < 256; ++lane) {
      phase_0_0(g, &buffers, lane);
      if (g->gave_up) return;
    }
  }
  {
    const struct buffers_0_1 buffers = {
      .next_frame_b0 = s->frame_h1[s->half ^ 1], .next_frame_n0 = 2,
    };
    for (uint32_t lane = 0; lane < 256; ++lane) {
      phase_0_1(g, &buffers, lane);
      if (g->gave_up) return;
    }
  }
  s->half ^= 1;
  for (;;) {
    {
      const struct buffers_0_2 buffers = {
        .frame_b0 = s->frame_h1[s->half], .frame_n0 = 2,
        .next_frame_b1 = s->frame_h1[s->half ^ 1], .next_frame_n1 = 2,
      };
      for (uint32_t lane = 0; lane < 256; ++lane) {
        phase_0_2(g, &buffers, lane);
        if (g->gave_up) return;
      }
    }
    s->half ^= 1;
    if (s->frame_h1[s->half][1] == 0) break;
    {
      const struct buffers_0_3 buffers = {
        .s_b0 = s->s_b2, .s_n0 = s->s_n2,
        .frame_b1 = s->frame_h1[s->half], .frame_n1 = 2,
        .slot_0_2_b2 = s->slot_0_2_h2, .slot_0_2_n2 = 256,
      };
      for (uint32_t lane = 0; lane < 256; ++lane) {
        phase_0_3(g, &buffers, lane);
        if (g->gave_up) return;
      }
    }
    {
      const struct buffers_0_4 buffers = {
        .s_b0 = s->s_b2, .s_n0 = s->s_n2,
        .slot_0_2_b1 = s->slot_0_2_h2, .slot_0_2_n1 = 256,
      };
      for (uint32_t lane = 0; lane < 256; ++lane) {
        phase_0_4(g, &buffers, lane);
        if (g->gave_up) return;
      }
    }
    {
      const struct buffers_0_5 buffers = {
        .frame_b0 = s->frame_h1[s->half], .frame_n0 = 2,
        .next_frame_b1 = s->frame_h1[s->half ^ 1], .next_frame_n1 = 2,
      };
      for (uint32_t lane = 0; lane < 256; ++lane) {
        phase_0_5(g, &buffers, lane);
        if (g->gave_up) return;
      }
    }
    s->half ^= 1;
    if (vyre_tick(g, 0, 256)) return;
  }
  {
    const struct buffers_0_6 buffers = {
      .blocks_b0 = s->blocks_b1, .blocks_n0 = s->blocks_n1,
      .slot_0_b1 = s->slot_0_b3, .slot_0_n1 = s->slot_0_n3,
      .slot_0_2_b2 = s->slot_0_2_h2, .slot_0_2_n2 = 256,
    };
    for (uint32_t lane = 0; lane < 256; ++lane) {
      phase_0_6(g, &buffers, lane);
      if (g->gave_up) return;
    }
  }
}

void vyre_entry_0(const struct vyre_args *args, struct vyre_worker *worker, uint64_t first_group,
               uint64_t count) {
  struct vyre_group group = vyre_start(args, worker), *const g = &group;
  struct state_0 state = {
    .x_b0 = args->bindings[0].address, .x_n0 = args->bindings[0].length,
    .blocks_b1 = args->bindings[1].address, .blocks_n1 = args->bindings[1].length,
    .s_b2 = (uint32_t *)(worker->scratch + 0), .s_n2 = 256,
    .slot_0_b3 = args->bindings[3].address, .slot_0_n3 = args->bindings[3].length,
    .control_h0 = (uint32_t *)(worker->scratch + 1024),
    .frame_h1 = {(uint32_t *)(worker->scratch + 1088), (uint32_t *)(worker->scratch + 1152)},
    .slot_0_2_h2 = (uint32_t *)(worker->scratch + 1216),
  }, *const s = &state;
  for (uint64_t n = first_group; n < first_group + count; ++n) {
    vyre_enter_workgroup(g, n, 256u);
    memset(worker->scratch + 0, 0, 1024);
    s->half = 0;
    s->control_h0[1] = UINT32_MAX;
    steps_0(g, s);
    if (g->gave_up) return;
    memcpy((unsigned char *)args->bindings[2].address + n * 1024, worker->scratch + 0, 1024);
    if (vyre_tick(g, 0xffffffffu, 256)) return;
  }
}

// ---- segment 1: main, 256 lanes in a workgroup

struct buffers_1_0 {
  uint32_t *next_frame_b0; uint32_t next_frame_n0;
};

static void phase_1_0(struct vyre_group *g, const struct buffers_1_0 *m, uint32_t lane) {
  {  // region main
    bool taken_v0 = false;
    {  // region main
      {  // region main
        taken_v0 = g->wid[0] == 0u;
      }
    }
    atomic_store_u32(m->next_frame_b0, m->next_frame_n0, 6u, (uint32_t)taken_v0, memory_order_relaxed);
  }
}

struct buffers_1_1 {
  const uint32_t *blocks_b0; uint32_t blocks_n0;
  uint32_t *next_frame_b1; uint32_t next_frame_n1;
};

static void phase_1_1(struct vyre_group *g, const struct buffers_1_1 *m, uint32_t lane) {
  {  // region main
    uint32_t carry_v0 = 0u;
    uint32_t next_first_v1 = 0u;
    {  // region main
      {  // region main
        carry_v0 = 0u;
        next_first_v1 = 0u;
        const uint32_t end_first_v2 = m->blocks_n0;
      }
    }
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 0u, carry_v0, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 3u, next_first_v1, memory_order_relaxed);
  }
}

struct buffers_1_2 {
  const uint32_t *blocks_b0; uint32_t blocks_n0;
  const uint32_t *frame_b1; uint32_t frame_n1;
  uint32_t *next_frame_b2; uint32_t next_frame_n2;
};

static void phase_1_2(struct vyre_group *g, const struct buffers_1_2 *m, uint32_t lane) {
  {  // region main
    uint32_t carry_v0 = load_u32(m->frame_b1, m->frame_n1, 0u);
    uint32_t next_first_v1 = load_u32(m->frame_b1, m->frame_n1, 3u);
    const uint32_t end_first_v2 = m->blocks_n0;
    bool again_v3 = false;
    {  // region main
      {  // region main
        again_v3 = next_first_v1 < end_first_v2;
      }
    }
    atomic_store_u32(m->next_frame_b2, m->next_frame_n2, 0u, carry_v0, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b2, m->next_frame_n2, 3u, next_first_v1, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b2, m->next_frame_n2, 5u, (uint32_t)again_v3, memory_order_relaxed);
  }
}

struct buffers_1_3 {
  const uint32_t *blocks_b0; uint32_t blocks_n0;
  uint32_t *s_b1; uint32_t s_n1;
  const uint32_t *frame_b2; uint32_t frame_n2;
  uint32_t *slot_0_b3; uint32_t slot_0_n3;
  uint32_t *slot_1_b4; uint32_t slot_1_n4;
};

static void phase_1_3(struct vyre_group *g, const struct buffers_1_3 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = lane;
    uint32_t next_first_v1 = load_u32(m->frame_b2, m->frame_n2, 3u);
    uint32_t b_v2 = 0u;
    uint32_t sum_v3 = 0u;
    {  // region main
      {  // region main
        const uint32_t first_v4 = next_first_v1;
        b_v2 = first_v4 + lane;
        uint32_t block_v5 = 0u;
        if (b_v2 < m->blocks_n0) {
          block_v5 = load_u32(m->blocks_b0, m->blocks_n0, b_v2);
        }
        const uint32_t lane_2_v6 = lane;
        const uint32_t value_v7 = block_v5;
        uint32_t scan_workgroup_2_v8 = 0u;
        sum_v3 = value_v7;
        store_u32(m->s_b1, m->s_n1, lane_2_v6, sum_v3);
      }
    }
    store_u32(m->slot_0_b3, m->slot_0_n3, lane_v0, b_v2);
    store_u32(m->slot_1_b4, m->slot_1_n4, lane_v0, sum_v3);
  }
}

struct buffers_1_4 {
  const uint32_t *frame_b0; uint32_t frame_n0;
  uint32_t *next_frame_b1; uint32_t next_frame_n1;
};

static void phase_1_4(struct vyre_group *g, const struct buffers_1_4 *m, uint32_t lane) {
  {  // region main
    uint32_t carry_v0 = load_u32(m->frame_b0, m->frame_n0, 0u);
    uint32_t next_first_v1 = load_u32(m->frame_b0, m->frame_n0, 3u);
    uint32_t distance_v2 = 0u;
    {  // region main
      {  // region main
        distance_v2 = 1u;
      }
    }
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 0u, carry_v0, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 1u, distance_v2, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 3u, next_first_v1, memory_order_relaxed);
  }
}

struct buffers_1_5 {
  const uint32_t *frame_b0; uint32_t frame_n0;
  uint32_t *next_frame_b1; uint32_t next_frame_n1;
};

static void phase_1_5(struct vyre_group *g, const struct buffers_1_5 *m, uint32_t lane) {
  {  // region main
    uint32_t carry_v0 = load_u32(m->frame_b0, m->frame_n0, 0u);
    uint32_t distance_v1 = load_u32(m->frame_b0, m->frame_n0, 1u);
    uint32_t next_first_v2 = load_u32(m->frame_b0, m->frame_n0, 3u);
    bool again_v3 = false;
    {  // region main
      {  // region main
        again_v3 = distance_v1 < 256u;
      }
    }
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 0u, carry_v0, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 1u, distance_v1, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 3u, next_first_v2, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 4u, (uint32_t)again_v3, memory_order_relaxed);
  }
}

struct buffers_1_6 {
  const uint32_t *s_b0; uint32_t s_n0;
  const uint32_t *frame_b1; uint32_t frame_n1;
  uint32_t *slot_1_b2; uint32_t slot_1_n2;
};

static void phase_1_6(struct vyre_group *g, const struct buffers_1_6 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = lane;
    const uint32_t lane_2_v1 = lane;
    uint32_t sum_v2 = load_u32(m->slot_1_b2, m->slot_1_n2, lane_v0);
    uint32_t distance_v3 = load_u32(m->frame_b1, m->frame_n1, 1u);
    {  // region main
      {  // region main
        if (lane_2_v1 >= distance_v3) {
          sum_v2 = sum_v2 + load_u32(m->s_b0, m->s_n0, lane_2_v1 - distance_v3);
        }
      }
    }
    store_u32(m->slot_1_b2, m->slot_1_n2, lane_v0, sum_v2);
  }
}

struct buffers_1_7 {
  uint32_t *s_b0; uint32_t s_n0;
  const uint32_t *slot_1_b1; uint32_t slot_1_n1;
};

static void phase_1_7(struct vyre_group *g, const struct buffers_1_7 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = lane;
    const uint32_t lane_2_v1 = lane;
    uint32_t sum_v2 = load_u32(m->slot_1_b1, m->slot_1_n1, lane_v0);
    {  // region main
      {  // region main
        store_u32(m->s_b0, m->s_n0, lane_2_v1, sum_v2);
      }
    }
  }
}

struct buffers_1_8 {
  const uint32_t *frame_b0; uint32_t frame_n0;
  uint32_t *next_frame_b1; uint32_t next_frame_n1;
};

static void phase_1_8(struct vyre_group *g, const struct buffers_1_8 *m, uint32_t lane) {
  {  // region main
    uint32_t carry_v0 = load_u32(m->frame_b0, m->frame_n0, 0u);
    uint32_t distance_v1 = load_u32(m->frame_b0, m->frame_n0, 1u);
    uint32_t next_first_v2 = load_u32(m->frame_b0, m->frame_n0, 3u);
    {  // region main
      {  // region main
        distance_v1 = distance_v1 * 2u;
      }
    }
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 0u, carry_v0, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 1u, distance_v1, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 3u, next_first_v2, memory_order_relaxed);
  }
}

struct buffers_1_9 {
  uint32_t *blocks_b0; uint32_t blocks_n0;
  const uint32_t *frame_b1; uint32_t frame_n1;
  const uint32_t *slot_0_b2; uint32_t slot_0_n2;
  const uint32_t *slot_1_b3; uint32_t slot_1_n3;
};

static void phase_1_9(struct vyre_group *g, const struct buffers_1_9 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = lane;
    uint32_t carry_v1 = load_u32(m->frame_b1, m->frame_n1, 0u);
    uint32_t b_v2 = load_u32(m->slot_0_b2, m->slot_0_n2, lane_v0);
    uint32_t sum_v3 = load_u32(m->slot_1_b3, m->slot_1_n3, lane_v0);
    uint32_t scan_workgroup_2_v4 = 0u;
    {  // region main
      {  // region main
        scan_workgroup_2_v4 = sum_v3;
        const uint32_t sum_2_v5 = scan_workgroup_2_v4;
        if (b_v2 < m->blocks_n0) {
          store_u32(m->blocks_b0, m->blocks_n0, b_v2, carry_v1 + sum_2_v5);
        }
      }
    }
  }
}

struct buffers_1_10 {
  const uint32_t *s_b0; uint32_t s_n0;
  const uint32_t *frame_b1; uint32_t frame_n1;
  uint32_t *next_frame_b2; uint32_t next_frame_n2;
};

static void phase_1_10(struct vyre_group *g, const struct buffers_1_10 *m, uint32_t lane) {
  {  // region main
    uint32_t carry_v0 = load_u32(m->frame_b1, m->frame_n1, 0u);
    uint32_t next_first_v1 = load_u32(m->frame_b1, m->frame_n1, 3u);
    uint32_t all_v2 = 0u;
    {  // region main
      {  // region main
        all_v2 = load_u32(m->s_b0, m->s_n0, 256u - 1u);
      }
    }
    atomic_store_u32(m->next_frame_b2, m->next_frame_n2, 0u, carry_v0, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b2, m->next_frame_n2, 2u, all_v2, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b2, m->next_frame_n2, 3u, next_first_v1, memory_order_relaxed);
  }
}

struct buffers_1_11 {
  const uint32_t *blocks_b0; uint32_t blocks_n0;
  const uint32_t *frame_b1; uint32_t frame_n1;
  uint32_t *next_frame_b2; uint32_t next_frame_n2;
};

static void phase_1_11(struct vyre_group *g, const struct buffers_1_11 *m, uint32_t lane) {
  {  // region main
    uint32_t carry_v0 = load_u32(m->frame_b1, m->frame_n1, 0u);
    uint32_t all_v1 = load_u32(m->frame_b1, m->frame_n1, 2u);
    uint32_t next_first_v2 = load_u32(m->frame_b1, m->frame_n1, 3u);
    const uint32_t end_first_v3 = m->blocks_n0;
    {  // region main
      {  // region main
        carry_v0 = carry_v0 + all_v1;
        next_first_v2 = ((end_first_v3 - next_first_v2) > 256u) ? (next_first_v2 + 256u) : end_first_v3;
      }
    }
    atomic_store_u32(m->next_frame_b2, m->next_frame_n2, 0u, carry_v0, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b2, m->next_frame_n2, 3u, next_first_v2, memory_order_relaxed);
  }
}

// All memory of a workgroup: buffers, and what lives across its barriers.
struct state_1 {
  uint32_t *blocks_b0; uint32_t blocks_n0;
  uint32_t *s_b1; uint32_t s_n1;
  uint32_t *control_h0;  // control
  uint32_t *frame_h1[2];  // frame
  uint32_t *slot_0_h2;  // slot
  uint32_t *slot_1_h3;  // slot
  unsigned half;  // of what has two: phases read one and write the other
};

// The phases of a workgroup, in their order.
static void steps_1(struct vyre_group *g, struct state_1 *s) {
  {
    const struct buffers_1_0 buffers = {
      .next_frame_b0 = s->frame_h1[s->half ^ 1], .next_frame_n0 = 7,
    };
    for (uint32_t lane = 0; lane < 256; ++lane) {
      phase_1_0(g, &buffers, lane);
      if (g->gave_up) return;
    }
  }
  s->half ^= 1;
  if (s->frame_h1[s->half][6] != 0) {
    {
      const struct buffers_1_1 buffers = {
        .blocks_b0 = s->blocks_b0, .blocks_n0 = s->blocks_n0,
        .next_frame_b1 = s->frame_h1[s->half ^ 1], .next_frame_n1 = 7,
      };
      for (uint32_t lane = 0; lane < 256; ++lane) {
        phase_1_1(g, &buffers, lane);
        if (g->gave_up) return;
      }
    }
    s->half ^= 1;
    for (;;) {
      {
        const struct buffers_1_2 buffers = {
          .blocks_b0 = s->blocks_b0, .blocks_n0 = s->blocks_n0,
          .frame_b1 = s->frame_h1[s->half], .frame_n1 = 7,
          .next_frame_b2 = s->frame_h1[s->half ^ 1], .next_frame_n2 = 7,
        };
        for (uint32_t lane = 0; lane < 256; ++lane) {
          phase_1_2(g, &buffers, lane);
          if (g->gave_up) return;
        }
      }
      s->half ^= 1;
      if (s->frame_h1[s->half][5] == 0) break;
      {
        const struct buffers_1_3 buffers = {
          .blocks_b0 = s->blocks_b0, .blocks_n0 = s->blocks_n0,
          .s_b1 = s->s_b1, .s_n1 = s->s_n1,
          .frame_b2 = s->frame_h1[s->half], .frame_n2 = 7,
          .slot_0_b3 = s->slot_0_h2, .slot_0_n3 = 256,
          .slot_1_b4 = s->slot_1_h3, .slot_1_n4 = 256,
        };
        for (uint32_t lane = 0; lane < 256; ++lane) {
          phase_1_3(g, &buffers, lane);
          if (g->gave_up) return;
        }
      }
      {
        const struct buffers_1_4 buffers = {
          .frame_b0 = s->frame_h1[s->half], .frame_n0 = 7,
          .next_frame_b1 = s->frame_h1[s->half ^ 1], .next_frame_n1 = 7,
        };
        for (uint32_t lane = 0; lane < 256; ++lane) {
          phase_1_4(g, &buffers, lane);
          if (g->gave_up) return;
        }
      }
      s->half ^= 1;
      for (;;) {
        {
          const struct buffers_1_5 buffers = {
            .frame_b0 = s->frame_h1[s->half], .frame_n0 = 7,
            .next_frame_b1 = s->frame_h1[s->half ^ 1], .next_frame_n1 = 7,
          };
          for (uint32_t lane = 0; lane < 256; ++lane) {
            phase_1_5(g, &buffers, lane);
            if (g->gave_up) return;
          }
        }
        s->half ^= 1;
        if (s->frame_h1[s->half][4] == 0) break;
        {
          const struct buffers_1_6 buffers = {
            .s_b0 = s->s_b1, .s_n0 = s->s_n1,
            .frame_b1 = s->frame_h1[s->half], .frame_n1 = 7,
            .slot_1_b2 = s->slot_1_h3, .slot_1_n2 = 256,
          };
          for (uint32_t lane = 0; lane < 256; ++lane) {
            phase_1_6(g, &buffers, lane);
            if (g->gave_up) return;
          }
        }
        {
          const struct buffers_1_7 buffers = {
            .s_b0 = s->s_b1, .s_n0 = s->s_n1,
            .slot_1_b1 = s->slot_1_h3, .slot_1_n1 = 256,
          };
          for (uint32_t lane = 0; lane < 256; ++lane) {
            phase_1_7(g, &buffers, lane);
            if (g->gave_up) return;
          }
        }
        {
          const struct buffers_1_8 buffers = {
            .frame_b0 = s->frame_h1[s->half], .frame_n0 = 7,
            .next_frame_b1 = s->frame_h1[s->half ^ 1], .next_frame_n1 = 7,
          };
          for (uint32_t lane = 0; lane < 256; ++lane) {
            phase_1_8(g, &buffers, lane);
            if (g->gave_up) return;
          }
        }
        s->half ^= 1;
        if (vyre_tick(g, 1, 256)) return;
      }
      {
        const struct buffers_1_9 buffers = {
          .blocks_b0 = s->blocks_b0, .blocks_n0 = s->blocks_n0,
          .frame_b1 = s->frame_h1[s->half], .frame_n1 = 7,
          .slot_0_b2 = s->slot_0_h2, .slot_0_n2 = 256,
          .slot_1_b3 = s->slot_1_h3, .slot_1_n3 = 256,
        };
        for (uint32_t lane = 0; lane < 256; ++lane) {
          phase_1_9(g, &buffers, lane);
          if (g->gave_up) return;
        }
      }
      {
        const struct buffers_1_10 buffers = {
          .s_b0 = s->s_b1, .s_n0 = s->s_n1,
          .frame_b1 = s->frame_h1[s->half], .frame_n1 = 7,
          .next_frame_b2 = s->frame_h1[s->half ^ 1], .next_frame_n2 = 7,
        };
        for (uint32_t lane = 0; lane < 256; ++lane) {
          phase_1_10(g, &buffers, lane);
          if (g->gave_up) return;
        }
      }
      s->half ^= 1;
      {
        const struct buffers_1_11 buffers = {
          .blocks_b0 = s->blocks_b0, .blocks_n0 = s->blocks_n0,
          .frame_b1 = s->frame_h1[s->half], .frame_n1 = 7,
          .next_frame_b2 = s->frame_h1[s->half ^ 1], .next_frame_n2 = 7,
        };
        for (uint32_t lane = 0; lane < 256; ++lane) {
          phase_1_11(g, &buffers, lane);
          if (g->gave_up) return;
        }
      }
      s->half ^= 1;
      if (vyre_tick(g, 2, 256)) return;
    }
  }
}

void vyre_entry_1(const struct vyre_args *args, struct vyre_worker *worker, uint64_t first_group,
               uint64_t count) {
  struct vyre_group group = vyre_start(args, worker), *const g = &group;
  struct state_1 state = {
    .blocks_b0 = args->bindings[0].address, .blocks_n0 = args->bindings[0].length,
    .s_b1 = (uint32_t *)(worker->scratch + 0), .s_n1 = 256,
    .control_h0 = (uint32_t *)(worker->scratch + 1024),
    .frame_h1 = {(uint32_t *)(worker->scratch + 1088), (uint32_t *)(worker->scratch + 1152)},
    .slot_0_h2 = (uint32_t *)(worker->scratch + 1216),
    .slot_1_h3 = (uint32_t *)(worker->scratch + 2240),
  }, *const s = &state;
  for (uint64_t n = first_group; n < first_group + count; ++n) {
    vyre_enter_workgroup(g, n, 256u);
    memcpy(worker->scratch + 0, (unsigned char *)args->bindings[1].address + n * 1024, 1024);
    s->half = 0;
    s->control_h0[1] = UINT32_MAX;
    steps_1(g, s);
    if (g->gave_up) return;
    if (vyre_tick(g, 0xffffffffu, 256)) return;
  }
}

// ---- segment 2: main, 256 lanes in a workgroup

struct buffers_2 {
  uint32_t *y_b0; uint32_t y_n0;
  const uint32_t *blocks_b1; uint32_t blocks_n1;
  const uint32_t *slot_0_b2; uint32_t slot_0_n2;
};

static void phase_2(struct vyre_group *g, const struct buffers_2 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = (((((g->wid[2] * g->grid[1]) + g->wid[1]) * g->grid[0]) + g->wid[0]) * 256u) + lane;
    const uint32_t i_v1 = g->wid[0] * 256u + lane;
    uint32_t within_v2 = load_u32(m->slot_0_b2, m->slot_0_n2, lane_v0);
    {  // region main
      if (i_v1 < m->y_n0) {
        uint32_t before_v3 = 0u;
        if (g->wid[0] > 0u) {
          before_v3 = load_u32(m->blocks_b1, m->blocks_n1, g->wid[0] - 1u);
        }
        store_u32(m->y_b0, m->y_n0, i_v1, before_v3 + within_v2);
      }
    }
  }
}

void vyre_entry_2(const struct vyre_args *args, struct vyre_worker *worker, uint64_t first_group,
               uint64_t count) {
  struct vyre_group group = vyre_start(args, worker), *const g = &group;
  const struct buffers_2 buffers = {
    .y_b0 = args->bindings[0].address, .y_n0 = args->bindings[0].length,
    .blocks_b1 = args->bindings[1].address, .blocks_n1 = args->bindings[1].length,
    .slot_0_b2 = args->bindings[2].address, .slot_0_n2 = args->bindings[2].length,
  };
  for (uint64_t n = first_group; n < first_group + count; ++n) {
    vyre_enter_workgroup(g, n, 256u);
    for (uint32_t lane = 0; lane < 256; ++lane) {
      phase_2(g, &buffers, lane);
      if (g->gave_up) return;
    }
    if (vyre_tick(g, 0xffffffffu, 256)) return;
  }
}

// ---- what a caller has to know of each segment

const struct vyre_info vyre_info[3] = {
    {2240, 100, 4},
    {3264, 100, 4},
    {0, 100, 4},
};
