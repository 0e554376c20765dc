// SPDX-License-Identifier: Apache-2.0
// C6: a stencil and the Game of Life, step after step. C11: a matrix product in tiles.
#include "host.hpp"
#include "rows.hpp"
#include "sides.hpp"

namespace vyre::bench {
namespace {

template <class T>
struct Plates {
  Plates(const std::vector<T>& start, Layout layout)
      : a(start, offset_of(layout, 0)), b(start, offset_of(layout, 1)) {}
  HostArray<T> a, b;
};

template <class T>
struct Plate {
  Plate(const Bench& bench, const char* program, std::vector<T> first, uint32_t side,
        uint32_t steps)
      : start(std::move(first)), ours(bench, program) {
    ours.uniform("size", {side, side, steps}).input("a", start).input("b", start);
  }
  std::vector<T> start;
  Ours ours;
};

// Two parallel forms on two layouts; the best one is the peer.
template <class T, class Form>
void add_forms(Case& c, Goal goal, std::shared_ptr<Plate<T>> data, Form region, Form fork,
               uint32_t side, uint32_t steps) {
  if (omp_passes().empty())
    c.peers.push_back(missing("g++ OpenMP", goal, "no OpenMP when the build was configured"));
  for (const Layout layout : kLayouts) {
    auto plates = std::make_shared<Plates<T>>(data->start, layout);
    for (const OmpPasses* table : omp_passes()) {
      const auto add = [&](auto call, const std::string& form) {
        c.peers.push_back(
            {.name = "g++ OpenMP",
             .variant = table->variant + form + suffix_of(layout),
             .goal = goal,
             .run = [=] { call(plates->a.data(), plates->b.data(), side, side, steps); },
             .compare =
                 [=] {
                   return equal_values<T>(data->ours.template read<T>("a"), plates->a.span());
                 },
             .reset =
                 [=] {
                   plates->a = data->start;
                   plates->b = data->start;
                 }});
      };
      add(table->*region, ", one region");
      add(table->*fork, ", region per step");
    }
  }
}

void heat_row(Bench& bench, uint32_t side, uint32_t steps, double goal) {
  const std::string size = std::to_string(side) + "², " + std::to_string(steps) + " steps";
  bench.run("C6", "heat, 5 points f32, " + size, [&] {
    std::vector<float> start = random_floats(size_t{side} * side, 0, 1, 12);
    auto data =
        std::make_shared<Plate<float>>(bench, "bench/cpu/programs/heat.vyre", start, side, steps);
    Case c{.ours = [data] { data->ours.run(); }};
    add_forms(c, Goal::ratio(goal), data, &OmpPasses::heat, &OmpPasses::heat_fork, side, steps);
    return c;
  });
}

void life_row(Bench& bench, uint32_t side, uint32_t steps, double goal) {
  const std::string size = std::to_string(side) + "², " + std::to_string(steps) + " steps";
  bench.run("C6", "Life u8, " + size, [&] {
    std::vector<uint8_t> start(size_t{side} * side);
    Random random(13);
    for (uint8_t& cell : start) cell = random.below(3) == 0 ? 1 : 0;
    auto data =
        std::make_shared<Plate<uint8_t>>(bench, "bench/cpu/programs/life.vyre", start, side, steps);
    Case c{.ours = [data] { data->ours.run(); }};
    add_forms(c, Goal::ratio(goal), data, &OmpPasses::life, &OmpPasses::life_fork, side, steps);
    return c;
  });
}

}  // namespace

void stencil_rows(Bench& bench) {
  const uint32_t steps = bench.size<uint32_t>(1000, 4);
  const std::vector<uint32_t> sides =
      bench.quick() ? std::vector<uint32_t>{24} : std::vector<uint32_t>{64, 256, 1024, 2048};
  for (const uint32_t side : sides) {
    const double goal = side < 1024 ? 1.3 : 1.0;
    heat_row(bench, side, steps, goal);
    life_row(bench, side, steps, goal);
  }
}

void matmul_rows(Bench& bench) {
  const uint32_t n = bench.size<uint32_t>(768, 32);
  bench.run("C11", "matrix product f32 in tiles of 16 × 16, n = " + std::to_string(n), [&] {
    struct Data {
      HostArray<float> a, b, c;
      Ours ours;
    };
    const size_t count = size_t{n} * n;
    auto data = std::make_shared<Data>(Data{HostArray<float>(random_floats(count, -1, 1, 14)),
                                            HostArray<float>(random_floats(count, -1, 1, 15)),
                                            HostArray<float>(count),
                                            Ours(bench, "bench/cpu/programs/matmul.vyre")});
    data->ours.uniform("size", {n}).input("a", data->a.span()).input("b", data->b.span());
    data->ours.input("c", data->c.span());
    Case c{.ours = [data] { data->ours.run(); }};
    add_omp(
        c, Goal::ratio(1.5),
        [data, n](const OmpKernels& peer) {
          peer.matmul(data->a.data(), data->b.data(), data->c.data(), n);
        },
        [data] { return equal_values<float>(data->ours.read<float>("c"), data->c.span()); });
    return c;
  });
}

}  // namespace vyre::bench
