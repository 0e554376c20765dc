// SPDX-License-Identifier: Apache-2.0
// Plans of small programs, printed: steps, hidden memory, segments.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

TEST(Segments, SavedVariable) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u32[];
    var x = a[gid.x];
    barrier grid;
    x += a[0];
    barrier grid;
    a[gid.x] = x;
  })"),
            R"(
launch 0
launch 1
launch 2
control control: 3 u32
slot slot_0: 1 u32 per lane
segment 0, ends a phase
  program p_0 {
    workgroup 4;

    in    a      : u32[] @binding(0);
    inout slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var x : u32 = 0u32;
      region main {
        x = a[gid.x];
      }
      slot_0[lane] = x;
    }
  }
segment 1, ends a phase
  program p_1 {
    workgroup 4;

    in    a      : u32[] @binding(0);
    inout slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var x : u32 = slot_0[lane];
      region main {
        x += a[0];
      }
      slot_0[lane] = x;
    }
  }
segment 2
  program p_2 {
    workgroup 4;

    inout a      : u32[] @binding(0);
    in    slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var x : u32 = slot_0[lane];
      region main {
        a[gid.x] = x;
      }
    }
  }
)");
}

// Ids and inputs are read again, nothing is saved.
TEST(Segments, RecomputedValue) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u32[]; in n : u32[2];
    let i = gid.x + n[1];
    let k = i * 2;
    a[i] = k;
    barrier grid;
    a[gid.x] += k;
  })"),
            R"(
launch 0
launch 1
control control: 3 u32
segment 0, ends a phase
  program p_0 {
    workgroup 4;

    inout a : u32[] @binding(0);
    in    n : u32[2] @binding(1);

    region main {
      region main {
        let i : u32 = gid.x + n[1];
        let k : u32 = i * 2;
        a[i] = k;
      }
    }
  }
segment 1
  program p_1 {
    workgroup 4;

    inout a : u32[] @binding(0);
    in    n : u32[2] @binding(1);

    region main {
      let i : u32 = gid.x + n[1];
      let k : u32 = i * 2;
      region main {
        a[gid.x] += k;
      }
    }
  }
)");
}

// Element k of all lanes lies together; the index is 64 bits wide where the device has them.
TEST(Segments, PrivateArray) {
  constexpr std::string_view kSource = R"(program p {
    workgroup 4; inout a : u32[];
    var v : u32[3];
    v[a[gid.x] % 3] = 7;
    barrier grid;
    a[gid.x] = v[1];
  })";
  EXPECT_EQ(planned(kSource), R"(
launch 0
launch 1
control control: 3 u32
slot slot_0: 3 u32 per lane
segment 0, ends a phase
  program p_0 {
    workgroup 4;

    in    a      : u32[] @binding(0);
    inout slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var v : u32[3];
      region main {
        v[a[gid.x] % 3] = 7;
      }
      for k in 0u32 .. 3u32 {
        slot_0[k as u64 * (num_workgroups.x * num_workgroups.y * num_workgroups.z * 4u32) as u64 +
            lane as u64] = v[k];
      }
    }
  }
segment 1
  program p_1 {
    workgroup 4;

    inout a      : u32[] @binding(0);
    in    slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var v : u32[3];
      for k in 0u32 .. 3u32 {
        v[k] = slot_0[k as u64 *
            (num_workgroups.x * num_workgroups.y * num_workgroups.z * 4u32) as u64 + lane as u64];
      }
      region main {
        a[gid.x] = v[1];
      }
    }
  }
)");
  EXPECT_EQ(planned(kSource, {.wide_index = false}), R"(
launch 0
launch 1
control control: 3 u32
slot slot_0: 3 u32 per lane
segment 0, ends a phase
  program p_0 {
    workgroup 4;

    in    a      : u32[] @binding(0);
    inout slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var v : u32[3];
      region main {
        v[a[gid.x] % 3] = 7;
      }
      for k in 0u32 .. 3u32 {
        slot_0[k * (num_workgroups.x * num_workgroups.y * num_workgroups.z * 4u32) + lane] = v[k];
      }
    }
  }
segment 1
  program p_1 {
    workgroup 4;

    inout a      : u32[] @binding(0);
    in    slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var v : u32[3];
      for k in 0u32 .. 3u32 {
        v[k] = slot_0[k * (num_workgroups.x * num_workgroups.y * num_workgroups.z * 4u32) + lane];
      }
      region main {
        a[gid.x] = v[1];
      }
    }
  }
)");
}

TEST(Segments, WideUniformValueInTwoFrameWords) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u64[];
    var x = 5u64;
    for i in 0 .. 3 { x = x * x; barrier grid; }
    a[gid.x] = x;
  })"),
            R"(
launch 0
loop
  launch 1
while word 3
  launch 2
  launch 3
