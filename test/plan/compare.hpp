// SPDX-License-Identifier: Apache-2.0
// One program, one way through its barriers, against the oracle.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plan/driver.hpp"
#include "plan/interpreter.hpp"

namespace vyre::plan_test {

struct Way {
  plan::Route route = plan::Route::Resident;
  // Through the driver, on a device that leads it to this route; else by the plan interpreter.
  std::optional<DriverDevice> device = {};
  std::string device_id = {};  // or on this device of the registry
  bool workgroup_phases = false;
  bool checked = false;
  // Persistent route: at most so many workgroups side by side, so many turns, and so many of them
  // statement by statement.
  uint32_t workgroups_per_block = 1;
  uint32_t unrolled_iterations = 0;
  uint32_t interleave = 1;
  oracle::Schedule schedule = oracle::Schedule::Forward;
  uint64_t seed = 1;
  std::optional<std::byte> poison = {};  // of a device: what memory holds that is not cleared
};
std::string to_string(const Way& way);
// Every route, suspended lanes and workgroup phases, three schedules.
std::vector<Way> all_ways();
// Every route of the driver, with loops of the device and of the host.
std::vector<Way> driver_ways();
// A device of the registry, plain and in checked mode.
std::vector<Way> device_ways(const std::string& id);
// Each way over a device with two patterns in memory that is not cleared, which differ in all bits.
std::vector<Way> poisoned(const std::vector<Way>& ways, std::byte pattern);

struct Fault {
  Way way;
  std::string what;
};
// The first way on which something differs.
std::optional<Fault> find_fault(const check::CheckedProgram& checked,
                                const std::vector<std::vector<std::byte>>& inputs,
                                const std::optional<check::Axes>& grid,
                                const std::vector<Way>& ways);

// Calls `find` in a process of its own, since a wrong plan may make the interpreter give up or run
// for ever. Gives what it returned, or what became of it.
std::string apart(const std::function<std::string()>& find, std::chrono::seconds limit);

}  // namespace vyre::plan_test
