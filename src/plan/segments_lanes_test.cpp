// SPDX-License-Identifier: Apache-2.0
// Plans of programs whose lanes end or wait, printed.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

TEST(SegmentsOfLanes, Return) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u32[];
    if a[gid.x] == 3 { return; }
    barrier grid;
    a[gid.x] = 1;
  })"),
            R"(
launch 0
launch 1
control control: 3 u32
lane mask mask: 1 u32 per lane
segment 0, ends a phase, reports live lanes
  program p_0 {
    workgroup 4;

    in    a       : u32[] @binding(0);
    inout control : u32[] @binding(1);
    inout mask    : u32[] @binding(2);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      region main {
        if a[gid.x] == 3 {
          mask[lane] = 1u32;
          return;
        }
      }
      atomic_store(control[0u32], 1u32);
    }
  }
segment 1, reports live lanes
  program p_1 {
    workgroup 4;

    inout a       : u32[] @binding(0);
    inout control : u32[] @binding(1);
    in    mask    : u32[] @binding(2);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      if mask[lane] != 0u32 {
        return;
      }
      region main {
        a[gid.x] = 1;
      }
      atomic_store(control[0u32], 1u32);
    }
  }
)");
}

TEST(SegmentsOfLanes, MatchedAndUnmatchedTrap) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u32[];
    let x = a[gid.x];
    if x == 3 { trap(1, x + 1); }
    if x == 4 { trap(9, x); }
    a[gid.x] = 0;
    resume(1);
    a[gid.x] += x;
  })"),
            R"(
launch 0
resume 0 of tag 1
launch 1
control control: 4 u32
slot slot_0: 1 u32 per lane
lane mask mask: 1 u32 per lane
trap value trap_value: 1 u32 per lane
trap site trap_site: 1 u32 per lane
site 0: trap(1) at line 4
site 1: trap(9) at line 5
segment 0, reports live lanes
  program p_0 {
    workgroup 4;

    inout a          : u32[] @binding(0);
    inout control    : u32[] @binding(1);
    inout slot_0     : u32[] @binding(2);
    inout mask       : u32[] @binding(3);
    inout trap_value : u32[] @binding(4);
    inout trap_site  : u32[] @binding(5);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var x : u32 = 0u32;
      region main {
        x = a[gid.x];
        if x == 3 {
          trap_value[lane] = x + 1;
          trap_site[lane] = 0u32;
          slot_0[lane] = x;
          mask[lane] = 2u32;
          atomic_store(control[3u32], 1u32);
          return;
        }
        if x == 4 {
          trap_value[lane] = x;
          trap_site[lane] = 1u32;
          mask[lane] = 1u32;
          atomic_min(control[1u32], lane);
          return;
        }
        a[gid.x] = 0;
      }
      slot_0[lane] = x;
      atomic_store(control[0u32], 1u32);
    }
  }
segment 1, reports live lanes
  program p_1 {
    workgroup 4;

    inout a       : u32[] @binding(0);
    inout control : u32[] @binding(1);
    in    slot_0  : u32[] @binding(2);
    in    mask    : u32[] @binding(3);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      if mask[lane] != 0u32 {
        return;
      }
      var x : u32 = slot_0[lane];
      region main {
        a[gid.x] += x;
      }
      atomic_store(control[0u32], 1u32);
    }
  }
)");
}

// A lane that waits misses the change, so from then on the value is one of single lanes.
TEST(SegmentsOfLanes, ValueThatWaitingLanesMiss) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u32[];
    var w = wid.x;
    if gid.x == 1 { trap(1, 0); }
    barrier grid;
    w += 1;
    resume(1);
    a[gid.x] = w;
  })"),
            R"(
launch 0
launch 1
resume 0 of tag 1
launch 2
control control: 4 u32
slot slot_0: 1 u32 per lane
lane mask mask: 1 u32 per lane
trap value trap_value: 1 u32 per lane
trap site trap_site: 1 u32 per lane
site 0: trap(1) at line 4
segment 0, ends a phase, reports live lanes
  program p_0 {
    workgroup 4;

    inout control    : u32[] @binding(1);
    inout slot_0     : u32[] @binding(2);
    inout mask       : u32[] @binding(3);
    inout trap_value : u32[] @binding(4);
    inout trap_site  : u32[] @binding(5);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var w : u32 = 0u32;
      region main {
        w = wid.x;
        if gid.x == 1 {
          trap_value[lane] = 0;
          trap_site[lane] = 0u32;
          slot_0[lane] = w;
          mask[lane] = 2u32;
          atomic_store(control[3u32], 1u32);
          return;
        }
      }
      slot_0[lane] = w;
      atomic_store(control[0u32], 1u32);
    }
  }
segment 1, reports live lanes
  program p_1 {
    workgroup 4;

    inout control : u32[] @binding(1);
    inout slot_0  : u32[] @binding(2);
    in    mask    : u32[] @binding(3);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      if mask[lane] != 0u32 {
        return;
      }
      var w : u32 = slot_0[lane];
      region main {
        w += 1;
      }
      slot_0[lane] = w;
      atomic_store(control[0u32], 1u32);
    }
  }
segment 2, reports live lanes
  program p_2 {
    workgroup 4;

    inout a       : u32[] @binding(0);
    inout control : u32[] @binding(1);
    in    slot_0  : u32[] @binding(2);
    in    mask    : u32[] @binding(3);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      if mask[lane] != 0u32 {
        return;
      }
      var w : u32 = slot_0[lane];
      region main {
        a[gid.x] = w;
      }
      atomic_store(control[0u32], 1u32);
    }
  }
)");
}

