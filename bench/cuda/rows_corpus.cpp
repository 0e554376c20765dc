// SPDX-License-Identifier: Apache-2.0
// G3: ten kernels against the same in CUDA C++, line by line and by hand. Times on the device
// count.
#include <bit>
#include <map>

#include "rows.hpp"

namespace vyre::bench {
namespace {

constexpr const char* kPlain = "nvcc, a lane per thread";
constexpr const char* kTuned = "nvcc, by hand";

// Ours, and how its result compares with a peer's.
struct Entry {
  std::shared_ptr<Ours> ours;
  PeerRun plain, tuned;
  std::function<Agreement()> plain_equal, tuned_equal;
  std::string plain_variant = "256 threads";
  std::string tuned_variant{};
};

// Elementwise: inputs, and a result `o` with n elements of type T.
template <class T>
Entry stream_entry(std::shared_ptr<Ours> ours, const std::vector<PeerMemory>& inputs,
                   const char* function, const char* tuned, std::vector<uint32_t> numbers,
                   size_t n) {
  const PeerMemory one = peer_room(n * sizeof(T));
  const PeerMemory four = peer_room(n * sizeof(T));
  const auto with = [&](const PeerMemory& o) {
    std::vector<PeerMemory> all = inputs;
    all.push_back(o);
    return all;
  };
  return {.ours = ours,
          .plain = {function, with(one), numbers},
          .tuned = {tuned, with(four), numbers},
          .plain_equal = same<T>(ours, "o", one, n),
          .tuned_equal = same<T>(ours, "o", four, n),
          .tuned_variant = "16 bytes at a time"};
}

Entry scale_add(const Bench& bench, uint32_t n) {
  const auto a = random_words(n, 11);
  const auto b = random_words(n, 12);
  auto ours = std::make_shared<Ours>(bench, "bench/cpu/programs/scale_add.vyre");
  ours->input("a", a).input("b", b).input("o", std::vector<uint32_t>(n));
  return stream_entry<uint32_t>(ours, {peer_data(a), peer_data(b)}, "scale_add", "scale_add4", {n},
                                n);
}

Entry widen(const Bench& bench, uint32_t n) {
  std::vector<uint8_t> a(n);
  for (uint32_t i = 0; i < n; ++i) a[i] = static_cast<uint8_t>(i * 7);
  auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/widen.vyre");
  ours->input("a", a).input("o", std::vector<uint32_t>(n));
  return stream_entry<uint32_t>(ours, {peer_data(a)}, "widen", "widen4", {n}, n);
}

Entry stencil(const Bench& bench, uint32_t side) {
  const size_t cells = size_t{side} * side;
  const auto a = random_floats(cells, 13);
  auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/stencil.vyre");
  ours->uniform("size", {side, side}).input("a", a).input("o", std::vector<float>(cells));
  Entry entry =
      stream_entry<float>(ours, {peer_data(a)}, "stencil", "stencil4", {side, side}, cells);
  entry.tuned_variant = "4 × 4 per thread";
  return entry;
}

Entry gather(const Bench& bench, uint32_t n, uint32_t entries) {
  auto index = random_words(n, 14);
  for (uint32_t& i : index) i = (i >> 8) % entries;
  const auto table = random_words(entries, 15);
  auto ours = std::make_shared<Ours>(bench, "bench/cpu/programs/gather.vyre");
  ours->input("idx", index).input("table", table).input("o", std::vector<uint32_t>(n));
  return stream_entry<uint32_t>(ours, {peer_data(index), peer_data(table)}, "gather", "gather4",
                                {n}, n);
}

Entry histogram(const Bench& bench, uint32_t n) {
  const auto words = random_words(n, 16);
  std::vector<uint8_t> bytes(n);
  for (uint32_t i = 0; i < n; ++i) bytes[i] = static_cast<uint8_t>(words[i] >> 24);
  auto ours = std::make_shared<Ours>(bench, "bench/cuda/programs/histogram.vyre");
  ours->input("data", bytes).output("count", 1024);
  const PeerMemory data = peer_data(bytes);
  const PeerMemory one = peer_room(1024);
  const PeerMemory two = peer_room(1024);
  return {.ours = ours,
          .plain = {"histogram", {data, one}, {n, 270336}},
          .tuned = {"histogram_tuned", {data, two}, {n}},
          .plain_equal = same<uint32_t>(ours, "count", one, 256),
          .tuned_equal = same<uint32_t>(ours, "count", two, 256),
          .tuned_variant = "16 bytes at a time, counts per warp"};
}

Entry sum(const Bench& bench, uint32_t n) {
  const auto x = random_floats(n, 17);
  auto ours = std::make_shared<Ours>(bench, "examples/sum.vyre");
  ours->input("x", x).output("total", 4);
  const PeerMemory data = peer_data(x);
  const PeerMemory one = peer_room(4);
  const PeerMemory two = peer_room(4);
  return {.ours = ours,
          .plain = {"sum", {data, one}, {n}},
          .tuned = {"sum_tuned", {data, two}, {n}},
          .plain_equal = same<float>(ours, "total", one, 1),
          .tuned_equal =
              [=] { return close_values(ours->read<float>("total"), two->read<float>(1), 1e-4); },
          .plain_variant = "cooperative groups",
          .tuned_variant = "vectors, last block adds up"};
}

Entry scan(const Bench& bench, uint32_t n) {
  const auto x = random_words(n, 18);
  auto ours = std::make_shared<Ours>(bench, "examples/scan.vyre");
  ours->input("x", x).output("y", uint64_t{n} * 4);
  const PeerMemory data = peer_data(x);
  const PeerMemory one = peer_room(uint64_t{n} * 4);
  const PeerMemory two = peer_room(uint64_t{n} * 4);
  return {.ours = ours,
          .plain = {"scan", {data, one}, {n}},
          .tuned = {"cub_scan", {data, two}, {n}},
          .plain_equal = same<uint32_t>(ours, "y", one, n),
          .tuned_equal = same<uint32_t>(ours, "y", two, n),
          .plain_variant = "cooperative groups",
          .tuned_variant = "CUB's"};
}

Entry matmul(const Bench& bench, uint32_t n) {
  const size_t count = size_t{n} * n;
  const auto a = random_floats(count, 19);
  const auto b = random_floats(count, 20);
  auto ours = std::make_shared<Ours>(bench, "examples/matmul.vyre");
  ours->uniform("m", {n}).uniform("k", {n}).uniform("n", {n}).input("a", a).input("b", b).output(
      "c", count * 4);
  const PeerMemory da = peer_data(a);
  const PeerMemory db = peer_data(b);
  const PeerMemory one = peer_room(count * 4);
  const PeerMemory two = peer_room(count * 4);
  return {.ours = ours,
          .plain = {"matmul", {da, db, one}, {n}},
          .tuned = {"matmul_tuned", {da, db, two}, {n}},
          .plain_equal = same<float>(ours, "c", one, count),
          .tuned_equal = same<float>(ours, "c", two, count),
          .plain_variant = "tiles of 16 × 16",
          .tuned_variant = "8 × 8 in registers"};
}

// Colours come from log2 and cos, which are those of CUDA on the other side.
Agreement same_colours(const std::vector<uint32_t>& ours, const std::vector<uint32_t>& theirs) {
  for (size_t i = 0; i < ours.size(); ++i)
    for (uint32_t shift = 0; shift < 32; shift += 8) {
      const auto a = static_cast<int>(ours[i] >> shift & 255);
      const auto b = static_cast<int>(theirs[i] >> shift & 255);
      if (std::abs(a - b) > 1) return {false, "pixel " + std::to_string(i)};
    }
  return {true, "colours within 1"};
}

Entry mandelbrot(const Bench& bench, uint32_t w, uint32_t h, uint32_t limit) {
  auto ours = std::make_shared<Ours>(bench, "examples/mandelbrot.vyre");
  const size_t pixels = size_t{w} * h;
  ours->uniform("size", {w, h})
      .uniform("limit", {limit})
      .uniform("view", {std::bit_cast<uint32_t>(-0.6F), 0, std::bit_cast<uint32_t>(2.5F)})
      .output("image", pixels * 4);
  const PeerMemory one = peer_room(pixels * 4);
  const PeerMemory two = peer_room(pixels * 4);
  const auto equal = [=](const PeerMemory& theirs) {
    return
        [=] { return same_colours(ours->read<uint32_t>("image"), theirs->read<uint32_t>(pixels)); };
  };
  return {.ours = ours,
          .plain = {"mandelbrot", {one}, {w, h, limit}},
          .tuned = {"mandelbrot_tuned", {two}, {w, h, limit}},
          .plain_equal = equal(one),
          .tuned_equal = equal(two),
          .tuned_variant = "four steps a test"};
}

Entry bitonic(const Bench& bench, uint32_t n) {
  const auto data = random_words(n, 21);
  auto ours = std::make_shared<Ours>(bench, "examples/bitonic_sort.vyre");
  ours->input("data", data);
  const PeerMemory one = peer_data(data);
  const PeerMemory two = peer_data(data);
  return {.ours = ours,
          .plain = {"bitonic", {one}, {n}},
          .tuned = {"bitonic_tuned", {two}, {n}},
          .plain_equal = same<uint32_t>(ours, "data", one, n),
          .tuned_equal = same<uint32_t>(ours, "data", two, n),
          .plain_variant = "cooperative groups",
          .tuned_variant = "near rounds in shared memory"};
}

struct Mean {
  double logs = 0, device_logs = 0;
  uint32_t count = 0, device_count = 0;
};

void add_mean(Bench& bench, const char* peer, const Mean& mean, size_t kernels, Goal goal) {
  Row row;
  row.id = "G3";
  row.workload = "geometric mean of " + std::to_string(mean.count) + " kernels";
  row.peer = peer;
  row.goal = goal;
  if (mean.count > 0) row.ratio = std::exp(mean.logs / mean.count);
  if (mean.device_count > 0) row.device_ratio = std::exp(mean.device_logs / mean.device_count);
  // A mean over a part of the kernels would flatter.
  row.judged = mean.device_count == kernels && goal.kind != Goal::Kind::None && !bench.quick();
  bench.add(std::move(row));
}

}  // namespace

void corpus_rows(Bench& bench) {
  const bool q = bench.quick();
  const uint32_t n = bench.size<uint32_t>(1U << 26, 4096);
  struct Kernel {
    std::string what;
    std::function<Entry()> make;
  };
  const uint32_t side = q ? 64 : 8192;
  const uint32_t rows = q ? 128 : 2048;
  const uint32_t short_n = q ? 1024 : 1U << 18;
  const std::vector<Kernel> kernels = {
      {"a*2+b, u32, " + count_text(n), [&] { return scale_add(bench, n); }},
      {"u8 to u32, " + count_text(n), [&] { return widen(bench, n); }},
      {"5-point stencil, f32, " + std::to_string(side) + "²", [&] { return stencil(bench, side); }},
      {"gather, u32, " + count_text(n) + ", 4 MiB table",
       [&] { return gather(bench, n, q ? 512 : 1U << 20); }},
      {"histogram of bytes, " + count_text(n), [&] { return histogram(bench, n); }},
      {"sum, f32, " + count_text(n), [&] { return sum(bench, n); }},
      {"scan, u32, " + count_text(short_n), [&] { return scan(bench, short_n); }},
      {"tiled matrix product, f32, " + std::to_string(rows) + "³",
       [&] { return matmul(bench, rows); }},
      {"Mandelbrot set, 256 steps",
       [&] { return mandelbrot(bench, q ? 64 : 2048, q ? 48 : 1536, 256); }},
      {"bitonic sort, i32, " + count_text(short_n), [&] { return bitonic(bench, short_n); }},
  };
  std::map<std::string, Mean> means;
  for (const Kernel& kernel : kernels) {
    const std::vector<Row> measured = bench.run("G3", kernel.what, [&] {
      Entry e = kernel.make();
      Case c = case_of(e.ours);
      add_peer(c, kPlain, e.plain_variant, Goal::device_ratio(0.97), e.plain, e.plain_equal);
      add_peer(c, kTuned, e.tuned_variant, Goal::device_ratio(0.97), e.tuned, e.tuned_equal);
      return c;
    });
    for (const Row& row : measured) {
      Mean& mean = means[row.peer];
      if (row.ratio > 0) {
        mean.logs += std::log(row.ratio);
        ++mean.count;
      }
      if (row.device_ratio > 0) {
        mean.device_logs += std::log(row.device_ratio);
        ++mean.device_count;
      }
    }
  }
  add_mean(bench, kPlain, means[kPlain], kernels.size(), Goal::device_ratio(1.3));
  add_mean(bench, kTuned, means[kTuned], kernels.size(), {});
}

}  // namespace vyre::bench
