// SPDX-License-Identifier: Apache-2.0
// Sums and scans of CUB. Room is kept between calls.
#include <cub/cub.cuh>

#include "peers.cuh"

namespace peers {
namespace {

// `call(room, bytes)` is asked for the bytes it needs with no room first.
template <class Call>
void with_room(Call call) {
  static void* room = nullptr;
  static size_t bytes = 0;
  size_t needed = 0;
  must(call(nullptr, needed));
  if (needed > bytes) {
    must(cudaFree(room));
    must(cudaMalloc(&room, needed));
    bytes = needed;
  }
  begin();
  must(call(room, needed));
  done();
}

template <class T>
void sum(void* const* d, const uint32_t* n) {
  with_room([&](void* room, size_t& bytes) {
    return cub::DeviceReduce::Sum(room, bytes, at<T>(d, 0), at<T>(d, 1), n[0], stream());
  });
}
void scan(void* const* d, const uint32_t* n) {
  with_room([&](void* room, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(room, bytes, at<uint32_t>(d, 0), at<uint32_t>(d, 1), n[0],
                                         stream());
  });
}

constexpr Named kRuns[] = {
    {"cub_sum", sum<uint32_t>}, {"cub_sum_f32", sum<float>}, {"cub_scan", scan}};

}  // namespace

List cub_runs() {
  return {kRuns, std::size(kRuns)};
}

}  // namespace peers
