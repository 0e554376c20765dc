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

static inline void store_f32(volatile float *p, uint64_t n, uint64_t i, float x) {
  if (i < n) p[i] = x;
}

static inline void atomic_store_u32(volatile uint32_t *p, uint64_t n, uint64_t i, uint32_t x, memory_order order) {
  if (i < n) atomic_store_explicit((volatile _Atomic(uint32_t) *)(p + i), (uint32_t)x, order);
}

static inline float load_f32(const volatile float *p, uint64_t n, uint64_t i) {
  return i < n ? p[i] : 0;
}

// ---- segment 0: main, 256 lanes in a workgroup

struct buffers_0_0 {
  const uint32_t *k_b0; uint32_t k_n0;
  uint32_t *next_frame_b1; uint32_t next_frame_n1;
  float *slot_0_b2; uint32_t slot_0_n2;
};

static void phase_0_0(struct vyre_group *g, const struct buffers_0_0 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = ((lane / 16u) * 16u) + (lane % 16u);
    float sum_v1 = 0x0p+0f;
    uint32_t next_first_v2 = 0u;
    {  // region main
      const uint32_t x_v3 = g->wid[0] * 16u + (lane % 16u);
      const uint32_t y_v4 = g->wid[1] * 16u + (lane / 16u);
      sum_v1 = 0x0p+0f;
      next_first_v2 = 0u;
      const uint32_t end_first_v5 = load_u32(m->k_b0, m->k_n0, 0u);
    }
    store_f32(m->slot_0_b2, m->slot_0_n2, lane_v0, sum_v1);
    atomic_store_u32(m->next_frame_b1, m->next_frame_n1, 0u, next_first_v2, memory_order_relaxed);
  }
}

struct buffers_0_1 {
  const uint32_t *k_b0; uint32_t k_n0;
  const uint32_t *frame_b1; uint32_t frame_n1;
  uint32_t *next_frame_b2; uint32_t next_frame_n2;
};

static void phase_0_1(struct vyre_group *g, const struct buffers_0_1 *m, uint32_t lane) {
  {  // region main
    uint32_t next_first_v0 = load_u32(m->frame_b1, m->frame_n1, 0u);
    const uint32_t end_first_v1 = load_u32(m->k_b0, m->k_n0, 0u);
    bool again_v2 = false;
    {  // region main
      again_v2 = next_first_v0 < end_first_v1;
    }
    atomic_store_u32(m->next_frame_b2, m->next_frame_n2, 0u, next_first_v0, memory_order_relaxed);
    atomic_store_u32(m->next_frame_b2, m->next_frame_n2, 1u, (uint32_t)again_v2, memory_order_relaxed);
  }
}

struct buffers_0_2 {
  const uint32_t *m_b0; uint32_t m_n0;
  const uint32_t *k_b1; uint32_t k_n1;
  const uint32_t *n_b2; uint32_t n_n2;
  const float *a_b3; uint32_t a_n3;
  const float *b_b4; uint32_t b_n4;
  float *ta_b5; uint32_t ta_n5;
  float *tb_b6; uint32_t tb_n6;
  const uint32_t *frame_b7; uint32_t frame_n7;
};

static void phase_0_2(struct vyre_group *g, const struct buffers_0_2 *m, uint32_t lane) {
  {  // region main
    const uint32_t x_v0 = g->wid[0] * 16u + (lane % 16u);
    const uint32_t y_v1 = g->wid[1] * 16u + (lane / 16u);
    uint32_t next_first_v2 = load_u32(m->frame_b7, m->frame_n7, 0u);
    {  // region main
      const uint32_t first_v3 = next_first_v2;
      const uint32_t ka_v4 = first_v3 + (lane % 16u);
      const uint32_t kb_v5 = first_v3 + (lane / 16u);
      float ea_v6 = 0x0p+0f;
      float eb_v7 = 0x0p+0f;
      if ((y_v1 < load_u32(m->m_b0, m->m_n0, 0u)) && (ka_v4 < load_u32(m->k_b1, m->k_n1, 0u))) {
        ea_v6 = load_f32(m->a_b3, m->a_n3, (y_v1 * load_u32(m->k_b1, m->k_n1, 0u)) + ka_v4);
      }
      if ((x_v0 < load_u32(m->n_b2, m->n_n2, 0u)) && (kb_v5 < load_u32(m->k_b1, m->k_n1, 0u))) {
        eb_v7 = load_f32(m->b_b4, m->b_n4, (kb_v5 * load_u32(m->n_b2, m->n_n2, 0u)) + x_v0);
      }
      store_f32(m->ta_b5, m->ta_n5, ((lane / 16u) * 16u) + (lane % 16u), ea_v6);
      store_f32(m->tb_b6, m->tb_n6, ((lane / 16u) * 16u) + (lane % 16u), eb_v7);
    }
  }
}