launch 4
control control: 3 u32
frame frame: 4 u32, two halves
segment 0, swaps the frame
  program p_0 {
    workgroup 4;

    inout next_frame : u32[] @binding(1);

    region main {
      var x : u64 = 0u64;
      var next_i : u32 = 0u32;
      region main {
        x = 5u64;
        next_i = 0;
        let end_i : u32 = 3;
      }
      atomic_store(next_frame[0u32], x as u32);
      atomic_store(next_frame[1u32], (x >> 32u32) as u32);
      atomic_store(next_frame[2u32], next_i);
    }
  }
segment 1, swaps the frame
  program p_1 {
    workgroup 4;

    in    frame      : u32[] @binding(1);
    inout next_frame : u32[] @binding(2);

    region main {
      var x : u64 = frame[0u32] as u64 | frame[1u32] as u64 << 32u32;
      var next_i : u32 = frame[2u32];
      let end_i : u32 = 3;
      var again : bool = false;
      region main {
        again = next_i < end_i;
      }
      atomic_store(next_frame[0u32], x as u32);
      atomic_store(next_frame[1u32], (x >> 32u32) as u32);
      atomic_store(next_frame[2u32], next_i);
      atomic_store(next_frame[3u32], again as u32);
    }
  }
segment 2, ends a phase, swaps the frame
  program p_2 {
    workgroup 4;

    in    frame      : u32[] @binding(1);
    inout next_frame : u32[] @binding(2);

    region main {
      var x : u64 = frame[0u32] as u64 | frame[1u32] as u64 << 32u32;
      var next_i : u32 = frame[2u32];
      region main {
        let i : u32 = next_i;
        x = x * x;
      }
      atomic_store(next_frame[0u32], x as u32);
      atomic_store(next_frame[1u32], (x >> 32u32) as u32);
      atomic_store(next_frame[2u32], next_i);
    }
  }
segment 3, swaps the frame
  program p_3 {
    workgroup 4;

    in    frame      : u32[] @binding(1);
    inout next_frame : u32[] @binding(2);

    region main {
      var x : u64 = frame[0u32] as u64 | frame[1u32] as u64 << 32u32;
      var next_i : u32 = frame[2u32];
      region main {
        next_i = next_i + 1u32;
      }
      atomic_store(next_frame[0u32], x as u32);
      atomic_store(next_frame[1u32], (x >> 32u32) as u32);
      atomic_store(next_frame[2u32], next_i);
    }
  }
segment 4
  program p_4 {
    workgroup 4;

    inout a     : u64[] @binding(0);
    in    frame : u32[] @binding(1);

    region main {
      var x : u64 = frame[0u32] as u64 | frame[1u32] as u64 << 32u32;
      region main {
        a[gid.x] = x;
      }
    }
  }
)");
}

TEST(Segments, SharedMemory) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u32[]; shared s : u32[4]; shared t : u32[4];
    s[lid.x] = a[gid.x];
    barrier grid;
    t[lid.x] = s[3 - lid.x];
    barrier workgroup;
    a[gid.x] = t[0];
  })"),
            R"(
launch 0
launch 1
control control: 3 u32
shared memory saved_s: 4 u32 per workgroup
segment 0, ends a phase
  save s
  program p_0 {
    workgroup 4;

    in     a : u32[] @binding(0);
    shared s : u32[4];

    region main {
      region main {
        s[lid.x] = a[gid.x];
      }
    }
  }
segment 1
  restore s
  program p_1 {
    workgroup 4;

    inout  a : u32[] @binding(0);
    shared s : u32[4];
    shared t : u32[4];

    region main {
      region main {
        t[lid.x] = s[3 - lid.x];
        barrier workgroup;
        a[gid.x] = t[0];
      }
    }
  }
)");
}

TEST(Segments, FixpointResult) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u32[]; inout d : u32[4]; in n : u32[1];
    fixpoint max n[0] over (a, d) { atomic_max(d[0], a[gid.x]); a[0] = 3; }
    a[gid.x] = fixpoint_passes() + select(fixpoint_converged(), 1u32, 0);
  })"),
            R"(
launch 0
fixpoint 0 at most word 0
  launch 1
launch 2
control control: 4 u32
frame frame: 1 u32, two halves
trap value trap_value: 1 u32 per lane
trap site trap_site: 1 u32 per lane
fixpoint result fixpoint_result: 2 u32
snapshot before_a: 1 u32 like a
site 0: no passes at line 3
segment 0, ends a phase, swaps the frame
  program p_0 {
    workgroup 4;

    in    n          : u32[1] @binding(2);
    inout control    : u32[] @binding(3);
    inout next_frame : u32[] @binding(4);
    inout trap_value : u32[] @binding(5);
    inout trap_site  : u32[] @binding(6);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var most : u32 = 0u32;
      region main {
        let most_2 : u32 = n[0];
        if most_2 == 0u32 {
          trap_value[lane] = 0u32;
          trap_site[lane] = 0u32;
          atomic_min(control[1u32], lane);
          return;
        }
        most = most_2;
      }
      atomic_store(next_frame[0u32], most);
    }
  }
