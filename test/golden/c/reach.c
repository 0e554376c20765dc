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

static inline uint32_t atomic_load_u32(volatile uint32_t *p, uint64_t n, uint64_t i, memory_order order) {
  if (i >= n) return 0;
  const uint32_t old = atomic_load_explicit((volatile _Atomic(uint32_t) *)(p + i), order);
  return old;
}

static inline uint32_t load_u32(const volatile uint32_t *p, uint64_t n, uint64_t i) {
  return i < n ? p[i] : 0;
}

static inline uint32_t max_u32(uint32_t x, uint32_t y) {
  return x < y ? y : x;
}

static inline uint32_t atomic_max_u32(volatile uint32_t *p, uint64_t n, uint64_t i, uint32_t x, memory_order order) {
  if (i >= n) return 0;
  volatile _Atomic(uint32_t) *const at = (volatile _Atomic(uint32_t) *)(p + i);
  uint32_t old = atomic_load_explicit(at, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(at, &old, max_u32(old, x), order, memory_order_relaxed)) {
  }
  return old;
}

static inline void atomic_store_u32(volatile uint32_t *p, uint64_t n, uint64_t i, uint32_t x, memory_order order) {
  if (i < n) atomic_store_explicit((volatile _Atomic(uint32_t) *)(p + i), (uint32_t)x, order);
}

// ---- segment 0: expand, 256 lanes in a workgroup

struct buffers_0 {
  const uint32_t *row_b0; uint32_t row_n0;
  const uint32_t *col_b1; uint32_t col_n1;
  uint32_t *visited_b2; uint32_t visited_n2;
  uint32_t *control_b3; uint32_t control_n3;
};

static void phase_0(struct vyre_group *g, const struct buffers_0 *m, uint32_t lane) {
  {  // region main
    {  // region expand
      const uint32_t v_v0 = g->wid[0] * 256u + lane;
      if ((v_v0 < m->visited_n2) && (atomic_load_u32(m->visited_b2, m->visited_n2, v_v0, memory_order_relaxed) == 1u)) {
        for (uint32_t e_v1 = load_u32(m->row_b0, m->row_n0, v_v0), e_v1_end = load_u32(m->row_b0, m->row_n0, v_v0 + 1u); e_v1 < e_v1_end; ++e_v1) {
          if (vyre_tick(g, 0, 5)) return;
          const uint32_t at_v2 = load_u32(m->col_b1, m->col_n1, e_v1);
          const uint32_t with_v3 = 1u;
          const uint32_t t0 = atomic_max_u32(m->visited_b2, m->visited_n2, at_v2, with_v3, memory_order_relaxed);
          const uint32_t old_v4 = t0;
          if ((at_v2 < m->visited_n2) && (max_u32(old_v4, with_v3) != old_v4)) {
            atomic_store_u32(m->control_b3, m->control_n3, 3u, 1u, memory_order_relaxed);
          }
        }
      }
    }
  }
}

void vyre_entry_0(const struct vyre_args *args, struct vyre_worker *worker, uint64_t first_group,
               uint64_t count) {
  struct vyre_group group = vyre_start(args, worker), *const g = &group;
  const struct buffers_0 buffers = {
    .row_b0 = args->bindings[0].address, .row_n0 = args->bindings[0].length,
    .col_b1 = args->bindings[1].address, .col_n1 = args->bindings[1].length,
    .visited_b2 = args->bindings[2].address, .visited_n2 = args->bindings[2].length,
    .control_b3 = args->bindings[3].address, .control_n3 = args->bindings[3].length,
  };
  for (uint64_t n = first_group; n < first_group + count; ++n) {
    vyre_enter_workgroup(g, n, 256u);
    for (uint32_t lane = 0; lane < 256; ++lane) {
      phase_0(g, &buffers, lane);
      if (g->gave_up) return;
    }
    if (vyre_tick(g, 0xffffffffu, 256)) return;
  }
}

// ---- what a caller has to know of each segment

const struct vyre_info vyre_info[1] = {
    {0, 100, 4},
};
