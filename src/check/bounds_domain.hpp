// SPDX-License-Identifier: Apache-2.0
// What is known about numbers at one point of the program, for bounds proofs.
//
// A symbol stands for one unchanging number: a `let`, a loop variable, a parameter, a built-in id,
// the length of a buffer, or a `var` between two assignments (each assignment starts a new
// version). Facts say in which interval a symbol lies and which other symbols plus an offset it
// never exceeds. Numbers are mathematical integers; an expression only has a linear form or an
// upper bound here if it provably does not wrap.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "vyre/ir/program.hpp"

namespace vyre::check {

using Wide = __int128;
using Symbol = uint64_t;
inline constexpr Symbol kNoSymbol = 0;

// Length: of a memory. Uniform: an element of a uniform buffer at a constant index (the version).
// Axis: of a memory, if its length is no sum that another symbol has.
enum class SymbolKind : uint8_t { Local = 1, Builtin = 2, Length = 3, Uniform = 4, Axis = 5 };
constexpr Symbol make_symbol(SymbolKind kind, uint32_t id, uint32_t version = 0) {
  return (static_cast<uint64_t>(kind) << 60) | (static_cast<uint64_t>(version) << 32) | id;
}
inline Symbol length_symbol(ir::Memory memory) {
  return make_symbol(SymbolKind::Length, memory.index, static_cast<uint32_t>(memory.kind));
}

inline Symbol axis_symbol(ir::Memory memory, uint32_t axis) {
  return make_symbol(SymbolKind::Axis, memory.index,
                     static_cast<uint32_t>(memory.kind) * ir::kMaxAxes + axis);
}

struct Interval {
  Wide lo = 0;
  Wide hi = 0;
};

// value == symbol + offset; without a symbol it is the offset itself.
struct Linear {
  Symbol symbol = kNoSymbol;
  Wide offset = 0;
};

// value <= symbol + offset, known from `at`.
struct Upper {
  Symbol symbol = kNoSymbol;
  Wide offset = 0;
  ir::LocId at;
};

// Facts with an undo log: whatever was learnt inside a block is forgotten when it ends.
class NumberFacts {
 public:
  static constexpr size_t kMaxUppers = 8;

  using Mark = size_t;
  [[nodiscard]] Mark mark() const { return log_.size(); }
  void undo(Mark mark);

  void clear();
  void at_least(Symbol symbol, Wide lo);
  void at_most(Symbol symbol, Wide hi);
  void at_most(Symbol symbol, Upper upper);

  // The given interval, narrowed by what is known (lengths count as at most 2^32-1 elements).
  [[nodiscard]] Interval narrowed(Symbol symbol, Interval known) const;
  [[nodiscard]] const std::vector<Upper>& uppers(Symbol symbol) const;

  // True if symbol + offset <= target - 1 follows; the places it follows from are added to
  // `because`.
  [[nodiscard]] bool below(Symbol symbol, Wide offset, Symbol target,
                           std::vector<ir::LocId>& because) const;

 private:
  struct Known {
    bool has_lo = false;
    bool has_hi = false;
    Wide lo = 0;
    Wide hi = 0;
    std::vector<Upper> uppers;
  };
  Known& change(Symbol symbol);
  bool reach(Symbol symbol, Wide offset, Symbol target, int steps, int& budget,
             std::vector<ir::LocId>& because) const;

  std::unordered_map<Symbol, Known> known_;
  std::vector<std::pair<Symbol, Known>> log_;  // the state before a change
};

}  // namespace vyre::check
