// SPDX-License-Identifier: Apache-2.0
// C2: elementwise work on data that no cache holds. C3: the same in caches.
#include "host.hpp"
#include "rows.hpp"
#include "sides.hpp"

namespace vyre::bench {
namespace {

struct Arrays {
  Arrays(size_t n, Layout layout)
      : a(random_words(n, 1), offset_of(layout, 0)),
        b(random_words(n, 2), offset_of(layout, 1)),
        o(n, offset_of(layout, 2)) {}
  HostArray<uint32_t> a, b, o;
};

struct Elementwise {
  Elementwise(const Bench& bench, const char* program, size_t n)
      : arrays(n, Layout::Aligned), ours(bench, program) {
    ours.input("a", arrays.a.span()).input("b", arrays.b.span()).input("o", arrays.o.span());
  }
  Agreement compare() const { return compare(arrays); }
  Agreement compare(const Arrays& theirs) const {
    return equal_values<uint32_t>(ours.read<uint32_t>("o"), theirs.o.span());
  }
  Arrays arrays;
  Ours ours;
};

std::string mib(size_t bytes) {
  return bytes >= 1 << 20 ? std::to_string(bytes >> 20) + " MiB"
                          : std::to_string(bytes >> 10) + " KiB";
}

}  // namespace

void stream_rows(Bench& bench) {
  const size_t n = bench.size<size_t>(size_t{64} << 20, 4096);
  const std::string size = ", 3 × " + mib(n * 4);
  bench.run("C2", "a*2+b, u32" + size, [&] {
    auto data = std::make_shared<Elementwise>(bench, "bench/cpu/programs/scale_add.vyre", n);
    Case c{.ours = [data] { data->ours.run(); }};
    const auto run = [data, n](const auto& peer) {
      peer.scale_add(data->arrays.a.data(), data->arrays.b.data(), data->arrays.o.data(), n);
    };
    const auto compare = [data] { return data->compare(); };
    // Non-temporal stores are what the wider goal is about; the device decides on them by itself.
    add_omp(c, Goal::ratio(1.35), run, compare);
    add_tbb(c, {}, run, compare);
    return c;
  });
  bench.run("C2", "three operations in a chain, u32" + size, [&] {
    auto data = std::make_shared<Elementwise>(bench, "bench/cpu/programs/chain.vyre", n);
    Case c{.ours = [data] { data->ours.run(); }};
    add_omp(
        c, Goal::ratio(1.35),
        [data, n](const OmpKernels& peer) {
          peer.chain(data->arrays.a.data(), data->arrays.b.data(), data->arrays.o.data(), n);
        },
        [data] { return data->compare(); });
    return c;
  });
}

namespace {

// One workgroup makes `passes` passes over the buffers, with a workgroup barrier after each; the
// peer is a loop on one thread. So neither a dispatch nor a second core is in the figure, only the
// code of the loop. `all`: every workgroup, a grid barrier after each pass; the peer is a parallel
// region with the barrier of `omp for`.
void cached_row(Bench& bench, const std::string& what, bool near, bool all, size_t bytes,
                uint32_t passes, double goal) {
  const size_t arrays = near ? 2 : 3;
  const size_t n = bytes / 4 / arrays / 256 * 256;
  const std::string name = what + ", " + mib(bytes) + (all ? ", all cores" : ", one core");
  bench.run("C3", name + ", per pass", [&] {
    const std::string program = std::string("bench/cpu/programs/cached") + (near ? "_near" : "") +
                                (all ? "_all" : "") + ".vyre";
    auto data = std::make_shared<Elementwise>(bench, program.c_str(), n);
    data->ours.input("passes", std::vector<uint32_t>{passes});
    Case c{.per = static_cast<double>(passes), .ours = [data] { data->ours.run(); }};
    for (const Layout layout : kLayouts) {
      auto arrays = std::make_shared<Arrays>(n, layout);
      const size_t first = c.peers.size();
      add_omp(
          c, Goal::ratio(goal),
          [=](const OmpKernels& peer) {
            const uint32_t* a = arrays->a.data();
            const uint32_t* b = arrays->b.data();
            uint32_t* o = arrays->o.data();
            if (near)
              (all ? peer.cached_near_all : peer.cached_near)(a, o, n, passes);
            else
              (all ? peer.cached_all : peer.cached)(a, b, o, n, passes);
          },
          [data, arrays] { return data->compare(*arrays); });
      for (size_t i = first; i < c.peers.size(); ++i) c.peers[i].variant += suffix_of(layout);
    }
    return c;
  });
}

}  // namespace

void cache_rows(Bench& bench) {
  const std::string plain = "a*2+b+k, u32";
  const std::string near = "a[i-1]+a[i]*2+a[i+1]+k, u32";
  if (bench.quick()) {
    cached_row(bench, plain, false, false, 12 << 10, 2, 0.97);
    cached_row(bench, near, true, false, 8 << 10, 2, 0.95);
    cached_row(bench, plain, false, true, 12 << 10, 2, 0.97);
    cached_row(bench, near, true, true, 8 << 10, 2, 0.95);
    return;
  }
  for (const size_t kib : {16, 128, 1024}) {
    const auto passes = static_cast<uint32_t>(64 * 1024 / kib);
    cached_row(bench, plain, false, false, kib << 10, passes, 0.97);
    cached_row(bench, near, true, false, kib << 10, passes, 0.95);
  }
  for (const size_t kib : {128, 1024}) {
    const auto passes = static_cast<uint32_t>(64 * 1024 / kib);
    cached_row(bench, plain, false, true, kib << 10, passes, 0.97);
    cached_row(bench, near, true, true, kib << 10, passes, 0.95);
  }
}

}  // namespace vyre::bench
