// SPDX-License-Identifier: Apache-2.0
// G2: streams of elements, one per lane as written, against the rate of a copy and against CUDA
// C++.
#include "rows.hpp"

namespace vyre::bench {
namespace {

// A copy on the device that reads and writes as many bytes in all.
void add_copy(Case& c, uint64_t traffic, Goal goal) {
  const uint64_t bytes = traffic / 2;
  add_peer(c, "copy on the device", "same traffic", goal,
           {"copy", {peer_room(bytes), peer_room(bytes)}, {static_cast<uint32_t>(bytes >> 10)}});
}

}  // namespace

void stream_rows(Bench& bench) {
  const uint32_t most = bench.size<uint32_t>(1U << 29, 4096);
  bench.run("G2", "a*2+b, u32, " + count_text(most), [&] {
    const uint32_t n = most;
    const auto a = random_words(n, 1);
    const auto b = random_words(n, 2);
    auto ours = std::make_shared<Ours>(bench, "bench/cpu/programs/scale_add.vyre");
    ours->input("a", a).input("b", b).input("o", std::vector<uint32_t>(n));
    Case c = case_of(ours);
    const PeerMemory da = peer_data(a);
    const PeerMemory db = peer_data(b);
    const PeerMemory one = peer_room(uint64_t{n} * 4);
    const PeerMemory four = peer_room(uint64_t{n} * 4);
    add_peer(c, "nvcc, a lane per thread", "256 threads", Goal::device_ratio(1.2),
             {"scale_add", {da, db, one}, {n}}, same<uint32_t>(ours, "o", one, n));
    add_peer(c, "nvcc, by hand", "uint4", Goal::device_ratio(0.97),
             {"scale_add4", {da, db, four}, {n}}, same<uint32_t>(ours, "o", four, n));
    add_copy(c, uint64_t{n} * 12, Goal::device_ratio(1.0));
    return c;
  });
  const uint32_t n = bench.size<uint32_t>(1U << 28, 4096);
  bench.run("G2", "u8 to u32, " + count_text(n), [&] {
    std::vector<uint8_t> a(n);
    for (uint32_t i = 0; i < n; ++i) a[i] = static_cast<uint8_t>(i * 7);
    auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/widen.vyre");
    ours->input("a", a).input("o", std::vector<uint32_t>(n));
    Case c = case_of(ours);
    const PeerMemory o = peer_room(uint64_t{n} * 4);
    add_peer(c, "nvcc, a lane per thread", "256 threads", Goal::device_ratio(1.3),
             {"widen", {peer_data(a), o}, {n}}, same<uint32_t>(ours, "o", o, n));
    add_copy(c, uint64_t{n} * 5, Goal::device_ratio(0.95));
    return c;
  });
  bench.run("G2", "u32 to u8, " + count_text(n), [&] {
    const auto a = random_words(n, 4);
    auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/narrow.vyre");
    ours->input("a", a).input("o", std::vector<uint8_t>(n));
    Case c = case_of(ours);
    const PeerMemory o = peer_room(n);
    add_peer(c, "nvcc, a lane per thread", "256 threads", Goal::device_ratio(1.3),
             {"narrow", {peer_data(a), o}, {n}}, same<uint8_t>(ours, "o", o, n));
    add_copy(c, uint64_t{n} * 5, Goal::device_ratio(0.95));
    return c;
  });
  const uint32_t side = bench.size<uint32_t>(16384, 64);
  bench.run("G2", "5-point stencil, f32, " + std::to_string(side) + "²", [&] {
    const size_t cells = size_t{side} * side;
    const auto a = random_floats(cells, 5);
    auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/stencil.vyre");
    ours->uniform("size", {side, side}).input("a", a).input("o", std::vector<float>(cells));
    Case c = case_of(ours);
    const PeerMemory o = peer_room(cells * 4);
    add_peer(c, "nvcc, a lane per thread", "256 threads", Goal::device_ratio(1.3),
             {"stencil", {peer_data(a), o}, {side, side}}, same<float>(ours, "o", o, cells));
    add_copy(c, cells * 8, Goal::device_ratio(0.83));
    return c;
  });
}

}  // namespace vyre::bench
