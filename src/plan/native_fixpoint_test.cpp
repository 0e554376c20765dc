// SPDX-License-Identifier: Apache-2.0
// Plans of the native route, printed: fixpoints inside a launch, and where launches end.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

std::string native(std::string_view body) {
  return planned("program p { workgroup 4; inout a : u32[]; inout d : u32[4]; shared s : u32[4]; " +
                     std::string(body) + "}",
                 {.variant = {.route = Route::Native}});
}

TEST(Native, FixpointLoop) {
  EXPECT_EQ(native(R"(
    fixpoint max 5 over (d) { atomic_max(d[0], a[gid.x]); }
    a[gid.x] = fixpoint_passes();)"),
            R"(
launch 0
control control: 4 u32
meeting meeting: 9 u32
fixpoint result fixpoint_result: 2 u32
segment 0
  program p_0 {
    workgroup 4;

    inout a               : u32[] @binding(0);
    inout d               : u32[4] @binding(1);
    inout meeting         : u32[] @binding(2);
    inout fixpoint_result : u32[] @binding(3);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var pass_round : u32 = 0u32;
      var passes : u32 = fixpoint_result[0u32];
      var converged : bool = fixpoint_result[1u32] as bool;
      region main {
        let most : u32 = 5;
        barrier grid;
        var pass : u32 = 0u32;
        var changed : bool = true;
        while changed && pass < most {
          if lane == 0u32 {
            atomic_store(meeting[6u32 + select(pass_round == 2u32, 0u32, pass_round + 1u32)], 0u32);
          }
          let at : u32 = 0;
          let with : u32 = a[gid.x];
          let old : u32 = atomic_max(d[at], with);
          if max(old, with) != old {
            atomic_store(meeting[6u32 + pass_round], 1u32);
          }
          barrier grid;
          pass = pass + 1u32;
          changed = meeting[6u32 + pass_round] as bool;
          pass_round = select(pass_round == 2u32, 0u32, pass_round + 1u32);
        }
        passes = pass;
        converged = !changed;
        atomic_store(fixpoint_result[0u32], passes);
        atomic_store(fixpoint_result[1u32], converged as u32);
        a[gid.x] = passes;
      }
    }
  }
)");
}

TEST(Native, FixpointWithSnapshotAndReturn) {
  EXPECT_EQ(native("fixpoint max 5 over (d) { if a[gid.x] == 1 { return; } d[0] = a[0]; }"),
            R"(
launch 0
control control: 4 u32
meeting meeting: 9 u32
lane mask mask: 1 u32 per lane
fixpoint result fixpoint_result: 2 u32
snapshot before_d: 1 u32 like d
segment 0, reports live lanes, live lanes in live
  program p_0 {
    workgroup 4;

    in    a               : u32[] @binding(0);
    inout d               : u32[4] @binding(1);
    inout control         : u32[] @binding(2);
    inout meeting         : u32[] @binding(3);
    inout mask            : u32[] @binding(4);
    inout fixpoint_result : u32[] @binding(5);
    inout before_d        : u32[] @binding(6);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var live : bool = true;
      var meeting_round : u32 = 0u32;
      var group_round : u32 = 0u32;
      var pass_round : u32 = 0u32;
      var passes : u32 = fixpoint_result[0u32];
      var converged : bool = fixpoint_result[1u32] as bool;
      let most : u32 = 5;
      if live {
        atomic_store(meeting[0u32 + meeting_round], 1u32);
      }
      if lane == 0u32 {
        atomic_store(meeting[0u32 + select(meeting_round == 2u32, 0u32, meeting_round + 1u32)], 0u32);
      }
      barrier grid;
      if meeting[0u32 + meeting_round] == 0u32 {
        return;
      }
      meeting_round = select(meeting_round == 2u32, 0u32, meeting_round + 1u32);
      var pass : u32 = 0u32;
      var changed : bool = true;
      {
        var i : u32 = lane;
        while i < len(d) {
          before_d[i] = d[i];
          if len(d) - i <= num_workgroups.x * num_workgroups.y * num_workgroups.z * 4u32 {
            break;
          }
          i = i + num_workgroups.x * num_workgroups.y * num_workgroups.z * 4u32;
        }
      }
      barrier grid;
      while true {
        if !(changed && pass < most) {
          break;
        }
        if lane == 0u32 {
          atomic_store(meeting[6u32 + select(pass_round == 2u32, 0u32, pass_round + 1u32)], 0u32);
        }
        if live {
          if a[gid.x] == 1 {
            mask[lane] = 1u32;
            live = false;
          }
          if live {
            d[0] = a[0];
          }
        }
        if live {
          atomic_store(meeting[0u32 + meeting_round], 1u32);
        }
        if lane == 0u32 {
          atomic_store(meeting[0u32 + select(meeting_round == 2u32, 0u32, meeting_round + 1u32)],
              0u32);
        }
        barrier grid;
        if meeting[0u32 + meeting_round] == 0u32 {
          return;
        }
        meeting_round = select(meeting_round == 2u32, 0u32, meeting_round + 1u32);
        {
          var i_2 : u32 = lane;
          while i_2 < len(d) {
            if before_d[i_2] != d[i_2] {
              atomic_store(meeting[6u32 + pass_round], 1u32);
              before_d[i_2] = d[i_2];
            }
            if len(d) - i_2 <= num_workgroups.x * num_workgroups.y * num_workgroups.z * 4u32 {
              break;
            }
            i_2 = i_2 + num_workgroups.x * num_workgroups.y * num_workgroups.z * 4u32;
          }
        }
        barrier grid;
        pass = pass + 1u32;
        changed = meeting[6u32 + pass_round] as bool;
        pass_round = select(pass_round == 2u32, 0u32, pass_round + 1u32);
      }
      passes = pass;
      converged = !changed;
      atomic_store(fixpoint_result[0u32], passes);
      atomic_store(fixpoint_result[1u32], converged as u32);
      if live {
        atomic_store(control[0u32], 1u32);
      }
    }
  }
)");
}

