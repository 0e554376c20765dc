// SPDX-License-Identifier: Apache-2.0
// The phases between workgroup barriers, printed.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

TEST(WorkgroupPhases, Barriers) {
  EXPECT_EQ(workgroup_phases(R"(program p {
    workgroup 4, 2; inout a : u32[]; shared s : u32[8];
    let x = a[gid.x];
    var w = wid.x;
    s[lid.x] = x;
    barrier workgroup;
    w += s[3 - lid.x & 3] & 0;
    barrier workgroup;
    a[gid.x] = x + w;
  })"),
            R"(
launch 0
launch 1
launch 2
control control: 3 u32
slot slot_0: 1 u32 per lane
slot slot_1: 1 u32 per lane
segment 0, ends a phase
  program p_0 {
    workgroup 4, 2;

    in    a      : u32[] @binding(0);
    inout s      : u32[8] @binding(1);
    inout slot_0 : u32[] @binding(2);
    inout slot_1 : u32[] @binding(3);

    region main {
      let lane : u32 = lid.y * 4u32 + lid.x;
      var x : u32 = 0u32;
      var w : u32 = 0u32;
      region main {
        x = a[gid.x];
        w = wid.x;
        s[lid.x] = x;
      }
      slot_0[lane] = x;
      slot_1[lane] = w;
    }
  }
segment 1, ends a phase
  program p_1 {
    workgroup 4, 2;

    in    s      : u32[8] @binding(1);
    inout slot_1 : u32[] @binding(2);

    region main {
      let lane : u32 = lid.y * 4u32 + lid.x;
      var w : u32 = slot_1[lane];
      region main {
        w += s[3 - lid.x & 3] & 0;
      }
      slot_1[lane] = w;
    }
  }
segment 2
  program p_2 {
    workgroup 4, 2;

    inout a      : u32[] @binding(0);
    in    slot_0 : u32[] @binding(1);
    in    slot_1 : u32[] @binding(2);

    region main {
      let lane : u32 = lid.y * 4u32 + lid.x;
      var x : u32 = slot_0[lane];
      var w : u32 = slot_1[lane];
      region main {
        a[gid.x] = x + w;
      }
    }
  }
)");
}

TEST(WorkgroupPhases, LoopsAndLoads) {
  EXPECT_EQ(workgroup_phases(R"(program p {
    workgroup 4; inout a : u32[]; shared s : u32[4];
    var v : u32[2];
    let n = workgroup_load(s[0]);
    for i in 0 .. n {
      v[i & 1] += a[gid.x];
      barrier workgroup;
    }
    a[gid.x] = v[1];
  })"),
            R"(
launch 0
launch 1
launch 2
loop
  launch 3
while word 3
  launch 4
  launch 5
launch 6
control control: 3 u32
frame frame: 4 u32, two halves
slot slot_0: 2 u32 per lane
segment 0, ends a phase
  program p_0 {
    workgroup 4;

    inout slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = lid.x;
      var v : u32[2];
      region main {
      }
      for k in 0u32 .. 2u32 {
        slot_0[k * 4u32 + lane] = v[k];
      }
    }
  }
segment 1, ends a phase, swaps the frame
  program p_1 {
    workgroup 4;

    in    s          : u32[4] @binding(1);
    inout next_frame : u32[] @binding(2);

    region main {
      var n : u32 = 0u32;
      region main {
        n = s[0];
      }
      atomic_store(next_frame[0u32], n);
    }
  }
segment 2, swaps the frame
  program p_2 {
    workgroup 4;

    in    frame      : u32[] @binding(1);
    inout next_frame : u32[] @binding(2);

    region main {
      var n : u32 = frame[0u32];
      var next_i : u32 = 0u32;
      var end_i : u32 = 0u32;
      region main {
        next_i = 0;
        end_i = n;
      }
      atomic_store(next_frame[1u32], next_i);
      atomic_store(next_frame[2u32], end_i);
    }
  }
segment 3, swaps the frame
  program p_3 {
    workgroup 4;

    in    frame      : u32[] @binding(1);
    inout next_frame : u32[] @binding(2);

    region main {
      var next_i : u32 = frame[1u32];
      var end_i : u32 = frame[2u32];
      var again : bool = false;
      region main {
        again = next_i < end_i;
      }
      atomic_store(next_frame[1u32], next_i);
      atomic_store(next_frame[2u32], end_i);
      atomic_store(next_frame[3u32], again as u32);
    }
  }