struct buffers_0_3 {
  const float *ta_b0; uint32_t ta_n0;
  const float *tb_b1; uint32_t tb_n1;
  float *slot_0_b2; uint32_t slot_0_n2;
};

static void phase_0_3(struct vyre_group *g, const struct buffers_0_3 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = ((lane / 16u) * 16u) + (lane % 16u);
    float sum_v1 = load_f32(m->slot_0_b2, m->slot_0_n2, lane_v0);
    {  // region main
      for (uint32_t i_v2 = 0u, i_v2_end = 16u; i_v2 < i_v2_end; ++i_v2) {
        sum_v1 = fmaf(load_f32(m->ta_b0, m->ta_n0, ((lane / 16u) * 16u) + i_v2), load_f32(m->tb_b1, m->tb_n1, (i_v2 * 16u) + (lane % 16u)), sum_v1);
      }
    }
    store_f32(m->slot_0_b2, m->slot_0_n2, lane_v0, sum_v1);
  }
}

struct buffers_0_4 {
  const uint32_t *k_b0; uint32_t k_n0;
  const uint32_t *frame_b1; uint32_t frame_n1;
  uint32_t *next_frame_b2; uint32_t next_frame_n2;
};

static void phase_0_4(struct vyre_group *g, const struct buffers_0_4 *m, uint32_t lane) {
  {  // region main
    uint32_t next_first_v0 = load_u32(m->frame_b1, m->frame_n1, 0u);
    const uint32_t end_first_v1 = load_u32(m->k_b0, m->k_n0, 0u);
    {  // region main
      next_first_v0 = ((end_first_v1 - next_first_v0) > 16u) ? (next_first_v0 + 16u) : end_first_v1;
    }
    atomic_store_u32(m->next_frame_b2, m->next_frame_n2, 0u, next_first_v0, memory_order_relaxed);
  }
}

struct buffers_0_5 {
  const uint32_t *m_b0; uint32_t m_n0;
  const uint32_t *n_b1; uint32_t n_n1;
  float *c_b2; uint32_t c_n2;
  const float *slot_0_b3; uint32_t slot_0_n3;
};

static void phase_0_5(struct vyre_group *g, const struct buffers_0_5 *m, uint32_t lane) {
  {  // region main
    const uint32_t lane_v0 = ((lane / 16u) * 16u) + (lane % 16u);
    const uint32_t x_v1 = g->wid[0] * 16u + (lane % 16u);
    const uint32_t y_v2 = g->wid[1] * 16u + (lane / 16u);
    float sum_v3 = load_f32(m->slot_0_b3, m->slot_0_n3, lane_v0);
    {  // region main
      if ((x_v1 < load_u32(m->n_b1, m->n_n1, 0u)) && (y_v2 < load_u32(m->m_b0, m->m_n0, 0u))) {
        store_f32(m->c_b2, m->c_n2, (y_v2 * load_u32(m->n_b1, m->n_n1, 0u)) + x_v1, sum_v3);
      }
    }
  }
}

// All memory of a workgroup: buffers, and what lives across its barriers.
struct state_0 {
  const uint32_t *m_b0; uint32_t m_n0;
  const uint32_t *k_b1; uint32_t k_n1;
  const uint32_t *n_b2; uint32_t n_n2;
  const float *a_b3; uint32_t a_n3;
  const float *b_b4; uint32_t b_n4;
  float *c_b5; uint32_t c_n5;
  float *ta_b6; uint32_t ta_n6;
  float *tb_b7; uint32_t tb_n7;
  uint32_t *control_h0;  // control
  uint32_t *frame_h1[2];  // frame
  float *slot_0_h2;  // slot
  unsigned half;  // of what has two: phases read one and write the other
};

