// SPDX-License-Identifier: Apache-2.0
// The same dispatch over and over, and dispatches at the same time.
#include <algorithm>
#include <array>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include "gpu/soak.hpp"

namespace vyre::soak {
namespace {

// All at once, each in a thread and a queue of its own; the first thing that went wrong is thrown.
void at_once(std::span<const Rounds* const> programs, const Rounds::Run& run, uint32_t times) {
  std::vector<std::exception_ptr> wrong(programs.size());
  {
    std::vector<std::jthread> threads;
    threads.reserve(programs.size());
    for (uint32_t t = 0; t < programs.size(); ++t)
      threads.emplace_back([&, t] {
        try {
          for (uint32_t i = 0; i < times; ++i)
            must(programs[t]->run(run, {.queue = t + 1}), fmt::format("in queue {}", t + 1));
        } catch (...) {
          wrong[t] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& one : wrong)
    if (one) std::rethrow_exception(one);
}

void side_by_side(Soak& soak, std::span<const Rounds* const> programs) {
  const uint32_t times = soak.times(100, 2);
  uint32_t most = ~uint32_t{0};  // that all of them can have
  for (const Rounds* program : programs) most = std::min(most, program->most_resident(soak));
  for (uint32_t grid : programs[0]->grids(soak)) {
    grid = std::min(grid, most);
    at_once(programs, {.grid = grid, .rounds = soak.times(1000, 10), .slow_unless = 63}, times);
    soak.note += fmt::format("{}{} workgroups: {} x {} dispatches", soak.note.empty() ? "" : ", ",
                             grid, programs.size(), times);
  }
}

}  // namespace

void check_repeats(Soak& soak) {
  const uint32_t times = soak.times(2000, 20);
  for (const Form form : kForms) {
    const Rounds program(soak.device, form, Rounds::Extra::Slow);
    for (const uint32_t grid : program.grids(soak))
      for (uint32_t i = 0; i < times; ++i) {
        // Now and then another one in between, which must leave no trace.
        const uint32_t rounds = i % 500 == 499 ? 9 : 4;
        must(program.run({.grid = grid, .rounds = rounds, .slow_unless = 3}),
             fmt::format("{} of {} workgroups, time {}", name_of(form), grid, i));
      }
  }
  soak.note = fmt::format("{} dispatches of each", times);
}

// Buffers that stay on the device, with and without a barrier: what is replayed must use the
// arguments of this call and what is in them now.
void check_resident_repeats(Soak& soak) {
  constexpr uint32_t kCount = 132 * 256;
  const uint32_t times = soak.times(5000, 20);
  for (const std::string_view barrier : {"", "  barrier grid;\n"}) {
    const Pipeline pipeline =
        compile(soak.device,
                fmt::format("program sums {{\n  workgroup 256;\n  in x : u32[];\n  inout sum : "
                            "u32[];\n  let i = gid.x;\n  let y = sum[i];\n{}  sum[i] = y + "
                            "x[i];\n}}\n",
                            barrier));
    Words x(kCount);
    for (uint32_t i = 0; i < kCount; ++i) x[i] = i * 3 + 1;
    const Words zeros(kCount);
    const std::array<Buffer, 2> from = {must(soak.device.upload(as_bytes(x)), "upload"),
                                        must(soak.device.upload(as_bytes(x)), "upload")};
    const std::array<Buffer, 2> sums = {must(soak.device.upload(as_bytes(zeros)), "upload"),
                                        must(soak.device.upload(as_bytes(zeros)), "upload")};
    std::array<Words, 2> expected = {zeros, zeros};
    uint32_t factor = 1;
    for (uint32_t i = 0; i < times; ++i) {
      const uint32_t which = i % 100 < 90 ? 0 : 1;
      if (i % 700 == 350) {  // other contents in the same place
        for (uint32_t& value : x) value *= 5;
        factor *= 5;
        must(soak.device.write(from[0], as_bytes(x)), "write");
      }
      const std::array<Argument, 2> inputs = {from[which], sums[which]};
      must(pipeline.dispatch({.inputs = inputs}), "a dispatch on buffers");
      const uint32_t by = which == 0 ? factor : 1;
      for (uint32_t k = 0; k < kCount; ++k) expected[which][k] += (k * 3 + 1) * by;
    }
    for (uint32_t which = 0; which < 2; ++which) {
      const auto bytes = must(soak.device.read(sums[which]), "read");
      hold(to_vector<uint32_t>(bytes) == expected[which], "the sums are others");
    }
  }
  soak.note = fmt::format("{} dispatches with and without a barrier", times);
}

void check_two_pipelines(Soak& soak) {
  const Rounds loop(soak.device, Form::Loop, Rounds::Extra::Slow);
  const Rounds passes(soak.device, Form::Passes, Rounds::Extra::Slow);
  const std::array<const Rounds*, 2> both = {&loop, &passes};
  side_by_side(soak, both);
}

void check_one_pipeline_twice(Soak& soak) {
  for (const Form form : kForms) {
    const Rounds program(soak.device, form, Rounds::Extra::Slow);
    const std::array<const Rounds*, 2> both = {&program, &program};
    side_by_side(soak, both);
  }
}

}  // namespace vyre::soak
