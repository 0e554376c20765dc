// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/batched_copies.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "base/errors.hpp"

namespace vyre::backend::cuda {

namespace {

constexpr size_t kMostCopies = 32;
constexpr uint32_t kThreads = 256;

// A block for each copy. Loads are volatile: the host stores to pinned memory between two launches.
constexpr const char* kBatchedCopyPtx = R"(.version 6.3
.target sm_75
.address_size 64

.visible .entry vyre_batched_copies(.param .align 8 .b8 p_copies[768])
{
  .reg .pred %p, %fill;
  .reg .b32 %i, %step, %bytes, %value, %x, %t;
  .reg .b64 %row, %to, %from, %at;

  mov.u32 %t, %ctaid.x;
  mul.wide.u32 %at, %t, 24;
  mov.b64 %row, p_copies;
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

bool overlap(DeviceAddress a, DeviceAddress b, const BatchedCopy& x, const BatchedCopy& y) {
  return a < b + y.bytes && b < a + x.bytes;
}

}  // namespace

BatchedCopies::BatchedCopies(const Gpu& gpu)
    : gpu_(gpu), kernel_(gpu, kBatchedCopyPtx, "vyre_batched_copies") {}

bool BatchedCopies::fits(const std::vector<BatchedCopy>& list, const BatchedCopy& copy) {
  return list.size() < kMostCopies &&
         std::ranges::none_of(
             list,
             [&](const BatchedCopy& other) {
               return overlap(copy.to, other.to, copy, other) ||
                      (other.from != 0 && overlap(copy.to, other.from, copy, other)) ||
                      (copy.from != 0 && overlap(copy.from, other.to, copy, other));
             });
}

Result<void> BatchedCopies::launch(const std::vector<BatchedCopy>& list, CommandSink& sink) {
  VYRE_TRY_ASSIGN(auto function, kernel_.function());
  std::array<BatchedCopy, kMostCopies> copies = {};
  std::ranges::copy(list, copies.begin());
  return gpu_.check(sink.launch({.function = function,
                                 .grid = {static_cast<uint32_t>(list.size()), 1, 1},
                                 .threads = kThreads},
                                std::as_bytes(std::span(copies))),
                    "short copies");
}

}  // namespace vyre::backend::cuda
