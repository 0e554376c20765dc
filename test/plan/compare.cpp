// SPDX-License-Identifier: Apache-2.0
#include "plan/compare.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vyre::plan_test {

using plan::Route;

std::string to_string(const Way& way) {
  const std::string poison =
      way.poison ? fmt::format(", poison {:#04x}", static_cast<unsigned>(*way.poison)) : "";
  if (!way.device_id.empty()) return way.device_id + (way.checked ? ", checked" : "") + poison;
  return fmt::format(
      "{}{}{}{}{}{}{}, {} {}{}", plan::name_of(way.route),
      !way.device                  ? ""
      : way.device->whole_programs ? " by the driver, whole"
      : way.device->device_loops   ? " by the driver, with device loops"
                                   : " by the driver",
      way.workgroup_phases ? " with workgroup phases" : "", way.checked ? ", checked" : "",
      way.workgroups_per_block > 1
          ? fmt::format(", {} workgroups per block", way.workgroups_per_block)
          : "",
      way.unrolled_iterations > 0 ? fmt::format(", {} unrolled iterations", way.unrolled_iterations)
                                  : "",
      way.interleave > 1 ? fmt::format(", {} interleaved", way.interleave) : "",
      oracle::name_of(way.schedule), way.seed, poison);
}

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const oracle::Schedule schedule :
       {oracle::Schedule::Forward, oracle::Schedule::Reversed, oracle::Schedule::Random}) {
    for (const Route route : {Route::Native, Route::Persistent, Route::Resident, Route::Host})
      ways.push_back({.route = route, .schedule = schedule});
    ways.push_back({.route = Route::Resident, .workgroup_phases = true, .schedule = schedule});
  }
  ways.push_back({.route = Route::Persistent, .checked = true});
  ways.push_back({.route = Route::Persistent, .workgroups_per_block = 2});
  ways.push_back({.route = Route::Persistent, .interleave = 2});
  ways.push_back({.route = Route::Persistent,
                  .workgroups_per_block = 3,
                  .unrolled_iterations = 2,
                  .schedule = oracle::Schedule::Random});
  ways.push_back({.route = Route::Persistent,
                  .unrolled_iterations = 3,
                  .interleave = 4,
                  .schedule = oracle::Schedule::Reversed});
  ways.push_back({.route = Route::Persistent,
                  .workgroups_per_block = 2,
                  .interleave = 4,
                  .schedule = oracle::Schedule::Random});
  return ways;
}

namespace {

bool has_persistent(const check::CheckedProgram& checked) {
  return std::ranges::any_of(checked.program.buffers, [](const ir::Buffer& b) {
    return b.kind == ir::BufferKind::Persistent;
  });
}

// A copy whose `wait` no lane lived to see may have happened or not: after an error, contents are
// defined only where another order of lanes leaves the same.
bool contents_vary(const check::CheckedProgram& checked,
                   const std::vector<std::vector<std::byte>>& inputs, RunOptions options,
                   const Ran& source) {
  options.schedule = oracle::Schedule::Reversed;
  return !difference(checked.program, source, run_source(checked, inputs, options)).empty();
}

void fill_outside_ranges(const check::CheckedProgram& checked, const Ran& source, Ran& ran) {
  for (uint32_t i = 0; i < ran.buffers.size(); ++i) {
    if (!checked.buffers[i].output_slot || !checked.buffers[i].range_bytes) continue;
    const auto range = check::returned_range(checked, ir::BufferId{i}, source.buffers[i].size());
    std::vector<std::byte> whole = source.buffers[i];
    std::ranges::copy(ran.buffers[i], whole.begin() + static_cast<std::ptrdiff_t>(range.offset));
    ran.buffers[i] = std::move(whole);
  }
}

}  // namespace

std::vector<Way> driver_ways() {
  std::vector<Way> ways;
  const auto add = [&](DriverDevice device, bool checked = false) {
    ways.push_back({.route = device.route, .device = device, .checked = checked});
  };
  add({.route = Route::Native, .whole_programs = true, .device_loops = true});
  for (const bool loops : {false, true})
    for (const Route route : {Route::Native, Route::Persistent, Route::Resident})
      add({.route = route, .device_loops = loops});
  add({.route = Route::Host});
  add({.route = Route::Native, .whole_programs = true}, true);
  add({.route = Route::Persistent, .device_loops = true}, true);
  add({.route = Route::Host}, true);
  return ways;
}

std::vector<Way> device_ways(const std::string& id) {
  return {{.device_id = id}, {.device_id = id, .checked = true}};
}

