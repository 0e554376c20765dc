// SPDX-License-Identifier: Apache-2.0
// G9: sums and prefix sums, each one program, against CUB.
#include "rows.hpp"

namespace vyre::bench {
namespace {

void sum_row(Bench& bench, uint32_t n) {
  bench.run("G9", "sum, u32, " + count_text(n), [&] {
    const auto x = random_words(n, 6);
    auto ours = std::make_shared<Ours>(bench, "bench/cpu/programs/sum_items.vyre");
    ours->input("x", x).output("total", 4);
    Case c = case_of(ours);
    const PeerMemory total = peer_room(4);
    add_peer(c, "CUB", "DeviceReduce::Sum", Goal::ratio(n <= 1U << 20 ? 2.0 : 1.0),
             {"cub_sum", {peer_data(x), total}, {n}}, same<uint32_t>(ours, "total", total, 1));
    return c;
  });
}

// The order of the additions is part of the program here; CUB's is its own.
void float_sum_row(Bench& bench, uint32_t n) {
  bench.run("G9", "sum in a fixed order, f32, " + count_text(n), [&] {
    const auto x = random_floats(n, 7);
    auto ours = std::make_shared<Ours>(bench, "examples/sum.vyre");
    ours->input("x", x).output("total", 4);
    Case c = case_of(ours);
    const PeerMemory total = peer_room(4);
    add_peer(c, "CUB", "DeviceReduce::Sum", Goal::ratio(n <= 1U << 20 ? 2.0 : 1.0),
             {"cub_sum_f32", {peer_data(x), total}, {n}},
             [=] { return close_values(ours->read<float>("total"), total->read<float>(1), 1e-4); });
    return c;
  });
}

void scan_row(Bench& bench, uint32_t n) {
  bench.run("G9", "inclusive scan, u32, " + count_text(n), [&] {
    const auto x = random_words(n, 8);
    auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/scan.vyre");
    ours->input("x", x)
        .input("y", std::vector<uint32_t>(n))
        .input("sums", std::vector<uint32_t>(528));
    Case c = case_of(ours);
    const PeerMemory y = peer_room(uint64_t{n} * 4);
    add_peer(c, "CUB", "DeviceScan::InclusiveSum", Goal::ratio(n <= 1U << 20 ? 1.5 : 1.0),
             {"cub_scan", {peer_data(x), y}, {n}}, same<uint32_t>(ours, "y", y, n));
    return c;
  });
}

}  // namespace

void reduce_rows(Bench& bench) {
  const std::vector<uint32_t> sizes =
      bench.quick() ? std::vector<uint32_t>{5000}
                    : std::vector<uint32_t>{1U << 16, 1U << 20, 1U << 24, 1U << 28};
  for (const uint32_t n : sizes) sum_row(bench, n);
  for (const uint32_t n : sizes) float_sum_row(bench, n);
  for (const uint32_t n : sizes) scan_row(bench, n);
}

}  // namespace vyre::bench
