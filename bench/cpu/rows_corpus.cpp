// SPDX-License-Identifier: Apache-2.0
// C9: a dozen kernels against PoCL and lavapipe, which run the same kernels on the same data. What
// has grid barriers here is a launch per pass there, all of them recorded once.
#include <cmath>

#include "api.hpp"
#include "graphs.hpp"
#include "host.hpp"
#include "rows.hpp"
#include "sides.hpp"

namespace vyre::bench {
namespace {

struct Data {
  std::string name;  // in the program
  std::vector<std::byte> bytes;
  bool output = false;  // the program gives it
};

struct Step {
  std::string kernel;
  std::vector<size_t> buffers;  // into `data`
  std::vector<uint32_t> scalars;
  std::array<uint32_t, 3> groups;
  std::array<uint32_t, 3> local;
};

struct Entry {
  std::string what;
  std::string program;
  std::vector<Data> data;
  std::vector<std::pair<std::string, std::vector<uint32_t>>> uniforms{};
  std::vector<Step> steps{};
  size_t result = 0;  // into `data`
};

template <class R>
Data data(std::string name, const R& values, bool output = false) {
  const auto bytes = std::as_bytes(std::span(values));
  return {std::move(name), {bytes.begin(), bytes.end()}, output};
}
Data zeros(std::string name, size_t bytes, bool output = false) {
  return {std::move(name), std::vector<std::byte>(bytes), output};
}

std::array<uint32_t, 3> groups_of(size_t lanes, uint32_t local) {
  return {static_cast<uint32_t>((lanes + local - 1) / local), 1, 1};
}

std::string own(const char* name) {
  return std::string("bench/cpu/programs/") + name + ".vyre";
}

Entry elementwise(const char* name, size_t n) {
  const auto count = static_cast<uint32_t>(n);
  return {
      .what = std::string(name) + " u32",
      .program = own(name),
      .data = {data("a", random_words(n, 21)), data("b", random_words(n, 22)), zeros("o", n * 4)},
      .steps = {{name, {0, 1, 2}, {count}, groups_of(n, 256), {256, 1, 1}}},
      .result = 2};
}

Entry gather(size_t n, uint32_t table) {
  std::vector<uint32_t> index(n);
  Random random(23);
  for (uint32_t& i : index) i = random.below(table);
  return {
      .what = "gather u32",
      .program = own("gather"),
      .data = {data("idx", index), data("table", random_words(table, 24)), zeros("o", n * 4)},
      .steps = {{"gather", {0, 1, 2}, {static_cast<uint32_t>(n)}, groups_of(n, 256), {256, 1, 1}}},
      .result = 2};
}

Entry uniform_loop(uint32_t n, uint32_t m) {
  return {.what = "uniform inner loop f32",
          .program = own("uniform_loop"),
          .data = {data("x", random_floats(n, -1, 1, 25)), data("c", random_floats(m, -1, 1, 26)),
                   zeros("o", n * size_t{4})},
          .steps = {{"uniform_loop", {0, 1, 2}, {n, m}, groups_of(n, 256), {256, 1, 1}}},
          .result = 2};
}

Entry mandelbrot(uint32_t side, uint32_t limit) {
  const uint32_t groups = (side + 15) / 16;
  return {.what = "Mandelbrot steps f32",
          .program = own("mandelbrot"),
          .data = {zeros("o", size_t{side} * side * 4)},
          .uniforms = {{"size", {side, side, limit}}},
          .steps = {{"mandelbrot", {0}, {side, side, limit}, {groups, groups, 1}, {16, 16, 1}}},
          .result = 0};
}

Entry spmv(uint32_t scale) {
  const Graph graph = rmat(scale, 16);
  const uint32_t n = graph.nodes;
  return {.what = "SpMV f32, R-MAT rows",
          .program = own("spmv"),
          .data = {data("row", graph.row), data("col", graph.col),
                   data("val", random_floats(graph.col.size(), -1, 1, 27)),
                   data("x", random_floats(n, -1, 1, 28)), zeros("y", n * size_t{4})},
          .steps = {{"spmv", {0, 1, 2, 3, 4}, {n}, groups_of(n, 256), {256, 1, 1}}},
          .result = 4};
}

// From one buffer to the other and back.
std::vector<Step> there_and_back(const char* kernel, uint32_t side, uint32_t steps) {
  std::vector<Step> all;
  for (uint32_t t = 0; t < steps; ++t)
    all.push_back({kernel,
                   {t % 2, 1 - t % 2},
                   {side, side},
                   {(side + 63) / 64, (side + 3) / 4, 1},
                   {64, 4, 1}});
  return all;
}

Entry heat(uint32_t side, uint32_t steps) {
  const auto start = random_floats(size_t{side} * side, 0, 1, 29);
  return {.what = "heat f32, " + std::to_string(steps) + " steps",
          .program = own("heat"),
          .data = {data("a", start), data("b", start)},
          .uniforms = {{"size", {side, side, steps}}},
          .steps = there_and_back("heat", side, steps),
          .result = 0};
}

Entry life(uint32_t side, uint32_t steps) {
  std::vector<uint8_t> start(size_t{side} * side);
  Random random(30);
  for (uint8_t& cell : start) cell = random.below(3) == 0 ? 1 : 0;
  return {.what = "Life u8, " + std::to_string(steps) + " steps",
          .program = own("life"),
          .data = {data("a", start), data("b", start)},
          .uniforms = {{"size", {side, side, steps}}},
          .steps = there_and_back("life", side, steps),
          .result = 0};
}

Entry matmul(uint32_t n) {
  const size_t count = size_t{n} * n;
  return {.what = "tiled matrix product f32",
          .program = own("matmul"),
          .data = {data("a", random_floats(count, -1, 1, 31)),
                   data("b", random_floats(count, -1, 1, 32)), zeros("c", count * 4)},
          .uniforms = {{"size", {n}}},
          .steps = {{"matmul", {0, 1, 2}, {n}, {n / 16, n / 16, 1}, {16, 16, 1}}},
          .result = 2};
}

Entry sum(size_t n) {
  const auto count = static_cast<uint32_t>(n);
  return {.what = "sum u32, 16 items a lane",
          .program = own("sum_items"),
          .data = {data("x", random_words(n, 33)), zeros("total", 4, true)},
          .steps = {{"zero", {1}, {1}, {1, 1, 1}, {64, 1, 1}},
                    {"sum_items", {0, 1}, {count}, groups_of(n, 4096), {256, 1, 1}}},
          .result = 1};
}

Entry histogram(size_t n) {
  std::vector<uint8_t> bytes(n);
  Random random(34);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.next());
  const auto lanes = std::min<size_t>(n, 4096);
  return {.what = "histogram of bytes in shared memory",
          .program = "examples/histogram.vyre",
          .data = {data("data", bytes), zeros("count", 1024, true)},
          .steps = {{"zero", {1}, {256}, {4, 1, 1}, {64, 1, 1}},
                    {"histogram_shared",
                     {0, 1},
                     {static_cast<uint32_t>(n)},
                     groups_of(lanes, 256),
                     {256, 1, 1}}},
          .result = 1};
}

Entry sort(uint32_t n) {
  const std::vector<uint32_t> words = random_words(n, 35);
  Entry entry{.what = "bitonic sort i32",
              .program = "examples/bitonic_sort.vyre",
              .data = {data("data", words)}};
  const auto round = [&](uint32_t mask) {
    entry.steps.push_back({"bitonic", {0}, {n, mask}, groups_of(n, 256), {256, 1, 1}});
  };
  for (uint32_t block = 2; block / 2 < n; block *= 2) {
    round(block - 1);
    for (uint32_t distance = block / 4; distance > 0; distance /= 2) round(distance);
  }
  return entry;
}

void add_api(Case& c, ApiFamily family, const std::shared_ptr<const Entry>& entry,
             const std::shared_ptr<Ours>& ours) {
  const std::string name(name_of(family));
  std::string why;
  std::shared_ptr<Api> api = open_api(family, &why);
  if (api == nullptr) {
    c.peers.push_back(missing(name, {}, why));
    return;
  }
  // A kernel that a family cannot build leaves only its own row empty.
  try {
    std::vector<size_t> buffers;
    for (const Data& d : entry->data) buffers.push_back(api->buffer_of(d.bytes));
    std::map<std::string, size_t> kernels;
    std::vector<Launch> launches;
    for (const Step& step : entry->steps) {
      if (!kernels.contains(step.kernel)) kernels[step.kernel] = api->kernel(step.kernel);
      Launch launch{kernels[step.kernel], {}, step.scalars, step.groups, step.local};
      for (const size_t buffer : step.buffers) launch.buffers.push_back(buffers.at(buffer));
      launches.push_back(std::move(launch));
    }
    const size_t recording = api->record(std::move(launches));
    c.peers.push_back({.name = name,
                       .run = [api, recording] { api->run(recording); },
                       .compare =
                           [api, entry, ours, buffers] {
                             const Data& result = entry->data[entry->result];
                             const auto theirs = api->read_all<uint8_t>(buffers[entry->result],
                                                                        result.bytes.size());
                             return equal_values<uint8_t>(ours->read<uint8_t>(result.name), theirs);
                           },
                       .reset =
                           [api, entry, buffers] {
                             for (size_t i = 0; i < buffers.size(); ++i)
                               api->write(buffers[i], entry->data[i].bytes);
                           }});
  } catch (const std::exception& e) {
    c.peers.push_back(missing(name, {}, e.what()));
  }
}

struct Mean {
  double logs = 0;
  uint32_t count = 0;
};

}  // namespace