segment 4, ends a phase
  program p_4 {
    workgroup 4;

    in    a      : u32[] @binding(0);
    in    frame  : u32[] @binding(1);
    inout slot_0 : u32[] @binding(2);

    region main {
      let lane : u32 = lid.x;
      var v : u32[2];
      for k in 0u32 .. 2u32 {
        v[k] = slot_0[k * 4u32 + lane];
      }
      var next_i : u32 = frame[1u32];
      region main {
        let i : u32 = next_i;
        v[i & 1] += a[gid.x];
      }
      for k_2 in 0u32 .. 2u32 {
        slot_0[k_2 * 4u32 + lane] = v[k_2];
      }
    }
  }
segment 5, swaps the frame
  program p_5 {
    workgroup 4;

    in    frame      : u32[] @binding(1);
    inout next_frame : u32[] @binding(2);

    region main {
      var next_i : u32 = frame[1u32];
      var end_i : u32 = frame[2u32];
      region main {
        next_i = next_i + 1u32;
      }
      atomic_store(next_frame[1u32], next_i);
      atomic_store(next_frame[2u32], end_i);
    }
  }
segment 6
  program p_6 {
    workgroup 4;

    inout a      : u32[] @binding(0);
    in    slot_0 : u32[] @binding(1);

    region main {
      let lane : u32 = lid.x;
      var v : u32[2];
      for k in 0u32 .. 2u32 {
        v[k] = slot_0[k * 4u32 + lane];
      }
      region main {
        a[gid.x] = v[1];
      }
    }
  }
)");
}

// Done at the wait, by all lanes of the workgroup.
TEST(WorkgroupPhases, AsyncCopy) {
  EXPECT_EQ(workgroup_phases(R"(program p {
    workgroup 4; inout a : u32[]; shared s : u32[4];
    async copy(1, s, 0, a, wid.x * 4, 4);
    let x = wid.x;
    wait(1);
    a[gid.x] = s[3 - lid.x] + x;
  })"),
            R"(
launch 0
copy s at word 0 from a at word 1, count word 2
launch 1
control control: 3 u32
frame frame: 3 u32, two halves
segment 0, ends a phase, swaps the frame
  program p_0 {
    workgroup 4;

    inout next_frame : u32[] @binding(1);

    region main {
      var copy_word : u32 = 0u32;
      var copy_word_2 : u32 = 0u32;
      var copy_word_3 : u32 = 0u32;
      region main {
        copy_word = 0;
        copy_word_2 = wid.x * 4;
        copy_word_3 = 4;
        let x : u32 = wid.x;
      }
      atomic_store(next_frame[0u32], copy_word);
      atomic_store(next_frame[1u32], copy_word_2);
      atomic_store(next_frame[2u32], copy_word_3);
    }
  }
segment 1
  program p_1 {
    workgroup 4;

    inout a : u32[] @binding(0);
    in    s : u32[4] @binding(1);

    region main {
      let x : u32 = wid.x;
      region main {
        a[gid.x] = s[3 - lid.x] + x;
      }
    }
  }
)");
}

TEST(WorkgroupPhases, EndedLanesAndTraps) {
  EXPECT_EQ(workgroup_phases(R"(program p {
    workgroup 4; inout a : u32[]; shared s : u32[4];
    if a[gid.x] == 1 { return; }
    s[lid.x] = 1;
    barrier workgroup;
    if s[0] == 0 { trap(7, gid.x); }
    a[gid.x] = s[1];
  })"),
            R"(
launch 0
launch 1
control control: 3 u32
lane mask mask: 1 u32 per lane
trap value trap_value: 1 u32 per lane
trap site trap_site: 1 u32 per lane
site 0: trap(7) at line 6
segment 0, ends a phase, reports live lanes
  program p_0 {
    workgroup 4;

    in    a       : u32[] @binding(0);
    inout s       : u32[4] @binding(1);
    inout control : u32[] @binding(2);
    inout mask    : u32[] @binding(3);

    region main {
      let lane : u32 = lid.x;
      region main {
        if a[gid.x] == 1 {
          mask[lane] = 1u32;
          return;
        }
        s[lid.x] = 1;
      }
      atomic_store(control[0u32], 1u32);
    }
  }
segment 1, reports live lanes
  program p_1 {
    workgroup 4;

    inout a          : u32[] @binding(0);
    in    s          : u32[4] @binding(1);
    inout control    : u32[] @binding(2);
    inout mask       : u32[] @binding(3);
    inout trap_value : u32[] @binding(4);
    inout trap_site  : u32[] @binding(5);

    region main {
      let lane : u32 = lid.x;
      if mask[lane] != 0u32 {
        return;
      }
      region main {
        if s[0] == 0 {
          trap_value[lane] = gid.x;
          trap_site[lane] = 0u32;
          mask[lane] = 1u32;
          atomic_min(control[1u32], lane);
          return;
        }
        a[gid.x] = s[1];
      }
      atomic_store(control[0u32], 1u32);
    }
  }
)");
}

}  // namespace
}  // namespace vyre::plan
