// SPDX-License-Identifier: Apache-2.0
// G2: streams of elements, one per lane as written.
#include "rows.hpp"

namespace vyre::bench {

void stream_rows(Bench& bench) {
  const uint32_t n = bench.size<uint32_t>(1U << 28, 4096);
  const std::string count = bench.quick() ? "4096" : "2^28";
  bench.run("G2", "a*2+b, u32, " + count, [&] {
    const auto a = random_words(n, 1);
    const auto b = random_words(n, 2);
    auto ours = std::make_shared<Ours>(bench, "bench/cpu/programs/scale_add.vyre");
    ours->input("a", a).input("b", b).input("o", std::vector<uint32_t>(n));
    Case c{.ours = [ours] { ours->run(); }};
    const auto kernel = [&](auto member) {
      return [&, member](const VyreCudaPeers& p) -> Sides {
        auto da = std::make_shared<PeerBuffer>(p, uint64_t{n} * 4);
        auto db = std::make_shared<PeerBuffer>(p, uint64_t{n} * 4);
        auto d_o = std::make_shared<PeerBuffer>(p, uint64_t{n} * 4);
        da->upload(a);
        db->upload(b);
        return {[=, &p] {
                  (p.*member)(da->as<uint32_t>(), db->as<uint32_t>(), d_o->as<uint32_t>(), n);
                },
                [=] {
                  return equal_values<uint32_t>(ours->read<uint32_t>("o"), d_o->read<uint32_t>(n));
                }};
      };
    };
    add_peer(c, "nvcc, a lane per thread", "256 threads", Goal::ratio(1.2),
             kernel(&VyreCudaPeers::scale_add));
    add_peer(c, "nvcc, by hand", "uint4", Goal::ratio(0.97), kernel(&VyreCudaPeers::scale_add4));
    add_peer(c, "copy on the device", "same traffic", Goal::ratio(1.0),
             [&](const VyreCudaPeers& p) -> Sides {
               const uint64_t bytes = uint64_t{n} * 6;
               auto from = std::make_shared<PeerBuffer>(p, bytes);
               auto to = std::make_shared<PeerBuffer>(p, bytes);
               return {[=, &p] { p.copy(to->as<void>(), from->as<void>(), bytes); }, nullptr};
             });
    return c;
  });
  bench.run("G2", "u8 to u32, " + count, [&] {
    std::vector<uint8_t> a(n);
    for (uint32_t i = 0; i < n; ++i) a[i] = static_cast<uint8_t>(i * 7);
    auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/widen.vyre");
    ours->input("a", a).input("o", std::vector<uint32_t>(n));
    Case c{.ours = [ours] { ours->run(); }};
    add_peer(c, "nvcc, a lane per thread", "256 threads", Goal::ratio(1.3),
             [&](const VyreCudaPeers& p) -> Sides {
               auto da = std::make_shared<PeerBuffer>(p, n);
               auto d_o = std::make_shared<PeerBuffer>(p, uint64_t{n} * 4);
               da->upload(a);
               return {[=, &p] { p.widen(da->as<uint8_t>(), d_o->as<uint32_t>(), n); },
                       [=] {
                         return equal_values<uint32_t>(ours->read<uint32_t>("o"),
                                                       d_o->read<uint32_t>(n));
                       }};
             });
    add_peer(c, "copy on the device", "same traffic", Goal::ratio(0.95),
             [&](const VyreCudaPeers& p) -> Sides {
               const uint64_t bytes = uint64_t{n} * 5 / 2;
               auto from = std::make_shared<PeerBuffer>(p, bytes);
               auto to = std::make_shared<PeerBuffer>(p, bytes);
               return {[=, &p] { p.copy(to->as<void>(), from->as<void>(), bytes); }, nullptr};
             });
    return c;
  });
  const uint32_t side = bench.size<uint32_t>(16384, 64);
  bench.run("G2", "5-point stencil, f32, " + std::to_string(side) + "²", [&] {
    const size_t cells = size_t{side} * side;
    std::vector<float> a(cells);
    for (size_t i = 0; i < cells; ++i) a[i] = static_cast<float>(i % 1000) * 0.5F;
    auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/stencil.vyre");
    ours->uniform("size", {side, side}).input("a", a).input("o", std::vector<float>(cells));
    Case c{.ours = [ours] { ours->run(); }};
    add_peer(
        c, "nvcc, a lane per thread", "256 threads", Goal::ratio(1.3),
        [&](const VyreCudaPeers& p) -> Sides {
          auto da = std::make_shared<PeerBuffer>(p, cells * 4);
          auto d_o = std::make_shared<PeerBuffer>(p, cells * 4);
          da->upload(a);
          return {
              [=, &p] { p.stencil(da->as<float>(), d_o->as<float>(), side, side); },
              [=] { return equal_values<float>(ours->read<float>("o"), d_o->read<float>(cells)); }};
        });
    add_peer(c, "copy on the device", "same traffic", Goal::ratio(0.83),
             [&](const VyreCudaPeers& p) -> Sides {
               auto from = std::make_shared<PeerBuffer>(p, cells * 4);
               auto to = std::make_shared<PeerBuffer>(p, cells * 4);
               return {[=, &p] { p.copy(to->as<void>(), from->as<void>(), cells * 4); }, nullptr};
             });
    return c;
  });
}

}  // namespace vyre::bench