// The phases of a workgroup, in their order.
static void steps_0(struct vyre_group *g, struct state_0 *s) {
  {
    const struct buffers_0_0 buffers = {
      .k_b0 = s->k_b1, .k_n0 = s->k_n1,
      .next_frame_b1 = s->frame_h1[s->half ^ 1], .next_frame_n1 = 2,
      .slot_0_b2 = s->slot_0_h2, .slot_0_n2 = 256,
    };
    for (uint32_t lane = 0; lane < 256; ++lane) {
      phase_0_0(g, &buffers, lane);
      if (g->gave_up) return;
    }
  }
  s->half ^= 1;
  for (;;) {
    {
      const struct buffers_0_1 buffers = {
        .k_b0 = s->k_b1, .k_n0 = s->k_n1,
        .frame_b1 = s->frame_h1[s->half], .frame_n1 = 2,
        .next_frame_b2 = s->frame_h1[s->half ^ 1], .next_frame_n2 = 2,
      };
      for (uint32_t lane = 0; lane < 256; ++lane) {
        phase_0_1(g, &buffers, lane);
        if (g->gave_up) return;
      }
    }
    s->half ^= 1;
    if (s->frame_h1[s->half][1] == 0) break;
    {
      const struct buffers_0_2 buffers = {
        .m_b0 = s->m_b0, .m_n0 = s->m_n0,
        .k_b1 = s->k_b1, .k_n1 = s->k_n1,
        .n_b2 = s->n_b2, .n_n2 = s->n_n2,
        .a_b3 = s->a_b3, .a_n3 = s->a_n3,
        .b_b4 = s->b_b4, .b_n4 = s->b_n4,
        .ta_b5 = s->ta_b6, .ta_n5 = s->ta_n6,
        .tb_b6 = s->tb_b7, .tb_n6 = s->tb_n7,
        .frame_b7 = s->frame_h1[s->half], .frame_n7 = 2,
      };
      for (uint32_t lane = 0; lane < 256; ++lane) {
        phase_0_2(g, &buffers, lane);
        if (g->gave_up) return;
      }
    }
    {
      const struct buffers_0_3 buffers = {
        .ta_b0 = s->ta_b6, .ta_n0 = s->ta_n6,
        .tb_b1 = s->tb_b7, .tb_n1 = s->tb_n7,
        .slot_0_b2 = s->slot_0_h2, .slot_0_n2 = 256,
      };
      for (uint32_t lane = 0; lane < 256; ++lane) {
        phase_0_3(g, &buffers, lane);
        if (g->gave_up) return;
      }
    }
    {
      const struct buffers_0_4 buffers = {
        .k_b0 = s->k_b1, .k_n0 = s->k_n1,
        .frame_b1 = s->frame_h1[s->half], .frame_n1 = 2,
        .next_frame_b2 = s->frame_h1[s->half ^ 1], .next_frame_n2 = 2,
      };
      for (uint32_t lane = 0; lane < 256; ++lane) {
        phase_0_4(g, &buffers, lane);
        if (g->gave_up) return;
      }
    }
    s->half ^= 1;
    if (vyre_tick(g, 0, 256)) return;
  }
  {
    const struct buffers_0_5 buffers = {
      .m_b0 = s->m_b0, .m_n0 = s->m_n0,
      .n_b1 = s->n_b2, .n_n1 = s->n_n2,
      .c_b2 = s->c_b5, .c_n2 = s->c_n5,
      .slot_0_b3 = s->slot_0_h2, .slot_0_n3 = 256,
    };
    for (uint32_t lane = 0; lane < 256; ++lane) {
      phase_0_5(g, &buffers, lane);
      if (g->gave_up) return;
    }
  }
}

void vyre_entry_0(const struct vyre_args *args, struct vyre_worker *worker, uint64_t first_group,
               uint64_t count) {
  struct vyre_group group = vyre_start(args, worker), *const g = &group;
  struct state_0 state = {
    .m_b0 = args->bindings[0].address, .m_n0 = args->bindings[0].length,
    .k_b1 = args->bindings[1].address, .k_n1 = args->bindings[1].length,
    .n_b2 = args->bindings[2].address, .n_n2 = args->bindings[2].length,
    .a_b3 = args->bindings[3].address, .a_n3 = args->bindings[3].length,
    .b_b4 = args->bindings[4].address, .b_n4 = args->bindings[4].length,
    .c_b5 = args->bindings[5].address, .c_n5 = args->bindings[5].length,
    .ta_b6 = (float *)(worker->scratch + 0), .ta_n6 = 256,
    .tb_b7 = (float *)(worker->scratch + 1024), .tb_n7 = 256,
    .control_h0 = (uint32_t *)(worker->scratch + 2048),
    .frame_h1 = {(uint32_t *)(worker->scratch + 2112), (uint32_t *)(worker->scratch + 2176)},
    .slot_0_h2 = (float *)(worker->scratch + 2240),
  }, *const s = &state;
  for (uint64_t n = first_group; n < first_group + count; ++n) {
    vyre_enter_workgroup(g, n, 256u);
    memset(worker->scratch + 0, 0, 1024);
    memset(worker->scratch + 1024, 0, 1024);
    s->half = 0;
    s->control_h0[1] = UINT32_MAX;
    steps_0(g, s);
    if (g->gave_up) return;
    if (vyre_tick(g, 0xffffffffu, 256)) return;
  }
}

// ---- what a caller has to know of each segment

const struct vyre_info vyre_info[1] = {
    {3264, 100, 4},
};
