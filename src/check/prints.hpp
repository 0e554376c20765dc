// SPDX-License-Identifier: Apache-2.0
// print() and assert() have a meaning in some dispatches only. Here stands which of them a dispatch
// keeps, the program without the others, and how much room a line takes, which has to be the same
// wherever a program runs.
#pragma once

#include <cstdint>
#include <memory>

#include "vyre/check/check.hpp"

namespace vyre::check {

struct PrintsKept {
  bool prints = false;   // DispatchConfig::print
  bool asserts = false;  // checked mode
};

// Whether the body or a function has a statement that is not kept.
bool has_dropped(const CheckedProgram& checked, const PrintsKept& kept);
// Whether it has one that is.
bool has_kept(const CheckedProgram& checked, const PrintsKept& kept);
// The program as if those that are not kept did not stand in it.
CheckedProgram without_dropped(CheckedProgram checked, const PrintsKept& kept);
// The same, shared; itself if there is nothing to drop.
std::shared_ptr<const CheckedProgram> kept_program(std::shared_ptr<const CheckedProgram> checked,
                                                   const PrintsKept& kept);

// Words of 32 bits that an argument takes.
constexpr uint32_t print_words(ir::Type type) {
  return ir::bits_of(type) == 64 ? 2 : 1;
}
uint32_t print_words(const CheckedProgram& checked, ir::Range args);
// What one line takes in memory (plan::PrintWords): as much as the longest of the program; 0: it
// has no print().
uint32_t print_record_words(const CheckedProgram& checked);
// Lines that fit in so many bytes.
constexpr uint64_t print_capacity(uint64_t bytes, uint32_t record_words) {
  constexpr uint64_t kMostLines = uint64_t{1} << 24;
  if (record_words == 0) return 0;
  const uint64_t lines = bytes / (uint64_t{record_words} * 4);
  return lines < kMostLines ? lines : kMostLines;
}
// Where the caller does not say how many; plans show these.
inline constexpr uint64_t kUsualPrintBytes = uint64_t{1} << 20;
inline constexpr uint32_t kPrintRecordHead = 3;  // site, phase, lane

}  // namespace vyre::check
