// SPDX-License-Identifier: Apache-2.0
#include "check/bounds_domain.hpp"

#include <algorithm>

namespace vyre::check {

namespace {
constexpr Wide kMaxLength = UINT32_MAX;
// How many comparisons in a row a proof may go through (a guard, a `let`, a `require` or two).
constexpr int kMaxSteps = 4;
// And how many it may compare in all, so that a program full of comparisons costs no more than a
// plain one.
constexpr int kMaxComparisons = 64;

bool is_length(Symbol symbol) {
  return symbol >> 60 == static_cast<uint64_t>(SymbolKind::Length);
}
}  // namespace

void NumberFacts::undo(Mark mark) {
  while (log_.size() > mark) {
    known_[log_.back().first] = std::move(log_.back().second);
    log_.pop_back();
  }
}

void NumberFacts::clear() {
  known_.clear();
  log_.clear();
}

NumberFacts::Known& NumberFacts::change(Symbol symbol) {
  Known& known = known_[symbol];
  log_.emplace_back(symbol, known);
  return known;
}

void NumberFacts::at_least(Symbol symbol, Wide lo) {
  const auto it = known_.find(symbol);
  if (it != known_.end() && it->second.has_lo && it->second.lo >= lo) return;
  Known& known = change(symbol);
  known.has_lo = true;
  known.lo = lo;
}

void NumberFacts::at_most(Symbol symbol, Wide hi) {
  const auto it = known_.find(symbol);
  if (it != known_.end() && it->second.has_hi && it->second.hi <= hi) return;
  Known& known = change(symbol);
  known.has_hi = true;
  known.hi = hi;
}

void NumberFacts::at_most(Symbol symbol, Upper upper) {
  if (symbol == upper.symbol) return;
  const auto it = known_.find(symbol);
  if (it != known_.end()) {
    const auto& uppers = it->second.uppers;
    if (uppers.size() >= kMaxUppers) return;
    for (const Upper& u : uppers)
      if (u.symbol == upper.symbol && u.offset <= upper.offset) return;
  }
  change(symbol).uppers.push_back(upper);
}

Interval NumberFacts::narrowed(Symbol symbol, Interval known) const {
  if (is_length(symbol)) known = {std::max<Wide>(known.lo, 0), std::min(known.hi, kMaxLength)};
  const auto it = known_.find(symbol);
  if (it == known_.end()) return known;
  if (it->second.has_lo) known.lo = std::max(known.lo, it->second.lo);
  if (it->second.has_hi) known.hi = std::min(known.hi, it->second.hi);
  for (const Upper& upper : it->second.uppers)
    if (is_length(upper.symbol)) known.hi = std::min(known.hi, kMaxLength + upper.offset);
  return known;
}

const std::vector<Upper>& NumberFacts::uppers(Symbol symbol) const {
  static const std::vector<Upper> none;
  const auto it = known_.find(symbol);
  return it == known_.end() ? none : it->second.uppers;
}

bool NumberFacts::below(Symbol symbol, Wide offset, Symbol target,
                        std::vector<ir::LocId>& because) const {
  int budget = kMaxComparisons;
  return reach(symbol, offset, target, kMaxSteps, budget, because);
}

bool NumberFacts::reach(Symbol symbol, Wide offset, Symbol target, int steps, int& budget,
                        std::vector<ir::LocId>& because) const {
  if (symbol == target) return offset <= -1;
  if (steps == 0 || --budget < 0) return false;
  for (const Upper& upper : uppers(symbol)) {
    because.push_back(upper.at);
    if (reach(upper.symbol, offset + upper.offset, target, steps - 1, budget, because)) return true;
    because.pop_back();
  }
  return false;
}

}  // namespace vyre::check