segment 1, ends a phase
  program p_1 {
    workgroup 4;

    inout a       : u32[] @binding(0);
    inout d       : u32[4] @binding(1);
    inout control : u32[] @binding(3);

    region main {
      region main {
        let at : u32 = 0;
        let with : u32 = a[gid.x];
        let old : u32 = atomic_max(d[at], with);
        if max(old, with) != old {
          atomic_store(control[3u32], 1u32);
        }
        a[0] = 3;
      }
    }
  }
segment 2
  program p_2 {
    workgroup 4;

    inout a               : u32[] @binding(0);
    in    fixpoint_result : u32[] @binding(3);

    region main {
      region main {
        a[gid.x] = fixpoint_result[0u32] + select(fixpoint_result[1u32] as bool, 1u32, 0);
      }
    }
  }
)");
}

// Regions stay around what is left of them in each segment.
TEST(Segments, Regions) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u32[];
    region first { let x = a[gid.x]; region inner { a[gid.x] = 1; barrier grid; a[gid.x] += x; } }
    barrier grid;
    region second { a[gid.x] += 2; }
  })"),
            R"(
launch 0
launch 1
launch 2
control control: 3 u32
slot slot_0: 1 u32 per lane
segment 0, ends a phase
  program p_0 {
    workgroup 4;

    inout a      : u32[] @binding(0);
    inout slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var x : u32 = 0u32;
      region first {
        x = a[gid.x];
        region inner {
          a[gid.x] = 1;
        }
      }
      slot_0[lane] = x;
    }
  }
segment 1, ends a phase
  program p_1 {
    workgroup 4;

    inout a      : u32[] @binding(0);
    in    slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var x : u32 = slot_0[lane];
      region first {
        region inner {
          a[gid.x] += x;
        }
      }
    }
  }
segment 2
  program p_2 {
    workgroup 4;

    inout a : u32[] @binding(0);

    region main {
      region second {
        a[gid.x] += 2;
      }
    }
  }
)");
}

TEST(Segments, OtherWorkgroupSize) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u32[];
    let x = a[gid.x];
    barrier grid;
    a[gid.x + 1] = x;
  })",
                    {.workgroup = check::Axes{8, 1, 1}}),
            R"(
launch 0
launch 1
control control: 3 u32
slot slot_0: 1 u32 per lane
segment 0, ends a phase
  program p_0 {
    workgroup 8;

    in    a      : u32[] @binding(0);
    inout slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 8u32 + lid.x;
      var x : u32 = 0u32;
      region main {
        x = a[gid.x];
      }
      slot_0[lane] = x;
    }
  }
segment 1
  program p_1 {
    workgroup 8;

    inout a      : u32[] @binding(0);
    in    slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 8u32 + lid.x;
      var x : u32 = slot_0[lane];
      region main {
        a[gid.x + 1] = x;
      }
    }
  }
)");
}

TEST(Segments, SeveralAxes) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4, 2, 3; inout a : u32[];
    let x = a[gid.x + gid.y + gid.z];
    var w = wid.y;
    barrier grid;
    w += 1;
    barrier grid;
    a[gid.x] = x + w;
  })"),
            R"(
launch 0
launch 1
launch 2
control control: 3 u32
workgroup frame group_frame: 1 u32 per workgroup, two halves
slot slot_0: 1 u32 per lane
segment 0, ends a phase, swaps the workgroup frame
  program p_0 {
    workgroup 4, 2, 3;

    in    a                : u32[] @binding(0);
    inout next_group_frame : u32[] @binding(1);
    inout slot_0           : u32[] @binding(2);

    region main {
      let group : u32 = (wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x;
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 24u32 +
          ((lid.z * 2u32 + lid.y) * 4u32 + lid.x);
      var x : u32 = 0u32;
      var w : u32 = 0u32;
      region main {
        x = a[gid.x + gid.y + gid.z];
        w = wid.y;
      }
      slot_0[lane] = x;
      atomic_store(next_group_frame[group], w);
    }
  }
segment 1, ends a phase, swaps the workgroup frame
  program p_1 {
    workgroup 4, 2, 3;

    in    group_frame      : u32[] @binding(1);
    inout next_group_frame : u32[] @binding(2);

    region main {
      let group : u32 = (wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x;
      var w : u32 = group_frame[group];
      region main {
        w += 1;
      }
      atomic_store(next_group_frame[group], w);
    }
  }
segment 2
  program p_2 {
    workgroup 4, 2, 3;

    inout a           : u32[] @binding(0);
    in    group_frame : u32[] @binding(1);
    in    slot_0      : u32[] @binding(2);

    region main {
      let group : u32 = (wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x;
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 24u32 +
          ((lid.z * 2u32 + lid.y) * 4u32 + lid.x);
      var x : u32 = slot_0[lane];
      var w : u32 = group_frame[group];
      region main {
        a[gid.x] = x + w;
      }
    }
  }
)");
}

}  // namespace
}  // namespace vyre::plan
