// SPDX-License-Identifier: Apache-2.0
#include "text/builtin_modules.hpp"

#include <array>

namespace vyre::text {

namespace {

constexpr std::string_view kTile =
    R"vyre(// What the lanes of one workgroup do together. `Lanes` is the number of lanes of a workgroup, which
// has one axis; all functions but `load` and `store` contain workgroup barriers, so they are called
// in flow that is uniform over the workgroup.
module tile {
  // How many elements `load` and `store` move for each lane unless the call says so.
  tune const Items : u32 = 4;

  // op over the values of all lanes, in the order of a tree; every lane gets it. Lanes is a power
  // of two.
  fn reduce<const Lanes : u32, type T : number>(x : T, op : fn(T, T) -> T) -> T {
    shared part : T[Lanes];
    part[lid.x] = x;
    barrier workgroup;
    var half = Lanes / 2;
    while half > 0 {
      if lid.x < half {
        part[lid.x] = op(part[lid.x], part[lid.x + half]);
      }
      barrier workgroup;
      half /= 2;
    }
    let all = workgroup_load(part[0]);
    barrier workgroup;
    return all;
  }

  // op over the values of the lanes up to and with this one.
  fn inclusive<const Lanes : u32, type T : number>(x : T, op : fn(T, T) -> T) -> T {
    shared part : T[Lanes];
    var sum = x;
    part[lid.x] = x;
    barrier workgroup;
    var reach = 1u32;
    while reach < Lanes {
      var before = sum;
      if lid.x >= reach {
        before = op(part[lid.x - reach], sum);
      }
      barrier workgroup;
      sum = before;
      part[lid.x] = sum;
      barrier workgroup;
      reach *= 2;
    }
    return sum;
  }

  // op over the values of the lanes before this one; `none` for the first lane.
  fn exclusive<const Lanes : u32, type T : number>(x : T, none : T, op : fn(T, T) -> T) -> T {
    shared shifted : T[Lanes];
    let sum = inclusive<Lanes, T>(x, op);
    shifted[lid.x] = sum;
    barrier workgroup;
    var before = none;
    if lid.x > 0 {
      before = shifted[lid.x - 1];
    }
    barrier workgroup;
    return before;
  }

  // Elements of the tile of this workgroup: to[k] = map(from[...]), neighbouring lanes reading
  // neighbouring elements.
  fn load<const N : u32 = Items, type T : any, type U : any>(
      from : buffer T[], to : buffer U[], map : fn(T) -> U) {
    let first = wid.x * workgroup_size.x * N + lid.x;
    for k in 0 .. N {
      to[k] = map(from[first + k * workgroup_size.x]);
    }
  }

  // The way back: to[...] = map(from[k]).
  fn store<const N : u32 = Items, type T : any, type U : any>(
      from : buffer T[], to : buffer U[], map : fn(T) -> U) {
    let first = wid.x * workgroup_size.x * N + lid.x;
    for k in 0 .. N {
      to[first + k * workgroup_size.x] = map(from[k]);
    }
  }
}
)vyre";

constexpr std::array kModules = std::to_array<BuiltinModule>({{"vyre.tile", kTile}});

}  // namespace

std::span<const BuiltinModule> builtin_modules() {
  return kModules;
}

}  // namespace vyre::text