// Workgroups all of whose lanes wait keep their values though the halves change roles.
TEST(SegmentsOfLanes, WorkgroupFrameIsCarried) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u32[];
    var w = wid.x;
    w += 1;
    if gid.x == 1 { trap(1, 0); }
    barrier grid;
    var v = w * 2;
    barrier grid;
    a[gid.x] = v;
    resume(1);
    a[gid.x] += w;
  })"),
            R"(
launch 0
launch 1
launch 2
resume 0 of tag 1
launch 3
control control: 4 u32
workgroup frame group_frame: 1 u32 per workgroup, two halves
workgroup frame group_frame_2: 1 u32 per workgroup, two halves
lane mask mask: 1 u32 per lane
trap value trap_value: 1 u32 per lane
trap site trap_site: 1 u32 per lane
site 0: trap(1) at line 5
segment 0, ends a phase, swaps the workgroup frame, carries it, reports live lanes
  program p_0 {
    workgroup 4;

    inout control            : u32[] @binding(1);
    in    group_frame        : u32[] @binding(2);
    inout next_group_frame   : u32[] @binding(3);
    in    group_frame_2      : u32[] @binding(4);
    inout next_group_frame_2 : u32[] @binding(5);
    inout mask               : u32[] @binding(6);
    inout trap_value         : u32[] @binding(7);
    inout trap_site          : u32[] @binding(8);

    region main {
      let group : u32 = (wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x;
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      if lid.x == 0u32 {
        atomic_store(next_group_frame[group], group_frame[group]);
        atomic_store(next_group_frame_2[group], group_frame_2[group]);
      }
      barrier workgroup;
      var w : u32 = 0u32;
      region main {
        w = wid.x;
        w += 1;
        if gid.x == 1 {
          trap_value[lane] = 0;
          trap_site[lane] = 0u32;
          atomic_store(next_group_frame[group], w);
          mask[lane] = 2u32;
          atomic_store(control[3u32], 1u32);
          return;
        }
      }
      atomic_store(next_group_frame[group], w);
      atomic_store(control[0u32], 1u32);
    }
  }
segment 1, ends a phase, swaps the workgroup frame, carries it, reports live lanes
  program p_1 {
    workgroup 4;

    inout control            : u32[] @binding(1);
    in    group_frame        : u32[] @binding(2);
    inout next_group_frame   : u32[] @binding(3);
    in    group_frame_2      : u32[] @binding(4);
    inout next_group_frame_2 : u32[] @binding(5);
    in    mask               : u32[] @binding(6);

    region main {
      let group : u32 = (wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x;
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      if lid.x == 0u32 {
        atomic_store(next_group_frame[group], group_frame[group]);
        atomic_store(next_group_frame_2[group], group_frame_2[group]);
      }
      barrier workgroup;
      if mask[lane] != 0u32 {
        return;
      }
      var w : u32 = group_frame[group];
      var v : u32 = 0u32;
      region main {
        v = w * 2;
      }
      atomic_store(next_group_frame[group], w);
      atomic_store(next_group_frame_2[group], v);
      atomic_store(control[0u32], 1u32);
    }
  }
segment 2, reports live lanes
  program p_2 {
    workgroup 4;

    inout a             : u32[] @binding(0);
    inout control       : u32[] @binding(1);
    in    group_frame_2 : u32[] @binding(2);
    in    mask          : u32[] @binding(3);

    region main {
      let group : u32 = (wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x;
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      if mask[lane] != 0u32 {
        return;
      }
      var v : u32 = group_frame_2[group];
      region main {
        a[gid.x] = v;
      }
      atomic_store(control[0u32], 1u32);
    }
  }
segment 3, reports live lanes
  program p_3 {
    workgroup 4;

    inout a           : u32[] @binding(0);
    inout control     : u32[] @binding(1);
    in    group_frame : u32[] @binding(2);
    in    mask        : u32[] @binding(3);

    region main {
      let group : u32 = (wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x;
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      if mask[lane] != 0u32 {
        return;
      }
      var w : u32 = group_frame[group];
      region main {
        a[gid.x] += w;
      }
      atomic_store(control[0u32], 1u32);
    }
  }
)");
}

// In checked mode a lane that stops in the middle of a segment has not said that it goes on.
TEST(SegmentsOfLanes, CheckedMode) {
  EXPECT_EQ(planned(R"(program p {
    workgroup 4; inout a : u32[];
    a[gid.x] = 1;
    barrier grid;
    a[gid.x + 1] = 2;
  })",
                    {.checked = true}),
            R"(
launch 0
launch 1
control control: 3 u32
lane mask mask: 1 u32 per lane
segment 0, ends a phase, reports live lanes
  program p_0 {
    workgroup 4;

    inout a       : u32[] @binding(0);
    inout control : u32[] @binding(1);
    inout mask    : u32[] @binding(2);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      mask[lane] = 1u32;
      region main {
        a[gid.x] = 1;
      }
      atomic_store(control[0u32], 1u32);
      mask[lane] = 0u32;
    }
  }
segment 1, reports live lanes
  program p_1 {
    workgroup 4;

    inout a       : u32[] @binding(0);
    inout control : u32[] @binding(1);
    inout mask    : u32[] @binding(2);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      if mask[lane] != 0u32 {
        return;
      }
      mask[lane] = 1u32;
      region main {
        a[gid.x + 1] = 2;
      }
      atomic_store(control[0u32], 1u32);
      mask[lane] = 0u32;
    }
  }
)");
}

}  // namespace
}  // namespace vyre::plan
