// SPDX-License-Identifier: Apache-2.0
// C10: strict exp, log and sin against the C library, scalar and vectorised.
#include "host.hpp"
#include "rows.hpp"
#include "sides.hpp"

namespace vyre::bench {
namespace {

struct Function {
  const char* name;
  void (*MathsKernels::*call)(const float*, float*, size_t);
  float low, high;
};

constexpr Function kFunctions[] = {
    {"exp", &MathsKernels::exp, -10, 10},
    {"log", &MathsKernels::log, 0.001f, 100},
    {"sin", &MathsKernels::sin, -100, 100},
};

// Both libraries stay within 4 units of the last place of the true value, ours within 2. Near a
// zero of sin and log a unit is so small that the fast library is further off; there the difference
// is held against 1.
Agreement compare_fast(std::span<const float> ours, std::span<const float> theirs) {
  const Agreement strict = ulp_values(ours, theirs, 8);
  return strict.equal ? strict : close_values(ours, theirs, 1e-6);
}

}  // namespace

void maths_rows(Bench& bench) {
  const size_t n = bench.size<size_t>(size_t{256} << 10, 1000);
  for (const Function& f : kFunctions) {
    const std::string size = bench.quick() ? "1000 elements" : "1 MiB in, 1 MiB out";
    bench.run("C10", std::string(f.name) + " f32, strict, " + size, [&] {
      struct Data {
        HostArray<float> x, y;
        Ours ours;
      };
      const std::string program = std::string("bench/cpu/programs/map_") + f.name + ".vyre";
      auto data = std::make_shared<Data>(Data{HostArray<float>(random_floats(n, f.low, f.high, 16)),
                                              HostArray<float>(n), Ours(bench, program)});
      data->ours.input("x", data->x.span()).input("y", data->y.span());
      Case c{.ours = [data] { data->ours.run(); }};
      const auto add = [&](const char* name, const MathsKernels* table, double goal, bool fast) {
        if (table == nullptr) {
          c.peers.push_back(
              missing(name, Goal::ratio(goal), "no OpenMP when the build was configured"));
          return;
        }
        const auto call = table->*f.call;
        c.peers.push_back({.name = name,
                           .variant = table->variant,
                           .goal = Goal::ratio(goal),
                           .run = [data, call, n] { call(data->x.data(), data->y.data(), n); },
                           .compare =
                               [data, fast] {
                                 const auto ours = data->ours.read<float>("y");
                                 return fast ? compare_fast(ours, data->y.span())
                                             : ulp_values(ours, data->y.span(), 4);
                               }});
      };
      add("glibc", maths_glibc(), 6, false);
      add("vector library", maths_fast(), 0.7, true);
      return c;
    });
  }
}

}  // namespace vyre::bench
