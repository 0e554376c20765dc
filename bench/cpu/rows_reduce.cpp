// SPDX-License-Identifier: Apache-2.0
// C4: reduce, scan and histogram.
#include "host.hpp"
#include "rows.hpp"
#include "sides.hpp"

namespace vyre::bench {
namespace {

// A sum of the device's program `path` over u32.
void sum_row(Bench& bench, const std::string& what, const char* path, size_t n, double goal) {
  bench.run("C4", what, [&] {
    struct Data {
      HostArray<uint32_t> x;
      Ours ours;
      uint32_t total = 0;
    };
    auto data =
        std::make_shared<Data>(Data{HostArray<uint32_t>(random_words(n, 3)), Ours(bench, path)});
    data->ours.input("x", data->x.span()).output("total", 4);
    Case c{.ours = [data] { data->ours.run(); }};
    const auto run = [data, n](const auto& peer) { data->total = peer.sum(data->x.data(), n); };
    const auto compare = [data] {
      return equal_values<uint32_t>(data->ours.read<uint32_t>("total"), {&data->total, 1});
    };
    add_omp(c, Goal::ratio(goal), run, compare);
    add_tbb(c, Goal::ratio(goal), run, compare);
    return c;
  });
}

void sum_f32_row(Bench& bench, const std::string& what, size_t n) {
  bench.run("C4", what, [&] {
    struct Data {
      HostArray<float> x;
      Ours ours;
      float total = 0;
    };
    auto data = std::make_shared<Data>(
        Data{HostArray<float>(random_floats(n, 0, 1, 4)), Ours(bench, "examples/sum.vyre")});
    data->ours.input("x", data->x.span()).output("total", 4);
    Case c{.ours = [data] { data->ours.run(); }};
    const auto run = [data, n](const auto& peer) { data->total = peer.sum_f32(data->x.data(), n); };
    // Each side adds in another order.
    const auto compare = [data] {
      return close_values(data->ours.read<float>("total"), {&data->total, 1}, 1e-3);
    };
    add_omp(c, Goal::ratio(1.0), run, compare);
    add_tbb(c, Goal::ratio(1.0), run, compare);
    return c;
  });
}

void scan_row(Bench& bench, const std::string& what, const char* path, bool tiled, size_t n,
              double goal) {
  bench.run("C4", what, [&] {
    struct Data {
      HostArray<uint32_t> x, y;
      Ours ours;
    };
    auto data = std::make_shared<Data>(
        Data{HostArray<uint32_t>(random_words(n, 5)), HostArray<uint32_t>(n), Ours(bench, path)});
    data->ours.input("x", data->x.span());
    if (tiled)
      data->ours.input("y", data->y.span())
          .input("tiles", std::vector<uint32_t>((n + 4095) / 4096));
    else
      data->ours.output("y", n * 4);
    Case c{.ours = [data] { data->ours.run(); }};
    const auto run = [data, n](const auto& peer) { peer.scan(data->x.data(), data->y.data(), n); };
    const auto compare = [data] {
      return equal_values<uint32_t>(data->ours.read<uint32_t>("y"), data->y.span());
    };
    add_omp(c, Goal::ratio(goal), run, compare);
    add_tbb(c, Goal::ratio(goal), run, compare);
    return c;
  });
}

// Nine of ten keys are the same.
std::vector<uint32_t> keys_below(size_t n, uint32_t bins, bool skewed) {
  Random random(6);
  std::vector<uint32_t> keys(n);
  for (uint32_t& key : keys) key = skewed && random.below(10) != 0 ? bins / 3 : random.below(bins);
  return keys;
}

void histogram_row(Bench& bench, const std::string& what, uint32_t bins, bool skewed, size_t n,
                   double goal) {
  bench.run("C4", what, [&] {
    struct Data {
      HostArray<uint32_t> keys, count;
      Ours ours;
    };
    auto data = std::make_shared<Data>(Data{HostArray<uint32_t>(keys_below(n, bins, skewed)),
                                            HostArray<uint32_t>(bins),
                                            Ours(bench, "bench/cpu/programs/histogram.vyre")});
    data->ours.uniform("bins", {bins})
        .input("keys", data->keys.span())
        .output("count", bins * uint64_t{4});
    Case c{.ours = [data] { data->ours.run(); }};
    const auto run = [data, n, bins](const auto& peer) {
      peer.histogram(data->keys.data(), n, data->count.data(), bins);
    };
    const auto compare = [data] {
      return equal_values<uint32_t>(data->ours.read<uint32_t>("count"), data->count.span());
    };
    add_omp(c, Goal::ratio(goal), run, compare);
    add_tbb(c, Goal::ratio(goal), run, compare);
    return c;
  });
}

void histogram_shared_row(Bench& bench, const std::string& what, size_t n) {
  bench.run("C4", what, [&] {
    struct Data {
      HostArray<uint8_t> keys;
      HostArray<uint32_t> count;
      Ours ours;
    };
    std::vector<uint8_t> bytes(n);
    Random random(7);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
    auto data = std::make_shared<Data>(Data{HostArray<uint8_t>(bytes), HostArray<uint32_t>(256),
                                            Ours(bench, "examples/histogram.vyre")});
    data->ours.input("data", data->keys.span()).output("count", 1024);
    Case c{.ours = [data] { data->ours.run(); }};
    const auto run = [data, n](const auto& peer) {
      peer.histogram_u8(data->keys.data(), n, data->count.data());
    };
    const auto compare = [data] {
      return equal_values<uint32_t>(data->ours.read<uint32_t>("count"), data->count.span());
    };
    add_omp(c, {}, run, compare);
    add_tbb(c, {}, run, compare);
    return c;
  });
}

}  // namespace

void reduce_rows(Bench& bench) {
  const size_t n = bench.size<size_t>(size_t{64} << 20, 5000);
  const std::string size = bench.quick() ? ", 20 kB" : ", 256 MiB";
  sum_row(bench, "sum u32, 16 items a lane" + size, "bench/cpu/programs/sum_items.vyre", n, 1.0);
  sum_row(bench, "sum u32, 1 item a lane" + size, "bench/cpu/programs/sum_lane.vyre", n, 0.7);
  sum_f32_row(bench, "sum f32, examples/sum.vyre" + size, n);
  scan_row(bench, "inclusive scan u32, 16 items a lane" + size,
           "bench/cpu/programs/scan_items.vyre", true, n, 1.0);
  scan_row(bench, "inclusive scan u32, 1 item a lane, examples/scan.vyre" + size,
           "examples/scan.vyre", false, n, 0.7);
  histogram_row(bench, "histogram, 256 bins, even keys" + size, 256, false, n, 1.0);
  histogram_row(bench, "histogram, 256 bins, 90 % one key" + size, 256, true, n, 1.5);
  histogram_row(bench, "histogram, 64 Ki bins, even keys" + size, 65536, false, n, 1.0);
  histogram_shared_row(bench, "histogram of bytes, shared memory, examples/histogram.vyre" + size,
                       n * 4);
}

}  // namespace vyre::bench
