// SPDX-License-Identifier: Apache-2.0
// C10: strict exp, log and sin of both widths against the C library, scalar and vectorised.
#include "host.hpp"
#include "rows.hpp"
#include "sides.hpp"

namespace vyre::bench {
namespace {

template <class Real>
struct Function {
  const char* name;
  void (*MathsKernels::*call)(const Real*, Real*, size_t);
  float low, high;
};

constexpr Function<float> kFunctions[] = {
    {"exp", &MathsKernels::exp, -10, 10},
    {"log", &MathsKernels::log, 0.001f, 100},
    {"sin", &MathsKernels::sin, -100, 100},
};
constexpr Function<double> kFunctionsF64[] = {
    {"exp", &MathsKernels::exp_f64, -10, 10},
    {"log", &MathsKernels::log_f64, 0.001f, 100},
    {"sin", &MathsKernels::sin_f64, -100, 100},
};

// Both libraries stay within 4 units of the last place of the true value, ours within 2. Near a
// zero of sin and log a unit is so small that the fast library is further off; there the difference
// is held against 1.
template <class Real>
Agreement compare_fast(std::span<const Real> ours, std::span<const Real> theirs) {
  const Agreement strict = ulp_values(ours, theirs, 8);
  return strict.equal ? strict : close_values(ours, theirs, 1e-6);
}

template <class Real>
void add_row(Bench& bench, const Function<Real>& f, const char* type) {
  // As many bytes for each width.
  const size_t n = bench.size<size_t>((size_t{1} << 20) / sizeof(Real), 1000);
  const std::string size = bench.quick() ? "1000 elements" : "1 MiB in, 1 MiB out";
  bench.run("C10", std::string(f.name) + " " + type + ", strict, " + size, [&] {
    struct Data {
      HostArray<Real> x, y;
      Ours ours;
    };
    const std::string suffix = sizeof(Real) == 8 ? "_f64" : "";
    const std::string program = std::string("bench/cpu/programs/map_") + f.name + suffix + ".vyre";
    const std::vector<float> values = random_floats(n, f.low, f.high, 16);
    auto data = std::make_shared<Data>(
        Data{HostArray<Real>(std::vector<Real>(values.begin(), values.end())), HostArray<Real>(n),
             Ours(bench, program)});
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
                               const auto ours = data->ours.template read<Real>("y");
                               const std::span<const Real> mine(ours);
                               const std::span<const Real> theirs(data->y.span());
                               return fast ? compare_fast(mine, theirs)
                                           : ulp_values(mine, theirs, 4);
                             }});
    };
    // Of f64 the fast library has half as many lanes, and the scalar one is as fast as of f32.
    add("glibc", maths_glibc(), sizeof(Real) == 8 ? 2 : 6, false);
    add("vector library", maths_fast(), sizeof(Real) == 8 ? 0.5 : 0.7, true);
    return c;
  });
}

}  // namespace

void maths_rows(Bench& bench) {
  for (const Function<float>& f : kFunctions) add_row(bench, f, "f32");
  for (const Function<double>& f : kFunctionsF64) add_row(bench, f, "f64");
}

}  // namespace vyre::bench