// A launch ends only where the host has to act.
TEST(Native, CutAtResumes) {
  EXPECT_EQ(native(R"(
    let x = a[gid.x];
    if x == 1 { trap(1, x); }
    barrier grid;
    a[gid.x] = 1;
    resume(1);
    a[gid.x] += x;)"),
            R"(
launch 0
resume 0 of tag 1
launch 1
control control: 4 u32
meeting meeting: 6 u32
slot slot_0: 1 u32 per lane
lane mask mask: 1 u32 per lane
trap value trap_value: 1 u32 per lane
trap site trap_site: 1 u32 per lane
site 0: trap(1) at line 3
segment 0, reports live lanes, live lanes in live
  program p_0 {
    workgroup 4;

    inout a          : u32[] @binding(0);
    inout control    : u32[] @binding(2);
    inout meeting    : u32[] @binding(3);
    inout slot_0     : u32[] @binding(4);
    inout mask       : u32[] @binding(5);
    inout trap_value : u32[] @binding(6);
    inout trap_site  : u32[] @binding(7);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var live : bool = true;
      var meeting_round : u32 = 0u32;
      var group_round : u32 = 0u32;
      var phase_round : u32 = 0u32;
      var x : u32 = 0u32;
      region main {
        x = a[gid.x];
        if live {
          if x == 1 {
            trap_value[lane] = x;
            trap_site[lane] = 0u32;
            slot_0[lane] = x;
            mask[lane] = 2u32;
            atomic_store(control[3u32], 1u32);
            live = false;
          }
        }
        if lane == 0u32 {
          atomic_store(meeting[3u32 + select(phase_round == 2u32, 0u32, phase_round + 1u32)], 0u32);
        }
        if live {
          atomic_store(meeting[0u32 + meeting_round], 1u32);
        }
        if lane == 0u32 {
          atomic_store(meeting[0u32 + select(meeting_round == 2u32, 0u32, meeting_round + 1u32)],
              0u32);
        }
        barrier grid;
        if meeting[0u32 + meeting_round] == 0u32 {
          return;
        }
        meeting_round = select(meeting_round == 2u32, 0u32, meeting_round + 1u32);
        if meeting[3u32 + phase_round] != 0u32 {
          if lane == 0u32 {
            atomic_store(control[2u32], 1u32);
          }
          return;
        }
        phase_round = select(phase_round == 2u32, 0u32, phase_round + 1u32);
        if live {
          a[gid.x] = 1;
        }
      }
      if live {
        slot_0[lane] = x;
        atomic_store(control[0u32], 1u32);
      }
    }
  }
segment 1, reports live lanes, live lanes in live
  program p_1 {
    workgroup 4;

    inout a       : u32[] @binding(0);
    inout control : u32[] @binding(2);
    inout meeting : u32[] @binding(3);
    in    slot_0  : u32[] @binding(4);
    in    mask    : u32[] @binding(5);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var live : bool = mask[lane] == 0u32;
      var meeting_round : u32 = 0u32;
      var group_round : u32 = 0u32;
      var phase_round : u32 = 0u32;
      if lane == 0u32 {
        atomic_max(meeting[3u32], ~atomic_load(control[1u32]));
      }
      var x : u32 = slot_0[lane];
      if live {
        region main {
          a[gid.x] += x;
        }
      }
      if live {
        atomic_store(control[0u32], 1u32);
      }
    }
  }
)");
}

}  // namespace
}  // namespace vyre::plan
