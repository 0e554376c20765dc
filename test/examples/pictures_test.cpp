// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <gtest/gtest.h>

#include "cli/values.hpp"
#include "examples/example.hpp"
#include "ir/maths.hpp"

namespace vyre::test {
namespace {

Values life(const Values& in) {
  const auto size = in.get("size");
  const size_t w = size[0];
  const size_t h = size[1];
  std::vector<uint8_t> world = in.get<uint8_t>("seed");
  for (uint8_t& cell : world) cell = cell != 0 ? 255 : 0;
  for (uint32_t generation = 0; generation < 2 * size[2]; ++generation) {
    std::vector<uint8_t> next(world.size());
    for (size_t y = 0; y < h; ++y) {
      for (size_t x = 0; x < w; ++x) {
        int living = 0;  // in the square of nine fields
        for (const size_t dy : {h - 1, h, h + 1})
          for (const size_t dx : {w - 1, w, w + 1})
            living += world[(y + dy) % h * w + (x + dx) % w] == 255 ? 1 : 0;
        const uint8_t me = world[y * w + x];
        const bool lives = living == 3 || (living == 4 && me == 255);
        next[y * w + x] = lives ? 255 : static_cast<uint8_t>(me * 3 / 4);
      }
    }
    world = std::move(next);
  }
  return Values().set("world", world);
}

Values soup(uint32_t width, uint32_t height, uint32_t pairs) {
  std::vector<uint8_t> seed;
  for (const uint32_t number : some_numbers(size_t{width} * height, 0, 3))
    seed.push_back(static_cast<uint8_t>(number));
  return Values().set("size", {width, height, pairs}).set("seed", seed);
}

TEST(Example, Life) {
  // A glider crosses the edges of the torus and the borders of workgroups.
  std::vector<uint8_t> seed(380);
  for (const size_t cell : {1, 22, 40, 41, 42}) seed[cell] = 1;
  expect_example("life", life,
                 {soup(0, 0, 3), soup(1, 1, 1), soup(17, 5, 3), soup(33, 16, 0),
                  Values().set("size", {20, 19, 8}).set("seed", seed)},
                 RunLine::InOrder);
}

Values mandelbrot(const Values& in) {
  const auto size = in.get("size");
  const uint32_t limit = in.get("limit")[0];
  const auto view = in.get<float>("view");
  const auto log2 = ir::native_maths_f32(ir::Intrinsic::Log2);
  const auto cos = ir::native_maths_f32(ir::Intrinsic::Cos);
  std::vector<uint32_t> image;
  for (uint32_t row = 0; row < size[1]; ++row) {
    for (uint32_t column = 0; column < size[0]; ++column) {
      const float scale = view[2] / static_cast<float>(size[1]);
      const float cx =
          view[0] + (static_cast<float>(column) - 0.5F * static_cast<float>(size[0])) * scale;
      const float cy =
          view[1] + (static_cast<float>(row) - 0.5F * static_cast<float>(size[1])) * scale;
      float zx = 0;
      float zy = 0;
      uint32_t n = 0;
      for (; n < limit && zx * zx + zy * zy < 64.0F; ++n) {
        const float x = zx * zx - zy * zy + cx;
        zy = 2.0F * zx * zy + cy;
        zx = x;
      }
      uint32_t pixel = 0xFF000000;
      if (n < limit) {
        const float t = 0.3F + 0.25F * (static_cast<float>(n) + 1.0F -
                                        log2(0.5F * log2(zx * zx + zy * zy, 0), 0));
        for (uint32_t channel = 0; channel < 3; ++channel)
          pixel |= static_cast<uint32_t>(127.5F -
                                         127.5F * cos(t + std::array{0.0F, 0.7F, 1.4F}[channel], 0))
                   << (8 * channel);
      }
      image.push_back(pixel);
    }
  }
  return Values().set("image", image);
}

TEST(Example, Mandelbrot) {
  const auto picture = [](uint32_t width, uint32_t height, uint32_t limit) {
    return Values()
        .set("size", {width, height})
        .set("limit", {limit})
        .set<float>("view", {-0.745F, 0.113F, 0.02F});
  };
  expect_example("mandelbrot", mandelbrot,
                 {picture(0, 5, 10), picture(1, 1, 0), picture(1, 1, 50), picture(19, 17, 100)},
                 RunLine::InOrder);
}

TEST(Example, MandelbrotIsThePictureOfTheReadme) {
  const auto picture = cli::read_value({.name = "image", .element = ir::Type::U32, .count = {}},
                                       VYRE_SOURCE_DIR "/docs/images/mandelbrot.png", {});
  ASSERT_TRUE(picture.has_value()) << picture.error().message;
  const Values wanted = mandelbrot(Example("mandelbrot").run_inputs());
  EXPECT_TRUE(*picture == *wanted.find("image"));
}

Values heat(const Values& in) {
  const size_t w = in.get("w")[0];
  const size_t h = in.get("h")[0];
  std::vector<float> plate(w * h);
  for (size_t x = 0; x < w && h > 0; ++x) plate[x] = 1;
  for (size_t y = h / 4 + 1; y < h / 2; ++y) plate[y * w] = 1;
  for (uint32_t t = 0; t < in.get("steps")[0]; ++t) {
    const std::vector<float> old = plate;
    for (size_t y = 1; y + 1 < h; ++y)
      for (size_t x = 1; x + 1 < w; ++x)
        plate[y * w + x] = 0.25F * ((old[(y - 1) * w + x] + old[(y + 1) * w + x]) +
                                    (old[y * w + x - 1] + old[y * w + x + 1]));
  }
  return Values().set("plate", plate);
}

Values plate(uint32_t w, uint32_t h, uint32_t steps) {
  return Values().set("w", {w}).set("h", {h}).set("steps", {steps});
}

TEST(Example, Heat) {
  expect_example(
      "heat", heat,
      {plate(0, 0, 3), plate(1, 1, 3), plate(2, 9, 4), plate(17, 9, 0), plate(19, 21, 12)},
      RunLine::InOrder);
}

// As PolyBench has it, in the order in which the program adds.
Values fdtd2d(const Values& in) {
  const size_t nx = in.get("nx")[0];
  const size_t ny = in.get("ny")[0];
  const auto source = in.get<float>("source");
  std::vector<float> ex(nx * ny), ey(nx * ny), hz(nx * ny);
  for (size_t i = 0; i < nx; ++i)
    for (size_t j = 0; j < ny; ++j) {
      ex[i * ny + j] = static_cast<float>(i * (j + 1)) / static_cast<float>(nx);
      ey[i * ny + j] = static_cast<float>(i * (j + 2)) / static_cast<float>(ny);
      hz[i * ny + j] = static_cast<float>(i * (j + 3)) / static_cast<float>(nx);
    }
  for (const float wave : source) {
    for (size_t i = 0; i < nx; ++i)
      for (size_t j = 0; j < ny; ++j) {
        const size_t at = i * ny + j;
        ey[at] = i == 0 ? wave : ey[at] - 0.5F * (hz[at] - hz[at - ny]);
        if (j > 0) ex[at] -= 0.5F * (hz[at] - hz[at - 1]);
      }
    for (size_t i = 0; i + 1 < nx; ++i)
      for (size_t j = 0; j + 1 < ny; ++j) {
        const size_t at = i * ny + j;
        hz[at] -= 0.7F * (ex[at + 1] - ex[at] + ey[at + ny] - ey[at]);
      }
  }
  return Values().set("ex", ex).set("ey", ey).set("hz", hz);
}

Values waves(uint32_t nx, uint32_t ny, const std::vector<float>& source) {
  return Values().set("nx", {nx}).set("ny", {ny}).set("source", source);
}

TEST(Example, Fdtd2d) {
  expect_example(
      "fdtd2d", fdtd2d,
      {waves(0, 4, {1}), waves(1, 1, {0.5F, 2}), waves(17, 9, {1, -1, 3}), waves(5, 33, {})},
      RunLine::InOrder);
}

// The border of a new plate is copied along, so both are the same picture.
Values ping_pong(const Values& in) {
  const auto size = in.get("size");
  return heat(plate(size[0], size[1], size[2]));
}

TEST(Example, PingPong) {
  expect_example("ping_pong", ping_pong,
                 {Values().set("size", {0, 0, 3}), Values().set("size", {1, 1, 3}),
                  Values().set("size", {2, 9, 4}), Values().set("size", {17, 9, 0}),
                  Values().set("size", {19, 21, 12})},
                 RunLine::InOrder);
}

}  // namespace
}  // namespace vyre::test
