// SPDX-License-Identifier: Apache-2.0
// A program with every construct of the language, for tests. It is not meant to pass the checker.
#pragma once

#include <string_view>

namespace vyre::ir {

inline constexpr std::string_view kEverything = R"vyre(program everything {
  workgroup 8, N, 2;
  over len(a), len(a), 1;
  const N : u32 = 4;
  const SCALE : f64 = -2.5e-3f64;
  const T : i32[] = { 1, -2, 0x7fffffff, -0 };
  in a : u32[] @binding(3) @locality(streaming) @coalesce(y);
  require len(a) > 0, "a is \"empty\"\n\\ é";
  uniform params : f32[16] @align(64);
  inout state : u64[] @live_out @count(len(a) * 2);
  out result : f16[] @count(len(a)) @range(0 .. 64);
  writeonly trail : u8[1024];
  shared tile : i32[256];
  persistent keep : bool[];
  require N == 4, "n";
  fn helper(x : f32, b : buffer u32[], n : u32) -> f32 {
    if n == 0 { return x; } else if n == 1 { return x + 1.0; } else { other(b); }
    return helper2(x) * (b[n] as f32);
  }
  fn other(b : buffer u32[]) { b[0] = len(b); return; }
  fn helper2(x : f32) -> f32 { return fma(x, x, 1.0e-45f32); }
  region first {
    let i = gid.x;
    var acc : f64 = 0.0;
    var tmp : f32[N * 4];
    tmp[i] = params[3];
    tmp[i + 1] *= -tmp[i];
    acc += SCALE;
    acc = acc / 3.0f64;
    state[i] <<= 3u64;
    for k in 0 .. len(a) step 2 @unroll { if k == 7 { break; } continue; }
    while !(i < 5 && true || false) { let w = T[i]; trap(7, w as u32); }
    { let nested = select(i == 0, ~i, i ^ 3 | 1 & 2); }
    atomic_add(state[i], 1, release);
    let old = atomic_cas(tile[lid.y], 1, 2);
    helper(1.5, a, wid.z);
    let s = subgroup_shuffle_xor(i, 1) + subgroup_add(i) % 5;
    let g = grid_load(a[0]) + workgroup_load(tile[1]) as u32;
    let f = bitcast<f32>(clz(i) >> 2);
    barrier workgroup;
    async copy(65535, tile, 0, a, i, 64);
    wait(65535);
    resume(7);
    return;
  }
  barrier grid;
  fixpoint max 100 over (state, keep) { region pass { keep[0] = fixpoint_converged() && fixpoint_passes() > 2; barrier subgroup; } }
  all_reduce(state, xor, 3);
  broadcast(state, 0);
  all_gather(a, result);
  reduce_scatter(a, result, max, N);
}
)vyre";

}  // namespace vyre::ir
