// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/moves.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/errors.hpp"

namespace vyre::backend::cuda {

namespace {

constexpr size_t kMostMoves = 32;
constexpr uint32_t kThreads = 256;

// A block for each move. Loads are volatile: the host stores to pinned memory between two launches.
constexpr const char* kMovePtx = R"(.version 6.3
.target sm_75
.address_size 64

.visible .entry vyre_move(.param .align 8 .b8 p_moves[768])
{
  .reg .pred %p, %fill;
  .reg .b32 %i, %step, %bytes, %value, %x, %t;
  .reg .b64 %row, %to, %from, %at;

  mov.u32 %t, %ctaid.x;
  mul.wide.u32 %at, %t, 24;
  mov.b64 %row, p_moves;
  add.u64 %row, %row, %at;
  ld.param.u64 %to, [%row];
  ld.param.u64 %from, [%row+8];
  ld.param.u32 %bytes, [%row+16];
  ld.param.u32 %value, [%row+20];
  setp.eq.u64 %fill, %from, 0;
  mov.u32 %i, %tid.x;
  mov.u32 %step, %ntid.x;
  or.b64 %at, %to, %from;
  cvt.u32.u64 %t, %at;
  or.b32 %t, %t, %bytes;
  and.b32 %t, %t, 3;
  setp.ne.u32 %p, %t, 0;
  cvta.to.global.u64 %to, %to;
  cvta.to.global.u64 %from, %from;
  @%p bra bytes;
  shl.b32 %i, %i, 2;
  shl.b32 %step, %step, 2;
words:
  setp.ge.u32 %p, %i, %bytes;
  @%p bra end;
  cvt.u64.u32 %at, %i;
  add.u64 %row, %from, %at;
  mov.u32 %x, %value;
  @!%fill ld.volatile.global.u32 %x, [%row];
  add.u64 %row, %to, %at;
  st.global.u32 [%row], %x;
  add.u32 %i, %i, %step;
  bra words;
bytes:
  setp.ge.u32 %p, %i, %bytes;
  @%p bra end;
  cvt.u64.u32 %at, %i;
  add.u64 %row, %from, %at;
  mov.u32 %x, %value;
  @!%fill ld.volatile.global.u8 %x, [%row];
  add.u64 %row, %to, %at;
  st.global.u8 [%row], %x;
  add.u32 %i, %i, %step;
  bra bytes;
end:
  ret;
}
)";

bool overlap(DeviceAddress a, DeviceAddress b, const Move& x, const Move& y) {
  return a < b + y.bytes && b < a + x.bytes;
}

}  // namespace

Moves::Moves(const Gpu& gpu) : gpu_(gpu), kernel_(gpu, kMovePtx, "vyre_move") {}

bool Moves::fits(const std::vector<Move>& list, const Move& move) {
  return list.size() < kMostMoves &&
         std::ranges::none_of(
             list,
             [&](const Move& other) {
               return overlap(move.to, other.to, move, other) ||
                      (other.from != 0 && overlap(move.to, other.from, move, other)) ||
                      (move.from != 0 && overlap(move.from, other.to, move, other));
             });
}

Result<void> Moves::launch(const std::vector<Move>& list, Work& work) {
  VYRE_TRY_ASSIGN(auto function, kernel_.function());
  std::array<Move, kMostMoves> moves = {};
  std::ranges::copy(list, moves.begin());
  return gpu_.check(work.launch({.function = function,
                                 .grid = {static_cast<uint32_t>(list.size()), 1, 1},
                                 .threads = kThreads},
                                std::as_bytes(std::span(moves))),
                    "short copies");
}

}  // namespace vyre::backend::cuda
