// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "examples/example.hpp"

namespace vyre::test {
namespace {

// Sizes around those of workgroups.
std::vector<Values> floats_of_sizes(const std::string& name, std::initializer_list<size_t> sizes) {
  std::vector<Values> all;
  for (const size_t size : sizes) all.push_back(Values().set(name, some_floats(size)));
  return all;
}
std::vector<Values> numbers_of_sizes(const std::string& name, std::initializer_list<size_t> sizes) {
  std::vector<Values> all;
  for (const size_t size : sizes)
    all.push_back(Values().set(name, some_numbers(size, 0, UINT32_MAX)));
  return all;
}

std::vector<Values> matrices(const std::vector<std::array<uint32_t, 3>>& sizes) {
  std::vector<Values> all;
  all.reserve(sizes.size());
  for (const auto& [rows, inner, columns] : sizes)
    all.push_back(Values()
                      .set("m", {rows})
                      .set("k", {inner})
                      .set("n", {columns})
                      .set("a", some_floats(size_t{rows} * inner))
                      .set("b", some_floats(size_t{inner} * columns, 2)));
  return all;
}

Values matmul(const Values& in) {
  const std::array<size_t, 3> size = {in.get("m")[0], in.get("k")[0], in.get("n")[0]};
  const auto a = in.get<float>("a");
  const auto b = in.get<float>("b");
  std::vector<float> c(size_t{size[0]} * size[2]);
  for (size_t k = 0; k < size[1]; ++k)
    for (size_t y = 0; y < size[0]; ++y)
      for (size_t x = 0; x < size[2]; ++x)
        c[y * size[2] + x] = std::fma(a[y * size[1] + k], b[k * size[2] + x], c[y * size[2] + x]);
  return Values().set("c", c);
}

TEST(Example, Matmul) {
  expect_example(
      "matmul", matmul,
      matrices({{0, 3, 3}, {1, 1, 1}, {3, 0, 2}, {16, 16, 16}, {17, 33, 15}, {5, 20, 40}}));
}

TEST(Example, MatmulRefusesWrongSizes) {
  Values in = matrices({{4, 4, 4}})[0];
  in.set("b", some_floats(15));
  const auto outcome = Example("matmul").run(in);
  ASSERT_FALSE(outcome.has_value());
  EXPECT_EQ(outcome.error().code, ErrorCode::InvalidArgument);
}

// The upper half is added to the lower one until one is left.
float pairwise(std::vector<float> v) {
  while (v.size() > 1) {
    const size_t half = v.size() / 2;
    for (size_t i = 0; i < half; ++i) v[i] += v[i + half];
    v.resize(half);
  }
  return v[0];
}

Values sum(const Values& in) {
  const auto x = in.get<float>("x");
  std::vector<float> partial(256);
  for (size_t group = 0; group < 256; ++group) {
    std::vector<float> lanes(256);
    for (size_t lane = 0; lane < 256; ++lane)
      for (size_t i = group * 256 + lane; i < x.size(); i += 65536) lanes[lane] += x[i];
    partial[group] = pairwise(lanes);
  }
  return Values().set<float>("total", {pairwise(partial)});
}

TEST(Example, Sum) {
  expect_example("sum", sum, floats_of_sizes("x", {0, 1, 2, 255, 256, 257, 2000}));
}

Values extremes(const Values& in) {
  float least = std::numeric_limits<float>::infinity();
  float greatest = -std::numeric_limits<float>::infinity();
  for (const float v : in.get<float>("x")) {
    least = std::min(least, v);
    greatest = std::max(greatest, v);
  }
  if (in.get<float>("x").empty()) least = greatest = 0;  // no lane runs
  return Values()
      .set("least", std::vector<float>{least})
      .set("greatest", std::vector<float>{greatest});
}

TEST(Example, Extremes) {
  expect_example("extremes", extremes, floats_of_sizes("x", {0, 1, 2, 255, 256, 257, 2000}));
}

// Whole numbers small enough that every order gives the exact sum.
TEST(Example, SumIsExactForSmallNumbers) {
  std::vector<float> x;
  for (const uint32_t number : some_numbers(5000, 0, 1000)) x.push_back(static_cast<float>(number));
  const Example example("sum");
  const auto outcome = example.run(Values().set("x", x));
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(example.outputs(*outcome).get<float>("total")[0],
            std::accumulate(x.begin(), x.end(), 0.0F));
}

Values scan(const Values& in) {
  auto y = in.get("x");
  std::partial_sum(y.begin(), y.end(), y.begin());
  return Values().set("y", y);
}

TEST(Example, Scan) {
  expect_example("scan", scan, numbers_of_sizes("x", {0, 1, 255, 256, 257, 700}));
}

// More blocks than a workgroup has lanes.
TEST(Example, ScanOfManyBlocks) {
  const Example example("scan");
  const Values in = Values().set("x", some_numbers(66000, 0, UINT32_MAX));
  const auto outcome = example.run(in);
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(example.outputs(*outcome).get("y"), scan(in).get("y"));
}

Values histogram(const Values& in) {
  std::vector<uint32_t> count(256);
  for (const uint8_t byte : in.get<uint8_t>("data")) ++count[byte];
  return Values().set("count", count);
}

TEST(Example, Histogram) {
  std::vector<Values> more;
  for (const size_t size : {0, 1, 256, 257, 5000}) {
    std::vector<uint8_t> data;
    for (const uint32_t number : some_numbers(size, 0, 256))
      data.push_back(static_cast<uint8_t>(number));
    more.push_back(Values().set("data", data));
  }
  more.push_back(Values().set("data", std::vector<uint8_t>(1000, 255)));
  expect_example("histogram", histogram, more);
}

Values bitonic_sort(const Values& in) {
  auto data = in.get<int32_t>("data");
  std::ranges::sort(data);
  return Values().set("data", data);
}

TEST(Example, BitonicSort) {
  std::vector<Values> more = numbers_of_sizes("data", {0, 1, 2, 3, 255, 257, 512, 600});
  std::vector<int32_t> falling(300);
  std::iota(falling.rbegin(), falling.rend(), -150);
  more.push_back(Values().set("data", falling));
  more.push_back(Values().set<int32_t>("data", {INT32_MAX, INT32_MIN, INT32_MAX, 0, INT32_MIN}));
  expect_example("bitonic_sort", bitonic_sort, more);
}

Values radix_sort(const Values& in) {
  auto keys = in.get("keys");
  std::ranges::sort(keys);
  return Values().set("keys", keys);
}

TEST(Example, RadixSort) {
  std::vector<Values> more = numbers_of_sizes("keys", {0, 1, 127, 128, 129});
  more.push_back(Values().set("keys", some_numbers(300, 0, 40)));
  more.push_back(Values().set("keys", {UINT32_MAX, 0, UINT32_MAX, 16, 15, 1U << 31}));
  expect_example("radix_sort", radix_sort, more);
}

Values filter(const Values& in) {
  const auto x = in.get("x");
  std::vector<uint32_t> kept;
  std::ranges::copy_if(x, std::back_inserter(kept),
                       [&](uint32_t element) { return element >= in.get("limit")[0]; });
  const auto number = static_cast<uint32_t>(kept.size());
  kept.resize(x.size());
  return Values().set("kept", kept).set("number", {number});
}

TEST(Example, Filter) {
  std::vector<Values> more;
  for (const size_t size : {0, 1, 127, 128, 129, 1000})
    more.push_back(Values().set("limit", {50}).set("x", some_numbers(size, 0, 100)));
  more.push_back(Values().set("limit", {0}).set("x", some_numbers(300, 0, 100)));
  more.push_back(Values().set("limit", {100}).set("x", some_numbers(300, 0, 100)));
  expect_example("filter", filter, more);
}

Values moving_average(const Values& in) {
  const auto x = in.get<float>("x");
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    float sum = 0;
    for (size_t k = i < 7 ? 0 : i - 7; k <= i; ++k) sum += x[k];
    y[i] = sum / 8;
  }
  return Values().set("y", y);
}

TEST(Example, MovingAverage) {
  expect_example("moving_average", moving_average,
                 floats_of_sizes("x", {0, 1, 7, 8, 64, 65, 511, 512, 513, 1100}));
}

bool is_broken(const std::vector<uint32_t>& range, uint32_t reading) {
  return reading < range[0] || reading > range[1];
}

Values sensors(const Values& in) {
  const auto range = in.get("range");
  const auto old = in.get("reading");
  auto reading = old;
  uint32_t broken = 0;
  for (size_t i = 0; i < old.size(); ++i) {
    if (!is_broken(range, old[i])) continue;
    ++broken;
    const auto good = [&](uint32_t r) { return !is_broken(range, r); };
    const auto next = std::find_if(old.begin() + static_cast<ptrdiff_t>(i), old.end(), good);
    const auto last = std::find_if(old.rend() - static_cast<ptrdiff_t>(i) - 1, old.rend(), good);
    const uint32_t high = next == old.end() ? old.back() : *next;
    const uint32_t low = last == old.rend() ? old.front() : *last;
    reading[i] = std::clamp((low + high) / 2, range[0], range[1]);
  }
  return Values().set("reading", reading).set("broken", {broken});
}

TEST(Example, Sensors) {
  const auto readings = [](const std::vector<uint32_t>& r) {
    return Values().set("range", {100, 900}).set("reading", r);
  };
  expect_example("sensors", sensors,
                 {readings({}), readings({5}), readings({5, 1000}), readings({1, 2, 300, 4, 5}),
                  readings({100, 900, 99, 901}), readings(some_numbers(200, 0, 1500))});
}

// The handler of the host repairs what is reported; then nothing is broken any more.
TEST(Example, SensorsCallTheHost) {
  const Example example("sensors");
  const Values in = example.run_inputs();
  std::vector<oracle::TrapReport> seen;
  oracle::Options options;
  options.on_resume = [&](std::span<const oracle::TrapReport> reports,
                          oracle::HandlerBuffers& buffers) -> Result<void> {
    seen.assign(reports.begin(), reports.end());
    const auto bytes = buffers.write(ir::BufferId{1});  // `reading` is declared second
    for (const oracle::TrapReport& report : reports) {
      const uint32_t repaired = 500;
      std::memcpy(&bytes[report.lane * sizeof repaired], &repaired, sizeof repaired);
    }
    return {};
  };
  const auto outcome = example.run(in, options);
  ASSERT_TRUE(outcome.has_value()) << to_string(outcome.error());
  auto wanted = in.get("reading");
  ASSERT_EQ(seen.size(), 3U);
  for (const oracle::TrapReport& report : seen) {
    EXPECT_EQ(report.tag, 1);
    EXPECT_EQ(report.value, wanted[report.lane]);
    wanted[report.lane] = 500;
  }
  EXPECT_EQ(outcome->resumed, seen);
  EXPECT_EQ(example.outputs(*outcome).get("reading"), wanted);
  EXPECT_EQ(example.outputs(*outcome).get("broken"), std::vector<uint32_t>{0});
}

}  // namespace
}  // namespace vyre::test
