// SPDX-License-Identifier: Apache-2.0
// Litmus tests of the memory model (docs/language.md, atomics and barriers): small programs of two
// to four threads with an outcome that the model forbids. Each dispatch executes thousands of
// instances at once, on locations of their own; threads of one instance are lanes of different
// workgroups, or of different subgroups of one, and wait a moment for each other at the start.
//
// A mutant is the same test with one mistake (two accesses exchanged, an order or a barrier
// removed) that makes the forbidden outcome possible. How many mutants show it says how much the
// test is worth on this machine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vyre/vyre.hpp"

namespace vyre::litmus {

// What an instance has come to: results of its threads and the final values of its locations.
struct Outcome {
  std::array<uint32_t, 4> r = {};
  uint32_t x = 0;
  uint32_t y = 0;
  uint32_t z = 0;
};

enum class Layout : uint8_t {
  Apart,      // two threads in two workgroups, or four in two workgroups of two
  Workgroup,  // two threads in one workgroup
  Bytes,      // four threads, x is a byte for each of them
};

// Code of threads, or else of all lanes (`body`), which know `i` and `role`. @x @y @z are the
// locations of the instance, @0 to @3 its results, @D is a short delay.
struct Code {
  std::vector<std::string_view> threads = {};
  std::string_view body = "";
};

struct Mutant {
  std::string_view name;
  Code code;
};

struct Test {
  std::string_view name;
  std::string_view rule;  // that the outcome would break
  Code code;
  bool (*is_forbidden)(const Outcome&);
  std::vector<Mutant> mutants;
  uint32_t threads = 2;
  Layout layout = Layout::Apart;
};

const std::vector<Test>& tests();

// The program of a test or of one of its mutants.
std::string program_text(const Test& test, const Code& code);

struct Run {
  uint64_t instances = 0;
  uint64_t forbidden = 0;
  Outcome example = {};  // the first forbidden one
};
// At least `rounds` instances; `until_seen`: no more once the outcome was seen.
Result<Run> run(const Device& device, const Test& test, const Code& code, uint64_t rounds,
                bool until_seen);

}  // namespace vyre::litmus