std::vector<Way> poisoned(const std::vector<Way>& ways, std::byte pattern) {
  std::vector<Way> all;
  for (const Way& way : ways) {
    all.push_back(way);
    if (!way.device && way.device_id.empty()) continue;  // the interpreter of plans has no memory
    all.back().poison = pattern;
    all.push_back(way);
    all.back().poison = ~pattern;
  }
  return all;
}

std::optional<Fault> find_fault(const check::CheckedProgram& checked,
                                const std::vector<std::vector<std::byte>>& inputs,
                                const std::optional<check::Axes>& grid,
                                const std::vector<Way>& ways) {
  std::map<std::tuple<oracle::Schedule, uint64_t, bool, uint32_t>, Ran> sources;
  std::map<std::tuple<Route, bool, uint32_t, uint32_t, uint32_t>, Result<plan::Plan>> plans;
  const std::vector<std::span<const std::byte>> spans(inputs.begin(), inputs.end());
  const auto launch = check::resolve_launch(checked, {.inputs = spans, .grid = grid});
  const uint64_t groups = launch ? launch->workgroups() : 1;
  for (const Way& way : ways) {
    RunOptions options;
    options.schedule = way.schedule;
    options.seed = way.seed;
    options.grid = grid;
    options.checked = way.checked;
    options.poison = way.poison;
    const run::Device* const registered =
        way.device_id.empty() ? nullptr : &open_device(way.device_id, way.poison);
    if (registered != nullptr)
      options.subgroup_size = std::max(registered->info().capabilities.subgroup_size, 1U);
    const std::tuple key(way.schedule, way.seed, way.checked, options.subgroup_size);
    auto source = sources.find(key);
    if (source == sources.end())
      source = sources.emplace(key, run_source(checked, inputs, options)).first;
    if (way.device || registered != nullptr) {
      const run::Device device =
          registered != nullptr ? *registered : open_device(*way.device, options);
      const bool keeps = device.info().capabilities.resident_buffers;
      Ran ran = drive(checked, device, inputs, options);
      if (ran.error && ran.error->code == ErrorCode::Unsupported && has_persistent(checked))
        continue;  // a device that keeps no buffers
      const bool unknown =
          ran.error && (!keeps || contents_vary(checked, inputs, options, source->second));
      // A caller gets no report with an error, and of an output with @range only that.
      if (ran.error) {
        ran.counted = false;
        ran.resumed = source->second.resumed;
      } else if (!keeps) {
        fill_outside_ranges(checked, source->second, ran);
      }
      if (std::string what = difference(checked.program, source->second, ran, unknown);
          !what.empty())
        return Fault{way, std::move(what)};
      continue;
    }
    // Every block has at least so many.
    const auto at_once = static_cast<uint32_t>(
        std::max<uint64_t>(1, std::min<uint64_t>(way.workgroups_per_block, groups)));
    const bool is_1d =
        way.unrolled_iterations != 0 && launch && launch->grid[1] == 1 && launch->grid[2] == 1;
    const std::tuple plan_key(way.route, way.checked, at_once, way.unrolled_iterations,
                              way.interleave);
    auto plan = plans.find(plan_key);
    if (plan == plans.end())
      plan = plans
                 .emplace(plan_key,
                          plan::make_plan(
                              checked, {.variant = {.route = way.route,
                                                    .workgroups_per_block = at_once,
                                                    .unrolled_iterations = way.unrolled_iterations,
                                                    .interleave = way.interleave,
                                                    .is_1d = is_1d},
                                        .checked = way.checked}))
                 .first;
    if (!plan->second) return Fault{way, "no plan: " + vyre::to_string(plan->second.error())};
    options.workgroup_phases = way.workgroup_phases;
    const Ran ran = interpret(checked, *plan->second, inputs, options);
    if (std::string what = difference(checked.program, source->second, ran); !what.empty())
      return Fault{way, std::move(what)};
  }
  return std::nullopt;
}

std::string apart(const std::function<std::string()>& find, std::chrono::seconds limit) {
  std::array<int, 2> ends = {};
  if (pipe(ends.data()) != 0) return "no pipe";
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(static_cast<unsigned>(limit.count()));
    std::string what;
    try {
      what = find();
    } catch (const std::exception& e) {
      what = std::string("exception: ") + e.what();
    }
    if (write(ends[1], what.data(), what.size()) < 0) std::_Exit(2);
    std::_Exit(0);
  }
  close(ends[1]);
  std::string what;
  std::array<char, 4096> part = {};
  for (ssize_t n = 0; (n = read(ends[0], part.data(), part.size())) > 0;)
    what.append(part.data(), static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status)) return what;
  return WTERMSIG(status) == SIGALRM
             ? "the interpreter does not end"
             : fmt::format("the interpreter ended with signal {}", WTERMSIG(status));
}

}  // namespace vyre::plan_test