void corpus_rows(Bench& bench) {
  const bool q = bench.quick();
  const size_t n = bench.size<size_t>(size_t{4} << 20, 4096);
  const std::vector<std::function<Entry()>> entries = {
      [&] { return elementwise("scale_add", n); },
      [&] { return elementwise("chain", n); },
      [&] { return gather(n, q ? 512 : 1 << 16); },
      [&] { return uniform_loop(q ? 512 : 1 << 16, q ? 16 : 256); },
      [&] { return mandelbrot(q ? 32 : 512, q ? 20 : 256); },
      [&] { return spmv(q ? 8 : 17); },
      [&] { return heat(q ? 24 : 512, q ? 4 : 100); },
      [&] { return life(q ? 24 : 512, q ? 4 : 100); },
      [&] { return matmul(q ? 32 : 256); },
      [&] { return sum(n); },
      [&] { return histogram(n * 4); },
      [&] { return sort(q ? 512 : 1 << 16); },
  };
  std::map<std::string, Mean> means;
  for (const auto& make : entries) {
    auto entry = std::make_shared<const Entry>(make());
    const std::vector<Row> rows = bench.run("C9", entry->what, [&] {
      auto ours = std::make_shared<Ours>(bench, entry->program);
      for (const Data& d : entry->data) {
        if (d.output)
          ours->output(d.name, d.bytes.size());
        else
          ours->input(d.name, d.bytes);
      }
      for (const auto& [name, values] : entry->uniforms) ours->uniform(name, values);
      Case c{.ours = [ours] { ours->run(); }};
      add_api(c, ApiFamily::OpenCl, entry, ours);
      add_api(c, ApiFamily::Vulkan, entry, ours);
      return c;
    });
    for (const Row& row : rows) {
      if (row.ratio <= 0) continue;
      means[row.peer].logs += std::log(row.ratio);
      ++means[row.peer].count;
    }
  }
  for (const ApiFamily family : {ApiFamily::OpenCl, ApiFamily::Vulkan}) {
    Row row;
    row.id = "C9";
    row.peer = name_of(family);
    row.goal = Goal::ratio(2.5);
    const Mean mean = means[row.peer];
    row.workload = "geometric mean of " + std::to_string(mean.count) + " kernels";
    if (mean.count > 0) row.ratio = std::exp(mean.logs / mean.count);
    // A mean over a part of the corpus would flatter.
    row.judged = mean.count == entries.size() && !q;
    bench.add(std::move(row));
  }
}

}  // namespace vyre::bench
