// SPDX-License-Identifier: Apache-2.0
// Plans of the native route, printed: barriers stay, lanes that ended walk along.
#include <gtest/gtest.h>

#include "plan/printed_test.hpp"

namespace vyre::plan {
namespace {

std::string native(std::string_view body) {
  return planned("program p { workgroup 4; inout a : u32[]; inout d : u32[4]; shared s : u32[4]; " +
                     std::string(body) + "}",
                 {.variant = {.route = Route::Native}});
}

// No lane ends: the program stays as it is.
TEST(Native, PlainBarriers) {
  EXPECT_EQ(native(R"(
    var k = a[gid.x];
    barrier grid;
    while k < 4 { k += 1; }
    let n = grid_load(a[0]);
    for i in 0 .. n { a[gid.x] += k; barrier grid; if i == 3 { break; } }
    a[gid.x] += s[lid.x];)"),
            R"(
launch 0
control control: 3 u32
meeting meeting: 6 u32
segment 0
  program p_0 {
    workgroup 4;

    inout  a : u32[] @binding(0);
    shared s : u32[4];

    region main {
      region main {
        var k : u32 = a[gid.x];
        barrier grid;
        while k < 4 {
          k += 1;
        }
        let n : u32 = grid_load(a[0]);
        for i in 0 .. n {
          a[gid.x] += k;
          barrier grid;
          if i == 3 {
            break;
          }
        }
        a[gid.x] += s[lid.x];
      }
    }
  }
)");
}

TEST(Native, EndedLanes) {
  EXPECT_EQ(native(R"(
    let x = a[gid.x];
    var k = 0u32;
    if x == 3 { return; }
    let y = x + 1;
    k += 1;
    barrier grid;
    if k == 1 { a[gid.x] = y; barrier workgroup; a[gid.x] += y; }
    for i in 0 .. k { a[gid.x] += i; barrier grid; })"),
            R"(
launch 0
control control: 3 u32
meeting meeting: 6 u32
lane mask mask: 1 u32 per lane
segment 0, reports live lanes, live lanes in live
  program p_0 {
    workgroup 4;

    inout a       : u32[] @binding(0);
    inout control : u32[] @binding(2);
    inout meeting : u32[] @binding(3);
    inout mask    : u32[] @binding(4);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var live : bool = true;
      var meeting_round : u32 = 0u32;
      var group_round : u32 = 0u32;
      region main {
        let x : u32 = a[gid.x];
        var k : u32 = 0u32;
        var y : u32 = 0u32;
        if live {
          if x == 3 {
            mask[lane] = 1u32;
            live = false;
          }
          if live {
            y = x + 1;
          }
        }
        k += 1;
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
        if k == 1 {
          if live {
            a[gid.x] = y;
          }
          barrier workgroup;
          if live {
            a[gid.x] += y;
          }
        }
        for i in 0 .. k {
          if live {
            a[gid.x] += i;
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
        }
      }
      if live {
        atomic_store(control[0u32], 1u32);
      }
    }
  }
)");
}

TEST(Native, UnmatchedTrap) {
  EXPECT_EQ(native("if a[gid.x] == 3 { trap(9, 7); } barrier grid; a[gid.x] = 1;"), R"(
launch 0
control control: 3 u32
meeting meeting: 6 u32
lane mask mask: 1 u32 per lane
trap value trap_value: 1 u32 per lane
trap site trap_site: 1 u32 per lane
site 0: trap(9) at line 1
segment 0, reports live lanes, live lanes in live
  program p_0 {
    workgroup 4;

    inout a          : u32[] @binding(0);
    inout control    : u32[] @binding(2);
    inout meeting    : u32[] @binding(3);
    inout mask       : u32[] @binding(4);
    inout trap_value : u32[] @binding(5);
    inout trap_site  : u32[] @binding(6);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var live : bool = true;
      var meeting_round : u32 = 0u32;
      var group_round : u32 = 0u32;
      var phase_round : u32 = 0u32;
      region main {
        if live {
          if a[gid.x] == 3 {
            trap_value[lane] = 7;
            trap_site[lane] = 0u32;
            mask[lane] = 1u32;
            atomic_max(meeting[3u32 + phase_round], ~lane);
            atomic_min(control[1u32], lane);
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
        atomic_store(control[0u32], 1u32);
      }
    }
  }
)");
}

// A loop that lanes may leave for good asks in each trip whether anyone is left, unless a barrier
// of every trip tells.
TEST(Native, Vote) {
  EXPECT_EQ(native(R"(
    while true {
      a[gid.x] += 1;
      if a[gid.x] > 3 { return; }
      if len(a) == 7 { barrier grid; }
    })"),
            R"(
launch 0
control control: 3 u32
meeting meeting: 6 u32
lane mask mask: 1 u32 per lane
segment 0, reports live lanes, live lanes in live
  program p_0 {
    workgroup 4;

    inout a       : u32[] @binding(0);
    inout control : u32[] @binding(2);
    inout meeting : u32[] @binding(3);
    inout mask    : u32[] @binding(4);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var live : bool = true;
      var meeting_round : u32 = 0u32;
      var group_round : u32 = 0u32;
      region main {
        while true {
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
          if !true {
            break;
          }
          if live {
            a[gid.x] += 1;
            if a[gid.x] > 3 {
              mask[lane] = 1u32;
              live = false;
            }
          }
          if len(a) == 7 {
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
          }
        }
      }
      if live {
        atomic_store(control[0u32], 1u32);
      }
    }
  }
)");
  EXPECT_EQ(native("while true { barrier grid; a[gid.x] += 1; if a[gid.x] > 3 { return; } }"),
            R"(
launch 0
control control: 3 u32
meeting meeting: 6 u32
lane mask mask: 1 u32 per lane
segment 0, reports live lanes, live lanes in live
  program p_0 {
    workgroup 4;

    inout a       : u32[] @binding(0);
    inout control : u32[] @binding(2);
    inout meeting : u32[] @binding(3);
    inout mask    : u32[] @binding(4);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var live : bool = true;
      var meeting_round : u32 = 0u32;
      var group_round : u32 = 0u32;
      region main {
        while true {
          if !true {
            break;
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
          if live {
            a[gid.x] += 1;
            if a[gid.x] > 3 {
              mask[lane] = 1u32;
              live = false;
            }
          }
        }
      }
      if live {
        atomic_store(control[0u32], 1u32);
      }
    }
  }
)");
}

// Live lanes run the loop alone and tell the others what became of uniform locals.
TEST(Native, Resync) {
  EXPECT_EQ(native(R"(
    var k = 0u32;
    while k < 9 { if a[gid.x] == k { return; } k += 1; }
    for i in 0 .. k { barrier grid; })"),
            R"(
launch 0
control control: 3 u32
meeting meeting: 9 u32
lane mask mask: 1 u32 per lane
segment 0, reports live lanes, live lanes in live
  program p_0 {
    workgroup 4;

    in    a       : u32[] @binding(0);
    inout control : u32[] @binding(2);
    inout meeting : u32[] @binding(3);
    inout mask    : u32[] @binding(4);

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var live : bool = true;
      var meeting_round : u32 = 0u32;
      var group_round : u32 = 0u32;
      region main {
        var k : u32 = 0u32;
        if live {
          while k < 9 {
            if a[gid.x] == k {
              mask[lane] = 1u32;
              live = false;
              break;
            }
            k += 1;
          }
        }
        if live {
          atomic_store(meeting[6u32 + meeting_round], k);
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
        k = meeting[6u32 + meeting_round];
        meeting_round = select(meeting_round == 2u32, 0u32, meeting_round + 1u32);
        for i in 0 .. k {
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
        }
      }
      if live {
        atomic_store(control[0u32], 1u32);
      }
    }
  }
)");
}

// A workgroup without lanes leaves the loop early; its grid-uniform values come from the others.
TEST(Native, WorkgroupVoteAndGridResync) {
  EXPECT_EQ(native(R"(
    var k = 0u32;
    while k < 9 { if a[gid.x] == k { return; } s[lid.x] += 1; barrier workgroup; k += 1; }
    barrier grid;
    a[gid.x] = k;)"),
            R"(
launch 0
control control: 3 u32
meeting meeting: 9 u32
lane mask mask: 1 u32 per lane
segment 0, reports live lanes, live lanes in live
  program p_0 {
    workgroup 4;

    inout  a           : u32[] @binding(0);
    shared s           : u32[4];
    inout  control     : u32[] @binding(2);
    inout  meeting     : u32[] @binding(3);
    inout  mask        : u32[] @binding(4);
    shared group_votes : u32[3];

    region main {
      let lane : u32 = ((wid.z * num_workgroups.y + wid.y) * num_workgroups.x + wid.x) * 4u32 + lid.x;
      var live : bool = true;
      var meeting_round : u32 = 0u32;
      var group_round : u32 = 0u32;
      region main {
        var k : u32 = 0u32;
        while true {
          if live {
            atomic_store(group_votes[0u32 + group_round], 1u32);
          }
          if lid.x == 0u32 {
            atomic_store(group_votes[select(group_round == 2u32, 0u32, group_round + 1u32)], 0u32);
          }
          barrier workgroup;
          let alive : bool = group_votes[0u32 + group_round] != 0u32;
          group_round = select(group_round == 2u32, 0u32, group_round + 1u32);
          if !alive {
            break;
          }
          if !(k < 9) {
            break;
          }
          if live {
            if a[gid.x] == k {
              mask[lane] = 1u32;
              live = false;
            }
            if live {
              s[lid.x] += 1;
            }
          }
          barrier workgroup;
          k += 1;
        }
        if live {
          atomic_store(meeting[6u32 + meeting_round], k);
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
        k = meeting[6u32 + meeting_round];
        meeting_round = select(meeting_round == 2u32, 0u32, meeting_round + 1u32);
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
        if live {
          a[gid.x] = k;
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
