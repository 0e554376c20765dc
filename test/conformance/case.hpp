// SPDX-License-Identifier: Apache-2.0
// A case: a program as text, data to run it on, and how. What it should give is not part of it: the
// oracle says that. Every list of cases is made in a file of its own and costs next to nothing
// until a case is run.
#pragma once

#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vyre/base/result.hpp"
#include "vyre/check/launch.hpp"
#include "vyre/ir/types.hpp"
#include "vyre/run/config.hpp"

namespace vyre::conformance {

using Bytes = std::vector<std::byte>;

struct Input {
  std::string name;
  Bytes bytes;
};

// A device that is known to get a case wrong. The case fails on the day that it passes.
struct ExpectedFailure {
  std::string backend;  // "cuda" means all of its devices
  std::string reason;
};

struct Case {
  std::string name;  // letters, digits and underscores; unique
  std::string text;
  std::vector<Input> inputs{};
  std::string run_line{};  // for inputs that are not above: "--in a=iota(4) --grid 3"
  std::optional<check::Axes> grid{};
  std::optional<check::Axes> workgroup{};
  bool checked = false;
  uint64_t print_bytes = run::kPrintBytes;  // for the lines of print()
  uint32_t iterations = 1;                  // passes over the whole program
  // What the dispatch must end with on the oracle, too, so that a case keeps its meaning.
  std::optional<ErrorCode> error{};
  bool racy = false;         // on purpose; the outcome is the same all the same
  bool passes_vary = false;  // how often a fixpoint is passed depends on the order of lanes
  // Outputs are copies. Bits of NaNs count in all that are (check::exact_nans); this says that none
  // of them may be taken for something else.
  bool exact_nans = false;
  // Also on the devices of a backend that differ only in their way through grid barriers.
  bool every_route = false;
  // Inputs lie right before and right behind memory that must not be touched.
  bool guarded = false;
  std::vector<ExpectedFailure> expected_failures{};
};

// `text` with every occurrence of a name (such as "$T") replaced.
std::string fill(std::string_view text,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> values);

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// The bit patterns of a type at which something tends to go wrong, zero-extended.
std::vector<uint64_t> corner_values(ir::Type type);
// Elements of `type` with these bit patterns.
Bytes elements(ir::Type type, std::span<const uint64_t> patterns);
// Every pair of patterns: the first of each pair, and the second.
std::pair<std::vector<uint64_t>, std::vector<uint64_t>> pairs(std::span<const uint64_t> first,
                                                              std::span<const uint64_t> second);
// Pseudo-random patterns of a type, the same in every run.
std::vector<uint64_t> random_values(ir::Type type, size_t count, uint64_t seed);

inline constexpr ir::Type kArithmetic[] = {ir::Type::Bool, ir::Type::U32, ir::Type::I32,
                                           ir::Type::U64,  ir::Type::I64, ir::Type::F32,
                                           ir::Type::F64};
inline constexpr ir::Type kIntegers[] = {ir::Type::U32, ir::Type::I32, ir::Type::U64,
                                         ir::Type::I64};
inline constexpr ir::Type kElements[] = {
    ir::Type::Bool, ir::Type::U32, ir::Type::I32, ir::Type::U64, ir::Type::I64,
    ir::Type::F32,  ir::Type::F64, ir::Type::U8,  ir::Type::I8,  ir::Type::U16,
    ir::Type::I16,  ir::Type::F16, ir::Type::BF16};

std::vector<Case> file_cases();      // examples/, test/plan/programs, test/conformance/programs
std::vector<Case> operator_cases();  // operators, functions and conversions on corner values
std::vector<Case> maths_cases();     // the mathematical library
std::vector<Case> storage_cases();   // element types in memory
std::vector<Case> nan_bits_cases();  // NaNs that are only moved
std::vector<Case> atomic_cases();    // atomics
std::vector<Case> subgroup_cases();  // subgroup operations
std::vector<Case> bounds_cases();    // accesses out of bounds
std::vector<Case> checked_cases();   // the same in checked mode
std::vector<Case> loop_cases();      // loops that reach into memory and beyond it
std::vector<Case> grid_cases();      // shapes of grids, workgroups and buffers
std::vector<Case> all_cases();

}  // namespace vyre::conformance
